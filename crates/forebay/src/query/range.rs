//! Lines and bytes by their numbers: one range, or several in one answer.

use crate::masking::{self, Mask};
use crate::query::{Excerpt, Found};
use crate::request::ranges::MOST;
use crate::text::count::grouped;
use crate::text::lookalikes;
use crate::{Budget, Error, Output, Query, Result};
use std::ops::{Range, RangeInclusive};

/// Reads lines, counted from 1. Ranges that touch are read as one.
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
    // An empty output has one excerpt, whatever ranges are wanted.
    let most = if total == 0 { 1 } else { usize::MAX };
    let wanted = merged(ranges.collect::<Result<_>>()?)?
        .into_iter()
        .take(most)
        .map(|Range { start, end }| {
            let range = output.line_start(start - 1)?..output.line_start(end - 1)?;
            Ok(RequestedRange { range, lines: Some(start..=end - 1), total })
        })
        .collect::<Result<Vec<_>>>()?;
    from_start(output, &wanted, budget)
}

/// Reads bytes exactly as wanted. Only where the budget cuts, characters stay whole.
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
    let wanted: Vec<RequestedRange> =
        ranges.into_iter().map(|range| RequestedRange { range, lines: None, total }).collect();
    from_start(output, &wanted, budget)
}

/// Ranges in order; those that touch become one.
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

/// A range that is wanted, as far as it exists.
#[derive(Clone, Debug)]
struct RequestedRange {
    range: Range<u64>,
    /// Its lines, if it is a range of lines.
    lines: Option<RangeInclusive<u64>>,
    /// Lines of the output.
    total: u64,
}

/// Bytes of the output in memory, from `start` on.
struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// Masks of the secrets in them.
    masks: Vec<Mask>,
}

impl Window {
    fn read(output: &Output, range: Range<u64>) -> Result<Window> {
        let masks = output.masks_in(range.clone())?;
        Ok(Window { start: range.start, bytes: output.read(range)?, masks })
    }
}

/// Reads the last `count` lines: as many of them as fit, the last ones first.
pub(crate) fn tail(output: &Output, count: u64, budget: Budget) -> Result<Excerpt> {
    let total = output.lines()?;
    let first = total.saturating_sub(count.max(1)) + 1;
    let range = output.line_start(first - 1)?..output.len();
    let wanted = RequestedRange { range: range.clone(), lines: Some(first..=total.max(1)), total };
    let start = range.start.max(range.end.saturating_sub(budget.bytes));
    let window = Window::read(output, start..range.end)?;
    let bytes = &window.bytes;
    let cut = |missing: usize| -> u64 {
        if missing == 0 {
            return start;
        }
        // Whole lines where one fits, else whole characters.
        let newline = memchr::memchr(b'\n', &bytes[missing - 1..]).map(|at| missing + at);
        let whole = newline.filter(|&at| at < bytes.len()).unwrap_or_else(|| {
            (missing..bytes.len()).take(4).find(|&at| bytes[at] & 0xc0 != 0x80).unwrap_or(missing)
        });
        start + whole as u64
    };
    let excerpt = |missing: usize| print(output, &wanted, &[], cut(missing)..range.end, &window);
    let first_try = usize::from(start > range.start);
    let missing = least(first_try, bytes.len(), |missing| Ok(budget.holds(&excerpt(missing)?.text)))?;
    within_budget(excerpt(missing)?, budget)
}

/// The excerpt, if it fits the budget and shows something: an empty one would lead nowhere.
fn within_budget(excerpt: Excerpt, budget: Budget) -> Result<Excerpt> {
    let is_empty = excerpt.shown.is_empty() && excerpt.next.is_some();
    if is_empty || !budget.holds(&excerpt.text) {
        return Err(Error::BadQuery(format!(
            "a budget of {} tokens and {} bytes has no room for this handle and something to read: ask with a larger one",
            budget.tokens, budget.bytes
        )));
    }
    Ok(excerpt)
}

/// Reads as much as fits from the beginning: as many whole ranges as there is room for, or a part of the first one.
fn from_start(output: &Output, wanted: &[RequestedRange], budget: Budget) -> Result<Excerpt> {
    let [first, then @ ..] = wanted else {
        return Err(Error::BadQuery("no range was asked for".to_owned()));
    };
    if then.is_empty() {
        return start_of(output, first, then, budget);
    }
    let mut length = 0;
    let is_too_long = |wanted: &RequestedRange| {
        length += wanted.range.end - wanted.range.start;
        length > budget.bytes
    };
    let mut count = wanted.iter().position(is_too_long).unwrap_or(wanted.len());
    while count > 0 {
        let excerpt = whole(output, &wanted[..count], &wanted[count..])?;
        if budget.holds(&excerpt.text) {
            return Ok(excerpt);
        }
        count -= 1;
    }
    start_of(output, first, then, budget)
}

/// Reads several whole ranges; `then` are those that come after them.
fn whole(output: &Output, wanted: &[RequestedRange], then: &[RequestedRange]) -> Result<Excerpt> {
    let mut excerpt = Excerpt {
        text: Vec::new(),
        shown: Vec::new(),
        lines: None,
        total_lines: wanted.first().map_or(0, |wanted| wanted.total),
        next: (!then.is_empty()).then(|| query_of(then)),
        growing: output.is_growing(),
        found: Found::Bytes,
    };
    for wanted in wanted {
        let window = Window::read(output, wanted.range.clone())?;
        let part = print(output, wanted, &[], wanted.range.clone(), &window)?;
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

/// The query for some ranges: by lines, where all of them are ranges of lines.
fn query_of(wanted: &[RequestedRange]) -> Query {
    match wanted.iter().map(|wanted| wanted.lines.clone()).collect() {
        Some(lines) => Query::Lines(lines),
        None => Query::Bytes(wanted.iter().map(|wanted| wanted.range.clone()).collect()),
    }
}

/// Reads as much of one range as fits, from its beginning; `then` are the ranges that come after it.
fn start_of(
    output: &Output,
    wanted: &RequestedRange,
    then: &[RequestedRange],
    budget: Budget,
) -> Result<Excerpt> {
    let range = &wanted.range;
    let window_end = range.end.min(range.start.saturating_add(budget.bytes));
    let window = Window::read(output, range.start..window_end)?;
    let bytes = &window.bytes;
    let cut = |missing: usize| -> u64 {
        let end = bytes.len() - missing;
        if missing == 0 {
            return range.start + end as u64;
        }
        let whole = memchr::memrchr(b'\n', &bytes[..end]).map(|newline| newline + 1).unwrap_or_else(|| {
            // Four bytes without the start of a character are not text, and are cut anywhere.
            (0..=end).rev().take(4).find(|&at| at == 0 || bytes[at] & 0xc0 != 0x80).unwrap_or(end)
        });
        range.start + whole as u64
    };
    let excerpt = |missing: usize| print(output, wanted, then, range.start..cut(missing), &window);
    let first_try = usize::from(window_end < range.end);
    let missing = least(first_try, bytes.len(), |missing| Ok(budget.holds(&excerpt(missing)?.text)))?;
    within_budget(excerpt(missing)?, budget)
}

/// The smallest number from `low` to `high` for which the condition holds; `high` if there is none.
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

/// A range that is shown, with its place among the lines of the output.
struct Shown {
    range: Range<u64>,
    /// First line that it has a part of, counted from 1.
    first: u64,
    /// Last line that it has a part of.
    last: u64,
    starts_line: bool,
    ends_line: bool,
}

impl Shown {
    fn new(output: &Output, range: Range<u64>) -> Result<Shown> {
        let first = output.newlines_before(range.start)? + 1;
        let last = output.newlines_before(range.end.saturating_sub(1).max(range.start))? + 1;
        let starts_line =
            first == 1 && range.start == 0 || output.read(range.start.max(1) - 1..range.start)? == b"\n";
        let ends_line = range.end == output.len() || output.read(range.end.max(1) - 1..range.end)? == b"\n";
        Ok(Shown { range, first, last, starts_line, ends_line })
    }

    /// Its place: lines, or bytes where it does not begin and end with a line.
    fn place(&self, output: &Output, total: u64) -> String {
        let Shown { range, first, last, .. } = self;
        let lines = if first == last {
            format!("line {}", grouped(*first))
        } else {
            format!("lines {}–{}", grouped(*first), grouped(*last))
        };
        if self.starts_line && self.ends_line && !range.is_empty() {
            return format!("{lines} of {}", grouped(total));
        }
        let [start, end, length, total] = [range.start, range.end, output.len(), total].map(grouped);
        format!("bytes {start}–{end} of {length}, in {lines} of {total}")
    }
}

/// Prints the part `shown` of a range; its bytes are in `window`, and `then` are the ranges that come after it.
fn print(
    output: &Output,
    wanted: &RequestedRange,
    then: &[RequestedRange],
    shown: Range<u64>,
    window: &Window,
) -> Result<Excerpt> {
    let handle = output.record().handle.short();
    let growing = output.is_growing();
    let grows = if growing { ", still growing" } else { "" };
    let mut excerpt = Excerpt {
        text: Vec::new(),
        shown: if shown.is_empty() { Vec::new() } else { vec![shown.clone()] },
        lines: None,
        total_lines: wanted.total,
        next: None,
        growing,
        found: Found::Bytes,
    };
    if shown.is_empty() && wanted.range.is_empty() {
        excerpt.text = format!("[{handle} is empty{grows}]\n").into_bytes();
        return Ok(excerpt);
    }
    let start = (shown.start - window.start) as usize;
    let bytes = &window.bytes[start..start + (shown.end - shown.start) as usize];
    let body = masking::masked(bytes, shown.start, &window.masks);
    let shown = Shown::new(output, shown)?;
    excerpt.lines = Some((shown.first, shown.last));
    excerpt.next = next(output, wanted, then, &shown);
    // The bytes of an output may look like a line of ours, so the first line says from where on they do.
    let own = match lookalikes::like_ours(&body).next() {
        Some(line) => {
            let number = shown.first + memchr::memchr_iter(b'\n', &body[..line.start]).count() as u64;
            format!(" · from line {} on, what looks like this is the output's own text", grouped(number))
        }
        None => String::new(),
    };
    let place = shown.place(output, wanted.total);
    excerpt.text = format!("[{place}{grows} · {handle}{own}]\n").into_bytes();
    excerpt.text.extend_from_slice(&body);
    if !body.is_empty() && body.last() != Some(&b'\n') {
        excerpt.text.push(b'\n');
    }
    if let Some(next) = &excerpt.next {
        let label = if shown.range.start > wanted.range.start { "before this" } else { "next" };
        excerpt.text.extend(format!("[{label}: {}]\n", output.call(next)).as_bytes());
    }
    Ok(excerpt)
}

/// The query that continues: for the rest that did not fit, or for the following text.
fn next(output: &Output, wanted: &RequestedRange, then: &[RequestedRange], shown: &Shown) -> Option<Query> {
    let Shown { range, first, last, starts_line, ends_line } = shown;
    if range.start > wanted.range.start {
        // Of a tail that did not fit, the missing part comes before it.
        return Some(match &wanted.lines {
            Some(lines) if lines.start() < first && *starts_line => {
                Query::Lines(vec![*lines.start()..=first - 1])
            }
            _ => Query::Bytes(vec![wanted.range.start..range.start]),
        });
    }
    if range.end < wanted.range.end {
        let lines = wanted.lines.as_ref().filter(|_| *ends_line).map(|lines| last + 1..=*lines.end());
        let rest = RequestedRange { range: range.end..wanted.range.end, lines, total: wanted.total };
        return Some(query_of(&[&[rest], then].concat()));
    }
    if !then.is_empty() {
        return Some(query_of(then));
    }
    if range.end >= output.len() {
        return None;
    }
    Some(match &wanted.lines {
        Some(lines) if *ends_line => Query::Lines(vec![last + 1..=last + 1 + lines.end() - lines.start()]),
        _ => Query::Bytes(vec![range.end..(range.end + (range.end - range.start)).min(output.len())]),
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
    fn lines_are_printed_with_their_place_and_the_next_call() {
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
    fn the_rest_that_does_not_fit_comes_with_its_call() {
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
    fn several_ranges_are_read_at_once_and_those_that_touch_are_one() {
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
    fn ranges_are_parsed_as_people_write_them() {
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
    fn a_range_outside_of_the_output_is_an_error_with_its_size() {
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
    fn an_empty_output_is_called_empty() {
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
