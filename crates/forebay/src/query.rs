//! Bounded questions about one output, each with an exact answer.
//!
//! A [`Query`] is what is asked, an [`Excerpt`] what comes back. Every excerpt holds its budget whatever the length
//! of a line, says where it stands in the output, and has the command that goes on from there.

mod grep;
mod range;

pub use grep::{Grep, Match, SHOWN};

use crate::{Budget, Output, Result};
use std::ops::{Range, RangeInclusive};

/// A question about one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// These lines, counted from 1, both ends included.
    Lines(RangeInclusive<u64>),
    /// These bytes, counted from 0, the end not included.
    Bytes(Range<u64>),
    /// The first lines.
    Head(u64),
    /// The last lines.
    Tail(u64),
    /// The lines that match.
    Grep(Grep),
}

/// The answer to a query: a part of one output, with where it stands and how to go on.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// What is printed: where it stands, the bytes of the output as they are, and how to go on.
    pub text: Vec<u8>,
    /// The bytes of the output that it covers.
    pub bytes: Range<u64>,
    /// The first and the last line that it has a part of, counted from 1; `None` if it has none.
    pub lines: Option<(u64, u64)>,
    /// How many lines the output has.
    pub total_lines: u64,
    /// The command that goes on from here; `None` at the end.
    pub next: Option<String>,
    /// Whether the output is still being written, so that asking again may give more.
    pub growing: bool,
    /// The matches, of a grep.
    pub matches: Option<Matches>,
}

/// What a grep found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matches {
    /// How many there are in all, however few are shown.
    pub total: u64,
    /// Those that are shown.
    pub shown: Vec<Match>,
}

/// Answers a query within a budget.
pub fn excerpt(output: &Output, query: &Query, budget: Budget) -> Result<Excerpt> {
    match query {
        Query::Lines(lines) => range::lines(output, *lines.start(), *lines.end(), budget),
        Query::Bytes(bytes) => range::bytes(output, bytes.clone(), budget),
        Query::Head(count) => range::lines(output, 1, (*count).max(1), budget),
        Query::Tail(count) => range::tail(output, *count, budget),
        Query::Grep(grep) => grep::grep(output, grep, budget),
    }
}
