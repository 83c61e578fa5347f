//! Sorted ranges of bytes.

use std::ops::Range;

/// Whether one of some ranges in order contains an offset.
pub(crate) fn holds(ranges: &[Range<u64>], at: u64) -> bool {
    let next = ranges.partition_point(|range| range.start <= at);
    ranges[..next].last().is_some_and(|range| at < range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_its_start_and_not_its_end() {
        let ranges = [2..4, 4..5, 9..9, 10..12];
        let held: Vec<u64> = (0..14).filter(|at| holds(&ranges, *at)).collect();
        assert_eq!(held, [2, 3, 4, 10, 11]);
    }
}
