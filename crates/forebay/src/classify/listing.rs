//! Lines of listings of files.

use crate::text::pattern::compiled;
use regex::bytes::Regex;
use std::sync::LazyLock;

pub(crate) static LONG: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?-u:[dlcbps-][rwxsStT-]{9}[+@.]?\s+\d|total \d[\d.]*[KMGT]?$)"));

/// Path alone on its line, with an optional count after it.
pub(crate) static PATH: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?-u:(?:\.{0,2}/|[A-Za-z]:\\)?[^\s:,;(){}\[\]'\x22=<>|]*[/\\.][^\s:,;(){}'\x22=<>|]*(?: \(\d+ \w+\))?)$",
    )
});

/// Line of `du`: a size and a path.
pub(crate) static SIZE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?-u:(\d+(?:\.\d+)?)([BKMGTP]?)(?:i?B)?\t(\S.*))$"));

/// Last line of `tree`, which counts folders and files.
pub(crate) static COUNTED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\d+ director(?:y|ies)(?:, \d+ files?)?$"));

/// Branches that `tree` draws before a name.
pub(crate) const BRANCHES: [&[u8]; 4] = ["├── ".as_bytes(), "└── ".as_bytes(), b"|-- ", b"`-- "];

/// Returns the depth of an entry of a tree, and its name.
pub(crate) fn branch(line: &[u8]) -> Option<(usize, &[u8])> {
    // The first byte rules out most lines of other listings.
    if !matches!(line.first(), Some(b' ' | b'|' | b'`' | 0xe2)) {
        return None;
    }
    let mut rest = line;
    for depth in 1..=64 {
        if let Some(name) = BRANCHES.iter().find_map(|branch| rest.strip_prefix(*branch)) {
            return Some((depth, name));
        }
        // The line of an outer folder that goes on. Some trees draw it with no-break spaces.
        let columns = ["│   ", "│\u{a0}\u{a0} ", "    ", "|   "];
        rest = columns.iter().find_map(|column| rest.strip_prefix(column.as_bytes()))?;
    }
    None
}

/// Returns the folder of a line `folder:`, which begins it in a recursive listing.
pub(crate) fn folder(line: &[u8]) -> Option<&[u8]> {
    let name = line.strip_suffix(b":")?;
    (!name.is_empty()
        && !name.contains(&b' ')
        && (name.contains(&b'/') || name.iter().all(|&byte| byte == b'.')))
    .then_some(name)
}

pub(crate) fn is_listed(line: &[u8]) -> bool {
    LONG.is_match(line)
        || PATH.is_match(line)
        || folder(line).is_some()
        || branch(line).is_some()
        || SIZE.captures(line).is_some_and(|found| found[3].contains(&b'/') || found[3] == *b".")
        || COUNTED.is_match(line)
}

/// Whether lines are a listing. In a recursive one, names are alone below their folder.
pub(crate) fn is_listing<'a>(lines: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let share = |held: usize, all: usize| held * 100 / all.max(1);
    let filled = lines.clone().filter(|line| !line.trim_ascii().is_empty());
    let all = filled.clone().count();
    if all < 3 {
        return false;
    }
    if share(filled.clone().filter(|line| is_listed(line)).count(), all) >= 90 {
        return true;
    }
    let (mut folders, mut after_blank) = (0, true);
    for line in lines {
        folders += usize::from(after_blank && folder(line).is_some());
        after_blank = line.is_empty();
    }
    let is_name = |line: &&[u8]| {
        is_listed(line) || line.len() <= 120 && !line.iter().any(|byte| b" :;=(){}".contains(byte))
    };
    folders >= 2 && share(filled.filter(is_name).count(), all) >= 95
}
