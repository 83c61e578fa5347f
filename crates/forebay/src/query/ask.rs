//! A question in plain words, answered without a model: the passages of an output that answer it best.
//!
//! One scan finds the units (lines, and parts of long ones) that have the question's terms; rare terms tell more than
//! common ones. What is near a good unit is worth something too, so that an answer is a passage and not a line. Passages
//! are taken by their worth until the budget is used, and printed in the order of the output. A question that names
//! nothing but trouble ("why did it fail?") looks for what speaks of trouble instead. Pages are read as the text that a
//! browser would show, JSON as its members with their paths.

mod alike;
mod around;
mod choose;
mod date;
mod extreme;
mod finding;
mod frequency;
mod json;
mod layout;
mod location;
mod members;
mod page;
mod question;
mod rank;
mod reach;
mod records;
mod scan;
mod standing;
mod trace;
mod trouble;
mod verdict;
mod whole;

pub(crate) use alike::{pattern, template};
pub(crate) use choose::{Choice, ranges};
pub(crate) use finding::{FEW as FEW_ERRORS, are_few, code_in_file, is_error};
pub(crate) use rank::Trouble;
pub(crate) use records::weights as record_weights;

use super::{Excerpt, Found};
use crate::view::{count, rendering};
use crate::{Budget, Error, Kind, Output, Query, Result, tokens};
use layout::Layout;
use question::{Aim, Question};
use reach::Reach;
use serde::Serialize;
use std::ops::Range;

/// A part of an output that answers a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Passage {
    /// The first line, counted from 1.
    pub line: u64,
    /// The last line.
    pub last_line: u64,
    /// The bytes it comes from.
    pub bytes: Range<u64>,
    /// The container that it stands in, of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is shown: without escape codes and tags, and of JSON the members that answer.
    pub text: String,
    /// What is said of it in place of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// A page or a document up to this size is read as what it says; a larger one as its lines.
pub(crate) const READ_WHOLE: u64 = 32 * 1024 * 1024;

/// What it costs to say where a passage stands, about.
const LABEL: u64 = 6;

/// In what forms blocks, a hole of so few lines between two passages is filled. A program and a document of long lines
/// have better use for the room.
const HOLE: u64 = 4;

/// A unit that may be shown.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Which it is: units that follow each other have numbers that do.
    pub(crate) index: u64,
    pub(crate) range: Range<u64>,
    /// What is shown of it.
    pub(crate) text: String,
    pub(crate) worth: f32,
}

/// What matters in an output of which nobody asked anything: what went wrong and how it ended. The best first, and
/// how it speaks of trouble.
pub(crate) fn unasked(output: &Output) -> Result<(Vec<Unit>, Trouble)> {
    rank::weighed(output, &Question::of_trouble())
}

/// The troubles of which a log tells that has no end, the best first, and how it speaks of them.
pub(crate) fn troubles(output: &Output) -> Result<(Vec<Unit>, Trouble)> {
    let mut question = Question::of_trouble();
    question.anywhere = true;
    rank::weighed(output, &question)
}

/// What a view shows of what is wanted.
pub(crate) enum Reached {
    /// Nothing: it is about all of the output, or nowhere in it.
    Nothing,
    /// These bytes, beside what stands out.
    Beside(Vec<Range<u64>>),
    /// Whatever has its words.
    Words,
}

/// What a view of so much shows of what is wanted.
pub(crate) fn reached(output: &Output, wanted: &str, budget: Budget) -> Result<Reached> {
    let question = Question::new(wanted);
    let reach = reach::of(output, &question)?;
    Ok(match reach {
        Reach::Whole | Reach::Nowhere => Reached::Nothing,
        Reach::Both(share) | Reach::Trouble(share) if budget.tokens >= FOR_BOTH => {
            // A view has something to show unasked, too.
            let choice = choice(rank::ranked(output, &reach.meant(question))?, false, 0);
            let chosen = chosen(output, choice, budget.part(share.min(reach::TOLD)), |_| None)?;
            Reached::Beside(ranges(&chosen.iter().collect::<Vec<_>>()))
        }
        Reach::Both(_) | Reach::Trouble(_) | Reach::Words => Reached::Words,
    })
}

/// What answers a question about an output, the best first.
pub(crate) fn asked(output: &Output, question: &str) -> Result<Vec<Unit>> {
    rank::ranked(output, &Question::new(question))
}

/// What answers a question about a page, the best first.
pub(crate) fn asked_page(
    output: &Output,
    page: &rendering::derived::Derived,
    question: &str,
) -> Result<Vec<Unit>> {
    let mut units = page::units(page, &page.as_output(output)?, &Question::new(question))?;
    units.iter_mut().for_each(|unit| unit.range = page.origin(&unit.range));
    Ok(units)
}

/// Whether a line begins by telling of a failure.
pub(crate) fn is_told(line: &[u8]) -> bool {
    verdict::is_told(line)
}

/// Whether a line is a call in a stack trace.
pub(crate) fn is_frame(line: &[u8]) -> bool {
    trace::is_frame(line)
}

/// Whether a line is one of a list: a path, or what was found at one.
pub(crate) fn is_listed(line: &[u8]) -> bool {
    layout::is_lone(line.trim_ascii())
}

/// Whether an output reads like prose.
pub(crate) fn is_prose(output: &Output) -> Result<bool> {
    Ok(layout::Layout::of(output)? == layout::Layout::Prose)
}

/// What a page is about, the best first.
pub(crate) fn unasked_page(page: &rendering::derived::Derived) -> Vec<Unit> {
    page::unasked(page)
}

/// The passages that answer a question best, in order.
pub(super) fn ask(output: &Output, question: &str, budget: Budget) -> Result<Excerpt> {
    if question.trim().is_empty() {
        return Err(Error::BadQuery("no question was asked".to_owned()));
    }
    let question = Question::new(question);
    let small = output.len() <= READ_WHOLE;
    let found = if small { super::json::found(output)? } else { None };
    if small && found.is_none() && super::outline::is_page(output)? {
        let page = rendering::page::text(&output.read(0..output.len())?);
        let text = page.as_output(output)?;
        if question.aim == Aim::Words && reach::of(&text, &question)? == Reach::Whole {
            return choose(output, choice(page::unasked(&page), true, 0), budget, |_| None);
        }
        let mut units = page::units(&page, &text, &question)?;
        units.iter_mut().for_each(|unit| unit.range = page.origin(&unit.range));
        return choose(output, choice(units, true, 0), budget, |_| None);
    }
    let is_read = question.aim == Aim::Gist && is_prose(output)?;
    let reach = match output.record().kind {
        Kind::Binary => Reach::Words,
        _ if is_read => Reach::Words,
        _ => reach::of(output, &question)?,
    };
    if matches!(reach, Reach::Whole | Reach::Nowhere)
        && let Some(excerpt) = whole::with_whole(output, Vec::new(), reach == Reach::Nowhere, budget)?
    {
        return Ok(excerpt);
    }
    if let Some(found) = found.filter(|_| question.aim != Aim::Gist) {
        let members = json::members(&output.read(found.clone())?);
        let mut units = members::units(&members, &members.text.as_output(output)?, &question)?;
        let origin = |range: &Range<u64>| {
            let origin = members.text.origin(range);
            found.start + origin.start..found.start + origin.end
        };
        units.iter_mut().for_each(|unit| unit.range = origin(&unit.range));
        let path = |index: u64| Some(members.container((index >> 20) as usize));
        return reaching(output, choice(units, true, 0), reach, budget, path);
    }
    let question = reach.meant(question);
    let units = match (output.record().kind, question.aim) {
        (Kind::Binary, _) => Vec::new(),
        (_, Aim::Gist) => rank::opening(output)?,
        _ => extreme::with_extremes(output, &question, rank::ranked(output, &question)?)?,
    };
    let layout = layout::Layout::of(output)?;
    // What answers is a paragraph, or a line of a list, and none of its neighbours.
    let reads_on = question.aim == Aim::Words && matches!(layout, Layout::Prose | Layout::Lone);
    let hole = if question.aim == Aim::Words && layout == Layout::Blocks { HOLE } else { 0 };
    reaching(output, choice(units, reads_on, hole), reach, budget, |_| None)
}

/// In a smaller budget there is no room for two kinds of answers.
const FOR_BOTH: u64 = 250;

/// Takes units as [`choose`] does, and what stands out as far as a question reaches to that.
fn reaching(
    output: &Output,
    choice: Choice,
    reach: Reach,
    budget: Budget,
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Excerpt> {
    if let Reach::Both(share) | Reach::Trouble(share) = reach
        && share < 1.0
        && budget.tokens >= FOR_BOTH
    {
        let chosen = chosen(output, choice.clone(), budget.part(share), &path)?;
        let words = passages(output, &chosen.iter().collect::<Vec<_>>(), &path)?;
        if let Some(excerpt) = whole::with_whole(output, words, false, budget)? {
            return Ok(excerpt);
        }
    }
    choose(output, choice, budget, path)
}

/// What answers are chosen from.
fn choice(units: Vec<Unit>, reads_on: bool, hole: u64) -> Choice {
    Choice { units, last: None, marker: LABEL, reads_on, hole }
}

/// Prints the units of most worth that fit into the budget. `path` tells where a unit stands, if that is how it is found.
fn choose(
    output: &Output,
    choice: Choice,
    budget: Budget,
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Excerpt> {
    let chosen = chosen(output, choice, budget, &path)?;
    let excerpt = print(output, &chosen.iter().collect::<Vec<_>>(), &path)?;
    if excerpt.shown.is_empty()
        && output.record().kind != Kind::Binary
        && let Some(excerpt) = whole::with_whole(output, Vec::new(), true, budget)?
    {
        return Ok(excerpt);
    }
    match budget.holds(&excerpt.text) {
        true => Ok(excerpt),
        false => {
            let too_small = format!("a budget of {} tokens has no room for a passage", budget.tokens);
            Err(Error::BadQuery(too_small + ": ask with a larger one"))
        }
    }
}

/// Takes units by their worth until the budget is used.
fn chosen(
    output: &Output,
    choice: Choice,
    budget: Budget,
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Vec<Unit>> {
    choice.choose(budget, |units| {
        let text = print(output, units, &path)?.text;
        Ok((tokens::count_bytes(&text), budget.holds(&text)))
    })
}

/// Units in the order of the output, those that follow each other as one passage.
fn passages(
    output: &Output,
    chosen: &[&Unit],
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Vec<Passage>> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut last: Option<(u64, Option<usize>)> = None;
    for unit in without_blank_ends(chosen) {
        let index = unit.index;
        let (container, path) = path(index).unzip();
        let adjacent = last.is_some_and(|(last, _)| last + 1 == index);
        let goes_on = |_: &&mut Passage| match container {
            Some(_) => last.is_some_and(|(_, last)| last == container),
            None => adjacent,
        };
        match passages.last_mut().filter(goes_on) {
            Some(passage) => {
                passage.bytes.end = unit.range.end;
                if !adjacent && !passage.text.ends_with('\n') {
                    // Parts of one long value, with others between them.
                    passage.text.push_str("…\n");
                }
                passage.text.push_str(&unit.text);
            }
            None => passages.push(Passage {
                line: output.newlines_before(unit.range.start)? + 1,
                last_line: 0,
                bytes: unit.range.clone(),
                path,
                text: unit.text.clone(),
                said: None,
            }),
        }
        last = Some((index, container));
    }
    Ok(passages)
}

/// Prints units in the order of the output, each with where it stands.
fn print(
    output: &Output,
    chosen: &[&Unit],
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Excerpt> {
    let passages = passages(output, chosen, path)?;
    let found = match passages.len() {
        0 if output.record().kind == Kind::Binary => "these bytes are not text".to_owned(),
        0 => "nothing answers that".to_owned(),
        many => count("passage", many as u64),
    };
    printed(output, &found, passages)
}

/// Passages, each with where it stands, below what was found.
fn printed(output: &Output, found: &str, mut passages: Vec<Passage>) -> Result<Excerpt> {
    let total_lines = output.lines()?;
    for passage in &mut passages {
        passage.last_line = output.newlines_before(passage.bytes.end - 1)? + 1;
    }
    let handle = output.record().handle.short();
    let grows = if output.is_growing() { ", still growing" } else { "" };
    let mut text = format!("[{found} · {}{grows} · {handle}]\n", count("line", total_lines));
    for passage in &passages {
        let lines = match passage.line == passage.last_line {
            true => passage.line.to_string(),
            false => format!("{}–{}", passage.line, passage.last_line),
        };
        // In a long line the number of the line alone would not lead there.
        let far = passage.bytes.start - output.line_start(passage.line - 1)? > scan::LONG as u64;
        let place = match &passage.path {
            Some(path) if total_lines == 1 => path.clone(),
            Some(path) => format!("{lines} {path}"),
            None if far => format!("{lines} @{}", passage.bytes.start),
            None => lines,
        };
        if let Some(said) = &passage.said {
            text.push_str(&format!("[{place}: {said}]\n"));
            continue;
        }
        let body = rendering::quoted::quoted(passage.text.trim_matches('\n').as_bytes());
        let body = String::from_utf8_lossy(&body);
        let apart = if body.contains('\n') || passage.path.is_some() { '\n' } else { ' ' };
        text.push_str(&format!("[{place}]{apart}{body}\n"));
    }
    Ok(Excerpt {
        text: text.into_bytes(),
        shown: passages.iter().map(|passage| passage.bytes.clone()).collect(),
        lines: passages.first().zip(passages.last()).map(|(first, last)| (first.line, last.last_line)),
        total_lines,
        next: None::<Query>,
        growing: output.is_growing(),
        found: Found::Passages(passages),
    })
}

/// The units without those that are blank and not between others: a passage begins and ends with what it shows.
fn without_blank_ends<'a>(chosen: &[&'a Unit]) -> Vec<&'a Unit> {
    let mut kept: Vec<&Unit> = Vec::with_capacity(chosen.len());
    for run in chosen.chunk_by(|one, next| one.index + 1 == next.index) {
        let shows = |unit: &&Unit| !unit.text.trim().is_empty();
        let last = run.iter().rposition(shows).map_or(0, |last| last + 1);
        kept.extend(run[..last].iter().skip_while(|unit| !shows(unit)));
    }
    kept
}

/// What a terminal would show of a unit.
pub(crate) fn visible(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&rendering::screen(bytes)).into_owned()
}

#[cfg(test)]
mod tests;
