//! Which members of JSON documents answer a question: by what they say, where they stand, and what stands beside them.

use crate::rank::extremes;
use crate::rank::extremes::Figure;
use crate::rank::json_members::Members;
use crate::rank::passage::Unit;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{LONG, Units, scan};
use crate::rank::score::told;
use crate::{Output, Result};
use std::collections::HashMap;
use std::ops::Range;

/// So many of the best members are looked at closely.
const BEST: usize = 600;

/// What the terms count that a member does not have itself: in the keys above it, in the members beside it, and in
/// those beside the containers above it.
const ABOVE: f32 = 0.8;
const BESIDE: f32 = 0.7;
const FAR: f32 = 0.3;

/// What all that counts for a member that has no term of its own.
const ONLY_NEAR: f32 = 0.3;

/// What a value tells that is longer than a unit, beside one that says the same in few words; and how much less each
/// further part of it tells: one value does not answer for all.
const LONG_VALUE: f32 = 0.6;
const FURTHER: f32 = 0.7;

/// What the members tell of a record whose name the question has, and those of the containers in it: so much more of
/// what the name tells.
const NAMED: f32 = 1.0;

/// What such a member tells that has no term of its own: whoever names a record wants to know what is in it.
const OF_NAMED: f32 = 0.3;

/// The same member again tells less.
const AGAIN: f32 = 0.6;

/// What the members count beside the one that has the most or the least of what is asked for, and how far they may stand
/// below where their record begins.
const WITH_EXTREME: f32 = 0.8;
const RECORD: usize = 60;

/// A member with a date answers when.
const DATED: f32 = 1.5;

/// The members worth showing, the best first. `text` is the members' text.
pub(crate) fn units(members: &Members, text: &Output, question: &Question) -> Result<Vec<Unit>> {
    // A state or a field may be called by a word of trouble, and whoever names it there means that.
    let mut named = question.clone();
    if question.aim != Aim::Trouble {
        named = question.of_words();
        named.trouble = question.trouble;
    }
    let question = &named;
    let Some(scanned) = scan(text, question)? else { return Ok(Vec::new()) };
    let told = told(&scanned, question);
    let lines = &members.text.lines;
    let bytes = &members.text.text;
    let range = |line: usize| {
        lines[line].start as usize..lines.get(line + 1).map_or(bytes.len(), |next| next.start as usize)
    };
    let is_long = |line: usize| range(line).len() > LONG;
    // A long member is several units; what one of them has, the member has.
    let mut own = vec![0u64; lines.len()];
    let mut trouble = vec![0f32; lines.len()];
    let mut parts: HashMap<u64, u64> = HashMap::new();
    for seen in &scanned.seen {
        let line = lines.partition_point(|line| line.start <= seen.start) - 1;
        own[line] |= seen.terms;
        trouble[line] = trouble[line].max(seen.trouble);
        parts.insert(seen.start, seen.terms);
    }
    let mut beside = vec![0u64; members.containers.len()];
    let mut named = vec![0u64; members.containers.len()];
    for (line, &container) in members.within.iter().enumerate().filter(|(line, _)| !lines[*line].heading) {
        // A long text has many words, and few of them tell of what stands beside it.
        if !is_long(line) {
            beside[container] |= own[line];
        }
        if own[line] != 0 {
            named[container] |= own[line] & names(&bytes[range(line)], question);
        }
    }
    let mut above: Vec<Above> = Vec::with_capacity(members.containers.len());
    for (at, container) in members.containers.iter().enumerate() {
        // Containers come after the ones they stand in.
        let known = container.parent.filter(|&parent| parent < at).map(|parent| Above {
            keys: above[parent].keys | own.get(container.line).copied().unwrap_or(0),
            far: above[parent].far | beside[parent],
            named: above[parent].named | named[parent],
        });
        above.push(known.unwrap_or_default());
    }
    let near = |line: usize, own: u64| {
        let container = members.within[line];
        let Above { keys, far, named: record } = above[container];
        let beside = beside[container] & !keys;
        ABOVE * told(keys & !own)
            + BESIDE * told(beside & !own)
            + FAR * told(far & !own & !keys & !beside)
            + NAMED * told((record | named[container]) & !own)
    };
    let worth = |line: usize, own: u64| {
        let start = range(line).start;
        let dated = question.when && own != 0 && has_date(&bytes[start..range(line).end.min(start + 200)]);
        let near = near(line, own);
        match own {
            0 if trouble[line] > 0.0 => trouble[line] + near,
            0 => ONLY_NEAR * near + OF_NAMED * told(named[members.within[line]]),
            _ => (told(own) + near) * if dated { DATED } else { 1.0 },
        }
    };
    let mut best: Vec<(f32, usize)> = (0..lines.len())
        .map(|line| (worth(line, own[line]), line))
        .filter(|(worth, _)| *worth > 0.0)
        .collect();
    let most = best.iter().map(|(worth, _)| *worth).fold(1.0, f32::max);
    let figures = (0..lines.len()).filter(|&line| !lines[line].heading && !is_long(line));
    let figures = figures.filter_map(|line| figure(line, &bytes[range(line)]));
    for (extreme, share) in extremes::among(figures, question) {
        // A number says nothing without the record that has it.
        let record = members.within[extreme];
        let first = members.containers[record].line;
        let beside = (first..lines.len()).take(RECORD).filter(|&line| members.within[line] == record);
        best.extend(
            beside
                .filter(|&line| !is_long(line))
                .map(|line| (most * share * if line == extreme { 1.0 } else { WITH_EXTREME }, line)),
        );
    }
    best.sort_by(|a, b| a.1.cmp(&b.1).then(b.0.total_cmp(&a.0)));
    best.dedup_by_key(|(_, line)| *line);
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.truncate(BEST);
    let mut said: HashMap<&[u8], i32> = HashMap::new();
    let mut units = Vec::new();
    for (whole, line) in best {
        let range = range(line);
        let times = said.entry(&bytes[range.clone()]).or_default();
        let again = AGAIN.powi(*times);
        *times += 1;
        let unit = |part: usize, within: &Range<usize>, worth: f32| Unit {
            index: (line as u64) << 20 | part as u64,
            range: (range.start + within.start) as u64..(range.start + within.end) as u64,
            text: String::from_utf8_lossy(&bytes[range.start + within.start..range.start + within.end])
                .into_owned(),
            worth: worth * again,
        };
        let cut: Vec<Range<usize>> = Units { bytes: &bytes[range.clone()], at: 0 }.collect();
        if let [one] = &cut[..] {
            units.push(unit(0, one, whole));
            continue;
        }
        // Of a long value, the parts that say something, and of those less each time.
        let part = |(part, within): (usize, &Range<usize>)| {
            let terms = parts.get(&((range.start + within.start) as u64)).copied().unwrap_or(0);
            unit(part, within, LONG_VALUE * worth(line, terms) * if terms == 0 { 0.5 } else { 1.0 })
        };
        let mut long: Vec<Unit> = cut.iter().enumerate().map(part).collect();
        long.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
        long.iter_mut().zip(0..).for_each(|(unit, at)| unit.worth *= FURTHER.powi(at));
        units.extend(long);
    }
    units.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
    Ok(units)
}

/// What is known of what a container stands in.
#[derive(Clone, Copy, Default)]
struct Above {
    /// The terms in the keys that lead to it.
    keys: u64,
    /// Those in members beside the containers above it.
    far: u64,
    /// Those that name a record it stands in.
    named: u64,
}

/// The terms that a member has as its whole value, a bit each: by them a record is named.
fn names(member: &[u8], question: &Question) -> u64 {
    let value = memchr::memmem::rfind(member, b"\": ").or(memchr::memmem::rfind(member, b"\":"));
    let value = value.map_or(&b""[..], |at| &member[at + 2..]).trim_ascii();
    let value = value.strip_suffix(b",").unwrap_or(value);
    let Some(value) = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")) else { return 0 };
    let is_it = |form: &str| value.eq_ignore_ascii_case(form.as_bytes());
    let terms = question.terms.iter().enumerate().filter(|(_, term)| is_it(&term.form));
    terms.fold(0, |mask, (at, _)| mask | 1 << at)
}

/// A member that is a number: `"area": 181034,`.
fn figure(line: usize, member: &[u8]) -> Option<Figure<'_>> {
    let member = member.trim_ascii();
    let member = member.strip_suffix(b",").unwrap_or(member);
    let (key, value) =
        member.strip_prefix(b"\"")?.split_at(memchr::memmem::find(member, b"\":")?.checked_sub(1)?);
    Some(Figure { line, key, value: value.strip_prefix(b"\":")?.trim_ascii() })
}

/// Whether there is a date as machines write it.
fn has_date(bytes: &[u8]) -> bool {
    let like = b"0000-00-00";
    let digit = |(byte, like): (&u8, &u8)| if *like == b'0' { byte.is_ascii_digit() } else { byte == like };
    bytes.windows(like.len()).any(|part| part.iter().zip(like).all(digit))
}

#[cfg(test)]
mod tests {
    use crate::store::memory::output_of;
    use crate::{Budget, Query, excerpt};

    fn answer(text: &str, question: &str) -> String {
        let budget = Budget { tokens: 120, bytes: 4_000, lines: None };
        let excerpt = excerpt(&output_of(text.as_bytes()), &Query::Ask(question.into()), budget).unwrap();
        String::from_utf8(excerpt.text).unwrap()
    }

    #[test]
    fn short_arrays_records_that_are_named_and_extremes_are_answered() {
        let country = |n: usize| {
            format!(
                r#"{{"name": "land{n}", "area": {}, "borders": ["a{n}", "b{n}"], "code": "x{n}"}}"#,
                (n * 37) % 101
            )
        };
        let text = format!("[\n{}\n]", (0..90).map(country).collect::<Vec<_>>().join(",\n"));
        for (question, expected) in [
            ("Which countries border land42?", r#""borders": ["a42", "b42"],"#),
            ("Which country has the code x17?", r#""name": "land17","#),
            // 30 · 37 is 1110, which leaves 100.
            ("Which country has the largest area?", r#""name": "land30","#),
            ("Which country has the smallest area?", r#""name": "land0","#),
        ] {
            let answer = answer(&text, question);
            assert!(answer.contains(expected), "{question}\n{answer}");
        }
        let spread =
            "{\"types\": {\"a/one\": {\"ends\": [\n  \"x\",\n  \"y\"\n]}, \"b/two\": {\"ends\": [\"z\"]}}}";
        let answer = answer(spread, "Which ends has one?");
        assert!(answer.contains(r#""ends": [ "x", "y" ]"#), "{answer}");
    }
}
