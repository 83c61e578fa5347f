//! Differences from an earlier output of the same call.
//!
//! New lines score higher. Missing lines are counted, since no view of this output could show them. No line scores
//! lower because it was there before: a persistent failure is as bad as a new one.

use crate::rank::passage::RankedUnit;
use crate::text::count::{count, grouped};
use crate::text::similarity::template;
use crate::text::timestamp;
use crate::weights::folding::{MAX_FIXED_NAMED, NEW_LINE};
use crate::{Output, Result, printable, shortened, terminal};
use std::collections::HashSet;

/// Maximum bytes of an output that is compared.
const COMPARED: u64 = 64 * 1024 * 1024;

/// Maximum templates of lines kept of an output, which bounds memory.
const MAX_TEMPLATES: usize = 500_000;

/// Maximum characters printed of a failure that no longer occurs.
const NAME: usize = 90;

/// Differences of an output from an earlier one of the same call.
pub(crate) struct Rerun {
    before: HashSet<u64>,
    /// One line that sums up the differences.
    pub(crate) text: String,
}

impl Rerun {
    /// Differences from an earlier output, if there is one that can be compared.
    pub(crate) fn of(output: &Output) -> Result<Option<Rerun>> {
        let Some(earlier) = output.before() else { return Ok(None) };
        if output.len() > COMPARED || earlier.len() > COMPARED {
            return Ok(None);
        }
        let (now, lines) = templates(output, None)?;
        let (before, _) = templates(earlier, None)?;
        if now.len() >= MAX_TEMPLATES || before.len() >= MAX_TEMPLATES {
            return Ok(None);
        }
        let new = templates(output, Some(&before))?.1;
        let gone = templates(earlier, Some(&now))?.1;
        let failing = error_lines(output)?;
        let failed = error_lines(earlier)?;
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
            let named: Vec<&str> = fixed.iter().take(MAX_FIXED_NAMED).map(|text| text.as_str()).collect();
            text += &format!(", {} gone: {}", fixed.len(), named.join(" · "));
        }
        text += "]\n";
        Ok(Some(Rerun { before, text }))
    }

    /// The same units, with higher scores for new lines.
    pub(crate) fn weighted(&self, mut units: Vec<RankedUnit>) -> Vec<RankedUnit> {
        for unit in &mut units {
            if !self.before.contains(&hash(unit.text.as_bytes())) {
                unit.score *= NEW_LINE;
            }
        }
        units
    }
}

fn hash(line: &[u8]) -> u64 {
    template(timestamp::unstamped(line).trim_ascii())
}

/// Templates of the lines of an output, and the number of lines whose template is not `known`.
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
        if seen.len() < MAX_TEMPLATES {
            seen.insert(line);
        }
    }
    Ok((seen, lines))
}

/// Lines that mention a failure, each template once.
fn error_lines(output: &Output) -> Result<Vec<(u64, String)>> {
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
