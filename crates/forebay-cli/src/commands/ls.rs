//! `forebay ls`: the outputs of a session.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::hosts;
use crate::print::{self, grouped};
use forebay::forms;
use forebay::{Record, Session, State, Timestamp};
use std::process::ExitCode;

/// List the outputs of a session, newest last.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay ls
  forebay ls --all --json | jq -r 'select(.complete | not) | .handle'")]
pub(crate) struct Args {
    /// List the outputs of all sessions
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if args.all && hosts::of_shell().is_some() {
        return Err(CliError::not_there("an agent lists only the outputs of its own session")
            .hint("leave out --all, or run the command in a shell of your own"));
    }
    let sessions: Vec<Session> =
        if args.all { context.store().sessions()? } else { vec![context.session.clone()] };
    let mut records = Vec::new();
    for session in &sessions {
        let listed = context.store().list(session)?;
        records.extend(listed.iter().map(|record| context.settings.masking.record(record)));
    }
    if context.json {
        for record in &records {
            print::json(&forms::record(record, context.store()))?;
        }
    } else if records.is_empty() {
        let hint = if args.all { "" } else { "; `forebay ls --all` looks in all sessions" };
        print::err(&format!(
            "nothing is kept in {}{hint}\n",
            if args.all { "any session".to_owned() } else { format!("session {}", context.session) }
        ));
    } else {
        print::out(listing(&records).as_bytes())?;
    }
    Ok(ExitCode::from(DONE))
}

fn listing(records: &[Record]) -> String {
    let rows: Vec<Vec<String>> = records
        .iter()
        .map(|record| {
            vec![
                record.handle.short(),
                record.call.full_name(),
                print::bytes(record.kept()),
                if record.state == State::Growing { "…".into() } else { grouped(record.size.lines) },
                record.kind.to_string(),
                ended(record),
                age(record.call.at),
                shortened(record),
            ]
        })
        .collect();
    let right = [false, false, true, true, false, false, true, false];
    print::table(&["HANDLE", "TOOL", "SIZE", "LINES", "KIND", "STATE", "AGE", "CALL"], &right, &rows)
}

/// State of an output in one or two words.
pub(crate) fn ended(record: &Record) -> String {
    match (&record.state, record.exit) {
        (State::Growing, _) => "growing".to_owned(),
        (State::CutShort(_), _) => "cut short".to_owned(),
        (State::Complete, Some(exit)) => format!("exit {}", exit.status()),
        (State::Complete, None) => "complete".to_owned(),
    }
}

fn age(at: Timestamp) -> String {
    let seconds = Timestamp::now().as_second().saturating_sub(at.as_second()).max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The call, shortened to fit on a line.
fn shortened(record: &Record) -> String {
    let text = record.call.argument(&["command"]).or_else(|| record.call.args.clone()).unwrap_or_default();
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(48).collect();
    if line.chars().count() < text.chars().count() { format!("{line}…") } else { line }
}
