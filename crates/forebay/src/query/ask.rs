//! A question in plain words, answered without a model: the passages of an output that answer it best.
//!
//! One scan finds the units (lines, and parts of long ones) that have the question's terms; rare terms weigh more than
//! common ones. Units near a good one weigh something too, so that an answer is a passage and not a line. Passages are
//! taken by weight until the budget is used, and printed in the order of the output. A question that names only failure
//! ("why did it fail?") searches for failures instead. Pages are searched as the text that a browser shows, JSON as its
//! members with their paths.

pub(crate) mod overview;

use crate::classify::source::Layout;
use crate::classify::stdout::Stdout;
use crate::query::{Excerpt, Found};
use crate::rank::choose::UnitChoice;
use crate::rank::passage::{Printed, RankedUnit, choice, chosen, passages, print};
use crate::rank::question::{Aim, Question};
use crate::rank::scope::{Scope, of as scope_of};
use crate::rank::{extremes, is_prose, json_members, members, page, places, score};
use crate::text::html;
use crate::weights::bounds;
use crate::weights::scope::MIN_TOKENS_FOR_BOTH;
use crate::{Budget, Error, Kind, Output, Query, Result};
use std::ops::Range;

/// Maximum lines of a gap between two passages that is filled, in text made of blocks. A program and a document of long
/// lines have better use for the room.
const HOLE: u64 = 4;

/// The passages that answer a question best, in order.
pub(crate) fn ask(output: &Output, question: &str, budget: Budget) -> Result<Excerpt> {
    if question.trim().is_empty() {
        return Err(Error::BadQuery("no question was asked".to_owned()));
    }
    let question = Question::new(question);
    let small = output.len() <= bounds::LARGE;
    // JSON and a page are read by themselves, without what came by standard error.
    let stdout = Stdout::of(output)?;
    let source = stdout.as_ref().map_or(output, |stdout| &stdout.output);
    let place = |range: Range<u64>| match &stdout {
        Some(stdout) => stdout.text.origin(&range),
        None => range,
    };
    let found = if small { crate::classify::json::locate::found(source)? } else { None };
    if small && found.is_none() && crate::classify::form::is_page(source)? {
        let page = html::text(&source.read(0..source.len())?);
        let text = source.derived(&page)?;
        let placed = |mut units: Vec<RankedUnit>| {
            units.iter_mut().for_each(|unit| unit.range = place(unit.range.clone()));
            units
        };
        if question.aim == Aim::Words && scope_of(&text, &question)? == Scope::Overview {
            return choose(output, choice(placed(page::overview(&page)), true, 0), budget, |_| None);
        }
        let mut units = page::answering(&page, &text, &question)?;
        units.iter_mut().for_each(|unit| unit.range = page.origin(&unit.range));
        let units = placed(units);
        return choose(output, choice(units, true, 0), budget, |_| None);
    }
    let is_read = question.aim == Aim::Subject && is_prose(output)?;
    let is_text = output.record().kind != Kind::Binary && found.is_none();
    let named = if is_text { places::named(output, &question)? } else { Vec::new() };
    let scope = match output.record().kind {
        Kind::Binary => Scope::Words,
        _ if !named.is_empty() => Scope::Words,
        _ if is_read => Scope::Words,
        _ => scope_of(source, &question)?,
    };
    if matches!(scope, Scope::Overview | Scope::Nowhere)
        && let Some(excerpt) = overview::with_overview(output, Vec::new(), scope == Scope::Nowhere, budget)?
    {
        return Ok(excerpt);
    }
    if let Some(found) = found.filter(|_| question.aim != Aim::Subject) {
        let document = json_members::members(&source.read(found.clone())?);
        let mut units = members::units(&document, &source.derived(&document.text)?, &question)?;
        let origin = |range: &Range<u64>| {
            let origin = document.text.origin(range);
            place(found.start + origin.start..found.start + origin.end)
        };
        units.iter_mut().for_each(|unit| unit.range = origin(&unit.range));
        let path = |index: u64| Some(document.container(members::line_of(index)));
        return reaching(output, choice(units, true, 0), scope, budget, path);
    }
    let question = scope.question(question);
    let units = match (output.record().kind, question.aim) {
        (Kind::Binary, _) => Vec::new(),
        (_, Aim::Subject) => score::opening(output)?,
        _ => extremes::with_extremes(output, &question, score::ranked(output, &question)?)?,
    };
    let units = places::with_named(units, named);
    let layout = Layout::of(output)?;
    // The answer is a paragraph or a line of a list, without its neighbours.
    let reads_on = question.aim == Aim::Words && matches!(layout, Layout::Prose | Layout::Lone);
    let hole = if question.aim == Aim::Words && layout == Layout::Blocks { HOLE } else { 0 };
    reaching(output, choice(units, reads_on, hole), scope, budget, |_| None)
}

/// Chooses units as [`choose`] does, with salient lines of the whole output as far as the question's scope includes them.
fn reaching(
    output: &Output,
    choice: UnitChoice,
    scope: Scope,
    budget: Budget,
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Excerpt> {
    if let Scope::WordsAndOverview(share) | Scope::Failures(share) = scope
        && share < 1.0
        && budget.tokens >= MIN_TOKENS_FOR_BOTH
    {
        let chosen = chosen(output, choice.clone(), budget.part(share), &path)?;
        let words = passages(output, &chosen.iter().collect::<Vec<_>>(), &path)?;
        if let Some(excerpt) = overview::with_overview(output, words, false, budget)? {
            return Ok(excerpt);
        }
    }
    choose(output, choice, budget, path)
}

/// Prints the units of most weight that fit the budget. `path` gives the path of a unit, if it is a member of JSON.
fn choose(
    output: &Output,
    choice: UnitChoice,
    budget: Budget,
    path: impl Fn(u64) -> Option<(usize, String)>,
) -> Result<Excerpt> {
    let chosen = chosen(output, choice, budget, &path)?;
    let excerpt = Excerpt::of_passages(output, print(output, &chosen.iter().collect::<Vec<_>>(), &path)?);
    if excerpt.shown.is_empty()
        && output.record().kind != Kind::Binary
        && let Some(excerpt) = overview::with_overview(output, Vec::new(), true, budget)?
    {
        return Ok(excerpt);
    }
    if budget.holds(&excerpt.text) {
        Ok(excerpt)
    } else {
        let too_small = format!("a budget of {} tokens has no room for a passage", budget.tokens);
        Err(Error::BadQuery(too_small + ": ask with a larger one"))
    }
}

impl Excerpt {
    /// The excerpt that shows passages of an output.
    pub(crate) fn of_passages(output: &Output, printed: Printed) -> Excerpt {
        let Printed { text, passages, total_lines } = printed;
        Excerpt {
            text,
            shown: passages.iter().map(|passage| passage.bytes.clone()).collect(),
            lines: passages.first().zip(passages.last()).map(|(first, last)| (first.line, last.last_line)),
            total_lines,
            next: None::<Query>,
            growing: output.is_growing(),
            found: Found::Passages(passages),
        }
    }
}

#[cfg(test)]
mod tests;
