//! Counters of the server, in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Upper bounds of the histogram's buckets, in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];

/// Durations of the requests of a route.
#[derive(Clone, Copy, Default)]
struct Durations {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// The counters.
#[derive(Default)]
pub(crate) struct Metrics {
    /// By route and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// By route.
    durations: Mutex<BTreeMap<&'static str, Durations>>,
    connections: AtomicU64,
    uploads: AtomicU64,
    received: AtomicU64,
    folded: AtomicU64,
    passed: AtomicU64,
    tokens: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts one thing until it is dropped.
pub(crate) struct Counted<'a>(&'a AtomicU64);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn counted(counter: &AtomicU64) -> Counted<'_> {
    counter.fetch_add(1, Ordering::Relaxed);
    Counted(counter)
}

impl Metrics {
    pub(crate) fn connection(&self) -> Counted<'_> {
        counted(&self.connections)
    }

    pub(crate) fn upload(&self) -> Counted<'_> {
        counted(&self.uploads)
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn replied(&self, folded: bool, tokens: u64) {
        let which = if folded { &self.folded } else { &self.passed };
        which.fetch_add(1, Ordering::Relaxed);
        self.tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    pub(crate) fn responded(&self, route: &'static str, status: u16, took: Duration) {
        *locked(&self.requests).entry((route, status)).or_default() += 1;
        let mut durations = locked(&self.durations);
        let durations = durations.entry(route).or_default();
        durations.count += 1;
        durations.seconds += took.as_secs_f64();
        for (count, end) in durations.buckets.iter_mut().zip(BUCKETS) {
            *count += u64::from(took.as_secs_f64() <= end);
        }
    }

    /// All counters as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        head(&mut text, "forebay_requests_total", "counter", "Answered requests.");
        for ((route, status), count) in &*locked(&self.requests) {
            let _ = writeln!(text, "forebay_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        head(&mut text, "forebay_request_seconds", "histogram", "Time until a response began.");
        for (route, durations) in &*locked(&self.durations) {
            let name = "forebay_request_seconds";
            let ends = BUCKETS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (end, count) in ends.zip(durations.buckets.iter().chain([&durations.count])) {
                let _ = writeln!(text, "{name}_bucket{{route=\"{route}\",le=\"{end}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_sum{{route=\"{route}\"}} {}", durations.seconds);
            let _ = writeln!(text, "{name}_count{{route=\"{route}\"}} {}", durations.count);
        }
        let numbers = [
            ("forebay_connections", "gauge", "Open connections.", &self.connections),
            ("forebay_uploads", "gauge", "Uploads in progress.", &self.uploads),
            ("forebay_received_bytes_total", "counter", "Uploaded bytes.", &self.received),
            ("forebay_views_total", "counter", "Outputs shown to the model as a view.", &self.folded),
            ("forebay_passed_total", "counter", "Outputs shown to the model whole.", &self.passed),
            (
                "forebay_given_tokens_total",
                "counter",
                "Tokens of the views and whole outputs shown to the model.",
                &self.tokens,
            ),
        ];
        for (name, kind, help, value) in numbers {
            head(&mut text, name, kind, help);
            let _ = writeln!(text, "{name} {}", value.load(Ordering::Relaxed));
        }
        text
    }
}

/// Outputs on the disk of a server that are on their way to a shared store.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnTheWay {
    /// Sessions that have some.
    pub sessions: u64,
    /// Seconds since the first of them came.
    pub lag_seconds: f64,
    /// Passes that have failed since one succeeded.
    pub failures: u64,
}

/// Metrics of outputs on their way to a shared store, in all folders together.
pub(crate) fn on_the_way(found: impl Iterator<Item = OnTheWay>) -> String {
    let all = found.fold(OnTheWay::default(), |all, one| OnTheWay {
        sessions: all.sessions + one.sessions,
        lag_seconds: all.lag_seconds.max(one.lag_seconds),
        failures: all.failures + one.failures,
    });
    let numbers = [
        ("forebay_mirror_sessions", "Sessions with outputs that may not be shared.", all.sessions as f64),
        ("forebay_mirror_lag_seconds", "Time since the oldest of them came.", all.lag_seconds),
        ("forebay_mirror_failures", "Tries to share that failed since one succeeded.", all.failures as f64),
    ];
    let lines = numbers
        .map(|(name, help, value)| format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n"));
    lines.concat()
}
