//! Removing old outputs while the server runs, as the settings say.

use crate::state::Server;
use crate::tenant::Tenant;
use forebay::settings::Keep;
use forebay::store::disk::Sweep;
use forebay::store::retention::Rules;
use forebay::{DiskStore, Store, Timestamp};
use std::sync::Arc;

impl Server {
    /// Sweeps a store in the background if its last sweep is long enough ago.
    pub(crate) fn sweep_if_due(&self, tenant: &Arc<Tenant>) {
        let removes = self.config.settings.retention.mode == Keep::Keep;
        // A shared store is brought in order even if nothing is removed by age or size.
        if !removes && !tenant.is_shared() {
            return;
        }
        let tenant = tenant.clone();
        let rules = if removes { Rules::from(&self.config.settings.retention) } else { Rules::default() };
        let tenants = self.config.auth.tenants();
        let every = self.config.sweep_every;
        tokio::task::spawn_blocking(move || {
            let (now, store) = (Timestamp::now(), &tenant.disk);
            if !matches!(store.take_turn(now, every), Ok(true)) {
                return;
            }
            if tenant.is_shared() {
                // Free bytes of this disk say nothing about a shared store.
                let _ = tenant.tend_shared(&Rules { min_free: None, ..rules });
                return;
            }
            let by_age = store.counts_ages(now, false).unwrap_or(false);
            let sweep = Sweep { rules, only: None, now, by_age, free: None, dry_run: false };
            let _ = store.sweep(&Sweep { rules: Rules { min_free: None, ..rules }, ..sweep.clone() });
            if let Some((largest, free)) =
                largest_on_full_disk(tenants.iter().map(|tenant| &tenant.disk), rules.min_free)
            {
                let rules = Rules { min_free: rules.min_free, ..Rules::default() };
                let _ = largest.sweep(&Sweep { rules, by_age: false, free: Some(free), ..sweep });
            }
        });
    }
}

/// The store that loses outputs if the disk has less than `min_free` bytes left, and how many it has. All tenants share the
/// disk, so the one that keeps the most loses some, no matter which one uploaded last.
fn largest_on_full_disk<'a>(
    stores: impl Iterator<Item = &'a DiskStore>,
    min_free: Option<u64>,
) -> Option<(&'a DiskStore, u64)> {
    let min_free = min_free?;
    let short = stores.filter_map(|store| Some((store, store.free().ok().filter(|free| *free < min_free)?)));
    short.max_by_key(|(store, _)| kept_bytes(store))
}

/// Bytes of all outputs in a store.
fn kept_bytes(store: &DiskStore) -> u64 {
    let sessions = store.sessions().unwrap_or_default();
    let weights = sessions.iter().flat_map(|session| store.weights(session).unwrap_or_default());
    weights.fold(0, |sum, weight| sum.saturating_add(weight.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay::{Call, End, Session, Stream, Writer};

    #[test]
    fn the_tenant_that_keeps_the_most_loses_outputs_when_the_disk_runs_full() {
        let root = tempfile::tempdir().unwrap();
        let stores: Vec<DiskStore> = [("a", 100_000), ("b", 300_000), ("c", 10)]
            .map(|(tenant, bytes)| {
                let store = DiskStore::new(root.path().join(tenant));
                let call = Call::new(Session::safe("s"), "one", "tool", Timestamp::UNIX_EPOCH);
                let mut writer = Writer::begin(&store, &call);
                writer.write(Stream::Stdout, &vec![b'x'; bytes]);
                writer.finish(End::default());
                store
            })
            .into();
        let (found, _) = largest_on_full_disk(stores.iter(), Some(u64::MAX)).unwrap();
        assert_eq!(found.root(), root.path().join("b"));
        for enough in [None, Some(0)] {
            assert!(largest_on_full_disk(stores.iter(), enough).is_none(), "{enough:?}");
        }
    }
}
