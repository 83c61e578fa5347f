//! A server that is a program: it reads messages on its standard input and writes them on its standard output.

use super::{Incoming, Link, QUEUE};
use crate::diagnostics::Diagnostics;
use crate::error::{Error, Result};
use crate::message::{Line, Lines, Message, Spool, write_all_ready};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

/// Time for a program to end by itself after its input is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Longest wait for the exit status after the output has ended.
const STATUS: Duration = Duration::from_millis(500);

/// Starts a program.
pub(super) fn start(
    name: &str,
    command: &[OsString],
    environment: &BTreeMap<String, String>,
    folder: Option<&Path>,
    diagnostics: &Diagnostics,
    spool: &Spool,
) -> Result<Link> {
    let start = |source: std::io::Error| Error::Start { name: name.to_owned(), source };
    let [program, arguments @ ..] = command else {
        return Err(Error::Config(format!("the server {name} has no command")));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // It leads a group, so that what it starts can be ended with it.
    command.process_group(0).kill_on_drop(true);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let mut child = command.spawn().map_err(start)?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(start(std::io::ErrorKind::BrokenPipe.into()));
    };
    let (to, messages) = mpsc::channel(QUEUE);
    let (comes, from) = mpsc::channel(QUEUE);
    let (tell_status, status) = oneshot::channel();
    tokio::spawn(pass_stderr(stderr, diagnostics.clone()));
    let (input_ended, input_ends) = oneshot::channel();
    tokio::spawn(send(stdin, messages, input_ended));
    let (output_ended, output_ends) = oneshot::channel();
    tokio::spawn(receive(Lines::new(stdout, spool.clone()), comes, status, output_ended));
    let gone = tokio::spawn(watch(child, input_ends, output_ends, tell_status));
    Ok(Link { to, from, gone })
}

/// Passes its standard error on.
async fn pass_stderr(mut stderr: ChildStderr, diagnostics: Diagnostics) {
    let mut block = vec![0; 8 * 1024];
    while let Ok(read @ 1..) = stderr.read(&mut block).await {
        diagnostics.pass(block[..read].to_vec());
    }
}

/// Writes messages to it until there are no more or it reads none, then closes its input.
async fn send(mut stdin: ChildStdin, mut messages: mpsc::Receiver<Message>, ended: oneshot::Sender<()>) {
    while let Some(message) = messages.recv().await {
        if write_all_ready(message, &mut messages, &mut stdin).await.is_err() {
            break;
        }
    }
    drop(stdin);
    let _ = ended.send(());
}

/// Reads its messages until its output ends.
async fn receive(
    mut lines: Lines<ChildStdout>,
    comes: mpsc::Sender<Incoming>,
    status: oneshot::Receiver<ExitStatus>,
    ended: oneshot::Sender<()>,
) {
    let mut cut = None;
    let failure = loop {
        let line = tokio::select! {
            biased;
            line = lines.next() => line,
            () = comes.closed() => break None,
        };
        match line {
            Ok(Some(Line::Message(message))) => {
                if comes.send(Incoming::Message(message)).await.is_err() {
                    break None;
                }
            }
            Ok(Some(Line::Cut(message))) => cut = Some(message.len()),
            Ok(None) => break None,
            Err(error) => break Some(format!("its output cannot be read: {error}")),
        }
    };
    let _ = ended.send(());
    let status = tokio::time::timeout(STATUS, status).await.ok().and_then(|status| status.ok());
    let why = match (failure, status) {
        (Some(failure), _) => failure,
        (None, Some(status)) => format!("it ended ({status})"),
        (None, None) => "it closed its output".to_owned(),
    };
    let why = match cut {
        Some(bytes) => format!("{why} in the middle of a message, after {bytes} bytes of it"),
        None => why,
    };
    let _ = comes.send(Incoming::Closed(why)).await;
}

/// Waits for its end, and ends it when its streams are closed. Kills every process it has started.
async fn watch(
    mut child: Child,
    input_ended: oneshot::Receiver<()>,
    output_ended: oneshot::Receiver<()>,
    status: oneshot::Sender<ExitStatus>,
) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let kill = |signal| {
        // The process may have ended already.
        let _ = group.map(|group| kill_process_group(group, signal));
    };
    let ended = tokio::select! {
        ended = child.wait() => Some(ended),
        _ = async { let _ = tokio::join!(either(input_ended, output_ended)); } => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => match tokio::time::timeout(GRACE, child.wait()).await {
            Ok(ended) => ended,
            Err(_) => {
                kill(Signal::TERM);
                match tokio::time::timeout(GRACE, child.wait()).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        kill(Signal::KILL);
                        child.wait().await
                    }
                }
            }
        },
    };
    kill(Signal::KILL);
    let _ = ended.map(|ended| status.send(ended));
}

/// Ends when one of two does.
async fn either(one: oneshot::Receiver<()>, other: oneshot::Receiver<()>) {
    tokio::select! {
        _ = one => {}
        _ = other => {}
    }
}
