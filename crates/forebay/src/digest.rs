//! The default preset: the important parts of an output, chosen within the budget, in order.
//!
//! Recognizers are tried in a fixed order; the first that claims an output plans its view. A view of a run or a page
//! shows its best ranked passages. A view of any other output shows its beginning, its end and its outliers, with a
//! summary of the rest.

pub(crate) mod binary;
pub(crate) mod changes;
pub(crate) mod compacted;
pub(crate) mod conflicts;
pub(crate) mod diff;
pub(crate) mod document;
pub(crate) mod ends;
pub(crate) mod error_counts;
pub(crate) mod failures;
pub(crate) mod findings;
pub(crate) mod fit;
pub(crate) mod folders;
pub(crate) mod formatting;
pub(crate) mod frame;
pub(crate) mod json_cuts;
pub(crate) mod json_paths;
pub(crate) mod logs;
pub(crate) mod outline_items;
pub(crate) mod page;
pub(crate) mod passages;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod recognizers;
pub(crate) mod rerun;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod screen;
pub(crate) mod sections;
pub(crate) mod source;
pub(crate) mod states;
pub(crate) mod streams;
pub(crate) mod summarize;
pub(crate) mod table;
pub(crate) mod templates;
pub(crate) mod threads;
pub(crate) mod totals;

pub(crate) use crate::digest::fit::top_and_bottom;
pub(crate) use crate::digest::recognizers::in_lines;
pub(crate) use crate::digest::streams::overview;

use crate::digest::probe::Probe;
use crate::digest::rerun::Rerun;
use crate::text::count::count;
use crate::view::{Summary, View};
use crate::weights::folding::{LARGER_VIEW, LEAST_AFTER_DIFFERENCES};
use crate::{Budget, Output, Result, Settings, tokens};

/// View of what matters in an output, within the budget of the settings.
pub(crate) fn fold(output: &Output, settings: &Settings) -> Result<View> {
    // A view is never larger than the largest result that passes. A limit below the least budget is ignored.
    let limit = settings.limits(&output.record().call.tool).tokens;
    let limit = limit.filter(|&limit| limit >= Budget::LEAST.tokens).unwrap_or(u64::MAX);
    let budget = Budget { tokens: settings.digest.budget.tokens.min(limit), ..settings.digest.budget };
    if let Some(view) = as_before(output, settings, budget)? {
        return Ok(view);
    }
    let rerun = Rerun::of(output)?;
    let probe = Probe::new(output).since(rerun.as_ref());
    let differences = rerun.as_ref().map_or("", |rerun| rerun.text.as_str());
    let smaller = Budget { tokens: budget.tokens.saturating_sub(tokens::count(differences)), ..budget };
    let has_room = smaller.tokens as f64 >= budget.tokens as f64 * LEAST_AFTER_DIFFERENCES;
    if differences.is_empty() || !has_room {
        return overview(&probe, budget);
    }
    let view = overview(&probe, smaller)?;
    let (opening, closing) = (view.opening.clone() + differences, view.closing.clone());
    let view = view.framed(opening, closing);
    if budget.holds(&view.print(output)?) {
        return Ok(view);
    }
    overview(&probe, budget)
}

/// View of a whole output in a compact form, if it has one within the budget.
pub(crate) fn compact(output: &Output, budget: Budget) -> Result<Option<View>> {
    compacted::whole_view(&Probe::new(output), budget)
}

/// View of bytes that the model was given before, which says that they are the same. `None` if a view of this size
/// shows more, or if the preset or the user's formats have changed.
fn as_before(output: &Output, settings: &Settings, budget: Budget) -> Result<Option<View>> {
    let Some(given) = output.given_before() else { return Ok(None) };
    if given.made_by.as_ref().is_some_and(|made_by| *made_by != settings.view_maker()) {
        return Ok(None);
    }
    let as_much = (given.tokens as f64 * LARGER_VIEW) as u64;
    if budget.tokens > as_much {
        let view = overview(&Probe::new(output), budget)?;
        if tokens::count_bytes(&view.print(output)?) > as_much {
            return Ok(Some(view));
        }
    }
    let record = output.record();
    let (lines, bytes) = (count("line", record.size.lines), count("byte", record.size.bytes));
    let exit = record.exit.map_or(String::new(), |exit| format!(", {exit}"));
    let short = given.handle.short();
    let text = if given.same_call {
        format!("nothing changed since {short}: the same {lines}, {bytes}{exit}")
    } else {
        format!("the same bytes as {short} of another call: {lines}, {bytes}{exit}")
    };
    View::summarized(output, Summary::stated(&text)).map(Some)
}

#[cfg(test)]
mod tests;
