//! Questions about JSON: a jq filter, and what shape a document has.
//!
//! Both go through an output of any size in blocks, so that memory is bounded by the answer and by single values, not
//! by the output.

mod found;
mod fuel;
mod keys;
mod parse;
mod plan;
mod print;
mod program;
mod records;
mod regexes;
mod run;
mod scan;
mod shape;
mod together;
mod tree;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use found::found;
pub(crate) use keys::looked_for;
pub(super) use print::{shape as shape_excerpt, values as values_excerpt};
pub(crate) use records::{JsonRecord, Level, ListKind, Records, records, text_border};
pub use shape::{BrokenOff, JsonPath, Keys, Shape};
pub(crate) use shape::{Place, member};
pub(crate) use together::together;
pub use tree::{Node, Nodes, nodes};

use crate::{Output, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A jq filter, and which of its results are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filter {
    /// The filter, in the language of jq.
    pub filter: String,
    /// So many results are passed over.
    pub skip: u64,
    /// No more results are shown.
    pub max: u64,
    /// Whether documents on lines are one array, as with `jq -s`. Only for outputs that fit in memory.
    #[serde(default)]
    pub together: bool,
}

impl Filter {
    /// How many results are shown unless it is said.
    pub const SHOWN: u64 = 100;

    /// All that `filter` gives, from the first result on.
    pub fn new(filter: impl Into<String>) -> Filter {
        Filter { filter: filter.into(), skip: 0, max: Filter::SHOWN, together: false }
    }
}

/// What a filter gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Values {
    /// The results that were asked for, as far as there was room. The last one may be only the beginning of one.
    pub values: Vec<Value>,
    /// How many results there are in all.
    pub total: Total,
    /// How the run ended.
    pub ended: Ended,
}

/// One result of a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The result as compact JSON; its beginning, if there was no room for more.
    pub json: String,
    /// How many bytes the whole result has.
    pub length: u64,
    /// The bytes of the output that it came from, where it came from one of many documents or members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Range<u64>>,
    /// The line on which they begin, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl Value {
    /// Whether the whole result is there.
    pub fn is_whole(&self) -> bool {
        self.json.len() as u64 == self.length
    }
}

/// A number of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Total {
    /// There are so many.
    Exactly(u64),
    /// There are so many up to where the run ended.
    AtLeast(u64),
}

/// How a run of a filter ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All that was asked for was gone through.
    AllRead,
    /// It went no further, though nothing is wrong with the bytes so far.
    Stopped {
        /// Why.
        why: String,
    },
    /// The filter gave an error.
    Failed {
        /// What it says.
        error: String,
    },
    /// The output stops being JSON: what, and where.
    Broken(String),
}

/// Runs a jq filter on each document of an output, here or where the caller's [`Bounds`](crate::Bounds) run it.
pub(super) fn bounded(output: &Output, wanted: &Filter, enough: u64) -> Result<Values> {
    match output.bounds().and_then(|bounds| bounds.filter(output, wanted, enough, output.stop())) {
        Some(values) => values,
        None => here(output, wanted, enough, THREADS),
    }
}

/// Runs a jq filter on an output, documents on lines as one array, within the caller's bounds. Gives up to `enough` bytes
/// of its results.
pub(crate) fn run_filter(output: &Output, code: &str, enough: u64) -> Result<Values> {
    bounded(output, &Filter { filter: code.to_owned(), skip: 0, max: u64::MAX, together: true }, enough)
}

/// Runs a jq filter on an output in this process, in one thread, and gives up to `enough` bytes of its results.
///
/// For processes that exist to run one filter: each thread reserves a gigabyte of address space for its stack, so a limit on
/// that space is a limit on memory only where the number of threads is known.
pub fn values(output: &Output, wanted: &Filter, enough: u64) -> Result<Values> {
    here(output, wanted, enough, 1)
}

/// Threads that go through a large output.
const THREADS: usize = 8;

/// Runs a jq filter on each document of an output.
///
/// Results are given from number `skip` on, no more than `max` and no more than `enough` bytes of them; all of them are
/// counted. A filter that does not parse, or an output that is not JSON, is [`Error::BadQuery`](crate::Error::BadQuery).
pub(super) fn filter(output: &Output, filter: &str, skip: u64, max: u64, enough: u64) -> Result<Values> {
    run::run(output, filter, run::Wanted { skip, max, enough, threads: THREADS })
}

/// Runs a jq filter in this process.
fn here(output: &Output, wanted: &Filter, enough: u64, threads: usize) -> Result<Values> {
    let Filter { skip, max, .. } = *wanted;
    let run = |output: &Output| run::run(output, &wanted.filter, run::Wanted { skip, max, enough, threads });
    if wanted.together { run(&together(output)?) } else { run(output) }
}

/// Describes the shape of a JSON output: its paths, and what is found at each.
pub(crate) fn shape(output: &Output) -> Result<Shape> {
    shape::shape(output)
}
