//! `forebay import`: import a session archive.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print::{self, grouped};
use crate::progress::Progress;
use crate::sealing::OpenWith;
use crate::stop::Stop;
use forebay::archive::{Imported, Options, import};
use serde_json::json;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Import a session archive.
///
/// The outputs keep their handles. The whole archive is verified before anything is stored, and a damaged one is refused.
/// Existing outputs stay unchanged; if an existing handle has other bytes, nothing is imported. An encrypted archive is
/// decrypted while it is read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay import session.tar.zst
  forebay import session.tar.zst --dry-run
  forebay import build.tar.zst --as build-of-monday
  ssh elsewhere forebay export --out - | forebay import -
  forebay import session.age --identity key.txt")]
pub(crate) struct Args {
    /// Archive; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Import under the name of another session
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Verify the archive and print what would be added, without storing it
    #[arg(long)]
    dry_run: bool,
    /// Refuse an archive that unpacks to more than this (500MB, 2GiB); default: the free space on the disk
    #[arg(long, value_name = "SIZE", value_parser = crate::units::size)]
    max_bytes: Option<u64>,
    #[command(flatten)]
    open: OpenWith,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let session = args.name.as_deref().map(str::parse).transpose()?;
    let root = context.store.root();
    let mut source = args.open.open(Stop::on_signals(open(args, root)?)?)?;
    let max_bytes = match args.max_bytes {
        Some(max_bytes) => max_bytes,
        None => free(root)?,
    };
    let options = Options { session, dry_run: args.dry_run, max_bytes };
    let mut progress = Progress::new();
    let imported = import(context.store(), &mut source, &options, &mut |done| progress.done(done));
    progress.clear();
    let imported = imported?;
    if context.json {
        let mut value = json!(imported);
        value["dry_run"] = json!(args.dry_run);
        print::json(&value)?;
    } else {
        print::out(told(&imported, args.dry_run).as_bytes())?
    }
    Ok(ExitCode::from(DONE))
}

/// The archive as a file that can be read twice.
fn open(args: &Args, root: &Path) -> Result<File, CliError> {
    let path = &args.file;
    if path.as_os_str() == "-" {
        return spool(&mut io::stdin().lock(), args, root);
    }
    let cannot = |error: io::Error| CliError::not_there(format!("cannot read {}: {error}", path.display()));
    let mut file = File::open(path).map_err(cannot)?;
    let kind = file.metadata().map_err(cannot)?.file_type();
    if kind.is_dir() {
        return Err(CliError::usage(format!("{} is a folder, not an archive", path.display())));
    }
    // A shell passes `<(…)` as a pipe.
    if kind.is_file() { Ok(file) } else { spool(&mut file, args, root) }
}

/// Copies an archive from a pipe into a file that can be read twice.
fn spool(source: &mut dyn Read, args: &Args, root: &Path) -> Result<File, CliError> {
    forebay_server::spool(source, args.max_bytes, root).map_err(|error| {
        CliError::not_there(format!("cannot store the archive in {}: {error}", root.display()))
    })
}

/// Free bytes on the disk of a folder.
fn free(root: &Path) -> Result<u64, CliError> {
    let there = root.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    let disk = rustix::fs::statvfs(there).map_err(io::Error::from)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn told(imported: &Imported, dry_run: bool) -> String {
    let Imported { session, added, already_there, bytes, events_added, .. } = imported;
    let s = |count: u64| if count == 1 { "" } else { "s" };
    let there = match already_there {
        0 => String::new(),
        there => format!(", {} already there", grouped(*there)),
    };
    let (verb, nothing) = if dry_run { ("would be added", "would change") } else { ("added", "is new") };
    if *added == 0 && *events_added == 0 {
        return format!("session {session}: nothing {nothing}{there}\n");
    }
    let events = format!("{} event{}", grouped(*events_added), s(*events_added));
    let outputs = format!("{} output{}, {}", grouped(*added), s(*added), print::bytes(*bytes));
    format!("session {session}: {outputs}, and {events} {verb}{there}\n")
}
