//! The outputs of one tenant: in a folder of this machine, or in a store that many servers share.

use forebay::store::disk::Report;
use forebay::store::remove_by_rules;
use forebay::store::retention::Rules;
use forebay::{DiskStore, Result, Session, Store, Timestamp};
use std::path::Path;

/// Makes the store of a tenant over its folder: of a named one, or of the owner.
pub type OpenTenant = dyn Fn(Option<&Session>, &DiskStore) -> Box<dyn Store>;

/// The outputs of one tenant.
pub(crate) struct Tenant {
    /// The folder of this machine. With a shared store it has only files on their way.
    pub(crate) disk: DiskStore,
    shared: Option<Box<dyn Store>>,
}

impl Tenant {
    pub(crate) fn new(disk: DiskStore, shared: Option<Box<dyn Store>>) -> Tenant {
        Tenant { disk, shared }
    }

    /// The folder of this machine.
    pub(crate) fn root(&self) -> &Path {
        self.disk.root()
    }

    /// The store that requests use.
    pub(crate) fn store(&self) -> &dyn Store {
        match &self.shared {
            Some(shared) => &**shared,
            None => &self.disk,
        }
    }

    /// Whether other servers have the same outputs.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether somebody holds a session open on this machine.
    pub(crate) fn is_open(&self, session: &Session) -> bool {
        self.disk.is_open(session)
    }

    /// Removes a session; returns how many outputs are gone, and how many stay since they are in use.
    pub(crate) fn remove_session(&self, session: &Session, now: Timestamp) -> Result<(usize, usize)> {
        let Report { gone, stays, .. } = self.disk.remove_session(session, now, false)?;
        let (mut removed, mut left) = (gone.len(), stays.len());
        if let Some(shared) = &self.shared {
            for weight in shared.weights(session)? {
                if weight.in_use {
                    left += 1;
                } else {
                    shared.delete(&weight.handle)?;
                    removed += 1;
                }
            }
        }
        Ok((removed, left))
    }

    /// Removes what the rules say from a shared store. Several servers may do so at once.
    pub(crate) fn sweep_shared(&self, rules: &Rules, now: Timestamp) -> Result<()> {
        match &self.shared {
            Some(shared) => remove_by_rules(&**shared, rules, None, now, false).map(drop),
            None => Ok(()),
        }
    }
}
