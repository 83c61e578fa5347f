//! A jq filter and its results.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A jq filter, with the range of results that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filter {
    /// The filter, in the language of jq.
    pub filter: String,
    /// Results skipped before the first one shown.
    pub skip: u64,
    /// Maximum results shown.
    pub max: u64,
    /// Whether the documents of JSON lines are one array, as with `jq -s`. Only for outputs that fit in memory.
    #[serde(default)]
    pub together: bool,
    /// Masks in the text that the filter reads, each with the bytes that it stands for. Set for filters that may take texts
    /// with secrets apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<(Range<u64>, String)>,
}

impl Filter {
    /// Default maximum of results shown.
    pub const SHOWN: u64 = 100;

    /// A filter with all its results, up to the default maximum.
    pub fn new(filter: impl Into<String>) -> Filter {
        Filter { filter: filter.into(), skip: 0, max: Filter::SHOWN, together: false, masks: Vec::new() }
    }
}

/// Results of a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Values {
    /// The results in the wanted range, as far as there is room. Of the last one there may be only the beginning.
    pub values: Vec<Value>,
    /// Number of all results.
    pub total: Total,
    /// The end of the run.
    pub ended: Ended,
}

/// One result of a filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Value {
    /// The result as compact JSON, or its beginning if there was no room for more.
    pub json: String,
    /// Bytes of the whole result.
    pub length: u64,
    /// Bytes of the output that the value comes from, if there are many documents or members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Range<u64>>,
    /// Line on which these bytes begin, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl Value {
    /// Whether `json` is the whole result.
    pub fn is_whole(&self) -> bool {
        self.json.len() as u64 == self.length
    }
}

/// A number of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Total {
    /// Exactly this many.
    Exactly(u64),
    /// This many before the run ended.
    AtLeast(u64),
}

/// The end of a filter's run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ended {
    /// The filter went through all that it needs.
    AllRead,
    /// The run was stopped, though the bytes so far are sound.
    Stopped {
        /// Why it was stopped.
        why: String,
    },
    /// The filter raised an error.
    Failed {
        /// Text of the error.
        error: String,
    },
    /// The output stops being JSON; with the cause and its place.
    Broken(String),
}
