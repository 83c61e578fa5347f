//! The step between `forebay run` and its command.
//!
//! Some things a process can only do for itself before it becomes the command: ask to end when its parent does, and lead
//! a session on a pseudo-terminal. The standard library offers no safe way to run code between `fork` and `exec`, so
//! `forebay run` starts this binary again, and [`step`] does them and then becomes the command.

use crate::error::CliError;
use crate::print;
use rustix::{
    fs::{Access, access},
    io::Errno,
    process::{Pid, getppid, ioctl_tiocsctty, setsid},
};
use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode},
};

/// The first argument of a process that is such a step.
const STEP: &str = "__launch";

/// The status of a process that SIGKILL ended, as a shell gives it.
const KILLED: u8 = 137;

/// A command that is to be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    /// Whether its standard output is a pseudo-terminal, which is to control it.
    pub(crate) on_terminal: bool,
}

impl Launch<'_> {
    /// Starts it with the streams that `prepare` gives it, from the main thread: the step asks to end with the thread
    /// that made it.
    pub(crate) fn spawn(&self, prepare: impl Fn(&mut Command) -> io::Result<()>) -> io::Result<Child> {
        let start = |mut command: Command| prepare(&mut command).and_then(|()| command.spawn());
        // Where the step is not possible, the command runs all the same; only nobody ends it if Forebay is killed.
        if let Some(child) = self.step().and_then(|step| start(step).ok()) {
            return Ok(child);
        }
        let mut directly = self.directly();
        if self.on_terminal {
            directly.process_group(0);
        }
        match (start(directly), self.by_shell()) {
            (Err(error), Some(by_shell)) if is_no_program(&error) => start(by_shell),
            (started, _) => started,
        }
    }

    /// Becomes the command; returns only if that is not possible.
    pub(crate) fn execute(&self) -> io::Error {
        let error = self.directly().exec();
        match self.by_shell() {
            Some(mut by_shell) if is_no_program(&error) => by_shell.exec(),
            _ => error,
        }
    }

    fn directly(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        command
    }

    /// The command, run as a shell runs a script without `#!`.
    fn by_shell(&self) -> Option<Command> {
        let mut command = Command::new("/bin/sh");
        command.arg(find(self.program)?).args(self.arguments);
        Some(command)
    }

    /// This binary, with arguments that make it replace itself by the command. A missing command is not passed on, so
    /// that the caller reports the error.
    fn step(&self) -> Option<Command> {
        if !(cfg!(target_os = "linux") || self.on_terminal) {
            return None;
        }
        find(self.program)?;
        let mut command = Command::new(this_binary().ok()?);
        command.arg0("forebay").arg(STEP).arg(std::process::id().to_string());
        command.arg(if self.on_terminal { "terminal" } else { "-" });
        command.arg(self.program).args(self.arguments);
        Some(command)
    }
}

/// The binary that this process runs, also where its file has been replaced since.
pub(crate) fn this_binary() -> io::Result<PathBuf> {
    match Path::new("/proc/self/exe") {
        link if cfg!(target_os = "linux") && link.exists() => Ok(link.to_owned()),
        _ => env::current_exe(),
    }
}

/// Becomes the command, if this process was started as the step before it.
pub(crate) fn step() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != STEP {
        return None;
    }
    let parent = arguments.next()?.to_str()?.parse().ok().and_then(Pid::from_raw);
    let on_terminal = arguments.next()? == "terminal";
    let program = arguments.next()?;
    let arguments: Vec<OsString> = arguments.collect();
    if !ends_with(parent) {
        return Some(ExitCode::from(KILLED));
    }
    if on_terminal {
        // Without a session of its own it still writes to the terminal, only Ctrl-C does not reach it.
        let _ = setsid();
        let _ = ioctl_tiocsctty(rustix::stdio::stdout());
    }
    let launch = Launch { program: &program, arguments: &arguments, on_terminal };
    Some(print::error(&CliError::cannot_run(&program, &launch.execute())))
}

/// Has this process end when its parent does; returns whether the parent is still there.
fn ends_with(parent: Option<Pid>) -> bool {
    // SIGKILL: whoever kills Forebay that way would have killed the command.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    // A parent that ended before that sends nothing any more.
    getppid() == parent
}

fn is_no_program(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOEXEC)
}

/// The file that a program's name means, if it can be executed.
fn find(program: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    // An empty entry means the working folder.
    env::split_paths(&path).map(|folder| Path::new(".").join(folder).join(program)).find(is_program)
}

/// Becomes a program whose output cannot be captured, as if the user had called it directly. Returns only if that fails.
pub(crate) fn run_bare(command: &mut Command, why: &CliError) -> CliError {
    let message = format!("forebay: {why}; the command runs without forebay, and its output is not kept\n");
    print::err(&forebay::printable(&message));
    let error = command.exec();
    CliError::cannot_run(command.get_program(), &error)
}

/// Whether a program could not be started because too many files are open; the program itself needs fewer than we do.
pub(crate) fn is_short_of_files(error: &std::io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].iter().any(|no| error.raw_os_error() == Some(no.raw_os_error()))
}
