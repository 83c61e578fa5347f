//! Instructions in plain words, answered over a whole output: the tool `tool_output`.
//!
//! The answer is plain text in an envelope that says of which output it is and by which strategy it was made. Models
//! read it whole, in chunks, or read and search it by themselves; without one, the passages answer that have the words
//! of the instructions. A strategy that cannot run is replaced by `truncate`: the passages that match the instructions,
//! then the beginning and the end; and the answer says why.
//!
//! A mode that the caller forces reads the whole output or fails before the first call. Where `auto` reads only parts,
//! the label of the answer and its first line give the share that was read.

mod asking;
mod chunked;
mod chunks;
mod filtered;
mod narrowed;
mod prompts;
mod quotes;
mod read_grep;
mod records;
mod text_calls;
mod window;
mod wrapper;

use crate::model::{Model, ToolCalls, Usage};
use crate::query::{Found, Outlined, fitted};
use crate::settings::Extract as Settings;
use crate::view::{count, grouped};
use crate::{Budget, Error, Excerpt, Output, Query, Result, Surface, excerpt, tokens, view};
use asking::{Asking, Failure, Spent};
use chunked::Chunked;
use chunks::Whole;
use filtered::Filtered;
use prompts::Prompts;
use read_grep::ReadGrep;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt,
    ops::Range,
    str::FromStr,
    sync::{Mutex, atomic::AtomicBool},
};
use window::Window;
use wrapper::Wrapper;

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

/// What is wanted of an output.
#[derive(Clone, Copy, Debug)]
pub struct Extraction<'a> {
    /// What to look for, in plain words.
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

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// The answer, in its envelope.
    pub text: String,
    /// How it was made.
    pub strategy: &'static str,
    /// What was meant and why it could not be, if something else was done.
    pub fell_back: Option<(Mode, String)>,
    /// What models read and what it cost, if any was asked.
    pub reading: Option<Reading>,
    /// Whether it is an earlier answer, and nothing was read for it now.
    pub repeated: bool,
    /// Why the reading was stopped before its end, if it was: the text then has what was read until then.
    pub stopped: Option<String>,
}

/// What models read for an answer, and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The models whose answers were used.
    pub models: Vec<String>,
    /// How often a model was asked, answers that were of no use included.
    pub asked: u64,
    /// What all of that cost.
    pub usage: Usage,
    /// The bytes of the output that were read, in their order.
    pub ranges: Vec<(u64, u64)>,
    /// What the models found, however long it is.
    pub answer: String,
    /// Where it comes from: whole, in a few words, and not at all, to be told as there is room.
    pub notes: Vec<String>,
    /// How often a report departed from the requested format and was read all the same, by the word for it.
    #[serde(skip)]
    pub leniencies: BTreeMap<String, u64>,
}

/// What a strategy read.
struct Read {
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
/// Nobody is asked twice: [`Outputs::extract`](crate::Outputs::extract) remembers.
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

/// A reading as it would be done, without asking a model to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The strategy.
    pub strategy: &'static str,
    /// The models, in the order in which they are tried.
    pub models: Vec<String>,
    /// Tokens that one request may have, its answer included.
    pub context_tokens: u64,
    /// Requests at the same time.
    pub parallel: u64,
    /// Chunks of the output; none if an agent reads and searches.
    pub chunks: Option<u64>,
    /// Calls of a model: for chunks as many as are needed, for an agent at most this many.
    pub calls: u64,
    /// Tokens of what is sent; none if it depends on what an agent calls.
    pub tokens: Option<u64>,
}

/// Plans the reading of an output. Nothing is read by a model; a client may ask its server for the window.
pub fn plan(output: &Output, wanted: &Extraction, models: &Models) -> Result<Plan> {
    let settings = wanted.settings;
    let names = models.list.iter().map(|model| model.name().to_owned()).collect();
    let window = Window::of(settings, models.list);
    let mut plan = Plan {
        strategy: TRUNCATE,
        models: names,
        context_tokens: window.context,
        parallel: window.at_once,
        chunks: None,
        calls: 0,
        tokens: Some(0),
    };
    if models.list.is_empty() || wanted.mode == Mode::Truncate {
        if wanted.mode == Mode::Auto {
            plan.strategy = "ask";
        }
        return Ok(plan);
    }
    // As long as a nonce that is drawn.
    let wrapper = Wrapper::new("0".repeat(24));
    let prompts = Prompts::new(output, wanted.instructions, &wrapper, 1_000)?;
    let asking = Asking {
        models: models.list,
        wrapper: &wrapper,
        window,
        spent: Mutex::default(),
        abandoned: AtomicBool::new(false),
    };
    let attempt = Attempt { output, wanted, models, prompts: &prompts, asking: &asking };
    let has_long_lines = attempt.has_long_lines()?;
    let chunked = attempt.chunked(has_long_lines, wanted.mode == Mode::FullChunked);
    let failed = |failure: Failure| match failure {
        Failure::Broken(error) => error,
        Failure::Failed(why) | Failure::TooLong(_, why) | Failure::Stopped(why, _) => Error::BadQuery(why),
    };
    let cut = chunked.cut().map_err(failed)?;
    let searches =
        wanted.mode == Mode::ReadGrep || (wanted.mode == Mode::Auto && cut.is_none() && !has_long_lines);
    if searches {
        let strategy = Mode::NAMES[Mode::ReadGrep as usize];
        return Ok(Plan { strategy, parallel: 1, calls: settings.max_turns, tokens: None, ..plan });
    }
    let (chunks, tokens) = chunked.cost(cut).map_err(failed)?;
    plan.strategy = Mode::NAMES[Mode::FullChunked as usize];
    plan.chunks = Some(chunks);
    plan.calls = chunks + u64::from(chunks > 1);
    plan.tokens = Some(tokens);
    Ok(plan)
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
                let fits = match chunked.cut() {
                    Ok(cut) => cut.is_some(),
                    Err(Failure::Broken(error)) => return Err(error),
                    Err(_) => true,
                };
                if !fits
                    && self.asking.window.is_small
                    && let Some(done) = chunked.passages_first()?
                {
                    return Ok((Mode::FullChunked, Ok(done)));
                }
                match has_long_lines || fits {
                    true => Ok((Mode::FullChunked, chunked.read())),
                    false => self.read_grep(has_long_lines),
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

/// What models found, and how it is told.
struct Abstract<'a> {
    strategy: &'static str,
    answer: &'a str,
    /// Where it comes from, longest first.
    notes: &'a [String],
    /// How much of the output was read, if that is less than its strategy stands for.
    share: Option<String>,
    /// The characters of the answer that the caller has read already.
    from: usize,
}

/// The mark at the end of instructions that asks for a later part of an abstract, before its number.
const FROM: &str = "[from character ";

/// Below this many tokens, the line that says what is left out is a short one.
const NARROW: u64 = 256;

/// Splits instructions into what is wanted and how many characters of the abstract the caller has read already.
pub(crate) fn part_of(instructions: &str) -> (&str, usize) {
    let marked = instructions.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once(FROM));
    let number = |text: &str| text.replace(',', "").parse::<usize>().ok().filter(|&number| number > 0);
    match marked.and_then(|(wanted, at)| Some((wanted.trim_end(), number(at)?))) {
        Some((wanted, at)) if !wanted.is_empty() => (wanted, at - 1),
        _ => (instructions, 0),
    }
}

/// The answer of models in its envelope, cut where it does not fit. Of the notes, the first is told that leaves most of
/// the budget to the answer.
fn told(output: &Output, found: &Abstract, budget: Budget) -> Extract {
    let Abstract { strategy, answer, notes, share, from } = found;
    let all = answer.chars().count();
    let from = (*from).min(all);
    let mut head = match share {
        None => opening(output, strategy),
        Some(share) => {
            let (percent, _) = share.split_once(" of ").unwrap_or((share, ""));
            let head = opening(output, &format!("{strategy}, {percent} read"));
            format!(
                "{head}[{share} were read, since extract.max_chunks allows no more; mode full-chunked reads all of them]\n"
            )
        }
    };
    if from > 0 {
        let (first, all) = (grouped((from + 1).min(all) as u64), grouped(all as u64));
        head.push_str(&format!("[this abstract from character {first} of {all} on]\n"));
    }
    let print = |shown: usize, note: &str| {
        let apart = if note.is_empty() { "" } else { "\n" };
        let part: String = answer.chars().skip(from).take(shown).collect();
        let left = all - from - shown;
        if left == 0 {
            return format!("{head}{part}\n{apart}{note}");
        }
        let (left, all, next) = (grouped(left as u64), grouped(all as u64), from + shown + 1);
        let left = match budget.tokens < NARROW {
            true => format!("[… {left} of {all} characters are left out: add {FROM}{next}]]"),
            false => format!(
                "[… {left} of {all} characters of this abstract are left out: the same call with {FROM}{next}] at the end of its instructions gives them]"
            ),
        };
        format!("{head}{}\n{left}\n{note}", part.trim_end())
    };
    let small =
        |note: &&String| tokens::count(note) <= budget.tokens / 4 && note.len() as u64 <= budget.bytes / 4;
    let most = all - from;
    let whole = notes.iter().map(String::as_str).chain([""]).map(|note| print(most, note));
    let mut text = whole.into_iter().find(|text| budget.holds(text.as_bytes())).unwrap_or_else(|| {
        let note = notes.iter().find(small).map_or("", String::as_str);
        print(fitted(most, budget, |shown| print(shown, note).into_bytes()), note)
    });
    if !budget.holds(text.as_bytes()) {
        text = print(0, "");
    }
    // Names may be so long that nothing else fits.
    while !budget.holds(text.as_bytes()) {
        text = crate::shortened(&text, text.chars().count() / 2);
    }
    Extract { text, strategy, fell_back: None, reading: None, repeated: false, stopped: None }
}

/// An earlier answer, given again: all of it, or the part that the caller has not read yet.
pub(crate) fn again(
    output: &Output,
    strategy: &'static str,
    reading: &Reading,
    from: usize,
    budget: Budget,
) -> Result<Extract> {
    let how = match output.surface() {
        Surface::Shell { .. } => "--anew has it read again",
        _ => "other instructions have it read anew",
    };
    let repeated = format!("[this was asked before, and is the answer that was given then; {how}]\n");
    // Whoever reads on knows that.
    let repeated = if from == 0 { repeated } else { String::new() };
    let notes: Vec<String> = reading.notes.iter().map(|note| format!("{note}{repeated}")).collect();
    let ranges: Vec<Range<u64>> = reading.ranges.iter().map(|&(start, end)| start..end).collect();
    let share = part_read(output, strategy, &ranges)?;
    let told =
        told(output, &Abstract { strategy, answer: &reading.answer, notes: &notes, share, from }, budget);
    Ok(Extract { repeated: true, ..told })
}

/// Where an answer comes from: what was read, by whom, and what it cost; then in a few words.
fn notes(
    output: &Output,
    reading: &Reading,
    read: &Read,
    ranges: &[Range<u64>],
    missing: u64,
) -> Result<Vec<String>> {
    let covered = covered(output, ranges)?;
    let how = match &read.how {
        How::Chunks(chunks) => format!("in {}: {covered}", count("chunk", *chunks)),
        How::Narrowed { chunks, by } => {
            let chosen = match by {
                narrowed::By::Words => "chosen by the words of the instructions",
                narrowed::By::Records => {
                    "records chosen by the words of the instructions and others spread over it"
                }
                narrowed::By::Ends => {
                    "its beginning and its end, since no words of the instructions are in it"
                }
                narrowed::By::Spread => {
                    "records spread over it, since no words of the instructions are in it"
                }
            };
            let chunks = count("chunk", *chunks);
            format!("in {chunks}: {covered}, {chosen}; the rest was not read (extract.max_chunks)")
        }
        How::Passages => format!(
            "in the passages that match the instructions: {covered}; the rest was not read (mode full-chunked reads all of it)"
        ),
        How::Filtered => format!("by a jq filter that it wrote: {covered}"),
        How::Turns { turns, calls, patterns } => {
            let searched = match patterns.as_slice() {
                [] => String::new(),
                some => {
                    let shown = some.iter().take(PATTERNS).cloned().collect::<Vec<_>>().join(", ");
                    let more = some.len().saturating_sub(PATTERNS);
                    let more = if more > 0 { format!(" and {more} more patterns") } else { String::new() };
                    format!("; searched for {shown}{more}")
                }
            };
            format!("in {}, {}: {covered}{searched}", count("turn", *turns), count("call", *calls))
        }
    };
    let models = reading.models.join(", ");
    let Usage { tokens_in, tokens_out } = reading.usage;
    let cost = format!("{} in, {} out", count("token", tokens_in), grouped(tokens_out));
    let unfound = match missing {
        0 => String::new(),
        1 => "[1 quote is not found in the output]\n".to_owned(),
        many => format!("[{many} quotes are not found in the output]\n"),
    };
    Ok(vec![
        format!("{unfound}[read by {models} {how} · {cost}]\n"),
        format!("{unfound}[read by {models}: {} · {cost}]\n", share(output, ranges)?),
        format!("[read: {}]\n", share(output, ranges)?),
        String::new(),
    ])
}

/// How much of an output was read by a strategy that stands for all of it, if that is less. An agent that searches
/// reads parts by design.
fn part_read(output: &Output, strategy: &str, ranges: &[Range<u64>]) -> Result<Option<String>> {
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    match strategy == Mode::NAMES[Mode::FullChunked as usize] && bytes < output.len() {
        true => Ok(Some(share(output, ranges)?)),
        false => Ok(None),
    }
}

/// How much of an output some ranges are.
fn share(output: &Output, ranges: &[Range<u64>]) -> Result<String> {
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    if bytes >= output.len() {
        return Ok(format!("all {}", count("line", output.lines()?)));
    }
    // Rounded down, so that all means all.
    let share = bytes as f64 * 100.0 / output.len() as f64;
    let share = match share {
        _ if bytes == 0 => "nothing".to_owned(),
        _ if share < 0.01 => "less than 0.01 %".to_owned(),
        _ if share < 1.0 => format!("{share:.2} %"),
        _ => format!("{:.0} %", share.floor()),
    };
    Ok(format!("{share} of {}", count("byte", output.len())))
}

/// How much of an output some ranges are, and which lines.
fn covered(output: &Output, ranges: &[Range<u64>]) -> Result<String> {
    let (share, lines) = (share(output, ranges)?, output.lines()?);
    if ranges.is_empty() || share.starts_with("all ") {
        return Ok(share);
    }
    let mut places = Vec::new();
    for range in ranges.iter().take(RANGES) {
        let first = output.newlines_before(range.start)? + 1;
        let last = output.newlines_before(range.end - 1)? + 1;
        places.push(match lines {
            0..=1 => format!("{}–{}", range.start, range.end),
            _ if first == last => first.to_string(),
            _ => format!("{first}–{last}"),
        });
    }
    places.dedup();
    if ranges.len() > RANGES {
        places.push(format!("and {} more", ranges.len() - RANGES));
    }
    let noun = if lines <= 1 { "bytes" } else { "lines" };
    Ok(format!("{share} ({noun} {})", places.join(", ")))
}

/// So many of the patterns that were searched for are named.
const PATTERNS: usize = 4;

/// So many of the ranges that were read are named.
const RANGES: usize = 8;

/// Ranges in their order, those that touch as one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The passages that have the words of the instructions: what can be done without a model.
fn passages(output: &Output, wanted: &Extraction, budget: Budget) -> Result<Extract> {
    let head = opening(output, "ask");
    let room = budget.less(cost(&head));
    let found = excerpt(output, &Query::Ask(wanted.instructions.to_owned()), room)?;
    let text = match &found.found {
        Found::Passages(passages) if passages.is_empty() && !output.is_empty() => {
            let note = "NO RELEVANT DATA FOUND\nNothing in the whole output has the words of the instructions. What is there:\n";
            let room = room.less(cost(note));
            let outlined = Outlined { from_line: 1, skip: 0, depth: None };
            let outline = excerpt(output, &Query::Outline(outlined), room)?;
            let kinds = match &outline.found {
                Found::Outline(outline) if outline.items.is_empty() => {
                    view::top_and_bottom(output, Budget { tokens: room.tokens / 4, ..room })?.print(output)?
                }
                _ => outline.text,
            };
            format!("{head}{note}{}", String::from_utf8_lossy(&kinds))
        }
        _ => format!("{head}{}", String::from_utf8_lossy(&found.text)),
    };
    Ok(Extract { text, strategy: "ask", fell_back: None, reading: None, repeated: false, stopped: None })
}

/// The beginning and the end, as the mode `truncate` gives them.
fn ends(output: &Output, budget: Budget) -> Result<Extract> {
    let head = opening(output, TRUNCATE);
    let body = view::top_and_bottom(output, budget.less(cost(&head)))?.print(output)?;
    let text = held(head.clone() + &String::from_utf8_lossy(&body), &head, budget);
    Ok(Extract { text, strategy: TRUNCATE, fell_back: None, reading: None, repeated: false, stopped: None })
}

const TRUNCATE: &str = Mode::NAMES[Mode::Truncate as usize];

/// An output that no model has read, and why: the passages that match the instructions, then the beginning and the end.
fn fallback(output: &Output, instructions: &str, mode: Mode, why: String, budget: Budget) -> Result<Extract> {
    let bare = opening(output, TRUNCATE);
    // A budget may be too small for a passage.
    let passages = |room: Budget| match excerpt(output, &Query::Ask(instructions.to_owned()), room) {
        Ok(found) => Ok(match &found.found {
            Found::Passages(passages) if passages.is_empty() => None,
            _ => Some(found),
        }),
        Err(Error::BadQuery(_)) => Ok(None),
        Err(error) => Err(error),
    };
    let half = Budget { tokens: budget.tokens / 2, bytes: budget.bytes / 2, ..budget };
    let found = passages(half)?;
    let is_all = |found: &Excerpt| joined(found.shown.clone()).first() == Some(&(0..output.len()));
    let what = match &found {
        Some(found) if is_all(found) => "This is all of it.",
        Some(_) => "These are the passages that match the instructions, then the beginning and the end.",
        None => "These are the beginning and the end instead.",
    };
    let warned = |length: usize| {
        let why = crate::shortened(&why, length);
        format!("{bare}WARNING: {mode} could not run: {why}. No model has read this output. {what}\n")
    };
    // The cause must be told, and something of the output too.
    let room = Budget { tokens: budget.tokens * 3 / 4, bytes: budget.bytes * 3 / 4, ..budget };
    let heads = [2_000, 1_000, 500, 250, 100, 40].map(warned);
    let head = heads.iter().find(|head| room.holds(head.as_bytes())).or(heads.last()).unwrap_or(&bare);
    let mut text = head.clone();
    if let Some(found) = found.as_ref().filter(|found| !is_all(found)) {
        let left = budget.less(cost(&text));
        let room = Budget { tokens: left.tokens * 2 / 3, bytes: left.bytes / 3 * 2, ..left };
        let found = passages(room)?.map_or_else(|| found.text.clone(), |found| found.text);
        text.push_str(&String::from_utf8_lossy(&found));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    let without_ends = text.clone();
    let ends = view::top_and_bottom(output, budget.less(cost(&text)))?.print(output)?;
    text.push_str(&String::from_utf8_lossy(&ends));
    if !budget.holds(text.as_bytes()) {
        text = without_ends;
    }
    let text = held(text, head, budget);
    let fell_back = Some((mode, why));
    Ok(Extract { text, strategy: TRUNCATE, fell_back, reading: None, repeated: false, stopped: None })
}

/// A text that keeps to its budget; where it does not, as much of its head as does.
fn held(text: String, head: &str, budget: Budget) -> String {
    let mut text = if budget.holds(text.as_bytes()) { text } else { head.to_owned() };
    while !budget.holds(text.as_bytes()) {
        text = crate::shortened(&text, text.chars().count() / 2);
    }
    text
}

fn cost(text: &str) -> Budget {
    let lines = Some(text.lines().count() as u64);
    Budget { tokens: tokens::count(text), bytes: text.len() as u64, lines }
}

fn opening(output: &Output, strategy: &str) -> String {
    let record = output.record();
    format!(
        "ABSTRACT FROM TOOL OUTPUT {} WITH HANDLE {}, STRATEGY:{strategy}:\n\n",
        record.call.full_name(),
        record.handle
    )
}

/// What the answer to instructions that could not be followed begins with.
pub const FAILED: &str = "TOOL_OUTPUT FAILED FOR ";

/// The answer to instructions that could not be followed.
pub(crate) fn failed(tool: &str, handle: &str, mode: Mode, why: &str) -> String {
    format!("{FAILED}{tool} WITH HANDLE {handle}, STRATEGY:{mode}:\n\n{why}")
}

#[cfg(test)]
mod tests;
