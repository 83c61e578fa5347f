//! Which lines of an output matter: to a question, or where nobody asked anything.
//!
//! One scan finds the units (lines, and parts of long ones) that have a term of the question or mention a failure; each gets
//! a score, and context lines get a share of it. Views and `ask` choose from the same ranking.

pub(crate) mod choose;
pub(crate) mod context;
pub(crate) mod date;
pub(crate) mod extremes;
pub(crate) mod frequency;
pub(crate) mod json_members;
pub(crate) mod members;
pub(crate) mod page;
pub(crate) mod passage;
pub(crate) mod question;
pub(crate) mod records;
pub(crate) mod scan;
pub(crate) mod scope;
pub(crate) mod score;

use crate::classify::source::Layout;
use crate::rank::choose::ranges;
use crate::rank::passage::{Unit, choice, chosen};
use crate::rank::question::Question;
use crate::rank::scope::Reach;
use crate::rank::score::Trouble;
use crate::text::derived;
use crate::{Budget, Output, Result};
use std::ops::Range;

/// A page or a document up to this size is read as what it says; a larger one as its lines.
pub(crate) const READ_WHOLE: u64 = 32 * 1024 * 1024;

/// What matters in an output of which nobody asked anything: what went wrong and how it ended. The best first, and
/// how it speaks of trouble.
pub(crate) fn unasked(output: &Output) -> Result<(Vec<Unit>, Trouble)> {
    score::weighed(output, &Question::of_trouble())
}

/// The troubles of which a log tells that has no end, the best first, and how it speaks of them.
pub(crate) fn troubles(output: &Output) -> Result<(Vec<Unit>, Trouble)> {
    let mut question = Question::of_trouble();
    question.anywhere = true;
    score::weighed(output, &question)
}

/// Part of a view that an intent asks for.
pub(crate) enum Reached {
    /// Nothing: it is about all of the output, or nowhere in it.
    Nothing,
    /// These bytes, beside what stands out.
    Beside(Vec<Range<u64>>),
    /// Every unit that has its words.
    Words,
}

/// Finds the part of a view that an intent asks for, within a budget.
pub(crate) fn reached(output: &Output, wanted: &str, budget: Budget) -> Result<Reached> {
    let question = Question::new(wanted);
    let reach = scope::of(output, &question)?;
    Ok(match reach {
        Reach::Whole | Reach::Nowhere => Reached::Nothing,
        Reach::Both(share) | Reach::Trouble(share) if budget.tokens >= FOR_BOTH => {
            // A view has something to show unasked, too.
            let choice = choice(score::ranked(output, &reach.meant(question))?, false, 0);
            let chosen = chosen(output, choice, budget.part(share.min(scope::TOLD)), |_| None)?;
            Reached::Beside(ranges(&chosen.iter().collect::<Vec<_>>()))
        }
        Reach::Both(_) | Reach::Trouble(_) | Reach::Words => Reached::Words,
    })
}

/// Units that answer a question about an output, the best first.
pub(crate) fn asked(output: &Output, question: &str) -> Result<Vec<Unit>> {
    score::ranked(output, &Question::new(question))
}

/// Units that answer a question about a page, the best first.
pub(crate) fn asked_page(output: &Output, page: &derived::Derived, question: &str) -> Result<Vec<Unit>> {
    let mut units = page::units(page, &output.derived(page)?, &Question::new(question))?;
    units.iter_mut().for_each(|unit| unit.range = page.origin(&unit.range));
    Ok(units)
}

/// Whether an output reads like prose.
pub(crate) fn is_prose(output: &Output) -> Result<bool> {
    Ok(Layout::of(output)? == Layout::Prose)
}

/// Units that say what a page is about, the best first.
pub(crate) fn unasked_page(page: &derived::Derived) -> Vec<Unit> {
    page::unasked(page)
}

/// In a smaller budget there is no room for two kinds of answers.
pub(crate) const FOR_BOTH: u64 = 250;
