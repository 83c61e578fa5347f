//! The bytes and parts of finished outputs: sharing, replacing and removing them.

use crate::backend::Backend;
use crate::encryption::{Cipher, Context};
use crate::failure::Failure;
use crate::key::Key;
use crate::row::{self, Place, object_name, signed, unsigned};
use deadpool_postgres::Transaction;
use tokio_postgres::types::Type;

/// Maximum bytes that are never shared with other outputs. Most outputs are smaller; sharing them would cost more
/// than a copy.
pub(crate) const INLINE: u64 = 32 * 1024;

/// Writes a complete part of an output.
pub(crate) async fn attach(backend: &Backend, key: &Key, part: i32, bytes: &[u8]) -> Result<(), Failure> {
    let cipher = row::find(backend, key).await?.readable()?;
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    lock(&transaction, key).await?.ok_or(Failure::NotFound)?;
    replace_part(&transaction, key, &cipher, part, bytes).await?;
    transaction.commit().await?;
    connection.give_back();
    Ok(())
}

/// Replaces the rows of a part beside the bytes by one row, or by none if the part is empty.
pub(crate) async fn replace_part(
    transaction: &Transaction<'_>,
    key: &Key,
    cipher: &Cipher,
    part: i32,
    bytes: &[u8],
) -> Result<(), Failure> {
    const REMOVE: &str = "WITH gone AS (DELETE FROM forebay_parts \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND part = $4 RETURNING bytes) \
        SELECT coalesce(sum(octet_length(bytes)), 0) FROM gone";
    const ADD: &str = "INSERT INTO forebay_parts (tenant, session, id, part, start, bytes) \
        VALUES ($1, $2, $3, $4, 0, $5)";
    const COUNT: &str = "UPDATE forebay_outputs SET beside = beside + $4 \
        WHERE tenant = $1 AND session = $2 AND id = $3";
    let removed = transaction.query_typed_one(REMOVE, &key.params(&[(&part, Type::INT4)])).await?;
    let removed: i64 = removed.try_get(0)?;
    let sealed = cipher.seal(Context::Part(&key.id, part, 0), bytes)?;
    let added = if bytes.is_empty() { 0 } else { sealed.len() };
    if added > 0 {
        transaction.execute_typed(ADD, &key.params(&[(&part, Type::INT4), (&sealed, Type::BYTEA)])).await?;
    }
    let more = signed(added as u64) - removed;
    if more != 0 {
        transaction.execute_typed(COUNT, &key.params(&[(&more, Type::INT8)])).await?;
    }
    Ok(())
}

/// Registers the rows of a finished output's bytes, so that another output can use them.
pub(crate) async fn register_rows(
    transaction: &Transaction<'_>,
    key: &Key,
    content: &str,
    bytes: u64,
    hash: &str,
) -> Result<(), Failure> {
    const SQL: &str = "INSERT INTO forebay_contents (tenant, session, content, place, hash, bytes, stored, \
        users, claimed_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $6, 1, now()) ON CONFLICT DO NOTHING";
    if bytes <= INLINE || hash.is_empty() {
        return Ok(());
    }
    let (place, length) = (Place::Rows.number(), signed(bytes));
    let params = key.session_params(&[
        (&content, Type::TEXT),
        (&place, Type::INT4),
        (&hash, Type::TEXT),
        (&length, Type::INT8),
    ]);
    transaction.execute_typed(SQL, &params).await?;
    Ok(())
}

/// Removes an output, and its rows if no other output uses them. Returns its object if no output uses that any more.
pub(crate) async fn delete(
    backend: &Backend,
    key: &Key,
    may_have_landed: bool,
) -> Result<Option<Unused>, Failure> {
    const PARTS: &str = "DELETE FROM forebay_parts WHERE tenant = $1 AND session = $2 AND id = $3";
    const OUTPUT: &str = "DELETE FROM forebay_outputs \
        WHERE tenant = $1 AND session = $2 AND id = $3 RETURNING content, called_at";
    const REMEMBER: &str =
        "INSERT INTO forebay_removed VALUES ($1, $2, $3, $4, now()) ON CONFLICT DO NOTHING";
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let Some(row) = transaction.query_typed_opt(OUTPUT, &key.params(&[])).await? else {
        return if may_have_landed { Ok(None) } else { Err(Failure::NotFound) };
    };
    let (content, called_at): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
    transaction.execute_typed(REMEMBER, &key.params(&[(&called_at, Type::INT8)])).await?;
    transaction.execute_typed(PARTS, &key.params(&[])).await?;
    let unused = release(&transaction, key, &content).await?;
    transaction.commit().await?;
    connection.give_back();
    Ok(unused)
}

/// Makes `newer` use the bytes of `older`, if both are finished and equal. Returns the object of `newer` if no output
/// uses it any more.
pub(crate) async fn share(backend: &Backend, newer: &Key, older: &Key) -> Result<Option<Unused>, Failure> {
    const USE: &str = "UPDATE forebay_contents SET users = users + 1 \
        WHERE tenant = $1 AND session = $2 AND content = $3";
    const POINT: &str = "UPDATE forebay_outputs SET content = $4 \
        WHERE tenant = $1 AND session = $2 AND id = $3";
    if newer.session != older.session || newer.id == older.id {
        return Ok(None);
    }
    let mut unused = None;
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    // Both are locked in one order, so that two calls cannot wait for each other.
    let (first, second) = if newer.id < older.id { (newer, older) } else { (older, newer) };
    let first_content = lock(&transaction, first).await?.ok_or(Failure::NotFound)?;
    let second_content = lock(&transaction, second).await?.ok_or(Failure::NotFound)?;
    let (mine, theirs) =
        if newer.id < older.id { (first_content, second_content) } else { (second_content, first_content) };
    let (known, wanted) =
        (registered(&transaction, newer, &mine).await?, registered(&transaction, newer, &theirs).await?);
    if mine != theirs && known.is_some() && known == wanted {
        transaction.execute_typed(USE, &newer.session_params(&[(&theirs, Type::TEXT)])).await?;
        transaction.execute_typed(POINT, &newer.params(&[(&theirs, Type::TEXT)])).await?;
        unused = release(&transaction, newer, &mine).await?;
    }
    transaction.commit().await?;
    connection.give_back();
    Ok(unused)
}

/// Locks the row of an output; returns the name of its content.
async fn lock(transaction: &Transaction<'_>, key: &Key) -> Result<Option<String>, Failure> {
    const SQL: &str = "SELECT content FROM forebay_outputs \
        WHERE tenant = $1 AND session = $2 AND id = $3 FOR UPDATE";
    let row = transaction.query_typed_opt(SQL, &key.params(&[])).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Finds the hash and the number of bytes that can be shared.
async fn registered(
    transaction: &Transaction<'_>,
    key: &Key,
    content: &str,
) -> Result<Option<(String, u64)>, Failure> {
    const SQL: &str = "SELECT hash, bytes FROM forebay_contents \
        WHERE tenant = $1 AND session = $2 AND content = $3 FOR UPDATE";
    let params = key.session_params(&[(&content, Type::TEXT)]);
    let row = transaction.query_typed_opt(SQL, &params).await?;
    Ok(row.map(|row| (row.get(0), unsigned(row.get(1)))))
}

/// Removes one user of some bytes, and their rows after the last one. Returns their object if no output uses it any
/// more.
pub(crate) async fn release(
    transaction: &Transaction<'_>,
    key: &Key,
    content: &str,
) -> Result<Option<Unused>, Failure> {
    // The row stays locked until the transaction ends, so nobody can begin to use the bytes meanwhile.
    const USE: &str = "UPDATE forebay_contents SET users = users - 1 \
        WHERE tenant = $1 AND session = $2 AND content = $3 RETURNING users, place, generation";
    const CONTENT: &str = "DELETE FROM forebay_contents \
        WHERE tenant = $1 AND session = $2 AND content = $3";
    const GARBAGE: &str = "INSERT INTO forebay_garbage VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    const CHUNKS: &str = "DELETE FROM forebay_chunks \
        WHERE tenant = $1 AND session = $2 AND content = $3";
    let params = key.session_params(&[(&content, Type::TEXT)]);
    // Bytes that were never registered have one user.
    let (users, place, generation) = match transaction.query_typed_opt(USE, &params).await? {
        Some(row) => (row.try_get::<_, i64>(0)?, Place::from_number(row.try_get(1)?)?, row.try_get(2)?),
        None => (0, Place::Rows, 0),
    };
    match place {
        _ if users > 0 => Ok(None),
        Place::Rows => {
            transaction.execute_typed(CONTENT, &params).await?;
            transaction.execute_typed(CHUNKS, &params).await?;
            Ok(None)
        }
        Place::Object | Place::Frames | Place::EncryptedFrames => {
            transaction.execute_typed(CONTENT, &params).await?;
            let unused = Unused { session: key.session.clone(), object: object_name(content, generation) };
            let garbage = key.session_params(&[(&unused.object, Type::TEXT)]);
            transaction.execute_typed(GARBAGE, &garbage).await?;
            Ok(Some(unused))
        }
    }
}

/// An object that has lost its last user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unused {
    pub(crate) session: String,
    pub(crate) object: String,
}
