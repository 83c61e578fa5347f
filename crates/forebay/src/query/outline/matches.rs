//! The files that a search found lines in.

use super::lines::Source;
use super::{Items, compiled, shortened};
use crate::Result;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// The path before the number of a line, and whether the line matched rather than stands beside one that did:
/// `src/a.rs:12:` or `src/a.rs-13-`. A name may have numbers in it, too: `logs/2026-11-17.txt:12:`. So a path without an
/// extension goes on, if what follows may be the rest of a name that has one.
fn numbered(line: &[u8]) -> Option<(&[u8], bool)> {
    let drive = match line {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => 2,
        _ => 0,
    };
    let first = line.get(drive)?;
    if first.is_ascii_whitespace() || *first == b':' {
        return None;
    }
    let mut found = None;
    // What the name of the file has behind its last dot begins with, and whether something behind a dot is an extension.
    let (mut extension, mut extended) = (None, false);
    for (at, &byte) in line.iter().enumerate().skip(drive) {
        let next = line.get(at + 1).copied();
        match byte {
            b'/' | b'\\' => (extension, extended) = (None, false),
            b'.' => {
                extension = next;
                extended |= next.is_some_and(|next| next.is_ascii_alphabetic());
            }
            b':' | b'-' if at > drive => {
                let digits = line[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let is_number = digits > 0 && line.get(at + 1 + digits) == Some(&byte);
                if is_number && (found.is_none() || extended) {
                    found = Some((&line[..at], byte == b':'));
                }
                let is_whole = extension.is_some_and(|byte: u8| byte.is_ascii_alphabetic());
                // A colon is in no path.
                if is_number && is_whole || byte == b':' {
                    break;
                }
            }
            b'\t' => break,
            _ if found.is_some() && !(byte.is_ascii_alphanumeric() || b"_+@~%".contains(&byte)) => break,
            _ => {}
        }
    }
    found
}

/// What compilers and linters print has the same beginning.
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?-u)^[^:]+:\d+:(?:\d+: \S| ?[A-Z]{1,4}\d{2,5}:? |(?:\d+:)? ?(?i-u:fatal |internal )?(?i-u:error|warning|note|info)\b)",
    )
});

/// A line of a file without its number. Two colons are a part of a name: that of a test.
static PLAIN: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?-u:((?:\.{0,2}/)?(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.\w+):(?:[^:]|$))"));

pub(super) fn is_match(line: &[u8]) -> bool {
    path(line).is_some() && !MESSAGE.is_match(line)
}

/// The path that a line begins with, and whether it matched rather than stands beside one that did.
fn path(line: &[u8]) -> Option<(&[u8], bool)> {
    if let Some((path, matched)) = numbered(line) {
        // What has tags or quotes in it may have times in it, too.
        let is_path =
            path.iter().any(|byte| b"/.\\".contains(byte)) && !path.iter().any(|byte| b"<>\"".contains(byte));
        if is_path && memchr::memmem::find(path, b"  ").is_none() {
            return Some((path, matched));
        }
    }
    let path = PLAIN.captures(line)?.get(1)?.as_bytes();
    let is_address = path.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    (!is_address).then_some((path, true))
}

/// The number of a line that stands below the path of its file, as `rg --heading` prints them, and whether it matched.
fn below(line: &[u8]) -> Option<(u64, bool)> {
    let digits = line.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    let mark = line.get(digits).filter(|mark| (1..10).contains(&digits) && b":-".contains(mark))?;
    Some((
        line[..digits].iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')),
        *mark == b':',
    ))
}

/// A path that has a line to itself and no time stamp or address in it.
static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^(?-u:(?:[A-Za-z]:)?[^\s:\x22'(){}=<>|](?:[^:\x22'(){}=<>|]*[^\s:\x22'(){}=<>|])?)$")
});

/// Whether lines are results below the paths of their files, an empty line between two files.
pub(super) fn is_grouped<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut groups = Groups::default();
    let (mut headings, mut held, mut other) = (0, 0, 0);
    for line in lines {
        match groups.take(line) {
            Grouped::Heading => headings += 1,
            Grouped::Below(_) => held += 1,
            Grouped::Between => {}
            Grouped::Other => other += 1,
        }
    }
    headings >= 2 && held >= headings && other * 20 <= held
}

/// What a line is among results that stand below paths.
#[derive(PartialEq)]
enum Grouped {
    Heading,
    /// One that matched, or stands beside one that did.
    Below(bool),
    Between,
    Other,
}

/// Reads results that stand below paths.
#[derive(Default)]
struct Groups {
    /// Whether the last line has something on it, so that no path comes.
    filled: bool,
    /// The number of the last line below a path: they grow.
    number: u64,
}

impl Groups {
    fn take(&mut self, line: &[u8]) -> Grouped {
        let after_blank = !std::mem::replace(&mut self.filled, !line.is_empty());
        if line.is_empty() || line == b"--" {
            return Grouped::Between;
        }
        if let Some((number, matched)) = below(line) {
            let grows = number > std::mem::replace(&mut self.number, number);
            return if grows { Grouped::Below(matched) } else { Grouped::Other };
        }
        let is_path = || line.iter().any(|byte| b"/.\\".contains(byte)) && HEADING.is_match(line);
        if !after_blank || !is_path() {
            return Grouped::Other;
        }
        self.number = 0;
        Grouped::Heading
    }
}

/// How many lines of a file matched, where a search was asked for nothing else.
fn counted(line: &[u8], path: &[u8]) -> Option<u64> {
    std::str::from_utf8(line.strip_prefix(path)?.strip_prefix(b":")?).ok()?.parse().ok()
}

/// An item for each file, with how many of its lines there are.
pub(super) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut runs = Runs::new("file", "match", items);
    let mut groups = Groups::default();
    let mut below: Option<Vec<u8>> = None;
    source.for_each(|line| {
        match (groups.take(line.text), &below) {
            (Grouped::Heading, _) => {
                runs.take(line.number, line.text, 0);
                below = Some(line.text.to_vec());
                return;
            }
            (Grouped::Below(matched), Some(path)) => {
                return runs.take(line.number, path, u64::from(matched));
            }
            _ => {}
        }
        if let Some((path, matched)) = path(line.text) {
            runs.take(line.number, path, counted(line.text, path).unwrap_or(u64::from(matched)));
        }
    })?;
    runs.finish();
    Ok(())
}

/// Neighbouring lines that belong to the same path.
pub(super) struct Runs<'a> {
    kind: &'static str,
    noun: &'static str,
    items: &'a mut Items,
    /// The path, its first and its last line, and what was counted.
    current: Option<(Vec<u8>, u64, u64, u64)>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(kind: &'static str, noun: &'static str, items: &'a mut Items) -> Runs<'a> {
        Runs { kind, noun, items, current: None }
    }

    pub(super) fn take(&mut self, line: u64, path: &[u8], count: u64) {
        match &mut self.current {
            Some((current, _, last, counted)) if current == path => {
                (*last, *counted) = (line, *counted + count);
            }
            _ => {
                self.finish();
                self.current = Some((path.to_vec(), line, line, count));
            }
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some((path, first, last, count)) = self.current.take() {
            let path = || shortened(&String::from_utf8_lossy(&path), 130);
            let name = || format!("{}: {}", path(), super::counted(count, self.noun));
            self.items.add_counted((first, last), 0, self.kind, name, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;

    #[test]
    fn the_path_before_the_number_of_a_line_is_told() {
        let table = [
            ("src/a.rs:12:let x", Some(("src/a.rs", true))),
            ("src/a.rs-13-let y", Some(("src/a.rs", false))),
            ("a-b/my file-2.rs:3:x", Some(("a-b/my file-2.rs", true))),
            ("./2026-11-17.txt:3:x", Some(("./2026-11-17.txt", true))),
            ("./2026-11-17.txt-4-x.y-5-z", Some(("./2026-11-17.txt", false))),
            ("./a.log-4-2026-11-17 09:30:12 x", Some(("./a.log", false))),
            ("./Makefile-4-in a.b:12:", Some(("./Makefile", false))),
            ("./Makefile-4-VERSION=1.1-2-rc", Some(("./Makefile", false))),
            ("./Makefile-4-12:30:45", Some(("./Makefile", false))),
            ("logs/catalina.2026-11-01.log:1:x", Some(("logs/catalina.2026-11-01.log", true))),
            ("logs/server.log.2026-11-01:1:x", Some(("logs/server.log.2026-11-01", true))),
            ("lib/foo-1.2.3-1-x/index.js:1:x", Some(("lib/foo-1.2.3-1-x/index.js", true))),
            (r"C:\a\b.c:7:x", Some((r"C:\a\b.c", true))),
            ("src/a.rs:12", None),
            ("src/a.rs: 12:x", None),
            ("src/a\tb:12:x", None),
            (" src/a.rs:12:x", None),
            (":12:x", None),
            ("", None),
        ];
        for (line, expected) in table {
            let expected = expected.map(|(path, matched)| (path.as_bytes(), matched));
            assert_eq!(super::numbered(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn search_results_have_their_files() {
        let out = of("src/a.rs:12:let x\nsrc/a.rs-13-let y\nsrc/a.rs:14:let z\nsrc/b.rs:3:fn x()\n");
        expect_test::expect![[r#"
            search results
            1-3 file | src/a.rs: 2 matches
            4-4 file | src/b.rs: 1 match
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_search_that_counts_has_its_counts() {
        let out = of("src/a.rs:12\nsrc/b.rs:0\nsrc/c.rs:3\n");
        expect_test::expect![[r#"
            search results
            1-1 file | src/a.rs: 12 matches
            2-2 file | src/b.rs: 0 matches
            3-3 file | src/c.rs: 3 matches
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn search_results_below_the_paths_of_their_files_have_these() {
        let out = of("src/a.rs\n12:let x\n13-let y\n--\n40:let x\n\nsrc/my b.rs\n3:fn x()\n");
        expect_test::expect![[r#"
            search results
            1-5 file | src/a.rs: 2 matches
            7-8 file | src/my b.rs: 1 match
        "#]]
        .assert_eq(&out);
        let steps = "It goes on:\n1: one\n2: two\n\nThen:\n3: three\n";
        assert!(!of(steps).starts_with("search"), "{}", of(steps));
    }

    #[test]
    fn search_results_may_have_no_line_numbers() {
        let out = of("./a/b.py:import x\n./a/b.py:x = 1\n./c.py:import x\n./c.py:x.y()\n");
        expect_test::expect![[r#"
            search results
            1-2 file | ./a/b.py: 2 matches
            3-4 file | ./c.py: 2 matches
        "#]]
        .assert_eq(&out);
    }
}
