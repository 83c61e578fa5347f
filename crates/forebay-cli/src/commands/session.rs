//! `forebay session`: run an agent in a session of its own, which ends when the agent does.

use crate::capture::Running;
use crate::context::{Context, Outcome, random};
use crate::error::CliError;
use crate::launch::{is_short_of_files, run_bare};
use crate::print;
use forebay::settings::Keep;
use forebay::store::disk::{DiskStore, RunFolder, run_name};
use forebay::{Session, Timestamp};
use std::{
    ffi::OsString,
    process::{Command, ExitCode},
};

/// Run an agent in a session of its own.
///
/// The agent has the terminal, its streams and its exit status for itself; it finds FOREBAY_ROOT, FOREBAY_SESSION and
/// FOREBAY_RETENTION_MODE set, so every `forebay` that it starts works in this session. While it lives, nothing of the
/// session is swept. When it ends: mode `keep` leaves all outputs to `forebay clean`, mode `session` removes the session,
/// and mode `process` keeps the outputs in a folder of their own from the start and removes that.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay session -- my-agent --model big
  forebay session --retention process -- my-agent     nothing is left when it ends
  forebay session --session ticket-17 -- my-agent     go on in a session of yesterday")]
pub(crate) struct Args {
    /// What becomes of the outputs when the agent ends
    #[arg(long, value_enum, value_name = "MODE")]
    retention: Option<Mode>,
    /// The agent and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "AGENT")]
    program: Vec<OsString>,
}

/// When outputs go, as it is typed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Mode {
    /// When the agent ends, all of the session
    Session,
    /// When the agent ends; they stand in a folder of its own
    Process,
    /// When they are too old or too many
    Keep,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let [program, rest @ ..] = &args.program[..] else {
        return Err(CliError::usage("no agent to run"));
    };
    let mode = match args.retention {
        Some(Mode::Session) => Keep::Session,
        Some(Mode::Process) => Keep::Process,
        Some(Mode::Keep) => Keep::Keep,
        None => context.settings.retention.mode,
    };
    let (pid, now) = (std::process::id(), Timestamp::now());
    // What cannot be swept now is swept by the next; the agent need not wait for it.
    let _ = context.store.sweep_runs(now, false);
    // Whatever cannot be had of the store, the agent runs.
    let warn = |error: forebay::Error| print::warning(&CliError::from(error));
    let run_folder = match mode {
        Keep::Process => RunFolder::new(context.store.root(), pid, now, random()?).map_err(warn).ok(),
        Keep::Session | Keep::Keep => None,
    };
    // Without a folder of its own, the session is what ends with the agent.
    let mode = if run_folder.is_none() && mode == Keep::Process { Keep::Session } else { mode };
    let store = context.store.at(run_folder.as_ref().map_or(context.store.root(), RunFolder::path));
    let session = match &context.named {
        Some(session) => session.clone(),
        None => fresh(&context.folder, &run_name(pid, now, random()?)),
    };
    // An agent is worth more than the lock: without it a sweep may remove what is old or too much.
    let unprotected = |error| {
        print::err(&format!("forebay: the session is not protected from being swept: {error}\n"));
    };
    let held = store.hold_open(&session).map_err(unprotected).ok();
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("FOREBAY_ROOT", store.root())
        .env("FOREBAY_SESSION", session.as_str())
        .env("FOREBAY_RETENTION_MODE", mode.to_string());
    let ended = match Running::beside(&mut command) {
        Ok(running) => running.wait().map_err(CliError::from),
        Err(error) if is_short_of_files(&error) => {
            Err(run_bare(&mut command, &CliError::cannot_run(program, &error)))
        }
        Err(error) => Err(CliError::cannot_run(program, &error)),
    };
    if let Some(held) = held {
        store.close(&session, held);
    }
    if mode == Keep::Session {
        end(&store, &session);
    }
    drop(run_folder);
    Ok(ExitCode::from(u8::try_from(ended?.status() & 0xff).unwrap_or(1)))
}

/// A session that no other has, named after the folder that we run in.
fn fresh(folder: &Session, run: &str) -> Session {
    // The folder's own session has a hash at its end, which tells nothing here.
    let name = folder.as_str().rsplit_once('-').map_or(folder.as_str(), |(name, _)| name);
    Session::safe(&format!("{name}-{run}"))
}

/// Removes a session that has ended. Another agent that works in it keeps it, and so does an output in use.
fn end(store: &DiskStore, session: &Session) {
    if store.is_open(session) {
        return;
    }
    let why = match store.remove_session(session, Timestamp::now(), false) {
        Ok(report) => match report.stays.len() {
            0 => return,
            1 => "an output is still in use".to_owned(),
            stays => format!("{stays} outputs are still in use"),
        },
        Err(error) => error.to_string(),
    };
    let flag = format!("--root {}", forebay::shell_word(&store.root().display().to_string()));
    print::err(&format!(
        "forebay: session {session} is not wholly removed: {why}\n\
         hint: forebay clean {flag} --session {session} --everything\n"
    ));
}
