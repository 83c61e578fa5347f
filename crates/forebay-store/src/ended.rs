//! How an output ends: by its writer, or by a reader if the writer has vanished.

use crate::backend::Backend;
use crate::content;
use crate::database::Param;
use crate::encryption::{Cipher, Context};
use crate::failure::Failure;
use crate::key::Key;
use crate::reader::part_number;
use crate::row::{self, Found, GROWING, signed};
use crate::settle::Uploaded;
use deadpool_postgres::Transaction;
use forebay::size::Measure;
use forebay::{Part, ReadAt, Record};
use std::io;
use tokio_postgres::types::Type;

/// Bytes measured at a time.
const BLOCK: usize = 1024 * 1024;

/// Final values for the row of an output.
pub(crate) struct End {
    /// The cipher of its content.
    pub(crate) cipher: Cipher,
    pub(crate) record: String,
    pub(crate) state: i32,
    pub(crate) hash: String,
    /// The line index.
    pub(crate) index: Vec<u8>,
}

impl End {
    /// The text of the record as the database gets it.
    fn sealed_record(&self, key: &Key) -> Result<String, Failure> {
        self.cipher.seal_text(Context::Record(&key.id), &self.record)
    }
}

/// Measures the first `length` bytes of an abandoned output for its record; returns the line index.
pub(crate) fn measure(bytes: &dyn ReadAt, length: u64, record: &mut Record) -> io::Result<Vec<u8>> {
    let mut measure = Measure::default();
    let mut block = vec![0; BLOCK];
    let (mut index, mut at) = (Vec::new(), 0);
    while at < length {
        let wanted = usize::try_from(length - at).unwrap_or(BLOCK).min(BLOCK);
        let read = bytes.read_at(at, &mut block[..wanted])?;
        if read == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("its bytes end at {at} of {length}"),
            ));
        }
        measure.update(&block[..read]);
        index.extend(measure.take_index());
        at += read as u64;
    }
    record.abandoned(measure.finish());
    Ok(index)
}

/// Ends an output for its writer, who holds the epoch and has written `bytes`.
pub(crate) async fn finish(
    backend: &Backend,
    key: &Key,
    epoch: i64,
    bytes: u64,
    end: &End,
    may_have_landed: bool,
) -> Result<(), Failure> {
    const SQL: &str = "UPDATE forebay_outputs \
        SET record = $5, state = $6, bytes = $7, lease_until = NULL, changed_at = now() \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND state = 0 RETURNING content";
    let (length, record) = (signed(bytes), end.sealed_record(key)?);
    let params = key.params(&[
        (&epoch, Type::INT8),
        (&record, Type::TEXT),
        (&end.state, Type::INT4),
        (&length, Type::INT8),
    ]);
    if write_end(backend, key, end, bytes, SQL, &params).await? {
        return Ok(());
    }
    is_ended_so(backend, key, end, may_have_landed).await
}

/// Succeeds if the writer itself ended the output in a request whose answer was lost. Otherwise the lease is lost.
async fn is_ended_so(backend: &Backend, key: &Key, end: &End, may_have_landed: bool) -> Result<(), Failure> {
    let found = row::find(backend, key).await?;
    let is_ended = found.state != GROWING && found.has_record(&end.record);
    if may_have_landed && is_ended { Ok(()) } else { Err(Failure::LeaseLost) }
}

/// Ends an output whose bytes are in the bucket, for its writer, who holds the epoch. Returns false if the object may
/// have been removed since.
pub(crate) async fn finish_in_bucket(
    backend: &Backend,
    key: &Key,
    epoch: i64,
    bytes: u64,
    end: &End,
    uploaded: &Uploaded,
    may_have_landed: bool,
) -> Result<bool, Failure> {
    const HOLD: &str = "SELECT content FROM forebay_outputs \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND state = 0 FOR UPDATE";
    const END: &str = "UPDATE forebay_outputs \
        SET record = $4, state = $5, bytes = $6, content = $7, lease_until = NULL, changed_at = now() \
        WHERE tenant = $1 AND session = $2 AND id = $3";
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let Some(row) = transaction.query_typed_opt(HOLD, &key.params(&[(&epoch, Type::INT8)])).await? else {
        drop(transaction);
        drop(connection);
        return is_ended_so(backend, key, end, may_have_landed).await.map(|()| true);
    };
    if !uploaded.is_used_by_one_more(&transaction, key).await? {
        return Ok(false);
    }
    let (length, content, record) = (signed(bytes), uploaded.content(), end.sealed_record(key)?);
    let ended = key.params(&[
        (&record, Type::TEXT),
        (&end.state, Type::INT4),
        (&length, Type::INT8),
        (&content, Type::TEXT),
    ]);
    transaction.execute_typed(END, &ended).await?;
    let rows: String = row.try_get(0)?;
    content::release(&transaction, key, &rows).await?;
    content::replace_part(&transaction, key, &end.cipher, part_number(Part::Lines), &end.index).await?;
    transaction.commit().await?;
    connection.give_back();
    Ok(true)
}

/// Ends an output whose writer has vanished, if it has not changed since it was found. A late writer then has an old
/// epoch.
pub(crate) async fn take_over(
    backend: &Backend,
    key: &Key,
    found: &Found,
    end: &End,
) -> Result<bool, Failure> {
    const SQL: &str = "UPDATE forebay_outputs \
        SET record = $5, state = $6, epoch = epoch + 1, lease_until = NULL \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND epoch = $4 AND state = 0 AND bytes = $7 \
        AND lease_until <= now() RETURNING content";
    let (bytes, record) = (signed(found.bytes), end.sealed_record(key)?);
    let params = key.params(&[
        (&found.epoch, Type::INT8),
        (&record, Type::TEXT),
        (&end.state, Type::INT4),
        (&bytes, Type::INT8),
    ]);
    write_end(backend, key, end, found.bytes, SQL, &params).await
}

/// Runs the statement that ends an output. If it changes the row, brings the other rows into their final form.
async fn write_end(
    backend: &Backend,
    key: &Key,
    end: &End,
    bytes: u64,
    sql: &str,
    params: &[Param<'_>],
) -> Result<bool, Failure> {
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let row = transaction.query_typed_opt(sql, params).await?;
    let is_ended = row.is_some();
    if let Some(row) = row {
        let content: String = row.try_get(0)?;
        drop_bytes_from(&transaction, key, &content, bytes).await?;
        content::replace_part(&transaction, key, &end.cipher, part_number(Part::Lines), &end.index).await?;
        content::register_rows(&transaction, key, &content, bytes, &end.cipher.name(&end.hash)).await?;
    }
    transaction.commit().await?;
    connection.give_back();
    Ok(is_ended)
}

/// Removes rows from `bytes` on: a write that was reported as failed may have added them.
async fn drop_bytes_from(
    transaction: &Transaction<'_>,
    key: &Key,
    content: &str,
    bytes: u64,
) -> Result<(), Failure> {
    const SQL: &str = "DELETE FROM forebay_chunks \
        WHERE tenant = $1 AND session = $2 AND content = $3 AND start >= $4";
    let bytes = signed(bytes);
    let params = key.session_params(&[(&content, Type::TEXT), (&bytes, Type::INT8)]);
    transaction.execute_typed(SQL, &params).await?;
    Ok(())
}
