//! Removing outputs by the rules of retention from any store.

use crate::store::Store;
use crate::store::retention::{Gone, Rules, decide};
use crate::{Error, Handle, Result, Session, Timestamp};
use std::collections::HashMap;

/// Removes from a store what the rules select, in all sessions or in one; returns what is gone, or would be. What is in use
/// stays. [`crate::DiskStore::sweep`] does the same for a folder, with what else is to be cleaned there.
pub fn remove_by_rules(
    store: &dyn Store,
    rules: &Rules,
    only: Option<&Session>,
    now: Timestamp,
    dry_run: bool,
) -> Result<Vec<Gone>> {
    let mut weights = Vec::new();
    for session in store.sessions()?.iter().filter(|session| only.is_none_or(|only| only == *session)) {
        weights.extend(store.weights(session)?);
    }
    let bytes: HashMap<&Handle, u64> = weights.iter().map(|weight| (&weight.handle, weight.bytes)).collect();
    let mut removed = Vec::new();
    for (handle, cause) in decide(&weights, rules, now, None) {
        let bytes = bytes.get(&handle).copied().unwrap_or(0);
        match if dry_run { Ok(()) } else { store.delete(&handle) } {
            // Another sweep was faster.
            Err(Error::NotFound { .. }) => {}
            gone => {
                gone?;
                removed.push(Gone { handle, bytes, cause });
            }
        }
    }
    Ok(removed)
}
