//! Structure of an output: how its lines belong together, detected from a sample. Also the tests of single lines that
//! depend on it.

use crate::weights::classify as weights;
use crate::{Output, Result};
use memchr::memmem;
use std::ops::Range;

/// How the lines of an output belong together. Context lines depend on this, and not on which tool printed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Each line is independent: paths, or results of a search.
    Lone,
    /// Lines are paragraphs.
    Prose,
    /// Lines are changes.
    Diff,
    /// Lines are a program.
    Source,
    /// Lines form blocks.
    Blocks,
}

impl Layout {
    pub(crate) fn of(output: &Output) -> Result<Layout> {
        let sample = output.read(0..output.len().min(weights::LAYOUT_SAMPLE_BYTES))?;
        let lines: Vec<&[u8]> = sample
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .collect();
        let starts = |with: &[u8]| lines.iter().any(|line| line.starts_with(with));
        let lone = lines.iter().filter(|line| is_lone(line)).count();
        let length: usize = lines.iter().map(|line| line.len()).sum();
        Ok(if starts(b"diff --git ") && starts(b"@@ -") {
            Layout::Diff
        } else if lone * 10 >= lines.len() * weights::LIST_LINES_TENTHS {
            Layout::Lone
        } else if length > lines.len() * weights::PROSE_LINE_BYTES {
            Layout::Prose
        } else if is_source(&sample) {
            Layout::Source
        } else {
            Layout::Blocks
        })
    }
}

/// Beginnings of the lines by which a program imports others.
const NEEDING: &[&str] = &["import ", "from ", "use ", "using ", "#include", "package ", "require"];

/// Whether a text is a program: it imports others, and then has definitions throughout. A run that shows parts of programs
/// does not begin like that.
fn is_source(sample: &[u8]) -> bool {
    let lines = || sample.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let needs = |line: &[u8]| NEEDING.iter().any(|word| line.starts_with(word.as_bytes()));
    let begins = lines().take_while(|line| !defines(line)).any(needs);
    begins
        && lines().filter(|line| defines(line)).count() * weights::PROGRAM_ONE_DEFINITION_IN
            >= lines().count()
}

/// Beginnings and ends of documentation in a program. The first two are also those of multi-line strings.
const DOCUMENTING: &[(&[u8], &[u8])] = &[(b"\"\"\"", b"\"\"\""), (b"'''", b"'''"), (b"/**", b"*/")];

/// Beginnings of single lines of documentation.
const DOCUMENTS: &[&[u8]] = &[b"///", b"//!"];

/// Returns the comments and strings that document a program, in order.
pub(crate) fn described(program: &[u8]) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    // The end of the string or comment that contains the next line, and whether it is documentation.
    let mut within: Option<(&[u8], bool)> = None;
    let mut at = 0;
    for line in program.split_inclusive(|&byte| byte == b'\n') {
        let range = at..at + line.len() as u64;
        at = range.end;
        let text = line.trim_ascii();
        let text = text.strip_prefix(b"r").unwrap_or(text);
        let documents = if let Some((end, documents)) = within {
            if memmem::find(text, end).is_some() {
                within = None;
            }
            documents
        } else if let Some((start, end)) = DOCUMENTING.iter().find(|(start, _)| text.starts_with(start)) {
            if memmem::find(&text[start.len()..], end).is_none() {
                within = Some((end, true));
            }
            true
        } else {
            let opens = |(start, _): &&(&[u8], &[u8])| memmem::find_iter(text, start).count() % 2 == 1;
            within = DOCUMENTING[..2].iter().find(opens).map(|(_, end)| (*end, false));
            DOCUMENTS.iter().any(|start| text.starts_with(start))
        };
        match found.last_mut() {
            _ if !documents => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => found.push(range),
        }
    }
    found
}

/// Whether a line is a path, or a path with a line number and text.
pub(crate) fn is_lone(line: &[u8]) -> bool {
    let Some(end) = line.iter().position(|byte| matches!(byte, b' ' | b'\t')) else {
        return line.contains(&b'/') || line.contains(&b'.');
    };
    let start = &line[..end];
    let mut parts = line.splitn(3, |&byte| byte == b':');
    let path = parts.next().unwrap_or_default();
    let number = parts.next().unwrap_or_default();
    let numbered = !number.is_empty() && number.iter().all(u8::is_ascii_digit) && !path.contains(&b' ');
    let counted = line[end..].trim_ascii_start().starts_with(b"(");
    numbered || start.contains(&b'/') && (start.ends_with(b":") || counted)
}

/// Returns the indentation of a line, in characters, by blanks or by the branches of a drawn tree.
pub(crate) fn level(line: &[u8]) -> usize {
    let text = String::from_utf8_lossy(&line[..line.len().min(200)]);
    text.chars().take_while(|sign| matches!(sign, ' ' | '\t' | '|' | '│' | '├' | '└' | '─' | '┬')).count()
}

/// Whether a line is a heading of a document, by its marks.
pub(crate) fn is_heading(line: &[u8], layout: Layout) -> bool {
    let marks = line.iter().take_while(|&&byte| byte == b'#').count();
    let least = if layout == Layout::Prose { 1 } else { 2 };
    layout != Layout::Source && (least..=6).contains(&marks) && line.get(marks) == Some(&b' ')
}

/// Whether a line is a heading of a document, by a rule of about its length below.
pub(crate) fn is_underlined(line: &[u8], below: &[u8]) -> bool {
    let (line, below) = (line.trim_ascii_end(), below.trim_ascii_end());
    let rule = below.first().filter(|rule| b"=-~^".contains(rule));
    rule.is_some_and(|rule| below.iter().all(|byte| byte == rule))
        && line.first().is_some_and(u8::is_ascii_alphanumeric)
        && below.len() >= 3
        && below.len().abs_diff(line.len()) <= 2.max(line.len() / 4)
}

/// Returns a line without its comment marks, and whether it has any.
fn comment(line: &[u8]) -> (&[u8], bool) {
    let line = line.trim_ascii();
    let marks = line.iter().take_while(|byte| matches!(byte, b'/' | b'#' | b'*' | b'!' | b';')).count();
    (line[marks..].trim_ascii(), marks > 0)
}

/// Minimum bytes of a line that a sentence fills: shorter lines are not wrapped.
const WRAPPED: usize = 56;

/// Whether a line continues the sentence of the line before.
pub(crate) fn continues(line: &[u8], next: &[u8], layout: Layout) -> bool {
    let ((one, noted), (next, next_noted)) = (comment(line), comment(next));
    let (Some(&last), Some(&first)) = (one.last(), next.first()) else { return false };
    let is_program = matches!(layout, Layout::Source | Layout::Diff);
    let word = next.split(|&byte| byte == b' ').next().unwrap_or_default();
    let (_, inner) = word.split_last().unwrap_or((&0, b""));
    let is_word = word.len() < next.len() && inner.iter().all(u8::is_ascii_lowercase);
    let sentence = line.len() >= WRAPPED
        && (last.is_ascii_alphabetic() || b",)\"'`-".contains(&last))
        && (first.is_ascii_lowercase() && is_word || b"(\"'`".contains(&first));
    !is_program && noted == next_noted && sentence
}

/// Minimum length of a rule after words.
const RULE: usize = 10;

/// Whether a line is the title of a section: words between rules (`____ test_it ____`, `=== FAILURES ===`), words before a
/// long rule (`TASK [restart] **********`), or a failure with its number (`3) Shop::testTotal`).
pub(crate) fn is_title(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && line[digits..].starts_with(b") ") {
        return line.get(digits + 2).is_some_and(u8::is_ascii_alphabetic);
    }
    if let Some(&rule) = line.last().filter(|byte| matches!(byte, b'=' | b'*' | b'-')) {
        let words = line.len() - line.iter().rev().take_while(|&&byte| byte == rule).count();
        let begins = line[0].is_ascii_alphabetic();
        if begins && line.len() - words >= RULE && line[..words].ends_with(b" ") {
            return true;
        }
    }
    let Some(&rule) = line.first().filter(|byte| matches!(byte, b'=' | b'_' | b'-' | b'*' | b'#')) else {
        return false;
    };
    let ruled = |bytes: &mut dyn Iterator<Item = &u8>| bytes.take_while(|byte| **byte == rule).count();
    let (before, after) = (ruled(&mut line.iter()), ruled(&mut line.iter().rev()));
    before > 2 && after > 2 && before + after < line.len()
}

/// Beginnings of the lines that define something.
const DEFINING: &[&str] = &[
    "def ",
    "async def ",
    "class ",
    "fn ",
    "pub fn ",
    "func ",
    "function ",
    "export function ",
    "impl ",
    "struct ",
    "enum ",
    "interface ",
    "public ",
    "private ",
    "protected ",
    "static ",
];

/// Whether a line defines something to which the lines below belong.
pub(crate) fn defines(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"+").or(line.strip_prefix(b"-")).unwrap_or(line).trim_ascii_start();
    DEFINING.iter().any(|word| line.starts_with(word.as_bytes()))
}

/// Parts of the paths of tests and documents.
const ASIDE: &[&str] = &["test", "docs/", "doc/", "changelog", "release", "changes", "example"];

/// Whether the path at the beginning of a line leads to tests or documents.
pub(crate) fn is_aside(line: &[u8]) -> bool {
    let path = &line[..line.iter().position(|&byte| byte == b':').unwrap_or(line.len())];
    let lower = path.to_ascii_lowercase();
    ASIDE.iter().any(|part| memchr::memmem::find(&lower, part.as_bytes()).is_some())
}

/// Returns the offsets of the files of a diff, and whether each is a test or a document.
pub(crate) fn diff_files(output: &Output) -> Result<Vec<(u64, bool)>> {
    let mut files = vec![(0, is_aside(&output.read(0..output.len().min(200))?))];
    output.for_each_block(0..output.len(), |at, block| {
        for found in memchr::memmem::find_iter(block, b"\ndiff --git ") {
            let line = &block[found + 1..(found + 200).min(block.len())];
            let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
            files.push((at + found as u64 + 1, is_aside(line)));
        }
    })?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_is_told_from_code() {
        let check = |program: &str, expected: &[&str]| {
            let ranges = described(program.as_bytes());
            let found: Vec<&str> =
                ranges.iter().map(|range| &program[range.start as usize..range.end as usize]).collect();
            assert_eq!(found, expected, "{program}");
        };
        check("def a():\n    \"\"\"One.\"\"\"\n    b()\n", &["    \"\"\"One.\"\"\"\n"]);
        check("def a():\n    r'''One.\n    Two.\n    '''\n    b()\n", &["    r'''One.\n    Two.\n    '''\n"]);
        check("sql = \"\"\"select\n\"\"\"\nb()\n", &[]);
        check(
            "/// One.\n//! Two.\nfn a() {} // b\n/** Three.\n * Four. */\nint b;\n",
            &["/// One.\n//! Two.\n", "/** Three.\n * Four. */\n"],
        );
        check("\"\"\"It never ends.\n", &["\"\"\"It never ends.\n"]);
    }

    #[test]
    fn a_line_goes_on_with_the_sentence_of_the_one_before() {
        let one = "it may be that the castle of the king is closed to visitors";
        for (line, next, goes_on) in [
            (one, "comes late.", true),
            (one, "(see below).", true),
            ("// it may be that the castle of the king is closed to all", "// who come late", true),
            ("// it may be that the castle of the king is closed to all", "who come late", false),
            (one, "Comes late.", false),
            (one, "close(3) = 0", false),
            (one, "", false),
            ("it may be that the castle of the king is closed to all.", "comes late", false),
            ("it is closed to visitors", "comes late", false),
        ] {
            assert_eq!(
                continues(line.as_bytes(), next.as_bytes(), Layout::Blocks),
                goes_on,
                "{line} | {next}"
            );
        }
        assert!(!continues(one.as_bytes(), b"comes late.", Layout::Source));
    }

    #[test]
    fn a_heading_is_underlined_by_a_rule_of_about_its_length() {
        for (line, below, expected) in [
            ("0.10.1 (2012-01-23)", "-------------------", true),
            ("Changes\r", "=======\r", true),
            ("Usage", "~~~~~~", true),
            ("Usage", "-------------------", false),
            ("Usage", "", false),
            ("", "-----", false),
            ("+----+", "------", false),
            ("a", "--", false),
        ] {
            assert_eq!(is_underlined(line.as_bytes(), below.as_bytes()), expected, "{line} | {below}");
        }
    }

    #[test]
    fn a_title_has_a_rule_on_both_sides_or_a_long_one_behind_it() {
        for (line, expected) in [
            ("_____ test_it _____", true),
            ("=== FAILURES ===", true),
            ("TASK [app : restart] ****************", true),
            ("PLAY RECAP ****************", true),
            ("12) Shop\\CartTest::testTotal", true),
            ("  3) adds what is put in", true),
            ("f(1) and so on", false),
            ("* * *", false),
            ("a ---", false),
            ("Name----------------", false),
            ("--------------------", false),
            ("", false),
        ] {
            assert_eq!(is_title(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn a_tree_is_set_in_by_its_lines() {
        for (line, deep) in [("root", 0), ("│ ├─┬ a@1", 6), ("│ │ └── b@1", 8), ("    c", 4), ("", 0)]
        {
            assert_eq!(level(line.as_bytes()), deep, "{line}");
        }
    }

    #[test]
    fn a_program_says_what_it_needs_before_it_defines() {
        let program = "// Reads.\nuse std::fs;\n\npub fn read() {\n    fs::read()\n}\n";
        let run = "collected 2 items\n\n    def test_pass():\n>       assert fails()\nimport os\nE  error\n";
        assert!(is_source(program.as_bytes()));
        assert!(!is_source(run.as_bytes()) && !is_source(b"import os\nprint()\n"));
    }
}
