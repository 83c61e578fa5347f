//! The row of an output in the database.

use crate::backend::Backend;
use crate::encryption::{Cipher, Context};
use crate::failure::Failure;
use crate::key::Key;
use forebay::{Record, State, Timestamp};
use tokio_postgres::Row;

/// Number of a state in the database.
pub(crate) const GROWING: i32 = 0;
pub(crate) const COMPLETE: i32 = 1;
pub(crate) const CUT_SHORT: i32 = 2;

/// The columns that [`Found::from_row`] reads, of `forebay_outputs` as `o` and `forebay_contents` as `c`.
pub(crate) const COLUMNS: &str = "o.id, o.content, o.key, o.record, o.state, o.epoch, o.bytes, \
    (o.state = 0 AND o.lease_until > now()) AS is_held, \
    CAST(extract(epoch FROM o.changed_at) * 1000000 AS bigint) AS changed_at, \
    coalesce(c.place, 0) AS place, coalesce(c.stored, 0) AS stored, \
    coalesce(c.generation, 0) AS generation";

/// The tables of [`COLUMNS`].
pub(crate) const TABLES: &str = "forebay_outputs o LEFT JOIN forebay_contents c \
    ON c.tenant = o.tenant AND c.session = o.session AND c.content = o.content";

/// The number of a state.
pub(crate) fn state_number(state: &State) -> i32 {
    match state {
        State::Growing => GROWING,
        State::Complete => COMPLETE,
        State::CutShort(_) => CUT_SHORT,
    }
}

/// The name of the object with a content, of a generation of its row.
pub(crate) fn object_name(content: &str, generation: i64) -> String {
    format!("{content}.{generation}")
}

/// Where the bytes of an output are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) content: String,
    /// The name of the object, if it is one.
    pub(crate) object: String,
    pub(crate) place: Place,
    /// Size of the object, if there is one. It is a hint: the object may have been rewritten.
    pub(crate) stored: u64,
    /// Bytes of the output.
    pub(crate) bytes: u64,
}

/// Kind of location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Rows of `forebay_chunks`.
    Rows,
    /// An object with uncompressed bytes.
    Object,
    /// An object with compressed frames.
    Frames,
    /// An object with the bytes as compressed frames, each of them encrypted.
    EncryptedFrames,
}

impl Place {
    pub(crate) fn number(self) -> i32 {
        match self {
            Place::Rows => 0,
            Place::Object => 1,
            Place::Frames => 2,
            Place::EncryptedFrames => 3,
        }
    }

    pub(crate) fn from_number(number: i32) -> Result<Place, Failure> {
        match number {
            0 => Ok(Place::Rows),
            1 => Ok(Place::Object),
            2 => Ok(Place::Frames),
            3 => Ok(Place::EncryptedFrames),
            _ => Err(Failure::Damaged(format!("place {number} of bytes is unknown to this program"))),
        }
    }
}

/// An output as the database has it now.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) id: String,
    /// The text of its record, or why it cannot be decrypted.
    record: Result<String, String>,
    /// The cipher of its content; none if its key is missing.
    cipher: Cipher,
    pub(crate) state: i32,
    pub(crate) epoch: i64,
    pub(crate) bytes: u64,
    /// Whether a writer holds the lease, by the clock of the database.
    pub(crate) is_held: bool,
    /// Time when its bytes or its record were last written.
    pub(crate) changed_at: Timestamp,
    pub(crate) location: Location,
}

impl Found {
    /// Reads a row, and decrypts its record. One that cannot be decrypted does not hide other outputs.
    pub(crate) async fn from_row(backend: &Backend, key: &Key, row: &Row) -> Result<Found, Failure> {
        let (id, key_id): (String, String) = (row.try_get("id")?, row.try_get("key")?);
        let (cipher, record) = match backend.keys.of(&backend.database, key, &key_id).await {
            Ok(cipher) => {
                let record = cipher.open_text(Context::Record(&id), row.try_get("record")?);
                (cipher, record.map_err(|failure| failure.to_string()))
            }
            Err(Failure::Damaged(why)) => (Cipher::NONE, Err(why)),
            Err(failure) => return Err(failure),
        };
        let changed_at: i64 = row.try_get("changed_at")?;
        let content: String = row.try_get("content")?;
        let location = Location {
            object: object_name(&content, row.try_get("generation")?),
            content,
            place: Place::from_number(row.try_get("place")?)?,
            stored: unsigned(row.try_get("stored")?),
            bytes: unsigned(row.try_get("bytes")?),
        };
        Ok(Found {
            id,
            record,
            cipher,
            state: row.try_get("state")?,
            epoch: row.try_get("epoch")?,
            bytes: unsigned(row.try_get("bytes")?),
            is_held: row.try_get::<_, Option<bool>>("is_held")?.unwrap_or(false),
            changed_at: Timestamp::from_microsecond(changed_at).unwrap_or(Timestamp::UNIX_EPOCH),
            location,
        })
    }

    /// Whether the output still grows but its writer has vanished.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.state == GROWING && !self.is_held
    }

    /// Returns the cipher of its content. Fails if its key is missing.
    pub(crate) fn readable(&self) -> Result<Cipher, Failure> {
        self.record.as_ref().map_err(|why| Failure::Damaged(why.clone()))?;
        Ok(self.cipher.clone())
    }

    /// Whether its record has this text.
    pub(crate) fn has_record(&self, text: &str) -> bool {
        self.record.as_deref() == Ok(text)
    }

    /// Its record; that of a growing output has the size of now.
    pub(crate) fn record(&self) -> Result<Record, Failure> {
        let text = self.record.as_ref().map_err(|why| Failure::Damaged(why.clone()))?;
        let mut record = Record::from_json(text.as_bytes())
            .map_err(|error| Failure::Damaged(format!("its record cannot be read: {error}")))?;
        if self.state == GROWING {
            record.size.bytes = self.bytes;
        }
        Ok(record)
    }
}

/// The row of an output.
pub(crate) async fn find(backend: &Backend, key: &Key) -> Result<Found, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE o.tenant = $1 AND o.session = $2 AND o.id = $3");
    let row = backend.database.query_opt(&sql, &key.params(&[])).await?;
    Found::from_row(backend, key, &row.ok_or(Failure::NotFound)?).await
}

/// Text of a record as stored in the database.
pub(crate) fn to_json(record: &Record) -> Result<String, Failure> {
    serde_json::to_string(record).map_err(|error| Failure::Damaged(error.to_string()))
}

/// Converts a count to the signed integer of the database.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a count from the signed integer of the database.
pub(crate) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
