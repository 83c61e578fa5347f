//! `forebay filter`: runs one jq filter for `serve` or `mcp`, in a process whose memory and time are limited.
//!
//! Steps and bytes of a filter are counted where it runs, but not every byte that an interpreter takes can be. Here the
//! kernel counts: a filter that takes too much ends its own process, and its caller says so.

use super::Outcome;
use crate::args::Common;
use crate::error::{CliError, DONE};
use crate::print;
use forebay::query::{Ended, Filter, Total, Values};
use forebay::settings::QueryLimits;
use forebay::{DiskStore, Error, Handle, Output, Result, Stop, Store};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The address space of the program itself and of the stack that filters run on.
const BESIDES: u64 = 1536 * 1024 * 1024;

/// A value takes about ten times its text, and up to 256 MiB of text are read as one value.
const PER_BYTE: u64 = 10;
const READ_WHOLE: u64 = 256 * 1024 * 1024;

/// How often the caller's flag is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Run one filter: what to run comes on stdin, and what it gave goes to stdout.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Bytes of memory that it may take; 0 sets no limit
    #[arg(long)]
    memory: u64,
    /// Seconds of computing time that it may take; 0 sets no limit
    #[arg(long)]
    seconds: u64,
}

/// A filter to run.
#[derive(Serialize, Deserialize)]
struct Asked {
    handle: Handle,
    filter: Filter,
    enough: u64,
}

/// Result of the filter.
#[derive(Serialize, Deserialize)]
enum Answer {
    Values(Values),
    /// The query is wrong, and how.
    BadQuery(String),
    /// The output cannot be read, and why.
    Failed(String),
}

/// Runs the filter that comes on stdin.
pub(crate) fn run(args: &Args, common: &Common) -> Outcome {
    limit(args);
    let mut asked = String::new();
    std::io::stdin().read_to_string(&mut asked)?;
    let asked: Asked =
        serde_json::from_str(&asked).map_err(|error| CliError::usage(format!("stdin: {error}")))?;
    let Some(root) = &common.root else { return Err(CliError::usage("--root is missing")) };
    let store: &dyn Store = &DiskStore::new(root);
    let answer = store
        .open(&asked.handle)
        .and_then(|output| forebay::query::values(&output, &asked.filter, asked.enough));
    let answer = match answer {
        Ok(values) => Answer::Values(values),
        Err(Error::BadQuery(why)) => Answer::BadQuery(why),
        Err(error) => Answer::Failed(error.to_string()),
    };
    print::json(&answer)?;
    Ok(ExitCode::from(DONE))
}

/// Limits the memory and the time of this process, before anything else is done.
fn limit(args: &Args) {
    let set = |resource, most: u64| {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    let Args { memory, seconds } = *args;
    set(Resource::Core, 0);
    if memory > 0 {
        set(Resource::As, memory.saturating_add(BESIDES));
    }
    if seconds > 0 {
        // Should its caller be gone, the kernel ends it.
        set(Resource::Cpu, seconds + 1);
    }
}

/// Runs a filter in a process of its own, until it ends or the flag is raised.
pub(crate) fn elsewhere(
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
        memory => memory.saturating_add(output.len().min(READ_WHOLE) * PER_BYTE),
    };
    // On Linux the program that runs, also when its file was replaced since.
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
    let asked = Asked { handle: output.record().handle.clone(), filter: filter.clone(), enough };
    let asked = serde_json::to_vec(&asked).map_err(|error| cannot()(error.into()))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, answered) = mpsc::channel();
    let talk = move || {
        let mut said = Vec::new();
        let written = stdin.map(|mut stdin| stdin.write_all(&asked));
        let read = stdout.map(|mut stdout| stdout.read_to_end(&mut said));
        let _ = sender.send((written.transpose().and(read.transpose())).map(|_| said));
    };
    let said = thread::scope(|scope| {
        let talking = thread::Builder::new().spawn_scoped(scope, talk);
        let said = match talking {
            Err(error) => Some(Err(error)),
            Ok(_) => loop {
                match answered.recv_timeout(LOOK) {
                    Ok(said) => break Some(said),
                    Err(_) if stop.is_raised() => break None,
                    Err(_) => {}
                }
            },
        };
        if !matches!(said, Some(Ok(_))) {
            let _ = child.kill();
        }
        said
    });
    let ended = child.wait().map_err(cannot())?;
    let stopped = |why: String| Values {
        values: Vec::new(),
        total: Total::AtLeast(0),
        ended: Ended::Stopped { why: format!("the filter was stopped: {why}") },
    };
    let Some(said) = said else {
        return Ok(stopped(stop.why().unwrap_or("its caller ended it").to_owned()));
    };
    let said = said.map_err(cannot())?;
    if !ended.success() {
        let mib = memory / (1024 * 1024);
        return Ok(stopped(match memory {
            0 => format!("its process ended early ({ended})"),
            _ => format!("it takes more than {mib} MiB of memory, which query.filter_memory_bytes sets"),
        }));
    }
    match serde_json::from_slice(&said).map_err(|error| cannot()(error.into()))? {
        Answer::Values(values) => Ok(values),
        Answer::BadQuery(why) => Err(Error::BadQuery(why)),
        Answer::Failed(why) => Err(cannot()(std::io::Error::other(why))),
    }
}
