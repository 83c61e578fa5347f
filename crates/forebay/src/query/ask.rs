//! A question in plain words, answered without a model: the passages of an output that answer it best.
//!
//! One scan finds the units (lines, and parts of long ones) that have the question's terms; rare terms tell more than
//! common ones. What is near a good unit is worth something too, so that an answer is a passage and not a line. Passages
//! are taken by their worth until the budget is used, and printed in the order of the output. A question that names
//! nothing but trouble ("why did it fail?") looks for what speaks of trouble instead. Pages are read as the text that a
//! browser would show, JSON as its members with their paths.

mod derived;
mod html;
mod json;
mod layout;
mod members;
mod page;
mod question;
mod rank;
mod scan;
mod trouble;

use super::{Excerpt, Found};
use crate::view::grouped;
use crate::{Budget, Error, Kind, Output, Query, Result, tokens};
use question::Question;
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};

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
}

/// A page or a document up to this size is read as what it says; a larger one as its lines.
const READ_WHOLE: u64 = 32 * 1024 * 1024;

/// So many units may be too large for what is left of the budget before it counts as used.
const MISFITS: usize = 100;

/// A unit that may be shown.
#[derive(Clone, Debug)]
struct Unit {
    /// Which it is: units that follow each other have numbers that do.
    index: u64,
    range: Range<u64>,
    /// What is shown of it.
    text: String,
    worth: f32,
}

/// The passages that answer a question best, in order.
pub(super) fn ask(output: &Output, question: &str, budget: Budget) -> Result<Excerpt> {
    if question.trim().is_empty() {
        return Err(Error::BadQuery("no question was asked".to_owned()));
    }
    let question = Question::new(question);
    let small = output.len() <= READ_WHOLE;
    let beginning = output.read(0..output.len().min(4_096))?;
    if small && html::is_page(&beginning) {
        let page = html::text(&output.read(0..output.len())?);
        let mut units = page::units(&page, &page.as_output(output)?, &question)?;
        units.iter_mut().for_each(|unit| unit.range = page.origin(&unit.range));
        return choose(output, &units, budget, |_| None);
    }
    if small && matches!(output.record().kind, Kind::Json | Kind::JsonLines) {
        let members = json::members(&output.read(0..output.len())?);
        let mut units = members::units(&members, &members.text.as_output(output)?, &question)?;
        units.iter_mut().for_each(|unit| unit.range = members.text.origin(&unit.range));
        return choose(output, &units, budget, |index| Some(members.container((index >> 20) as usize)));
    }
    let units = match output.record().kind {
        Kind::Binary => Vec::new(),
        _ => rank::ranked(output, &question)?,
    };
    choose(output, &units, budget, |_| None)
}

/// Takes units by their worth until the budget is used. `path` tells where a unit stands, if that is how it is found.
fn choose(
    output: &Output,
    units: &[Unit],
    budget: Budget,
    path: impl Fn(u64) -> Option<String>,
) -> Result<Excerpt> {
    let mut chosen: BTreeMap<u64, &Unit> = BTreeMap::new();
    let mut order: Vec<u64> = Vec::new();
    let mut excerpt = print(output, &chosen, &path)?;
    // What labels cost is known only when they are printed: what is then left over is used for more.
    for _ in 0..4 {
        let chosen_before: HashSet<u64> = order.iter().copied().collect();
        let mut left = budget.tokens.saturating_sub(tokens::count_bytes(&excerpt.text));
        let before = excerpt.text.len();
        let mut misfits = 0;
        for unit in units.iter().filter(|unit| !chosen_before.contains(&unit.index)) {
            if left < 8 || misfits > MISFITS {
                break;
            }
            let joins =
                chosen.contains_key(&(unit.index + 1)) || chosen.contains_key(&unit.index.wrapping_sub(1));
            let cost = tokens::count(&unit.text) + if joins { 0 } else { 6 };
            match cost <= left {
                true => {
                    left -= cost;
                    chosen.insert(unit.index, unit);
                    order.push(unit.index);
                }
                false => misfits += 1,
            }
        }
        excerpt = print(output, &chosen, &path)?;
        while !budget.holds(&excerpt.text) {
            let Some(last) = order.pop() else {
                let too_small = format!("a budget of {} tokens has no room for a passage", budget.tokens);
                return Err(Error::BadQuery(too_small + ": ask with a larger one"));
            };
            chosen.remove(&last);
            excerpt = print(output, &chosen, &path)?;
        }
        if excerpt.text.len() <= before {
            break;
        }
    }
    Ok(excerpt)
}

/// Prints passages in the order of the output, each with where it stands.
fn print(
    output: &Output,
    chosen: &BTreeMap<u64, &Unit>,
    path: impl Fn(u64) -> Option<String>,
) -> Result<Excerpt> {
    let total_lines = output.lines()?;
    let mut passages: Vec<Passage> = Vec::new();
    let mut last: Option<u64> = None;
    for (&index, unit) in chosen {
        let path = path(index);
        let goes_on = |passage: &&mut Passage| match &path {
            Some(_) => passage.path == path,
            None => last.is_some_and(|last| last + 1 == index),
        };
        match passages.last_mut().filter(goes_on) {
            Some(passage) => {
                passage.bytes.end = unit.range.end;
                passage.text.push_str(&unit.text);
            }
            None => passages.push(Passage {
                line: output.newlines_before(unit.range.start)? + 1,
                last_line: 0,
                bytes: unit.range.clone(),
                path,
                text: unit.text.clone(),
            }),
        }
        last = Some(index);
    }
    passages.retain(|passage| !passage.text.trim().is_empty());
    for passage in &mut passages {
        passage.last_line = output.newlines_before(passage.bytes.end - 1)? + 1;
    }
    let handle = output.record().handle.short();
    let grows = if output.is_growing() { ", still growing" } else { "" };
    let count = match passages.len() {
        0 if output.record().kind == Kind::Binary => "these bytes are not text".to_owned(),
        0 => "nothing answers that".to_owned(),
        1 => "1 passage".to_owned(),
        many => format!("{many} passages"),
    };
    let mut text = format!("[{count} · {} lines{grows} · {handle}]\n", grouped(total_lines));
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
        let body = passage.text.trim_matches('\n');
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

/// What a terminal would show of a unit: no escape codes, and of what carriage returns wrote over, the last.
fn visible(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.trim_end_matches(['\n', '\r']);
    let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or(line);
    let mut shown = String::with_capacity(line.len() + 1);
    let mut rest = line;
    while let Some(escape) = rest.find('\u{1b}') {
        shown.push_str(&rest[..escape]);
        let after = &rest[escape + 1..];
        rest = match after.strip_prefix('[') {
            Some(code) => {
                code.find(|c: char| c.is_ascii_alphabetic() || c == '@').map_or("", |end| &code[end + 1..])
            }
            None => after.char_indices().nth(1).map_or("", |(at, _)| &after[at..]),
        };
    }
    shown.push_str(rest);
    if bytes.ends_with(b"\n") {
        shown.push('\n');
    }
    shown
}
