//! Numbered reads: a number on every fifth line and after every gap instead of on each line.

use crate::classify::lines::Numbering;
use crate::compact::{Compact, Row, lines_of, without_end};

/// Interval of numbered lines: only lines with a number divisible by this show it.
const EVERY: u64 = 5;

/// Lines examined to detect numbering.
const SAMPLE: usize = 400;

/// Whether lines are numbered.
pub(crate) fn is_numbered(bytes: &[u8]) -> bool {
    numbering(bytes).is_some()
}

fn numbering(bytes: &[u8]) -> Option<Numbering> {
    Numbering::of(lines_of(bytes).take(SAMPLE).map(|(_, line)| without_end(line)))
}

/// Renders a numbered read. Lines without a number, such as a heading, are printed as they are.
pub(crate) fn render(bytes: &[u8]) -> Option<Compact> {
    let numbering = numbering(bytes)?;
    let mut rows = Vec::new();
    let mut last = None;
    for (start, line) in lines_of(bytes) {
        let Some((number, rest)) = numbering.split(line) else {
            rows.push(Row { start, text: line.to_vec(), ..Row::default() });
            last = None;
            continue;
        };
        // The separator is kept as the tool writes it.
        let fresh = line.trim_ascii_start().to_vec();
        let follows = last.is_some_and(|last| last + 1 == number);
        let is_marked = number % EVERY == 0 || !follows;
        let text = if is_marked { fresh.clone() } else { rest.to_vec() };
        rows.push(Row { start, text, fresh: Some(fresh), ..Row::default() });
        last = Some(number);
    }
    Some(Compact { rows, ..Compact::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fifth_line_and_the_first_one_after_a_gap_have_their_numbers() {
        let text: String =
            (7..=16).map(|n| format!("{n:6}→{}line {n}\n", " ".repeat(n % 3))).collect::<String>()
                + "\n<end>\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(compact.text()).unwrap(),
            "7→ line 7\n  line 8\nline 9\n10→ line 10\n  line 11\nline 12\n line 13\n  line 14\n15→line 15\n line 16\n\n<end>\n"
        );
        let from = compact.rows[4].start;
        let part = compact.print(from..from + 8, &mut crate::compact::Place::default());
        assert_eq!(String::from_utf8(part).unwrap(), "11→  line 11\n");
    }

    #[test]
    fn text_without_numbers_is_not_a_numbered_read() {
        assert_eq!(render(b"one\ntwo\nthree\nfour\n"), None);
    }
}
