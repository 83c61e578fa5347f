//! Quotes in an abstract are searched in the output, and a quote that is not there is marked.

use crate::extract::lines::{LONGEST, MOST, SHORTEST, for_each_line, is_fence, number_before, single_blanks};
use crate::terminal::visible;
use crate::{Output, Result};
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// Mark behind a quote that is not in the output.
const NOT_FOUND: &str = " [not found in the output]";

/// A quote in an abstract.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Quote {
    /// Position of the mark.
    end: usize,
    /// The mark.
    mark: String,
    /// Text that must be in the output; a quote with an ellipsis has several parts.
    parts: Vec<String>,
}

/// An abstract whose quotes are checked.
pub(crate) struct Checked {
    /// The abstract, with a mark behind each quote that is not in the output.
    pub(crate) text: String,
    /// Number of those quotes.
    pub(crate) missing: u64,
}

/// Checks the quotes of an abstract.
pub(crate) fn checked(output: &Output, text: &str) -> Result<Checked> {
    // A model copies masks, which stand nowhere in the output.
    let is_masked = |quote: &Quote| quote.parts.iter().any(|part| part.contains("[secret: "));
    let quotes: Vec<Quote> = quotes(text).into_iter().filter(|quote| !is_masked(quote)).take(MOST).collect();
    if quotes.is_empty() {
        return Ok(Checked { text: text.to_owned(), missing: 0 });
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
    Ok(Checked { text: marked, missing: missing.len() as u64 })
}

/// The quotes in a text: lines of code blocks and block quotes, and text between quotation marks.
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

/// Texts between quotation marks in a line, and where the line continues after each.
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

/// Whether each of `parts` is in the output, byte for byte or as JSON writes it.
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

/// Searches for missing parts in the lines as a terminal shows them, with single blanks.
fn found_as_it_looks(output: &Output, parts: &[&str], found: &mut [bool]) -> Result<()> {
    let missing: Vec<usize> = (0..parts.len()).filter(|&part| !found[part]).collect();
    let Ok(search) = AhoCorasick::new(missing.iter().map(|&part| single_blanks(parts[part]))) else {
        return Ok(());
    };
    let search_line = |line: &[u8], _: bool| {
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
    for_each_line(output, search_line)
}

/// A text without the escapes of JSON strings.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

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
            let Checked { text: marked, missing } = checked(&output, text).unwrap();
            assert_eq!(missing, expected, "{marked}");
            assert_eq!(marked.matches(NOT_FOUND).count() as u64, expected, "{marked}");
        }
        let Checked { text: marked, missing } = checked(&output, "9: error: the moon is full").unwrap();
        assert_eq!((marked.as_str(), missing), ("9: error: the moon is full [not found in the output]", 1));
        let Checked { text: marked, .. } =
            checked(&output, "```\n{\"none\": \"such at all\"}\n```\nso").unwrap();
        assert_eq!(
            marked,
            "```\n{\"none\": \"such at all\"}\n```\n`{\"none\": \"such at all\"}` [not found in the output]\nso"
        );
        let Checked { text: marked, .. } = checked(&output, "“out of memory here”, it says").unwrap();
        assert_eq!(marked, "“out of memory here” [not found in the output], it says");
    }

    #[test]
    fn a_quote_from_the_seam_of_two_blocks_is_found() {
        for fill in [(1 << 20) - 9, 65_536 - 9, 262_144 - 9] {
            let text = "x".repeat(fill) + "the wanted sentence" + &"y".repeat(2 << 20);
            let Checked { missing, .. } =
                checked(&output_of(text.as_bytes()), "\"the wanted sentence\"").unwrap();
            assert_eq!(missing, 0, "{fill}");
        }
    }
}
