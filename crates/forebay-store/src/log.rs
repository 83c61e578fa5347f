//! The events of a session: lines in one order for all machines.

use crate::backend::Backend;
use crate::database::retrying;
use crate::failure::Failure;
use crate::key::Key;
use crate::row::{signed, unsigned};
use crate::runtime::Runtime;
use forebay::ReadAt;
use std::{
    io,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_postgres::types::Type;

/// Bytes before the end of the events among which a line is looked for whose answer was lost: what all machines log in a
/// session while one of them connects again.
const LOOKED_BACK: i64 = 1024 * 1024;

/// Maximum bytes of events that stay in memory. Every output that ends looks through the last 8 MiB of its session.
const REMEMBERED: usize = 10 * 1024 * 1024;

/// Bytes of events that one request reads.
const BLOCK: u64 = 1024 * 1024;

/// Appends a line to the events of a session.
pub(crate) async fn append(
    backend: &Backend,
    key: &Key,
    line: &[u8],
    may_have_landed: bool,
) -> Result<(), Failure> {
    const SQL: &str = "WITH grown AS (INSERT INTO forebay_logs (tenant, session, bytes) VALUES ($1, $2, $3) \
        ON CONFLICT (tenant, session) DO UPDATE SET bytes = forebay_logs.bytes + excluded.bytes \
        RETURNING bytes) \
        INSERT INTO forebay_events (tenant, session, start, line) \
        SELECT $1, $2, bytes - $3, $4 FROM grown";
    const IS_THERE: &str = "SELECT 1 FROM forebay_events WHERE tenant = $1 AND session = $2 \
        AND start >= (SELECT bytes FROM forebay_logs WHERE tenant = $1 AND session = $2) - $3 AND line = $4";
    if may_have_landed {
        let params = key.session_params(&[(&LOOKED_BACK, Type::INT8), (&line, Type::BYTEA)]);
        if backend.database.query_opt(IS_THERE, &params).await?.is_some() {
            return Ok(());
        }
    }
    let length = signed(line.len() as u64 + 1);
    let params = key.session_params(&[(&length, Type::INT8), (&line, Type::BYTEA)]);
    backend.database.execute(SQL, &params).await.map(drop)
}

/// Number of bytes of a local store's events that were taken.
pub(crate) async fn taken(backend: &Backend, key: &Key, origin: &str) -> Result<u64, Failure> {
    const SQL: &str = "SELECT taken FROM forebay_mirrors WHERE tenant = $1 AND session = $2 AND origin = $3";
    let params = key.session_params(&[(&origin, Type::TEXT)]);
    let row = backend.database.query_opt(SQL, &params).await?;
    Ok(row.map_or(0, |row| unsigned(row.get(0))))
}

/// Takes lines of a local store's events, unless they have been taken. `range` is what was taken there before and after.
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
        INSERT INTO forebay_events (tenant, session, start, line) \
        SELECT $1, $2, grown.bytes - $3 + new.start, new.line FROM grown, unnest($4, $5) AS new(start, line)";
    let (before, after) = (signed(range.start), signed(range.end));
    let length = signed(lines.len() as u64);
    let (mut starts, mut texts, mut at) = (Vec::new(), Vec::new(), 0);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        starts.push(signed(at));
        texts.push(line.strip_suffix(b"\n").unwrap_or(line));
        at += line.len() as u64;
    }
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    transaction.execute_typed(BEGIN, &key.session_params(&[(&origin, Type::TEXT)])).await?;
    let advance = key.session_params(&[(&origin, Type::TEXT), (&before, Type::INT8), (&after, Type::INT8)]);
    if transaction.execute_typed(ADVANCE, &advance).await? == 1 {
        let add = key.session_params(&[
            (&length, Type::INT8),
            (&starts, Type::INT8_ARRAY),
            (&texts, Type::BYTEA_ARRAY),
        ]);
        transaction.execute_typed(ADD, &add).await?;
    }
    transaction.commit().await?;
    connection.give_back();
    Ok(())
}

/// The end of the events that this process has read last, so that only what is new is read again.
#[derive(Default)]
pub(crate) struct Logs {
    /// Guards the events of one session: a process works on one at a time, or on so many that it remembers none.
    last: Mutex<Option<Tail>>,
}

struct Tail {
    session: String,
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

    /// Fetches what is new since the session's events were read last.
    fn remember(&mut self, logs: &Logs) -> io::Result<()> {
        let mut last = logs.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.take().filter(|tail| tail.session == self.key.session);
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
        *last = Some(Tail { session: self.key.session.clone(), start, bytes });
        Ok(())
    }

    /// Where the line begins that has the byte `offset`.
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

    /// Whole lines from the line on that begins at `start`.
    fn block(&self, start: u64) -> io::Result<Vec<u8>> {
        const SQL: &str = "SELECT string_agg(line || '\\x0a'::bytea, ''::bytea ORDER BY start) \
            FROM forebay_events WHERE tenant = $1 AND session = $2 AND start >= $3 AND start < $4";
        let (backend, key) = (self.backend.clone(), self.key.clone());
        let end = (start + BLOCK).min(self.size);
        let row = self.runtime.wait(async move {
            let (start, end) = (signed(start), signed(end));
            let params = key.session_params(&[(&start, Type::INT8), (&end, Type::INT8)]);
            retrying(|_| backend.database.query_opt(SQL, &params)).await
        })??;
        Ok(row.and_then(|row| row.get(0)).unwrap_or_default())
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
