//! Which blocks of a page answer a question, or say what it is about.

use crate::rank::passage::Unit;
use crate::rank::question::{Aim, Question, pieces, stem};
use crate::rank::scan::Units;
use crate::rank::score::ranked;
use crate::text::derived::Derived;
use crate::{Output, Result};
use std::collections::HashSet;

/// Blocks that read less like prose than this are menus and the like.
const PROSE: f32 = 0.25;

/// What has less than this share of the best is not shown, however much room there is.
const WORTHLESS: f32 = 0.03;

/// So many blocks below a heading may belong to it.
const UNDER: usize = 40;

/// What a word of the question tells that the title has too: it is what the whole page is about.
const IN_TITLE: f32 = 0.5;

/// What a heading says counts for so many blocks under it, at this share, and how that fades from block to block.
const HEADED: (usize, f32) = (4, 0.6);
const FADES: f32 = 0.6;

/// A heading is shown with what stands within so many bytes under it and with all between them, and what that counts; what
/// it counts for what stands further down.
const SHORTLY: (u64, f32) = (240, 0.95);
const FAR: f32 = 0.3;

/// What a page is about: its blocks that read like prose, the first ones first. What is worth nothing is known, so that it
/// may stand between them. A page without prose is shown as it comes.
pub(crate) fn unasked(derived: &Derived) -> Vec<Unit> {
    let mut units = all(derived);
    let count = units.len();
    let is_prose = |unit: &Unit| derived.line_at(unit.range.start).is_some_and(|line| line.prose > PROSE);
    let prose: Vec<bool> = units.iter().map(is_prose).collect();
    let none = !prose.contains(&true);
    for ((at, unit), prose) in units.iter_mut().enumerate().zip(prose) {
        unit.worth = if prose || none { (count - at) as f32 } else { 0.0 };
        unit.range = derived.origin(&unit.range);
    }
    if let Some(first) = units.first_mut() {
        // Nobody sees what stands before the first words.
        first.range.start = 0;
    }
    units
}

/// The units of a page, in order.
fn all(derived: &Derived) -> Vec<Unit> {
    Units { bytes: &derived.text, at: 0 }
        .zip(0..)
        .map(|(range, index)| Unit {
            index,
            text: String::from_utf8_lossy(&derived.text[range.clone()]).into_owned(),
            range: range.start as u64..range.end as u64,
            worth: 0.0,
        })
        .collect()
}

/// The units of a page, the best first.
pub(crate) fn units(derived: &Derived, text: &Output, question: &Question) -> Result<Vec<Unit>> {
    let mut units = all(derived);
    let title = units.first().map_or("", |unit| unit.text.trim()).to_lowercase();
    if question.aim == Aim::Gist || question.quoted.iter().any(|quoted| alike(quoted, &title)) {
        gist(derived, &mut units);
    } else {
        for found in ranked(text, &past_title(question, derived, &units))? {
            let line = derived.line_at(found.range.start);
            let prose = line.map_or(1.0, |line| if line.heading { 1.2 } else { 0.3 + 0.7 * line.prose });
            if let Some(unit) = units.get_mut(found.index as usize) {
                unit.worth = found.worth * prose;
            }
        }
        weigh_headings(derived, &mut units);
        under_headings(derived, &mut units, question);
    }
    units.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    let best = units.first().map_or(0.0, |unit| unit.worth);
    units.retain(|unit| unit.worth > best * WORTHLESS);
    Ok(units)
}

/// The question, with less weight on those of its words that the title has too.
fn past_title(question: &Question, derived: &Derived, all: &[Unit]) -> Question {
    let title = all.first().into_iter().chain(all.iter().find(|unit| is_heading(derived, unit)));
    let title: HashSet<String> =
        title.flat_map(|unit| pieces(&unit.text)).map(|word| stem(&word.to_lowercase())).collect();
    let mut question = question.clone();
    let known = question.terms.iter_mut().filter(|term| title.contains(&term.text));
    known.for_each(|term| term.weight *= IN_TITLE);
    question
}

fn is_heading(derived: &Derived, unit: &Unit) -> bool {
    derived.line_at(unit.range.start).is_some_and(|line| line.heading)
}

/// What a heading says counts for what stands under it, and a heading is worth what it heads.
fn weigh_headings(derived: &Derived, units: &mut [Unit]) {
    for section in units.chunk_by_mut(|_, next| !is_heading(derived, next)) {
        let [heading, under @ ..] = section else { continue };
        if !is_heading(derived, heading) {
            continue;
        }
        let (blocks, share) = HEADED;
        let mut lent = heading.worth * share;
        for unit in under.iter_mut().take(blocks) {
            unit.worth += lent;
            lent *= FADES;
        }
        let (reach, shown_with) = SHORTLY;
        let near = under.iter().take_while(|unit| unit.range.start < heading.range.end + reach).count();
        let (near, far) = under.split_at_mut(near);
        let best = |units: &[Unit]| units.iter().map(|unit| unit.worth).fold(0.0, f32::max);
        let shown = best(near) * shown_with;
        heading.worth = shown.max(best(far) * FAR);
        let last = near.iter().rposition(|unit| unit.worth > shown).unwrap_or(0);
        near[..last].iter_mut().for_each(|unit| unit.worth = unit.worth.max(shown));
    }
}

/// A text says what it is about as it begins; menus and the like are left out.
fn gist(derived: &Derived, units: &mut [Unit]) {
    let is_prose = |unit: &Unit| derived.line_at(unit.range.start).is_some_and(|line| line.prose > PROSE);
    let count = units.len();
    for (at, unit) in units.iter_mut().filter(|unit| is_prose(unit)).enumerate() {
        unit.worth = (count - at) as f32;
    }
}

/// What is asked for by its heading stands under the heading: worth more than anything that only has its words.
fn under_headings(derived: &Derived, units: &mut [Unit], question: &Question) {
    let mut worth = units.iter().map(|unit| unit.worth).fold(1.0, f32::max) * 4.0;
    for at in 0..units.len() {
        let name = units[at].text.trim().to_lowercase();
        if !question.quoted.iter().any(|quoted| name == quoted.trim() || alike(quoted, &name)) {
            continue;
        }
        let mut near = if is_heading(derived, &units[at]) { 2.0 } else { 1.0 };
        for under in units[at..].iter_mut().take(UNDER) {
            let prose = derived.line_at(under.range.start).map_or(0.0, |line| line.prose);
            under.worth = under.worth.max(worth * near * (0.2 + 0.8 * prose));
            near *= if prose > 0.3 { 0.85 } else { 0.97 };
        }
        // The name comes first in a table of contents, and again where it is meant.
        worth *= 0.7;
    }
}

/// Whether most words of one text are those of the other.
fn alike(one: &str, other: &str) -> bool {
    let words = |text: &str| -> HashSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (one, other) = (words(one), words(other));
    let common = one.intersection(&other).count();
    common > 0 && common * 10 >= one.len().max(other.len()) * 7
}
