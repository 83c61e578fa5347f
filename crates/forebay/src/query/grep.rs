//! Lines that match a pattern, found with ripgrep's own matcher.
//!
//! Patterns are linear in the text by construction.

pub(crate) mod matcher;

use crate::masking;
pub(crate) use crate::query::grep::matcher::Search;
use crate::query::grep::matcher::{LONG, Place, Places};
use crate::query::{Excerpt, Found, Matches, fitted};
use crate::request::grep::{Grep, Selection};
use crate::text::count::{count, grouped};
use crate::{Budget, Output, Query, Result};
use grep_matcher::Matcher;
use serde::Serialize;
use std::ops::Range;

/// A matching line; in a line of more than 4 KiB, one match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Number of the line, counted from 1.
    pub line: u64,
    /// First byte of the line, or of the part of a long line that is shown.
    pub byte: u64,
    /// The line without its newline, or the text around the match in a long line.
    pub text: String,
    /// Whether the text is only a part of its line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// First byte for the search that continues this one.
    #[serde(skip)]
    pub(crate) end: u64,
    /// Whether the line has more before and after the text.
    #[serde(skip)]
    more: (bool, bool),
    /// Context lines before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Context lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

impl Match {
    /// The last line that it has a part of.
    fn last_line(&self) -> u64 {
        self.line + self.text.matches('\n').count() as u64
    }
}

/// Finds the matches, and shows as many as fit.
pub(crate) fn grep(output: &Output, query: &Grep, budget: Budget) -> Result<Excerpt> {
    grep_with(&Search::new(query)?, output, query, budget)
}

/// Like [`grep`], with a compiled pattern.
pub(crate) fn grep_with(search: &Search, output: &Output, query: &Grep, budget: Budget) -> Result<Excerpt> {
    let found = search.run(output, query.from_byte.min(output.len()))?;
    let total_lines = output.lines()?;
    let (mut matches, mut shown_context) = (Vec::new(), query.context);
    // Where not even one match fits with all its context, less of both is shown: an answer must lead on.
    for (context, width) in [(query.context, LONG), (query.context.min(2), 400), (0, 120), (0, 40)] {
        let mut described =
            describe_all(output, search, &Grep { context, ..query.clone() }, &found, budget, width)?;
        let fits = fitted(described.len(), budget, |count| {
            print(output, query, context, &described[..count], &found, total_lines).0
        });
        described.truncate(fits);
        (matches, shown_context) = (described, context);
        if !matches.is_empty() || found.total == 0 {
            break;
        }
    }
    let (text, next) = print(output, query, shown_context, &matches, &found, total_lines);
    Ok(Excerpt {
        text,
        shown: found.places[..matches.len()].iter().map(|place| place.lines.clone()).collect(),
        lines: matches.first().zip(matches.last()).map(|(first, last)| (first.line, last.line)),
        total_lines,
        next,
        growing: output.is_growing(),
        found: Found::Matches(Matches { total: found.total, shown: matches }),
    })
}

/// Describes matches, no more than the budget can hold.
fn describe_all(
    output: &Output,
    search: &Search,
    query: &Grep,
    found: &Places,
    budget: Budget,
    width: usize,
) -> Result<Vec<Match>> {
    let mut matches: Vec<Match> = Vec::new();
    let mut length = 0;
    for place in &found.places {
        if length > budget.bytes {
            break;
        }
        let found = describe(output, search, place, query, width)?;
        let new_lines = matches.last().map_or(u64::MAX, |last| found.line - last.line);
        let context = found.before.iter().rev().take(usize::try_from(new_lines).unwrap_or(usize::MAX));
        length += context.chain([&found.text]).map(|line| line.len() as u64 + 3).sum::<u64>();
        matches.push(found);
    }
    Ok(matches)
}

/// Fills in a match: its number, its text, its context.
fn describe(output: &Output, search: &Search, place: &Place, query: &Grep, width: usize) -> Result<Match> {
    let mut range = place.lines.start..place.lines.end.min(output.len());
    let at = place.hit.start;
    if place.partial {
        // The text around a match stays in its line and begins with a whole character.
        let inside = range.start.max(output.line_start_near(at, at - range.start)?);
        range = output.character_start(inside)?.min(range.end)..range.end;
        let end = output.line_end_near(at.min(range.end), range.end.saturating_sub(at).max(1))?;
        range.end = end.min(range.end).max(range.start);
    }
    let number = output.newlines_before(range.start)?;
    let mut bytes = output.read(range.clone())?;
    let mut partial = place.partial;
    if bytes.len() > width {
        // The line is longer than the room: the text around the match is shown.
        let hit = match query.wanted {
            Selection::Lines => search.matcher.find(&bytes).ok().flatten().map_or(0, |hit| hit.start()),
            Selection::OtherLines | Selection::Matches => 0,
        };
        let start = output.character_start(range.start + hit.saturating_sub(width / 3) as u64)?;
        let end = output.character_start((start + width as u64).min(range.end))?;
        bytes = output.read(start..end)?;
        range = start..end;
        partial = true;
    }
    let text = masking::masked(&bytes, range.start, &output.masks_in(range.clone())?);
    let mut found = Match {
        line: number + 1,
        byte: range.start,
        end: place.end,
        text: plain(text.strip_suffix(b"\n").unwrap_or(&text)),
        partial,
        more: (
            partial && range.start > 0 && output.read(range.start - 1..range.start)? != b"\n",
            partial
                && range.end < output.len()
                && !bytes.ends_with(b"\n")
                && output.read(range.end..range.end + 1)? != b"\n",
        ),
        before: Vec::new(),
        after: Vec::new(),
    };
    if query.context > 0 && !partial && query.wanted != Selection::Matches {
        let reach = LONG as u64 * query.context.min(16);
        let count = usize::try_from(query.context).unwrap_or(usize::MAX);
        let from = range.start.saturating_sub(reach);
        let lines = |range: Range<u64>| -> Result<Vec<String>> {
            let bytes = output.shown(range)?;
            let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            Ok(bytes.split(|&byte| byte == b'\n').map(plain).collect())
        };
        if range.start > 0 {
            let from = output.character_start(from)?;
            let mut before = lines(from..range.start)?;
            if from > 0 && output.read(from - 1..from)? != b"\n" {
                before[0].insert(0, '…');
            }
            found.before = before.split_off(before.len().saturating_sub(count));
        }
        if range.end < output.len() {
            let to = output.character_start((range.end + reach).min(output.len()))?;
            found.after = lines(range.end..to)?;
            if let (Some(last), true) =
                (found.after.last_mut(), to < output.len() && output.read(to - 1..to)? != b"\n")
            {
                last.push('…');
            }
            found.after.truncate(count);
        }
    }
    Ok(found)
}

/// A line as text; a long one is cut.
fn plain(line: &[u8]) -> String {
    if line.len() > LONG {
        String::from_utf8_lossy(&line[..LONG]).into_owned() + "…"
    } else {
        String::from_utf8_lossy(line).into_owned()
    }
}

/// Prints matches as grep does, with the total and the call that reads on.
fn print(
    output: &Output,
    query: &Grep,
    context: u64,
    shown: &[Match],
    found: &Places,
    lines: u64,
) -> (Vec<u8>, Option<Query>) {
    let handle = output.record().handle.short();
    let grows = if output.is_growing() { ", still growing" } else { "" };
    let behind = if query.from_byte > 0 {
        format!(" from byte {} on", grouped(query.from_byte))
    } else {
        String::new()
    };
    let total = match found.total {
        _ if query.wanted == Selection::OtherLines => match found.total {
            0 => "every line matches".to_owned(),
            many => format!("{} without a match", count("line", many)),
        },
        0 => "no match".to_owned(),
        many => count("match", many),
    };
    let first = if query.max > 0 && (shown.len() as u64) < found.total {
        format!(", the first {} shown", shown.len())
    } else {
        String::new()
    };
    let has_less =
        context < query.context && !shown.is_empty() && query.wanted != Selection::Matches && lines > 1;
    let less = if !has_less {
        String::new()
    } else if context == 0 {
        ", context left out to fit the budget".to_owned()
    } else {
        format!(", context cut to {context} lines to fit the budget")
    };
    let mut text = format!("[{total}{behind} in {}{grows}{first}{less} · {handle}]\n", count("line", lines));
    let mut printed = 0;
    for (number, found) in shown.iter().enumerate() {
        let from = found.line - found.before.len() as u64;
        if number > 0 && query.context > 0 && from > printed + 1 {
            text.push_str("--\n");
        }
        for (line, before) in (from..).zip(&found.before).filter(|(line, _)| *line > printed) {
            text.push_str(&format!("{line}-{before}\n"));
        }
        if found.partial {
            let [before, after] = [found.more.0, found.more.1].map(|more| if more { "…" } else { "" });
            text.push_str(&format!("{} (byte {}):{before}{}{after}\n", found.line, found.byte, found.text));
        } else {
            for (line, part) in (found.line..).zip(found.text.split('\n')) {
                text.push_str(&format!("{line}:{part}\n"));
            }
        }
        printed = found.last_line();
        let next_match = shown.get(number + 1).map_or(u64::MAX, |next| next.line);
        for (line, after) in (printed + 1..).zip(&found.after).filter(|(line, _)| *line < next_match) {
            text.push_str(&format!("{line}-{after}\n"));
            printed = line;
        }
    }
    if shown.is_empty() && found.total > 0 && query.max > 0 {
        text.push_str("[the budget has no room for a match: ask with a larger one]\n");
    }
    let next = (!shown.is_empty() && (shown.len() as u64) < found.total).then(|| {
        let from_byte = found.places[shown.len() - 1].end;
        Query::Grep(Grep { from_byte, ..query.clone() })
    });
    if let Some(next) = &next {
        text.push_str(&format!("[next: {}]\n", output.call(next)));
    }
    (text.into_bytes(), next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::grep::matcher::{BLOCK, OVERLAP};
    use crate::store::memory::output_of;
    use crate::{Query, excerpt};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const ROOMY: Budget = Budget { tokens: 2_000, bytes: 12_000, lines: None };

    fn found(bytes: &[u8], grep: Grep, budget: Budget) -> Excerpt {
        let excerpt = excerpt(&output_of(bytes), &Query::Grep(grep), budget).unwrap();
        assert!(budget.holds(&excerpt.text), "{}", String::from_utf8_lossy(&excerpt.text));
        excerpt
    }

    fn matches(bytes: &[u8], grep: Grep) -> Matches {
        let Found::Matches(matches) = found(bytes, grep, ROOMY).found else { panic!("a grep finds matches") };
        matches
    }

    fn check(text: &str, grep: Grep, expected: Expect) {
        expected.assert_eq(&String::from_utf8_lossy(&found(text.as_bytes(), grep, ROOMY).text));
    }

    #[test]
    fn matches_have_line_numbers_and_contexts_that_touch_are_merged() {
        let text: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        check(
            &text,
            Grep { context: 1, ..Grep::new("line (3|5|20)$") },
            expect![[r#"
            [3 matches in 30 lines · s/id1234]
            2-line 2
            3:line 3
            4-line 4
            5:line 5
            6-line 6
            --
            19-line 19
            20:line 20
            21-line 21
        "#]],
        );
        check(
            &text,
            Grep { ignore_case: true, ..Grep::new("LINE 1$") },
            expect![[r#"
            [1 match in 30 lines · s/id1234]
            1:line 1
        "#]],
        );
        check(
            &text,
            Grep::new("nothing like it"),
            expect![[r#"
            [no match in 30 lines · s/id1234]
        "#]],
        );
    }

    #[test]
    fn totals_are_exact_and_the_next_call_reads_on() {
        let text: String = (1..=1_000).map(|line| format!("error {line}\n")).collect();
        check(
            &text,
            Grep { max: 2, ..Grep::new("it's|error") },
            expect![[r#"
                [1,000 matches in 1,000 lines, the first 2 shown · s/id1234]
                1:error 1
                2:error 2
                [next: forebay grep s/id1234 'it'\''s|error' --max 2 --from-byte 16]
            "#]],
        );
        let next = matches(text.as_bytes(), Grep { max: 2, from_byte: 16, ..Grep::new("error") });
        assert_eq!(next.shown.iter().map(|found| found.line).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn inside_a_giant_line_every_match_counts_and_is_shown_with_its_surroundings() {
        let text = format!(
            "first\n{}needle{}needle{}\nlast\n",
            "x".repeat(3 << 20),
            "y".repeat(5_000),
            "z".repeat(2 << 20)
        );
        let found = matches(text.as_bytes(), Grep::new("needle"));
        assert_eq!(found.total, 2);
        for found in &found.shown {
            assert!(
                found.line == 2 && found.partial && found.text.contains("needle") && found.text.len() < 400
            );
        }
        assert!(text[found.shown[1].byte as usize..].starts_with(&found.shown[1].text));
    }

    #[test]
    fn a_match_across_two_windows_of_a_giant_line_is_found_once() {
        for shift in [0, 1, 3, 5, 6, 7, 200] {
            for border in [BLOCK - OVERLAP, BLOCK] {
                let text = format!("{}needle{}", "x".repeat(border - 6 + shift), "y".repeat(2 * BLOCK));
                assert_eq!(matches(text.as_bytes(), Grep::new("needle")).total, 1, "{shift} {border}");
            }
        }
    }

    #[test]
    fn the_windows_of_a_giant_line_are_not_taken_for_lines() {
        let text = "abcdefghij klmnop ".repeat(130_000);
        let total = |pattern: &str| matches(text.as_bytes(), Grep::new(pattern)).total;
        assert_eq!((total("^."), total("^abc"), total("p $")), (1, 1, 1));
        assert_eq!((total("[a-z]+"), total(r"\bklm")), (260_000, 130_000));
        let inside = Grep { from_byte: 5, ..Grep::new("^.") };
        assert_eq!(matches(text.as_bytes(), inside).total, 0);
    }

    #[test]
    fn text_left_out_around_a_match_is_marked() {
        let text = format!("needle{}\n{}needle\r\n", "x".repeat(9_000), "y".repeat(9_000));
        let found = found(text.as_bytes(), Grep::new("needle"), ROOMY);
        let shown = String::from_utf8(found.text).unwrap();
        assert!(
            shown.contains("1 (byte 0):needlexxx") && shown.contains("xxx…\n2 (byte 17847):…yyy"),
            "{shown}"
        );
        assert!(shown.ends_with("yyyneedle\r\n"), "{shown}");
    }

    #[test]
    fn a_match_that_does_not_fit_is_shown_with_less_context() {
        let text = format!("{}\n", "some words and a needle and more words ".repeat(60)).repeat(50);
        let small = Budget { tokens: 120, bytes: 900, lines: None };
        for context in [0, 1, 100] {
            let found = found(text.as_bytes(), Grep { context, ..Grep::new("needle") }, small);
            assert!(String::from_utf8_lossy(&found.text).contains("needle"));
            assert!(matches!(found.next, Some(Query::Grep(Grep { from_byte: 1.., .. }))), "{context}");
            let text = String::from_utf8(found.text).unwrap();
            assert_eq!(text.contains("context left out to fit the budget"), context > 0, "{text}");
        }
    }

    #[test]
    fn a_bad_pattern_is_an_error_that_shows_its_place() {
        let query = Query::Grep(Grep::new("(unclosed"));
        let error = excerpt(&output_of(b"x"), &query, ROOMY).unwrap_err().to_string();
        assert!(error.contains("unclosed group") && error.contains('^'), "{error}");
    }

    #[test]
    fn a_pattern_never_matches_across_lines() {
        assert_eq!(matches(b"a\nb\n", Grep::new(r"a\s+b")).total, 0);
        assert_eq!(matches(b"a\n\nb\n", Grep::new("^$")).total, 1);
        assert_eq!(matches(b"a\nb", Grep::new("x*")).total, 2);
    }

    #[test]
    fn a_pattern_may_be_plain_text() {
        let grep = |fixed| Grep { fixed, ..Grep::new("a[0].b") };
        assert_eq!(matches(b"a[0].b\na0xb\n", grep(true)).shown[0].line, 1);
        assert_eq!(matches(b"a[0].b\na0xb\n", grep(false)).shown[0].line, 2);
    }

    #[test]
    fn a_match_may_span_lines() {
        let text = "error: one\n   at a\n   at b\nfine\nerror: two\n   at c\n";
        check(
            text,
            Grep { multiline: true, ..Grep::new(r"error: .*\n +at") },
            expect![[r#"
                [2 matches in 6 lines · s/id1234]
                1:error: one
                2:   at a
                5:error: two
                6:   at c
            "#]],
        );
        check(
            text,
            Grep { multiline: true, context: 1, max: 1, ..Grep::new(r"one\n") },
            expect![[r#"
                [1 match in 6 lines · s/id1234]
                1:error: one
                2-   at a
            "#]],
        );
    }

    #[test]
    fn only_the_match_may_be_shown_or_only_other_lines() {
        let text = "a1 b22\nnothing\nc333\n";
        check(
            text,
            Grep { wanted: Selection::Matches, ..Grep::new(r"[a-z]\d+") },
            expect![[r#"
                [3 matches in 3 lines · s/id1234]
                1:a1
                1:b22
                3:c333
            "#]],
        );
        check(
            text,
            Grep { wanted: Selection::OtherLines, context: 1, ..Grep::new(r"\d") },
            expect![[r#"
                [1 line without a match in 3 lines · s/id1234]
                1-a1 b22
                2:nothing
                3-c333
            "#]],
        );
        check(
            text,
            Grep { max: 0, ..Grep::new(r"\d") },
            expect![[r#"
                [2 matches in 3 lines · s/id1234]
            "#]],
        );
    }

    #[test]
    fn a_giant_line_without_a_match_is_one_line_that_does_not_match() {
        let text = format!("x\n{}\ny needle\n{}needle\n", "a".repeat(3 * BLOCK), "b".repeat(2 * BLOCK));
        let found = matches(text.as_bytes(), Grep { wanted: Selection::OtherLines, ..Grep::new("needle") });
        assert_eq!(
            (found.total, found.shown.iter().map(|found| found.line).collect::<Vec<_>>()),
            (2, vec![1, 2])
        );
    }

    #[test]
    fn a_match_over_lines_across_two_windows_is_found_once_and_whole() {
        for shift in [0, 1, 2, 5, 9, 10, 11, 300] {
            for border in [4 * BLOCK - OVERLAP, 4 * BLOCK] {
                let before = border - 6 + shift;
                let mut text = "x\n".repeat(before / 2);
                text.push_str("begin\nmiddle\nend\n");
                text.push_str(&"y\n".repeat(3 * BLOCK));
                let grep =
                    Grep { multiline: true, wanted: Selection::Matches, ..Grep::new(r"begin\n[a-z]+\nend") };
                let found = matches(text.as_bytes(), grep);
                assert_eq!(
                    (found.total, found.shown[0].text.as_str()),
                    (1, "begin\nmiddle\nend"),
                    "{shift} {border}"
                );
                assert_eq!(found.shown[0].line, before as u64 / 2 + 1);
            }
        }
    }

    #[test]
    fn in_a_long_line_every_place_counts_over_lines_too() {
        let text = "needle and more ".repeat(400) + "\nneedle\n";
        for multiline in [false, true] {
            assert_eq!(matches(text.as_bytes(), Grep { multiline, ..Grep::new("needle") }).total, 401);
        }
    }

    #[test]
    fn the_ends_of_a_text_are_those_of_its_lines() {
        for pattern in [r"\Afoo", r"foo\z", "^foo$"] {
            assert_eq!(
                matches(b"foo\nfoo\nbar foo\nfoo bar\nfoo", Grep::new(pattern)).shown.len(),
                if pattern == "^foo$" { 3 } else { 4 },
                "{pattern}"
            );
        }
    }

    #[test]
    fn other_lines_need_a_pattern_within_lines() {
        let query = Query::Grep(Grep { multiline: true, wanted: Selection::OtherLines, ..Grep::new("x") });
        assert!(
            excerpt(&output_of(b"x"), &query, ROOMY)
                .unwrap_err()
                .to_string()
                .contains("use only one of the two options")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn it_finds_the_lines_that_a_plain_search_finds(
            lines in proptest::collection::vec(prop_oneof![9 => "[abc ]{0,12}", 1 => "[abc]{4097,4200}"], 0..20),
            pattern in prop_oneof![Just("ab+c"), Just("^b"), Just("c$"), Just("a|cc"), Just(r"\bab\b"), Just("b a"), Just("^"), Just("$"), Just("b?$")],
        ) {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let regex = regex::Regex::new(pattern).unwrap();
            let count = |line: &String| if line.len() > LONG { regex.find_iter(line).count() } else { usize::from(regex.is_match(line)) };
            let expected: Vec<u64> = (1..).zip(&lines).flat_map(|(n, line)| std::iter::repeat_n(n, count(line))).collect();
            let Found::Matches(matches) = found(text.as_bytes(), Grep { max: 100, ..Grep::new(pattern) }, Budget { tokens: 90_000, bytes: 900_000, lines: None }).found else { panic!() };
            prop_assert_eq!(matches.total, expected.len() as u64);
            prop_assert_eq!(matches.shown.iter().map(|found| found.line).collect::<Vec<_>>(), &expected[..expected.len().min(100)]);
        }

        #[test]
        fn every_way_of_asking_finds_what_a_plain_search_finds_page_by_page(
            lines in proptest::collection::vec(prop_oneof![9 => "[ab ]{0,8}", 1 => "[ab]{4097,4200}"], 0..16),
            pattern in prop_oneof![Just("ab+"), Just("^b"), Just("b a"), Just("a$")],
            last in prop_oneof![Just("\n"), Just("")],
            wanted in prop_oneof![Just(Selection::OtherLines), Just(Selection::Matches)],
            max in 1usize..5,
        ) {
            let text = lines.join("\n") + last;
            let regex = regex::Regex::new(pattern).unwrap();
            let each = text.split_terminator('\n').enumerate();
            let expected: Vec<(u64, String)> = match wanted {
                Selection::Matches => each.flat_map(|(n, line)| regex.find_iter(line).map(move |m| (n as u64 + 1, m.as_str().to_owned()))).collect(),
                _ => each.filter(|(_, line)| !regex.is_match(line)).map(|(n, _)| (n as u64 + 1, String::new())).collect(),
            };
            let roomy = Budget { tokens: 90_000, bytes: 900_000, lines: None };
            let output = output_of(text.as_bytes());
            let mut query = Query::Grep(Grep { wanted, max, ..Grep::new(pattern) });
            let mut shown = Vec::new();
            loop {
                let page = excerpt(&output, &query, roomy).unwrap();
                let Found::Matches(found) = page.found else { panic!() };
                prop_assert_eq!(found.total, (expected.len() - shown.len()) as u64);
                shown.extend(found.shown.into_iter().map(|found| (found.line, if wanted == Selection::Matches { found.text } else { String::new() })));
                let Some(next) = page.next else { break };
                query = next;
            }
            prop_assert_eq!(shown, expected);
        }
    }
}
