//! Outlines: the classes, headings, files, failing tests or columns of an output, with line numbers.
//!
//! The bytes decide what an output is. The arguments of its call only propose a language. Every pass reads blocks and
//! keeps at most the beginning of a line, and parsing is bounded by its work. So an outline costs about as much as
//! reading the output once.

pub(crate) mod code;
pub(crate) mod definitions;
pub(crate) mod diff;
pub(crate) mod duplicates;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod listing;
pub(crate) mod log;
pub(crate) mod markup;
pub(crate) mod matches;
pub(crate) mod outliers;
pub(crate) mod sections;
pub(crate) mod sql;
pub(crate) mod table;
pub(crate) mod test_run;
pub(crate) mod text;
pub(crate) mod xml;

pub(crate) use crate::outline::listing::Entry;

use crate::classify::form::{CHANGE, Form, form_and_numbering};
use crate::classify::lines::Source;
use crate::terminal::readable;
use crate::{Output, Result, classify};
use serde::Serialize;

/// Item of an output: a class, a heading, a file of a diff, a failing test, a section of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// First line, counted from 1.
    pub line: u64,
    /// Last line.
    pub last_line: u64,
    /// Number of items that contain it.
    pub depth: u32,
    /// Kind: `fn`, `class`, `heading`, `file`, `hunk`, `failure`, `section`, `column`, …
    pub kind: &'static str,
    /// Name on one line, safe to print: a signature, a title, a path.
    pub name: String,
    /// Count: results in a file, entries of a folder, lines that a file gains and loses, or how much an outline says about a
    /// column.
    #[serde(skip)]
    pub(crate) count: Option<u64>,
    /// Name of a definition, if it has one.
    #[serde(skip)]
    pub(crate) symbol: Option<Symbol>,
}

/// Name of a definition, with the keyword that its language writes before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    /// `func`, `class`, `def`; or `method` if the language has no keyword for it.
    pub(crate) keyword: &'static str,
    /// Name as in the source.
    pub(crate) name: String,
}

impl Symbol {
    /// Returns a symbol unless the name is empty.
    fn new(keyword: &'static str, name: &str) -> Option<Symbol> {
        let name = shortened(name, NAME);
        (!name.is_empty()).then_some(Symbol { keyword, name })
    }
}

/// Items of an output, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outline {
    /// Form of the output.
    pub form: Form,
    /// Items in it.
    pub items: Vec<Item>,
    /// Bytes that were read.
    pub seen: u64,
    /// Part that was read less closely, and why.
    pub note: Option<String>,
    /// Number of items that are not listed.
    #[serde(skip)]
    pub(crate) more: u64,
    /// Lines with values that hardly any other line has, the rarest first.
    #[serde(skip)]
    pub(crate) odd: Vec<u64>,
}

/// Returns the lines of a one-line history that name a branch or a tag: `(HEAD -> main, tag: v1)`.
pub(crate) fn named_changes(output: &Output) -> Result<Vec<u64>> {
    let mut named = Vec::new();
    Source::new(output, None).for_each(|line| {
        let is_named = || CHANGE.captures(&readable(line.text)).is_some_and(|found| found.get(1).is_some());
        if memchr::memchr(b'(', line.text).is_some() && is_named() {
            named.push(line.number);
        }
    })?;
    Ok(named)
}

/// Calls `take` with each entry of a listing.
pub(crate) fn for_each_entry(output: &Output, mut take: impl FnMut(&Entry)) -> Result<()> {
    let mut reader = listing::Reader::default();
    Source::new(output, classify::classify(output)?.1).for_each(|line| {
        if let Some(entry) = reader.entry(line.number, line.text) {
            take(&entry);
        }
    })
}

/// Returns the outline of an output.
pub(crate) fn outline(output: &Output) -> Result<Outline> {
    outline_parsing(output, code::MAX_PARSED_OUTLINE)
}

/// Returns the outline of an output. Of a program at most `parsed` bytes are parsed.
pub(crate) fn outline_parsing(output: &Output, parsed: u64) -> Result<Outline> {
    let mut items = Items::default();
    let (mut note, mut odd) = (None, Vec::new());
    let (form, numbering) = form_and_numbering(output)?;
    let source = Source::new(output, numbering);
    match form {
        Form::Code(language) => note = code::outline(&source, language, parsed, &mut items)?,
        Form::Markdown => markup::markdown(&source, &mut items)?,
        Form::Rst => markup::rst(&source, &mut items)?,
        Form::Html => html::outline(&source, &mut items)?,
        Form::Diff => diff::outline(&source, &mut items)?,
        Form::TestRun => test_run::outline(&source, &mut items)?,
        Form::Log => log::outline(&source, &mut items)?,
        Form::Table => odd = table::outline(&source, &mut items)?,
        Form::Matches => matches::outline(&source, &mut items)?,
        Form::Listing => listing::outline(&source, &mut items)?,
        Form::Text => text::outline(&source, &mut items)?,
        Form::Json | Form::Binary => {}
    }
    let seen = if matches!(form, Form::Json | Form::Binary) { 0 } else { output.len() };
    let (items, more) = items.finish(output.lines()?);
    if more > 0 {
        let more = format!("{more} more things are not listed");
        note = Some(note.map_or_else(|| more.clone(), |note| format!("{note}; {more}")));
    }
    Ok(Outline { form, items, seen, note, more, odd })
}

/// Maximum items of an outline. A longer one is of no use.
const KEPT: usize = 100_000;

/// Items of an outline under construction.
#[derive(Default)]
pub(crate) struct Items {
    items: Vec<Item>,
    more: u64,
}

/// First and last line of an item.
#[derive(Clone, Copy)]
pub(crate) struct LineSpan {
    first: u64,
    last: u64,
}

/// Last line of an item that ends at the next one of its depth.
const OPEN: u64 = 0;

impl LineSpan {
    /// A single line.
    fn one(line: u64) -> LineSpan {
        LineSpan { first: line, last: line }
    }

    /// The lines from `first` up to the next item of the same depth.
    fn open(first: u64) -> LineSpan {
        LineSpan { first, last: OPEN }
    }
}

impl Items {
    /// Adds an item with a known end.
    fn add(&mut self, lines: LineSpan, depth: u32, kind: &'static str, name: impl FnOnce() -> String) {
        self.push(lines, depth, kind, name, None);
    }

    /// Adds an item with a known end and a count.
    fn add_counted(
        &mut self,
        lines: LineSpan,
        depth: u32,
        kind: &'static str,
        name: impl FnOnce() -> String,
        count: u64,
    ) {
        self.push(lines, depth, kind, name, Some(count));
    }

    /// Adds an item. Only items that are kept get a name: making a name costs more than finding the next item.
    fn push(
        &mut self,
        lines: LineSpan,
        depth: u32,
        kind: &'static str,
        name: impl FnOnce() -> String,
        count: Option<u64>,
    ) {
        if self.items.len() < KEPT {
            let LineSpan { first: line, last: last_line } = lines;
            self.items.push(Item { line, last_line, depth, kind, name: name(), count, symbol: None })
        } else {
            self.more += 1
        }
    }

    /// Adds a definition with its name.
    fn define(
        &mut self,
        lines: LineSpan,
        depth: u32,
        kind: &'static str,
        symbol: Option<Symbol>,
        name: impl FnOnce() -> String,
    ) {
        let place = self.items.len();
        self.push(lines, depth, kind, name, None);
        if let Some(item) = self.items.get_mut(place) {
            item.symbol = symbol;
        }
    }

    /// Appends items that were found after these.
    fn append(&mut self, behind: Items) {
        let room = KEPT.saturating_sub(self.items.len());
        self.more += behind.more + behind.items.len().saturating_sub(room) as u64;
        self.items.extend(behind.items.into_iter().take(room));
    }

    /// Adds an item that ends at the next one of its depth or above.
    fn open(&mut self, line: u64, depth: u32, kind: &'static str, name: impl FnOnce() -> String) {
        self.add(LineSpan::open(line), depth, kind, name);
    }

    /// Returns the items in order, each with its end, and the number of those that were not kept.
    fn finish(mut self, lines: u64) -> (Vec<Item>, u64) {
        self.items.sort_by_key(|item| item.line);
        let mut open: Vec<usize> = Vec::new();
        for index in 0..self.items.len() {
            let (line, depth) = (self.items[index].line, self.items[index].depth);
            while let Some(above) = open.pop_if(|above| self.items[*above].depth >= depth) {
                self.items[above].last_line = line - 1;
            }
            if self.items[index].last_line == OPEN {
                open.push(index);
            }
        }
        for above in open {
            self.items[above].last_line = lines;
        }
        for item in &mut self.items {
            item.line = item.line.clamp(1, lines.max(1));
            item.last_line = item.last_line.clamp(item.line, lines.max(1));
        }
        (self.items, self.more)
    }
}

/// Maximum characters of a name.
const NAME: usize = 160;

/// Returns a name for printing: one line, without control characters, cut to [`NAME`] characters.
pub(crate) fn name(text: &str) -> String {
    shortened(text, NAME)
}

fn shortened(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let name = crate::printable(&words.join(" "));
    match name.char_indices().nth(limit) {
        None => name,
        Some(_) => {
            let mut name: String = name.chars().take(limit.saturating_sub(1)).collect();
            name.push('…');
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::form::is_history;
    use crate::store::memory::{output_of, output_of_call};
    use crate::{Call, Session};
    use proptest::prelude::*;
    use std::fmt::Write;

    /// Prints an outline, an item per line.
    pub(super) fn printed(outline: &Outline) -> String {
        let mut text = format!("{}\n", outline.form.name());
        for item in &outline.items {
            let indent = "  ".repeat(item.depth as usize);
            let _ = writeln!(text, "{}-{} {indent}{} | {}", item.line, item.last_line, item.kind, item.name);
        }
        if let Some(note) = &outline.note {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    pub(super) fn of(text: &str) -> String {
        printed(&outline(&output_of(text.as_bytes())).unwrap())
    }

    /// Prints the outline of the output of a call that read this file.
    pub(super) fn of_file(path: &str, text: &str) -> String {
        let call = Call {
            args: Some(serde_json::json!({ "file_path": path }).to_string()),
            ..Call::new(Session::safe("s"), "id1234", "read", jiff::Timestamp::UNIX_EPOCH)
        };
        printed(&outline(&output_of_call(&call, text.as_bytes())).unwrap())
    }

    fn log() -> String {
        (0..400)
            .map(|number| format!("2024-05-01 12:{:02}:00 INFO step {number} (done)\n", number % 60))
            .collect()
    }

    #[test]
    fn a_log_given_as_source_is_outlined_as_a_log() {
        for path in ["big.py", "a/b.rs", "x.md", "y.js"] {
            assert!(of_file(path, &log()).starts_with("log\n"), "{path}");
        }
        let words: String =
            (0..400).map(|number| format!("item {number} is (still) being worked on\n")).collect();
        assert_eq!(of_file("words.py", &words), "text\n");
    }

    #[test]
    #[cfg(feature = "lang-python")]
    fn the_path_of_a_call_may_also_be_in_its_command() {
        let call = Call {
            args: Some(r#"{"command": "cat -n src/data.py | head -50"}"#.into()),
            ..Call::new(Session::safe("s"), "id1234", "shell", jiff::Timestamp::UNIX_EPOCH)
        };
        let output = output_of_call(&call, b"TABLE = [\n    1,\n    2,\n]\n");
        assert_eq!(outline(&output).unwrap().form, Form::Code(crate::classify::languages::Language::Python));
        assert_eq!(outline(&output_of(b"TABLE = [\n    1,\n    2,\n]\n")).unwrap().form, Form::Text);
    }

    #[test]
    fn a_history_of_changes_is_known() {
        for (text, expected) in [
            ("commit d508520 (HEAD -> main)\nDate: today\n\n    room: a count that failed\n", true),
            (
                "c388cd5 serve: an error is told\n3f0fb15 tests: clients vanish\n748dacc serve: said once\n",
                true,
            ),
            ("* c388cd5 one\n| * 3f0fb15 two\n|/\n* 748dacc three\n* 748dacd four\n", true),
            ("\x1b[33mc388cd5\x1b[m one\n\x1b[33m3f0fb15\x1b[m two\n\x1b[33m748dacc\x1b[m three\n", true),
            ("c388cd5 one\n3f0fb15 two\n748dacc three\nand a word\n", false),
            ("commit the change, then push it\n", false),
            ("deadbeef is a word\nand not a history\n", false),
            ("", false),
        ] {
            assert_eq!(is_history(&output_of(text.as_bytes())).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_text_has_no_items() {
        assert_eq!(of(""), "text\n");
        assert_eq!(of("\n\n\n"), "text\n");
        assert_eq!(of("{\"a\": [1, 2]}\n"), "JSON\n");
        assert_eq!(printed(&outline(&output_of(b"\x7fELF\0\0\0\x01")).unwrap()), "binary\n");
    }

    #[test]
    fn more_things_than_anybody_reads_are_counted() {
        let text: String = (0..KEPT + 5).map(|number| format!("# A {number}\n\n```\n```\n")).collect();
        let outline = outline(&output_of(text.as_bytes())).unwrap();
        assert_eq!(outline.items.len(), KEPT);
        assert_eq!(outline.note.as_deref(), Some("5 more things are not listed"));
    }

    #[test]
    fn a_name_is_one_line_that_acts_on_no_terminal() {
        assert_eq!(name("  a\tb \n c\u{1b}[31m"), "a b c\\u{1b}[31m");
        assert_eq!(name(&"ä".repeat(300)).chars().count(), NAME);
        assert_eq!(name(&"word ".repeat(100)).chars().count(), NAME);
    }

    #[test]
    fn a_line_of_many_megabytes_is_not_kept() {
        let long = format!("# Title\n\n{}\n## After\n\n```\nx\n```\n", "x".repeat(5_000_000));
        expect_test::expect![[r#"
            Markdown
            1-8 heading | Title
            4-8   heading | After
        "#]]
        .assert_eq(&of(&long));
    }

    /// Pieces of all forms, so that random bytes contain items.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(vec![
            "fn main() {\n",
            "}\n",
            "class A:\n",
            "    def f(self):\n",
            "        return 1\n",
            "# Title\n",
            "## Two\n",
            "```\n",
            "Title\n=====\n",
            "diff --git a/x b/x\n",
            "--- a/x\n+++ b/x\n",
            "@@ -1,2 +1,3 @@ fn f\n",
            "+new\n",
            "-old\n",
            " same\n",
            "test a::b ... FAILED\n",
            "test result: FAILED. 1 passed\n",
            "--- FAIL: TestX (0.00s)\n",
            "##[group]Build\n",
            "##[endgroup]\n",
            "travis_fold:start:a\r\u{1b}[0K",
            "travis_fold:end:a\r",
            "2024-01-02 03:04:05 ERROR no\n",
            "a,b,c\n",
            "1,2,3\n",
            "NAME  READY  AGE\n",
            "src/a.rs:12:let x\n",
            "src/a.rs\n",
            "<h1>One</h1>",
            "<title>",
            "</h2><h3",
            "<script>",
            "<!--",
            "ARTICLE I\n\n",
            "1. Scope\n\n",
            "\n",
            "   1\tfn a() {}\n",
            "   2\tfn b() {}\n",
            "   3\tfn c() {}\n",
            "import os\n",
            "<?php\n",
            "\"",
            "'",
            "{",
            "(",
        ]);
        let piece = prop_oneof![
            8 => known.prop_map(|piece: &str| piece.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..40),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_item_lies_in_the_output_and_they_come_in_order(
            bytes in pieces(),
            path in prop::sample::select(vec!["", "a.py", "b.rs", "c.tsx", "d.md", "e.cpp", "f.php", "g.sh"]),
        ) {
            let call = Call {
                args: Some(serde_json::json!({ "path": path }).to_string()),
                ..Call::new(Session::safe("s"), "id1234", "read", jiff::Timestamp::UNIX_EPOCH)
            };
            let output = output_of_call(&call, &bytes);
            let lines = output.lines().unwrap();
            let outline = outline(&output).unwrap();
            let mut before = 1;
            for item in &outline.items {
                prop_assert!(item.line >= before && item.line <= item.last_line && item.last_line <= lines);
                prop_assert!(!item.name.contains(char::is_control) && item.name.chars().count() <= NAME + 20);
                before = item.line;
            }
        }
    }
}
