//! Instructions in plain words, answered over a whole output: the tool `tool_output`.
//!
//! The answer is plain text in an envelope that says of which output it is and by which strategy it was made. Models
//! read it whole, in chunks, or read and search it by themselves; without one, the passages answer that have the words
//! of the instructions. A strategy that cannot run is replaced by `truncate`: the passages that match the instructions,
//! then the beginning and the end; and the answer says why.
//!
//! A mode that the caller forces reads the whole output or fails before the first call. Where `auto` reads only parts,
//! the label of the answer and its first line give the share that was read.

pub(crate) mod asking;
pub(crate) mod chunked;
pub(crate) mod chunks;
pub(crate) mod envelope;
pub(crate) mod extractor;
pub(crate) mod filtered;
pub(crate) mod narrowed;
pub(crate) mod plan;
pub(crate) mod prompts;
pub(crate) mod provenance;
pub(crate) mod quotes;
pub(crate) mod read_grep;
pub(crate) mod records;
pub(crate) mod text_calls;
pub(crate) mod unread;
pub(crate) mod window;
pub(crate) mod wrapper;

use crate::event::Reading;
use crate::model::{Model, ToolCalls};
use crate::settings::Extract as Settings;
use crate::text::count::count;
use crate::{Budget, Error, Output, Result, Surface};
use asking::{Asking, Failure, Spent};
use chunked::Chunked;
use chunks::Whole;
use envelope::{Abstract, told};
use filtered::Filtered;
use prompts::Prompts;
use provenance::{joined, notes, part_read};
use read_grep::ReadGrep;
use std::{
    fmt,
    ops::Range,
    str::FromStr,
    sync::{Mutex, atomic::AtomicBool},
};
use unread::{ends, fallback, passages};
use window::Window;
use wrapper::Wrapper;

pub use envelope::FAILED;
pub(crate) use envelope::part_of;
pub use extractor::Extractor;
pub use plan::{Plan, plan};

/// How an output is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As fits the output and what is there to read it with.
    #[default]
    Auto,
    /// By a model, chunk by chunk.
    FullChunked,
    /// By a model that reads and searches.
    ReadGrep,
    /// Its beginning and its end.
    Truncate,
}

impl Mode {
    /// All of them, as they are written.
    pub const NAMES: [&'static str; 4] = ["auto", "full-chunked", "read-grep", "truncate"];
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Mode::NAMES[*self as usize])
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Mode> {
        let modes = [Mode::Auto, Mode::FullChunked, Mode::ReadGrep, Mode::Truncate];
        modes.into_iter().find(|mode| mode.to_string() == name).ok_or_else(|| {
            Error::BadQuery(format!("mode must be one of {}, and is {name:?}", Mode::NAMES.join(", ")))
        })
    }
}

/// A request to read an output.
#[derive(Clone, Copy, Debug)]
pub struct Extraction<'a> {
    /// Instructions in plain words.
    pub instructions: &'a str,
    /// How it is read.
    pub mode: Mode,
    /// Whether it is read again even if the same was wanted before.
    pub anew: bool,
    /// How models read.
    pub settings: &'a Settings,
}

/// The models that read, and what they need of the world.
#[derive(Clone, Copy)]
pub struct Models<'a> {
    /// The models, in the order in which they are tried; none means that the library answers by itself.
    pub list: &'a [&'a dyn Model],
    /// Random letters and digits, others with each call: the library has none of its own.
    pub nonce: &'a (dyn Fn() -> String + Sync),
    /// Is told how far it is.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl Models<'_> {
    /// No models at all.
    pub const NONE: Models<'static> = Models { list: &[], nonce: &String::new, progress: &|_| {} };
}

/// How far an extraction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Chunks are being read.
    Chunks {
        /// Chunks that have been read.
        done: usize,
        /// All chunks.
        of: usize,
        /// Tokens of the chunks that have been read.
        tokens: u64,
    },
    /// The passages that match the instructions are read before anything else.
    Passages,
    /// A request was longer than the model's window, and the chunks are made again.
    Smaller {
        /// Tokens of the window that is assumed now.
        context: u64,
    },
    /// One answer is made of those of several parts.
    Reducing {
        /// The parts.
        parts: usize,
    },
    /// An agent reads and searches.
    Turn {
        /// The turn it is in, counted from 1.
        turn: u64,
        /// So many may it have.
        of: u64,
    },
}

/// Result of an extraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// The answer, in its envelope.
    pub text: String,
    /// How it was made.
    pub strategy: &'static str,
    /// The intended strategy and why it could not run, if another was used.
    pub fell_back: Option<(Mode, String)>,
    /// Reading by models with its cost, if any was asked.
    pub reading: Option<Reading>,
    /// Whether it is an earlier answer, and nothing was read for it now.
    pub repeated: bool,
    /// Why the reading was stopped before its end, if it was: the text then has what was read until then.
    pub stopped: Option<String>,
}

/// Parts that a strategy read.
pub(crate) struct Read {
    ranges: Vec<Range<u64>>,
    how: How,
}

/// How a strategy read it.
enum How {
    /// All of it, in so many chunks.
    Chunks(u64),
    /// A part of it.
    Narrowed { chunks: u64, by: narrowed::By },
    /// The passages that match the instructions, which answered.
    Passages,
    /// All of it, by a jq filter that a model wrote.
    Filtered,
    /// As an agent does; with the patterns that it searched for.
    Turns { turns: u64, calls: u64, patterns: Vec<String> },
}

/// Reads an output as an extraction wants it. The answer holds the budget.
///
/// Nobody is asked twice: [`Extractor`] remembers.
pub fn extract(output: &Output, wanted: &Extraction, models: &Models, budget: Budget) -> Result<Extract> {
    if wanted.instructions.trim().is_empty() {
        return Err(Error::BadQuery(
            "no instructions were given: say what is wanted of the output".to_owned(),
        ));
    }
    if output.is_empty() && wanted.mode != Mode::Truncate {
        // There is nothing to read, whoever reads it.
        let strategy = match wanted.mode {
            _ if models.list.is_empty() => "ask",
            Mode::Auto => Mode::NAMES[Mode::FullChunked as usize],
            mode => Mode::NAMES[mode as usize],
        };
        let answer = "NO RELEVANT DATA FOUND\nThe output is empty.";
        return Ok(told(output, &Abstract { strategy, answer, notes: &[], share: None, from: 0 }, budget));
    }
    let (instructions, from) = part_of(wanted.instructions);
    let wanted = &Extraction { instructions, ..*wanted };
    let instead = |mode: Mode, why: String, reading: Option<Reading>| {
        let extract = fallback(output, wanted.instructions, mode, why, budget)?;
        Ok(Extract { reading, ..extract })
    };
    match wanted.mode {
        Mode::Truncate => ends(output, budget),
        Mode::Auto if models.list.is_empty() => passages(output, wanted, budget),
        mode if models.list.is_empty() => {
            instead(mode, "no model is configured (extract.models)".to_owned(), None)
        }
        _ => match read(output, wanted, from, models, budget)? {
            Ok(answer) => Ok(answer),
            Err((mode, why, reading)) => instead(mode, why, Some(reading)),
        },
    }
}

/// How often chunks are made again after an overflow. Each time they are smaller by what the server said, so that more
/// than two are rare.
const OVERFLOWS: usize = 6;

/// Has models read the output; or why they could not, with the strategy that was tried and what it cost all the same.
fn read(
    output: &Output,
    wanted: &Extraction,
    from: usize,
    models: &Models,
    budget: Budget,
) -> Result<std::result::Result<Extract, (Mode, String, Reading)>> {
    let Some(wrapper) = wrapper(output, wanted, models)? else {
        let why = "no nonce could be drawn that does not stand in the output".to_owned();
        return Ok(Err((wanted.mode, why, Reading::default())));
    };
    // What stands around the abstract needs some of the budget too.
    let prompts = Prompts::new(output, wanted.instructions, &wrapper, budget.tokens * 3 / 4)?;
    let mut window = Window::of(wanted.settings, models.list);
    let mut spent = Spent::default();
    let mut overflows = 0;
    // What no filter could count is read, and the answer says why.
    let mut no_filter = None;
    let mut may_filter = wanted.mode == Mode::Auto;
    let (mode, done) = loop {
        let asking = Asking {
            models: models.list,
            wrapper: &wrapper,
            window,
            spent: Mutex::new(spent),
            abandoned: AtomicBool::new(false),
        };
        if std::mem::take(&mut may_filter) {
            let done = match filtered::filtered(output, &asking, &prompts) {
                Ok(Filtered::Answered(answer, read)) => Some(Ok((answer, read))),
                Ok(Filtered::NoFilter { why }) => {
                    no_filter = Some(why);
                    None
                }
                Ok(Filtered::NotAsked) | Err(Failure::TooLong(..)) => None,
                Err(failure) => Some(Err(failure)),
            };
            if let Some(done) = done {
                spent = asking.spent();
                break (Mode::FullChunked, done);
            }
        }
        let (mode, done) = Attempt { output, wanted, models, prompts: &prompts, asking: &asking }.read()?;
        spent = asking.spent();
        match done {
            Err(Failure::TooLong(overflow, why)) => {
                match window.after(overflow).filter(|_| overflows < OVERFLOWS) {
                    Some(smaller) => {
                        overflows += 1;
                        window = smaller;
                        (models.progress)(Progress::Smaller { context: window.context });
                    }
                    None => break (mode, Err(Failure::Failed(why))),
                }
            }
            done => break (mode, done),
        }
    };
    let reading = Reading {
        models: spent.models,
        asked: spent.asked,
        usage: spent.usage,
        leniencies: spent.leniencies,
        ..Reading::default()
    };
    let strategy = Mode::NAMES[mode as usize];
    match done {
        Ok((answer, read)) => {
            let (answer, missing) = match read.how {
                // What a filter makes need not stand anywhere.
                How::Filtered => (answer, 0),
                _ => quotes::checked(output, &quotes::renumbered(output, &answer)?)?,
            };
            let answer = match read.how {
                How::Filtered => answer,
                _ if window.is_small => quotes::with_lines_beside(output, &answer, prompts.room)?,
                _ => answer,
            };
            let ranges = joined(read.ranges.clone());
            let mut notes = notes(output, &reading, &read, &ranges, missing)?;
            if let (Some(why), Some(first)) = (no_filter, notes.first_mut()) {
                let why = crate::shortened(&why.replace('\n', " "), 300);
                first.insert_str(0, &format!("[no jq filter could be used: {why}]\n"));
            }
            let share = part_read(output, strategy, &ranges)?;
            let extract =
                told(output, &Abstract { strategy, answer: &answer, notes: &notes, share, from }, budget);
            let ranges = ranges.iter().map(|range| (range.start, range.end)).collect();
            Ok(Ok(Extract { reading: Some(Reading { ranges, answer, notes, ..reading }), ..extract }))
        }
        Err(Failure::Failed(why) | Failure::TooLong(_, why)) => Ok(Err((mode, why, reading))),
        Err(Failure::Stopped(why, parts)) if parts.is_empty() => Err(Error::Stopped(why)),
        Err(Failure::Stopped(why, parts)) => {
            let answer = unfinished(&why, &parts);
            let extract = told(
                output,
                &Abstract { strategy, answer: &answer, notes: &[], share: None, from: 0 },
                budget,
            );
            Ok(Ok(Extract { stopped: Some(why), reading: Some(reading), ..extract }))
        }
        Err(Failure::Broken(error)) => Err(error),
    }
}

/// The reports that had come when a reading was stopped.
fn unfinished(why: &str, parts: &[(usize, String)]) -> String {
    let mut text = format!(
        "[stopped: {why}. {} had been read; their reports follow, not yet made into one answer]\n",
        count("chunk", parts.len() as u64)
    );
    for (index, part) in parts {
        text.push_str(&format!("\n[chunk {}]\n{part}\n", index + 1));
    }
    text
}

/// One attempt to read an output, with the window that is known now.
struct Attempt<'a> {
    output: &'a Output,
    wanted: &'a Extraction<'a>,
    models: &'a Models<'a>,
    prompts: &'a Prompts<'a>,
    asking: &'a Asking<'a>,
}

/// A report and what was read for it, or why there is none.
type Done = std::result::Result<(String, Read), Failure>;

impl Attempt<'_> {
    /// Reads the output as the mode says; and the mode that was taken.
    fn read(&self) -> Result<(Mode, Done)> {
        let (mode, has_long_lines) = (self.wanted.mode, self.has_long_lines()?);
        let chunked = self.chunked(has_long_lines, mode == Mode::FullChunked);
        match mode {
            Mode::Auto => {
                let cut = match chunked.cut() {
                    Ok(Some(cut)) => return Ok((Mode::FullChunked, chunked.read_whole(&cut))),
                    cut => cut.map(|_| ()),
                };
                let first = match self.asking.window.is_small {
                    true => cut.and_then(|()| chunked.passages_first()),
                    false => cut.map(|()| None),
                };
                match first {
                    Ok(Some(done)) => Ok((Mode::FullChunked, Ok(done))),
                    Ok(None) if has_long_lines => Ok((Mode::FullChunked, chunked.read_parts())),
                    Ok(None) => self.read_grep(has_long_lines),
                    Err(failure) => Ok((Mode::FullChunked, Err(failure))),
                }
            }
            Mode::ReadGrep => self.read_grep(has_long_lines),
            Mode::FullChunked | Mode::Truncate => Ok((Mode::FullChunked, chunked.read())),
        }
    }

    /// Whether the lines are too long on average to be searched line by line.
    fn has_long_lines(&self) -> Result<bool> {
        let most = self.wanted.settings.avg_line_bytes.saturating_mul(self.output.lines()?.max(1));
        Ok(self.output.len() > most)
    }

    fn chunked(&self, has_long_lines: bool, whole: bool) -> Chunked<'_> {
        Chunked {
            output: self.output,
            asking: self.asking,
            prompts: self.prompts,
            settings: self.wanted.settings,
            progress: self.models.progress,
            whole,
            numbered: !has_long_lines,
            unnumbered: Whole::new(self.output),
        }
    }

    /// Has models read and search. Where none of them has tool calls of its wire and that fails, they read chunks.
    fn read_grep(&self, has_long_lines: bool) -> Result<(Mode, Done)> {
        let file = self.output.clone().on(&Surface::Files);
        let settings = self.wanted.settings;
        let read = ReadGrep::new(&file, self.asking, self.prompts, settings, self.models.progress).read();
        let native = |model: &&dyn Model| model.tool_calls() == ToolCalls::Native;
        match read {
            Err(Failure::Failed(_)) if !self.models.list.iter().any(native) => {
                Ok((Mode::FullChunked, self.chunked(has_long_lines, false).read()))
            }
            read => Ok((Mode::ReadGrep, read)),
        }
    }
}

/// A wrapper whose nonce stands in nothing that the models will read.
fn wrapper(output: &Output, wanted: &Extraction, models: &Models) -> Result<Option<Wrapper>> {
    for _ in 0..8 {
        let nonce = (models.nonce)();
        let arguments = output.record().call.args.as_deref().unwrap_or_default();
        let told = [wanted.instructions, arguments].iter().any(|text| text.contains(&nonce));
        if !nonce.is_empty() && !told && !output.contains(nonce.as_bytes())? {
            return Ok(Some(Wrapper::new(nonce)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
