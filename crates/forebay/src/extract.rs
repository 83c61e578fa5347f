//! Instructions in plain words, answered over a whole output: the tool `tool_output`.
//!
//! The answer is plain text in an envelope that names the output and the strategy. Models read the output whole, in
//! chunks, or read and search it by themselves; without one, the passages that match the instructions answer. A
//! strategy that cannot run is replaced by `truncate`: the passages that match the instructions, then the beginning and
//! the end; and the answer says why.
//!
//! A mode that the caller forces reads the whole output or fails before the first call. Where `auto` reads only parts,
//! the label of the answer and its first line give the share that was read.
//!
//! `extractor` remembers answers and records events; [`extract()`] below gives one answer. It tries a jq filter
//! (`filtered`), then a strategy (`attempt`): `chunked` over `chunks` of the output or over its
//! `narrowed` parts, or `read_grep`. `asking` sends the `prompts` to models in their order, `wrapper` finds
//! the report in what they write, `copied` and `quotes` check the report against the output, and `envelope` prints it.

pub(crate) mod answer;
pub(crate) mod asking;
pub(crate) mod attempt;
pub(crate) mod chunked;
pub(crate) mod chunks;
pub(crate) mod copied;
pub(crate) mod envelope;
pub(crate) mod extraction;
pub(crate) mod extractor;
#[cfg(feature = "json")]
pub(crate) mod filtered;
pub(crate) mod lines;
pub(crate) mod narrowed;
pub(crate) mod plan;
pub(crate) mod prompts;
pub(crate) mod provenance;
pub(crate) mod quotes;
pub(crate) mod read_grep;
pub(crate) mod records;
pub(crate) mod strategy;
pub(crate) mod text_calls;
pub(crate) mod unread;
pub(crate) mod window;
pub(crate) mod wrapper;

pub use answer::{Extract, Fallback};
pub use envelope::FAILED;
pub use extraction::{Extraction, Mode, Models, Progress};
pub use extractor::Extractor;
pub use plan::{Plan, plan};
pub use strategy::{Strategy, UnknownStrategy};

use crate::event::Reading;
use crate::text::count::count;
use crate::{Budget, Error, Output, Result};
use answer::{Findings, How};
use asking::{Asking, Done, Failure, PartReport, Spent};
use attempt::Attempt;
use copied::{renumbered, with_lines_beside};
use envelope::{Abstract, in_envelope, part_of};
#[cfg(feature = "json")]
use filtered::Filtered;
use prompts::Prompts;
use provenance::{joined, notes, part_read};
use quotes::{Checked, checked};
use std::sync::{Mutex, atomic::AtomicBool};
use unread::{ends, fallback, passages};
use window::Window;
use wrapper::Wrapper;

/// Reads an output as an extraction wants it. The answer fits the budget.
///
/// It remembers nothing: with the same extraction, models read again. See [`Extractor`].
pub fn extract(output: &Output, wanted: &Extraction, models: &Models, budget: Budget) -> Result<Extract> {
    if wanted.instructions.trim().is_empty() {
        return Err(Error::BadQuery(
            "no instructions were given: say what is wanted of the output".to_owned(),
        ));
    }
    if output.is_empty() && wanted.mode != Mode::Truncate {
        let strategy = if models.list.is_empty() { Strategy::Ask } else { wanted.mode.strategy() };
        let answer = "NO RELEVANT DATA FOUND\nThe output is empty.";
        let found = Abstract { strategy, answer, notes: &[], share: None, from: 0 };
        return Ok(in_envelope(output, &found, budget));
    }
    let (instructions, from) = part_of(wanted.instructions);
    let wanted = &Extraction { instructions, ..*wanted };
    let (failed, reading) = match wanted.mode {
        Mode::Truncate => return ends(output, budget),
        Mode::Auto if models.list.is_empty() => return passages(output, wanted, budget),
        mode if models.list.is_empty() => {
            (Fallback { from: mode, why: "no model is configured (extract.models)".to_owned() }, None)
        }
        _ => match read(output, wanted, from, models, budget) {
            Ok(answer) => return Ok(answer),
            Err(Unread::Failed(error)) => return Err(error),
            Err(Unread::Fallback(failed, reading)) => (failed, Some(*reading)),
        },
    };
    Ok(Extract { reading, ..fallback(output, instructions, failed, budget)? })
}

/// Why models have not read an output.
enum Unread {
    /// The strategy could not run, with the cost of the attempt. Another strategy may answer.
    Fallback(Fallback, Box<Reading>),
    /// The output cannot be read, or the caller has stopped the reading.
    Failed(Error),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Unread {
        Unread::Failed(error)
    }
}

/// Has models read the output.
fn read(
    output: &Output,
    wanted: &Extraction,
    from: usize,
    models: &Models,
    budget: Budget,
) -> Result<Extract, Unread> {
    let Some(wrapper) = wrapper(output, wanted, models)? else {
        let why = "no nonce could be drawn that does not stand in the output".to_owned();
        return Err(Unread::Fallback(Fallback { from: wanted.mode, why }, Box::default()));
    };
    // The envelope around the abstract needs some of the budget too.
    let prompts = Prompts::new(output, wanted.instructions, &wrapper, budget.tokens * 3 / 4)?;
    let window = Window::of(wanted.settings, models.list);
    let mut attempts = Attempts {
        output,
        wanted,
        models,
        wrapper: &wrapper,
        prompts: &prompts,
        window,
        spent: Spent::default(),
        no_filter: None,
    };
    let (mode, done) = attempts.run()?;
    match done {
        Ok(findings) => Ok(attempts.answer(mode.strategy(), findings, from, budget)?),
        Err(Failure::Failed(why) | Failure::TooLong { why, .. }) => {
            Err(Unread::Fallback(Fallback { from: mode, why }, Box::new(attempts.reading())))
        }
        Err(Failure::Stopped { why, parts }) if parts.is_empty() => Err(Unread::Failed(Error::Stopped(why))),
        Err(Failure::Stopped { why, parts }) => {
            let (strategy, answer) = (mode.strategy(), unfinished(&why, &parts));
            let found = Abstract { strategy, answer: &answer, notes: &[], share: None, from: 0 };
            let extract = in_envelope(output, &found, budget);
            Ok(Extract { stopped: Some(why), reading: Some(attempts.reading()), ..extract })
        }
        Err(Failure::Broken(error)) => Err(Unread::Failed(error)),
    }
}

/// The attempts to read one output, each with a smaller window than the one before.
struct Attempts<'a> {
    output: &'a Output,
    wanted: &'a Extraction<'a>,
    models: &'a Models<'a>,
    wrapper: &'a Wrapper,
    prompts: &'a Prompts<'a>,
    /// Window that is known now.
    window: Window,
    /// Cost of all attempts so far.
    spent: Spent,
    /// Why no jq filter could answer, if one was tried.
    no_filter: Option<String>,
}

/// Maximum times that chunks are made again after an overflow. Each time the server's figures make them smaller, so
/// that more than two times are rare.
const MOST_OVERFLOWS: usize = 6;

impl<'a> Attempts<'a> {
    /// Reads until no request exceeds a model's window; returns the mode that was used in the end, and its result.
    fn run(&mut self) -> Result<(Mode, Done)> {
        if self.wanted.mode == Mode::Auto
            && let Some(done) = self.by_filter()
        {
            return Ok((Mode::FullChunked, done));
        }
        let mut overflows = 0;
        loop {
            let asking = self.asking();
            let Attempts { output, wanted, models, prompts, .. } = *self;
            let (mode, done) = Attempt { output, wanted, models, prompts, asking: &asking }.read()?;
            self.spent = asking.spent();
            let Err(Failure::TooLong { overflow, why }) = done else { return Ok((mode, done)) };
            let Some(smaller) = self.window.after(overflow).filter(|_| overflows < MOST_OVERFLOWS) else {
                return Ok((mode, Err(Failure::Failed(why))));
            };
            overflows += 1;
            self.window = smaller;
            (self.models.progress)(Progress::Smaller { context: smaller.context });
        }
    }

    /// Answer of a jq filter; `None` if the output must be read instead.
    #[cfg(not(feature = "json"))]
    fn by_filter(&mut self) -> Option<Done> {
        None
    }

    /// Answer of a jq filter; `None` if the output must be read instead.
    #[cfg(feature = "json")]
    fn by_filter(&mut self) -> Option<Done> {
        let asking = self.asking();
        let done = match filtered::filtered(self.output, &asking, self.prompts) {
            Ok(Filtered::Answered(findings)) => Some(Ok(findings)),
            Ok(Filtered::NoFilter { why }) => {
                self.no_filter = Some(why);
                None
            }
            Ok(Filtered::NotAsked) | Err(Failure::TooLong { .. }) => None,
            Err(failure) => Some(Err(failure)),
        };
        self.spent = asking.spent();
        done
    }

    fn asking(&mut self) -> Asking<'a> {
        Asking {
            output: self.output,
            models: self.models.list,
            wrapper: self.wrapper,
            window: self.window,
            spent: Mutex::new(std::mem::take(&mut self.spent)),
            abandoned: AtomicBool::new(false),
        }
    }

    fn reading(&self) -> Reading {
        let Spent { usage, asked, models, leniencies } = self.spent.clone();
        Reading { models, asked, usage, leniencies, ..Reading::default() }
    }

    /// The findings of models, checked against the output, in their envelope.
    fn answer(&self, strategy: Strategy, findings: Findings, from: usize, budget: Budget) -> Result<Extract> {
        let output = self.output;
        let (answer, missing) = match findings.how {
            // The results of a filter need not occur in the output.
            How::Filtered => (findings.text.clone(), 0),
            _ => {
                let Checked { text, missing } = checked(output, &renumbered(output, &findings.text)?)?;
                if self.window.is_small {
                    (with_lines_beside(output, &text, self.prompts.room)?, missing)
                } else {
                    (text, missing)
                }
            }
        };
        let answer = output.shown_text(&answer).into_owned();
        let reading = self.reading();
        let ranges = joined(findings.ranges.clone());
        let mut notes = notes(output, &reading, &findings, &ranges, missing)?;
        if let (Some(why), Some(first)) = (&self.no_filter, notes.first_mut()) {
            let why = crate::shortened(&why.replace('\n', " "), 300);
            first.insert_str(0, &format!("[no jq filter could be used: {why}]\n"));
        }
        let share = part_read(output, strategy, &ranges)?;
        let found = Abstract { strategy, answer: &answer, notes: &notes, share, from };
        let extract = in_envelope(output, &found, budget);
        let ranges = ranges.iter().map(|range| (range.start, range.end)).collect();
        Ok(Extract { reading: Some(Reading { ranges, answer, notes, ..reading }), ..extract })
    }
}

/// The reports that were finished when a reading was stopped.
fn unfinished(why: &str, parts: &[PartReport<String>]) -> String {
    let mut text = format!(
        "[stopped: {why}. {} had been read; their reports follow, not yet made into one answer]\n",
        count("chunk", parts.len() as u64)
    );
    for part in parts {
        text.push_str(&format!("\n[chunk {}]\n{}\n", part.index + 1, part.report));
    }
    text
}

/// A wrapper whose nonce occurs in no text that the models will read.
fn wrapper(output: &Output, wanted: &Extraction, models: &Models) -> Result<Option<Wrapper>> {
    for _ in 0..8 {
        let nonce = (models.nonce)();
        let arguments = output.record().call.args.as_deref().unwrap_or_default();
        let is_in_prompt = [wanted.instructions, arguments].iter().any(|text| text.contains(&nonce));
        if !nonce.is_empty() && !is_in_prompt && !output.contains(nonce.as_bytes())? {
            return Ok(Some(Wrapper::new(nonce)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
