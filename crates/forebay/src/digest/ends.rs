//! Views of the beginning and the end of an output, with its outliers and a summary of the rest.

use crate::classify::form::Form;
use crate::digest::fit::{enough_bytes, top_and_bottom};
use crate::digest::frame::{frame_tokens, framed, wording};
use crate::digest::json_cuts;
use crate::digest::summarize::{Summarize, within};
use crate::view::print::{Gap, marker_tokens};
use crate::view::units::{self, Unit};
use crate::view::{Piece, View, Why, Wording, repainted};
use crate::weights::folding::{
    COLOUR_SAMPLE, COLOURED_BYTES, FIRST_OUTLIER, FIRST_TRY, MAX_SUMMARY, MIN_PART_BYTES,
    MIN_SKIPPED_MARKERS, SUMMARY_TOKENS, Shares, TRIES,
};
use crate::{Budget, Output, Result, terminal, tokens};
use std::ops::Range;

/// Parts of a view that shows both ends of an output.
pub(crate) struct Parts<'p> {
    /// Division of the view.
    pub(crate) shares: Shares,
    /// Ranges to show before all others.
    pub(crate) first: Vec<Range<u64>>,
    /// Ranges that are unlike the rest, the most unusual first.
    pub(crate) outliers: Vec<Range<u64>>,
    /// Ranges of the beginning that are skipped.
    pub(crate) skipped: Vec<Range<u64>>,
    /// Sums up the largest gap.
    pub(crate) summary: Box<dyn Summarize + 'p>,
}

impl<'p> Parts<'p> {
    /// Both ends and a summary, without outliers.
    pub(crate) fn new(shares: Shares, summary: impl Summarize + 'p) -> Parts<'p> {
        let (first, outliers, skipped) = Default::default();
        Parts { shares, first, outliers, skipped, summary: Box::new(summary) }
    }
}

impl Shares {
    /// Shares by the form of an output.
    pub(crate) fn of(form: Form) -> Shares {
        match form {
            Form::Markdown | Form::Rst => Shares::DOCUMENT,
            Form::Code(_) => Shares::CODE,
            Form::Diff | Form::Matches => Shares::CHANGES,
            Form::Listing => Shares::LISTING,
            Form::Table => Shares::TABLE,
            Form::Json => Shares::JSON,
            Form::Log | Form::TestRun => Shares::LOG,
            Form::Html | Form::Text | Form::Binary => Shares::TEXT,
        }
    }
}

/// View of the beginning, the end and the outliers, with a summary of the largest gap after the beginning.
pub(crate) fn fold(output: &Output, budget: Budget, parts: &Parts) -> Result<View> {
    let shares = &parts.shares;
    let is_data = shares.is_data;
    let room = budget.tokens.saturating_sub(frame_tokens(output, budget)) as f64;
    let enough = enough_bytes(budget) * colour_factor(output)?;
    let head = units::first(output, enough * if parts.skipped.is_empty() { 1 } else { 2 })?;
    let tail = units::last(output, enough)?;
    let summary_room = (room * shares.summary).max(SUMMARY_TOKENS.min(room * MAX_SUMMARY));
    let mut summary_cost = summary_room;
    let areas = repainted::areas(output)?;
    let marker = marker_tokens(output, wording(budget));
    let call = marker_tokens(output, Wording::Commands);
    // A separate range has a marker before it and one after it.
    let cost = |range: &Range<u64>| cost(output, range, is_data);
    let costs = |ranges: &[Range<u64>]| -> Result<Vec<f64>> {
        ranges.iter().map(|range| Ok((cost(range)? + 2 * marker) as f64)).collect()
    };
    let (first_costs, outlier_costs) = (costs(&parts.first)?, costs(&parts.outliers)?);
    let mut skipped = Vec::new();
    for range in &parts.skipped {
        if range.start > 0 && cost(range)? >= MIN_SKIPPED_MARKERS * marker {
            skipped.push(range.clone());
        }
    }
    // The costs of markers and summary are known only after printing, so smaller sizes are tried until one fits.
    for attempt in 0..TRIES {
        let room = room * (FIRST_TRY - f64::from(attempt.max(1) - 1) / f64::from(TRIES));
        let mut shown_room = room - summary_cost;
        let mut shown = Vec::new();
        for (range, cost) in parts.first.iter().zip(&first_costs) {
            shown_room -= cost;
            shown.push(range.clone());
        }
        let mut left = shown_room * shares.outliers;
        for (range, cost) in parts.outliers.iter().zip(&outlier_costs) {
            if shown.iter().any(|shown: &Range<u64>| shown.start <= range.start && range.end <= shown.end) {
                continue;
            }
            if *cost <= left || shown.is_empty() && *cost <= shown_room * FIRST_OUTLIER {
                left -= cost;
                shown.push(range.clone());
            }
        }
        let shown_room = shown_room * (1.0 - shares.outliers) + left;
        let first = End { units: &head, skipped: &skipped, marker, is_data };
        let first = first.part(output, shown_room * shares.head)?;
        shown.extend(without(first.clone(), &skipped));
        let last = End { units: &tail, skipped: &[], marker, is_data };
        let last = last.part(output, shown_room * (1.0 - shares.head))?;
        shown.extend(if is_data { vec![last] } else { both_ends(output, last)? });
        let shown = repainted::widened(&shown, &areas);
        let mut view = View::showing(output, &shown, wording(budget))?;
        let is_gap = |piece: &&mut Piece| {
            piece.range().start >= first.end && matches!(piece, Piece::Omitted { why: Why::LeftOut, .. })
        };
        let length = |piece: &&mut Piece| piece.range().end - piece.range().start;
        if let Some(piece) = view.pieces.iter_mut().filter(is_gap).max_by_key(length) {
            let range = piece.range().clone();
            let gap = Gap::at(output, &range)?;
            let room = (summary_room as u64).saturating_sub(call);
            let summary = within(&*parts.summary, output, &gap, room)?;
            if attempt == 0 {
                // Tokens that the summary does not need go to the rest.
                summary_cost = (summary.as_ref().map_or(0, |summary| summary.tokens(&gap)) + call) as f64;
                continue;
            }
            if let Some(summary) = summary {
                *piece = Piece::Digest { range, summary };
            }
        }
        let view = if is_data { view } else { view.on_screen(output)? };
        let view = framed(view, output, budget)?;
        if budget.holds(&view.print(output)?) {
            return Ok(view);
        }
    }
    top_and_bottom(output, budget)
}

/// Maximum bytes searched backwards for the start of a long last line.
const LAST_LINE: u64 = 256 * 1024;

/// If only the end of a long last line was shown, returns half of that end and as many bytes of the line's beginning,
/// which says what the line is. Not if it is the only line.
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

/// Factor on the number of bytes to read, because of escape codes for colours.
fn colour_factor(output: &Output) -> Result<u64> {
    let beginning = output.read(0..output.len().min(COLOUR_SAMPLE))?;
    Ok(if memchr::memchr(b'\x1b', &beginning).is_some() { COLOURED_BYTES } else { 1 })
}

/// Tokens of a range: for data as written, otherwise as a screen shows it.
fn cost(output: &Output, range: &Range<u64>, is_data: bool) -> Result<u64> {
    let bytes = output.read(range.clone())?;
    Ok(if is_data || memchr::memchr2(b'\x1b', b'\r', &bytes).is_none() {
        tokens::count_bytes(&bytes)
    } else {
        tokens::count_bytes(&terminal::screen(&bytes))
    })
}

/// A range without the skipped ranges inside it. Its first and its last bytes always stay.
fn without(range: Range<u64>, skipped: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut at = range.start;
    for gap in skipped.iter().filter(|gap| gap.start > range.start && gap.start < range.end) {
        left.push(at..gap.start);
        at = gap.end;
    }
    left.push(at..range.end.max(at));
    left
}

/// One end of an output, of which a view shows a part.
struct End<'a> {
    /// Units from the end inwards.
    units: &'a [Unit],
    skipped: &'a [Range<u64>],
    /// Tokens of a marker, the cost of each skipped range.
    marker: u64,
    is_data: bool,
}

impl End<'_> {
    /// Units that fit `room` tokens, as one range. A long line may be cut.
    fn part(&self, output: &Output, room: f64) -> Result<Range<u64>> {
        let mut left = room;
        let mut part: Option<Range<u64>> = None;
        for unit in self.units {
            if let Some(gap) = self.skipped.iter().find(|gap| gap.contains(&unit.range.start)) {
                left -= if gap.start == unit.range.start { self.marker as f64 } else { 0.0 };
                continue;
            }
            let cost = if unit.overwritten { 0.0 } else { cost(output, &unit.range, self.is_data)? as f64 };
            let mut range = unit.range.clone();
            if cost > left {
                let length = range.end - range.start;
                let fits = (length as f64 * left.max(0.0) / cost) as u64;
                let forward = part.as_ref().map_or(range.start == 0, |part| range.start == part.end);
                let Some(cut) = self.cut(output, &range, fits, forward)? else { break };
                range = cut;
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

    /// The first or the last `fits` bytes of a part of a line. In data, the cut is at the end of a member if
    /// possible. `None` for a whole line and for too few bytes.
    fn cut(
        &self,
        output: &Output,
        unit: &Range<u64>,
        fits: u64,
        forward: bool,
    ) -> Result<Option<Range<u64>>> {
        let Range { start, end } = *unit;
        let is_part = if forward {
            output.read(end - 1..end)? != b"\n"
        } else {
            start > 0 && output.read(start - 1..start)? != b"\n"
        };
        if !is_part || fits < MIN_PART_BYTES {
            return Ok(None);
        }
        let range = if forward {
            start..output.character_start(start + fits)?
        } else {
            output.character_start(end - fits)?..end
        };
        if !self.is_data {
            return Ok(Some(range));
        }
        let cuts = json_cuts::cuts(&output.read(range.clone())?);
        let half = (range.end - range.start) / 2;
        Ok(Some(if forward {
            start..cuts.last().filter(|at| **at >= half).map_or(range.end, |at| start + at)
        } else {
            cuts.first().filter(|at| **at <= half).map_or(range.start, |at| range.start + at)..end
        }))
    }
}
