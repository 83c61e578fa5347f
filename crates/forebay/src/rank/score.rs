//! Which units of a text answer a question: what they say, what is said near them, and where they stand.
//!
//! The numbers here were found by trying: on real logs, test runs, diffs, source files and documents whose answers are
//! known, those were kept that found most of them.

use crate::classify::source::{Layout, described, diff_files, is_aside};
use crate::formats::line_role::{QUOTED, has_passed};
use crate::rank::context::around;
use crate::rank::passage::Unit;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{LONG, Scanned, Seen, Units, bits, scan};
use crate::terminal::{readable, visible};
use crate::text::similarity::template;
use crate::{Error, Output, Result};
use memchr::memmem;
use std::{cmp::Ordering, collections::HashMap, ops::Range};

/// So many of the best units are looked at closely.
const BEST: usize = 600;

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

/// How much trouble counts beside the words of a question.
const BESIDE: f32 = 0.6;

/// What went wrong with something is said after its name: how much of the name's worth it gets, how that fades, and
/// which share of the best units' terms makes a name.
const AFTER_NAME: f32 = 0.63;
const FADES: f32 = 0.64;
const NAME: f32 = 0.72;

/// In a diff, a change counts more than what is around it; tests and documents count less unless they are asked for.
const CHANGED: f32 = 1.2;
const ASIDE: f32 = 0.45;

/// How a program is described counts less than what it does, and leads there: nothing fades behind it. A larger program
/// is not read for that.
pub(crate) const DESCRIBED: f32 = 0.5;
const READ_FOR_THAT: u64 = 4 * 1024 * 1024;

/// A document says what a term means where it puts it in quotes: how much more that counts.
const DEFINED: f32 = 1.5;

/// What a line counts for standing with the best file of a list, beside the best line.
const BEST_FILE: f32 = 0.5;

/// What stands beside trouble and tells that something passed.
pub(crate) const PASSED: f32 = 0.15;

/// What trouble counts of which only tests speak that passed.
const IN_PASSES: f32 = 0.25;

/// A line longer than this says less with each word, by this power.
const WORDY: u32 = 240;
const SPREAD: f32 = 0.5;

/// The beginning of a document, and how much more it counts.
const OPENING: u64 = 3_000;
const OPENS: f32 = 1.25;

/// So many bytes tell what a text is about.
const GIST: u64 = 16 * 1024;

/// The units that are worth showing, the best first.
pub(crate) fn ranked(output: &Output, question: &Question) -> Result<Vec<Unit>> {
    Ok(weighed(output, question)?.0)
}

/// How an output speaks of trouble.
pub(crate) struct Trouble {
    /// How surely something went wrong, as the vocabulary weighs it.
    pub(crate) most: f32,
    /// Whether a runner says so in a form of its own.
    pub(crate) verdict: bool,
    /// Whether trouble is spoken of at the end.
    pub(crate) late: bool,
}

/// So many of the last bytes are the end.
const AT_THE_END: u64 = 2_048;

impl Trouble {
    fn of(scanned: &Scanned, length: u64) -> Trouble {
        let most = scanned.seen.iter().map(|seen| seen.trouble).fold(0.0, f32::max);
        let grave = || scanned.seen.iter().filter(|seen| seen.trouble > 1.0);
        Trouble {
            most,
            verdict: grave().any(|seen| seen.verdict),
            late: grave().any(|seen| seen.range().end + AT_THE_END > length),
        }
    }
}

/// The units that are worth showing, the best first, and how an output speaks of trouble.
pub(crate) fn weighed(output: &Output, question: &Question) -> Result<(Vec<Unit>, Trouble)> {
    let layout = Layout::of(output)?;
    let is_run = matches!(layout, Layout::Blocks | Layout::Prose);
    let question = match question.aim == Aim::Words && question.trouble && !is_run {
        true => &question.of_words(),
        false => question,
    };
    let Some(mut scanned) = scan(output, question)? else {
        return Err(Error::BadQuery("the question is too large to be looked for".to_owned()));
    };
    let reports = if question.trouble { Reports::of(output)? } else { Reports::default() };
    let is_aside = |at: u64| reports.passes.contains(&at) || holds(&reports.printed, at);
    let passed = scanned.seen.iter_mut().filter(|seen| is_aside(seen.start));
    passed.for_each(|seen| seen.trouble *= IN_PASSES);
    let trouble = Trouble::of(&scanned, output.len());
    if question.aim == Aim::Trouble && !question.anywhere && !output.is_empty() {
        // How it ended stands at the end.
        let start = output.line_start_near(output.len() - 1, LONG as u64)?;
        // In a long line that may be inside a character.
        let start = output.character_start(start)?.min(output.len() - 1);
        scanned.seen.retain(|seen| seen.start != start);
        scanned.seen.push(Seen::end(scanned.units - 1, start..output.len(), END));
    }
    let mut best = scored(&scanned, question, output.len(), &reports, layout);
    keep_best(&mut best, BEST * WEIGHED);
    weigh(output, layout, question, &reports, &mut best)?;
    let described = match layout == Layout::Source && output.len() <= READ_FOR_THAT {
        true => described(&output.read(0..output.len())?),
        false => Vec::new(),
    };
    let describing = best.iter_mut().filter(|(unit, _)| holds(&described, unit.start));
    describing.for_each(|(_, worth)| *worth *= DESCRIBED);
    if question.aim == Aim::Trouble && !question.anywhere {
        first_of_alike(output, &mut best)?;
    }
    keep_best(&mut best, BEST);
    best.sort_unstable_by(better);
    if question.aim == Aim::Trouble {
        first_of_equals(&mut best);
    }
    let mut units = around(output, &best, question, layout, &described)?;
    units.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    Ok((units, trouble))
}

/// So many of the last bytes have the summary of a run of tests, which may name every test.
const SUMMARY: u64 = 1024 * 1024;

/// What a run of tests reports before its summary.
#[derive(Default)]
struct Reports {
    /// What failed.
    failures: Range<u64>,
    /// What tests said that passed, where a run shows that too: whatever troubles they speak of are none.
    passes: Range<u64>,
    /// What tests print for themselves, where a run says so.
    printed: Vec<Range<u64>>,
}

/// A longer run is not read for what its tests print.
const PRINTED: u64 = 8 * 1024 * 1024;

/// What jest and vitest write above what a test prints.
const PRINTING: &[&str] = &[
    "console.error",
    "console.warn",
    "console.log",
    "console.info",
    "console.debug",
    "stderr | ",
    "stdout | ",
];

/// What the tests of a run of jest or vitest print for themselves. Each part is deeper than its title, or goes on up to an
/// empty line.
fn printed(output: &Output) -> Result<Vec<Range<u64>>> {
    if output.len() > PRINTED {
        return Ok(Vec::new());
    }
    let bytes = output.read(0..output.len())?;
    let has = |what: &str| memmem::find(&bytes, what.as_bytes()).is_some();
    let is_run = has("● ") && has("console.") || has("⎯ Failed Tests ") || has(" FAIL ") && has("stderr | ");
    if !is_run {
        return Ok(Vec::new());
    }
    let mut printed: Vec<Range<u64>> = Vec::new();
    let mut open: Option<bool> = None;
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let range = at..at + line.len() as u64;
        at = range.end;
        let line = readable(line);
        let text = line.trim_ascii();
        let title = PRINTING.iter().find(|title| match title.ends_with(' ') {
            true => line.starts_with(title.as_bytes()),
            false => text == title.as_bytes(),
        });
        let goes_on = match open {
            Some(true) => !text.is_empty(),
            Some(false) => text.is_empty() || line.starts_with(b"    "),
            None => false,
        };
        match title {
            Some(title) => {
                open = Some(title.ends_with(' '));
                printed.push(range);
            }
            None if goes_on => printed.last_mut().into_iter().for_each(|last| last.end = range.end),
            None => open = None,
        }
    }
    Ok(printed)
}

/// How unittest begins to report what failed, and what stands below all of that.
const UNITTEST: [&[u8]; 2] = [b"==========\nERROR: ", b"==========\nFAIL: "];
const RAN: &[u8] = b"\n----------------------------------------------------------------------\nRan ";

impl Reports {
    fn of(output: &Output) -> Result<Reports> {
        let from = output.len().saturating_sub(SUMMARY);
        let end = output.read(from..output.len())?;
        if let Some(reports) = Reports::of_unittest(output, &end)? {
            return Ok(reports);
        }
        let printed = printed(output)?;
        let Some(summary) = memmem::rfind(&end, b" short test summary info ==") else {
            return Ok(Reports { printed, ..Reports::default() });
        };
        let summary = from + summary as u64;
        let (mut failures, mut passes) = (None, None);
        output.for_each_block(0..output.len(), |at, block| {
            let found = |title: &[u8]| memmem::find(block, title).map(|found| at + found as u64);
            failures = failures.or_else(|| found(b"= FAILURES ="));
            passes = passes.or_else(|| found(b"= PASSES ="));
        })?;
        let passes = passes.unwrap_or(summary);
        Ok(Reports {
            failures: failures.map_or(0..0, |start| start..passes),
            passes: passes..summary,
            printed,
        })
    }

    /// What Python's unittest reports below all that its tests print.
    fn of_unittest(output: &Output, end: &[u8]) -> Result<Option<Reports>> {
        let Some(ran) = memmem::rfind(end, RAN) else { return Ok(None) };
        let ran = output.len() - (end.len() - ran) as u64;
        let mut first = None;
        output.for_each_block(0..ran, |at, block| {
            let found = || UNITTEST.iter().filter_map(|title| memmem::find(block, title)).min();
            first = first.or_else(|| found().map(|found| at + found as u64));
        })?;
        Ok(first.map(|first| Reports { printed: vec![0..first], ..Reports::default() }))
    }
}

/// Whether one of some ranges in order holds a place.
pub(crate) fn holds(ranges: &[Range<u64>], at: u64) -> bool {
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

/// Of units that differ by less than this share in their worth, the first comes first: it tells more than its followers.
const EQUAL: f32 = 0.06;

/// Puts the first one first of those that are about as good as the best, then of the next ones.
fn first_of_equals(mut units: &mut [(Seen, f32)]) {
    while let Some((_, best)) = units.first() {
        let least = best * (1.0 - EQUAL);
        let equal = units.iter().take_while(|(_, worth)| *worth >= least).count().max(1);
        let (group, others) = units.split_at_mut(equal);
        group.sort_by_key(|(seen, _)| seen.start);
        units = others;
    }
}

/// So many lines that differ only in their numbers tell the same.
const ALIKE: usize = 3;

/// The first of lines that differ only in their numbers is worth what the best of them is: it tells more than its followers.
/// Lines without numbers are the same for other reasons, such as being above each stack trace.
fn first_of_alike(output: &Output, units: &mut [(Seen, f32)]) -> Result<()> {
    // Numbers may be what a line tells: `errors: 0`, `errors: 7`.
    let mut alike: HashMap<(u64, u32), Vec<usize>> = HashMap::new();
    for (at, (seen, _)) in units.iter().enumerate().filter(|(_, (seen, _))| !seen.ends) {
        let line = output.read(seen.range())?;
        let line = readable(&line);
        if line.iter().any(u8::is_ascii_digit) {
            alike.entry((template(&line), seen.trouble.to_bits())).or_default().push(at);
        }
    }
    for group in alike.values_mut().filter(|group| group.len() >= ALIKE) {
        let mut worths: Vec<f32> = group.iter().map(|at| units[*at].1).collect();
        worths.sort_unstable_by(|one, other| other.total_cmp(one));
        group.sort_unstable_by_key(|at| units[*at].0.start);
        group.iter().zip(worths).for_each(|(at, worth)| units[*at].1 = worth);
    }
    Ok(())
}

/// Keeps so many of the best, in no order.
fn keep_best(units: &mut Vec<(Seen, f32)>, count: usize) {
    if units.len() > count {
        units.select_nth_unstable_by(count, better);
        units.truncate(count);
    }
}

/// The beginning of a text, where it says what it is about.
pub(crate) fn opening(output: &Output) -> Result<Vec<Unit>> {
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
pub(crate) fn told(scanned: &Scanned, question: &Question) -> impl Fn(u64) -> f32 {
    let terms = question.terms.iter().enumerate();
    let tells: Vec<f32> = terms.map(|(term, what)| scanned.rarity(term) * what.weight).collect();
    move |terms| bits(terms).map(|term| tells[term]).sum()
}

/// What each unit that was seen is worth by itself and by its neighbours.
fn scored(
    scanned: &Scanned,
    question: &Question,
    length: u64,
    reports: &Reports,
    layout: Layout,
) -> Vec<(Seen, f32)> {
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
            // What ended badly did so wherever it stands, a verdict is given where its test is, and what failed is reported
            // in the order of the tests.
            let reported = reports.failures.contains(&unit.start);
            let anywhere = question.anywhere || unit.ends || unit.verdict || reported;
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
    reports: &Reports,
    best: &mut [(Seen, f32)],
) -> Result<()> {
    if question.aim == Aim::Words && question.of_failure() {
        // The name of what failed stands in the names of much that passed.
        for (unit, worth) in best.iter_mut() {
            let line = output.read(unit.range())?;
            *worth *= if has_passed(&readable(&line)) { PASSED } else { 1.0 };
            *worth *= if reports.passes.contains(&unit.start) { IN_PASSES } else { 1.0 };
        }
    }
    for (unit, worth) in best.iter_mut().filter(|(unit, _)| reports.failures.contains(&unit.start)) {
        // What a report quotes has the words of trouble that the program has; what came of it is told below.
        let line = output.read(unit.range())?;
        *worth *= if matches!(readable(&line).first(), Some(b' ' | b'>')) { QUOTED } else { 1.0 };
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
