//! Display for a person at the terminal while a command runs.
//!
//! Its output is shown when it has ended, so until then there is a line that says how much has come. But a line that
//! the command has not ended may be a question, so it is shown when nothing follows it; and what others wrote to the
//! terminal, `ssh` for one, stays where it is.

use crate::print;
use crate::progress::{Progress, erase, fresh_line};
use rustix::termios::{LocalModes, tcgetattr};
use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

/// Time without further output after which an unfinished line counts as a prompt. Programs that print a line in
/// several writes take a few milliseconds.
const QUIET: Duration = Duration::from_millis(200);

/// Maximum bytes of a question. A longer line is data that a program prints without a newline.
const LONGEST: usize = 1_000;

/// The screen beside a command that runs.
pub(crate) struct Screen {
    progress: Progress,
    /// Whether the output is shown as it comes.
    pub(crate) is_live: bool,
    last_came: Instant,
    /// The beginning of the line that has no end yet, from its last carriage return on.
    line: Vec<u8>,
    /// How much of it is on the screen.
    echoed: usize,
    /// Whether an earlier state of the line is on the screen, which is to be painted over.
    is_repainted: bool,
}

impl Screen {
    pub(crate) fn new(is_live: bool) -> Screen {
        Screen {
            progress: Progress::new(),
            is_live,
            last_came: Instant::now(),
            line: Vec::new(),
            echoed: 0,
            is_repainted: false,
        }
    }

    /// Records output of the command.
    pub(crate) fn came(&mut self, bytes: &[u8]) {
        if self.is_live {
            if io::stderr().is_terminal() {
                print::err_bytes(bytes);
            } else {
                // A screen that takes nothing more is no reason to stop.
                let _ = print::out(bytes);
            }
        } else if self.progress.is_on {
            self.last_came = Instant::now();
            let end = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
            if let Some(end) = end {
                self.is_repainted = bytes[end] == b'\r' && (self.echoed > 0 || self.is_repainted);
                self.line.clear();
                self.echoed = 0;
            }
            let rest = &bytes[end.map_or(0, |end| end + 1)..];
            let room = LONGEST + 1 - self.line.len();
            self.line.extend_from_slice(&rest[..rest.len().min(room)]);
        }
    }

    /// Updates the screen, given the size of the output so far.
    pub(crate) fn update(&mut self, bytes: u64, lines: u64) {
        if self.is_live || !self.progress.is_on {
            return;
        }
        let is_question = !self.line.is_empty() && self.line.len() <= LONGEST;
        if is_question && self.echoed < self.line.len() && self.last_came.elapsed() >= QUIET {
            let start = match (self.progress.clear() || self.is_repainted, self.echoed) {
                (true, _) => erase(),
                (false, 0) => fresh_line(),
                (false, _) => String::new(),
            };
            print::err(&start);
            print::err_bytes(&self.line[self.echoed..]);
            self.echoed = self.line.len();
            self.is_repainted = false;
        } else if bytes > 0 && self.echoed == 0 && !self.is_repainted && echo_is_on() {
            self.progress.show(bytes, lines);
        }
    }

    /// Removes the progress line before output is printed.
    pub(crate) fn clear(&mut self) {
        // A question is in the output too.
        if !self.progress.clear() && (self.echoed > 0 || self.is_repainted) {
            print::err(&erase());
        }
    }
}

/// Whether the terminal echoes typed characters. If not, a program asks for a password or uses the whole screen.
fn echo_is_on() -> bool {
    tcgetattr(io::stderr()).map_or(true, |modes| modes.local_modes.contains(LocalModes::ECHO))
}
