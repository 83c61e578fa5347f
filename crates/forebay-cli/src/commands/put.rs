//! `forebay put`: store an output made elsewhere and print a view of it.

use crate::args::{CallArgs, Shown, Waits};
use crate::commands::clean;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE, STORE};
use crate::print;
use crate::progress::Watched;
use forebay::{Exit, MemoryStore, Output, State, Store, Timestamp};
use forebay_server::MAX_LATENCY_MS;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

/// Store an output made elsewhere and print a view of it.
///
/// A small output is printed unchanged. Both are stored. Pass several outputs together if the model gets them in one turn:
/// if its context window is known, they are fitted into it together.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay put build.log
  curl -s https://example.org/api | forebay put --tool fetch --args '{\"url\": \"https://example.org/api\"}'
  forebay put --json --budget 800 --call-id toolu_01AbC result.json
  forebay put --dry-run huge.log           what the model would get; stores nothing
  forebay put one.txt two.txt three.txt    the results of one turn
  forebay put --wait report.json           returns when other machines can read it")]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,
    #[command(flatten)]
    pub(crate) shown: Shown,
    /// Exit status of the command that printed the output; other than 0 marks a failed call
    #[arg(long, value_name = "CODE")]
    exit: Option<u8>,
    /// Duration of the call, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=MAX_LATENCY_MS))]
    latency: Option<u64>,
    #[command(flatten)]
    waits: Waits,
    /// Print what the model would get, and store nothing
    #[arg(long)]
    dry_run: bool,
    /// Files that hold the outputs; `-` or none reads standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Args {
    /// Whether it stores the outputs.
    pub(crate) fn keeps(&self) -> bool {
        !self.dry_run
    }
}

pub(crate) fn run(mut args: Args, context: &Context) -> Outcome {
    if args.files.is_empty() {
        args.files.push("-".into());
    }
    if args.files.len() > 1 && args.call.call_id.is_some() {
        return Err(CliError::usage("--call-id names one output, and there are several files"));
    }
    // All sources are opened before anything is stored, so that a mistyped name leaves nothing behind.
    let sources = args.files.iter().map(|file| source(file)).collect::<Result<Vec<_>, _>>()?;
    if !args.dry_run {
        context.can_keep()?;
        clean::now_and_then(context);
    }
    let memory = MemoryStore::default();
    let store: &dyn Store = if args.dry_run { &memory } else { context.store() };
    let mut outputs = Vec::new();
    for source in sources {
        let mut call = context.call(args.call.clone(), "put", None)?;
        // Accounting measures from the call to the end of its output.
        call.at -= Duration::from_millis(args.latency.unwrap_or(0));
        let exit = args.exit.map(|code| Exit::Code(code.into()));
        let kept = forebay::keep_ended(store, &call, &mut Watched::new(source), exit, &Timestamp::now)?;
        outputs.push(kept.on(&context.surface));
    }
    let all: Vec<&Output> = outputs.iter().collect();
    let replies = if args.dry_run {
        forebay::preview_all(&all, &context.settings, context.session_outputs().room()?)?
    } else {
        context.session_outputs().reply_to_all(&all, &context.settings)?
    };
    let mut code = DONE;
    for ((output, reply), file) in outputs.iter().zip(&replies).zip(&args.files) {
        if outputs.len() > 1 && !context.json {
            print::out(format!("==> {} <==\n", file.display()).as_bytes())?;
        }
        context.give(store, output, reply)?;
        code = code.max(told(output));
    }
    if let Some(patience) = args.waits.wait.filter(|_| !args.dry_run) {
        for output in &outputs {
            context.wait_until_shared(output, patience)?;
        }
    }
    Ok(ExitCode::from(code))
}

/// Prints what is wrong with a stored output; returns the exit code.
fn told(output: &Output) -> u8 {
    if let Some(lost) = &output.record().lost {
        print::err(&format!("forebay: {} bytes could not be kept: {}\n", lost.bytes, lost.why));
        return STORE;
    }
    if let State::CutShort(why) = &output.record().state {
        print::err(&format!("forebay: {why}; the bytes before that are stored\n"));
        return NOT_THERE;
    }
    DONE
}

fn source(path: &Path) -> Result<Box<dyn Read>, CliError> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let cannot = |error: io::Error| CliError::not_there(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_dir() {
        Err(CliError::usage(format!("{} is a folder, not an output", path.display())))
    } else {
        Ok(Box::new(file))
    }
}
