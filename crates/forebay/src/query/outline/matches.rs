//! The files that a search found lines in, and the folders of a listing.

use super::lines::Source;
use super::{Items, compiled, counted, shortened};
use crate::Result;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// A line of a file with its number, or a line beside one that matched.
static MATCH: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?-u:((?:[A-Za-z]:)?[^\s:][^:\t]*?)(?::(\d+):|-(\d+)-))"));

/// What compilers and linters print has the same beginning.
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^[^:]+:\d+:(?:\d+:)? ?(?i-u:fatal |internal )?(?i-u:error|warning|note|info)\b")
});

/// A line of a file without its number.
static PLAIN: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?-u:((?:\.{0,2}/)?(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.\w+):)"));

pub(super) fn is_match(line: &[u8]) -> bool {
    path(line).is_some() && !MESSAGE.is_match(line)
}

/// The path that a line begins with, and whether it matched rather than stands beside one that did.
fn path(line: &[u8]) -> Option<(&[u8], bool)> {
    if let Some(found) = MATCH.captures(line) {
        let path = found.get(1)?.as_bytes();
        let is_path = path.iter().any(|byte| b"/.\\".contains(byte));
        if is_path && memchr::memmem::find(path, b"  ").is_none() {
            return Some((path, found.get(2).is_some()));
        }
    }
    Some((PLAIN.captures(line)?.get(1)?.as_bytes(), true))
}

/// An item for each file, with how many of its lines there are.
pub(super) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut runs = Runs::new("file", "match", items);
    source.for_each(|line| {
        if let Some((path, matched)) = path(line.text) {
            runs.take(line.number, path, u64::from(matched));
        }
    })?;
    runs.finish();
    Ok(())
}

static LONG: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^(?-u:[dlcbps-][rwxsStT-]{9}[+@.]?\s+\d|total \d+)"));

/// A path alone on its line, maybe with a count after it.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?-u:(?:\.{0,2}/|[A-Za-z]:\\)?[^\s:,;(){}\[\]'\x22=<>|]*[/\\.][^\s:,;(){}'\x22=<>|]*(?: \(\d+ \w+\))?)$",
    )
});

pub(super) fn is_listed(line: &[u8]) -> bool {
    LONG.is_match(line) || PATH.is_match(line) || is_folder(line)
}

/// `folder:`, the way a recursive listing begins one.
fn is_folder(line: &[u8]) -> bool {
    line.ends_with(b":") && line.len() > 1 && !line.contains(&b' ') && line.contains(&b'/')
}

/// An item for each folder, with how many entries there are.
pub(super) fn listing(source: &Source, items: &mut Items) -> Result<()> {
    let mut runs = Runs::new("folder", "entry", items);
    let mut folder: Option<Vec<u8>> = None;
    source.for_each(|line| {
        let text = line.text;
        if is_folder(text) {
            let name = &text[..text.len() - 1];
            runs.take(line.number, name, 0);
            folder = Some(name.to_vec());
        } else if let Some(folder) = folder.as_deref() {
            if !text.is_empty() && !text.starts_with(b"total ") {
                runs.take(line.number, folder, 1);
            }
        } else if PATH.is_match(text) {
            let text = text.split(|&byte| byte == b' ').next().unwrap_or_default();
            let end = memchr::memrchr2(b'/', b'\\', text.strip_suffix(b"/").unwrap_or(text));
            runs.take(line.number, end.map_or(b".", |end| &text[..end.max(1)]), 1);
        }
    })?;
    runs.finish();
    Ok(())
}

/// Neighbouring lines that belong to the same path.
struct Runs<'a> {
    kind: &'static str,
    noun: &'static str,
    items: &'a mut Items,
    /// The path, its first and its last line, and what was counted.
    current: Option<(Vec<u8>, u64, u64, u64)>,
}

impl<'a> Runs<'a> {
    fn new(kind: &'static str, noun: &'static str, items: &'a mut Items) -> Runs<'a> {
        Runs { kind, noun, items, current: None }
    }

    fn take(&mut self, line: u64, path: &[u8], count: u64) {
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

    fn finish(&mut self) {
        if let Some((path, first, last, count)) = self.current.take() {
            let path = shortened(&String::from_utf8_lossy(&path), 130);
            self.items.add((first, last), 0, self.kind, format!("{path}: {}", counted(count, self.noun)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{of, of_file};

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
    fn search_results_may_have_no_line_numbers() {
        let out = of("./a/b.py:import x\n./a/b.py:x = 1\n./c.py:import x\n./c.py:x.y()\n");
        expect_test::expect![[r#"
            search results
            1-2 file | ./a/b.py: 2 matches
            3-4 file | ./c.py: 2 matches
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_listing_has_its_folders() {
        let out = of_file("x", "src/a.rs\nsrc/b.rs\nsrc/view/c.rs\nREADME.md\n");
        expect_test::expect![[r#"
            listing
            1-2 folder | src: 2 entries
            3-3 folder | src/view: 1 entry
            4-4 folder | .: 1 entry
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_recursive_listing_names_its_folders() {
        let out = of("./src:\na.rs\nb.rs\n\n./src/view:\nc.rs\n");
        expect_test::expect![[r#"
            listing
            1-3 folder | ./src: 2 entries
            5-6 folder | ./src/view: 1 entry
        "#]]
        .assert_eq(&out);
    }
}
