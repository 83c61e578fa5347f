//! `forebay scan`: where stored outputs have secrets, without their values.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print::{self, grouped};
use forebay::text::count::count;
use forebay::{FoundSecret, Handle, Session, State};
use serde_json::json;
use std::process::ExitCode;

/// List the secrets in stored outputs, without their values.
///
/// Searches the stored bytes, whatever the setting `secrets.mode` is. Without a handle it searches the outputs of the
/// session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay scan                     the outputs of this session
  forebay scan HANDLE
  forebay scan --all --json | jq -r .handle | sort -u
  forebay clean --with-secrets     remove the outputs that have some")]
pub(crate) struct Args {
    /// Handle of an output
    #[arg(conflicts_with = "all")]
    handle: Option<String>,
    /// Search the outputs of all sessions
    #[arg(long)]
    all: bool,
}

/// An output in which secrets were found.
pub(crate) struct Found {
    handle: Handle,
    bytes: u64,
    growing: bool,
    pub(crate) secrets: Vec<FoundSecret>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let handles = match &args.handle {
        Some(handle) => vec![context.find(handle)?],
        None if args.all => handles(context, &context.store().sessions()?)?,
        None => handles(context, std::slice::from_ref(&context.session))?,
    };
    let found = search(context, &handles)?;
    if context.json {
        for Found { handle, secrets, .. } in &found {
            for secret in secrets {
                let mut value = json!(secret);
                value["handle"] = json!(handle.to_string());
                print::json(&value)?;
            }
        }
        return Ok(ExitCode::from(DONE));
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .flat_map(|found| found.secrets.iter().map(|secret| row(&found.handle, secret)))
        .collect();
    if !rows.is_empty() {
        let head = ["HANDLE", "LINE", "SECRET", "TAG", "FINGERPRINT"];
        print::out(print::table(&head, &[false, true, false, false, false], &rows).as_bytes())?;
    }
    let searched = count("output", handles.len() as u64);
    let total = count("secret", rows.len() as u64);
    print::err(&format!("{total} in {} of {searched}\n", grouped(found.len() as u64)));
    Ok(ExitCode::from(DONE))
}

fn row(handle: &Handle, secret: &FoundSecret) -> Vec<String> {
    let FoundSecret { line, kind, tag, fingerprint, .. } = secret;
    vec![handle.short(), grouped(*line), kind.clone(), format!("#{tag}"), fingerprint.clone()]
}

/// Handles of all outputs of some sessions.
fn handles(context: &Context, sessions: &[Session]) -> Result<Vec<Handle>, CliError> {
    let mut handles = Vec::new();
    for session in sessions {
        handles.extend(context.store().list(session)?.into_iter().map(|record| record.handle));
    }
    Ok(handles)
}

/// Outputs of some sessions that have secrets.
pub(crate) fn search_sessions(context: &Context, sessions: &[Session]) -> Result<Vec<Found>, CliError> {
    search(context, &handles(context, sessions)?)
}

/// Outputs among `handles` that have secrets.
fn search(context: &Context, handles: &[Handle]) -> Result<Vec<Found>, CliError> {
    let masking = context.scanning();
    let mut found = Vec::new();
    for handle in handles {
        // A sweep may have removed an output.
        let Ok(output) = context.store().open(handle) else { continue };
        let output = output.masked_by(&masking);
        let secrets = output.found_secrets()?;
        if !secrets.is_empty() {
            let growing = output.record().state == State::Growing;
            found.push(Found { handle: handle.clone(), bytes: output.len(), growing, secrets });
        }
    }
    Ok(found)
}

/// Removes the outputs that have secrets, of the named session or of all.
pub(crate) fn remove(context: &Context, dry_run: bool) -> Outcome {
    let sessions = match &context.named {
        Some(session) => vec![session.clone()],
        None => context.store().sessions()?,
    };
    let found = search_sessions(context, &sessions)?;
    let (mut removed, mut bytes, mut stay) = (0u64, 0, 0u64);
    for output in &found {
        if output.growing {
            stay += 1;
            continue;
        }
        if !dry_run {
            context.store().delete(&output.handle)?;
        }
        (removed, bytes) = (removed + 1, bytes + output.bytes);
        if context.json {
            print::json(&json!({
                "handle": output.handle.to_string(), "bytes": output.bytes, "secrets": output.secrets.len(),
                "removed": !dry_run,
            }))?;
        } else {
            print::out(
                format!("{}  {}\n", output.handle.short(), count("secret", output.secrets.len() as u64))
                    .as_bytes(),
            )?;
        }
    }
    let verb = if dry_run { "would be removed" } else { "removed" };
    let growing = if stay > 0 { format!("; {stay} still growing and left") } else { String::new() };
    print::err(&format!("{} {verb}, {}{growing}\n", count("output", removed), print::bytes(bytes)));
    Ok(ExitCode::from(DONE))
}
