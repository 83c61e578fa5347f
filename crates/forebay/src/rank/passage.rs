//! Passages: units that follow each other, with where they stand.

use crate::rank::choose::Choice;
use crate::rank::scan;
use crate::text::count::count;
use crate::text::lookalikes;
use crate::{Budget, Kind, Output, Result, tokens};
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
    /// Text that is shown: without escape codes and tags; for JSON, the members that answer.
    pub text: String,
    /// Description shown in place of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// Approximate tokens of the label that says where a passage is.
pub(crate) const LABEL: u64 = 6;

/// A unit that may be shown.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Which it is: units that follow each other have numbers that do.
    pub(crate) index: u64,
    pub(crate) range: Range<u64>,
    /// Text that is shown.
    pub(crate) text: String,
    pub(crate) worth: f32,
}

/// Units from which an answer is chosen.
pub(crate) fn choice(units: Vec<Unit>, reads_on: bool, hole: u64) -> Choice {
    Choice { units, last: None, marker: LABEL, reads_on, hole }
}

/// Takes units by their worth until the budget is used.
pub(crate) fn chosen(
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
pub(crate) fn passages(
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
pub(crate) fn print(
    output: &Output,
    chosen: &[&Unit],
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Printed> {
    let passages = passages(output, chosen, path)?;
    let found = match passages.len() {
        0 if output.record().kind == Kind::Binary => "these bytes are not text".to_owned(),
        0 => "nothing answers that".to_owned(),
        many => count("passage", many as u64),
    };
    printed(output, &found, passages)
}

/// Passages, each with where it stands, below what was found.
pub(crate) fn printed(output: &Output, found: &str, mut passages: Vec<Passage>) -> Result<Printed> {
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
        let body = lookalikes::quoted(passage.text.trim_matches('\n').as_bytes());
        let body = String::from_utf8_lossy(&body);
        let apart = if body.contains('\n') || passage.path.is_some() { '\n' } else { ' ' };
        text.push_str(&format!("[{place}]{apart}{body}\n"));
    }
    Ok(Printed { text: text.into_bytes(), passages, total_lines })
}

/// Passages as they are printed.
pub(crate) struct Printed {
    pub(crate) text: Vec<u8>,
    pub(crate) passages: Vec<Passage>,
    /// Lines of the whole output.
    pub(crate) total_lines: u64,
}

/// The units without those that are blank and not between others: a passage begins and ends with what it shows.
pub(crate) fn without_blank_ends<'a>(chosen: &[&'a Unit]) -> Vec<&'a Unit> {
    let mut kept: Vec<&Unit> = Vec::with_capacity(chosen.len());
    for run in chosen.chunk_by(|one, next| one.index + 1 == next.index) {
        let shows = |unit: &&Unit| !unit.text.trim().is_empty();
        let last = run.iter().rposition(shows).map_or(0, |last| last + 1);
        kept.extend(run[..last].iter().skip_while(|unit| !shows(unit)));
    }
    kept
}
