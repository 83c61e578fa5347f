//! Diffs in which most hunks change only the layout, and the hunks that change more.
//!
//! A change counts as layout only if it cannot change the meaning. Removed quotes, a comma that is not the last one,
//! a parenthesis, and indentation in languages where it matters are not layout.

use crate::classify::diff::hunk;
use crate::terminal;
use crate::text::count::{count, grouped};
use crate::weights::folding::{LAYOUT_HUNKS_PER_CHANGE, MAX_CHANGES, MIN_LAYOUT_HUNKS};
use std::ops::Range;

/// A diff in which most hunks change only the layout.
#[derive(Default)]
pub(crate) struct Formatting {
    hunks: usize,
    /// Changes of more than the layout, and changes that differ only in parentheses and the like: the header of the
    /// file, and the lines.
    changes: Vec<(Range<u64>, Range<u64>)>,
    maybe: Vec<(Range<u64>, Range<u64>)>,
    /// Number of hunks with either.
    changed: usize,
    maybe_changed: usize,
}

impl Formatting {
    /// Changes of a diff, if most of its hunks change only the layout.
    pub(crate) fn of(bytes: &[u8]) -> Option<Formatting> {
        let mut found = Formatting::default();
        // The header of git has the path; diffs without one have it in the line of the new file.
        let (mut file, mut is_git, mut indents) = (0..0, false, false);
        let mut current = Hunk::default();
        let mut at = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let range = at..at + line.len() as u64;
            at = range.end;
            let line = terminal::readable(line);
            if current.take(&line, &range) {
                continue;
            }
            found.add(&file, std::mem::take(&mut current));
            match hunk(&String::from_utf8_lossy(&line)) {
                Some(((old, new), _)) => {
                    current = Hunk { old_left: old, new_left: new, indents, ..Hunk::default() };
                }
                None if line.starts_with(b"diff --git ") => {
                    (file, is_git, indents) = (range, true, is_indented(&line));
                }
                None if line.starts_with(b"+++ ") && !is_git => (file, indents) = (range, is_indented(&line)),
                None => {}
            }
        }
        found.add(&file, current);
        let layout = found.hunks - found.changed;
        let is_mostly_layout =
            layout >= MIN_LAYOUT_HUNKS && layout >= found.changed * LAYOUT_HUNKS_PER_CHANGE;
        is_mostly_layout.then_some(found)
    }

    fn add(&mut self, file: &Range<u64>, hunk: Hunk) {
        if hunk.runs.is_empty() {
            return;
        }
        self.hunks += 1;
        let moves = |run: &&Run| hunk.indents && run.moves();
        if substance(&hunk.old) == substance(&hunk.new) && !hunk.runs.iter().any(|run| moves(&run)) {
            return;
        }
        let is_sure = bare(&hunk.old) != bare(&hunk.new);
        let differs = |run: &&Run| {
            if is_sure {
                bare(&run.removed) != bare(&run.added)
            } else {
                moves(run) || substance(&run.removed) != substance(&run.added)
            }
        };
        let any = hunk.runs.iter().any(|run| differs(&run));
        let runs = hunk.runs.iter().filter(|run| !any || differs(run));
        let (changes, changed) = if is_sure {
            (&mut self.changes, &mut self.changed)
        } else {
            (&mut self.maybe, &mut self.maybe_changed)
        };
        *changed += 1;
        changes.extend(runs.map(|run| (file.clone(), run.range.clone())));
    }

    /// Changes of more than the layout, the surest first, with the header of each file.
    pub(crate) fn outliers(&self) -> Vec<Range<u64>> {
        let mut outliers: Vec<Range<u64>> = Vec::new();
        let mut last = &(0..0);
        for (file, lines) in self.changes.iter().chain(&self.maybe).take(MAX_CHANGES) {
            if !file.is_empty() && file != last {
                outliers.push(file.clone());
            }
            last = file;
            outliers.push(lines.clone());
        }
        outliers
    }

    /// Facts for the summary of the diff: the share of hunks that change only the layout.
    pub(crate) fn text(&self) -> String {
        let hunks = match self.changed + self.maybe_changed {
            0 => format!("all {} change", count("hunk", self.hunks as u64)),
            changed => {
                format!("all but {} of {} hunks change", grouped(changed as u64), grouped(self.hunks as u64))
            }
        };
        format!("{hunks} only white space, kinds of quotes, last commas or semicolons")
    }
}

/// A hunk that is being parsed.
#[derive(Default)]
struct Hunk {
    /// Remaining lines of the old and of the new file.
    old_left: u64,
    new_left: u64,
    /// Old and new text.
    old: Vec<u8>,
    new: Vec<u8>,
    /// Runs of removed or of added lines.
    runs: Vec<Run>,
    is_open: bool,
    /// Whether indentation matters in this file.
    indents: bool,
}

#[derive(Default)]
struct Run {
    range: Range<u64>,
    removed: Vec<u8>,
    added: Vec<u8>,
}

impl Hunk {
    /// Parses a line. Returns whether it belongs to the hunk.
    fn take(&mut self, line: &[u8], range: &Range<u64>) -> bool {
        if self.old_left == 0 && self.new_left == 0 {
            return false;
        }
        let (sign, text) = line.split_first().map_or((b' ', line), |(sign, text)| (*sign, text));
        match sign {
            b'+' | b'-' => {
                if !std::mem::replace(&mut self.is_open, true) {
                    self.runs.push(Run { range: range.clone(), ..Run::default() });
                }
                let Some(run) = self.runs.last_mut() else { return false };
                run.range.end = range.end;
                let (part, whole, left) = match sign {
                    b'+' => (&mut run.added, &mut self.new, &mut self.new_left),
                    _ => (&mut run.removed, &mut self.old, &mut self.old_left),
                };
                part.extend_from_slice(text);
                whole.extend_from_slice(text);
                *left = left.saturating_sub(1);
            }
            b' ' | b'\n' | b'\r' => {
                self.is_open = false;
                self.old.extend_from_slice(text);
                self.new.extend_from_slice(text);
                self.old_left = self.old_left.saturating_sub(1);
                self.new_left = self.new_left.saturating_sub(1);
            }
            b'\\' => {}
            _ => return false,
        }
        true
    }
}

impl Run {
    /// Whether a line changes only its indentation.
    fn moves(&self) -> bool {
        let lines = |text: &'_ [u8]| text.split(|&byte| byte == b'\n').count();
        let indent = |line: &[u8]| line.len() - line.trim_ascii_start().len();
        let pairs = || self.removed.split(|&byte| byte == b'\n').zip(self.added.split(|&byte| byte == b'\n'));
        lines(&self.removed) == lines(&self.added)
            && pairs().any(|(old, new)| indent(old) != indent(new) && old.trim_ascii() == new.trim_ascii())
    }
}

/// Whether the path in a header belongs to a language in which indentation matters.
fn is_indented(line: &[u8]) -> bool {
    const ENDINGS: &[&str] =
        &[".py", ".pyi", ".yml", ".yaml", ".mk", "Makefile", ".haml", ".pug", ".sass", ".nim", ".coffee"];
    // `diff -u` writes a time after the path.
    let path = line.split(|&byte| byte == b'\t').next().unwrap_or_default().trim_ascii_end();
    ENDINGS.iter().any(|ending| path.ends_with(ending.as_bytes()))
}

/// A text without the characters that formatters add: white space, parentheses, commas, quotes.
fn bare(text: &[u8]) -> Vec<u8> {
    let is_around = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;()\\".contains(byte);
    text.iter().copied().filter(|byte| !is_around(byte)).collect()
}

/// A text without its layout: without white space, with one kind of quotes, without commas before closing brackets and without
/// semicolons at the end of a line.
fn substance(text: &[u8]) -> Vec<u8> {
    let mut substance: Vec<u8> = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'\n' => substance.pop_if(|last| *last == b';').map_or((), drop),
            byte if byte.is_ascii_whitespace() => {}
            b'\'' | b'`' => substance.push(b'"'),
            b')' | b']' | b'}' => {
                substance.pop_if(|last| *last == b',');
                substance.push(byte);
            }
            byte => substance.push(byte),
        }
    }
    substance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunks(layout: usize, others: &[&str]) -> String {
        let quotes = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,5 @@\n a = 1\n-call('x', 'y')\n+call(\n+    \"x\",\n+    \"y\",\n+)\n b = 2\n";
        quotes.repeat(layout) + &others.concat()
    }

    #[test]
    fn a_change_that_may_change_the_meaning_is_not_one_of_layout() {
        let is_layout = |path: &str, old: &str, new: &str| {
            let count = |text: &str| text.lines().count();
            let lines = |sign: &str, text: &str| -> String {
                text.lines().map(|line| format!("{sign}{line}\n")).collect()
            };
            let hunk = format!(
                "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{} +1,{} @@\n a\n{}{}",
                count(old) + 1,
                count(new) + 1,
                lines("-", old),
                lines("+", new)
            );
            let text = hunks(9, &[&hunk]);
            Formatting::of(text.as_bytes()).unwrap().outliers().is_empty()
        };
        let table = [
            ("a.js", "f('x')", "f(\"x\");", true),
            ("a.js", "  if (a) b()", "if (a) {\n}", false),
            ("a.js", "    a()\n    b()", "  a()\n  b()", true),
            ("a.py", "    a()\n    b()", "    a()\nb()", false),
            ("a.py", "(net + tax) * count", "net + tax * count", false),
            ("a.py", "['ann', 'bob']", "['ann' 'bob']", false),
            ("a.py", "['ann', 'bob']", "[\n    \"ann\",\n    \"bob\",\n]", true),
            ("a.yml", "version: \"3.10\"", "version: 3.10", false),
            ("a.sql", "role = 'admin'", "role = admin", false),
            ("a.py", "retry(1,0)", "retry(10)", false),
        ];
        for (path, old, new, expected) in table {
            assert_eq!(is_layout(path, old, new), expected, "{path}: {old} → {new}");
        }
    }

    #[test]
    fn hunks_that_change_more_than_the_layout_are_told_from_the_others() {
        let limit = "diff --git a/y.py b/y.py\n--- a/y.py\n+++ b/y.py\n@@ -7,6 +7,6 @@ def f():\n-s = 'a'\n+s = \"a\"\n x = 1\n-LIMIT = 30\n+LIMIT = 3\n y = 2\n-t = 'b'\n+t = \"b\"\n z = 3\n";
        let text = hunks(9, &[limit]);
        for text in [text.clone(), text.replace("-LIMIT = 30\n", "\x1b[31m-LIMIT = 30\x1b[m\n")] {
            let found = Formatting::of(text.as_bytes()).unwrap();
            let outliers: Vec<&str> = found
                .outliers()
                .iter()
                .map(|range| &text[range.start as usize..range.end as usize])
                .collect();
            assert_eq!(outliers[0], "diff --git a/y.py b/y.py\n");
            assert!(
                outliers.len() == 2
                    && outliers[1].contains("LIMIT = 30")
                    && outliers[1].ends_with("+LIMIT = 3\n"),
                "{outliers:?}"
            );
            assert_eq!(
                found.text(),
                "all but 1 of 10 hunks change only white space, kinds of quotes, last commas or semicolons"
            );
        }
    }

    #[test]
    fn what_surely_changes_comes_before_what_a_formatter_may_have_done() {
        let hunk = |old: &str, new: &str| {
            format!("diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-{old}\n+{new}\n")
        };
        let text = hunks(9, &[&hunk("return a + b", "return (a + b)"), &hunk("LIMIT = 30", "LIMIT = 3")]);
        let found = Formatting::of(text.as_bytes()).unwrap();
        let outliers: Vec<&str> =
            found.outliers().iter().map(|range| &text[range.start as usize..range.end as usize]).collect();
        assert_eq!(
            (outliers[1], outliers[3]),
            ("-LIMIT = 30\n+LIMIT = 3\n", "-return a + b\n+return (a + b)\n")
        );
        assert!(found.text().contains("all but 2 of 11 hunks"));
    }

    #[test]
    fn a_change_stands_below_the_header_of_its_own_file() {
        let hunk = |path: &str, old: &str, new: &str| {
            format!("--- old/{path}\t2024-05-01\n+++ new/{path}\t2024-05-02\n@@ -1 +1 @@\n-{old}\n+{new}\n")
        };
        let quotes: String = (0..9).map(|n| hunk(&format!("f{n}.py"), "f('x')", "f(\"x\")")).collect();
        let moved = hunk("m.py", "    save()", "save()");
        let text = quotes.clone() + &moved + &quotes + &hunk("k.py", "LIMIT = 30", "LIMIT = 3");
        let found = Formatting::of(text.as_bytes()).unwrap();
        let outliers: Vec<&str> =
            found.outliers().iter().map(|range| &text[range.start as usize..range.end as usize]).collect();
        let expected = [
            "+++ new/k.py\t2024-05-02\n",
            "-LIMIT = 30\n+LIMIT = 3\n",
            "+++ new/m.py\t2024-05-02\n",
            "-    save()\n+save()\n",
        ];
        assert_eq!(outliers, expected);
    }

    #[test]
    fn a_diff_with_many_changes_is_no_reformatting() {
        let change = "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-one\n+two\n";
        for (layout, changes, expected) in [(9, 3, true), (9, 4, false), (4, 0, false), (5, 0, true)] {
            let text = hunks(layout, &vec![change; changes]);
            assert_eq!(Formatting::of(text.as_bytes()).is_some(), expected, "{layout} {changes}");
        }
    }
}
