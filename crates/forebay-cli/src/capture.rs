//! Runs a command and takes in all it prints, with the order it came in and the stream it came by.
//!
//! The command keeps what is its own: its standard input, its exit status, its signals. What it prints goes to the
//! writer as it comes, so the end of this process loses nothing that was taken in.

use forebay::{Exit, Stream, Writer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt, process::ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// How a captured command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    pub(crate) timed_out: bool,
    /// The pipes that a process in the background still holds.
    pub(crate) held: Option<Pipes>,
}

/// The pipes of a command, each until its end.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    pub(crate) stdout: Option<File>,
    pub(crate) stderr: Option<File>,
}

impl Pipes {
    fn are_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Waits until there is something to read, `wake` says something, or the time is over.
    fn wait(&self, wake: Option<BorrowedFd<'_>>, longest: Option<Duration>) -> io::Result<Ready> {
        let fds = [self.stdout.as_ref().map(AsFd::as_fd), self.stderr.as_ref().map(AsFd::as_fd), wake];
        let mut polled: Vec<PollFd<'_>> =
            fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let timeout = longest
            .map(|longest| Timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos() as _ });
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = polled.iter().map(|fd| !fd.revents().is_empty());
        let stdout = self.stdout.is_some() && events.next().unwrap_or(false);
        let stderr = self.stderr.is_some() && events.next().unwrap_or(false);
        Ok(Ready { stdout, stderr })
    }

    /// Takes in what is ready.
    fn take(&mut self, ready: &Ready, writer: &mut Writer<'_>) -> io::Result<()> {
        if ready.stdout {
            take(&mut self.stdout, Stream::Stdout, writer)?;
        }
        if ready.stderr {
            take(&mut self.stderr, Stream::Stderr, writer)?;
        }
        Ok(())
    }

    /// Takes in all that comes until both are at their end.
    pub(crate) fn drain(&mut self, writer: &mut Writer<'_>) -> io::Result<()> {
        while !self.are_closed() {
            let ready = self.wait(None, None)?;
            self.take(&ready, writer)?;
        }
        Ok(())
    }
}

/// How long to go on listening when the command has ended but something holds its pipes.
const LINGER: Duration = Duration::from_millis(100);

/// How long a command that is told to end has before it is made to.
const GRACE: Duration = Duration::from_secs(2);

/// A command that has been started.
pub(crate) struct Running {
    child: Child,
    pipes: Pipes,
    own_group: bool,
    signals: Signals,
}

impl Running {
    /// Starts a command with its output in our hands.
    pub(crate) fn start(command: &mut Command) -> io::Result<Running> {
        let mut running = Running::beside(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
        let stdout = running.child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let stderr = running.child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        #[cfg(target_os = "linux")]
        for pipe in [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten()
        {
            // A larger pipe means fewer turns; a kernel that says no is no harm.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20);
        }
        running.pipes = Pipes { stdout, stderr };
        Ok(running)
    }

    /// Starts a program that has its streams for itself. The signals that reach us are passed on to it.
    pub(crate) fn beside(command: &mut Command) -> io::Result<Running> {
        // Where there is a terminal, the command must stay in the group that it listens to, or a question asked there
        // would stop it; the terminal sends that group its Ctrl-C. Without one the command gets a group of its own, to
        // which we pass signals on.
        let own_group = !io::stdin().is_terminal() && File::open("/dev/tty").is_err();
        if own_group {
            command.process_group(0);
        }
        let signals = Signals::listen()?;
        let child = command.spawn()?;
        Ok(Running { child, pipes: Pipes::default(), own_group, signals })
    }

    /// Takes in all that it prints until it ends.
    pub(crate) fn capture(
        mut self,
        writer: &mut Writer<'_>,
        timeout: Option<Duration>,
        mut progress: impl FnMut(u64, u64),
    ) -> io::Result<Ended> {
        let started = Instant::now();
        let mut ended: Option<(ExitStatus, Instant)> = None;
        let mut told_to_end: Option<Instant> = None;
        let mut timed_out = false;
        loop {
            if ended.is_none() {
                ended = self.child.try_wait()?.map(|status| (status, Instant::now()));
            }
            if self.pipes.are_closed() && ended.is_some() {
                break;
            }
            let wait = match (&ended, timeout) {
                (Some((_, at)), _) => LINGER.saturating_sub(at.elapsed()),
                (None, Some(limit)) if !timed_out => {
                    limit.saturating_sub(started.elapsed()).min(Duration::from_millis(250))
                }
                _ => Duration::from_millis(250),
            };
            let ready = self.pipes.wait(Some(self.signals.wake.as_fd()), Some(wait))?;
            self.signals.drain();
            self.pass_signals_on();
            self.pipes.take(&ready, writer)?;
            progress(writer.bytes(), writer.lines());
            if let Some((_, at)) = &ended
                && at.elapsed() >= LINGER
                && !(ready.stdout || ready.stderr)
            {
                break;
            }
            // What a background process floods the pipe with is not the command's own any more.
            if ended.as_ref().is_some_and(|(_, at)| at.elapsed() >= LINGER * 10) {
                break;
            }
            if timeout.is_some_and(|limit| started.elapsed() >= limit) && ended.is_none() {
                let signal = match told_to_end {
                    None => {
                        told_to_end = Some(Instant::now());
                        timed_out = true;
                        Some(Signal::TERM)
                    }
                    Some(at) if at.elapsed() >= GRACE => Some(Signal::KILL),
                    Some(_) => None,
                };
                if let Some(signal) = signal {
                    self.send(signal);
                }
            }
        }
        let status = match ended {
            Some((status, _)) => status,
            None => self.child.wait()?,
        };
        let exit = exit_of(status);
        let held = Some(self.pipes).filter(|pipes| !pipes.are_closed());
        Ok(Ended { exit, timed_out, held })
    }

    /// Waits until it ends, and passes signals on.
    pub(crate) fn wait(mut self) -> io::Result<Exit> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(exit_of(status));
            }
            self.pipes.wait(Some(self.signals.wake.as_fd()), None)?;
            self.signals.drain();
            self.pass_signals_on();
        }
    }

    fn pass_signals_on(&self) {
        for (flag, signal) in &self.signals.flags {
            // A terminal sends these two to the command itself.
            let from_terminal = !self.own_group && matches!(*signal, Signal::INT | Signal::QUIT);
            if flag.swap(false, Ordering::Relaxed) && !from_terminal {
                self.send(*signal);
            }
        }
    }

    fn send(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.child.id() as i32) else {
            return;
        };
        // If it has just ended there is nobody to tell.
        let _ = match self.own_group {
            true => kill_process_group(pid, signal),
            false => kill_process(pid, signal),
        };
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.code().unwrap_or_default()),
    }
}

struct Ready {
    stdout: bool,
    stderr: bool,
}

/// Takes what a pipe has, and goes on while it stops inside a line: so lines of two streams seldom run together.
fn take(pipe: &mut Option<File>, stream: Stream, writer: &mut Writer<'_>) -> io::Result<()> {
    for _ in 0..16 {
        let Some(source) = pipe else { return Ok(()) };
        match writer.read_from(stream, source) {
            Ok(0) => *pipe = None,
            Ok(_) => {
                if writer.ends_a_line() {
                    return Ok(());
                }
                let mut fds = [PollFd::new(source, PollFlags::IN)];
                let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                if !matches!(poll(&mut fds, Some(&now)), Ok(1..)) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Signals that reach us: a flag for each, and a stream that wakes us.
struct Signals {
    wake: UnixStream,
    flags: Vec<(Arc<AtomicBool>, Signal)>,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let mut flags = Vec::new();
        let ignored = ignored_signals();
        for (number, signal) in [
            (SIGINT, Signal::INT),
            (SIGTERM, Signal::TERM),
            (SIGHUP, Signal::HUP),
            (SIGQUIT, Signal::QUIT),
            (SIGUSR1, Signal::USR1),
            (SIGUSR2, Signal::USR2),
        ] {
            // What our caller ignores, the command ignores too: a handler of ours would end that.
            if ignored & (1 << (number - 1)) != 0 {
                continue;
            }
            let flag = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(number, flag.clone())?;
            signal_hook::low_level::pipe::register(number, waker.try_clone()?)?;
            flags.push((flag, signal));
        }
        signal_hook::low_level::pipe::register(SIGCHLD, waker)?;
        Ok(Signals { wake, flags })
    }

    fn drain(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.wake).read(&mut bytes), Ok(1..)) {}
    }
}

/// The signals that this process ignores, a bit each, where the system tells.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
