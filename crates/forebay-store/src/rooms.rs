//! Tokens that sessions have in use: one row for each session, changed by single statements.
//!
//! Each change has a mark, and the row keeps the marks of the last changes. A machine that does not know whether a
//! change took effect sends it again: at once, or when the database is reachable. The change counts once, unless so
//! many others followed that its mark is no longer kept. Then too much is counted, never too little.

use crate::backend::Backend;
use crate::failure::Failure;
use crate::key::Key;
use forebay::InUse;
use forebay::store::{Reservation, Reserved};
use serde::{Deserialize, Serialize};
use std::io;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// Maximum value of a count, so that sums stay far below the largest integer of the database. No context is as large.
const MAX_TOKENS: u64 = 1 << 60;

/// Marks that a row keeps besides the newest: more than the number of changes between a request and its retry.
const OLDER_MARKS: i32 = 63;

/// A change of the tokens that a session has in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Unique name of the change.
    pub(crate) mark: String,
    #[serde(flatten)]
    pub(crate) step: Step,
}

/// The effect of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Step {
    /// Sets the tokens in use.
    Set(InUse),
    /// Adds to the tokens in use.
    Reserve {
        /// Number of tokens.
        tokens: u64,
        /// Maximum tokens that may then be in use.
        most: u64,
        /// Whether to add them even if that exceeds `most`.
        force: bool,
    },
}

impl Change {
    pub(crate) fn new(step: Step) -> io::Result<Change> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        Ok(Change { mark: forebay::fresh_id(random), step })
    }
}

impl Step {
    pub(crate) fn reserve(wanted: Reservation) -> Step {
        let Reservation { tokens, most, force } = wanted;
        Step::Reserve { tokens, most, force }
    }

    /// The same step without its limit, for tokens that were handed over already.
    pub(crate) fn forced(self) -> Step {
        match self {
            Step::Reserve { tokens, most, .. } => Step::Reserve { tokens, most, force: true },
            set @ Step::Set(_) => set,
        }
    }
}

/// Tokens that a session has in use.
pub(crate) async fn in_use(backend: &Backend, key: &Key) -> Result<InUse, Failure> {
    const SQL: &str = "SELECT reported, given FROM forebay_rooms WHERE tenant = $1 AND session = $2";
    let row = backend.database.query_opt(SQL, &key.session_params(&[])).await?;
    row.as_ref().map_or(Ok(InUse::default()), of_row)
}

/// Makes a change. Repeated calls with the same change count once.
pub(crate) async fn change(backend: &Backend, key: &Key, change: &Change) -> Result<Reserved, Failure> {
    let row = match change.step {
        Step::Set(in_use) => set(backend, key, &change.mark, in_use).await?,
        Step::Reserve { tokens, most, force } => {
            reserve(backend, key, &change.mark, Reservation { tokens, most, force }).await?
        }
    };
    if let Some(row) = row {
        return Ok(Reserved { is_made: true, in_use: of_row(&row)? });
    }
    const SQL: &str =
        "SELECT reported, given, $3 = ANY(marks) FROM forebay_rooms WHERE tenant = $1 AND session = $2";
    let params = key.session_params(&[(&change.mark, Type::TEXT)]);
    Ok(match backend.database.query_opt(SQL, &params).await? {
        Some(row) => Reserved { is_made: row.try_get(2)?, in_use: of_row(&row)? },
        None => Reserved { is_made: false, in_use: InUse::default() },
    })
}

/// Sets the tokens in use; returns the row unless it already has the mark.
async fn set(backend: &Backend, key: &Key, mark: &str, in_use: InUse) -> Result<Option<Row>, Failure> {
    const SQL: &str = "INSERT INTO forebay_rooms AS room (tenant, session, reported, given, marks) \
        VALUES ($1, $2, $3, $4, ARRAY[$5]) ON CONFLICT (tenant, session) DO UPDATE SET \
        reported = $3, given = $4, marks = room.marks[greatest(1, cardinality(room.marks) - $6 + 1):] || $5 \
        WHERE NOT $5 = ANY(room.marks) RETURNING reported, given";
    let (reported, given) = (signed(in_use.reported), signed(in_use.given));
    let params = key.session_params(&[
        (&reported, Type::INT8),
        (&given, Type::INT8),
        (&mark, Type::TEXT),
        (&OLDER_MARKS, Type::INT4),
    ]);
    backend.database.query_opt(SQL, &params).await
}

/// Adds to the tokens in use; returns the row unless there is no room or it already has the mark. The statement does
/// not wait for the disk of the database: after a power cut, the host reports its count again.
async fn reserve(
    backend: &Backend,
    key: &Key,
    mark: &str,
    wanted: Reservation,
) -> Result<Option<Row>, Failure> {
    const SQL: &str = "INSERT INTO forebay_rooms AS room (tenant, session, reported, given, marks) \
        SELECT $1, $2, 0, $3, ARRAY[$4] \
        WHERE ($6 OR $3 <= $5) AND set_config('synchronous_commit', 'off', true) = 'off' \
        ON CONFLICT (tenant, session) DO UPDATE SET given = least(room.given + $3, $8), \
        marks = room.marks[greatest(1, cardinality(room.marks) - $7 + 1):] || $4 \
        WHERE NOT $4 = ANY(room.marks) AND ($6 OR $3 <= greatest($5 - room.reported - room.given, 0)) \
        RETURNING reported, given";
    let (tokens, most, limit) = (signed(wanted.tokens), signed(wanted.most), signed(MAX_TOKENS));
    let params = key.session_params(&[
        (&tokens, Type::INT8),
        (&mark, Type::TEXT),
        (&most, Type::INT8),
        (&wanted.force, Type::BOOL),
        (&OLDER_MARKS, Type::INT4),
        (&limit, Type::INT8),
    ]);
    backend.database.query_opt(SQL, &params).await
}

fn of_row(row: &Row) -> Result<InUse, Failure> {
    let tokens = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(InUse { reported: tokens(row.try_get(0)?), given: tokens(row.try_get(1)?) })
}

fn signed(tokens: u64) -> i64 {
    tokens.min(MAX_TOKENS).cast_signed()
}
