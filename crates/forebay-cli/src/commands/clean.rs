//! `forebay clean`: remove outputs by age and size, or a whole session.

use crate::commands::scan;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::print::{self, grouped};
use crate::units;
use forebay::settings::Keep;
use forebay::store::disk::{Gone, Report, Sweep};
use forebay::store::retention::Rules;
use forebay::{DiskStore, Timestamp};
use serde_json::json;
use std::{
    collections::BTreeMap,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

/// Remove outputs by age and size, or a whole session.
///
/// Follows the settings `retention.*`. A flag overrides its setting, and 0 switches a rule off. Outputs that are growing, in
/// use or part of an open session stay. `run` and `put` clean by themselves once an hour. If the root was not cleaned for
/// more than a day, the clock may have jumped: then no output is removed by age, unless you give --older-than or clean
/// again an hour later.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay clean --dry-run                        list what would be removed
  forebay clean --older-than 7d --max-bytes 2GiB
  forebay clean --session build-17               only outputs of this session
  forebay clean --with-secrets --dry-run         list the outputs that have secrets
  forebay clean --session build-17 --everything  the session and all its outputs
  forebay clean --shared --older-than 30d        from the store that machines share")]
pub(crate) struct Args {
    /// List what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove outputs older than this (7d, 12h)
    #[arg(long, value_name = "TIME", value_parser = units::age)]
    older_than: Option<Duration>,
    /// Remove the oldest outputs until the rest has at most this size (500MB, 2GiB)
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    max_bytes: Option<u64>,
    /// Remove the oldest outputs until the disk has this much free (1GB)
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    min_free: Option<u64>,
    /// Remove the outputs in which secrets are found
    #[arg(long, conflicts_with_all = ["older_than", "max_bytes", "min_free", "everything"])]
    with_secrets: bool,
    /// Remove the whole session named by --session, with its events
    #[arg(long, conflicts_with_all = ["older_than", "max_bytes", "min_free"])]
    everything: bool,
    /// Remove from the store that machines share, not from this machine
    #[arg(long, conflicts_with_all = ["with_secrets", "min_free"])]
    shared: bool,
}

/// Shortest time between two automatic sweeps of a root.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if args.with_secrets {
        return scan::remove(context, args.dry_run);
    }
    let mut report =
        if args.shared { clean_shared(args, context) } else { clean(args, context, &context.store) };
    if let Some(both) = context.with_fallback.as_ref().filter(|_| !args.shared) {
        // Outputs that were stored in the fallback while the root was not writable follow the same rules.
        report = joined(report, clean(args, context, &both.fallback));
    }
    let report = report?;
    if context.json {
        print_json(&report, args.dry_run)?;
    } else {
        if !report.gone.is_empty() {
            print::out(table(&report.gone).as_bytes())?;
        }
        print::err(&summary(&report, args.dry_run));
        print::err(&notes(&report, context));
    }
    let stays = args.everything && (report.foreign || !report.stays.is_empty());
    Ok(ExitCode::from(if stays { NOT_THERE } else { DONE }))
}

/// Cleans the store that machines share.
fn clean_shared(args: &Args, context: &Context) -> Result<Report, CliError> {
    let Some(shared) = &context.shared else {
        return Err(
            CliError::usage("no shared store is set").hint("set store.database; docs/shared.md shows how")
        );
    };
    if args.everything && context.named.is_none() {
        return Err(CliError::usage("--everything removes a whole session: name it with --session"));
    }
    let rules = Rules { min_free: None, ..rules(args, context) };
    let mut report = Report::default();
    report.gone = shared.clean(&rules, context.named.as_ref(), args.everything, args.dry_run)?;
    Ok(report)
}

/// Cleans a single root.
fn clean(args: &Args, context: &Context, store: &DiskStore) -> Result<Report, CliError> {
    if args.everything {
        return everything(args, context, store);
    }
    let now = Timestamp::now();
    // Only a sweep of the whole root is recorded as a sweep.
    let look = args.dry_run || context.named.is_some();
    Ok(store.sweep(&Sweep {
        rules: rules(args, context),
        only: context.named.clone(),
        now,
        by_age: args.older_than.is_some() || store.counts_ages(now, look)?,
        free: store.free().ok(),
        dry_run: args.dry_run,
    })?)
}

/// Joins the reports on a root and its fallback. A failure of one does not hide the other.
fn joined(root: Result<Report, CliError>, fallback: Result<Report, CliError>) -> Result<Report, CliError> {
    match (root, fallback) {
        (Ok(mut report), Ok(more)) => {
            report.gone.extend(more.gone);
            report.stays.extend(more.stays);
            report.sessions.extend(more.sessions);
            report.leftovers += more.leftovers;
            report.runs.extend(more.runs);
            report.foreign |= more.foreign;
            report.held_back += more.held_back;
            report.out_of_reach = report.out_of_reach.or(more.out_of_reach);
            Ok(report)
        }
        (Ok(report), Err(_)) | (Err(_), Ok(report)) => Ok(report),
        (Err(error), Err(_)) => Err(error),
    }
}

/// Starts a sweep in a separate process if one is due, so that no command waits for it.
pub(crate) fn now_and_then(context: &Context) {
    if context.settings.retention.mode != Keep::Keep {
        return;
    }
    // An error here must not delay the command.
    if !matches!(context.store.take_turn(Timestamp::now(), SWEEP_EVERY), Ok(true)) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut sweep = Command::new(program);
    sweep.arg("clean").arg("--root").arg(context.store.root());
    sweep.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C is meant for the command.
    std::os::unix::process::CommandExt::process_group(&mut sweep, 0);
    let _ = sweep.spawn();
}

fn rules(args: &Args, context: &Context) -> Rules {
    let set = Rules::from(&context.settings.retention);
    Rules {
        max_age: args.older_than.map_or(set.max_age, |age| Some(age).filter(|age| !age.is_zero())),
        max_bytes: args.max_bytes.map_or(set.max_bytes, |bytes| Some(bytes).filter(|&bytes| bytes > 0)),
        min_free: args.min_free.map_or(set.min_free, |bytes| Some(bytes).filter(|&bytes| bytes > 0)),
    }
}

fn everything(args: &Args, context: &Context, store: &DiskStore) -> Result<Report, CliError> {
    let Some(session) = &context.named else {
        return Err(CliError::usage("--everything removes a whole session: name it with --session"));
    };
    if !store.root().join(session.as_str()).is_dir() {
        return Err(CliError::not_there(format!("there is no session {session}"))
            .hint("`forebay ls --all` lists the outputs of all sessions"));
    }
    if store.is_open(session) {
        return Err(CliError::not_there(format!("session {session} is open: a process still works in it"))
            .hint("it can be removed when that process has ended"));
    }
    Ok(store.remove_session(session, Timestamp::now(), args.dry_run)?)
}

/// Table of removed outputs, a row for each session and reason.
fn table(gone: &[Gone]) -> String {
    let mut groups: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for gone in gone {
        let key = (gone.handle.session().to_string(), gone.cause.to_string());
        let (outputs, bytes) = groups.entry(key).or_default();
        *outputs += 1;
        *bytes += gone.bytes;
    }
    let rows: Vec<Vec<String>> = groups
        .into_iter()
        .map(|((session, why), (outputs, bytes))| vec![session, grouped(outputs), print::bytes(bytes), why])
        .collect();
    print::table(&["SESSION", "OUTPUTS", "SIZE", "WHY"], &[false, true, true, false], &rows)
}

fn total(gone: &[Gone]) -> u64 {
    gone.iter().map(|gone| gone.bytes).sum()
}

/// `1 output`, `2 outputs`.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number as u64), if number == 1 { one } else { many })
}

fn summary(report: &Report, dry_run: bool) -> String {
    let mut parts = Vec::new();
    if !report.gone.is_empty() {
        let outputs = count(report.gone.len(), "output", "outputs");
        parts.push(format!("{outputs} ({})", print::bytes(total(&report.gone))));
    }
    for (number, one, many) in [
        (report.sessions.len(), "session", "sessions"),
        (report.leftovers as usize, "file of a dead process", "files of dead processes"),
        (report.runs.len(), "run folder of a dead process", "run folders of dead processes"),
    ] {
        if number > 0 {
            parts.push(count(number, one, many));
        }
    }
    let mut text = match (parts.is_empty(), dry_run) {
        (true, _) => "nothing to remove".to_owned(),
        (false, true) => format!("would remove {}", parts.join(", ")),
        (false, false) => format!("removed {}", parts.join(", ")),
    };
    if let Some((_, why)) = report.stays.first() {
        let stays = report.stays.len();
        let (verb, because) = match stays {
            1 => ("stays", why.as_str()),
            _ if report.stays.iter().all(|(_, other)| other == why) => ("stay", why.as_str()),
            _ => ("stay", "they are in use"),
        };
        text.push_str(&format!("; {} {verb}: {because}", count(stays, "output", "outputs")));
    }
    text + "\n"
}

/// Notes on outputs that were not removed, and what to do about them.
fn notes(report: &Report, context: &Context) -> String {
    let mut text = String::new();
    if report.foreign {
        let root = context.store.root().display();
        text.push_str(&format!(
            "forebay: {root} has no .forebay-root and no outputs of Forebay, so nothing of it is touched; \
             name the right root with --root\n"
        ));
    }
    if report.held_back > 0 {
        let outputs =
            count(report.held_back as usize, "output is too old and stays", "outputs are too old and stay");
        text.push_str(&format!(
            "forebay: {outputs}: this root was not swept for more than a day, and the clock may have jumped; \
             clean again in an hour, or name the age with --older-than\n"
        ));
    }
    if let Some(cause) = report.out_of_reach {
        text.push_str(&format!("forebay: {cause}, and to remove every output would not change that\n"));
    }
    text
}

fn print_json(report: &Report, dry_run: bool) -> Result<(), CliError> {
    for gone in &report.gone {
        print::json(&json!({
            "handle": gone.handle.to_string(),
            "bytes": gone.bytes,
            "rule": gone.cause.name(),
            "why": gone.cause.to_string(),
            "removed": !dry_run,
        }))?;
    }
    for (handle, why) in &report.stays {
        print::json(&json!({ "handle": handle.to_string(), "stays": why, "removed": false }))?;
    }
    print::json(&json!({ "total": {
        "outputs": report.gone.len(),
        "bytes": total(&report.gone),
        "stays": report.stays.len(),
        "sessions": report.sessions,
        "leftovers": report.leftovers,
        "runs": report.runs,
        "held_back": report.held_back,
        "out_of_reach": report.out_of_reach.map(|cause| cause.name()),
        "foreign": report.foreign,
        "removed": !dry_run,
    }}))
}
