//! The outputs of one tenant: in a folder of this machine, or in a store that many servers share.

use forebay::store::disk::Report;
use forebay::store::retention::Rules;
use forebay::{DiskStore, Result, Session, Store, Timestamp};
use std::path::Path;

/// Makes the shared store of a tenant over its folder: of a named one, or of the owner. Fails if the name is taken.
pub type OpenTenant = dyn Fn(Option<&Session>, &DiskStore) -> crate::error::Result<SharedTenant>;

/// Brings a shared store in order, by rules of retention.
pub type Tend = dyn Fn(&Rules) -> Result<()> + Send + Sync;

/// Removes what is kept of a session beside its outputs.
pub type Forget = dyn Fn(&Session) -> Result<()> + Send + Sync;

/// The outputs of one tenant in a store that many servers share.
pub struct SharedTenant {
    /// The outputs.
    pub store: Box<dyn Store>,
    /// Removes outputs by rules and what nobody uses any more, and moves bytes that wait for their bucket. Several servers
    /// may do so at once.
    pub tend: Box<Tend>,
    /// Removes what is kept of a session beside its outputs, unless it has any.
    pub forget: Box<Forget>,
}

/// The outputs of one tenant.
pub(crate) struct Tenant {
    /// The folder of this machine. With a shared store it has only files on their way.
    pub(crate) disk: DiskStore,
    shared: Option<SharedTenant>,
}

impl Tenant {
    pub(crate) fn new(disk: DiskStore, shared: Option<SharedTenant>) -> Tenant {
        Tenant { disk, shared }
    }

    /// The folder of this machine.
    pub(crate) fn root(&self) -> &Path {
        self.disk.root()
    }

    /// The store that requests use.
    pub(crate) fn store(&self) -> &dyn Store {
        match &self.shared {
            Some(shared) => &*shared.store,
            None => &self.disk,
        }
    }

    /// Whether other servers have the same outputs.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether a process holds a session open on this machine.
    pub(crate) fn is_open(&self, session: &Session) -> bool {
        self.disk.is_open(session)
    }

    /// Removes a session; returns how many outputs are gone, and how many stay since they are in use.
    pub(crate) fn remove_session(&self, session: &Session, now: Timestamp) -> Result<(usize, usize)> {
        let Report { gone, stays, .. } = self.disk.remove_session(session, now, false)?;
        let (mut removed, mut left) = (gone.len(), stays.len());
        if let Some(shared) = &self.shared {
            for weight in shared.store.weights(session)? {
                if weight.in_use {
                    left += 1;
                } else {
                    shared.store.delete(&weight.handle)?;
                    removed += 1;
                }
            }
            (shared.forget)(session)?;
        }
        Ok((removed, left))
    }

    /// Removes what the rules say from a shared store, and brings it in order.
    pub(crate) fn tend_shared(&self, rules: &Rules) -> Result<()> {
        self.shared.as_ref().map_or(Ok(()), |shared| (shared.tend)(rules))
    }
}
