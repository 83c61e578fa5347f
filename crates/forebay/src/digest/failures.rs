//! Failures in outputs that are not a single run: logs of services, lists, dumps.

use crate::digest::frame::wording;
use crate::rank::choose::{UnitChoice, ranges};
use crate::rank::passage::RankedUnit;
use crate::view::print::marker_tokens;
use crate::weights::folding::{FAILED_RUN, MAX_FAILURES, SHOWN_FAILURE};
use crate::{Budget, Output, Result, tokens};
use std::ops::Range;

/// Ranges of the worst failures, if the worst one scores high enough.
pub(crate) fn worst(
    output: &Output,
    budget: Budget,
    mut units: Vec<RankedUnit>,
    most: f32,
) -> Result<Vec<Range<u64>>> {
    if most < FAILED_RUN {
        return Ok(Vec::new());
    }
    let least = units.iter().map(|unit| unit.score).fold(0.0, f32::max) * SHOWN_FAILURE;
    // Weaker units may be shown between two failures.
    units.iter_mut().filter(|unit| unit.score < least).for_each(|unit| unit.score = 0.0);
    let marker = marker_tokens(output, wording(budget));
    let tokens = (budget.tokens as f64 * MAX_FAILURES) as u64;
    let choice = UnitChoice { units, last: None, marker, reads_on: false, hole: 0 };
    let chosen = choice.choose(Budget { tokens, ..budget }, |units| {
        let passages = ranges(units).len() as u64;
        let used = units.iter().map(|unit| tokens::count(&unit.text)).sum::<u64>() + (passages + 1) * marker;
        Ok((used, used <= tokens))
    })?;
    Ok(ranges(&chosen.iter().collect::<Vec<_>>()))
}
