//! A stored output, open for reading: its record, its bytes, and where its lines are.
//!
//! Everything that reads an output (folds, queries, verification) reads it through [`Output`], a range at a
//! time. So an output of ten gigabytes needs no more memory than one of ten kilobytes.

pub(crate) mod secrets;

use crate::formats::Formats;
use crate::masking::Masking;
use crate::size::{Measure, Measured, STRIDE};
use crate::text::derived::Derived;
use crate::text::failure_scan::Scanner;
use crate::{
    Bounds, Call, Error, Exit, Handle, Kind, Query, Record, Result, State, Stop, Stream, Surface, threads,
    tokens,
};
use memchr::{memchr, memchr_iter, memrchr};
use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Bytes at random access.
pub trait ReadAt: Send + Sync {
    /// Current number of bytes.
    fn size(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`. Returns the number of bytes read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(copy_at(self, offset, buffer))
    }
}

/// Copies what there is of `bytes` from `offset` on into `buffer`.
pub(crate) fn copy_at(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    let length = rest.len().min(buffer.len());
    buffer[..length].copy_from_slice(&rest[..length]);
    length
}

/// Bytes that a scan of a whole output reads at a time.
pub(crate) const BLOCK: usize = 128 * 1024;

/// Size of the parts in which all cores scan a large output. A part begins with a line, unless the next line starts
/// more than `PART_REACH` bytes away.
const PART: u64 = 16 * 1024 * 1024;
const PART_REACH: u64 = 1024 * 1024;

/// Maximum bytes whose tokens are counted exactly. Longer text is counted only up to a limit.
const COUNTED_WHOLE: u64 = 16 * 1024 * 1024;

/// The reply that the model got for an earlier output with the same bytes.
#[derive(Clone, Debug)]
pub(crate) struct SameGiven {
    /// The output.
    pub(crate) handle: Handle,
    /// Tokens of that reply.
    pub(crate) tokens: u64,
    /// Preset and formats that made its view, as [`Settings::view_maker`](crate::Settings) tells them; `None` inside if it
    /// was the default, and outside if the whole output was given.
    pub(crate) made_by: Option<Option<String>>,
    /// Whether both outputs come from the same call.
    pub(crate) same_call: bool,
}

/// One output, open for reading.
#[derive(Clone)]
pub struct Output {
    record: Record,
    bytes: Arc<dyn ReadAt>,
    index: Arc<dyn ReadAt>,
    path: Option<PathBuf>,
    length: u64,
    /// Bytes that came but could not be stored.
    lost: Range<u64>,
    /// Newlines in those bytes.
    lost_newlines: u64,
    /// The stream of each stretch, if its writer still has the map in memory.
    stretches: Option<Vec<(u64, Stream)>>,
    /// Offsets in lines that mention errors, if its writer has just found them.
    spoken: Option<Vec<u64>>,
    /// The output of the same call before in this session, if its writer found one.
    before: Option<Box<Output>>,
    /// Calls before its own in this session, the latest first, if its writer looked for them.
    earlier_calls: Arc<[Call]>,
    /// The reply for the earlier output with the same bytes, if its writer found one.
    same_given: Option<SameGiven>,
    /// The surface of its reader, which decides how calls in markers are written.
    surface: Surface,
    /// The tokens of the whole output, once they have been counted.
    counted: OnceLock<(u64, bool)>,
    /// Ends the query that reads it.
    stop: Stop,
    /// Limits that the reader's program sets on queries.
    bounds: Option<Arc<dyn Bounds>>,
    /// Formats by which its lines are recognised.
    formats: Formats,
    /// Masks secrets in what is shown of it.
    masking: Masking,
}

impl Output {
    /// An output from its parts; `index` has the entries of [`Measure::take_index`](crate::size::Measure).
    pub(crate) fn new(
        record: Record,
        bytes: Box<dyn ReadAt>,
        index: Box<dyn ReadAt>,
        path: Option<PathBuf>,
    ) -> Result<Output> {
        let length = bytes.size().map_err(Error::store(format!("read {}", record.handle)))?;
        Ok(Output {
            record,
            bytes: bytes.into(),
            index: index.into(),
            path,
            length,
            lost: length..length,
            lost_newlines: 0,
            stretches: None,
            spoken: None,
            before: None,
            earlier_calls: Arc::default(),
            same_given: None,
            masking: Masking::default(),
            surface: Surface::default(),
            counted: OnceLock::new(),
            stop: Stop::default(),
            bounds: None,
            formats: Formats::default(),
        })
    }

    /// The same output, with a hole where bytes could not be kept.
    pub(crate) fn with_lost(mut self, lost: Range<u64>) -> Result<Output> {
        self.lost = lost;
        if !self.lost.is_empty() {
            // The writer counted all lines; those that are not stored are the rest of that count.
            let open = u64::from(self.read(self.length - 1..self.length)? != b"\n");
            let there = self.newlines_before(self.length)?;
            self.lost_newlines = (self.record.size.lines - open).saturating_sub(there);
        }
        Ok(self)
    }

    /// The same output while it grows, with what was measured of it so far.
    pub(crate) fn while_growing(mut self, measured: &Measured, exit: Option<Exit>) -> Output {
        self.record.size = measured.size;
        self.record.kind = measured.kind;
        self.record.exit = exit;
        self.length = measured.size.bytes;
        self
    }

    /// The same output as it was when it had only `length` bytes.
    pub(crate) fn until(mut self, length: u64) -> Result<Output> {
        let mut measure = Measure::default();
        self.for_each_block(0..length.min(self.length), |_, block| measure.update(block))?;
        self.record.size = measure.finish().size;
        self.length = self.record.size.bytes;
        self.counted = OnceLock::new();
        Ok(self)
    }

    /// The same output under the handle that it had when a view of it was given.
    pub(crate) fn called(mut self, handle: Handle) -> Output {
        self.record.handle = handle;
        self
    }

    /// The same output, with the ranges of its streams in memory.
    pub(crate) fn with_stretches(self, stretches: Option<Vec<(u64, Stream)>>) -> Output {
        Output { stretches, ..self }
    }

    /// Text that was derived from this output, read the way an output is.
    pub(crate) fn derived(&self, text: &Derived) -> Result<Output> {
        let output =
            Output::new(self.record.clone(), Box::new(text.text.clone()), Box::new(Vec::new()), None)?;
        Ok(Output {
            earlier_calls: self.earlier_calls.clone(),
            ..output.knowing(&self.formats).masked_by(&self.masking)
        })
    }

    /// Bytes of standard output, if standard error has bytes too and the streams of all bytes are known.
    pub(crate) fn stdout(&self) -> Result<Option<Derived>> {
        self.of_stream(Stream::Stdout)
    }

    /// Bytes of standard error, under the same conditions.
    pub(crate) fn stderr(&self) -> Result<Option<Derived>> {
        self.of_stream(Stream::Stderr)
    }

    fn of_stream(&self, stream: Stream) -> Result<Option<Derived>> {
        let is_both = self.record.streams.is_some_and(|streams| streams.stdout > 0 && streams.stderr > 0);
        let Some(stretches) = self.stretches.as_ref().filter(|_| is_both) else { return Ok(None) };
        let mut text = Derived::default();
        let (mut at, mut current) = (0, Stream::Stdout);
        let end = (self.length, Stream::Stdout);
        for &(start, next) in stretches.iter().chain([&end]) {
            // A damaged map may hold any offset.
            let start = start.clamp(at, self.length);
            if current == stream {
                text.extend(&self.read(at..start)?, at);
            }
            (at, current) = (start, next);
        }
        Ok(Some(text))
    }

    /// The same output with another kind.
    pub(crate) fn of_kind(mut self, kind: Kind) -> Output {
        self.record.kind = kind;
        self
    }

    /// Offsets in lines that mention errors: the first and the last ones, in order.
    pub(crate) fn error_lines(&self) -> Result<Vec<u64>> {
        if let Some(places) = &self.spoken {
            return Ok(places.clone());
        }
        let mut scanner = Scanner::default();
        self.for_each_block(0..self.length, |_, block| scanner.update(block))?;
        Ok(scanner.finish())
    }

    /// The same output for a reader at another surface.
    pub fn on(self, surface: &Surface) -> Output {
        Output { surface: surface.clone(), ..self }
    }

    /// The same output, whose lines are recognised by these formats.
    pub fn knowing(self, formats: &Formats) -> Output {
        Output { formats: formats.clone(), ..self }
    }

    /// Formats that recognise its lines.
    pub(crate) fn formats(&self) -> &Formats {
        &self.formats
    }

    /// The same output, with secrets masked by this masking.
    pub fn masked_by(self, masking: &Masking) -> Output {
        Output { masking: masking.clone(), ..self }
    }

    /// What finds and masks its secrets.
    pub(crate) fn masking(&self) -> &Masking {
        &self.masking
    }

    /// The same output for one query, which begins now and is bounded.
    pub fn bounded_by(self, bounds: &Arc<dyn Bounds>) -> Output {
        Output { stop: bounds.begin(), bounds: Some(bounds.clone()), ..self }
    }

    /// The same output with the limits of its queries, which [`for_one_query`](Output::for_one_query) begins.
    pub(crate) fn with_bounds(self, bounds: Option<&Arc<dyn Bounds>>) -> Output {
        Output { bounds: bounds.cloned(), ..self }
    }

    /// The same output for one query, which begins now and is bounded if any is.
    pub(crate) fn for_one_query(&self) -> Output {
        match &self.bounds {
            Some(bounds) => self.clone().bounded_by(bounds),
            None => self.clone(),
        }
    }

    /// The same output for a query that this flag ends.
    pub(crate) fn ended_by(self, stop: &Stop) -> Output {
        Output { stop: stop.clone(), ..self }
    }

    /// The flag that ends the query; reads fail once it is raised.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Limits of the query.
    pub(crate) fn bounds(&self) -> Option<&Arc<dyn Bounds>> {
        self.bounds.as_ref()
    }

    /// The surface of its reader.
    pub(crate) fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The call that runs `query` on it, as its reader writes it.
    pub(crate) fn call(&self, query: &Query) -> String {
        self.surface.call(&self.record.handle, query)
    }

    /// The same output, with the offsets of its error lines in memory.
    pub(crate) fn with_spoken(self, spoken: Vec<u64>) -> Output {
        Output { spoken: Some(spoken), ..self }
    }

    /// The same output, with the previous output of its call.
    pub(crate) fn with_before(self, before: Option<Output>) -> Output {
        Output { before: before.map(Box::new), ..self }
    }

    /// The same output, with the calls before its own, the latest first.
    pub(crate) fn with_earlier_calls(self, calls: Vec<Call>) -> Output {
        Output { earlier_calls: calls.into(), ..self }
    }

    /// The calls before its own in this session, the latest first.
    pub(crate) fn earlier_calls(&self) -> &[Call] {
        &self.earlier_calls
    }

    /// The same output, with the reply for the earlier output that has its bytes.
    pub(crate) fn with_same_given(self, same_given: Option<SameGiven>) -> Output {
        Output { same_given, ..self }
    }

    /// The reply for an earlier output with the same bytes and the same exit status.
    pub(crate) fn given_before(&self) -> Option<&SameGiven> {
        self.same_given.as_ref()
    }

    /// The previous output of the same call, if it is in memory.
    pub(crate) fn before(&self) -> Option<&Output> {
        self.before.as_deref()
    }

    /// The stretches of its streams with their beginnings, if they are in memory.
    pub(crate) fn stretches(&self) -> Option<&[(u64, Stream)]> {
        self.stretches.as_deref()
    }

    /// Its record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The file that holds its bytes, if there is one. A growing output has none: its file is renamed when it ends.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.path.as_deref().filter(|_| !self.is_growing())
    }

    /// Number of bytes; of a growing output, the number when it was opened.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether it is still being written.
    pub fn is_growing(&self) -> bool {
        self.record.state == State::Growing
    }

    /// The bytes that came but are neither stored nor in memory. Empty unless the store failed.
    pub(crate) fn lost(&self) -> Range<u64> {
        self.lost.clone()
    }

    /// Reads the bytes of `range`, up to the end of the output.
    pub fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let end = range.end.min(self.length);
        let length = usize::try_from(end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let mut buffer = vec![0; length];
        let read = self.fill(range.start, &mut buffer)?;
        buffer.truncate(read);
        Ok(buffer)
    }

    /// Fills `buffer` from `offset`, up to the end of the output. Returns the number of bytes read.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.stop.check()?;
        let length =
            usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX).min(buffer.len());
        read_full(&*self.bytes, offset, &mut buffer[..length])
            .map_err(Error::store(format!("read {}", self.record.handle)))
    }

    /// Passes `range` to `take` in blocks, each with its offset.
    pub fn for_each_block(&self, range: Range<u64>, mut take: impl FnMut(u64, &[u8])) -> Result<()> {
        let mut buffer = vec![0; BLOCK.min(usize::try_from(range.end - range.start).unwrap_or(BLOCK))];
        let mut at = range.start;
        while at < range.end {
            let wanted = buffer.len().min(usize::try_from(range.end - at).unwrap_or(usize::MAX));
            let read = self.fill(at, &mut buffer[..wanted])?;
            if read == 0 {
                break;
            }
            take(at, &buffer[..read]);
            at += read as u64;
        }
        Ok(())
    }

    /// Its parts, for [`Output::in_parts`]. They depend on the output alone, so that nothing that is found in them depends
    /// on the machine.
    pub(crate) fn parts(&self) -> Result<Vec<Range<u64>>> {
        let count = self.length.div_ceil(PART).max(1);
        let mut parts = Vec::new();
        let mut start = 0;
        for part in 1..count {
            let end = self.line_end_near(self.length / count * part, PART_REACH)?;
            parts.push(start..end);
            start = end;
        }
        parts.push(start..self.length);
        Ok(parts)
    }

    /// Does `work` on each part, with one thread per core. The results are in order.
    pub(crate) fn in_parts<T: Send>(
        parts: &[Range<u64>],
        work: impl Fn(Range<u64>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let done: Mutex<BTreeMap<usize, Result<T>>> = Mutex::default();
        let take_parts = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(at) else { break };
                let result = work(part.clone());
                done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, result);
            }
        };
        let threads = thread::available_parallelism().map_or(1, |n| n.get()).min(parts.len());
        threads::in_up_to(threads, take_parts);
        done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    /// Runs two scans of the output, in parallel if it is large.
    pub(crate) fn both<A: Send, B>(
        &self,
        one: impl FnOnce() -> A + Send,
        other: impl FnOnce() -> B,
    ) -> (A, B) {
        if self.length < PART {
            return (one(), other());
        }
        threads::both(one, other)
    }

    /// Whether it contains `wanted`.
    pub(crate) fn contains(&self, wanted: &[u8]) -> Result<bool> {
        let finder = memchr::memmem::Finder::new(wanted);
        let (mut window, mut found) = (Vec::new(), false);
        self.for_each_block(0..self.length, |_, block| {
            window.extend_from_slice(block);
            found |= finder.find(&window).is_some();
            // A match may begin at the end of a block and end in the next one.
            window.drain(..window.len().saturating_sub(wanted.len()));
        })?;
        Ok(found)
    }

    /// Number of lines.
    pub fn lines(&self) -> Result<u64> {
        if !self.is_growing() && self.record.size.bytes == self.length {
            return Ok(self.record.size.lines);
        }
        let newlines = self.newlines_before(self.length)?;
        let open = self.length > 0 && self.read(self.length - 1..self.length)? != b"\n";
        Ok(newlines + u64::from(open))
    }

    /// Number of newlines before `offset`: the number of the line at `offset`, counted from 0.
    pub fn newlines_before(&self, offset: u64) -> Result<u64> {
        let offset = offset.min(self.length);
        // The index of an output that grows may lag behind its bytes; what it has is right.
        let entries = (offset / STRIDE).min(self.entries()?);
        let mut newlines = if entries == 0 { 0 } else { self.entry(entries - 1)? };
        self.for_each_block(entries * STRIDE..offset, |_, block| {
            newlines += memchr_iter(b'\n', block).count() as u64;
        })?;
        Ok(newlines + if offset >= self.lost.end { self.lost_newlines } else { 0 })
    }

    /// Offset at which line `number` starts, counted from 0. The end of the output if there is no such line.
    pub fn line_start(&self, number: u64) -> Result<u64> {
        if number == 0 {
            return Ok(0);
        }
        // The last entry with fewer newlines than wanted: its stride is the one before ours.
        let (mut low, mut high) = (0, self.entries()?);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle)? < number { low = middle + 1 } else { high = middle }
        }
        let mut missing = number - if low == 0 { 0 } else { self.entry(low - 1)? };
        let mut at = low * STRIDE;
        let mut buffer = vec![0; STRIDE as usize];
        loop {
            let read = self.fill(at, &mut buffer)?;
            if read == 0 {
                return Ok(self.length);
            }
            let wanted = usize::try_from(missing - 1).unwrap_or(usize::MAX);
            match memchr_iter(b'\n', &buffer[..read]).nth(wanted) {
                Some(newline) => return Ok(at + newline as u64 + 1),
                None => missing -= memchr_iter(b'\n', &buffer[..read]).count() as u64,
            }
            at += read as u64;
        }
    }

    /// Offset at which the line at `offset` starts, searched at most `reach` bytes back.
    pub(crate) fn line_start_near(&self, offset: u64, reach: u64) -> Result<u64> {
        let from = offset.saturating_sub(reach);
        let before = self.read(from..offset)?;
        Ok(memrchr(b'\n', &before).map_or(from, |newline| from + newline as u64 + 1))
    }

    /// Offset at which the line at `offset` ends, after its newline, searched at most `reach` bytes ahead.
    pub(crate) fn line_end_near(&self, offset: u64, reach: u64) -> Result<u64> {
        let after = self.read(offset..offset.saturating_add(reach).min(self.length))?;
        Ok(offset + memchr(b'\n', &after).map_or(after.len(), |newline| newline + 1) as u64)
    }

    /// The first offset at or after `offset` that is not inside a character.
    pub(crate) fn character_start(&self, offset: u64) -> Result<u64> {
        let bytes = self.read(offset..offset + 3)?;
        Ok(offset + bytes.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count() as u64)
    }

    /// The number of tokens if it is at most `limit`, else `None`; and whether it is exact.
    pub(crate) fn tokens_up_to(&self, limit: u64) -> Result<Option<(u64, bool)>> {
        if self.record.size.tokens_exact {
            let exact = self.record.size.tokens;
            return Ok((exact <= limit).then_some((exact, true)));
        }
        // The longest token has 128 bytes, so this many bytes have more tokens than the limit.
        if self.length / 128 > limit {
            return Ok(None);
        }
        let (mut total, mut exact) = (0, true);
        let mut at = 0;
        while at < self.length {
            let mut block = self.read(at..at + COUNTED_WHOLE)?;
            if at + (block.len() as u64) < self.length {
                let border = token_border(&block);
                exact &= border.is_some();
                block.truncate(border.unwrap_or(block.len()));
            }
            at += block.len() as u64;
            match tokens::tally(&String::from_utf8_lossy(&block), limit - total) {
                Some((more, is_exact)) => (total, exact) = (total + more, exact && is_exact),
                None => return Ok(None),
            }
        }
        Ok(Some((total, exact)))
    }

    /// Tokens of the whole output and whether the number is exact: beyond 16 MiB it is the bound.
    pub fn tokens(&self) -> Result<(u64, bool)> {
        let bound = (self.record.size.tokens, self.record.size.tokens_exact);
        if self.length > COUNTED_WHOLE {
            return Ok(bound);
        }
        if let Some(&counted) = self.counted.get() {
            return Ok(counted);
        }
        let counted = self.tokens_up_to(u64::MAX)?.unwrap_or(bound);
        Ok(*self.counted.get_or_init(|| counted))
    }

    /// The line index as it is kept, up to one entry more than there should be.
    pub(crate) fn index(&self) -> Result<Vec<u8>> {
        let cannot = || Error::store(format!("read the line index of {}", self.record.handle));
        let size = self.index.size().map_err(cannot())?;
        let size = size.min((self.length / STRIDE + 1) * 8);
        let mut index = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        read_full(&*self.index, 0, &mut index).map_err(cannot())?;
        Ok(index)
    }

    fn entries(&self) -> Result<u64> {
        let size = self
            .index
            .size()
            .map_err(Error::store(format!("read the line index of {}", self.record.handle)))?;
        // Bytes that came after this output was opened may have entries already.
        let known = if self.lost.is_empty() { self.length } else { self.lost.start };
        Ok((size / 8).min(known / STRIDE))
    }

    fn entry(&self, number: u64) -> Result<u64> {
        let mut eight = [0; 8];
        read_full(&*self.index, number * 8, &mut eight)
            .map_err(Error::store(format!("read the line index of {}", self.record.handle)))?;
        Ok(u64::from_le_bytes(eight))
    }
}

/// An offset at which text can be cut without changing its number of tokens: after a newline that a letter or digit
/// follows.
fn token_border(block: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b'\n', block)
        .find(|&newline| block.get(newline + 1).is_some_and(u8::is_ascii_alphanumeric))
        .map(|newline| newline + 1)
}

pub(crate) fn read_full(source: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(offset + filled as u64, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use crate::store::memory::output_of;
    use proptest::prelude::*;

    #[test]
    fn a_line_far_into_a_long_output_is_found_through_the_index() {
        let text: String = (1..=200_000).map(|i| format!("line {i}\n")).collect();
        let output = output_of(text.as_bytes());
        for number in [0, 1, 9_999, 150_000, 199_999] {
            let start = output.line_start(number).unwrap();
            let line = output.read(start..start + 40).unwrap();
            assert!(line.starts_with(format!("line {}\n", number + 1).as_bytes()), "{number}");
            assert_eq!(output.newlines_before(start).unwrap(), number);
        }
        assert_eq!(output.line_start(200_000).unwrap(), output.len());
        assert_eq!(output.line_start(9_000_000).unwrap(), output.len());
    }

    #[test]
    fn tokens_are_counted_whole_or_only_to_the_limit() {
        let output = output_of(b"one two three four");
        assert_eq!(output.tokens_up_to(4).unwrap(), Some((4, true)));
        assert_eq!(output.tokens_up_to(3).unwrap(), None);
        assert_eq!(output.tokens().unwrap(), (4, true));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_line_starts_where_a_plain_scan_finds_it(
            lengths in proptest::collection::vec(prop_oneof![0usize..30, 60_000usize..140_000], 0..12),
            ended in any::<bool>(),
        ) {
            let mut text = lengths.iter().map(|&length| "x".repeat(length)).collect::<Vec<_>>().join("\n").into_bytes();
            if ended { text.push(b'\n'); }
            let output = output_of(&text);
            let mut starts = vec![0];
            starts.extend(text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at as u64 + 1));
            for (number, start) in starts.iter().enumerate() {
                prop_assert_eq!(output.line_start(number as u64).unwrap(), *start);
                prop_assert_eq!(output.newlines_before(*start).unwrap(), number as u64);
            }
            prop_assert_eq!(output.line_start(starts.len() as u64).unwrap(), output.len());
        }
    }
}
