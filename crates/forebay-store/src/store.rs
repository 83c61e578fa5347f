//! The store that many machines share.

use crate::address::bucket::BucketAddress;
use crate::address::database::DatabaseAddress;
use crate::backend::Backend;
use crate::database::{Param, retrying};
use crate::encryption::{Context, MasterKey};
use crate::error::OpenError;
use crate::failure::Failure;
use crate::key::Key;
use crate::log::{self, Log, Logs};
use crate::probe::Verdict;
use crate::reader::{Beside, Bytes, part_number};
use crate::room_notes::RoomNotes;
use crate::rooms::Step;
use crate::row::{self, COLUMNS, Found, TABLES, unsigned};
use crate::runtime::Runtime;
use crate::schema::{self, VERSION};
use crate::session_keys::Keys;
use crate::sink::{self, Held, LEASE, SharedSink};
use crate::{content, ended, probe, removal, rooms, settle};
use forebay::store::retention::{Gone, Rules, Weight};
use forebay::store::{Part, Reservation, Reserved, Rooms, Sink, Store};
use forebay::store::{remove_all, remove_by_rules};
use forebay::{Call, Error, Handle, InUse, ReadAt, Record, Result, Session, State, Timestamp, What};
use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    ops::Range,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio_postgres::types::Type;

/// Time in which a database that is not away answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Keeps outputs in a PostgreSQL database, where every machine reads them at once.
///
/// The outputs of each tenant are a store of their own: its name is part of every key.
pub struct SharedStore {
    runtime: Arc<Runtime>,
    backend: Arc<Backend>,
    logs: Logs,
}

impl SharedStore {
    /// Opens the outputs of a tenant. Migrates the schema of the database first, and refuses a newer schema.
    pub fn open(options: Options) -> std::result::Result<SharedStore, OpenError> {
        let Options { database, bucket, tenant, lease, key } = options;
        let blobs = bucket.as_ref().map(BucketAddress::connect).transpose()?.map(Arc::new);
        let runtime = Arc::new(Runtime::start().map_err(OpenError::Threads)?);
        let shown = database.to_string();
        let cannot =
            |failure: Failure| OpenError::Database { address: shown.clone(), why: failure.to_string() };
        // The pool must be created inside the runtime of its connections.
        let database =
            runtime.wait(async move { database.connect() }).map_err(OpenError::Threads)?.map_err(cannot)?;
        let keys = Arc::new(Keys::new(key.as_ref()).map_err(cannot)?);
        let backend = Arc::new(Backend { database: Arc::new(database), blobs, tenant, keys, lease });
        let opened = backend.clone();
        let found = runtime
            .wait(async move { schema::migrate(&opened.database).await })
            .map_err(OpenError::Threads)?
            .map_err(cannot)?;
        if let schema::Found::Newer(version) = found {
            return Err(OpenError::NewerSchema { version, known: VERSION });
        }
        if let Some(bucket) = bucket {
            check_bucket(&runtime, &backend, &bucket)?;
        }
        Ok(SharedStore { runtime, backend, logs: Logs::default() })
    }

    /// The store of another tenant, with the same connections.
    pub fn for_tenant(&self, tenant: Session) -> SharedStore {
        let Backend { database, blobs, keys, lease, .. } = &*self.backend;
        let (database, blobs, keys) = (database.clone(), blobs.clone(), keys.clone());
        let backend = Backend { database, blobs, tenant, keys, lease: *lease };
        SharedStore { runtime: self.runtime.clone(), backend: Arc::new(backend), logs: Logs::default() }
    }

    /// Asks the database and the bucket whether they answer, and whether the master key is the right one.
    pub fn check(&self) -> Result<()> {
        let backend = self.backend.clone();
        self.about("reach", "the shared store", async move {
            retrying(|_| backend.database.query("SELECT 1 FROM forebay_schema", &[])).await?;
            retrying(|_| backend.keys.check(&backend.database, backend.tenant.as_str())).await?;
            match &backend.blobs {
                Some(blobs) => blobs.check().await,
                None => Ok(()),
            }
        })
    }

    /// Whether the database answers now.
    pub(crate) fn answers(&self) -> bool {
        let backend = self.backend.clone();
        let asked = self.runtime.wait(async move {
            let answer = backend.database.query("SELECT 1", &[]);
            matches!(tokio::time::timeout(ANSWER_WITHIN, answer).await, Ok(Ok(_)))
        });
        asked.unwrap_or(false)
    }

    /// The time by the clock of the database, which all machines share.
    pub fn now(&self) -> Result<Timestamp> {
        const SQL: &str = "SELECT CAST(extract(epoch FROM now()) * 1000000 AS bigint)";
        let backend = self.backend.clone();
        let time = self.about("read", "the time of the shared store", async move {
            let row = retrying(|_| backend.database.query_opt(SQL, &[])).await?.ok_or(Failure::NotFound)?;
            Ok(row.try_get::<_, i64>(0)?)
        })?;
        Ok(Timestamp::from_microsecond(time).unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// Removes outputs by rules, with the ages that they have by the clock of the database, and what is kept of sessions
    /// that lose their last output. Returns what is gone, or would be.
    pub fn remove_by_rules(&self, rules: &Rules, only: Option<&Session>, dry_run: bool) -> Result<Vec<Gone>> {
        let gone = remove_by_rules(self, rules, only, self.now()?, dry_run)?;
        if !dry_run {
            let sessions: BTreeSet<&Session> = gone.iter().map(|gone| gone.handle.session()).collect();
            sessions.into_iter().try_for_each(|session| self.remove_notes(session))?;
        }
        Ok(gone)
    }

    /// Moves bytes to the bucket that stayed in the database because the bucket could not be reached, and removes objects
    /// that nobody uses. Returns how many outputs were moved. Without a bucket there is nothing to do. One that cannot be
    /// moved does not keep back the others; its error comes at the end.
    pub fn catch_up(&self) -> Result<u64> {
        let backend = self.backend.clone();
        self.about("move", "bytes to the bucket", async move {
            removal::forget(&backend).await?;
            let Some(blobs) = &backend.blobs else { return Ok(0) };
            let (mut moved, mut failed) = (0, None);
            for key in settle::waiting(&backend).await? {
                match settle::settle(&backend, blobs, &key).await {
                    Ok(is_moved) => moved += u64::from(is_moved),
                    // It was removed meanwhile.
                    Err(Failure::NotFound) => {}
                    Err(failure @ Failure::Damaged(_)) => {
                        tracing::warn!(output = %key, "its bytes stay in the database: {failure}");
                        failed.get_or_insert(failure);
                    }
                    Err(failure) => return Err(failure),
                }
            }
            for unused in removal::left_behind(&backend).await? {
                removal::remove(&backend, blobs, &unused).await?;
            }
            failed.map_or(Ok(moved), Err)
        })
    }

    /// Changes the tokens that a session has in use.
    pub(crate) fn change_room(
        &self,
        session: &Session,
        change: std::io::Result<rooms::Change>,
    ) -> Result<Reserved> {
        const WHAT: &str = "count the tokens in use by";
        let change = change.map_err(Error::store(format!("{WHAT} {session}")))?;
        let (backend, key) = (self.backend.clone(), self.session_key(session));
        self.about(WHAT, session, async move { retrying(|_| rooms::change(&backend, &key, &change)).await })
    }

    /// Counts the tokens that were noted while this store was unreachable. Returns an event if they exceed the room.
    pub(crate) fn take_room_notes(&self, session: &Session, notes: &RoomNotes) -> Result<Option<What>> {
        let cannot = || Error::store(format!("count the tokens in use by {session}"));
        let mut exceeded = None;
        for change in notes.changes().map_err(cannot())? {
            let forced = rooms::Change { mark: change.mark.clone(), step: change.step.forced() };
            let used = self.change_room(session, Ok(forced))?.in_use.total();
            notes.remove(std::slice::from_ref(&change)).map_err(cannot())?;
            exceeded = match change.step {
                Step::Reserve { most, .. } if used > most => Some(What::RoomExceeded { used, most }),
                _ => None,
            };
        }
        Ok(exceeded)
    }

    /// Runs a request about an output, and adds the handle to its error.
    fn about<T: Send + 'static>(
        &self,
        what: &str,
        named: &(impl std::fmt::Display + ?Sized),
        request: impl Future<Output = std::result::Result<T, Failure>> + Send + 'static,
    ) -> Result<T> {
        let step = || format!("{what} {named}");
        let answer = self.runtime.wait(request).map_err(|error| Error::store(step())(error))?;
        answer.map_err(|failure| failure.error(step(), named))
    }

    fn key(&self, handle: &Handle) -> Key {
        Key::new(&self.backend.tenant, handle)
    }

    /// The row of an output. If its writer has vanished, the output is ended first.
    fn found(&self, handle: &Handle) -> Result<Found> {
        let (backend, key) = (self.backend.clone(), self.key(handle));
        let found =
            self.about("read", handle, async move { retrying(|_| row::find(&backend, &key)).await })?;
        if found.is_abandoned() { self.end_abandoned(handle, found) } else { Ok(found) }
    }

    /// Ends an output whose writer has vanished, unless the writer or another reader ends it first.
    fn end_abandoned(&self, handle: &Handle, mut found: Found) -> Result<Found> {
        loop {
            let cannot = |failure: Failure| failure.error(format!("read {handle}"), handle);
            let cipher = found.readable().map_err(cannot)?;
            let (runtime, backend) = (self.runtime.clone(), self.backend.clone());
            let bytes = Bytes::new(runtime, backend, self.key(handle), &found).map_err(cannot)?;
            let mut record =
                found.record().map_err(|failure| failure.error(format!("read {handle}"), handle))?;
            let index = ended::measure(&bytes, found.bytes, &mut record)
                .map_err(Error::store(format!("read {handle}")))?;
            record.ended = Some(found.changed_at);
            let end = ended::End {
                cipher,
                record: row::to_json(&record)
                    .map_err(|failure| failure.error(format!("end {handle}"), handle))?,
                state: row::state_number(&record.state),
                hash: record.hash.clone(),
                index,
            };
            let (backend, key) = (self.backend.clone(), self.key(handle));
            let (is_ended, now) = self.about("end", handle, async move {
                let is_ended = retrying(|_| ended::take_over(&backend, &key, &found, &end)).await?;
                Ok((is_ended, retrying(|_| row::find(&backend, &key)).await?))
            })?;
            if is_ended {
                forebay::event::log_end(self, &record);
            }
            if !now.is_abandoned() {
                return Ok(now);
            }
            found = now;
        }
    }

    /// The record in a row, for a listing. A record that cannot be read does not hide the others.
    fn listed(&self, session: &Session, found: Found) -> Result<Option<Record>> {
        let handle = Handle::new(session.clone(), &found.id)?;
        let record = if found.is_abandoned() {
            match self.record(&handle) {
                Err(Error::NotFound { .. }) => return Ok(None),
                record => record,
            }
        } else {
            found.record().map_err(|failure| failure.error(format!("read {handle}"), &handle))
        };
        Ok(Some(record.unwrap_or_else(|error| {
            let call = Call::new(session.clone(), handle.id(), "?", Timestamp::UNIX_EPOCH);
            let mut record = Record::begin(handle, call);
            record.state = State::CutShort(error.to_string());
            record
        })))
    }

    /// The rows of a session's outputs, oldest first. Abandoned outputs are not ended.
    pub(crate) fn rows(&self, session: &Session) -> Result<Vec<Found>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {TABLES} WHERE o.tenant = $1 AND o.session = $2 ORDER BY o.called_at, o.number"
        );
        let (backend, key) = (self.backend.clone(), self.session_key(session));
        self.about("list", session, async move {
            let params = key.session_params(&[]);
            let rows = retrying(|_| backend.database.query(&sql, &params)).await?;
            let mut found = Vec::with_capacity(rows.len());
            for row in &rows {
                found.push(Found::from_row(&backend, &key, row).await?);
            }
            Ok(found)
        })
    }

    /// The outputs of a session that were removed: the id of each, and the time of its call in microseconds.
    pub(crate) fn removed(&self, session: &Session) -> Result<BTreeSet<(String, i64)>> {
        let (backend, key) = (self.backend.clone(), self.session_key(session));
        self.about("list", session, async move { retrying(|_| removal::removed(&backend, &key)).await })
    }

    /// Forgets that an output was removed, so that a mirror can share it again.
    pub fn forget_removal(&self, record: &Record) -> Result<()> {
        let (handle, called_at) = (&record.handle, record.call.at.as_microsecond());
        let (backend, key) = (self.backend.clone(), self.key(handle));
        self.about("share", handle, async move {
            retrying(|_| removal::forget_one(&backend, &key, called_at)).await
        })
    }

    /// Removes a session: its outputs, its events and its count of tokens. Keeps outputs that grow, and then the
    /// events too. Returns the removed outputs.
    pub fn remove_session(&self, session: &Session, dry_run: bool) -> Result<Vec<Gone>> {
        let gone = remove_all(self, session, dry_run)?;
        if !dry_run {
            self.remove_notes(session)?;
        }
        Ok(gone)
    }

    /// Removes what there is of a session beside its outputs, unless it has any: its events, its count of tokens, its key.
    pub fn remove_notes(&self, session: &Session) -> Result<()> {
        let (backend, key) = (self.backend.clone(), self.session_key(session));
        self.about("remove the events of", session, async move {
            retrying(|_| removal::remove_notes(&backend, &key)).await
        })
    }

    /// Begins an output, unless its name is taken.
    pub(crate) fn begin(&self, handle: &Handle, call: &Call) -> Result<Option<Box<SharedSink>>> {
        let key = self.key(handle);
        let record = Record::begin(handle.clone(), call.clone());
        let begun = sink::Begun::new(key, &record)
            .map_err(|failure| failure.error(format!("write {handle}"), handle))?;
        let backend = self.backend.clone();
        let held = self.about("write", handle, async move {
            retrying(|may_have_landed| sink::create(&backend, &begun, may_have_landed)).await
        })?;
        Ok(held.map(|held| self.sink(handle, held)))
    }

    /// Continues an output whose writer has stopped. `None` if it has changed since it was found, or if another
    /// output uses its bytes by now.
    pub(crate) fn resume(
        &self,
        handle: &Handle,
        found: &Found,
        call: &Call,
    ) -> Result<Option<Box<SharedSink>>> {
        let record = row::to_json(&Record::begin(handle.clone(), call.clone()))
            .map_err(|failure| failure.error(format!("write {handle}"), handle))?;
        let (backend, key) = (self.backend.clone(), self.key(handle));
        let found = found.clone();
        let held = self.about("write", handle, async move {
            retrying(|_| sink::resume(&backend, &key, &found, &record)).await
        })?;
        Ok(held.map(|held| self.sink(handle, held)))
    }

    fn sink(&self, handle: &Handle, held: Held) -> Box<SharedSink> {
        let (runtime, backend) = (self.runtime.clone(), self.backend.clone());
        Box::new(SharedSink::new(runtime, backend, handle.clone(), self.key(handle), held))
    }

    /// Number of bytes of a local store's events that were copied to this store.
    pub(crate) fn events_taken(&self, session: &Session, origin: &str) -> Result<u64> {
        let (backend, key, origin) = (self.backend.clone(), self.session_key(session), origin.to_owned());
        self.about("read the events of", session, async move {
            retrying(|_| log::taken(&backend, &key, &origin)).await
        })
    }

    /// Copies lines of a local store's events, unless they were copied before. `range` is their place in the local
    /// events.
    pub(crate) fn take_events(
        &self,
        session: &Session,
        origin: &str,
        range: Range<u64>,
        lines: Vec<u8>,
    ) -> Result<()> {
        let (backend, key, origin) = (self.backend.clone(), self.session_key(session), origin.to_owned());
        self.about("log events of", session, async move {
            retrying(|_| log::take(&backend, &key, &origin, range.clone(), &lines)).await
        })
    }

    /// Key of a session, with an empty id.
    fn session_key(&self, session: &Session) -> Key {
        let (tenant, session) = (self.backend.tenant.as_str().to_owned(), session.as_str().to_owned());
        Key { tenant, session, id: String::new() }
    }
}

/// Settings of a [`SharedStore`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The database.
    pub database: DatabaseAddress,
    /// The tenant. No other tenant sees its outputs.
    pub tenant: Session,
    /// The bucket for bytes. Without one they stay in the database.
    pub bucket: Option<BucketAddress>,
    /// Time without a renewal after which a writer loses its output.
    pub lease: Duration,
    /// The master key, if content is encrypted before it leaves this machine.
    pub key: Option<MasterKey>,
}

impl Options {
    /// The outputs of the tenant `default` in a database.
    pub fn new(database: DatabaseAddress) -> Options {
        let tenant = Session::safe("default");
        Options { database, bucket: None, tenant, lease: LEASE, key: None }
    }
}

/// The query that [`weight`] reads the rows of, without its condition.
const WEIGHTS: &str = "SELECT o.session, o.id, o.beside + \
    CASE WHEN c.users > 0 THEN c.bytes / c.users ELSE o.bytes END, \
    CAST(extract(epoch FROM o.changed_at) * 1000000 AS bigint), \
    coalesce(o.state = 0 AND o.lease_until > now(), false) \
    FROM forebay_outputs o LEFT JOIN forebay_contents c \
    ON c.tenant = o.tenant AND c.session = o.session AND c.content = o.content";

/// Outputs that one request returns when all are listed.
const AT_ONCE: usize = 20_000;

/// Reads a row of [`WEIGHTS`].
fn weight(row: &tokio_postgres::Row) -> Result<Weight> {
    let session: Session = row.get::<_, String>(0).parse()?;
    Ok(Weight {
        handle: Handle::new(session, row.get(1))?,
        bytes: unsigned(row.get(2)),
        time: Timestamp::from_microsecond(row.get(3)).unwrap_or(Timestamp::UNIX_EPOCH),
        in_use: row.get(4),
    })
}

impl Store for SharedStore {
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        Ok(self.begin(handle, call)?.map(|sink| -> Box<dyn Sink> { sink }))
    }

    fn record(&self, handle: &Handle) -> Result<Record> {
        let found = self.found(handle)?;
        found.record().map_err(|failure| failure.error(format!("read {handle}"), handle))
    }

    fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>> {
        let found = self.found(handle)?;
        let (runtime, backend, key) = (self.runtime.clone(), self.backend.clone(), self.key(handle));
        let cannot = |failure: Failure| failure.error(format!("read {handle}"), handle);
        Ok(match part {
            Part::Bytes => Box::new(Bytes::new(runtime, backend, key, &found).map_err(cannot)?),
            Part::Lines | Part::Streams | Part::View => {
                let cipher = found.readable().map_err(cannot)?;
                Box::new(Beside::new(runtime, backend, key, cipher, part))
            }
        })
    }

    fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()> {
        let (backend, key) = (self.backend.clone(), self.key(handle));
        let (part, bytes) = (part_number(part), bytes.to_vec());
        self.about("write a part of", handle, async move {
            retrying(|_| content::attach(&backend, &key, part, &bytes)).await
        })
    }

    fn list(&self, session: &Session) -> Result<Vec<Record>> {
        let rows = self.rows(session)?;
        let records = rows.into_iter().map(|found| self.listed(session, found));
        records.filter_map(Result::transpose).collect()
    }

    fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>> {
        // No character of an id comes after '~'.
        const SQL: &str = "SELECT id FROM forebay_outputs \
            WHERE tenant = $1 AND session = $2 AND id >= $3 AND id < $3 || '~' ORDER BY id";
        let (backend, key) = (self.backend.clone(), self.session_key(session));
        let prefix = prefix.to_owned();
        self.about("list", session, async move {
            let params = key.session_params(&[(&prefix, Type::TEXT)]);
            let rows = retrying(|_| backend.database.query(SQL, &params)).await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }

    fn calls(&self, session: &Session, ids: &[String], most: usize) -> Result<Vec<Call>> {
        const SQL: &str = "SELECT id, key, record FROM forebay_outputs \
            WHERE tenant = $1 AND session = $2 AND id = ANY($3)";
        let (backend, key, wanted) = (self.backend.clone(), self.session_key(session), ids.to_vec());
        let found: BTreeMap<String, String> = self.about("list", session, async move {
            let params = key.session_params(&[(&wanted, Type::TEXT_ARRAY)]);
            let rows = retrying(|_| backend.database.query(SQL, &params)).await?;
            let mut found = BTreeMap::new();
            for row in &rows {
                let (id, key_id): (String, String) = (row.try_get(0)?, row.try_get(1)?);
                let cipher = backend.keys.of(&backend.database, &key, &key_id).await?;
                let record = cipher.open_text(Context::Record(&id), row.try_get(2)?)?;
                found.insert(id, record);
            }
            Ok(found)
        })?;
        let call = |id: &String| Some(Record::from_json(found.get(id)?.as_bytes()).ok()?.call);
        Ok(ids.iter().filter_map(call).take(most).collect())
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        // One index lookup for each session instead of one for each output.
        const SQL: &str = "WITH RECURSIVE found AS (\
            SELECT min(session) AS session FROM forebay_outputs WHERE tenant = $1 \
            UNION ALL \
            SELECT (SELECT min(o.session) FROM forebay_outputs o WHERE o.tenant = $1 AND o.session > found.session) \
            FROM found WHERE found.session IS NOT NULL) \
            SELECT session FROM found WHERE session IS NOT NULL ORDER BY session";
        let backend = self.backend.clone();
        let names: Vec<String> = self.about("list", "the sessions", async move {
            let tenant = backend.tenant.as_str();
            let params: [Param<'_>; 1] = [(&tenant, Type::TEXT)];
            let rows = retrying(|_| backend.database.query(SQL, &params)).await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })?;
        names.iter().map(|name| name.parse()).collect()
    }

    fn weights(&self, session: &Session) -> Result<Vec<Weight>> {
        let sql = format!("{WEIGHTS} WHERE o.tenant = $1 AND o.session = $2 ORDER BY o.id");
        let (backend, key) = (self.backend.clone(), self.session_key(session));
        let rows = self.about("list", session, async move {
            let params = key.session_params(&[]);
            retrying(|_| backend.database.query(&sql, &params)).await
        })?;
        rows.iter().map(weight).collect()
    }

    fn weights_of_all(&self) -> Result<Vec<Weight>> {
        // A block at a time, in the order of the key: no request takes long, however many outputs there are.
        let sql = format!(
            "{WEIGHTS} WHERE o.tenant = $1 AND (o.session, o.id) > ($2, $3) ORDER BY o.session, o.id LIMIT {AT_ONCE}"
        );
        let mut weights: Vec<Weight> = Vec::new();
        loop {
            let last = weights.last().map(|last| &last.handle);
            let (session, id) = last.map_or(("", ""), |last: &Handle| (last.session().as_str(), last.id()));
            let (backend, sql, after) =
                (self.backend.clone(), sql.clone(), (session.to_owned(), id.to_owned()));
            let rows = self.about("list", "all outputs", async move {
                let tenant = backend.tenant.as_str();
                let params: [Param<'_>; 3] =
                    [(&tenant, Type::TEXT), (&after.0, Type::TEXT), (&after.1, Type::TEXT)];
                retrying(|_| backend.database.query(&sql, &params)).await
            })?;
            for row in &rows {
                weights.push(weight(row)?);
            }
            if rows.len() < AT_ONCE {
                return Ok(weights);
            }
        }
    }

    fn delete(&self, handle: &Handle) -> Result<()> {
        let (backend, key) = (self.backend.clone(), self.key(handle));
        self.about("remove", handle, async move {
            let unused = retrying(|landed| content::delete(&backend, &key, landed)).await?;
            removal::remove_if_possible(&backend, unused).await;
            Ok(())
        })
    }

    fn share(&self, newer: &Handle, older: &Handle) -> Result<()> {
        let (backend, newer_key, older_key) = (self.backend.clone(), self.key(newer), self.key(older));
        self.about("keep once with its copy", newer, async move {
            let unused = retrying(|_| content::share(&backend, &newer_key, &older_key)).await?;
            removal::remove_if_possible(&backend, unused).await;
            Ok(())
        })
    }

    fn path(&self, _: &Handle) -> Option<PathBuf> {
        None
    }

    fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
        let (backend, key, line) = (self.backend.clone(), self.session_key(session), line.to_vec());
        self.about("log an event of", session, async move {
            retrying(|may_have_landed| log::append(&backend, &key, &line, may_have_landed)).await
        })
    }

    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
        let log =
            Log::open(&self.logs, self.runtime.clone(), self.backend.clone(), self.session_key(session));
        Ok(Box::new(log.map_err(Error::store(format!("read the events of {session}")))?))
    }
}

impl Rooms for SharedStore {
    fn in_use(&self, session: &Session) -> Result<InUse> {
        let (backend, key) = (self.backend.clone(), self.session_key(session));
        self.about("read the tokens in use by", session, async move {
            retrying(|_| rooms::in_use(&backend, &key)).await
        })
    }

    fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()> {
        self.change_room(session, rooms::Change::new(Step::Set(in_use))).map(drop)
    }

    fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved> {
        self.change_room(session, rooms::Change::new(Step::reserve(wanted)))
    }
}

/// Refuses a bucket that ignores conditional writes. What a bucket did is remembered for a while.
fn check_bucket(
    runtime: &Runtime,
    backend: &Arc<Backend>,
    bucket: &BucketAddress,
) -> std::result::Result<(), OpenError> {
    let (backend, named) = (backend.clone(), bucket.identity());
    let verdict = runtime.wait(async move { probe::check(&backend, &named).await });
    let address = bucket.to_string();
    match verdict.map_err(OpenError::Threads)? {
        Ok(Verdict::Honours) => Ok(()),
        Ok(Verdict::IgnoresCreate) => Err(OpenError::LyingBucket { address, header: "If-None-Match" }),
        Ok(Verdict::IgnoresUpdate) => Err(OpenError::LyingBucket { address, header: "If-Match" }),
        Err(failure) => Err(OpenError::Bucket { address, why: failure.to_string() }),
    }
}
