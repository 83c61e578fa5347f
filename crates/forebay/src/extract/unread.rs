//! Answers without a model: the passages that match the instructions, and the beginning and the end.

use crate::extract::answer::{Extract, Fallback};
use crate::extract::envelope::{cost, held, opening};
use crate::extract::extraction::Extraction;
use crate::extract::provenance::joined;
use crate::extract::strategy::Strategy;
use crate::query::Found;
use crate::request::Outlined;
use crate::{Budget, Error, Excerpt, Output, Query, Result, digest, excerpt};

/// The passages that have the words of the instructions.
pub(crate) fn passages(output: &Output, wanted: &Extraction, budget: Budget) -> Result<Extract> {
    let head = opening(output, Strategy::Ask.as_str());
    let room = budget.less(cost(&head));
    let found = excerpt(output, &Query::Ask(wanted.instructions.to_owned()), room)?;
    let text = match &found.found {
        Found::Passages(passages) if passages.is_empty() && !output.is_empty() => {
            let note = "NO RELEVANT DATA FOUND\nNothing in the whole output has the words of the instructions. What is there:\n";
            let room = room.less(cost(note));
            let outlined = Outlined { from_line: 1, skip: 0, depth: None };
            let outline = excerpt(output, &Query::Outline(outlined), room)?;
            let kinds = match &outline.found {
                Found::Outline(outline) if outline.items.is_empty() => {
                    digest::top_and_bottom(output, Budget { tokens: room.tokens / 4, ..room })?
                        .print_masked(output)?
                }
                _ => outline.text,
            };
            format!("{head}{note}{}", String::from_utf8_lossy(&kinds))
        }
        _ => format!("{head}{}", String::from_utf8_lossy(&found.text)),
    };
    Ok(Extract::new(Strategy::Ask, text))
}

/// The beginning and the end, as the mode `truncate` gives them.
pub(crate) fn ends(output: &Output, budget: Budget) -> Result<Extract> {
    let head = opening(output, Strategy::Truncate.as_str());
    let body = digest::top_and_bottom(output, budget.less(cost(&head)))?.print_masked(output)?;
    let text = held(head.clone() + &String::from_utf8_lossy(&body), &head, budget);
    Ok(Extract::new(Strategy::Truncate, text))
}

/// An output that no model has read, and why: the passages that match the instructions, then the beginning and the end.
pub(crate) fn fallback(
    output: &Output,
    instructions: &str,
    failed: Fallback,
    budget: Budget,
) -> Result<Extract> {
    let Fallback { from: mode, why } = &failed;
    let bare = opening(output, Strategy::Truncate.as_str());
    // A budget may be too small for a passage.
    let half = Budget { tokens: budget.tokens / 2, bytes: budget.bytes / 2, ..budget };
    let found = match excerpt(output, &Query::Ask(instructions.to_owned()), half) {
        Ok(found) => Some(found)
            .filter(|found| !matches!(&found.found, Found::Passages(passages) if passages.is_empty())),
        Err(Error::BadQuery(_)) => None,
        Err(error) => return Err(error),
    };
    let is_all = |found: &Excerpt| joined(found.shown.clone()).first() == Some(&(0..output.len()));
    let what = match &found {
        Some(found) if is_all(found) => "This is all of it.",
        Some(_) => "These are the passages that match the instructions, then the beginning and the end.",
        None => "These are the beginning and the end instead.",
    };
    let warned = |length: usize| {
        let why = crate::shortened(why, length);
        format!("{bare}WARNING: {mode} could not run: {why}. No model has read this output. {what}\n")
    };
    // There must be room for the cause and for some of the output.
    let room = Budget { tokens: budget.tokens * 3 / 4, bytes: budget.bytes * 3 / 4, ..budget };
    let heads = [2_000, 1_000, 500, 250, 100, 40].map(warned);
    let head = heads.iter().find(|head| room.holds(head.as_bytes())).or(heads.last()).unwrap_or(&bare);
    let mut text = head.clone();
    if let Some(found) = found.as_ref().filter(|found| !is_all(found)) {
        text.push_str(&String::from_utf8_lossy(&found.text));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    let without_ends = text.clone();
    let ends = digest::top_and_bottom(output, budget.less(cost(&text)))?.print_masked(output)?;
    text.push_str(&String::from_utf8_lossy(&ends));
    if !budget.holds(text.as_bytes()) {
        text = without_ends;
    }
    let text = held(text, head, budget);
    Ok(Extract { fell_back: Some(failed), ..Extract::new(Strategy::Truncate, text) })
}
