//! Which members of JSON documents answer a question: by what they say, where they stand, and what stands beside them.

use super::Unit;
use super::json::Members;
use super::question::{Aim, Question};
use super::rank::told;
use super::scan::{Scanner, Units};
use crate::{Output, Result};
use std::collections::{HashMap, HashSet};

/// So many of the best members are looked at closely.
const BEST: usize = 600;

/// What the terms count that a member does not have itself: in the keys above it, in the members beside it, and in
/// those beside the containers above it.
const ABOVE: f32 = 0.8;
const BESIDE: f32 = 0.7;
const FAR: f32 = 0.3;

/// What all that counts for a member that has no term of its own.
const ONLY_NEAR: f32 = 0.3;

/// The same member again tells less.
const AGAIN: f32 = 0.6;

/// A member with a date answers when.
const DATED: f32 = 1.5;

/// The members worth showing, the best first. `text` is the members' text.
pub(super) fn units(members: &Members, text: &Output, question: &Question) -> Result<Vec<Unit>> {
    // A state or a field may be called by a word of trouble, and whoever names it there means that.
    let mut named = question.clone();
    if question.aim != Aim::Trouble {
        named = question.of_words();
        named.trouble = question.trouble;
    }
    let question = &named;
    let Some(scanner) = Scanner::new(&question.terms, question.trouble) else { return Ok(Vec::new()) };
    let scanned = scanner.scan(text)?;
    let told = told(&scanned, question);
    let lines = &members.text.lines;
    let bytes = &members.text.text;
    // A long member is several units; what one of them has, the member has.
    let mut own = vec![0u64; lines.len()];
    let mut trouble = vec![0f32; lines.len()];
    for seen in &scanned.seen {
        let line = lines.partition_point(|line| line.start <= seen.start) - 1;
        own[line] |= seen.terms;
        trouble[line] = trouble[line].max(seen.trouble);
    }
    let mut beside = vec![0u64; members.containers.len()];
    for (line, &container) in members.within.iter().enumerate().filter(|(line, _)| !lines[*line].heading) {
        beside[container] |= own[line];
    }
    let mut above: Vec<(u64, u64)> = Vec::with_capacity(members.containers.len());
    for container in &members.containers {
        // Containers come after the ones they stand in.
        above.push(container.parent.map_or((0, 0), |parent| {
            let (keys, far) = above[parent];
            (keys | own.get(container.line).copied().unwrap_or(0), far | beside[parent])
        }));
    }
    let range = |line: usize| {
        lines[line].start as usize..lines.get(line + 1).map_or(bytes.len(), |next| next.start as usize)
    };
    let worth = |line: usize| {
        let (own, container) = (own[line], members.within[line]);
        let (keys, far) = above[container];
        let beside = beside[container] & !keys;
        let near = ABOVE * told(keys & !own)
            + BESIDE * told(beside & !own)
            + FAR * told(far & !own & !keys & !beside);
        let start = range(line).start;
        let dated = question.when && own != 0 && has_date(&bytes[start..range(line).end.min(start + 200)]);
        match own {
            0 if trouble[line] > 0.0 => trouble[line] + near,
            0 => ONLY_NEAR * near,
            _ => (told(own) + near) * if dated { DATED } else { 1.0 },
        }
    };
    let mut best: Vec<(f32, usize)> =
        (0..lines.len()).map(|line| (worth(line), line)).filter(|(worth, _)| *worth > 0.0).collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.truncate(BEST);
    let having: HashSet<u64> = scanned.seen.iter().map(|seen| seen.start).collect();
    let mut said: HashMap<&[u8], i32> = HashMap::new();
    let mut units = Vec::new();
    for (worth, line) in best {
        let range = range(line);
        let times = said.entry(&bytes[range.clone()]).or_default();
        let worth = worth * AGAIN.powi(*times);
        *times += 1;
        let parts: Vec<_> = Units { bytes: &bytes[range.clone()], at: 0 }.collect();
        for (part, within) in parts.iter().enumerate() {
            let (start, end) = (range.start + within.start, range.start + within.end);
            // Of a long value, the parts that say something.
            let says = parts.len() == 1 || having.contains(&(start as u64));
            units.push(Unit {
                index: (line as u64) << 20 | part as u64,
                range: start as u64..end as u64,
                text: String::from_utf8_lossy(&bytes[start..end]).into_owned(),
                worth: if says { worth } else { worth * 0.5 },
            });
        }
    }
    units.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    Ok(units)
}

/// Whether there is a date as machines write it.
fn has_date(bytes: &[u8]) -> bool {
    let like = b"0000-00-00";
    let digit = |(byte, like): (&u8, &u8)| if *like == b'0' { byte.is_ascii_digit() } else { byte == like };
    bytes.windows(like.len()).any(|part| part.iter().zip(like).all(digit))
}
