//! Texts with lines of totals: `0 upgraded, 157 newly installed, 0 to remove and 5 not upgraded.`

use crate::classify::form::Form;
use crate::compact::Row;
use crate::digest::ends::Parts;
use crate::digest::outline_items::OutlineItems;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::view::units;
use crate::weights::folding::{MAX_TOTALS, Shares, TOTALS_BYTES};
use crate::{Budget, Result, outline};

/// Plans the view of a text: its totals, and its unusual lines.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Text {
        return Ok(None);
    }
    let mut starts = probe.whole()?.map_or(Vec::new(), of);
    // A text that was written to be read mentions most things only once.
    if !probe.call().reads() {
        let templates = probe.templates()?;
        starts.extend(if templates.are_alike() { templates.rare() } else { Vec::new() });
    }
    let outliers = units::at(probe.output, &starts)?;
    let items = OutlineItems::new(outline::outline(probe.output)?);
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(Shares::of(Form::Text), items) })))
}

/// Offsets of the lines of totals, if there are few.
fn of(bytes: &[u8]) -> Vec<u64> {
    let mut places = Vec::new();
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if sums_up(line) {
            places.push(at);
        }
        if places.len() > MAX_TOTALS {
            return Vec::new();
        }
        at += line.len() as u64;
    }
    places
}

/// Rows that are totals, if there are few.
pub(crate) fn rows(rows: &[Row]) -> Vec<bool> {
    let totals: Vec<bool> = rows.iter().map(|row| sums_up(&row.text)).collect();
    let are_few = totals.iter().filter(|is_total| **is_total).count() <= MAX_TOTALS;
    if are_few { totals } else { vec![false; rows.len()] }
}

/// Whether a line consists of counts with words, two counts at least.
fn sums_up(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if line.len() > TOTALS_BYTES || !line.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let counts = |part: &[u8]| {
        let part = part.trim_ascii_start();
        let digits = part.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_word = |word: &[u8]| word.len() > 1 && word.iter().all(u8::is_ascii_lowercase);
        let word = part[digits..].strip_prefix(b" ").unwrap_or_default();
        digits > 0 && is_word(word.split(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default())
    };
    let parts: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
    parts.len() > 1 && parts.iter().all(|part| counts(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_sum_up_are_nothing_but_counts() {
        let table = [
            ("0 upgraded, 157 newly installed, 0 to remove and 5 not upgraded.", true),
            (" 3 files changed, 90 insertions(+), 23 deletions(-)", true),
            ("9656 files, 187970308 bytes uncompressed, 117465003 bytes compressed:  37.5%", true),
            ("12 apples", false),
            ("1,2,3", false),
            ("10 000, 20 000", false),
            ("5 days later, the ship arrived", false),
            ("Lisbon, 3 days, 4 nights", false),
            ("2024 GBP, 17 EUR", false),
        ];
        for (line, expected) in table {
            assert_eq!(sums_up(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn rows_with_totals_are_found_if_they_are_few() {
        let row = |text: &&str| Row { text: text.as_bytes().to_vec(), ..Row::default() };
        let total = "3 upgraded, 897 newly installed\n";
        let found = |texts: &[&str]| rows(&texts.iter().map(row).collect::<Vec<_>>());
        assert_eq!(found(&["Setting up a\n", total, "done\n"]), [false, true, false]);
        assert_eq!(found(&[total; 4]), [false; 4]);
    }

    #[test]
    fn many_of_them_sum_up_no_whole() {
        let commit = "what was done\n 2 files changed, 1 insertion(+)\n";
        assert_eq!(of(commit.as_bytes()), [14]);
        assert!(of(commit.repeat(4).as_bytes()).is_empty());
    }
}
