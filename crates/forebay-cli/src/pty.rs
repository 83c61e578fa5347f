//! A pseudo-terminal for a command, and the person's own terminal beside it.

use rustix::{
    fs::{Mode, OFlags, open},
    io::{FdFlags, fcntl_setfd, ioctl_fionbio},
    process::getpgrp,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{
        OptionalActions, OutputModes, Termios, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
        tcsetwinsize,
    },
};
use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    os::fd::{AsFd, BorrowedFd},
    process::{Command, Stdio},
};

/// Size of a terminal without a user: the traditional size.
const USUAL: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// Maximum bytes read from the keyboard at once. A terminal accepts no longer line.
const TYPED_AT_ONCE: usize = 4096;

/// A pseudo-terminal: the command has one end, we have the other.
pub(crate) struct Pty {
    pub(crate) ours: File,
    /// The command's end of the terminal. We keep it open while the command runs: the command may close its streams
    /// and open the terminal again, but without any open end the terminal would be closed.
    pub(crate) theirs: Option<File>,
    /// The person's keyboard, where our standard input is one.
    pub(crate) keyboard: Option<Keyboard>,
}

impl Pty {
    pub(crate) fn open() -> io::Result<Pty> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let theirs = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        // What is typed is written while there is room; if we waited for room, nobody would read what the command says.
        ioctl_fionbio(&ours, true)?;
        let keyboard = Keyboard::of_a_person();
        if keyboard.is_none() {
            // Nobody looks at it, so a line may end as the command ends it.
            let mut modes = tcgetattr(&theirs)?;
            modes.output_modes.remove(OutputModes::OPOST);
            tcsetattr(&theirs, OptionalActions::Now, &modes)?;
        }
        let pty = Pty { ours: ours.into(), theirs: Some(theirs.into()), keyboard };
        pty.fit();
        Ok(pty)
    }

    /// Puts a command on it. A standard input that is no terminal stays what it is: a pipe or a file has bytes that no
    /// terminal would pass on unchanged, and an end.
    pub(crate) fn give_to(&self, command: &mut Command) -> io::Result<()> {
        let theirs = || match &self.theirs {
            Some(theirs) => theirs.try_clone().map(Stdio::from),
            None => Ok(Stdio::null()),
        };
        command.stdout(theirs()?).stderr(theirs()?);
        if self.keyboard.is_some() {
            command.stdin(theirs()?);
        }
        Ok(())
    }

    /// Sets the size to that of the person's terminal. The system notifies the command.
    pub(crate) fn fit(&self) {
        let streams = (io::stdin(), io::stdout(), io::stderr());
        let mut fds = [streams.0.as_fd(), streams.1.as_fd(), streams.2.as_fd()].into_iter();
        let size = fds.find_map(|fd| tcgetwinsize(fd).ok()).filter(|size| size.ws_col > 0);
        // A terminal of the wrong size is still one.
        let _ = tcsetwinsize(&self.ours, size.unwrap_or(USUAL));
    }

    /// Forwards typed input, as far as the command's terminal accepts it.
    pub(crate) fn pass_typed_on(&mut self, ready: bool) {
        let Some(keyboard) = &mut self.keyboard else { return };
        if ready {
            keyboard.read();
        }
        if let Ok(written) = (&self.ours).write(&keyboard.typed) {
            keyboard.typed.drain(..written);
        }
    }
}

/// The person's terminal in raw mode: every key goes to the command. It is as it was when this is dropped.
pub(crate) struct Keyboard {
    before: Termios,
    /// Typed bytes that are not passed on yet.
    pub(crate) typed: Vec<u8>,
    stdin: io::Stdin,
    is_open: bool,
}

impl Keyboard {
    fn of_a_person() -> Option<Keyboard> {
        let stdin = io::stdin();
        // Without a screen nobody would see what they type.
        if !stdin.is_terminal() || !(io::stderr().is_terminal() || io::stdout().is_terminal()) {
            return None;
        }
        // A job in the background may not touch the terminal: the system would stop it.
        if tcgetpgrp(&stdin) != Ok(getpgrp()) {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &raw).ok()?;
        Some(Keyboard { before, typed: Vec::new(), stdin, is_open: true })
    }

    /// The terminal, when more can be taken from it.
    pub(crate) fn wanted(&self) -> Option<BorrowedFd<'_>> {
        (self.is_open && self.typed.is_empty()).then(|| self.stdin.as_fd())
    }

    fn read(&mut self) {
        let mut block = [0; TYPED_AT_ONCE];
        match rustix::io::read(&self.stdin, &mut block[..]) {
            Ok(0) => self.is_open = false,
            Ok(read) => self.typed.extend_from_slice(&block[..read]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.is_open = false,
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.stdin, OptionalActions::Now, &self.before);
    }
}
