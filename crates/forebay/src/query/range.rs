//! Lines and bytes by their numbers.

use super::Excerpt;
use crate::view::grouped;
use crate::{Budget, Error, Output, Result};
use std::ops::Range;

/// Lines `first` to `last`, counted from 1.
pub(super) fn lines(output: &Output, first: u64, last: u64, budget: Budget) -> Result<Excerpt> {
    let total = output.lines()?;
    if first == 0 || last < first {
        return Err(Error::BadQuery(format!(
            "lines are counted from 1 and go up: {first}:{last} is no range of lines"
        )));
    }
    if first > total && total > 0 {
        return Err(Error::OutOfRange(format!(
            "line {} is behind the end: {} has {} lines{}; its end: {}",
            grouped(first),
            output.record().handle.short(),
            grouped(total),
            if output.is_growing() { " so far and still grows" } else { "" },
            output.command("tail")
        )));
    }
    let range = output.line_start(first - 1)?..output.line_start(last)?;
    forward(output, &Asked { range, lines: Some((first, last.min(total.max(1)))), total }, budget)
}

/// Bytes as they are asked for. Only a cut of ours keeps characters whole.
pub(super) fn bytes(output: &Output, range: Range<u64>, budget: Budget) -> Result<Excerpt> {
    if range.end <= range.start {
        return Err(Error::BadQuery(format!(
            "bytes are counted from 0 and go up: {}:{} is no range of bytes",
            range.start, range.end
        )));
    }
    if range.start >= output.len() && !output.is_empty() {
        return Err(Error::OutOfRange(format!(
            "byte {} is behind the end: {} has {} bytes",
            grouped(range.start),
            output.record().handle.short(),
            grouped(output.len())
        )));
    }
    let range = range.start.min(output.len())..range.end.min(output.len());
    forward(output, &Asked { range, lines: None, total: output.lines()? }, budget)
}

/// The last `count` lines: as many of them as fit, the last ones first.
pub(super) fn tail(output: &Output, count: u64, budget: Budget) -> Result<Excerpt> {
    let total = output.lines()?;
    let first = total.saturating_sub(count.max(1)) + 1;
    let range = output.line_start(first - 1)?..output.len();
    let asked = Asked { range: range.clone(), lines: Some((first, total.max(1))), total };
    let window = range.start.max(range.end.saturating_sub(budget.bytes));
    let bytes = output.read(window..range.end)?;
    let cut = |missing: usize| -> u64 {
        if missing == 0 {
            return window;
        }
        // Whole lines where one fits, else whole characters.
        let newline = memchr::memchr(b'\n', &bytes[missing - 1..]).map(|at| missing + at);
        let whole = newline.filter(|&at| at < bytes.len()).unwrap_or_else(|| {
            (missing..bytes.len()).find(|&at| bytes[at] & 0xc0 != 0x80).unwrap_or(bytes.len())
        });
        window + whole as u64
    };
    let first_try = usize::from(window > range.start);
    let missing = least(first_try, bytes.len(), |missing| {
        Ok(budget.holds(&print(output, &asked, cut(missing)..range.end, &bytes, window)?.text))
    })?;
    let excerpt = print(output, &asked, cut(missing)..range.end, &bytes, window)?;
    holding(excerpt, budget)
}

/// The excerpt, if it holds its budget and has something in it: one that had nothing would lead nowhere.
fn holding(excerpt: Excerpt, budget: Budget) -> Result<Excerpt> {
    let empty = excerpt.bytes.is_empty() && excerpt.next.is_some();
    match empty || !budget.holds(&excerpt.text) {
        true => Err(Error::BadQuery(format!(
            "a budget of {} tokens and {} bytes has no room for this handle and something to read: ask with a larger one",
            budget.tokens, budget.bytes
        ))),
        false => Ok(excerpt),
    }
}

/// What was asked for, as far as it exists.
struct Asked {
    range: Range<u64>,
    /// The lines that were asked for, if lines were.
    lines: Option<(u64, u64)>,
    total: u64,
}

/// As much of the asked range as fits, from its beginning.
fn forward(output: &Output, asked: &Asked, budget: Budget) -> Result<Excerpt> {
    let range = &asked.range;
    let window = range.end.min(range.start.saturating_add(budget.bytes));
    let bytes = output.read(range.start..window)?;
    let cut = |missing: usize| -> u64 {
        let end = bytes.len() - missing;
        if missing == 0 {
            return range.start + end as u64;
        }
        let whole = memchr::memrchr(b'\n', &bytes[..end])
            .map(|newline| newline + 1)
            .unwrap_or_else(|| (0..=end).rev().find(|&at| at == 0 || bytes[at] & 0xc0 != 0x80).unwrap_or(0));
        range.start + whole as u64
    };
    let first_try = usize::from(window < range.end);
    let missing = least(first_try, bytes.len(), |missing| {
        Ok(budget.holds(&print(output, asked, range.start..cut(missing), &bytes, range.start)?.text))
    })?;
    holding(print(output, asked, range.start..cut(missing), &bytes, range.start)?, budget)
}

/// The least number from `low` to `high` that holds; `high` if none does.
fn least(mut low: usize, mut high: usize, holds: impl Fn(usize) -> Result<bool>) -> Result<usize> {
    if low < high && holds(low)? {
        return Ok(low);
    }
    while low < high {
        let middle = (low + high) / 2;
        match holds(middle)? {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Ok(low)
}

/// Prints `shown` of what was asked; `bytes` are those from `base` on.
fn print(output: &Output, asked: &Asked, shown: Range<u64>, bytes: &[u8], base: u64) -> Result<Excerpt> {
    let handle = output.record().handle.short();
    let growing = output.is_growing();
    let grows = if growing { ", still growing" } else { "" };
    let total = asked.total;
    let mut excerpt = Excerpt {
        text: Vec::new(),
        bytes: shown.clone(),
        lines: None,
        total_lines: total,
        next: None,
        growing,
        matches: None,
    };
    if shown.is_empty() && asked.range.is_empty() {
        excerpt.text = format!("[{handle} is empty{grows}]\n").into_bytes();
        return Ok(excerpt);
    }
    let first = output.newlines_before(shown.start)? + 1;
    let last = output.newlines_before(shown.end.saturating_sub(1).max(shown.start))? + 1;
    let starts_line =
        first == 1 && shown.start == 0 || output.read(shown.start.max(1) - 1..shown.start)? == b"\n";
    let ends_line = shown.end == output.len() || output.read(shown.end.max(1) - 1..shown.end)? == b"\n";
    excerpt.lines = Some((first, last));
    let whole = starts_line && ends_line && !shown.is_empty();
    let lines = match first == last {
        true => format!("line {}", grouped(first)),
        false => format!("lines {}–{}", grouped(first), grouped(last)),
    };
    let place = match whole {
        true => format!("{lines} of {}", grouped(total)),
        false => format!(
            "bytes {}–{} of {}, in {lines} of {}",
            grouped(shown.start),
            grouped(shown.end),
            grouped(output.len()),
            grouped(total)
        ),
    };
    excerpt.next = next(asked, &shown, (first, last), ends_line, output);
    let start = (shown.start - base) as usize;
    let body = &bytes[start..start + (shown.end - shown.start) as usize];
    excerpt.text = format!("[{place}{grows} · {handle}]\n").into_bytes();
    excerpt.text.extend_from_slice(body);
    if !body.is_empty() && body.last() != Some(&b'\n') {
        excerpt.text.push(b'\n');
    }
    if let Some(next) = &excerpt.next {
        let label = if shown.start > asked.range.start { "before this" } else { "next" };
        excerpt.text.extend(format!("[{label}: {next}]\n").as_bytes());
    }
    Ok(excerpt)
}

/// The command that goes on: with what was asked for and did not fit, or with what comes after it.
fn next(
    asked: &Asked,
    shown: &Range<u64>,
    (first, last): (u64, u64),
    ends_line: bool,
    output: &Output,
) -> Option<String> {
    let read = output.command("read");
    if shown.start > asked.range.start {
        // A tail that did not fit: what is missing comes before it.
        return Some(match asked.lines {
            Some((from, _)) if from < first => format!("{read} --lines {from}:{}", first - 1),
            _ => format!("{read} --bytes {}:{}", asked.range.start, shown.start),
        });
    }
    if shown.end >= output.len() {
        return None;
    }
    match asked.lines {
        Some((_, until)) if ends_line && last < until => Some(format!("{read} --lines {}:{until}", last + 1)),
        Some((from, until)) if ends_line => {
            Some(format!("{read} --lines {}:{}", last + 1, last + 1 + until - from))
        }
        _ => {
            let end = match shown.end < asked.range.end {
                true => asked.range.end,
                false => (shown.end + (shown.end - shown.start)).min(output.len()),
            };
            Some(format!("{read} --bytes {}:{end}", shown.end))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::store::memory::output_of;
    use crate::{Budget, Output, Query, excerpt};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const ROOMY: Budget = Budget { tokens: 2_000, bytes: 12_000, lines: None };

    fn numbered(count: u64) -> Output {
        output_of((1..=count).map(|line| format!("line {line}\n")).collect::<String>().as_bytes())
    }

    fn check(output: &Output, query: Query, budget: Budget, expected: Expect) {
        let excerpt = excerpt(output, &query, budget).unwrap();
        assert!(budget.holds(&excerpt.text));
        expected.assert_eq(&String::from_utf8_lossy(&excerpt.text));
    }

    #[test]
    fn lines_say_where_they_stand_and_how_to_go_on() {
        check(
            &numbered(5_000),
            Query::Lines(100..=102),
            ROOMY,
            expect![[r#"
            [lines 100–102 of 5,000 · s/id1234]
            line 100
            line 101
            line 102
            [next: forebay read s/id1234 --lines 103:105]
        "#]],
        );
        check(
            &numbered(3),
            Query::Lines(2..=99),
            ROOMY,
            expect![[r#"
            [lines 2–3 of 3 · s/id1234]
            line 2
            line 3
        "#]],
        );
        check(
            &numbered(5_000),
            Query::Head(1),
            ROOMY,
            expect![[r#"
            [line 1 of 5,000 · s/id1234]
            line 1
            [next: forebay read s/id1234 --lines 2:2]
        "#]],
        );
    }

    #[test]
    fn what_does_not_fit_is_said_with_the_command_that_reads_it() {
        let small = Budget { tokens: 70, bytes: 1_000, lines: None };
        check(
            &numbered(5_000),
            Query::Lines(100..=900),
            small,
            expect![[r#"
            [lines 100–108 of 5,000 · s/id1234]
            line 100
            line 101
            line 102
            line 103
            line 104
            line 105
            line 106
            line 107
            line 108
            [next: forebay read s/id1234 --lines 109:900]
        "#]],
        );
        check(
            &numbered(5_000),
            Query::Tail(900),
            small,
            expect![[r#"
            [lines 4,996–5,000 of 5,000 · s/id1234]
            line 4996
            line 4997
            line 4998
            line 4999
            line 5000
            [before this: forebay read s/id1234 --lines 4101:4995]
        "#]],
        );
        let few_lines = Budget { lines: Some(4), ..ROOMY };
        check(
            &numbered(5_000),
            Query::Lines(1..=900),
            few_lines,
            expect![[r#"
            [lines 1–2 of 5,000 · s/id1234]
            line 1
            line 2
            [next: forebay read s/id1234 --lines 3:900]
        "#]],
        );
    }

    #[test]
    fn one_giant_line_is_paged_through_by_bytes() {
        let output = output_of("abcdefghij".repeat(100).as_bytes());
        let small = Budget { tokens: 80, bytes: 130, lines: None };
        check(
            &output,
            Query::Lines(1..=1),
            small,
            expect![[r#"
            [bytes 0–31 of 1,000, in line 1 of 1 · s/id1234]
            abcdefghijabcdefghijabcdefghija
            [next: forebay read s/id1234 --bytes 31:1000]
        "#]],
        );
        check(
            &output,
            Query::Tail(5),
            small,
            expect![[r#"
            [bytes 979–1,000 of 1,000, in line 1 of 1 · s/id1234]
            jabcdefghijabcdefghij
            [before this: forebay read s/id1234 --bytes 0:979]
        "#]],
        );
    }

    #[test]
    fn a_range_that_is_not_there_is_an_error_that_says_what_is() {
        let error = |query| excerpt(&numbered(10), &query, ROOMY).unwrap_err().to_string();
        expect!["line 11 is behind the end: s/id1234 has 10 lines; its end: forebay tail s/id1234"]
            .assert_eq(&error(Query::Lines(11..=12)));
        expect!["byte 5,000 is behind the end: s/id1234 has 71 bytes"]
            .assert_eq(&error(Query::Bytes(5_000..5_001)));
        expect!["lines are counted from 1 and go up: 0:3 is no range of lines"]
            .assert_eq(&error(Query::Lines(0..=3)));
        expect!["bytes are counted from 0 and go up: 7:7 is no range of bytes"]
            .assert_eq(&error(Query::Bytes(7..7)));
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        for query in [Query::Lines(1..=9), Query::Tail(9), Query::Head(9), Query::Bytes(0..9)] {
            check(
                &output_of(b""),
                query,
                ROOMY,
                expect![[r#"
                [s/id1234 is empty]
            "#]],
            );
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_come_back_as_they_are() {
        let bytes = [b"ok\n", &[0xff, 0xfe, 0x80][..], b"\nok\n"].concat();
        let text = excerpt(&output_of(&bytes), &Query::Lines(2..=2), ROOMY).unwrap().text;
        assert!(text.windows(4).any(|part| part == [0xff, 0xfe, 0x80, b'\n']));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn following_next_reads_every_byte_once(
            parts in proptest::collection::vec(prop_oneof![
                Just(b"some words\n".to_vec()), Just("漢字🎉".repeat(40).into_bytes()), Just(vec![b'x'; 900]),
                Just(b"\n\n\n".to_vec()), proptest::collection::vec(any::<u8>(), 0..40),
            ], 1..30),
            tokens in 90u64..300,
        ) {
            let bytes = parts.concat();
            prop_assume!(!bytes.is_empty());
            let output = output_of(&bytes);
            let budget = Budget { tokens, bytes: tokens * 3, lines: None };
            let mut query = Query::Lines(1..=u64::MAX);
            let mut read: Vec<u8> = Vec::new();
            loop {
                let excerpt = excerpt(&output, &query, budget).unwrap();
                prop_assert!(budget.holds(&excerpt.text));
                prop_assert!(!excerpt.bytes.is_empty(), "it goes on");
                read.extend(&bytes[excerpt.bytes.start as usize..excerpt.bytes.end as usize]);
                let Some(next) = excerpt.next else { break };
                let (kind, range) = next.rsplit_once(' ').unwrap();
                let (from, to) = range.split_once(':').unwrap();
                let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
                query = if kind.ends_with("--lines") { Query::Lines(from..=to) } else { Query::Bytes(from..to) };
            }
            prop_assert_eq!(read, bytes);
        }
    }
}
