//! A store in memory: for tests, and for agents that want nothing on disk.

use crate::output::ReadAt;
use crate::size::Measure;
use crate::store::retention::Weight;
use crate::store::rooms::InUse;
use crate::store::{Part, Reservation, Reserved, Rooms, Sink, Store};
use crate::{Call, Error, Handle, Record, Result, Session, State};
use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// Keeps outputs as long as it lives.
#[derive(Clone, Default)]
pub struct MemoryStore {
    /// Guards all outputs: a reader copies a range out of it, a writer appends to it.
    outputs: Arc<Mutex<BTreeMap<Handle, Entry>>>,
    /// Guards the events of all sessions.
    events: Arc<Mutex<BTreeMap<Session, Vec<u8>>>>,
    /// Guards the tokens that all sessions have in use.
    in_use: Arc<Mutex<BTreeMap<Session, InUse>>>,
}

struct Entry {
    number: usize,
    record: Record,
    parts: HashMap<Part, Arc<Vec<u8>>>,
    /// Gone when the writer is.
    writer: Weak<()>,
}

impl Entry {
    fn part(&self, part: Part) -> &[u8] {
        self.parts.get(&part).map(|bytes| bytes.as_slice()).unwrap_or_default()
    }

    /// The record as it is now: an output whose writer has vanished is measured and cut short.
    fn current(&mut self) -> Record {
        if self.record.state == State::Growing {
            self.record.size.bytes = self.part(Part::Bytes).len() as u64;
            if self.writer.strong_count() == 0 {
                let mut measure = Measure::default();
                measure.update(self.part(Part::Bytes));
                self.parts.insert(Part::Lines, Arc::new(measure.take_index()));
                self.record.abandoned(measure.finish());
            }
        }
        self.record.clone()
    }
}

impl MemoryStore {
    fn counts(&self) -> MutexGuard<'_, BTreeMap<Session, InUse>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Handle, Entry>> {
        // A panic elsewhere cannot leave the map half changed: every change is a single step.
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, handle: &Handle, use_it: impl FnOnce(&mut Entry) -> T) -> Result<T> {
        let mut outputs = self.lock();
        let entry = outputs.get_mut(handle).ok_or_else(|| Error::NotFound { wanted: handle.to_string() })?;
        Ok(use_it(entry))
    }
}

impl Store for MemoryStore {
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        let mut outputs = self.lock();
        if outputs.contains_key(handle) {
            return Ok(None);
        }
        let alive = Arc::new(());
        let entry = Entry {
            number: outputs.len(),
            record: Record::begin(handle.clone(), call.clone()),
            parts: HashMap::new(),
            writer: Arc::downgrade(&alive),
        };
        outputs.insert(handle.clone(), entry);
        let sink = MemorySink { store: self.clone(), handle: handle.clone(), appended: 0, _alive: alive };
        Ok(Some(Box::new(sink)))
    }

    fn record(&self, handle: &Handle) -> Result<Record> {
        self.with(handle, Entry::current)
    }

    fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>> {
        self.with(handle, |_| ())?;
        Ok(Box::new(MemoryPart { store: self.clone(), handle: handle.clone(), part }))
    }

    fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()> {
        self.with(handle, |entry| entry.parts.insert(part, Arc::new(bytes.to_vec()))).map(drop)
    }

    fn list(&self, session: &Session) -> Result<Vec<Record>> {
        let mut outputs = self.lock();
        let mut entries: Vec<&mut Entry> = outputs
            .iter_mut()
            .filter(|(handle, _)| handle.session() == session)
            .map(|(_, entry)| entry)
            .collect();
        entries.sort_by_key(|entry| (entry.record.call.at, entry.number));
        Ok(entries.into_iter().map(Entry::current).collect())
    }

    fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>> {
        let outputs = self.lock();
        let ids =
            outputs.keys().filter(|handle| handle.session() == session && handle.id().starts_with(prefix));
        Ok(ids.map(|handle| handle.id().to_owned()).collect())
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        let mut sessions: Vec<Session> = self.lock().keys().map(|handle| handle.session().clone()).collect();
        sessions.dedup();
        Ok(sessions)
    }

    fn weights(&self, session: &Session) -> Result<Vec<Weight>> {
        let outputs = self.lock();
        let weights =
            outputs.iter().filter(|(handle, _)| handle.session() == session).map(|(handle, entry)| {
                let share = |part: &Arc<Vec<u8>>| part.len() as u64 / Arc::strong_count(part) as u64;
                Weight {
                    handle: handle.clone(),
                    bytes: entry.parts.values().map(share).sum(),
                    time: entry.record.ended.unwrap_or(entry.record.call.at),
                    in_use: entry.record.state == State::Growing && entry.writer.strong_count() > 0,
                }
            });
        Ok(weights.collect())
    }

    fn delete(&self, handle: &Handle) -> Result<()> {
        match self.lock().remove(handle) {
            Some(_) => Ok(()),
            None => Err(Error::NotFound { wanted: handle.to_string() }),
        }
    }

    fn share(&self, newer: &Handle, older: &Handle) -> Result<()> {
        let shared = self.with(older, |entry| entry.parts.get(&Part::Bytes).cloned())?;
        self.with(newer, |entry| {
            if let Some(bytes) = shared.filter(|bytes| bytes.as_slice() == entry.part(Part::Bytes)) {
                entry.parts.insert(Part::Bytes, bytes);
            }
        })
    }

    fn path(&self, _: &Handle) -> Option<PathBuf> {
        None
    }

    fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let events = events.entry(session.clone()).or_default();
        events.extend([line, b"\n"].concat());
        Ok(())
    }

    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(events.get(session).cloned().unwrap_or_default()))
    }
}

impl Rooms for MemoryStore {
    fn in_use(&self, session: &Session) -> Result<InUse> {
        Ok(self.counts().get(session).copied().unwrap_or_default())
    }

    fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()> {
        self.counts().insert(session.clone(), in_use);
        Ok(())
    }

    fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved> {
        let mut counts = self.counts();
        let in_use = counts.entry(session.clone()).or_default();
        let reserved = in_use.reserve(wanted);
        *in_use = reserved.in_use;
        Ok(reserved)
    }
}

struct MemorySink {
    store: MemoryStore,
    handle: Handle,
    appended: u64,
    /// While this is held, the output counts as growing.
    _alive: Arc<()>,
}

impl Sink for MemorySink {
    fn handle(&self) -> &Handle {
        &self.handle
    }

    fn append(&mut self, part: Part, bytes: &[u8]) -> io::Result<()> {
        self.store
            .with(&self.handle, |entry| {
                Arc::make_mut(entry.parts.entry(part).or_default()).extend_from_slice(bytes)
            })
            .map_err(io::Error::other)?;
        if part == Part::Bytes {
            self.appended += bytes.len() as u64;
        }
        Ok(())
    }

    fn appended(&self) -> u64 {
        self.appended
    }

    fn finish(self: Box<Self>, record: &Record) -> Result<Box<dyn ReadAt>> {
        self.store.with(&self.handle, |entry| entry.record = record.clone())?;
        self.store.open_part(&self.handle, Part::Bytes)
    }
}

struct MemoryPart {
    store: MemoryStore,
    handle: Handle,
    part: Part,
}

impl ReadAt for MemoryPart {
    fn size(&self) -> io::Result<u64> {
        self.store.with(&self.handle, |entry| entry.part(self.part).len() as u64).map_err(io::Error::other)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.store
            .with(&self.handle, |entry| crate::output::copy_at(entry.part(self.part), offset, buffer))
            .map_err(io::Error::other)
    }
}

/// An output that holds `bytes`, for tests of what reads outputs.
#[cfg(test)]
pub(crate) fn output_of(bytes: &[u8]) -> crate::Output {
    let call = Call::new(Session::safe("s"), "id1234", "tool", jiff::Timestamp::UNIX_EPOCH);
    output_of_call(&call, bytes)
}

/// The output of a call, for tests.
#[cfg(test)]
pub(crate) fn output_of_call(call: &Call, bytes: &[u8]) -> crate::Output {
    let store = MemoryStore::default();
    let mut writer = crate::Writer::begin(&store, call);
    writer.write(crate::store::writer::Stream::Stdout, bytes);
    writer.finish(crate::store::writer::End::default())
}

/// An output that came by both streams in turn, standard error first, for tests.
#[cfg(test)]
pub(crate) fn output_of_streams(parts: &[&str]) -> crate::Output {
    use crate::store::writer::{End, Stream};
    let store = MemoryStore::default();
    let call = Call::new(Session::safe("s"), "id1234", "tool", jiff::Timestamp::UNIX_EPOCH);
    let mut writer = crate::Writer::begin(&store, &call);
    for (number, part) in parts.iter().enumerate() {
        let stream = if number % 2 == 0 { Stream::Stderr } else { Stream::Stdout };
        writer.write(stream, part.as_bytes());
    }
    writer.finish(End::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_conforms_to_the_contract() {
        crate::store::conformance::check(&|| Box::<MemoryStore>::default());
    }
}
