//! Where outputs are kept: the contract, and what is the same for every store.
//!
//! A backend keeps the few promises of [`Store`] and [`Sink`]. Measuring, recording and surviving a failing
//! backend are done once, in [`Writer`]. [`conformance`] holds the promises as tests that every backend runs.
//!
//! What every store promises:
//! - An output is readable under its handle from the moment [`Store::create`] returns, while it grows.
//! - Bytes that were appended are never changed, and never gone before [`Store::delete`].
//! - Two creations never share a handle.
//! - A writer that vanishes leaves what it had appended, as an output that was cut short.

pub mod conformance;
pub mod disk;
pub(crate) mod history;
pub(crate) mod in_use;
pub(crate) mod keep;
pub mod memory;
pub mod retention;
pub(crate) mod streams;
pub(crate) mod writer;

pub use history::earlier_run;
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
    /// The line index: the newlines before every further [`STRIDE`](crate::size::STRIDE), 8 bytes each.
    Lines,
    /// Which stream each stretch of the bytes came by, where there was more than one.
    Streams,
    /// The view that the model was given.
    View,
}

/// A place that keeps outputs.
pub trait Store: Send + Sync {
    /// Starts a new output under a name; `None` if the name is taken.
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>>;

    /// What is known of an output.
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

    /// What each output of a session weighs, in the order of their names. No output is read for it, and no record.
    fn weights(&self, session: &Session) -> Result<Vec<Weight>>;

    /// Removes an output and all its parts.
    fn delete(&self, handle: &Handle) -> Result<()>;

    /// Keeps the bytes of two finished outputs once, where it can and they are the same: `newer` has those of `older`
    /// from now on.
    fn share(&self, newer: &Handle, older: &Handle) -> Result<()>;

    /// Makes `<root>/<session>/<id>` a path to the bytes, where outputs are files: a tool that joins the root and the
    /// handle reads them there. It goes with the output. A store without files does nothing.
    fn link(&self, handle: &Handle) -> Result<()> {
        let _ = handle;
        Ok(())
    }

    /// The file that holds an output's bytes, where there is one.
    fn path(&self, handle: &Handle) -> Option<PathBuf>;

    /// Adds a line to the events of a session. Lines that many processes add at once do not run together.
    fn log(&self, session: &Session, line: &[u8]) -> Result<()>;

    /// The events of a session, open for reading. A session without events has none.
    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>>;

    /// Changes the state of a session in one step: `change` gets it as it is, empty at first, and gives it back as it
    /// shall be, or `None` to leave it. Of changes at once, one comes after the other.
    fn change_state(&self, session: &Session, change: Change<'_>) -> Result<()>;

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
        Output::new(record, bytes, index, self.path(handle))
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

/// What makes a new state of a session from the old one.
pub type Change<'a> = &'a mut dyn FnMut(&[u8]) -> Option<Vec<u8>>;

/// The end of a store that takes one new output.
pub trait Sink: Send {
    /// The name the output has.
    fn handle(&self) -> &Handle;

    /// Appends to a part. When it returns, a reader can see the bytes, and the end of this process cannot
    /// undo that. On failure, some of them may have been appended.
    fn append(&mut self, part: Part, bytes: &[u8]) -> std::io::Result<()>;

    /// How many bytes of the output have been appended for certain.
    fn appended(&self) -> u64;

    /// Ends the output: from now on it is what `record` says. Returns its bytes, open for reading: whoever ended an
    /// output can still read it if it is removed at once.
    fn finish(self: Box<Self>, record: &Record) -> Result<Box<dyn ReadAt>>;

    /// Gives up the file that takes the bytes, where there is one, so that another process can go on with it.
    fn into_file(self: Box<Self>) -> Option<std::fs::File> {
        None
    }
}
