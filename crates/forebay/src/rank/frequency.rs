//! Frequency of lines, counted by their templates: which lines an output repeats, and which are rare.

use crate::formats::failure_word::is_harmless;
use crate::formats::finding;
use crate::formats::finding::code;
use crate::formats::line_role::has_passed;
use crate::formats::noise::is_noise;
use crate::rank::passage::RankedUnit;
use crate::rank::scan::TextUnits;
use crate::terminal::{readable, visible};
use crate::text::similarity::{hash, template};
use crate::weights::{bounds, frequency as weights};
use crate::{Output, Result};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Counts of the lines of an output by template.
#[derive(Default)]
pub(crate) struct Frequency {
    templates: HashMap<u64, Template>,
    lines: u32,
    /// Lines with the code of a linter.
    coded: u32,
    /// Indices of the findings that are errors, up to one more than are few.
    errors: Vec<usize>,
}

/// Lines of one template.
struct Template {
    count: u32,
    /// Whether they have the code of a linter.
    is_coded: bool,
    /// Indices of the first ones.
    first: [usize; weights::MAX_RARE_COUNT as usize],
}

impl Frequency {
    /// Counts the lines of an output, and finds the rare ones with their neighbours. A rare line gets the score `score`.
    pub(crate) fn of(output: &Output, score: f32) -> Result<(Frequency, Vec<RankedUnit>)> {
        if output.len() > bounds::MEDIUM {
            return Ok((Frequency::default(), Vec::new()));
        }
        let bytes = output.read(0..output.len())?;
        let mut frequency = Frequency::default();
        for (index, unit) in (TextUnits { bytes: &bytes, at: 0 }).enumerate() {
            frequency.add(&readable(&bytes[unit]), index);
            if frequency.templates.len() > weights::MAX_TEMPLATES {
                return Ok((Frequency::default(), Vec::new()));
            }
        }
        let rare = frequency.rare(&bytes);
        let units = frequency.with_neighbours(&bytes, &rare, score);
        Ok((frequency, units))
    }

    fn add(&mut self, line: &[u8], index: usize) {
        let Some((template, is_coded)) = template_of(line) else { return };
        let first = [index; weights::MAX_RARE_COUNT as usize];
        let same = self.templates.entry(template).or_insert(Template { count: 0, is_coded, first });
        if let Some(place) = same.first.get_mut(same.count as usize) {
            *place = index;
        }
        same.count += 1;
        self.lines += 1;
        self.coded += u32::from(is_coded);
        if is_coded && self.errors.len() <= finding::FEW && finding::is_error(line) {
            self.errors.push(index);
        }
    }

    /// Returns the indices of the rare lines.
    fn rare(&self, bytes: &[u8]) -> HashSet<usize> {
        let once = self.templates.values().filter(|template| template.count <= weights::MAX_RARE_COUNT);
        let places = |template: &Template| {
            let first = template.first.into_iter().take(template.count as usize);
            first.map(|index| (index, template.is_coded)).collect::<Vec<_>>()
        };
        let once: HashMap<usize, bool> = once.flat_map(places).collect();
        let among_all = is_rare(once.len(), self.lines, weights::MIN_LINES);
        // A finding can be rare among the findings, whatever else the output says.
        let coded = once.values().filter(|is_coded| **is_coded).count();
        let among_coded = is_rare(coded, self.coded, weights::MIN_FINDINGS);
        let errors: HashSet<usize> = self.few_errors().iter().copied().collect();
        let is_rare = |(index, _): &(usize, Range<usize>)| {
            errors.contains(index)
                || once.get(index).is_some_and(|is_coded| among_all || *is_coded && among_coded)
        };
        let rare: Vec<(usize, Range<usize>)> =
            TextUnits { bytes, at: 0 }.enumerate().filter(is_rare).collect();
        let says_something = |unit: &Range<usize>| {
            let line = readable(&bytes[unit.clone()]);
            !is_harmless(&line) && !has_passed(&line) && !is_noise(&line)
        };
        rare.chunk_by(|(one, _), (next, _)| one + 1 == *next)
            .filter(|run| run.len() <= weights::MAX_RARE_IN_A_ROW)
            .flatten()
            .filter(|(_, unit)| says_something(unit))
            .map(|(index, _)| *index)
            .collect()
    }

    /// Returns the rare lines with their neighbours and heads.
    fn with_neighbours(&self, bytes: &[u8], rare: &HashSet<usize>, score: f32) -> Vec<RankedUnit> {
        let heads = if rare.is_empty() { HashMap::new() } else { heads(bytes, rare) };
        let is_near = |(index, _): &(usize, Range<usize>)| {
            heads.contains_key(index)
                || (index.saturating_sub(1)..index + 2).any(|index| rare.contains(&index))
        };
        // In a list of hardly anything but findings, the errors are what it is about.
        let is_list = self.coded * 2 > self.lines;
        let score_of = |line: &[u8]| {
            if is_list && finding::is_error(&readable(line)) { score * weights::RARE_ERROR } else { score }
        };
        let unit = |(index, unit): (usize, Range<usize>)| RankedUnit {
            index: index as u64,
            text: visible(&bytes[unit.clone()]),
            range: unit.start as u64..unit.end as u64,
            score: match heads.get(&index) {
                _ if rare.contains(&index) => score_of(&bytes[unit]),
                Some(found) => score_of(&bytes[found.clone()]) * weights::BESIDE_RARE_LINE,
                None => score * weights::BESIDE_RARE_LINE,
            },
        };
        TextUnits { bytes, at: 0 }.enumerate().filter(is_near).map(unit).collect()
    }

    /// Returns the indices of the errors that a linter found, if they are few.
    fn few_errors(&self) -> &[usize] {
        if finding::are_few(self.errors.len(), self.coded as usize) { &self.errors } else { &[] }
    }

    /// Whether an output has many lines like this one.
    pub(crate) fn is_common(&self, line: &[u8]) -> bool {
        let same = template_of(line).and_then(|(template, _)| self.templates.get(&template));
        let count = same.map_or(0, |same| same.count);
        count > weights::MAX_UNCOMMON_COUNT && count as f32 > self.lines as f32 * weights::MAX_UNCOMMON_SHARE
    }
}

/// Whether lines with a rare template are reported: there are few of them among at least `least` lines that repeat.
fn is_rare(rare: usize, lines: u32, least: u32) -> bool {
    let repeating = lines as f32 - rare as f32;
    lines >= least
        && rare <= weights::MAX_RARE_LINES
        && repeating >= lines as f32 * weights::MIN_REPEATING_SHARE
}

/// Returns the heads of findings that do not name their file, each with its first finding, by their index. A head is the last
/// line before that is neither indented nor a finding.
fn heads(bytes: &[u8], rare: &HashSet<usize>) -> HashMap<usize, Range<usize>> {
    let mut heads = HashMap::new();
    let mut head = None;
    for (index, unit) in (TextUnits { bytes, at: 0 }).enumerate() {
        let line = readable(&bytes[unit.clone()]);
        let is_indented = line.first().is_none_or(u8::is_ascii_whitespace);
        match code(line.trim_ascii()) {
            Some(_) if rare.contains(&index) && !finding::names_file(line.trim_ascii()) => {
                if let Some(head) = head {
                    heads.entry(head).or_insert(unit);
                }
            }
            Some(_) => {}
            None if is_indented => {}
            None => head = Some(index),
        }
    }
    heads
}

/// Returns the template of a line with words, and whether that is the code of a finding.
fn template_of(line: &[u8]) -> Option<(u64, bool)> {
    let line = line.trim_ascii();
    let template = || code(line).map_or_else(|| (template(line), false), |code| (hash(code), true));
    line.iter().any(u8::is_ascii_alphanumeric).then(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn threads(count: u64) -> String {
        let waits = |n: u64| format!("thread {n} [waits]:\nqueue.take(0x{n:x})\n    queue.c:7\n\n");
        (0..count).map(waits).collect()
    }

    #[test]
    fn a_line_unlike_all_others_among_many_alike_is_rare() {
        let odd = "thread 40 [holds the lock]:\nqueue.put(0x7)\n    queue.c:7\n\n";
        let text = threads(20) + odd + &threads(20);
        let (frequency, rare) = Frequency::of(&output_of(text.as_bytes()), 1.0).unwrap();
        let shown = |score: f32| -> Vec<&str> {
            rare.iter().filter(|unit| unit.score == score).map(|unit| unit.text.trim()).collect()
        };
        assert_eq!(shown(1.0), ["thread 40 [holds the lock]:", "queue.put(0x7)"]);
        assert_eq!(shown(weights::BESIDE_RARE_LINE), ["", "queue.c:7"]);
        assert_eq!(&text[rare[1].range.start as usize..rare[1].range.end as usize], &odd[..28]);
        assert!(frequency.is_common(b"thread 3 [waits]:") && frequency.is_common(b"  queue.take(0x99)"));
        assert!(
            !frequency.is_common(b"thread 40 [holds the lock]:") && !frequency.is_common(b"something else")
        );
    }

    #[test]
    fn the_few_errors_among_many_remarks_are_shown_with_their_file() {
        let remark = |n: u64| format!("  {n}:3  ⚠  Expected a blank line  blank-line\n");
        let file = |name: &str| format!("\n{name}\n{}", (1..20).map(remark).collect::<String>());
        let errors: String =
            (56..59).map(|n| format!("  {n}:3  ✖  Unexpected property  no-unknown\n")).collect();
        let text = file("1.scss") + &file("2.scss") + &errors + &remark(60) + &file("3.scss");
        let (_, rare) = Frequency::of(&output_of(text.as_bytes()), 1.0).unwrap();
        let shown = |score: f32| -> Vec<&str> {
            rare.iter()
                .filter(|unit| unit.score == score)
                .filter_map(|unit| unit.text.split_whitespace().next())
                .collect()
        };
        assert_eq!(shown(weights::RARE_ERROR), ["56:3", "57:3", "58:3"]);
        assert_eq!(shown(weights::RARE_ERROR * weights::BESIDE_RARE_LINE), ["2.scss"]);
        let many = errors.repeat(7);
        assert!(Frequency::of(&output_of((text + &many).as_bytes()), 1.0).unwrap().1.is_empty());
    }

    #[test]
    fn nothing_is_rare_where_most_lines_are_unlike_each_other() {
        let unlike: String =
            ('a'..='z').flat_map(|one| ('a'..='c').map(move |two| format!("{one}{two} is\n"))).collect();
        for text in [threads(3), unlike.clone(), unlike + &threads(200)] {
            assert!(Frequency::of(&output_of(text.as_bytes()), 1.0).unwrap().1.is_empty(), "{text}");
        }
    }
}
