//! Credentials after the name of an authentication scheme: `Bearer …`, `Basic …`.

use crate::encoding::base64;
use crate::placeholder::is_placeholder;
use crate::randomness::{is_random, is_uuid};
use crate::text::{is_start, skip_blanks, starts_with_ignore_case};
use std::ops::Range;

/// Credentials and what they are.
pub(crate) struct Credentials {
    pub(crate) range: Range<usize>,
    pub(crate) name: &'static str,
}

/// The credentials after the scheme at `at`.
pub(crate) fn find(text: &[u8], at: usize) -> Option<Credentials> {
    if !is_start(text, at) {
        return None;
    }
    let basic = starts_with_ignore_case(&text[at..], b"basic ");
    let from = skip_blanks(text, at + if basic { 6 } else { 7 });
    let of_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._~+/=:%".contains(byte);
    let length = text[from..].iter().take(8192).take_while(of_token).count();
    let range = from..from + length;
    let value = &text[range.clone()];
    if length < 6 || is_placeholder(value) || memchr::memmem::find(value, b"://").is_some() {
        return None;
    }
    if basic {
        let pair = base64(value)?;
        let colon = memchr::memchr(b':', &pair)?;
        let readable = std::str::from_utf8(&pair).is_ok_and(|pair| !pair.chars().any(char::is_control));
        let secret = readable && length >= 8 && !is_placeholder(&pair[colon + 1..]);
        return secret.then_some(Credentials { range, name: "basic credentials" });
    }
    let secret = length >= 12 && (is_random(value) || is_uuid(value));
    secret.then_some(Credentials { range, name: "bearer token" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_found_and_words_are_not() {
        let table = [
            ("Bearer a9f8c7e6d5b4a3f2e1d0", Some("a9f8c7e6d5b4a3f2e1d0")),
            ("Basic aGFuYToyYWFkYmY4YzE2MGFkZTFl", Some("aGFuYToyYWFkYmY4YzE2MGFkZTFl")),
            ("Bearer authentication", None),
            ("Bearer $API_KEY", None),
            ("Basic authentication", None),
            ("Basic dXNlcjpwYXNzd29yZA==", None),
        ];
        for (text, want) in table {
            assert_eq!(find(text.as_bytes(), 0).map(|found| &text[found.range]), want, "{text}");
        }
    }
}
