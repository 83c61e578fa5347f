//! A local store and the shared store as one, for readers: outputs that the local store does not have are read from
//! the shared one. Tokens in use are counted there too, so that a session has one room on all machines.

use crate::cache::Cache;
use crate::error::OpenError;
use crate::mirror_folder::MirrorFolder;
use crate::rooms::{Change, Step};
use crate::store::SharedStore;
use forebay::store::retention::Weight;
use forebay::store::{Part, Reservation, Reserved, Rooms, Sink};
use forebay::{Call, Error, Handle, InUse, ReadAt, Record, Result, Session, State, Store, Timestamp, event};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for counting tokens in the shared store. The result of a tool waits for it, and the local count is nearly
/// as good.
const COUNTED_WITHIN: Duration = Duration::from_secs(1);

/// Time after which opening a shared store is retried.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Opens a shared store. Called on first use, and again after a failure.
pub type Open = Box<dyn Fn() -> std::result::Result<SharedStore, OpenError> + Send + Sync>;

/// A local store, and the shared store behind it.
///
/// Everything is written to the local store, and [`crate::Mirror`] copies it to the shared one. If the shared store
/// is unreachable, lists have only local outputs, and [`ReadThrough::problem`] returns the reason.
pub struct ReadThrough {
    local: Box<dyn Store>,
    shared: Arc<Opening>,
    cache: Arc<Cache>,
    notes: MirrorFolder,
    /// Name of this root among all mirrored ones, if it has one.
    origin: Option<String>,
    /// Timeout for counting tokens in the shared store.
    counted_within: Duration,
    /// Guards the reason why the shared store could not be read.
    problem: Mutex<Option<String>>,
    /// Guards the time of the last request that the shared store did not answer.
    away_since: Mutex<Option<Instant>>,
}

/// A shared store that is opened on first use.
struct Opening {
    open: Open,
    /// Guards the store while it is opened, so that only one caller opens it.
    tried: Mutex<Option<Tried>>,
}

/// The result of opening a shared store.
#[derive(Clone)]
enum Tried {
    Open(Arc<SharedStore>),
    Failed { why: Arc<OpenError>, at: Instant },
}

impl Opening {
    fn store(&self) -> std::result::Result<Arc<SharedStore>, Arc<OpenError>> {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        match &*tried {
            Some(Tried::Open(store)) => return Ok(store.clone()),
            Some(Tried::Failed { why, at }) if at.elapsed() < TRIED_AGAIN_AFTER => return Err(why.clone()),
            _ => {}
        }
        match (self.open)() {
            Ok(store) => {
                let store = Arc::new(store);
                *tried = Some(Tried::Open(store.clone()));
                Ok(store)
            }
            Err(error) => {
                let why = Arc::new(error);
                *tried = Some(Tried::Failed { why: why.clone(), at: Instant::now() });
                Err(why)
            }
        }
    }
}

impl ReadThrough {
    /// A local store whose root is `root`, and a shared store that is opened on first use. Up to `most_cached` bytes
    /// read from it stay on the local disk. `origin` is the name under which a mirror copies this root's events.
    pub fn new(
        local: Box<dyn Store>,
        root: &Path,
        open: Open,
        most_cached: u64,
        origin: Option<String>,
    ) -> ReadThrough {
        ReadThrough {
            local,
            shared: Arc::new(Opening { open, tried: Mutex::default() }),
            cache: Arc::new(Cache::new(root.join(".cache").join("shared"), most_cached)),
            notes: MirrorFolder::of(root),
            origin,
            counted_within: COUNTED_WITHIN,
            problem: Mutex::default(),
            away_since: Mutex::default(),
        }
    }

    /// Sets how long to wait for the shared store to count tokens in use, before they are counted locally.
    pub fn counting_within(self, counted_within: Duration) -> ReadThrough {
        ReadThrough { counted_within, ..self }
    }

    /// Why the shared store could not be read, if it could not.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The shared store.
    fn shared(&self) -> Result<Arc<SharedStore>> {
        self.shared.store().map_err(|why| {
            self.away(why.to_string());
            Error::store("open the shared store")(io::Error::other(why))
        })
    }

    fn away(&self, why: String) {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// Answer of the shared store; the default value if it is unreachable, or was a moment ago: a caller that lists many
    /// sessions must not wait for each.
    fn there<T: Default>(&self, ask: impl Fn(&SharedStore) -> Result<T>) -> T {
        let away_since = || self.away_since.lock().unwrap_or_else(PoisonError::into_inner);
        if away_since().is_some_and(|at| at.elapsed() < TRIED_AGAIN_AFTER) {
            return T::default();
        }
        self.shared().and_then(|shared| ask(&shared)).unwrap_or_else(|error| {
            *away_since() = Some(Instant::now());
            self.away(error.to_string());
            T::default()
        })
    }

    /// Answer of the local store about an output, or of the shared one if the local store does not have it.
    fn either<T>(&self, handle: &Handle, ask: impl Fn(&dyn Store) -> Result<T>) -> Result<T> {
        if self.is_local(handle)? { ask(&*self.local) } else { ask(&*self.shared()?) }
    }

    fn is_local(&self, handle: &Handle) -> Result<bool> {
        match self.local.record(handle) {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// All of `here`, then those of `there` with other names.
    fn both<T>(here: Vec<T>, there: Vec<T>, name: impl Fn(&T) -> Handle) -> Vec<T> {
        let names: BTreeSet<Handle> = here.iter().map(&name).collect();
        let more = there.into_iter().filter(|one| !names.contains(&name(one)));
        here.into_iter().chain(more).collect()
    }
}

impl Store for ReadThrough {
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        self.local.create(handle, call)
    }

    fn record(&self, handle: &Handle) -> Result<Record> {
        match self.local.record(handle) {
            Err(Error::NotFound { .. }) => self.shared()?.record(handle),
            record => record,
        }
    }

    fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>> {
        if self.is_local(handle)? {
            return self.local.open_part(handle, part);
        }
        let shared = self.shared()?;
        let bytes = shared.open_part(handle, part)?;
        if part != Part::Bytes {
            return Ok(bytes);
        }
        let record = shared.record(handle)?;
        let is_plain = !record.hash.is_empty() && record.hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        Ok(match record.state {
            State::Growing => bytes,
            _ if !is_plain => bytes,
            _ => self.cache.over(&record.hash, record.kept(), bytes),
        })
    }

    fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()> {
        self.either(handle, |store| store.attach(handle, part, bytes))
    }

    fn list(&self, session: &Session) -> Result<Vec<Record>> {
        let there = self.there(|shared| shared.list(session));
        let mut records = ReadThrough::both(self.local.list(session)?, there, |record| record.handle.clone());
        records.sort_by(|a, b| (a.call.at, &a.handle).cmp(&(b.call.at, &b.handle)));
        Ok(records)
    }

    fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>> {
        let mut ids = self.local.ids(session, prefix)?;
        ids.extend(self.there(|shared| shared.ids(session, prefix)));
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        let mut sessions = self.local.sessions()?;
        sessions.extend(self.there(Store::sessions));
        sessions.sort();
        sessions.dedup();
        Ok(sessions)
    }

    fn weights(&self, session: &Session) -> Result<Vec<Weight>> {
        let there = self.there(|shared| shared.weights(session));
        Ok(ReadThrough::both(self.local.weights(session)?, there, |weight| weight.handle.clone()))
    }

    fn delete(&self, handle: &Handle) -> Result<()> {
        let here = self.local.delete(handle);
        match self.shared()?.delete(handle) {
            Err(Error::NotFound { .. }) => here,
            gone => gone,
        }
    }

    fn share(&self, newer: &Handle, older: &Handle) -> Result<()> {
        self.local.share(newer, older)
    }

    fn link(&self, handle: &Handle) -> Result<()> {
        self.local.link(handle)
    }

    fn path(&self, handle: &Handle) -> Option<PathBuf> {
        self.local.path(handle)
    }

    fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
        self.local.log(session, line)?;
        // If the note fails, `mirror flush` still finds the session.
        let _ = self.notes.note(session);
        Ok(())
    }

    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
        let here = self.local.open_log(session)?;
        let there = self.there(|shared| {
            let taken = match &self.origin {
                Some(origin) => shared.events_taken(session, origin)?,
                None => 0,
            };
            Ok(Some((shared.open_log(session)?, taken)))
        });
        Ok(match there {
            Some((there, taken)) => Box::new(Logs { there, here, taken }),
            None => here,
        })
    }
}

impl Rooms for ReadThrough {
    fn in_use(&self, session: &Session) -> Result<InUse> {
        match self.counted_there(session, |shared, session| shared.in_use(session)) {
            Some(in_use) => Ok(in_use),
            None => self.local.in_use(session),
        }
    }

    fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()> {
        self.local.set_in_use(session, in_use)?;
        let change = self.change(session, Step::Set(in_use))?;
        if self.changed_there(session, &change).is_some() { Ok(()) } else { self.leave(session, &change) }
    }

    fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved> {
        let change = self.change(session, Step::reserve(wanted))?;
        if let Some(reserved) = self.changed_there(session, &change) {
            // If the shared store becomes unreachable, the local count continues from this value.
            let _ = self.local.set_in_use(session, reserved.in_use);
            return Ok(reserved);
        }
        let reserved = self.local.reserve(session, wanted)?;
        if reserved.is_made {
            self.leave(session, &change)?;
        }
        Ok(reserved)
    }
}

impl ReadThrough {
    fn change(&self, session: &Session, step: Step) -> Result<Change> {
        Change::new(step).map_err(Error::store(format!("count the tokens in use by {session}")))
    }

    /// Notes a change, to be sent when the shared store is reachable again.
    fn leave(&self, session: &Session, change: &Change) -> Result<()> {
        let left = self.notes.room_notes(session).add(change).and_then(|()| self.notes.note(session));
        left.map_err(Error::store(format!("count the tokens in use by {session}")))
    }

    /// Makes a change in the shared store, unless it is unreachable.
    fn changed_there(&self, session: &Session, change: &Change) -> Option<Reserved> {
        let change = change.clone();
        self.counted_there(session, move |shared, session| shared.change_room(session, Ok(change)))
    }

    /// Answer of the shared store about the tokens in use, if it comes in time. Noted changes are sent first.
    fn counted_there<T: Send + 'static>(
        &self,
        session: &Session,
        ask: impl FnOnce(&SharedStore, &Session) -> Result<T> + Send + 'static,
    ) -> Option<T> {
        if self.notes.is_away() {
            return None;
        }
        let (opening, notes) = (self.shared.clone(), self.notes.room_notes(session));
        let (answer, answered) = mpsc::sync_channel(1);
        let named = session.clone();
        thread::spawn(move || {
            let Ok(shared) = opening.store() else { return };
            let counted = shared
                .take_room_notes(&named, &notes)
                .and_then(|exceeded| Ok((exceeded, ask(&shared, &named)?)));
            if let Ok(counted) = counted {
                // The caller may have stopped waiting. The change is made anyway, and its mark keeps it from counting
                // twice.
                let _ = answer.send(counted);
            }
        });
        let Ok((exceeded, counted)) = answered.recv_timeout(self.counted_within) else {
            // If the note fails, the next caller waits again.
            let _ = self.notes.note_away();
            return None;
        };
        if let Some(exceeded) = exceeded {
            event::log(self, session, exceeded, Timestamp::now());
        }
        Some(counted)
    }
}

/// The shared events of a session, then those of this root that are not shared yet.
struct Logs {
    there: Box<dyn ReadAt>,
    here: Box<dyn ReadAt>,
    /// Bytes of the local events that are already shared.
    taken: u64,
}

impl ReadAt for Logs {
    fn size(&self) -> io::Result<u64> {
        Ok(self.there.size()? + self.here.size()?.saturating_sub(self.taken))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let shared = self.there.size()?;
        if offset < shared {
            let most = usize::try_from(shared - offset).unwrap_or(usize::MAX).min(buffer.len());
            return self.there.read_at(offset, &mut buffer[..most]);
        }
        self.here.read_at(self.taken + (offset - shared), buffer)
    }
}
