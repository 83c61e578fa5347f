//! Errors of opening a shared store, by what the operator can do about them.

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

    /// The bucket cannot be used: see that it exists and that the credentials allow reading, writing and removing.
    #[error("cannot use the bucket {address}: {why}")]
    Bucket {
        /// The address.
        address: String,
        /// The cause.
        why: String,
    },

    /// The bucket ignores the condition of a conditional write: use another server.
    #[error(
        "the server of the bucket {address} ignores {header}, so machines would overwrite each other's outputs; use a \
         server that honours conditional writes, such as AWS S3 or Ceph 18 or later, or leave the bucket out"
    )]
    LyingBucket {
        /// The address.
        address: String,
        /// The ignored header.
        header: &'static str,
    },

    /// No thread could be started.
    #[error("cannot start the threads of the store: {0}")]
    Threads(#[source] io::Error),
}

impl OpenError {
    /// Whether opening the store may succeed later without a change of settings.
    pub fn may_pass(&self) -> bool {
        matches!(self, OpenError::Database { .. } | OpenError::Bucket { .. })
    }
}
