//! `forebay mirror`: shows and copies outputs of this machine that are not in the shared store yet.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::print::{self, grouped};
use crate::shared::{Shared, origin};
use crate::units;
use forebay::Timestamp;
use forebay_store::{Fared, Mirror, MirrorFolder, Queue, SharedStore};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Copy outputs of this machine to the shared store.
///
/// Every command writes to the local disk first, and a process in the background takes what it wrote to the shared store,
/// so a database that is away stops no command. The commands here show what is left, and take it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay mirror status          outputs that are not shared yet, and why
  forebay mirror flush           share everything now, before this machine is shut down
  forebay mirror run             share new outputs as a service, with store.mirror = \"off\"")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show which outputs are not shared yet
    Status,
    /// Compare both stores, and return when every finished output is shared
    Flush(FlushArgs),
    /// Share new outputs until stopped
    Run(RunArgs),
}

#[derive(Debug, clap::Args)]
struct FlushArgs {
    /// Retry for this time if the shared store is unreachable
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration)]
    patience: Duration,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// End when there was nothing to share for this time; default: never
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    idle: Option<Duration>,
}

/// Pause between two attempts to open an unreachable shared store: the first and the longest.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Time after which a mirror in the background gives up on an unreachable shared store. The next command starts
/// another.
const GIVE_UP: Duration = Duration::from_secs(600);

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let Some(shared) = &context.shared else { return Err(not_set()) };
    match &args.command {
        Action::Status => status(context, shared),
        Action::Flush(args) => flush(context, shared, args.patience),
        Action::Run(args) => keep_up(context, shared, args.idle),
    }
}

/// The error for a missing shared store.
pub(crate) fn not_set() -> CliError {
    CliError::usage("no shared store is set").hint(
        "set store.database, such as FOREBAY_STORE_DATABASE=postgres://forebay@db.example.com/outputs; \
         docs/shared.md shows how",
    )
}

/// Opens the shared store. Retries for the time `patience` if it is unreachable.
pub(crate) fn open_patiently(shared: &Shared, patience: Duration) -> Result<SharedStore, CliError> {
    let begun = Instant::now();
    loop {
        match shared.open() {
            Ok(store) => return Ok(store),
            Err(error) if begun.elapsed() >= patience || !error.may_pass() => {
                return Err(CliError::not_there(error.to_string()));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn status(context: &Context, shared: &Shared) -> Outcome {
    let folder = MirrorFolder::of(context.store.root());
    let (fared, is_served) = (folder.fared(), folder.is_served());
    let store = shared.open().map_err(|error| {
        let noted = folder.sessions().map_or(0, |sessions| sessions.len() as u64);
        let s = if noted == 1 { "" } else { "s" };
        CliError::not_there(format!(
            "{error}; {} session{s} of this machine may have more to share",
            grouped(noted)
        ))
    })?;
    let queue = Mirror::new(&context.store, &store, origin(context.store.root())?).status()?;
    tell(context, &queue, &fared, is_served)?;
    Ok(ExitCode::from(if queue.outputs == 0 { DONE } else { NOT_THERE }))
}

fn flush(context: &Context, shared: &Shared, patience: Duration) -> Outcome {
    let begun = Instant::now();
    let store = open_patiently(shared, patience)?;
    let mut mirror = Mirror::new(&context.store, &store, origin(context.store.root())?);
    let queue = loop {
        match mirror.flush(patience.saturating_sub(begun.elapsed())) {
            // A mirror in the background may be at work with some of them.
            Ok(queue) if queue.outputs == queue.growing || begun.elapsed() >= patience => break queue,
            Err(error) if begun.elapsed() >= patience => return Err(error.into()),
            _ => thread::sleep(PAUSE),
        }
    };
    store.catch_up()?;
    let folder = MirrorFolder::of(context.store.root());
    tell(context, &queue, &Fared::default(), folder.is_served())?;
    Ok(ExitCode::from(if queue.outputs == queue.growing { DONE } else { NOT_THERE }))
}

/// Shares new outputs until it is stopped. Only one process per root does so: a service waits for its turn, a mirror
/// in the background ends.
fn keep_up(context: &Context, shared: &Shared, idle: Option<Duration>) -> Outcome {
    let folder = MirrorFolder::of(context.store.root());
    let cannot = |error: std::io::Error| {
        CliError::not_there(format!("cannot write below {}: {error}", context.store.root().display()))
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone()).map_err(cannot)?;
    }
    // A session noted between the last check and the release of the lock is found by the next check.
    loop {
        let Some(serving) = folder.serve().map_err(cannot)? else {
            if idle.is_some() || stop.load(Ordering::Relaxed) {
                return Ok(ExitCode::from(DONE));
            }
            // A mirror that a command has started ends when there is nothing to share.
            thread::sleep(PAUSE);
            continue;
        };
        let (mut pause, begun) = (PAUSE, Instant::now());
        let store = loop {
            match shared.open() {
                Ok(store) => break store,
                Err(error) => {
                    let failures = serving.fared().failures + 1;
                    serving.failed(error.to_string(), failures).map_err(cannot)?;
                    let is_over = idle.is_some() && begun.elapsed() >= GIVE_UP;
                    if is_over || !error.may_pass() || stop.load(Ordering::Relaxed) {
                        return Err(CliError::not_there(error.to_string()));
                    }
                    if idle.is_none() {
                        print::err(&format!("forebay: {error}; trying again\n"));
                    }
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        };
        if idle.is_none() {
            print::err(&format!("forebay: sharing outputs in {}\n", shared.place()));
        }
        let mut mirror = Mirror::new(&context.store, &store, origin(context.store.root())?);
        let patience = idle.map(|_| GIVE_UP);
        mirror.keep_up(&serving, idle, patience, &stop)?;
        drop(serving);
        let is_stopped = stop.load(Ordering::Relaxed);
        if is_stopped || folder.sessions().map_err(cannot)?.is_empty() || folder.fared().failures > 0 {
            return Ok(ExitCode::from(DONE));
        }
    }
}

fn tell(context: &Context, queue: &Queue, fared: &Fared, is_served: bool) -> Result<(), CliError> {
    let lag = queue.oldest.map(|oldest| Timestamp::now().duration_since(oldest).as_secs().max(0));
    if context.json {
        let renamed = queue.renamed.iter().map(|(here, there)| json!([here.to_string(), there.to_string()]));
        return print::json(&json!({
            "outputs": queue.outputs, "growing": queue.growing, "bytes": queue.bytes, "lag_seconds": lag,
            "renamed": renamed.collect::<Vec<_>>(),
            "differ": queue.differ.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "mirror_running": is_served, "failures": fared.failures, "error": fared.error,
            "reached": fared.reached.map(|at| at.to_string()),
        }));
    }
    let mut text = match (queue.outputs, lag) {
        (0, _) | (_, None) => "everything is shared\n".to_owned(),
        (outputs, Some(lag)) => {
            let growing = match queue.growing {
                0 => String::new(),
                growing => format!(", {} of them growing", grouped(growing)),
            };
            let s = if outputs == 1 { "" } else { "s" };
            let bytes = print::bytes(queue.bytes);
            format!(
                "{} output{s}{growing}, {bytes}, not shared; the oldest call was {} s ago\n",
                grouped(outputs),
                grouped(lag.unsigned_abs())
            )
        }
    };
    for (here, there) in &queue.renamed {
        text.push_str(&format!(
            "{here} is shared as {there}: its name belongs to another machine's output\n"
        ));
    }
    for handle in &queue.differ {
        text.push_str(&format!(
            "{handle} stays here: the shared store has another output of the same call\n"
        ));
    }
    if let Some(error) = &fared.error {
        let times = if fared.failures == 1 {
            "once".to_owned()
        } else {
            format!("{} times", grouped(fared.failures))
        };
        text.push_str(&format!("the mirror has failed {times}: {error}\n"));
    }
    if queue.outputs > 0 && !is_served {
        text.push_str("no mirror is running: `forebay mirror flush` takes them\n");
    }
    print::out(text.as_bytes())
}
