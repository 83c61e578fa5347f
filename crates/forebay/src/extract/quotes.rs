//! Quotes in an abstract are looked for in the output. A line that stands elsewhere than its number says gets the right
//! number, and a quote that is not in the output is marked.

use crate::extract::wrapper::Report;
use crate::terminal::{as_printed, visible};
use crate::{Output, Result, tokens};
use aho_corasick::AhoCorasick;
use memchr::memchr;
use std::collections::BTreeSet;
use std::ops::Range;

/// Mark behind a quote that is nowhere in the output.
const NOT_FOUND: &str = " [not found in the output]";

/// Shorter words in quotation marks are names or terms as often as quotes.
const SHORTEST: usize = 12;

/// No more quotes than this are looked for.
const MOST: usize = 256;

/// No more of a quote than this is looked for.
const LONGEST: usize = 1_024;

/// Longer lines are looked at in parts, in bytes.
const LONG_LINE: usize = 64 * 1024;

/// A quote in an abstract.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Quote {
    /// Where a mark belongs.
    end: usize,
    /// The mark.
    mark: String,
    /// Text that must be in the output; where the quote leaves something out, all of its parts.
    parts: Vec<String>,
}

/// The lines of an unusable answer that are in the document it is about.
pub(crate) struct Copied {
    pub(crate) report: Report,
    /// Whether these are all of its lines.
    pub(crate) is_whole: bool,
}

/// Keeps the lines of an answer that the document has; `None` if it has none of them.
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
    /// Which line of the abstract it is.
    at: usize,
    /// The number that the model gave it; 0 if none, so that the first of several places counts.
    number: u64,
    /// The text, with single blanks.
    text: String,
    /// The line that is nearest to the number, of those that are the same and of those that contain the text.
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
        Ok(as_printed(&output.read(start..end)?).trim_end().to_owned())
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

/// The number before a line that a model copied with it, and the line.
fn number_before(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-*>`[".contains(c));
    let line = line.strip_prefix("Line ").or_else(|| line.strip_prefix("line ")).unwrap_or(line);
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = line[..line.len() - rest.len()].parse().ok()?;
    let rest = rest.strip_prefix(']').unwrap_or(rest).trim_start_matches('*');
    Some((number, rest.strip_prefix([':', '|', '.', ')'])?))
}

/// A line of an answer without its number and without the marks of a list or of code.
fn bare(line: &str) -> &str {
    let line = number_before(line).map_or(line, |(_, rest)| rest);
    line.trim().trim_start_matches(['-', '*', '>']).trim().trim_matches('`').trim()
}

/// The abstract with every quote marked that is not in the output, and how many those are.
pub(crate) fn checked(output: &Output, text: &str) -> Result<(String, u64)> {
    let quotes: Vec<Quote> = quotes(text).into_iter().take(MOST).collect();
    if quotes.is_empty() {
        return Ok((text.to_owned(), 0));
    }
    let parts: Vec<&str> = quotes.iter().flat_map(|quote| &quote.parts).map(String::as_str).collect();
    let mut found = found_as_it_is(output, &parts)?;
    if found.contains(&false) {
        found_as_it_looks(output, &parts, &mut found)?;
    }
    let mut rest = found.as_slice();
    let mut missing: Vec<&Quote> = Vec::new();
    for quote in &quotes {
        let (own, others) = rest.split_at(quote.parts.len());
        rest = others;
        if own.contains(&false) {
            missing.push(quote);
        }
    }
    let mut marked = text.to_owned();
    // From the end on, so that the places before stay where they are.
    missing.iter().rev().for_each(|quote| marked.insert_str(quote.end, &quote.mark));
    Ok((marked, missing.len() as u64))
}

/// The quotes in a text: lines of code blocks and block quotes, and what stands between quotation marks.
fn quotes(text: &str) -> Vec<Quote> {
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line.trim_end_matches(['\n', '\r'])))
        })
        .collect();
    let mut quotes = Vec::new();
    let mut number = 0;
    while let Some(&(at, line)) = lines.get(number) {
        let end = at + line.len();
        let closing = lines.iter().skip(number + 1).position(|(_, line)| is_fence(line));
        match (is_fence(line), closing) {
            (true, Some(length)) => {
                // A mark inside would break what the block shows.
                let (at, line) = lines[number + 1 + length];
                let end = at + line.len();
                for (_, line) in &lines[number + 1..number + 1 + length] {
                    let mark = format!("\n`{}`{NOT_FOUND}", crate::shortened(line.trim(), 60));
                    quotes.extend(quote(line.trim(), end, &mark));
                }
                number += length + 1;
            }
            _ => match line.trim().strip_prefix('>').or(number_before(line).map(|(_, quoted)| quoted)) {
                Some(quoted) => quotes.extend(quote(quoted.trim(), end, NOT_FOUND)),
                None => quotes.extend(
                    between_marks(line)
                        .filter_map(|(inside, behind)| quote(&line[inside], at + behind, NOT_FOUND)),
                ),
            },
        }
        number += 1;
    }
    quotes
}

/// Whether a line opens or closes a block of code.
fn is_fence(line: &str) -> bool {
    line.trim().strip_prefix("```").is_some_and(|rest| !rest.contains('`'))
}

/// Texts between quotation marks in a line, and where the line goes on behind them.
fn between_marks(line: &str) -> impl Iterator<Item = (Range<usize>, usize)> {
    const MARKS: [(char, char); 3] = [('`', '`'), ('"', '"'), ('“', '”')];
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let (open, (opening, closing)) = line[at..].char_indices().find_map(|(place, c)| {
                MARKS.iter().find(|(open, _)| *open == c).map(|marks| (at + place, *marks))
            })?;
            let start = open + opening.len_utf8();
            match line[start..].find(closing) {
                Some(length) => {
                    at = start + length + closing.len_utf8();
                    return Some((start..start + length, at));
                }
                None => at = start,
            }
        }
    })
}

/// A quote, if it is long enough to be one.
fn quote(text: &str, end: usize, mark: &str) -> Option<Quote> {
    let parts: Vec<String> = text
        .split('…')
        .flat_map(|part| part.split("..."))
        .map(|part| unnumbered(part.trim()))
        .filter(|part| part.chars().count() >= SHORTEST)
        .map(|part| part.chars().take(LONGEST).collect())
        .collect();
    (!parts.is_empty()).then(|| Quote { end, mark: mark.to_owned(), parts })
}

/// A line without the number that a reader puts before it.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < line.len() {
        rest.strip_prefix([':', '|', '-']).map_or(line, str::trim_start)
    } else {
        line
    }
}

/// Which of `parts` stand in the output, byte for byte or as JSON writes them.
fn found_as_it_is(output: &Output, parts: &[&str]) -> Result<Vec<bool>> {
    let escaped = |part: &&str| serde_json::to_string(part).map(|json| json[1..json.len() - 1].to_owned());
    let needles: Vec<String> = parts
        .iter()
        .map(|part| (*part).to_owned())
        .chain(parts.iter().map(|part| escaped(part).unwrap_or_default()))
        .collect();
    let mut found = vec![false; parts.len()];
    let Ok(search) = AhoCorasick::new(&needles) else { return Ok(found) };
    let overlap = needles.iter().map(String::len).max().unwrap_or(0);
    let mut window: Vec<u8> = Vec::new();
    output.for_each_block(0..output.len(), |_, block| {
        window.extend_from_slice(block);
        for place in search.find_overlapping_iter(&window) {
            found[place.pattern().as_usize() % parts.len()] = true;
        }
        window.drain(..window.len().saturating_sub(overlap));
    })?;
    Ok(found)
}

/// Looks for those that are missing in the lines as a terminal shows them, one blank for many.
fn found_as_it_looks(output: &Output, parts: &[&str], found: &mut [bool]) -> Result<()> {
    let missing: Vec<usize> = (0..parts.len()).filter(|&part| !found[part]).collect();
    let Ok(search) = AhoCorasick::new(missing.iter().map(|&part| single_blanks(parts[part]))) else {
        return Ok(());
    };
    let look = |line: &[u8], _: bool| {
        let shown = visible(line);
        let mut search_in = |text: &str| {
            for place in search.find_overlapping_iter(&single_blanks(text)) {
                found[missing[place.pattern().as_usize()]] = true;
            }
        };
        search_in(&shown);
        if shown.contains('\\') {
            search_in(&unescaped(&shown));
        }
    };
    for_each_line(output, look)
}

/// Gives each line without its newline, and whether it ends there: lines longer than [`LONG_LINE`] come in parts that
/// overlap.
fn for_each_line(output: &Output, mut take: impl FnMut(&[u8], bool)) -> Result<()> {
    let mut rest: Vec<u8> = Vec::new();
    output.for_each_block(0..output.len(), |_, block| {
        rest.extend_from_slice(block);
        let mut used = 0;
        while let Some(newline) = memchr(b'\n', &rest[used..]) {
            take(&rest[used..used + newline], true);
            used += newline + 1;
        }
        if rest.len() - used > LONG_LINE {
            take(&rest[used..], false);
            used = rest.len() - LONGEST;
        }
        rest.drain(..used);
    })?;
    take(&rest, true);
    Ok(())
}

/// A text with the escapes of JSON strings replaced by what they stand for.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let code = after.strip_prefix('u').and_then(|hex| u32::from_str_radix(hex.get(..4)?, 16).ok());
        let (stands_for, length) = match (code.and_then(char::from_u32), after.chars().next()) {
            (Some(character), _) => (character, 5),
            (None, Some('n' | 't' | 'r')) => (' ', 1),
            (None, Some(character)) => (character, character.len_utf8()),
            (None, None) => break,
        };
        plain.push(stands_for);
        rest = &after[length..];
    }
    plain + rest
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
    fn a_quote_that_is_not_in_the_output_is_marked() {
        let output = output_of(
            b"\"caf\\u00e9 au lait at https:\\/\\/x.y\\/z\"\n\x1b[31merror:\x1b[0m disk   is full\nat main.rs:12:5\n{\"path\":\"C:\\\\temp\\\\a file\"}\nassertion failed: left == right\n",
        );
        let table = [
            // As it stands, as it looks on a terminal, as JSON writes it.
            ("It says \"assertion failed: left == right\".", 0),
            ("It says `error: disk is full` at once.", 0),
            ("The path is `C:\\temp\\a file`.", 0),
            // With a line number before it, and with something left out.
            ("```\n4: assertion failed: left == right\n```", 0),
            ("> assertion failed … left == right", 0),
            // Names are no quotes.
            ("The \"store\" is `full`.", 0),
            ("It says \"assertion failed: left != right\".", 1),
            ("> error: memory is full\n> error: disk is full", 1),
            ("```\nno such line as this\nassertion failed: left == right\n```", 1),
            ("“out of memory here” and “disk   is full”", 1),
            // A block in one line is no fence, and neither is one that is never closed.
            ("```error: disk is full```\nAll of this is prose, and long.", 0),
            ("```\nAll of this is prose, and long.", 0),
            // As JSON may write it.
            ("It has `café au lait at https://x.y/z`.", 0),
        ];
        for (text, expected) in table {
            let (marked, missing) = checked(&output, text).unwrap();
            assert_eq!(missing, expected, "{marked}");
            assert_eq!(marked.matches(NOT_FOUND).count() as u64, expected, "{marked}");
        }
        let (marked, _) = checked(&output, "```\n{\"none\": \"such at all\"}\n```\nso").unwrap();
        assert_eq!(
            marked,
            "```\n{\"none\": \"such at all\"}\n```\n`{\"none\": \"such at all\"}` [not found in the output]\nso"
        );
        let (marked, _) = checked(&output, "“out of memory here”, it says").unwrap();
        assert_eq!(marked, "“out of memory here” [not found in the output], it says");
    }

    #[test]
    fn a_line_that_is_given_with_a_number_gets_the_right_one() {
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
        let (marked, missing) = checked(&output, "9: error: the moon is full").unwrap();
        assert_eq!((marked.as_str(), missing), ("9: error: the moon is full [not found in the output]", 1));
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

    #[test]
    fn a_quote_from_the_seam_of_two_blocks_is_found() {
        for fill in [(1 << 20) - 9, 65_536 - 9, 262_144 - 9] {
            let text = "x".repeat(fill) + "the wanted sentence" + &"y".repeat(2 << 20);
            let (_, missing) = checked(&output_of(text.as_bytes()), "\"the wanted sentence\"").unwrap();
            assert_eq!(missing, 0, "{fill}");
        }
    }
}
