//! `forebay hold`: continues to store an output that a background process still writes.
//!
//! A command may end while a process that it started, such as a server, still has its output open. Waiting for that
//! process would hang the agent. Closing the pipe would kill the process at its next write. So `run` passes the pipes
//! and the open file to this internal command, and ends when its command ends.

use crate::capture::Pipes;
use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::launch::this_binary;
use crate::print;
use forebay::{End, Exit, Handle, Output, Timestamp, Writer};
use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::process::CommandExt},
    process::{Command, ExitCode, Stdio},
};

/// Continue to store an output. Reads the process's standard output from descriptor 0 and its standard error from 2;
/// descriptor 1 is the file to append to.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    handle: Handle,
    #[arg(long)]
    code: Option<i32>,
    #[arg(long)]
    signal: Option<i32>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let own = |fd: &dyn AsFd| fd.as_fd().try_clone_to_owned().map(File::from);
    let mut pipes = Pipes { stdout: Some(own(&io::stdin())?), stderr: Some(own(&io::stderr())?) };
    let mut writer = context.store.resume(&args.handle, own(&io::stdout())?)?;
    let drained = pipes.drain(&mut writer);
    let exit = args.signal.map(Exit::Signal).or(args.code.map(Exit::Code));
    let cut_short = drained.err().map(|error| format!("reading it failed: {error}"));
    writer.finish(End { exit, cut_short, at: Some(Timestamp::now()) });
    Ok(ExitCode::from(DONE))
}

/// Starts a separate process that stores the rest of an output. If that fails, the output ends here with the reason.
pub(crate) fn leave(writer: Writer<'_>, pipes: Pipes, end: End, context: &Context) -> Output {
    const WHY: &str = "a process in the background still had the output open when the command ended";
    let (output, file) = match writer.hand_over(end.exit) {
        Ok(handed) => handed,
        Err(writer) => return writer.finish(End { cut_short: Some(WHY.to_owned()), ..end }),
    };
    let handle = &output.record().handle;
    // The new process gets the file. The copy is for the case that the process cannot start.
    let kept = file.try_clone();
    let Err(error) = start(handle, file, pipes, end.exit, context) else { return output };
    print::err(&format!("forebay: what a process in the background says of {handle} is not kept: {error}\n"));
    let cut_short = Some(format!("{WHY}, and no process could continue it: {error}"));
    match kept.map(|kept| context.store.resume(handle, kept)) {
        Ok(Ok(writer)) => writer.finish(End { cut_short, ..end }),
        // The file is closed and its lock released, so the output now counts as cut short.
        _ => output,
    }
}

/// Starts the process that stores the rest of an output.
fn start(handle: &Handle, file: File, pipes: Pipes, exit: Option<Exit>, context: &Context) -> io::Result<()> {
    let pipe = |pipe: Option<File>| pipe.map_or_else(Stdio::null, Stdio::from);
    let (flag, number) = match exit {
        Some(Exit::Signal(signal)) => ("--signal", signal),
        Some(Exit::Code(code)) => ("--code", code),
        None => ("--code", 0),
    };
    Command::new(this_binary()?)
        .arg("hold")
        .arg(handle.to_string())
        .arg(format!("{flag}={number}"))
        .arg("--root")
        .arg(context.store.root())
        .stdin(pipe(pipes.stdout))
        .stdout(file)
        .stderr(pipe(pipes.stderr))
        .process_group(0)
        .spawn()
        .map(drop)
}
