//! A jq filter, and what it gives.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A jq filter, and which of its results are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filter {
    /// The filter, in the language of jq.
    pub filter: String,
    /// Results skipped before the first one shown.
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

/// Results of a filter.
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
        /// Text of the error.
        error: String,
    },
    /// The output stops being JSON: what, and where.
    Broken(String),
}
