//! Instructions in plain words, answered over a whole output: the tool `tool_output`.
//!
//! The answer is plain text in an envelope that says of which output it is and by which strategy it was made. Models
//! read it whole, in chunks, or read and search it by themselves; without one, the passages answer that have the words
//! of the instructions. A strategy that cannot run is replaced by `truncate`, and the answer says why.
//!
//! A mode that the caller forces reads the whole output or fails before the first call. Where `auto` reads only parts,
//! the label of the answer and its first line give the share that was read.

mod asking;
mod chunked;
mod chunks;
mod narrowed;
mod prompts;
mod quotes;
mod read_grep;
mod wrapper;

use crate::model::{Model, Usage};
use crate::query::{Found, Outlined, fitted};
use crate::settings::Extract as Settings;
use crate::view::{count, grouped};
use crate::{Budget, Error, Output, Query, Result, Surface, excerpt, tokens, view};
use asking::{Asking, Failure};
use chunked::Chunked;
use prompts::Prompts;
use read_grep::ReadGrep;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    ops::Range,
    str::FromStr,
    sync::{Mutex, atomic::AtomicBool},
};
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
    /// So many chunks have been read.
    Chunks {
        /// Those that have been.
        done: usize,
        /// All of them.
        of: usize,
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
    /// A part of it: what the instructions speak of, or its beginning and its end.
    Narrowed { chunks: u64, by_words: bool },
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
    let none = || (wanted.mode, "no model is configured (extract.models)".to_owned());
    let fell_back = match wanted.mode {
        Mode::Truncate => None,
        Mode::Auto if models.list.is_empty() => return passages(output, wanted, budget),
        _ if models.list.is_empty() => Some(none()),
        _ => match read(output, wanted, from, models, budget)? {
            Ok(answer) => return Ok(answer),
            Err((mode, why, reading)) => {
                return Ok(Extract { reading: Some(reading), ..ends(output, Some((mode, why)), budget)? });
            }
        },
    };
    ends(output, fell_back, budget)
}

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
    let asking = Asking {
        models: models.list,
        wrapper: &wrapper,
        max_output: wanted.settings.output_tokens,
        spent: Mutex::default(),
        abandoned: AtomicBool::new(false),
    };
    // What stands around the abstract needs some of the budget too.
    let prompts = Prompts::new(output, wanted.instructions, &wrapper, budget.tokens * 3 / 4)?;
    let (settings, progress) = (wanted.settings, models.progress);
    let whole = wanted.mode == Mode::FullChunked;
    let chunked = Chunked { output, asking: &asking, prompts: &prompts, settings, progress, whole };
    let has_long_lines = output.len() > settings.avg_line_bytes.saturating_mul(output.lines()?.max(1));
    let mode = match wanted.mode {
        Mode::Auto if has_long_lines => Mode::FullChunked,
        Mode::Auto => match chunked.fits() {
            Ok(false) => Mode::ReadGrep,
            _ => Mode::FullChunked,
        },
        mode => mode,
    };
    let done = match mode {
        Mode::ReadGrep => {
            let file = output.clone().on(&Surface::Files);
            ReadGrep::new(&file, &asking, &prompts, settings, progress).read()
        }
        _ => chunked.read(),
    };
    let spent = asking.spent();
    let reading =
        Reading { models: spent.models, asked: spent.asked, usage: spent.usage, ..Reading::default() };
    match done {
        Ok((answer, read)) => {
            let (answer, missing) = quotes::checked(output, &answer)?;
            let ranges = joined(read.ranges.clone());
            let notes = notes(output, &reading, &read, &ranges, missing)?;
            let strategy = Mode::NAMES[mode as usize];
            let share = part_read(output, strategy, &ranges)?;
            let extract =
                told(output, &Abstract { strategy, answer: &answer, notes: &notes, share, from }, budget);
            let ranges = ranges.iter().map(|range| (range.start, range.end)).collect();
            Ok(Ok(Extract { reading: Some(Reading { ranges, answer, notes, ..reading }), ..extract }))
        }
        Err(Failure::Failed(why)) => Ok(Err((mode, why, reading))),
        Err(Failure::Stopped(why)) => Err(Error::Stopped(why)),
        Err(Failure::Broken(error)) => Err(error),
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
    Extract { text, strategy, fell_back: None, reading: None, repeated: false }
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
        How::Narrowed { chunks, by_words } => {
            let chosen = match by_words {
                true => "chosen by the words of the instructions",
                false => "its beginning and its end, since no words of the instructions are in it",
            };
            let chunks = count("chunk", *chunks);
            format!("in {chunks}: {covered}, {chosen}; the rest was not read (extract.max_chunks)")
        }
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
    Ok(Extract { text, strategy: "ask", fell_back: None, reading: None, repeated: false })
}

/// The beginning and the end, and why nothing better.
fn ends(output: &Output, fell_back: Option<(Mode, String)>, budget: Budget) -> Result<Extract> {
    let bare = opening(output, "truncate");
    let warned = |length: usize| match &fell_back {
        Some((mode, why)) => format!(
            "{bare}WARNING: {mode} could not run: {}. These are the beginning and the end instead.\n",
            crate::shortened(why, length)
        ),
        None => bare.clone(),
    };
    // The cause must be told, and something of the output too.
    let room = Budget { tokens: budget.tokens * 3 / 4, bytes: budget.bytes * 3 / 4, ..budget };
    let heads = [2_000, 1_000, 500, 250, 100, 40].map(warned);
    let head = heads.iter().find(|head| room.holds(head.as_bytes())).or(heads.last()).unwrap_or(&bare);
    let body = view::top_and_bottom(output, budget.less(cost(head)))?.print(output)?;
    let mut text = head.clone() + &String::from_utf8_lossy(&body);
    if !budget.holds(text.as_bytes()) {
        text.clone_from(head);
    }
    while !budget.holds(text.as_bytes()) {
        text = crate::shortened(&text, text.chars().count() / 2);
    }
    Ok(Extract { text, strategy: "truncate", fell_back, reading: None, repeated: false })
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
