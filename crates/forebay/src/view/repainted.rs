//! The parts of an output that a terminal painted more than once.

use crate::terminal::cursor;
use crate::{Output, Result};
use std::ops::Range;

/// Parts that were painted more than once; none for an output that is too large to be searched.
pub(crate) fn areas(output: &Output) -> Result<Vec<Range<u64>>> {
    if output.len() > LONGEST {
        return Ok(Vec::new());
    }
    Ok(cursor::areas(&output.read(0..output.len())?))
}

/// Largest output that is searched for repainted parts, in bytes.
pub(crate) const LONGEST: u64 = 8 * 1024 * 1024;

/// The same ranges, each extended by the areas that it overlaps.
pub(crate) fn widened(ranges: &[Range<u64>], areas: &[Range<u64>]) -> Vec<Range<u64>> {
    let widen = |range: &Range<u64>| {
        let first = areas.partition_point(|area| area.end <= range.start);
        let touched = areas[first..].iter().take_while(|area| area.start < range.end);
        touched.fold(range.clone(), |wide, area| wide.start.min(area.start)..wide.end.max(area.end))
    };
    ranges.iter().map(widen).collect()
}
