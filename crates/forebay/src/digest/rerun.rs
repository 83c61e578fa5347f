//! What changed since the same call was made before.
//!
//! What is new counts more, and what is gone is told, since no view of this output could show it. Nothing counts less
//! for having been there before: a failure that persists is as bad as a new one.

use crate::rank::passage::Unit;
use crate::text::count::{count, grouped};
use crate::text::similarity::template;
use crate::text::timestamp;
use crate::{Output, Result, printable, shortened, terminal};
use std::collections::HashSet;

/// Longer outputs are not compared.
const LONGEST: u64 = 64 * 1024 * 1024;

/// So many different lines are remembered.
const REMEMBERED: usize = 500_000;

/// What a line counts more that was not there before.
const NEW: f32 = 1.5;

/// So many failures that are gone are named, by so many characters each.
const NAMED: usize = 4;
const NAME: usize = 90;

/// How an output differs from an earlier one of the same call.
pub(crate) struct Again {
    before: HashSet<u64>,
    /// One line that says it.
    pub(crate) text: String,
}

impl Again {
    /// The differences, where there is an earlier output that can be compared.
    pub(crate) fn of(output: &Output) -> Result<Option<Again>> {
        let Some(earlier) = output.before() else { return Ok(None) };
        if output.len() > LONGEST || earlier.len() > LONGEST {
            return Ok(None);
        }
        let (now, lines) = templates(output, None)?;
        let (before, _) = templates(earlier, None)?;
        if now.len() >= REMEMBERED || before.len() >= REMEMBERED {
            return Ok(None);
        }
        let new = templates(output, Some(&before))?.1;
        let gone = templates(earlier, Some(&now))?.1;
        let failing = spoken(output)?;
        let failed = spoken(earlier)?;
        let newly = failing.iter().filter(|(line, _)| !before.contains(line)).count();
        let fixed: Vec<&String> =
            failed.iter().filter(|(line, _)| !now.contains(line)).map(|(_, text)| text).collect();
        let mut text = format!(
            "[since {}, the same call: {} of {} new, {} gone",
            earlier.record().handle.short(),
            grouped(new),
            count("line", lines),
            grouped(gone)
        );
        text += &format!("; of those that speak of errors {newly} new, {} as before", failing.len() - newly);
        if !fixed.is_empty() {
            let named: Vec<&str> = fixed.iter().take(NAMED).map(|text| text.as_str()).collect();
            text += &format!(", {} gone: {}", fixed.len(), named.join(" · "));
        }
        text += "]\n";
        Ok(Some(Again { before, text }))
    }

    /// The same units, with more worth for what is new.
    pub(crate) fn weighed(&self, mut units: Vec<Unit>) -> Vec<Unit> {
        for unit in &mut units {
            if !self.before.contains(&hash(unit.text.as_bytes())) {
                unit.worth *= NEW;
            }
        }
        units
    }
}

fn hash(line: &[u8]) -> u64 {
    template(timestamp::unstamped(line).trim_ascii())
}

/// The templates of an output's lines; and how many lines there are that are not among `known`.
fn templates(output: &Output, known: Option<&HashSet<u64>>) -> Result<(HashSet<u64>, u64)> {
    let mut seen = HashSet::new();
    let mut lines = 0;
    let bytes = output.read(0..output.len())?;
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = terminal::screen(line);
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = hash(&line);
        lines += u64::from(known.is_none_or(|known| !known.contains(&line)));
        if seen.len() < REMEMBERED {
            seen.insert(line);
        }
    }
    Ok((seen, lines))
}

/// The lines that speak of errors, each once.
fn spoken(output: &Output) -> Result<Vec<(u64, String)>> {
    let mut lines = Vec::new();
    let mut seen = HashSet::new();
    for at in output.error_lines()? {
        let start = output.line_start_near(at, 1_024)?;
        let line = terminal::screen(&output.read(start..output.line_end_near(at, 1_024)?)?);
        let template = hash(&line);
        if seen.insert(template) {
            let text = printable(&String::from_utf8_lossy(&line));
            lines.push((template, shortened(text.trim(), NAME)));
        }
    }
    Ok(lines)
}
