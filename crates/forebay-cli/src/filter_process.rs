//! A jq filter in a process of its own, whose memory and time the kernel limits.
//!
//! The library counts steps and bytes of a filter, but not every byte that an interpreter allocates. A filter that takes too
//! much ends its own process, and its caller reports that.

use forebay::query::{Ended, Filter, Total, Values};
use forebay::settings::QueryLimits;
use forebay::{Error, Handle, Output, Result, Stop};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Approximate memory of a value for each byte of its text.
const MEMORY_PER_BYTE: u64 = 10;

/// Maximum bytes of text that are read as one value.
const MAX_VALUE_BYTES: u64 = 256 * 1024 * 1024;

/// Poll interval for the caller's flag.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A filter to run, as the process reads it on stdin.
#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) handle: Handle,
    pub(crate) filter: Filter,
    pub(crate) enough: u64,
}

/// The result of a filter, as the process writes it to stdout.
#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    Values(Values),
    /// The query is wrong, for this reason.
    BadQuery(String),
    /// The output cannot be read, for this reason.
    Failed(String),
}

/// Runs a filter in a process of its own, until it ends or the flag is raised.
pub(crate) fn run(
    root: &Path,
    output: &Output,
    filter: &Filter,
    enough: u64,
    limits: QueryLimits,
    stop: &Stop,
) -> Result<Values> {
    let cannot = || Error::store("run the filter in a process of its own");
    let memory = match limits.filter_memory_bytes {
        0 => 0,
        memory => memory.saturating_add(output.len().min(MAX_VALUE_BYTES) * MEMORY_PER_BYTE),
    };
    // On Linux this is the running program, even if its file has been replaced since.
    let running = Path::new("/proc/self/exe");
    let program =
        if running.exists() { running.to_owned() } else { std::env::current_exe().map_err(cannot())? };
    let mut child = Command::new(program)
        .arg("filter")
        .arg(format!("--memory={memory}"))
        .arg(format!("--seconds={}", limits.timeout_seconds))
        .arg("--root")
        .arg(root)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(cannot())?;
    let job = Job { handle: output.record().handle.clone(), filter: filter.clone(), enough };
    let job = serde_json::to_vec(&job).map_err(|error| cannot()(error.into()))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, answered) = mpsc::channel();
    let exchange = move || {
        let mut answer = Vec::new();
        let written = stdin.map(|mut stdin| stdin.write_all(&job));
        let read = stdout.map(|mut stdout| stdout.read_to_end(&mut answer));
        let _ = sender.send((written.transpose().and(read.transpose())).map(|_| answer));
    };
    let answer = thread::scope(|scope| {
        let exchanging = thread::Builder::new().spawn_scoped(scope, exchange);
        let answer = match exchanging {
            Err(error) => Some(Err(error)),
            Ok(_) => loop {
                match answered.recv_timeout(POLL_INTERVAL) {
                    Ok(answer) => break Some(answer),
                    Err(_) if stop.is_raised() => break None,
                    Err(_) => {}
                }
            },
        };
        if !matches!(answer, Some(Ok(_))) {
            let _ = child.kill();
        }
        answer
    });
    let ended = child.wait().map_err(cannot())?;
    let stopped = |why: String| Values {
        values: Vec::new(),
        total: Total::AtLeast(0),
        ended: Ended::Stopped { why: format!("the filter was stopped: {why}") },
    };
    let Some(answer) = answer else {
        return Ok(stopped(stop.why().unwrap_or("its caller ended it").to_owned()));
    };
    let answer = answer.map_err(cannot())?;
    if !ended.success() {
        let mib = memory / (1024 * 1024);
        return Ok(stopped(match memory {
            0 => format!("its process ended early ({ended})"),
            _ => format!("it takes more than {mib} MiB of memory, which query.filter_memory_bytes sets"),
        }));
    }
    match serde_json::from_slice(&answer).map_err(|error| cannot()(error.into()))? {
        Answer::Values(values) => Ok(values),
        Answer::BadQuery(why) => Err(Error::BadQuery(why)),
        Answer::Failed(why) => Err(cannot()(std::io::Error::other(why))),
    }
}
