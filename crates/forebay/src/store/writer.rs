//! Takes an output as it comes: appends it, measures it in the same pass, and survives a failing store.

use super::{Part, Sink, Store};
use crate::output::ReadAt;
use crate::size::{Measure, Measured, STRIDE, Text};
use crate::{Call, Exit, Handle, Lost, Output, Record, Result, State, record::Streams};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read},
    sync::{Arc, mpsc},
    thread,
};

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
    last: Option<u8>,
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
            measuring: Measuring::default(),
            bytes: 0,
            last: None,
            head: Vec::new(),
            tail: VecDeque::new(),
            streams: StreamMap::default(),
            failure,
        }
    }

    /// Goes on with an output whose bytes so far are measured.
    pub(super) fn resume(
        store: &'a dyn Store,
        sink: Box<dyn Sink>,
        record: Record,
        measure: Measure,
        so_far: &Output,
    ) -> Result<Writer<'a>> {
        let bytes = so_far.len();
        let mut streams = StreamMap::default();
        store.for_each_stretch(so_far, |stream, part| {
            let end = streams.end + part.len() as u64;
            streams.extend(stream, end);
        })?;
        streams.pause();
        let measuring = Measuring { by: By::Hand(Box::new(measure)), ..Measuring::default() };
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

    /// Gives the output up while it still grows: another process goes on with the file that is returned. What came so
    /// far can be read. Where that is not possible, the writer comes back.
    pub fn hand_over(mut self, exit: Option<Exit>) -> std::result::Result<(Output, File), Box<Writer<'a>>> {
        if self.failure.is_some() || self.store.path(&self.record.handle).is_none() {
            return Err(Box::new(self));
        }
        // Whoever goes on may have another stream, so what there is of the map is written whatever it says.
        if let Some(entry) = self.streams.pause() {
            self.append(Part::Streams, &entry);
        }
        let (Some(file), Ok(output)) =
            (self.sink.take().and_then(|sink| sink.into_file()), self.store.open(&self.record.handle))
        else {
            return Err(Box::new(self));
        };
        let (measured, _) = std::mem::take(&mut self.measuring).finish();
        let stretches = self.streams.remembered();
        Ok((
            output.while_growing(&measured, exit).with_spoken(measured.spoken).with_stretches(stretches),
            file,
        ))
    }

    /// The name of the output, if any of it is being kept.
    pub fn handle(&self) -> Option<&Handle> {
        self.sink.as_ref().map(|_| &self.record.handle)
    }

    /// How many bytes have come.
    pub fn bytes(&self) -> u64 {
        self.bytes
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

    /// Takes what one read of `source` gives, without copying it first; returns how many bytes that were.
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
        if let Some(entry) = self.streams.extend(stream, self.bytes) {
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
        if let Some(entry) = self.streams.last(self.bytes) {
            self.append(Part::Streams, &entry);
        }
        let spoken = std::mem::take(&mut measured.spoken);
        self.record.size = measured.size;
        self.record.kind = measured.kind;
        self.record.hash = measured.hash;
        self.record.exit = end.exit;
        self.record.streams = self.streams.totals();
        self.record.state = match end.cut_short {
            Some(why) => State::CutShort(why),
            None => State::Complete,
        };
        self.close().with_spoken(spoken)
    }

    /// Ends the output in its store, and opens what there is of it.
    fn close(mut self) -> Output {
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
        let entry = self.pause()?;
        (self.totals.stderr > 0).then_some(entry)
    }

    /// Ends the stretch that is under way.
    fn pause(&mut self) -> Option<[u8; 8]> {
        let current = self.current.take()?;
        Some(self.close(current))
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

/// Measuring: by hand while there is little, then in threads of its own.
#[derive(Default)]
struct Measuring {
    /// The block that is being filled, as long as a block can be.
    block: Vec<u8>,
    filled: usize,
    index: Vec<u8>,
    by: By,
}

enum By {
    Hand(Box<Measure>),
    Threads(Threads),
}

impl Default for By {
    fn default() -> By {
        By::Hand(Box::default())
    }
}

const MEASURED_AT_ONCE: usize = 1024 * 1024;
const READ_AT_ONCE: usize = 128 * 1024;

/// Zeroed by the system as it is first touched, so that a small output pays only for what it uses.
fn new_block() -> Vec<u8> {
    vec![0; MEASURED_AT_ONCE + READ_AT_ONCE]
}

impl Measuring {
    /// Where the next bytes go.
    fn room(&mut self) -> &mut [u8] {
        if self.block.is_empty() {
            self.block = new_block();
        }
        &mut self.block[self.filled..self.filled + READ_AT_ONCE]
    }

    /// Measures what has been filled in, at once or when there is enough of it.
    fn update(&mut self, length: usize, so_far: u64) {
        self.filled += length;
        match &mut self.by {
            By::Hand(measure) => {
                measure.update(&self.block[..self.filled]);
                self.filled = 0;
                self.index.extend(measure.take_index());
                if so_far >= LARGE {
                    self.by = By::Threads(Threads::start(std::mem::take(measure)));
                }
            }
            By::Threads(threads) if self.filled >= MEASURED_AT_ONCE => {
                let full = std::mem::take(&mut self.block);
                self.block = threads.measure(full, std::mem::take(&mut self.filled));
                self.index.extend(threads.index.try_iter().flatten());
            }
            By::Threads(_) => {}
        }
    }

    fn take_index(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.index)
    }

    fn finish(mut self) -> (Measured, Vec<u8>) {
        match self.by {
            By::Hand(measure) => (measure.finish(), self.index),
            By::Threads(mut threads) => {
                threads.measure(self.block, self.filled);
                let (measured, index) = threads.finish();
                self.index.extend(index);
                (measured, self.index)
            }
        }
    }
}

/// One thread for the hash and one for the rest, both fed the same blocks.
struct Threads {
    hash: Fed<blake3::Hasher>,
    text: Fed<Text>,
    /// Entries of the line index.
    index: mpsc::Receiver<Vec<u8>>,
    /// Blocks that a thread may still be reading, oldest first.
    under_way: VecDeque<Arc<(Vec<u8>, usize)>>,
}

/// A thread that is fed blocks until its sender is gone, and then has a result.
struct Fed<T> {
    blocks: mpsc::SyncSender<Arc<(Vec<u8>, usize)>>,
    thread: thread::JoinHandle<T>,
}

impl<T: Send + 'static> Fed<T> {
    fn start(mut state: T, mut update: impl FnMut(&mut T, &[u8]) + Send + 'static) -> Fed<T> {
        // The bound is what keeps memory flat when bytes come faster than they are measured.
        let (blocks, to_measure) = mpsc::sync_channel::<Arc<(Vec<u8>, usize)>>(4);
        let thread = thread::spawn(move || {
            for block in to_measure {
                update(&mut state, &block.0[..block.1]);
            }
            state
        });
        Fed { blocks, thread }
    }

    fn finish(self) -> T {
        drop(self.blocks);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Threads {
    fn start(measure: Box<Measure>) -> Threads {
        let (entries, index) = mpsc::channel();
        let hash = Fed::start(measure.hash, |hash, block| {
            hash.update(block);
        });
        let text = Fed::start(measure.text, move |text, block| {
            text.update(block);
            let _ = entries.send(text.take_index());
        });
        Threads { hash, text, index, under_way: VecDeque::new() }
    }

    /// Hands a block to both threads; returns one that they are done with, or none.
    fn measure(&mut self, block: Vec<u8>, filled: usize) -> Vec<u8> {
        let block = Arc::new((block, filled));
        // The threads end only when these senders are gone.
        let _ = self.hash.blocks.send(block.clone());
        let _ = self.text.blocks.send(block.clone());
        self.under_way.push_back(block);
        let done = self.under_way.pop_front().map(Arc::try_unwrap);
        match done {
            Some(Ok((block, _))) => block,
            Some(Err(busy)) => {
                self.under_way.push_front(busy);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn finish(self) -> (Measured, Vec<u8>) {
        let (hash, text) = (self.hash.finish(), self.text.finish());
        (text.finish(&hash), self.index.iter().flatten().collect())
    }
}
