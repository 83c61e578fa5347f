//! Bounds of queries: a time limit, and filters in a process of their own if one query must not harm others.

use crate::filter_process;
use forebay::query::{Filter, Values};
use forebay::settings::QueryLimits;
use forebay::{Bounds, Output, Result, Stop, WeakStop};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The limits that a program sets for its queries.
pub(crate) struct QueryBounds {
    limits: QueryLimits,
    /// Ends all queries of one request.
    request: Stop,
    /// The root of the outputs, if filters run in a process of their own.
    separate_root: Option<PathBuf>,
}

impl QueryBounds {
    /// Bounds of queries in a process that serves one user.
    pub(crate) fn alone(limits: QueryLimits) -> Arc<dyn Bounds> {
        Arc::new(QueryBounds { limits, request: Stop::default(), separate_root: None })
    }

    /// Bounds of the queries of one request, in a process that serves others too.
    pub(crate) fn shared(limits: QueryLimits, request: Stop, root: &Path) -> Arc<dyn Bounds> {
        Arc::new(QueryBounds { limits, request, separate_root: Some(root.to_owned()) })
    }
}

impl Bounds for QueryBounds {
    fn begin(&self) -> Stop {
        let stop = self.request.child();
        let seconds = self.limits.timeout_seconds;
        if seconds > 0 {
            let why = format!(
                "the query took longer than {seconds} seconds, which query.timeout_seconds sets; ask for less at once"
            );
            raise_after(Duration::from_secs(seconds), Due { stop: stop.downgrade(), why });
        }
        stop
    }

    fn filter(&self, output: &Output, wanted: &Filter, enough: u64, stop: &Stop) -> Option<Result<Values>> {
        let root = self.separate_root.as_deref()?;
        let run = || {
            let _slot = Slot::wait_for(stop)?;
            filter_process::run(root, output, wanted, enough, self.limits, stop)
        };
        Some(run())
    }
}

/// Maximum filters that run at once. Each may take as much memory as one filter may.
const MAX_FILTERS: usize = 8;

/// A slot to run a filter, given back when it is dropped.
struct Slot;

/// The number of taken slots, and the signal that one is free.
static TAKEN: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Slot {
    /// Waits for a free slot, unless the query ends first.
    fn wait_for(stop: &Stop) -> Result<Slot> {
        let mut taken = TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= MAX_FILTERS {
            stop.check()?;
            let time = Duration::from_millis(50);
            taken = TAKEN.1.wait_timeout(taken, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken += 1;
        Ok(Slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        TAKEN.1.notify_one();
    }
}

/// A flag to raise.
struct Due {
    stop: WeakStop,
    why: String,
}

/// Raises a flag after some time, unless its query has ended. One thread serves all queries; if it cannot be started, only
/// the other bounds end a query.
fn raise_after(time: Duration, due: Due) {
    static TIMER: OnceLock<Option<Sender<(Instant, Due)>>> = OnceLock::new();
    let timer = TIMER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<(Instant, Due)>();
        let wait = move || {
            let mut waiting: Vec<(Instant, Due)> = Vec::new();
            loop {
                let first = waiting.iter().map(|(at, _)| *at).min();
                let time = first.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
                match receiver.recv_timeout(time) {
                    Ok(due) => waiting.push(due),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let now = Instant::now();
                for (_, due) in waiting.extract_if(.., |(at, _)| *at <= now) {
                    due.stop.raise(due.why);
                }
            }
        };
        thread::Builder::new().name("timer".to_owned()).spawn(wait).ok().map(|_| sender)
    });
    if let Some(timer) = timer {
        let _ = timer.send((Instant::now() + time, due));
    }
}
