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
pub(crate) mod in_use;
pub(crate) mod keep;
pub mod memory;
pub mod retention;
pub(crate) mod writer;

pub use writer::{End, Stream, Writer};

use crate::call::LONGEST_NUMBERED;
use crate::event::{Event, What};
use crate::handle::SHORTEST_PREFIX;
use crate::output::ReadAt;
use crate::store::retention::Weight;
use crate::store::writer::streams;
use crate::{Call, Error, Handle, Output, Record, Result, Session, State, Timestamp};
use std::path::PathBuf;

/// So far back the same call is looked for, among so many that look like it; smaller outputs are never folded.
const LOOKED_BACK_FOR_CALLS: u64 = 512 * 1024;
const MOST_COMPARED: usize = 16;
const LEAST_COMPARED: u64 = 512;

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

impl dyn Store + '_ {
    /// Starts keeping the output of `call`. Never fails: what cannot be kept is told in the record.
    pub fn begin(&self, call: &Call) -> Writer<'_> {
        Writer::begin(self, call)
    }

    /// The last whole lines of a session's events, no more than so many bytes.
    pub fn log_end(&self, session: &Session, bytes: u64) -> Result<Vec<u8>> {
        let cannot = || Error::store(format!("read the events of {session}"));
        let log = self.open_log(session)?;
        let size = log.size().map_err(cannot())?;
        let start = size.saturating_sub(bytes);
        let mut end = vec![0; usize::try_from(size - start).unwrap_or(usize::MAX)];
        let read = crate::output::read_full(&*log, start, &mut end).map_err(cannot())?;
        end.truncate(read);
        if start > 0 {
            // The line that the beginning cuts is dropped.
            let first = memchr::memchr(b'\n', &end).map_or(end.len(), |newline| newline + 1);
            end.drain(..first);
        }
        Ok(end)
    }

    /// Opens an output for reading.
    pub fn open(&self, handle: &Handle) -> Result<Output> {
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

    /// The outputs of a call, by the id that its host gave it, in the order they came.
    pub fn of_call(&self, session: &Session, call_id: &str) -> Result<Vec<Record>> {
        let first = Call::new(session.clone(), call_id, "", Timestamp::UNIX_EPOCH).handle(1)?;
        let mut records = Vec::new();
        // A name that was taken has a number behind it, and may be shorter for that.
        for id in self.ids(session, &first.id()[..first.id().len().min(LONGEST_NUMBERED)])? {
            match self.record(&Handle::new(session.clone(), &id)?) {
                Ok(record) if record.call.id == call_id => records.push(record),
                // It may go while we look.
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        records.sort_by_key(|record| record.call.at);
        Ok(records)
    }

    /// What the same call gave before in this session: the nearest output that is still there. A call without arguments is
    /// like no other.
    pub fn before(&self, record: &Record) -> Option<Output> {
        let call = &record.call;
        let args = call.args.as_ref()?;
        if record.size.bytes < LEAST_COMPARED {
            return None;
        }
        let end = self.log_end(&call.session, LOOKED_BACK_FOR_CALLS).ok()?;
        let tool = serde_json::to_string(&call.tool).ok()?;
        let (mut began, mut looked_at) = (false, 0);
        for line in end.rsplit(|&byte| byte == b'\n') {
            if memchr::memmem::find(line, tool.as_bytes()).is_none() {
                continue;
            }
            let Ok(Event { what: What::CallStarted(started), .. }) = serde_json::from_slice(line) else {
                continue;
            };
            // What began later was not before.
            if !began {
                began = started.id == record.handle.id();
                continue;
            }
            let same_length = started.argument_characters == args.chars().count() as u64;
            if started.tool != call.tool || !same_length {
                continue;
            }
            looked_at += 1;
            let earlier =
                Handle::new(call.session.clone(), &started.id).ok().and_then(|it| self.open(&it).ok());
            let same = |earlier: &Output| {
                let record = earlier.record();
                record.call.args.as_ref() == Some(args)
                    && record.call.server == call.server
                    && record.state == State::Complete
                    && record.lost.is_none()
            };
            match earlier.filter(same) {
                Some(earlier) => return Some(earlier),
                None if looked_at == MOST_COMPARED => return None,
                None => {}
            }
        }
        None
    }

    /// Hands the bytes of an output to `take` in their order, each stretch with the stream it came by.
    pub fn for_each_stretch(&self, output: &Output, mut take: impl FnMut(Stream, &[u8])) -> Result<()> {
        let (mut at, mut current) = (0, Stream::Stdout);
        let mut show = |start: u64, next: Stream| {
            // A damaged map may say anything; the bytes are told once, in their order, all the same.
            let start = start.clamp(at, output.len());
            let range = std::mem::replace(&mut at, start)..start;
            let stream = std::mem::replace(&mut current, next);
            output.for_each_block(range, |_, block| take(stream, block))
        };
        if let Some(stretches) = output.stretches() {
            stretches.iter().try_for_each(|&(start, stream)| show(start, stream))?;
        } else {
            let handle = &output.record().handle;
            let part = self.open_part(handle, Part::Streams)?;
            let cannot = || Error::store(format!("tell the streams of {handle} apart"));
            if output.record().streams.is_some() && part.size().map_err(cannot())? == 0 {
                return Err(cannot()(std::io::ErrorKind::NotFound.into()));
            }
            let mut read = 0;
            let mut entries = vec![0; 64 * 1024];
            // Every stretch has a byte, so a longer map is damaged.
            while read / 8 <= output.len() {
                let filled = part.read_at(read, &mut entries).map_err(cannot())?;
                streams::stretches(&entries[..filled]).try_for_each(|(start, stream)| show(start, stream))?;
                if filled < 8 {
                    break;
                }
                read += (filled - filled % 8) as u64;
            }
        }
        show(output.len(), Stream::Stdout)
    }

    /// The handle that is meant by `text`: `<session>/<id>`, or an id of `session`; any unique prefix of the
    /// id with six or more characters will do.
    pub fn find(&self, text: &str, session: &Session) -> Result<Handle> {
        let handle = match text.contains('/') {
            true => text.parse()?,
            false => Handle::new(session.clone(), text)?,
        };
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
                ids.truncate(5);
                Err(Error::Ambiguous { prefix: handle.to_string(), ids })
            }
        }
    }
}
