//! Words for failures that any program may print, with weights, and the contexts in which they mean less.

use crate::formats::location;
use crate::terminal::readable;
use std::ops::Range;

/// A word for a failure.
pub(crate) struct Word {
    pub(crate) text: &'static str,
    pub(crate) weight: f32,
    /// Whether it must not be part of a longer word.
    pub(crate) alone: bool,
    /// Whether it reports that something ended badly, so that the cause is on the lines before.
    pub(crate) ends: bool,
}

const fn starts(text: &'static str, weight: f32) -> Word {
    Word { text, weight, alone: false, ends: false }
}

const fn alone(text: &'static str, weight: f32) -> Word {
    Word { text, weight, alone: true, ends: false }
}

const fn ends(text: &'static str, weight: f32) -> Word {
    Word { text, weight, alone: false, ends: true }
}

/// The vocabulary. A weight says how likely a line with the word reports the failure.
pub(crate) const WORDS: &[Word] = &[
    starts("error", 2.0),
    starts("err!", 1.3),
    starts("❌", 2.0),
    starts("✗", 1.8),
    starts("✘", 1.8),
    starts("✖", 1.4),
    starts("✕", 1.8),
    starts("fail", 1.6),
    starts("fatal", 2.2),
    starts("panic", 2.2),
    starts("exception", 2.0),
    starts("traceback", 2.2),
    starts("caused by", 2.0),
    starts("abort", 1.6),
    starts("not ok", 1.8),
    starts(RUN_AGAIN, 1.8),
    starts("assert", 1.8),
    starts("undefined", 1.6),
    starts("unresolved", 1.6),
    starts("unexpected", 1.8),
    starts("cannot", 1.8),
    starts("can't", 1.4),
    starts("could not", 1.6),
    starts("couldn't", 1.6),
    starts("not found", 1.7),
    starts("no such", 1.8),
    starts("does not exist", 1.6),
    starts("denied", 1.7),
    starts("unable to", 1.6),
    starts("mismatch", 1.5),
    starts("timed out", 1.8),
    alone("timeout", 0.8),
    alone("killed", 1.7),
    starts("segmentation", 2.0),
    starts("core dumped", 2.0),
    starts("received signal sig", 2.2),
    starts("terminating with default action", 2.2),
    starts("conflict", 1.2),
    starts("invalid", 1.2),
    starts("invalid read of", 1.8),
    starts("invalid write of", 1.8),
    starts("uninitiali", 1.4),
    starts("expected", 1.0),
    starts("missing", 1.0),
    starts("warn", 0.4),
    starts("violation", 1.2),
    starts("broken", 1.0),
    starts("refused", 1.4),
    starts("rejected", 1.2),
    starts("unsupported", 1.2),
    alone("leaks", 1.0),
    starts("deadlock", 1.5),
    starts("data race", 2.0),
    starts("sanitizer", 1.6),
    starts("overflow", 1.2),
    starts("corrupt", 1.3),
    starts("offense", 1.2),
    starts("illegal", 1.5),
    starts("unknown", 1.0),
    starts("unrecognized", 1.4),
    starts("unavailable", 1.2),
    starts("forbidden", 1.4),
    starts("unauthorized", 1.4),
    starts("out of memory", 2.0),
    starts("no space left", 2.0),
    starts("address already in use", 2.0),
    starts("incompatible", 1.3),
    starts("[alert]", 1.8),
    starts("[crit]", 1.8),
    starts("[emerg]", 2.0),
    starts("not permitted", 1.5),
    starts("not allowed", 1.3),
    starts("crash", 1.4),
    // Resources that a plan will remove.
    alone("replaced", 1.3),
    alone("destroyed", 1.3),
    starts("forces replacement", 1.6),
    ends("exited with", 2.0),
    ends("exit code", 2.0),
    ends("exit status", 1.8),
    ends("build failure", 2.0),
    ends("build failed", 2.0),
    ends("due to -werror", 2.0),
    ends("treated as errors", 2.0),
    ends("due to warnings", 1.6),
    ends("elifecycle", 1.8),
    ends("rake aborted", 1.8),
    ends("make: ***", 2.0),
    ends("failures:", 1.2),
    ends("]: *** [", 2.0),
];

/// Weights of the words of the vocabulary in a line.
fn spoken(line: &[u8]) -> impl Iterator<Item = f32> {
    let small = line.to_ascii_lowercase();
    WORDS.iter().filter_map(move |word| {
        let at = memchr::memmem::find(&small, word.text.as_bytes())?;
        Some(said(line, at..at + word.text.len(), &(0..line.len()), word, false))
    })
}

/// Whether a line has words for failures, but reports none: `0 errors`.
pub(crate) fn is_harmless(line: &[u8]) -> bool {
    let mut spoken = spoken(line).peekable();
    spoken.peek().is_some() && spoken.all(|weight| weight == 0.0)
}

/// Beginning of the lines in which RSpec lists the failed examples: `rspec ./spec/shop_spec.rb:5 # Shop adds up`.
const RUN_AGAIN: &str = "rspec ./";

/// Words in the heading of a plan that say that a resource is removed.
const TAKEN_AWAY: &[&str] = &["replaced", "destroyed"];

/// Words that make a failure word before them part of a name, and the remaining share of its weight: `error
/// messages`, `failure detection`.
const NAMING: &[&str] =
    &["message", "handl", "report", "log", "page", "check", "output", "detect", "recovery"];
const NAMED: f32 = 0.4;

/// Weight of a warning with a location.
const LOCATED: f32 = 0.9;

/// Weight of a word that was found in a block; 0 if it does not report a failure there.
pub(crate) fn said(
    block: &[u8],
    found: Range<usize>,
    unit: &Range<usize>,
    word: &Word,
    verdict: bool,
) -> f32 {
    let before = crate::text::words::before(block, found.start);
    let mut end = found.end;
    while end < unit.end && block[end].is_ascii_alphabetic() {
        end += 1;
    }
    // In a name a word begins with a capital: `ValueError`, and the last one behind an abbreviation `IOException`.
    let first = &block[found.start..];
    let is_last = || end == found.end && first[1].is_ascii_lowercase();
    let inside = before.is_some_and(|before| {
        let begins = first[0].is_ascii_uppercase() && (before.is_ascii_lowercase() || is_last());
        before.is_ascii_alphabetic() && !begins
    });
    if inside || word.alone && end > found.end {
        return 0.0;
    }
    let rest = &block[end..unit.end];
    let start = &block[unit.start..found.start];
    if TAKEN_AWAY.contains(&word.text) {
        let line = readable(&block[unit.start..found.start]);
        let is_planned = [&b" must be "[..], b" will be "].iter().any(|planned| line.ends_with(planned));
        // `  # data.payments must be replaced`
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let is_heading = words.next() == Some(b"#") && words.next().is_some_and(|name| name.contains(&b'.'));
        return if is_planned && is_heading && words.count() == 2 { word.weight } else { 0.0 };
    }
    if word.text == RUN_AGAIN {
        return if verdict { word.weight } else { 0.0 };
    }
    if word.ends {
        let rest = rest.trim_ascii_start();
        let rest =
            rest.strip_prefix(b"status").or(rest.strip_prefix(b"code")).unwrap_or(rest).trim_ascii_start();
        let rest = rest.strip_prefix(b":").or(rest.strip_prefix(b"=")).unwrap_or(rest).trim_ascii_start();
        return if rest.first() == Some(&b'0') { 0.0 } else { word.weight };
    }
    // A compiler's warning has a location: `src/a.c:12:5: warning: …`. Builds that treat warnings as errors fail by it.
    if word.text == "warn" && location::is_before(start) {
        return LOCATED;
    }
    // An expected failure: `TEST-KNOWN-FAIL`.
    if counts_none(start, rest) || start.ends_with(b"KNOWN-") {
        return 0.0;
    }
    if NAMING
        .iter()
        .any(|naming| rest.strip_prefix(b" ").is_some_and(|rest| rest.starts_with(naming.as_bytes())))
    {
        return word.weight * NAMED;
    }
    // Part of a path, a flag or a longer name: it names something and reports nothing. `TEST-UNEXPECTED-FAIL` does report.
    let after = block.get(end).copied();
    let shouts = block[found.start..end].iter().all(u8::is_ascii_uppercase);
    let joined = |byte: Option<u8>| {
        byte.is_some_and(|byte| matches!(byte, b'_' | b'/' | b'.' | b'~') || byte == b'-' && !shouts)
    };
    // `Mongo::Error::NoServer` reports, `std::exception::what()` and `error@@GLIBC` do not.
    let is_small = block[found.start].is_ascii_lowercase();
    let goes_on = is_small
        && (rest.starts_with(b"::") || start.ends_with(b"::") && matches!(after, Some(b'(' | b'[' | b'<')));
    let is_versioned = is_small
        && rest.strip_prefix(b"@").and_then(<[u8]>::first).is_some_and(|byte| !byte.is_ascii_lowercase());
    let names = joined(before)
        || goes_on
        || is_versioned
        || joined(after) && block.get(end + 1).is_some_and(|byte| byte.is_ascii_alphanumeric())
        || !verdict && !shouts && is_symbol(start, rest);
    // Part of the name of a function: `whenItFailsThenRetry` reports nothing, `AssertionError` does.
    let start = block[unit.start..found.start]
        .iter()
        .rposition(|byte| !byte.is_ascii_alphanumeric())
        .map_or(unit.start, |at| unit.start + at + 1);
    let humps = |from: usize, to: usize| {
        block[from..to].windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
    };
    let named = humps(found.start, end) || start < found.start && block[start].is_ascii_lowercase();
    let ends_so = rest.trim_ascii().is_empty() || rest.starts_with(b":") || rest.starts_with(b"!");
    let loud = verdict || shouts && (before == Some(b'-') || ends_so);
    word.weight
        * if names || named {
            0.35
        } else if loud {
            1.3
        } else {
            1.0
        }
}

/// Whether the text around a word gives a count of zero: `0 errors`, `errors: 0`, `errors | 0`, `no failures`.
fn counts_none(start: &[u8], rest: &[u8]) -> bool {
    let number_before = last_word(start);
    let harmless =
        matches!(number_before, b"0" | b"no" | b"No" | b"zero" | b"without" | b"if" | b"on" | b"License");
    let sign = rest.iter().take(24).position(|byte| matches!(byte, b':' | b'='));
    // In a table the value is in the next column.
    let next = rest.trim_ascii_start().strip_prefix(b"|");
    let value = next.or(sign.map(|at| &rest[at + 1..])).unwrap_or_default().trim_ascii_start();
    let zero = value.first() == Some(&b'0')
        && !value.get(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
    harmless || zero
}

/// Whether the last word of a line is a name among figures, as in a table of symbols: `0000000000103bf0 W error`.
fn is_symbol(start: &[u8], rest: &[u8]) -> bool {
    const ADDRESS: usize = 16;
    const LONGEST: usize = 200;
    let is_address = |word: &[u8]| word.len() >= ADDRESS && word.iter().all(u8::is_ascii_hexdigit);
    let says = |word: &[u8]| word.len() > 1 && word.iter().all(u8::is_ascii_lowercase);
    let words = || start.split(u8::is_ascii_whitespace);
    rest.trim_ascii().is_empty() && start.len() < LONGEST && words().any(is_address) && !words().any(says)
}

/// Whether a word is in capitals.
pub(crate) fn shouts(word: &[u8]) -> bool {
    word.iter().all(|byte| !byte.is_ascii_lowercase()) && word.iter().any(u8::is_ascii_uppercase)
}

/// Hash of the token that contains a word: `TEST-KNOWN-FAIL` and `TEST-UNEXPECTED-FAIL` are two.
pub(crate) fn token(block: &[u8], found: Range<usize>, unit: &Range<usize>) -> u32 {
    let line = &block[unit.clone()];
    let part = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_' | b'.' | b':');
    let (start, end) = (found.start - unit.start, found.end - unit.start);
    let start = line[..start].iter().rposition(&part).map_or(0, |at| at + 1);
    let end = line[end..].iter().position(part).map_or(line.len(), |at| end + at);
    let token = &line[start..end.min(start + 80)];
    token
        .iter()
        .filter(|byte| !byte.is_ascii_digit())
        .fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn last_word(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.trim_ascii_end();
    let start = bytes.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    &bytes[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_name_a_word_begins_with_a_capital_and_behind_an_abbreviation_it_is_the_last() {
        for (line, expected) in [
            ("ValueError: it is none", true),
            ("java.io.IOException: it is gone", true),
            ("an OSError", true),
            ("DVTAssertions: it is slow", false),
            ("a terror", false),
            ("TERRORS", false),
        ] {
            assert_eq!(spoken(line.as_bytes()).any(|weight| weight > 0.0), expected, "{line}");
        }
    }

    #[test]
    fn counts_of_nothing_are_no_trouble() {
        for line in ["0 errors", "errors: 0", "no failures", "failures = 0", "| page_error    | 0     |"] {
            assert!(is_harmless(line.as_bytes()), "{line}");
        }
        for line in ["10 errors", "errors: 3", "| page_error    | 7     |", "error: 0x20 is no address"] {
            assert!(!is_harmless(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn words_of_trouble_that_name_something_tell_less() {
        let weight = |line: &str| spoken(line.as_bytes()).fold(0.0, f32::max);
        let full = weight("an error in it");
        for line in ["gives useful error messages", "with better error handling", "the error log is here"] {
            assert!(weight(line) < full / 2.0, "{line}");
        }
        for line in [
            "0000000000103bf0 W error@@GLIBC_2.2.5",
            "   257: 00000000002834f0   188 FUNC    GLOBAL DEFAULT   15 error",
            "00000000000a8040 T std::exception::~exception()@@GLIBCXX_3.4",
            "0000000000113610 W std::basic_ios<char>::exceptions(std::_Ios_Iostate)",
            "use crate::error::Result;",
            "├── assert@2.1.0",
        ] {
            assert!(weight(line) < full / 2.0, "{line}");
        }
        for line in [
            "20240501 deadbeef: the worker saw an error",
            "Mongo::Error::NoServerAvailable (No server is available)",
            "Error@main.js:3:7",
        ] {
            assert!(weight(line) >= full, "{line}");
        }
        for line in ["Order 10000217 FAILED", "Case 20240150 | FAILED"] {
            assert!(weight(line) > 1.2, "{line}");
        }
    }

    #[test]
    fn what_a_plan_takes_away_is_told_by_its_headings() {
        let weight = |line: &str| spoken(line.as_bytes()).fold(0.0, f32::max);
        for line in
            ["  # data.a must be replaced", "  # data.a will be \u{1b}[1m\u{1b}[31mdestroyed\u{1b}[0m"]
        {
            assert!(weight(line) > 1.2, "{line}");
        }
        for line in ["the old bundle was replaced", "# what will be replaced here", "it must be replaced"] {
            assert_eq!(weight(line), 0.0, "{line}");
        }
    }

    #[test]
    fn what_is_under_a_licence_is_no_trouble() {
        let weight = |line: &str| spoken(line.as_bytes()).fold(0.0, f32::max);
        assert_eq!(weight("under License Exception TSU"), 0.0);
        assert!(weight("SUMMARY: AddressSanitizer: use-after-free a.cpp:13 in main") > 1.0);
        assert_eq!(weight("../libsanitizer/asan.cpp:164"), 0.0);
    }
}
