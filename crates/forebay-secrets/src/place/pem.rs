//! Private keys in PEM and PGP armour.

use crate::text::{line_end, line_start, starts_with_ignore_case};
use std::ops::Range;

/// Maximum bytes of a block. A PGP key with 16,384 bits has 40 KB.
pub(crate) const MAX_BLOCK: usize = 48 * 1024;

/// The lines of the private key whose first or last line is at `at`.
pub(crate) fn find(text: &[u8], at: usize) -> Option<Vec<Range<usize>>> {
    let begins = starts_with_ignore_case(&text[at..], b"-----begin");
    let label = at + if begins { b"-----BEGIN".len() } else { b"-----END".len() };
    let limit = line_end(text, label, 80);
    let dashes = label + memchr::memmem::find(&text[label..limit], b"-----")?;
    memchr::memmem::find(&text[label..dashes], b"PRIVATE KEY")?;
    if begins { body_after(text, at, dashes + 5) } else { body_before(text, at) }
}

/// The lines between the first line of a block and its last one.
fn body_after(text: &[u8], begin: usize, from: usize) -> Option<Vec<Range<usize>>> {
    let limit = text.len().min(from + MAX_BLOCK);
    let end = memchr::memmem::find(&text[from..limit], b"-----END").map(|end| from + end);
    let next = memchr::memmem::find(&text[from..limit], b"-----BEGIN").map_or(limit, |next| from + next);
    let end = end.filter(|end| *end < next);
    let prefix = &text[line_start(text, begin, 64)..begin];
    let mut pieces = Vec::new();
    let mut at = from;
    let stop = end.unwrap_or(next);
    while at < stop {
        let newline = line_end(text, at, MAX_BLOCK).min(stop);
        let piece = if at == from { trim(text, at..newline) } else { line(text, at..newline, prefix) };
        // Without its last line, the block ends with the first line that cannot be part of it.
        if end.is_none() && at > from && !piece.is_empty() && !is_body(&text[piece.clone()]) {
            break;
        }
        if !piece.is_empty() {
            pieces.push(piece);
        }
        at = newline + 1;
    }
    let length: usize = pieces.iter().map(Range::len).sum();
    let material: usize = pieces
        .iter()
        .map(|piece| text[piece.clone()].iter().filter(|byte| is_material(**byte)).count())
        .sum();
    let run = |piece: &Range<usize>| {
        let runs = text[piece.clone()].split(|byte| !is_material(*byte));
        runs.map(<[u8]>::len).max().unwrap_or(0)
    };
    let longest = pieces.iter().map(run).max().unwrap_or(0);
    (longest >= 16 && material * 10 >= length * 8 && is_varied(text, &pieces)).then_some(pieces)
}

/// Lines before the last line of a block whose first line is missing.
fn body_before(text: &[u8], end: usize) -> Option<Vec<Range<usize>>> {
    let first = end.saturating_sub(MAX_BLOCK);
    if memchr::memmem::rfind(&text[first..end], b"-----BEGIN")
        .is_some_and(|begin| memchr::memmem::find(&text[first + begin..end], b"-----END").is_none())
    {
        return None;
    }
    let start = line_start(text, end, 64);
    if start > 0 && text[start - 1] != b'\n' {
        return None;
    }
    let prefix = &text[start..end];
    let mut pieces = Vec::new();
    let mut at = start;
    while at > first {
        let from = line_start(text, at - 1, MAX_BLOCK);
        let piece = line(text, from..at - 1, prefix);
        if piece.len() < 2 || !is_body(&text[piece.clone()]) {
            break;
        }
        pieces.push(piece);
        at = from;
    }
    pieces.reverse();
    let length: usize = pieces.iter().map(Range::len).sum();
    (length >= 32 && is_varied(text, &pieces)).then_some(pieces)
}

/// A line of a block without the common prefix of its lines: an indentation, a quotation mark, a number.
fn line(text: &[u8], range: Range<usize>, prefix: &[u8]) -> Range<usize> {
    let own = &text[range.clone()];
    let mut from = range.start;
    // The sign of a diff can as well be the first character of the line, so it does not stay.
    if let [sign @ (b'+' | b'-')] = prefix {
        let rest = trim(text, from + usize::from(own.first() == Some(sign))..range.end);
        return if rest.is_empty() { rest } else { from..rest.end };
    }
    if !prefix.is_empty() && own.starts_with(prefix) {
        from += prefix.len();
    } else if prefix.iter().any(u8::is_ascii_digit) {
        let number =
            own.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'\t')).count();
        let rule = own[number..].iter().take_while(|byte| !is_material(**byte)).count();
        from += if rule > 0 { number + rule } else { 0 };
    }
    trim(text, from..range.end)
}

/// The key without line breaks and prefixes of lines, so that equal keys compare as equal.
pub(crate) fn key(text: &[u8], pieces: &[Range<usize>]) -> Vec<u8> {
    let sign = pieces.first().map(|piece| text[piece.start]).filter(|sign| matches!(sign, b'+' | b'-'));
    let signed = pieces.len() > 1 && pieces.iter().all(|piece| Some(text[piece.start]) == sign);
    let mut key = Vec::new();
    for piece in pieces {
        let mut rest = &text[piece.start + usize::from(signed)..piece.end];
        while let [byte, after @ ..] = rest {
            rest = match rest {
                [b'\\', b'n' | b'r', after @ ..] => after,
                _ => {
                    key.extend(Some(*byte).filter(|byte| is_material(*byte)));
                    after
                }
            };
        }
    }
    key
}

/// Removes blanks, quotes and escaped line breaks at both ends.
fn trim(text: &[u8], range: Range<usize>) -> Range<usize> {
    let Range { start: mut from, end: mut to } = range;
    while from < to {
        match &text[from..to] {
            [b'\\', b'n' | b'r', ..] => from += 2,
            [b'\\', ..] => from += 1,
            [0x1b, b'[', code @ ..] => {
                from += 2 + code
                    .iter()
                    .position(|byte| byte.is_ascii_alphabetic())
                    .map_or(code.len(), |end| end + 1);
            }
            [byte, ..] if !is_material(*byte) => from += 1,
            _ => break,
        }
    }
    while from < to {
        match &text[from..to] {
            [.., b'\\', b'n' | b'r'] => to -= 2,
            [code @ .., b'm'] if let Some(start) = colour_start(code) => to = from + start,
            [.., byte] if !is_material(*byte) => to -= 1,
            _ => break,
        }
    }
    from..to
}

/// Start of a colour code that ends at the end of the text.
fn colour_start(text: &[u8]) -> Option<usize> {
    let digits =
        text.iter().rev().take(12).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let start = (text.len() - digits).checked_sub(2)?;
    text[start..].starts_with(b"\x1b[").then_some(start)
}

fn is_material(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Whether a line can be one of a block: base64, or a field such as `Proc-Type: 4,ENCRYPTED`.
fn is_body(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"-").unwrap_or(line);
    line.iter().all(|byte| is_material(*byte))
        && (line.len() >= 40 || line.ends_with(b"=") || line.starts_with(b"="))
        || [&b"Proc-Type:"[..], b"DEK-Info:", b"Version:", b"Comment:"]
            .iter()
            .any(|field| line.starts_with(field))
        || line.len() >= 8
            && line.iter().all(|byte| is_material(*byte))
            && line.iter().any(u8::is_ascii_digit)
}

/// Whether the key consists of more than a few characters that repeat.
fn is_varied(text: &[u8], pieces: &[Range<usize>]) -> bool {
    let mut seen = [false; 256];
    pieces.iter().flat_map(|piece| &text[piece.clone()]).for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count() >= 10
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: [&str; 3] = [
        "MHcCAQEEIAJxIlB7t45cK07n9/YGcS6RBPYmlmV2gsaACBeyzuhZoAoGCCqGSM49",
        "+wEHoUQDQgAELQJ6twuFMKymt/jtIetK0M+LIizMYEYvEw+vmSCSQc7IDoPyBifJ",
        "poE+xsoaql8BkKYhMz/g+l4U9sDR4UBStg==",
    ];

    fn block(before: &str, after: &str) -> String {
        let line = |text: &str| format!("{before}{text}{after}");
        let (begin, end) = (
            line(&["-----BEGIN EC", "PRIVATE KEY-----"].join(" ")),
            line(&["-----END EC", "PRIVATE KEY-----"].join(" ")),
        );
        format!("{begin}{}{end}", BODY.map(line).concat())
    }

    #[test]
    fn every_line_of_a_key_is_a_piece_and_what_is_before_lines_stays() {
        for before in ["", "    ", "+", "-", "> ", "  12\t", "a.pem-"] {
            let text = block(before, "\n");
            let begin = memchr::memmem::find(text.as_bytes(), b"-----BEGIN").unwrap();
            let pieces = find(text.as_bytes(), begin).unwrap();
            let sign = if matches!(before, "+" | "-") { before } else { "" };
            let want = BODY.map(|line| format!("{sign}{line}"));
            assert_eq!(
                pieces.iter().map(|piece| &text[piece.clone()]).collect::<Vec<_>>(),
                want,
                "{before:?}"
            );
            assert_eq!(key(text.as_bytes(), &pieces), BODY.concat().as_bytes());
            // Also without the first line.
            let text = &text[memchr::memchr(b'\n', text.as_bytes()).unwrap() + 1..];
            let end = memchr::memmem::find(text.as_bytes(), b"-----END").unwrap();
            let pieces = find(text.as_bytes(), end).unwrap();
            let sign = if matches!(before, "+" | "-") { before } else { "" };
            let want = BODY.map(|line| format!("{sign}{line}"));
            assert_eq!(
                pieces.iter().map(|piece| &text[piece.clone()]).collect::<Vec<_>>(),
                want,
                "{before:?}"
            );
            assert_eq!(key(text.as_bytes(), &pieces), BODY.concat().as_bytes());
        }
    }

    #[test]
    fn a_key_in_one_escaped_line_is_one_piece() {
        let text = block("", "\\n");
        let pieces = find(text.as_bytes(), 0).unwrap();
        assert_eq!(pieces.len(), 1);
        assert_eq!(&text[pieces[0].clone()], BODY.join("\\n"));
        assert_eq!(key(text.as_bytes(), &pieces), BODY.concat().as_bytes());
    }

    #[test]
    fn a_key_without_its_last_line_ends_with_its_lines() {
        let text = block("", "\n");
        let text = text.replace("-----END EC", "then prose follows here, and");
        assert_eq!(find(text.as_bytes(), 0).unwrap().len(), 3);
    }

    #[test]
    fn certificates_and_names_of_blocks_are_no_keys() {
        let certificate = block("", "\n").replace("EC PRIVATE KEY", "CERTIFICATE");
        assert_eq!(find(certificate.as_bytes(), 0), None);
        let code = format!(
            "{} in text and {} in text",
            "-----BEGIN PRIVATE KEY-----\"", "\"-----END PRIVATE KEY-----"
        );
        assert_eq!(find(code.as_bytes(), 0), None);
        let sample = code.replace("\" in text and \"", "<a very long private key string>");
        assert_eq!(find(sample.as_bytes(), 0), None);
    }
}
