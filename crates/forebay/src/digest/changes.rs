//! Lines of a diff that need not be read: those after the last change of a hunk, and repeated paths.

use crate::classify::diff::hunk;
use crate::weights::folding::LINES_BEFORE_CHANGE;
use std::ops::Range;

/// Ranges of a diff that are skipped.
pub(crate) fn skipped(text: &[u8]) -> Vec<Range<u64>> {
    let mut skipped: Vec<Range<u64>> = Vec::new();
    // Lines that matter only if something follows them: context, or the header of a file.
    let mut waiting: Vec<Range<u64>> = Vec::new();
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let range = start..start + line.len() as u64;
        start = range.end;
        let is_header = old == 0 && new == 0;
        match line.first() {
            Some(b'+') if !is_header => {
                new -= new.min(1);
                skip(&mut skipped, &mut waiting, LINES_BEFORE_CHANGE);
            }
            Some(b'-') if !is_header => {
                old -= old.min(1);
                skip(&mut skipped, &mut waiting, LINES_BEFORE_CHANGE);
            }
            Some(b' ' | b'\n' | b'\r') if !is_header => {
                (old, new) = (old - old.min(1), new - new.min(1));
                waiting.push(range);
                if old == 0 && new == 0 {
                    skip(&mut skipped, &mut waiting, 0);
                }
            }
            Some(b'\\') => {}
            _ if is_repeated(line) => waiting.push(range),
            _ => {
                // The path of the new file replaces the lines before it, unless these say more.
                let says_all = line.starts_with(b"+++ ") && !line.starts_with(b"+++ /dev/null");
                let kept = if says_all { 0 } else { waiting.len() };
                skip(&mut skipped, &mut waiting, kept);
                (old, new) = hunk(&String::from_utf8_lossy(line)).map_or((0, 0), |(lines, _)| lines);
            }
        }
    }
    skipped
}

/// Whether a line of a header has the same path as the line for the new file.
fn is_repeated(line: &[u8]) -> bool {
    let repeats: [&[u8]; 3] = [b"diff --git ", b"index ", b"--- a/"];
    repeats.iter().any(|beginning| line.starts_with(beginning))
}

/// Skips the waiting lines, except for the last `kept` ones.
fn skip(skipped: &mut Vec<Range<u64>>, waiting: &mut Vec<Range<u64>>, kept: usize) {
    let lines = waiting.len().saturating_sub(kept);
    if let (Some(first), Some(last)) = (waiting.first(), waiting[..lines].last()) {
        match skipped.last_mut() {
            Some(before) if before.end == first.start => before.end = last.end,
            _ => skipped.push(first.start..last.end),
        }
    }
    waiting.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let mut read = String::new();
        let mut at = 0;
        for range in skipped(text.as_bytes()) {
            read += &text[at..range.start as usize];
            read += "…\n";
            at = range.end as usize;
        }
        read + &text[at..]
    }

    #[test]
    fn the_context_behind_the_last_change_and_repeated_paths_are_skipped() {
        let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,7 +1,8 @@ fn f\n 1\n 2\n 3\n+new\n 4\n 5\n 6\n 7\n\
                    diff --git a/y b/y\nindex 1..2 100644\n--- a/y\n+++ b/y\n@@ -9,2 +9,2 @@\n 9\n-old\n+new\n";
        assert_eq!(
            read(diff),
            "…\n+++ b/x\n@@ -1,7 +1,8 @@ fn f\n 1\n 2\n 3\n+new\n…\n+++ b/y\n@@ -9,2 +9,2 @@\n 9\n-old\n+new\n"
        );
    }

    #[test]
    fn what_a_header_says_besides_is_read() {
        for diff in [
            "diff --git a/x b/x\nnew file mode 100644\nindex 0..2\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n",
            "diff --git a/x b/x\ndeleted file mode 100644\nindex 0..2\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n",
            "diff --git a/x b/y\nsimilarity index 97%\nrename from x\nrename to y\n",
        ] {
            assert_eq!(read(diff), diff);
        }
    }

    #[test]
    fn of_long_context_the_lines_next_to_a_change_are_read() {
        let context: String = (1..=20).map(|n| format!(" {n}\n")).collect();
        let diff = format!("+++ b/x\n@@ -1,43 +1,43 @@\n{context}-one\n+two\n{context}--- x\n+++ y\n 1\n");
        assert_eq!(
            read(&diff),
            "+++ b/x\n@@ -1,43 +1,43 @@\n…\n 18\n 19\n 20\n-one\n+two\n…\n 18\n 19\n 20\n--- x\n+++ y\n…\n"
        );
        let added = format!("@@ -1,20 +1,21 @@\n{context}+two\n");
        assert_eq!(read(&added), "@@ -1,20 +1,21 @@\n…\n 18\n 19\n 20\n+two\n");
    }
}
