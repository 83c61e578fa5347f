//! Lines with failure words, found at scan speed.

use crate::text::pattern::compiled;
use memchr::{memchr, memrchr};
use regex::bytes::Regex;
use std::{collections::VecDeque, ops::Range, sync::LazyLock};

/// Beginnings of words for failures. Each is searched for in lower case, in upper case and capitalised, so that the
/// scan can compare many bytes at once. Matches are then examined closely.
const BEGINNINGS: [&str; 18] = [
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "abort",
    "assert",
    "undefined",
    "not found",
    "no such",
    "cannot",
    "denied",
    "timed out",
    "killed",
    "segmentation",
    "unable to",
    "mismatch",
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

/// Phrases that mention a failure word where nothing failed: counts of zero, and passed tests.
static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i-u)\b(?:0|no|zero|without) (?:\w+ )?(?:error|fail|exception|panic)|\b(?:error|fail)\w*\s*[=:]\s*0\b",
    )
});

/// Lines that are remembered from the beginning, and from the end.
const REMEMBERED: usize = 256;

/// Bytes of a stretch: a longer line counts once per stretch.
const STRETCH: usize = 4 * 1024;

/// Finds such lines in a stream of bytes, however the bytes are cut.
#[derive(Default)]
pub(crate) struct Scanner {
    first: Vec<u64>,
    last: VecDeque<u64>,
    /// Bytes scanned so far.
    at: u64,
    /// Beginning of a stretch whose end has not come yet.
    carry: Vec<u8>,
}

impl Scanner {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        if !self.carry.is_empty() {
            let room = STRETCH - self.carry.len();
            let newline = memchr(b'\n', &bytes[..bytes.len().min(room)]);
            let end = newline.map_or(bytes.len().min(room), |newline| newline + 1);
            self.carry.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end..];
            if newline.is_none() && self.carry.len() < STRETCH {
                return;
            }
            let carry = std::mem::take(&mut self.carry);
            self.scan(&carry);
        }
        let lines = memrchr(b'\n', bytes).map_or(0, |newline| newline + 1);
        let open = bytes.len() - lines;
        let (whole, rest) = bytes.split_at(lines + open - open % STRETCH);
        self.scan(whole);
        self.carry.extend_from_slice(rest);
    }

    pub(crate) fn finish(mut self) -> Vec<u64> {
        let carry = std::mem::take(&mut self.carry);
        self.scan(&carry);
        self.first.extend(self.last);
        self.first
    }

    /// Scans whole stretches: lines, and parts of [`STRETCH`] bytes of longer lines.
    fn scan(&mut self, bytes: &[u8]) {
        let mut from = 0;
        while let Some(found) = CANDIDATE.find_at(bytes, from) {
            let stretch = stretch_around(bytes, found.start());
            if found.end() > stretch.end {
                from = stretch.end;
                continue;
            }
            let is_one = starts_a_word(bytes, found.start())
                && !is_harmless(&bytes[stretch.clone()], found.start() - stretch.start);
            from = if is_one { stretch.end } else { found.end() };
            if is_one {
                self.add(self.at + found.start() as u64);
            }
        }
        self.at += bytes.len() as u64;
    }

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

/// Returns the stretch around a place. `bytes` begin with a stretch.
fn stretch_around(bytes: &[u8], place: usize) -> Range<usize> {
    let line = memrchr(b'\n', &bytes[..place]).map_or(0, |newline| newline + 1);
    let start = line + (place - line) / STRETCH * STRETCH;
    let reach = bytes.len().min(start + STRETCH);
    let end = memchr(b'\n', &bytes[place..reach]).map_or(reach, |newline| place + newline + 1);
    start..end
}

/// Whether the text at a place of a line says that nothing failed. The rest of the line is judged separately.
fn is_harmless(line: &[u8], place: usize) -> bool {
    line.trim_ascii_end().ends_with(b"... ok")
        || HARMLESS.find_iter(line).any(|said| said.range().contains(&place))
}

/// Whether a word begins at `at`: `TypeError` and `test_failed` have words inside, `terror` has not.
fn starts_a_word(block: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| block[before]) else {
        return true;
    };
    !before.is_ascii_alphabetic() || (before.is_ascii_lowercase() && block[at].is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use proptest::prelude::*;

    fn lines(text: &str) -> Vec<u64> {
        let output = output_of(text.as_bytes());
        output.error_lines().unwrap().into_iter().map(|at| output.newlines_before(at).unwrap() + 1).collect()
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
            ("Tests run: 120, Failures: 3, Errors: 0\n", true),
            ("Tests run: 120, Failures: 0, Errors: 0\n", false),
            ("all is well\n", false),
        ];
        for (text, expected) in table {
            assert_eq!(!lines(text).is_empty(), expected, "{text}");
        }
    }

    #[test]
    fn a_line_counts_once() {
        assert_eq!(lines("ok\nerror: an error, and a failure\nok\nfatal\n"), [2, 4]);
    }

    #[test]
    fn of_very_many_the_first_and_the_last_are_remembered() {
        let text: String = (1..=5_000).map(|line| format!("error {line}\n")).collect();
        let found = lines(&text);
        assert_eq!((found.len(), found[0], *found.last().unwrap()), (2 * REMEMBERED, 1, 5_000));
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_on_their_way_makes_no_difference(
            parts in proptest::collection::vec(prop_oneof![
                Just("error ".to_owned()), Just("0 errors\n".to_owned()), Just("fine\n".to_owned()), Just("x".repeat(1_500)),
                Just("x\n".repeat(700)), Just("Fail".to_owned()),
            ], 0..40),
            cut in 1usize..3_000,
        ) {
            let text = parts.concat();
            let (mut one, mut many) = (Scanner::default(), Scanner::default());
            one.update(text.as_bytes());
            text.as_bytes().chunks(cut).for_each(|part| many.update(part));
            prop_assert_eq!(one.finish(), many.finish());
        }
    }
}
