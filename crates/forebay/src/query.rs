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
pub use crate::request::grep::{Grep, Selection};
pub use crate::request::ranges::{byte_ranges, line_ranges};
pub use grep::Match;
pub use json::values;
pub(crate) use search::search;
pub use search::{Group, Searched};

use crate::classify::json::locate::found;
use crate::masking::{self, KnownValues};
use crate::request::Query;
use crate::{Budget, Error, Output, Result, Secrets, tokens};
use serde::Serialize;
use std::ops::Range;

/// The answer to a query: parts of one output, with their places and the query that reads on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Excerpt {
    /// The printed answer: its place, the bytes of the output as they are, and the call that reads on.
    pub text: Vec<u8>,
    /// The bytes of the output that it comes from, in their order; a read shows all of them as they are.
    pub shown: Vec<Range<u64>>,
    /// First and last line of the range, counted from 1, also if only part of them is in it; `None` if there is none.
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
#[non_exhaustive]
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
#[non_exhaustive]
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

/// Answers a query within a budget, with masks in place of secrets where the output has a masking.
pub fn excerpt(output: &Output, query: &Query, budget: Budget) -> Result<Excerpt> {
    let mut room = budget;
    for _ in 0..ATTEMPTS {
        let excerpt = answer(output, query, room)?;
        let masked = text_masked(output, &excerpt)?;
        let Some(text) = masked else { return Ok(excerpt) };
        if budget.holds(&text) {
            return Ok(Excerpt { text, ..excerpt });
        }
        // A mask may be longer than its secret.
        let over = |size: u64, most: u64| size.saturating_sub(most).max(most / 16);
        room.tokens = room.tokens.saturating_sub(over(tokens::count_bytes(&text), budget.tokens));
        room.bytes = room.bytes.saturating_sub(over(text.len() as u64, budget.bytes));
    }
    Err(Error::BadQuery(format!(
        "a budget of {} tokens has no room for the masks of the secrets in this part: ask with a larger one",
        budget.tokens
    )))
}

/// Attempts to make an excerpt with masks fit its budget.
const ATTEMPTS: usize = 8;

/// Text of an excerpt with masks for the secrets that remain in its parts: those of derived texts, such as names in
/// an outline. `None` if there are none.
fn text_masked(output: &Output, excerpt: &Excerpt) -> Result<Option<Vec<u8>>> {
    let Some(scanner) = output.masking().scanner().filter(|_| output.secrets() == Secrets::Mask) else {
        return Ok(None);
    };
    let mut values = KnownValues::default();
    let mut left = QUOTED;
    for range in excerpt.shown.iter().filter(|_| excerpt.found != Found::Bytes) {
        let start = range.start.saturating_sub(masking::CONTEXT);
        let end = (range.end + masking::CONTEXT).min(output.len()).min(start + left);
        left -= end.saturating_sub(start);
        let bytes = output.read(start..end.max(start))?;
        values.add(&bytes, start, &masking::masks(scanner, &bytes, start));
    }
    let mut masks = masking::masks(scanner, &excerpt.text, 0);
    masks.extend(values.found(&excerpt.text));
    let masks = masking::joined(masks);
    Ok((!masks.is_empty()).then(|| masking::masked(&excerpt.text, 0, &masks)))
}

/// Maximum bytes of the output behind an answer that are searched for secrets, besides the text of the answer.
const QUOTED: u64 = 512 * 1024;

/// Answers a query. Parts of the output that are printed as they are have their masks already.
fn answer(output: &Output, query: &Query, budget: Budget) -> Result<Excerpt> {
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

/// The largest number of items, up to `most`, whose printed form fits the budget.
pub(crate) fn fitted(most: usize, budget: Budget, print: impl Fn(usize) -> Vec<u8>) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if budget.holds(&print(middle)) { low = middle } else { high = middle - 1 }
    }
    low
}
