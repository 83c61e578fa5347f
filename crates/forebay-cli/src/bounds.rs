//! The bounds of queries: an end in time, and filters in a process of their own where one query must not harm others.

use crate::commands::filter;
use forebay::query::{Filter, Values};
use forebay::settings::QueryLimits;
use forebay::{Bounds, Output, Result, Stop, WeakStop};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a program sets on its queries.
pub(crate) struct QueryBounds {
    limits: QueryLimits,
    /// Ends all queries of one request.
    request: Stop,
    /// The root of the outputs, where filters run in a process of their own.
    apart: Option<PathBuf>,
}

impl QueryBounds {
    /// Bounds of queries in a process that answers nobody else.
    pub(crate) fn alone(limits: QueryLimits) -> Arc<dyn Bounds> {
        Arc::new(QueryBounds { limits, request: Stop::default(), apart: None })
    }

    /// Bounds of the queries of one request to a process that answers others too.
    pub(crate) fn shared(limits: QueryLimits, request: Stop, root: &Path) -> Arc<dyn Bounds> {
        Arc::new(QueryBounds { limits, request, apart: Some(root.to_owned()) })
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
        let root = self.apart.as_deref()?;
        let run = || {
            let _place = Place::wait_for(stop)?;
            filter::elsewhere(root, output, wanted, enough, self.limits, stop)
        };
        Some(run())
    }
}

/// How many filters run at once. Each may take all the memory that one is allowed.
const FILTERS: usize = 8;

/// A place to run a filter.
struct Place;

/// How many places are taken, and who waits for one.
static TAKEN: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Place {
    /// Waits until there is a place, unless the query ends before.
    fn wait_for(stop: &Stop) -> Result<Place> {
        let mut taken = TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= FILTERS {
            stop.check()?;
            let time = Duration::from_millis(50);
            taken = TAKEN.1.wait_timeout(taken, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken += 1;
        Ok(Place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        TAKEN.1.notify_one();
    }
}

/// A flag that is to be raised.
struct Due {
    stop: WeakStop,
    why: String,
}

/// Raises a flag after some time, unless its query has ended. One thread does it for all queries; where it cannot be made,
/// queries end by their other bounds alone.
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
