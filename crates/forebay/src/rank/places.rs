//! Places that a question about a file names: definitions, numbers of lines, and its end.
//!
//! "Update `parse_date` (lines 40-52)" is answered by the definition of `parse_date` and by these lines, whatever words they
//! have. A definition is shown whole: an edit must repeat it.

use crate::classify::form::{Form, form};
use crate::outline;
use crate::rank::interest::{is_name, words};
use crate::rank::passage::RankedUnit;
use crate::rank::question::Question;
use crate::rank::scan::TextUnits;
use crate::terminal::visible;
use crate::text::gutter::numbered;
use crate::text::pattern::compiled;
use crate::weights::{places as weights, rows::MAX_PARSED_PROGRAM};
use crate::{Output, Result};
use regex::bytes::{Match, Regex};
use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

/// `line 40`, `lines 561-615`, `lines 346 to 362 and 543-557`.
static LINES: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\blines?\s+(~?\d+(?:\s*(?:-|–|to)\s*\d+)?(?:(?:,\s*|\s+and\s+)\d+(?:\s*(?:-|–|to)\s*\d+)?)*)",
    )
});

/// One of its ranges.
static RANGE: LazyLock<Regex> = LazyLock::new(|| compiled(r"(\d+)(?:\s*(?:-|–|to)\s*(\d+))?"));

/// The end and the beginning of a file.
static END: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)\b(?:end|bottom) of (?:the|this|that) (?:\w+ )?(?:file|document|module|plan)\b")
});
static BEGINNING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)\b(?:start|beginning|top) of (?:the|this|that) (?:\w+ )?(?:file|document|module|plan)\b")
});

/// Units of the places that a question names in a program, as shares of the score of the best unit; none elsewhere.
pub(crate) fn named(output: &Output, question: &Question) -> Result<Vec<RankedUnit>> {
    if output.len() > MAX_PARSED_PROGRAM {
        return Ok(Vec::new());
    }
    let (names, lines) = (names(&question.text), line_numbers(&question.text));
    let asks_for = |end: &Regex| end.is_match(question.text.as_bytes());
    let (end, beginning) = (asks_for(&END), asks_for(&BEGINNING));
    let is_named = !names.is_empty() || !lines.is_empty() || end || beginning;
    if !is_named || !matches!(form(output)?, Form::Code(_) | Form::Markdown | Form::Rst) {
        return Ok(Vec::new());
    }
    let outline = outline::outline_parsing(output, MAX_PARSED_PROGRAM)?;
    let bytes = output.read(0..output.len())?;
    let file = File::of(&bytes);
    let mut scores: HashMap<usize, f32> = HashMap::new();
    let mut give = |lines: RangeInclusive<u64>, score: f32| {
        for (at, line) in lines.take(weights::MOST_LINES).enumerate() {
            let score = score * weights::NEXT_LINE.powi(at as i32);
            for unit in file.units_of(line) {
                let known = scores.entry(unit).or_insert(0.0);
                *known = known.max(score);
            }
        }
    };
    for (order, name) in names.into_iter().enumerate() {
        let defined =
            outline.items.iter().filter(|item| item.symbol.as_ref().is_some_and(|it| it.name == name));
        for item in defined.take(weights::MOST_OF_A_NAME) {
            give(item.line..=item.last_line, weights::DEFINITION * weights::NEXT_NAME.powi(order as i32));
        }
    }
    for lines in lines {
        if let Some(lines) = file.lines(&lines) {
            give(lines, weights::NAMED_LINES);
        }
    }
    let last = file.starts.len() as u64;
    if end {
        give(last.saturating_sub(weights::END_LINES).max(1)..=last, weights::NAMED_LINES);
    }
    if beginning {
        give(1..=weights::END_LINES.min(last), weights::NAMED_LINES);
    }
    let mut units: Vec<RankedUnit> = scores
        .into_iter()
        .map(|(at, score)| {
            let range = file.units[at].clone();
            let text = visible(&bytes[range.clone()]);
            RankedUnit { index: at as u64, range: range.start as u64..range.end as u64, text, score }
        })
        .collect();
    units.sort_by_key(|unit| unit.index);
    Ok(units)
}

/// Adds units of named places to those that have the words of a question.
pub(crate) fn with_named(mut units: Vec<RankedUnit>, named: Vec<RankedUnit>) -> Vec<RankedUnit> {
    let best = units.iter().map(|unit| unit.score).fold(0.0, f32::max);
    let best = if best > 0.0 { best } else { 1.0 };
    let known: HashMap<u64, usize> = units.iter().enumerate().map(|(at, unit)| (unit.index, at)).collect();
    for unit in named {
        let score = best * unit.score;
        match known.get(&unit.index) {
            Some(&at) => units[at].score = units[at].score.max(score),
            None => units.push(RankedUnit { score, ..unit }),
        }
    }
    units
}

/// Names in a question, each once, in their order.
fn names(question: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in words(question.as_bytes()).filter(|word| is_name(word)) {
        if let Ok(name) = std::str::from_utf8(name)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names.truncate(weights::MOST_NAMES);
    names
}

/// Ranges of line numbers that a question names.
fn line_numbers(question: &str) -> Vec<RangeInclusive<u64>> {
    let number = |found: Option<Match>| std::str::from_utf8(found?.as_bytes()).ok()?.parse::<u64>().ok();
    let mut ranges = Vec::new();
    for found in LINES.captures_iter(question.as_bytes()) {
        for range in RANGE.captures_iter(found.get(1).map_or(b"", |list| list.as_bytes())) {
            let Some(first) = number(range.get(1)) else { continue };
            ranges.push(first..=number(range.get(2)).unwrap_or(first).max(first));
        }
    }
    ranges
}

/// Lines of a file, and the units of each.
struct File {
    units: Vec<Range<usize>>,
    /// First unit of each line.
    starts: Vec<usize>,
    /// Number that is printed before the first line, if the lines are numbered.
    first: Option<u64>,
}

impl File {
    fn of(bytes: &[u8]) -> File {
        let units: Vec<Range<usize>> = TextUnits { bytes, at: 0 }.collect();
        let begins = |unit: &Range<usize>| unit.start == 0 || bytes[unit.start - 1] == b'\n';
        let starts = (0..units.len()).filter(|&at| begins(&units[at])).collect();
        let first = units.first().and_then(|unit| numbered(&bytes[unit.clone()])).map(|(number, _)| number);
        File { units, starts, first }
    }

    /// Lines of the output that have these numbers in the file, if it has the first of them.
    fn lines(&self, numbers: &RangeInclusive<u64>) -> Option<RangeInclusive<u64>> {
        let before = self.first.unwrap_or(1).saturating_sub(1);
        let first = numbers.start().checked_sub(before).filter(|first| *first > 0)?;
        let last = (numbers.end() - before).min(self.starts.len() as u64);
        (first <= last).then_some(first..=last)
    }

    /// Units of a line, counted from 1.
    fn units_of(&self, line: u64) -> Range<usize> {
        let of = |line: usize| self.starts.get(line).copied().unwrap_or(self.units.len());
        let line = line.saturating_sub(1) as usize;
        of(line)..of(line + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "lang-python")]
    use crate::{Call, Session, Timestamp, store::memory::output_of_call};

    #[test]
    fn numbers_of_lines_are_found_in_a_question() {
        let table: &[(&str, &[RangeInclusive<u64>])] = &[
            ("the code at lines 346-362 and 543-557 where", &[346..=362, 543..=557]),
            ("on line 63.", &[63..=63]),
            ("Lines 12 to 14, 20", &[12..=14, 20..=20]),
            ("in 40 lines of code", &[]),
            ("the deadline 4 passed", &[]),
        ];
        for (question, expected) in table {
            assert_eq!(line_numbers(question), *expected, "{question}");
        }
    }

    #[cfg(feature = "lang-python")]
    #[test]
    fn a_question_leads_to_what_it_names_in_a_file() {
        let part = |n: u64| format!("def handle_{n}(value):\n    first = {n}\n    return first\n\n");
        let source: String = (0..30).map(part).collect();
        let numbered: String =
            source.lines().enumerate().map(|(at, line)| format!("{:6}→{line}\n", at + 101)).collect();
        let lines = |text: &str, question: &str| -> Vec<u64> {
            let args = serde_json::json!({ "file_path": "a.py" }).to_string();
            let call = Call::new(Session::safe("s"), "id1234", "Read", Timestamp::UNIX_EPOCH);
            let output = output_of_call(&Call { args: Some(args), ..call }, text.as_bytes());
            let units = named(&output, &Question::new(question)).unwrap();
            units.iter().map(|unit| unit.index + 1).collect()
        };
        for (question, expected) in [
            ("update handle_3 to take two values", &[13, 14, 15][..]),
            ("change lines 5-6", &[5, 6]),
            ("nothing is named", &[]),
        ] {
            assert_eq!(lines(&source, question), expected, "{question}");
        }
        assert_eq!(lines(&numbered, "change lines 105-106"), [5, 6]);
        assert_eq!(lines(&numbered, "change lines 5-6"), [0u64; 0], "the file has no such lines here");
        let end = lines(&source, "add a test at the end of the file");
        assert_eq!((end.len() as u64, end.last()), (weights::END_LINES + 1, Some(&120)));
        let log = "10:00 INFO line 4 was read\n".repeat(40);
        assert_eq!(lines(&log, "what says line 4?"), [0u64; 0], "it is no file");
    }
}
