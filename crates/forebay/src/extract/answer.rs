//! The answer to an extraction: its text, how it was made and which parts of the output were read.

use crate::event::Reading;
use crate::extract::extraction::Mode;
use crate::extract::strategy::Strategy;
use serde::Serialize;
use std::ops::Range;

/// The strategy that could not run, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fallback {
    /// The mode that was to be used.
    pub from: Mode,
    /// Why it could not run.
    pub why: String,
}

/// Result of an extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extract {
    /// The answer, in its envelope.
    pub text: String,
    /// The strategy that made it.
    pub strategy: Strategy,
    /// The mode that could not run, if another strategy was used in its place.
    pub fell_back: Option<Fallback>,
    /// Reading by models with its cost, if a model got a request.
    pub reading: Option<Reading>,
    /// Whether it is an earlier answer, and nothing was read for it now.
    pub repeated: bool,
    /// Why the reading was stopped before its end, if it was: the text then has what was read until then.
    pub stopped: Option<String>,
}

impl Extract {
    /// An answer without anything that models add.
    pub(crate) fn new(strategy: Strategy, text: String) -> Extract {
        Extract { text, strategy, fell_back: None, reading: None, repeated: false, stopped: None }
    }
}

/// The report of a strategy, and the parts of the output that were read for it.
pub(crate) struct Findings {
    pub(crate) text: String,
    pub(crate) ranges: Vec<Range<u64>>,
    pub(crate) how: How,
}

/// The way in which a strategy read those parts.
pub(crate) enum How {
    /// All of the output, in this number of chunks.
    Chunks(u64),
    /// A part of it.
    Narrowed { chunks: u64, by: By },
    /// The passages that match the instructions, which answered.
    Passages,
    /// All of it, by a jq filter that a model wrote.
    Filtered,
    /// As an agent does, with the patterns that it searched for.
    Turns { turns: u64, calls: u64, patterns: Vec<String> },
}

/// The choice of the parts of an output that a model reads in place of all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// By the words of the instructions.
    Words,
    /// As records: some by the words of the instructions, others spread over the document.
    Records,
    /// As the beginning and the end, because no part has words of the instructions.
    Ends,
    /// As records spread over the document, for the same reason.
    Spread,
}
