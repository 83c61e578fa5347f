//! Compiler errors, counted by message and by file.
//!
//! A view of a build with many errors shows some of them. The counts summarise the others.

use crate::formats::location;
use crate::terminal::readable;
use crate::text::count::{count, grouped};
use crate::tokens;
use crate::weights::folding::{MIN_COUNTED_ERRORS, NAMED_ERROR_FILES, NAMED_ERROR_KINDS};
use memchr::memmem;
use std::collections::HashMap;

/// Maximum lines from an error of rustc to its location.
const LINES_TO_PLACE: usize = 4;

/// Maximum bytes of a line that is parsed. Messages of compilers are shorter.
const LONGEST: usize = 2_048;

/// Maximum characters of a message and of a path in the counts.
const MESSAGE: usize = 44;
const PATH: usize = 80;

/// A compiler error.
struct Found {
    /// Code, message without names, or both.
    kind: String,
    /// File, if the line of the error names it.
    file: Option<String>,
}

/// Counts of the errors in an output, in at most `room` tokens; `None` if there are few errors.
pub(crate) fn of(bytes: &[u8], room: u64) -> Option<String> {
    memmem::find(bytes, b"error")?;
    let (mut kinds, mut files) = (Counts::default(), Counts::default());
    let mut total: u64 = 0;
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    for (at, line) in lines.iter().enumerate() {
        let is_candidate = line.len() <= LONGEST && memmem::find(line, b"error").is_some();
        let Some(found) = is_candidate.then(|| found(&readable(line))).flatten() else { continue };
        let below = || lines[at + 1..].iter().take(LINES_TO_PLACE).find_map(|line| place(&readable(line)));
        // An error without a location sums up others: `error: could not compile`.
        let Some(file) = found.file.or_else(below) else { continue };
        total += 1;
        kinds.add(found.kind);
        files.add(file);
    }
    if total < MIN_COUNTED_ERRORS {
        return None;
    }
    let (kinds, files) = (kinds.in_order(), files.in_order());
    // As many entries of both lists as fit.
    (1..=NAMED_ERROR_KINDS.max(NAMED_ERROR_FILES)).rev().find_map(|named| {
        let text = format!(
            "{}: {}; in {}",
            count("error", total),
            listed(&kinds, named.min(NAMED_ERROR_KINDS), "kind"),
            listed(&files, named.min(NAMED_ERROR_FILES), "file"),
        );
        (tokens::count(&text) <= room).then_some(text)
    })
}

/// Counts of texts.
#[derive(Default)]
struct Counts(HashMap<String, u64>);

impl Counts {
    fn add(&mut self, text: String) {
        *self.0.entry(text).or_default() += 1;
    }

    /// The texts with their counts, the most frequent first.
    fn in_order(self) -> Vec<(String, u64)> {
        let mut counts: Vec<(String, u64)> = self.0.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts
    }
}

/// The first texts of a list with their counts, and the number of the others.
fn listed(counts: &[(String, u64)], named: usize, what: &str) -> String {
    let mut parts: Vec<String> =
        counts.iter().take(named).map(|(text, times)| format!("{text} × {}", grouped(*times))).collect();
    if counts.len() > named {
        parts.push(format!("{} more", count(what, (counts.len() - named) as u64)));
    }
    parts.join(", ")
}

/// The error that a line states: `error[E0308]: …`, `a.c:3:7: error: …`, `a.ts(3,1): error TS2322: …`.
fn found(line: &[u8]) -> Option<Found> {
    let line = String::from_utf8_lossy(line.trim_ascii());
    if let Some(rest) = line.strip_prefix("error[") {
        let (code, message) = rest.split_once("]: ")?;
        return Some(Found { kind: kind(code, message), file: None });
    }
    if let Some(message) = line.strip_prefix("error: ") {
        return Some(Found { kind: kind("", message), file: None });
    }
    let behind = |mark| line.split_once(mark);
    let (place, rest) =
        behind(": error").or_else(|| behind(": fatal error")).or_else(|| behind(" - error"))?;
    let file = location::file(place.as_bytes()).filter(|file| !file.is_empty())?;
    let file = Some(path(&String::from_utf8_lossy(file)));
    let rest = rest.trim_start();
    if let Some(message) = rest.strip_prefix(": ").or(rest.strip_prefix(':')) {
        return Some(Found { kind: kind("", message), file });
    }
    let (code, message) = rest.split_once(':')?;
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_code.then(|| Found { kind: kind(code, message), file })
}

/// The file in a line with the location of the error above it: ` --> src/a.rs:3:7`.
fn place(line: &[u8]) -> Option<String> {
    let place = line.trim_ascii().strip_prefix(b"--> ").or(line.trim_ascii().strip_prefix(b"::: "))?;
    location::file(place).map(|file| path(&String::from_utf8_lossy(file)))
}

fn path(path: &str) -> String {
    crate::shortened(&crate::printable(path), PATH)
}

/// Kind of an error: its code, and its message up to the first name.
fn kind(code: &str, message: &str) -> String {
    let end = message.find(['`', '\'', '"', '‘', '’', '“', ':', ';', '(', '[']).unwrap_or(message.len());
    let message = crate::shortened(&crate::printable(message[..end].trim()), MESSAGE);
    [code, &message].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rustc(code: &str, message: &str, file: &str, line: u64) -> String {
        format!(
            "error[{code}]: {message}\n   --> {file}:{line}:9\n    |\n{line:3} |     let a = b;\n    |\n\n"
        )
    }

    #[test]
    fn errors_of_rustc_are_counted_by_what_they_say_and_by_file() {
        let mut text: String =
            (0..50).map(|n| rustc("E0308", "mismatched types", ["src/a.rs", "src/b.rs"][n % 2], 9)).collect();
        text += &(0..30)
            .map(|n| rustc("E0425", &format!("cannot find value `v{n}` in this scope"), "src/c.rs", n))
            .collect::<String>();
        text += &rustc("E0599", "no method named `go` found", "src/a.rs", 7);
        text += "error: aborting due to 81 previous errors\n\nerror: could not compile `shop` (lib)\n";
        expect_test::expect!["81 errors: E0308 mismatched types × 50, E0425 cannot find value × 30, E0599 no method named × 1; in src/c.rs × 30, src/a.rs × 26, src/b.rs × 25"]
            .assert_eq(&of(text.as_bytes(), 200).unwrap());
        expect_test::expect![
            "81 errors: E0308 mismatched types × 50, 2 kinds more; in src/c.rs × 30, 2 files more"
        ]
        .assert_eq(&of(text.as_bytes(), 40).unwrap());
        assert_eq!(of(text.as_bytes(), 5), None, "no room");
    }

    #[test]
    fn errors_of_other_compilers_are_counted() {
        for (line, kind) in [
            ("src/a.c:3:7: error: ‘x#’ undeclared (first use in this function)", ""),
            ("src/a.c:3:7: error: expected ‘;’ before ‘}’ token", "expected"),
            ("src/a.cpp:3:7: fatal error: shop.h: No such file or directory", "shop.h"),
            ("src/A.java:12: error: cannot find symbol", "cannot find symbol"),
            ("src/a.ts(3,1): error TS2322: Type 'string' is not assignable to type 'number'.", "TS2322 Type"),
            ("src/a.ts:3:1 - error TS2307: Cannot find module './b'", "TS2307 Cannot find module"),
            ("src/a.cs(3,1): error CS0103: The name 'x' does not exist", "CS0103 The name"),
            (
                "app/a.py:7: error: Incompatible types in assignment  [assignment]",
                "Incompatible types in assignment",
            ),
        ] {
            let found = found(line.as_bytes()).unwrap();
            assert_eq!(found.kind, kind, "{line}");
            assert!(found.file.is_some(), "{line}");
        }
    }

    #[test]
    fn lines_that_mention_errors_are_none_of_a_compiler() {
        for line in [
            "no error: all is well",
            "2024-05-01 10:00:00 error: it failed",
            "src/a.c:3:7: warning: no error here",
            "GET /error: 404",
            "fn error: u8",
        ] {
            let text = format!("{line}\n").repeat(90);
            assert_eq!(of(text.as_bytes(), 200), None, "{line}");
        }
        let few: String = (0..9).map(|n| rustc("E0308", "mismatched types", "src/a.rs", n)).collect();
        assert_eq!(of(few.as_bytes(), 200), None, "few errors are all shown");
    }
}
