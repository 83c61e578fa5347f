//! The parts of an output that a terminal painted more than once.

use crate::terminal::cursor;
use crate::{Output, Result};
use std::ops::Range;

/// The parts that were painted more than once; none in an output that is too long to be read for that.
pub(crate) fn areas(output: &Output) -> Result<Vec<Range<u64>>> {
    if output.len() > LONGEST {
        return Ok(Vec::new());
    }
    Ok(cursor::areas(&output.read(0..output.len())?))
}

/// Longer outputs are not looked through for what was painted again.
pub(crate) const LONGEST: u64 = 8 * 1024 * 1024;

/// The same ranges, each with all of the areas that it has a part of.
pub(crate) fn widened(ranges: &[Range<u64>], areas: &[Range<u64>]) -> Vec<Range<u64>> {
    let widen = |range: &Range<u64>| {
        let first = areas.partition_point(|area| area.end <= range.start);
        let touched = areas[first..].iter().take_while(|area| area.start < range.end);
        touched.fold(range.clone(), |wide, area| wide.start.min(area.start)..wide.end.max(area.end))
    };
    ranges.iter().map(widen).collect()
}
