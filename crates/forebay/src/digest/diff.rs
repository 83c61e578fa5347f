//! Diffs: their first changes, and the names of the other files.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::formatting::Formatting;
use crate::digest::outline_items::OutlineItems;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::Summarize;
use crate::digest::{changes, fit};
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::Shares;
use crate::{Budget, Output, Result, outline};
use std::ops::Range;

/// Plans the view of a diff.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, budget: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Diff {
        return Ok(None);
    }
    let formatting = probe.whole()?.and_then(Formatting::of);
    let mut outliers = formatting.as_ref().map_or(Vec::new(), Formatting::outliers);
    // Files are summed up between these, so that each is listed with its commit.
    outliers.extend(probe.whole()?.map_or(Vec::new(), commits));
    outliers.sort_by_key(|range| range.start);
    let skipped = changes::skipped(&fit::beginning(probe.output, budget)?);
    let items = OutlineItems::new(outline::outline(probe.output)?);
    let parts = Parts::new(Shares::of(Form::Diff), Files { items, formatting });
    Ok(Some(Plan::Ends(Parts { outliers, skipped, ..parts })))
}

/// Headers of the commits of `git log -p`: from the name of the commit to its subject.
fn commits(text: &[u8]) -> Vec<Range<u64>> {
    /// Maximum commits, and lines of a header.
    const COMMITS: usize = 12;
    const LINES: usize = 8;
    let is_commit = |at: &usize| {
        let name = text[at + b"commit ".len()..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        (*at == 0 || text[at - 1] == b'\n') && name >= 7
    };
    let header = |start: usize| {
        let mut end = start;
        for line in text[start..].split_inclusive(|&byte| byte == b'\n').take(LINES) {
            end += line.len();
            if line.starts_with(b"    ") && !line.trim_ascii().is_empty() {
                return Some(start as u64..end as u64);
            }
        }
        None
    };
    memchr::memmem::find_iter(text, b"commit ").filter(is_commit).take(COMMITS).filter_map(header).collect()
}

/// Files of a diff, and which of its changes affect only the layout.
struct Files {
    items: OutlineItems,
    formatting: Option<Formatting>,
}

impl Summarize for Files {
    fn summary(&self, output: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        let summary = self.items.summary(output, gap, room)?;
        Ok(match &self.formatting {
            Some(formatting) => summary.map(|summary| summary.saying(formatting.text())),
            None => summary,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::plan::shown;

    #[test]
    fn of_a_diff_the_changes_are_shown_without_what_stands_behind_them() {
        let context = |file: u64| -> String {
            (0..9).map(|n| format!(" line {n} of the file {file} as it was before\n")).collect()
        };
        let file = |n: u64| {
            format!(
                "diff --git a/f{n} b/f{n}\nindex 1..2\n--- a/f{n}\n+++ b/f{n}\n@@ -1,9 +1,10 @@\n+change {n}\n{}",
                context(n)
            )
        };
        let text = shown(recognize, &(0..40).map(file).collect::<String>(), Form::Diff, 500);
        assert!(text.contains("+++ b/f0\n@@ -1,9 +1,10 @@\n+change 0\n[… "), "{text}");
        assert!(text.contains("]\n+++ b/f3\n@@ -1,9 +1,10 @@\n+change 3\n[… "), "{text}");
        assert!(!text.contains("line 5 of the file"), "{text}");
        // The call is printed once; after that, only lines.
        assert_eq!(text.matches("forebay read").count(), 1, "{text}");
        assert!(text.contains(" files: "), "{text}");
    }

    #[test]
    fn the_header_of_each_commit_stands_before_its_files() {
        let file = |n: u64| {
            let lines: String = (0..9).map(|line| format!("+a new line {line} of it\n")).collect();
            format!(
                "diff --git a/f{n} b/f{n}\nindex 1..2\n--- a/f{n}\n+++ b/f{n}\n@@ -1,0 +1,9 @@\n{lines}\n"
            )
        };
        let commit = |n: u64| {
            let files: String = (0..12).map(|of| file(n * 12 + of)).collect();
            format!(
                "commit {n}234567890abcdef\nAuthor: A <a@example.org>\nDate:   Mon\n\n    area: do thing {n}\n\n{files}"
            )
        };
        let text = shown(recognize, &(1..5).map(commit).collect::<String>(), Form::Diff, 900);
        let parts: Vec<&str> = text.split("\ncommit ").skip(1).collect();
        assert_eq!(parts.len(), 4, "{text}");
        assert!((1..5).all(|n| parts[n - 1].contains(&format!("do thing {n}"))), "{text}");
        assert!(parts[3].contains(" of 12 files: ") && !parts[3].contains("f47"), "{text}");
    }
}
