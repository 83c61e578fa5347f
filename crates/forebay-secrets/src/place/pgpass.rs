//! Passwords in PostgreSQL password files: `host:5432:database:user:password`.

use crate::placeholder::is_placeholder;
use crate::text::{line_end, line_start};
use std::ops::Range;

/// The password on the line that contains `at`.
pub(crate) fn find(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = line_start(text, at, 256);
    let end = line_end(text, at, 256);
    let line = text[start..end].trim_ascii_end();
    let blank = line.iter().any(u8::is_ascii_whitespace);
    let mut colons = memchr::memchr_iter(b':', line);
    let (host, port, last) = (colons.next()?, colons.next()?, colons.nth(1)?);
    let number = &line[host + 1..port];
    let numeric = number == b"*" || !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let password = &line[last + 1..];
    let secret =
        numeric && !blank && password.len() >= 4 && !password.starts_with(b"//") && !is_placeholder(password);
    secret.then(|| start + last + 1..start + line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifth_field_is_the_password() {
        let table = [
            ("db.internal:5432:app:deploy:9xQk7mPz", Some("9xQk7mPz")),
            ("*:*:*:deploy:9xQk:7mPz\n", Some("9xQk:7mPz")),
            ("listening on 0.0.0.0:5432: ok", None),
            ("a:5432:b:c:${PASSWORD}", None),
        ];
        for (text, want) in table {
            assert_eq!(find(text.as_bytes(), 3).map(|range| &text[range]), want, "{text}");
        }
    }
}
