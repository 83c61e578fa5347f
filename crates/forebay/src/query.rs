//! Bounded questions about one output, each with an exact answer.
//!
//! A [`Query`] is answered by an [`Excerpt`]. Every excerpt fits its budget whatever the length of a line, names its
//! place in the output, and has the query that reads on. The form of that query depends on the reader: see
//! [`Surface`](crate::Surface).

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
pub use crate::request::grep::{Grep, Wanted};
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

/// The answer to a query: parts of one output, with their places and the query that reads on.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The printed answer: its place, the bytes of the output as they are, and the call that reads on.
    pub text: Vec<u8>,
    /// The bytes of the output that it comes from, in their order; a read shows all of them as they are.
    pub shown: Vec<Range<u64>>,
    /// First and last line that it has a part of, counted from 1; `None` if it has none.
    pub lines: Option<(u64, u64)>,
    /// Number of lines of the output.
    pub total_lines: u64,
    /// The query that reads on; `None` at the end.
    pub next: Option<Query>,
    /// Whether the output is still being written, so that the same query may give more later.
    pub growing: bool,
    /// The results, for queries that have some.
    pub found: Found,
}

/// Results of a query, beyond the bytes that are shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The query reads bytes, and those are shown.
    Bytes,
    /// Matches of a search.
    Matches(Matches),
    /// Results of a filter.
    Values(Values),
    /// The paths of a JSON output.
    Shape(Shape),
    /// Items of an output.
    Outline(Outline),
    /// Passages that answer a question.
    Passages(Vec<Passage>),
}

/// Matches of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Matches {
    /// Number of all matches, however few are shown.
    pub total: u64,
    /// The matches that are shown.
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

/// The largest count of items, up to `most`, whose print fits the budget.
pub(crate) fn fitted(most: usize, budget: Budget, print: impl Fn(usize) -> Vec<u8>) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if budget.holds(&print(middle)) { low = middle } else { high = middle - 1 }
    }
    low
}
