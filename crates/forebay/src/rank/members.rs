//! Members of JSON documents that answer a question: by their terms, by the keys above them, and by the members beside
//! them.

use crate::rank::extremes;
use crate::rank::extremes::Figure;
use crate::rank::json_members::Members;
use crate::rank::passage::RankedUnit;
use crate::rank::question::{Aim, Question};
use crate::rank::scan::{MAX_UNIT_BYTES, Scanned, TextUnits, scan};
use crate::rank::score::term_weights;
use crate::weights::members as weights;
use crate::{Output, Result};
use std::collections::HashMap;
use std::ops::Range;

/// Returns the members worth showing, the best first. `text` is the text of `members`.
pub(crate) fn units(members: &Members, text: &Output, question: &Question) -> Result<Vec<RankedUnit>> {
    // The name of a state or a field can be a failure word, which a question then means.
    let mut as_words = question.clone();
    if question.aim != Aim::Failure {
        as_words = question.with_failure_as_words();
        as_words.mentions_failure = question.mentions_failure;
    }
    let Some(scanned) = scan(text, &as_words)? else { return Ok(Vec::new()) };
    let document = Document { members, question: &as_words };
    let scores = document.scores(&scanned);
    let mut best: Vec<(f32, usize)> = (0..members.text.lines.len())
        .map(|line| (scores.of(line, scores.own[line]), line))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    let highest = best.iter().map(|(score, _)| *score).fold(1.0, f32::max);
    best.extend(document.extremes(highest));
    best.sort_by(|a, b| a.1.cmp(&b.1).then(b.0.total_cmp(&a.0)));
    best.dedup_by_key(|(_, line)| *line);
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.truncate(weights::MAX_BEST_MEMBERS);
    let mut times: HashMap<&[u8], i32> = HashMap::new();
    let mut units = Vec::new();
    for (score, line) in best {
        let times = times.entry(document.bytes(line)).or_default();
        let factor = weights::EQUAL_MEMBER.powi(*times);
        *times += 1;
        units.extend(document.units_of(line, score, factor, &scores));
    }
    units.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    Ok(units)
}

/// Index of a part of a member: parts of one member follow each other.
fn index_of(line: usize, part: usize) -> u64 {
    (line as u64) << PART_BITS | part as u64
}

/// Returns the line of the member to which a unit belongs, from the index of the unit.
pub(crate) fn line_of(index: u64) -> usize {
    (index >> PART_BITS) as usize
}

/// Bits of an index for the part of a member: a value of 400 MB has a million parts.
const PART_BITS: u32 = 20;

/// Members of documents, and the question about them.
#[derive(Clone, Copy)]
struct Document<'a> {
    members: &'a Members,
    question: &'a Question,
}

impl<'a> Document<'a> {
    fn range(&self, line: usize) -> Range<usize> {
        let text = &self.members.text;
        let end = text.lines.get(line + 1).map_or(text.text.len(), |next| next.start as usize);
        text.lines[line].start as usize..end
    }

    fn bytes(&self, line: usize) -> &'a [u8] {
        &self.members.text.text[self.range(line)]
    }

    fn is_long(&self, line: usize) -> bool {
        self.range(line).len() > MAX_UNIT_BYTES
    }

    /// Collects the terms of each member and of its surroundings.
    fn scores(self, scanned: &Scanned) -> Scores<'a, impl Fn(u64) -> f32> {
        let Document { members, question } = self;
        let lines = &members.text.lines;
        let mut own = vec![0u64; lines.len()];
        let mut failure = vec![0f32; lines.len()];
        let mut parts: HashMap<u64, u64> = HashMap::new();
        // A long member has several units, and the terms of all of them.
        for seen in &scanned.seen {
            let line = lines.partition_point(|line| line.start <= seen.start) - 1;
            own[line] |= seen.terms;
            failure[line] = failure[line].max(seen.failure_weight);
            parts.insert(seen.start, seen.terms);
        }
        let mut containers = vec![Container::default(); members.containers.len()];
        for (line, &at) in members.within.iter().enumerate().filter(|(line, _)| !lines[*line].heading) {
            // A long text has many words, few of which say anything about its neighbours.
            if !self.is_long(line) {
                containers[at].beside |= own[line];
            }
            if own[line] != 0 {
                containers[at].names |= own[line] & names(self.bytes(line), question);
            }
        }
        for (at, container) in members.containers.iter().enumerate() {
            // A container comes after the one it is in.
            let Some(parent) = container.parent.filter(|&parent| parent < at) else { continue };
            let above = containers[parent];
            containers[at].keys = above.keys | own.get(container.line).copied().unwrap_or(0);
            containers[at].far = above.far | above.beside;
            containers[at].names_above = above.names_above | above.names;
        }
        let told = term_weights(scanned, question);
        Scores { document: self, own, failure, parts, containers, told }
    }

    /// Returns the members of the records with the extreme that the question asks for, with their scores.
    fn extremes(self, highest: f32) -> Vec<(f32, usize)> {
        let lines = &self.members.text.lines;
        let figures = (0..lines.len()).filter(|&line| !lines[line].heading && !self.is_long(line));
        let figures = figures.filter_map(|line| figure(line, self.bytes(line)));
        let mut found = Vec::new();
        for (extreme, share) in extremes::among(figures, self.question) {
            // A number says nothing without its record.
            let record = self.members.within[extreme];
            let first = self.members.containers[record].line;
            let in_record = (first..lines.len()).take(weights::MAX_RECORD_LINES);
            let in_record =
                in_record.filter(|&line| self.members.within[line] == record && !self.is_long(line));
            found.extend(in_record.map(|line| {
                (highest * share * if line == extreme { 1.0 } else { weights::BESIDE_EXTREME }, line)
            }));
        }
        found
    }

    /// Returns the units of a member with this score: one, or the parts of a long value, each next one with less. `factor`
    /// applies to all of them.
    fn units_of(
        self,
        line: usize,
        score: f32,
        factor: f32,
        scores: &Scores<'_, impl Fn(u64) -> f32>,
    ) -> Vec<RankedUnit> {
        let (start, bytes) = (self.range(line).start, self.bytes(line));
        let unit = |part: usize, within: &Range<usize>, score: f32| RankedUnit {
            index: index_of(line, part),
            range: (start + within.start) as u64..(start + within.end) as u64,
            text: String::from_utf8_lossy(&bytes[within.clone()]).into_owned(),
            score: score * factor,
        };
        let cut: Vec<Range<usize>> = TextUnits { bytes, at: 0 }.collect();
        if let [one] = &cut[..] {
            return vec![unit(0, one, score)];
        }
        let part = |(part, within): (usize, &Range<usize>)| {
            let terms = scores.parts.get(&((start + within.start) as u64)).copied().unwrap_or(0);
            let of_part = if terms == 0 { weights::PART_WITHOUT_TERM } else { 1.0 };
            unit(part, within, weights::LONG_VALUE * scores.of(line, terms) * of_part)
        };
        let mut long: Vec<RankedUnit> = cut.iter().enumerate().map(part).collect();
        long.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        long.iter_mut().zip(0..).for_each(|(unit, at)| unit.score *= weights::FURTHER_PART.powi(at));
        long
    }
}

/// Terms of a container, a bit each.
#[derive(Clone, Copy, Default)]
struct Container {
    /// In the keys that lead to it.
    keys: u64,
    /// In its members.
    beside: u64,
    /// In the members beside the containers above it.
    far: u64,
    /// That name it: terms that are the whole value of one of its members.
    names: u64,
    /// That name the containers above it.
    names_above: u64,
}

/// Terms of all members, and the scores that follow from them.
struct Scores<'a, F> {
    document: Document<'a>,
    /// Terms of each member, a bit each.
    own: Vec<u64>,
    /// Failure weight of each member.
    failure: Vec<f32>,
    /// Terms of each unit, by its offset.
    parts: HashMap<u64, u64>,
    containers: Vec<Container>,
    told: F,
}

impl<F: Fn(u64) -> f32> Scores<'_, F> {
    /// Returns the score of a member that has these terms itself.
    fn of(&self, line: usize, own: u64) -> f32 {
        let container = &self.containers[self.document.members.within[line]];
        let near = self.near(container, own);
        match own {
            0 if self.failure[line] > 0.0 => self.failure[line] + near,
            0 => {
                weights::WITHOUT_OWN_TERM * near
                    + weights::IN_NAMED_RECORD_ALONE * (self.told)(container.names)
            }
            _ => {
                let range = self.document.range(line);
                let end = range.end.min(range.start + weights::DATE_WITHIN_BYTES);
                let text = &self.document.members.text.text[range.start..end];
                let is_dated = self.document.question.asks_when && has_date(text);
                ((self.told)(own) + near) * if is_dated { weights::WITH_DATE } else { 1.0 }
            }
        }
    }

    /// Returns the score of the terms around a member that it does not have itself.
    fn near(&self, container: &Container, own: u64) -> f32 {
        let &Container { keys, far, names, names_above, .. } = container;
        let beside = container.beside & !keys;
        weights::TERMS_OF_KEYS * (self.told)(keys & !own)
            + weights::TERMS_BESIDE * (self.told)(beside & !own)
            + weights::TERMS_FAR_ABOVE * (self.told)(far & !own & !keys & !beside)
            + weights::IN_NAMED_RECORD * (self.told)((names_above | names) & !own)
    }
}

/// Returns the terms that are the whole value of a member, a bit each. They name its record.
fn names(member: &[u8], question: &Question) -> u64 {
    let value = memchr::memmem::rfind(member, b"\": ").or(memchr::memmem::rfind(member, b"\":"));
    let value = value.map_or(&b""[..], |at| &member[at + 2..]).trim_ascii();
    let value = value.strip_suffix(b",").unwrap_or(value);
    let Some(value) = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")) else { return 0 };
    let is_value = |form: &str| value.eq_ignore_ascii_case(form.as_bytes());
    let terms = question.terms.iter().enumerate().filter(|(_, term)| is_value(&term.form));
    terms.fold(0, |mask, (at, _)| mask | 1 << at)
}

/// Reads a member with a number: `"area": 181034,`.
fn figure(line: usize, member: &[u8]) -> Option<Figure<'_>> {
    let member = member.trim_ascii();
    let member = member.strip_suffix(b",").unwrap_or(member);
    let (key, value) =
        member.strip_prefix(b"\"")?.split_at(memchr::memmem::find(member, b"\":")?.checked_sub(1)?);
    Some(Figure { line, key, value: value.strip_prefix(b"\":")?.trim_ascii() })
}

/// Whether there is a date in the form `2015-03-15`.
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
    fn questions_about_arrays_named_records_and_extremes_are_answered() {
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
