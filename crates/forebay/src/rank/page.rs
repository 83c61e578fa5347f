//! Blocks of a page that answer a question, or that say what the page is about.

use crate::rank::passage::RankedUnit;
use crate::rank::question::{Aim, Question, pieces, stem};
use crate::rank::scan::TextUnits;
use crate::rank::score::ranked;
use crate::text::derived::Derived;
use crate::weights::page as weights;
use crate::{Output, Result};
use std::collections::HashSet;

/// Returns the blocks of a page without a question: those of prose, the first ones best. The others score 0, so that
/// they may be shown between them. A page without prose is shown from its beginning.
pub(crate) fn overview(derived: &Derived) -> Vec<RankedUnit> {
    let mut units = all(derived);
    let count = units.len();
    let prose: Vec<bool> = units.iter().map(|unit| is_prose(derived, unit)).collect();
    let has_none = !prose.contains(&true);
    for ((at, unit), is_prose) in units.iter_mut().enumerate().zip(prose) {
        unit.score = if is_prose || has_none { (count - at) as f32 } else { 0.0 };
        unit.range = derived.origin(&unit.range);
    }
    if let Some(first) = units.first_mut() {
        // A browser shows nothing of what is before the first words.
        first.range.start = 0;
    }
    units
}

/// Returns the blocks of a page, in order.
fn all(derived: &Derived) -> Vec<RankedUnit> {
    TextUnits { bytes: &derived.text, at: 0 }
        .zip(0..)
        .map(|(range, index)| RankedUnit {
            index,
            text: String::from_utf8_lossy(&derived.text[range.clone()]).into_owned(),
            range: range.start as u64..range.end as u64,
            score: 0.0,
        })
        .collect()
}

/// Returns the blocks of a page that answer a question, the best first.
pub(crate) fn answering(derived: &Derived, text: &Output, question: &Question) -> Result<Vec<RankedUnit>> {
    let mut units = all(derived);
    let title = units.first().map_or("", |unit| unit.text.trim()).to_lowercase();
    if question.aim == Aim::Subject || question.quoted.iter().any(|quoted| is_alike(quoted, &title)) {
        score_by_position(derived, &mut units);
    } else {
        for found in ranked(text, &without_title(question, derived, &units))? {
            if let Some(unit) = units.get_mut(found.index as usize) {
                unit.score = found.score * factor_at(derived, found.range.start);
            }
        }
        weigh_headings(derived, &mut units);
        weigh_named_sections(derived, &mut units, question);
    }
    units.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    let best = units.first().map_or(0.0, |unit| unit.score);
    units.retain(|unit| unit.score > best * weights::MIN_SHARE_OF_BEST);
    Ok(units)
}

/// Returns the factor of the block at an offset of the derived text.
fn factor_at(derived: &Derived, at: u64) -> f32 {
    derived.line_at(at).map_or(1.0, |line| {
        if line.heading {
            weights::HEADING_BLOCK
        } else {
            weights::BLOCK_WITHOUT_PROSE + weights::BLOCK_OF_PROSE * line.prose
        }
    })
}

/// Returns the question with less weight on the terms of the title.
fn without_title(question: &Question, derived: &Derived, all: &[RankedUnit]) -> Question {
    let title = all.first().into_iter().chain(all.iter().find(|unit| is_heading(derived, unit)));
    let title: HashSet<String> =
        title.flat_map(|unit| pieces(&unit.text)).map(|word| stem(&word.to_lowercase())).collect();
    let mut question = question.clone();
    let known = question.terms.iter_mut().filter(|term| title.contains(&term.text));
    known.for_each(|term| term.weight *= weights::TERM_IN_TITLE);
    question
}

fn is_heading(derived: &Derived, unit: &RankedUnit) -> bool {
    derived.line_at(unit.range.start).is_some_and(|line| line.heading)
}

fn is_prose(derived: &Derived, unit: &RankedUnit) -> bool {
    derived.line_at(unit.range.start).is_some_and(|line| line.prose > weights::MIN_PROSE)
}

/// Gives blocks a share of the score of their heading, and a heading a share of the best of its blocks.
fn weigh_headings(derived: &Derived, units: &mut [RankedUnit]) {
    for section in units.chunk_by_mut(|_, next| !is_heading(derived, next)) {
        let [heading, under @ ..] = section else { continue };
        if !is_heading(derived, heading) {
            continue;
        }
        let mut share = heading.score * weights::UNDER_HEADING;
        for unit in under.iter_mut().take(weights::BLOCKS_UNDER_HEADING) {
            unit.score += share;
            share *= weights::UNDER_HEADING_FADE;
        }
        let end = heading.range.end + weights::SHOWN_WITH_HEADING_BYTES;
        let near = under.iter().take_while(|unit| unit.range.start < end).count();
        let (near, far) = under.split_at_mut(near);
        let best = |units: &[RankedUnit]| units.iter().map(|unit| unit.score).fold(0.0, f32::max);
        let shown = best(near) * weights::SHOWN_WITH_HEADING;
        heading.score = shown.max(best(far) * weights::BELOW_HEADING);
        // All blocks up to the best one are shown with the heading.
        let last = near.iter().rposition(|unit| unit.score > shown).unwrap_or(0);
        near[..last].iter_mut().for_each(|unit| unit.score = unit.score.max(shown));
    }
}

/// Scores the blocks of prose by position: a text introduces its subject at the beginning.
fn score_by_position(derived: &Derived, units: &mut [RankedUnit]) {
    let count = units.len();
    for (at, unit) in units.iter_mut().filter(|unit| is_prose(derived, unit)).enumerate() {
        unit.score = (count - at) as f32;
    }
}

/// Scores sections that the question names by their headings above all that only has its words.
fn weigh_named_sections(derived: &Derived, units: &mut [RankedUnit], question: &Question) {
    let mut score = units.iter().map(|unit| unit.score).fold(1.0, f32::max) * weights::NAMED_SECTION;
    for at in 0..units.len() {
        let name = units[at].text.trim().to_lowercase();
        if !question.quoted.iter().any(|quoted| name == quoted.trim() || is_alike(quoted, &name)) {
            continue;
        }
        let mut share = if is_heading(derived, &units[at]) { weights::MARKED_SECTION } else { 1.0 };
        for under in units[at..].iter_mut().take(weights::MAX_SECTION_BLOCKS) {
            let prose = derived.line_at(under.range.start).map_or(0.0, |line| line.prose);
            let factor = weights::SECTION_BLOCK_WITHOUT_PROSE + weights::SECTION_BLOCK_OF_PROSE * prose;
            under.score = under.score.max(score * share * factor);
            share *= if prose > weights::SECTION_PROSE { weights::AFTER_PROSE } else { weights::AFTER_OTHER };
        }
        // The first place with the name can be a table of contents.
        score *= weights::NEXT_NAMED_SECTION;
    }
}

/// Whether most words of one text occur in the other.
fn is_alike(one: &str, other: &str) -> bool {
    let words = |text: &str| -> HashSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (one, other) = (words(one), words(other));
    let common = one.intersection(&other).count();
    common > 0 && common * 10 >= one.len().max(other.len()) * weights::SAME_WORDS_TENTHS
}
