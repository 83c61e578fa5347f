//! The request of a caller: instructions, the mode, the models and a callback for progress.

use crate::extract::strategy::Strategy;
use crate::model::Model;
use crate::settings::Extract as Settings;
use crate::{Error, Result};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The way in which an output is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// As fits the output and the models.
    #[default]
    Auto,
    /// By a model, chunk by chunk.
    FullChunked,
    /// By a model that reads and searches.
    ReadGrep,
    /// Only its beginning and its end, without a model.
    Truncate,
}

impl Mode {
    /// Names of all modes.
    pub const NAMES: [&'static str; 4] = ["auto", "full-chunked", "read-grep", "truncate"];

    /// The strategy of this mode. In `auto`, chunks are tried first.
    pub(crate) fn strategy(self) -> Strategy {
        match self {
            Mode::Auto | Mode::FullChunked => Strategy::FullChunked,
            Mode::ReadGrep => Strategy::ReadGrep,
            Mode::Truncate => Strategy::Truncate,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Mode::NAMES[*self as usize])
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Mode> {
        let modes = [Mode::Auto, Mode::FullChunked, Mode::ReadGrep, Mode::Truncate];
        modes.into_iter().find(|mode| mode.to_string() == name).ok_or_else(|| {
            Error::BadQuery(format!("mode must be one of {}, and is {name:?}", Mode::NAMES.join(", ")))
        })
    }
}

/// A request to read an output.
#[derive(Clone, Copy, Debug)]
pub struct Extraction<'a> {
    /// Instructions in plain words.
    pub instructions: &'a str,
    /// The way in which the output is read.
    pub mode: Mode,
    /// Whether models read again even if an earlier answer to the same instructions is remembered.
    pub rerun: bool,
    /// Limits on the reading by models.
    pub settings: &'a Settings,
}

/// The models that read, with what the library cannot make itself.
#[derive(Clone, Copy)]
pub struct Models<'a> {
    /// The models, in the order in which they are tried. Without one the library answers by itself.
    pub list: &'a [&'a dyn Model],
    /// Returns random letters and digits, different ones with each call.
    pub nonce: &'a (dyn Fn() -> String + Sync),
    /// Called with each step of the progress.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Models<'_> {
    /// No models at all.
    pub const NONE: Models<'static> = Models { list: &[], nonce: &String::new, progress: &|_| {} };
}

/// Progress of an extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Chunks are being read.
    Chunks {
        /// Chunks that have been read.
        done: usize,
        /// All chunks.
        of: usize,
        /// Tokens of the chunks that have been read.
        tokens: u64,
    },
    /// The passages that match the instructions are read before anything else.
    Passages,
    /// A request was longer than the model's window, and the output is cut into smaller chunks.
    Smaller {
        /// Tokens of the window that is assumed now.
        context: u64,
    },
    /// The answers of several parts are made into one.
    Reducing {
        /// The parts.
        parts: usize,
    },
    /// An agent reads and searches.
    Turn {
        /// Number of the turn, counted from 1.
        turn: u64,
        /// Maximum turns.
        of: u64,
    },
}
