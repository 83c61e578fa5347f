//! The line on the terminal that shows how much has been done.

use crate::print::{self, grouped};
use forebay::extract;
use rustix::termios::tcgetwinsize;
use std::{
    io::{self, IsTerminal, Read},
    time::{Duration, Instant},
};

/// Progress of a long operation, shown only on a terminal.
pub(crate) struct Progress {
    pub(crate) is_on: bool,
    started: Instant,
    shown: Option<Instant>,
    /// Last message.
    said: String,
    /// Whether that is in the last line of the screen.
    is_drawn: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress {
            is_on: io::stderr().is_terminal(),
            started: Instant::now(),
            shown: None,
            said: String::new(),
            is_drawn: false,
        }
    }

    pub(crate) fn show(&mut self, bytes: u64, lines: u64) {
        self.say(|| format!("{}, {} lines so far", print::bytes(bytes), grouped(lines)));
    }

    /// How far a piece of work has come.
    pub(crate) fn done(&mut self, bytes: u64) {
        self.say(|| format!("{} so far", print::bytes(bytes)));
    }

    /// How far models have come with reading an output.
    pub(crate) fn reading(&mut self, step: extract::Progress) {
        let elapsed = self.started.elapsed();
        self.say(|| reading(step, elapsed));
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        const OFTEN: Duration = Duration::from_millis(200);
        if !self.is_on || self.shown.unwrap_or(self.started).elapsed() < OFTEN {
            return;
        }
        self.shown = Some(Instant::now());
        let said = what();
        // Without news nothing is drawn: a question that somebody else wrote here may be waiting for an answer.
        if said != self.said {
            let start = if self.is_drawn { erase() } else { fresh_line() };
            print::err(&format!("{start}forebay: {said}"));
            (self.said, self.is_drawn) = (said, true);
        }
    }

    /// Removes the line; returns whether there was one.
    pub(crate) fn clear(&mut self) -> bool {
        if self.is_drawn {
            print::err(&erase());
        }
        std::mem::take(&mut self.is_drawn)
    }
}

/// How far models have come with reading an output, after some time.
fn reading(step: extract::Progress, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match step {
        extract::Progress::Chunks { done: 0, of, .. } => format!("0 of {of} chunks read · {seconds} s"),
        extract::Progress::Chunks { done, of, tokens } => {
            let rate = tokens as f64 / elapsed.as_secs_f64().max(0.001);
            let left = elapsed.as_secs_f64() / done as f64 * (of - done.min(of)) as f64;
            let (tokens, rate) = (grouped(tokens), grouped(rate.round() as u64));
            format!(
                "{done} of {of} chunks read · {tokens} tokens · {rate} tokens/s · about {} s left",
                left.round()
            )
        }
        extract::Progress::Passages => format!("reading the passages that match · {seconds} s"),
        extract::Progress::Smaller { context } => {
            format!("too long for the model: chunks for {} tokens · {seconds} s", grouped(context))
        }
        extract::Progress::Reducing { parts } => format!("making one answer of {parts} · {seconds} s"),
        extract::Progress::Turn { turn, of } => format!("turn {turn} of at most {of} · {seconds} s"),
        _ => format!("reading · {seconds} s"),
    }
}

/// Code that clears the line of the cursor.
pub(crate) fn erase() -> String {
    "\r\x1b[K".to_owned()
}

/// Bytes that bring the cursor to the start of an empty line: a screen's width of spaces, which reaches the next line unless
/// the cursor was at the start of one.
pub(crate) fn fresh_line() -> String {
    let columns = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    " ".repeat(columns.saturating_sub(1)) + &erase()
}

/// A source whose reading is shown.
pub(crate) struct Watched<R> {
    source: R,
    read: u64,
    progress: Progress,
}

impl<R: Read> Watched<R> {
    pub(crate) fn new(source: R) -> Watched<R> {
        Watched { source, read: 0, progress: Progress::new() }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.read += read as u64;
        self.progress.say(|| format!("{} so far", print::bytes(self.read)));
        Ok(read)
    }
}

impl<R> Drop for Watched<R> {
    fn drop(&mut self) {
        self.progress.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use extract::Progress::{Chunks, Turn};

    #[test]
    fn progress_of_a_reading_tells_rate_and_time_left() {
        let table = [
            (Chunks { done: 0, of: 4, tokens: 0 }, "0 of 4 chunks read · 20 s"),
            (
                Chunks { done: 1, of: 4, tokens: 2_500 },
                "1 of 4 chunks read · 2,500 tokens · 125 tokens/s · about 60 s left",
            ),
            (
                Chunks { done: 4, of: 4, tokens: 10_000 },
                "4 of 4 chunks read · 10,000 tokens · 500 tokens/s · about 0 s left",
            ),
            (Turn { turn: 2, of: 20 }, "turn 2 of at most 20 · 20 s"),
        ];
        for (step, expected) in table {
            assert_eq!(reading(step, Duration::from_secs(20)), expected);
        }
    }
}
