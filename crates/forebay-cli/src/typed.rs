//! The command line as it was typed, without flags that must not stop a wrapped program.

use crate::commands::Cli;
use crate::error::CliError;
use crate::print;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// Commands that run another program, which must run whatever the flags are.
const WRAPPING: [&str; 3] = ["run", "session", "mcp"];

/// Flags that may be dropped from these commands. They change only limits, the view or the place.
const DROPPED: [&str; 11] = [
    "--root",
    "--session",
    "--agent",
    "--budget",
    "--preset",
    "--calls",
    "--context-window",
    "--tool-response-max-bytes",
    "--timeout",
    "--max-message",
    "--retention",
];

/// Parses the command line, or ends the process with the message of what is wrong; a hook ends with the status that is
/// returned.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    loop {
        match Cli::try_parse_from(&args) {
            Ok(cli) => return Ok(cli),
            Err(error) if wraps(&args) && drop_value(&mut args, &error) => {}
            Err(error) if is_hook(&args) && error.use_stderr() => {
                // A host takes any other status for a word on its tool.
                let _ = error.print();
                return Err(ExitCode::SUCCESS);
            }
            Err(error) => error.exit(),
        }
    }
}

/// Whether an agent program runs this as its hook.
fn is_hook(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|command| command == "hook")
}

/// Whether the command runs another program, as far as its arguments show.
fn wraps(args: &[OsString]) -> bool {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(args);
    matches.is_ok_and(|matches| matches.subcommand_name().is_some_and(|name| WRAPPING.contains(&name)))
}

/// Takes out a flag with a wrong value and reports it; `false` if something else is wrong.
fn drop_value(args: &mut Vec<OsString>, error: &clap::Error) -> bool {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (ErrorKind::ValueValidation | ErrorKind::InvalidValue, Some(flag), Some(value)) =
        (error.kind(), text(ContextKind::InvalidArg), text(ContextKind::InvalidValue))
    else {
        return false;
    };
    let flag = flag.split([' ', '=']).next().unwrap_or_default();
    if !DROPPED.contains(&flag) {
        return false;
    }
    let is = |arg: &OsString, text: &str| arg.to_string_lossy() == text;
    // What is wrong is ours, so it comes before the wrapped program: the first place is the one.
    let joined = format!("{flag}={value}");
    let found = (1..args.len()).find_map(|at| match args.get(at + 1) {
        Some(next) if is(&args[at], flag) && is(next, value) => Some(at..at + 2),
        _ if is(&args[at], &joined) => Some(at..at + 1),
        _ => None,
    });
    let Some(found) = found else { return false };
    args.drain(found);
    let why = match (std::error::Error::source(error), error.get(ContextKind::ValidValue)) {
        (Some(source), _) => source.to_string(),
        (None, Some(ContextValue::Strings(valid))) if !valid.is_empty() => {
            format!("not one of {}", valid.join(", "))
        }
        _ => "not a value of this flag".to_owned(),
    };
    print::warning(&CliError::usage(format!("{flag} {value:?}: {why}")));
    true
}
