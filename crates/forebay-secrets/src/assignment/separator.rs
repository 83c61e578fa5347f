//! How a value is joined to its name.

use crate::text::{skip_blanks, starts_with_ignore_case};
use std::ops::Range;

/// Separator between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// `=`, `:=`, `=>` and the like.
    Equals,
    /// `:`.
    Colon,
    /// `,` between two quoted texts, as in the arguments of a call.
    Comma,
    /// The end of an XML tag.
    Tag,
    /// The border of a table's cells.
    Pipe,
    /// A blank after an option of a command.
    Flag,
    /// A blank.
    Blank,
    /// A dash or a full stop, where a machine joined name and value.
    Dash,
}

/// Separator after a name, and the place of the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joint {
    pub(crate) join: Join,
    /// Place of the value, or of the quote before it.
    pub(crate) at: usize,
    /// Whether the name is in quotes of its own.
    pub(crate) quoted_name: bool,
    /// Whether the value is in quotes.
    pub(crate) quoted_value: bool,
    /// Whether it is `NAME=value` in the way of environment variables.
    pub(crate) is_env: bool,
    /// Whether it is a parameter of a URL.
    pub(crate) is_param: bool,
}

impl Joint {
    /// Whether only a blank or a dash separates the value from its name.
    pub(crate) fn is_loose(&self) -> bool {
        matches!(self.join, Join::Blank | Join::Dash)
    }
}

/// Bytes of the quote at `at`, with the backslashes of escaped text; 0 if there is none.
pub(crate) fn quote(text: &[u8], at: usize) -> usize {
    let rest = &text[at..];
    let slashes = rest.iter().take(8).take_while(|byte| **byte == b'\\').count();
    match rest.get(slashes) {
        Some(b'"' | b'\'') => slashes + 1,
        Some(b'`') if slashes == 0 => 1,
        _ if rest.starts_with(b"&quot;") => 6,
        _ if rest.starts_with(b"&#39;") || rest.starts_with(b"&#34;") => 5,
        _ => 0,
    }
}

/// Bytes of the quote that ends at `at`.
pub(crate) fn quote_before(text: &[u8], at: usize) -> usize {
    let before = &text[..at];
    match before {
        [.., b'"' | b'\''] => {
            1 + before[..at - 1].iter().rev().take(7).take_while(|byte| **byte == b'\\').count()
        }
        [.., b'`'] => 1,
        _ if before.ends_with(b"&quot;") => 6,
        _ => 0,
    }
}

/// Maximum blanks between the parts of an assignment: tables of `kubectl describe` are wide.
const MAX_BLANKS: usize = 48;

/// Finds the separator after a name, and the beginning of the value.
pub(crate) fn after(text: &[u8], name: Range<usize>) -> Option<Joint> {
    let closing = quote(text, name.end);
    let opening = quote_before(text, name.start);
    let quoted_name = closing > 0 && opening > 0;
    let mut at = if closing > 0 && (quoted_name || matches!(text.get(name.end), Some(b'"' | b'\''))) {
        name.end + closing
    } else {
        name.end
    };
    let mut joint =
        Joint { join: Join::Blank, at, quoted_name, quoted_value: false, is_env: false, is_param: false };

    if let Some(value) = labelled_value(text, at) {
        joint.join = Join::Colon;
        joint.at = value;
        return finish(text, joint);
    }
    if quoted_name && matches!(text.get(at), Some(b']' | b')')) {
        at += 1;
    }
    // Unseal keys are numbered.
    if let [b' ', digit, b':', ..] = &text[at..] {
        at += if digit.is_ascii_digit() { 2 } else { 0 };
    }
    let blanks = skip_blanks(text, at) - at;
    if blanks > MAX_BLANKS {
        return None;
    }
    let sign = at + blanks;
    let before = name.start.checked_sub(1).map(|at| text[at]);
    if before == Some(b':') && text.get(sign) == Some(&b':') {
        return None;
    }
    let rest = &text[sign..];
    let (join, length) = match rest {
        [b'=', b'>', ..] => (Join::Equals, 2),
        [b'=', b'=', b'=', ..] | [b'!', b'=', b'=', ..] => (Join::Equals, 3),
        [b'=', b'=', ..] | [b'!', b'=', ..] | [b'?', b'=', ..] | [b'+', b'=', ..] | [b'.', b'=', ..] => {
            (Join::Equals, 2)
        }
        [b':', b':', b':', b'=', ..] => (Join::Equals, 4),
        [b':', b':', b'=', ..] => (Join::Equals, 3),
        [b':', b'=', ..] => (Join::Equals, 2),
        [b'|', b'|', b':', ..] => (Join::Colon, 3),
        [b':', b':', ..] => return None,
        [b':', ..] => (Join::Colon, 1),
        [b'=', ..] => (Join::Equals, 1),
        [b'%', b'3', b'D' | b'd', ..] => (Join::Equals, 3),
        [b'|', ..] if blanks > 0 => (Join::Pipe, 1),
        [b'>', ..] if quoted_name || text[..name.start].ends_with(b"<") => (Join::Tag, 1),
        [b',', ..] if quoted_name && quote(text, skip_blanks(text, sign + 1)) > 0 => (Join::Comma, 1),
        [b'-' | b'.', ..] if blanks == 0 && !quoted_name && !matches!(before, Some(b'/' | b'\\')) => {
            (Join::Dash, 1)
        }
        [_, ..] if blanks > 0 && before == Some(b'-') => (Join::Flag, 0),
        [b'(', ..] if quoted_name => return None,
        [_, ..] if blanks > 0 && !quoted_name => (Join::Blank, 0),
        _ => return None,
    };
    joint.join = join;
    joint.is_param = join == Join::Equals
        && (matches!(before, Some(b'?' | b'&')) || text[..name.start].ends_with(b"&amp;"));
    let shouted = text[name.clone()]
        .iter()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    joint.is_env = join == Join::Equals && length == 1 && blanks == 0 && shouted && !quoted_name;
    let value = sign + length;
    joint.at = if join == Join::Tag { skip_space(text, value) } else { skip_blanks(text, value) };
    if joint.at - value > MAX_BLANKS {
        return None;
    }
    joint.is_env &= joint.at == value;
    if matches!(join, Join::Colon | Join::Blank)
        && let Some(value) = after_type(text, joint.at)
    {
        joint.join = Join::Equals;
        joint.at = value;
    }
    // A quote that was open before the name ends with this one: `"token=" + …`.
    let mark = &text[name.start - opening..name.start];
    if opening > 0 && !quoted_name && text[joint.at..].starts_with(mark) {
        return None;
    }
    finish(text, joint)
}

/// Skips prefixes of strings.
fn finish(text: &[u8], mut joint: Joint) -> Option<Joint> {
    let rest = &text[joint.at..];
    let letters = rest
        .iter()
        .take(2)
        .take_while(|byte| matches!(byte, b'b' | b'r' | b'u' | b'f' | b'@' | b'$' | b'B' | b'R'))
        .count();
    if letters > 0 && quote(text, joint.at + letters) > 0 {
        joint.at += letters;
    }
    let quote = quote(text, joint.at);
    joint.quoted_value = quote > 0;
    (joint.at < text.len()).then_some(joint)
}

fn skip_space(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take(MAX_BLANKS).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Place of the value if a field `value` follows, as in `"name": "TOKEN", "value": "…"` and `key="Token" value="…"`.
fn labelled_value(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    let skipped = text[at..]
        .iter()
        .take(MAX_BLANKS)
        .take_while(|byte| byte.is_ascii_whitespace() || **byte == b',')
        .count();
    if skipped == 0 {
        return None;
    }
    at += skipped;
    at += quote(text, at);
    if !starts_with_ignore_case(&text[at..], b"value") {
        return None;
    }
    at += b"value".len();
    at += quote(text, at);
    at = skip_blanks(text, at);
    matches!(text.get(at), Some(b':' | b'=')).then(|| skip_blanks(text, at + 1))
}

/// Place of a quoted value after a type, as in `token: str = "…"` and `key string = "…"`.
fn after_type(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..text.len().min(at + 40)];
    let equals = rest.iter().position(|byte| *byte == b'=')?;
    let of_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_&<>[]?.*|' :".contains(byte);
    if equals == 0 || !rest[..equals].iter().all(of_type) || !rest[0].is_ascii_alphabetic() && rest[0] != b'&'
    {
        return None;
    }
    // A type is one word, or two with a blank before `=`. More words are a sentence.
    if rest[..equals].trim_ascii().iter().filter(|byte| **byte == b' ').count() > 1 {
        return None;
    }
    let value = skip_blanks(text, at + equals + 1);
    (quote(text, value) > 0).then_some(value)
}
