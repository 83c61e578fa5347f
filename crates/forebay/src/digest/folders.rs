//! Listings by folder: the number of entries in each and their extensions, or the largest entries.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::{Summarize, fitting, list_tokens};
use crate::text::count::grouped;
use crate::view::print::Gap;
use crate::view::{Summary, units};
use crate::weights::folding::{
    ENTRIES_PER_OUTER, FILES_PER_OUTLIER, MAX_EXTENSIONS_NAMED, MAX_FILE_KINDS, MAX_OUTER_BRANCHES,
    MAX_UNUSUAL_ALIKE, MIN_FILES, NAMED_EXTENSION, Shares,
};
use crate::{Budget, Output, Result, outline};
use std::collections::{HashMap, HashSet};

/// Maximum folders kept, which bounds memory. Beyond this, the deepest folders are counted with their parents.
const MAX_FOLDERS: usize = 2_048;

/// Maximum depth of a folder that is counted separately.
const MAX_DEPTH: usize = 8;

/// Maximum extensions kept, which bounds memory.
const MAX_EXTENSIONS: usize = 256;

/// Maximum entries kept by size. No summary has room for more.
const MAX_LARGEST: usize = 64;

/// Maximum folders listed. No summary has room for more.
const MAX_LISTED: usize = 200;

/// Maximum characters printed of a name.
const NAME: usize = 120;

/// Plans the view of a listing.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Listing {
        return Ok(None);
    }
    let output = probe.output;
    let folders = Folders::of(output)?;
    let starts = folders.outliers.iter().map(|line| output.line_start(line - 1));
    let outliers = units::at(output, &starts.collect::<Result<Vec<u64>>>()?)?;
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(Shares::of(Form::Listing), folders) })))
}

/// Entries of a listing by folder.
pub(crate) struct Folders {
    /// Counts of each folder, with those of all folders below it.
    folders: HashMap<Vec<u8>, Counts>,
    extensions: Vec<Vec<u8>>,
    /// Largest entries first: the size as printed, the size in bytes, and the path.
    largest: Vec<(String, f64, Vec<u8>)>,
    /// Lines of unusual files, each after the line of its folder; or of the outermost branches of a tree.
    outliers: Vec<u64>,
}

/// Files with the same mode, owner and group, which are all empty or all not empty.
#[derive(Default)]
struct Alike {
    count: u64,
    /// Lines of the first few, with the lines of their folders.
    lines: Vec<(Option<u64>, u64)>,
}

#[derive(Clone, Default)]
struct Counts {
    entries: u64,
    /// Extensions by their numbers, with the count of entries of each.
    extensions: Vec<(usize, u64)>,
}

impl Counts {
    fn add(&mut self, extension: Option<usize>) {
        self.entries += 1;
        if let Some(extension) = extension {
            self.more(extension, 1);
        }
    }

    fn remove(&mut self, extension: Option<usize>) {
        self.entries -= 1;
        if let Some(known) = self.extensions.iter_mut().find(|(known, _)| Some(*known) == extension) {
            known.1 -= 1;
        }
    }

    fn more(&mut self, extension: usize, count: u64) {
        match self.extensions.iter_mut().find(|(known, _)| *known == extension) {
            Some((_, known)) => *known += count,
            None => self.extensions.push((extension, count)),
        }
    }

    fn merge(&mut self, other: &Counts) {
        self.entries += other.entries;
        other.extensions.iter().for_each(|(extension, count)| self.more(*extension, *count));
    }
}

/// Lines of unusual files, in order, each after the line of its folder.
fn unusual(files: HashMap<Vec<u8>, Alike>) -> Vec<u64> {
    let all: u64 = files.values().map(|alike| alike.count).sum();
    let is_usual = files.len() <= MAX_FILE_KINDS && all >= MIN_FILES;
    let few = files.into_values().filter(|alike| alike.count <= MAX_UNUSUAL_ALIKE);
    let mut lines: Vec<(Option<u64>, u64)> = few.flat_map(|alike| alike.lines).collect();
    if !is_usual || lines.len() as u64 * FILES_PER_OUTLIER > all {
        return Vec::new();
    }
    lines.sort_unstable_by_key(|(_, line)| *line);
    let mut unusual: Vec<u64> = Vec::new();
    for line in lines.into_iter().flat_map(|(folder, line)| folder.into_iter().chain([line])) {
        if !unusual.contains(&line) {
            unusual.push(line);
        }
    }
    unusual
}

/// A folder of the list.
struct Line<'a> {
    path: &'a [u8],
    counts: &'a Counts,
}

impl Folders {
    /// Entries of a listing.
    fn of(output: &Output) -> Result<Folders> {
        let mut folders: HashMap<Vec<u8>, Counts> = HashMap::new();
        let mut known = Extensions::default();
        let mut largest: Vec<(String, f64, Vec<u8>)> = Vec::new();
        let mut deepest = MAX_DEPTH;
        let mut files: HashMap<Vec<u8>, Alike> = HashMap::new();
        let (mut outer, mut entries): (Vec<u64>, usize) = Default::default();
        // An entry that contains others is a folder. It comes directly before the first of them, or after the last.
        let mut last: (Vec<u8>, Vec<u8>, Option<usize>) = Default::default();
        outline::for_each_entry(output, |entry| {
            entries += 1;
            if entry.is_outer && outer.len() <= MAX_OUTER_BRANCHES {
                outer.push(entry.line);
            }
            if let Some(file) = entry.file {
                let kind = [file.mode, file.owner, file.group, &[u8::from(file.is_empty)]].join(&b' ');
                if files.len() <= MAX_FILE_KINDS {
                    let alike = files.entry(kind).or_default();
                    alike.count += 1;
                    if alike.count <= MAX_UNUSUAL_ALIKE {
                        alike.lines.push((entry.below, entry.line));
                    }
                }
            }
            if let Some((size, bytes)) = entry.size {
                let place = largest.partition_point(|(_, known, _)| *known >= bytes);
                if place < MAX_LARGEST {
                    largest.truncate(MAX_LARGEST - 1);
                    largest.insert(place, (size.to_owned(), bytes, entry.path.to_vec()));
                }
            }
            let folder = folder(entry.path);
            if !last.0.is_empty() && last.0 == folder {
                if let Some(counts) = folders.get_mut(&last.1) {
                    counts.remove(last.2);
                }
                last.0.clear();
            }
            if folders.contains_key(entry.path) || entry.path.is_empty() {
                return;
            }
            let mut key = upper(folder, deepest);
            while folders.len() >= MAX_FOLDERS && deepest > 0 && !folders.contains_key(key) {
                deepest -= 1;
                let deep = std::mem::take(&mut folders);
                for (path, counts) in deep {
                    folders.entry(upper(&path, deepest).to_vec()).or_default().merge(&counts);
                }
                key = upper(folder, deepest);
                last.0.clear();
            }
            let extension = extension(entry.path).and_then(|extension| known.number(extension));
            match folders.get_mut(key) {
                Some(counts) => counts.add(extension),
                None => folders.entry(key.to_vec()).or_default().add(extension),
            }
            last.0.clear();
            last.0.extend_from_slice(entry.path);
            last.1.clear();
            last.1.extend_from_slice(key);
            last.2 = extension;
        })?;
        let mut all: HashMap<Vec<u8>, Counts> = HashMap::new();
        for (path, counts) in &folders {
            all.entry(Vec::new()).or_default().merge(counts);
            for depth in 1..=depth(path) {
                all.entry(upper(path, depth).to_vec()).or_default().merge(counts);
            }
        }
        let has_branches =
            (2..=MAX_OUTER_BRANCHES).contains(&outer.len()) && outer.len() * ENTRIES_PER_OUTER <= entries;
        let outliers = if has_branches { outer } else { unusual(files) };
        Ok(Folders { folders: all, extensions: known.names, largest, outliers })
    }

    /// Folders with their entries, the outer and larger ones first; or the largest entries.
    fn listed(&self, room: u64) -> Option<Summary> {
        let summary = Summary::of_lines().of_kind("a listing");
        if !self.largest.is_empty() {
            let line = |(size, _, path): &(String, f64, Vec<u8>)| {
                let path =
                    if path.is_empty() { "." } else { &crate::printable(&String::from_utf8_lossy(path)) };
                format!("{size} {}", crate::shortened(path, NAME))
            };
            let mut lines: Vec<String> = self.largest.iter().map(line).collect();
            lines.truncate(fitted(lines.len(), room, |count| lines[..count].to_vec()));
            return (!lines.is_empty()).then(|| summary.saying("the largest entries of all").listing(lines));
        }
        let all = self.folders.get(&Vec::new()).filter(|all| all.entries > 0)?;
        let mut order = self.order();
        // A folder that contains all others is named before the list.
        let top = match order.first().filter(|first| first.counts.entries == all.entries) {
            Some(_) => order.remove(0).path,
            None => b"",
        };
        let listed = fitted(order.len().min(MAX_LISTED), room, |count| self.tree(&order[..count], top));
        let kinds = self.kinds(all);
        let folders = match (listed, order.len() - listed) {
            (0, _) => String::new(),
            (_, 0) => " by folder".to_owned(),
            (_, more) => format!(" by folder, {} smaller folders not said", grouped(more as u64)),
        };
        let entries = grouped(all.entries);
        let within = if top.is_empty() { String::new() } else { format!(" in {}", shown(top)) };
        let text = format!("all {entries} entries{within}{kinds}{folders}");
        Some(summary.saying(text).listing(self.tree(&order[..listed], top)))
    }

    /// Folders by number of entries, each after its parents. A folder that contains only one folder is skipped, and
    /// so is a folder with a single entry, since that entry says more.
    fn order(&self) -> Vec<Line<'_>> {
        let mut order: Vec<Line> = self.folders.iter().map(|(path, counts)| Line { path, counts }).collect();
        order.sort_by(|a, b| {
            let depths = depth(a.path).cmp(&depth(b.path));
            b.counts.entries.cmp(&a.counts.entries).then(depths).then(a.path.cmp(b.path))
        });
        let mut inner: HashMap<&[u8], u64> = HashMap::new();
        for line in &order {
            if !line.path.is_empty() {
                let largest = inner.entry(upper(line.path, depth(line.path) - 1)).or_default();
                *largest = (*largest).max(line.counts.entries);
            }
        }
        let holds_one = |line: &Line| inner.get(line.path) == Some(&line.counts.entries);
        order.retain(|line| !line.path.is_empty() && line.counts.entries > 1 && !holds_one(line));
        order
    }

    /// Folders as a tree, the larger ones first.
    fn tree(&self, lines: &[Line], top: &[u8]) -> Vec<String> {
        let listed: HashSet<&[u8]> = lines.iter().map(|line| line.path).collect();
        let mut below: HashMap<&[u8], Vec<&Line>> = HashMap::new();
        for line in lines {
            // The nearest parent that is listed too.
            let mut around = (1..depth(line.path)).rev().map(|depth| upper(line.path, depth));
            let parent = around.find(|path| listed.contains(path));
            below.entry(parent.unwrap_or(top)).or_default().push(line);
        }
        // An extension that all entries have is named once, before the folders.
        let all = self.folders.get(&b""[..]);
        let alike = all.is_some_and(|all| all.extensions.iter().any(|(_, count)| *count == all.entries));
        let mut tree = Vec::new();
        let mut waiting: Vec<(usize, usize, &Line)> = Vec::new();
        let push = |waiting: &mut Vec<_>, depth: usize, around: &[u8]| {
            let inside = below.get(around).into_iter().flatten().rev();
            waiting.extend(inside.map(|line| (depth, around.len(), *line)));
        };
        push(&mut waiting, 0, top);
        while let Some((depth, cut, line)) = waiting.pop() {
            let name = String::from_utf8_lossy(&line.path[cut..]).into_owned();
            let name = if cut > 0 { name.trim_start_matches(['/', '\\']) } else { &name };
            let name = shown(name.as_bytes());
            let end = if name.ends_with('/') { "" } else { "/" };
            let indent = "  ".repeat(depth);
            let entries = grouped(line.counts.entries);
            let kinds = if alike { String::new() } else { self.kinds(line.counts) };
            tree.push(format!("{indent}{name}{end} {entries}{kinds}"));
            push(&mut waiting, depth + 1, line.path);
        }
        tree
    }

    /// Most frequent extensions of a folder.
    fn kinds(&self, counts: &Counts) -> String {
        let mut kinds: Vec<(usize, u64)> = counts.extensions.clone();
        kinds.retain(|(_, count)| *count > 0 && count * NAMED_EXTENSION >= counts.entries);
        kinds.sort_by_key(|(number, count)| (std::cmp::Reverse(*count), *number));
        kinds.truncate(MAX_EXTENSIONS_NAMED);
        let named = |(number, count): &(usize, u64)| {
            let name = crate::printable(&String::from_utf8_lossy(&self.extensions[*number]));
            if *count == counts.entries { format!(".{name}") } else { format!(".{name} {}", grouped(*count)) }
        };
        if kinds.is_empty() {
            return String::new();
        }
        format!(" ({})", kinds.iter().map(named).collect::<Vec<_>>().join(", "))
    }
}

/// Extensions that are counted, in the order in which they occur.
#[derive(Default)]
struct Extensions {
    names: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, usize>,
}

impl Extensions {
    fn number(&mut self, extension: &[u8]) -> Option<usize> {
        if let Some(&number) = self.numbers.get(extension) {
            return Some(number);
        }
        let number = self.names.len();
        (number < MAX_EXTENSIONS).then(|| {
            self.names.push(extension.to_vec());
            self.numbers.insert(extension.to_vec(), number);
            number
        })
    }
}

fn shown(path: &[u8]) -> String {
    crate::shortened(&crate::printable(&String::from_utf8_lossy(path)), NAME)
}

/// Extension of a name; a version or a number may follow it.
fn extension(path: &[u8]) -> Option<&[u8]> {
    let mut name = memchr::memrchr2(b'/', b'\\', path).map_or(path, |slash| &path[slash + 1..]);
    while let Some(dot) = memchr::memrchr(b'.', name).filter(|&dot| dot + 1 < name.len())
        && name[dot + 1..].iter().all(u8::is_ascii_digit)
    {
        name = &name[..dot];
    }
    let dot = memchr::memrchr(b'.', name).filter(|&dot| dot > 0)?;
    let extension = &name[dot + 1..];
    let is_one = (1..=10).contains(&extension.len())
        && extension.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && extension.iter().any(u8::is_ascii_alphabetic);
    is_one.then_some(extension)
}

/// Folder of a path; empty for one at the top.
fn folder(path: &[u8]) -> &[u8] {
    match memchr::memrchr2(b'/', b'\\', path) {
        Some(0) => &path[..1],
        Some(end) => &path[..end],
        None => b"",
    }
}

/// Offsets at which the folders of a path end. The root is not counted as a folder.
fn ends(path: &[u8]) -> impl Iterator<Item = usize> {
    let rooted = usize::from(path.first().is_some_and(|byte| b"/\\".contains(byte)));
    memchr::memchr2_iter(b'/', b'\\', &path[rooted..])
        .map(move |end| end + rooted)
        .chain((!path.is_empty()).then_some(path.len()))
}

/// Depth of a folder, from its path.
fn depth(path: &[u8]) -> usize {
    ends(path).count()
}

/// The first folders of a path, at most `depth` of them.
fn upper(path: &[u8], depth: usize) -> &[u8] {
    match depth {
        0 => b"",
        _ => ends(path).nth(depth - 1).map_or(path, |end| &path[..end]),
    }
}

/// The largest count whose lines fit.
fn fitted(most: usize, room: u64, lines: impl Fn(usize) -> Vec<String>) -> usize {
    fitting(most, |count| list_tokens(&lines(count)) <= room)
}

impl Summarize for Folders {
    fn summary(&self, _: &Output, _: &Gap, room: u64) -> Result<Option<Summary>> {
        Ok(self.listed(room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use expect_test::{Expect, expect};

    fn check(text: &str, room: u64, expected: Expect) {
        let folders = Folders::of(&output_of(text.as_bytes())).unwrap();
        expected.assert_eq(&folders.listed(room).unwrap().facts());
        assert_eq!(folders.listed(room), Folders::of(&output_of(text.as_bytes())).unwrap().listed(room));
    }

    fn found() -> String {
        let mut text = "src\nsrc/query\n".to_owned();
        (0..40).for_each(|n| text += &format!("src/query/a{n}.rs\n"));
        text += "src/query/x.md\nsrc/query/README\nsrc/view\nsrc/view/b.rs\nsrc/view/deep\nsrc/view/deep/er\nsrc/view/deep/er/c.rs\ndocs\n";
        (0..12).for_each(|n| text += &format!("docs/{n}.md\n"));
        text + "Cargo.toml\n"
    }

    #[test]
    fn files_of_a_long_listing_are_outliers_by_mode_owner_and_whether_they_are_empty() {
        let file = |n: u64| {
            let (mode, owner, size) = match n {
                30 => ("-rw-rw-rw-", "root", 616),
                50 => ("-rw-r--r--", "mail", 616),
                70 => ("-rw-r--r--", "root", 0),
                _ => ("-rw-r--r--", "root", 600 + n),
            };
            format!("{mode} 1 {owner} root {size:>6} Nov 17 03:55 {n}.dat\n")
        };
        let folder = |name: &str, from: u64, to: u64| {
            format!("{name}:\ntotal 8\n{}\n", (from..to).map(file).collect::<String>())
        };
        let head = ".:\ntotal 8\ndrwxr-xr-x 2 root root 4096 Nov 17 03:55 a\n\n";
        let text = head.to_owned() + &folder("./a", 0, 60) + &folder("./b", 60, 90);
        let folders = Folders::of(&output_of(text.as_bytes())).unwrap();
        let outliers: Vec<&str> =
            folders.outliers.iter().map(|line| text.lines().nth(*line as usize - 1).unwrap()).collect();
        let (one, other, empty) = (file(30), file(50), file(70));
        assert_eq!(outliers, ["./a:", one.trim_end(), other.trim_end(), "./b:", empty.trim_end()]);
        // Where every file has its own owner, none is an outlier.
        let others: String =
            (0..400).map(|n| file(n).replace("root root", &format!("user{n} root"))).collect();
        assert!(Folders::of(&output_of(others.as_bytes())).unwrap().outliers.is_empty());
        // Among few files none is an outlier.
        let few = folder("./a", 28, 40);
        assert!(Folders::of(&output_of(few.as_bytes())).unwrap().outliers.is_empty());
    }

    #[test]
    fn folders_have_their_entries_counted_by_extension_and_lie_in_each_other() {
        check(
            &found(),
            200,
            expect![[r#"
                all 57 entries (.rs 42, .md 13) by folder
                src/ 44 (.rs 42)
                  query/ 42 (.rs 40)
                  view/ 2 (.rs)
                docs/ 12 (.md)"#]],
        );
    }

    #[test]
    fn an_extension_may_have_a_version_behind_it() {
        for (path, expected) in [
            ("usr/lib/libc.so", Some("so")),
            ("libz.so.1.3.1", Some("so")),
            ("syslog.log.2", Some("log")),
            ("man1/find.1", None),
            ("python3.11", None),
            (".bashrc", None),
            ("a.tar.gz", Some("gz")),
            ("a.", None),
        ] {
            assert_eq!(extension(path.as_bytes()), expected.map(str::as_bytes), "{path}");
        }
    }

    #[test]
    fn a_tree_of_several_roots_has_each_counted_by_itself() {
        check(
            "/srv/one\n├── a.rs\n└── lib\n    ├── b.rs\n    └── c.rs\n/srv/two\n├── d.js\n└── e.js\n\n3 directories, 5 files\n",
            200,
            expect![[r#"
                all 5 entries in /srv (.rs 3, .js 2) by folder
                one/ 3 (.rs)
                  lib/ 2 (.rs)
                two/ 2 (.js)"#]],
        );
    }

    #[test]
    fn what_a_tree_has_outside_of_all_else_is_shown() {
        let mut text = "fetch v0.1.0 (/srv/rs)\n".to_owned();
        for crate_name in ["axum", "sqlx"] {
            text += &format!("├── {crate_name} v1.0.0\n");
            text += &(0..6).map(|n| format!("│   ├── part{n} v0.1.0\n")).collect::<String>();
            text += "│   [build-dependencies]\n│   └── cc v1.0.0\n";
        }
        text += "└── uuid v1.0.0\n[dev-dependencies]\n└── proptest v1.0.0\n";
        let folders = Folders::of(&crate::store::memory::output_of(text.as_bytes())).unwrap();
        assert_eq!(folders.outliers, [2, 11, 20, 22]);
        let said = folders.listed(99).unwrap().facts();
        assert!(said.contains("axum v1.0.0/ 7") && !said.contains("dependencies"), "{said}");
    }

    #[test]
    fn of_packages_that_need_each_other_siblings_do_not_lie_in_each_other() {
        check(
            "demo v0.1.0 (/srv/demo)\n├── axum v0.8.9\n│   ├── bytes v1.12.1\n│   ├── http v1.5.0\n│   └── mime v0.3.17\n├── reqwest v0.12.0\n│   ├── bytes v1.12.1\n│   └── http v1.5.0 (*)\n└── serde v1.0.0 (proc-macro)\n",
            200,
            expect![[r#"
                all 6 entries in demo v0.1.0 by folder
                axum v0.8.9/ 3
                reqwest v0.12.0/ 2"#]],
        );
    }

    #[test]
    fn a_folder_that_holds_nothing_but_another_is_passed_over() {
        check(
            "a/b/1.rs\na/b/2.rs\nc.rs\n",
            200,
            expect![[r#"
                all 3 entries (.rs) by folder
                a/b/ 2"#]],
        );
    }

    #[test]
    fn where_there_is_little_room_the_outer_and_larger_folders_are_listed() {
        check(
            &found(),
            25,
            expect![[r#"
                all 57 entries (.rs 42, .md 13) by folder, 2 smaller folders not said
                src/ 44 (.rs 42)
                  query/ 42 (.rs 40)"#]],
        );
    }

    #[test]
    fn a_listing_of_sizes_says_what_is_largest() {
        let mut text: String = (0..50).map(|n| format!("{}K\t./cache/{n}\n", n + 4)).collect();
        text += "1.5G\t./target/debug\n1.6G\t./target\n1.8G\t.\n";
        check(
            &text,
            34,
            expect![[r#"
                the largest entries of all
                1.8G .
                1.6G target
                1.5G target/debug
                53K cache/49
                52K cache/48"#]],
        );
    }

    #[test]
    fn of_a_million_folders_the_deepest_are_counted_with_those_they_lie_in() {
        let text: String = (0..60_000).map(|n| format!("{}/{n}/a/b/c.rs\n", n % 3)).collect();
        let folders = Folders::of(&output_of(text.as_bytes())).unwrap();
        assert!(folders.folders.len() <= MAX_FOLDERS);
        expect![[r#"
            all 60,000 entries (.rs) by folder
            0/ 20,000
            1/ 20,000
            2/ 20,000"#]]
        .assert_eq(&folders.listed(100).unwrap().facts());
        let flat: String = (0..60_000).map(|n| format!("{n}/c.rs\n")).collect();
        let folders = Folders::of(&output_of(flat.as_bytes())).unwrap();
        let said = folders.listed(100).unwrap().facts();
        assert_eq!(said, "all 60,000 entries (.rs)");
    }
}
