//! `forebay session`: run an agent in a session of its own, which ends when the agent does.

use crate::capture::Running;
use crate::context::{Context, Outcome, random};
use crate::error::CliError;
use crate::launch::{is_short_of_files, run_bare};
use crate::print;
use forebay::settings::Keep;
use forebay::store::disk::{DiskStore, RunFolder, run_name};
use forebay::{Session, Timestamp};
use std::time::Duration;
use std::{
    ffi::OsString,
    process::{Command, ExitCode},
};

/// Run an agent in a session of its own.
///
/// The agent keeps the terminal, its streams and its exit status. FOREBAY_ROOT, FOREBAY_SESSION and FOREBAY_RETENTION_MODE
/// are set for it, so every `forebay` that it starts uses this session. While it runs, no output of the session is removed.
/// When it ends, mode `keep` leaves the outputs to `forebay clean`, mode `session` removes the session, and mode `process`
/// removes the folder in which the outputs were stored from the start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay session -- my-agent --model big
  forebay session --retention process -- my-agent     leave nothing when it ends
  forebay session --session ticket-17 -- my-agent     continue an earlier session")]
pub(crate) struct Args {
    /// Keep or remove the outputs when the agent ends
    #[arg(long, value_enum, value_name = "MODE")]
    retention: Option<Mode>,
    /// Agent and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "AGENT")]
    program: Vec<OsString>,
}

/// Retention mode as typed on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Mode {
    /// Remove the session when the agent ends
    Session,
    /// Store outputs in a folder of their own, and remove it when the agent ends
    Process,
    /// Keep outputs until they are too old or too many
    Keep,
}

/// Time in which the outputs of a session that ends must be in the shared store. After that they stay on this machine.
const SHARE_WITHIN: Duration = Duration::from_secs(30);

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
    // An error here is left to the next sweep; the agent must not wait.
    let _ = context.store.sweep_runs(now, false);
    // The agent runs even if the store fails.
    let warn = |error: forebay::Error| print::warning(&CliError::from(error));
    let run_folder = match mode {
        Keep::Process => RunFolder::new(context.store.root(), pid, now, random()?).map_err(warn).ok(),
        Keep::Session | Keep::Keep => None,
    };
    // Without a separate folder, only the session ends with the agent.
    let mode = if run_folder.is_none() && mode == Keep::Process { Keep::Session } else { mode };
    let store = context.store.at(run_folder.as_ref().map_or(context.store.root(), RunFolder::path));
    let session = match &context.named {
        Some(session) => session.clone(),
        None => fresh(&context.folder, &run_name(pid, now, random()?)),
    };
    // The agent runs even without the lock. A sweep may then remove old outputs or those beyond the size limit.
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
        match context.shared.as_ref().map(|shared| shared.share_session(&store, &session, SHARE_WITHIN)) {
            Some(Err(error)) => print::warning(&error),
            Some(Ok(())) | None => end(&store, &session),
        }
    }
    drop(run_folder);
    Ok(ExitCode::from(u8::try_from(ended?.status() & 0xff).unwrap_or(1)))
}

/// A new session, named after the current folder.
fn fresh(folder: &Session, run: &str) -> Session {
    // The name of the folder's own session ends with a hash, which is left out.
    let name = folder.as_str().rsplit_once('-').map_or(folder.as_str(), |(name, _)| name);
    Session::safe(&format!("{name}-{run}"))
}

/// Removes a session that has ended, unless another agent uses it or one of its outputs is in use.
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
