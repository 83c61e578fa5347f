//! Scores of units: the terms that they contain, the failures that they report, and where they stand.

use crate::classify::source::{Layout, described, diff_files, is_aside};
use crate::formats::line_role::{QUOTED, has_passed};
use crate::rank::context::with_context;
use crate::rank::passage::RankedUnit;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{MAX_UNIT_BYTES, Scanned, Scored, Seen, TextUnits, bits, scan};
use crate::terminal::{readable, visible};
use crate::text::ranges::holds;
use crate::text::similarity::template;
use crate::weights::{bounds, score as weights};
use crate::{Error, Output, Result};
use memchr::memmem;
use std::{cmp::Ordering, collections::HashMap, ops::Range};

/// Returns the units worth showing for a question, the best first.
pub(crate) fn ranked(output: &Output, question: &Question) -> Result<Vec<RankedUnit>> {
    Ok(ranked_with_signal(output, question)?.0)
}

/// How surely an output reports a failure.
pub(crate) struct FailureSignal {
    /// Highest failure weight of a unit.
    pub(crate) highest: f32,
    /// Whether a tool reports a failure in a form of its own.
    pub(crate) has_verdict: bool,
    /// Whether a failure is reported at the end.
    pub(crate) at_end: bool,
}

impl FailureSignal {
    fn of(scanned: &Scanned, length: u64) -> FailureSignal {
        let highest = scanned.seen.iter().map(|seen| seen.failure_weight).fold(0.0, f32::max);
        let stated = || scanned.seen.iter().filter(|seen| seen.failure_weight > weights::STATED_FAILURE);
        FailureSignal {
            highest,
            has_verdict: stated().any(|seen| seen.is_verdict),
            at_end: stated().any(|seen| seen.range().end + weights::END_BYTES > length),
        }
    }
}

/// Returns the units worth showing, the best first, and how surely the output reports a failure.
pub(crate) fn ranked_with_signal(
    output: &Output,
    question: &Question,
) -> Result<(Vec<RankedUnit>, FailureSignal)> {
    let layout = Layout::of(output)?;
    let is_run = matches!(layout, Layout::Blocks | Layout::Prose);
    let as_words;
    let question = if question.aim == Aim::Words && question.mentions_failure && !is_run {
        as_words = question.with_failure_as_words();
        &as_words
    } else {
        question
    };
    let Some(mut scanned) = scan(output, question)? else {
        return Err(Error::BadQuery("the question is too large to be looked for".to_owned()));
    };
    let reports = if question.mentions_failure { Reports::of(output)? } else { Reports::default() };
    let is_test_output = |at: u64| reports.passes.contains(&at) || holds(&reports.printed, at);
    let of_tests = scanned.seen.iter_mut().filter(|seen| is_test_output(seen.start));
    of_tests.for_each(|seen| seen.failure_weight *= weights::OUTPUT_OF_PASSED_TEST);
    let signal = FailureSignal::of(&scanned, output.len());
    if question.aim == Aim::Failure && !question.ignores_position && !output.is_empty() {
        add_end(output, &mut scanned)?;
    }
    let mut best = scored(&scanned, question, output.len(), &reports, layout);
    keep_best(&mut best, weights::MAX_BEST_UNITS * weights::POSITIONED_PER_BEST);
    weigh_by_position(output, layout, question, &reports, &mut best)?;
    let doc_comments = if layout == Layout::Source && output.len() <= bounds::MEDIUM {
        described(&output.read(0..output.len())?)
    } else {
        Vec::new()
    };
    let documenting = best.iter_mut().filter(|best| holds(&doc_comments, best.seen.start));
    documenting.for_each(|best| best.score *= weights::DOC_COMMENT);
    if question.aim == Aim::Failure && !question.ignores_position {
        first_of_template(output, &mut best)?;
    }
    keep_best(&mut best, weights::MAX_BEST_UNITS);
    best.sort_unstable_by(better);
    if question.aim == Aim::Failure {
        first_of_equals(&mut best);
    }
    let mut units = with_context(output, &best, question, layout, &doc_comments)?;
    units.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    Ok((units, signal))
}

/// Adds the last unit of an output, which shows how it ended.
fn add_end(output: &Output, scanned: &mut Scanned) -> Result<()> {
    let start = output.line_start_near(output.len() - 1, MAX_UNIT_BYTES as u64)?;
    // In a long line the start may be inside a character.
    let start = output.character_start(start)?.min(output.len() - 1);
    scanned.seen.retain(|seen| seen.start != start);
    scanned.seen.push(Seen::end(scanned.units - 1, start..output.len(), weights::LAST_UNIT));
    Ok(())
}

/// Parts of the report of a test run.
#[derive(Default)]
struct Reports {
    /// Reports of failed tests.
    failures: Range<u64>,
    /// Output of passed tests, if the run shows it. Failures mentioned there are none.
    passes: Range<u64>,
    /// Output of tests that is marked as such, in order.
    printed: Vec<Range<u64>>,
}

/// Titles that jest and vitest write above the output of a test.
const PRINTING: &[&str] = &[
    "console.error",
    "console.warn",
    "console.log",
    "console.info",
    "console.debug",
    "stderr | ",
    "stdout | ",
];

/// Returns the output of the tests of a jest or vitest run. Each part is indented deeper than its title, or ends at an empty
/// line.
fn printed(output: &Output) -> Result<Vec<Range<u64>>> {
    if output.len() > bounds::MEDIUM {
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
        let begins = |title: &&&str| match title.strip_suffix(' ') {
            Some(_) => line.starts_with(title.as_bytes()),
            None => text == title.as_bytes(),
        };
        let title = PRINTING.iter().find(begins);
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

/// Beginnings of the failure reports of unittest, and the line below all of them.
const UNITTEST: [&[u8]; 2] = [b"==========\nERROR: ", b"==========\nFAIL: "];
const RAN: &[u8] = b"\n----------------------------------------------------------------------\nRan ";

impl Reports {
    fn of(output: &Output) -> Result<Reports> {
        // The summary is within the last bytes; it may name every test.
        let from = output.len().saturating_sub(bounds::SMALL);
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

    /// Finds the report of Python's unittest, which is below all output of its tests.
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

/// Whether a line in lower case contains a word between quotes, with nothing else between them.
fn is_quoted(line: &[u8], word: &str) -> bool {
    let quotes = [("\"", "\""), ("“", "”")];
    memmem::find_iter(line, word).any(|at| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        quotes
            .iter()
            .any(|(open, close)| before.ends_with(open.as_bytes()) && after.starts_with(close.as_bytes()))
    })
}

/// Orders units by score, the best first, and equal ones by position.
fn better(one: &Scored, other: &Scored) -> Ordering {
    other.score.total_cmp(&one.score).then(one.seen.start.cmp(&other.seen.start))
}

/// Sorts each group of about equal scores by position. The first of equals explains those that follow.
fn first_of_equals(mut units: &mut [Scored]) {
    while let Some(best) = units.first() {
        let least = best.score * (1.0 - weights::EQUAL_SCORES);
        let equal = units.iter().take_while(|unit| unit.score >= least).count().max(1);
        let (group, others) = units.split_at_mut(equal);
        group.sort_by_key(|unit| unit.seen.start);
        units = others;
    }
}

/// Gives the best scores of lines that differ only in their numbers to the first of them, which explain those that follow.
/// Lines without numbers are equal for other reasons, such as being above each stack trace.
fn first_of_template(output: &Output, units: &mut [Scored]) -> Result<()> {
    // By the failure weight too: numbers can be what a line reports, as in `errors: 0` and `errors: 7`.
    let mut same: HashMap<(u64, u32), Vec<usize>> = HashMap::new();
    for (at, Scored { seen, .. }) in units.iter().enumerate().filter(|(_, unit)| !unit.seen.reports_exit) {
        let line = output.read(seen.range())?;
        let line = readable(&line);
        if line.iter().any(u8::is_ascii_digit) {
            same.entry((template(&line), seen.failure_weight.to_bits())).or_default().push(at);
        }
    }
    for group in same.values_mut().filter(|group| group.len() >= weights::MIN_SAME_TEMPLATE) {
        let mut scores: Vec<f32> = group.iter().map(|at| units[*at].score).collect();
        scores.sort_unstable_by(|one, other| other.total_cmp(one));
        group.sort_unstable_by_key(|at| units[*at].seen.start);
        group.iter().zip(scores).for_each(|(at, score)| units[*at].score = score);
    }
    Ok(())
}

/// Keeps the best `count` units, unordered.
fn keep_best(units: &mut Vec<Scored>, count: usize) {
    if units.len() > count {
        units.select_nth_unstable_by(count, better);
        units.truncate(count);
    }
}

/// Returns the beginning of a text, which introduces its subject.
pub(crate) fn opening(output: &Output) -> Result<Vec<RankedUnit>> {
    let bytes = output.read(0..output.len().min(weights::SUBJECT_BYTES))?;
    let units: Vec<Range<usize>> = TextUnits { bytes: &bytes, at: 0 }.collect();
    let count = units.len();
    let unit = |(index, range): (usize, Range<usize>)| RankedUnit {
        index: index as u64,
        text: visible(&bytes[range.clone()]),
        range: range.start as u64..range.end as u64,
        score: (count - index) as f32,
    };
    Ok(units.into_iter().enumerate().map(unit).collect())
}

/// Returns a function that sums the weights of a set of terms. Rare terms weigh more.
pub(crate) fn term_weights(scanned: &Scanned, question: &Question) -> impl Fn(u64) -> f32 {
    let terms = question.terms.iter().enumerate();
    let weights: Vec<f32> = terms.map(|(at, term)| scanned.rarity(at) * term.weight).collect();
    move |terms| bits(terms).map(|term| weights[term]).sum()
}

/// Rarity of the failure words of an output, from 0 to 1. Words that it repeats say less.
struct FailureRarity {
    /// By the id of the word.
    of_word: HashMap<u32, f32>,
    /// Rarity of the rarest word that states a failure. Where all are common, it counts in full.
    highest: f32,
}

impl FailureRarity {
    fn of(scanned: &Scanned) -> FailureRarity {
        let mut counts: HashMap<u32, u64> = HashMap::new();
        for unit in scanned.seen.iter().filter(|unit| unit.failure_weight > 0.0) {
            *counts.entry(unit.word_id).or_default() += 1;
        }
        let all = scanned.units as f32;
        let rarity =
            |count: u64| ((1.0 + all / count as f32).ln() / (1.0 + all).ln()).powf(weights::RARITY_POWER);
        let of_word = counts.into_iter().map(|(word, count)| (word, rarity(count))).collect();
        let mut rarity = FailureRarity { of_word, highest: 1.0 };
        let is_stated = |unit: &&Seen| unit.failure_weight > weights::STATED_FAILURE && !unit.reports_exit;
        let stated = scanned.seen.iter().filter(is_stated);
        let highest = stated.map(|unit| rarity.of_unit(unit)).fold(0.0, f32::max);
        if highest > 0.0 {
            rarity.highest = highest;
        }
        rarity
    }

    fn of_unit(&self, unit: &Seen) -> f32 {
        self.of_word.get(&unit.word_id).copied().unwrap_or(1.0)
    }

    /// Returns the factor of a unit, relative to the rarest word.
    fn factor(&self, unit: &Seen) -> f32 {
        (self.of_unit(unit) / self.highest).min(1.0)
    }
}

/// Scores each unit by its own terms, by those of its neighbours, and by the failure that it reports.
fn scored(
    scanned: &Scanned,
    question: &Question,
    length: u64,
    reports: &Reports,
    layout: Layout,
) -> Vec<Scored> {
    let told = term_weights(scanned, question);
    let seen = &scanned.seen;
    let average = (length as f32 / scanned.units.max(1) as f32).max(weights::MIN_AVERAGE_BYTES);
    let of_failure = if question.aim == Aim::Failure { 1.0 } else { weights::FAILURE_BESIDE_WORDS };
    let rarity = FailureRarity::of(scanned);
    let is_code = matches!(layout, Layout::Source | Layout::Diff);
    let neighbours = if is_code { weights::NEIGHBOURS_IN_CODE } else { weights::NEIGHBOURS };
    let mut run = 0;
    let mut scored = Vec::with_capacity(seen.len());
    for (at, unit) in seen.iter().enumerate() {
        let near = |other: &&Seen| other.index.abs_diff(unit.index) <= neighbours.distance;
        let before = seen[..at].iter().rev().take_while(near);
        let after = seen[at + 1..].iter().take_while(near);
        let together = before.chain(after).fold(unit.terms, |terms, other| terms | other.terms);
        let own = weights::EXACT_FORM * told(unit.exact) + (1.0 - weights::EXACT_FORM) * told(unit.terms);
        let mut score = (own + weights::SECOND_OCCURRENCE * told(unit.repeated))
            * length_factor(unit.length as f32, average)
            + neighbours.share * (told(together) - told(unit.terms));
        let follows = at > 0 && seen[at - 1].index + 1 == unit.index && seen[at - 1].failure_weight > 0.0;
        run = if follows && unit.failure_weight > 0.0 { run + 1 } else { 0 };
        if unit.failure_weight > 0.0 {
            // Position says nothing about an exit, a verdict (it is beside its test) or a report of failures (it is in
            // the order of the tests).
            let reported = reports.failures.contains(&unit.start);
            let anywhere = question.ignores_position || unit.reports_exit || unit.is_verdict || reported;
            let position = if anywhere { 1.0 } else { unit.start as f32 / length.max(1) as f32 };
            let long = (weights::LONG_LINE_BYTES as f32 / unit.length.max(weights::LONG_LINE_BYTES) as f32)
                .powf(weights::LONG_LINE_POWER);
            let failure = long
                * unit.failure_weight
                * rarity.factor(unit)
                * weights::FOLLOWING_LINE.powi(run.min(weights::MAX_FOLLOWING_LINES));
            score += failure * of_failure * (weights::EARLY_FAILURE + position.powf(weights::GROWTH_TO_END));
        }
        scored.push(Scored { seen: *unit, score });
    }
    if question.aim == Aim::Words && question.mentions_failure {
        add_after_names(&mut scored, told);
    }
    scored
}

/// Returns the factor of a unit by its length in bytes: long units contain more words by chance.
fn length_factor(length: f32, average: f32) -> f32 {
    let norm = 1.0 - weights::LENGTH_NORM + weights::LENGTH_NORM * length / average;
    (weights::SATURATION_SCALE / (1.0 + weights::SATURATION * norm)).max(weights::MIN_LENGTH_FACTOR)
}

/// Adds to failures shortly after a unit with the name that the question is about.
fn add_after_names(scored: &mut [Scored], told: impl Fn(u64) -> f32) {
    let highest = scored.iter().map(|unit| told(unit.seen.terms)).fold(0.0, f32::max);
    let mut named: Option<(u64, f32)> = None;
    for Scored { seen, score } in scored.iter_mut().filter(|unit| unit.seen.failure_weight > 0.0) {
        if let Some((index, named)) = named {
            let distance = (seen.index - index).min(weights::MAX_AFTER_NAME) as i32;
            *score += weights::AFTER_NAME * named * weights::AFTER_NAME_FADE.powi(distance);
        }
        if told(seen.terms) > weights::MIN_NAME_SHARE * highest {
            named = Some((seen.index, *score));
        }
    }
}

/// Weighs units by their position: changed lines of a diff above their context, program code above its tests and
/// documentation unless the question is about those, failed tests above passed ones.
fn weigh_by_position(
    output: &Output,
    layout: Layout,
    question: &Question,
    reports: &Reports,
    best: &mut [Scored],
) -> Result<()> {
    if question.aim == Aim::Words && question.asks_for_cause() {
        // The name of a failed test is part of the names of many passed ones.
        for Scored { seen, score } in best.iter_mut() {
            let line = output.read(seen.range())?;
            *score *= if has_passed(&readable(&line)) { weights::PASSED_LINE } else { 1.0 };
            *score *= if reports.passes.contains(&seen.start) { weights::OUTPUT_OF_PASSED_TEST } else { 1.0 };
        }
    }
    for Scored { seen, score } in best.iter_mut().filter(|unit| reports.failures.contains(&unit.seen.start)) {
        // Source lines that a report quotes contain failure words; the failure itself is reported below them.
        let line = output.read(seen.range())?;
        *score *= if matches!(readable(&line).first(), Some(b' ' | b'>')) { QUOTED } else { 1.0 };
    }
    let asks_for_tests = |term: &str| matches!(term, "test" | "doc" | "document" | "example");
    if question.mentions_failure || question.terms.iter().any(|term| asks_for_tests(&term.text)) {
        return Ok(());
    }
    match layout {
        Layout::Diff => weigh_diff(output, best),
        Layout::Lone => weigh_list(output, best),
        Layout::Prose => weigh_prose(output, question, best),
        Layout::Source | Layout::Blocks => Ok(()),
    }
}

/// Weighs changed lines above their context, and files above their tests and documents.
fn weigh_diff(output: &Output, best: &mut [Scored]) -> Result<()> {
    let files = diff_files(output)?;
    for Scored { seen, score } in best {
        let next = files.partition_point(|(start, _)| *start <= seen.start);
        let is_aside = files[..next].last().is_some_and(|(_, is_aside)| *is_aside);
        *score *= if matches!(seen.first, b'+' | b'-') { weights::CHANGED_LINE } else { 1.0 };
        *score *= if is_aside { weights::TEST_OR_DOC_FILE } else { 1.0 };
    }
    Ok(())
}

/// Weighs lines of a list above tests and documents, and adds to those of the best file.
fn weigh_list(output: &Output, best: &mut [Scored]) -> Result<()> {
    let mut paths = Vec::with_capacity(best.len());
    let mut files: HashMap<Vec<u8>, f32> = HashMap::new();
    for Scored { seen, score } in best.iter_mut() {
        let mut path = output.read(seen.start..seen.start + u64::from(seen.length).min(160))?;
        path.truncate(memchr::memchr(b':', &path).unwrap_or(path.len()));
        *score *= if is_aside(&path) { weights::TEST_OR_DOC_FILE } else { 1.0 };
        *files.entry(path.clone()).or_default() += *score;
        paths.push(path);
    }
    let best_line = best.iter().map(|unit| unit.score).fold(0.0, f32::max);
    let best_file = files.values().copied().fold(f32::MIN_POSITIVE, f32::max);
    for (unit, path) in best.iter_mut().zip(paths) {
        unit.score += weights::BEST_FILE * best_line * files[&path] / best_file;
    }
    Ok(())
}

/// Weighs the opening of a document, which names its subject, and definitions above the rest.
fn weigh_prose(output: &Output, question: &Question, best: &mut [Scored]) -> Result<()> {
    let opening = weights::OPENING_BYTES.min(output.len() / weights::OPENING_PART);
    for Scored { seen, score } in best {
        *score *= if seen.start < opening { weights::OPENING } else { 1.0 };
        let line = output.read(seen.range())?.to_ascii_lowercase();
        let is_defined = bits(seen.exact).any(|term| is_quoted(&line, &question.terms[term].form));
        *score *= if is_defined { weights::DEFINITION } else { 1.0 };
    }
    Ok(())
}
