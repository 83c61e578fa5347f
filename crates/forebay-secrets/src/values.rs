//! Known secret values, in every form in which tools print them.
//!
//! Each form of a value is found by short parts of it. A line break can be inside one part, but not inside all of
//! them. From a part without one, the rest is compared in both directions, across line breaks.

use crate::encoding::to_base64;
use crate::needles::Needles;
use std::ops::Range;

/// Minimum bytes of a value, and of each of its forms.
pub(crate) const MIN_VALUE: usize = 8;

/// Maximum bytes of a part that is searched for.
const MAX_PART: usize = 8;

/// Known values and their search index.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    forms: Vec<Form>,
    /// For each needle, its form and its place in that form.
    parts: Vec<Part>,
    needles: Needles,
}

/// A form in which a value is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Form {
    /// Number of the value.
    value: usize,
    text: Vec<u8>,
    /// Number of characters before and after the text that depend on the value and on adjacent bytes.
    mixed: Mixed,
}

/// Number of characters at both ends that encode bits of a value together with bits of adjacent text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mixed {
    before: bool,
    after: bool,
}

/// A part of a form that is searched for.
#[derive(Clone, Copy, Debug)]
struct Part {
    form: usize,
    offset: usize,
}

/// Occurrence of a known value.
pub(crate) struct Known {
    /// Number of the value.
    pub(crate) value: usize,
    pub(crate) pieces: Vec<Range<usize>>,
}

impl Values {
    /// Builds the search index of these values.
    pub(crate) fn new(values: &[Vec<u8>]) -> Values {
        let mut forms: Vec<Form> = Vec::new();
        for (number, value) in values.iter().enumerate().filter(|(_, value)| value.len() >= MIN_VALUE) {
            let own = forms_of(number, value);
            for form in own.into_iter().filter(|form| form.text.len() >= MIN_VALUE) {
                if !forms.iter().any(|other| other.value == number && other.text == form.text) {
                    forms.push(form);
                }
            }
        }
        let mut parts = Vec::new();
        for (number, form) in forms.iter().enumerate() {
            let length = (form.text.len() / 2).min(MAX_PART);
            let count = if form.text.len() >= 3 * length { 3 } else { 2 };
            parts.extend((0..count).map(|at| Part { form: number, offset: at * length }));
        }
        let text = |part: &Part| {
            let text = &forms[part.form].text;
            text[part.offset..part.offset + (text.len() / 2).min(MAX_PART)].to_vec()
        };
        let needles = Needles::new(parts.iter().map(text).collect::<Vec<_>>());
        Values { forms, parts, needles }
    }

    /// Finds the occurrences of the values in a text. They may overlap.
    pub(crate) fn find(&self, text: &[u8]) -> Vec<Known> {
        let mut known: Vec<Known> = Vec::new();
        self.needles.find(text, |at, number| {
            let Part { form, offset } = self.parts[number];
            let form = &self.forms[form];
            if let Some(mut pieces) = around(text, at, &form.text, offset) {
                widen(text, &mut pieces, form.mixed);
                known.push(Known { value: form.value, pieces });
            }
        });
        known
    }
}

/// The forms of a value.
fn forms_of(value: usize, bytes: &[u8]) -> Vec<Form> {
    let plain = |text: Vec<u8>| Form { value, text, mixed: Mixed::default() };
    let mut forms = vec![plain(bytes.to_vec())];
    let escaped = json_escaped(bytes, b"\"\\");
    forms.push(plain(json_escaped(&escaped, b"\"\\")));
    forms.push(plain(escaped));
    forms.push(plain(json_escaped(bytes, b"\"\\/")));
    for unreserved in [&b"-_.~"[..], b"-_.~/", b"-_.!~*'()"] {
        forms.push(plain(url_encoded(bytes, unreserved, b"0123456789ABCDEF")));
        forms.push(plain(url_encoded(bytes, unreserved, b"0123456789abcdef")));
    }
    let spaces = url_encoded(bytes, b"-_.~ ", b"0123456789ABCDEF");
    forms.push(plain(spaces.into_iter().map(|byte| if byte == b' ' { b'+' } else { byte }).collect()));
    for (from, to) in [("&", "&amp;"), ("'", "'\\''"), ("'", "&#39;")] {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let text = text.replace(from, to);
            let text = if to == "&amp;" {
                text.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
            } else {
                text
            };
            forms.push(plain(text.into_bytes()));
        }
    }
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        let digit = |value: u8| digits[usize::from(value)];
        forms.push(plain(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()));
    }
    for alphabet in [*b"+/", *b"-_"] {
        forms.extend((0..3).map(|shift| in_base64(value, bytes, shift, alphabet)));
    }
    forms
}

/// Characters of base64 that depend only on the value, if the value begins after `shift` other bytes.
fn in_base64(value: usize, bytes: &[u8], shift: usize, alphabet: [u8; 2]) -> Form {
    let shifted: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
    let text = to_base64(&shifted, alphabet);
    let from = (shift * 8).div_ceil(6);
    let to = shifted.len() * 8 / 6;
    let mixed = Mixed { before: shift > 0, after: !shifted.len().is_multiple_of(3) };
    Form { value, text: text[from..to].to_vec(), mixed }
}

fn json_escaped(bytes: &[u8], escaped: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            byte if escaped.contains(byte) => out.extend([b'\\', *byte]),
            byte => out.push(*byte),
        }
    }
    out
}

fn url_encoded(bytes: &[u8], unreserved: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || unreserved.contains(byte) {
            out.push(*byte);
        } else {
            out.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
    }
    out
}

/// The form around a part of it that begins at `at`, across line breaks.
fn around(text: &[u8], at: usize, form: &[u8], offset: usize) -> Option<Vec<Range<usize>>> {
    let mut pieces = Vec::new();
    let mut end = at;
    let mut start = at;
    for want in form[..offset].iter().rev() {
        if start.checked_sub(1).is_none_or(|before| text[before] != *want) {
            let before = before_break(text, start, *want)?;
            pieces.push(start..end);
            end = before;
            start = before;
        }
        start -= 1;
    }
    pieces.push(start..end);
    pieces.reverse();
    for want in &form[offset..] {
        let last = pieces.last_mut()?;
        if text.get(last.end) == Some(want) {
            last.end += 1;
        } else {
            let after = after_break(text, last.end, *want)?;
            pieces.push(after..after + 1);
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    Some(pieces)
}

/// Maximum bytes before the text of a line: an indentation, or the sign of a diff or a comment.
const MAX_LEAD: usize = 40;

/// Whether a byte can be before the text of each line.
fn is_lead(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'+' | b'-' | b'>' | b'|' | b'#' | b'*')
}

/// Place after a line break at `at`, if the byte there is `want`.
fn after_break(text: &[u8], at: usize, want: u8) -> Option<usize> {
    let rest = &text[at..];
    let length = match rest {
        [b'\\', b'\r', b'\n', ..] => 3,
        [b'\\', b'r', b'\\', b'n', ..] => 4,
        [b'\\', b'\n', ..] | [b'\r', b'\n', ..] | [b'\\', b'n', ..] => 2,
        [b'\n', ..] => 1,
        _ => return None,
    };
    let from = at + length;
    let lead = text[from..].iter().take(MAX_LEAD).take_while(|byte| is_lead(**byte)).count();
    (from..=from + lead).find(|at| text.get(*at) == Some(&want))
}

/// End of the text before a line break that ends at `at`, if its last byte is `want`.
fn before_break(text: &[u8], at: usize, want: u8) -> Option<usize> {
    let lead = text[..at].iter().rev().take(MAX_LEAD).take_while(|byte| is_lead(**byte)).count();
    (at - lead..=at).rev().find_map(|at| {
        let end = match &text[..at] {
            [.., b'\\', b'\r', b'\n'] => at - 3,
            [.., b'\\', b'r', b'\\', b'n'] => at - 4,
            [.., b'\\', b'\n'] | [.., b'\r', b'\n'] | [.., b'\\', b'n'] => at - 2,
            [.., b'\n'] => at - 1,
            _ => return None,
        };
        (end > 0 && text[end - 1] == want).then_some(end)
    })
}

/// Extends the ranges by the characters at the ends that also encode bits of the value.
fn widen(text: &[u8], pieces: &mut [Range<usize>], mixed: Mixed) {
    let of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    if let Some(first) = pieces.first_mut().filter(|_| mixed.before)
        && first.start > 0
        && of_base64(text[first.start - 1])
    {
        first.start -= 1;
    }
    if let Some(last) = pieces.last_mut().filter(|_| mixed.after)
        && text.get(last.end).is_some_and(|byte| of_base64(*byte))
    {
        last.end += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: &str, text: &str) -> Vec<String> {
        let values = Values::new(&[value.as_bytes().to_vec()]);
        let join =
            |known: Known| known.pieces.into_iter().map(|piece| &text[piece]).collect::<Vec<_>>().join("⏎");
        let mut found: Vec<String> = values.find(text.as_bytes()).into_iter().map(join).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn a_value_is_found_in_every_form() {
        let value = "p4$w\"o/rd&é+9";
        let table = [
            format!("x{value}y"),
            "\"p4$w\\\"o/rd&é+9\"".to_owned(),
            "\\\"p4$w\\\\\\\"o/rd&é+9\\\"".to_owned(),
            "?a=p4%24w%22o%2Frd%26%C3%A9%2B9&b".to_owned(),
            "?a=p4%24w%22o%2frd%26%c3%a9%2b9&b".to_owned(),
            "<p>p4$w&quot;o/rd&amp;é+9</p>".to_owned(),
            "70342477226f2f726426c3a92b39".to_owned(),
            "70342477226F2F726426C3A92B39".to_owned(),
        ];
        for text in table {
            assert_eq!(found(value, &text).len(), 1, "{text}");
        }
        assert!(found(value, "p4$w\"o/rd&e+9").is_empty());
    }

    #[test]
    fn a_value_is_found_in_base64_wherever_it_begins() {
        let value = "s9Kd82kf>>Q7?";
        for before in 0..4 {
            for after in 0..4 {
                let text = [&b"abcd"[..before], value.as_bytes(), &b"wxyz"[..after]].concat();
                for alphabet in [*b"+/", *b"-_"] {
                    let encoded = String::from_utf8(to_base64(&text, alphabet)).unwrap();
                    let found = found(value, &encoded);
                    assert_eq!(found.len(), 1, "{encoded}");
                    // No character that remains depends on the value.
                    let start = encoded.find(&found[0]).unwrap();
                    assert!(start * 6 <= before * 8, "{encoded} {found:?}");
                    assert!(
                        (start + found[0].len()) * 6 >= (before + value.len()) * 8,
                        "{encoded} {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn line_breaks_anywhere_in_a_value_stay() {
        let value = "s9Kd82kfQ7mPz2LwVb4";
        for at in 1..value.len() {
            for line_break in ["\n", "\r\n", "\n    ", "\n+", "\n> ", "\\\n", "\\n", "\\r\\n"] {
                let text = format!("a {}{line_break}{} b", &value[..at], &value[at..]);
                let want = format!("{}⏎{}", &value[..at], &value[at..]);
                assert_eq!(found(value, &text), [want], "{text}");
            }
        }
        // Every sixteen characters, as `fold -w16` prints them.
        let value = "s9Kd82kfQ7mPz2LwVb4Tn8RdXc5YhJ3g";
        for from in 0..16 {
            let text: String = "a".repeat(from) + value;
            let text = text
                .as_bytes()
                .chunks(16)
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect::<Vec<_>>()
                .join("\n");
            assert_eq!(found(value, &text).len(), 1, "{text}");
        }
    }

    #[test]
    fn short_values_are_not_looked_for() {
        assert!(found("abc1234", "abc1234").is_empty());
    }
}
