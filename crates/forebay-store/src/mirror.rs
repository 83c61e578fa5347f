//! The mirror: copies the outputs of a local disk store to the shared store.
//!
//! Writers write to the local disk, so an unreachable database stops no command. Each pass of the mirror copies what
//! is new, also from outputs that still grow. Other machines can therefore read an output about as soon as the caller
//! runs the next pass. The mirror can be stopped at any moment; the next pass, in this process or another one,
//! continues where it ended.

use crate::failure::Failure;
use crate::mirror_folder::{Fared, MirrorFolder, Serving};
use crate::row::{CUT_SHORT, Found, GROWING};
use crate::sink::SharedSink;
use crate::store::SharedStore;
use forebay::event::Logged;
use forebay::store::{Copied, Sink, copy};
use forebay::{
    DiskStore, Error, Handle, Part, ReadAt, Record, Result, Session, State, Store, Timestamp, event,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes read at a time. After these, the rest of an output waits for the next pass, so that every output gets its
/// turn.
const BLOCK: usize = 256 * 1024;
const TURN: u64 = 16 * 1024 * 1024;

/// Time for which other outputs wait for the upload of one. The upload continues in the background.
const UPLOAD_TURN: Duration = Duration::from_millis(200);

/// Bytes of events copied in one request.
const EVENTS: usize = 256 * 1024;

/// Copies the outputs of a local store to a shared store.
pub struct Mirror<'a> {
    local: &'a DiskStore,
    shared: &'a SharedStore,
    /// Name of the local store, so that its events are copied only once.
    origin: String,
    /// Outputs that are being copied, by their handles in the shared store.
    sinks: BTreeMap<Handle, Box<SharedSink>>,
    /// The views that are known to be there, with their sizes here.
    views: BTreeMap<Handle, u64>,
}

/// Pause between two passes. A growing output is readable elsewhere within about a second.
const PAUSE: Duration = Duration::from_millis(300);

/// Longest pause after failed passes, so that a shared store is used again within ten seconds after it recovers.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Time between two searches for bytes that could not be written to the bucket.
const CATCH_UP_EVERY: Duration = Duration::from_secs(60);

/// Maximum outputs with the same name. Names repeat only on machines that are not connected to each other.
const MAX_NAMESAKES: u32 = 1_000;

/// Outputs that are not fully shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Queue {
    /// Number of outputs that are not fully shared.
    pub outputs: u64,
    /// How many of them still grow.
    pub growing: u64,
    /// Bytes that are not shared.
    pub bytes: u64,
    /// Time of the oldest call among them.
    pub oldest: Option<Timestamp>,
    /// Outputs whose names another machine gave to other outputs, with their handles in the shared store.
    pub renamed: Vec<(Handle, Handle)>,
    /// Outputs that cannot be shared, because the shared store has different outputs with their names and calls.
    pub differ: Vec<Handle>,
}

/// How much of one output is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All of it, under this handle.
    Done(Handle),
    /// A part. The next call of this mirror continues.
    UnderWay,
    /// A part, by another mirror.
    Elsewhere,
}

/// Result of copying a session from the shared store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Brought {
    /// Outputs that the local store has now, including those that it had before.
    pub arrived: Vec<Handle>,
    /// Outputs that still grow, which are not copied.
    pub growing: Vec<Handle>,
    /// Outputs whose names belong to different outputs in the local store.
    pub differ: Vec<Handle>,
}

/// Step needed to share an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// None: both stores have the same output.
    Nothing,
    /// Begin the output.
    Begin,
    /// Continue where a mirror has stopped.
    Resume,
    /// Wait, because another mirror copies it.
    Wait,
    /// Choose another name, because the name belongs to the output of another call.
    Name,
    /// Ask a person, because the shared store has a different output of the same call.
    Person,
}

/// An output in the shared store.
struct Shared {
    found: Found,
    record: Record,
}

/// The outputs of a session in the shared store.
struct There {
    /// Outputs by id.
    outputs: BTreeMap<String, Shared>,
    /// Why the record of an output cannot be read, by id: it is encrypted by another key, or of a newer program.
    unreadable: BTreeMap<String, String>,
    /// Removed outputs, which are not shared again: the id of each, and the time of its call in microseconds.
    removed: BTreeSet<(String, i64)>,
}

impl<'a> Mirror<'a> {
    /// A mirror of a local store. `origin` identifies this store among all mirrored ones, such as by its machine and
    /// root.
    pub fn new(local: &'a DiskStore, shared: &'a SharedStore, origin: impl Into<String>) -> Mirror<'a> {
        Mirror { local, shared, origin: origin.into(), sinks: BTreeMap::new(), views: BTreeMap::new() }
    }

    /// Counts what is not shared yet, and copies nothing.
    pub fn status(&self) -> Result<Queue> {
        let mut queue = Queue::default();
        for session in self.local.sessions()? {
            queue.add(self.left(&session)?);
        }
        Ok(queue)
    }

    /// Copies what is new since the last pass; returns what remains. A growing output always remains.
    pub fn pass(&mut self) -> Result<Queue> {
        let mut queue = Queue::default();
        for session in self.local.sessions()? {
            queue.add(self.session(&session)?);
        }
        Ok(queue)
    }

    /// Takes what has come to a session since the last pass, and returns what is left. An output that cannot be taken does
    /// not keep back what comes after it; its error comes at the end.
    pub fn session(&mut self, session: &Session) -> Result<Queue> {
        let there = self.there(session)?;
        let mut failed = None;
        for record in self.local.list(session)? {
            if let Err(error) = self.take(&record, &there) {
                if !self.shared.answers() {
                    return Err(error);
                }
                failed.get_or_insert(error);
            }
        }
        self.take_room_notes(session)?;
        self.take_events(session)?;
        match failed {
            Some(error) => Err(error),
            None => self.left(session),
        }
    }

    /// Takes passes until everything is shared that has ended or cannot be shared, for the time `patience` at most.
    pub fn flush(&mut self, patience: Duration) -> Result<Queue> {
        let begun = Instant::now();
        loop {
            let before = self.status()?;
            let left = self.pass()?;
            let is_still = left == before && !self.is_uploading();
            if left.outputs == left.growing || is_still || begun.elapsed() >= patience {
                return Ok(left);
            }
        }
    }

    /// Copies what is new in one output. A large output takes several calls.
    pub fn share(&mut self, handle: &Handle) -> Result<Sharing> {
        let session = handle.session();
        let record = self.local.record(handle)?;
        let there = self.there(session)?;
        self.take(&record, &there)?;
        let (named, need) = named(&record, &self.there(session)?)?;
        match need {
            Need::Nothing => self.take_events(session)?,
            _ if self.sinks.contains_key(&named) => return Ok(Sharing::UnderWay),
            Need::Begin | Need::Resume | Need::Wait => return Ok(Sharing::Elsewhere),
            Need::Name | Need::Person => {
                let other = "the shared store has another output of the same call".to_owned();
                return Err(Error::store(format!("share {handle}"))(Failure::Damaged(other).into()));
            }
        }
        Ok(Sharing::Done(named))
    }

    /// Repeats passes over the sessions that writers have noted, until `stop`, or until there was nothing to copy for
    /// the time `idle`. If the shared store is unreachable, retries after growing pauses, for the time `patience` if
    /// one is given. The folder records the state of the passes.
    pub fn keep_up(
        &mut self,
        serving: &Serving,
        idle: Option<Duration>,
        patience: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<()> {
        let cannot = || Error::store("use the folder .mirror of the root");
        let mut fared = serving.fared();
        let (mut pause, mut last_work, mut last_reached) = (PAUSE, Instant::now(), Instant::now());
        let mut caught_up: Option<Instant> = None;
        let mut failed = BTreeSet::new();
        while !stop.load(Ordering::Relaxed) {
            let mut sessions = serving.begin().map_err(cannot())?;
            // Something may be wrong with a session alone: the others come first.
            sessions.sort_by_key(|session| failed.contains(session));
            let mut result = Ok(());
            for session in &sessions {
                match self.session(session) {
                    Ok(left) => {
                        failed.remove(session);
                        if left.outputs == 0 {
                            serving.done(session).map_err(cannot())?;
                        }
                    }
                    Err(error) => {
                        failed.insert(session.clone());
                        result = Err(error);
                        if !self.shared.answers() {
                            break;
                        }
                    }
                }
            }
            if result.is_ok() && caught_up.is_none_or(|at| at.elapsed() > CATCH_UP_EVERY) {
                caught_up = Some(Instant::now());
                result = self.shared.catch_up().map(drop);
            }
            if !sessions.is_empty() {
                last_work = Instant::now();
                fared = match &result {
                    Ok(()) => Fared { reached: Some(Timestamp::now()), ..Fared::default() },
                    Err(error) => {
                        Fared { failures: fared.failures + 1, error: Some(error.to_string()), ..fared }
                    }
                };
                serving.remember(&fared).map_err(cannot())?;
            }
            if result.is_ok() {
                last_reached = Instant::now();
            }
            let is_over =
                |limit: Option<Duration>, since: Instant| limit.is_some_and(|limit| since.elapsed() >= limit);
            if is_over(idle, last_work) || is_over(patience, last_reached) {
                return Ok(());
            }
            pause = if result.is_ok() { PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            wait(pause, stop);
        }
        Ok(())
    }

    /// Copies a session from the shared store to the local one. What only the local store has is shared first.
    /// `_serving` proves that no other mirror of this root runs: it would copy the events back. `progress` gets the
    /// number of bytes copied.
    pub fn bring(
        &mut self,
        _serving: &Serving,
        session: &Session,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Brought> {
        self.session(session)?;
        let (mut brought, mut bytes) = (Brought::default(), 0);
        for record in self.shared.list(session)? {
            let handle = record.handle.clone();
            match copy(self.shared, self.local, &handle)? {
                Copied::New | Copied::AlreadyThere => brought.arrived.push(handle),
                Copied::Growing => brought.growing.push(handle),
                Copied::NameTaken => brought.differ.push(handle),
            }
            bytes += record.kept();
            progress(bytes);
        }
        self.bring_events(session)?;
        Ok(brought)
    }

    /// Copies the events of a session from the shared store, each once. They are not copied back.
    fn bring_events(&self, session: &Session) -> Result<()> {
        let (mut here, mut new, mut lines) =
            (Logged::of(self.local, session)?, Logged::default(), Vec::new());
        event::for_each_line(self.shared, session, 0, |line| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            if !here.take(line) {
                new.add(line);
                lines.push(line.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        for line in lines {
            self.local.log(session, &line)?;
        }
        self.take_events_except(session, &mut new)
    }

    fn is_uploading(&self) -> bool {
        self.sinks.values().any(|sink| sink.is_uploading())
    }

    /// Counts the outputs of a session that are not fully shared.
    fn left(&self, session: &Session) -> Result<Queue> {
        let mut queue = Queue::default();
        let there = self.there(session)?;
        for record in self.local.list(session)? {
            let (named, need) = named(&record, &there)?;
            queue.count(&record, named, need, &there);
        }
        Ok(queue)
    }

    fn there(&self, session: &Session) -> Result<There> {
        let removed = self.shared.removed(session)?;
        let mut there = There { outputs: BTreeMap::new(), unreadable: BTreeMap::new(), removed };
        for found in self.shared.rows(session)? {
            match found.record() {
                Ok(record) => drop(there.outputs.insert(found.id.clone(), Shared { found, record })),
                Err(failure) => drop(there.unreadable.insert(found.id, failure.to_string())),
            }
        }
        Ok(there)
    }

    /// Copies what is new in one output.
    fn take(&mut self, record: &Record, there: &There) -> Result<()> {
        let (named, need) = named(record, there)?;
        let local = &record.handle;
        // The record has the handle of the output in the shared store.
        let record = &under(named, record);
        let handle = &record.handle;
        if let Some(why) = there.unreadable.get(handle.id()) {
            return Err(Error::store(format!("share {local}"))(Failure::Damaged(why.clone()).into()));
        }
        let mut sink = match (self.sinks.remove(handle), need, there.outputs.get(handle.id())) {
            (Some(sink), Need::Wait, _) => sink,
            (_, Need::Begin, _) => match self.shared.begin(handle, &record.call)? {
                Some(sink) => sink,
                // Another machine was faster.
                None => return Ok(()),
            },
            (_, Need::Resume, Some(there)) => {
                match self.shared.resume(handle, &there.found, &record.call)? {
                    Some(sink) => sink,
                    None => return Ok(()),
                }
            }
            (_, Need::Nothing, _) => return self.take_view(local, handle),
            _ => return Ok(()),
        };
        if record.state != State::Growing && sink.has_bucket_for(record.kept()) {
            match sink.upload(record, UPLOAD_TURN, || self.local.open_part(local, Part::Bytes)) {
                Ok(None) => {
                    self.sinks.insert(handle.clone(), sink);
                    return Ok(());
                }
                Ok(Some(uploaded)) => {
                    self.take_beside(&mut sink, local, handle)?;
                    sink.finish_in_bucket(record, uploaded)?;
                    return self.take_what_follows(local, record);
                }
                // They are as safe in the database, and are moved to the bucket later.
                Err(error) => tracing::warn!("the bytes go to the database for now: {error}"),
            }
        }
        let is_whole = self.take_bytes(&mut sink, local, record)?;
        if record.state == State::Growing || !is_whole {
            self.sinks.insert(handle.clone(), sink);
            return Ok(());
        }
        self.take_beside(&mut sink, local, handle)?;
        sink.finish(record)?;
        self.take_what_follows(local, record)
    }

    /// Copies bytes until the output is complete or its turn is over; returns whether it is complete.
    fn take_bytes(&self, sink: &mut SharedSink, local: &Handle, record: &Record) -> Result<bool> {
        let cannot = || Error::store(format!("share {local}"));
        let bytes = self.local.open_part(local, Part::Bytes)?;
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

    /// Copies the parts beside the bytes of an ended output.
    fn take_beside(&self, sink: &mut SharedSink, local: &Handle, handle: &Handle) -> Result<()> {
        let streams = self.whole(local, Part::Streams)?;
        if !streams.is_empty() {
            self.shared.attach(handle, Part::Streams, &streams)?;
        }
        sink.set_index(self.whole(local, Part::Lines)?);
        Ok(())
    }

    /// Takes the link to an equal output and the view, which an output has only once it has ended.
    fn take_what_follows(&mut self, local: &Handle, record: &Record) -> Result<()> {
        let handle = &record.handle;
        if let Some(older) = &record.same_as {
            // Two copies do no harm, and the shared store may not have the older output.
            let _ = self.shared.share(handle, older);
        }
        self.take_view(local, handle)
    }

    /// Takes the view, which is written after the output has ended.
    fn take_view(&mut self, local: &Handle, handle: &Handle) -> Result<()> {
        let size = self.local.open_part(local, Part::View)?.size();
        let size = size.map_err(Error::store(format!("read the view of {local}")))?;
        if size == 0 || self.views.get(handle) == Some(&size) {
            return Ok(());
        }
        let here = self.whole(local, Part::View)?;
        let there = match self.shared.open_part(handle, Part::View) {
            // The shared output was removed.
            Err(Error::NotFound { .. }) => return Ok(()),
            there => there?,
        };
        let there = whole(&*there).map_err(Error::store(format!("share the view of {handle}")))?;
        if here != there {
            self.shared.attach(handle, Part::View, &here)?;
        }
        self.views.insert(handle.clone(), here.len() as u64);
        Ok(())
    }

    /// Sends the token counts that were noted while the shared store was unreachable.
    fn take_room_notes(&self, session: &Session) -> Result<()> {
        let notes = MirrorFolder::of(self.local.root()).room_notes(session);
        if let Some(exceeded) = self.shared.take_room_notes(session, &notes)? {
            event::log(self.local, session, exceeded, Timestamp::now());
        }
        Ok(())
    }

    /// Copies the events of a session, each once.
    fn take_events(&self, session: &Session) -> Result<()> {
        self.take_events_except(session, &mut Logged::default())
    }

    /// Copies the events of a session that the shared store does not have, each once.
    fn take_events_except(&self, session: &Session, shared: &mut Logged) -> Result<()> {
        loop {
            let from = self.shared.events_taken(session, &self.origin)?;
            let (mut lines, mut read) = (Vec::new(), 0);
            // A log that is shorter than the copied part is a new one, and is read from 0.
            let next = event::for_each_line(self.local, session, from, |line| {
                read += line.len();
                if !shared.take(line.strip_suffix(b"\n").unwrap_or(line)) {
                    lines.extend_from_slice(line);
                }
                if read < EVENTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if read == 0 {
                return Ok(());
            }
            self.shared.take_events(session, &self.origin, from..next, lines)?;
        }
    }

    /// Reads a whole part of a local output.
    fn whole(&self, handle: &Handle, part: Part) -> Result<Vec<u8>> {
        whole(&*self.local.open_part(handle, part)?).map_err(Error::store(format!("read {handle}")))
    }
}

impl Queue {
    fn add(&mut self, more: Queue) {
        self.outputs += more.outputs;
        self.growing += more.growing;
        self.bytes += more.bytes;
        self.oldest = self.oldest.into_iter().chain(more.oldest).min();
        self.renamed.extend(more.renamed);
        self.differ.extend(more.differ);
    }

    fn count(&mut self, record: &Record, named: Handle, need: Need, there: &There) {
        let shared = there.outputs.get(named.id()).map_or(0, |there| there.found.bytes);
        if named != record.handle {
            self.renamed.push((record.handle.clone(), named));
        }
        match need {
            Need::Nothing => return,
            Need::Name | Need::Person => return self.differ.push(record.handle.clone()),
            Need::Begin | Need::Resume | Need::Wait => {}
        }
        self.outputs += 1;
        self.growing += u64::from(record.state == State::Growing);
        self.bytes += record.kept().saturating_sub(shared);
        self.oldest = self.oldest.into_iter().chain([record.call.at]).min();
    }
}

/// Returns the handle of an output in the shared store, and the step that it needs. The first output with a name
/// keeps it; the output of another call gets a number appended, as the second output of a call does in a local store.
fn named(record: &Record, there: &There) -> Result<(Handle, Need)> {
    let mut named = record.handle.clone();
    for number in 1..=MAX_NAMESAKES {
        let need = need(record, there.outputs.get(named.id()));
        if need == Need::Begin
            && there.removed.contains(&(named.id().to_owned(), record.call.at.as_microsecond()))
        {
            return Ok((named, Need::Nothing));
        }
        if need != Need::Name {
            return Ok((named, need));
        }
        named = record.call.handle(number + 1)?;
    }
    Ok((named, Need::Name))
}

/// Returns the step that an output needs to be shared.
fn need(record: &Record, there: Option<&Shared>) -> Need {
    let Some(Shared { found, record: shared }) = there else { return Need::Begin };
    if shared.call != record.call {
        return Need::Name;
    }
    match found.state {
        GROWING if found.is_held => Need::Wait,
        GROWING => Need::Resume,
        _ if is_same(shared, record) => Need::Nothing,
        // A reader ended it after the mirror had stopped.
        CUT_SHORT if found.bytes <= record.kept() => Need::Resume,
        _ => Need::Person,
    }
}

/// Whether two records describe the same output, which may have different names.
fn is_same(shared: &Record, local: &Record) -> bool {
    *shared == under(shared.handle.clone(), local)
}

/// A record under another handle.
fn under(handle: Handle, record: &Record) -> Record {
    let mut record = record.clone();
    record.handle = handle;
    record
}

/// Waits until the pause is over or `stop` is set.
fn wait(pause: Duration, stop: &AtomicBool) {
    let until = Instant::now() + pause;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(PAUSE));
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
