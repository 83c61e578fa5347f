//! What is known of an output without reading it.

use crate::size::Measured;
use crate::{Call, Handle, Kind, Size, Timestamp};
use serde::{Deserialize, Serialize};

/// The version of the record's written form. A reader refuses a newer one than it knows.
pub(crate) const VERSION: u32 = 1;

/// What is known of one output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this form.
    pub version: u32,
    /// The name of the output.
    pub handle: Handle,
    /// The call that gave it.
    pub call: Call,
    /// Whether it is whole.
    pub state: State,
    /// How large it is. While it grows, only the bytes are known.
    pub size: Size,
    /// What its bytes are.
    pub kind: Kind,
    /// The BLAKE3 hash of the bytes that are kept, in hexadecimal; empty while it grows.
    pub hash: String,
    /// How the command ended, where the output is a command's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// How many bytes came by each stream, where there was more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
    /// What the tool said that could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// When it ended, as far as its writer was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The first output of the session that has the same bytes, if there was one before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<Handle>,
}

impl Record {
    /// The record of an output that begins now.
    pub(crate) fn begin(handle: Handle, call: Call) -> Record {
        Record {
            version: VERSION,
            handle,
            call,
            state: State::Growing,
            size: Size::default(),
            kind: Kind::Text,
            hash: String::new(),
            exit: None,
            streams: None,
            lost: None,
            ended: None,
            same_as: None,
        }
    }

    /// Makes this the record of an output whose writer vanished, from what is left of it.
    pub(crate) fn abandoned(&mut self, left: Measured) {
        self.state = State::CutShort("its writer ended before it did".to_owned());
        self.size = left.size;
        self.kind = left.kind;
        self.hash = left.hash;
    }

    /// How many bytes are kept, and so can be read.
    pub fn kept(&self) -> u64 {
        self.size.bytes - self.lost.as_ref().map_or(0, |lost| lost.bytes)
    }
}

/// Whether an output is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is being written.
    Growing,
    /// It is whole.
    Complete,
    /// It ended before the tool was done, or not all of it could be kept.
    CutShort(String),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// The status that a shell reports: the command's own, or 128 and the signal's number.
    pub fn status(self) -> i32 {
        match self {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit {code}"),
            Exit::Signal(signal) => write!(f, "killed by signal {signal}, exit {}", self.status()),
        }
    }
}

/// How many bytes came by each stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streams {
    /// Bytes of standard output.
    pub stdout: u64,
    /// Bytes of standard error.
    pub stderr: u64,
}

/// Bytes at the end of an output that could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How many.
    pub bytes: u64,
    /// Why.
    pub why: String,
}
