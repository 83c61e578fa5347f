//! Work in threads, which is completed even if the system cannot start a thread (a limit on processes, no memory).

use std::{
    panic::resume_unwind,
    sync::{Mutex, PoisonError},
    thread::{Builder, scope},
};

/// Runs `worker` in up to `count` threads at once, including the caller's.
///
/// Workers take their tasks from a common queue, so fewer of them only take longer.
pub(crate) fn in_up_to(count: usize, worker: impl Fn() + Sync) {
    scope(|scope| {
        for _ in 1..count {
            if Builder::new().spawn_scoped(scope, &worker).is_err() {
                break;
            }
        }
        worker();
    });
}

/// Runs both in parallel, or one after the other if there is no second thread.
pub(crate) fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    // A thread that cannot be made takes its closure with it, so the closure stays here.
    let one = Mutex::new(Some(one));
    let run = || one.lock().unwrap_or_else(PoisonError::into_inner).take().map(|one| one());
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, run);
        let other = other();
        let one = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => run(),
        };
        (one.unwrap_or_else(|| unreachable!("only one of them takes it")), other)
    })
}
