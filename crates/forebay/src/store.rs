//! Storage of outputs: the contract of a backend, and the code that all backends share.
//!
//! A backend implements [`Store`] and [`Sink`]. [`Writer`] measures outputs, writes their records and survives a
//! failing backend, once for all backends. [`conformance`] holds the promises below as tests that every backend runs.
//!
//! Every store promises:
//! - An output is readable under its handle from the moment [`Store::create`] returns, while it grows.
//! - Appended bytes are never changed, and stay until [`Store::delete`].
//! - Two creations never share a handle.
//! - If a writer vanishes, the bytes that it appended remain as an output that was cut short.
//! - Two reservations never take the same room.

pub(crate) mod clean;
pub mod conformance;
pub(crate) mod copy;
pub mod disk;
pub(crate) mod history;
pub(crate) mod keep;
pub mod memory;
pub mod retention;
pub(crate) mod rooms;
pub(crate) mod streams;
pub(crate) mod writer;

pub use clean::{remove_all, remove_by_rules};
pub use copy::{Copied, copy};
pub use history::earlier_run;
pub use rooms::{Reservation, Reserved, Rooms};
pub use streams::for_each_stretch;
pub use writer::{End, Stream, Writer};

use crate::call::LONGEST_NUMBERED;
use crate::handle::SHORTEST_PREFIX;
use crate::output::ReadAt;
use crate::store::retention::Weight;
use crate::{Call, Error, Handle, Output, Record, Result, Session, State, Timestamp};
use std::path::PathBuf;

/// Maximum ids that the error about an ambiguous prefix lists.
const LISTED_IDS: usize = 5;

/// The parts that a store keeps of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The tool's bytes, exactly.
    Bytes,
    /// The line index: for each [`STRIDE`](crate::size::STRIDE) bytes, the number of newlines before them, as 8 bytes.
    Lines,
    /// The stream of each stretch of the bytes, where there was more than one stream.
    Streams,
    /// The view that the model was shown.
    View,
}

/// A place that keeps outputs.
pub trait Store: Rooms {
    /// Starts a new output under a name; `None` if the name is taken.
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>>;

    /// Returns the record of an output.
    fn record(&self, handle: &Handle) -> Result<Record>;

    /// Opens a part for reading. A part that was never written is empty.
    fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>>;

    /// Writes a whole part beside an output that is finished.
    fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()>;

    /// The records of a session, oldest first. A session that is not there has none.
    fn list(&self, session: &Session) -> Result<Vec<Record>>;

    /// The ids of a session that start with `prefix`.
    fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>>;

    /// All sessions, in the order of their names.
    fn sessions(&self) -> Result<Vec<Session>>;

    /// The weight of each output of a session, sorted by name. It reads no output and no record.
    fn weights(&self, session: &Session) -> Result<Vec<Weight>>;

    /// Returns what retention must know of all outputs.
    fn weights_of_all(&self) -> Result<Vec<Weight>> {
        let mut weights = Vec::new();
        for session in self.sessions()? {
            weights.extend(self.weights(&session)?);
        }
        Ok(weights)
    }

    /// Removes an output and all its parts.
    fn delete(&self, handle: &Handle) -> Result<()>;

    /// Stores the bytes of two finished outputs once, if they are equal and the store can: `newer` then uses those of
    /// `older`.
    fn share(&self, newer: &Handle, older: &Handle) -> Result<()>;

    /// Makes `<root>/<session>/<id>` a path to the bytes, where outputs are files, so that a tool can join the root and the
    /// handle. It is removed with the output. A store without files does nothing.
    fn link(&self, handle: &Handle) -> Result<()> {
        let _ = handle;
        Ok(())
    }

    /// The file that contains an output's bytes, if there is one.
    fn path(&self, handle: &Handle) -> Option<PathBuf>;

    /// Appends a line to the events of a session. Lines of concurrent processes are never mixed.
    fn log(&self, session: &Session, line: &[u8]) -> Result<()>;

    /// Opens the events of a session for reading. They are empty if there are none.
    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>>;

    /// Opens an output for reading.
    fn open(&self, handle: &Handle) -> Result<Output> {
        let record = self.record(handle)?;
        let bytes = self.open_part(handle, Part::Bytes)?;
        let found = bytes.size().map_err(Error::store(format!("read {handle}")))?;
        if record.state != State::Growing && found != record.kept() {
            let damage = format!("its record says {} bytes, and there are {found}", record.kept());
            return Err(Error::store(format!("read {handle}"))(std::io::Error::other(damage)));
        }
        let index = self.open_part(handle, Part::Lines)?;
        let stretches = match record.streams {
            Some(_) => streams::remembered(&*self.open_part(handle, Part::Streams)?),
            None => None,
        };
        Ok(Output::new(record, bytes, index, self.path(handle))?.with_stretches(stretches))
    }

    /// Returns the handle that `text` names: `<session>/<id>`, or an id of `session`. Any unique prefix of the id with
    /// [`SHORTEST_PREFIX`] or more characters is accepted.
    fn find(&self, text: &str, session: &Session) -> Result<Handle> {
        let handle = if text.contains('/') { text.parse()? } else { Handle::new(session.clone(), text)? };
        match self.record(&handle) {
            Ok(_) => return Ok(handle),
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let not_found = || Error::NotFound { wanted: handle.to_string() };
        if handle.id().len() < SHORTEST_PREFIX {
            return Err(not_found());
        }
        let mut ids = self.ids(handle.session(), handle.id())?;
        match ids.len() {
            0 => Err(not_found()),
            1 => Handle::new(handle.session().clone(), &ids.remove(0)),
            _ => {
                ids.truncate(LISTED_IDS);
                Err(Error::Ambiguous { prefix: handle.to_string(), ids })
            }
        }
    }

    /// The calls of the first `most` outputs among these ids that are still there, in the order of the ids. A store behind a
    /// network asks for all of them at once.
    fn calls(&self, session: &Session, ids: &[String], most: usize) -> Result<Vec<Call>> {
        let call = |id: &String| Some(self.record(&Handle::new(session.clone(), id).ok()?).ok()?.call);
        Ok(ids.iter().filter_map(call).take(most).collect())
    }

    /// The outputs of a call, by the id that its host gave it, oldest first.
    fn of_call(&self, session: &Session, call_id: &str) -> Result<Vec<Record>> {
        let first = Call::new(session.clone(), call_id, "", Timestamp::UNIX_EPOCH).handle(1)?;
        let mut records = Vec::new();
        // A name that was taken gets a number appended, and may be shortened for it.
        for id in self.ids(session, &first.id()[..first.id().len().min(LONGEST_NUMBERED)])? {
            match self.record(&Handle::new(session.clone(), &id)?) {
                Ok(record) if record.call.id == call_id => records.push(record),
                // A sweep may remove it meanwhile.
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        records.sort_by_key(|record| record.call.at);
        Ok(records)
    }
}

/// Receives the bytes of one new output.
pub trait Sink: Send {
    /// The name the output has.
    fn handle(&self) -> &Handle;

    /// Appends to a part. When it returns, a reader can see the bytes, and the end of this process cannot
    /// undo that. On failure, some of them may have been appended.
    fn append(&mut self, part: Part, bytes: &[u8]) -> std::io::Result<()>;

    /// Number of bytes of the output that are certainly appended.
    fn appended(&self) -> u64;

    /// Ends the output and writes its final record. Returns its bytes, open for reading, so that the caller can read them
    /// even if the output is removed immediately.
    fn finish(self: Box<Self>, record: &Record) -> Result<Box<dyn ReadAt>>;

    /// Returns the file that receives the bytes, if there is one, so that another process can continue.
    fn into_file(self: Box<Self>) -> Option<std::fs::File> {
        None
    }
}
