//! Passwords in URLs: `postgres://user:password@host`.

use crate::placeholder::is_placeholder;
use crate::randomness::is_random;
use std::ops::Range;

/// Maximum bytes between `://` and `@`.
const MAX_USER_INFO: usize = 512;

/// The password, or the token in the place of a user name, after the `://` at `at`.
pub(crate) fn find(text: &[u8], at: usize) -> Option<Range<usize>> {
    let from = at + 3;
    let rest = &text[from..text.len().min(from + MAX_USER_INFO)];
    if at == 0 || !text[at - 1].is_ascii_alphanumeric() {
        return None;
    }
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'|' | b'(' | b')')
    };
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    let rest = &rest[..length];
    // A password may hold the characters that end the authority, but then it is hardly followed by `@` and a host.
    let authority =
        rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#' | b',')).unwrap_or(rest.len());
    let sign = memchr::memrchr(b'@', &rest[..authority]).or_else(|| late_sign(rest, authority))?;
    if !rest.get(sign + 1).is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'[' | b'$' | b'{' | b'_' | b'(' | b'/')
    }) {
        return None;
    }
    let user_info = &rest[..sign];
    match memchr::memchr(b':', user_info) {
        Some(colon) => {
            let password = &user_info[colon + 1..];
            let secret = password.len() >= 3 && !is_placeholder(password) && password != &user_info[..colon];
            secret.then(|| from + colon + 1..from + sign)
        }
        None => {
            // A Sentry DSN is public, since it is part of web pages.
            let published = memchr::memmem::find(&rest[sign..], b"sentry").is_some();
            let token =
                user_info.len() >= 20 && is_random(user_info) && !is_placeholder(user_info) && !published;
            token.then(|| from..from + sign)
        }
    }
}

/// Place of the `@` of a password with `/`, `?` or `#` in it.
fn late_sign(rest: &[u8], authority: usize) -> Option<usize> {
    let colon = memchr::memchr(b':', &rest[..authority])?;
    let sign = authority + memchr::memrchr(b'@', &rest[authority..])?;
    // `host:8080/~user@example` is a path after a port, not a password.
    let port = &rest[colon + 1..authority];
    let numeric = port.iter().all(u8::is_ascii_digit);
    let named = !numeric && is_random(&rest[colon + 1..sign]);
    named.then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_found_and_references_are_not() {
        let table = [
            ("postgres://app:s9Kd82kfQ@db:5432/x", Some("s9Kd82kfQ")),
            ("redis://:hB7vTq2p@cache", Some("hB7vTq2p")),
            ("https://oauth2:a9f8c7e6d5b4a3f2e1d0@git.example/x.git", Some("a9f8c7e6d5b4a3f2e1d0")),
            ("https://a9f8c7e6d5b4a3f2e1d0c9@git.example/x.git", Some("a9f8c7e6d5b4a3f2e1d0c9")),
            ("amqp://u:9x/Qk7#mPz2Lw@host/", Some("9x/Qk7#mPz2Lw")),
            ("https://u:p%40ss9w2rdZ@host", Some("p%40ss9w2rdZ")),
            ("https://git@github.example/x", None),
            ("https://user:${TOKEN}@host", None),
            ("http://admin:password@127.0.0.1", None),
            ("amqps://username:$password@localhost", None),
            ("http://host:8080/~user@example", None),
            ("https://registry/@scope/pkg", None),
            ("ssh://git@host:22/x", None),
        ];
        for (text, want) in table {
            let at = memchr::memmem::find(text.as_bytes(), b"://").unwrap();
            let found = find(text.as_bytes(), at).map(|range| &text[range]);
            assert_eq!(found, want, "{text}");
        }
    }
}
