//! Role of a line with a failure word: a passed test, an echoed command, quoted code.

use crate::formats::Role;
use crate::formats::finding::is_remark;
use crate::formats::frames::is_of_runtime;
use crate::formats::matcher::Matcher;
use crate::terminal::readable;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// Weight of a failure word by the role of its line: passed tests, echoed commands, quoted code and messages at info level
/// count less, unless the line reports the end of a run.
pub(crate) fn of(line: &[u8], ends: bool, shouts: bool) -> f32 {
    let line = last_written(line);
    let start = &line[..line.len().min(120)];
    let plain = visible_start(start);
    let said = message(plain);
    if has_passed(line) || is_name_of_test(said) {
        return 0.1;
    }
    if is_bare_level(said) {
        return 0.1;
    }
    // A linter's remark names what may go wrong in a program.
    if is_remark(plain) {
        return QUOTED;
    }
    if ends {
        return 1.0;
    }
    if ANNOUNCEMENT.is_match(said) {
        return 0.25;
    }
    let is_command = [&b"$ "[..], b"+ ", b"export "].iter().any(|sign| plain.starts_with(sign));
    if is_command || said.starts_with(b"echo ") {
        return 0.25;
    }
    // Quoted code and the functions of a runtime name what may go wrong in a program.
    if QUOTED_CODE.is_match(plain) || is_of_runtime(plain) {
        return QUOTED;
    }
    // Something deprecated still works, whatever the line says about the future.
    if DEPRECATED.find(line).is_some() {
        return 0.4;
    }
    let has = |levels: &[Finder]| levels.iter().any(|level| level.find(start).is_some());
    if has(&*DETAILS) || DETAIL.is_match(start) {
        return 0.4;
    }
    // A word in capitals is a verdict, whatever the level of its line.
    if has(&*INFORMS) && !shouts { 0.6 } else { 1.0 }
}

static PASSED: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Passed]));
static ANNOUNCEMENT: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Announcement]));
static QUOTED_CODE: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::QuotedCode]));
static DETAIL: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Detail]));

/// Weight of a failure word in quoted code.
pub(crate) const QUOTED: f32 = 0.3;

/// Whether a line has a level and nothing else: `[ERROR]`.
fn is_bare_level(line: &[u8]) -> bool {
    let line = readable(line);
    let level = line.trim_ascii().strip_prefix(b"[").and_then(|level| level.strip_suffix(b"]"));
    level.is_some_and(|level| level.iter().all(u8::is_ascii_alphabetic))
}

/// Whether a line is logged at info level or below.
pub(crate) fn informs(line: &[u8]) -> bool {
    let start = &line[..line.len().min(120)];
    INFORMS.iter().chain(&*DETAILS).any(|level| level.find(start).is_some()) || DETAIL.is_match(start)
}

/// Beginning of the words for something that will be removed one day.
static DEPRECATED: LazyLock<Finder> = LazyLock::new(|| Finder::new("deprecat"));

/// Levels of details, and of information.
static DETAILS: LazyLock<[Finder; 3]> = LazyLock::new(|| ["DEBUG", "debug:", "TRACE"].map(Finder::new));
static INFORMS: LazyLock<[Finder; 3]> = LazyLock::new(|| [" INFO ", "[INFO]", " info "].map(Finder::new));

/// A line without the progress that pytest prints at its end: `a.py::test_it PASSED  [ 50%]`.
fn unnumbered_end(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_suffix(b"%]") else { return line };
    let number = rest.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b' ').count();
    rest[..rest.len() - number].strip_suffix(b"[").unwrap_or(line).trim_ascii_end()
}

/// A line without the worker and the progress that pytest-xdist prints at its beginning: `[gw0] [ 50%] PASSED
/// a.py::test_it`.
fn unnumbered_start(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_prefix(b"[gw") else { return line };
    memchr::memmem::find(rest, b"%] ").map_or(line, |at| &rest[at + 3..])
}

/// Whether a line is only the name of a test, as pytest prints it before the test runs.
fn is_name_of_test(line: &[u8]) -> bool {
    let file = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_named = memchr::memmem::find(file, b".py::").is_some();
    is_named
        && ![&b" FAILED"[..], b" ERROR", b" - "].iter().any(|said| memchr::memmem::find(line, said).is_some())
}

/// Whether a line says that a test passed.
pub(crate) fn has_passed(line: &[u8]) -> bool {
    let (all, said) = (result_with_margin(line), result(line));
    // A result that stands alone behind blanks is one, and a program that only says OK reports no test.
    let margin = all.len() - said.len();
    PASSED.is_match(said) || margin > 0 && is_word(said) && PASSED.is_match(&all[margin - 1..])
}

fn is_word(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_alphabetic)
}

/// Result of a test on a line: the line without time stamp, progress and duration, and without invisible codes at either
/// end.
pub(crate) fn result(line: &[u8]) -> &[u8] {
    let written = last_written(line);
    let beginning = &written[..written.len().min(120)];
    let start = beginning.len() - unnumbered_start(message(visible_start(beginning))).len();
    let all = result_with_margin(line);
    &all[start.min(all.len())..]
}

/// Result of a test on a line, with the text before it.
fn result_with_margin(line: &[u8]) -> &[u8] {
    untimed(unnumbered_end(visible_end(last_written(line))))
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

/// The part of a line behind the last carriage return.
fn last_written(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii_end();
    memchr::memrchr(b'\r', line).map_or(line, |at| &line[at + 1..])
}

/// A line without its time stamp.
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
    while let Some(after) = rest.trim_ascii_start().strip_prefix(b"\x1b[") {
        let end = after.iter().position(u8::is_ascii_alphabetic).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_has_not_failed_whatever_it_is_called() {
        for line in [
            "ok 86 http-client - errors are bubbled",
            "2026-05-06T13:40:40.1411783Z   ✓ does not cache errors (16 ms)",
            "    --- PASS: TestError/exit_code (0.00s)",
            "    \x1b[32m✓\x1b[39m \x1b[2mwhen it fails then it throws an error\x1b[22m",
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
            assert_eq!(of(line.as_bytes(), true, false), 0.1, "{line:?}");
        }
        let deprecated = "setting it is deprecated since 3.1 and will throw an exception in 4.0";
        assert_eq!(of(deprecated.as_bytes(), false, false), 0.4);
        for line in ["PASSWORD authentication failed", "not ok 23 dns", "error: the book", "OK"] {
            assert_eq!(of(line.as_bytes(), false, false), 1.0, "{line:?}");
        }
    }

    #[test]
    fn what_is_quoted_or_only_remarked_tells_less_than_what_is_said() {
        for line in [
            "  12 |     throw new Error()",
            "> 3| panic!()",
            "    → 1120│     raise RequestsJSONDecodeError(e)",
            "    ^-- SC2181 (style): Check exit code directly.",
            "a.py:1:0: W0707: raise ValueError('failed')",
            "   1: core::panicking::panic_fmt",
        ] {
            assert_eq!(of(line.as_bytes(), false, false), QUOTED, "{line}");
        }
        assert_eq!(of(b"npm verbose stack Error: it failed", false, false), 0.4);
    }

    #[test]
    fn what_tells_that_a_test_will_run_tells_little() {
        for line in ["# Starting Test: http - error", "=== RUN TestError", "[ RUN      ] Error.IsTold"] {
            assert_eq!(of(line.as_bytes(), false, false), 0.25, "{line}");
        }
    }
}
