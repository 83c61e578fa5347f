//! Session cookies in headers.

use crate::placeholder::is_placeholder;
use crate::randomness::is_random;
use crate::text::{contains_ignore_case, line_end};
use std::ops::Range;

/// Cookies that give no access, by parts of their names.
const HARMLESS: &[&str] = &[
    "csrf",
    "xsrf",
    "_ga",
    "_gid",
    "_fbp",
    "locale",
    "lang",
    "theme",
    "consent",
    "cf_",
    "__utm",
    "ab_",
    "experiment",
    "tz",
    "visitor",
    "anon",
];

/// The values of the cookies in the header at `at`.
pub(crate) fn find(text: &[u8], at: usize) -> Vec<Range<usize>> {
    let end = line_end(text, at, 8192);
    let Some(colon) = memchr::memchr(b':', &text[at..end]) else { return Vec::new() };
    let mut from = at + colon + 1;
    let mut values = Vec::new();
    while from < end {
        let length = text[from..end]
            .iter()
            .position(|byte| matches!(byte, b';' | b'"' | b'\'' | b'\\'))
            .unwrap_or(end - from);
        let pair = &text[from..from + length];
        if let Some(equals) = memchr::memchr(b'=', pair) {
            let name = pair[..equals].trim_ascii();
            let blanks =
                pair[equals + 1..].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
            let value = from + equals + 1..from + length - blanks;
            let content = &text[value.clone()];
            let harmless = HARMLESS.iter().any(|part| contains_ignore_case(name, part.as_bytes()));
            let one_word = !content.iter().any(u8::is_ascii_whitespace);
            if !harmless && one_word && content.len() >= 16 && is_random(content) && !is_placeholder(content)
            {
                values.push(value);
            }
        }
        from += length + 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_and_settings_are_not() {
        let table = [
            ("Set-Cookie: sid=9xQk7mPz2LwVb4Tn8Rd; Path=/; HttpOnly", vec!["9xQk7mPz2LwVb4Tn8Rd"]),
            ("cookie: theme=dark; session=9xQk7mPz2LwVb4Tn8Rd; a=1", vec!["9xQk7mPz2LwVb4Tn8Rd"]),
            ("cookie: csrftoken=9xQk7mPz2LwVb4Tn8Rd", vec![]),
            ("Set-Cookie: sid=deleted; Expires=Thu, 01 Jan 1970 00:00:00 GMT", vec![]),
        ];
        for (text, want) in table {
            let found: Vec<&str> = find(text.as_bytes(), 0).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, want, "{text}");
        }
    }
}
