//! The lines of an output that speak of errors, found at scan speed.

use crate::{Output, Result, output::BLOCK};
use regex::bytes::Regex;
use std::{ops::Range, sync::LazyLock, thread};

/// How words of failure begin. Each is looked for in small, in capitals and with a capital, so that the scan can
/// compare many bytes at once; what is found is then looked at closely.
const BEGINNINGS: [&str; 18] = [
    "error", "fail", "fatal", "panic", "exception", "traceback", "abort", "assert", "undefined", "not found",
    "no such", "cannot", "denied", "timed out", "killed", "segmentation", "unable to", "mismatch",
];

static CANDIDATE: LazyLock<Regex> = LazyLock::new(|| {
    let words: Vec<String> = BEGINNINGS
        .iter()
        .flat_map(|word| {
            let title = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            [(*word).to_owned(), title, word.to_uppercase()]
        })
        .collect();
    compiled(&words.join("|"))
});

/// What is said of nothing: counts of zero, and tests that passed.
static HARMLESS: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i-u)\b(?:0|no|zero|without) (?:\w+ )?(?:error|fail|exception|panic)|\b(?:error|fail)\w*\s*[=:]\s*0\b|\.\.\. ok\b"));

#[expect(clippy::expect_used, reason = "the patterns are part of the program, and tests compile them")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file")
}

/// So many are remembered from the beginning and so many from the end of each part that is scanned.
const REMEMBERED: usize = 256;

/// An output up to this size is scanned by one thread.
const SMALL: u64 = 8 * 1024 * 1024;

/// Places inside lines that speak of errors: the first and the last ones, in order.
pub(crate) fn find(output: &Output) -> Result<Vec<u64>> {
    let parts = if output.len() <= SMALL { 1 } else { thread::available_parallelism().map_or(1, |n| n.get() as u64) };
    let size = output.len().div_ceil(parts).max(1);
    let ranges = (0..parts).map(|part| part * size..((part + 1) * size).min(output.len()));
    let found: Vec<Result<Hits>> = thread::scope(|scope| {
        let threads: Vec<_> = ranges.map(|range| scope.spawn(move || scan(output, range))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut all = Hits::default();
    for hits in found {
        let hits = hits?;
        hits.first.iter().chain(&hits.last).for_each(|&at| all.add(at));
    }
    all.first.extend(all.last);
    Ok(all.first)
}

#[derive(Default)]
struct Hits {
    first: Vec<u64>,
    last: std::collections::VecDeque<u64>,
}

impl Hits {
    fn add(&mut self, at: u64) {
        if self.first.len() < REMEMBERED {
            self.first.push(at);
            return;
        }
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(at);
    }
}

/// Scans a part in blocks that overlap by the longest word, one hit a line.
fn scan(output: &Output, range: Range<u64>) -> Result<Hits> {
    const OVERLAP: u64 = 16;
    let mut hits = Hits::default();
    let mut buffer = vec![0; BLOCK];
    let mut at = range.start;
    let mut skip_to = at;
    while at < range.end {
        let read = output.fill(at, &mut buffer)?;
        let block = &buffer[..read];
        let is_last = at + read as u64 >= range.end;
        let mut from = (skip_to.saturating_sub(at) as usize).min(read);
        while let Some(found) = CANDIDATE.find_at(block, from) {
            let place = at + found.start() as u64;
            if place >= range.end {
                break;
            }
            let line = line_around(block, found.range());
            // A line of sensible length counts once. In a very long one every stretch may count.
            from = found.end().max(if line.len() <= 2_000 { line.end } else { found.end() + 500 });
            skip_to = at + from as u64;
            if starts_a_word(block, found.start()) && !HARMLESS.is_match(&block[line]) {
                hits.add(place);
            }
            if from >= read {
                break;
            }
        }
        if is_last || read == 0 {
            break;
        }
        at += (read as u64).saturating_sub(OVERLAP).max(1);
        skip_to = skip_to.max(at);
    }
    Ok(hits)
}

/// The line around a place, as far as it lies in the block, and no more than a thousand bytes each way.
fn line_around(block: &[u8], place: Range<usize>) -> Range<usize> {
    let from = place.start.saturating_sub(1_000);
    let to = (place.end + 1_000).min(block.len());
    let start = memchr::memrchr(b'\n', &block[from..place.start]).map_or(from, |newline| from + newline + 1);
    let end = memchr::memchr(b'\n', &block[place.end..to]).map_or(to, |newline| place.end + newline + 1);
    start..end
}

/// Whether a word begins at `at`: `TypeError` and `test_failed` have words inside, `terror` has not.
fn starts_a_word(block: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| block[before]) else { return true };
    !before.is_ascii_alphabetic() || (before.is_ascii_lowercase() && block[at].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn lines(text: &str) -> Vec<u64> {
        let output = output_of(text.as_bytes());
        find(&output).unwrap().into_iter().map(|at| output.newlines_before(at).unwrap() + 1).collect()
    }

    #[test]
    fn lines_that_speak_of_errors_are_found_and_others_are_not() {
        let table = [
            ("error: no field `x`\n", true),
            ("E   AssertionError: 1 != 2\n", true),
            ("thread 'main' panicked at src/main.rs:2:5\n", true),
            ("npm ERR! code ENOENT\nbash: x: No such file or directory\n", true),
            ("FAILED tests/test_a.py::test_b\n", true),
            ("java.lang.NullPointerException\n", true),
            ("Traceback (most recent call last):\n", true),
            ("test result: ok. 12 passed; 0 failed; 0 ignored\n", false),
            ("Build finished: 0 errors, no warnings\n", false),
            ("errors=0 took=3ms\n", false),
            ("test parses_error_codes ... ok\n", false),
            ("the mirrors of terror\n", false),
            ("all is well\n", false),
        ];
        for (text, expected) in table {
            assert_eq!(!lines(text).is_empty(), expected, "{text}");
        }
    }

    #[test]
    fn a_line_counts_once_and_a_word_across_two_blocks_is_found() {
        assert_eq!(lines("ok\nerror: an error, and a failure\nok\nfatal\n"), [2, 4]);
        for shift in 0..8 {
            let text = format!("{}error here\n", "x".repeat(BLOCK - 4 - 2 + shift - 4) + "\n ");
            assert_eq!(lines(&text), [2], "{shift}");
        }
    }

    #[test]
    fn of_very_many_the_first_and_the_last_are_remembered() {
        let text: String = (1..=5_000).map(|line| format!("error {line}\n")).collect();
        let found = lines(&text);
        assert_eq!((found.len(), found[0], *found.last().unwrap()), (2 * REMEMBERED, 1, 5_000));
    }
}
