//! `forebay filter`: runs one jq filter for `serve` or `mcp`, in a process with limited memory and time.

use crate::args::Common;
use crate::context::Outcome;
use crate::error::{CliError, DONE};
use crate::filter_process::{Answer, Job};
use crate::print;
use forebay::{DiskStore, Error, Store};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::Read;
use std::process::ExitCode;

/// Address space of the program itself and of the stack for filters.
const OWN_ADDRESS_SPACE: u64 = 1536 * 1024 * 1024;

/// Run one filter from stdin and print its result to stdout.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Maximum bytes of memory; 0 sets no limit
    #[arg(long)]
    memory: u64,
    /// Maximum seconds of computing time; 0 sets no limit
    #[arg(long)]
    seconds: u64,
}

/// Runs the filter from stdin.
pub(crate) fn run(args: &Args, common: &Common) -> Outcome {
    limit(args);
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let job: Job = serde_json::from_str(&text).map_err(|error| CliError::usage(format!("stdin: {error}")))?;
    let Some(root) = &common.root else { return Err(CliError::usage("--root is missing")) };
    let store: &dyn Store = &DiskStore::new(root);
    let answer =
        store.open(&job.handle).and_then(|output| forebay::query::values(&output, &job.filter, job.enough));
    let answer = match answer {
        Ok(values) => Answer::Values(values),
        Err(Error::BadQuery(why)) => Answer::BadQuery(why),
        Err(error) => Answer::Failed(error.to_string()),
    };
    print::json(&answer)?;
    Ok(ExitCode::from(DONE))
}

/// Limits the memory and the time of this process. Must run first.
fn limit(args: &Args) {
    let set = |resource, most: u64| {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    let Args { memory, seconds } = *args;
    set(Resource::Core, 0);
    if memory > 0 {
        set(Resource::As, memory.saturating_add(OWN_ADDRESS_SPACE));
    }
    if seconds > 0 {
        // Without a caller, the kernel ends this process.
        set(Resource::Cpu, seconds + 1);
    }
}
