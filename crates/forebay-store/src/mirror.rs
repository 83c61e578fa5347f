//! The mirror: takes the outputs of a local disk store to the shared store.
//!
//! Writing goes to the local disk, so a database that is away stops no command. The mirror takes what has come since: of
//! an output that grows too, so that other machines read it about as soon as the caller runs the next pass. It can be
//! stopped at any moment; the next pass, of this process or another one, goes on where it ended.

use crate::failure::Failure;
use crate::row::{CUT_SHORT, Found, GROWING};
use crate::sink::SharedSink;
use crate::store::SharedStore;
use forebay::store::Sink;
use forebay::{DiskStore, Error, Handle, Part, ReadAt, Record, Result, Session, State, Store, event};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Bytes that are read at a time, and after which the rest waits for the next pass, so that every output gets its turn.
const BLOCK: usize = 256 * 1024;
const TURN: u64 = 16 * 1024 * 1024;

/// Bytes of events that are taken in one request.
const EVENTS: usize = 256 * 1024;

/// Takes the outputs of a local store to a shared one.
pub struct Mirror<'a> {
    local: &'a DiskStore,
    shared: &'a SharedStore,
    /// Name of the local store, so that its events are taken once.
    origin: String,
    /// The outputs that are being taken.
    sinks: BTreeMap<Handle, Box<SharedSink>>,
}

/// Outputs that are still to be taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Queue {
    /// Outputs that are not shared to their last byte.
    pub outputs: u64,
    /// Bytes of them that are not shared.
    pub bytes: u64,
    /// Outputs whose names another machine gave to other outputs. They stay local.
    pub taken: Vec<Handle>,
}

/// What an output needs to be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Nothing: it is there as it is here.
    Nothing,
    /// To begin.
    Begin,
    /// To go on where a mirror has stopped.
    Resume,
    /// To wait: a mirror is at work.
    Wait,
    /// Another name: there is another output under this one.
    Name,
}

/// What the shared store has of an output.
struct There {
    found: Found,
    record: Record,
}

impl<'a> Mirror<'a> {
    /// A mirror of a local store. `origin` names this store among all that are mirrored, such as its machine and root.
    pub fn new(local: &'a DiskStore, shared: &'a SharedStore, origin: impl Into<String>) -> Mirror<'a> {
        Mirror { local, shared, origin: origin.into(), sinks: BTreeMap::new() }
    }

    /// Counts what is still to be taken, and takes nothing.
    pub fn status(&self) -> Result<Queue> {
        let mut queue = Queue::default();
        for session in self.local.sessions()? {
            let there = self.there(&session)?;
            for record in self.local.list(&session)? {
                queue.count(&record, there.get(record.handle.id()));
            }
        }
        Ok(queue)
    }

    /// Takes what has come since the last pass, and returns what is left. Of outputs that grow, there is always a rest.
    pub fn pass(&mut self) -> Result<Queue> {
        let mut queue = Queue::default();
        for session in self.local.sessions()? {
            let there = self.there(&session)?;
            for record in self.local.list(&session)? {
                self.take(&record, there.get(record.handle.id()))?;
            }
            self.take_events(&session)?;
            let there = self.there(&session)?;
            for record in self.local.list(&session)? {
                queue.count(&record, there.get(record.handle.id()));
            }
        }
        Ok(queue)
    }

    /// Takes passes until everything is shared that has ended, or cannot be.
    pub fn flush(&mut self) -> Result<Queue> {
        loop {
            let before = self.status()?;
            let left = self.pass()?;
            if left.outputs == 0 || left == before {
                return Ok(left);
            }
        }
    }

    fn there(&self, session: &Session) -> Result<BTreeMap<String, There>> {
        let found = self.shared.rows(session)?;
        let there = found.into_iter().filter_map(|found| {
            let record = found.record().ok()?;
            Some((found.id.clone(), There { found, record }))
        });
        Ok(there.collect())
    }

    /// Takes what there is of one output.
    fn take(&mut self, record: &Record, there: Option<&There>) -> Result<()> {
        let handle = &record.handle;
        let mut sink = match (self.sinks.remove(handle), need(record, there), there) {
            (Some(sink), Need::Wait, _) => sink,
            (_, Need::Begin, _) => match self.shared.begin(handle, &record.call)? {
                Some(sink) => sink,
                // Another machine was faster.
                None => return Ok(()),
            },
            (_, Need::Resume, Some(there)) => match self.shared.resume(handle, &there.found, &record.call)? {
                Some(sink) => sink,
                None => return Ok(()),
            },
            (_, Need::Nothing, _) => return self.take_view(handle),
            _ => return Ok(()),
        };
        let is_whole = self.take_bytes(&mut sink, record)?;
        if record.state == State::Growing || !is_whole {
            self.sinks.insert(handle.clone(), sink);
            return Ok(());
        }
        self.finish(sink, record)
    }

    /// Takes bytes until the output is there or has had its turn; returns whether it is there.
    fn take_bytes(&self, sink: &mut SharedSink, record: &Record) -> Result<bool> {
        let handle = &record.handle;
        let cannot = || Error::store(format!("share {handle}"));
        let bytes = self.local.open_part(handle, Part::Bytes)?;
        let (begun, end) = (sink.appended(), record.kept());
        let mut block = vec![0; BLOCK];
        while sink.appended() < end && sink.appended() - begun < TURN {
            let wanted = usize::try_from(end - sink.appended()).unwrap_or(BLOCK).min(BLOCK);
            let read = bytes.read_at(sink.appended(), &mut block[..wanted]).map_err(cannot())?;
            if read == 0 {
                return Err(cannot()(
                    Failure::Damaged("its local bytes end before its record says".to_owned()).into(),
                ));
            }
            sink.append(Part::Bytes, &block[..read]).map_err(cannot())?;
        }
        Ok(sink.appended() >= end)
    }

    /// Ends an output there as it has ended here.
    fn finish(&self, mut sink: Box<SharedSink>, record: &Record) -> Result<()> {
        let handle = &record.handle;
        let streams = self.whole(handle, Part::Streams)?;
        if !streams.is_empty() {
            self.shared.attach(handle, Part::Streams, &streams)?;
        }
        sink.set_index(self.whole(handle, Part::Lines)?);
        sink.finish(record)?;
        if let Some(older) = &record.same_as {
            // Two copies are no harm, and the older one may not be there.
            let _ = self.shared.share(handle, older);
        }
        self.take_view(handle)
    }

    /// Takes the view, which is written after the output has ended.
    fn take_view(&self, handle: &Handle) -> Result<()> {
        let here = self.whole(handle, Part::View)?;
        let there = self.shared.open_part(handle, Part::View)?;
        let there = whole(&*there).map_err(Error::store(format!("share the view of {handle}")))?;
        if here.is_empty() || here == there { Ok(()) } else { self.shared.attach(handle, Part::View, &here) }
    }

    /// Takes the events of a session, each once.
    fn take_events(&self, session: &Session) -> Result<()> {
        loop {
            let from = self.shared.events_taken(session, &self.origin)?;
            let mut lines = Vec::new();
            // A log that is shorter than what was taken is a new one, and begins at 0.
            let next = event::for_each_line(self.local, session, from, |line| {
                lines.extend_from_slice(line);
                if lines.len() < EVENTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if lines.is_empty() {
                return Ok(());
            }
            self.shared.take_events(session, &self.origin, from..next, lines)?;
        }
    }

    /// A whole part of a local output.
    fn whole(&self, handle: &Handle, part: Part) -> Result<Vec<u8>> {
        whole(&*self.local.open_part(handle, part)?).map_err(Error::store(format!("read {handle}")))
    }
}

impl Queue {
    fn count(&mut self, record: &Record, there: Option<&There>) {
        let shared = match need(record, there) {
            Need::Nothing => return,
            Need::Name => return self.taken.push(record.handle.clone()),
            Need::Begin | Need::Resume | Need::Wait => there.map_or(0, |there| there.found.bytes),
        };
        self.outputs += 1;
        self.bytes += record.kept().saturating_sub(shared);
    }
}

/// What an output needs to be shared.
fn need(record: &Record, there: Option<&There>) -> Need {
    let Some(There { found, record: shared }) = there else { return Need::Begin };
    if shared.call != record.call {
        return Need::Name;
    }
    match found.state {
        GROWING if found.is_held => Need::Wait,
        GROWING => Need::Resume,
        _ if shared == record => Need::Nothing,
        // A reader has ended it for a mirror that had stopped.
        CUT_SHORT if found.bytes <= record.kept() => Need::Resume,
        _ => Need::Name,
    }
}

fn whole(part: &dyn ReadAt) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(part.size()?).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < bytes.len() {
        match part.read_at(filled as u64, &mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
