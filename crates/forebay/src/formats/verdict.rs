//! The forms in which runners, compilers and programs say that something failed.

use crate::formats::matcher::Matcher;
use crate::formats::{Role, location};
use crate::terminal::readable;
use crate::text::timestamp::unstamped;
use std::ops::Range;
use std::sync::LazyLock;

/// Whether a word that was found in a block is a verdict: a runner or compiler reports with it, in a form of its own, that a
/// test or a step failed.
pub(crate) fn is_verdict(block: &[u8], found: &Range<usize>, unit: &Range<usize>) -> bool {
    let (start, word, rest) =
        (&block[unit.start..found.start], &block[found.clone()], &block[found.end..unit.end]);
    let is_coloured = memchr::memchr(0x1b, start).is_some();
    let plain = if is_coloured { readable(start) } else { start.into() };
    let begins =
        unstamped(start).is_empty() || start.ends_with(b"\r") || is_coloured && plain.trim_ascii().is_empty();
    match word {
        // A compiler's error says where, or which: `a.c:12:5: error: …`, `error[E0308]: …`.
        b"error"
            if location::is_before(&plain)
                || location::is_column(&plain)
                || begins && rest.starts_with(b"[") =>
        {
            true
        }
        // `[ERROR] src/A.java:[12,5] cannot find symbol`.
        b"ERROR" if &*plain == b"[" && location::is_behind(rest) => true,
        word if CAUSES.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())) => true,
        word => {
            let written = memchr::memrchr(b'\r', &plain).map_or(&*plain, |at| &plain[at + 1..]);
            let written = unstamped(written);
            let written = if is_coloured { written.trim_ascii_start() } else { written };
            is_verdict_of_tool(written, word, &rest[..rest.len().min(BEHIND)])
        }
    }
}

/// Maximum bytes before and behind a word that the form of a verdict has.
const BEFORE: usize = 400;
const BEHIND: usize = 80;

/// Whether a word is a verdict in the form of one tool, judged by the text before and after it on the line.
fn is_verdict_of_tool(start: &[u8], word: &[u8], rest: &[u8]) -> bool {
    static VERDICTS: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Verdict]));
    if start.len() > BEFORE {
        return false;
    }
    let line = [start, word, rest].concat();
    VERDICTS.captures(&line).any(|(_, groups)| match (groups.get(1), groups.get(0)) {
        (Some(word), _) => word.start() == start.len(),
        (None, Some(all)) => start.len() < all.end(),
        (None, None) => false,
    })
}

/// Words for root causes: a resource is exhausted or taken, and everything that needs it fails later; or a debugger reports
/// a crash.
const CAUSES: &[&str] =
    &["no space left", "address already in use", "received signal sig", "terminating with default action"];

/// Whether the line after a failure says that it does no harm, as Ansible does: `...ignoring`.
pub(crate) fn is_ignored(rest: &[u8]) -> bool {
    let line = &rest[..memchr::memchr(b'\n', &rest[..rest.len().min(40)]).unwrap_or_default()];
    static IGNORED: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Ignored]));
    IGNORED.is_match(&readable(line))
}

/// Whether a line begins by counting tests: `132/220 name`.
pub(crate) fn is_counted(line: &[u8]) -> bool {
    let number = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let line = line.trim_ascii_start();
    let count = number(line);
    let Some(of) = line[count..].strip_prefix(b"/") else { return false };
    let all = number(of);
    count > 0 && all > 0 && of.get(all) == Some(&b' ')
}

/// Words that report a failure where a line begins with them.
const TELLING: &[&str] = &["error", "fatal", "failed", "failure", "panic", "exception", "critical"];

/// Whether a line begins by reporting a failure, as lines of documents and programs hardly do: `ERROR: …`,
/// `psql:a.sql:3: ERROR: …`, `Runtime error near line 3: …`, `ValueError: …`, `a.go:5:2: …`.
pub(crate) fn is_told(line: &[u8]) -> bool {
    let line = readable(line);
    let line = line.trim_ascii_start();
    // A comment of a program that mentions an error.
    if line.starts_with(b"/*") || line.starts_with(b"//") {
        return false;
    }
    static ERRORS: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Error]));
    if ERRORS.is_match(line) {
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
        let tells = TELLING.iter().any(|telling| {
            if bare.is_some() && is_type {
                small.ends_with(telling.as_bytes())
            } else {
                small == telling.as_bytes()
            }
        });
        let mut behind = words.clone();
        let placed = behind.next().is_some_and(|next| [&b"near"[..], b"at", b"in"].contains(&next))
            && behind
                .next()
                .is_some_and(|place| place == b"line" || place == b"thread" || place.contains(&b':'));
        // A name alone is that of a folder, unless it is that of a type: `JSONDecodeError`.
        let says = words.clone().next().is_some();
        let is_alone = first && !says && is_type && name.iter().skip(1).any(u8::is_ascii_lowercase);
        let is_type_of_error =
            || [&b"Error"[..], b"Exception"].iter().any(|end| name.ends_with(end) && name.len() > end.len());
        let names_file = || bare.and_then(location::file).is_some_and(|file| file.contains(&b'.'));
        if is_alone && is_type_of_error()
            || says && tells && (bare.is_some() || placed)
            || says && first && names_file()
        {
            return true;
        }
        // Words before it may name the program that reports.
        if !first && bare.is_none() {
            return false;
        }
        first = false;
    }
    false
}

/// Whether a line points at the line above: `^-- SC2086: …`.
pub(crate) fn points_up(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"^--")
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("rspec ./spec/shop_spec.rb:5 # Shop adds up", "rspec ./", true),
            ("run it by rspec ./spec/shop_spec.rb", "rspec ./", false),
            ("132/220 retries    FAIL     0.01s   exit status 1", "FAIL", true),
            ("12/34 Test #12: parse ......***Failed  0.01 sec", "Fail", true),
            ("==24179== Invalid write of size 8", "Invalid write of", true),
            ("Failed asserting that 2 is identical to 1.", "Fail", true),
            ("it was Failed asserting that", "Fail", false),
            ("#   Failed test 'two fields'", "Fail", true),
            ("it is an error (12,5) that", "error", false),
            ("they FAIL often", "FAIL", false),
            ("Nov 17 09:01:12 host sshd[2201]: error: it is gone", "error", false),
            ("FAILED: tests/test1", "FAIL", true),
            ("FAILED (failures=1)", "FAIL", false),
            ("! LaTeX Error: Environment longtable* undefined.", "Error", true),
            ("! Undefined control sequence.", "Undefined", true),
            ("it is ! an Error", "Error", false),
            ("fatal: [web07]: FAILED! => {\"changed\": true}", "fatal", true),
            ("\u{1b}[0;31mfatal: [db1]: UNREACHABLE! => {}", "fatal", true),
            ("fatal: not a git repository", "fatal", false),
            ("Program received signal SIGSEGV, Segmentation fault.", "received signal SIG", true),
            ("Error: listen EADDRINUSE: address already in use :::3000", "address already in use", true),
            ("write error: No space left on device", "No space left", true),
        ];
        for (line, word, expected) in table {
            let at = line.find(word).unwrap();
            let found = at..at + word.len();
            assert_eq!(is_verdict(line.as_bytes(), &found, &(0..line.len())), expected, "{line}");
        }
    }

    #[test]
    fn what_a_run_was_told_to_ignore_is_known_by_the_line_below() {
        assert!(is_ignored(b"\x1b[0;36m...ignoring\x1b[0m\nTASK [next]\n"));
        assert!(!is_ignored(b"TASK [next]\n...ignoring\n") && !is_ignored(b""));
    }

    #[test]
    fn what_begins_by_telling_of_a_failure_is_known() {
        let table = [
            ("ERROR: Cannot install flask==2.3.3", true),
            ("psql:m.sql:255: ERROR:  column \"region\" contains null values", true),
            ("Runtime error near line 266: CHECK constraint failed", true),
            ("fatal: [web03]: FAILED! => {}", true),
            ("ERROR 1062 (23000) at line 300: Duplicate entry", true),
            ("mysqldump: Got error: 1044: Access denied", true),
            ("mysqldump: Error 2013: Lost connection to server", true),
            ("WARNING: ThreadSanitizer: data race (pid=14841)", true),
            ("SUMMARY: AddressSanitizer: heap-use-after-free a.c:3 in main", true),
            ("SUMMARY: the sanitizer is never late", false),
            ("note: Error handling is explained below", false),
            ("Traceback (most recent call last):", true),
            ("2024-05-01T12:00:00Z ValueError: it is gone", true),
            ("\u{1b}[31merror\u{1b}[0m: it is gone", true),
            ("svc17/extra.go:5:2: imported and not used: \"os\"", true),
            ("CMake Error at CMakeLists.txt:3 (find_package):", true),
            ("Exception in thread \"main\" java.lang.StackOverflowError", true),
            ("  \u{1b}[31mJSONDecodeError\u{1b}[0m", true),
            ("Error", false),
            ("Errors", false),
            ("error:", false),
            ("error", false),
            ("no_error: 1", false),
            ("errors are told so: error: it is gone", false),
            ("a note of what failed", false),
            ("The failure at sea in 1805 : nobody was saved", false),
            ("12:30: we met", false),
            ("    /* ERROR: bad checksum */", false),
            ("// error: it was gone once", false),
            ("INSERT INTO error VALUES (1);", false),
            ("", false),
        ];
        for (line, expected) in table {
            assert_eq!(is_told(line.as_bytes()), expected, "{line}");
        }
    }
}
