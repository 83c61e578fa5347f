//! Environment variables that hold secrets.

use crate::assignment::{Claim, Words};
use crate::placeholder::is_placeholder;
use crate::randomness::{Shape, is_random};
use crate::values::MIN_VALUE;

/// Whether an environment variable holds a secret: its name says so, as `GITHUB_TOKEN`, `API_KEY`, `CLIENT_SECRET` and
/// `DB_PASSWORD` do, and its value has at least 8 bytes and is no ordinary word, number, path or placeholder.
///
/// # Examples
///
/// ```
/// use forebay_secrets::is_secret_variable;
///
/// assert!(is_secret_variable("DEPLOY_TOKEN", "s9Kd82kfQ7"));
/// assert!(!is_secret_variable("MAX_TOKENS", "100000000"));
/// assert!(!is_secret_variable("SSH_AUTH_SOCK", "/run/user/1000/agent.sock"));
/// ```
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    let claims = Words::of(b"", name.as_bytes()).claim();
    if !matches!(claims, Some(Claim::Weak | Claim::Secret | Claim::Password)) {
        return false;
    }
    let bytes = value.as_bytes();
    let shape = Shape::of(bytes);
    let word = bytes.iter().all(u8::is_ascii_alphabetic)
        && !is_random(bytes)
        && (shape.upper < 2 || shape.lower < 2);
    let number = bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':'))
        && bytes.len() < 16;
    let path = matches!(bytes, [b'/', b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'~', ..] | [b'.', b'/', ..] | [b'~', b'/', ..])
        && !is_random(bytes);
    bytes.len() >= MIN_VALUE && shape.distinct >= 4 && !word && !number && !path && !is_placeholder(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_both_decide() {
        let table = [
            ("GITHUB_TOKEN", "s9Kd82kfQ7", true),
            ("STRIPE_KEY", "s9Kd82kfQ7", true),
            ("MY_SECRET_2", "s9Kd82kfQ7", true),
            ("PGPASSWORD", "Tr0ub4dor&3", true),
            ("NPM_CONFIG__AUTH_TOKEN", "s9Kd82kfQ7", true),
            ("DB_PASSWORD", "opensesame word", true),
            ("DB_PASSWORD", "short", false),
            ("DB_PASSWORD", "sunshine", false),
            ("API_KEY", "12345678", false),
            ("API_KEY", "${OTHER}", false),
            ("API_KEY", "changeme", false),
            ("TLS_KEY", "/etc/ssl/private/server.key", false),
            ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D", false),
            ("MAX_TOKENS", "100000000", false),
            ("PATH", "/usr/local/bin:/usr/bin", false),
            ("EDITOR", "s9Kd82kfQ7", false),
        ];
        for (name, value, want) in table {
            assert_eq!(is_secret_variable(name, value), want, "{name}={value}");
        }
    }
}
