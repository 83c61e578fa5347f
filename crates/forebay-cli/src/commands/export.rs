//! `forebay export`: all outputs of a session in one file.

use super::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print::{self, grouped};
use crate::progress::Progress;
use crate::stop::Stop;
use forebay::Session;
use forebay::archive::{Exported, export};
use serde_json::json;
use std::{
    fs::{self, OpenOptions},
    io::{self, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Write all outputs of a session into one file.
///
/// The file holds bytes, records, views and events, and `forebay import` gives them back under the same handles. An
/// output that still grows is written as it is now, and says that it was cut short.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay export --out session.tar.zst
  forebay export build-17 --out build-17.tar.zst --force
  forebay export --out - | ssh elsewhere forebay import -")]
pub(crate) struct Args {
    /// The session; this one if it is not said
    #[arg(value_name = "SESSION")]
    name: Option<String>,
    /// The file to write; `-` writes to standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file if there is one
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let session = match &args.name {
        Some(name) => name.parse()?,
        None => context.session.clone(),
    };
    if context.store().ids(&session, "")?.is_empty() {
        let hint = "`forebay ls --all` lists the outputs of all sessions";
        return Err(CliError::not_there(format!("nothing is kept in session {session}")).hint(hint));
    }
    match args.out.as_os_str() == "-" {
        true => to_stdout(&session, context),
        false => to_file(&session, args, context),
    }
}

fn to_stdout(session: &Session, context: &Context) -> Outcome {
    if context.json {
        return Err(CliError::usage("--json and `--out -` both write to standard output"));
    }
    if io::stdout().is_terminal() {
        return Err(CliError::usage("an archive is not for a terminal").hint("send it through a pipe"));
    }
    let exported = write(session, &mut io::stdout().lock(), context)?;
    print::err(&format!("{}\n", told(&exported)));
    Ok(ExitCode::from(DONE))
}

fn to_file(session: &Session, args: &Args, context: &Context) -> Outcome {
    let out = &args.out;
    let there =
        || CliError::not_there(format!("{} is there already", out.display())).hint("`--force` replaces it");
    match fs::metadata(out) {
        // What is no file is not replaced by one, whatever is said.
        Ok(found) if !found.is_file() => {
            let hint = "name a file, or `--out -` for standard output";
            return Err(CliError::usage(format!("{} is not a file", out.display())).hint(hint));
        }
        Ok(_) if !args.force => return Err(there()),
        _ => {}
    }
    let cannot = |error: io::Error| CliError::not_there(format!("cannot write {}: {error}", out.display()));
    let beside = Beside::new(out).map_err(cannot)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside.0).map_err(cannot)?;
    // A signal must not leave half a file.
    let exported = write(session, &mut Stop::on_signals(&file)?, context)?;
    // Whoever deletes the outputs now must not lose them to a power cut.
    file.sync_all().map_err(cannot)?;
    let placed = match args.force {
        true => fs::rename(&beside.0, out),
        // A link is made only where there is nothing; not every disk has links.
        false => match fs::hard_link(&beside.0, out) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(there()),
            Err(_) if fs::symlink_metadata(out).is_ok() => return Err(there()),
            Err(_) => fs::rename(&beside.0, out),
            Ok(()) => Ok(()),
        },
    };
    placed.map_err(cannot)?;
    match context.json {
        true => {
            let mut value = json!(exported);
            value["path"] = json!(out);
            print::json(&value)?;
        }
        false => print::out(format!("{}: {}\n", out.display(), told(&exported)).as_bytes())?,
    }
    Ok(ExitCode::from(DONE))
}

/// The name under which a file is written, before it has its own. What is left there is removed.
struct Beside(PathBuf);

impl Beside {
    fn new(out: &Path) -> io::Result<Beside> {
        let name = out.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let name = format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id());
        Ok(Beside(out.with_file_name(name)))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn write(session: &Session, out: &mut dyn Write, context: &Context) -> Result<Exported, CliError> {
    let mut progress = Progress::new();
    let exported = export(context.store(), session, out, &mut |done| progress.done(done));
    progress.clear();
    Ok(exported?)
}

fn told(exported: &Exported) -> String {
    let Exported { session, outputs, growing, bytes, written, .. } = exported;
    let growing = match growing {
        0 => String::new(),
        growing => format!(", {} of them still growing", grouped(*growing)),
    };
    let s = if *outputs == 1 { "" } else { "s" };
    let (bytes, written) = (print::bytes(*bytes), print::bytes(*written));
    format!("{} output{s} of session {session}{growing}, {bytes} in {written}", grouped(*outputs))
}
