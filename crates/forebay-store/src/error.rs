//! Errors of opening a shared store, sorted by what the operator can do about them.

use std::io;

/// A shared store that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address is invalid: correct it.
    #[error("{0}")]
    Address(String),

    /// The database cannot be used: see that it runs and that the role has its grants.
    #[error("cannot open the store in {address}: {why}")]
    Database {
        /// The address, without a password.
        address: String,
        /// The cause.
        why: String,
    },

    /// A newer version of this program has changed the schema: install that version here too.
    #[error(
        "the database has schema version {version}, and this program knows {known}; install a newer forebay"
    )]
    NewerSchema {
        /// The version that the database has.
        version: i32,
        /// The newest version that this program knows.
        known: i32,
    },

    /// No thread could be started.
    #[error("cannot start the threads of the store: {0}")]
    Threads(#[source] io::Error),
}
