//! A session as one file, so that its handles work on another machine.
//!
//! ```text
//! manifest.json               what follows: the session, how many outputs, how many bytes
//! outputs/<id>/record.json    of each output, oldest first: its record
//!             /bytes          its bytes, unless an output before it has the same
//!             /lines          its line index, if it has one
//!             /streams        which stream a stretch came by, if there were two
//!             /view.json      the view that the model was given, if one was
//! events.jsonl                what happened in the session, if anything did
//! ```
//!
//! The entries have exactly this order in a tar file, which is one zstd frame with a checksum. A reader knows at every
//! point which entry may follow and refuses all others. Nothing in an archive can name a path, and the reader bounds work
//! and memory. An export runs the same checks as an import, so every exported archive can be imported.

pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod proof;
pub(crate) mod read;
#[cfg(test)]
mod tests;

#[doc(hidden)] // for the command line, which counts the bytes of an encrypted archive
pub use export::CountingWriter;
pub use export::{Exported, export};
pub use import::{Imported, Options, import};

use crate::output::ReadAt;
use crate::{Part, Session};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};

/// The version of the archive's form. A reader refuses a newer one than it knows.
const VERSION: u32 = 1;

/// Value of the manifest's field `format`.
const FORMAT: &str = "forebay-archive";

const MANIFEST: &str = "manifest.json";
const EVENTS: &str = "events.jsonl";

/// Maximum bytes of a manifest.
const LARGEST_MANIFEST: u64 = 1024 * 1024;
/// Maximum bytes of a record. It holds the arguments of its call, which may be a whole file.
const LARGEST_RECORD: u64 = 16 * 1024 * 1024;
/// Maximum bytes of an event.
const LONGEST_EVENT: u64 = 1024 * 1024;
/// Maximum outputs of an archive, which bounds the memory of a reader.
const MOST_OUTPUTS: u64 = 1_000_000;

/// The first entry of an archive, which describes the rest.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: String,
    version: u32,
    session: Session,
    /// Number of outputs.
    outputs: u64,
    /// Bytes of all entries `bytes`.
    bytes: u64,
    /// Bytes of the events.
    events: u64,
}

/// The entry of an output's record.
fn record_name(id: &str) -> String {
    format!("outputs/{id}/record.json")
}

/// The entry of a part of an output.
fn part_name(id: &str, part: Part) -> String {
    let name = match part {
        Part::Bytes => "bytes",
        Part::Lines => "lines",
        Part::Streams => "streams",
        Part::View => "view.json",
    };
    format!("outputs/{id}/{name}")
}

/// Reads the first bytes of a part. Fewer bytes than declared are an error.
struct Beginning {
    part: Box<dyn ReadAt>,
    at: u64,
    end: u64,
}

impl Beginning {
    fn new(part: Box<dyn ReadAt>, length: u64) -> Beginning {
        Beginning { part, at: 0, end: length }
    }
}

impl Read for Beginning {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        if length == 0 {
            return Ok(0);
        }
        match self.part.read_at(self.at, &mut buffer[..length])? {
            0 => Err(io::Error::other(format!("it has {} bytes and should have {}", self.at, self.end))),
            read => {
                self.at += read as u64;
                Ok(read)
            }
        }
    }
}

/// Fills as much of `buffer` as there is.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
