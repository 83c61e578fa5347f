//! Lines of search results.

use crate::text::pattern::compiled;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// The path before the number of a line, and whether the line matched or is a context line: `src/a.rs:12:` or
/// `src/a.rs-13-`. A name may contain numbers: `logs/2026-11-17.txt:12:`. So a path without an extension is extended
/// if the following text may be the rest of a name that has one.
pub(crate) fn numbered(line: &[u8]) -> Option<(&[u8], bool)> {
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
                // A path contains no colon.
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

/// Messages of compilers and linters, which begin like results.
pub(crate) static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?-u)^[^:]+:\d+:(?:\d+: \S| ?[A-Z]{1,4}\d{2,5}:? |(?:\d+:)? ?(?i-u:fatal |internal )?(?i-u:error|warning|note|info)\b)",
    )
});

/// A line of a file without its number. Two colons are part of the name of a test.
pub(crate) static PLAIN: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?-u:((?:\.{0,2}/)?(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.\w+):(?:[^:]|$))"));

pub(crate) fn is_match(line: &[u8]) -> bool {
    path(line).is_some() && !MESSAGE.is_match(line)
}

/// The path at the beginning of a line, and whether the line matched or is a context line.
pub(crate) fn path(line: &[u8]) -> Option<(&[u8], bool)> {
    if let Some((path, matched)) = numbered(line) {
        // Text with tags or quotes can also contain times.
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
pub(crate) fn below(line: &[u8]) -> Option<(u64, bool)> {
    let digits = line.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
    let mark = line.get(digits).filter(|mark| (1..10).contains(&digits) && b":-".contains(mark))?;
    Some((
        line[..digits].iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')),
        *mark == b':',
    ))
}

/// Returns a path that is alone on its line and contains no time stamp or address.
pub(crate) static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^(?-u:(?:[A-Za-z]:)?[^\s:\x22'(){}=<>|](?:[^:\x22'(){}=<>|]*[^\s:\x22'(){}=<>|])?)$")
});

/// Whether lines are results below the paths of their files, with a blank line between two files.
pub(crate) fn is_grouped<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
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

/// Role of a line among results that are grouped below paths.
#[derive(PartialEq)]
pub(crate) enum Grouped {
    Heading,
    /// Result, or context line of one.
    Below(bool),
    Between,
    Other,
}

/// Reads results below paths.
#[derive(Default)]
pub(crate) struct Groups {
    /// Whether the last line was not blank: then this one is not a path.
    filled: bool,
    /// Number of the last line below a path. Numbers grow.
    number: u64,
}

impl Groups {
    pub(crate) fn take(&mut self, line: &[u8]) -> Grouped {
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
