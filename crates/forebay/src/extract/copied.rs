//! Lines that an answer copies from the output: a copy proves itself. A line with the wrong number gets the right one, and
//! for a small model the neighbours of copied lines are added.

use crate::extract::lines::{
    LONG_LINE, MOST, SHORTEST, bare, for_each_line, is_fence, number_before, single_blanks,
};
use crate::extract::wrapper::Report;
use crate::terminal::{as_printed, visible};
use crate::{Output, Result, tokens};
use aho_corasick::AhoCorasick;
use std::collections::BTreeSet;

/// Lines of an unusable answer that occur in its document.
pub(crate) struct Copied {
    pub(crate) report: Report,
    /// Whether these are all of its lines.
    pub(crate) is_whole: bool,
}

/// Keeps the lines of an answer that occur in the document; `None` if there are none.
pub(crate) fn copied(document: &str, answer: Report) -> Option<Copied> {
    /// Shorter lines, such as brackets, are in every document.
    const SHORTEST: usize = 6;
    let document = document.lines().map(single_blanks).collect::<Vec<_>>().join("\n");
    let lines: Vec<&str> =
        answer.text.lines().filter(|line| !line.trim().is_empty() && !is_fence(line)).collect();
    let is_there = |line: &&&str| {
        let text = single_blanks(bare(line));
        text.chars().count() >= SHORTEST && document.contains(&text)
    };
    let kept: Vec<&str> = lines.iter().filter(is_there).copied().collect();
    let is_whole = kept.len() == lines.len();
    let text = kept.join("\n");
    (!kept.is_empty()).then_some(Copied { report: Report { text, ..answer }, is_whole })
}

/// A line that an abstract copies, and the places where the output has it.
struct CopiedLine {
    /// Position among the lines of the abstract.
    at: usize,
    /// The number that the model wrote; 0 if none, so that the first of several places is used.
    number: u64,
    /// The text, with single blanks.
    text: String,
    /// The nearest line to the number, of the lines that equal the text and of those that contain it.
    same: Option<(u64, String)>,
    contains: Option<(u64, String)>,
}

impl CopiedLine {
    /// Takes a line of the output into account.
    fn meet(&mut self, number: u64, line: &str, is_same: bool) {
        let place = if is_same { &mut self.same } else { &mut self.contains };
        let is_nearer = place
            .as_ref()
            .is_none_or(|(known, _)| number.abs_diff(self.number) < known.abs_diff(self.number));
        if is_nearer {
            *place = Some((number, line.to_owned()));
        }
    }
}

/// Longest line that is given whole in place of a part of it that the model copied, in characters.
const WHOLE_LINE: usize = 400;

/// The abstract with the right number before each line that it copies, with one or without, and the whole line for a
/// part of it. Small models copy the text more faithfully than the number.
pub(crate) fn renumbered(output: &Output, text: &str) -> Result<String> {
    let mut wanted: Vec<CopiedLine> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let (number, least) = match number_before(line) {
            Some((number, _)) => (number, 3),
            None => (0, SHORTEST),
        };
        let text = single_blanks(bare(line));
        if text.chars().count() >= least && wanted.len() < MOST {
            wanted.push(CopiedLine { at, number, text, same: None, contains: None });
        }
    }
    let Ok(search) = AhoCorasick::new(wanted.iter().map(|quote| &quote.text)) else {
        return Ok(text.to_owned());
    };
    if wanted.is_empty() || output.lines()? <= 1 {
        return Ok(text.to_owned());
    }
    let mut number = 1;
    for_each_line(output, |line, is_end| {
        let (at, next) = (number, number + u64::from(is_end));
        number = next;
        let shown = as_printed(line);
        let blanks = single_blanks(&shown);
        let unstamped = single_blanks(&visible(line)).len();
        for place in search.find_overlapping_iter(&blanks) {
            let quote = &mut wanted[place.pattern().as_usize()];
            let is_same = quote.text.len() == blanks.len() || quote.text.len() == unstamped;
            if is_same || quote.text.chars().count() >= SHORTEST {
                quote.meet(at, shown.trim_end(), is_same);
            }
        }
    })?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for quote in wanted {
        let Some((number, line)) = quote.same.or(quote.contains) else { continue };
        let whole = line.chars().count() <= WHOLE_LINE;
        // A part of a long line without a number is as clear as one with it.
        if !whole && quote.number == 0 {
            continue;
        }
        lines[quote.at] = format!("{number}: {}", if whole { &line } else { &quote.text });
    }
    Ok(lines.join("\n"))
}

/// Lines shown before and after each copied line. With 2, answers of a 1.5B model to three questions about searches held
/// 67 % of the lines that answer instead of 28 % (bench/README.md).
const BESIDE: u64 = 2;

/// The abstract with the lines beside those that it copies, as many as fit in `room` tokens. They have a `-` behind their
/// number, as the context of grep has. A small model copies the line that names a failure and stops before its cause.
pub(crate) fn with_lines_beside(output: &Output, text: &str, room: u64) -> Result<String> {
    for beside in (1..=BESIDE).rev() {
        let wide = lines_beside(output, text, beside)?;
        if tokens::count(&wide) <= room {
            return Ok(wide);
        }
    }
    Ok(text.to_owned())
}

fn lines_beside(output: &Output, text: &str, beside: u64) -> Result<String> {
    let last = output.lines()?;
    let line_at = |number: u64| -> Result<String> {
        let start = output.line_start(number - 1)?;
        let end = output.line_start(number)?.min(start + LONG_LINE as u64);
        Ok(as_printed(&output.shown(start..end)?).trim_end().to_owned())
    };
    let mut copied: Vec<Option<u64>> = Vec::new();
    for line in text.lines() {
        let number = line.split_once(": ").and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        copied.push(match number {
            Some((number, rest)) if (1..=last).contains(&number) => {
                let (there, rest) = (single_blanks(&line_at(number)?), single_blanks(rest));
                (!rest.is_empty() && there.contains(&rest)).then_some(number)
            }
            _ => None,
        });
    }
    let mut shown: BTreeSet<u64> = copied.iter().copied().flatten().collect();
    let mut lines: Vec<String> = Vec::new();
    let mut show = |number: u64, lines: &mut Vec<String>| -> Result<()> {
        if (1..=last).contains(&number) && shown.insert(number) {
            let line = line_at(number)?;
            if line.chars().count() <= WHOLE_LINE {
                lines.push(format!("{number}- {line}"));
            }
        }
        Ok(())
    };
    for (line, number) in text.lines().zip(copied) {
        let Some(number) = number else {
            lines.push(line.to_owned());
            continue;
        };
        for before in number.saturating_sub(beside)..number {
            show(before, &mut lines)?;
        }
        lines.push(line.to_owned());
        for after in number + 1..=number + beside {
            show(after, &mut lines)?;
        }
    }
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn lines_beside_copied_ones_are_shown_once_and_as_many_as_fit() {
        let output = output_of(b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
        let table = [
            (
                "It fails:\n4: four\nSo it is.",
                "It fails:\n2- two\n3- three\n4: four\n5- five\n6- six\nSo it is.",
            ),
            ("4: four\n6: six", "2- two\n3- three\n4: four\n5- five\n6: six\n7- seven\n8- eight"),
            ("1: one\n9: nine", "1: one\n2- two\n3- three\n7- seven\n8- eight\n9: nine"),
            // Lines that say something else, and numbers of lines that are not there.
            ("5: six\n99: ninety\n0: none", "5: six\n99: ninety\n0: none"),
            ("no line is copied", "no line is copied"),
        ];
        for (text, expected) in table {
            assert_eq!(with_lines_beside(&output, text, 1_000).unwrap(), expected);
        }
        let text = "4: four";
        assert_eq!(with_lines_beside(&output, text, 14).unwrap(), "3- three\n4: four\n5- five");
        assert_eq!(with_lines_beside(&output, text, 3).unwrap(), text);
    }

    #[test]
    fn a_copied_line_gets_its_right_number() {
        let text: String = (1..=300).map(|n| format!("line {n} of   the log\n")).collect();
        let text = text.replace("line 200 of", "error: disk is full at") + "}\n";
        let output = output_of(text.as_bytes());
        let table = [
            ("200: error: disk is full at   the log", "200: error: disk is full at   the log"),
            ("3: error: disk is full at the log", "200: error: disk is full at   the log"),
            // A part of a line stands for the line, and a list or code for nothing.
            ("- `7: error: disk is full`", "200: error: disk is full at   the log"),
            ("Line 12: line 14 of the log\nso it is", "14: line 14 of   the log\nso it is"),
            // What is nowhere keeps its number, and prose is left alone.
            ("9: error: the moon is full", "9: error: the moon is full"),
            ("It says error: disk is full.", "It says error: disk is full."),
            ("So:\nerror: disk is full", "So:\n200: error: disk is full at   the log"),
            ("the log", "the log"),
            ("301: }", "301: }"),
        ];
        for (text, expected) in table {
            assert_eq!(renumbered(&output, text).unwrap(), expected);
        }
        let stamped = output_of(
            b"2024-05-01T10:00:00.1234567Z start\n2024-05-01T10:00:01.1234567Z ##[error]no disk left\n",
        );
        for text in ["7: ##[error]no disk left", "2024-05-01T10:00:01.1234567Z ##[error]no disk left"] {
            let whole = "2: 2024-05-01T10:00:01.1234567Z ##[error]no disk left";
            assert_eq!(renumbered(&stamped, text).unwrap(), whole);
            let beside = "1- 2024-05-01T10:00:00.1234567Z start\n";
            assert_eq!(with_lines_beside(&stamped, whole, 1_000).unwrap(), format!("{beside}{whole}"));
        }
    }

    #[test]
    fn lines_of_an_answer_are_kept_if_the_document_has_them() {
        let document = "1: the first line\n2: error: disk is full\n";
        let table = [
            ("2: error: disk is full", Some(("2: error: disk is full", true))),
            ("It is full:\n```\nerror:  disk is full\n```", Some(("error:  disk is full", false))),
            ("error: the moon is full", None),
            ("}", None),
        ];
        for (text, expected) in table {
            let answer = Report { text: text.to_owned(), leniencies: Vec::new() };
            let copied = copied(document, answer);
            let shown = copied.as_ref().map(|copied| (copied.report.text.as_str(), copied.is_whole));
            assert_eq!(shown, expected, "{text}");
        }
    }
}
