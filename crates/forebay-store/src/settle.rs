//! Moves a finished output's bytes to the bucket: from rows, or from a local file.
//!
//! The object is written first, and then the row that names it, so no reader ever looks for an object that is not there.
//! Outputs of a session with the same bytes share an object. It is removed when no output uses it any more. An upload
//! first claims the row of the content, which has a generation that no other row ever has. It counts only if that row is
//! still there, and the object has the generation in its name: a removal of earlier bytes cannot hit it.

use crate::backend::Backend;
use crate::blobs::Blobs;
use crate::content::{self, INLINE};
use crate::database::{Param, retrying};
use crate::encryption::{Cipher, Content, Context};
use crate::failure::Failure;
use crate::frames::{self, FRAME, Table};
use crate::key::Key;
use crate::reader::chunks;
use crate::row::{self, GROWING, Place, object_name, signed, unsigned};
use deadpool_postgres::Transaction;
use forebay::ReadAt;
use tokio_postgres::types::Type;

/// Maximum attempts of an upload, each undone by a removal of the same bytes.
const ATTEMPTS: usize = 5;

/// Bytes of an output to be written to the bucket.
pub(crate) struct Plain {
    pub(crate) hash: String,
    /// The cipher of these bytes, in the bucket and in their rows.
    pub(crate) cipher: Cipher,
    pub(crate) bytes: u64,
    pub(crate) source: Source,
}

/// Current location of the bytes.
pub(crate) enum Source {
    /// Rows with this name.
    Rows(String),
    /// A local file.
    File(Box<dyn ReadAt>),
}

/// An object in the bucket that its output does not use yet.
pub(crate) struct Uploaded {
    /// The name of the object.
    content: String,
    claim: Claim,
    /// Size of the object; 0 if it existed before.
    stored: u64,
}

/// A content that this process may upload.
struct Claim {
    generation: i64,
    place: Place,
    /// Whether an output uses it already, so that its object exists.
    is_used: bool,
}

/// Moves the bytes of an output to the bucket; returns whether they are in the bucket now.
pub(crate) async fn settle(backend: &Backend, blobs: &Blobs, key: &Key) -> Result<bool, Failure> {
    let Some((rows, plain)) = retrying(|_| to_move(backend, key)).await? else { return Ok(false) };
    for _ in 0..ATTEMPTS {
        let uploaded = upload(backend, blobs, key, &plain).await?;
        if retrying(|_| point_at_object(backend, key, &rows, &uploaded)).await? {
            return Ok(true);
        }
        uploaded.discard(blobs, key).await;
    }
    Err(removed_again())
}

/// Failure of an upload that was removed after every attempt.
pub(crate) fn removed_again() -> Failure {
    Failure::Conflict("other processes repeatedly removed the same bytes".to_owned())
}

/// Writes bytes to the bucket, unless another output of the session already did.
pub(crate) async fn upload(
    backend: &Backend,
    blobs: &Blobs,
    key: &Key,
    plain: &Plain,
) -> Result<Uploaded, Failure> {
    let sample = plain.read(backend, key, 0).await?;
    let place = match frames::compress(&sample).map_err(damaged)?.len() {
        _ if plain.cipher.encrypts() => Place::EncryptedFrames,
        compressed if frames::is_worth_it(sample.len(), compressed) => Place::Frames,
        _ => Place::Object,
    };
    let claim = retrying(|_| claim(backend, key, plain, place)).await?;
    let stored = if claim.is_used { 0 } else { write(backend, blobs, key, plain, &claim).await? };
    Ok(Uploaded { content: plain.name(), claim, stored })
}

impl Plain {
    /// The name of the object that holds the bytes.
    fn name(&self) -> String {
        self.cipher.name(&self.hash)
    }

    /// The frame of bytes at `offset`.
    async fn read(&self, backend: &Backend, key: &Key, offset: u64) -> Result<Vec<u8>, Failure> {
        let wanted = (self.bytes - offset).min(FRAME as u64);
        let bytes = match &self.source {
            Source::Rows(rows) => {
                let content = Content { cipher: &self.cipher, name: rows };
                let (start, mut bytes) = retrying(|_| chunks(backend, key, content, offset, wanted)).await?;
                let before = usize::try_from(offset - start.min(offset)).unwrap_or(usize::MAX);
                bytes.drain(..before.min(bytes.len()));
                bytes.truncate(wanted as usize);
                bytes
            }
            Source::File(file) => whole_range(&**file, offset, wanted as usize)?,
        };
        if bytes.len() as u64 == wanted {
            Ok(bytes)
        } else {
            Err(Failure::Damaged(format!("its bytes end before {} of {}", offset + wanted, self.bytes)))
        }
    }
}

/// Reads at most `length` bytes of a file from `offset`.
fn whole_range(file: &dyn ReadAt, offset: u64, length: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(offset + filled as u64, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) => return Err(Failure::Damaged(format!("its bytes cannot be read: {error}"))),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Outputs whose bytes are in the database and belong into the bucket.
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

/// Returns the rows of an output and their bytes if they should be moved: not if the output grows, is small, or is in
/// the bucket already.
async fn to_move(backend: &Backend, key: &Key) -> Result<Option<(String, Plain)>, Failure> {
    let found = row::find(backend, key).await?;
    let is_movable = found.state != GROWING && found.location.place == Place::Rows && found.bytes > INLINE;
    let (hash, cipher) = (found.record()?.hash, found.readable()?);
    let rows = found.location.content;
    let plain = Plain { hash, cipher, bytes: found.bytes, source: Source::Rows(rows.clone()) };
    Ok((is_movable && !plain.hash.is_empty()).then_some((rows, plain)))
}

/// Writes the object; returns its size. Fails if the bytes do not match the hash of the record.
async fn write(
    backend: &Backend,
    blobs: &Blobs,
    key: &Key,
    plain: &Plain,
    claim: &Claim,
) -> Result<u64, Failure> {
    let mut object =
        blobs.upload(blobs.path(key, &object_name(&plain.name(), claim.generation)), plain.bytes);
    let written = write_all(backend, key, plain, claim.place, &mut object).await;
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
    plain: &Plain,
    place: Place,
    object: &mut crate::blobs::Upload,
) -> Result<(), Failure> {
    let (mut table, mut hash, mut at, name) = (Table::default(), blake3::Hasher::new(), 0, plain.name());
    let has_frames = place != Place::Object;
    while at < plain.bytes {
        let bytes = plain.read(backend, key, at).await?;
        hash.update(&bytes);
        if has_frames {
            let frame = frames::compress(&bytes).map_err(damaged)?;
            let frame = plain.cipher.seal(Context::Frame(&name, at), &frame)?;
            table.push(frame.len(), bytes.len()).map_err(damaged)?;
            object.write(&frame).await?;
        } else {
            object.write(&bytes).await?;
        }
        at += bytes.len() as u64;
    }
    if hash.finalize().to_hex().as_str() != plain.hash {
        return Err(Failure::Damaged("its bytes do not match the hash in its record".to_owned()));
    }
    if has_frames {
        object.write(&table.encode()).await?;
    }
    Ok(())
}

/// Announces an upload.
async fn claim(backend: &Backend, key: &Key, plain: &Plain, place: Place) -> Result<Claim, Failure> {
    const SQL: &str = "INSERT INTO forebay_contents (tenant, session, content, place, hash, bytes, stored, \
        users, claimed_at) VALUES ($1, $2, $3, $4, $3, $5, 0, 0, now()) \
        ON CONFLICT (tenant, session, content) DO UPDATE SET claimed_at = now() \
        RETURNING generation, place, users";
    let (name, place, bytes) = (plain.name(), place.number(), signed(plain.bytes));
    let params = key.session_params(&[(&name, Type::TEXT), (&place, Type::INT4), (&bytes, Type::INT8)]);
    let row = backend.database.query_opt(SQL, &params).await?;
    let row = row.ok_or_else(|| Failure::Damaged("the database returned no row".to_owned()))?;
    Ok(Claim {
        generation: row.try_get(0)?,
        place: Place::from_number(row.try_get(1)?)?,
        is_used: unsigned(row.try_get(2)?) > 0,
    })
}

/// Makes the output use the object, and removes its rows. Returns false if the object may have been removed since.
async fn point_at_object(
    backend: &Backend,
    key: &Key,
    rows: &str,
    uploaded: &Uploaded,
) -> Result<bool, Failure> {
    const POINT: &str = "UPDATE forebay_outputs SET content = $4 \
        WHERE tenant = $1 AND session = $2 AND id = $3 AND content = $5";
    let mut connection = backend.database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    let point = key.params(&[(&uploaded.content, Type::TEXT), (&rows, Type::TEXT)]);
    if transaction.execute_typed(POINT, &point).await? == 0 {
        // The output was removed, or another process has moved its bytes: nothing to do.
        return Ok(true);
    }
    if !uploaded.is_used_by_one_more(&transaction, key).await? {
        return Ok(false);
    }
    content::release(&transaction, key, rows).await?;
    transaction.commit().await?;
    connection.give_back();
    Ok(true)
}

impl Uploaded {
    /// Name of the object's content.
    pub(crate) fn content(&self) -> &str {
        &self.content
    }

    /// Removes an object that no row names any more. It was written after what removes it had looked for it.
    pub(crate) async fn discard(&self, blobs: &Blobs, key: &Key) {
        let path = blobs.path(key, &object_name(&self.content, self.claim.generation));
        if self.stored > 0
            && let Err(failure) = blobs.remove(&path).await
        {
            tracing::warn!(output = %key, "an object that nobody uses stays in the bucket: {failure}");
        }
    }

    /// Counts one more output that uses the object; returns false if it may have been removed since.
    pub(crate) async fn is_used_by_one_more(
        &self,
        transaction: &Transaction<'_>,
        key: &Key,
    ) -> Result<bool, Failure> {
        const SQL: &str = "UPDATE forebay_contents SET users = users + 1, \
            stored = CASE WHEN $5 > 0 THEN $5 ELSE stored END \
            WHERE tenant = $1 AND session = $2 AND content = $3 AND generation = $4";
        let stored = signed(self.stored);
        let params = key.session_params(&[
            (&self.content, Type::TEXT),
            (&self.claim.generation, Type::INT8),
            (&stored, Type::INT8),
        ]);
        Ok(transaction.execute_typed(SQL, &params).await? == 1)
    }
}

fn damaged(error: std::io::Error) -> Failure {
    Failure::Damaged(format!("its bytes cannot be compressed: {error}"))
}
