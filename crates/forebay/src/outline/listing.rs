//! Listings of files and folders: paths, `ls -l`, `ls -R`, `du`, `tree`.

use crate::Result;
use crate::classify::lines::Source;
use crate::classify::listing::{COUNTED, LONG, PATH, SIZE, branch, folder};
use crate::outline::Items;
use crate::outline::matches::Runs;
use memchr::memmem;

/// Entry of a listing.
pub(crate) struct Entry<'a> {
    /// Line, counted from 1.
    pub(crate) line: u64,
    /// Path, with `/` between its parts.
    pub(crate) path: &'a [u8],
    /// Size as written and in bytes, in a listing of sizes.
    pub(crate) size: Option<(&'a str, f64)>,
    /// Mode, owner and size of a file in `ls -l`.
    pub(crate) file: Option<File<'a>>,
    /// Line of the folder that contains it in a recursive listing.
    pub(crate) below: Option<u64>,
    /// Whether it is directly below the root of a tree.
    pub(crate) is_outer: bool,
}

impl<'a> Entry<'a> {
    fn at(line: u64, path: &'a [u8]) -> Entry<'a> {
        Entry { line, path, size: None, file: None, below: None, is_outer: false }
    }
}

/// Mode and owner of a file, and whether it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct File<'a> {
    pub(crate) mode: &'a [u8],
    pub(crate) owner: &'a [u8],
    pub(crate) group: &'a [u8],
    pub(crate) is_empty: bool,
}

impl File<'_> {
    /// Reads a line of `ls -l` for a file. Folders, links and devices have other modes.
    fn of(line: &[u8]) -> Option<File<'_>> {
        let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let mode = fields.next().filter(|mode| mode.starts_with(b"-"))?;
        let (owner, group, size) = (fields.nth(1)?, fields.next()?, fields.next()?);
        Some(File { mode, owner, group, is_empty: size == b"0" })
    }
}

/// Reads entries line by line.
#[derive(Default)]
pub(crate) struct Reader {
    /// Current folder of a recursive listing.
    within: Option<Vec<u8>>,
    /// Line that names it.
    below: Option<u64>,
    /// Lengths of the path up to each open folder of a tree. The first is its root.
    ends: Vec<usize>,
    /// Whether there was a branch of a tree: then a line that is not one begins another tree.
    is_tree: bool,
    path: Vec<u8>,
    /// Whether there was a line before, and whether it was not blank.
    begun: bool,
    filled: bool,
    /// Whether the last line began a folder.
    opened: bool,
}

impl Reader {
    /// Returns the entry of a line.
    pub(crate) fn entry<'a>(&'a mut self, line: u64, text: &'a [u8]) -> Option<Entry<'a>> {
        let first = !std::mem::replace(&mut self.begun, true);
        let after_blank = !std::mem::replace(&mut self.filled, !text.trim_ascii().is_empty());
        self.opened = false;
        let begins = *text.trim_ascii_start().first()?;
        if begins.is_ascii_digit() && COUNTED.is_match(text) {
            return None;
        }
        if let Some((depth, name)) = branch(text) {
            let name = without_note(without_target(name));
            self.is_tree = true;
            // The root of a tree need not be a path.
            if self.ends.is_empty() {
                self.ends.push(0);
            }
            self.ends.truncate(depth);
            let end = self.ends.last().copied().unwrap_or(0);
            self.path.truncate(end);
            join(&mut self.path, name);
            self.ends.push(self.path.len());
            return Some(Entry { is_outer: depth == 1, ..Entry::at(line, &self.path) });
        }
        // Titles of cargo above branches.
        let is_said = text.starts_with("│".as_bytes()) || text.starts_with(b"[") && text.ends_with(b"]");
        if self.is_tree && is_said {
            return None;
        }
        // After a blank line any name can be a folder, but a sentence cannot.
        let is_name = |name: &[u8]| !name.is_empty() && name.iter().filter(|&&byte| byte == b' ').count() < 2;
        let named = || text.strip_suffix(b":").filter(|name| after_blank && is_name(name));
        if let Some(name) = folder(text).or_else(named) {
            self.within = Some(tidy(name).to_vec());
            self.below = Some(line);
            self.opened = true;
            return None;
        }
        let is_long = b"dlcbpst-".contains(&begins) && LONG.is_match(text);
        if is_long && text.starts_with(b"total ") {
            return None;
        }
        if is_long {
            let name = long_name(text)?;
            self.put(name);
            let (file, below) = (File::of(text), self.below);
            return Some(Entry { file, below, ..Entry::at(line, &self.path) });
        }
        if begins.is_ascii_digit()
            && let Some(found) = SIZE.captures(text)
        {
            let (number, unit) = (found.get(1)?, found.get(2)?);
            let written = std::str::from_utf8(&text[..unit.end()]).ok()?;
            let power = b"BKMGTP".iter().position(|known| unit.as_bytes() == [*known]).unwrap_or(0);
            let bytes = written[..number.end()].parse::<f64>().ok()? * 1024_f64.powi(power as i32);
            let path = tidy(&text[found.get(3)?.start()..]);
            return Some(Entry { size: Some((written, bytes)), ..Entry::at(line, path) });
        }
        if self.within.is_some() {
            self.put(text);
            return Some(Entry::at(line, &self.path));
        }
        // The root of a tree.
        let root = if first || self.is_tree { without_note(text) } else { text };
        if self.is_tree || first && (!text.contains(&b' ') || root.len() < text.len()) {
            self.path = tidy(root).to_vec();
            self.ends = vec![self.path.len()];
        }
        // A count after a path is not part of it.
        let counted = text.ends_with(b")") && PATH.is_match(text);
        let path = if counted { text.split(|&byte| byte == b' ').next()? } else { root };
        // Among paths a word is a path too (`Makefile`), unless it is the root of a tree.
        let is_word = !first && !self.is_tree && !path.contains(&b' ');
        let is_path = is_word || path.iter().any(|byte| b"/\\.".contains(byte));
        (is_path && !text.ends_with(b":")).then(|| Entry::at(line, tidy(path)))
    }

    /// Returns the path of a name in the current folder.
    fn put(&mut self, name: &[u8]) {
        self.path.clear();
        self.path.extend_from_slice(self.within.as_deref().unwrap_or_default());
        join(&mut self.path, without_target(name));
    }
}

fn join(path: &mut Vec<u8>, name: &[u8]) {
    let name = name.strip_suffix(b"/").unwrap_or(name);
    if !path.is_empty() && !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Returns a path without `./` before it and `/` after it.
fn tidy(path: &[u8]) -> &[u8] {
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let path = if path.len() > 1 { path.strip_suffix(b"/").unwrap_or(path) } else { path };
    if path == b"." { b"" } else { path }
}

/// Returns the name of a package without its place and without the mark of one that is listed above.
fn without_note(name: &[u8]) -> &[u8] {
    let note = memmem::rfind(name, b" (").filter(|_| name.ends_with(b")"));
    note.map_or(name, |note| &name[..note])
}

fn without_target(name: &[u8]) -> &[u8] {
    memmem::find(name, b" -> ").map_or(name, |arrow| &name[..arrow])
}

/// Returns the name at the end of a line of `ls -l`: after eight fields, or seven if the date is in digits.
fn long_name(line: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    let mut fields = 8;
    for field in 0.. {
        at += line[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if field == fields {
            break;
        }
        let end = at + line[at..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        // Devices have two numbers in place of a size.
        if line[at..end].ends_with(b",") && field == 4 {
            fields += 1;
        }
        if field == 5 && line[at..end].len() == 10 && line[at..end].contains(&b'-') {
            fields -= 1;
        }
        at = end;
    }
    let name = &line[at..];
    (!name.is_empty() && name != b"." && name != b"..").then_some(name)
}

/// Adds an item for each folder, with the number of its entries.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut runs = Runs::new("folder", "entry", items);
    let mut reader = Reader::default();
    source.for_each(|line| {
        if let Some(entry) = reader.entry(line.number, line.text) {
            runs.take(entry.line, within(entry.path), 1);
        }
        if reader.opened {
            let folder = reader.within.as_deref().filter(|folder| !folder.is_empty());
            runs.take(line.number, folder.unwrap_or(b"."), 0);
        }
    })?;
    runs.finish();
    Ok(())
}

/// Returns the folder that contains a path.
pub(crate) fn within(path: &[u8]) -> &[u8] {
    match memchr::memrchr2(b'/', b'\\', path) {
        Some(0) => &path[..1],
        Some(end) => &path[..end],
        None => b".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::tests::{of, of_file};

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
        let out = of("./src:\na.rs\nb.rs\n\n./src/view:\nc.rs\nREADME\n");
        expect_test::expect![[r#"
            listing
            1-3 folder | src: 2 entries
            5-7 folder | src/view: 2 entries
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn what_lists_files_in_other_ways_gives_the_same_paths() {
        let table: &[(&str, &[&str])] = &[
            ("./a\n./a/b.rs\n./c d.txt\n", &["a", "a/b.rs", "c d.txt"]),
            (".:\na\nc\n\n./a:\nb.rs\n", &["a", "c", "a/b.rs"]),
            ("docs:\na.md\n\nmy src:\nb.rs\n", &["docs/a.md", "my src/b.rs"]),
            (
                "total 8\ndrwxr-xr-x 2 root root 4096 Nov 16 10:04 a\n-rw-r--r-- 1 root root 12K Nov  1  2024 b c.rs\nlrwxrwxrwx 1 root root 7 Nov 16 10:04 bin -> usr/bin\n",
                &["a", "b c.rs", "bin"],
            ),
            ("-rw-r--r-- 1 me me 12 2024-11-01 10:00 b.rs\n", &["b.rs"]),
            ("4.0K\t./a/b\n12M\t./a\n16G\t.\n", &["a/b 4096", "a 12582912", " 17179869184"]),
            (
                ".\n├── a\n│   ├── b.rs\n│   └── c\n│       └── d.md\n└── e.txt\n\n2 directories, 3 files\n",
                &["", "a", "a/b.rs", "a/c", "a/c/d.md", "e.txt"],
            ),
            ("src\n|-- a.rs\n`-- b\n    `-- c.rs\n", &["src/a.rs", "src/b", "src/b/c.rs"]),
            ("a/x\n├── b.rs\n└── c\nd\n└── e.rs\n", &["a/x", "a/x/b.rs", "a/x/c", "d/e.rs"]),
            (
                "demo v1.0 (/srv)\n├── axum v0.8\n│   └── http v1.5 (*)\n└── serde v1.0\n",
                &[
                    "demo v1.0",
                    "demo v1.0/axum v0.8",
                    "demo v1.0/axum v0.8/http v1.5",
                    "demo v1.0/serde v1.0",
                ],
            ),
            (
                "Found 2 matches for \"*.py\" in /srv:\n/srv/a.py\n/srv/b/c.py\n",
                &["/srv/a.py", "/srv/b/c.py"],
            ),
            ("C:\\a\\b.rs\nREADME.md\nMakefile\n", &["C:\\a\\b.rs", "README.md", "Makefile"]),
        ];
        for (text, expected) in table {
            let mut reader = Reader::default();
            let mut paths = Vec::new();
            for line in text.lines() {
                if let Some(entry) = reader.entry(1, line.as_bytes()) {
                    let size = entry.size.map_or(String::new(), |(_, bytes)| format!(" {bytes}"));
                    paths.push(format!("{}{size}", String::from_utf8_lossy(entry.path)));
                }
            }
            assert_eq!(paths, *expected, "{text}");
        }
    }
}
