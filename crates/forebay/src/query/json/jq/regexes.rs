//! Regular expressions in filters, on the `regex` crate. jaq's own engine takes minutes for `a{1000}b`.

use jaq_core::Error;
use jaq_json::Val;
use regex::bytes::{Regex, RegexBuilder};

/// Maximum bytes of a compiled pattern, with the cost of a search for each 16 bytes of text. The worst time of a search
/// grows with both.
const COST: [(usize, u64); 4] = [(32 << 10, 1), (128 << 10, 8), (512 << 10, 64), (2 << 20, 512)];

/// A compiled pattern with the cost of a search.
#[derive(Clone)]
pub(crate) struct Pattern {
    pub(crate) regex: Regex,
    /// Units of fuel for each 16 bytes of text.
    pub(crate) cost: u64,
    /// Whether all matches are wanted, and not only the first.
    pub(crate) global: bool,
    /// Whether empty matches are skipped.
    pub(crate) no_empty: bool,
}

impl Pattern {
    /// Compiles a pattern with the flags of jq.
    pub(crate) fn new(pattern: &str, flags: &str) -> Result<Pattern, Error<Val>> {
        if let Some(flag) = flags.chars().find(|flag| !"gnimslxp".contains(*flag)) {
            return Err(Error::str(format_args!("invalid regex flag: {flag}")));
        }
        let has = |flag: char| flags.contains(flag);
        let mut builder = RegexBuilder::new(pattern);
        builder
            .case_insensitive(has('i'))
            .multi_line(has('m') || has('p'))
            .dot_matches_new_line(has('s') || has('p'))
            .swap_greed(has('l'))
            .ignore_whitespace(has('x'));
        let mut wrong = None;
        for (size, cost) in COST {
            match builder.size_limit(size).build() {
                Ok(regex) => return Ok(Pattern { regex, cost, global: has('g'), no_empty: has('n') }),
                Err(error @ regex::Error::CompiledTooBig(_)) => wrong = Some(error),
                Err(error) => return Err(Error::str(format_args!("invalid regex: {error}"))),
            }
        }
        Err(Error::str(format_args!("invalid regex: {}", wrong.map_or_else(String::new, |e| e.to_string()))))
    }
}
