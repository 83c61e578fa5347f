//! Which units of a text answer a question: what they say, what is said near them, and where they stand.
//!
//! The numbers here were found by trying: on real logs, test runs, diffs, source files and documents whose answers are
//! known, those were kept that found most of them.

use super::layout::{
    Layout, defines, depth, described, diff_files, is_aside, is_call, is_frame, is_inward, is_noise, is_title,
};
use super::question::{Aim, Question};
use super::scan::{LONG, Scanned, Scanner, Seen, Units, bits};
use super::trouble::{has_passed, informs};
use super::{Unit, visible};
use crate::view::rendering::readable;
use crate::{Error, Output, Result};
use memchr::memmem;
use std::{cmp::Ordering, collections::HashMap, ops::Range};

/// So many of the best units are looked at closely.
const BEST: usize = 600;

/// So many bytes around a good unit may be worth showing.
const REACH: u64 = 6_400;

/// So many times as many are weighed by where they stand.
const WEIGHED: usize = 16;

/// Terms in units this near count for a unit too, at this share; in programs, a statement has many lines.
const NEAR: (u64, f32) = (2, 0.2);
const NEAR_IN_CODE: (u64, f32) = (8, 0.3);

/// A term that a unit has more than once counts so much more.
const TWICE: f32 = 0.3;

/// How much of what a term tells it tells only in the form of the question.
const EXACT: f32 = 0.5;

/// How much the length of a unit takes from what it says, and what is left at least.
const LENGTH: f32 = 0.72;
const LEAST: f32 = 0.3;

/// What trouble counts at the beginning of an output, how it grows to the end, and what the end itself counts.
const EARLY: f32 = 0.5;
const GROWS: f32 = 0.65;
const END: f32 = 1.25;

/// Words of trouble that an output has often tell less.
const RARE: f32 = 1.1;

/// The followers of a line that speaks of trouble tell a little less, each.
const FOLLOWER: f32 = 0.94;
const FOLLOWERS: i32 = 2;

/// What is said again, but for its numbers, tells less each time, down to a floor.
const AGAIN: f32 = 0.45;
const FLOOR: f32 = 0.34;

/// How much trouble counts beside the words of a question.
const BESIDE: f32 = 0.6;

/// What went wrong with something is said after its name: how much of the name's worth it gets, how that fades, and
/// which share of the best units' terms makes a name.
const AFTER_NAME: f32 = 0.63;
const FADES: f32 = 0.64;
const NAME: f32 = 0.72;

/// How worth fades from line to line.
struct Fading {
    back: f32,
    on: f32,
    blank: f32,
    /// For lines that are set in deeper: a stack trace, the body of a function.
    deeper: f32,
}

/// So many deeper lines fade slowly, and further ones so.
const DEEPER: usize = 24;
const TOO_DEEP: f32 = 0.9;

/// The calls nearest to what went wrong tell where; so many do, and further ones fade so.
const CALLS: usize = 10;
const TOO_FAR: f32 = 0.6;

impl Fading {
    fn new(question: &Question, layout: Layout, ends: bool, defined: bool) -> Fading {
        match question.aim {
            // The cause stands before what tells of the end.
            Aim::Trouble if ends => Fading { back: 0.975, on: 0.31, blank: 0.9, deeper: 0.31 },
            Aim::Trouble => Fading { back: 0.57, on: 0.7, blank: 0.68, deeper: 0.994 },
            _ if layout == Layout::Lone => Fading { back: 0.05, on: 0.05, blank: 0.9, deeper: 0.05 },
            _ if question.trouble => Fading { back: 0.33, on: 0.9, blank: 0.9, deeper: 0.994 },
            _ if layout == Layout::Source => Fading { back: 0.4, on: 0.9, blank: 0.9, deeper: 0.97 },
            _ if layout == Layout::Diff => {
                Fading { back: 0.4, on: 0.83, blank: 0.9, deeper: if defined { 0.9 } else { 0.83 } }
            }
            _ if layout == Layout::Prose => Fading { back: 0.5, on: 0.7, blank: 0.9, deeper: 0.7 },
            _ => Fading { back: 0.4, on: 0.78, blank: 0.9, deeper: if defined { 0.9 } else { 0.78 } },
        }
    }
}

/// In a diff, a change counts more than what is around it; tests and documents count less unless they are asked for.
const CHANGED: f32 = 1.2;
const ASIDE: f32 = 0.45;

/// How a program is described counts less than what it does, and leads there: nothing fades behind it. A larger program
/// is not read for that.
const DESCRIBED: f32 = 0.5;
const READ_FOR_THAT: u64 = 4 * 1024 * 1024;

/// A document says what a term means where it puts it in quotes: how much more that counts.
const DEFINED: f32 = 1.5;

/// What a line counts for standing with the best file of a list, beside the best line.
const BEST_FILE: f32 = 0.5;

/// A line that differs from the one beside it only in its numbers says little; what runners note for themselves says nothing.
const REPEATED: f32 = 0.4;
const NOISE: f32 = 0.02;

/// On the way back from the end to its cause, the calls of a stack trace are passed by: they fade, and nothing fades behind them.
const PASSED_BY: f32 = 0.9;

/// A command may be quoted over so many lines.
const QUOTED: usize = 40;

/// What stands beside trouble and tells that something passed.
const PASSED: f32 = 0.15;

/// What trouble counts of which only tests speak that passed.
const IN_PASSES: f32 = 0.25;

/// A line that stands beside trouble, and is told for information.
const INFORMS: f32 = 0.4;

/// A line that stands beside trouble, and beside better trouble so many units away just the same. Shorter ones do not count.
const SAID_BEFORE: f32 = 0.5;
const FAR: u64 = 200;
const SHORT: usize = 20;

/// What comes between a step that ended badly and the end is clean-up: how it fades from the end back.
const CLEANED_UP: f32 = 0.57;

/// What the title of the section counts that trouble stands in.
const TITLE: f32 = 0.7;

/// A line longer than this says less with each word, by this power.
const WORDY: u32 = 240;
const SPREAD: f32 = 0.5;

/// So many lines make a stack trace, and what its end counts of what it began with.
const TRACE: usize = 2;
const TRACE_END: f32 = 0.95;

/// The beginning of a document, and how much more it counts.
const OPENING: u64 = 3_000;
const OPENS: f32 = 1.25;

/// So many bytes tell what a text is about.
const GIST: u64 = 16 * 1024;

/// The units that are worth showing, the best first.
pub(super) fn ranked(output: &Output, question: &Question) -> Result<Vec<Unit>> {
    Ok(weighed(output, question)?.0)
}

/// The units that are worth showing, the best first, and how surely something went wrong.
pub(super) fn weighed(output: &Output, question: &Question) -> Result<(Vec<Unit>, f32)> {
    let layout = Layout::of(output)?;
    let is_run = matches!(layout, Layout::Blocks | Layout::Prose);
    let question = match question.aim == Aim::Words && question.trouble && !is_run {
        true => &question.of_words(),
        false => question,
    };
    let Some(scanner) = Scanner::new(&question.terms, question.trouble) else {
        return Err(Error::BadQuery("the question is too large to be looked for".to_owned()));
    };
    let mut scanned = scanner.scan(output)?;
    let passes = if question.trouble { passes(output)? } else { 0..0 };
    if question.trouble {
        let inside = scanned.seen.iter_mut().filter(|seen| passes.contains(&seen.start));
        inside.for_each(|seen| seen.trouble *= IN_PASSES);
    }
    let trouble = scanned.seen.iter().map(|seen| seen.trouble).fold(0.0, f32::max);
    if question.aim == Aim::Trouble && !output.is_empty() {
        // How it ended stands at the end.
        let start = output.line_start_near(output.len() - 1, LONG as u64)?;
        // In a long line that may be inside a character.
        let start = output.character_start(start)?.min(output.len() - 1);
        scanned.seen.retain(|seen| seen.start != start);
        scanned.seen.push(Seen::end(scanned.units - 1, start..output.len(), END));
    }
    let mut best = scored(&scanned, question, output.len(), layout);
    keep_best(&mut best, BEST * WEIGHED);
    weigh(output, layout, question, &passes, &mut best)?;
    let described = match layout == Layout::Source && output.len() <= READ_FOR_THAT {
        true => described(&output.read(0..output.len())?),
        false => Vec::new(),
    };
    let describing = best.iter_mut().filter(|(unit, _)| holds(&described, unit.start));
    describing.for_each(|(_, worth)| *worth *= DESCRIBED);
    keep_best(&mut best, BEST);
    best.sort_unstable_by(better);
    let mut units = around(output, &best, question, layout, &described)?;
    units.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    Ok((units, trouble))
}

/// So many of the last bytes have the summary of a run of tests.
const SUMMARY: u64 = 32 * 1024;

/// What tests said that passed, where a run shows that too: whatever troubles they speak of are none.
fn passes(output: &Output) -> Result<Range<u64>> {
    let from = output.len().saturating_sub(SUMMARY);
    let Some(summary) = memmem::rfind(&output.read(from..output.len())?, b" short test summary info ==")
    else {
        return Ok(0..0);
    };
    let mut start = None;
    output.for_each_block(0..output.len(), |at, block| {
        let found = || memmem::find(block, b"= PASSES =");
        start = start.or_else(|| found().map(|found| at + found as u64));
    })?;
    Ok(start.map_or(0..0, |start| start..from + summary as u64))
}

/// Whether one of some ranges in order holds a place.
fn holds(ranges: &[Range<u64>], at: u64) -> bool {
    let next = ranges.partition_point(|range| range.start <= at);
    ranges[..next].last().is_some_and(|range| at < range.end)
}

/// Whether a line in small letters has a word in quotes, alone.
fn is_quoted(line: &[u8], word: &str) -> bool {
    let quotes = [("\"", "\""), ("“", "”")];
    memmem::find_iter(line, word).any(|at| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        quotes
            .iter()
            .any(|(open, close)| before.ends_with(open.as_bytes()) && after.starts_with(close.as_bytes()))
    })
}

/// The order of units by their worth, the best first.
fn better(one: &(Seen, f32), other: &(Seen, f32)) -> Ordering {
    other.1.total_cmp(&one.1).then(one.0.start.cmp(&other.0.start))
}

/// Keeps so many of the best, in no order.
fn keep_best(units: &mut Vec<(Seen, f32)>, count: usize) {
    if units.len() > count {
        units.select_nth_unstable_by(count, better);
        units.truncate(count);
    }
}

/// The beginning of a text, where it says what it is about.
pub(super) fn opening(output: &Output) -> Result<Vec<Unit>> {
    let bytes = output.read(0..output.len().min(GIST))?;
    let units: Vec<Range<usize>> = Units { bytes: &bytes, at: 0 }.collect();
    let count = units.len();
    let unit = |(index, range): (usize, Range<usize>)| Unit {
        index: index as u64,
        text: visible(&bytes[range.clone()]),
        range: range.start as u64..range.end as u64,
        worth: (count - index) as f32,
    };
    Ok(units.into_iter().enumerate().map(unit).collect())
}

/// What each term of a question tells: rare ones more.
pub(super) fn told(scanned: &Scanned, question: &Question) -> impl Fn(u64) -> f32 {
    let terms = question.terms.iter().enumerate();
    let tells: Vec<f32> = terms.map(|(term, what)| scanned.rarity(term) * what.weight).collect();
    move |terms| bits(terms).map(|term| tells[term]).sum()
}

/// What each unit that was seen is worth by itself and by its neighbours.
fn scored(scanned: &Scanned, question: &Question, length: u64, layout: Layout) -> Vec<(Seen, f32)> {
    let told = told(scanned, question);
    let seen = &scanned.seen;
    let average = (length as f32 / scanned.units.max(1) as f32).max(20.0);
    let beside = if question.aim == Aim::Trouble { 1.0 } else { BESIDE };
    let mut said: HashMap<u32, u64> = HashMap::new();
    seen.iter().filter(|unit| unit.trouble > 0.0).for_each(|unit| *said.entry(unit.said).or_default() += 1);
    let all = scanned.units as f32;
    let rarity = |times: u64| ((1.0 + all / times as f32).ln() / (1.0 + all).ln()).powf(RARE);
    let said: HashMap<u32, f32> = said.into_iter().map(|(what, times)| (what, rarity(times))).collect();
    let rarity = |unit: &Seen| said.get(&unit.said).copied().unwrap_or(1.0);
    // Where all trouble is common, the rarest of it counts in full.
    let rarest = seen.iter().filter(|unit| unit.trouble > 1.0 && !unit.ends).map(rarity).fold(0.0, f32::max);
    let rarest = if rarest > 0.0 { rarest } else { 1.0 };
    let is_code = matches!(layout, Layout::Source | Layout::Diff);
    let (reach, shared) = if is_code { NEAR_IN_CODE } else { NEAR };
    let mut run = 0;
    let mut scored = Vec::with_capacity(seen.len());
    for (at, unit) in seen.iter().enumerate() {
        let near = |other: &&Seen| other.index.abs_diff(unit.index) <= reach;
        let before = seen[..at].iter().rev().take_while(near);
        let after = seen[at + 1..].iter().take_while(near);
        let together = before.chain(after).fold(unit.terms, |terms, other| terms | other.terms);
        let own = EXACT * told(unit.exact) + (1.0 - EXACT) * told(unit.terms);
        let dense = 2.2 / (1.0 + 1.2 * (1.0 - LENGTH + LENGTH * unit.length as f32 / average));
        let mut worth = (own + TWICE * told(unit.twice)) * dense.max(LEAST)
            + shared * (told(together) - told(unit.terms));
        let follows = at > 0 && seen[at - 1].index + 1 == unit.index && seen[at - 1].trouble > 0.0;
        run = if follows && unit.trouble > 0.0 { run + 1 } else { 0 };
        if unit.trouble > 0.0 {
            // What ended badly did so wherever it stands, and a verdict is given where its test is.
            let anywhere = unit.ends || unit.verdict;
            let late = if anywhere { 1.0 } else { unit.start as f32 / length.max(1) as f32 };
            // The first of many that follow each other tells more than its followers.
            let dense = (WORDY as f32 / unit.length.max(WORDY) as f32).powf(SPREAD);
            let spoken =
                dense * unit.trouble * (rarity(unit) / rarest).min(1.0) * FOLLOWER.powi(run.min(FOLLOWERS));
            worth += spoken * beside * (EARLY + late.powf(GROWS));
        }
        scored.push((*unit, worth));
    }
    if question.aim == Aim::Words && question.trouble {
        after_names(&mut scored, told);
    }
    scored
}

/// Adds to what speaks of trouble shortly after a unit that names what the question is about.
fn after_names(scored: &mut [(Seen, f32)], told: impl Fn(u64) -> f32) {
    let most = scored.iter().map(|(unit, _)| told(unit.terms)).fold(0.0, f32::max);
    let mut named: Option<(u64, f32)> = None;
    for (unit, worth) in scored.iter_mut().filter(|(unit, _)| unit.trouble > 0.0) {
        if let Some((index, named)) = named {
            let distance = (unit.index - index).min(1_000) as i32;
            *worth += AFTER_NAME * named * FADES.powi(distance);
        }
        if told(unit.terms) > NAME * most {
            named = Some((unit.index, *worth));
        }
    }
}

/// Weighs units by where they stand: what is changed more than what is around it, and what a program does more than
/// how it is tested or described, unless the question is about that.
fn weigh(
    output: &Output,
    layout: Layout,
    question: &Question,
    passes: &Range<u64>,
    best: &mut [(Seen, f32)],
) -> Result<()> {
    if question.aim == Aim::Words && question.of_failure() {
        // The name of what failed stands in the names of much that passed.
        for (unit, worth) in best.iter_mut() {
            let line = output.read(unit.range())?;
            *worth *= if has_passed(&readable(&line)) { PASSED } else { 1.0 };
            *worth *= if passes.contains(&unit.start) { IN_PASSES } else { 1.0 };
        }
    }
    let aside = |term: &str| matches!(term, "test" | "doc" | "document" | "example");
    if question.trouble || question.terms.iter().any(|term| aside(&term.text)) {
        return Ok(());
    }
    match layout {
        Layout::Diff => {
            let files = diff_files(output)?;
            for (unit, worth) in best {
                let next = files.partition_point(|(start, _)| *start <= unit.start);
                let aside = files[..next].last().is_some_and(|(_, aside)| *aside);
                *worth *= if matches!(unit.first, b'+' | b'-') { CHANGED } else { 1.0 };
                *worth *= if aside { ASIDE } else { 1.0 };
            }
        }
        Layout::Lone => {
            // A file that answers has many lines that do.
            let mut paths = Vec::with_capacity(best.len());
            let mut files: HashMap<Vec<u8>, f32> = HashMap::new();
            for (unit, worth) in best.iter_mut() {
                let mut path = output.read(unit.start..unit.start + u64::from(unit.length).min(160))?;
                path.truncate(memchr::memchr(b':', &path).unwrap_or(path.len()));
                *worth *= if is_aside(&path) { ASIDE } else { 1.0 };
                *files.entry(path.clone()).or_default() += *worth;
                paths.push(path);
            }
            let best_line = best.iter().map(|(_, worth)| *worth).fold(0.0, f32::max);
            let best_file = files.values().copied().fold(f32::MIN_POSITIVE, f32::max);
            for ((_, worth), path) in best.iter_mut().zip(paths) {
                *worth += BEST_FILE * best_line * files[&path] / best_file;
            }
        }
        Layout::Prose => {
            // A document says what it speaks of as it begins.
            let opening = best.iter_mut().filter(|(unit, _)| unit.start < OPENING.min(output.len() / 20));
            opening.for_each(|(_, worth)| *worth *= OPENS);
            for (unit, worth) in best.iter_mut() {
                let line = output.read(unit.range())?.to_ascii_lowercase();
                let defined = bits(unit.exact).any(|term| is_quoted(&line, &question.terms[term].form));
                *worth *= if defined { DEFINED } else { 1.0 };
            }
        }
        Layout::Source | Layout::Blocks => {}
    }
    Ok(())
}

/// The best units with those around them, each once, worth the less the further they are from a good one.
fn around(
    output: &Output,
    best: &[(Seen, f32)],
    question: &Question,
    layout: Layout,
    described: &[Range<u64>],
) -> Result<Vec<Unit>> {
    let mut units: HashMap<u64, Unit> = HashMap::new();
    let mut lines: HashMap<u64, i32> = HashMap::new();
    // The unit that said first what a line says.
    let mut first: HashMap<u64, u64> = HashMap::new();
    let last = best.iter().map(|(seen, _)| seen.start).max().unwrap_or(0);
    let before_last = best.iter().filter(|(seen, _)| seen.start < last).max_by_key(|(seen, _)| seen.start);
    let ended_before = before_last.is_some_and(|(seen, _)| seen.ends);
    for (seen, worth) in best {
        let mut from = output.line_start_near(seen.start.saturating_sub(REACH), LONG as u64)?;
        if from > 0 && output.read(from - 1..from)? != b"\n" {
            // Inside a long line the units before this one cannot be told from here.
            let line = output.line_end_near(from, seen.start - from)?;
            let begins = line < seen.start && output.read(line - 1..line)? == b"\n";
            from = if begins { line } else { seen.start };
        }
        let to = (seen.range().end + REACH).min(output.len());
        let bytes = output.read(from..to)?;
        let mut all: Vec<Range<usize>> = Units { bytes: &bytes, at: 0 }.collect();
        // The last one goes on behind what was read.
        all.pop_if(|last| to < output.len() && from + last.start as u64 != seen.start);
        let mut worth = *worth;
        let Some(own) = all.iter().position(|unit| from + unit.start as u64 == seen.start) else {
            // Parts of a giant line are cut otherwise from here: then the unit stands alone.
            let text = visible(&output.read(seen.range())?);
            units.entry(seen.index).or_insert(Unit { index: seen.index, range: seen.range(), text, worth });
            continue;
        };
        let line = &bytes[all[own].clone()];
        if question.aim == Aim::Trouble {
            let times = lines.entry(without_paths(line)).or_default();
            worth *= AGAIN.powi(*times).max(FLOOR);
            *times += 1;
        }
        let defined = matches!(layout, Layout::Blocks | Layout::Diff) && defines(line);
        let mut fading = Fading::new(question, layout, seen.ends, defined);
        if seen.start == last && seen.ends && ended_before {
            fading.back = fading.back.min(CLEANED_UP);
        }
        let deep = depth(&readable(line));
        let failure = question.of_failure();
        let trouble = question.aim == Aim::Trouble;
        let mut show = |at: usize, worth: f32| {
            let unit = &all[at];
            let index = seen.index.saturating_add_signed(at as i64 - own as i64);
            let mut worth = worth;
            if trouble && at != own && unit.len() > SHORT {
                let line = &*readable(&bytes[unit.clone()]);
                let far = first.entry(hash(line)).or_insert(index).abs_diff(index) > FAR;
                worth *= if far { SAID_BEFORE } else { 1.0 } * if informs(line) { INFORMS } else { 1.0 };
            }
            let known = units.entry(index).or_insert_with(|| Unit {
                index,
                range: from + unit.start as u64..from + unit.end as u64,
                text: visible(&bytes[unit.clone()]),
                worth: 0.0,
            });
            known.worth = known.worth.max(worth);
        };
        show(own, worth);
        let mut left = worth;
        let mut alike = template(line);
        let mut trace = 0;
        let mut repeats = 0;
        for at in own + 1..all.len() {
            let line = &bytes[all[at].clone()];
            let plain = &*readable(line);
            if trouble && is_noise(plain) {
                show(at, left * NOISE);
                continue;
            }
            if holds(described, from + all[at].start as u64) {
                show(at, left * DESCRIBED);
                continue;
            }
            let blank = plain.trim_ascii().is_empty();
            let deeper = !blank && (depth(plain) > deep || is_frame(plain));
            // What a stack trace ends with is what it is all about.
            let ends_trace = failure && !blank && !deeper && trace > TRACE;
            trace = match () {
                () if deeper && (is_inward(plain) || trace > 0) => trace + 1,
                () if blank || deeper => trace,
                () => 0,
            };
            left *= match () {
                () if blank => fading.blank,
                () if !deeper => fading.on,
                () if question.trouble && at - own > CALLS && is_call(plain) => TOO_FAR,
                () if at - own > DEEPER && fading.deeper > TOO_DEEP => TOO_DEEP,
                () => fading.deeper,
            };
            let this = template(plain);
            repeats = if this == alike && !blank { repeats + 1 } else { 0 };
            alike = this;
            show(
                at,
                match () {
                    () if failure && has_passed(plain) => left * PASSED,
                    () if ends_trace => left.max(worth * TRACE_END),
                    () if trouble && repeats > 1 => left * REPEATED,
                    () => left,
                },
            );
        }
        let mut left = worth;
        let mut titled = false;
        let mut repeats = 0;
        let mut alike = template(line);
        // Where the command begins whose end the line tells, if it is quoted over several lines.
        let command = (trouble && line.starts_with(b"\" exited with")).then(|| {
            let begins = |at: &usize| memmem::find(&bytes[all[*at].clone()], b"The command \"").is_some();
            (own.saturating_sub(QUOTED)..own).rev().find(begins)
        });
        let command = command.flatten().unwrap_or(own);
        for at in (0..own).rev() {
            let line = &*readable(&bytes[all[at].clone()]);
            if trouble && (at >= command || is_noise(line)) {
                show(at, left * NOISE);
                continue;
            }
            if holds(described, from + all[at].start as u64) {
                show(at, left * DESCRIBED);
                continue;
            }
            let blank = line.trim_ascii().is_empty();
            if trouble && !titled && is_title(line) {
                titled = true;
                show(at, worth * TITLE);
            }
            if trouble && seen.ends && is_frame(line) {
                show(at, left * PASSED_BY);
                continue;
            }
            left *= if blank { fading.blank } else { fading.back };
            let this = template(line);
            repeats = if this == alike && !blank { repeats + 1 } else { 0 };
            alike = this;
            show(
                at,
                match () {
                    () if failure && has_passed(line) => left * PASSED,
                    () if trouble && repeats > 1 => left * REPEATED,
                    () => left,
                },
            );
        }
    }
    Ok(units.into_values().collect())
}

/// What lines have in common that differ only in their numbers and paths. A path with the name of a test is no path.
fn without_paths(line: &[u8]) -> u64 {
    let of_word = |word: &[u8]| match word.contains(&b'/') && memmem::find(word, b"::").is_none() {
        true => 1,
        false => template(word),
    };
    let mut hash = Hash::new();
    for word in line.split(u8::is_ascii_whitespace) {
        hash.take(of_word(word));
    }
    hash.0
}

/// What lines have in common that differ only in their numbers, and in the ids that are written with the digits of 16.
pub(crate) fn template(line: &[u8]) -> u64 {
    let mut hash = Hash::new();
    let mut at = 0;
    while at < line.len() {
        let start = at;
        let (mut digits, mut hex) = (false, true);
        while let Some(&byte) = line.get(at).filter(|byte| byte.is_ascii_alphanumeric()) {
            digits |= byte.is_ascii_digit();
            hex &= byte.is_ascii_hexdigit();
            at += 1;
        }
        let word = &line[start..at];
        match () {
            () if !digits => hash.word(word),
            () if hex && word.len() >= ID => hash.take(u64::from(b'0')),
            () => {
                let mut in_number = false;
                for &byte in word {
                    match (byte.is_ascii_digit(), in_number) {
                        (false, _) => hash.take(u64::from(byte)),
                        (true, false) => hash.take(u64::from(b'0')),
                        (true, true) => {}
                    }
                    in_number = byte.is_ascii_digit();
                }
            }
        }
        if let Some(&mark) = line.get(at) {
            hash.take(u64::from(mark));
            at += 1;
        }
    }
    hash.0
}

/// A number that stands for what was taken in, in its order.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(1)
    }

    fn take(&mut self, what: u64) {
        self.0 = (self.0.rotate_left(23) ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Takes in eight bytes at once, and of the last ones how many they are.
    fn word(&mut self, word: &[u8]) {
        let (eights, last) = word.as_chunks::<8>();
        eights.iter().for_each(|eight| self.take(u64::from_le_bytes(*eight)));
        if !last.is_empty() {
            let packed =
                last.iter().rev().fold(last.len() as u64, |packed, &byte| packed << 8 | u64::from(byte));
            self.take(packed);
        }
    }
}

/// A word of so many digits of 16 is an id.
pub(crate) const ID: usize = 4;

/// A line as a number.
fn hash(line: &[u8]) -> u64 {
    let mut hash = Hash::new();
    hash.word(line);
    hash.0
}
