//! Diffs: their first changes, and the files of the others.

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

/// Plans the view of a diff.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, budget: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Diff {
        return Ok(None);
    }
    let formatting = probe.whole()?.and_then(Formatting::of);
    let outliers = formatting.as_ref().map_or(Vec::new(), Formatting::outliers);
    let skipped = changes::skipped(&fit::beginning(probe.output, budget)?);
    let items = OutlineItems::new(outline::outline(probe.output)?);
    let parts = Parts::new(Shares::of(Form::Diff), Files { items, formatting });
    Ok(Some(Plan::Ends(Parts { outliers, skipped, ..parts })))
}

/// Files of a diff, and what of it changes only the layout.
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
        // The call is said once, and then only lines.
        assert_eq!(text.matches("forebay read").count(), 1, "{text}");
        assert!(text.contains(" files: "), "{text}");
    }
}
