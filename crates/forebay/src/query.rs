//! Bounded questions about one output, each with an exact answer.
//!
//! A [`Query`] is what is asked, an [`Excerpt`] what comes back. Every excerpt holds its budget whatever the length
//! of a line, says where it stands in the output, and has the query that goes on from there. How that query is written
//! depends on where the reader is: see [`Surface`](crate::Surface).

pub(crate) mod ask;
pub(crate) mod grep;
pub(crate) mod json;
pub(crate) mod outline;
pub(crate) mod range;
pub(crate) mod search;

pub use crate::classify::form::Form;
pub use crate::classify::languages::Language;
pub use crate::outline::json::{BrokenOff, JsonPath, Keys, Shape};
pub use crate::outline::{Item, Outline};
pub use crate::query::json::tree::{Node, Nodes, nodes};
pub use crate::rank::passage::Passage;
pub use crate::request::Outlined;
pub use crate::request::filter::{Ended, Filter, Total, Value, Values};
pub use crate::request::grep::{Grep, SHOWN, Wanted};
pub use crate::request::ranges::{byte_ranges, line_ranges};
pub use grep::Match;
pub use json::values;
pub(crate) use search::search;
pub use search::{Group, Searched};

use crate::classify::json::locate::found;
use crate::request::Query;
use crate::{Budget, Output, Result};
use serde::Serialize;
use std::ops::Range;

/// The answer to a query: parts of one output, with where they stand and how to go on.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// What is printed: where it stands, the bytes of the output as they are, and how to go on.
    pub text: Vec<u8>,
    /// The bytes of the output that it comes from, in their order; a read shows all of them as they are.
    pub shown: Vec<Range<u64>>,
    /// The first and the last line that it has a part of, counted from 1; `None` if it has none.
    pub lines: Option<(u64, u64)>,
    /// How many lines the output has.
    pub total_lines: u64,
    /// The query that goes on from here; `None` at the end.
    pub next: Option<Query>,
    /// Whether the output is still being written, so that asking again may give more.
    pub growing: bool,
    /// What was found, for queries that find something.
    pub found: Found,
}

/// What a query found, beyond the bytes that are shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It asked for bytes, and those are shown.
    Bytes,
    /// What a grep found.
    Matches(Matches),
    /// What a filter gave.
    Values(Values),
    /// The paths of a JSON output.
    Shape(Shape),
    /// What is in an output.
    Outline(Outline),
    /// What answers a question.
    Passages(Vec<Passage>),
}

/// What a grep found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Matches {
    /// How many there are in all, however few are shown.
    pub total: u64,
    /// Those that are shown.
    #[serde(rename = "matches")]
    pub shown: Vec<Match>,
}

/// Whether an output is JSON, or has a few lines of text around it.
pub(crate) fn is_json(output: &Output) -> Result<bool> {
    Ok(found(output)?.is_some())
}

/// Answers a query within a budget.
pub fn excerpt(output: &Output, query: &Query, budget: Budget) -> Result<Excerpt> {
    match query {
        Query::Lines(lines) => range::lines(output, lines, budget),
        Query::Bytes(bytes) => range::bytes(output, bytes, budget),
        Query::Head(count) => range::lines(output, &[1..=(*count).max(1)], budget),
        Query::Tail(count) => range::tail(output, *count, budget),
        Query::Grep(grep) => grep::grep(output, grep, budget),
        Query::Json(filter) => json::values_excerpt(output, filter, budget),
        Query::Shape { skip } => json::shape_excerpt(output, *skip, budget),
        Query::Outline(outlined) => outline::excerpt(output, outlined, budget),
        Query::Ask(question) => ask::ask(output, question, budget),
    }
}

/// How many of `most` things can be printed within a budget.
pub(crate) fn fitted(most: usize, budget: Budget, print: impl Fn(usize) -> Vec<u8>) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if budget.holds(&print(middle)) { low = middle } else { high = middle - 1 }
    }
    low
}
