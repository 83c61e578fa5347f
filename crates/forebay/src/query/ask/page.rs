//! Which blocks of a page answer a question, or say what it is about.

use super::Unit;
use super::question::{Aim, Question};
use super::rank::ranked;
use super::scan::Units;
use crate::view::rendering::derived::Derived;
use crate::{Output, Result};
use std::collections::{HashMap, HashSet};

/// Blocks that read less like prose than this are menus and the like.
const PROSE: f32 = 0.25;

/// What has less than this share of the best is not shown, however much room there is.
const WORTHLESS: f32 = 0.03;

/// So many blocks below a heading may belong to it.
const UNDER: usize = 40;

/// What a page is about: its blocks that read like prose, the first ones first. What is worth nothing is known, so that it
/// may stand between them. A page without prose is shown as it comes.
pub(super) fn unasked(derived: &Derived) -> Vec<Unit> {
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
pub(super) fn units(derived: &Derived, text: &Output, question: &Question) -> Result<Vec<Unit>> {
    let all = all(derived);
    let title = all.first().map_or("", |unit| unit.text.trim()).to_lowercase();
    let about = question.aim == Aim::Gist || question.quoted.iter().any(|quoted| alike(quoted, &title));
    let mut units = match about {
        true => gist(derived, all),
        false => {
            let mut units: HashMap<u64, Unit> =
                ranked(text, question)?.into_iter().map(|unit| (unit.index, unit)).collect();
            for unit in units.values_mut() {
                let line = derived.line_at(unit.range.start);
                unit.worth *=
                    line.map_or(1.0, |line| if line.heading { 1.2 } else { 0.3 + 0.7 * line.prose });
            }
            under_headings(derived, &all, question, &mut units);
            units.into_values().collect()
        }
    };
    units.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    let best = units.first().map_or(0.0, |unit| unit.worth);
    units.retain(|unit| unit.worth > best * WORTHLESS);
    Ok(units)
}

/// A text says what it is about as it begins; menus and the like are left out.
fn gist(derived: &Derived, all: Vec<Unit>) -> Vec<Unit> {
    let prose = |unit: &Unit| derived.line_at(unit.range.start).is_some_and(|line| line.prose > PROSE);
    let mut units: Vec<Unit> = all.into_iter().filter(prose).collect();
    let count = units.len();
    units.iter_mut().zip(0..).for_each(|(unit, at)| unit.worth = (count - at) as f32);
    units
}

/// What is asked for by its heading stands under the heading: worth more than anything that only has its words.
fn under_headings(derived: &Derived, all: &[Unit], question: &Question, units: &mut HashMap<u64, Unit>) {
    let mut worth = units.values().map(|unit| unit.worth).fold(1.0, f32::max) * 4.0;
    for (at, unit) in all.iter().enumerate() {
        let name = unit.text.trim().to_lowercase();
        if !question.quoted.iter().any(|quoted| name == quoted.trim() || alike(quoted, &name)) {
            continue;
        }
        let heading = derived.line_at(unit.range.start).is_some_and(|line| line.heading);
        let mut near = if heading { 2.0 } else { 1.0 };
        for under in all[at..].iter().take(UNDER) {
            let prose = derived.line_at(under.range.start).map_or(0.0, |line| line.prose);
            let found = Unit { worth: worth * near * (0.2 + 0.8 * prose), ..under.clone() };
            near *= if prose > 0.3 { 0.85 } else { 0.97 };
            let known = units.entry(under.index).or_insert_with(|| found.clone());
            known.worth = known.worth.max(found.worth);
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
