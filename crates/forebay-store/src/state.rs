//! The state of a session: a change names the version that it replaces, and is made again if that is no longer current.

use crate::backend::Backend;
use crate::database::{jittered, retrying};
use crate::failure::Failure;
use crate::key::Key;
use crate::runtime::Runtime;
use forebay::store::Change;
use std::{
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio_postgres::types::Type;

/// Time in which a change must succeed. Each lost round means that another change was made, so this is a great number of
/// them.
const PATIENCE: Duration = Duration::from_secs(20);

/// First pause after a change that came too late, and the longest: about one round trip, and many.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The state of a session at some version; 0 before the first.
struct Version {
    number: i64,
    state: Vec<u8>,
}

/// Changes the state of a session. `change` may be called more than once, with newer states.
pub(crate) fn change(
    runtime: &Runtime,
    backend: &Arc<Backend>,
    key: &Key,
    change: Change<'_>,
) -> io::Result<()> {
    let begun = Instant::now();
    let mut pause = PAUSE;
    while begun.elapsed() < PATIENCE {
        let (reading, name) = (backend.clone(), key.clone());
        let version = runtime.wait(async move { retrying(|_| current(&reading, &name)).await })??;
        let Some(state) = change(&version.state) else { return Ok(()) };
        let (writing, name) = (backend.clone(), key.clone());
        let is_changed = runtime.wait(async move {
            let mark = mark()?;
            retrying(|landed| replace(&writing, &name, version.number, &state, &mark, landed)).await
        })??;
        if is_changed {
            return Ok(());
        }
        thread::sleep(jittered(pause));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    let others = format!("others changed it again and again for {} seconds; try again", PATIENCE.as_secs());
    Err(Failure::Conflict(others).into())
}

/// Tells one change from all others, so that a change whose answer was lost is recognised.
fn mark() -> Result<String, Failure> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Failure::Refused(format!("no random bytes: {error}")))?;
    Ok(forebay::fresh_id(random))
}

async fn current(backend: &Backend, key: &Key) -> Result<Version, Failure> {
    const SQL: &str = "SELECT version, state FROM forebay_states WHERE tenant = $1 AND session = $2";
    let row = backend.database.query_opt(SQL, &key.session_params(&[])).await?;
    Ok(match row {
        Some(row) => Version { number: row.try_get(0)?, state: row.try_get(1)? },
        None => Version { number: 0, state: Vec::new() },
    })
}

/// Replaces a version by a new state; returns whether it was still the current one.
async fn replace(
    backend: &Backend,
    key: &Key,
    version: i64,
    state: &[u8],
    mark: &str,
    may_have_landed: bool,
) -> Result<bool, Failure> {
    const FIRST: &str = "INSERT INTO forebay_states (tenant, session, version, change, state) \
        VALUES ($1, $2, $3 + 1, $4, $5) ON CONFLICT DO NOTHING";
    const NEXT: &str = "UPDATE forebay_states SET version = $3 + 1, change = $4, state = $5 \
        WHERE tenant = $1 AND session = $2 AND version = $3";
    let params = key.session_params(&[(&version, Type::INT8), (&mark, Type::TEXT), (&state, Type::BYTEA)]);
    let sql = if version == 0 { FIRST } else { NEXT };
    if backend.database.execute(sql, &params).await? == 1 {
        return Ok(true);
    }
    if may_have_landed { landed(backend, key, version, mark).await } else { Ok(false) }
}

/// Whether a change landed whose answer was lost. If others came after it, nobody knows.
async fn landed(backend: &Backend, key: &Key, version: i64, mark: &str) -> Result<bool, Failure> {
    const SQL: &str = "SELECT version, change FROM forebay_states WHERE tenant = $1 AND session = $2";
    let row = backend.database.query_opt(SQL, &key.session_params(&[])).await?;
    let Some(row) = row else { return Ok(false) };
    let (now, last): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
    if last == mark {
        return Ok(true);
    }
    if now <= version + 1 {
        return Ok(false);
    }
    let unknown = "the connection broke while it was changed, so it may have been changed or not";
    Err(Failure::Refused(unknown.to_owned()))
}
