//! Outputs that are no record of a run, by what they are: what is odd in each, and what is said of the part that is not shown.

use crate::classify::form;
use crate::classify::form::Form;
use crate::digest::conflicts::Conflicts;
use crate::digest::ends::{BEGINNING, Parts, Shares, Summarize, between, enough};
use crate::digest::findings::Findings;
use crate::digest::folders::Folders;
use crate::digest::formatting::Formatting;
use crate::digest::json_paths::Paths;
use crate::digest::outline_items::{Columns, Things};
use crate::digest::templates::Templates;
use crate::digest::threads::Threads;
use crate::digest::{changes, outline_items, sections, states, totals, wording};
use crate::outline::Outline;
use crate::rank::choose::{Choice, ranges};
use crate::rank::passage::Unit as Ranked;
use crate::view::print::{Gap, marker_tokens};
use crate::view::{Summary, View, units};
use crate::{Budget, Output, Result, outline, rank, tokens};
use std::ops::Range;

/// So much of a program is parsed: what is said of it names few definitions, and says that there are at least so many.
const PARSED: u64 = 1024 * 1024;

/// The view of a text that is read as a document.
pub(crate) fn document(output: &Output, budget: Budget, wanted: &[Range<u64>]) -> Result<View> {
    let outline = outline::outline(output)?;
    let things = Things::of(&outline);
    // What a dump of SQL makes, and what the changes of a history are called.
    let made = outline.items.iter().filter(|item| item.kind == "statement").map(|item| item.line);
    let lines: Vec<u64> = match form::is_history(output)? {
        true => outline::named_changes(output)?,
        false => made.collect(),
    };
    let starts = lines.iter().take(NAMED).map(|line| output.line_start(line - 1));
    let odd = lines_at(output, &starts.collect::<Result<Vec<u64>>>()?)?;
    // How a dump ended stands at its end.
    let shares = match form::is_sql(output)? {
        true => Shares { head: SQL, ..Shares::DOCUMENT },
        false => Shares::DOCUMENT,
    };
    between(output, budget, &shares, &Parts::of(wanted, odd), &things)
}

/// What the beginning of a dump of SQL has of what is shown of both ends.
const SQL: f64 = 0.8;

/// So many tables of a dump are looked at, and so many names in a history.
const NAMED: usize = 200;

/// The view of what a linter found, if it is a list of findings with codes.
pub(crate) fn findings(output: &Output, budget: Budget, wanted: &[Range<u64>]) -> Result<Option<View>> {
    let Some(findings) = Findings::of(output)? else { return Ok(None) };
    let odd = findings.odd();
    let parts = Parts::of(wanted, odd);
    between(output, budget, &Shares::FINDINGS, &parts, &findings).map(Some)
}

/// The view of a text in which versions are in conflict.
pub(crate) fn conflicts(
    output: &Output,
    form: Form,
    budget: Budget,
    (conflicts, wanted): (&Conflicts, &[Range<u64>]),
) -> Result<View> {
    let shares = Shares { odd: CONFLICTS, ..Shares::of(form) };
    between(output, budget, &shares, &Parts::of(wanted, conflicts.shown.clone()), conflicts)
}

/// What is in conflict has so much of what is shown: it is what must be seen to.
const CONFLICTS: f64 = 0.9;

/// The view of a list that has a few sections, or that says before each of its lines in which state it is.
pub(crate) fn sections(output: &Output, budget: Budget, wanted: &[Range<u64>]) -> Result<Option<View>> {
    let sections = match sections::of(output)? {
        None => states::of(output)?,
        sections => sections,
    };
    let Some(sections) = sections else { return Ok(None) };
    if output.record().exit.is_some_and(|exit| exit.status() != 0) {
        return Ok(None);
    }
    let (units, trouble) = rank::troubles(output)?;
    if trouble.verdict {
        return Ok(None);
    }
    let beginnings = sections.beginnings.clone();
    let (odd, first) = troubles_before(output, budget, (units, trouble.most), beginnings)?;
    let parts = Parts::with_first(wanted, odd, first);
    between(output, budget, &Shares::of(Form::Listing), &parts, &sections).map(Some)
}

/// The view of what the threads of a program do, if it is a dump of them.
pub(crate) fn threads(output: &Output, budget: Budget, wanted: &[Range<u64>]) -> Result<Option<View>> {
    let Some(threads) = Threads::of(output)? else { return Ok(None) };
    // What is told outside of the stacks is why they were dumped.
    let (mut units, trouble) = rank::troubles(output)?;
    units.retain(|unit| !threads.hold(unit.range.start));
    let half = Budget { tokens: budget.tokens / 2, ..budget };
    let (odd, first) = troubles_before(output, half, (units, trouble.most), threads.odd())?;
    let parts = Parts::with_first(wanted, odd, first);
    between(output, budget, &Shares::THREADS, &parts, &threads).map(Some)
}

/// What is worth less than this share of the worst trouble is none, and so much of a view is for troubles at most.
const TROUBLE: f32 = 0.5;
const TROUBLES: f64 = 0.6;

/// The view of what a service writes, if it says the same over and over. It tells of troubles all day long: these come
/// first, with what belongs to them, and then what the log has besides.
pub(crate) fn entries(
    output: &Output,
    budget: Budget,
    wanted: &[Range<u64>],
    weighed: impl Fn(Vec<Ranked>) -> Vec<Ranked>,
) -> Result<Option<View>> {
    let templates = Templates::of(output)?;
    if !templates.are_alike() {
        return Ok(None);
    }
    let (units, trouble) = rank::troubles(output)?;
    let rare = lines_at(output, &templates.rare())?;
    let (odd, first) = troubles_before(output, budget, (weighed(units), trouble.most), rare)?;
    let parts = Parts::with_first(wanted, odd, first);
    between(output, budget, &Shares::of(Form::Log), &parts, &templates).map(Some)
}

/// Where an output tells of its worst troubles, if there are any, and then what is odd besides; with how many those are.
fn troubles_before(
    output: &Output,
    budget: Budget,
    (units, most): (Vec<Ranked>, f32),
    odd: Vec<Range<u64>>,
) -> Result<(Vec<Range<u64>>, usize)> {
    let mut all = match most >= crate::digest::TROUBLE {
        true => troubles(output, budget, units)?,
        false => Vec::new(),
    };
    let first = all.len();
    all.extend(odd);
    Ok((all, first))
}

/// Where a log tells of its worst troubles.
fn troubles(output: &Output, budget: Budget, mut units: Vec<Ranked>) -> Result<Vec<Range<u64>>> {
    let least = units.iter().map(|unit| unit.worth).fold(0.0, f32::max) * TROUBLE;
    // What is worth less may stand between two troubles.
    units.iter_mut().filter(|unit| unit.worth < least).for_each(|unit| unit.worth = 0.0);
    let gap = marker_tokens(output, wording(budget));
    let tokens = (budget.tokens as f64 * TROUBLES) as u64;
    let choice = Choice { units, last: None, marker: gap, reads_on: false, hole: 0 };
    let chosen = choice.choose(Budget { tokens, ..budget }, |units| {
        let passages = ranges(units).len() as u64;
        let used = units.iter().map(|unit| tokens::count(&unit.text)).sum::<u64>() + (passages + 1) * gap;
        Ok((used, used <= tokens))
    })?;
    Ok(ranges(&chosen.iter().collect::<Vec<_>>()))
}

/// The view of an output that has a structure.
pub(crate) fn fold(output: &Output, form: Form, budget: Budget, wanted: &[Range<u64>]) -> Result<View> {
    let shares = Shares::of(form);
    match form {
        Form::Json => {
            let paths = Paths::of(output)?;
            let odd = paths.odd(output)?;
            let parts = Parts::of(wanted, odd);
            between(output, budget, &shares, &parts, &paths)
        }
        Form::Log => {
            let templates = Templates::of(output)?;
            let odd = lines_at(output, &templates.rare())?;
            between(output, budget, &shares, &Parts::of(wanted, odd), &templates)
        }
        Form::Listing => {
            let folders = Folders::of(output)?;
            let starts = folders.odd().iter().map(|line| output.line_start(line - 1));
            let odd = lines_at(output, &starts.collect::<Result<Vec<u64>>>()?)?;
            between(output, budget, &shares, &Parts::of(wanted, odd), &folders)
        }
        Form::Table => {
            let (outline, templates) = output.both(|| outline::outline(output), || Templates::of(output));
            let (outline, templates) = (outline?, templates?);
            let starts = outline.odd.iter().map(|line| output.line_start(line - 1));
            let mut starts = starts.collect::<Result<Vec<u64>>>()?;
            // Rows may differ in what no column tells.
            starts.extend(templates.rare());
            // Below what is said of a table its header need not be in the beginning.
            let header = output.line_start(outline.items.first().map_or(0, |table| table.line - 1))?;
            if header as f64 > budget.tokens as f64 * shares.head * BEGINNING {
                starts.insert(0, header);
            }
            let odd = lines_at(output, &starts)?;
            between(output, budget, &shares, &Parts::of(wanted, odd), &Columns(&outline))
        }
        _ => {
            let outline = outline::outline_parsing(output, PARSED)?;
            let shares = match ends_with_tests(&outline) {
                true => Shares { head: 1.0, ..shares },
                false => shares,
            };
            let beginning = || output.read(0..output.len().min(2 * enough(budget)));
            let passed = match form {
                Form::Diff => changes::passed_over(&beginning()?),
                Form::Code(_) => licence(&beginning()?).into_iter().collect(),
                _ => Vec::new(),
            };
            let formatting = if form == Form::Diff { Formatting::of(output)? } else { None };
            let odd = match (&formatting, form) {
                (Some(formatting), _) => formatting.odd(),
                (None, Form::Text) => {
                    let mut starts = totals::of(output)?;
                    // What is read speaks of one thing once.
                    if !output.record().call.reads() {
                        let templates = Templates::of(output)?;
                        starts.extend(if templates.are_alike() { templates.rare() } else { Vec::new() });
                    }
                    lines_at(output, &starts)?
                }
                (None, _) => Vec::new(),
            };
            let parts = Parts::of(wanted, odd).past(&passed);
            let things = Things::of(&outline);
            match &formatting {
                Some(formatting) => between(output, budget, &shares, &parts, &Changes { things, formatting }),
                None => between(output, budget, &shares, &parts, &things),
            }
        }
    }
}

/// Files of a diff that hardly changes more than the layout.
struct Changes<'a> {
    things: Things<'a>,
    formatting: &'a Formatting,
}

impl Summarize for Changes<'_> {
    fn summary(&self, output: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        let summary = self.things.summary(output, gap, room)?;
        Ok(summary.map(|summary| self.formatting.told_in(summary)))
    }
}

/// The licence that a file begins with, but for its first line.
fn licence(beginning: &[u8]) -> Option<Range<u64>> {
    let mut at = 0;
    let mut first = None;
    let mut in_block = false;
    for line in beginning.split_inclusive(|&byte| byte == b'\n') {
        let text = line.trim_ascii();
        let opens = text.starts_with(b"/*");
        let is_comment =
            in_block || opens || [&b"//"[..], b"#", b"--", b";"].iter().any(|mark| text.starts_with(mark));
        if !is_comment {
            break;
        }
        in_block = (in_block || opens) && !text.ends_with(b"*/");
        at += line.len();
        first = first.or(Some(at));
    }
    let words = beginning[..at].to_ascii_lowercase();
    let is_licence = [&b"copyright"[..], b"licence", b"license"]
        .iter()
        .any(|word| memchr::memmem::find(&words, word).is_some());
    first.filter(|first| is_licence && !in_block && *first < at).map(|first| first as u64..at as u64)
}

/// Whether a file ends with its tests, as those of Rust do: its end says little of what it does.
fn ends_with_tests(outline: &Outline) -> bool {
    let is_code = matches!(outline.form, Form::Code(_));
    let last = outline.items.iter().rfind(|item| item.depth == 0);
    is_code && last.is_some_and(|last| outline_items::definition(&last.name).trim() == "mod tests")
}

/// The lines at some places, or the parts of long ones.
fn lines_at(output: &Output, places: &[u64]) -> Result<Vec<Range<u64>>> {
    let unit = |&place: &u64| Ok(units::around(output, place, 0, 0)?.pop().map(|unit| unit.range));
    places.iter().map(unit).filter_map(Result::transpose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn shown(text: &str, form: Form, tokens: u64) -> String {
        let output = output_of(text.as_bytes());
        let budget = Budget { tokens, bytes: tokens * 8, lines: None };
        let view = fold(&output, form, budget, &[]).unwrap();
        assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
        let text = view.print(&output).unwrap();
        assert!(budget.holds(&text));
        String::from_utf8(text).unwrap()
    }

    fn records(separator: &str) -> String {
        let mut records: Vec<String> = (0..10_000)
            .map(|n| format!(r#"{{"id":{n},"status":"ok","tags":["a","b"],"load":{}}}"#, n % 90))
            .collect();
        records[7312] = r#"{"id":7312,"status":"failed","tags":["a","b"],"load":0}"#.to_owned();
        records[4111] =
            r#"{"id":4111,"status":"ok","tags":["a","b"],"load":9,"error":"the disk is full"}"#.to_owned();
        records[9000] = r#"{"id":9000,"status":"ok","tags":["a","b"],"load":null}"#.to_owned();
        records.join(separator)
    }

    #[test]
    fn records_that_are_not_like_the_others_are_shown_whole_wherever_they_stand() {
        for (open, close) in [("[", "]"), (r#"{"hosts": ["#, "]}")] {
            for separator in [",", ", ", ",\n", ",\n  "] {
                let text = shown(&format!("{open}{}{close}", records(separator)), Form::Json, 700);
                for record in [
                    r#"{"id":7312,"status":"failed","tags":["a","b"],"load":0}"#,
                    r#"{"id":4111,"status":"ok","tags":["a","b"],"load":9,"error":"the disk is full"}"#,
                    r#"{"id":9000,"status":"ok","tags":["a","b"],"load":null}"#,
                ] {
                    // What stands alone begins and ends with the record.
                    let place = text.find(record).unwrap_or_else(|| panic!("{record} {text}"));
                    assert!(matches!(text[..place].trim_end().chars().next_back(), Some(']')), "{text}");
                    let behind = text[place + record.len()..].trim_start_matches([',', '\n', ' ']);
                    assert!(behind.starts_with("[…"), "{text}");
                }
                assert!(text.contains(r#""failed" in ."#), "{text}");
                assert!(text.contains("[7312]") && text.contains("[4111]"), "{text}");
            }
        }
    }

    #[test]
    fn json_lines_show_the_line_that_is_not_like_the_others_with_what_led_to_it() {
        let text = shown(&records("\n"), Form::Json, 500);
        assert!(text.contains("]\n{\"id\":4109") && text.contains("disk is full\"}\n["), "{text}");
        // Where there is no room for that, alone.
        let text = shown(&records("\n"), Form::Json, 120);
        assert!(text.contains("]\n{\"id\":4111") && !text.contains("\"id\":4110,"), "{text}");
    }

    #[test]
    fn a_record_too_long_to_show_is_shown_where_it_is_odd() {
        let long = "x".repeat(3_000);
        let mut records: Vec<String> =
            (0..60).map(|n| format!(r#"{{"id":{n},"text":"{long}","status":"ok"}}"#)).collect();
        records[30] = records[30].replace("ok", "refused");
        let text = shown(&format!("[{}]", records.join(",")), Form::Json, 500);
        assert!(text.contains(r#""status":"refused"}"#), "{text}");
    }

    #[test]
    fn a_table_shows_a_row_that_differs_in_what_no_column_tells() {
        let mut text: String = (1..400).map(|n| format!("job{n}\tstart {n}\njob{n}\tdone {n}\n")).collect();
        text.insert_str(text.find("job200\tdone").unwrap(), "job200\tExpecting value: line 1 column 17\n");
        let shown = shown(&text, Form::Table, 300);
        assert!(shown.contains("Expecting value"), "{shown}");
    }

    #[test]
    fn a_table_shows_rows_that_are_not_like_the_others_and_what_is_in_its_columns() {
        let mut text = "id,state,cents\n".to_owned();
        (1..=900)
            .for_each(|n| text += &format!("{n},{},{}\n", if n == 444 { "refused" } else { "paid" }, n * 3));
        let text = shown(&text, Form::Table, 300);
        assert!(text.contains("\n444,refused,1332\n"), "{text}");
        assert!(text.contains("\nstate: paid × 899, refused\ncents: 3 to 2700]"), "{text}");
    }

    #[test]
    fn the_header_of_a_table_is_shown_also_where_much_is_said_above_it() {
        let above: String =
            (0..5).map(|n| format!("Tasks of part {n}: {}\n", "70 total ".repeat(20))).collect();
        // No two rows are alike, so that the header is not found as the line that is like no other.
        let word = |n: u64| -> String { format!("{n:b}").replace('0', "a").replace('1', "b") };
        let rows: String =
            (0..90).map(|n| format!("{n:>5} root {:>6} {:>6}  0.0 {}\n", n * 7, n * 3, word(n))).collect();
        let shown =
            shown(&format!("{above}\n  PID USER   VIRT    RES %CPU COMMAND\n{rows}"), Form::Table, 250);
        assert!(shown.contains("  PID USER   VIRT    RES %CPU COMMAND\n"), "{shown}");
    }

    #[test]
    fn a_log_of_a_service_tells_each_trouble_once_and_how_it_began() {
        let mut text = "2024-05-01 10:00:00 INFO started as worker 3\n".to_owned();
        for n in 0..2_000 {
            let said = if n % 90 == 50 { "WARN request failed: timeout" } else { "INFO request done" };
            text += &format!("2024-05-01 10:{:02}:{:02} {said}, {n} ms\n", n / 60 % 60, n % 60);
        }
        let output = output_of(text.as_bytes());
        let budget = Budget { tokens: 500, bytes: 4_000, lines: None };
        let view = entries(&output, budget, &[], |units| units).unwrap().unwrap().print(&output).unwrap();
        let view = String::from_utf8(view).unwrap();
        assert!(view.contains("INFO started as worker 3\n"), "{view}");
        assert_eq!(view.matches("WARN request failed: timeout, ").count(), 2, "{view}");
        assert!(view.contains("\n× 22 in 52–1942: WARN request failed: timeout, # ms]"), "{view}");
    }

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
        let text = shown(&(0..40).map(file).collect::<String>(), Form::Diff, 500);
        assert!(text.contains("+++ b/f0\n@@ -1,9 +1,10 @@\n+change 0\n[… "), "{text}");
        assert!(text.contains("]\n+++ b/f3\n@@ -1,9 +1,10 @@\n+change 3\n[… "), "{text}");
        assert!(!text.contains("line 5 of the file"), "{text}");
        // The call is said once, and then only lines.
        assert_eq!(text.matches("forebay read").count(), 1, "{text}");
        assert!(text.contains(" files: "), "{text}");
    }

    #[test]
    #[cfg(feature = "lang-rust")]
    fn a_file_that_ends_with_its_tests_is_shown_from_its_beginning() {
        let mut text: String =
            (0..200).map(|n| format!("pub fn number_{n}() -> u32 {{\n    {n}\n}}\n\n")).collect();
        let code = shown(&text, Form::Code(crate::classify::languages::Language::Rust), 300);
        assert!(code.contains("fn number_199()") && !code.contains("fn number_7()"), "{code}");
        text += "#[cfg(test)]\nmod tests {\n";
        (0..60).for_each(|n| text += &format!("    #[test]\n    fn test_{n}() {{}}\n"));
        text += "}\n";
        let code = shown(&text, Form::Code(crate::classify::languages::Language::Rust), 300);
        assert!(code.contains("fn number_7()"), "{code}");
    }

    #[test]
    fn what_is_shown_of_json_is_not_said_again() {
        let items: String =
            (0..300).map(|n| format!(",\n{{\"id\": {n}, \"name\": \"item number {n}\"}}")).collect();
        let text = format!("{{\"status\": \"fine\", \"items\": [{}], \"next\": \"page 2\"}}", &items[2..]);
        let view = shown(&text, Form::Json, 400);
        assert!(
            view.contains("\n.items array of 300") && view.contains("\n.items[].name string\n"),
            "{view}"
        );
        assert!(view.contains("\n.next string: \"page 2\"") && !view.contains("\n.status"), "{view}");
    }

    #[test]
    fn of_many_files_in_a_diff_or_a_search_the_largest_are_named() {
        let mut text = String::new();
        for file in 0..80 {
            let lines = if file == 50 { 40 } else { 2 };
            (0..lines).for_each(|line| text += &format!("src/part_{file}.rs:{line}:the word\n"));
        }
        let text = shown(&text, Form::Matches, 400);
        assert!(text.contains("src/part_50.rs: 40 matches"), "{text}");
        let counts: String =
            (0..300).map(|n| format!("src/part_{n}.rs:{}\n", if n == 150 { 9_000 } else { n % 7 })).collect();
        let text = shown(&counts, Form::Matches, 400);
        assert!(text.contains("src/part_150.rs: 9,000 matches"), "{text}");
    }

    #[test]
    fn the_licence_that_a_file_begins_with_is_passed_over_but_for_its_first_line() {
        let table: [(&str, Option<&str>); 6] = [
            (
                "/*\n * Copyright 2024 A\n * All rights\n */\nint x;\n",
                Some(" * Copyright 2024 A\n * All rights\n */\n"),
            ),
            ("// Copyright 2024 A\n// Licensed under B\n\npackage a\n", Some("// Licensed under B\n")),
            ("#!/bin/sh\n# License: B\n# more\necho\n", Some("# License: B\n# more\n")),
            ("// What this file is for\n// and how\npackage a\n", None),
            ("/* Copyright */\nint x;\n", None),
            ("int x;\n// Copyright\n// more\n", None),
        ];
        for (text, expected) in table {
            let found = licence(text.as_bytes()).map(|range| &text[range.start as usize..range.end as usize]);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    #[cfg(feature = "lang-python")]
    fn as_many_definitions_are_counted_as_are_listed() {
        let methods: String =
            (0..80).map(|n| format!("    def step_{n}(self):\n        return self.x[{n}]\n\n")).collect();
        let text = shown(
            &format!("import os\n\nclass Store:\n{methods}"),
            Form::Code(crate::classify::languages::Language::Python),
            400,
        );
        let said = text.lines().find(|line| line.contains(" of Python omitted, with ")).unwrap();
        let counted: usize = said.split("with ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let listed = text.lines().find(|line| line.contains(" · ")).unwrap();
        assert_eq!(counted, listed.split(" · ").count(), "{text}");
    }

    #[test]
    fn of_json_on_one_line_no_member_is_cut() {
        let members: Vec<String> =
            (0..400).map(|n| format!(r#""member number {n}": "value of it""#)).collect();
        let text = shown(&format!("{{{}}}", members.join(",")), Form::Json, 400);
        let (before, behind) = text.split_once("[… ").unwrap();
        assert!(before.ends_with("value of it\","), "{text}");
        let behind = behind.split_once("]\"").map_or("", |(_, rest)| rest);
        assert!(behind.starts_with("member number "), "{text}");
    }
}
