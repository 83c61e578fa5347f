//! The schema of the database: numbered steps, one file each, applied in order while a row is locked.

use crate::database::{Database, retrying, retrying_for};
use crate::failure::Failure;
use std::time::Duration;
use tokio_postgres::types::Type;

/// The steps, in order. A step that was released is never changed; a change is a new step.
const STEPS: [&str; 4] = [
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
];

/// Time in which the steps must be taken: one that goes through a large table takes its time, and others wait for it.
const STEPS_WITHIN: Duration = Duration::from_secs(600);

/// The version that this program knows.
pub(crate) const VERSION: i32 = STEPS.len() as i32;

/// The table of the version, and its only row.
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS forebay_schema (single boolean PRIMARY KEY, version integer NOT NULL)";

/// Error codes when two processes create the table at once: its catalog row, its type or the table itself exists.
const COLLISIONS: [&str; 3] = ["23505", "42710", "42P07"];

/// State of a database's schema.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The version that this program knows.
    Current,
    /// An older one, or none.
    Older,
    /// A newer one, which this program would damage.
    Newer(i32),
}

/// Migrates the schema to the version that this program knows.
pub(crate) async fn migrate(database: &Database) -> Result<Found, Failure> {
    // If the schema is current, a role without the right to create tables is enough.
    match retrying(|_| version(database)).await? {
        Found::Older => retrying_for(STEPS_WITHIN, |_| take_steps(database)).await,
        found => Ok(found),
    }
}

async fn version(database: &Database) -> Result<Found, Failure> {
    let table = database.query_opt("SELECT to_regclass('forebay_schema') IS NOT NULL", &[]).await?;
    if !table.is_some_and(|row| row.get(0)) {
        return Ok(Found::Older);
    }
    let row = database.query_opt("SELECT version FROM forebay_schema", &[]).await?;
    Ok(compare(row.map_or(0, |row| row.get(0))))
}

fn compare(version: i32) -> Found {
    match version {
        VERSION => Found::Current,
        newer if newer > VERSION => Found::Newer(newer),
        _ => Found::Older,
    }
}

async fn take_steps(database: &Database) -> Result<Found, Failure> {
    make_table(database).await?;
    let mut connection = database.connect().await?;
    let transaction = connection.client_mut()?.transaction().await?;
    // Other processes wait here until the steps are applied, and then have nothing to do.
    let row = transaction.query_typed_one("SELECT version FROM forebay_schema FOR UPDATE", &[]).await?;
    let version: i32 = row.get(0);
    let found = compare(version);
    if found == Found::Older {
        for step in &STEPS[usize::try_from(version).unwrap_or(0)..] {
            transaction.batch_execute(step).await?;
        }
        transaction
            .execute_typed("UPDATE forebay_schema SET version = $1", &[(&VERSION, Type::INT4)])
            .await?;
    }
    transaction.commit().await?;
    connection.give_back();
    Ok(if found == Found::Older { Found::Current } else { found })
}

/// Creates the table of the version. If two processes do so at once, one may get an error from the catalog of the
/// database; it then finds the table on its second attempt.
async fn make_table(database: &Database) -> Result<(), Failure> {
    match database.execute(TABLE, &[]).await {
        Err(Failure::Refused(why)) if COLLISIONS.iter().any(|code| why.contains(code)) => {
            return Err(Failure::Conflict(why));
        }
        made => made?,
    };
    database.execute("INSERT INTO forebay_schema VALUES (true, 0) ON CONFLICT DO NOTHING", &[]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_schema_is_told_from_an_older_one() {
        let table = [
            (0, Found::Older),
            (VERSION - 1, Found::Older),
            (VERSION, Found::Current),
            (VERSION + 1, Found::Newer(VERSION + 1)),
        ];
        for (version, found) in table {
            assert_eq!(compare(version), found, "{version}");
        }
    }

    #[test]
    fn steps_are_plain_sql_without_locks_and_settings_of_a_session() {
        for step in STEPS {
            let step = step.to_ascii_lowercase();
            for word in ["advisory", "listen ", "notify ", "prepare ", "temporary", "extension", "\nset "] {
                assert!(!step.contains(word), "{word}");
            }
        }
    }
}
