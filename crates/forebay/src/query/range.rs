//! Lines and bytes by their numbers: one range, or several in one answer.

use crate::query::{Excerpt, Found};
use crate::request::ranges::MOST;
use crate::text::count::grouped;
use crate::text::lookalikes;
use crate::{Budget, Error, Output, Query, Result};
use std::ops::{Range, RangeInclusive};

/// Lines, counted from 1. Ranges that meet are one.
pub(crate) fn lines(output: &Output, ranges: &[RangeInclusive<u64>], budget: Budget) -> Result<Excerpt> {
    let total = output.lines()?;
    let ranges = ranges.iter().map(|range| {
        let (first, last) = (*range.start(), *range.end());
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
                output.call(&Query::Tail(20))
            )));
        }
        Ok(first..last.min(total.max(1)).saturating_add(1))
    });
    // Of nothing there is one part.
    let parts = if total == 0 { 1 } else { usize::MAX };
    let asked = merged(ranges.collect::<Result<_>>()?)?
        .into_iter()
        .take(parts)
        .map(|Range { start, end }| {
            let range = output.line_start(start - 1)?..output.line_start(end - 1)?;
            Ok(Asked { range, lines: Some((start, end - 1)), total })
        })
        .collect::<Result<Vec<_>>>()?;
    forward(output, &asked, budget)
}

/// Bytes as they are asked for. Only a cut of ours keeps characters whole.
pub(crate) fn bytes(output: &Output, ranges: &[Range<u64>], budget: Budget) -> Result<Excerpt> {
    let ranges = ranges.iter().map(|range| {
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
        Ok(range.start.min(output.len())..range.end.min(output.len()))
    });
    let total = output.lines()?;
    let ranges = merged(ranges.collect::<Result<_>>()?)?;
    let asked: Vec<Asked> = ranges.into_iter().map(|range| Asked { range, lines: None, total }).collect();
    forward(output, &asked, budget)
}

/// Ranges in order, those that meet made one.
fn merged(mut ranges: Vec<Range<u64>>) -> Result<Vec<Range<u64>>> {
    if ranges.len() > MOST {
        return Err(Error::BadQuery(format!("{} ranges are too many at once: ask for {MOST}", ranges.len())));
    }
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    Ok(merged)
}

/// The last `count` lines: as many of them as fit, the last ones first.
pub(crate) fn tail(output: &Output, count: u64, budget: Budget) -> Result<Excerpt> {
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
            (missing..bytes.len()).take(4).find(|&at| bytes[at] & 0xc0 != 0x80).unwrap_or(missing)
        });
        window + whole as u64
    };
    let first_try = usize::from(window > range.start);
    let missing = least(first_try, bytes.len(), |missing| {
        Ok(budget.holds(&print(output, &asked, &[], cut(missing)..range.end, &bytes, window)?.text))
    })?;
    let excerpt = print(output, &asked, &[], cut(missing)..range.end, &bytes, window)?;
    holding(excerpt, budget)
}

/// The excerpt, if it holds its budget and has something in it: one that had nothing would lead nowhere.
fn holding(excerpt: Excerpt, budget: Budget) -> Result<Excerpt> {
    let empty = excerpt.shown.is_empty() && excerpt.next.is_some();
    if empty || !budget.holds(&excerpt.text) {
        Err(Error::BadQuery(format!(
            "a budget of {} tokens and {} bytes has no room for this handle and something to read: ask with a larger one",
            budget.tokens, budget.bytes
        )))
    } else {
        Ok(excerpt)
    }
}

/// A range that was asked for, as far as it exists.
#[derive(Clone, Debug)]
struct Asked {
    range: Range<u64>,
    /// The lines that were asked for, if lines were.
    lines: Option<(u64, u64)>,
    total: u64,
}

/// As much of what was asked as fits, from its beginning: as many whole ranges as there is room for, or a part of the
/// first one.
fn forward(output: &Output, asked: &[Asked], budget: Budget) -> Result<Excerpt> {
    let [first, then @ ..] = asked else {
        return Err(Error::BadQuery("no range was asked for".to_owned()));
    };
    if then.is_empty() {
        return forward_in(output, first, then, budget);
    }
    let mut length = 0;
    let long = |asked: &Asked| {
        length += asked.range.end - asked.range.start;
        length > budget.bytes
    };
    let mut count = asked.iter().position(long).unwrap_or(asked.len());
    while count > 0 {
        let excerpt = whole(output, &asked[..count], &asked[count..])?;
        if budget.holds(&excerpt.text) {
            return Ok(excerpt);
        }
        count -= 1;
    }
    forward_in(output, first, then, budget)
}

/// Several ranges, each with all that is in it; `then` is what comes next.
fn whole(output: &Output, asked: &[Asked], then: &[Asked]) -> Result<Excerpt> {
    let mut excerpt = Excerpt {
        text: Vec::new(),
        shown: Vec::new(),
        lines: None,
        total_lines: asked.first().map_or(0, |asked| asked.total),
        next: (!then.is_empty()).then(|| query_of(then)),
        growing: output.is_growing(),
        found: Found::Bytes,
    };
    for asked in asked {
        let bytes = output.read(asked.range.clone())?;
        let part = print(output, asked, &[], asked.range.clone(), &bytes, asked.range.start)?;
        let next = part.next.map_or(0, |next| output.call(&next).len() + "[next: ]\n".len());
        excerpt.text.extend(&part.text[..part.text.len() - next]);
        excerpt.shown.extend(part.shown);
        excerpt.lines = match (excerpt.lines, part.lines) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (before, part) => before.or(part),
        };
    }
    if let Some(next) = &excerpt.next {
        excerpt.text.extend(format!("[next: {}]\n", output.call(next)).as_bytes());
    }
    Ok(excerpt)
}

/// The query for what was asked: by lines, where all of it was.
fn query_of(asked: &[Asked]) -> Query {
    match asked.iter().map(|asked| asked.lines.map(|(first, last)| first..=last)).collect() {
        Some(lines) => Query::Lines(lines),
        None => Query::Bytes(asked.iter().map(|asked| asked.range.clone()).collect()),
    }
}

/// As much of one range as fits, from its beginning; `then` is what was asked for behind it.
fn forward_in(output: &Output, asked: &Asked, then: &[Asked], budget: Budget) -> Result<Excerpt> {
    let range = &asked.range;
    let window = range.end.min(range.start.saturating_add(budget.bytes));
    let bytes = output.read(range.start..window)?;
    let cut = |missing: usize| -> u64 {
        let end = bytes.len() - missing;
        if missing == 0 {
            return range.start + end as u64;
        }
        let whole = memchr::memrchr(b'\n', &bytes[..end]).map(|newline| newline + 1).unwrap_or_else(|| {
            // What has no character start in four bytes is no text, and is cut anywhere.
            (0..=end).rev().take(4).find(|&at| at == 0 || bytes[at] & 0xc0 != 0x80).unwrap_or(end)
        });
        range.start + whole as u64
    };
    let first_try = usize::from(window < range.end);
    let missing = least(first_try, bytes.len(), |missing| {
        Ok(budget.holds(&print(output, asked, then, range.start..cut(missing), &bytes, range.start)?.text))
    })?;
    holding(print(output, asked, then, range.start..cut(missing), &bytes, range.start)?, budget)
}

/// The least number from `low` to `high` that holds; `high` if none does.
fn least(mut low: usize, mut high: usize, holds: impl Fn(usize) -> Result<bool>) -> Result<usize> {
    if low < high && holds(low)? {
        return Ok(low);
    }
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}

/// Prints `shown` of what was asked; `bytes` are those from `base` on, and `then` comes after it.
fn print(
    output: &Output,
    asked: &Asked,
    then: &[Asked],
    shown: Range<u64>,
    bytes: &[u8],
    base: u64,
) -> Result<Excerpt> {
    let handle = output.record().handle.short();
    let growing = output.is_growing();
    let grows = if growing { ", still growing" } else { "" };
    let total = asked.total;
    let mut excerpt = Excerpt {
        text: Vec::new(),
        shown: if shown.is_empty() { Vec::new() } else { vec![shown.clone()] },
        lines: None,
        total_lines: total,
        next: None,
        growing,
        found: Found::Bytes,
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
    let lines = if first == last {
        format!("line {}", grouped(first))
    } else {
        format!("lines {}–{}", grouped(first), grouped(last))
    };
    let place = if whole {
        format!("{lines} of {}", grouped(total))
    } else {
        format!(
            "bytes {}–{} of {}, in {lines} of {}",
            grouped(shown.start),
            grouped(shown.end),
            grouped(output.len()),
            grouped(total)
        )
    };
    excerpt.next = next(asked, then, &shown, (first, last), (starts_line, ends_line), output);
    let start = (shown.start - base) as usize;
    let body = &bytes[start..start + (shown.end - shown.start) as usize];
    // A read gives the bytes as they are, so its first line says which of them are not ours.
    let own = match lookalikes::like_ours(body).next() {
        Some(line) => {
            let number = first + memchr::memchr_iter(b'\n', &body[..line.start]).count() as u64;
            format!(" · from line {} on, what looks like this is the output's own text", grouped(number))
        }
        None => String::new(),
    };
    excerpt.text = format!("[{place}{grows} · {handle}{own}]\n").into_bytes();
    excerpt.text.extend_from_slice(body);
    if !body.is_empty() && body.last() != Some(&b'\n') {
        excerpt.text.push(b'\n');
    }
    if let Some(next) = &excerpt.next {
        let label = if shown.start > asked.range.start { "before this" } else { "next" };
        excerpt.text.extend(format!("[{label}: {}]\n", output.call(next)).as_bytes());
    }
    Ok(excerpt)
}

/// The query that goes on: with what was asked for and did not fit, or with what comes after it.
fn next(
    asked: &Asked,
    then: &[Asked],
    shown: &Range<u64>,
    (first, last): (u64, u64),
    (starts_line, ends_line): (bool, bool),
    output: &Output,
) -> Option<Query> {
    if shown.start > asked.range.start {
        // A tail that did not fit: what is missing comes before it.
        return Some(match asked.lines {
            Some((from, _)) if from < first && starts_line => Query::Lines(vec![from..=first - 1]),
            _ => Query::Bytes(vec![asked.range.start..shown.start]),
        });
    }
    if shown.end < asked.range.end {
        let lines = asked.lines.filter(|_| ends_line).map(|(_, until)| (last + 1, until));
        let rest = Asked { range: shown.end..asked.range.end, lines, total: asked.total };
        return Some(query_of(&[&[rest], then].concat()));
    }
    if !then.is_empty() {
        return Some(query_of(then));
    }
    if shown.end >= output.len() {
        return None;
    }
    Some(match asked.lines {
        Some((from, until)) if ends_line => Query::Lines(vec![last + 1..=last + 1 + until - from]),
        _ => Query::Bytes(vec![shown.end..(shown.end + (shown.end - shown.start)).min(output.len())]),
    })
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
            Query::Lines(vec![100..=102]),
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
            Query::Lines(vec![2..=99]),
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
            Query::Lines(vec![100..=900]),
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
            Query::Lines(vec![1..=900]),
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
    fn several_ranges_are_read_at_once_and_those_that_meet_are_one() {
        check(
            &numbered(5_000),
            Query::Lines(vec![7..=8, 4_000..=4_000, 2..=3, 8..=9]),
            ROOMY,
            expect![[r#"
                [lines 2–3 of 5,000 · s/id1234]
                line 2
                line 3
                [lines 7–9 of 5,000 · s/id1234]
                line 7
                line 8
                line 9
                [line 4,000 of 5,000 · s/id1234]
                line 4000
            "#]],
        );
        let small = Budget { tokens: 85, bytes: 1_000, lines: None };
        check(
            &numbered(5_000),
            Query::Lines(vec![2..=3, 40..=45, 100..=900]),
            small,
            expect![[r#"
                [lines 2–3 of 5,000 · s/id1234]
                line 2
                line 3
                [lines 40–45 of 5,000 · s/id1234]
                line 40
                line 41
                line 42
                line 43
                line 44
                line 45
                [next: forebay read s/id1234 --lines 100:900]
            "#]],
        );
        check(
            &numbered(5_000),
            Query::Lines(vec![100..=900, 2_000..=2_001]),
            small,
            expect![[r#"
                [lines 100–110 of 5,000 · s/id1234]
                line 100
                line 101
                line 102
                line 103
                line 104
                line 105
                line 106
                line 107
                line 108
                line 109
                line 110
                [next: forebay read s/id1234 --lines 111:900 --lines 2000:2001]
            "#]],
        );
    }

    #[test]
    fn a_tail_that_begins_inside_a_line_leads_to_the_rest_of_that_line() {
        let output = output_of(("short\n".repeat(19) + &"long ".repeat(9_000)).as_bytes());
        let small = Budget { tokens: 90, bytes: 400, lines: None };
        let tail = excerpt(&output, &Query::Tail(20), small).unwrap();
        assert_eq!(tail.next, Some(Query::Bytes(vec![0..tail.shown[0].start])));
    }

    #[test]
    fn bytes_without_a_character_in_them_are_read_too() {
        let output = output_of(&[0x80; 20_000]);
        let small = Budget { tokens: 200, bytes: 400, lines: None };
        for query in [Query::Bytes(vec![0..20_000]), Query::Tail(5)] {
            assert!(!excerpt(&output, &query, small).unwrap().shown.is_empty());
        }
    }

    #[test]
    fn ranges_are_read_as_people_write_them() {
        for (text, ranges) in [
            ("7", vec![7..=7]),
            ("7:9", vec![7..=9]),
            ("7-9, 12:", vec![7..=9, 12..=u64::MAX]),
            (":3", vec![1..=3]),
            ("1,000–2,000;5", vec![1_000..=2_000, 5..=5]),
        ] {
            assert_eq!(crate::request::ranges::line_ranges(text).unwrap(), ranges, "{text}");
            for range in ranges {
                assert_eq!(
                    crate::request::ranges::line_ranges(&crate::request::ranges::written(&range)).unwrap(),
                    [range]
                );
            }
        }
        for text in ["", " ", "a:b", "1:2:3", "-", "-5", "10,20", "99999999999999999999999"] {
            assert!(crate::request::ranges::line_ranges(text).is_err(), "{text}");
        }
        let many = (0..101).map(|n| n * 2 + 1..=n * 2 + 1).collect();
        assert!(
            excerpt(&numbered(500), &Query::Lines(many), ROOMY).unwrap_err().to_string().contains("too many")
        );
    }

    #[test]
    fn one_giant_line_is_paged_through_by_bytes() {
        let output = output_of("abcdefghij".repeat(100).as_bytes());
        let small = Budget { tokens: 80, bytes: 130, lines: None };
        check(
            &output,
            Query::Lines(vec![1..=1]),
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
        expect!["line 11 is behind the end: s/id1234 has 10 lines; its end: forebay tail s/id1234 -n 20"]
            .assert_eq(&error(Query::Lines(vec![11..=12])));
        expect!["byte 5,000 is behind the end: s/id1234 has 71 bytes"]
            .assert_eq(&error(Query::Bytes(vec![5_000..5_001])));
        expect!["lines are counted from 1 and go up: 0:3 is no range of lines"]
            .assert_eq(&error(Query::Lines(vec![0..=3])));
        expect!["bytes are counted from 0 and go up: 7:7 is no range of bytes"]
            .assert_eq(&error(Query::Bytes(vec![7..7])));
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        for query in [
            Query::Lines(vec![1..=9]),
            Query::Lines(vec![1..=2, 5..=6]),
            Query::Tail(9),
            Query::Head(9),
            Query::Bytes(vec![0..9]),
        ] {
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
        let text = excerpt(&output_of(&bytes), &Query::Lines(vec![2..=2]), ROOMY).unwrap().text;
        assert!(text.windows(4).any(|part| part == [0xff, 0xfe, 0x80, b'\n']));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn following_next_reads_every_byte_of_several_ranges_once(
            parts in proptest::collection::vec(prop_oneof![
                Just(b"some words\n".to_vec()), Just(vec![b'x'; 900]), Just(b"\n\n\n".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..40),
            ], 4..30),
            ranges in proptest::collection::vec((1u64..40, 0u64..9), 2..5),
            tokens in 120u64..300,
        ) {
            let bytes = parts.concat();
            let output = output_of(&bytes);
            let lines = output.lines().unwrap();
            let ranges: Vec<_> = ranges.into_iter().filter(|(from, _)| *from <= lines).map(|(from, more)| from..=from + more).collect();
            prop_assume!(!ranges.is_empty());
            let mut expected: Vec<u8> = Vec::new();
            for line in 1..=lines {
                if ranges.iter().any(|range| range.contains(&line)) {
                    expected.extend(output.read(output.line_start(line - 1).unwrap()..output.line_start(line).unwrap()).unwrap());
                }
            }
            let budget = Budget { tokens, bytes: tokens * 3, lines: None };
            let several = ranges.len() > 1;
            let mut query = Query::Lines(ranges);
            let mut read: Vec<u8> = Vec::new();
            while read.len() < expected.len() {
                let excerpt = excerpt(&output, &query, budget).unwrap();
                prop_assert!(budget.holds(&excerpt.text));
                prop_assert!(!excerpt.shown.is_empty(), "it goes on");
                for shown in &excerpt.shown {
                    read.extend(&bytes[shown.start as usize..shown.end as usize]);
                }
                let Some(next) = excerpt.next else { break };
                query = next;
            }
            prop_assert!(several || read.len() >= expected.len());
            prop_assert_eq!(&read[..expected.len().min(read.len())], &expected[..]);
        }

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
            let mut query = Query::Lines(vec![1..=u64::MAX]);
            let mut read: Vec<u8> = Vec::new();
            loop {
                let excerpt = excerpt(&output, &query, budget).unwrap();
                prop_assert!(budget.holds(&excerpt.text));
                prop_assert!(!excerpt.shown.is_empty(), "it goes on");
                for shown in &excerpt.shown {
                    read.extend(&bytes[shown.start as usize..shown.end as usize]);
                }
                let Some(next) = excerpt.next else { break };
                query = next;
            }
            prop_assert_eq!(read, bytes);
        }
    }
}
