//! The move of a finished output's bytes from rows to the bucket.
//!
//! The object is written first, and then the row that names it, so no reader ever looks for an object that is not there.
//! Outputs of a session with the same bytes share an object. It is removed when no output uses it any more. So that a
//! removal and an upload of the same bytes cannot cross, an upload first claims the row of the content at its
//! generation, a removal raises the generation, and an upload counts only if its generation is still the same.

use crate::backend::Backend;
use crate::blobs::Blobs;
use crate::content::{self, INLINE};
use crate::database::{Param, retrying};
use crate::failure::Failure;
use crate::frames::{self, FRAME, Table};
use crate::key::Key;
use crate::reader::chunks;
use crate::row::{self, GROWING, Place, signed, unsigned};
use tokio_postgres::types::Type;

/// Maximum uploads of the same bytes that a removal may undo one after the other.
const ATTEMPTS: usize = 5;

/// The bytes of an output that are to be moved.
struct Moved {
    /// Name of the rows that hold them.
    rows: String,
    hash: String,
    bytes: u64,
}

/// A content that this process may upload.
struct Claim {
    generation: i64,
    place: Place,
    /// Whether an output uses it already: then its object is there.
    is_used: bool,
}

/// Moves the bytes of an output to the bucket; returns whether they are there now.
pub(crate) async fn settle(backend: &Backend, blobs: &Blobs, key: &Key) -> Result<bool, Failure> {
    let Some(moved) = retrying(|_| to_move(backend, key)).await? else { return Ok(false) };
    let sample = read_plain(backend, key, &moved, 0).await?;
    let place = match frames::compress(&sample).map_err(damaged)?.len() {
        compressed if frames::is_worth_it(sample.len(), compressed) => Place::Frames,
        _ => Place::Object,
    };
    for _ in 0..ATTEMPTS {
        let claim = retrying(|_| claim(backend, key, &moved, place)).await?;
        let stored = if claim.is_used { 0 } else { upload(backend, blobs, key, &moved, claim.place).await? };
        if retrying(|_| point_at_object(backend, key, &moved, &claim, stored)).await? {
            return Ok(true);
        }
    }
    Err(Failure::Conflict("others removed the same bytes again and again".to_owned()))
}

/// The outputs whose bytes wait in the database.
pub(crate) async fn waiting(backend: &Backend) -> Result<Vec<Key>, Failure> {
    const SQL: &str = "SELECT o.session, o.id FROM forebay_contents c JOIN forebay_outputs o \
        ON o.tenant = c.tenant AND o.session = c.session AND o.content = c.content \
        WHERE c.tenant = $1 AND c.place = 0";
    let tenant = backend.tenant.as_str();
    let params: [Param<'_>; 1] = [(&tenant, Type::TEXT)];
    let rows = retrying(|_| backend.database.query(SQL, &params)).await?;
    let key = |row: &tokio_postgres::Row| {
        Ok(Key { tenant: tenant.to_owned(), session: row.try_get(0)?, id: row.try_get(1)? })
    };
    rows.iter().map(key).collect()
}

/// What there is to move of an output: nothing of one that grows, that is small, or that is in the bucket.
async fn to_move(backend: &Backend, key: &Key) -> Result<Option<Moved>, Failure> {
    let found = row::find(&backend.database, key).await?;
    let is_movable = found.state != GROWING && found.location.place == Place::Rows && found.bytes > INLINE;
    let hash = found.record()?.hash;
    let moved = Moved { rows: found.location.content, hash, bytes: found.bytes };
    Ok((is_movable && !moved.hash.is_empty()).then_some(moved))
}

/// The frame of plain bytes at `offset`.
async fn read_plain(backend: &Backend, key: &Key, moved: &Moved, offset: u64) -> Result<Vec<u8>, Failure> {
    let wanted = (moved.bytes - offset).min(FRAME as u64);
    let (start, mut bytes) = retrying(|_| chunks(backend, key, &moved.rows, offset, wanted)).await?;
    let before = usize::try_from(offset - start.min(offset)).unwrap_or(usize::MAX).min(bytes.len());
    bytes.drain(..before);
    bytes.truncate(wanted as usize);
    if bytes.len() as u64 == wanted {
        Ok(bytes)
    } else {
        Err(Failure::Damaged(format!("its bytes end before {} of {}", offset + wanted, moved.bytes)))
    }
}

/// Writes the object; returns its size. Bytes that do not have the hash of the record are not written.
async fn upload(
    backend: &Backend,
    blobs: &Blobs,
    key: &Key,
    moved: &Moved,
    place: Place,
) -> Result<u64, Failure> {
    let mut object = blobs.upload(blobs.path(key, &moved.hash), moved.bytes);
    let written = write_all(backend, key, moved, place, &mut object).await;
    match written {
        Ok(()) => object.finish().await,
        Err(failure) => {
            object.abort().await;
            Err(failure)
        }
    }
}

async fn write_all(
    backend: &Backend,
    key: &Key,
    moved: &Moved,
    place: Place,
    object: &mut crate::blobs::Upload,
) -> Result<(), Failure> {
    let (mut table, mut hash, mut at) = (Table::default(), blake3::Hasher::new(), 0);
    while at < moved.bytes {
        let plain = read_plain(backend, key, moved, at).await?;
        hash.update(&plain);
        at += plain.len() as u64;
        if place == Place::Frames {
            let frame = frames::compress(&plain).map_err(damaged)?;
            table.push(frame.len(), plain.len()).map_err(damaged)?;
            object.write(&frame).await?;
        } else {
            object.write(&plain).await?;
        }
    }
    if hash.finalize().to_hex().as_str() != moved.hash {
        return Err(Failure::Damaged("its bytes do not have the hash that its record says".to_owned()));
    }
    if place == Place::Frames {
        object.write(&table.encode()).await?;
    }
    Ok(())
}

/// Announces an upload. While a removal of the same bytes is under way, this waits for its end.
async fn claim(backend: &Backend, key: &Key, moved: &Moved, place: Place) -> Result<Claim, Failure> {
    const SQL: &str = "INSERT INTO forebay_contents (tenant, session, content, place, hash, bytes, stored, \
        users, generation, claimed, claimed_at) VALUES ($1, $2, $3, $4, $3, $5, 0, 0, 1, 1, now()) \
        ON CONFLICT (tenant, session, content) DO UPDATE \
        SET claimed = forebay_contents.generation, claimed_at = now() \
        RETURNING generation, place, users";
    let (place, bytes) = (place.number(), signed(moved.bytes));
    let params = key.session_params(&[(&moved.hash, Type::TEXT), (&place, Type::INT4), (&bytes, Type::INT8)]);
    let row = backend.database.query_opt(SQL, &params).await?;
    let row = row.ok_or_else(|| Failure::Damaged("the database returned no row".to_owned()))?;
    Ok(Claim {
        generation: row.try_get(0)?,
        place: Place::from_number(row.try_get(1)?)?,
        is_used: unsigned(row.try_get(2)?) > 0,
    })
}

/// Has the output use the object, and removes its rows; returns false if the object may have been removed meanwhile.
async fn point_at_object(
    backend: &Backend,
    key: &Key,
    moved: &Moved,
    claim: &Claim,
    stored: u64,
) -> Result<bool, Failure> {
    const USE: &str = "UPDATE forebay_contents SET users = users + 1, \
        stored = CASE WHEN $5 > 0 THEN $5 ELSE stored END \
        WHERE tenant = $1 AND session = $2 AND content = $3 AND (users > 0 OR generation = $4)";
    const POINT: &str = "UPDATE forebay_outputs SET content = $4 \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND content = $5";
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let point = key.params(&[(&moved.hash, Type::TEXT), (&moved.rows, Type::TEXT)]);
    if transaction.execute_typed(POINT, &point).await? == 0 {
        // It was removed, or moved by another process: there is nothing left to do.
        return Ok(true);
    }
    let stored = signed(stored);
    let used = key.session_params(&[
        (&moved.hash, Type::TEXT),
        (&claim.generation, Type::INT8),
        (&stored, Type::INT8),
    ]);
    if transaction.execute_typed(USE, &used).await? == 0 {
        return Ok(false);
    }
    content::release(&transaction, key, &moved.rows).await?;
    transaction.commit().await?;
    connection.give_back();
    Ok(true)
}

fn damaged(error: std::io::Error) -> Failure {
    Failure::Damaged(format!("its bytes cannot be compressed: {error}"))
}
