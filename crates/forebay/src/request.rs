//! Queries as plain data: markers name them, tools take them, and [`query`](crate::query) answers them.

pub mod declared;
pub(crate) mod filter;
pub(crate) mod grep;
pub(crate) mod ranges;
pub mod tool_call;

use crate::request::filter::Filter;
use crate::request::grep::Grep;
use std::ops::{Range, RangeInclusive};

/// A question about one output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Query {
    /// These lines, counted from 1, both ends included.
    Lines(Vec<RangeInclusive<u64>>),
    /// These bytes, counted from 0, the end not included.
    Bytes(Vec<Range<u64>>),
    /// The first lines.
    Head(u64),
    /// The last lines.
    Tail(u64),
    /// The lines that match.
    Grep(Grep),
    /// Results of a jq filter.
    Json(Filter),
    /// The paths of a JSON output, with what is found at each.
    Shape {
        /// Paths skipped before the first one shown.
        skip: u64,
    },
    /// Items: functions, headings, files, failures.
    Outline(Outlined),
    /// The passages that answer a question best.
    Ask(String),
}

/// Which part of an outline is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outlined {
    /// Only what begins on this line or after it, counted from 1.
    pub from_line: u64,
    /// Items skipped on the first line: a line may begin several.
    pub skip: u64,
    /// No deeper than this, the outermost things being 0; as deep as fits, if it is not said.
    pub depth: Option<u32>,
}
