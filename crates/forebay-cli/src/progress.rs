//! A line on the terminal that says how much has come so far.

use crate::print::{self, grouped};
use forebay::extract;
use std::{
    io::{self, IsTerminal, Read},
    time::{Duration, Instant},
};

/// Shown while something takes its time, and only where a person is looking.
pub(crate) struct Progress {
    started: Instant,
    shown: Option<Instant>,
    on: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { started: Instant::now(), shown: None, on: io::stderr().is_terminal() }
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
        self.say(|| match step {
            extract::Progress::Chunks { done, of } => format!("{done} of {of} chunks read"),
            extract::Progress::Reducing { parts } => format!("making one answer of {parts}"),
            extract::Progress::Turn { turn, of } => format!("turn {turn} of at most {of}"),
        });
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        const OFTEN: Duration = Duration::from_millis(200);
        if self.on && self.shown.unwrap_or(self.started).elapsed() >= OFTEN {
            self.shown = Some(Instant::now());
            print::err(&format!("\r\x1b[Kforebay: {}", what()));
        }
    }

    pub(crate) fn clear(&self) {
        if self.shown.is_some() {
            print::err("\r\x1b[K");
        }
    }
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
