//! The results of a filter: those that are wanted, or all of them as one array.

use crate::query::json::jq::batch::{Batch, FUEL_PER_RUN, Halt, Kept, LARGEST_VALUE, Room, Sink, check_fuel};
use crate::query::json::jq::fuel::Fuel;
use crate::query::json::jq::parse;
use crate::query::json::jq::program::{End, Program};
use crate::query::json::jq::write::write;
use crate::request::filter::{Ended, Value};
use crate::{Error, Output, Result};
use bytes::Bytes;
use jaq_json::Val;
use std::ops::{ControlFlow, Range};

/// Bounds of a run and of its results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultLimits {
    /// Results that are skipped.
    pub skip: u64,
    /// Maximum results.
    pub max: u64,
    /// Maximum bytes of all results together.
    pub enough: u64,
    /// Maximum threads.
    pub threads: usize,
}

/// Gathers the results that are wanted, and counts all.
pub(crate) struct Gather<'a> {
    output: &'a Output,
    pub(crate) limits: ResultLimits,
    pub(crate) values: Vec<Value>,
    /// Number of results so far.
    pub(crate) total: u64,
    /// Number of documents or members that were parsed.
    pub(crate) read: u64,
    /// Number of bytes that are still wanted.
    bytes_left: u64,
    /// Fuel that the runs have used.
    pub(crate) used: u64,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(output: &'a Output, limits: ResultLimits) -> Gather<'a> {
        Gather { output, limits, values: Vec::new(), total: 0, read: 0, bytes_left: limits.enough, used: 0 }
    }

    fn push(&mut self, text: String, length: u64, at: Option<Range<u64>>) -> Result<()> {
        self.total += 1;
        if self.total > self.limits.skip && !self.has_all() {
            let mut json = text;
            json.truncate(json.floor_char_boundary(usize::try_from(self.bytes_left).unwrap_or(usize::MAX)));
            let is_cut = (json.len() as u64) < length;
            self.bytes_left = if is_cut { 0 } else { self.bytes_left.saturating_sub(length + 1) };
            let line = match &at {
                Some(at) => Some(self.output.newlines_before(at.start)? + 1),
                None => None,
            };
            self.values.push(Value { json, length, at, line });
        }
        Ok(())
    }

    /// Whether no further result is wanted.
    fn has_all(&self) -> bool {
        self.values.len() as u64 >= self.limits.max || self.bytes_left == 0
    }

    /// Runs a filter on one value that is not one of many, and takes its results.
    pub(crate) fn run(&mut self, program: &Program, value: Val, size: u64) -> Result<(), Halt> {
        let fuel = Fuel::new(self.output.stop());
        fuel.refill(FUEL_PER_RUN + size);
        let mut failed = None;
        let end = program.run(value, &fuel, |result| {
            if self.total < self.limits.skip || self.has_all() {
                self.total += 1;
                return ControlFlow::Continue(());
            }
            let written = write(&result, self.bytes_left, &fuel);
            match self.push(written.text, written.length, None) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        match (end, failed) {
            (_, Some(error)) => Err(Halt::Failed(error)),
            (End::Done | End::Enough, None) => Ok(()),
            (End::Failed(error), None) => Err(Halt::Ended(Ended::Failed { error })),
            (End::Stopped(why), None) => Err(Halt::stopped(&why)),
        }
    }
}

impl Sink for Gather<'_> {
    fn room(&self) -> Room {
        if self.has_all() {
            return Room { results: 0, undecided: 0, bytes: 0 };
        }
        let missing = self.limits.max - self.values.len() as u64;
        let undecided = self.limits.skip.saturating_sub(self.total);
        Room { results: undecided.saturating_add(missing), undecided, bytes: self.bytes_left }
    }

    fn take(&mut self, batch: Batch) -> Result<(), Halt> {
        let kept = batch.kept.len() as u64;
        for Kept { text, length, at } in batch.kept {
            self.push(text, length, Some(at))?;
        }
        self.total += batch.count - kept;
        self.read += batch.read;
        self.used += batch.used;
        batch.halt.map_or(Ok(()), Err)?;
        check_fuel(self.output, self.used)
    }
}

/// The use of the array that the results for all members make.
pub(crate) enum ArrayUse {
    /// The array is the result.
    Result,
    /// A filter runs on it.
    Input(Program),
    /// A filter runs on its length.
    Length(Program),
}

/// Gathers results as the text of an array.
pub(crate) struct Collect<'a> {
    output: &'a Output,
    array: ArrayUse,
    /// Maximum bytes of the text that are kept.
    room: u64,
    text: Vec<u8>,
    /// Bytes of the whole text, kept or not, without the closing bracket.
    length: u64,
    /// Number of results.
    count: u64,
    /// Fuel that the runs have used.
    pub(crate) used: u64,
}

impl<'a> Collect<'a> {
    /// Collects for `array`; of an array that is the result, its first `enough` bytes.
    pub(crate) fn new(output: &'a Output, array: ArrayUse, enough: u64) -> Collect<'a> {
        let room = match array {
            ArrayUse::Result => enough,
            ArrayUse::Input(_) => LARGEST_VALUE,
            ArrayUse::Length(_) => 0,
        };
        Collect { output, array, room, text: Vec::new(), length: 0, count: 0, used: 0 }
    }

    /// Hands the array over, as it is to be used.
    pub(crate) fn finish(mut self, gather: &mut Gather) -> Result<(), Halt> {
        if self.text.is_empty() {
            self.text.push(b'[');
        }
        match self.array {
            ArrayUse::Length(program) => {
                let count = usize::try_from(self.count).unwrap_or(usize::MAX);
                gather.run(&program, Val::from(count), 0)
            }
            ArrayUse::Input(program) => {
                self.text.push(b']');
                let bytes = Bytes::from(self.text);
                match parse::parse_tight(&bytes) {
                    Ok(value) => gather.run(&program, value, bytes.len() as u64),
                    Err(wrong) => Err(Halt::Ended(Ended::Failed { error: wrong.why.to_owned() })),
                }
            }
            ArrayUse::Result => {
                let whole = self.length.max(1) + 1;
                if self.text.len() as u64 + 1 == whole {
                    self.text.push(b']');
                }
                let text = String::from_utf8(self.text)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                Ok(gather.push(text, whole, None)?)
            }
        }
    }
}

impl Sink for Collect<'_> {
    fn room(&self) -> Room {
        let all = if matches!(self.array, ArrayUse::Length(_)) { 0 } else { u64::MAX };
        Room { results: all, undecided: all, bytes: all }
    }

    fn take(&mut self, batch: Batch) -> Result<(), Halt> {
        for kept in batch.kept {
            self.length += kept.length + 1;
            if (self.text.len() as u64) < self.room {
                self.text.push(if self.text.is_empty() { b'[' } else { b',' });
                self.text.extend_from_slice(kept.text.as_bytes());
            }
        }
        if matches!(self.array, ArrayUse::Input(_)) && self.length > LARGEST_VALUE {
            return Err(Halt::Failed(Error::BadQuery(format!(
                "the filter makes an array of more than {LARGEST_VALUE} bytes; keep less of each member, such as with map(.id), \
                 or give the members one by one with .[] | …"
            ))));
        }
        self.count += batch.count;
        self.used += batch.used;
        batch.halt.map_or(Ok(()), Err)?;
        check_fuel(self.output, self.used)
    }
}
