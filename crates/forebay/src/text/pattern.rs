//! Patterns that are part of the program.

#[expect(clippy::expect_used, reason = "the patterns are part of the program, and tests compile them")]
pub(crate) fn compiled(pattern: &str) -> regex::bytes::Regex {
    regex::bytes::Regex::new(pattern).expect("a pattern of this module")
}
