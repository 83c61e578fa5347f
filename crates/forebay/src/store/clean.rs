//! Removing outputs from any store.

use crate::store::Store;
use crate::store::retention::{Cause, Gone, Rules, decide};
use crate::{Error, Handle, Result, Session, Timestamp};
use std::collections::HashMap;

/// Removes from a store the outputs that the rules select, in all sessions or in one; returns those removed, or those
/// that would be. Outputs in use stay. [`crate::DiskStore::sweep`] does the same for a folder, and also cleans other
/// files there.
pub fn remove_by_rules(
    store: &dyn Store,
    rules: &Rules,
    only: Option<&Session>,
    now: Timestamp,
    dry_run: bool,
) -> Result<Vec<Gone>> {
    let weights = match only {
        Some(session) => store.weights(session)?,
        None => store.weights_of_all()?,
    };
    let bytes: HashMap<&Handle, u64> = weights.iter().map(|weight| (&weight.handle, weight.bytes)).collect();
    let mut removed = Vec::new();
    for (handle, cause) in decide(&weights, rules, now, None) {
        let bytes = bytes.get(&handle).copied().unwrap_or(0);
        removed.extend(remove(store, Gone { handle, bytes, cause }, dry_run)?);
    }
    Ok(removed)
}

/// Removes all outputs of a session that are not in use, including those without bytes; returns those removed, or
/// those that would be.
pub fn remove_all(store: &dyn Store, session: &Session, dry_run: bool) -> Result<Vec<Gone>> {
    let mut removed = Vec::new();
    for weight in store.weights(session)?.into_iter().filter(|weight| !weight.in_use) {
        let gone = Gone { handle: weight.handle, bytes: weight.bytes, cause: Cause::Session };
        removed.extend(remove(store, gone, dry_run)?);
    }
    Ok(removed)
}

/// Removes an output; `None` if another process removed it first.
fn remove(store: &dyn Store, gone: Gone, dry_run: bool) -> Result<Option<Gone>> {
    if !dry_run {
        match store.delete(&gone.handle) {
            Err(Error::NotFound { .. }) => return Ok(None),
            removed => removed?,
        }
    }
    Ok(Some(gone))
}
