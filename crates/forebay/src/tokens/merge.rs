//! Byte-pair merging of one piece: the neighbours whose union has the lowest rank are merged first.

use super::table;
use std::{cmp::Reverse, collections::BinaryHeap};

/// The place of a token in the vocabulary; lower ranks are merged first.
pub(super) type Rank = u32;

/// Above this many bytes the queue pays for itself; below it a scan of the few parts is faster.
const SCAN: usize = 96;

/// How many tokens the bytes of one piece become.
pub(super) fn tokens_in(piece: &[u8]) -> u64 {
    match piece.len() {
        0 => 0,
        1 => 1,
        _ if table::rank(piece).is_some() => 1,
        length if length <= SCAN => by_scanning(piece),
        _ => by_queue(piece),
    }
}

/// Looks through all parts for the best merge, again and again: quadratic, and quick for short pieces.
fn by_scanning(piece: &[u8]) -> u64 {
    const NONE: Rank = Rank::MAX;
    let rank = |from: usize, to: usize| table::rank(&piece[from..to]).unwrap_or(NONE);
    // (start of the part, rank of its union with the next part)
    let mut parts: Vec<(usize, Rank)> =
        (0..piece.len()).map(|at| (at, if at + 1 < piece.len() { rank(at, at + 2) } else { NONE })).collect();
    let end = |parts: &[(usize, Rank)], i: usize| parts.get(i).map_or(piece.len(), |part| part.0);
    while let Some((best, &(_, lowest))) = parts.iter().enumerate().min_by_key(|(_, part)| part.1) {
        if lowest == NONE {
            break;
        }
        parts.remove(best + 1);
        let union = |parts: &[(usize, Rank)], i: usize| match i + 1 < parts.len() {
            true => rank(parts[i].0, end(parts, i + 2)),
            false => NONE,
        };
        parts[best].1 = union(&parts, best);
        if best > 0 {
            parts[best - 1].1 = union(&parts, best - 1);
        }
    }
    parts.len() as u64
}

/// Keeps the possible merges in a queue, so that a piece of any length costs n log n.
fn by_queue(piece: &[u8]) -> u64 {
    const GONE: usize = usize::MAX;
    let n = piece.len();
    // Part i starts at byte i. `next[i]` is the start of the part after it, `before[i]` of the one before.
    let mut next: Vec<usize> = (1..=n).collect();
    let mut before: Vec<usize> = (0..n).map(|i| i.wrapping_sub(1)).collect();
    let mut queue: BinaryHeap<Reverse<(Rank, usize, usize)>> =
        (0..n - 1).filter_map(|i| Some(Reverse((table::rank(&piece[i..i + 2])?, i, i + 2)))).collect();
    let mut parts = n as u64;
    while let Some(Reverse((_, left, end))) = queue.pop() {
        // An entry is stale when its left part was swallowed, or when the union has another end by now.
        let right = next[left];
        if right == GONE || right >= n || next[right] != end {
            continue;
        }
        next[left] = end;
        next[right] = GONE;
        if end < n {
            before[end] = left;
        }
        parts -= 1;
        let mut push = |from: usize| {
            let middle = next[from];
            if middle < n {
                let end = next[middle];
                queue.extend(table::rank(&piece[from..end]).map(|rank| Reverse((rank, from, end))));
            }
        };
        push(left);
        if left > 0 {
            push(before[left]);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ways_of_merging_agree(piece in "[ab=\u{301}漢]{1,60}") {
            prop_assert_eq!(by_scanning(piece.as_bytes()), by_queue(piece.as_bytes()));
        }
    }
}
