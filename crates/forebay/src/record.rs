//! The record of an output: its call, size, kind and state.

use crate::size::Measured;
use crate::{Call, Handle, Kind, Size, Timestamp};
use serde::{Deserialize, Serialize};
use std::io;

/// The version of the record's written form. A reader refuses a newer one than it knows.
pub(crate) const VERSION: u32 = 1;

/// The record of one output, readable without reading the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// The version of this form.
    pub version: u32,
    /// The name of the output.
    pub handle: Handle,
    /// The call that returned it.
    pub call: Call,
    /// Whether it is complete.
    pub state: State,
    /// Size of the output. While it grows, only its bytes are known.
    pub size: Size,
    /// Kind of its bytes.
    pub kind: Kind,
    /// The BLAKE3 hash of the stored bytes, in hexadecimal; empty while it grows.
    pub hash: String,
    /// Exit status of the command, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Bytes of each stream, if there was more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
    /// Bytes at the end that could not be stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// Time when it ended, if its writer knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// An earlier output of the session with the same bytes and exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<Handle>,
}

impl Record {
    /// The record of an output that begins now, for a store that keeps it.
    pub fn begin(handle: Handle, call: Call) -> Record {
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

    /// Reads the written form of a record. A newer version than this program knows is refused.
    pub fn from_json(text: &[u8]) -> io::Result<Record> {
        let record: Record = serde_json::from_slice(text)?;
        if record.version <= VERSION {
            Ok(record)
        } else {
            Err(io::Error::other(format!("version {} is newer than this program", record.version)))
        }
    }

    /// Makes this the record of an output whose writer vanished, from the measured remaining bytes.
    pub fn abandoned(&mut self, left: Measured) {
        self.state = State::CutShort("its writer ended before it did".to_owned());
        self.size = left.size;
        self.kind = left.kind;
        self.hash = left.hash;
    }

    /// Number of stored bytes, which can be read.
    pub fn kept(&self) -> u64 {
        self.size.bytes - self.lost.as_ref().map_or(0, |lost| lost.bytes)
    }
}

/// State of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is being written.
    Growing,
    /// It is complete.
    Complete,
    /// It ended before the tool was done, or not all of it could be stored; with the cause.
    CutShort(String),
}

/// Exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

impl Exit {
    /// The status that a shell reports: the command's own, or 128 plus the signal's number.
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

/// Bytes of each stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Streams {
    /// Bytes of standard output.
    pub stdout: u64,
    /// Bytes of standard error.
    pub stderr: u64,
}

/// Bytes at the end of an output that could not be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lost {
    /// Number of bytes.
    pub bytes: u64,
    /// The cause.
    pub why: String,
}
