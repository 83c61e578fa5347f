//! Splits text into the pieces that o200k merges separately.
//!
//! This is the vocabulary's published pattern written out by hand, alternatives in their order:
//!
//! 1. `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
//! 2. the same with `+` on the first set and `*` on the second
//! 3. `\p{N}{1,3}`
//! 4. ` ?[^\s\p{L}\p{N}]+[\r\n/]*`
//! 5. `\s*[\r\n]+`
//! 6. `\s+(?!\S)`
//! 7. `\s+`

use unicode_general_category::{GeneralCategory as G, get_general_category};

/// The classes of characters in the pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// `\p{Lu}\p{Lt}`: only in the first set.
    Upper,
    /// `\p{Ll}`: only in the second set.
    Lower,
    /// `\p{Lm}\p{Lo}`: letters in both sets.
    Letter,
    /// `\p{M}`: in both sets, and no letter.
    Mark,
    Number,
    /// `\r` and `\n`.
    Break,
    /// Any other white space.
    Space,
    Other,
}

use Class::{Break, Letter, Lower, Mark, Number, Other, Space, Upper};

fn class(c: char) -> Class {
    match c {
        'a'..='z' => Lower,
        'A'..='Z' => Upper,
        '0'..='9' => Number,
        '\r' | '\n' => Break,
        '\0'..='\x7f' => {
            if c.is_whitespace() {
                Space
            } else {
                Other
            }
        }
        _ if c.is_whitespace() => Space,
        _ => match get_general_category(c) {
            G::UppercaseLetter | G::TitlecaseLetter => Upper,
            G::LowercaseLetter => Lower,
            G::ModifierLetter | G::OtherLetter => Letter,
            G::NonspacingMark | G::SpacingMark | G::EnclosingMark => Mark,
            G::DecimalNumber | G::LetterNumber | G::OtherNumber => Number,
            _ => Other,
        },
    }
}

fn in_first(class: Class) -> bool {
    matches!(class, Upper | Letter | Mark)
}

fn in_second(class: Class) -> bool {
    matches!(class, Lower | Letter | Mark)
}

/// The pieces of `text`, which together are `text`.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let length = ascii_piece(rest.as_bytes()).or_else(|| first_piece(rest))?;
        at += length;
        Some(&rest[..length])
    })
}

/// The class of each byte that is a character; `None` for bytes of longer characters.
static ASCII: [Option<Class>; 256] = {
    let mut classes = [None; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = Some(match byte as u8 {
            b'a'..=b'z' => Lower,
            b'A'..=b'Z' => Upper,
            b'0'..=b'9' => Number,
            b'\r' | b'\n' => Break,
            b'\t' | 0x0b | 0x0c | b' ' => Space,
            _ => Other,
        });
        byte += 1;
    }
    classes
};

/// The end of the run of bytes of these classes; `None` if the next byte is not ASCII, and may belong to the run.
#[inline(always)]
fn ascii_run(text: &[u8], from: usize, wanted: impl Fn(Class) -> bool) -> Option<usize> {
    let mut at = from;
    while let Some(&byte) = text.get(at) {
        if !wanted(ASCII[byte as usize]?) {
            break;
        }
        at += 1;
    }
    Some(at)
}

/// Like [`first_piece`], for a piece of ASCII that is followed by ASCII; `None` for any other. Nearly all tool output is ASCII,
/// and bytes are classified much faster than characters.
#[inline]
fn ascii_piece(text: &[u8]) -> Option<usize> {
    let &first = text.first()?;
    let kind = ASCII[first as usize]?;
    if kind == Number {
        let end = ascii_run(&text[..text.len().min(3)], 1, |class| class == Number)?;
        return Some(end);
    }
    if kind != Break {
        let start = usize::from(matches!(kind, Space | Other));
        let middle = ascii_run(text, start, |class| class == Upper)?;
        let end = ascii_run(text, middle, |class| class == Lower)?;
        if end > start {
            return ascii_contraction(text, end);
        }
        let from = usize::from(first == b' ');
        let marks = ascii_run(text, from, |class| class == Other)?;
        if marks > from {
            let ends = text[marks..].iter().position(|byte| !matches!(byte, b'\r' | b'\n' | b'/'));
            return Some(ends.map_or(text.len(), |length| marks + length));
        }
    }
    let end = ascii_run(text, 0, |class| matches!(class, Space | Break))?;
    if let Some(last_break) = text[..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
        return Some(last_break + 1);
    }
    Some(if end == text.len() || end == 1 { end } else { end - 1 })
}

fn ascii_contraction(text: &[u8], end: usize) -> Option<usize> {
    let Some([b'\'', rest @ ..]) = text.get(end..) else { return Some(end) };
    let letter = |at: usize| rest.get(at).map(u8::to_ascii_lowercase);
    match (letter(0), letter(1)) {
        (Some(128..), _) => None,
        (Some(b's' | b't' | b'm' | b'd'), _) => Some(end + 2),
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => Some(end + 3),
        _ => Some(end),
    }
}

/// The first character that starts at `at`, its class, and where the next one starts.
fn next_char(text: &str, at: usize) -> Option<(char, Class, usize)> {
    let c = text[at..].chars().next()?;
    Some((c, class(c), at + c.len_utf8()))
}

/// The end of the run of characters for which `wanted` holds.
fn run(text: &str, from: usize, wanted: impl Fn(char, Class) -> bool) -> usize {
    let mut at = from;
    while let Some((c, class, next)) = next_char(text, at) {
        if !wanted(c, class) {
            break;
        }
        at = next;
    }
    at
}

fn first_piece(text: &str) -> Option<usize> {
    let (first, kind, after) = next_char(text, 0)?;
    if let Some(end) = word(text, kind, after) {
        return Some(end);
    }
    if kind == Number {
        let mut end = after;
        for _ in 0..2 {
            end = match next_char(text, end) {
                Some((_, Number, next)) => next,
                _ => break,
            };
        }
        return Some(end);
    }
    let from = if first == ' ' { after } else { 0 };
    let marks = run(text, from, |_, class| matches!(class, Other | Mark));
    if marks > from {
        return Some(run(text, marks, |c, class| class == Break || c == '/'));
    }
    let end = run(text, 0, |_, class| matches!(class, Space | Break));
    if let Some(last_break) = text[..end].rfind(['\r', '\n']) {
        return Some(last_break + 1);
    }
    if end == text.len() {
        return Some(end);
    }
    // White space before a word leaves its last character to that word, unless it is all there is.
    let last = text[..end].chars().next_back().map_or(0, char::len_utf8);
    Some(if end > last { end - last } else { end })
}

/// Alternatives 1 and 2, each first with and then without the character that may come first.
fn word(text: &str, kind: Class, after: usize) -> Option<usize> {
    let in_front = matches!(kind, Space | Other | Mark).then_some(after);
    let starts = || in_front.into_iter().chain([0]);
    starts()
        .find_map(|start| ends_in_second(text, start))
        .or_else(|| starts().find_map(|start| begins_in_first(text, start)))
        .map(|end| contraction(text, end))
}

/// `first* second+`, with the first set giving characters back until the second has one.
fn ends_in_second(text: &str, start: usize) -> Option<usize> {
    let middle = run(text, start, |_, class| in_first(class));
    let end = run(text, middle, |_, class| in_second(class));
    if end > middle {
        return Some(end);
    }
    let (at, c) = text[start..middle].char_indices().rev().find(|&(_, c)| in_second(class(c)))?;
    Some(start + at + c.len_utf8())
}

/// `first+ second*`.
fn begins_in_first(text: &str, start: usize) -> Option<usize> {
    let middle = run(text, start, |_, class| in_first(class));
    (middle > start).then(|| run(text, middle, |_, class| in_second(class)))
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`, where a long s is an s too.
fn contraction(text: &str, end: usize) -> usize {
    let Some(rest) = text[end..].strip_prefix('\'') else {
        return end;
    };
    let mut letters = rest.chars();
    let mut next = || letters.next().map(|c| if c == 'ſ' { ('s', 2) } else { (c.to_ascii_lowercase(), 1) });
    match (next(), next()) {
        (Some(('s' | 't' | 'm' | 'd', length)), _) => end + 1 + length,
        (Some(('r' | 'v', 1)), Some(('e', 1))) | (Some(('l', 1)), Some(('l', 1))) => end + 3,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_are_cut_where_the_pattern_cuts() {
        let table: &[(&str, &[&str])] = &[
            ("camelCase", &["camel", "Case"]),
            ("HTTPServer", &["HTTPServer"]),
            ("don't", &["don't"]),
            ("12345", &["123", "45"]),
            ("a  b", &["a", " ", " b"]),
            ("x;\n\ny", &["x", ";\n\n", "y"]),
            ("  \n  x", &["  \n", " ", " x"]),
            ("end  ", &["end", "  "]),
            ("1²345é", &["1²3", "45", "é"]),
            (" x\u{301}y -é /\r\n/é", &[" x\u{301}y", " -", "é", " /\r\n/", "é"]),
            ("it'ſ we'LL  \u{a0}é", &["it'ſ", " we'LL", "  ", "\u{a0}é"]),
        ];
        for (text, expected) in table {
            assert_eq!(&pieces(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn bytes_are_cut_where_characters_are(text in "([ \\t\\x0b\\x0c\\x1c\\r\\n]{0,3}|[a-zA-Z'sStTlL]{1,4}|[0-9²]{1,5}|[-/.'!]{1,3}|[éÉſ漢\u{301}\u{a0}🎉]{0,1}){0,20}") {
            for (at, _) in text.char_indices() {
                let rest = &text[at..];
                prop_assert!(ascii_piece(rest.as_bytes()).is_none_or(|end| Some(end) == first_piece(rest)), "{:?}", rest);
            }
        }
    }
}
