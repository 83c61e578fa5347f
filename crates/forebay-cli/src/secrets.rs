//! What masks secrets: the scanner with the store's key, and the modes of the settings.

use forebay::{DiskStore, Masking, Secrets, Settings};
use forebay_secrets::Scanner;

/// Masking for the outputs of a store. A command that writes has the key made if there is none.
pub(crate) fn masking(settings: &Settings, store: &DiskStore, writes: bool) -> Masking {
    let modes = &settings.secrets;
    let is_off = |mode: &Secrets| *mode == Secrets::Off;
    if is_off(&modes.mode) && modes.tools.values().all(is_off) {
        return Masking::default();
    }
    let mut fresh = [0; 32];
    // Without random numbers, equal secrets have equal tags in all stores.
    let _ = getrandom::fill(&mut fresh);
    let key = store.secret_key(fresh, writes);
    Masking::new(Scanner::new(key), modes.mode, modes.tools.clone())
}
