//! Runs a filter over an output: document by document, and through a large document member by member.
//!
//! The [`plan`] of the filter says which part of a large document is needed; [`stream`] finds this part in the bytes,
//! [`batch`](super::batch) runs the filter on many values in several threads, and [`results`](super::results) gathers
//! what they give.

use crate::classify::json::locate::found;
use crate::classify::json::scan::{Broken, Documents, Members, Next};
use crate::query::json::jq::batch::{Halt, Job, LARGEST_VALUE, not_complete, run_all, too_large};
use crate::query::json::jq::fuel::STACK;
use crate::query::json::jq::parse;
use crate::query::json::jq::plan::{After, Plan, Step, Then, plan};
use crate::query::json::jq::program::{Program, Tree, tree};
use crate::query::json::jq::results::{ArrayUse, Collect, Gather, ResultLimits};
use crate::query::json::jq::stream::{self, Followed, MemberValues};
use crate::request::filter::{Ended, Total, Values};
use crate::{Error, Kind, Output, Result};
use bytes::Bytes;
use jaq_json::Val;
use std::ops::Range;
use std::thread;

/// A document of more bytes is gone through member by member, if the filter can be run that way.
const LARGE_DOCUMENT: u64 = 1024 * 1024;

/// Runs a filter; see [`filter`](super::filter).
pub(crate) fn run(output: &Output, code: &str, limits: ResultLimits) -> Result<Values> {
    let on_a_large_stack = thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || run_here(output, code, limits))
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    on_a_large_stack.map_err(Error::store("start a thread"))?
}

fn run_here(output: &Output, code: &str, limits: ResultLimits) -> Result<Values> {
    let tree = tree(code)?;
    let whole = Program::compile(code, tree.clone())?;
    let plan = plan(&tree);
    let mut run = Run { output, code, plan, whole, gather: Gather::new(output, limits) };
    let ended = match run.documents() {
        Ok(()) => Ended::AllRead,
        Err(Halt::Ended(ended)) => ended,
        Err(Halt::Failed(error)) => return Err(error),
    };
    let Gather { values, total, .. } = run.gather;
    let total = if ended == Ended::AllRead { Total::Exactly(total) } else { Total::AtLeast(total) };
    Ok(Values { values, total, ended })
}

/// One filter on its way through one output.
struct Run<'a> {
    output: &'a Output,
    code: &'a str,
    plan: Plan<'a>,
    /// The filter for documents that are parsed as a whole.
    whole: Program,
    gather: Gather<'a>,
}

/// Why the small documents of an output end before the output does.
enum Interruption {
    /// A document that is gone through member by member.
    Large(Range<u64>),
    Broken(Broken),
}

/// The end of the path that a plan begins with.
enum Located {
    At(Range<u64>),
    /// The step of this number finds a value that it does not lead into.
    Other(usize, Val),
}

impl<'a> Run<'a> {
    /// Goes through all documents of the output.
    fn documents(&mut self) -> Result<(), Halt> {
        let found = found(self.output)?;
        let is_single =
            found.is_some() && self.output.record().kind == Kind::Json && !self.output.is_growing();
        let all = found.unwrap_or(0..self.output.len());
        let mut documents = Documents::of(self.output, all.clone())?;
        if is_single && self.output.len() > LARGE_DOCUMENT {
            // The store has seen that it is one document, so its end need not be searched.
            return self.large(documents.begin()?..all.end, false);
        }
        let mut has_read = false;
        loop {
            let mut interruption = None;
            let next_small = || match documents.next()? {
                Next::Value(range) if range.end - range.start > LARGE_DOCUMENT => {
                    interruption = Some(Interruption::Large(range));
                    Ok(None)
                }
                Next::Value(range) => Ok(Some(range)),
                Next::End => Ok(None),
                Next::Broken(broken) => {
                    interruption = Some(Interruption::Broken(broken));
                    Ok(None)
                }
            };
            let job = Job {
                output: self.output,
                program: &self.whole,
                limit: None,
                threads: self.gather.limits.threads,
            };
            run_all(&job, next_small, &mut self.gather).map_err(|halt| self.first_failure(halt, has_read))?;
            has_read |= self.gather.read > 0;
            match interruption {
                None => return Ok(()),
                Some(Interruption::Large(range)) => {
                    self.large(range, false)?;
                    has_read = true;
                }
                Some(Interruption::Broken(Broken::Ended { began })) => {
                    self.large(began..all.end, true)?;
                    let why = not_complete(self.output, began)?;
                    return Err(Halt::Ended(Ended::Stopped { why }));
                }
                Some(Interruption::Broken(broken)) => {
                    return Err(self.first_failure(Halt::broken(self.output, &broken), has_read));
                }
            }
        }
    }

    /// An output that does not even begin as JSON is a wrong query, not an answer that breaks off.
    fn first_failure(&self, halt: Halt, has_read: bool) -> Halt {
        match halt {
            Halt::Ended(Ended::Broken(why)) if self.gather.total == 0 && !has_read => {
                let kind = match self.output.record().kind {
                    Kind::Binary => "binary",
                    _ => "text",
                };
                Halt::Failed(Error::BadQuery(format!(
                    "the output is {kind}, not JSON: {why}; use grep or read its lines"
                )))
            }
            halt => halt,
        }
    }

    /// Goes through one large document, or through one that is cut off.
    fn large(&mut self, document: Range<u64>, is_cut: bool) -> Result<(), Halt> {
        if self.plan.is_whole() {
            return self.parse_whole(document, is_cut, None);
        }
        let size = document.end - document.start;
        match self.locate(document)? {
            Located::At(range) => self.go_on(range, is_cut),
            Located::Other(step, value) => self.run_from_step(step, value, size),
        }
    }

    /// Follows the steps of the plan in the bytes of a document.
    fn locate(&self, document: Range<u64>) -> Result<Located, Halt> {
        let mut here = document;
        for (number, step) in self.plan.steps.iter().enumerate() {
            let Some(mut members) = Members::of(self.output, here.clone())? else {
                return Ok(Located::Other(number, self.scalar(here)?));
            };
            let is_object = members.is_object();
            if is_object != matches!(step, Step::Key(_)) {
                return Ok(Located::Other(number, empty(is_object)));
            }
            match stream::follow(&mut members, step)? {
                Followed::To(range) => here = range,
                Followed::Nowhere => return Ok(Located::Other(number, empty(is_object))),
                Followed::Broken(broken) => return Err(Halt::broken(self.output, &broken)),
            }
        }
        Ok(Located::At(here))
    }

    /// Runs the rest of the filter on the value that the path leads to.
    fn go_on(&mut self, found: Range<u64>, is_cut: bool) -> Result<(), Halt> {
        let members = Members::of(self.output, found.clone())?;
        match (&self.plan.then, members) {
            (Then::Whole(filter), _) => {
                let program = self.compile(filter)?;
                self.parse_whole(found, is_cut, Some(program))
            }
            (_, None) => {
                let value = self.scalar(found)?;
                self.run_from_step(self.plan.steps.len(), value, 0)
            }
            (Then::Members(filter), Some(members)) => {
                let program = self.compile(filter)?;
                let value = stream::skeleton(self.output, members)?;
                self.gather.run(&program, value, found.end - found.start)
            }
            (Then::Slice { .. }, Some(members)) if members.is_object() => {
                self.run_from_step(self.plan.steps.len(), empty(true), 0)
            }
            (Then::Slice { from, to, filter }, Some(members)) => {
                let program = self.compile(filter)?;
                let slice = stream::slice(self.output, members, *from..*to)?;
                self.gather.run(&program, slice.value, slice.length)
            }
            (Then::Each { filter, limit, after }, Some(members)) => {
                let (program, limit) = (self.compile(filter)?, *limit);
                let array = match after {
                    After::Nothing => None,
                    After::Array => Some(ArrayUse::Result),
                    After::Filter(filter) => Some(ArrayUse::Input(self.compile(filter)?)),
                    After::Count(filter) => Some(ArrayUse::Length(self.compile(filter)?)),
                };
                self.each_member(&program, limit, array, members)
            }
        }
    }

    /// Runs a filter on each member of an array or object. Its results are those of the run, unless they are used as
    /// an array.
    fn each_member(
        &mut self,
        program: &Program,
        limit: Option<u64>,
        array: Option<ArrayUse>,
        members: Members,
    ) -> Result<(), Halt> {
        let mut values = MemberValues::new(members)?;
        let job = Job { output: self.output, program, limit, threads: self.gather.limits.threads };
        match array {
            None => run_all(&job, || values.next(), &mut self.gather)?,
            Some(array) => {
                let mut collect = Collect::new(self.output, array, self.gather.limits.enough);
                run_all(&job, || values.next(), &mut collect)?;
                // The results for some of the members are not the array that is wanted.
                if values.broken.is_none() {
                    self.gather.used += collect.used;
                    collect.finish(&mut self.gather)?;
                }
            }
        }
        values.broken.map_or(Ok(()), |broken| Err(Halt::broken(self.output, &broken)))
    }

    /// Compiles a part of the plan.
    fn compile(&self, filter: &Tree<'a>) -> Result<Program> {
        Program::compile(self.code, self.plan.with_definitions(filter.clone()))
    }

    /// Runs the filter from the step of this number on, which finds `value`.
    fn run_from_step(&mut self, step: usize, value: Val, size: u64) -> Result<(), Halt> {
        let (tree, value) = self.plan.step_onwards(step, value);
        let program = Program::compile(self.code, tree)?;
        self.gather.run(&program, value, size)
    }

    /// Parses a value as a whole and runs a filter on it: the whole filter, unless another is given.
    fn parse_whole(&mut self, range: Range<u64>, is_cut: bool, program: Option<Program>) -> Result<(), Halt> {
        if range.end - range.start > LARGEST_VALUE {
            return Err(Halt::Failed(too_large(&range)));
        }
        let bytes = Bytes::from(self.output.read(range.clone())?);
        let length = bytes.len();
        match parse::parse_tight(&bytes) {
            Ok(value) => self.gather.run(program.as_ref().unwrap_or(&self.whole), value, length as u64),
            Err(wrong) if is_cut && wrong.at >= length => {
                Err(Halt::Ended(Ended::Stopped { why: not_complete(self.output, range.start)? }))
            }
            Err(wrong) => {
                let halt = Halt::unparsable(self.output, range.start + wrong.at as u64, wrong.why);
                Err(self.first_failure(halt, false))
            }
        }
    }

    /// Parses a value that is neither an array nor an object.
    fn scalar(&self, range: Range<u64>) -> Result<Val, Halt> {
        if range.end - range.start > LARGEST_VALUE {
            return Err(Halt::Failed(too_large(&range)));
        }
        let bytes = Bytes::from(self.output.read(range.clone())?);
        parse::parse(&bytes, 0..bytes.len()).map_err(|wrong| {
            let broken = if wrong.at >= bytes.len() {
                Broken::Ended { began: range.start }
            } else {
                Broken::Wrong { at: range.start + wrong.at as u64, expected: wrong.why }
            };
            self.first_failure(Halt::broken(self.output, &broken), false)
        })
    }
}

fn empty(is_object: bool) -> Val {
    if is_object { Val::obj(jaq_json::Map::default()) } else { std::iter::empty().collect() }
}
