//! Files of the results of a search.

use crate::Result;
use crate::classify::lines::Source;
use crate::classify::search::{Grouped, Groups, path};
use crate::outline::{Items, LineSpan, shortened};

/// Number of matching lines of a file, as printed by a search that only counts.
fn counted(line: &[u8], path: &[u8]) -> Option<u64> {
    std::str::from_utf8(line.strip_prefix(path)?.strip_prefix(b":")?).ok()?.parse().ok()
}

/// Adds an item for each file, with the number of its lines.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut runs = Runs::new("file", "match", items);
    let mut groups = Groups::default();
    let mut below: Option<Vec<u8>> = None;
    source.for_each(|line| {
        match (groups.take(line.text), &below) {
            (Grouped::Heading, _) => {
                runs.take(line.number, line.text, 0);
                below = Some(line.text.to_vec());
                return;
            }
            (Grouped::Below(matched), Some(path)) => {
                return runs.take(line.number, path, u64::from(matched));
            }
            _ => {}
        }
        if let Some((path, matched)) = path(line.text) {
            runs.take(line.number, path, counted(line.text, path).unwrap_or(u64::from(matched)));
        }
    })?;
    runs.finish();
    Ok(())
}

/// Neighbouring lines of one path, which become one item.
pub(crate) struct Runs<'a> {
    kind: &'static str,
    noun: &'static str,
    items: &'a mut Items,
    /// Path, first line, last line, and count.
    current: Option<(Vec<u8>, u64, u64, u64)>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(kind: &'static str, noun: &'static str, items: &'a mut Items) -> Runs<'a> {
        Runs { kind, noun, items, current: None }
    }

    pub(crate) fn take(&mut self, line: u64, path: &[u8], count: u64) {
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

    pub(crate) fn finish(&mut self) {
        if let Some((path, first, last, count)) = self.current.take() {
            let path = || shortened(&String::from_utf8_lossy(&path), 130);
            let name = || format!("{}: {}", path(), crate::text::count::counted(count, self.noun));
            self.items.add_counted(LineSpan { first, last }, 0, self.kind, name, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;

    #[test]
    fn the_path_before_the_number_of_a_line_is_told() {
        let table = [
            ("src/a.rs:12:let x", Some(("src/a.rs", true))),
            ("src/a.rs-13-let y", Some(("src/a.rs", false))),
            ("a-b/my file-2.rs:3:x", Some(("a-b/my file-2.rs", true))),
            ("./2026-11-17.txt:3:x", Some(("./2026-11-17.txt", true))),
            ("./2026-11-17.txt-4-x.y-5-z", Some(("./2026-11-17.txt", false))),
            ("./a.log-4-2026-11-17 09:30:12 x", Some(("./a.log", false))),
            ("./Makefile-4-in a.b:12:", Some(("./Makefile", false))),
            ("./Makefile-4-VERSION=1.1-2-rc", Some(("./Makefile", false))),
            ("./Makefile-4-12:30:45", Some(("./Makefile", false))),
            ("logs/catalina.2026-11-01.log:1:x", Some(("logs/catalina.2026-11-01.log", true))),
            ("logs/server.log.2026-11-01:1:x", Some(("logs/server.log.2026-11-01", true))),
            ("lib/foo-1.2.3-1-x/index.js:1:x", Some(("lib/foo-1.2.3-1-x/index.js", true))),
            (r"C:\a\b.c:7:x", Some((r"C:\a\b.c", true))),
            ("src/a.rs:12", None),
            ("src/a.rs: 12:x", None),
            ("src/a\tb:12:x", None),
            (" src/a.rs:12:x", None),
            (":12:x", None),
            ("", None),
        ];
        for (line, expected) in table {
            let expected = expected.map(|(path, matched)| (path.as_bytes(), matched));
            assert_eq!(crate::classify::search::numbered(line.as_bytes()), expected, "{line}");
        }
    }

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
    fn a_search_that_counts_has_its_counts() {
        let out = of("src/a.rs:12\nsrc/b.rs:0\nsrc/c.rs:3\n");
        expect_test::expect![[r#"
            search results
            1-1 file | src/a.rs: 12 matches
            2-2 file | src/b.rs: 0 matches
            3-3 file | src/c.rs: 3 matches
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn search_results_below_the_paths_of_their_files_have_these() {
        let out = of("src/a.rs\n12:let x\n13-let y\n--\n40:let x\n\nsrc/my b.rs\n3:fn x()\n");
        expect_test::expect![[r#"
            search results
            1-5 file | src/a.rs: 2 matches
            7-8 file | src/my b.rs: 1 match
        "#]]
        .assert_eq(&out);
        let steps = "It goes on:\n1: one\n2: two\n\nThen:\n3: three\n";
        assert!(!of(steps).starts_with("search"), "{}", of(steps));
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
}
