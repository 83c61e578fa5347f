//! Writes one output: its bytes as rows, under a lease that is renewed.

use crate::backend::Backend;
use crate::content::{self, INLINE};
use crate::database::retrying;
use crate::encryption::{Cipher, Context};
use crate::ended::{self, End};
use crate::failure::Failure;
use crate::key::Key;
use crate::reader::{Bytes, part_number};
use crate::removal;
use crate::row::{self, Found, signed};
use crate::runtime::Runtime;
use crate::settle::{self, Plain, Source, Uploaded};
use forebay::store::{Part, Sink};
use forebay::{Handle, ReadAt, Record, Result};
use std::{
    io,
    sync::{Arc, mpsc},
    time::Duration,
};
use tokio::task::AbortHandle;
use tokio_postgres::types::Type;

/// Time for which a writer holds its output without being heard of. It is renewed three times as often, so that one lost
/// request does no harm, and a reader elsewhere learns of a dead writer within half a minute.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// Maximum bytes of a row: a reader in the middle of an output reads at least one row.
const CHUNK: usize = 256 * 1024;

/// The epoch of an output's first writer.
const FIRST_EPOCH: i64 = 1;

/// Initial values for the row of a new output.
pub(crate) struct Begun {
    key: Key,
    /// Name of the rows with its bytes, unique to this output.
    content: String,
    called_at: i64,
    record: String,
}

impl Begun {
    pub(crate) fn new(key: Key, record: &Record) -> std::result::Result<Begun, Failure> {
        let (content, called_at) = (fresh_content()?, record.call.at.as_microsecond());
        Ok(Begun { key, content, called_at, record: row::to_json(record)? })
    }
}

/// A name for rows of bytes that no other output ever has.
fn fresh_content() -> std::result::Result<String, Failure> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Failure::Refused(format!("no random bytes: {error}")))?;
    Ok(forebay::fresh_id(random))
}

/// Begins an output, unless its name is taken; returns the hold of its first writer.
pub(crate) async fn create(
    backend: &Backend,
    begun: &Begun,
    may_have_landed: bool,
) -> std::result::Result<Option<Held>, Failure> {
    // The key of the session must be there until the output is, or there must be none.
    const SQL: &str = "WITH key AS (SELECT 1 FROM forebay_keys \
            WHERE tenant = $1 AND session = $2 AND key = $9 FOR KEY SHARE) \
        INSERT INTO forebay_outputs (tenant, session, id, content, called_at, record, state, \
        epoch, lease_until, bytes, beside, changed_at, key) \
        SELECT $1, $2, $3, $4, $5, $6, 0, $7, now() + $8 * interval '1 millisecond', 0, 0, now(), $9 \
        WHERE EXISTS (SELECT 1 FROM key) \
        OR $9 = '' AND NOT EXISTS (SELECT 1 FROM forebay_keys WHERE tenant = $1 AND session = $2) \
        ON CONFLICT DO NOTHING";
    let cipher = backend.keys.for_new(&backend.database, &begun.key).await?;
    let record = cipher.seal_text(Context::Record(&begun.key.id), &begun.record)?;
    let (lease, key_id) = (backend.lease_milliseconds(), cipher.key_id());
    let params = begun.key.params(&[
        (&begun.content, Type::TEXT),
        (&begun.called_at, Type::INT8),
        (&record, Type::TEXT),
        (&FIRST_EPOCH, Type::INT8),
        (&lease, Type::INT8),
        (&key_id, Type::TEXT),
    ]);
    let is_new = backend.database.execute(SQL, &params).await? == 1;
    let first = || {
        let (content, cipher) = (begun.content.clone(), cipher.clone());
        Held { epoch: FIRST_EPOCH, content, cipher, appended: 0 }
    };
    if is_new {
        return Ok(Some(first()));
    }
    match row::find(backend, &begun.key).await {
        // The name may be taken by the first try of this very output.
        Ok(found) => Ok((may_have_landed && found.location.content == begun.content).then(first)),
        Err(Failure::NotFound) => Err(backend.keys.no_key(&begun.key, &cipher)),
        Err(failure) => Err(failure),
    }
}

/// The hold of a writer on an output.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    epoch: i64,
    /// Name of the rows of its bytes.
    content: String,
    /// The cipher of its content.
    cipher: Cipher,
    /// Bytes that are there already.
    appended: u64,
}

/// Takes the hold of an output whose writer has stopped; `None` if it is no longer as it was found. Bytes that are in the
/// bucket by now, or that another output uses, cannot grow: then the output begins again with none.
pub(crate) async fn resume(
    backend: &Backend,
    key: &Key,
    found: &Found,
    record: &str,
) -> std::result::Result<Option<Held>, Failure> {
    const HOLD: &str = "UPDATE forebay_outputs SET epoch = epoch + 1, state = 0, record = $6, \
        lease_until = now() + $7 * interval '1 millisecond' \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND content = $5 \
        AND (state = 2 OR state = 0 AND lease_until <= now()) RETURNING epoch, bytes";
    const FORGET: &str = "DELETE FROM forebay_contents \
        WHERE tenant = $1 AND session = $2 AND content = $3 AND place = 0 AND users = 1";
    const IS_KNOWN: &str = "SELECT 1 FROM forebay_contents \
        WHERE tenant = $1 AND session = $2 AND content = $3";
    const BEGIN_AGAIN: &str = "UPDATE forebay_outputs SET content = $4, bytes = 0 \
        WHERE tenant = $1 AND session = $2 AND id = $3";
    let (epoch, content) = (found.epoch, &found.location.content);
    let cipher = found.readable()?;
    let record = cipher.seal_text(Context::Record(&key.id), record)?;
    let lease = backend.lease_milliseconds();
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let hold = key.params(&[
        (&epoch, Type::INT8),
        (&content, Type::TEXT),
        (&record, Type::TEXT),
        (&lease, Type::INT8),
    ]);
    let Some(row) = transaction.query_typed_opt(HOLD, &hold).await? else { return Ok(None) };
    let named = key.session_params(&[(&content, Type::TEXT)]);
    transaction.execute_typed(FORGET, &named).await?;
    let (mut held_content, mut appended) = (content.clone(), row::unsigned(row.try_get(1)?));
    let mut unused = None;
    if transaction.query_typed_opt(IS_KNOWN, &named).await?.is_some() {
        (held_content, appended) = (fresh_content()?, 0);
        transaction.execute_typed(BEGIN_AGAIN, &key.params(&[(&held_content, Type::TEXT)])).await?;
        unused = content::release(&transaction, key, content).await?;
    }
    let held = Held { epoch: row.try_get(0)?, content: held_content, cipher, appended };
    transaction.commit().await?;
    connection.give_back();
    removal::remove_if_possible(backend, unused).await;
    Ok(Some(held))
}

/// Writes one output.
pub(crate) struct SharedSink {
    runtime: Arc<Runtime>,
    backend: Arc<Backend>,
    handle: Handle,
    key: Key,
    held: Held,
    /// Bytes of the parts beside, by number of the part.
    beside: [u64; 4],
    /// The line index, written as one row at the end.
    index: Vec<u8>,
    /// Renews the lease while the output grows.
    renewal: Option<AbortHandle>,
    /// Upload of the bytes of an ended local output.
    upload: Option<Uploading>,
    /// Whether the bucket was unreachable.
    has_no_bucket: bool,
}

/// An upload that is under way.
struct Uploading {
    task: Option<AbortHandle>,
    answered: mpsc::Receiver<std::result::Result<Uploaded, Failure>>,
}

impl SharedSink {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        backend: Arc<Backend>,
        handle: Handle,
        key: Key,
        held: Held,
    ) -> SharedSink {
        let renewal = runtime.spawn(renew(backend.clone(), key.clone(), held.epoch));
        let (beside, index) = ([0; 4], Vec::new());
        let (upload, has_no_bucket) = (None, backend.blobs.is_none());
        SharedSink { runtime, backend, handle, key, held, beside, index, renewal, upload, has_no_bucket }
    }

    /// Uploads the bytes of an ended output from its file to the bucket, so that they need no rows. Waits at most for
    /// the time `within` and returns `None` if it is not done: the upload continues, and the next call waits for it.
    pub(crate) fn upload(
        &mut self,
        record: &Record,
        within: Duration,
        open: impl FnOnce() -> Result<Box<dyn ReadAt>>,
    ) -> Result<Option<Uploaded>> {
        let step = || format!("write {} to the bucket", self.handle);
        if self.upload.is_none() {
            self.upload = Some(self.begin_upload(record, open()?)?);
        }
        let Some(upload) = &self.upload else { return Ok(None) };
        let answer = match upload.answered.recv_timeout(within) {
            Err(mpsc::RecvTimeoutError::Timeout) => return Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(Failure::Broken("the upload ended without an answer".to_owned()))
            }
            Ok(answer) => answer,
        };
        let answer = answer.map(Some).map_err(|failure| failure.error(step(), &self.handle));
        (self.upload, self.has_no_bucket) = (None, answer.is_err());
        answer
    }

    /// Whether an ended output of `bytes` bytes can be written directly to the bucket.
    pub(crate) fn has_bucket_for(&self, bytes: u64) -> bool {
        !self.has_no_bucket && bytes > INLINE
    }

    pub(crate) fn is_uploading(&self) -> bool {
        self.upload.is_some()
    }

    fn begin_upload(&self, record: &Record, file: Box<dyn ReadAt>) -> Result<Uploading> {
        let (backend, key) = (self.backend.clone(), self.key.clone());
        let (hash, cipher, source) = (record.hash.clone(), self.held.cipher.clone(), Source::File(file));
        let plain = Plain { hash, cipher, bytes: record.kept(), source };
        let (answer, answered) = mpsc::sync_channel(1);
        let task = self.runtime.spawn(async move {
            let uploaded = match &backend.blobs {
                Some(blobs) => settle::upload(&backend, blobs, &key, &plain).await,
                None => Err(Failure::Refused("no bucket is set".to_owned())),
            };
            // The caller may have given the upload up.
            let _ = answer.send(uploaded);
        });
        Ok(Uploading { task, answered })
    }

    /// Ends an output whose bytes are in the bucket.
    pub(crate) fn finish_in_bucket(mut self: Box<Self>, record: &Record, uploaded: Uploaded) -> Result<()> {
        let step = || format!("end {}", self.handle);
        let failed = |failure: Failure| failure.error(step(), &self.handle);
        let end = self.end(record).map_err(failed)?;
        let (backend, key, epoch, bytes) =
            (self.backend.clone(), self.key.clone(), self.held.epoch, record.kept());
        let ended = self.runtime.wait(async move {
            retrying(|landed| ended::finish_in_bucket(&backend, &key, epoch, bytes, &end, &uploaded, landed))
                .await
        });
        if !ended.map_err(forebay::Error::store(step()))?.map_err(failed)? {
            // The next pass uploads it again.
            return Err(failed(settle::removed_again()));
        }
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
        Ok(())
    }

    /// Sets the whole line index at once.
    pub(crate) fn set_index(&mut self, index: Vec<u8>) {
        self.index = index;
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            let (backend, key, held) = (self.backend.clone(), self.key.clone(), self.held.clone());
            let (start, chunk) = (self.held.appended, chunk.to_vec());
            let length = chunk.len() as u64;
            self.runtime.wait(async move {
                retrying(|landed| append_chunk(&backend, &key, &held, start, &chunk, landed)).await
            })??;
            self.held.appended += length;
        }
        Ok(())
    }

    fn append_beside(&mut self, part: Part, bytes: &[u8]) -> io::Result<()> {
        let number = part_number(part);
        let Some(size) = usize::try_from(number).ok().and_then(|number| self.beside.get_mut(number)) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let (backend, key, epoch) = (self.backend.clone(), self.key.clone(), self.held.epoch);
        let start = *size;
        let stretch = self.held.cipher.seal(Context::Part(&key.id, number, start), bytes)?;
        *size += bytes.len() as u64;
        self.runtime.wait(async move {
            retrying(|_| append_part(&backend, &key, epoch, number, start, &stretch)).await
        })??;
        if part == Part::Lines {
            self.index.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn end(&self, record: &Record) -> std::result::Result<End, Failure> {
        Ok(End {
            cipher: self.held.cipher.clone(),
            record: row::to_json(record)?,
            state: row::state_number(&record.state),
            hash: record.hash.clone(),
            index: self.index.clone(),
        })
    }
}

impl Sink for SharedSink {
    fn handle(&self) -> &Handle {
        &self.handle
    }

    fn append(&mut self, part: Part, bytes: &[u8]) -> io::Result<()> {
        match part {
            Part::Bytes => self.append_bytes(bytes),
            Part::Lines | Part::Streams => self.append_beside(part, bytes),
            Part::View => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn appended(&self) -> u64 {
        self.held.appended
    }

    fn finish(mut self: Box<Self>, record: &Record) -> Result<Box<dyn ReadAt>> {
        let step = || format!("end {}", self.handle);
        let end = self.end(record).map_err(|failure| failure.error(step(), &self.handle))?;
        let (backend, key, epoch, bytes) =
            (self.backend.clone(), self.key.clone(), self.held.epoch, self.held.appended);
        let found = self.runtime.wait(async move {
            retrying(|landed| ended::finish(&backend, &key, epoch, bytes, &end, landed)).await?;
            settle_if_possible(&backend, &key, bytes).await;
            retrying(|_| row::find(&backend, &key)).await
        });
        let found = found.map_err(forebay::Error::store(step()))?;
        let found = found.map_err(|failure| failure.error(step(), &self.handle))?;
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
        let bytes = Bytes::new(self.runtime.clone(), self.backend.clone(), self.key.clone(), &found);
        Ok(Box::new(bytes.map_err(|failure| failure.error(step(), &self.handle))?))
    }
}

/// Moves the bytes to the bucket. If that fails, they stay in the database, where they are as safe, and are moved
/// later.
async fn settle_if_possible(backend: &Backend, key: &Key, bytes: u64) {
    if let Some(blobs) = &backend.blobs
        && bytes > INLINE
        && let Err(failure) = settle::settle(backend, blobs, key).await
    {
        tracing::warn!(output = %key, "the bytes stay in the database for now: {failure}");
    }
}

impl Drop for SharedSink {
    fn drop(&mut self) {
        if let Some(task) = self.upload.take().and_then(|upload| upload.task) {
            task.abort();
        }
        // An ended output has no renewal any more.
        let Some(renewal) = self.renewal.take() else { return };
        renewal.abort();
        let (backend, key, epoch) = (self.backend.clone(), self.key.clone(), self.held.epoch);
        // Readers learn at once that nobody writes. If the database cannot be told, the lease runs out.
        let released = self.runtime.wait(async move { release(&backend, &key, epoch).await });
        if let Ok(Err(failure)) = released {
            tracing::warn!(output = %self.handle, "cannot release the output: {failure}");
        }
    }
}

/// Appends bytes at `start`, unless they were appended before.
async fn append_chunk(
    backend: &Backend,
    key: &Key,
    held: &Held,
    start: u64,
    chunk: &[u8],
    may_have_landed: bool,
) -> std::result::Result<(), Failure> {
    const SQL: &str = "WITH held AS (UPDATE forebay_outputs \
        SET bytes = bytes + $6, lease_until = now() + $8 * interval '1 millisecond', changed_at = now() \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND state = 0 AND bytes = $5 \
        RETURNING content) \
        INSERT INTO forebay_chunks (tenant, session, content, start, bytes) \
        SELECT $1, $2, content, $5, $7 FROM held";
    let sealed = held.cipher.seal(Context::Bytes(&held.content, start), chunk)?;
    let (at, length, lease) = (signed(start), signed(chunk.len() as u64), backend.lease_milliseconds());
    let params = key.params(&[
        (&held.epoch, Type::INT8),
        (&at, Type::INT8),
        (&length, Type::INT8),
        (&sealed, Type::BYTEA),
        (&lease, Type::INT8),
    ]);
    if backend.database.execute(SQL, &params).await? == 1 {
        return Ok(());
    }
    let found = row::find(backend, key).await?;
    let is_there = found.epoch == held.epoch && found.bytes == start + chunk.len() as u64;
    if may_have_landed && is_there { Ok(()) } else { Err(Failure::LeaseLost) }
}

/// Appends to a part beside the bytes, unless this was done before.
async fn append_part(
    backend: &Backend,
    key: &Key,
    epoch: i64,
    part: i32,
    start: u64,
    stretch: &[u8],
) -> std::result::Result<(), Failure> {
    const SQL: &str = "WITH held AS (SELECT 1 FROM forebay_outputs \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND state = 0 FOR UPDATE), \
        added AS (INSERT INTO forebay_parts (tenant, session, id, part, start, bytes) \
            SELECT $1, $2, $3, $5, $6, $7 FROM held ON CONFLICT DO NOTHING RETURNING start), \
        counted AS (UPDATE forebay_outputs SET beside = beside + $8 \
            WHERE tenant = $1 AND session = $2 AND id = $3 AND EXISTS (SELECT 1 FROM added)) \
        SELECT count(*) FROM held";
    let (at, length) = (signed(start), signed(stretch.len() as u64));
    let params = key.params(&[
        (&epoch, Type::INT8),
        (&part, Type::INT4),
        (&at, Type::INT8),
        (&stretch, Type::BYTEA),
        (&length, Type::INT8),
    ]);
    let row = backend.database.query_opt(SQL, &params).await?;
    if row.is_some_and(|row| row.get::<_, i64>(0) == 1) { Ok(()) } else { Err(Failure::LeaseLost) }
}

/// Renews the lease of an output until it is lost or the output has ended.
async fn renew(backend: Arc<Backend>, key: Key, epoch: i64) {
    const SQL: &str = "UPDATE forebay_outputs SET lease_until = now() + $5 * interval '1 millisecond' \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND state = 0";
    let lease = backend.lease_milliseconds();
    loop {
        tokio::time::sleep(backend.lease / 3).await;
        let params = key.params(&[(&epoch, Type::INT8), (&lease, Type::INT8)]);
        match retrying(|_| backend.database.execute(SQL, &params)).await {
            Ok(0) => return,
            Ok(_) => {}
            // The database may be reachable at the next renewal.
            Err(failure) => tracing::warn!(output = %key, "cannot renew the lease: {failure}"),
        }
    }
}

/// Ends the lease of an output that its writer gives up. Also raises the epoch, so that a concurrent renewal has no
/// effect.
async fn release(backend: &Backend, key: &Key, epoch: i64) -> std::result::Result<(), Failure> {
    const SQL: &str = "UPDATE forebay_outputs SET lease_until = now(), epoch = epoch + 1 \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND state = 0";
    let params = key.params(&[(&epoch, Type::INT8)]);
    retrying(|_| backend.database.execute(SQL, &params)).await.map(drop)
}
