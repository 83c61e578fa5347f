//! The records of a JSON output that a model reads in place of all of it, and how they are printed.
//!
//! First come those that match the instructions best, then others that are spread over the document, until the room is
//! used. They are printed in the order of the document, neighbours together, each group with its path and its bytes.

use crate::classify::json::records::records;
use crate::classify::json::records::{JsonRecord, Level, ListKind, Records};
use crate::rank::records::scores;
use crate::text::count::grouped;
use crate::{Output, Result, tokens};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a room for each of its tokens, about, in JSON.
const TOKEN: u64 = 3;

/// The members of a larger object and the items of a larger list are chosen one by one: a share of the room.
const SHARE: u64 = 16;

/// Maximum bytes of neighbours of equal weight that are chosen together.
const TOGETHER: u64 = 2_048;

/// Approximate tokens of the line above a group of records.
const MARKER: u64 = 24;

/// Records too large for the rest of the room, after which the room counts as used.
const MISFITS: usize = 64;

/// Times that the rest of the room is filled, after each print has measured it.
const ROUNDS: usize = 4;

/// Maximum tokens of the names of columns that are printed with each group of rows.
const COLUMNS: u64 = 64;

/// Maximum characters of a printed path.
const LONGEST_PATH: usize = 120;

/// Approximate maximum tokens of the line above a chunk of records.
pub(crate) const LABEL: u64 = 2 * COLUMNS;

/// Records that were chosen, as they are printed.
pub(crate) struct Chosen {
    pub(crate) text: String,
    /// The bytes of the output that are in the text.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Whether some of them match the instructions.
    pub(crate) by_words: bool,
    /// Positions in the text at which records begin.
    pub(crate) borders: Vec<u64>,
}

/// The level of records for a reading of this many tokens.
pub(crate) fn level(room: u64) -> Level {
    Level { worth: (room * TOKEN / SHARE).max(256), most: room }
}

/// The records that are read in up to `room` tokens; `None` if the output is not JSON.
pub(crate) fn chosen(output: &Output, instructions: &str, room: u64) -> Result<Option<Chosen>> {
    // The line above a record needs room too.
    let Some(found) = records(output, level(room.saturating_sub(2 * MARKER + COLUMNS)))? else {
        return Ok(None);
    };
    if found.records.is_empty() {
        return Ok(None);
    }
    let weights = scores(output, instructions, &found)?;
    let mut taking = Taking { output, found: &found, taken: BTreeMap::new(), order: Vec::new() };
    let order = order(&found, &weights);
    let mut printed = taking.print()?;
    for _ in 0..ROUNDS {
        let used = tokens::count(&printed.text);
        let before = taking.order.len();
        taking.take(&order, room.saturating_sub(used))?;
        printed = taking.print()?;
        let mut over = tokens::count(&printed.text).saturating_sub(room);
        while over > 0 && taking.drop(over) {
            printed = taking.print()?;
            over = tokens::count(&printed.text).saturating_sub(room);
        }
        if taking.order.len() <= before {
            break;
        }
    }
    printed.by_words = weights.iter().any(|weight| *weight > 0.0);
    Ok(Some(printed))
}

/// The order in which records are taken: by weight, and with equal weight spread over the document in groups of
/// neighbours.
fn order(found: &Records, weights: &[f32]) -> Vec<usize> {
    let mut group = 0u32;
    let mut began: Option<&JsonRecord> = None;
    let mut groups = Vec::with_capacity(found.records.len());
    for record in &found.records {
        match began {
            Some(first) if first.list == record.list && record.range.end - first.range.start <= TOGETHER => {}
            Some(_) => {
                group += 1;
                began = Some(record);
            }
            None => began = Some(record),
        }
        groups.push(group);
    }
    // The bits of a number in reverse order fall into ever smaller gaps: 0, 1/2, 1/4, 3/4, …
    let bits = u32::BITS - group.leading_zeros();
    let spread = |at: usize| groups[at].reverse_bits().checked_shr(u32::BITS - bits).unwrap_or(0);
    let mut order: Vec<usize> = (0..found.records.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(spread(a).cmp(&spread(b))).then(a.cmp(&b)));
    order
}

struct Taking<'a> {
    output: &'a Output,
    found: &'a Records,
    /// The records that are taken, with their tokens.
    taken: BTreeMap<usize, u64>,
    /// The order in which they were taken.
    order: Vec<usize>,
}

impl Taking<'_> {
    /// Takes records while they fit `left` tokens.
    fn take(&mut self, order: &[usize], mut left: u64) -> Result<()> {
        let mut misfits = 0;
        for &at in order {
            if left < 8 || misfits > MISFITS {
                break;
            }
            if self.taken.contains_key(&at) {
                continue;
            }
            let neighbours = [at.checked_sub(1), at.checked_add(1)];
            let joined = neighbours.iter().flatten().filter(|&&other| self.joins(at, other)).count() as u64;
            let marker = (MARKER + self.columns_cost(at)?).saturating_sub(joined * MARKER);
            let record = &self.found.records[at].range;
            // A token has at least one byte and rarely more than eight.
            if (record.end - record.start) / 16 > left {
                misfits += 1;
                continue;
            }
            let own = tokens::count_bytes(&self.output.read(record.clone())?) + 1;
            if own + marker > left {
                misfits += 1;
                continue;
            }
            left -= own + marker;
            self.taken.insert(at, own);
            self.order.push(at);
        }
        Ok(())
    }

    /// Drops the records that were taken last, for this many tokens; returns whether there were any.
    fn drop(&mut self, tokens: u64) -> bool {
        let mut given = 0;
        while given <= tokens {
            let Some(last) = self.order.pop() else { return given > 0 };
            given += self.taken.remove(&last).unwrap_or(0);
        }
        true
    }

    /// Whether a record would be printed with another that is taken.
    fn joins(&self, at: usize, other: usize) -> bool {
        self.taken.contains_key(&other) && self.follow(at.min(other))
    }

    /// Whether a record and the next one can be printed together.
    fn follow(&self, at: usize) -> bool {
        let [one, next] = &self.found.records[at..=at + 1] else { return false };
        one.list == next.list
            && if one.part || next.part {
                one.part && next.part && one.first == next.first
            } else {
                one.first + one.count == next.first
            }
    }

    fn columns_cost(&self, at: usize) -> Result<u64> {
        match self.columns(at)? {
            Some((_, text)) => Ok(tokens::count(&text).min(COLUMNS)),
            None => Ok(0),
        }
    }

    fn columns(&self, at: usize) -> Result<Option<(Range<u64>, String)>> {
        let record = &self.found.records[at];
        columns(self.output, self.found, record)
    }

    fn print(&self) -> Result<Chosen> {
        let mut printed =
            Chosen { text: String::new(), ranges: Vec::new(), by_words: false, borders: Vec::new() };
        let taken: Vec<usize> = self.taken.keys().copied().collect();
        let mut named = Vec::new();
        for group in taken.chunk_by(|&one, &next| one + 1 == next && self.follow(one)) {
            let [first, .., last] = match group {
                [one] => [*one; 2],
                [first, .., last] => [*first, *last],
                [] => continue,
            };
            let list = self.found.records[first].list;
            let place = place(self.output, self.found, first..last + 1)?;
            let names = match self.columns(first)? {
                Some((range, text)) if tokens::count(&text) <= COLUMNS || !named.contains(&list) => {
                    named.push(list);
                    printed.ranges.push(range);
                    format!("; columns {text}")
                }
                _ => String::new(),
            };
            printed.borders.push(printed.text.len() as u64);
            printed.text.push_str(&format!("[{place}{names}]\n"));
            let from = self.found.records[first].range.start;
            let bytes = from..self.found.records[last].range.end;
            let mut at = from;
            for &record in &group[1..] {
                let start = self.found.records[record].range.start;
                printed.text.push_str(&String::from_utf8_lossy(&self.output.read(at..start)?));
                printed.borders.push(printed.text.len() as u64);
                at = start;
            }
            printed.text.push_str(&String::from_utf8_lossy(&self.output.read(at..bytes.end)?));
            printed.text.push('\n');
            printed.ranges.push(bytes);
        }
        Ok(printed)
    }
}

/// The names of the columns of a row, and their bytes.
fn columns(output: &Output, found: &Records, record: &JsonRecord) -> Result<Option<(Range<u64>, String)>> {
    let Some(range) = found.lists[record.list].columns.clone() else { return Ok(None) };
    if range == record.range {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.read(range.clone())?).into_owned();
    Ok(Some((range, text)))
}

/// The place of neighbours: the path to the first and the last of them, and their bytes.
fn place(output: &Output, found: &Records, group: Range<usize>) -> Result<String> {
    let (first, last) = (&found.records[group.start], &found.records[group.end - 1]);
    let list = &found.lists[first.list];
    let bytes = format!("bytes {}–{}", first.range.start, last.range.end);
    let path = crate::shortened(&found.path(output, first)?, LONGEST_PATH);
    if first.part {
        return Ok(format!("part of {path}, {bytes}"));
    }
    let (from, to) = (first.first, last.first + last.count - 1);
    let of = grouped(list.count);
    Ok(match list.kind {
        _ if from == to && list.count > 1 && list.kind == ListKind::Array => {
            format!("{path} of {of}, {bytes}")
        }
        _ if from == to => format!("{path}, {bytes}"),
        ListKind::Documents => format!("documents {}–{} of {of}, {bytes}", from + 1, to + 1),
        ListKind::Array => format!("{path}–[{to}] of {of}, {bytes}"),
        ListKind::Object => format!("{path} and {} after it of {of}, {bytes}", grouped(to - from)),
    })
}

/// The line above a chunk that begins inside of a document: which records it has, of how many, and where.
pub(crate) fn chunk_label(output: &Output, found: &Records, chunk: &Range<u64>) -> Result<String> {
    let first = found.at(chunk.start);
    let Some(record) = found.records.get(first).filter(|_| chunk.start > found.all.start) else {
        return Ok(String::new());
    };
    let path = crate::shortened(&found.path(output, record)?, LONGEST_PATH);
    if record.part || record.range.start < chunk.start {
        return Ok(format!("[part of {path}, bytes {}–{}]\n", chunk.start, chunk.end));
    }
    let last = found.records[first..]
        .iter()
        .take_while(|next| next.list == record.list && next.range.end <= chunk.end)
        .last()
        .unwrap_or(record);
    let list = &found.lists[record.list];
    let (from, to) = (record.first + 1, last.first + last.count);
    let which = if from == to {
        format!("record {}", grouped(from))
    } else {
        format!("records {}–{}", grouped(from), grouped(to))
    };
    let place = match list.kind {
        ListKind::Documents => String::new(),
        _ => {
            let path = crate::shortened(&list.path, LONGEST_PATH);
            format!(" in {path}{}", found.of_document(list))
        }
    };
    let names = match columns(output, found, record)? {
        Some((_, text)) if tokens::count(&text) <= COLUMNS => format!("; columns {text}"),
        _ => String::new(),
    };
    Ok(format!("[{which} of {}{place}{names}]\n", grouped(list.count)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use proptest::prelude::*;
    use serde_json::json;

    fn users(count: u64) -> String {
        let user = |n: u64| json!({"id": n, "name": format!("user{n}"), "city": if n % 50 == 7 { "Oslo" } else { "Lima" }});
        json!({"total": count, "users": (0..count).map(user).collect::<Vec<_>>()}).to_string()
    }

    #[test]
    fn the_records_that_match_are_read_and_others_that_are_spread_as_far_as_there_is_room() {
        let text = users(2_000);
        let output = output_of(text.as_bytes());
        let chosen = chosen(&output, "who lives in Oslo?", 4_000).unwrap().unwrap();
        assert!(chosen.by_words);
        assert_eq!(chosen.text.matches("Oslo").count(), 40, "{}", chosen.text);
        assert!(chosen.text.contains("[.users[7] of 2,000, bytes "), "{}", chosen.text);
        // Others come from every quarter of the document.
        let quarter = text.len() as u64 / 4;
        let in_quarter = |at: u64| chosen.ranges.iter().filter(|range| range.start / quarter == at).count();
        assert!((0..4).all(|at| in_quarter(at) > 5), "{:?}", chosen.ranges);
    }

    #[test]
    fn a_chunk_says_which_records_it_has() {
        let text = users(900);
        let output = output_of(text.as_bytes());
        let found = records(&output, Level { worth: 500, most: 2_000 }).unwrap().unwrap();
        let start = |name: &str| found.records[found.at(text.find(name).unwrap() as u64)].range.start;
        let label = |chunk: Range<u64>| chunk_label(&output, &found, &chunk).unwrap();
        assert_eq!(label(0..start("\"user120\"")), "");
        assert_eq!(label(start("\"user120\"")..start("\"user240\"")), "[records 121–240 of 900 in .users]\n");
        assert_eq!(label(start("\"user899\"")..text.len() as u64), "[record 900 of 900 in .users]\n");
        assert!(label(start("\"user5\"") + 3..start("\"user9\"")).starts_with("[part of .users[5], bytes "));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_room_is_used_and_the_ranges_are_what_was_read(
            sizes in proptest::collection::vec(0usize..60, 200..600),
            room in 600u64..3_000,
            named in 0usize..600,
        ) {
            let items: Vec<_> = sizes.iter().enumerate().map(|(n, words)| json!({"n": n, "text": "word ".repeat(*words)})).collect();
            let text = json!({"list": items}).to_string();
            let output = output_of(text.as_bytes());
            let chosen = chosen(&output, &format!("what is in n {named}?"), room).unwrap().unwrap();
            let used = tokens::count(&chosen.text);
            let all = tokens::count(&text);
            prop_assert!(used <= room && (used * 10 >= room * 9 || used >= all), "{} of {}", used, room);
            let mut end = 0;
            for range in &chosen.ranges {
                let part = &text[range.start as usize..range.end as usize];
                prop_assert!(chosen.text.contains(part) && range.start >= end);
                end = range.end;
                // Whole records, and nothing else.
                prop_assert!(serde_json::from_str::<serde_json::Value>(&format!("[{part}]")).is_ok(), "{}", part);
            }
        }
    }
}
