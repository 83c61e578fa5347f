//! Byte-pair merging of one piece: the neighbours whose union has the lowest rank are merged first.

use crate::table::{self, Rank};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Above this many bytes the queue pays for itself; below it a scan of the few parts is faster.
const SCAN: usize = 96;

/// Number of tokens of one piece.
pub(crate) fn tokens_in(piece: &[u8]) -> u64 {
    match piece.len() {
        0 => 0,
        _ if is_token(piece) => 1,
        length if length <= SCAN => by_scanning(piece),
        _ => by_queue(piece),
    }
}

/// Whether a piece is one token.
pub(crate) fn is_token(piece: &[u8]) -> bool {
    // Every byte is a token, and so is every number of up to three digits: a piece has no more.
    piece.len() == 1 || piece.iter().all(u8::is_ascii_digit) || table::rank(piece).is_some()
}

/// Searches all parts for the best merge, repeatedly: quadratic, and fast for short pieces.
fn by_scanning(piece: &[u8]) -> u64 {
    const NONE: Rank = Rank::MAX;
    let rank = |from: u8, to: u8| table::rank(&piece[usize::from(from)..usize::from(to)]).unwrap_or(NONE);
    let length = piece.len() as u8;
    // Where each part starts, and after the last one the end; and the rank of each part's union with the next.
    let (mut starts, mut unions) = ([0; SCAN + 1], [NONE; SCAN + 1]);
    for at in 0..=length {
        starts[usize::from(at)] = at;
        if at + 1 < length {
            unions[usize::from(at)] = rank(at, at + 2);
        }
    }
    let mut parts = piece.len();
    loop {
        let lowest = unions[..parts].iter().copied().enumerate().min_by_key(|&(_, rank)| rank);
        let Some((best, _)) = lowest.filter(|&(_, rank)| rank != NONE) else { return parts as u64 };
        starts.copy_within(best + 2..=parts, best + 1);
        unions.copy_within(best + 2..=parts, best + 1);
        parts -= 1;
        let union = |at: usize| if at + 1 < parts { rank(starts[at], starts[at + 2]) } else { NONE };
        unions[best] = union(best);
        if best > 0 {
            unions[best - 1] = union(best - 1);
        }
    }
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

    #[test]
    fn every_number_of_up_to_three_digits_is_a_token() {
        for number in (0..10).map(|n| format!("{n}")).chain((0..100).map(|n| format!("{n:02}"))) {
            assert!(table::rank(number.as_bytes()).is_some(), "{number}");
        }
        for number in 0..1000 {
            assert!(table::rank(format!("{number:03}").as_bytes()).is_some(), "{number:03}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_of_merging_agree(piece in "[ab=\u{301}漢]{1,32}") {
            prop_assert_eq!(by_scanning(piece.as_bytes()), by_queue(piece.as_bytes()));
        }
    }
}
