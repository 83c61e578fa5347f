//! Outputs of runs: failures, requested parts, and the end of the run.

use crate::classify::form::{self, Form};
use crate::digest::frame::wording;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::{Probe, Ranked};
use crate::digest::{error_counts, passages};
use crate::rank::choose::UnitChoice;
use crate::rank::passage::RankedUnit;
use crate::view::{View, repainted};
use crate::weights::folding::{ASKED_FOR, ERROR_COUNTS, FAILED_RUN, FULL_FRAME_TOKENS, RUN_END_BYTES};
use crate::{Budget, Output, Result, rank, terminal};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Plans the view of a failed run, of a test run, and of an output that is shown only in its requested parts.
pub(crate) fn recognize<'p>(
    probe: &'p Probe<'p>,
    wanted: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    Ok(match units(probe, wanted)? {
        Some(units) => Some(Plan::View(view(probe, budget, units)?)),
        None => None,
    })
}

/// Units for a view of passages, if the output gets such a view.
fn units(probe: &Probe, wanted: &Wanted) -> Result<Option<Vec<RankedUnit>>> {
    let output = probe.output;
    let form = probe.form()?;
    if matches!(form, Form::Diff | Form::Json | Form::Matches | Form::Html) {
        return wanted
            .intent()
            .filter(|_| wanted.exclusive)
            .map(|intent| rank::answering(output, intent))
            .transpose();
    }
    // Tests named by a command occur only in runs.
    let is_run = matches!(form, Form::Log | Form::TestRun | Form::Text);
    let asked = if is_run { wanted.text.as_deref() } else { wanted.intent() };
    let ranked = probe.ranked()?;
    let failed = ranked.signal.highest >= FAILED_RUN && is_of_run(probe, form, ranked)?;
    let reports = failed || form == Form::TestRun;
    let units = match asked {
        Some(asked) if reports || is_run && wanted.ranges.is_empty() => {
            joined(ranked.units.clone(), rank::answering(output, asked)?)
        }
        Some(asked) if wanted.ranges.is_empty() => rank::answering(output, asked)?,
        None if reports => ranked.units.clone(),
        _ => return Ok(None),
    };
    Ok(Some(probe.weighted(units)))
}

/// Whether an output comes from a failed run or from a test run.
pub(crate) fn reports_failure(probe: &Probe) -> Result<bool> {
    let form = probe.form()?;
    if matches!(form, Form::Diff | Form::Json | Form::Matches | Form::Html | Form::Binary) {
        return Ok(false);
    }
    let ranked = probe.ranked()?;
    Ok(form == Form::TestRun || ranked.signal.highest >= FAILED_RUN && is_of_run(probe, form, ranked)?)
}

/// Whether an output that mentions failures comes from a run. A document mentions possible errors, but does not end
/// with one; and a run may print text that looks like a program, a list or a document.
fn is_of_run(probe: &Probe, form: Form, ranked: &Ranked) -> Result<bool> {
    let failed = probe.exited_badly();
    let starts_with_error = || ranked.starts_with_error();
    Ok(match form {
        Form::Log | Form::TestRun => true,
        _ if probe.call().reads() => {
            form == Form::Text && (failed || ranked.signal.has_verdict || probe.ends_badly()?)
        }
        Form::Text if form::is_sql(probe.output)? => {
            let output = probe.output;
            let end = output.read(output.len().saturating_sub(RUN_END_BYTES)..output.len())?;
            let is_statement = end.trim_ascii_end().ends_with(b";");
            starts_with_error() || failed || !is_statement && probe.ends_badly()?
        }
        // The output of a successful command may mention failures: packages, options, strings of a program.
        Form::Text if !probe.is_document()? => {
            !probe.exited_well() || ranked.signal.has_verdict || starts_with_error() || probe.ends_badly()?
        }
        Form::Text | Form::Markdown | Form::Rst => starts_with_error() && (failed || ranked.signal.at_end),
        _ => starts_with_error(),
    })
}

/// Merges two rankings: each unit has its better rank, and requested units come first.
fn joined(units: Vec<RankedUnit>, asked: Vec<RankedUnit>) -> Vec<RankedUnit> {
    let best = |units: &[RankedUnit]| units.iter().map(|unit| unit.score).fold(f32::MIN_POSITIVE, f32::max);
    let scale = ASKED_FOR * best(&units) / best(&asked);
    let mut joined: HashMap<u64, RankedUnit> = units.into_iter().map(|unit| (unit.index, unit)).collect();
    for unit in asked {
        let worth = unit.score * scale;
        let known = joined.entry(unit.index).or_insert(RankedUnit { score: 0.0, ..unit });
        known.score = known.score.max(worth);
    }
    joined.into_values().collect()
}

/// View of the best units of a run. If there are many compiler errors, its first line counts them.
fn view(probe: &Probe, budget: Budget, units: Vec<RankedUnit>) -> Result<View> {
    let output = probe.output;
    let room = (budget.tokens as f64 * ERROR_COUNTS) as u64;
    let counted = probe.whole()?.filter(|_| budget.tokens >= FULL_FRAME_TOKENS);
    let facts = counted.and_then(|bytes| error_counts::of(bytes, room)).unwrap_or_default();
    let areas = repainted::areas(output)?;
    let Painted { units, last } = painted_once(output, units, &areas)?;
    let choice = UnitChoice { units, last: Some(last), marker: 0, reads_on: false, hole: 0 };
    passages::view(output, budget, choice, &facts, |shown| {
        let shown = repainted::widened(shown, &areas);
        View::showing(output, &shown, wording(budget))?.on_screen(output)
    })
}

/// Units in which each repainted area is a single unit.
struct Painted {
    units: Vec<RankedUnit>,
    /// Number of the last unit of the output.
    last: u64,
}

/// Joins the units of each repainted area, since the area is shown whole or not at all. Units are renumbered, so that
/// the numbers after such an area are consecutive.
fn painted_once(output: &Output, units: Vec<RankedUnit>, areas: &[Range<u64>]) -> Result<Painted> {
    let mut painted: BTreeMap<u64, RankedUnit> = BTreeMap::new();
    // Numbers of the areas, and the number of surplus units in each.
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    let mut once = Vec::with_capacity(units.len());
    for unit in units {
        let area = areas.get(areas.partition_point(|area| area.end <= unit.range.start));
        match area.filter(|area| area.start < unit.range.end) {
            None => once.push(unit),
            Some(area) => match painted.get_mut(&area.start) {
                Some(known) => known.score = known.score.max(unit.score),
                None => {
                    let bytes = output.read(area.clone())?;
                    let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
                    let above = unit.range.start.saturating_sub(area.start) as usize;
                    let index = unit.index.saturating_sub(lines(&bytes[..above.min(bytes.len())]));
                    taken.insert(index, lines(&bytes).saturating_sub(1));
                    let text = terminal::visible(&bytes);
                    painted.insert(area.start, RankedUnit { index, range: area.clone(), text, ..unit });
                }
            },
        }
    }
    once.extend(painted.into_values());
    once.sort_by_key(|unit| unit.index);
    let (mut taken, mut before) = (taken.into_iter().peekable(), 0);
    let last = output.lines()?.saturating_sub(1);
    let mut renumbered = |index: u64| {
        while let Some((_, lines)) = taken.next_if(|(area, _)| *area < index) {
            before += lines;
        }
        index.saturating_sub(before)
    };
    once.iter_mut().for_each(|unit| unit.index = renumbered(unit.index));
    Ok(Painted { units: once, last: renumbered(last) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn units_after_an_area_that_was_painted_again_have_the_next_numbers() {
        let text = "one\nbase: 1%\nbase: 2%\nbase: 3%\ntwo\nthree\n";
        let output = output_of(text.as_bytes());
        let mut start = 0;
        let unit = |(index, line): (usize, &str)| {
            let range = start..start + line.len() as u64;
            start = range.end;
            RankedUnit { index: index as u64, range, text: line.to_owned(), score: index as f32 }
        };
        let units: Vec<RankedUnit> = text.split_inclusive('\n').enumerate().map(unit).collect();
        let painted = painted_once(&output, units, &[4..31]).unwrap();
        let numbers: Vec<(u64, f32)> = painted.units.iter().map(|unit| (unit.index, unit.score)).collect();
        assert_eq!(numbers, [(0, 0.0), (1, 3.0), (2, 4.0), (3, 5.0)]);
        assert_eq!(painted.last, 3);
    }
}
