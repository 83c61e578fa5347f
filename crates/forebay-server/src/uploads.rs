//! Uploads in progress: one at a time for each call.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Calls whose outputs are being uploaded, each as a key of store, session and id.
#[derive(Clone, Default)]
pub(crate) struct Uploads(Arc<Mutex<HashSet<String>>>);

impl Uploads {
    /// Claims a call until the claim is dropped; `None` if another request has claimed it.
    pub(crate) fn claim(&self, key: String) -> Option<Claim> {
        self.keys().insert(key.clone()).then(|| Claim { uploads: self.clone(), key })
    }

    fn keys(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call whose output is being uploaded by one request.
pub(crate) struct Claim {
    uploads: Uploads,
    key: String,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.uploads.keys().remove(&self.key);
    }
}
