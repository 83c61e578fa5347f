//! The removal of objects that no output uses any more.
//!
//! The generation of the content was raised when its last user went. The object is removed while the content's row is
//! locked, and only if no upload has claimed the row since. Whoever claims it later waits for the lock, finds no row,
//! and uploads again.

use crate::backend::Backend;
use crate::blobs::Blobs;
use crate::content::Unused;
use crate::database::{Param, retrying};
use crate::failure::Failure;
use crate::key::Key;
use std::collections::BTreeSet;
use tokio_postgres::types::Type;

/// Removes an object that is still unused.
pub(crate) async fn remove(backend: &Backend, blobs: &Blobs, unused: &Unused) -> Result<(), Failure> {
    retrying(|_| try_remove(backend, blobs, unused)).await
}

async fn try_remove(backend: &Backend, blobs: &Blobs, unused: &Unused) -> Result<(), Failure> {
    const LOCK: &str = "SELECT 1 FROM forebay_contents WHERE tenant = $1 AND session = $2 AND content = $3 \
        AND users = 0 AND generation = $4 AND claimed < $4 FOR UPDATE";
    const REMOVE: &str = "DELETE FROM forebay_contents \
        WHERE tenant = $1 AND session = $2 AND content = $3";
    let tenant = backend.tenant.as_str().to_owned();
    let key = Key { tenant, session: unused.session.clone(), id: String::new() };
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let locked = key.session_params(&[(&unused.content, Type::TEXT), (&unused.generation, Type::INT8)]);
    if transaction.query_typed_opt(LOCK, &locked).await?.is_some() {
        blobs.remove(&blobs.path(&key, &unused.content)).await?;
        transaction.execute_typed(REMOVE, &key.session_params(&[(&unused.content, Type::TEXT)])).await?;
    }
    transaction.commit().await?;
    connection.give_back();
    Ok(())
}

/// The outputs of a session that were removed: the id of each, and the time of its call in microseconds.
pub(crate) async fn removed(backend: &Backend, key: &Key) -> Result<BTreeSet<(String, i64)>, Failure> {
    const SQL: &str = "SELECT id, called_at FROM forebay_removed WHERE tenant = $1 AND session = $2";
    let rows = backend.database.query(SQL, &key.session_params(&[])).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Forgets removals of long ago: no machine has an output for so long that it has not shared.
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

/// Removes what there is of a session beside its outputs. How far the events of other machines' disks were taken stays, so
/// that they do not come back.
pub(crate) async fn remove_notes(backend: &Backend, key: &Key) -> Result<(), Failure> {
    for table in ["forebay_events", "forebay_logs", "forebay_rooms"] {
        let sql = format!("DELETE FROM {table} WHERE tenant = $1 AND session = $2");
        backend.database.execute(&sql, &key.session_params(&[])).await?;
    }
    Ok(())
}

/// The objects that removals and uploads have left behind: unused ones, and uploads that nobody has finished for a day.
pub(crate) async fn left_behind(backend: &Backend) -> Result<Vec<Unused>, Failure> {
    const EXPIRE: &str = "UPDATE forebay_contents SET generation = generation + 1 \
        WHERE tenant = $1 AND users = 0 AND claimed = generation AND claimed_at < now() - interval '1 day'";
    const FIND: &str = "SELECT session, content, generation FROM forebay_contents \
        WHERE tenant = $1 AND users = 0 AND claimed < generation";
    let tenant = backend.tenant.as_str();
    let params: [Param<'_>; 1] = [(&tenant, Type::TEXT)];
    retrying(|_| backend.database.execute(EXPIRE, &params)).await?;
    let rows = retrying(|_| backend.database.query(FIND, &params)).await?;
    let unused = rows.iter().map(|row| {
        Ok(Unused { session: row.try_get(0)?, content: row.try_get(1)?, generation: row.try_get(2)? })
    });
    unused.collect()
}
