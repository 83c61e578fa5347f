//! Ranking of an output: which of its lines matter, for a question or without one.
//!
//! One scan finds the units (lines, and parts of long ones) with a term of the question or a failure word. Each gets a score,
//! and the lines around it get a share. Views and `ask` choose from the same ranking.

pub(crate) mod choose;
pub(crate) mod context;
pub(crate) mod date;
pub(crate) mod extremes;
pub(crate) mod frequency;
pub(crate) mod interest;
pub(crate) mod json_members;
pub(crate) mod members;
pub(crate) mod page;
pub(crate) mod passage;
pub(crate) mod places;
pub(crate) mod question;
pub(crate) mod records;
pub(crate) mod scan;
pub(crate) mod scope;
pub(crate) mod score;

use crate::classify::source::Layout;
use crate::rank::choose::ranges;
use crate::rank::passage::{RankedUnit, choice, chosen};
use crate::rank::question::Question;
use crate::rank::scope::Scope;
use crate::rank::score::FailureSignal;
use crate::text::derived;
use crate::weights::scope::{MIN_TOKENS_FOR_BOTH, WORDS_SHARE};
use crate::{Budget, Output, Result};
use std::ops::Range;

/// Returns the units that matter in an output without a question, the best first: failures and the end. The signal
/// says how certainly the output reports a failure.
pub(crate) fn unasked(output: &Output) -> Result<(Vec<RankedUnit>, FailureSignal)> {
    score::ranked_with_signal(output, &Question::failure())
}

/// Returns the failures in an output without an end, such as the log of a service, the best first.
pub(crate) fn failures(output: &Output) -> Result<(Vec<RankedUnit>, FailureSignal)> {
    let mut question = Question::failure();
    question.ignores_position = true;
    score::ranked_with_signal(output, &question)
}

/// Part of an output that an intent asks for.
pub(crate) enum WantedPart {
    /// No part: the intent is about all of the output, or its words are nowhere.
    Nothing,
    /// These bytes, in addition to the overview.
    Ranges(Vec<Range<u64>>),
    /// All units with its words.
    Words,
}

/// Finds the part of an output that an intent asks for, within a budget.
pub(crate) fn wanted_part(output: &Output, intent: &str, budget: Budget) -> Result<WantedPart> {
    let question = Question::new(intent);
    let scope = scope::of(output, &question)?;
    Ok(match scope {
        Scope::Overview | Scope::Nowhere => WantedPart::Nothing,
        Scope::WordsAndOverview(share) | Scope::Failures(share) if budget.tokens >= MIN_TOKENS_FOR_BOTH => {
            // A view has an overview to show too.
            let choice = choice(score::ranked(output, &scope.question(question))?, false, 0);
            let chosen = chosen(output, choice, budget.part(share.min(WORDS_SHARE)), |_| None)?;
            WantedPart::Ranges(ranges(&chosen.iter().collect::<Vec<_>>()))
        }
        Scope::WordsAndOverview(_) | Scope::Failures(_) | Scope::Words => WantedPart::Words,
    })
}

/// Returns the units that answer a question, the best first.
pub(crate) fn answering(output: &Output, question: &str) -> Result<Vec<RankedUnit>> {
    score::ranked(output, &Question::new(question))
}

/// Returns the blocks of a page that answer a question, the best first.
pub(crate) fn answering_page(
    output: &Output,
    page: &derived::Derived,
    question: &str,
) -> Result<Vec<RankedUnit>> {
    let mut units = page::answering(page, &output.derived(page)?, &Question::new(question))?;
    units.iter_mut().for_each(|unit| unit.range = page.origin(&unit.range));
    Ok(units)
}

/// Whether an output is prose.
pub(crate) fn is_prose(output: &Output) -> Result<bool> {
    Ok(Layout::of(output)? == Layout::Prose)
}
