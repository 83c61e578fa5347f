//! Templates of the lines of a log: lines that differ only in their numbers have one template.

use crate::digest::summarize::{Listed, Summarize};
use crate::text::count::{count, grouped};
use crate::text::similarity::{pattern, template};
use crate::text::timestamp;
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::{
    MAX_RARE_LINES, MIN_LOG_LINES, MOSTLY_ALIKE_PERCENT, RARE_TEMPLATE, REPEATING_PERCENT,
};
use crate::{Output, Result, terminal};
use memchr::memchr;
use std::collections::{HashMap, hash_map::Entry};
use std::ops::Range;

/// Maximum templates kept, which bounds memory. Lines with other templates are only counted.
const MAX_TEMPLATES: usize = 4_096;

/// Maximum bytes of a line that its template uses.
const LINE_BYTES: usize = 1_024;

/// Maximum characters printed of a template: one line of a terminal.
const PRINTED: usize = 100;

/// Templates of a log.
pub(crate) struct Templates {
    /// Templates, the most frequent first.
    templates: Vec<Template>,
    /// Number of lines whose template is not kept.
    others: u64,
    lines: u64,
}

struct Template {
    count: u64,
    /// Numbers of the first and the last line with this template, counted from 1.
    lines: (u64, u64),
    /// First line with this template.
    first: Range<u64>,
}

impl Templates {
    /// Templates of an output.
    pub(crate) fn of(output: &Output) -> Result<Templates> {
        let mut all = Known::default();
        for part in Output::in_parts(&output.parts()?, |part| Known::in_part(output, part))? {
            all.join(part);
        }
        let mut templates: Vec<Template> = all.templates.into_values().collect();
        templates.sort_by(|a, b| b.count.cmp(&a.count).then(a.first.start.cmp(&b.first.start)));
        Ok(Templates { templates, others: all.others, lines: all.lines })
    }

    /// Whether the log repeats itself, so that a template says more than any of its lines.
    pub(crate) fn are_alike(&self) -> bool {
        self.lines >= MIN_LOG_LINES && self.frequent_lines() * 100 >= self.lines * REPEATING_PERCENT
    }

    /// Offsets of the last lines of rare templates, if most lines have frequent ones.
    pub(crate) fn rare(&self) -> Vec<u64> {
        if self.lines < MIN_LOG_LINES || self.frequent_lines() * 100 < self.lines * MOSTLY_ALIKE_PERCENT {
            return Vec::new();
        }
        let rare = self.templates.iter().filter(|template| !template.is_frequent());
        let mut places: Vec<u64> = rare.map(|template| template.first.start).collect();
        places.sort_unstable();
        places.split_off(places.len().saturating_sub(MAX_RARE_LINES))
    }

    fn frequent_lines(&self) -> u64 {
        self.templates.iter().filter(|template| template.is_frequent()).map(|template| template.count).sum()
    }
}

impl Summarize for Templates {
    /// The most frequent templates with their counts.
    fn summary(&self, output: &Output, _: &Gap, room: u64) -> Result<Option<Summary>> {
        let mut listed = Listed::new(room);
        for template in self.templates.iter().filter(|template| template.is_frequent()) {
            let end = template.first.end.min(template.first.start + LINE_BYTES as u64);
            let bytes = terminal::screen(&output.read(template.first.start..end)?);
            let pattern = pattern(&String::from_utf8_lossy(timestamp::unstamped(&bytes)));
            let pattern = crate::shortened(&crate::printable(untimed(pattern.trim())), PRINTED);
            let (first, last) = template.lines;
            if !listed.take(format!("× {} in {first}–{last}: {pattern}", grouped(template.count))) {
                break;
            }
        }
        let lines = listed.lines;
        if lines.is_empty() {
            return Ok(None);
        }
        let more = match (self.templates.len() - lines.len(), self.others) {
            (0, 0) => String::new(),
            (more, 0) => format!(", {}", count("other", more as u64)),
            (_, others) => format!(", {} of other templates", count("line", others)),
        };
        let text = format!("templates of the whole output, with # for numbers{more}");
        Ok(Some(Summary::of_lines().saying(text).listing(lines)))
    }
}

impl Template {
    fn is_frequent(&self) -> bool {
        self.count > RARE_TEMPLATE
    }
}

/// Templates of a part of a log.
#[derive(Default)]
struct Known {
    templates: HashMap<u64, Template>,
    others: u64,
    lines: u64,
}

impl Known {
    fn in_part(output: &Output, part: Range<u64>) -> Result<Known> {
        let mut known = Known::default();
        // If a part begins inside a line, that line belongs to the part before it.
        let mut inside = part.start > 0 && output.read(part.start - 1..part.start)? != b"\n";
        let mut open: Vec<u8> = Vec::new();
        let mut opened = 0;
        output.for_each_block(part, |at, block| {
            let mut rest = 0;
            while let Some(newline) = memchr(b'\n', &block[rest..]) {
                let line = &block[rest..rest + newline];
                if inside {
                    inside = false;
                } else if open.is_empty() {
                    known.take(line, at + rest as u64);
                } else {
                    let room = LINE_BYTES.saturating_sub(open.len());
                    open.extend_from_slice(&line[..line.len().min(room)]);
                    known.take(&open, opened);
                    open.clear();
                }
                rest += newline + 1;
            }
            if rest < block.len() && !inside {
                if open.is_empty() {
                    opened = at + rest as u64;
                }
                let room = LINE_BYTES.saturating_sub(open.len());
                open.extend_from_slice(&block[rest..block.len().min(rest + room)]);
            }
        })?;
        if !open.is_empty() {
            known.take(&open, opened);
        }
        Ok(known)
    }

    /// Counts a line, or the beginning of a long one.
    fn take(&mut self, line: &[u8], start: u64) {
        self.lines += 1;
        let seen = timestamp::unstamped(&line[..line.len().min(LINE_BYTES)]).trim_ascii();
        if !seen.is_empty() {
            let first = start..start + line.len() as u64;
            self.add(template(seen), Template { count: 1, lines: (self.lines, self.lines), first });
        }
    }

    /// Adds the templates of the next part.
    fn join(&mut self, part: Known) {
        let mut templates: Vec<(u64, Template)> = part.templates.into_iter().collect();
        templates.sort_unstable_by_key(|(_, template)| template.first.start);
        for (key, template) in templates {
            let lines = (template.lines.0 + self.lines, template.lines.1 + self.lines);
            self.add(key, Template { lines, ..template });
        }
        self.others += part.others;
        self.lines += part.lines;
    }

    fn add(&mut self, key: u64, more: Template) {
        let full = self.templates.len() >= MAX_TEMPLATES;
        match self.templates.entry(key) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.count += more.count;
                known.lines.1 = more.lines.1;
            }
            Entry::Vacant(_) if full => self.others += more.count,
            Entry::Vacant(place) => drop(place.insert(more)),
        }
    }
}

/// A template without its first numbers if there are two or more: a date and a time.
fn untimed(pattern: &str) -> &str {
    let rest = pattern.trim_start_matches("# ");
    if pattern.starts_with("# # ") && !rest.is_empty() { rest } else { pattern }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::summarize::summary_of;
    use crate::store::memory::output_of;

    #[test]
    fn lines_that_differ_only_in_numbers_are_counted_together() {
        let mut text: String =
            (0..200).map(|line| format!("GET /items/{line} 200 in {} ms\n", line % 7)).collect();
        text += "the cache was cleared\n";
        text += &"heartbeat\n".repeat(30);
        let output = output_of(text.as_bytes());
        let templates = Templates::of(&output).unwrap();
        let said = summary_of(&templates, &output, 200).unwrap();
        expect_test::expect![[r#"
            templates of the whole output, with # for numbers, 1 other
            × 200 in 1–200: GET /items/# # in # ms
            × 30 in 202–231: heartbeat"#]]
        .assert_eq(&said);
        let rare = templates.rare();
        assert_eq!(rare.len(), 1);
        assert_eq!(output.newlines_before(rare[0]).unwrap(), 200);
    }

    #[test]
    fn the_time_is_not_a_part_of_a_template() {
        assert_eq!(untimed("# # INFO # of #"), "INFO # of #");
        assert_eq!(untimed("# files"), "# files");
    }

    #[test]
    fn a_log_that_repeats_itself_is_recognized() {
        let alike = |lines: u64, others: u64| {
            let mut text: String = (0..lines).map(|n| format!("GET /items/{n}\n")).collect();
            (0..others).for_each(|n| text += &format!("{}\n", "x".repeat(n as usize + 1)));
            Templates::of(&output_of(text.as_bytes())).unwrap().are_alike()
        };
        assert!(alike(95, 5));
        assert!(!alike(80, 20));
        assert!(!alike(40, 0));
    }

    #[test]
    fn very_many_templates_are_only_counted() {
        let letters = |mut n: u64| {
            let mut word = String::new();
            for _ in 0..6 {
                word.push(char::from(b'a' + (n % 26) as u8));
                n /= 26;
            }
            word
        };
        let text: String = (0..20_000).map(|n| format!("{}\n", letters(n * 7_919))).collect();
        let templates = Templates::of(&output_of(text.as_bytes())).unwrap();
        assert_eq!(templates.templates.len(), MAX_TEMPLATES);
        assert!(templates.others > 10_000 && templates.rare().is_empty());
    }
}
