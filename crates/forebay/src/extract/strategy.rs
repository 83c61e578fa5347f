//! The strategies by which an output is read, by their names in envelopes and events.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The way an answer was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// Without a model: the passages that match the instructions.
    Ask,
    /// A model read the output chunk by chunk.
    FullChunked,
    /// A model read and searched the output.
    ReadGrep,
    /// Without a model: the beginning and the end.
    Truncate,
}

impl Strategy {
    const ALL: [Strategy; 4] = [Strategy::Ask, Strategy::FullChunked, Strategy::ReadGrep, Strategy::Truncate];

    /// Its name, as envelopes and events have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Strategy::Ask => "ask",
            Strategy::FullChunked => "full-chunked",
            Strategy::ReadGrep => "read-grep",
            Strategy::Truncate => "truncate",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for a name that no [`Strategy`] has: an event of a later version may have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no strategy has this name")]
pub struct UnknownStrategy;

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Strategy, UnknownStrategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.as_str() == name).ok_or(UnknownStrategy)
    }
}
