//! Words in bytes.

/// The byte before a place; none, if an escape code ends there: its letters are not part of a word.
pub(crate) fn before(block: &[u8], at: usize) -> Option<u8> {
    let before = *block[..at].last()?;
    let code = &block[at.saturating_sub(16)..at - 1];
    let digits = code.iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b';');
    let escaped = before.is_ascii_alphabetic() && digits.is_some_and(|at| code[..=at].ends_with(b"\x1b["));
    (!escaped).then_some(before)
}
