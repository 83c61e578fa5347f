//! Slots for requests that hold a thread for as long as their client likes: uploads, exports, and reading by models. Each
//! session, address and tenant gets a share, so a client that sends slowly cannot take them all.

use crate::problem::Problem;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum threads that clients may hold for as long as they like.
pub(crate) const MAX_HELD_THREADS: usize = 256;

/// Slots of one session: far more calls than an agent makes at once.
const PER_SESSION: usize = MAX_HELD_THREADS / 4;

/// Slots of one address of another machine. Clients on this machine share an address, and so do those behind a proxy.
const PER_ADDRESS: usize = MAX_HELD_THREADS / 2;

/// Slots of one tenant, if there are several.
const PER_TENANT: usize = MAX_HELD_THREADS / 2;

/// Whose slots are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Session(PathBuf, String),
    Address(IpAddr),
    Tenant(PathBuf),
    All,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Session(_, session) => write!(f, "session {session}"),
            Holder::Address(address) => write!(f, "{address}"),
            Holder::Tenant(_) => f.write_str("this tenant"),
            Holder::All => f.write_str("all clients together"),
        }
    }
}

/// Whose slots a request takes.
pub(crate) struct Holders<'a> {
    /// The root of the tenant's store.
    pub(crate) tenant: &'a Path,
    pub(crate) session: &'a str,
    /// The client's address, if it has one.
    pub(crate) address: Option<IpAddr>,
}

/// The number of slots that each holder has.
#[derive(Clone, Default)]
pub(crate) struct Slots(Arc<Mutex<HashMap<Holder, usize>>>);

/// A slot, given back when it is dropped.
pub(crate) struct Slot {
    slots: Slots,
    holders: Vec<Holder>,
}

impl Slots {
    /// Takes a slot for a request, unless its session, address or tenant has its whole share.
    pub(crate) fn take(&self, holders: Holders<'_>, several_tenants: bool) -> Result<Slot, Problem> {
        let tenant = holders.tenant.to_owned();
        let address = holders.address.filter(|address| !address.to_canonical().is_loopback());
        let shares = [
            Some((Holder::Session(tenant.clone(), holders.session.to_owned()), PER_SESSION)),
            address.map(|address| (Holder::Address(address), PER_ADDRESS)),
            several_tenants.then_some((Holder::Tenant(tenant), PER_TENANT)),
            Some((Holder::All, MAX_HELD_THREADS)),
        ];
        self.take_shares(shares.into_iter().flatten().collect()).map_err(|Full { holder, share }| {
            Problem::unavailable(format!(
                "{holder} already has {share} uploads, exports and extractions in progress, which is the limit; try again \
                 when one of them has ended"
            ))
        })
    }

    fn take_shares(&self, shares: Vec<(Holder, usize)>) -> Result<Slot, Full> {
        let mut held = self.held();
        let is_full = |(holder, share): &&(Holder, usize)| held.get(holder).is_some_and(|held| held >= share);
        if let Some((holder, share)) = shares.iter().find(is_full) {
            return Err(Full { holder: holder.clone(), share: *share });
        }
        let holders: Vec<Holder> = shares.into_iter().map(|(holder, _)| holder).collect();
        for holder in &holders {
            *held.entry(holder.clone()).or_default() += 1;
        }
        Ok(Slot { slots: self.clone(), holders })
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Holder, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A holder that has its whole share.
#[derive(Debug)]
struct Full {
    holder: Holder,
    share: usize,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut held = self.slots.held();
        for holder in &self.holders {
            // Holders without a slot are removed, so that the table does not grow with names of sessions.
            match held.get_mut(holder) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(held.remove(holder)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_holder_gets_more_than_its_share_and_holders_without_a_slot_are_removed() {
        let slots = Slots::default();
        let session = |name: &str| (Holder::Session("root".into(), name.to_owned()), 2);
        let address = |last| (Holder::Address([192, 0, 2, last].into()), 3);
        let tenant = |name: &str| (Holder::Tenant(name.into()), 4);
        let all = || (Holder::All, 5);
        let table = [
            (vec![session("a"), address(1), tenant("x"), all()], None),
            (vec![session("a"), address(1), tenant("x"), all()], None),
            (vec![session("a"), address(1), tenant("x"), all()], Some("session a")),
            (vec![session("b"), address(1), tenant("x"), all()], None),
            (vec![session("b"), address(1), tenant("x"), all()], Some("192.0.2.1")),
            (vec![session("b"), address(2), tenant("x"), all()], None),
            (vec![session("c"), address(2), tenant("x"), all()], Some("this tenant")),
            (vec![session("c"), address(2), tenant("y"), all()], None),
            (vec![session("d"), address(3), tenant("y"), all()], Some("all clients together")),
        ];
        let mut held = Vec::new();
        for (number, (shares, full)) in table.into_iter().enumerate() {
            let taken = slots.take_shares(shares);
            assert_eq!(taken.as_ref().err().map(|full| full.holder.to_string()).as_deref(), full, "{number}");
            held.extend(taken.ok());
        }
        drop(held.remove(0));
        held.extend(slots.take_shares(vec![session("a"), address(1), tenant("x"), all()]).ok());
        assert_eq!(held.len(), 5, "a slot that was given back can be taken again");
        drop(held);
        assert!(slots.held().is_empty());
    }
}
