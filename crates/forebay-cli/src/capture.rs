//! Runs a command and captures all its output, in order and by stream.
//!
//! The command keeps its standard input, its exit status and its signals. Output is passed to the writer as it
//! arrives, so if this process ends, nothing that was captured is lost.

use crate::family;
use crate::launch::Launch;
use crate::pty::Pty;
use crate::screen::Screen;
use forebay::{Exit, Stream, Writer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::{backend::SignalDelivery, exfiltrator::SignalOnly};
use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
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

    /// Waits until something of this can be done, or the time is over.
    fn wait(&self, besides: &Besides<'_>, longest: Option<Duration>) -> io::Result<Ready> {
        let to_stdout = if besides.has_typed { PollFlags::OUT } else { PollFlags::empty() };
        let fds = [
            (self.stdout.as_ref().map(AsFd::as_fd), PollFlags::IN | to_stdout),
            (self.stderr.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (besides.keyboard, PollFlags::IN),
            (besides.wake, PollFlags::IN),
        ];
        let mut polled: Vec<PollFd<'_>> =
            fds.iter().filter_map(|(fd, flags)| Some(PollFd::from_borrowed_fd((*fd)?, *flags))).collect();
        let timeout = longest
            .map(|longest| Timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos() as _ });
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = polled.iter().map(PollFd::revents);
        let [stdout, stderr, keyboard, _] = fds.map(|(fd, _)| {
            let events = fd.and_then(|_| events.next()).unwrap_or(PollFlags::empty());
            !events.difference(PollFlags::OUT).is_empty()
        });
        Ok(Ready { stdout, stderr, keyboard })
    }

    /// Captures the output that is ready.
    fn take(
        &mut self,
        ready: &Ready,
        writer: &mut Writer<'_>,
        screen: &mut Option<&mut Screen>,
    ) -> io::Result<()> {
        if ready.stdout {
            take(&mut self.stdout, Stream::Stdout, writer, screen)?;
        }
        if ready.stderr {
            take(&mut self.stderr, Stream::Stderr, writer, screen)?;
        }
        Ok(())
    }

    /// Captures the output until both streams end.
    pub(crate) fn drain(&mut self, writer: &mut Writer<'_>) -> io::Result<()> {
        while !self.are_closed() {
            let ready = self.wait(&Besides::default(), None)?;
            self.take(&ready, writer, &mut None)?;
        }
        Ok(())
    }
}

/// Events that end the wait, apart from the pipes.
#[derive(Default)]
struct Besides<'a> {
    wake: Option<BorrowedFd<'a>>,
    keyboard: Option<BorrowedFd<'a>>,
    /// Whether to pass more typed input to the command's terminal.
    has_typed: bool,
}

/// Time to continue reading after the command has ended, while another process keeps its pipes open.
const LINGER: Duration = Duration::from_millis(100);

/// Time between asking a command to end and killing it.
const GRACE: Duration = Duration::from_secs(2);

/// Why a command has not been started.
pub(crate) enum NotStarted {
    /// It cannot be run.
    Command(io::Error),
    /// Its output cannot be captured: the system has no process, descriptor or memory left for that.
    Capture(io::Error),
}

/// Whom a signal is passed on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopScope {
    /// The command. A terminal sends its own signals to all that it runs.
    Command,
    /// The command and all that descend from it.
    Family,
    /// The process group that the command leads.
    Group,
}

/// A command that has been started.
pub(crate) struct Running {
    child: Child,
    pipes: Pipes,
    reach: StopScope,
    signals: Signals,
    pty: Option<Pty>,
}

impl Running {
    /// Starts a command with its output in our hands.
    pub(crate) fn start(launch: &Launch<'_>, pty: Option<Pty>) -> Result<Running, NotStarted> {
        let signals = listen(pty.is_some()).map_err(NotStarted::Capture)?;
        let prepare = |command: &mut Command| match &pty {
            Some(pty) => pty.give_to(command),
            None => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                Ok(())
            }
        };
        let terminal =
            pty.as_ref().map(|pty| pty.ours.try_clone()).transpose().map_err(NotStarted::Capture)?;
        let mut child = launch.spawn(prepare).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => NotStarted::Capture(error),
            _ => NotStarted::Command(error),
        })?;
        let stdout = terminal.or_else(|| child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe))));
        let stderr = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        #[cfg(target_os = "linux")]
        for pipe in [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten()
        {
            // A larger pipe means fewer turns; a kernel that says no is no harm.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20);
        }
        let reach = if pty.is_some() { StopScope::Group } else { reach() };
        Ok(Running { child, pipes: Pipes { stdout, stderr }, reach, signals, pty })
    }

    /// Starts a program that has its streams for itself. The signals that reach us are passed on to it.
    pub(crate) fn beside(command: &mut Command) -> io::Result<Running> {
        let signals = listen(false)?;
        let child = command.spawn()?;
        Ok(Running { child, pipes: Pipes::default(), reach: reach(), signals, pty: None })
    }

    /// Captures all output of the command until it ends.
    pub(crate) fn capture(
        mut self,
        writer: &mut Writer<'_>,
        timeout: Option<Duration>,
        screen: &mut Screen,
    ) -> io::Result<Ended> {
        let started = Instant::now();
        let mut ended: Option<(ExitStatus, Instant)> = None;
        let mut told_to_end: Option<Instant> = None;
        let mut timed_out = false;
        loop {
            if ended.is_none() {
                ended = self.child.try_wait()?.map(|status| (status, Instant::now()));
                if let (Some(_), Some(pty)) = (&ended, &mut self.pty) {
                    pty.theirs = None;
                }
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
            let ready = self.wait_for(Some(wait))?;
            self.pass_signals_on();
            if let Some(pty) = &mut self.pty {
                pty.pass_typed_on(ready.keyboard);
            }
            self.pipes.take(&ready, writer, &mut Some(&mut *screen))?;
            screen.update(writer.bytes(), writer.lines());
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
                    // The time of all that it has started is over too.
                    let reach =
                        if self.reach == StopScope::Group { StopScope::Group } else { StopScope::Family };
                    self.send(signal, reach);
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
            self.wait_for(None)?;
            self.pass_signals_on();
        }
    }

    fn wait_for(&self, longest: Option<Duration>) -> io::Result<Ready> {
        let keyboard = self.pty.as_ref().and_then(|pty| pty.keyboard.as_ref());
        let besides = Besides {
            wake: Some(self.signals.get_read().as_fd()),
            keyboard: keyboard.and_then(|keyboard| keyboard.wanted()),
            has_typed: keyboard.is_some_and(|keyboard| !keyboard.typed.is_empty()),
        };
        self.pipes.wait(&besides, longest)
    }

    fn pass_signals_on(&mut self) {
        for number in self.signals.pending() {
            // A terminal sends these two to the command itself.
            let from_terminal = self.reach == StopScope::Command && matches!(number, SIGINT | SIGQUIT);
            match (number, &self.pty, Signal::from_named_raw(number)) {
                (SIGCHLD, ..) => {}
                (SIGWINCH, Some(pty), _) => pty.fit(),
                (_, _, Some(signal)) if !from_terminal => self.send(signal, self.reach),
                _ => {}
            }
        }
    }

    fn send(&self, signal: Signal, reach: StopScope) {
        let Some(pid) = Pid::from_raw(self.child.id() as i32) else {
            return;
        };
        // Where one has just ended there is nobody to tell.
        let processes = match reach {
            StopScope::Command => vec![pid],
            StopScope::Family => family::of(pid),
            StopScope::Group => {
                let _ = kill_process_group(pid, signal);
                return;
            }
        };
        for pid in processes {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Processes that receive forwarded signals if the command is in our own process group. It stays in that group. A
/// caller that ends the group means the command too, and a terminal would stop a command of another group that reads
/// from it.
fn reach() -> StopScope {
    if io::stdin().is_terminal() || File::open("/dev/tty").is_ok() {
        StopScope::Command
    } else {
        StopScope::Family
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
    keyboard: bool,
}

/// A pipe or our end of a pseudo-terminal, with the screen that shows its output.
struct Source<'a, 'b> {
    file: &'a mut File,
    screen: &'a mut Option<&'b mut Screen>,
}

impl Read for Source<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.file.read(buffer) {
            // A terminal whose last user has gone answers so.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => 0,
            read => read?,
        };
        if let Some(screen) = self.screen {
            screen.came(&buffer[..read]);
        }
        Ok(read)
    }
}

/// Reads what a pipe has, and continues while it ends inside a line, so that lines of two streams are seldom mixed.
fn take(
    pipe: &mut Option<File>,
    stream: Stream,
    writer: &mut Writer<'_>,
    screen: &mut Option<&mut Screen>,
) -> io::Result<()> {
    for _ in 0..16 {
        let Some(file) = pipe else { return Ok(()) };
        match writer.read_from(stream, &mut Source { file, screen }) {
            Ok(0) => *pipe = None,
            Ok(_) => {
                if writer.ends_a_line() {
                    return Ok(());
                }
                let mut fds = [PollFd::new(file, PollFlags::IN)];
                let now = Timespec { tv_sec: 0, tv_nsec: 0 };
                if !matches!(poll(&mut fds, Some(&now)), Ok(1..)) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The signals that reach us, with a stream that wakes us: two descriptors for all of them.
type Signals = SignalDelivery<UnixStream, SignalOnly>;

fn listen(on_terminal: bool) -> io::Result<Signals> {
    let (wake, waker) = UnixStream::pair()?;
    let ignored = ignored_signals();
    // What our caller ignores, the command ignores too: a handler of ours would end that.
    let heeded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]
        .into_iter()
        .filter(|number| ignored & (1 << (number - 1)) == 0)
        .chain(on_terminal.then_some(SIGWINCH))
        .chain([SIGCHLD]);
    SignalDelivery::with_pipe(wake, waker, SignalOnly, heeded)
}

/// The signals that this process ignores, a bit each, where the system tells.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
