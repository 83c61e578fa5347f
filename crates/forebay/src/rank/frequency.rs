//! What an output says over and over, and what it says only once: lines are told apart by their templates.

use crate::classify::source::is_noise;
use crate::formats::failure_word::is_harmless;
use crate::formats::finding;
use crate::formats::finding::code;
use crate::formats::line_role::has_passed;
use crate::rank::passage::Unit;
use crate::rank::scan::Units;
use crate::terminal::{readable, visible};
use crate::text::similarity::{hash, template};
use crate::{Output, Result};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A larger output is not read whole for that.
const READ_FOR_THAT: u64 = 8 * 1024 * 1024;

/// Where more templates are told apart, hardly a line is like others.
const TOLD_APART: usize = 1 << 16;

/// A line is common if there are more than so many like it, and this share of all.
const MANY: u32 = 8;
const SHARE: f32 = 0.03;

/// Lines that have at most one like them are rare where so many lines, or so many findings, have this share that are not,
/// and the rare ones are not many, nor many in a row.
const ONCE: u32 = 2;
const LINES: u32 = 50;
const FINDINGS: u32 = 20;
const ALIKE: f32 = 0.75;
const FEW: usize = 40;
const IN_A_ROW: usize = 14;

/// What a rare line is worth that is an error, and not only a remark.
const ERROR: f32 = 2.0;

/// What a line beside a rare one is worth of it.
const BESIDE: f32 = 0.5;

/// How often the lines of an output occur, but for their numbers.
#[derive(Default)]
pub(crate) struct Frequency {
    templates: HashMap<u64, Template>,
    lines: u32,
    /// How many of the lines have the code of a linter.
    coded: u32,
    /// Which units are errors by that, up to one more than are few.
    errors: Vec<usize>,
}

/// The lines of one template.
struct Template {
    count: u32,
    /// Whether they have the code of a linter.
    is_coded: bool,
    /// Which units the first ones are.
    first: [usize; ONCE as usize],
}

impl Frequency {
    /// Counts the lines of an output, and finds the rare ones, each worth `worth`, with their neighbours.
    pub(crate) fn of(output: &Output, worth: f32) -> Result<(Frequency, Vec<Unit>)> {
        let mut frequency = Frequency::default();
        if output.len() > READ_FOR_THAT {
            return Ok((frequency, Vec::new()));
        }
        let bytes = output.read(0..output.len())?;
        let units = || Units { bytes: &bytes, at: 0 }.enumerate();
        for (index, unit) in units() {
            let line = readable(&bytes[unit]);
            if let Some((template, is_coded)) = template_of(&line) {
                frequency.take(template, is_coded, index);
                if is_coded && frequency.errors.len() <= finding::FEW && finding::is_error(&line) {
                    frequency.errors.push(index);
                }
            }
            if frequency.templates.len() > TOLD_APART {
                return Ok((Frequency::default(), Vec::new()));
            }
        }
        let once = frequency.templates.values().filter(|template| template.count <= ONCE);
        let places = |template: &Template| {
            let first = template.first.into_iter().take(template.count as usize);
            first.map(|index| (index, template.is_coded)).collect::<Vec<_>>()
        };
        let once: HashMap<usize, bool> = once.flat_map(places).collect();
        let are_few = |once: usize, lines: u32, least: u32| {
            lines >= least && once <= FEW && lines as f32 - once as f32 >= lines as f32 * ALIKE
        };
        // What is found may be rare among what else is found, whatever is said besides.
        let coded = once.values().filter(|is_coded| **is_coded).count();
        let (among_all, among_coded) =
            (are_few(once.len(), frequency.lines, LINES), are_few(coded, frequency.coded, FINDINGS));
        let errors: HashSet<usize> = frequency.few_errors().iter().copied().collect();
        let is_rare = |(index, _): &(usize, Range<usize>)| {
            errors.contains(index)
                || once.get(index).is_some_and(|is_coded| among_all || *is_coded && among_coded)
        };
        let rare: Vec<(usize, Range<usize>)> = units().filter(is_rare).collect();
        let is_odd = |unit: &Range<usize>| {
            let line = readable(&bytes[unit.clone()]);
            !is_harmless(&line) && !has_passed(&line) && !is_noise(&line)
        };
        // So many in a row are another part of the output.
        let few = rare.chunk_by(|(one, _), (next, _)| one + 1 == *next).filter(|run| run.len() <= IN_A_ROW);
        let odd: HashSet<usize> =
            few.flatten().filter(|(_, unit)| is_odd(unit)).map(|(index, _)| *index).collect();
        let heads = if odd.is_empty() { HashMap::new() } else { heads(&bytes, &odd) };
        let near = |(index, _): &(usize, Range<usize>)| {
            heads.contains_key(index)
                || (index.saturating_sub(1)..index + 2).any(|index| odd.contains(&index))
        };
        // Where hardly anything else is said, an error is what the list is about.
        let is_list = frequency.coded * 2 > frequency.lines;
        let of_error = |line: &[u8]| match is_list && finding::is_error(&readable(line)) {
            true => worth * ERROR,
            false => worth,
        };
        let unit = |(index, unit): (usize, Range<usize>)| Unit {
            index: index as u64,
            text: visible(&bytes[unit.clone()]),
            range: unit.start as u64..unit.end as u64,
            worth: match heads.get(&index) {
                _ if odd.contains(&index) => of_error(&bytes[unit]),
                Some(found) => of_error(&bytes[found.clone()]) * BESIDE,
                None => worth * BESIDE,
            },
        };
        let shown = units().filter(near).map(unit).collect();
        Ok((frequency, shown))
    }

    /// The errors that a linter found, if they are few.
    fn few_errors(&self) -> &[usize] {
        if finding::are_few(self.errors.len(), self.coded as usize) { &self.errors } else { &[] }
    }

    fn take(&mut self, template: u64, is_coded: bool, index: usize) {
        let new = Template { count: 0, is_coded, first: [index; ONCE as usize] };
        let alike = self.templates.entry(template).or_insert(new);
        if let Some(place) = alike.first.get_mut(alike.count as usize) {
            *place = index;
        }
        alike.count += 1;
        self.lines += 1;
        self.coded += u32::from(is_coded);
    }

    /// Whether an output has many lines like this one.
    pub(crate) fn is_common(&self, line: &[u8]) -> bool {
        let template = template_of(line).map(|(template, _)| template);
        let count =
            template.and_then(|template| self.templates.get(&template)).map_or(0, |alike| alike.count);
        count > MANY && count as f32 > self.lines as f32 * SHARE
    }
}

/// Which units are the heads of findings that do not name their file, each with the first of them: the last line before it that is
/// neither set in nor a finding.
fn heads(bytes: &[u8], odd: &HashSet<usize>) -> HashMap<usize, Range<usize>> {
    let mut heads = HashMap::new();
    let mut head = None;
    for (index, unit) in (Units { bytes, at: 0 }).enumerate() {
        let line = readable(&bytes[unit.clone()]);
        let is_set_in = line.first().is_none_or(u8::is_ascii_whitespace);
        match code(line.trim_ascii()) {
            Some(_) if odd.contains(&index) && !finding::names_file(line.trim_ascii()) => {
                if let Some(head) = head {
                    heads.entry(head).or_insert(unit);
                }
            }
            Some(_) => {}
            None if is_set_in => {}
            None => head = Some(index),
        }
    }
    heads
}

/// The template of a line that says something, and whether that is the code of what a linter found.
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
    fn what_is_like_no_other_among_much_that_is_alike_is_rare() {
        let odd = "thread 40 [holds the lock]:\nqueue.put(0x7)\n    queue.c:7\n\n";
        let text = threads(20) + odd + &threads(20);
        let (frequency, rare) = Frequency::of(&output_of(text.as_bytes()), 1.0).unwrap();
        let shown = |worth: f32| -> Vec<&str> {
            rare.iter().filter(|unit| unit.worth == worth).map(|unit| unit.text.trim()).collect()
        };
        assert_eq!(shown(1.0), ["thread 40 [holds the lock]:", "queue.put(0x7)"]);
        assert_eq!(shown(BESIDE), ["", "queue.c:7"]);
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
        let shown = |worth: f32| -> Vec<&str> {
            rare.iter()
                .filter(|unit| unit.worth == worth)
                .filter_map(|unit| unit.text.split_whitespace().next())
                .collect()
        };
        assert_eq!(shown(ERROR), ["56:3", "57:3", "58:3"]);
        assert_eq!(shown(ERROR * BESIDE), ["2.scss"]);
        let many = errors.repeat(7);
        assert!(Frequency::of(&output_of((text + &many).as_bytes()), 1.0).unwrap().1.is_empty());
    }

    #[test]
    fn where_much_is_like_nothing_else_that_says_nothing() {
        let unlike: String =
            ('a'..='z').flat_map(|one| ('a'..='c').map(move |two| format!("{one}{two} is\n"))).collect();
        for text in [threads(3), unlike.clone(), unlike + &threads(200)] {
            assert!(Frequency::of(&output_of(text.as_bytes()), 1.0).unwrap().1.is_empty(), "{text}");
        }
    }
}
