//! Functions on bytes of text.

/// Whether a text begins with `lower`, which is in lower case, ignoring case.
pub(crate) fn starts_with_ignore_case(text: &[u8], lower: &[u8]) -> bool {
    text.len() >= lower.len() && text.iter().zip(lower).all(|(byte, want)| byte.to_ascii_lowercase() == *want)
}

/// Whether a text ends with `lower`, which is in lower case, ignoring case.
pub(crate) fn ends_with_ignore_case(text: &[u8], lower: &[u8]) -> bool {
    text.len() >= lower.len() && starts_with_ignore_case(&text[text.len() - lower.len()..], lower)
}

/// Whether a text contains `lower`, which is in lower case, ignoring case.
pub(crate) fn contains_ignore_case(text: &[u8], lower: &[u8]) -> bool {
    text.windows(lower.len()).any(|window| window.eq_ignore_ascii_case(lower))
}

/// Start of the line that contains `at`, at most `limit` bytes before it.
pub(crate) fn line_start(text: &[u8], at: usize, limit: usize) -> usize {
    let from = at.saturating_sub(limit);
    memchr::memrchr(b'\n', &text[from..at]).map_or(from, |newline| from + newline + 1)
}

/// End of the line that contains `at`, without its newline, at most `limit` bytes after it.
pub(crate) fn line_end(text: &[u8], at: usize, limit: usize) -> usize {
    let to = text.len().min(at.saturating_add(limit));
    memchr::memchr(b'\n', &text[at..to]).map_or(to, |newline| at + newline)
}

/// First byte at or after `at` that is not a space or a tab.
pub(crate) fn skip_blanks(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Whether a token can begin at `at`: it does not follow a letter or digit, except one of an escape such as `\n`,
/// `%3D` or a colour code.
pub(crate) fn is_start(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    match before {
        [] => true,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit) => true,
        [.., b'm'] => {
            let digits = before[..at - 1].iter().rev().take(12);
            let digits = digits.take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
            before[..at - 1 - digits].ends_with(b"\x1b[")
        }
        // The part of a file name or of a host name after a full stop.
        [.., byte, b'.'] => !byte.is_ascii_alphanumeric(),
        [.., byte] => !byte.is_ascii_alphanumeric(),
    }
}
