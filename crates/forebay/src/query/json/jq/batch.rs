//! Runs one filter on many values in parallel: values are divided into batches, threads process one batch after
//! another, and the results are joined in the order of the output.
//!
//! The answer does not depend on the number of threads, and memory holds only a few batches and the answer.

use crate::classify::json::scan::Broken;
use crate::query::json::jq::fuel::{Fuel, STACK};
use crate::query::json::jq::parse;
use crate::query::json::jq::program::{End, Program};
use crate::query::json::jq::write::write;
use crate::request::filter::Ended;
use crate::{Error, Output, Result};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Maximum bytes of a value that is parsed in memory. In memory a value takes about ten times its text.
pub(crate) const LARGEST_VALUE: u64 = 256 * 1024 * 1024;

/// Bytes of output in one batch, about. Small enough that eight threads share an output of a few megabytes evenly.
const BATCH_BYTES: u64 = 256 * 1024;

/// Maximum values in one batch, so that a batch of tiny values stays small too.
const BATCH_VALUES: usize = 16_384;

/// Fuel of a run on one value, in addition to the fuel for the size of the value.
pub(crate) const FUEL_PER_RUN: u64 = if cfg!(test) { 1_000_000 } else { 8_000_000 };

/// Fuel of all runs together, in addition to the fuel for the size of the output.
const FUEL_PER_FILTER: u64 = if cfg!(test) { 4_000_000 } else { 40_000_000 };

/// Why a run ends early.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The run ends here; the results so far are the answer.
    Ended(Ended),
    /// There is no answer: the query is wrong or the output cannot be read.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Halt {
        Halt::Failed(error)
    }
}

impl Halt {
    /// The end of a run at the place where the output stops being JSON.
    pub(crate) fn broken(output: &Output, broken: &Broken) -> Halt {
        let ended = match broken {
            Broken::Ended { began } => not_complete(output, *began).map(|why| Ended::Stopped { why }),
            Broken::Wrong { at, expected } => {
                place(output, *at).map(|place| Ended::Broken(format!("expected {expected}, at {place}")))
            }
        };
        ended.map_or_else(Halt::Failed, Halt::Ended)
    }

    /// The end of a run at a value that the parser refuses.
    pub(crate) fn unparsable(output: &Output, at: u64, why: &str) -> Halt {
        match place(output, at) {
            Ok(place) => Halt::Ended(Ended::Broken(format!("{why}, at {place}"))),
            Err(error) => Halt::Failed(error),
        }
    }

    /// The end of a run by the limits on its steps and memory.
    pub(crate) fn stopped(why: &str) -> Halt {
        Halt::Ended(Ended::Stopped { why: format!("the filter was stopped: {why}") })
    }
}

/// Why the document that begins at `began` cannot be read to its end.
pub(crate) fn not_complete(output: &Output, began: u64) -> Result<String> {
    let place = place(output, began)?;
    Ok(if output.is_growing() {
        format!("the document that begins at {place} is not whole yet: the output is still being written")
    } else {
        format!("the document that begins at {place} is not whole: the output ends inside of it")
    })
}

/// A position in an output as its byte and its line.
fn place(output: &Output, at: u64) -> Result<String> {
    Ok(format!("byte {at} (line {})", output.newlines_before(at)? + 1))
}

/// The error for a value that is larger than [`LARGEST_VALUE`].
pub(crate) fn too_large(range: &Range<u64>) -> Error {
    Error::BadQuery(format!(
        "the filter needs a value of {} bytes as a whole, and no more than {LARGEST_VALUE} are read; go through its members, \
         such as with .[] | …, .key[] | select(…), map(…), .[0], .[10:20], length or keys",
        range.end - range.start
    ))
}

/// Whether all runs together have used too much fuel.
pub(crate) fn check_fuel(output: &Output, used: u64) -> Result<(), Halt> {
    if used > FUEL_PER_FILTER + 4 * output.len() {
        return Err(Halt::stopped("it takes too many steps or too much memory"));
    }
    Ok(())
}

/// A filter to run on each of many values.
pub(crate) struct Job<'a> {
    pub(crate) output: &'a Output,
    pub(crate) program: &'a Program,
    /// Number of results after which the run ends.
    pub(crate) limit: Option<u64>,
    /// Maximum threads.
    pub(crate) threads: usize,
}

/// Results of one batch.
pub(crate) struct Batch {
    /// The results that are kept, as the [`Room`] of the batch allows.
    pub(crate) kept: Vec<Kept>,
    /// Number of results, kept or not.
    pub(crate) count: u64,
    /// Fuel that the runs have used.
    pub(crate) used: u64,
    /// Number of values that were parsed.
    pub(crate) read: u64,
    /// Why the batch ended before its last value.
    pub(crate) halt: Option<Halt>,
}

/// One result of a filter.
pub(crate) struct Kept {
    /// Its beginning as compact JSON.
    pub(crate) text: String,
    /// Bytes of all of it.
    pub(crate) length: u64,
    /// The bytes of the output that it comes from.
    pub(crate) at: Range<u64>,
}

/// Takes the results of batches, in the order of the output.
pub(crate) trait Sink: Send {
    /// Room for the results of later batches.
    fn room(&self) -> Room;

    /// Takes the results of one batch.
    fn take(&mut self, batch: Batch) -> Result<(), Halt>;
}

/// The results to keep of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    /// Maximum results.
    pub(crate) results: u64,
    /// Number of results at the beginning that may be skipped, depending on the batches before.
    pub(crate) undecided: u64,
    /// Maximum bytes of the results after those.
    pub(crate) bytes: u64,
}

/// Runs a job on all values that `next_value` gives, in order.
pub(crate) fn run_all<S: Sink>(
    job: &Job,
    next_value: impl FnMut() -> Result<Option<Range<u64>>> + Send,
    sink: &mut S,
) -> Result<(), Halt> {
    let queue = Mutex::new(Queue { next_value, number: 0, is_over: false });
    let merge =
        Mutex::new(Merge { next: 0, waiting: BTreeMap::new(), sink, results_left: job.limit, halt: None });
    let is_over = AtomicBool::new(false);
    let threads = if job.output.len() > 4 * BATCH_BYTES {
        thread::available_parallelism().map_or(1, |n| n.get().min(job.threads))
    } else {
        1
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread can be started, the run takes longer, and this is all that changes.
            let _ = thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || work(job, &queue, &merge, &is_over));
        }
        work(job, &queue, &merge, &is_over);
    });
    match merge.into_inner().unwrap_or_else(PoisonError::into_inner).halt {
        // A limit that is reached is all that the filter asks for.
        None | Some(Halt::Ended(Ended::AllRead)) => Ok(()),
        Some(halt) => Err(halt),
    }
}

/// The values that no thread has taken yet.
struct Queue<F> {
    next_value: F,
    /// Number of the next batch.
    number: u64,
    is_over: bool,
}

/// The batches that are done, handed on in their order.
struct Merge<'a, S> {
    /// Number of the batch that comes next.
    next: u64,
    /// Batches that were done before their turn.
    waiting: BTreeMap<u64, Batch>,
    sink: &'a mut S,
    /// Number of results that may still come.
    results_left: Option<u64>,
    halt: Option<Halt>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes batch after batch from the queue until there are none or the run halts.
fn work<S: Sink, F: FnMut() -> Result<Option<Range<u64>>>>(
    job: &Job,
    queue: &Mutex<Queue<F>>,
    merge: &Mutex<Merge<S>>,
    is_over: &AtomicBool,
) {
    let fuel = Fuel::new(job.output.stop());
    while !is_over.load(Ordering::Relaxed) {
        let (number, values) = match locked(queue).next_batch() {
            Ok(Some(batch)) => batch,
            Ok(None) => return,
            Err(error) => {
                locked(merge).halt = Some(Halt::Failed(error));
                is_over.store(true, Ordering::Relaxed);
                return;
            }
        };
        let room = locked(merge).sink.room();
        let batch = run_batch(job, &values, room, &fuel);
        let mut merge = locked(merge);
        match batch {
            Ok(batch) => merge.put(number, batch),
            Err(error) => merge.halt = Some(Halt::Failed(error)),
        }
        if merge.halt.is_some() {
            is_over.store(true, Ordering::Relaxed);
        }
    }
}

impl<F: FnMut() -> Result<Option<Range<u64>>>> Queue<F> {
    /// The number and the values of the next batch; `None` after the last.
    fn next_batch(&mut self) -> Result<Option<(u64, Vec<Range<u64>>)>> {
        let mut values = Vec::new();
        let mut length = 0;
        while !self.is_over && length < BATCH_BYTES && values.len() < BATCH_VALUES {
            match (self.next_value)()? {
                Some(range) => {
                    length += range.end - range.start;
                    values.push(range);
                }
                None => self.is_over = true,
            }
        }
        if values.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some((self.number - 1, values)))
    }
}

impl<S: Sink> Merge<'_, S> {
    fn put(&mut self, number: u64, batch: Batch) {
        self.waiting.insert(number, batch);
        while self.halt.is_none()
            && let Some(mut batch) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            if let Some(left) = &mut self.results_left {
                if batch.count >= *left {
                    batch.count = *left;
                    batch.kept.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                    batch.halt = Some(Halt::Ended(Ended::AllRead));
                }
                *left -= batch.count;
            }
            self.halt = self.sink.take(batch).err();
        }
    }
}

/// A part of the output in memory, for values that are close together.
struct Window {
    bytes: Bytes,
    start: u64,
}

impl Window {
    /// Reads until the first of `values` is complete, and with it those that are close after it.
    fn cover(&mut self, output: &Output, values: &[Range<u64>]) -> Result<()> {
        let Some(first) = values.first() else { return Ok(()) };
        if first.start >= self.start && first.end <= self.start + self.bytes.len() as u64 {
            return Ok(());
        }
        if first.end - first.start > LARGEST_VALUE {
            return Err(too_large(first));
        }
        let near = values.iter().take_while(|next| {
            next.start >= first.start && next.end <= first.end.max(first.start + 2 * BATCH_BYTES)
        });
        let end = near.map(|next| next.end).max().unwrap_or(first.end);
        *self = Window { bytes: Bytes::from(output.read(first.start..end)?), start: first.start };
        Ok(())
    }

    /// The place of a range of the output in the bytes of the window.
    fn within(&self, range: &Range<u64>) -> Range<usize> {
        (range.start - self.start) as usize..((range.end - self.start) as usize).min(self.bytes.len())
    }
}

/// Runs the job on the values of one batch.
fn run_batch(job: &Job, values: &[Range<u64>], room: Room, fuel: &Fuel) -> Result<Batch> {
    let mut batch = Batch { kept: Vec::new(), count: 0, used: 0, read: 0, halt: None };
    let mut window = Window { bytes: Bytes::new(), start: 0 };
    let mut bytes_left = room.bytes;
    for (number, range) in values.iter().enumerate() {
        window.cover(job.output, &values[number..])?;
        let value = match parse::parse(&window.bytes, window.within(range)) {
            Ok(value) => value,
            Err(wrong) => match Halt::unparsable(job.output, window.start + wrong.at as u64, wrong.why) {
                Halt::Failed(error) => return Err(error),
                halt => {
                    batch.halt = Some(halt);
                    break;
                }
            },
        };
        batch.read += 1;
        fuel.refill(FUEL_PER_RUN + (range.end - range.start));
        let end = job.program.run(value, fuel, |result| {
            batch.count += 1;
            if batch.count <= room.results && bytes_left > 0 {
                let is_decided = batch.count > room.undecided;
                let written = write(&result, if is_decided { bytes_left } else { room.bytes }, fuel);
                if is_decided {
                    bytes_left = bytes_left.saturating_sub(written.text.len() as u64 + 1);
                }
                batch.kept.push(Kept { text: written.text, length: written.length, at: range.clone() });
            }
            match job.limit {
                Some(limit) if batch.count >= limit => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        batch.used += fuel.used();
        match end {
            End::Done => {}
            End::Enough => break,
            End::Failed(error) => {
                batch.halt = Some(Halt::Ended(Ended::Failed { error }));
                break;
            }
            End::Stopped(why) => {
                batch.halt = Some(Halt::stopped(&why));
                break;
            }
        }
        // Many small values in one batch may use no more than the same values in many batches.
        if let Err(halt) = check_fuel(job.output, batch.used) {
            batch.halt = Some(halt);
            break;
        }
    }
    Ok(batch)
}
