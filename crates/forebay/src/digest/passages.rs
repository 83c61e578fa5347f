//! Views of ranked passages.

use crate::digest::fit::top_and_bottom;
use crate::digest::frame::{stating, wording};
use crate::rank::choose::{UnitChoice, ranges};
use crate::rank::passage::RankedUnit;
use crate::view::View;
use crate::view::print::marker_tokens;
use crate::{Budget, Output, Result, tokens};
use std::ops::Range;

/// View of chosen units. `showing` builds it from their ranges; its first line has facts.
pub(crate) fn view(
    output: &Output,
    budget: Budget,
    choice: UnitChoice,
    facts: &str,
    showing: impl Fn(&[Range<u64>]) -> Result<View>,
) -> Result<View> {
    let view =
        |shown: &[&RankedUnit]| -> Result<View> { stating(showing(&ranges(shown))?, output, budget, facts) };
    let choice = UnitChoice { marker: marker_tokens(output, wording(budget)), ..choice };
    let shown = choice.choose(budget, |shown| {
        let text = view(shown)?.print(output)?;
        Ok((tokens::count_bytes(&text), budget.holds(&text)))
    })?;
    if shown.is_empty() {
        return top_and_bottom(output, budget);
    }
    view(&shown.iter().collect::<Vec<_>>())
}
