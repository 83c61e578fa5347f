//! Takes an output as it comes: appends it, measures it in the same pass, and survives a failing store.

use super::{Part, Sink, Store};
use crate::output::ReadAt;
use crate::size::{Measure, Measured, STRIDE};
use crate::{Call, Exit, Handle, Lost, Output, Record, State, record::Streams};
use std::{collections::VecDeque, io, sync::mpsc, thread};

/// The stream by which bytes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or the only stream there is.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How an output ended.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// How the command ended, where there was one.
    pub exit: Option<Exit>,
    /// Why the output ended before the tool was done, if it did.
    pub cut_short: Option<String>,
}

/// So much of the beginning stays at hand, so that a small output is not read back from its store.
const HEAD: usize = 256 * 1024;

/// So much of the end is remembered of an output that cannot be kept.
const TAIL: usize = 256 * 1024;

/// So many stretches of different streams are remembered.
const REMEMBERED: usize = 4096;

/// From here on measuring has a thread of its own, so that it does not hold up the writing.
const LARGE: u64 = 2 * 1024 * 1024;

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
    head: Vec<u8>,
    tail: VecDeque<u8>,
    streams: StreamMap,
    failure: Option<(u64, String)>,
}

impl<'a> Writer<'a> {
    pub(super) fn begin(store: &'a dyn Store, call: &Call) -> Writer<'a> {
        let (sink, failure) = match store.create(call) {
            Ok(sink) => (Some(sink), None),
            Err(error) => (None, Some((0, error.to_string()))),
        };
        let handle = match &sink {
            Some(sink) => sink.handle().clone(),
            // Nothing will ever be found under this name, and no view will mention it.
            None => call.handle(1).unwrap_or_else(|_| unreachable!("an id made safe is an id")),
        };
        Writer {
            store,
            sink,
            record: Record::begin(handle, call.clone()),
            measuring: Measuring::Here(Box::default()),
            bytes: 0,
            head: Vec::new(),
            tail: VecDeque::new(),
            streams: StreamMap::default(),
            failure,
        }
    }

    /// The name of the output, if any of it is being kept.
    pub fn handle(&self) -> Option<&Handle> {
        self.sink.as_ref().map(|_| &self.record.handle)
    }

    /// How many bytes have come.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the next bytes of a stream.
    pub fn write(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.append(Part::Bytes, bytes);
        if self.failure.is_some() {
            self.tail.extend(&bytes[bytes.len().saturating_sub(TAIL)..]);
            self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        }
        self.bytes += bytes.len() as u64;
        if let Some(entry) = self.streams.extend(stream, self.bytes) {
            self.append(Part::Streams, &entry);
        }
        self.measuring.update(bytes, self.bytes);
        let index = self.measuring.take_index();
        if !index.is_empty() {
            self.append(Part::Lines, &index);
        }
    }

    /// Ends the output and opens it for reading.
    pub fn finish(mut self, end: End) -> Output {
        let (measured, index) = std::mem::replace(&mut self.measuring, Measuring::Here(Box::default())).finish();
        if !index.is_empty() {
            self.append(Part::Lines, &index);
        }
        if let Some(entry) = self.streams.last(self.bytes) {
            self.append(Part::Streams, &entry);
        }
        self.record.size = measured.size;
        self.record.kind = measured.kind;
        self.record.hash = measured.hash;
        self.record.exit = end.exit;
        self.record.streams = self.streams.totals();
        self.record.state = match end.cut_short {
            Some(why) => State::CutShort(why),
            None => State::Complete,
        };
        if let Some((kept, why)) = self.failure.take() {
            return self.finish_failed(kept, why);
        }
        let Some(sink) = self.sink.take() else { unreachable!("no sink, yet no failure") };
        if let Err(error) = sink.finish(&self.record) {
            // The bytes are there; only the word that they are whole is not.
            let kept = self.bytes;
            return self.finish_failed(kept, error.to_string());
        }
        if self.bytes <= self.head.len() as u64 {
            let path = self.store.path(&self.record.handle);
            let index = index_of(&self.head);
            let stretches = self.streams.remembered();
            return Output::new(self.record, Box::new(self.head), Box::new(index), path)
                .unwrap_or_else(|_| unreachable!("bytes in memory have a length"))
                .with_stretches(stretches);
        }
        let kept = self.bytes;
        let why = match self.store.open(&self.record.handle) {
            Ok(output) => return output,
            Err(error) => error.to_string(),
        };
        self.finish_failed(kept, why)
    }

    /// What can still be said when the store has failed: the beginning and the end, from memory.
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
        let shown_head = self.head.len() as u64;
        let tail_from = (bytes - self.tail.len() as u64).max(shown_head);
        let tail: Vec<u8> = {
            let skip = self.tail.len() - (bytes - tail_from) as usize;
            self.tail.iter().skip(skip).copied().collect()
        };
        let path = if kept > 0 { self.store.path(&self.record.handle) } else { None };
        let stretches = self.streams.remembered();
        let remnant = Remnant { head: self.head, tail, tail_from, length: bytes };
        let lost = shown_head..tail_from;
        Output::new(self.record, Box::new(remnant), Box::new(Vec::new()), path)
            .unwrap_or_else(|_| unreachable!("bytes in memory have a length"))
            .with_lost(lost)
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

/// The beginning and the end of an output whose middle is nowhere.
struct Remnant {
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
        if offset < self.head.len() as u64 {
            return self.head.read_at(offset, buffer);
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

pub(super) fn index_of(bytes: &[u8]) -> Vec<u8> {
    let mut newlines = 0u64;
    bytes
        .chunks_exact(STRIDE as usize)
        .flat_map(|stride| {
            newlines += memchr::memchr_iter(b'\n', stride).count() as u64;
            newlines.to_le_bytes()
        })
        .collect()
}

/// Which stream each stretch came by. An entry is where a stretch ends, times two, and one more for stderr.
#[derive(Default)]
struct StreamMap {
    /// The first stretches, as many as a small output has.
    stretches: Vec<(u64, Stream)>,
    current: Option<Stream>,
    end: u64,
    started: u64,
    totals: Streams,
}

impl StreamMap {
    /// Notes that bytes up to `end` came by `stream`; returns the entry of a stretch that this ended.
    fn extend(&mut self, stream: Stream, end: u64) -> Option<[u8; 8]> {
        let entry = self.current.filter(|current| *current != stream).map(|current| self.close(current));
        self.current = Some(stream);
        self.end = end;
        entry
    }

    /// The entry of the last stretch, if there was more than one stream.
    fn last(&mut self, end: u64) -> Option<[u8; 8]> {
        self.end = end;
        let current = self.current?;
        let entry = self.close(current);
        (self.totals.stderr > 0).then_some(entry)
    }

    fn close(&mut self, stream: Stream) -> [u8; 8] {
        let length = self.end - self.started;
        match stream {
            Stream::Stdout => self.totals.stdout += length,
            Stream::Stderr => self.totals.stderr += length,
        }
        self.started = self.end;
        if self.stretches.len() <= REMEMBERED {
            self.stretches.push((self.end, stream));
        }
        (self.end * 2 + u64::from(stream == Stream::Stderr)).to_le_bytes()
    }

    /// All stretches, if they were few enough to be remembered.
    fn remembered(&mut self) -> Option<Vec<(u64, Stream)>> {
        (self.stretches.len() <= REMEMBERED).then(|| std::mem::take(&mut self.stretches))
    }

    fn totals(&self) -> Option<Streams> {
        (self.totals.stderr > 0).then_some(self.totals)
    }
}

/// The stretches that a [`Part::Streams`] lists, each with its end.
pub(crate) fn stretches(part: &[u8]) -> impl Iterator<Item = (u64, Stream)> {
    part.as_chunks::<8>().0.iter().map(|entry| {
        let entry = u64::from_le_bytes(*entry);
        (entry / 2, if entry % 2 == 1 { Stream::Stderr } else { Stream::Stdout })
    })
}

/// Measuring, here or in a thread of its own.
enum Measuring {
    Here(Box<Measure>),
    Thread {
        blocks: mpsc::SyncSender<Vec<u8>>,
        /// Blocks that were measured, to be filled again, with the index entries they gave.
        back: mpsc::Receiver<(Vec<u8>, Vec<u8>)>,
        filling: Vec<u8>,
        spare: Vec<Vec<u8>>,
        index: Vec<u8>,
        thread: thread::JoinHandle<Measured>,
    },
}

const MEASURED_AT_ONCE: usize = 512 * 1024;

impl Measuring {
    fn update(&mut self, bytes: &[u8], so_far: u64) {
        match self {
            Measuring::Here(measure) => {
                measure.update(bytes);
                if so_far >= LARGE {
                    *self = Measuring::in_thread(std::mem::take(measure));
                }
            }
            Measuring::Thread { blocks, back, filling, spare, index, .. } => {
                filling.extend_from_slice(bytes);
                if filling.len() >= MEASURED_AT_ONCE {
                    for (mut block, entries) in back.try_iter() {
                        block.clear();
                        spare.push(block);
                        index.extend(entries);
                    }
                    let next = spare.pop().unwrap_or_else(|| Vec::with_capacity(MEASURED_AT_ONCE * 2));
                    // The thread ends only when this sender is gone.
                    let _ = blocks.send(std::mem::replace(filling, next));
                }
            }
        }
    }

    fn in_thread(mut measure: Box<Measure>) -> Measuring {
        let (blocks, to_measure) = mpsc::sync_channel::<Vec<u8>>(8);
        let (done, back) = mpsc::channel();
        let index = measure.take_index();
        let thread = thread::spawn(move || {
            for block in to_measure {
                measure.update(&block);
                let _ = done.send((block, measure.take_index()));
            }
            measure.finish()
        });
        Measuring::Thread { blocks, back, filling: Vec::new(), spare: Vec::new(), index, thread }
    }

    fn take_index(&mut self) -> Vec<u8> {
        match self {
            Measuring::Here(measure) => measure.take_index(),
            Measuring::Thread { index, .. } => std::mem::take(index),
        }
    }

    fn finish(self) -> (Measured, Vec<u8>) {
        match self {
            Measuring::Here(mut measure) => {
                let index = measure.take_index();
                (measure.finish(), index)
            }
            Measuring::Thread { blocks, back, filling, mut index, thread, .. } => {
                let _ = blocks.send(filling);
                drop(blocks);
                index.extend(back.iter().flat_map(|(_, entries)| entries));
                match thread.join() {
                    Ok(measured) => (measured, index),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        }
    }
}
