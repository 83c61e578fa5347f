//! Detects answers that repeat themselves endlessly.
//!
//! A small model that has lost track writes the same line or block until its limit. Only exact consecutive copies
//! count: lines of a table or a log are similar, but differ in a number or a name.

/// Bytes of copies before an answer counts as repeating itself: some 300 tokens, a minute of a slow model. Real outputs
/// have runs of equal lines, and who copies a dozen of them must not be stopped.
const LEAST: usize = 1_024;

/// Minimum repeated bytes if the repeated text is shorter than [`SHORT`]: rulers, rows of zeros and lines of `ok` are
/// long.
const LEAST_OF_SHORT: usize = 2_048;

/// Bytes below which what is repeated is short.
const SHORT: usize = 16;

/// Minimum copies of any length that count as repetition: the same trace may be quoted a few times.
const COPIES: usize = 6;

/// Bytes at the end of an answer that are searched for copies. A block of up to a sixth of them is found.
const TAIL: usize = 24 * 1_024;

/// New bytes after which a growing answer is checked again.
const STEP: usize = 256;

/// Returns where to cut an answer that ends in copies: after the first copy. `None` if it does not end in copies, or
/// if `is_copied` says that the model copied them from its input.
pub(super) fn cut(text: &str, is_copied: impl Fn(&str) -> bool) -> Option<usize> {
    let run = Run::at_end_of(text.as_bytes())?;
    let start = text.ceil_char_boundary(run.start);
    if is_copied(&text[start..]) {
        return None;
    }
    let end = run.start + run.period;
    // The copies may begin in the middle of a line whose end is like theirs.
    let line = text.as_bytes()[end..].iter().take(run.period).position(|&byte| byte == b'\n');
    let end = match text.as_bytes()[end - 1] {
        b'\n' => end,
        _ => line.map_or(end, |line| end + line + 1),
    };
    Some(text.ceil_char_boundary(end))
}

/// Consecutive copies of the same bytes at the end of a text.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    /// Where the first begins.
    start: usize,
    /// Bytes of each.
    period: usize,
}

impl Run {
    fn at_end_of(text: &[u8]) -> Option<Run> {
        let tail: Vec<u8> = text[text.len().saturating_sub(TAIL)..].iter().rev().copied().collect();
        let mut borders: Vec<usize> = Vec::with_capacity(tail.len());
        // The prefix function of the reversed tail: the end of `length` bytes has the period `length` - border.
        let mut border = 0;
        let mut found = None;
        for at in 0..tail.len() {
            if at > 0 {
                while border > 0 && tail[at] != tail[border] {
                    border = borders[border - 1];
                }
                border += usize::from(tail[at] == tail[border]);
            }
            borders.push(border);
            let (length, period) = (at + 1, at + 1 - border);
            let least = if period < SHORT { LEAST_OF_SHORT } else { LEAST };
            if length >= least && length / period >= COPIES {
                found = Some(period);
                break;
            }
        }
        let period = found?;
        let mut start = text.len() - period;
        while start > 0 && text[start - 1] == text[start - 1 + period] {
            start -= 1;
        }
        Some(Run { start, period })
    }
}

/// Watches an answer while it comes.
#[derive(Debug, Default)]
pub(super) struct Watch {
    text: String,
    /// Length at which the answer is checked again.
    next: usize,
}

impl Watch {
    /// Adds new bytes; returns whether the answer now repeats itself.
    pub(super) fn repeats(&mut self, more: &str, is_copied: impl Fn(&str) -> bool) -> bool {
        self.text.push_str(more);
        if self.text.len() < self.next.max(LEAST) {
            return false;
        }
        self.next = self.text.len() + STEP;
        cut(&self.text, is_copied).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn none(_: &str) -> bool {
        false
    }

    #[test]
    fn copies_are_cut_behind_the_first() {
        let line = "The error is that the disk is full.\n";
        let block = "1. Look at the log.\n2. Look at the error.\n3. Look at the line.\n";
        let (words, umlauts) = ("and the error is that ", "Fehler: die Platte ist übervoll, é.\n");
        let trace: String = (0..50).map(|number| format!("  at frame {number}\n")).collect();
        let table: Vec<(&str, String, Option<String>)> = vec![
            ("lines", format!("Found:\n{}", line.repeat(40)), Some(format!("Found:\n{line}"))),
            ("a block", format!("Found:\n{}", block.repeat(20)), Some(format!("Found:\n{block}"))),
            ("the last copy is not whole", format!("{}1. Look", block.repeat(20)), Some(block.to_owned())),
            (
                "words in one line",
                format!("I see {}", words.repeat(60)),
                Some("I see and the error is that".to_owned()),
            ),
            ("other letters", format!("a {}", umlauts.repeat(40)), Some(format!("a {umlauts}"))),
            ("no bytes", String::new(), None),
            ("a few copies", line.repeat(20), None),
            ("a large block, some times", trace.repeat(5), None),
            ("few short lines", "ok\n".repeat(300), None),
            ("a ruler", format!("| a | b |\n{}\n", "-".repeat(500)), None),
            (
                "copies that end",
                format!("{}\nThat is all of it, nothing else was found there.", line.repeat(40)),
                None,
            ),
            (
                "lines that are alike",
                (0..400).map(|number| format!("12:00:{number:02} GET /health 200\n")).collect(),
                None,
            ),
            ("a table", (0..400).map(|number| format!("| {} | ok | 0 |\n", number * 7)).collect(), None),
        ];
        for (name, text, expected) in table {
            let cut = cut(&text, none).map(|end| text[..end].to_owned());
            assert_eq!(cut, expected, "{name}");
        }
    }

    #[test]
    fn copies_of_what_the_model_read_are_no_fault_of_it() {
        let line = "warning: unused variable in the generated file, regenerate it\n";
        let (read, said) = (line.repeat(50), format!("Lines:\n{}", line.repeat(30)));
        assert_eq!(cut(&said, |run| read.contains(run)), None);
        // More of them than there are were never read.
        let said = format!("Lines:\n{}", line.repeat(60));
        assert!(cut(&said, |run| read.contains(run)).is_some());
    }

    #[test]
    fn an_answer_is_watched_while_it_comes() {
        let line = "The error is that the disk is full.\n";
        let mut watch = Watch::default();
        let taken = (0..1_000).position(|_| watch.repeats(line, none));
        assert!(taken.is_some_and(|taken| (20..60).contains(&taken)), "{taken:?}");
    }

    proptest! {
        #[test]
        fn what_is_kept_is_the_beginning_and_one_copy(
            start in "[a-z é\n]{0,200}",
            block in "[a-z0-9 é\n]{16,300}",
            copies in 130_usize..150,
        ) {
            let text = format!("{start}{}", block.repeat(copies));
            let end = cut(&text, none);
            prop_assert!(end.is_some());
            let end = end.unwrap_or_default();
            prop_assert!(text.is_char_boundary(end) && end <= start.len() + 2 * block.len(), "{end}");
            // All that is cut off is said in what is kept.
            let bytes = text.as_bytes();
            let follows = |period: usize| bytes[end..] == bytes[end - period..bytes.len() - period];
            prop_assert!((1..=block.len().min(end)).any(follows));
        }

        #[test]
        fn lines_that_differ_in_a_number_are_never_cut(
            words in "[a-z |:,]{0,60}",
            behind in "[a-z |:,]{0,60}",
            first in 0_u32..1_000_000,
            lines in 1_u32..2_000,
        ) {
            let text: String = (first..first + lines).map(|number| format!("{words}{number}{behind}\n")).collect();
            prop_assert_eq!(cut(&text, none), None);
        }

        #[test]
        fn any_text_is_cut_at_a_border_or_not_at_all(text in "(ab|é|\n|abc abc ){0,2000}") {
            if let Some(end) = cut(&text, none) {
                prop_assert!(end > 0 && end < text.len() && text.is_char_boundary(end));
            }
        }
    }
}
