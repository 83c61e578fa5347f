//! An outline as an excerpt: as deep as the budget allows.

use crate::classify::form::Form;
use crate::outline::{Item, Outline};
use crate::query::{Excerpt, Found, fitted, json};
use crate::request::Outlined;
use crate::text::count::count as counted;
use crate::{Budget, Output, Query, Result};

/// The outline of an output, as much of it as fits.
pub(crate) fn excerpt(output: &Output, wanted: &Outlined, budget: Budget) -> Result<Excerpt> {
    let outline = crate::outline::outline(output)?;
    if outline.form == Form::Json {
        // The items of JSON are its paths.
        return json::shape_excerpt(output, 0, budget);
    }
    let from = wanted.from_line.max(1);
    let skip = usize::try_from(wanted.skip).unwrap_or(usize::MAX);
    let lines = output.lines()?;
    let deepest = outline.items.iter().map(|item| item.depth).max().unwrap_or(0);
    // Where not all items fit, the outer ones are shown rather than the first ones.
    let depths = match wanted.depth {
        Some(depth) => depth..=depth,
        None => 0..=deepest,
    };
    let mut chosen: Option<(u32, Vec<&Item>, usize)> = None;
    for depth in depths.rev() {
        let items: Vec<&Item> =
            outline.items.iter().filter(|item| item.depth <= depth && item.line >= from).skip(skip).collect();
        let page = Page { output, outline: &outline, lines, depth, wanted };
        let count = fitted(items.len(), budget, |count| page.text(&items, count).0.into_bytes());
        let all = count == items.len();
        chosen = Some((depth, items, count));
        if all {
            break;
        }
    }
    let (depth, items, count) = chosen.unwrap_or_default();
    let (text, next) = Page { output, outline: &outline, lines, depth, wanted }.text(&items, count);
    let shown: Vec<Item> = items[..count].iter().map(|item| (*item).clone()).collect();
    Ok(Excerpt {
        text: text.into_bytes(),
        shown: Vec::new(),
        lines: shown.first().zip(shown.last()).map(|(first, last)| (first.line, last.line)),
        total_lines: lines,
        next,
        growing: output.is_growing(),
        found: Found::Outline(Outline { items: shown, ..outline }),
    })
}

/// Parts of an outline that are the same for every attempt to print it.
struct Page<'a> {
    output: &'a Output,
    outline: &'a Outline,
    lines: u64,
    depth: u32,
    wanted: &'a Outlined,
}

impl Page<'_> {
    /// The first `count` of the items as text, and the query that continues.
    fn text(&self, items: &[&Item], count: usize) -> (String, Option<Query>) {
        let Page { output, outline, depth, wanted, .. } = self;
        let handle = output.record().handle.short();
        let grows = if output.is_growing() { ", still growing" } else { "" };
        let lines = counted("line", self.lines);
        let inside = |item: &&Item| item.depth > *depth && item.line >= wanted.from_line;
        let left: usize = outline.items.iter().filter(inside).count();
        let things = match items.len() {
            0 => "nothing to outline".to_owned(),
            all if count < all => format!("{count} of {all} things"),
            1 => "1 thing".to_owned(),
            all => format!("{all} things"),
        };
        let name = outline.form.name();
        let mut text = format!("[{name}, {lines}: {things}{grows} · {handle}]\n");
        for item in &items[..count] {
            let lines = if item.line == item.last_line {
                item.line.to_string()
            } else {
                format!("{}–{}", item.line, item.last_line)
            };
            // A name that begins with its kind is printed without the kind.
            let kind = if item.name.split_whitespace().any(|word| word == item.kind) {
                String::new()
            } else {
                format!("{} ", item.kind)
            };
            let indent = "  ".repeat(item.depth as usize);
            text.push_str(&format!("{indent}{lines} {kind}{}\n", item.name));
        }
        if let Some(note) = &outline.note {
            text.push_str(&format!("[{note}]\n"));
        }
        let next = match (items.get(count), left) {
            // Items on one line differ by their number.
            (Some(item), _) if count > 0 => {
                let shown =
                    items[..count].iter().rev().take_while(|shown| shown.line == item.line).count() as u64;
                let more = if item.line == wanted.from_line { wanted.skip } else { 0 };
                Some(Outlined { from_line: item.line, skip: shown + more, depth: Some(*depth) })
            }
            (None, 1..) => Some(Outlined { depth: Some(depth + 1), skip: 0, ..**wanted }),
            _ => None,
        };
        let next = next.map(Query::Outline);
        if let Some(next) = &next {
            let label =
                if items.len() > count { "next".to_owned() } else { format!("{left} more inside these") };
            text.push_str(&format!("[{label}: {}]\n", output.call(next)));
        }
        (text, next)
    }
}
