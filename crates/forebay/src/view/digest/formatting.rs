//! Diffs that hardly change more than how a text is laid out: which hunks do.

use crate::query::outline::hunk;
use crate::view::{count, grouped, rendering};
use crate::{Output, Result};
use std::ops::Range;

/// A larger diff is not read whole for that.
const READ: u64 = 8 * 1024 * 1024;

/// So many hunks that change only the layout make a reformatting, if there are so many times as many as others.
const MANY: usize = 5;
const TIMES: usize = 3;

/// A diff of which most hunks change only the layout.
pub(super) struct Formatting {
    hunks: usize,
    /// What changes more: the header of its file, and its lines.
    changes: Vec<(Range<u64>, Range<u64>)>,
    /// In how many hunks that is.
    changed: usize,
}

impl Formatting {
    /// Of a diff, if it is mostly that.
    pub(super) fn of(output: &Output) -> Result<Option<Formatting>> {
        if output.len() > READ {
            return Ok(None);
        }
        let mut found = Formatting { hunks: 0, changes: Vec::new(), changed: 0 };
        let mut file = 0..0;
        let mut current = Hunk::default();
        let mut at = 0;
        for line in output.read(0..output.len())?.split_inclusive(|&byte| byte == b'\n') {
            let range = at..at + line.len() as u64;
            at = range.end;
            let line = rendering::readable(line);
            if current.take(&line, &range) {
                continue;
            }
            found.add(&file, std::mem::take(&mut current));
            match hunk(&String::from_utf8_lossy(&line)) {
                Some(((old, new), _)) => current = Hunk { old_left: old, new_left: new, ..Hunk::default() },
                None if line.starts_with(b"diff --git ") => file = range,
                None if line.starts_with(b"+++ ") && file.is_empty() => file = range,
                None => {}
            }
        }
        found.add(&file, current);
        let layout = found.hunks - found.changed;
        Ok((layout >= MANY && layout >= found.changed * TIMES).then_some(found))
    }

    fn add(&mut self, file: &Range<u64>, hunk: Hunk) {
        if hunk.runs.is_empty() {
            return;
        }
        self.hunks += 1;
        if hunk.old == hunk.new {
            return;
        }
        self.changed += 1;
        let differs = |run: &&Run| run.removed != run.added;
        let any = hunk.runs.iter().any(|run| differs(&run));
        let runs = hunk.runs.iter().filter(|run| !any || differs(run));
        self.changes.extend(runs.map(|run| (file.clone(), run.range.clone())));
    }

    /// What changes more than the layout, with the header of each file.
    pub(super) fn odd(&self) -> Vec<Range<u64>> {
        let mut odd: Vec<Range<u64>> = Vec::new();
        for (file, lines) in &self.changes {
            if !file.is_empty() && !odd.contains(file) {
                odd.push(file.clone());
            }
            odd.push(lines.clone());
        }
        odd
    }

    /// What is said of the diff, and how many hunks change only the layout.
    pub(super) fn said(&self, text: String) -> String {
        let (first, rest) = text.split_once('\n').map_or((&*text, None), |(first, rest)| (first, Some(rest)));
        let how = match self.changed {
            0 => format!("all {} change only the layout", count("hunk", self.hunks as u64)),
            changed => {
                format!("all but {changed} of {} hunks change only the layout", grouped(self.hunks as u64))
            }
        };
        let rest = rest.map_or(String::new(), |rest| format!("\n{rest}"));
        format!("{first}; {how} (white space, quotes, commas, parentheses, semicolons){rest}")
    }
}

/// A hunk as it is read.
#[derive(Default)]
struct Hunk {
    /// Lines that it still has of the old and of the new file.
    old_left: u64,
    new_left: u64,
    /// Both texts without their layout.
    old: Vec<u8>,
    new: Vec<u8>,
    /// Lines that follow each other and are removed or added.
    runs: Vec<Run>,
    is_open: bool,
}

#[derive(Default)]
struct Run {
    range: Range<u64>,
    removed: Vec<u8>,
    added: Vec<u8>,
}

impl Hunk {
    /// Takes a line, if it is one of the hunk.
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
                part.extend(substance(text));
                whole.extend(substance(text));
                *left = left.saturating_sub(1);
            }
            b' ' | b'\n' | b'\r' => {
                self.is_open = false;
                self.old.extend(substance(text));
                self.new.extend(substance(text));
                self.old_left = self.old_left.saturating_sub(1);
                self.new_left = self.new_left.saturating_sub(1);
            }
            b'\\' => {}
            _ => return false,
        }
        true
    }
}

/// What a line says but for its layout.
fn substance(line: &[u8]) -> impl Iterator<Item = u8> {
    line.iter().copied().filter(|byte| !byte.is_ascii_whitespace() && !b"\"'`,;()\\".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn hunks(layout: usize, others: &[&str]) -> String {
        let quotes = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,5 @@\n a = 1\n-call('x', 'y')\n+call(\n+    \"x\",\n+    \"y\",\n+)\n b = 2\n";
        quotes.repeat(layout) + &others.concat()
    }

    #[test]
    fn hunks_that_change_more_than_the_layout_are_told_from_the_others() {
        let limit = "diff --git a/y.py b/y.py\n--- a/y.py\n+++ b/y.py\n@@ -7,6 +7,6 @@ def f():\n-s = 'a'\n+s = \"a\"\n x = 1\n-LIMIT = 30\n+LIMIT = 3\n y = 2\n-t = 'b'\n+t = \"b\"\n z = 3\n";
        let text = hunks(9, &[limit]);
        for text in [text.clone(), text.replace("-LIMIT = 30\n", "\x1b[31m-LIMIT = 30\x1b[m\n")] {
            let found = Formatting::of(&output_of(text.as_bytes())).unwrap().unwrap();
            let odd: Vec<&str> =
                found.odd().iter().map(|range| &text[range.start as usize..range.end as usize]).collect();
            assert_eq!(odd[0], "diff --git a/y.py b/y.py\n");
            assert!(
                odd.len() == 2 && odd[1].contains("LIMIT = 30") && odd[1].ends_with("+LIMIT = 3\n"),
                "{odd:?}"
            );
            assert_eq!(
                found.said("… 40 lines of a diff omitted, with 2 files\n1 x.py".to_owned()),
                "… 40 lines of a diff omitted, with 2 files; all but 1 of 10 hunks change only the layout (white space, quotes, commas, parentheses, semicolons)\n1 x.py"
            );
        }
    }

    #[test]
    fn a_diff_with_many_changes_is_no_reformatting() {
        let change = "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-one\n+two\n";
        for (layout, changes, expected) in [(9, 3, true), (9, 4, false), (4, 0, false), (5, 0, true)] {
            let text = hunks(layout, &vec![change; changes]);
            assert_eq!(
                Formatting::of(&output_of(text.as_bytes())).unwrap().is_some(),
                expected,
                "{layout} {changes}"
            );
        }
    }
}
