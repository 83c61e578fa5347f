//! The events of a session, in one order for all machines.

use crate::backend::Backend;
use crate::database::retrying;
use crate::encryption::Context;
use crate::failure::Failure;
use crate::key::Key;
use crate::row::{signed, unsigned};
use crate::runtime::Runtime;
use forebay::ReadAt;
use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_postgres::types::Type;

/// Bytes at the end of the events that are searched for a line whose append got no answer: more than all machines log
/// in a session while one of them reconnects.
const LOOKED_BACK: i64 = 1024 * 1024;

/// Maximum bytes of events in memory. Every output that ends reads the last 8 MiB of its session.
const REMEMBERED: usize = 10 * 1024 * 1024;

/// Maximum sessions whose events stay in memory: a server works on several at a time.
const SESSIONS: usize = 8;

/// Bytes of events that one request reads.
const BLOCK: u64 = 1024 * 1024;

/// Appends a line to the events of a session.
pub(crate) async fn append(
    backend: &Backend,
    key: &Key,
    line: &[u8],
    may_have_landed: bool,
) -> Result<(), Failure> {
    const SQL: &str = "WITH key AS (SELECT 1 FROM forebay_keys \
            WHERE tenant = $1 AND session = $2 AND key = $5 FOR KEY SHARE), \
        grown AS (INSERT INTO forebay_logs (tenant, session, bytes) \
            SELECT $1, $2, $3 WHERE EXISTS (SELECT 1 FROM key) OR $5 = '' AND NOT EXISTS \
                (SELECT 1 FROM forebay_keys WHERE tenant = $1 AND session = $2) \
            ON CONFLICT (tenant, session) DO UPDATE SET bytes = forebay_logs.bytes + excluded.bytes \
            RETURNING bytes) \
        INSERT INTO forebay_events (tenant, session, start, line, key) \
        SELECT $1, $2, bytes - $3, $4, $5 FROM grown";
    const IS_THERE: &str = "SELECT 1 FROM forebay_events WHERE tenant = $1 AND session = $2 \
        AND start >= (SELECT bytes FROM forebay_logs WHERE tenant = $1 AND session = $2) - $3 AND line = $4";
    let cipher = backend.keys.for_new(&backend.database, key).await?;
    let (length, line) = (signed(line.len() as u64 + 1), cipher.seal(Context::Event, line)?);
    if may_have_landed {
        let params = key.session_params(&[(&LOOKED_BACK, Type::INT8), (&line, Type::BYTEA)]);
        if backend.database.query_opt(IS_THERE, &params).await?.is_some() {
            return Ok(());
        }
    }
    let key_id = cipher.key_id();
    let params = key.session_params(&[(&length, Type::INT8), (&line, Type::BYTEA), (&key_id, Type::TEXT)]);
    match backend.database.execute(SQL, &params).await? {
        0 => Err(backend.keys.no_key(key, &cipher)),
        _ => Ok(()),
    }
}

/// Number of bytes of a local store's events that are already copied.
pub(crate) async fn taken(backend: &Backend, key: &Key, origin: &str) -> Result<u64, Failure> {
    const SQL: &str = "SELECT taken FROM forebay_mirrors WHERE tenant = $1 AND session = $2 AND origin = $3";
    let params = key.session_params(&[(&origin, Type::TEXT)]);
    let row = backend.database.query_opt(SQL, &params).await?;
    Ok(row.map_or(0, |row| unsigned(row.get(0))))
}

/// Copies lines of a local store's events, unless they were copied before. `range` is their place in the local
/// events.
pub(crate) async fn take(
    backend: &Backend,
    key: &Key,
    origin: &str,
    range: Range<u64>,
    lines: &[u8],
) -> Result<(), Failure> {
    const BEGIN: &str = "INSERT INTO forebay_mirrors (tenant, session, origin, taken) VALUES ($1, $2, $3, 0) \
        ON CONFLICT DO NOTHING";
    const ADVANCE: &str = "UPDATE forebay_mirrors SET taken = $5 \
        WHERE tenant = $1 AND session = $2 AND origin = $3 AND taken = $4";
    const ADD: &str = "WITH grown AS (INSERT INTO forebay_logs (tenant, session, bytes) VALUES ($1, $2, $3) \
        ON CONFLICT (tenant, session) DO UPDATE SET bytes = forebay_logs.bytes + excluded.bytes \
        RETURNING bytes) \
        INSERT INTO forebay_events (tenant, session, start, line, key) \
        SELECT $1, $2, grown.bytes - $3 + new.start, new.line, $6 \
        FROM grown, unnest($4, $5) AS new(start, line)";
    const HOLD_KEY: &str = "SELECT key FROM forebay_keys \
        WHERE tenant = $1 AND session = $2 FOR KEY SHARE";
    let cipher = backend.keys.for_new(&backend.database, key).await?;
    let key_id = cipher.key_id();
    let (before, after) = (signed(range.start), signed(range.end));
    let length = signed(lines.len() as u64);
    let (mut starts, mut texts, mut at) = (Vec::new(), Vec::new(), 0);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        starts.push(signed(at));
        texts.push(cipher.seal(Context::Event, line.strip_suffix(b"\n").unwrap_or(line))?);
        at += line.len() as u64;
    }
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let held = transaction.query_typed_opt(HOLD_KEY, &key.session_params(&[])).await?;
    let held: Option<String> = held.map(|row| row.try_get(0)).transpose()?;
    if held.as_deref().unwrap_or_default() != key_id {
        return Err(backend.keys.no_key(key, &cipher));
    }
    transaction.execute_typed(BEGIN, &key.session_params(&[(&origin, Type::TEXT)])).await?;
    let advance = key.session_params(&[(&origin, Type::TEXT), (&before, Type::INT8), (&after, Type::INT8)]);
    if transaction.execute_typed(ADVANCE, &advance).await? == 1 {
        let add = key.session_params(&[
            (&length, Type::INT8),
            (&starts, Type::INT8_ARRAY),
            (&texts, Type::BYTEA_ARRAY),
            (&key_id, Type::TEXT),
        ]);
        transaction.execute_typed(ADD, &add).await?;
    }
    transaction.commit().await?;
    connection.give_back();
    Ok(())
}

/// The end of the events that this process read last, so that only new events are fetched.
#[derive(Default)]
pub(crate) struct Logs {
    /// Guards the events of the sessions that were read last, by session.
    last: Mutex<BTreeMap<String, Tail>>,
}

struct Tail {
    start: u64,
    bytes: Arc<Vec<u8>>,
}

/// The events of a session as they were when it was opened.
pub(crate) struct Log {
    runtime: Arc<Runtime>,
    backend: Arc<Backend>,
    key: Key,
    size: u64,
    /// The last bytes, and where they begin.
    start: u64,
    tail: Arc<Vec<u8>>,
}

impl Log {
    pub(crate) fn open(
        logs: &Logs,
        runtime: Arc<Runtime>,
        backend: Arc<Backend>,
        key: Key,
    ) -> io::Result<Log> {
        let (sizing, name) = (backend.clone(), key.clone());
        let size = runtime.wait(async move { retrying(|_| size(&sizing, &name)).await })??;
        let mut log = Log { runtime, backend, key, size, start: size, tail: Arc::default() };
        log.remember(logs)?;
        Ok(log)
    }

    /// Fetches the events that were added since the last read of the session.
    fn remember(&mut self, logs: &Logs) -> io::Result<()> {
        let lock = || logs.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().remove(&self.key.session);
        // Events that are fewer than before are those of a new session with the same name.
        let known = known.filter(|tail| tail.start + tail.bytes.len() as u64 <= self.size);
        let (mut start, mut bytes) = match known {
            Some(tail) => (tail.start, tail.bytes),
            None => {
                let start = self.line_start(self.size.saturating_sub(REMEMBERED as u64))?;
                (start, Arc::default())
            }
        };
        let mut at = start + bytes.len() as u64;
        let grown = Arc::make_mut(&mut bytes);
        while at < self.size {
            let block = self.block(at)?;
            if block.is_empty() {
                break;
            }
            at += block.len() as u64;
            grown.extend(block);
        }
        let excess = grown.len().saturating_sub(REMEMBERED);
        grown.drain(..excess);
        start += excess as u64;
        (self.start, self.tail) = (start, bytes.clone());
        let mut last = lock();
        if last.len() >= SESSIONS {
            last.clear();
        }
        last.insert(self.key.session.clone(), Tail { start, bytes });
        Ok(())
    }

    /// Returns the start of the line that contains the byte at `offset`.
    fn line_start(&self, offset: u64) -> io::Result<u64> {
        const SQL: &str = "SELECT max(start) FROM forebay_events \
            WHERE tenant = $1 AND session = $2 AND start <= $3";
        let (backend, key) = (self.backend.clone(), self.key.clone());
        let row = self.runtime.wait(async move {
            let offset = signed(offset);
            let params = key.session_params(&[(&offset, Type::INT8)]);
            retrying(|_| backend.database.query_opt(SQL, &params)).await
        })??;
        Ok(row.and_then(|row| row.get::<_, Option<i64>>(0)).map_or(0, unsigned))
    }

    /// Returns whole lines, beginning with the line at `start`.
    fn block(&self, start: u64) -> io::Result<Vec<u8>> {
        const SQL: &str = "SELECT line, key FROM forebay_events \
            WHERE tenant = $1 AND session = $2 AND start >= $3 AND start < $4 ORDER BY start";
        let (backend, key) = (self.backend.clone(), self.key.clone());
        let end = (start + BLOCK).min(self.size);
        let lines = self.runtime.wait(async move {
            let (start, end) = (signed(start), signed(end));
            let params = key.session_params(&[(&start, Type::INT8), (&end, Type::INT8)]);
            let mut lines = Vec::new();
            for row in retrying(|_| backend.database.query(SQL, &params)).await? {
                let cipher = backend.keys.of(&backend.database, &key, row.try_get(1)?).await?;
                lines.extend(cipher.open(Context::Event, row.try_get(0)?)?);
                lines.push(b'\n');
            }
            Ok::<_, Failure>(lines)
        })?;
        Ok(lines?)
    }
}

impl ReadAt for Log {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        if offset >= self.start {
            return self.tail.read_at(offset - self.start, buffer);
        }
        let start = self.line_start(offset)?;
        self.block(start)?.read_at(offset - start, buffer)
    }
}

async fn size(backend: &Backend, key: &Key) -> Result<u64, Failure> {
    const SQL: &str = "SELECT bytes FROM forebay_logs WHERE tenant = $1 AND session = $2";
    let row = backend.database.query_opt(SQL, &key.session_params(&[])).await?;
    Ok(row.map_or(0, |row| unsigned(row.get(0))))
}
