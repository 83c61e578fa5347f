//! Places for requests that hold a thread for as long as their client likes: outputs that are put, exported or read by
//! models. They are shared out, so that a client that sends slowly cannot take them all.

use super::HELD;
use super::asked::Asked;
use super::problem::Problem;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places of one session: far more calls than an agent makes at once.
const OF_SESSION: usize = HELD / 4;

/// Places of one address of another machine. Clients of this machine share an address, and so do those behind a proxy.
const OF_ADDRESS: usize = HELD / 2;

/// Places of one tenant, where there are several.
const OF_TENANT: usize = HELD / 2;

/// Who holds places.
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

/// How many places each holder has.
#[derive(Clone, Default)]
pub(crate) struct Places(Arc<Mutex<HashMap<Holder, usize>>>);

/// A place, for as long as it is held.
pub(crate) struct Place {
    places: Places,
    holders: Vec<Holder>,
}

impl Places {
    /// A place for a request, unless those who ask for it hold their share.
    pub(crate) fn take(&self, asked: &Asked, several_tenants: bool) -> Result<Place, Problem> {
        let tenant = asked.visitor.store.root().to_owned();
        let address = asked.visitor.address.filter(|address| !address.to_canonical().is_loopback());
        let shares = [
            Some((Holder::Session(tenant.clone(), asked.named("session").to_owned()), OF_SESSION)),
            address.map(|address| (Holder::Address(address), OF_ADDRESS)),
            several_tenants.then_some((Holder::Tenant(tenant), OF_TENANT)),
            Some((Holder::All, HELD)),
        ];
        self.taken(shares.into_iter().flatten().collect()).map_err(|(holder, most)| {
            Problem::unavailable(format!(
                "{holder} may have {most} outputs at once that are being put, exported or read by models, and has them; \
                 ask again when one of them has ended"
            ))
        })
    }

    fn taken(&self, shares: Vec<(Holder, usize)>) -> Result<Place, (Holder, usize)> {
        let mut held = self.held();
        if let Some(full) =
            shares.iter().find(|(holder, most)| held.get(holder).is_some_and(|held| held >= most))
        {
            return Err(full.clone());
        }
        let holders: Vec<Holder> = shares.into_iter().map(|(holder, _)| holder).collect();
        for holder in &holders {
            *held.entry(holder.clone()).or_default() += 1;
        }
        Ok(Place { places: self.clone(), holders })
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Holder, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.held();
        for holder in &self.holders {
            // Who holds none is forgotten, so that the table does not grow with names of sessions.
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
    fn nobody_takes_more_than_a_share_and_who_holds_none_is_forgotten() {
        let places = Places::default();
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
            let taken = places.taken(shares);
            assert_eq!(
                taken.as_ref().err().map(|(holder, _)| holder.to_string()).as_deref(),
                full,
                "{number}"
            );
            held.extend(taken.ok());
        }
        drop(held.remove(0));
        held.extend(places.taken(vec![session("a"), address(1), tenant("x"), all()]).ok());
        assert_eq!(held.len(), 5, "what is given back can be taken again");
        drop(held);
        assert!(places.held().is_empty());
    }
}
