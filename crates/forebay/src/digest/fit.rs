//! The beginning and the end of an output, as much of each as fits.

use crate::digest::frame::{framed, wording};
use crate::view::{View, Wording, units};
use crate::weights::folding::{ENOUGH_BYTES, ENOUGH_BYTES_PER_TOKEN, MIN_GAP_BYTES};
use crate::{Budget, Output, Result};
use std::ops::Range;

/// View of the beginning and the end of an output, or of the stored part if it could not be stored whole.
pub(crate) fn top_and_bottom(output: &Output, budget: Budget) -> Result<View> {
    let enough = enough_bytes(budget);
    let lost = output.lost();
    let kept = |units: Vec<units::Unit>| -> Vec<Range<u64>> {
        let whole = |range: &Range<u64>| range.end <= lost.start || range.start >= lost.end;
        units.into_iter().map(|unit| unit.range).filter(whole).collect()
    };
    let head = kept(units::first(output, enough.min(lost.start))?);
    let behind = if lost.is_empty() { output.len() } else { output.len() - lost.end };
    let tail = kept(units::last(output, enough.min(behind))?);
    fit(output, budget, &in_turn(head, tail))
}

/// Number of bytes to read at one end of an output, enough for any view within the budget.
pub(crate) fn enough_bytes(budget: Budget) -> u64 {
    (budget.tokens * ENOUGH_BYTES_PER_TOKEN).min(budget.bytes).max(ENOUGH_BYTES)
}

/// Bytes at the beginning of an output from which its part of a view is chosen.
pub(crate) fn beginning(output: &Output, budget: Budget) -> Result<Vec<u8>> {
    output.read(0..output.len().min(2 * enough_bytes(budget)))
}

/// Order in which units are added: the very end and the very beginning, then alternately three of the end and one of
/// the beginning.
fn in_turn(head: Vec<Range<u64>>, tail: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let (mut head, mut tail) = (head.into_iter(), tail.into_iter());
    let mut order: Vec<Range<u64>> = tail.by_ref().take(1).chain(head.by_ref().take(1)).collect();
    loop {
        let before = order.len();
        order.extend(tail.by_ref().take(3).chain(head.by_ref().take(1)));
        if order.len() == before {
            return order;
        }
    }
}

/// View of as many units as fit the budget, in the order of `order`.
fn fit(output: &Output, budget: Budget, order: &[Range<u64>]) -> Result<View> {
    let view = |count: usize| -> Result<View> {
        let view = View::showing(output, &joined(output, order[..count].to_vec())?, wording(budget))?;
        framed(view, output, budget)
    };
    let (mut low, mut high) = (0, order.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if budget.holds(&view(middle)?.print(output)?) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    // One more unit may close a gap and so cost less than it adds. The result of the search may then be a little too
    // high or too low, and it must not be too high.
    while low > 0 && !budget.holds(&view(low)?.print(output)?) {
        low -= 1;
    }
    if low == 0 && !budget.holds(&view(0)?.print(output)?) {
        // Not even the frame fits, so the view is a single line that names the handle.
        return View::showing(output, &[], Wording::Commands);
    }
    view(low)
}

/// Sorts ranges, and closes gaps that cost less than a marker.
fn joined(output: &Output, mut ranges: Vec<Range<u64>>) -> Result<Vec<Range<u64>>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    let lost = output.lost();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(last) if range.start - last.end < MIN_GAP_BYTES => {
                let gap = last.end..range.start;
                let overwritten = memchr::memchr(b'\r', &output.read(gap.clone())?).is_some();
                let is_lost = gap.start < lost.end && lost.start < gap.end;
                if overwritten || is_lost {
                    joined.push(range);
                } else {
                    last.end = range.end;
                }
            }
            _ => joined.push(range),
        }
    }
    Ok(joined)
}
