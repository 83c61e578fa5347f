//! The removal of objects that no output uses any more, and of what is kept of a session beside its outputs.
//!
//! When the last output goes, the same transaction moves the name of its object to a list. What is on the list is removed
//! from the bucket, and then from the list. No new object ever gets a name that was on it.

use crate::backend::Backend;
use crate::blobs::Blobs;
use crate::content::Unused;
use crate::database::{Param, retrying};
use crate::failure::Failure;
use crate::key::Key;
use std::collections::BTreeSet;
use tokio_postgres::types::Type;

/// Removes an object that nobody uses.
pub(crate) async fn remove(backend: &Backend, blobs: &Blobs, unused: &Unused) -> Result<(), Failure> {
    const SQL: &str = "DELETE FROM forebay_garbage WHERE tenant = $1 AND session = $2 AND object = $3";
    let tenant = backend.tenant.as_str().to_owned();
    let key = Key { tenant, session: unused.session.clone(), id: String::new() };
    blobs.remove(&blobs.path(&key, &unused.object)).await?;
    let params = key.session_params(&[(&unused.object, Type::TEXT)]);
    retrying(|_| backend.database.execute(SQL, &params)).await.map(drop)
}

/// Removes an object that has lost its last user. If the bucket cannot be reached, a mirror or a server removes it later.
pub(crate) async fn remove_if_possible(backend: &Backend, unused: Option<Unused>) {
    if let (Some(blobs), Some(unused)) = (&backend.blobs, unused)
        && let Err(failure) = remove(backend, blobs, &unused).await
    {
        tracing::warn!("an object without users stays in the bucket for now: {failure}");
    }
}

/// The outputs of a session that were removed: the id of each, and the time of its call in microseconds.
pub(crate) async fn removed(backend: &Backend, key: &Key) -> Result<BTreeSet<(String, i64)>, Failure> {
    const SQL: &str = "SELECT id, called_at FROM forebay_removed WHERE tenant = $1 AND session = $2";
    let rows = backend.database.query(SQL, &key.session_params(&[])).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Forgets old removals: no machine keeps an output unshared for so long.
pub(crate) async fn forget(backend: &Backend) -> Result<(), Failure> {
    const SQL: &str = "DELETE FROM forebay_removed WHERE removed_at < now() - interval '90 days'";
    retrying(|_| backend.database.execute(SQL, &[])).await.map(drop)
}

/// Forgets one removal.
pub(crate) async fn forget_one(backend: &Backend, key: &Key, called_at: i64) -> Result<(), Failure> {
    const SQL: &str = "DELETE FROM forebay_removed \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND called_at = $4";
    backend.database.execute(SQL, &key.params(&[(&called_at, Type::INT8)])).await.map(drop)
}

/// Removes the events, the token count and the key of a session, unless it has outputs. Without its key, everything that
/// was encrypted with it is unreadable, backups of the bucket included. The progress of copying events from other machines
/// is kept, so that their events are not copied again.
pub(crate) async fn remove_notes(backend: &Backend, key: &Key) -> Result<(), Failure> {
    // Whoever begins an output holds the row of the key until the output is there, and whoever logs an event that of the
    // log. The statements after these see both.
    const LOCK: [&str; 2] = [
        "SELECT 1 FROM forebay_keys WHERE tenant = $1 AND session = $2 FOR UPDATE",
        "SELECT 1 FROM forebay_logs WHERE tenant = $1 AND session = $2 FOR UPDATE",
    ];
    const HAS_OUTPUTS: &str = "SELECT 1 FROM forebay_outputs WHERE tenant = $1 AND session = $2 LIMIT 1";
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let params = key.session_params(&[]);
    for lock in LOCK {
        transaction.query_typed_opt(lock, &params).await?;
    }
    if transaction.query_typed_opt(HAS_OUTPUTS, &params).await?.is_none() {
        for table in ["forebay_logs", "forebay_events", "forebay_rooms", "forebay_keys"] {
            let sql = format!("DELETE FROM {table} WHERE tenant = $1 AND session = $2");
            transaction.execute_typed(&sql, &params).await?;
        }
    }
    transaction.commit().await?;
    connection.give_back();
    Ok(())
}

/// Returns objects that removals and uploads left behind: unused ones, and uploads not finished within a day.
pub(crate) async fn left_behind(backend: &Backend) -> Result<Vec<Unused>, Failure> {
    const EXPIRE: &str = "WITH old AS (DELETE FROM forebay_contents \
            WHERE tenant = $1 AND users = 0 AND place <> 0 AND claimed_at < now() - interval '1 day' \
            RETURNING tenant, session, content, generation) \
        INSERT INTO forebay_garbage SELECT tenant, session, content || '.' || generation FROM old \
        ON CONFLICT DO NOTHING";
    const FIND: &str = "SELECT session, object FROM forebay_garbage WHERE tenant = $1";
    let tenant = backend.tenant.as_str();
    let params: [Param<'_>; 1] = [(&tenant, Type::TEXT)];
    retrying(|_| backend.database.execute(EXPIRE, &params)).await?;
    let rows = retrying(|_| backend.database.query(FIND, &params)).await?;
    rows.iter().map(|row| Ok(Unused { session: row.try_get(0)?, object: row.try_get(1)? })).collect()
}
