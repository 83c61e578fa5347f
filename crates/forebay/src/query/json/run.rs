//! Runs a filter over an output: document by document, and through a large document member by member.
//!
//! What is gone through is cut into batches. Threads take batch after batch, read its values and run the filter; what
//! they give is put together in the order of the output. So the answer is the same however many threads there are, and
//! no more is in memory than a few batches and the answer.

use crate::classify::json::locate::found;
use crate::classify::json::parse;
use crate::classify::json::scan::{Broken, Documents, Member, Members};
use crate::query::json::fuel::{Fuel, STACK};
use crate::query::json::plan::{After, Plan, Step, Then, plan};
use crate::query::json::program::{End, Program, Tree, tree};
use crate::query::json::write::write;
use crate::request::filter::{Ended, Total, Value, Values};
use crate::{Error, Kind, Output, Result};
use bytes::Bytes;
use jaq_json::Val;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The largest value that is read as a whole. In memory, a value takes about ten times its text.
const WHOLE: u64 = 256 * 1024 * 1024;

/// A document larger than this is gone through piece by piece, if the filter can be.
const LARGE: u64 = 1024 * 1024;

/// About how much a thread takes at a time.
const BATCH: u64 = 256 * 1024;

/// What a run on one value may use, besides what its size allows.
const PER_RUN: u64 = if cfg!(test) { 1_000_000 } else { 8_000_000 };

/// What all runs together may use, besides what the size of the output allows.
const PER_FILTER: u64 = if cfg!(test) { 4_000_000 } else { 40_000_000 };

/// More keys of one object are not kept in mind.
const MANY_KEYS: usize = 4_000_000;

/// Runs a filter; see [`filter`](super::filter).
pub(crate) fn run(output: &Output, code: &str, wanted: Wanted) -> Result<Values> {
    let on_a_large_stack = thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || run_here(output, code, wanted))
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    on_a_large_stack.map_err(Error::store("start a thread"))?
}

/// Which results are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// So many are left out.
    pub skip: u64,
    /// No more than so many are given.
    pub max: u64,
    /// No more than so many bytes are given.
    pub enough: u64,
    /// No more than so many threads work on it.
    pub threads: usize,
}

fn run_here(output: &Output, code: &str, wanted: Wanted) -> Result<Values> {
    let tree = tree(code)?;
    let whole = Program::compile(code, tree.clone())?;
    let plan = plan(&tree);
    let mut run = Run { output, code, plan, whole, gather: Gather::new(output, wanted) };
    let ended = run.documents()?;
    let Gather { values, total, .. } = run.gather;
    let total = if ended == Ended::AllRead { Total::Exactly(total) } else { Total::AtLeast(total) };
    Ok(Values { values, total, ended })
}

/// Where a run goes on, or why it ends.
type Flow = ControlFlow<Ended>;

struct Run<'a> {
    output: &'a Output,
    code: &'a str,
    plan: Plan<'a>,
    /// The filter for documents that are read as a whole.
    whole: Program,
    gather: Gather<'a>,
}

impl<'a> Run<'a> {
    fn documents(&mut self) -> Result<Ended> {
        let found = found(self.output)?;
        let single = found.is_some() && self.output.record().kind == Kind::Json && !self.output.is_growing();
        let all = found.unwrap_or(0..self.output.len());
        if single && self.output.len() > LARGE {
            // Its writer has seen that it is one document, so its end need not be looked for.
            let began = Documents::of(self.output, all.clone())?.begin()?;
            return Ok(match self.large(began..all.end, false)? {
                ControlFlow::Continue(()) => Ended::AllRead,
                ControlFlow::Break(ended) => ended,
            });
        }
        let mut documents = Documents::of(self.output, all.clone())?;
        let mut containers = false;
        loop {
            let mut large = None;
            let mut broken = None;
            let each = || {
                Ok(Ok(match documents.next()? {
                    Ok(Some(range)) if range.end - range.start > LARGE => {
                        large = Some(range);
                        None
                    }
                    Ok(range) => range,
                    Err(reason) => {
                        broken = Some(reason);
                        None
                    }
                }))
            };
            let job = Job {
                output: self.output,
                program: &self.whole,
                limit: None,
                threads: self.gather.wanted.threads,
            };
            if let ControlFlow::Break(ended) = through(&job, each, &mut self.gather)? {
                return self.first_failure(ended, containers);
            }
            containers |= self.gather.read > 0;
            match (large, broken) {
                (Some(range), _) => {
                    if let ControlFlow::Break(ended) = self.large(range, false)? {
                        return Ok(ended);
                    }
                    containers = true;
                }
                (None, Some(Broken::Ended { began })) => {
                    return Ok(match self.large(began..all.end, true)? {
                        ControlFlow::Continue(()) => Ended::Stopped { why: self.not_whole(began)? },
                        ControlFlow::Break(ended) => ended,
                    });
                }
                (None, Some(broken)) => {
                    return self.first_failure(Ended::Broken(broken_here(self.output, &broken)?), containers);
                }
                (None, None) => return Ok(Ended::AllRead),
            }
        }
    }

    /// What does not even begin as JSON is a wrong question, not an answer that breaks off.
    fn first_failure(&self, ended: Ended, containers: bool) -> Result<Ended> {
        match ended {
            Ended::Broken(why) if self.gather.total == 0 && !containers => Err(Error::BadQuery(format!(
                "the output is {}, not JSON: {why}; use grep or read its lines",
                match self.output.record().kind {
                    Kind::Binary => "binary",
                    _ => "text",
                }
            ))),
            ended => Ok(ended),
        }
    }

    fn not_whole(&self, began: u64) -> Result<String> {
        let place = place(self.output, began)?;
        Ok(match self.output.is_growing() {
            true => format!(
                "the document that begins at {place} is not whole yet: the output is still being written"
            ),
            false => {
                format!("the document that begins at {place} is not whole: the output ends inside of it")
            }
        })
    }

    /// Goes through one large document, or through one that is cut off.
    fn large(&mut self, document: Range<u64>, cut: bool) -> Result<Flow> {
        if self.plan.is_whole() {
            return self.read_whole(document, cut, None);
        }
        let found = match self.locate(document.clone())? {
            Found::At(range) => range,
            Found::Other(step, value) => {
                let (tree, value) = self.plan.step_onwards(step, value);
                let program = Program::compile(self.code, tree)?;
                return Ok(self.gather.run(&program, value, document.end - document.start));
            }
            Found::NoValue(broken) => return self.no_value(&broken),
            Found::Broken(broken @ Broken::Wrong { .. }) => {
                return Ok(ControlFlow::Break(Ended::Broken(broken_here(self.output, &broken)?)));
            }
            Found::Broken(Broken::Ended { began }) => {
                return Ok(ControlFlow::Break(Ended::Stopped { why: self.not_whole(began)? }));
            }
        };
        let steps = self.plan.steps.len();
        let members = Members::of(self.output, found.clone())?;
        let compile = |tree: &Tree<'a>| Program::compile(self.code, self.plan.with_definitions(tree.clone()));
        match (&self.plan.then, members) {
            (Then::Whole(filter), _) => {
                let program = compile(filter)?;
                self.read_whole(found, cut, Some(program))
            }
            (_, None) => {
                let value = match self.scalar(found)? {
                    Ok(value) => value,
                    Err(broken) => return self.no_value(&broken),
                };
                let (tree, value) = self.plan.step_onwards(steps, value);
                let program = Program::compile(self.code, tree)?;
                Ok(self.gather.run(&program, value, 0))
            }
            (Then::Members(filter), Some(members)) => {
                let program = compile(filter)?;
                match skeleton(self.output, members)? {
                    Ok(value) => Ok(self.gather.run(&program, value, found.end - found.start)),
                    Err(broken) => self.broken(&broken),
                }
            }
            (Then::Slice { from, to, filter }, Some(members)) if !members.is_object() => {
                let program = compile(filter)?;
                match slice(members, *from, *to)? {
                    Ok(range) if range.end - range.start > WHOLE => Err(too_large(&range)),
                    Ok(range) => {
                        let text = [b"[", &self.output.read(range.clone())?[..], b"]"].concat();
                        let length = text.len();
                        match parse::parse(&Bytes::from(text), 0..length) {
                            Ok(value) => Ok(self.gather.run(&program, value, length as u64)),
                            Err(wrong) => {
                                self.wrong((range.start + wrong.at as u64).saturating_sub(1), wrong.why)
                            }
                        }
                    }
                    Err(broken) => self.broken(&broken),
                }
            }
            (Then::Slice { .. }, Some(_)) => {
                let (tree, _) = self.plan.step_onwards(steps, Val::Null);
                let program = Program::compile(self.code, tree)?;
                Ok(self.gather.run(&program, Val::obj(jaq_json::Map::default()), 0))
            }
            (Then::Each { filter, limit, after }, Some(members)) => {
                let program = compile(filter)?;
                let then = match after {
                    After::Filter(filter) | After::Count(filter) => Some(compile(filter)?),
                    After::Nothing | After::Array => None,
                };
                let (mut ranges, mut early) = (None, None);
                let mut members = members;
                if members.is_object() {
                    let (all, broken) = last_of_each_key(&mut members)?;
                    ranges = Some(all.into_iter());
                    early = broken;
                }
                let mut broken = None;
                let each = || match &mut ranges {
                    Some(ranges) => Ok(Ok(ranges.next())),
                    None => Ok(match members.next()? {
                        Ok(member) => Ok(member.map(|member| member.value)),
                        Err(reason) => {
                            broken = Some(reason);
                            Ok(None)
                        }
                    }),
                };
                let job = Job {
                    output: self.output,
                    program: &program,
                    limit: *limit,
                    threads: self.gather.wanted.threads,
                };
                let flow = match after {
                    After::Nothing => through(&job, each, &mut self.gather)?,
                    After::Array | After::Filter(_) | After::Count(_) => {
                        let keep = match after {
                            After::Filter(_) => Keep::All,
                            After::Array => Keep::Beginning(self.gather.wanted.enough),
                            _ => Keep::Nothing,
                        };
                        let mut collect = Collect {
                            output: self.output,
                            keep,
                            text: Vec::new(),
                            length: 0,
                            count: 0,
                            used: 0,
                        };
                        let flow = through(&job, each, &mut collect)?;
                        let is_broken = broken.is_some() || early.is_some();
                        match (flow, is_broken) {
                            (ControlFlow::Break(ended), _) => ControlFlow::Break(ended),
                            // An array that breaks off is not what was asked for.
                            (ControlFlow::Continue(()), true) => ControlFlow::Continue(()),
                            (ControlFlow::Continue(()), false) => {
                                self.gather.used += collect.used;
                                collect.finish(after, then.as_ref(), &mut self.gather)?
                            }
                        }
                    }
                };
                match (flow, broken.or(early)) {
                    (ControlFlow::Continue(()), Some(broken)) => self.broken(&broken),
                    (flow, _) => Ok(flow),
                }
            }
        }
    }

    fn broken(&self, broken: &Broken) -> Result<Flow> {
        Ok(ControlFlow::Break(match broken {
            Broken::Ended { began } => Ended::Stopped { why: self.not_whole(*began)? },
            broken => Ended::Broken(broken_here(self.output, broken)?),
        }))
    }

    fn wrong(&self, at: u64, why: &str) -> Result<Flow> {
        Ok(ControlFlow::Break(Ended::Broken(format!("{why}, at {}", place(self.output, at)?))))
    }

    /// Reads a value as a whole and runs a filter on it; the whole filter, unless another is given.
    fn read_whole(&mut self, range: Range<u64>, cut: bool, program: Option<Program>) -> Result<Flow> {
        if range.end - range.start > WHOLE {
            return Err(too_large(&range));
        }
        let bytes = Bytes::from(self.output.read(range.clone())?);
        let length = bytes.len();
        match parse::parse_tight(&bytes) {
            Ok(value) => Ok(self.gather.run(program.as_ref().unwrap_or(&self.whole), value, length as u64)),
            Err(wrong) if cut && wrong.at >= length => {
                Ok(ControlFlow::Break(Ended::Stopped { why: self.not_whole(range.start)? }))
            }
            Err(wrong) => match self.wrong(range.start + wrong.at as u64, wrong.why)? {
                ControlFlow::Break(ended) => Ok(ControlFlow::Break(self.first_failure(ended, false)?)),
                flow => Ok(flow),
            },
        }
    }

    fn scalar(&self, range: Range<u64>) -> Result<std::result::Result<Val, Broken>> {
        if range.end - range.start > WHOLE {
            return Err(too_large(&range));
        }
        let bytes = Bytes::from(self.output.read(range.clone())?);
        let length = bytes.len();
        Ok(parse::parse(&bytes, 0..length).map_err(|wrong| match wrong.at >= length {
            true => Broken::Ended { began: range.start },
            false => Broken::Wrong { at: range.start + wrong.at as u64, expected: wrong.why },
        }))
    }

    /// What is no value at all.
    fn no_value(&self, broken: &Broken) -> Result<Flow> {
        match self.broken(broken)? {
            ControlFlow::Break(ended) => Ok(ControlFlow::Break(self.first_failure(ended, false)?)),
            flow => Ok(flow),
        }
    }

    /// Follows the steps of the plan in the bytes of a document.
    fn locate(&self, document: Range<u64>) -> Result<Found> {
        let mut here = document;
        for (number, step) in self.plan.steps.iter().enumerate() {
            let Some(mut members) = Members::of(self.output, here.clone())? else {
                return Ok(match self.scalar(here)? {
                    Ok(value) => Found::Other(number, value),
                    Err(broken) => Found::NoValue(broken),
                });
            };
            let other = match (step, members.is_object()) {
                (Step::Key(_), true) | (Step::Index(_), false) => None,
                (_, true) => Some(Val::obj(jaq_json::Map::default())),
                (_, false) => Some(std::iter::empty().collect()),
            };
            if let Some(other) = other {
                return Ok(Found::Other(number, other));
            }
            let (found, broken) = follow(&mut members, step)?;
            match (found, broken) {
                (Some(range), None) => here = range,
                // A document that is cut off has what it has.
                (Some(range), Some(Broken::Ended { .. })) => here = range,
                (_, Some(broken)) => return Ok(Found::Broken(broken)),
                (None, None) if members.is_object() => {
                    return Ok(Found::Other(number, Val::obj(jaq_json::Map::default())));
                }
                (None, None) => return Ok(Found::Other(number, std::iter::empty().collect())),
            }
        }
        Ok(Found::At(here))
    }
}

enum Found {
    At(Range<u64>),
    /// The step of this number found something that it does not lead into.
    Other(usize, Val),
    /// Where a value should be is none.
    NoValue(Broken),
    Broken(Broken),
}

/// Follows one step: where it leads, and whether something is broken on the way.
fn follow(members: &mut Members, step: &Step) -> Result<(Option<Range<u64>>, Option<Broken>)> {
    let mut found = None;
    let mut last = VecDeque::new();
    let mut number = 0;
    loop {
        let (member, broken) = match members.next()? {
            Ok(Some(member)) => (member, None),
            Ok(None) => break,
            Err(broken) => match (members.unfinished(), broken) {
                (Some(member), broken @ Broken::Ended { .. }) => (member, Some(broken)),
                (_, broken) => return Ok((found, Some(broken))),
            },
        };
        match step {
            // Of keys that are the same, the last one counts.
            Step::Key(key) if member.key.as_deref().is_some_and(|raw| is_key(raw, key)) => {
                found = Some(member.value)
            }
            Step::Key(_) => {}
            Step::Index(at) if *at >= 0 => {
                if number == *at {
                    return Ok((Some(member.value), broken));
                }
            }
            Step::Index(at) => {
                last.push_back(member.value);
                if last.len() as u64 > at.unsigned_abs() {
                    last.pop_front();
                }
            }
        }
        if broken.is_some() {
            return Ok((found, broken));
        }
        number += 1;
    }
    if let Step::Index(at) = step
        && *at < 0
        && last.len() as u64 == at.unsigned_abs()
    {
        found = last.pop_front();
    }
    Ok((found, None))
}

/// Whether a key as it is written is this one.
fn is_key(raw: &[u8], key: &str) -> bool {
    match raw.contains(&b'\\') {
        false => raw == key.as_bytes(),
        true => decoded(raw).as_slice() == key.as_bytes(),
    }
}

/// A key as it is meant.
fn decoded(raw: &[u8]) -> Vec<u8> {
    let quoted = Bytes::from([b"\"", raw, b"\""].concat());
    match parse::parse(&quoted, 0..quoted.len()) {
        Ok(Val::TStr(text)) => text.to_vec(),
        _ => raw.to_vec(),
    }
}

/// The values of an object, for each key the last one, in the order in which the keys first came.
fn last_of_each_key(members: &mut Members) -> Result<(Vec<Range<u64>>, Option<Broken>)> {
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut ranges: Vec<Range<u64>> = Vec::new();
    loop {
        let Member { key, value, .. } = match members.next()? {
            Ok(Some(member)) => member,
            Ok(None) => return Ok((ranges, None)),
            Err(broken) => return Ok((ranges, Some(broken))),
        };
        let key = key.unwrap_or_default();
        let key = if key.contains(&b'\\') { decoded(&key) } else { key };
        match places.get(&key) {
            Some(&place) => ranges[place] = value,
            None if ranges.len() == MANY_KEYS => {
                let why = format!("an object has more than {MANY_KEYS} keys; grep the output instead");
                return Err(Error::BadQuery(why));
            }
            None => {
                places.insert(key, ranges.len());
                ranges.push(value);
            }
        }
    }
}

/// An array or object with the same members, all of them null.
fn skeleton(output: &Output, mut members: Members) -> Result<std::result::Result<Val, Broken>> {
    let mut object = jaq_json::Map::default();
    let mut items = 0usize;
    let is_object = members.is_object();
    loop {
        match members.next()? {
            Ok(Some(Member { key: Some(key), .. })) => {
                object.insert(Val::utf8_str(decoded(&key)), Val::Null);
            }
            Ok(Some(_)) => items += 1,
            Ok(None) => break,
            Err(broken) => return Ok(Err(broken)),
        }
        if object.len() > MANY_KEYS || items as u64 > output.len() {
            let why = format!("an object has more than {MANY_KEYS} keys; grep the output instead");
            return Err(Error::BadQuery(why));
        }
    }
    Ok(Ok(match is_object {
        true => Val::obj(object),
        false => std::iter::repeat_n(Val::Null, items).collect(),
    }))
}

/// The bytes of the members from one number to the other.
fn slice(mut members: Members, from: u64, to: u64) -> Result<std::result::Result<Range<u64>, Broken>> {
    let mut range = 0..0;
    let mut number = 0;
    while number < to {
        match members.next()? {
            Ok(Some(member)) => {
                if number >= from {
                    range = if range.is_empty() { member.value } else { range.start..member.value.end };
                }
            }
            Ok(None) => break,
            Err(broken) => return Ok(Err(broken)),
        }
        number += 1;
    }
    Ok(Ok(range))
}

fn too_large(range: &Range<u64>) -> Error {
    Error::BadQuery(format!(
        "the filter needs a value of {} bytes as a whole, and no more than {WHOLE} are read; go through its members, \
         such as with .[] | …, .key[] | select(…), map(…), .[0], .[10:20], length or keys",
        range.end - range.start
    ))
}

/// A place of an output, said by its byte and its line.
fn place(output: &Output, at: u64) -> Result<String> {
    Ok(format!("byte {at} (line {})", output.newlines_before(at)? + 1))
}

fn broken_here(output: &Output, broken: &Broken) -> Result<String> {
    Ok(match broken {
        Broken::Ended { began } => format!("what begins at {} has no end", place(output, *began)?),
        Broken::Wrong { at, expected } => format!("expected {expected}, at {}", place(output, *at)?),
    })
}

/// What is done with each value of a batch.
struct Job<'a> {
    output: &'a Output,
    program: &'a Program,
    /// After so many results, it ends.
    limit: Option<u64>,
    threads: usize,
}

/// What a batch gave.
struct Done {
    kept: Vec<Kept>,
    count: u64,
    used: u64,
    read: u64,
    ended: Option<Ended>,
}

struct Kept {
    text: String,
    length: u64,
    at: Range<u64>,
}

/// Where the results of batches go, in order.
trait Take: Send {
    /// What is kept of the results of the batches to come.
    fn room(&self) -> Room;
    fn take(&mut self, done: Done) -> Result<Flow>;
}

/// What is to be kept of the results of a batch.
#[derive(Clone, Copy)]
struct Room {
    results: u64,
    /// Of so many results at the beginning it is not known yet whether they are wanted.
    unsure: u64,
    /// How many bytes are kept of those after them.
    bytes: u64,
}

struct Queue<F> {
    each: F,
    number: u64,
    over: bool,
}

struct Merge<'a, T> {
    next: u64,
    waiting: BTreeMap<u64, Done>,
    take: &'a mut T,
    /// How many results may still come.
    limit: Option<u64>,
    flow: Flow,
    failed: Option<Error>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Next = Result<std::result::Result<Option<Range<u64>>, Broken>>;

/// Runs a job on all values that `each` gives.
fn through<T: Take>(job: &Job, each: impl FnMut() -> Next + Send, take: &mut T) -> Result<Flow> {
    // The values to go through, one batch at a time for whoever has nothing to do.
    let queue = Mutex::new(Queue { each, number: 0, over: false });
    // What the batches gave, put together in their order.
    let merge = Mutex::new(Merge {
        next: 0,
        waiting: BTreeMap::new(),
        take,
        limit: job.limit,
        flow: ControlFlow::Continue(()),
        failed: None,
    });
    let over = AtomicBool::new(false);
    let threads = match job.output.len() > 4 * BATCH {
        true => thread::available_parallelism().map_or(1, |n| n.get().min(job.threads)),
        false => 1,
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread it takes longer, and that is all.
            let _ = thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || work(job, &queue, &merge, &over));
        }
        work(job, &queue, &merge, &over);
    });
    let merge = merge.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (merge.failed, merge.flow) {
        (Some(error), _) => Err(error),
        // A limit that is reached is all that was asked for.
        (None, ControlFlow::Break(Ended::AllRead)) => Ok(ControlFlow::Continue(())),
        (None, flow) => Ok(flow),
    }
}

fn work<T: Take, F: FnMut() -> Next>(
    job: &Job,
    queue: &Mutex<Queue<F>>,
    merge: &Mutex<Merge<T>>,
    over: &AtomicBool,
) {
    let fuel = Fuel::new(job.output.stop());
    while !over.load(Ordering::Relaxed) {
        let (number, parts) = match next_batch(&mut locked(queue)) {
            Ok(Some(batch)) => batch,
            Ok(None) => return,
            Err(error) => {
                locked(merge).failed = Some(error);
                over.store(true, Ordering::Relaxed);
                return;
            }
        };
        let room = locked(merge).take.room();
        let done = run_batch(job, &parts, room, &fuel);
        let mut merge = locked(merge);
        match done {
            Ok(done) => merge.put(number, done),
            Err(error) => merge.failed = Some(error),
        }
        if merge.failed.is_some() || merge.flow.is_break() {
            over.store(true, Ordering::Relaxed);
        }
    }
}

fn next_batch<F: FnMut() -> Next>(queue: &mut Queue<F>) -> Result<Option<(u64, Vec<Range<u64>>)>> {
    let mut parts = Vec::new();
    let mut length = 0;
    while !queue.over && length < BATCH && parts.len() < 16_384 {
        match (queue.each)()? {
            Ok(Some(range)) => {
                length += range.end - range.start;
                parts.push(range);
            }
            Ok(None) | Err(_) => queue.over = true,
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    queue.number += 1;
    Ok(Some((queue.number - 1, parts)))
}

impl<T: Take> Merge<'_, T> {
    fn put(&mut self, number: u64, done: Done) {
        self.waiting.insert(number, done);
        while self.flow.is_continue()
            && self.failed.is_none()
            && let Some(done) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            let mut done = done;
            if let Some(limit) = &mut self.limit {
                if done.count >= *limit {
                    done.count = *limit;
                    done.kept.truncate(usize::try_from(*limit).unwrap_or(usize::MAX));
                    done.ended = Some(Ended::AllRead);
                }
                *limit -= done.count;
            }
            match self.take.take(done) {
                Ok(flow) => self.flow = flow,
                Err(error) => self.failed = Some(error),
            }
        }
    }
}

fn run_batch(job: &Job, parts: &[Range<u64>], room: Room, fuel: &Fuel) -> Result<Done> {
    let mut done = Done { kept: Vec::new(), count: 0, used: 0, read: 0, ended: None };
    let mut bytes = Bytes::new();
    let mut start = 0;
    let mut left = room.bytes;
    for (number, part) in parts.iter().enumerate() {
        if part.start < start || part.end > start + bytes.len() as u64 {
            if part.end - part.start > WHOLE {
                return Err(too_large(part));
            }
            // Parts that lie close together are read together.
            let near = parts[number..].iter().take_while(|next| {
                next.start >= part.start && next.end <= part.end.max(part.start + 2 * BATCH)
            });
            let end = near.map(|next| next.end).max().unwrap_or(part.end);
            bytes = Bytes::from(job.output.read(part.start..end)?);
            start = part.start;
        }
        let within = (part.start - start) as usize..((part.end - start) as usize).min(bytes.len());
        let value = match parse::parse(&bytes, within) {
            Ok(value) => value,
            Err(wrong) => {
                let place = place(job.output, start + wrong.at as u64)?;
                done.ended = Some(Ended::Broken(format!("{}, at {place}", wrong.why)));
                break;
            }
        };
        done.read += 1;
        fuel.refill(PER_RUN + (part.end - part.start));
        let end = job.program.run(value, fuel, |result| {
            done.count += 1;
            if done.count <= room.results && left > 0 {
                let written = write(&result, if done.count > room.unsure { left } else { room.bytes }, fuel);
                if done.count > room.unsure {
                    left = left.saturating_sub(written.text.len() as u64 + 1);
                }
                done.kept.push(Kept { text: written.text, length: written.length, at: part.clone() });
            }
            match job.limit {
                Some(limit) if done.count >= limit => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        done.used += fuel.used();
        match end {
            End::Done => {}
            End::Enough => break,
            End::Failed(error) => {
                done.ended = Some(Ended::Failed { error });
                break;
            }
            End::Stopped(why) => {
                done.ended = Some(Ended::Stopped { why: format!("the filter was stopped: {why}") });
                break;
            }
        }
        // Many small values in one batch use no more together than in many.
        if let Some(ended) = overspent(job.output, done.used) {
            done.ended = Some(ended);
            break;
        }
    }
    Ok(done)
}

/// Gathers the results that are wanted.
struct Gather<'a> {
    output: &'a Output,
    wanted: Wanted,
    values: Vec<Value>,
    /// How many results there were.
    total: u64,
    /// How many documents or members were read.
    read: u64,
    /// How many bytes are still wanted.
    left: u64,
    used: u64,
}

impl<'a> Gather<'a> {
    fn new(output: &'a Output, wanted: Wanted) -> Gather<'a> {
        Gather { output, wanted, values: Vec::new(), total: 0, read: 0, left: wanted.enough, used: 0 }
    }

    fn push(&mut self, text: String, length: u64, at: Option<Range<u64>>) -> Result<()> {
        self.total += 1;
        if self.total > self.wanted.skip && (self.values.len() as u64) < self.wanted.max && self.left > 0 {
            let mut json = text;
            json.truncate(json.floor_char_boundary(usize::try_from(self.left).unwrap_or(usize::MAX)));
            self.left = match (json.len() as u64) < length {
                true => 0,
                false => self.left.saturating_sub(length + 1),
            };
            let line = match &at {
                Some(at) => Some(self.output.newlines_before(at.start)? + 1),
                None => None,
            };
            self.values.push(Value { json, length, at, line });
        }
        Ok(())
    }

    /// Runs a filter on one value that is not one of many, and takes its results.
    fn run(&mut self, program: &Program, value: Val, size: u64) -> Flow {
        let fuel = Fuel::new(self.output.stop());
        fuel.refill(PER_RUN + size);
        let mut failed = None;
        let end = program.run(value, &fuel, |result| {
            let room = if self.total >= self.wanted.skip && (self.values.len() as u64) < self.wanted.max {
                self.left
            } else {
                0
            };
            match room {
                0 => self.total += 1,
                room => {
                    let written = write(&result, room, &fuel);
                    if let Err(error) = self.push(written.text, written.length, None) {
                        failed = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        });
        match end {
            End::Done => ControlFlow::Continue(()),
            End::Enough => ControlFlow::Break(Ended::Failed {
                error: failed.map_or_else(String::new, |error| error.to_string()),
            }),
            End::Failed(error) => ControlFlow::Break(Ended::Failed { error }),
            End::Stopped(why) => {
                ControlFlow::Break(Ended::Stopped { why: format!("the filter was stopped: {why}") })
            }
        }
    }
}

/// Whether all runs together have used too much.
fn overspent(output: &Output, used: u64) -> Option<Ended> {
    (used > PER_FILTER + 4 * output.len()).then(|| Ended::Stopped {
        why: "the filter was stopped: it takes too many steps or too much memory".to_owned(),
    })
}

impl Take for Gather<'_> {
    fn room(&self) -> Room {
        let missing = self.wanted.max - self.values.len() as u64;
        match self.left == 0 || missing == 0 {
            true => Room { results: 0, unsure: 0, bytes: 0 },
            false => {
                let unsure = self.wanted.skip.saturating_sub(self.total);
                Room { results: unsure.saturating_add(missing), unsure, bytes: self.left }
            }
        }
    }

    fn take(&mut self, done: Done) -> Result<Flow> {
        let kept = done.kept.len() as u64;
        for Kept { text, length, at } in done.kept {
            self.push(text, length, Some(at))?;
        }
        self.total += done.count - kept;
        self.read += done.read;
        self.used += done.used;
        Ok(match done.ended.or_else(|| overspent(self.output, self.used)) {
            Some(ended) => ControlFlow::Break(ended),
            None => ControlFlow::Continue(()),
        })
    }
}

/// What is kept of results that make an array.
#[derive(Clone, Copy)]
enum Keep {
    Nothing,
    Beginning(u64),
    All,
}

/// Gathers results as the text of an array.
struct Collect<'a> {
    output: &'a Output,
    keep: Keep,
    text: Vec<u8>,
    /// How long the text would be if all of it were kept.
    length: u64,
    count: u64,
    used: u64,
}

impl Take for Collect<'_> {
    fn room(&self) -> Room {
        let bytes = match self.keep {
            Keep::Nothing => 0,
            Keep::Beginning(_) | Keep::All => u64::MAX,
        };
        Room { results: bytes, unsure: bytes, bytes }
    }

    fn take(&mut self, done: Done) -> Result<Flow> {
        let room = match self.keep {
            Keep::Nothing => 0,
            Keep::Beginning(room) => room,
            Keep::All => WHOLE,
        };
        for kept in done.kept {
            self.length += kept.length + 1;
            if (self.text.len() as u64) < room {
                self.text.push(if self.text.is_empty() { b'[' } else { b',' });
                self.text.extend_from_slice(kept.text.as_bytes());
            }
        }
        if matches!(self.keep, Keep::All) && self.length > WHOLE {
            return Err(Error::BadQuery(format!(
                "the filter makes an array of more than {WHOLE} bytes; keep less of each member, such as with map(.id), \
                 or give the members one by one with .[] | …"
            )));
        }
        self.count += done.count;
        self.used += done.used;
        Ok(match done.ended.or_else(|| overspent(self.output, self.used)) {
            Some(ended) => ControlFlow::Break(ended),
            None => ControlFlow::Continue(()),
        })
    }
}

impl Collect<'_> {
    fn finish(mut self, after: &After, then: Option<&Program>, gather: &mut Gather) -> Result<Flow> {
        if self.text.is_empty() {
            self.text.push(b'[');
        }
        match (after, then) {
            (After::Count(_), Some(program)) => {
                let count = usize::try_from(self.count).unwrap_or(usize::MAX);
                Ok(gather.run(program, Val::from(count), 0))
            }
            (After::Filter(_), Some(program)) => {
                self.text.push(b']');
                let bytes = Bytes::from(self.text);
                let length = bytes.len();
                Ok(match parse::parse_tight(&bytes) {
                    Ok(value) => gather.run(program, value, length as u64),
                    Err(wrong) => ControlFlow::Break(Ended::Failed { error: wrong.why.to_owned() }),
                })
            }
            _ => {
                let whole = self.length.max(1) + 1;
                if self.text.len() as u64 + 1 == whole {
                    self.text.push(b']');
                }
                let text = String::from_utf8(self.text)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                gather.push(text, whole, None)?;
                Ok(ControlFlow::Continue(()))
            }
        }
    }
}
