//! The parts of a store that its requests share: its servers, its tenant, and the time of a lease.

use crate::blobs::Blobs;
use crate::database::Database;
use crate::session_keys::Keys;
use forebay::Session;
use std::sync::Arc;
use std::time::Duration;

/// The servers and the tenant of a store.
pub(crate) struct Backend {
    pub(crate) database: Arc<Database>,
    /// The bucket, if bytes do not stay in the database.
    pub(crate) blobs: Option<Arc<Blobs>>,
    pub(crate) tenant: Session,
    /// The keys that encrypt content.
    pub(crate) keys: Arc<Keys>,
    /// Time for which a writer holds its output without being heard of.
    pub(crate) lease: Duration,
}

impl Backend {
    /// Time of a lease in milliseconds, as statements expect it.
    pub(crate) fn lease_milliseconds(&self) -> i64 {
        i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX)
    }
}
