//! The overview of an output as passages: the answer to a question about all of it, alone or beside the passages that have its
//! words.

use crate::digest::in_lines;
use crate::digest::probe::Probe;
use crate::query::{Excerpt, Found};
use crate::rank::passage::{Passage, printed};
use crate::terminal::visible;
use crate::text::count::count;
use crate::view::{Piece, View};
use crate::{Budget, Output, Result, tokens};

/// Sizes tried for the overview: passages cost more or less than a view with its markers.
const TRIES: usize = 3;

/// Divisor of the budget for an overview that the question did not request.
pub(crate) const NOWHERE: u64 = 2;

/// Share of the computed size that is tried next: a little less surely fits.
const SURELY: f64 = 0.99;

/// Combines the overview with the passages that match the question. Returns `None` if nothing fits the budget.
pub(crate) fn with_overview(
    output: &Output,
    words: Vec<Passage>,
    is_nowhere: bool,
    budget: Budget,
) -> Result<Option<Excerpt>> {
    let budget = if is_nowhere {
        let tokens = (budget.tokens / NOWHERE).max(Budget::LEAST.tokens).min(budget.tokens);
        Budget { tokens, ..budget }
    } else {
        budget
    };
    let print = |passages: Vec<Passage>| {
        let found = if is_nowhere {
            "nothing answers that by its words; what stands out".to_owned()
        } else {
            count("passage", passages.len() as u64)
        };
        printed(output, &found, passages).map(|printed| Excerpt::of_passages(output, printed))
    };
    let taken = if words.is_empty() { 0 } else { tokens::count_bytes(&print(words.clone())?.text) };
    let room = budget.tokens.saturating_sub(taken);
    let mut tokens = room;
    let mut best = None;
    let probe = Probe::new(output);
    for _ in 0..TRIES {
        let view = in_lines(&probe, Budget { tokens, ..budget })?;
        let excerpt = print(merged(output, words.clone(), of_view(output, &view)?)?)?;
        let used = tokens::count_bytes(&excerpt.text).saturating_sub(taken).max(1);
        let fits = budget.holds(&excerpt.text);
        if fits && !excerpt.shown.is_empty() {
            best = Some(excerpt);
        } else if best.is_some() {
            break;
        }
        let better = (tokens as f64 * room as f64 / used as f64 * SURELY) as u64;
        if fits && better <= tokens {
            break;
        }
        tokens = better.min(tokens * 2);
    }
    Ok(best.map(|excerpt| {
        if is_nowhere {
            Excerpt { found: Found::Passages(Vec::new()), shown: Vec::new(), lines: None, ..excerpt }
        } else {
            excerpt
        }
    }))
}

/// Passages of two kinds in their order. Those that touch are joined.
pub(crate) fn merged(output: &Output, words: Vec<Passage>, others: Vec<Passage>) -> Result<Vec<Passage>> {
    let mut all: Vec<Passage> = words.into_iter().chain(others).collect();
    all.sort_by_key(|passage| (passage.bytes.start, passage.bytes.end));
    let mut merged: Vec<Passage> = Vec::with_capacity(all.len());
    let is_plain = |passage: &Passage| passage.path.is_none() && passage.said.is_none();
    for passage in all {
        match merged.iter_mut().rev().find(|last| is_plain(last)) {
            Some(last) if is_plain(&passage) && passage.bytes.start <= last.bytes.end => {
                let end = last.bytes.end.max(passage.bytes.end);
                last.text.push_str(&visible(&output.read(last.bytes.end..end)?));
                last.bytes.end = end;
            }
            _ => merged.push(passage),
        }
    }
    Ok(merged)
}

/// Passages that a view shows, and its summaries of others.
fn of_view(output: &Output, view: &View) -> Result<Vec<Passage>> {
    let mut passages: Vec<Passage> = Vec::new();
    for piece in view.pieces() {
        let range = piece.range().clone();
        let (text, said) = match piece {
            Piece::Omitted { .. } => continue,
            // Some of its bytes may be in other passages.
            Piece::Digest { summary, .. } => (String::new(), Some(summary.facts())),
            Piece::Verbatim(_) | Piece::Rendered { .. } => (visible(&output.read(range.clone())?), None),
        };
        if said.is_none() && text.trim().is_empty() {
            continue;
        }
        match passages.last_mut() {
            Some(last) if last.bytes.end == range.start && last.said.is_none() && said.is_none() => {
                last.bytes.end = range.end;
                last.text.push_str(&text);
            }
            _ => {
                let line = output.newlines_before(range.start)? + 1;
                passages.push(Passage { line, last_line: 0, bytes: range, path: None, text, said });
            }
        }
    }
    Ok(passages)
}
