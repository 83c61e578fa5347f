//! One pass over an output: which units have which terms.
//!
//! A unit is a line, or a part of a long one. Only units that have something are remembered, and of those no more
//! than a bound: when there are too many, the ones with the commonest terms are forgotten.

use crate::formats::{failure_word, line_role, verdict};
use crate::rank::question::{Question, Term, beginning, pieces, stem};
use crate::text::words::before;
use crate::{Output, Result};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use memchr::{memchr, memrchr};
use std::ops::Range;

/// A line longer than this is taken in parts.
pub(crate) const LONG: usize = 400;

/// How much is scanned at a time.
const BLOCK: usize = 1024 * 1024;

/// No more units are remembered in all.
const REMEMBERED: usize = 1 << 20;

/// A unit that has something in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Which unit it is, counted from 0.
    pub(crate) index: u64,
    pub(crate) start: u64,
    pub(crate) length: u32,
    /// Its first byte.
    pub(crate) first: u8,
    /// The terms it has, a bit each.
    pub(crate) terms: u64,
    /// Those it has more than once.
    pub(crate) twice: u64,
    /// Those it has in the form of the question.
    pub(crate) exact: u64,
    /// How much it speaks of trouble.
    pub(crate) trouble: f32,
    /// Whether it tells that something has ended badly.
    pub(crate) ends: bool,
    /// What says so.
    pub(crate) said: u32,
    /// Whether it says so in capitals.
    pub(crate) shouts: bool,
    /// Whether it is a verdict.
    pub(crate) verdict: bool,
}

impl Seen {
    /// The unit at the end of an output, which tells how it ended.
    pub(crate) fn end(index: u64, range: Range<u64>, trouble: f32) -> Seen {
        let length = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        Seen {
            index,
            start: range.start,
            length,
            first: 0,
            terms: 0,
            twice: 0,
            exact: 0,
            trouble,
            ends: true,
            said: 1,
            shouts: false,
            verdict: false,
        }
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.start..self.start + u64::from(self.length)
    }
}

/// What a scan found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) seen: Vec<Seen>,
    /// How many units there are.
    pub(crate) units: u64,
    /// In how many units each term is.
    pub(crate) having: Vec<u64>,
}

impl Scanned {
    /// How much a term tells: the rarer, the more.
    pub(crate) fn rarity(&self, term: usize) -> f32 {
        let (units, having) = (self.units as f32, self.having[term] as f32);
        (1.0 + (units - having + 0.5).max(0.0) / (having + 0.5)).ln()
    }

    fn forget_half(&mut self) {
        let tells: Vec<f32> = (0..self.having.len()).map(|term| self.rarity(term)).collect();
        let worth =
            |seen: &Seen| -> f32 { bits(seen.terms).map(|term| tells[term]).sum::<f32>() + seen.trouble };
        let half = self.seen.len() / 2;
        self.seen.select_nth_unstable_by(half, |a, b| worth(b).total_cmp(&worth(a)));
        self.seen.truncate(half);
        self.seen.sort_unstable_by_key(|seen| seen.start);
    }
}

/// The terms that so many units have that they tell nothing by themselves.
fn common(having: &[u64], units: u64) -> u64 {
    let is_common = |(_, having): &(usize, &u64)| units > 20_000 && **having * 4 > units;
    having.iter().enumerate().filter(is_common).fold(0, |mask, (term, _)| mask | 1 << term)
}

/// The bits that are set.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Something to scan for.
pub(crate) struct Scanner<'a> {
    terms: &'a [Term],
    /// The terms that a unit has which has this one, a bit each: itself, and the parts of a name.
    implied: Vec<u64>,
    /// The terms that may stand inside of other words, a bit each.
    inside: u64,
    automaton: AhoCorasick,
}

/// A shorter term stands inside of other words by chance.
const INSIDE: usize = 4;

/// Scans an output for what a question asks; nothing, if that is too much to look for. A term that stands nowhere by itself
/// is looked for inside of other words: `guava` in `libguava-java`.
pub(crate) fn scan(output: &Output, question: &Question) -> Result<Option<Scanned>> {
    let Some(mut scanner) = Scanner::new(&question.terms, question.trouble) else { return Ok(None) };
    let scanned = scanner.scan(output)?;
    let nowhere = |term: &usize| scanned.having[*term] == 0 && question.terms[*term].text.len() >= INSIDE;
    scanner.inside = (0..question.terms.len()).filter(nowhere).fold(0, |mask, term| mask | 1 << term);
    Ok(Some(if scanner.inside == 0 { scanned } else { scanner.scan(output)? }))
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(terms: &'a [Term], trouble: bool) -> Option<Scanner<'a>> {
        let pattern = |term: &'a Term| if term.word { beginning(&term.text) } else { &term.text };
        let patterns = terms.iter().map(pattern);
        let words = failure_word::WORDS.iter().filter(|_| trouble).map(|word| word.text);
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns.chain(words));
        let implied = (0..terms.len()).map(|at| implied(terms, at)).collect();
        automaton.ok().map(|automaton| Scanner { terms, implied, inside: 0, automaton })
    }

    /// Scans an output.
    pub(crate) fn scan(&self, output: &Output) -> Result<Scanned> {
        let parts = output.parts()?;
        let remembered = (REMEMBERED / (parts.len() + 1)).max(4_096);
        let parts = Output::in_parts(&parts, |part| self.part(output, part, remembered))?;
        let mut all = Scanned { having: vec![0; self.terms.len()], ..Scanned::default() };
        for part in parts {
            let before = all.units;
            all.seen.extend(part.seen.into_iter().map(|seen| Seen { index: seen.index + before, ..seen }));
            all.units += part.units;
            all.having.iter_mut().zip(part.having).for_each(|(all, part)| *all += part);
        }
        Ok(all)
    }

    fn part(&self, output: &Output, range: Range<u64>, remembered: usize) -> Result<Scanned> {
        let mut scanned = Scanned { having: vec![0; self.terms.len()], ..Scanned::default() };
        let mut buffer = vec![0; BLOCK];
        let mut at = range.start;
        while at < range.end {
            let wanted = BLOCK.min(usize::try_from(range.end - at).unwrap_or(BLOCK));
            let read = output.fill(at, &mut buffer[..wanted])?;
            if read == 0 {
                break;
            }
            let is_last = at + read as u64 >= range.end;
            let block = &buffer[..read];
            let end = match memrchr(b'\n', block) {
                _ if is_last => read,
                Some(newline) => newline + 1,
                // A line longer than a block: up to a border between units.
                None => cut(block, read - LONG, read),
            };
            self.block(&block[..end], at, &mut scanned);
            at += end as u64;
            if scanned.seen.len() > remembered {
                scanned.forget_half();
            }
        }
        Ok(scanned)
    }

    fn block(&self, block: &[u8], base: u64, scanned: &mut Scanned) {
        let mut units = Units { bytes: block, at: 0 };
        let mut unit = units.next().unwrap_or(0..block.len());
        let mut index = scanned.units;
        let mut open = Seen {
            index: 0,
            start: 0,
            length: 0,
            first: 0,
            terms: 0,
            twice: 0,
            exact: 0,
            trouble: 0.0,
            ends: false,
            said: 0,
            shouts: false,
            verdict: false,
        };
        let nothing = open;
        let common = common(&scanned.having, index);
        let mut close = |unit: &Range<usize>, index: u64, open: &Seen, having: &mut Vec<u64>| {
            bits(open.terms).for_each(|term| having[term] += 1);
            if open.terms & !common != 0 || open.trouble != 0.0 {
                let start = base + unit.start as u64;
                let trouble = match open.trouble > 0.0 {
                    true => open.trouble * line_role::of(&block[unit.clone()], open.ends, open.shouts),
                    false => 0.0,
                };
                let is_ignored = trouble > 0.0 && verdict::is_ignored(&block[unit.end..]);
                let trouble = if is_ignored { trouble * IGNORED } else { trouble };
                let verdict = open.verdict && !is_ignored;
                let (length, first) = ((unit.end - unit.start) as u32, block[unit.start]);
                scanned.seen.push(Seen { index, start, length, first, trouble, verdict, ..*open });
            }
        };
        let mut having = std::mem::take(&mut scanned.having);
        for found in self.automaton.find_iter(block) {
            while found.start() >= unit.end {
                close(&unit, index, &open, &mut having);
                open = nothing;
                unit = match units.next() {
                    Some(unit) => unit,
                    None => break,
                };
                index += 1;
            }
            let pattern = found.pattern().as_usize();
            match self.terms.get(pattern) {
                Some(_) if common & 1 << pattern != 0 && open.terms & 1 << pattern != 0 => {}
                Some(term) => {
                    let inside = (self.inside & 1 << pattern != 0).then_some(false);
                    if let Some(exact) = is_there(block, found.range(), term).or(inside) {
                        open.twice |= open.terms & 1 << pattern;
                        open.terms |= self.implied[pattern];
                        open.exact |= self.implied[pattern] & !(u64::from(!exact) << pattern);
                    }
                }
                None => {
                    let word = &failure_word::WORDS[pattern - self.terms.len()];
                    // A word that a border between units cuts belongs to the unit it begins in.
                    let found = found.start()..found.end().min(unit.end);
                    let verdict = verdict::is_verdict(block, &found, &unit);
                    let said = failure_word::said(block, found.clone(), &unit, word, verdict);
                    let ends = word.ends || verdict::points_up(&block[unit.clone()]);
                    open.verdict |= verdict && said > 0.0;
                    // The status of one test of many ends nothing.
                    open.ends |= ends && said > 0.0 && !verdict::is_counted(&block[unit.clone()]);
                    if said > open.trouble {
                        open.trouble = said;
                        open.said = failure_word::token(block, found.clone(), &unit);
                        open.shouts = failure_word::shouts(&block[found]);
                    }
                }
            }
        }
        close(&unit, index, &open, &mut having);
        scanned.having = having;
        scanned.units = index + 1 + units.count() as u64;
    }
}

/// What a failure counts that a run was told to ignore.
const IGNORED: f32 = 0.1;

/// The terms that stand in a term, and the term itself, a bit each.
fn implied(terms: &[Term], at: usize) -> u64 {
    let name = &terms[at];
    if name.word {
        return 1 << at;
    }
    let parts: Vec<String> = pieces(&name.form).iter().map(|part| stem(&part.to_lowercase())).collect();
    let stands = |term: &Term| match term.word {
        true => parts.contains(&term.text),
        false => name
            .text
            .match_indices(&term.text)
            .any(|(start, text)| is_there(name.text.as_bytes(), start..start + text.len(), term).is_some()),
    };
    terms.iter().enumerate().filter(|(_, term)| stands(term)).fold(0, |mask, (at, _)| mask | 1 << at)
}

/// Whether what was found is the term, and not a part of another word; if so, whether it has the question's form.
fn is_there(block: &[u8], found: Range<usize>, term: &Term) -> Option<bool> {
    let before = before(block, found.start);
    let after = block.get(found.end).copied();
    if !term.word {
        // `3.5.0` is not in `13.5.0`, nor in `3.5.01`.
        let joins = |one: Option<u8>, other: u8| {
            let alike =
                |one: u8| one.is_ascii_alphanumeric() && one.is_ascii_digit() == other.is_ascii_digit();
            other.is_ascii_alphanumeric() && one.is_some_and(alike)
        };
        let whole = !joins(before, block[found.start]) && !joins(after, block[found.end - 1]);
        return whole.then_some(true);
    }
    let starts = before.is_none_or(|before| {
        !before.is_ascii_alphanumeric()
            || before.is_ascii_lowercase() && block[found.start].is_ascii_uppercase()
            || before.is_ascii_digit() != block[found.start].is_ascii_digit()
    });
    if !starts {
        return None;
    }
    // The rest of the word: up to where letters end, or a hump begins.
    let mut end = found.end;
    while end < block.len() && block[end].is_ascii_alphabetic() && end - found.start < 40 {
        if block[end - 1].is_ascii_lowercase() && block[end].is_ascii_uppercase() {
            break;
        }
        end += 1;
    }
    let word = &block[found.start..end];
    let exact = word.eq_ignore_ascii_case(term.form.as_bytes());
    if end == found.end && term.text.len() == end - found.start {
        let digits =
            after.is_some_and(|after| after.is_ascii_digit()) && block[found.end - 1].is_ascii_digit();
        return (!digits).then_some(exact);
    }
    let is_form =
        exact || std::str::from_utf8(&word.to_ascii_lowercase()).is_ok_and(|word| stem(word) == term.text);
    is_form.then_some(exact)
}

/// The units of some bytes: lines, and parts of long lines.
pub(crate) struct Units<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl Iterator for Units<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let reach = (start + LONG + LONG / 2).min(self.bytes.len());
        self.at = match memchr(b'\n', &self.bytes[start..reach]) {
            Some(newline) => start + newline + 1,
            None if reach == self.bytes.len() => reach,
            None => cut(self.bytes, start + LONG / 2, start + LONG),
        };
        Some(start..self.at)
    }
}

/// Where a long line is cut between `least` and `most`: behind a sentence, else a part of one, else a word.
fn cut(bytes: &[u8], least: usize, most: usize) -> usize {
    let part = &bytes[least..most];
    let sentence = part.windows(2).rposition(|pair| matches!(pair, b". " | b"? " | b"! " | b"; " | b"},"));
    let behind = |set: &[u8]| part.iter().rposition(|byte| set.contains(byte));
    let at = sentence.map(|at| at + 1).or_else(|| behind(b",;>")).or_else(|| behind(b" "));
    match at {
        Some(at) => least + at + 1,
        // Inside a word: at least not inside a character.
        None => (least + 1..=most)
            .rev()
            .find(|&at| bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80))
            .unwrap_or(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::question::Question;
    use crate::store::memory::output_of;

    #[test]
    fn a_unit_that_has_a_name_has_its_parts() {
        let question = Question::new("Where is pkg/old_parser.rs::readAll called?");
        let scanner = Scanner::new(&question.terms, false).unwrap();
        for (line, parts) in [
            (
                "pkg/old_parser.rs::readAll",
                "pkg/old_parser.rs::readall old_parser readall pkg old parser rs read",
            ),
            ("old_parser", "old_parser old parser"),
            ("parsers are old", "old parser"),
        ] {
            let scanned = scanner.scan(&output_of(line.as_bytes())).unwrap();
            let terms = bits(scanned.seen[0].terms).map(|term| question.terms[term].form.as_str());
            let terms = terms.collect::<Vec<_>>().join(" ").to_lowercase();
            assert_eq!(terms, parts, "{line}");
        }
    }
}
