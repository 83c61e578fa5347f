//! Stores an output while it arrives: appends its bytes, measures them in the same pass, and survives a failing
//! store.

pub(crate) mod measuring;

use crate::event::{self, Event, What};
use crate::output::ReadAt;
use crate::size::{Measure, STRIDE};
use crate::store::streams::StreamMap;
use crate::store::{Part, Sink, Store, history, streams};
use crate::{Call, Exit, Handle, Lost, Output, Record, Result, State, Timestamp, printable};
use measuring::{Measuring, READ_AT_ONCE};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read},
};

/// The stream by which bytes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or the only stream there is.
    Stdout,
    /// Standard error.
    Stderr,
}

/// End of an output.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Exit status of the command, if there was one.
    pub exit: Option<Exit>,
    /// Cause, if the output ended before the tool was done.
    pub cut_short: Option<String>,
    /// Time of the end, from the caller's clock.
    pub at: Option<Timestamp>,
}

/// Bytes of the beginning that are kept in memory, so that a small output need not be read back from its store.
const HEAD: usize = 256 * 1024;

/// Of an output that cannot be stored, bytes of its end that stay in memory.
const TAIL: usize = 256 * 1024;

/// Takes one new output.
///
/// Writing never fails: a tool is never stopped because its output cannot be kept. What could not be kept is
/// counted, and the record says how much and why.
pub struct Writer<'a> {
    store: &'a dyn Store,
    sink: Option<Box<dyn Sink>>,
    record: Record,
    measuring: Measuring,
    bytes: u64,
    last: Option<u8>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    streams: StreamMap,
    failure: Option<(u64, String)>,
}

/// Starts an output, named after its call. If the name is taken, a number is appended.
fn named(store: &dyn Store, call: &Call) -> Result<Box<dyn Sink>> {
    let mut attempt = 1;
    loop {
        if let Some(sink) = store.create(&call.handle(attempt)?, call)? {
            return Ok(sink);
        }
        attempt += 1;
    }
}

impl<'a> Writer<'a> {
    /// Starts an output for `call`. It never fails: bytes that cannot be kept are counted, and the record says how many
    /// and why.
    pub fn begin(store: &'a dyn Store, call: &Call) -> Writer<'a> {
        let (sink, failure) = match named(store, call) {
            Ok(sink) => (Some(sink), None),
            Err(error) => (None, Some((0, printable(&error.to_string())))),
        };
        let handle = match &sink {
            Some(sink) => sink.handle().clone(),
            // Nothing will ever be found under this name, and no view will mention it.
            None => call.handle(1).unwrap_or_else(|_| unreachable!("an id made safe is an id")),
        };
        let record = Record::begin(handle, call.clone());
        if sink.is_some() {
            Event { what: What::started(&record), at: call.at }.log(store, &call.session);
        }
        Writer {
            store,
            sink,
            record,
            measuring: Measuring::default(),
            bytes: 0,
            last: None,
            head: Vec::new(),
            tail: VecDeque::new(),
            streams: StreamMap::default(),
            failure,
        }
    }

    /// Continues an output whose previous bytes are measured.
    pub(crate) fn resume(
        store: &'a dyn Store,
        sink: Box<dyn Sink>,
        record: Record,
        measure: Measure,
        so_far: &Output,
    ) -> Result<Writer<'a>> {
        let bytes = so_far.len();
        let mut streams = StreamMap::default();
        streams::for_each_stretch(store, so_far, |stream, part| {
            streams.extend(stream, part.len() as u64);
        })?;
        let measuring = Measuring::from(measure);
        let head = so_far.read(0..HEAD as u64)?;
        Ok(Writer {
            store,
            sink: Some(sink),
            record,
            measuring,
            bytes,
            last: None,
            head,
            tail: VecDeque::new(),
            streams,
            failure: None,
        })
    }

    /// Hands a growing output over to another process, which continues with the returned file. The bytes so far can be
    /// read. If that is not possible, returns the writer.
    pub fn hand_over(mut self, exit: Option<Exit>) -> std::result::Result<(Output, File), Box<Writer<'a>>> {
        if self.failure.is_some() || self.store.path(&self.record.handle).is_none() {
            return Err(Box::new(self));
        }
        let Ok(output) = self.store.open(&self.record.handle) else { return Err(Box::new(self)) };
        let Some(file) = self.sink.take().and_then(|sink| sink.into_file()) else {
            let why = "it could not be handed over".to_owned();
            self.failure = Some((self.bytes, why));
            return Err(Box::new(self));
        };
        let (measured, _) = std::mem::take(&mut self.measuring).finish();
        let stretches = self.streams.remembered();
        Ok((
            output.while_growing(&measured, exit).with_spoken(measured.spoken).with_stretches(stretches),
            file,
        ))
    }

    /// Handle of the output, if any of it is being stored.
    pub fn handle(&self) -> Option<&Handle> {
        self.sink.as_ref().map(|_| &self.record.handle)
    }

    /// Number of bytes that have come.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of newlines counted so far.
    pub fn lines(&self) -> u64 {
        self.measuring.lines()
    }

    /// Whether the last byte that came ends a line.
    pub fn ends_a_line(&self) -> bool {
        self.last == Some(b'\n')
    }

    /// Takes the next bytes of a stream.
    pub fn write(&mut self, stream: Stream, bytes: &[u8]) {
        for part in bytes.chunks(READ_AT_ONCE) {
            self.measuring.room()[..part.len()].copy_from_slice(part);
            self.take(stream, part.len());
        }
    }

    /// Stores the bytes of one read of `source` without copying them first; returns their number.
    pub fn read_from(&mut self, stream: Stream, source: &mut dyn Read) -> io::Result<usize> {
        let read = source.read(self.measuring.room())?;
        if read > 0 {
            self.take(stream, read);
        }
        Ok(read)
    }

    /// Takes the next `length` bytes of the block that is being filled.
    fn take(&mut self, stream: Stream, length: usize) {
        let block = std::mem::take(&mut self.measuring.block);
        let bytes = &block[self.measuring.filled..self.measuring.filled + length];
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&bytes[..length.min(room)]);
        self.append(Part::Bytes, bytes);
        if self.failure.is_some() {
            self.tail.extend(&bytes[length.saturating_sub(TAIL)..]);
            self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        }
        self.bytes += length as u64;
        self.last = bytes.last().copied();
        self.measuring.block = block;
        if let Some(entry) = self.streams.extend(stream, length as u64) {
            self.append(Part::Streams, &entry);
        }
        self.measuring.update(length, self.bytes);
        let index = self.measuring.take_index();
        if !index.is_empty() {
            self.append(Part::Lines, &index);
        }
    }

    /// Ends the output and opens it for reading.
    pub fn finish(mut self, end: End) -> Output {
        let (mut measured, index) = std::mem::take(&mut self.measuring).finish();
        if !index.is_empty() {
            self.append(Part::Lines, &index);
        }
        let spoken = std::mem::take(&mut measured.spoken);
        self.record.size = measured.size;
        self.record.kind = measured.kind;
        self.record.hash = measured.hash;
        self.record.exit = end.exit;
        self.record.streams = self.streams.totals();
        self.record.ended = end.at;
        self.record.state = match end.cut_short {
            Some(why) => State::CutShort(why),
            None => State::Complete,
        };
        let before = history::earlier_run(self.store, &self.record);
        let store = self.store;
        let output = self.close();
        let same_given = history::same_output_given(store, output.record());
        let calls = history::recent_calls(store, output.record());
        let output = output.with_spoken(spoken).with_before(before).with_earlier_calls(calls);
        output.with_same_given(same_given)
    }

    /// Ends the output in its store, and opens what there is of it.
    fn close(mut self) -> Output {
        if let Some((kept, why)) = self.failure.take() {
            return self.finish_failed(kept, why);
        }
        let Some(sink) = self.sink.take() else { unreachable!("no sink, yet no failure") };
        let earlier = history::outputs_with_the_same_bytes(self.store, &self.record, self.bytes);
        // Nothing has changed only if the command ended in the same way too.
        let same = earlier.iter().filter(|earlier| earlier.exit == self.record.exit);
        // The one of which the model has seen most, and of those the first.
        let same = same.rev().max_by_key(|earlier| history::tokens_given(self.store, &earlier.handle));
        self.record.same_as = same.map(|earlier| earlier.handle.clone());
        let mut bytes = match sink.finish(&self.record) {
            Ok(bytes) => bytes,
            Err(error) => {
                // The bytes are there; only the word that they are whole is not.
                let kept = self.bytes;
                return self.finish_failed(kept, error.to_string());
            }
        };
        if let Some(older) = earlier.first() {
            // Two copies are no harm.
            let _ = self.store.share(&self.record.handle, &older.handle);
            // The open file may no longer be the one that has the name.
            if let Ok(shared) = self.store.open_part(&self.record.handle, Part::Bytes)
                && shared.size().is_ok_and(|size| size == self.bytes)
            {
                bytes = shared;
            }
        }
        event::log_end(self.store, &self.record);
        if self.bytes <= self.head.len() as u64 {
            let path = self.store.path(&self.record.handle);
            let index = index_of(&self.head);
            let stretches = self.streams.remembered();
            return Output::new(self.record, Box::new(self.head), Box::new(index), path)
                .unwrap_or_else(|_| unreachable!("bytes in memory have a length"))
                .with_stretches(stretches);
        }
        // A sweep may remove the output at this moment. What is open can be read to its end all the same; without its
        // index, lines are counted.
        let handle = &self.record.handle;
        let index = self.store.open_part(handle, Part::Lines).unwrap_or_else(|_| Box::new(Vec::new()));
        let kept = self.bytes;
        let why = match Output::new(self.record.clone(), bytes, index, self.store.path(handle)) {
            Ok(output) if output.len() == kept => return output.with_stretches(self.streams.remembered()),
            Ok(output) => format!("{kept} bytes were written, and there are {}", output.len()),
            Err(error) => error.to_string(),
        };
        self.finish_failed(kept, why)
    }

    /// Ends an output whose store failed. Its beginning and its end are read from memory.
    fn finish_failed(mut self, kept: u64, why: String) -> Output {
        let bytes = self.bytes;
        if kept < bytes || self.record.state == State::Complete {
            self.record.state = State::CutShort(why.clone());
        }
        if kept < bytes {
            self.record.lost = Some(Lost { bytes: bytes - kept, why });
            if let Some(sink) = self.sink.take() {
                let hash = self
                    .store
                    .open_part(&self.record.handle, Part::Bytes)
                    .ok()
                    .and_then(|part| hash_of(&*part, kept).ok());
                self.record.hash = hash.unwrap_or_default();
                if sink.finish(&self.record).is_err() {
                    // A store that is full can often still hold this little; if not, the record is rebuilt
                    // from the bytes when they are next looked for.
                    self.record.hash = String::new();
                }
            } else {
                self.record.hash = String::new();
            }
        }
        event::log_end(self.store, &self.record);
        let handle = self.record.handle.clone();
        let part = |part| self.store.open_part(&handle, part).unwrap_or_else(|_| Box::new(Vec::new()));
        let stored = if kept > 0 { part(Part::Bytes) } else { Box::new(Vec::new()) };
        let index = if kept > 0 { part(Part::Lines) } else { Box::new(Vec::new()) };
        // The beginning in memory may reach further than the stored bytes, and the other way round.
        let readable = stored.size().unwrap_or(0).min(kept).max(self.head.len() as u64).min(bytes);
        let tail_from = (bytes - self.tail.len() as u64).max(readable);
        let skip = self.tail.len() - (bytes - tail_from) as usize;
        let tail: Vec<u8> = self.tail.iter().skip(skip).copied().collect();
        let path = if kept > 0 { self.store.path(&handle) } else { None };
        let stretches = self.streams.remembered();
        let remnant = Remnant { stored, head: self.head, tail, tail_from, length: bytes };
        Output::new(self.record, Box::new(remnant), index, path)
            .and_then(|output| output.with_lost(readable..tail_from))
            .unwrap_or_else(|_| unreachable!("bytes in memory have a length"))
            .with_stretches(stretches)
    }

    /// Appends to the store, and remembers where it first failed.
    fn append(&mut self, part: Part, bytes: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let Some(sink) = &mut self.sink else { return };
        if let Err(error) = sink.append(part, bytes) {
            self.failure = Some((sink.appended(), format!("the store failed: {error}")));
        }
    }
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Writer::write(self, Stream::Stdout, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The beginning and the end of an output whose middle is lost.
struct Remnant {
    stored: Box<dyn ReadAt>,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_from: u64,
    length: u64,
}

impl ReadAt for Remnant {
    fn size(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let before_tail = usize::try_from(self.tail_from.saturating_sub(offset)).unwrap_or(usize::MAX);
        if offset < self.head.len() as u64 {
            return self.head.read_at(offset, buffer);
        }
        if before_tail > 0 {
            let length = buffer.len().min(before_tail);
            match self.stored.read_at(offset, &mut buffer[..length]) {
                Ok(0) => {}
                read => return read,
            }
        }
        match offset.checked_sub(self.tail_from) {
            Some(offset) => self.tail.read_at(offset, buffer),
            None => {
                // Nobody shows these; a scan over them finds nothing.
                let length = buffer.len().min((self.tail_from - offset) as usize);
                buffer[..length].fill(0);
                Ok(length)
            }
        }
    }
}

fn hash_of(part: &dyn ReadAt, length: u64) -> io::Result<String> {
    let mut hash = blake3::Hasher::new();
    let mut buffer = vec![0; crate::output::BLOCK];
    let mut at = 0;
    while at < length {
        let wanted = buffer.len().min((length - at) as usize);
        let read = part.read_at(at, &mut buffer[..wanted])?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        at += read as u64;
    }
    Ok(hash.finalize().to_hex().to_string())
}

pub(crate) fn index_of(bytes: &[u8]) -> Vec<u8> {
    let mut newlines = 0u64;
    bytes
        .chunks_exact(STRIDE as usize)
        .flat_map(|stride| {
            newlines += memchr::memchr_iter(b'\n', stride).count() as u64;
            newlines.to_le_bytes()
        })
        .collect()
}
