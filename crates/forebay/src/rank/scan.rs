//! One pass over an output: which units contain which terms.
//!
//! A unit is a line, or a part of a long one. Only units with a term or a failure word are kept, up to a bound: when there
//! are too many, the half with the lowest weights is dropped.

use crate::formats::{Formats, failure_word, line_role, verdict};
use crate::rank::question::{Question, Term, beginning, pieces, stem};
use crate::text::words::before;
use crate::weights::scan as weights;
use crate::{Output, Result};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use memchr::{memchr, memrchr};
use std::ops::Range;

/// Bytes from which on a line is cut into parts.
pub(crate) const MAX_UNIT_BYTES: usize = 400;

/// Bytes that are scanned at a time.
const BLOCK: usize = 1024 * 1024;

/// Maximum units that are kept, over all threads: 64 MiB of them.
const MAX_SEEN: usize = 1 << 20;

/// Minimum units that each thread keeps.
const MIN_SEEN_PER_PART: usize = 4_096;

/// A unit with a term or a failure word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Index of the unit, from 0.
    pub(crate) index: u64,
    pub(crate) start: u64,
    pub(crate) length: u32,
    /// First byte.
    pub(crate) first: u8,
    /// Terms that it contains, a bit each.
    pub(crate) terms: u64,
    /// Terms that it contains more than once.
    pub(crate) repeated: u64,
    /// Terms that it contains in the form of the question.
    pub(crate) exact: u64,
    /// How surely it reports a failure; 0 for no failure.
    pub(crate) failure_weight: f32,
    /// Whether it reports that something ended with a failure.
    pub(crate) reports_exit: bool,
    /// Identifies the word that reports the failure: a hash of it.
    pub(crate) word_id: u32,
    /// Whether that word is in capitals.
    pub(crate) is_capital: bool,
    /// Whether a tool reports the failure in a form of its own.
    pub(crate) is_verdict: bool,
}

impl Seen {
    /// Returns the last unit of an output, which shows how it ended.
    pub(crate) fn end(index: u64, range: Range<u64>, failure_weight: f32) -> Seen {
        let length = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        let start = range.start;
        Seen { index, start, length, failure_weight, reports_exit: true, word_id: 1, ..Seen::default() }
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.start..self.start + u64::from(self.length)
    }
}

/// A unit with its score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored {
    pub(crate) seen: Seen,
    pub(crate) score: f32,
}

/// Result of a scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) seen: Vec<Seen>,
    /// Units of the output.
    pub(crate) units: u64,
    /// Units that contain each term.
    pub(crate) having: Vec<u64>,
}

impl Scanned {
    /// Returns the weight of a term by its rarity (the inverse document frequency of BM25).
    pub(crate) fn rarity(&self, term: usize) -> f32 {
        let (units, having) = (self.units as f32, self.having[term] as f32);
        (1.0 + (units - having + 0.5).max(0.0) / (having + 0.5)).ln()
    }

    fn drop_half(&mut self) {
        let rarity: Vec<f32> = (0..self.having.len()).map(|term| self.rarity(term)).collect();
        let weight = |seen: &Seen| -> f32 {
            bits(seen.terms).map(|term| rarity[term]).sum::<f32>() + seen.failure_weight
        };
        let half = self.seen.len() / 2;
        self.seen.select_nth_unstable_by(half, |a, b| weight(b).total_cmp(&weight(a)));
        self.seen.truncate(half);
        self.seen.sort_unstable_by_key(|seen| seen.start);
    }
}

/// Returns the terms that are too common to make a unit worth keeping, a bit each.
fn common(having: &[u64], units: u64) -> u64 {
    let is_common = |(_, having): &(usize, &u64)| {
        units > weights::MIN_UNITS_WITH_COMMON_TERMS && **having * weights::COMMON_TERM_ONE_IN > units
    };
    having.iter().enumerate().filter(is_common).fold(0, |mask, (term, _)| mask | 1 << term)
}

/// Iterates over the bits that are set.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Terms and failure words to scan for.
pub(crate) struct Scanner<'a> {
    terms: &'a [Term],
    /// For each term, the terms that a unit with it contains, a bit each: itself, and the parts of a name.
    implied: Vec<u64>,
    /// Terms that may match inside other words, a bit each.
    inside: u64,
    automaton: AhoCorasick,
    /// Whether failures are searched for.
    finds_failures: bool,
}

/// Scans an output for the terms of a question; `None` if there are too many terms. A term that occurs nowhere as a
/// word may match inside other words: `guava` in `libguava-java`.
pub(crate) fn scan(output: &Output, question: &Question) -> Result<Option<Scanned>> {
    let Some(mut scanner) = Scanner::new(&question.terms, question.mentions_failure) else {
        return Ok(None);
    };
    let scanned = scanner.scan(output)?;
    let nowhere = |term: &usize| {
        scanned.having[*term] == 0 && question.terms[*term].text.len() >= weights::MIN_TERM_INSIDE_WORDS
    };
    scanner.inside = (0..question.terms.len()).filter(nowhere).fold(0, |mask, term| mask | 1 << term);
    Ok(Some(if scanner.inside == 0 { scanned } else { scanner.scan(output)? }))
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(terms: &'a [Term], with_failures: bool) -> Option<Scanner<'a>> {
        let pattern = |term: &'a Term| if term.word { beginning(&term.text) } else { &term.text };
        let patterns = terms.iter().map(pattern);
        let words = failure_word::WORDS.iter().filter(|_| with_failures).map(|word| word.text);
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns.chain(words));
        let implied = (0..terms.len()).map(|at| implied(terms, at)).collect();
        automaton.ok().map(|automaton| Scanner {
            terms,
            implied,
            inside: 0,
            automaton,
            finds_failures: with_failures,
        })
    }

    /// Scans an output.
    pub(crate) fn scan(&self, output: &Output) -> Result<Scanned> {
        let parts = output.parts()?;
        let most = (MAX_SEEN / (parts.len() + 1)).max(MIN_SEEN_PER_PART);
        let parts = Output::in_parts(&parts, |part| self.part(output, part, most))?;
        let mut all = Scanned { having: vec![0; self.terms.len()], ..Scanned::default() };
        for part in parts {
            let before = all.units;
            all.seen.extend(part.seen.into_iter().map(|seen| Seen { index: seen.index + before, ..seen }));
            all.units += part.units;
            all.having.iter_mut().zip(part.having).for_each(|(all, part)| *all += part);
        }
        Ok(all)
    }

    fn part(&self, output: &Output, range: Range<u64>, most: usize) -> Result<Scanned> {
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
                None => cut(block, read - MAX_UNIT_BYTES, read),
            };
            self.block(&block[..end], at, output.formats(), &mut scanned);
            at += end as u64;
            if scanned.seen.len() > most {
                scanned.drop_half();
            }
        }
        Ok(scanned)
    }

    fn block(&self, block: &[u8], base: u64, formats: &Formats, scanned: &mut Scanned) {
        let mut units = TextUnits { bytes: block, at: 0 };
        let mut unit = units.next().unwrap_or(0..block.len());
        let mut index = scanned.units;
        let mut open = Seen::default();
        let common = common(&scanned.having, index);
        let user = Some(formats).filter(|formats| self.finds_failures && formats.has_user());
        let closing = Closing { base, common, user };
        for found in self.automaton.find_iter(block) {
            while found.start() >= unit.end {
                scanned.close(block, &unit, Seen { index, ..open }, closing);
                open = Seen::default();
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
                        open.repeated |= open.terms & 1 << pattern;
                        open.terms |= self.implied[pattern];
                        open.exact |= self.implied[pattern] & !(u64::from(!exact) << pattern);
                    }
                }
                None => {
                    let word = &failure_word::WORDS[pattern - self.terms.len()];
                    open.add_failure(block, &unit, found.range(), word);
                }
            }
        }
        scanned.close(block, &unit, Seen { index, ..open }, closing);
        if user.is_some() {
            // Lines without a word of the vocabulary may report failures too.
            for unit in units.by_ref() {
                index += 1;
                scanned.close(block, &unit, Seen { index, ..Seen::default() }, closing);
            }
        }
        scanned.units = index + 1 + units.count() as u64;
    }
}

/// Arguments for closing a unit.
#[derive(Clone, Copy)]
struct Closing<'a> {
    /// Offset of the block in the output.
    base: u64,
    /// Terms that do not make a unit worth keeping.
    common: u64,
    /// Formats with files of the user, if failures are searched for.
    user: Option<&'a Formats>,
}

impl Scanned {
    /// Counts the terms of a unit, and keeps it if it has any that is not common, or a failure word.
    fn close(&mut self, block: &[u8], unit: &Range<usize>, open: Seen, closing: Closing) {
        bits(open.terms).for_each(|term| self.having[term] += 1);
        let by_user = closing.user.and_then(|formats| formats.reports_failure(&block[unit.clone()]));
        if open.terms & !closing.common == 0 && open.failure_weight == 0.0 && by_user != Some(true) {
            return;
        }
        let mut failure_weight = 0.0;
        let mut is_verdict = open.is_verdict;
        if open.failure_weight > 0.0 {
            let role = line_role::of(&block[unit.clone()], open.reports_exit, open.is_capital);
            failure_weight = open.failure_weight * role;
        }
        match by_user {
            Some(true) => {
                failure_weight = failure_weight.max(weights::REPORTED_BY_USER_FORMAT);
                is_verdict = true;
            }
            Some(false) => {
                failure_weight *= weights::HARMLESS_BY_USER_FORMAT;
                is_verdict = false;
            }
            None => (),
        }
        if failure_weight > 0.0 && verdict::is_ignored(&block[unit.end..]) {
            failure_weight *= weights::IGNORED_FAILURE;
            is_verdict = false;
        }
        let (length, first) = ((unit.end - unit.start) as u32, block[unit.start]);
        let start = closing.base + unit.start as u64;
        self.seen.push(Seen { start, length, first, failure_weight, is_verdict, ..open });
    }
}

impl Seen {
    /// Adds a failure word that was found in a unit. The word with the highest weight counts.
    fn add_failure(
        &mut self,
        block: &[u8],
        unit: &Range<usize>,
        found: Range<usize>,
        word: &failure_word::Word,
    ) {
        // A word that a border between units cuts belongs to the unit it begins in.
        let found = found.start..found.end.min(unit.end);
        let is_verdict = verdict::is_verdict(block, &found, unit);
        let weight = failure_word::said(block, found.clone(), unit, word, is_verdict);
        let ends = word.ends || verdict::points_up(&block[unit.clone()]);
        self.is_verdict |= is_verdict && weight > 0.0;
        // The status of one test of many is not the end.
        self.reports_exit |= ends && weight > 0.0 && !verdict::is_counted(&block[unit.clone()]);
        if weight > self.failure_weight {
            self.failure_weight = weight;
            self.word_id = failure_word::token(block, found.clone(), unit);
            self.is_capital = failure_word::shouts(&block[found]);
        }
    }
}

/// Returns the terms that a term contains, itself included, a bit each.
fn implied(terms: &[Term], at: usize) -> u64 {
    let name = &terms[at];
    if name.word {
        return 1 << at;
    }
    let parts: Vec<String> = pieces(&name.form).iter().map(|part| stem(&part.to_lowercase())).collect();
    let is_inside = |term: &Term| {
        if term.word {
            return parts.contains(&term.text);
        }
        let mut places = name.text.match_indices(&term.text);
        places.any(|(at, text)| is_there(name.text.as_bytes(), at..at + text.len(), term).is_some())
    };
    terms.iter().enumerate().filter(|(_, term)| is_inside(term)).fold(0, |mask, (at, _)| mask | 1 << at)
}

/// Returns whether a term was found in the form of the question; `None` if what was found is part of another word.
fn is_there(block: &[u8], found: Range<usize>, term: &Term) -> Option<bool> {
    let before = before(block, found.start);
    let after = block.get(found.end).copied();
    if !term.word {
        // `13.5.0` and `3.5.01` do not contain `3.5.0`.
        let joins = |one: Option<u8>, other: u8| {
            let is_same_class =
                |one: u8| one.is_ascii_alphanumeric() && one.is_ascii_digit() == other.is_ascii_digit();
            other.is_ascii_alphanumeric() && one.is_some_and(is_same_class)
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
    // The rest of the word, up to the next word or the next hump of camel case.
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

/// TextUnits of some bytes: lines, and parts of long lines.
pub(crate) struct TextUnits<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl Iterator for TextUnits<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let reach = (start + MAX_UNIT_BYTES + MAX_UNIT_BYTES / 2).min(self.bytes.len());
        self.at = match memchr(b'\n', &self.bytes[start..reach]) {
            Some(newline) => start + newline + 1,
            None if reach == self.bytes.len() => reach,
            None => cut(self.bytes, start + MAX_UNIT_BYTES / 2, start + MAX_UNIT_BYTES),
        };
        Some(start..self.at)
    }
}

/// Returns where a long line is cut between `least` and `most`: after a sentence, else after a clause, else after a word.
fn cut(bytes: &[u8], least: usize, most: usize) -> usize {
    let part = &bytes[least..most];
    let sentence = part.windows(2).rposition(|pair| matches!(pair, b". " | b"? " | b"! " | b"; " | b"},"));
    let behind = |set: &[u8]| part.iter().rposition(|byte| set.contains(byte));
    let at = sentence.map(|at| at + 1).or_else(|| behind(b",;>")).or_else(|| behind(b" "));
    match at {
        Some(at) => least + at + 1,
        // Inside a word, but not inside a character.
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
