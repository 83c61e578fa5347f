//! How much a line speaks of trouble: a vocabulary with weights, and what takes weight away again.

use crate::view::rendering::{readable, unstamped};
use memchr::memmem::Finder;
use std::{ops::Range, sync::LazyLock};

/// A word that speaks of trouble.
pub(super) struct Word {
    pub(super) text: &'static str,
    pub(super) weight: f32,
    /// Whether it must be a word of its own.
    pub(super) alone: bool,
    /// Whether it tells that something has ended badly, so that the cause stands before it.
    pub(super) ends: bool,
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

/// The vocabulary. Weights say how surely a line with the word tells what went wrong.
pub(super) const WORDS: &[Word] = &[
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
    starts("conflict", 1.2),
    starts("invalid", 1.2),
    starts("invalid read of", 1.8),
    starts("invalid write of", 1.8),
    starts("uninitiali", 1.4),
    starts("expected", 1.0),
    starts("missing", 1.0),
    starts("warning", 0.4),
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
    starts("incompatible", 1.3),
    starts("not permitted", 1.5),
    starts("not allowed", 1.3),
    starts("crash", 1.4),
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

/// What each word of the vocabulary tells that a line has in it.
fn spoken(line: &[u8]) -> impl Iterator<Item = f32> {
    let small = line.to_ascii_lowercase();
    WORDS.iter().filter_map(move |word| {
        let at = memchr::memmem::find(&small, word.text.as_bytes())?;
        Some(said(line, at..at + word.text.len(), &(0..line.len()), word, false))
    })
}

/// Whether a line has words of the vocabulary, and none of them tells of trouble there: `0 errors`.
pub(super) fn is_harmless(line: &[u8]) -> bool {
    let mut spoken = spoken(line).peekable();
    spoken.peek().is_some() && spoken.all(|weight| weight == 0.0)
}

/// What makes a word of trouble before it part of a name, and what such a name counts: `error messages`, `failure detection`.
const NAMING: &[&str] =
    &["message", "handl", "report", "log", "page", "check", "output", "detect", "recovery"];
const NAMED: f32 = 0.4;

/// How lines begin that tell which test will run. Tests are named after the troubles that they look for.
const ANNOUNCING: &[&str] =
    &["=== RUN", "[ RUN", "# Starting", "Starting Test", "Running test", "RUN ", "Test Case"];

/// What a warning tells that says where.
const LOCATED: f32 = 0.9;

/// Whether a word that was found in a block speaks of trouble there, and how much.
pub(super) fn said(
    block: &[u8],
    found: Range<usize>,
    unit: &Range<usize>,
    word: &Word,
    verdict: bool,
) -> f32 {
    let before = super::scan::before(block, found.start);
    let inside = before.is_some_and(|before| {
        before.is_ascii_alphabetic()
            && !(before.is_ascii_lowercase() && block[found.start].is_ascii_uppercase())
    });
    let mut end = found.end;
    while end < unit.end && block[end].is_ascii_alphabetic() {
        end += 1;
    }
    if inside || word.alone && end > found.end {
        return 0.0;
    }
    let rest = &block[end..unit.end];
    let start = &block[unit.start..found.start];
    if word.ends {
        let rest = rest.trim_ascii_start();
        let rest =
            rest.strip_prefix(b"status").or(rest.strip_prefix(b"code")).unwrap_or(rest).trim_ascii_start();
        let rest = rest.strip_prefix(b":").or(rest.strip_prefix(b"=")).unwrap_or(rest).trim_ascii_start();
        return if rest.first() == Some(&b'0') { 0.0 } else { word.weight };
    }
    // A compiler's warning says where: `src/a.c:12:5: warning: …`. Builds that take warnings for errors end by them.
    if word.text == "warning" && says_where(start) {
        return LOCATED;
    }
    // Counts of nothing: `0 errors`, `errors: 0`, `errors | 0`, `no failures`.
    let number_before = last_word(start);
    let harmless =
        matches!(number_before, b"0" | b"no" | b"No" | b"zero" | b"without" | b"if" | b"on" | b"License");
    let sign = rest.iter().take(24).position(|byte| matches!(byte, b':' | b'='));
    // In a table the value stands in the next column.
    let next = rest.trim_ascii_start().strip_prefix(b"|");
    let value = next.or(sign.map(|at| &rest[at + 1..])).unwrap_or_default().trim_ascii_start();
    let zero = value.first() == Some(&b'0')
        && !value.get(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
    if harmless || zero {
        return 0.0;
    }
    // What was known to fail, and did: `TEST-KNOWN-FAIL`.
    if start.ends_with(b"KNOWN-") {
        return 0.0;
    }
    if NAMING
        .iter()
        .any(|naming| rest.strip_prefix(b" ").is_some_and(|rest| rest.starts_with(naming.as_bytes())))
    {
        return word.weight * NAMED;
    }
    // Part of a path, a flag or a longer name: it names something, and says nothing of it. But `TEST-UNEXPECTED-FAIL` says it.
    let after = block.get(end).copied();
    let shouts = block[found.start..end].iter().all(u8::is_ascii_uppercase);
    let joined = |byte: Option<u8>| {
        byte.is_some_and(|byte| matches!(byte, b'_' | b'/' | b'.') || byte == b'-' && !shouts)
    };
    let names = joined(before)
        || joined(after) && block.get(end + 1).is_some_and(|byte| byte.is_ascii_alphanumeric());
    // Part of the name of a function: `whenItFailsThenRetry` says nothing, `AssertionError` does.
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

/// Whether a word that was found in a block is a verdict: by it a runner says, in a form of its own, that a test or a step failed.
pub(super) fn is_verdict(block: &[u8], found: &Range<usize>, unit: &Range<usize>) -> bool {
    let (start, word, rest) =
        (&block[unit.start..found.start], &block[found.clone()], &block[found.end..unit.end]);
    let is_coloured = memchr::memchr(0x1b, start).is_some();
    let plain = if is_coloured { readable(start) } else { start.into() };
    let begins =
        unstamped(start).is_empty() || start.ends_with(b"\r") || is_coloured && plain.trim_ascii().is_empty();
    let start = &*plain;
    let stands = !rest.first().is_some_and(u8::is_ascii_alphabetic);
    match word {
        b"not ok" => begins,
        b"FAIL" => {
            stands
                && (begins
                    || is_counted(start)
                    || start.ends_with(b"--- ")
                    || start.ends_with(b"TEST-UNEXPECTED-"))
        }
        b"Fail" => {
            is_counted(start) && start.ends_with(b"***")
                || begins && rest.starts_with(b"ed asserting that ")
                || start == b"#   " && rest.starts_with(b"ed test ")
        }
        b"UNEXPECTED" => start.ends_with(b"TEST-"),
        // What a checker of memory says: `==24179== Invalid write of size 8`.
        b"Invalid read of" | b"Invalid write of" | b"uninitiali" => start.starts_with(b"=="),
        // A compiler's error says where, or which: `a.c:12:5: error: …`, `error[E0308]: …`.
        b"error" if says_where(start) || is_position(start) || begins && rest.starts_with(b"[") => true,
        // `[ERROR] src/A.java:[12,5] cannot find symbol`.
        b"ERROR" => start == b"[" && says_where_behind(rest),
        // `##[error]`, `::error::`, `[taskcluster:error]`.
        b"error" => {
            start.ends_with(b"##[") && rest.starts_with(b"]")
                || begins_with_name(start) && rest.starts_with(b"]")
                || start == b"::" && (rest.starts_with(b"::") || rest.starts_with(b" "))
        }
        _ => false,
    }
}

/// Whether a line begins by counting tests: `132/220 name`.
pub(super) fn is_counted(line: &[u8]) -> bool {
    let number = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let line = line.trim_ascii_start();
    let count = number(line);
    let Some(of) = line[count..].strip_prefix(b"/") else { return false };
    let all = number(of);
    count > 0 && all > 0 && of.get(all) == Some(&b' ')
}

/// Whether a line begins with a place: `a.c:12:5: `, `a.ts:12:5 - `, `a.cs(12,5): `.
fn says_where(start: &[u8]) -> bool {
    let graver = [&b"fatal "[..], b"runtime ", b"internal compiler ", b"syntax "];
    let start = graver.iter().find_map(|with| start.strip_suffix(*with)).unwrap_or(start).trim_ascii_end();
    let place = start.strip_suffix(b":").or(start.strip_suffix(b" -")).unwrap_or_default();
    if let Some(place) = place.strip_suffix(b")") {
        let is_place = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
        let length = place.iter().rev().take_while(|byte| is_place(byte)).count();
        return length > 0 && place[..place.len() - length].ends_with(b"(");
    }
    let number = last_word(place);
    !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}

/// Whether what stands behind a level begins with a place as Maven writes it: `] src/A.java:[12,5] …`.
fn says_where_behind(rest: &[u8]) -> bool {
    let rest = readable(rest);
    let place = rest.strip_prefix(b"] ").unwrap_or_default().split(|&byte| byte == b' ').next();
    let numbers = place.and_then(|place| place.strip_suffix(b"]"));
    let numbers = numbers.and_then(|place| place.rsplit(|&byte| byte == b'[').next());
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
    numbers.is_some_and(|numbers| !numbers.is_empty() && numbers.iter().all(is_number))
}

/// Whether a line begins with a place in the file that is named above it: `  9:46  `.
fn is_position(start: &[u8]) -> bool {
    let place = start.trim_ascii();
    let digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
    let is_place = |byte: &u8| byte.is_ascii_digit() || *byte == b':';
    place.contains(&b':')
        && digit(place.first())
        && digit(place.last())
        && place.iter().all(is_place)
        && start.len() > place.len() + 1
}

/// Whether a line begins with a bracket, the name of who speaks and a colon: `[taskcluster:`.
fn begins_with_name(start: &[u8]) -> bool {
    let name = start.strip_prefix(b"[").and_then(|name| name.strip_suffix(b":"));
    name.is_some_and(|name| !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric))
}

/// Words by which a line that begins with one of them tells of a failure.
const TELLING: &[&str] = &["error", "fatal", "failed", "failure", "panic", "exception", "critical"];

/// Whether a line begins by telling of a failure, as hardly anything does that is no record of a run: `ERROR: …`,
/// `psql:a.sql:3: ERROR: …`, `Runtime error near line 3: …`, `ValueError: …`, `a.go:5:2: …`.
pub(super) fn is_told(line: &[u8]) -> bool {
    let line = readable(line);
    let line = line.trim_ascii_start();
    if line.starts_with(b"Traceback (most recent call last)") {
        return true;
    }
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(6);
    let mut first = true;
    while let Some(word) = words.next() {
        let bare = word.strip_suffix(b":").or(word.strip_suffix(b"!"));
        let name = bare.unwrap_or(word);
        let small = name.to_ascii_lowercase();
        // `ValueError`, but not `no_error`.
        let is_type =
            name.first().is_some_and(u8::is_ascii_uppercase) && name.iter().all(u8::is_ascii_alphanumeric);
        let tells = TELLING.iter().any(|telling| match bare.is_some() && is_type {
            true => small.ends_with(telling.as_bytes()),
            false => small == telling.as_bytes(),
        });
        let mut behind = words.clone();
        let placed = behind.next().is_some_and(|next| [&b"near"[..], b"at", b"in"].contains(&next))
            && behind
                .next()
                .is_some_and(|place| place == b"line" || place == b"thread" || place.contains(&b':'));
        // A name alone is that of a folder.
        let says = words.clone().next().is_some();
        match () {
            () if says && tells && (bare.is_some() || placed) => return true,
            () if says && first && bare.is_some_and(is_place) => return true,
            // What stands before the word names who speaks.
            () if first || bare.is_some() => {}
            () => return false,
        }
        first = false;
    }
    false
}

/// Whether a word is a file with a line: `a.go:5`, `src/a.c:12:5`.
fn is_place(word: &[u8]) -> bool {
    let mut parts = word.split(|&byte| byte == b':');
    let path = parts.next().unwrap_or_default();
    let mut numbers = parts.peekable();
    numbers.peek().is_some()
        && path.contains(&b'.')
        && numbers.all(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// Whether a line points at what stands above it: `^-- SC2086: …`.
pub(super) fn points_up(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"^--")
}

/// Whether a word is in capitals.
pub(super) fn shouts(word: &[u8]) -> bool {
    word.iter().all(|byte| !byte.is_ascii_lowercase()) && word.iter().any(u8::is_ascii_uppercase)
}

/// The token that a word stands in, as a number: `TEST-KNOWN-FAIL` and `TEST-UNEXPECTED-FAIL` are two.
pub(super) fn token(block: &[u8], found: Range<usize>, unit: &Range<usize>) -> u32 {
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

/// How much what a line says counts, by what else it is: what passed has not failed, a command that is echoed has not
/// failed yet, and what is told for information is rarely the cause, unless it tells of the end.
pub(super) fn standing(line: &[u8], ends: bool, shouts: bool) -> f32 {
    let line = last_written(line);
    let start = &line[..line.len().min(120)];
    let plain = visible_start(start);
    let said = message(plain);
    if passed(said, visible_end(line)) || is_name_of_test(said) {
        return 0.1;
    }
    if is_bare_level(said) {
        return 0.1;
    }
    if ends {
        return 1.0;
    }
    if ANNOUNCING.iter().any(|words| said.starts_with(words.as_bytes())) {
        return 0.25;
    }
    let is_command = [&b"$ "[..], b"+ ", b"export "].iter().any(|sign| plain.starts_with(sign));
    if is_command || said.starts_with(b"echo ") {
        return 0.25;
    }
    // What is quoted from a program names what may go wrong there, and so does what a linter remarks.
    if is_quoted_code(plain) || super::finding::is_remark(plain) {
        return QUOTED;
    }
    // What is deprecated works as yet, whatever it says that it will do.
    if DEPRECATED.find(line).is_some() {
        return 0.4;
    }
    let has = |levels: &[Finder]| levels.iter().any(|level| level.find(start).is_some());
    if has(&*DETAILS) {
        return 0.4;
    }
    // A word in capitals is a verdict, at whatever level it is told.
    if has(&*INFORMS) && !shouts { 0.6 } else { 1.0 }
}

/// What a line tells that is quoted from a program.
pub(super) const QUOTED: f32 = 0.3;

/// Whether a line is quoted from a program, with its number before a bar: `  12 |     throw new Error()`.
fn is_quoted_code(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b">").unwrap_or(line).trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && line[digits..].trim_ascii_start().starts_with(b"|")
}

/// Whether a line has a level and says nothing at it: `[ERROR]`.
fn is_bare_level(line: &[u8]) -> bool {
    let line = readable(line);
    let level = line.trim_ascii().strip_prefix(b"[").and_then(|level| level.strip_suffix(b"]"));
    level.is_some_and(|level| level.iter().all(u8::is_ascii_alphabetic))
}

/// Whether a line is told for information.
pub(super) fn informs(line: &[u8]) -> bool {
    let start = &line[..line.len().min(120)];
    INFORMS.iter().chain(&*DETAILS).any(|level| level.find(start).is_some())
}

/// What says that something will not do any more some day.
static DEPRECATED: LazyLock<Finder> = LazyLock::new(|| Finder::new("deprecat"));

/// The levels of details, and of what is told for information.
static DETAILS: LazyLock<[Finder; 6]> = LazyLock::new(|| {
    ["DEBUG", "debug:", "TRACE", "npm verbose ", "npm http ", "npm silly "].map(Finder::new)
});
static INFORMS: LazyLock<[Finder; 3]> = LazyLock::new(|| [" INFO ", "[INFO]", " info "].map(Finder::new));

/// How lines begin that tell of a test that passed, was not run, or failed as it should.
const BEGINS_PASSED: &[&str] =
    &["ok", "PASS", "PASSED", "--- PASS", "✓", "✔", "√", "SKIP", "--- SKIP", "XFAIL"];

/// How they end.
const ENDS_PASSED: &[&str] = &["ok", "OK", "PASSED", "Passed", "SKIPPED", "skipped"];

/// A line without how far a run has come, which pytest says at its end: `a.py::test_it PASSED  [ 50%]`.
fn unnumbered_end(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_suffix(b"%]") else { return line };
    let number = rest.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b' ').count();
    rest[..rest.len() - number].strip_suffix(b"[").unwrap_or(line).trim_ascii_end()
}

/// A line without who says it and how far a run has come, which pytest says at its beginning if tests run side by side:
/// `[gw0] [ 50%] PASSED a.py::test_it`.
fn unnumbered_start(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_prefix(b"[gw") else { return line };
    memchr::memmem::find(rest, b"%] ").map_or(line, |at| &rest[at + 3..])
}

/// Whether a line is only the name of a test, as pytest says it before the test runs.
fn is_name_of_test(line: &[u8]) -> bool {
    let file = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_named = memchr::memmem::find(file, b".py::").is_some();
    is_named
        && ![&b" FAILED"[..], b" ERROR", b" - "].iter().any(|said| memchr::memmem::find(line, said).is_some())
}

/// Whether a line tells of a test that passed. Tests are named after the troubles that they look for.
fn passed(start: &[u8], end: &[u8]) -> bool {
    let (start, end) = (unnumbered_start(start), untimed(unnumbered_end(end)));
    let begins = |word: &&str| {
        let rest = start.strip_prefix(word.as_bytes());
        rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
    };
    let ends = |word: &&str| {
        let rest = end.strip_suffix(word.as_bytes());
        rest.is_some_and(|rest| {
            !rest.is_empty()
                && super::scan::before(end, rest.len()).is_none_or(|byte| !byte.is_ascii_alphanumeric())
        })
    };
    // PHPUnit tells that a test begins and that it is over: `Test 'A::b with data set #1' started`.
    let is_over =
        || start.starts_with(b"Test '") && (end.ends_with(b"' started") || end.ends_with(b"' ended"));
    BEGINS_PASSED.iter().any(begins) || ENDS_PASSED.iter().any(ends) || is_over()
}

/// Whether a line tells of a test that passed.
pub(super) fn has_passed(line: &[u8]) -> bool {
    let line = last_written(line);
    let start = &line[..line.len().min(120)];
    passed(message(visible_start(start)), visible_end(line))
}

/// A line without the time that its test took: `0.01s`, `0.01 sec`.
fn untimed(line: &[u8]) -> &[u8] {
    let unit = [&b" sec"[..], b"s"].iter().find_map(|unit| line.strip_suffix(*unit));
    let is_time = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let time = |line: &[u8]| line.iter().rev().take_while(|byte| is_time(byte)).count();
    match unit {
        Some(line) if time(line) > 0 => line[..line.len() - time(line)].trim_ascii_end(),
        _ => line,
    }
}

/// What carriage returns left of a line.
fn last_written(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii_end();
    memchr::memrchr(b'\r', line).map_or(line, |at| &line[at + 1..])
}

/// What a line says behind the time at which it was said.
fn message(line: &[u8]) -> &[u8] {
    let is_time = |byte: &u8| byte.is_ascii_digit() || b":-.TZ+ []".contains(byte);
    let (time, rest) = line.split_at(line.iter().position(|byte| !is_time(byte)).unwrap_or(line.len()));
    let digits = time.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits >= 6 { rest } else { line.trim_ascii_start() }
}

/// A line up to its last character that a terminal would show.
fn visible_end(line: &[u8]) -> &[u8] {
    let mut rest = line.trim_ascii_end();
    while let Some(at) = memchr::memrchr(0x1b, rest) {
        let code = rest[at + 1..].strip_prefix(b"[").and_then(<[u8]>::split_last);
        let is_code = |(letter, digits): (&u8, &[u8])| {
            letter.is_ascii_alphabetic() && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b';')
        };
        if !code.is_some_and(is_code) {
            break;
        }
        rest = rest[..at].trim_ascii_end();
    }
    rest
}

/// A line from its first character on that a terminal would show.
fn visible_start(line: &[u8]) -> &[u8] {
    let mut rest = line;
    while let Some(after) = rest.strip_prefix(b"\x1b[") {
        let end = after.iter().position(u8::is_ascii_alphabetic).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    rest
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
    fn what_begins_by_telling_of_a_failure_is_known() {
        let table = [
            ("ERROR: Cannot install flask==2.3.3", true),
            ("psql:m.sql:255: ERROR:  column \"region\" contains null values", true),
            ("Runtime error near line 266: CHECK constraint failed", true),
            ("fatal: [web03]: FAILED! => {}", true),
            ("Traceback (most recent call last):", true),
            ("2024-05-01T12:00:00Z ValueError: it is gone", true),
            ("\u{1b}[31merror\u{1b}[0m: it is gone", true),
            ("svc17/extra.go:5:2: imported and not used: \"os\"", true),
            ("CMake Error at CMakeLists.txt:3 (find_package):", true),
            ("Exception in thread \"main\" java.lang.StackOverflowError", true),
            ("error:", false),
            ("error", false),
            ("no_error: 1", false),
            ("errors are told so: error: it is gone", false),
            ("a note of what failed", false),
            ("The failure at sea in 1805 : nobody was saved", false),
            ("12:30: we met", false),
            ("INSERT INTO error VALUES (1);", false),
            ("", false),
        ];
        for (line, expected) in table {
            assert_eq!(is_told(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn what_passed_has_not_failed_whatever_it_is_called() {
        for line in [
            "ok 86 http-client - errors are bubbled",
            "2026-05-06T13:40:40.1411783Z   ✓ does not cache errors (16 ms)",
            "    --- PASS: TestError/exit_code (0.00s)",
            "TEST 9/10 [running]   \rSKIP Bug #1 (causes Segmentation fault) [x.phpt] reason: online",
            "[ RUN ] os_system returns non-zero exit code: 54.89 ms \x1b[32mOK\x1b[0m\x1b[0m\r\n",
            "test_error ... ok\n",
            "130/220 errors are told    OK              0.01s",
            "tests/a.py::test_error[Error: no such file] PASSED      [ 50%]",
            "[gw0] [ 84%] PASSED tests/a.py::test_undefined",
            "tests/a.py::test_undefined[Error: it failed] ",
            "Test 'Shop\\CartTest::testErrors with data set #1 ('no such')' started\n",
            "Test 'Shop\\CartTest::testErrors' ended\n",
            "[ERROR] \n",
            "[\x1b[1;31mERROR\x1b[m] \n",
        ] {
            assert_eq!(standing(line.as_bytes(), true, false), 0.1, "{line:?}");
        }
        let deprecated = "setting it is deprecated since 3.1 and will throw an exception in 4.0";
        assert_eq!(standing(deprecated.as_bytes(), false, false), 0.4);
        for line in ["PASSWORD authentication failed", "not ok 23 dns", "error: the book", "OK"] {
            assert_eq!(standing(line.as_bytes(), false, false), 1.0, "{line:?}");
        }
    }

    #[test]
    fn what_is_quoted_or_only_remarked_tells_less_than_what_is_said() {
        for line in
            ["  12 |     throw new Error()", "> 3| panic!()", "a.py:1:0: W0707: raise ValueError('failed')"]
        {
            assert_eq!(standing(line.as_bytes(), false, false), QUOTED, "{line}");
        }
        assert_eq!(standing(b"npm verbose stack Error: it failed", false, false), 0.4);
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
    fn verdicts_are_known_in_the_forms_of_many_tools() {
        let table = [
            ("src/a.ts:12:5 - error TS2345: it is not", "error", true),
            ("src/a.cs(12,5): error CS0103: it is not", "error", true),
            ("[ERROR] /src/A.java:[4,24] package b does not exist", "ERROR", true),
            ("[\u{1b}[1;31mERROR\u{1b}[m] /src/A.java:[57,8] error while writing A", "ERROR", true),
            ("[ERROR] Failed to execute goal", "ERROR", false),
            (
                "\u{1b}[96msrc/a.ts\u{1b}[0m:\u{1b}[93m2\u{1b}[0m:\u{1b}[93m1\u{1b}[0m - \u{1b}[91merror\u{1b}[0m TS1",
                "error",
                true,
            ),
            ("\u{1b}[1m\u{1b}[31m FAIL \u{1b}[39m a.test.js", "FAIL", true),
            ("132/220 retries    FAIL     0.01s   exit status 1", "FAIL", true),
            ("12/34 Test #12: parse ......***Failed  0.01 sec", "Fail", true),
            ("==24179== Invalid write of size 8", "Invalid write of", true),
            ("Failed asserting that 2 is identical to 1.", "Fail", true),
            ("it was Failed asserting that", "Fail", false),
            ("#   Failed test 'two fields'", "Fail", true),
            ("it is an error (12,5) that", "error", false),
            ("they FAIL often", "FAIL", false),
        ];
        for (line, word, expected) in table {
            let at = line.find(word).unwrap();
            let found = at..at + word.len();
            assert_eq!(is_verdict(line.as_bytes(), &found, &(0..line.len())), expected, "{line}");
        }
    }

    #[test]
    fn words_of_trouble_that_name_something_tell_less() {
        let weight = |line: &str| spoken(line.as_bytes()).fold(0.0, f32::max);
        let full = weight("an error in it");
        for line in ["gives useful error messages", "with better error handling", "the error log is here"] {
            assert!(weight(line) < full / 2.0, "{line}");
        }
        assert_eq!(weight("under License Exception TSU"), 0.0);
        assert!(weight("SUMMARY: AddressSanitizer: use-after-free a.cpp:13 in main") > 1.0);
        assert_eq!(weight("../libsanitizer/asan.cpp:164"), 0.0);
        for line in ["# Starting Test: http - error", "=== RUN TestError", "[ RUN      ] Error.IsTold"] {
            assert_eq!(standing(line.as_bytes(), false, false), 0.25, "{line}");
        }
    }
}
