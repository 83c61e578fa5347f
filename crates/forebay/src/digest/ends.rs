//! The beginning and the end of an output, what is odd in it, and what is said of the rest, within a budget.

use crate::classify::form::Form;
use crate::digest::{closing, frame_of, json_paths, opening, wording};
use crate::view::print::{Gap, marker_tokens};
use crate::view::units::{self, Unit};
use crate::view::{Piece, Summary, View, Why, Wording, repainted};
use crate::{Budget, Output, Result, terminal, tokens};
use std::ops::Range;

/// How a view is divided.
pub(crate) struct Shares {
    /// What is said of the part that is not shown has no more than this, with its marker: with what else is not the output's
    /// own, a view of 1,000 tokens stays below 15 %.
    pub(crate) said: f64,
    /// What the beginning has of the rest; the end has what is left.
    pub(crate) head: f64,
    /// What is odd may have so much of what is shown.
    pub(crate) odd: f64,
    /// Whether it is data, in which nothing was written for a screen.
    pub(crate) is_data: bool,
}

impl Shares {
    /// Documents are read from their beginning, and their headings tell how they go on.
    pub(crate) const DOCUMENT: Shares = Shares { said: 0.1, head: 1.0, odd: ODD, is_data: false };

    /// Findings are like each other, and how many there are stands at the end.
    pub(crate) const FINDINGS: Shares = Shares { said: 0.12, head: 0.3, odd: 0.75, is_data: false };

    /// Threads do the same, and why they were dumped stands at the beginning or at the end.
    pub(crate) const THREADS: Shares = Shares { said: 0.13, head: 0.5, odd: 0.75, is_data: false };

    /// Where the part that matters stands, by what an output is.
    pub(crate) fn of(form: Form) -> Shares {
        let (said, head) = match form {
            Form::Markdown | Form::Rst => return Shares::DOCUMENT,
            // What a program needs comes first, and what it does last: names tell what lies between.
            Form::Code(_) => (0.12, 0.2),
            // The first changes, and which files have others.
            Form::Diff => (0.1, 1.0),
            // What was found first, and which files have most. A line of the end may have the path of its file far before it.
            Form::Matches => (0.1, 1.0),
            // Listings and tables are alike from end to end: what is said of all of it tells more.
            Form::Listing => (0.1, 0.6),
            Form::Table => (0.13, 0.6),
            // The shape tells of all records; the first and the last show what they look like.
            Form::Json => (0.12, 0.35),
            // How it began, and what it says now.
            Form::Log | Form::TestRun => (0.13, 0.35),
            _ => (0.1, 0.8),
        };
        Shares { said, head, odd: ODD, is_data: matches!(form, Form::Table | Form::Json) }
    }
}

/// What is tried first is more than there is room for, since the costs of markers are guessed high.
const MORE: f64 = 1.3;

/// So often less is tried.
const STEPS: u32 = 80;

/// So many bytes a token are in the beginning for sure.
pub(crate) const BEGINNING: f64 = 2.0;

/// What is odd has so much of what is shown; the first of it may have more.
const ODD: f64 = 0.45;
const FIRST_ODD: f64 = 0.5;

/// With fewer tokens hardly anything is said, so that a small view says more than its share; but no more than this part of it.
const SAID: f64 = 100.0;
const SAID_AT_MOST: f64 = 0.25;

/// What is passed over must be worth so many markers, since it is missed where one reads on.
const PASSED: u64 = 4;

/// What is shown of an output besides its beginning and its end.
pub(crate) struct Parts<'a> {
    /// What is odd, the oddest first.
    odd: Vec<Range<u64>>,
    /// So much of it is shown before all else.
    first: usize,
    /// What is passed over in the beginning.
    passed: &'a [Range<u64>],
}

impl<'a> Parts<'a> {
    /// What is wanted, which is shown before all else, and what is odd.
    pub(crate) fn of(wanted: &[Range<u64>], odd: Vec<Range<u64>>) -> Parts<'a> {
        Parts::with_first(wanted, odd, 0)
    }

    /// The same, where the `first` of what is odd are shown before all else, too.
    pub(crate) fn with_first(wanted: &[Range<u64>], odd: Vec<Range<u64>>, first: usize) -> Parts<'a> {
        Parts { first: wanted.len() + first, odd: [wanted, &odd].concat(), passed: &[] }
    }

    /// The same, with what is passed over in the beginning.
    pub(crate) fn past(self, passed: &'a [Range<u64>]) -> Parts<'a> {
        Parts { passed, ..self }
    }
}

/// Sums up a part of an output that is not shown.
pub(crate) trait Summarize {
    /// Summary of a gap, whose list has about `room` tokens; `None` if there is nothing to say.
    fn summary(&self, output: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>>;
}

/// View of the beginning, the end and the outliers, with a summary of the largest gap after the beginning.
pub(crate) fn between(
    output: &Output,
    budget: Budget,
    shares: &Shares,
    parts: &Parts,
    summarize: &dyn Summarize,
) -> Result<View> {
    let frame = tokens::count(&opening(output, budget, None, true)) + tokens::count(&closing(output, budget));
    let room = budget.tokens.saturating_sub(frame) as f64;
    let enough = enough(budget) * coloured(output)?;
    let head = units::first(output, enough * if parts.passed.is_empty() { 1 } else { 2 })?;
    let tail = units::last(output, enough)?;
    let said_room = (room * shares.said).max(SAID.min(room * SAID_AT_MOST));
    let mut described = said_room;
    let areas = repainted::areas(output)?;
    // What stands alone has a marker before it and one behind.
    let gap = marker_tokens(output, wording(budget));
    let call = marker_tokens(output, Wording::Commands);
    let cost = |range: &Range<u64>| cost(output, range, shares.is_data);
    let odd = parts.odd.iter().map(|range| Ok((range, (cost(range)? + 2 * gap) as f64)));
    let odd: Vec<(&Range<u64>, f64)> = odd.collect::<Result<_>>()?;
    let passed = parts.passed.iter().map(|range| Ok((range.clone(), cost(range)?)));
    let mut passed: Vec<(Range<u64>, u64)> = passed.collect::<Result<_>>()?;
    passed.retain(|(range, cost)| range.start > 0 && *cost >= PASSED * gap);
    let passed: Vec<Range<u64>> = passed.into_iter().map(|(range, _)| range).collect();
    // What markers cost and what is said in the end is known when it is printed: less is tried until it fits.
    for step in 0..STEPS {
        let room = room * (MORE - f64::from(step.max(1) - 1) / f64::from(STEPS));
        let mut shown_room = room - described;
        let mut shown = Vec::new();
        for (range, cost) in &odd[..parts.first] {
            shown_room -= cost;
            shown.push((*range).clone());
        }
        let mut left = shown_room * shares.odd;
        for (range, cost) in &odd[parts.first..] {
            if shown.iter().any(|shown: &Range<u64>| shown.start <= range.start && range.end <= shown.end) {
                continue;
            }
            if *cost <= left || shown.is_empty() && *cost <= shown_room * FIRST_ODD {
                left -= cost;
                shown.push((*range).clone());
            }
        }
        let shown_room = shown_room * (1.0 - shares.odd) + left;
        let first = part(output, &head, shown_room * shares.head, (&passed, gap), shares.is_data)?;
        shown.extend(without(first.clone(), &passed));
        let last = part(output, &tail, shown_room * (1.0 - shares.head), (&[], gap), shares.is_data)?;
        shown.extend(if shares.is_data { vec![last] } else { both_ends(output, last)? });
        let shown = repainted::widened(&shown, &areas);
        let mut view = View::showing(output, &shown, wording(budget))?;
        let is_gap = |piece: &&mut Piece| {
            piece.range().start >= first.end && matches!(piece, Piece::Omitted { why: Why::LeftOut, .. })
        };
        let length = |piece: &&mut Piece| piece.range().end - piece.range().start;
        if let Some(gap) = view.pieces.iter_mut().filter(is_gap).max_by_key(length) {
            let range = gap.range().clone();
            let missing = Gap::at(output, &range)?;
            let room = (said_room as u64).saturating_sub(call);
            let summary = within(room, &missing, |room| summarize.summary(output, &missing, room))?;
            if step == 0 {
                // What it does not need is for the rest.
                described = (summary.as_ref().map_or(0, |summary| summary.tokens(&missing)) + call) as f64;
                continue;
            }
            if let Some(summary) = summary {
                *gap = Piece::Digest { range, summary };
            }
        }
        let view = if shares.is_data { view } else { view.on_screen(output)? };
        let view = frame_of(view, output, budget)?;
        if budget.holds(&view.print(output)?) {
            return Ok(view);
        }
    }
    crate::digest::top_and_bottom(output, budget)
}

/// So far before its end the beginning of a last line is looked for.
const LAST_LINE: u64 = 256 * 1024;

/// Half as much of the last line, and as much of its beginning, where its end is all that was shown and it is not the only one:
/// how a long line begins tells what it is.
fn both_ends(output: &Output, end: Range<u64>) -> Result<Vec<Range<u64>>> {
    let shown = output.read(end.clone())?;
    let is_inside = shown.trim_ascii_end().iter().all(|&byte| byte != b'\n');
    let start = output.line_start_near(end.start, LAST_LINE)?;
    if !is_inside || start == end.start || start == 0 || output.read(start - 1..start)? != b"\n" {
        return Ok(vec![end]);
    }
    let half = shown.len() as u64 / 2;
    Ok(vec![start..output.character_start(start + half)?, output.character_start(end.end - half)?..end.end])
}

/// So many bytes are enough to choose a beginning and an end from.
pub(crate) fn enough(budget: Budget) -> u64 {
    (budget.tokens * 6).min(budget.bytes).max(1_024)
}

/// How many times as many are enough where codes for colours stand between words.
fn coloured(output: &Output) -> Result<u64> {
    let beginning = output.read(0..output.len().min(COLOURED.0))?;
    Ok(if memchr::memchr(b'\x1b', &beginning).is_some() { COLOURED.1 } else { 1 })
}

/// So many of the first bytes tell whether there are colours, and how much more is looked at then.
const COLOURED: (u64, u64) = (4_096, 3);

/// What it costs to show a range: data as it is, and all else as a screen shows it.
fn cost(output: &Output, range: &Range<u64>, is_data: bool) -> Result<u64> {
    let bytes = output.read(range.clone())?;
    Ok(match is_data || memchr::memchr2(b'\x1b', b'\r', &bytes).is_none() {
        true => tokens::count_bytes(&bytes),
        false => tokens::count_bytes(&terminal::screen(&bytes)),
    })
}

/// Builds a summary of at most `room` tokens, if there is one. Its list gets what its first line leaves.
fn within(
    room: u64,
    gap: &Gap,
    summary: impl Fn(u64) -> Result<Option<Summary>>,
) -> Result<Option<Summary>> {
    let first = summary(room)?;
    match first.as_ref().map_or(0, |first| first.tokens(gap)).saturating_sub(room) {
        0 => Ok(first),
        over => summary(room.saturating_sub(over)),
    }
}

/// A range without what is passed over in it. It begins with something and ends with something.
fn without(range: Range<u64>, passed: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut at = range.start;
    for gap in passed.iter().filter(|gap| gap.start > range.start && gap.start < range.end) {
        left.push(at..gap.start);
        at = gap.end;
    }
    left.push(at..range.end.max(at));
    left
}

/// The units that `room` tokens are enough for, as one range; `units` begin at one end of the output. Of a long line,
/// a part of a part, which in data ends with a member if it can. What is passed over costs a marker.
fn part(
    output: &Output,
    units: &[Unit],
    room: f64,
    (passed, marker): (&[Range<u64>], u64),
    is_data: bool,
) -> Result<Range<u64>> {
    let mut left = room;
    let mut part: Option<Range<u64>> = None;
    for unit in units {
        if let Some(gap) = passed.iter().find(|gap| gap.contains(&unit.range.start)) {
            left -= if gap.start == unit.range.start { marker as f64 } else { 0.0 };
            continue;
        }
        let cost = match unit.overwritten {
            true => 0.0,
            false => cost(output, &unit.range, is_data)? as f64,
        };
        let Range { start, end } = unit.range;
        let mut range = start..end;
        if cost > left {
            let fits = ((end - start) as f64 * left.max(0.0) / cost) as u64;
            let forward = part.as_ref().map_or(start == 0, |part| start == part.end);
            let inside = match forward {
                true => output.read(end - 1..end)? != b"\n",
                false => start > 0 && output.read(start - 1..start)? != b"\n",
            };
            if !inside || fits < 16 {
                break;
            }
            range = match forward {
                true => start..output.character_start(start + fits)?,
                false => output.character_start(end - fits)?..end,
            };
            if is_data {
                let borders = json_paths::borders(&output.read(range.clone())?);
                let half = (range.end - range.start) / 2;
                range = match forward {
                    true => {
                        start..borders.last().filter(|at| **at >= half).map_or(range.end, |at| start + at)
                    }
                    false => {
                        borders.first().filter(|at| **at <= half).map_or(range.start, |at| range.start + at)
                            ..end
                    }
                };
            }
        }
        left -= cost;
        let known = part.get_or_insert(range.clone());
        *known = known.start.min(range.start)..known.end.max(range.end);
        if left < 0.0 {
            break;
        }
    }
    Ok(part.unwrap_or(0..0))
}

/// Tokens of the lines of a list.
pub(crate) fn list_tokens(lines: &[String]) -> u64 {
    tokens::count(&lines.iter().flat_map(|line| ["\n", line]).collect::<String>())
}

/// The first lines of a list, as many as fit a number of tokens.
pub(crate) struct Listed {
    pub(crate) lines: Vec<String>,
    text: String,
    room: u64,
}

impl Listed {
    pub(crate) fn new(room: u64) -> Listed {
        Listed { lines: Vec::new(), text: String::new(), room }
    }

    /// Takes a line, if it fits.
    pub(crate) fn take(&mut self, line: String) -> bool {
        let more = format!("\n{line}");
        let fits = tokens::count(&self.text) + tokens::count(&more) <= self.room;
        if fits {
            self.text += &more;
            self.lines.push(line);
        }
        fits
    }
}

/// The first lines that fit `room` tokens as a list.
pub(crate) fn fitting_lines(lines: impl IntoIterator<Item = String>, room: u64) -> Vec<String> {
    let mut listed = Listed::new(room);
    for line in lines {
        if !listed.take(line) {
            break;
        }
    }
    listed.lines
}

/// The largest count up to `most` that fits.
pub(crate) fn fitting(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match fits(middle) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

/// Facts in the summary of a whole output.
#[cfg(test)]
pub(crate) fn summary_of(summarize: &dyn Summarize, output: &Output, room: u64) -> Option<String> {
    let gap = Gap::at(output, &(0..output.len())).ok()?;
    summarize.summary(output, &gap, room).ok()?.map(|summary| summary.facts())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn what_is_said_has_its_first_line_in_its_room() {
        let list = |room: u64| {
            let list = vec!["x".to_owned(); room as usize / 2];
            Ok(Some(Summary::stated("a line of six words here").listing(list)))
        };
        let gap = Gap::at(&output_of(b"some bytes"), &(0..10)).unwrap();
        let summary = within(60, &gap, list).unwrap().unwrap();
        assert!((50..=60).contains(&summary.tokens(&gap)), "{}", summary.tokens(&gap));
    }
}
