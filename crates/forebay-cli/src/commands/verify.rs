//! `forebay verify`: checks outputs against their records, and views against their outputs.

use crate::context::{Context, Outcome};
use crate::error::{DONE, NOT_THERE};
use crate::print;
use forebay::{Handle, Session};
use serde_json::json;
use std::process::ExitCode;

/// Verify outputs against their records, and views against their outputs.
///
/// Reads every byte again: size, lines and hash must match the record, every line in a view must come from the output, every
/// gap must have a marker, and every count must be true. The exit code is 1 if a check fails or an output cannot be read.
/// Writes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay verify HANDLE
  forebay verify --all")]
pub(crate) struct Args {
    /// Handle of the output; default: all outputs of the session
    handle: Option<String>,
    /// Verify the outputs of all sessions
    #[arg(long, conflicts_with = "handle")]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let handles: Vec<Handle> = match &args.handle {
        Some(handle) => vec![context.find(handle)?],
        None => {
            let sessions: Vec<Session> =
                if args.all { context.store().sessions()? } else { vec![context.session.clone()] };
            let mut handles = Vec::new();
            for session in &sessions {
                for id in context.store().ids(session, "")? {
                    handles.push(Handle::new(session.clone(), &id)?);
                }
            }
            handles
        }
    };
    let (mut faulty, mut unread) = (0, 0);
    for handle in &handles {
        let (faults, checked) = match forebay::verify_output(context.store(), handle) {
            Ok(faults) => (faults.iter().map(ToString::to_string).collect(), true),
            Err(error) => (vec![error.to_string()], !is_of_the_system(&error)),
        };
        let word = match (faults.is_empty(), checked) {
            (true, _) => "ok     ",
            (false, true) => "FAULTY ",
            (false, false) => "UNREAD ",
        };
        faulty += usize::from(!faults.is_empty() && checked);
        unread += usize::from(!checked);
        if context.json {
            print::json(&json!({
                "handle": handle.to_string(), "ok": faults.is_empty(), "checked": checked, "faults": faults,
            }))?;
        } else if faults.is_empty() {
            print::out(format!("{word} {}\n", handle.short()).as_bytes())?;
        } else {
            print::out(format!("{word} {}: {}\n", handle.short(), faults.join("; ")).as_bytes())?;
        }
    }
    if !context.json {
        let unread_too = if unread == 0 { String::new() } else { format!(", {unread} could not be read") };
        print::err(&format!("{} proved, {faulty} faulty{unread_too}\n", handles.len() - faulty - unread));
    }
    Ok(ExitCode::from(if faulty + unread == 0 { DONE } else { NOT_THERE }))
}

/// Whether an output could not be checked because of a system error. The output may be intact.
fn is_of_the_system(error: &forebay::Error) -> bool {
    matches!(error, forebay::Error::Store { source, .. } if source.raw_os_error().is_some())
}
