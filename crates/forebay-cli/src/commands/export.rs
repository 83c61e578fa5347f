//! `forebay export`: all outputs of a session in one file.

use crate::commands::scan;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print::{self, grouped};
use crate::progress::Progress;
use crate::sealing::SealWith;
use crate::stop::Stop;
use forebay::Session;
use forebay::archive::{CountingWriter, Exported, export};
use forebay::text::count::count;
use forebay_age::{Lock, Writer};
use serde::Serialize;
use serde_json::json;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal, Seek, Write},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Export a session to an archive.
///
/// The archive holds bytes, records, views and events, and `forebay import` restores them under the same handles. A growing
/// output is exported as it is now and marked as cut short. Secrets stay in an archive as they are, and the result says how
/// many there are; --encrypt encrypts it in the age format.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay export --out session.tar.zst
  forebay export build-17 --out build-17.tar.zst --force
  forebay export --out - | ssh elsewhere forebay import -
  forebay export --out session.age --encrypt age1…
  forebay export --out session.age --encrypt passphrase")]
pub(crate) struct Args {
    /// Session to export; default: the current one
    #[arg(value_name = "SESSION")]
    name: Option<String>,
    /// File to write; `-` writes to standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    seal: SealWith,
}

/// Result of an export.
#[derive(Serialize)]
struct Done {
    #[serde(flatten)]
    exported: Exported,
    /// Whether the archive is encrypted.
    encrypted: bool,
    /// Number of secrets in the outputs; absent if they could not be searched.
    secrets: Option<u64>,
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
    if args.out.as_os_str() == "-" {
        to_stdout(&session, args, context)
    } else {
        to_file(&session, args, context)
    }
}

fn to_stdout(session: &Session, args: &Args, context: &Context) -> Outcome {
    if context.json {
        return Err(CliError::usage("--json and `--out -` both write to standard output"));
    }
    if io::stdout().is_terminal() {
        return Err(CliError::usage("an archive is not for a terminal").hint("send it through a pipe"));
    }
    let lock = args.seal.lock()?;
    let done = write(session, &mut Stop::on_signals(io::stdout().lock())?, lock.as_ref(), context)?;
    print::err(&format!("{}\n", told(&done)));
    Ok(ExitCode::from(DONE))
}

fn to_file(session: &Session, args: &Args, context: &Context) -> Outcome {
    let out = &args.out;
    let there =
        || CliError::not_there(format!("{} already exists", out.display())).hint("`--force` replaces it");
    match fs::metadata(out) {
        // A path that is not a regular file is never replaced, not even with --force.
        Ok(found) if !found.is_file() => {
            let hint = "name a file, or `--out -` for standard output";
            return Err(CliError::usage(format!("{} is not a file", out.display())).hint(hint));
        }
        Ok(_) if !args.force => return Err(there()),
        _ => {}
    }
    let lock = args.seal.lock()?;
    let cannot = |error: io::Error| CliError::not_there(format!("cannot write {}: {error}", out.display()));
    let mut new = New::beside(out).map_err(cannot)?;
    // A signal must not leave a partial file.
    let done = write(session, &mut Stop::on_signals(&new.file)?, lock.as_ref(), context)?;
    // The caller may delete the outputs next, so the archive must survive a power cut.
    new.file.sync_all().map_err(cannot)?;
    match new.place(out, args.force) {
        Err(error) if !args.force && error.kind() == io::ErrorKind::AlreadyExists => return Err(there()),
        placed => placed.map_err(cannot)?,
    }
    if context.json {
        let mut value = json!(done);
        value["path"] = json!(out);
        print::json(&value)?;
    } else {
        print::out(format!("{}: {}\n", out.display(), told(&done)).as_bytes())?
    }
    Ok(ExitCode::from(DONE))
}

/// A file that is being written and has no name yet, so that nothing remains if this process is killed. On systems
/// without unnamed files it has a temporary name, which is removed when this value is dropped.
struct New {
    file: File,
    temporary: PathBuf,
    is_named: bool,
}

impl New {
    fn beside(out: &Path) -> io::Result<New> {
        let name = out.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let name = format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id());
        let temporary = out.with_file_name(name);
        if let Some(file) = unnamed(&temporary) {
            return Ok(New { file, temporary, is_named: false });
        }
        Ok(New { file: new_file(&temporary)?, temporary, is_named: true })
    }

    /// Names the file. An existing file with that name is replaced only if `force` is set.
    fn place(&mut self, out: &Path, force: bool) -> io::Result<()> {
        if !self.is_named {
            let to = if force { &self.temporary } else { out };
            let from = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let (here, follow) = (rustix::fs::CWD, rustix::fs::AtFlags::SYMLINK_FOLLOW);
            match rustix::fs::linkat(here, from, here, to, follow) {
                Ok(()) if !force => return Ok(()),
                Ok(()) => {}
                Err(error) if !force && error == rustix::io::Errno::EXIST => return Err(error.into()),
                // Some file systems have no hard links.
                Err(_) => {
                    let mut named = new_file(&self.temporary)?;
                    self.is_named = true;
                    self.file.rewind()?;
                    io::copy(&mut self.file, &mut named)?;
                    named.sync_all()?;
                }
            }
            self.is_named = true;
        }
        if force {
            fs::rename(&self.temporary, out)
        } else {
            // A link never replaces a file. Some file systems have no hard links.
            match fs::hard_link(&self.temporary, out) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
                Err(_) if fs::symlink_metadata(out).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => fs::rename(&self.temporary, out),
                Ok(()) => Ok(()),
            }
        }
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// An unnamed file that can be named later, on the disk of `beside`.
#[cfg(target_os = "linux")]
fn unnamed(beside: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let folder = beside.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // It is named through this folder.
    fs::metadata("/proc/self/fd").ok()?;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

impl Drop for New {
    fn drop(&mut self) {
        if self.is_named {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes the archive, encrypted if a lock is given.
fn write(
    session: &Session,
    out: &mut dyn Write,
    lock: Option<&Lock>,
    context: &Context,
) -> Result<Done, CliError> {
    let mut progress = Progress::new();
    let mut counted = CountingWriter::new(out);
    let mut write =
        |to: &mut dyn Write| export(context.store(), session, to, &mut |done| progress.done(done));
    let exported = match lock {
        None => write(&mut counted),
        Some(lock) => {
            let cannot = |error| CliError::not_there(format!("cannot encrypt the archive: {error}"));
            let mut sealed = Writer::new(&mut counted, lock).map_err(cannot)?;
            let exported = write(&mut sealed);
            if exported.is_ok() {
                sealed.finish()?;
            }
            exported
        }
    };
    progress.clear();
    let mut exported = exported?;
    exported.written = counted.written();
    let found = scan::search_sessions(context, std::slice::from_ref(session)).ok();
    let secrets = found.map(|found| found.iter().map(|output| output.secrets.len() as u64).sum());
    Ok(Done { exported, encrypted: lock.is_some(), secrets })
}

fn told(done: &Done) -> String {
    let Done { exported: Exported { session, outputs, growing, bytes, written, .. }, encrypted, secrets } =
        done;
    let growing = match growing {
        0 => String::new(),
        growing => format!(", {} of them still growing", grouped(*growing)),
    };
    let sealed = if *encrypted { ", encrypted" } else { "" };
    let secrets = match secrets {
        None => "; their secrets could not be counted".to_owned(),
        Some(0) => String::new(),
        Some(secrets) => format!("; {} in them, unmasked", count("secret", *secrets)),
    };
    let (bytes, written) = (print::bytes(*bytes), print::bytes(*written));
    format!(
        "{} of session {session}{growing}, {bytes} in {written}{sealed}{secrets}",
        count("output", *outputs)
    )
}
