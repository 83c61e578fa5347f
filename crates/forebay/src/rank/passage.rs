//! Passages: units that follow each other, with their place in the output.

use crate::rank::choose::UnitChoice;
use crate::rank::scan;
use crate::text::count::count;
use crate::text::gutter::numbered;
use crate::text::lookalikes;
use crate::{Budget, Kind, Output, Result, tokens};
use serde::Serialize;
use std::ops::Range;

/// Part of an output that answers a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Passage {
    /// First line, counted from 1.
    pub line: u64,
    /// Last line.
    pub last_line: u64,
    /// Bytes of the output that it stands for.
    pub bytes: Range<u64>,
    /// Path to its container, in JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Text as shown: without escape codes and tags; in JSON, the members that answer.
    pub text: String,
    /// Description shown in place of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// In a passage of a numbered read, the number of a line is shown if it can be divided by this.
const NUMBERED: u64 = 5;

/// Approximate tokens of the label with the place of a passage.
pub(crate) const LABEL: u64 = 6;

/// A unit with its score.
#[derive(Clone, Debug)]
pub(crate) struct RankedUnit {
    /// Index in the output. Units that follow each other have indices that do.
    pub(crate) index: u64,
    pub(crate) range: Range<u64>,
    /// Text as shown.
    pub(crate) text: String,
    pub(crate) score: f32,
}

/// Returns the choice of an answer from units.
pub(crate) fn choice(units: Vec<RankedUnit>, reads_on: bool, hole: u64) -> UnitChoice {
    UnitChoice { units, last: None, marker: LABEL, reads_on, hole }
}

/// Chooses units by their scores until the budget is used. `path` returns the container of a unit of JSON.
pub(crate) fn chosen(
    output: &Output,
    choice: UnitChoice,
    budget: Budget,
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Vec<RankedUnit>> {
    choice.choose(budget, |units| {
        let text = print(output, units, &path)?.text;
        Ok((tokens::count_bytes(&text), budget.holds(&text)))
    })
}

/// Joins units that follow each other into passages.
pub(crate) fn passages(
    output: &Output,
    chosen: &[&RankedUnit],
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Vec<Passage>> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut last: Option<(u64, Option<usize>)> = None;
    // Number before the last unit, in a numbered read.
    let mut number: Option<u64> = None;
    for unit in without_blank_ends(chosen) {
        let index = unit.index;
        let (container, path) = path(index).unzip();
        let adjacent = last.is_some_and(|(last, _)| last + 1 == index);
        let before = number.take();
        let own = numbered(unit.text.as_bytes());
        number = own.map(|(number, _)| number);
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
                // A number on every fifth line is enough to count from.
                match own.filter(|(own, _)| adjacent && before.is_some_and(|before| before + 1 == *own)) {
                    Some((own, line)) if own % NUMBERED != 0 => {
                        passage.text.push_str(&String::from_utf8_lossy(line));
                    }
                    _ => passage.text.push_str(&unit.text),
                }
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

/// Prints units in the order of the output, each passage with its place.
pub(crate) fn print(
    output: &Output,
    chosen: &[&RankedUnit],
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

/// Prints passages, each with its place, below a header that says what was found.
pub(crate) fn printed(output: &Output, found: &str, mut passages: Vec<Passage>) -> Result<Printed> {
    let total_lines = output.lines()?;
    for passage in &mut passages {
        passage.last_line = output.newlines_before(passage.bytes.end - 1)? + 1;
    }
    let handle = output.record().handle.short();
    let grows = if output.is_growing() { ", still growing" } else { "" };
    let mut text = format!("[{found} · {}{grows} · {handle}]\n", count("line", total_lines));
    for passage in &passages {
        let lines = if passage.line == passage.last_line {
            passage.line.to_string()
        } else {
            format!("{}–{}", passage.line, passage.last_line)
        };
        // In a long line, the number of the line alone does not lead to the passage.
        let far = passage.bytes.start - output.line_start(passage.line - 1)? > scan::MAX_UNIT_BYTES as u64;
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

/// Printed passages.
pub(crate) struct Printed {
    pub(crate) text: Vec<u8>,
    pub(crate) passages: Vec<Passage>,
    /// Lines of the whole output.
    pub(crate) total_lines: u64,
}

/// Returns the units without blank ones at the beginning and the end of a passage.
pub(crate) fn without_blank_ends<'a>(chosen: &[&'a RankedUnit]) -> Vec<&'a RankedUnit> {
    let mut kept: Vec<&RankedUnit> = Vec::with_capacity(chosen.len());
    for run in chosen.chunk_by(|one, next| one.index + 1 == next.index) {
        let shows = |unit: &&RankedUnit| !unit.text.trim().is_empty();
        let last = run.iter().rposition(shows).map_or(0, |last| last + 1);
        kept.extend(run[..last].iter().skip_while(|unit| !shows(unit)));
    }
    kept
}
