//! Where a value begins and ends.

use crate::assignment::separator::{Join, Joint, quote, quote_before};
use crate::text::{ends_with_ignore_case, line_end, skip_blanks, starts_with_ignore_case};
use std::ops::Range;

/// Maximum bytes of a value.
pub(super) const MAX_VALUE: usize = 4096;

/// The value after a separator, without quotes and without the name of an authentication scheme.
pub(crate) fn at(text: &[u8], name: &Range<usize>, joint: &Joint) -> Option<Range<usize>> {
    let opening = quote(text, joint.at);
    let is_authorization = ends_with_ignore_case(&text[name.clone()], b"authorization");
    let range = if opening > 0 {
        let from = joint.at + opening;
        from..quoted_end(text, from, &text[joint.at..from])
    } else {
        let from = joint.at;
        let enclosing = quote_before(text, name.start);
        let mark = if joint.quoted_name { &[][..] } else { &text[name.start - enclosing..name.start] };
        let from = if is_authorization { after_word(text, from) } else { from };
        from..plain_end(text, from, mark, joint)
    };
    let mut from = after_scheme(text, range.clone());
    if from == range.start && is_authorization {
        from = after_word(&text[..range.end], from);
    }
    let blanks_after =
        text[from..range.end].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    let range = from..range.end - blanks_after;
    (!range.is_empty()).then_some(range)
}

/// End of a value whose opening quote is `mark`: before the same quote, or at the end of the line.
fn quoted_end(text: &[u8], from: usize, mark: &[u8]) -> usize {
    let limit = line_end(text, from, MAX_VALUE);
    let slashes = mark.iter().take_while(|byte| **byte == b'\\').count();
    let mut at = from;
    while at < limit {
        if text[at..limit].starts_with(mark) {
            return at;
        }
        let run = text[at..limit].iter().take_while(|byte| **byte == b'\\').count();
        match run {
            0 => at += 1,
            // As many backslashes as before the opening quote, and a quote: the end. More escape something inside.
            run if run == slashes && text[at + run..limit].starts_with(&mark[slashes..]) => return at,
            run if slashes == 0 => at += if run % 2 == 0 { run } else { run + 1 },
            // In escaped text, the enclosing string may end first, or its next line begin.
            run if run < slashes => return at,
            run => at += run,
        }
    }
    limit.min(text.len())
}

/// End of a value without quotes. `mark` is the quote before the name.
fn plain_end(text: &[u8], from: usize, mark: &[u8], joint: &Joint) -> usize {
    let limit = line_end(text, from, MAX_VALUE);
    let ends = |at: usize| {
        let byte = text[at];
        if byte.is_ascii_whitespace() || byte.is_ascii_control() || byte >= 0x80 {
            return true;
        }
        if !mark.is_empty() && text[at..].starts_with(mark) {
            return true;
        }
        if joint.is_env && mark.is_empty() {
            return matches!(byte, b'"' | b'\'' | b'\\' | b'<' | b'|')
                || byte == b';' && is_last(text, at, limit);
        }
        match byte {
            b'"' | b'\'' | b'`' | b';' | b',' | b'<' | b'>' | b'|' | b'\\' | b'(' | b'{' | b'[' => true,
            b'&' => joint.join == Join::Equals,
            b')' | b']' | b'}' => true,
            _ => false,
        }
    };
    let end = (from..limit).find(|at| ends(*at)).unwrap_or(limit);
    // A full stop or colon after a value belongs to the sentence.
    if end > from && matches!(text[end - 1], b'.' | b':' | b'?' | b'!') && !joint.is_env {
        end - 1
    } else {
        end
    }
}

/// Whether nothing but blanks follows on the line.
fn is_last(text: &[u8], at: usize, limit: usize) -> bool {
    skip_blanks(&text[..limit], at + 1) >= limit
}

/// Start of the credentials in a value that names its scheme first.
fn after_scheme(text: &[u8], range: Range<usize>) -> usize {
    const SCHEMES: &[&[u8]] = &[
        b"bearer ",
        b"basic ",
        b"token ",
        b"bot ",
        b"apikey ",
        b"api-key ",
        b"key ",
        b"token token=",
        b"digest ",
        b"jwt ",
        b"sso-key ",
    ];
    let value = &text[range.clone()];
    let length = SCHEMES
        .iter()
        .filter(|scheme| starts_with_ignore_case(value, scheme))
        .map(|scheme| scheme.len())
        .max();
    skip_blanks(&text[..range.end], range.start + length.unwrap_or(0))
}

/// Start of the credentials after any scheme name.
fn after_word(text: &[u8], at: usize) -> usize {
    let of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let word = at + text[at..].iter().take(16).take_while(of_word).count();
    if word > at && text.get(word) == Some(&b' ') { skip_blanks(text, word) } else { at }
}

/// Whether a value is a file path, or a URL without credentials.
pub(crate) fn is_path(value: &[u8]) -> bool {
    let starts = matches!(value, [b'/', b'a'..=b'z' | b'A'..=b'Z' | b'.', ..] | [b'.', b'/', ..] | [b'.', b'.', ..] | [b'~', ..] | [b'\\', b'\\', ..]);
    let separators = value.iter().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    let drive = matches!(value, [b'A'..=b'Z' | b'a'..=b'z', b':', b'\\' | b'/', ..]);
    const ENDS: &[&[u8]] = &[
        b".pem", b".key", b".crt", b".json", b".yaml", b".yml", b".txt", b".toml", b".py", b".js", b".ts",
        b".go", b".rs", b".java", b".md", b".html", b".cfg", b".conf", b".ini", b".env", b".xml", b".com",
        b".org", b".net", b".io", b".p12", b".jks", b".pub", b".so", b".h", b".c", b".cpp", b".rb", b".php",
        b".sh",
    ];
    drive
        || memchr::memmem::find(value, b"://").is_some()
        || starts && (value.len() < 64 && separators >= 1 && has_words(value))
        || ENDS.iter().any(|end| value.len() > end.len() + 2 && value.ends_with(end))
}

fn has_words(value: &[u8]) -> bool {
    let shape = crate::randomness::Shape::of(value);
    shape.in_words * 4 > shape.length || shape.length < 16
}

/// Whether a value begins with a date.
pub(crate) fn is_date(value: &[u8]) -> bool {
    let fits =
        |(at, byte): (usize, &u8)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() };
    value.len() >= 10 && value[..10].iter().enumerate().all(fits)
}

/// Whether a value without quotes is an expression rather than a literal.
pub(crate) fn is_code(value: &[u8]) -> bool {
    if memchr::memmem::find(value, b"::").is_some() || memchr::memmem::find(value, b"->").is_some() {
        return true;
    }
    if value.iter().any(|byte| matches!(byte, b'(' | b')')) {
        return true;
    }
    // A chain of names: `config.api_key`.
    let names = value.split(|byte| *byte == b'.');
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let count = names.clone().count();
    count > 1
        && names.clone().all(is_name)
        && names.filter(|part| crate::randomness::is_random(part)).count() == 0
}
