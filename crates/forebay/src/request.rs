//! Queries as plain data: markers name them, tools take them, and [`query`](crate::query) answers them.

pub mod declared;
pub(crate) mod filter;
pub(crate) mod grep;
pub(crate) mod ranges;
pub mod tool_call;

use crate::request::filter::Filter;
use crate::request::grep::Grep;
use std::ops::{Range, RangeInclusive};

/// A query on one output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// The paths of a JSON output, with the types and values at each.
    Shape {
        /// Paths skipped before the first one shown.
        skip: u64,
    },
    /// Items such as functions, headings, files and failures.
    Outline(Outlined),
    /// The passages that answer a question best.
    Ask(String),
}

/// A part of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outlined {
    /// Only items that begin on this line or after it, counted from 1.
    pub from_line: u64,
    /// Items skipped on the first line: a line may begin several.
    pub skip: u64,
    /// Maximum depth, with 0 for the outermost items; `None` for as deep as fits.
    pub depth: Option<u32>,
}
