//! Files and hunks of a diff, unified or in the default format of `diff`.

use crate::Result;
use crate::classify::diff::{ONLY, hunk, is_command};
use crate::classify::lines::Source;
use crate::outline::{Items, LineSpan, name};
use crate::terminal::without_codes;

#[derive(Default)]
struct File {
    line: u64,
    path: String,
    /// Change besides its lines, such as `renamed`.
    change: Option<&'static str>,
    added: u64,
    removed: u64,
    /// Whether it has a hunk. Not all hunks are kept.
    has_hunks: bool,
    /// Whether the diff is not a unified one.
    is_plain: bool,
    /// Each hunk with its first and last line.
    hunks: Vec<(u64, u64, String)>,
}

impl File {
    /// Adds a hunk that begins on this line, up to the maximum of items.
    fn take_hunk(&mut self, line: u64, header: &str, items: &mut Items) {
        self.has_hunks = true;
        if self.hunks.len() + items.items.len() < crate::outline::KEPT {
            self.hunks.push((line, line, name(header)))
        } else {
            items.more += 1
        }
    }
}

/// Adds each file with its changed lines, and its hunks named by their headers.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut file: Option<File> = None;
    // Lines left in the hunk of the old and of the new file.
    let (mut old, mut new) = (0_u64, 0_u64);
    // The path of a `---` line, which is a header only if `+++` follows.
    let mut minus: Option<(u64, String)> = None;
    let mut last = 0;
    let mut buffer = Vec::new();
    source.for_each(|line| {
        let text = without_codes(line.text, &mut buffer);
        last = line.number;
        if (old > 0 || new > 0) && matches!(text.first(), None | Some(b' ' | b'+' | b'-' | b'\\')) {
            if let Some(file) = &mut file {
                match text.first() {
                    Some(b'+') => (file.added, new) = (file.added + 1, new.saturating_sub(1)),
                    Some(b'-') => (file.removed, old) = (file.removed + 1, old.saturating_sub(1)),
                    Some(b'\\') => {}
                    _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
                }
                if let Some(hunk) = file.hunks.last_mut() {
                    hunk.1 = line.number;
                }
            }
            return;
        }
        if let Some(file) = file.as_mut().filter(|file| file.is_plain)
            && matches!(text, [b'<' | b'>', ..] | b"---")
        {
            file.added += u64::from(text[0] == b'>');
            file.removed += u64::from(text[0] == b'<');
            if let Some(hunk) = file.hunks.last_mut() {
                hunk.1 = line.number;
            }
            return;
        }
        let lossy = String::from_utf8_lossy(text);
        if let Some(paths) = lossy.strip_prefix("diff --git ") {
            finish(file.take(), line.number - 1, items);
            // With spaces in the paths, their ends are unknown here; later lines have each path alone.
            let path = paths.rsplit_once(" b/").map_or(paths, |(_, path)| path);
            file = Some(File {
                line: line.number,
                path: path.trim_end_matches('"').to_owned(),
                ..File::default()
            });
        } else if let Some(paths) = lossy.strip_prefix("diff -") {
            finish(file.take(), line.number - 1, items);
            let path = paths.rsplit(' ').next().unwrap_or_default().to_owned();
            file = Some(File { line: line.number, path, ..File::default() });
        } else if lossy.starts_with(ONLY) {
            finish(file.take(), line.number - 1, items);
            items.add(LineSpan::one(line.number), 0, "file", || name(&lossy));
        } else if is_command(text) {
            let file = file.get_or_insert_with(|| File { line: line.number, ..File::default() });
            file.is_plain = true;
            file.take_hunk(line.number, &lossy, items);
        } else if let Some(path) = lossy.strip_prefix("--- ") {
            minus = Some((line.number, clean(path)));
        } else if let (Some(path), Some((number, before))) = (lossy.strip_prefix("+++ "), minus.take()) {
            let path = clean(path);
            let path = if path == "/dev/null" { before } else { path };
            match &mut file {
                Some(file) if !file.has_hunks && number - file.line <= 8 => file.path = path,
                _ => {
                    finish(file.take(), number - 1, items);
                    file = Some(File { line: number, path, ..File::default() });
                }
            }
        } else if let Some((lines, context)) = hunk(&lossy) {
            (old, new) = lines;
            let file = file.get_or_insert_with(|| File { line: line.number, ..File::default() });
            let header = lossy.split(" @@").next().unwrap_or_default().trim_start_matches("@@ ");
            file.take_hunk(line.number, &format!("{header} {context}"), items);
        } else if let Some(file) = &mut file {
            let changes = [
                ("new file", "new"),
                ("deleted file", "deleted"),
                ("rename to ", "renamed"),
                ("copy to ", "copied"),
                ("Binary files ", "binary"),
                ("GIT binary patch", "binary"),
            ];
            if !file.has_hunks {
                file.change = changes
                    .iter()
                    .find_map(|(beginning, change)| lossy.starts_with(beginning).then_some(*change))
                    .or(file.change);
            }
        }
    })?;
    finish(file, last, items);
    Ok(())
}

/// Adds a file. It ends at the next one, or with its last hunk if other text follows.
fn finish(file: Option<File>, last: u64, items: &mut Items) {
    let Some(file) = file else { return };
    let last = file.hunks.last().map_or(last, |(_, end, _)| *end).max(file.line);
    let name = || {
        let path = if file.path.is_empty() { "?" } else { &file.path };
        let change = file.change.map(|change| format!(" ({change})")).unwrap_or_default();
        let counts = format!("+{} −{}{change}", file.added, file.removed);
        let room = crate::outline::NAME.saturating_sub(counts.chars().count() + 1);
        format!("{} {counts}", crate::outline::shortened(path, room))
    };
    items.add_counted(LineSpan { first: file.line, last }, 0, "file", name, file.added + file.removed);
    for (line, last, header) in file.hunks {
        items.add(LineSpan { first: line, last }, 1, "hunk", || header);
    }
}

/// Returns the path of a header without its prefix and time stamp.
fn clean(path: &str) -> String {
    let path = path.split('\t').next().unwrap_or_default().trim().trim_matches('"');
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::{of, of_file};

    #[test]
    fn a_diff_has_files_with_counts_and_hunks() {
        let out = of(
            "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@ fn main() {\n a\n-b\n+c\n+--- d\n e\n@@ -10 +11 @@\n-x\n+y\ndiff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\ndiff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n--- b\n",
        );
        expect_test::expect![[r#"
            diff
            1-13 file | src/a.rs +3 −2
            5-10   hunk | -1,3 +1,4 fn main() {
            11-13   hunk | -10 +11
            14-17 file | new +0 −0 (renamed)
            18-24 file | gone +0 −2 (deleted)
            22-24   hunk | -1,2 +0,0
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_diff_that_is_not_unified_has_files_with_counts_too() {
        let out = of(
            "diff -r a/x.c b/x.c\n3c3,4\n< one\n---\n> two\n> \n9d9\n< three\nOnly in b: new.c\ndiff -r a/y.c b/y.c\n0a1\n> --- four\n",
        );
        expect_test::expect![[r#"
            diff
            1-8 file | b/x.c +2 −2
            2-6   hunk | 3c3,4
            7-8   hunk | 9d9
            9-9 file | Only in b: new.c
            10-12 file | b/y.c +1 −0
            11-12   hunk | 0a1
        "#]]
        .assert_eq(&out);
        let begins = |text: &str| of(text).starts_with("diff\n");
        assert!(begins("3c3\n< one\n---\n> two\n"));
        assert!(!begins("> a quote\n> that goes on\n> to the end\n"));
        assert!(!begins("< HTTP/1.1 200 OK\n< server: x\n< \n"));
    }

    #[test]
    fn a_plain_diff_has_no_git_headers() {
        let out = of_file(
            "x.py",
            "--- old/a.c\t2024-01-01\n+++ new/a.c\t2024-01-02\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n--- old/b.c\n+++ new/b.c\n@@ -5,1 +5,1 @@ int f(void)\n-a\n+b\n",
        );
        expect_test::expect![[r#"
            diff
            1-6 file | new/a.c +1 −1
            3-6   hunk | -1,2 +1,2
            7-11 file | new/b.c +1 −1
            9-11   hunk | -5,1 +5,1 int f(void)
        "#]]
        .assert_eq(&out);
    }
}
