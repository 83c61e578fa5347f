//! How an output begins and ends: what there is to see where nothing answers.

use super::visible;
use crate::{Budget, Output, Result};
use std::ops::Range;

/// So many lines are shown from the beginning and from the end: the first pair that fits.
const LINES: [(u64, u64); 5] = [(12, 4), (8, 3), (4, 2), (2, 1), (1, 0)];

/// Of a line so many bytes are shown.
const WIDE: u64 = 200;

/// How an output begins and ends, as much as fits behind what is said already.
pub(super) fn ends(output: &Output, said: &[u8], budget: Budget) -> Result<Vec<u8>> {
    let lines = output.lines()?;
    for (first, last) in LINES {
        let begins = 0..first.min(lines);
        let ended = lines.saturating_sub(last).max(begins.end)..lines;
        let text = part(output, "begins", begins)? + &part(output, "ends", ended)?;
        if budget.holds(&[said, text.as_bytes()].concat()) {
            return Ok(text.into_bytes());
        }
    }
    Ok(Vec::new())
}

/// Some lines, counted from 0, under what they are; nothing, if they are blank.
fn part(output: &Output, what: &str, lines: Range<u64>) -> Result<String> {
    let shown = lines.clone().map(|line| line_at(output, line)).collect::<Result<Vec<String>>>()?;
    Ok(match (lines.end - lines.start, shown.iter().all(|line| line.trim().is_empty())) {
        (_, true) => String::new(),
        (1, _) => format!("[it {what} with line {}]\n{}\n", lines.end, shown.concat()),
        _ => format!("[it {what} with lines {}–{}]\n{}\n", lines.start + 1, lines.end, shown.join("\n")),
    })
}

/// The beginning of a line, as a terminal would show it.
fn line_at(output: &Output, line: u64) -> Result<String> {
    let start = output.line_start(line)?;
    let end = output.line_end_near(start, WIDE)?;
    let goes_on = end - start == WIDE && end < output.len();
    let text = visible(&output.read(start..end)?);
    // What is cut may end inside a character.
    let text = text.trim_end_matches(['\n', '\u{fffd}']);
    Ok(if goes_on { format!("{text}…") } else { text.to_owned() })
}
