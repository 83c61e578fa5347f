//! Outputs that are no record of a run: the beginning and the end as they are, and between them what the rest has in it.

use super::changes;
use super::findings::Findings;
use super::folders::Folders;
use super::formatting::Formatting;
use super::paths::{self, Paths};
use super::sections;
use super::templates::Templates;
use super::things::{self, Things};
use super::threads::Threads;
use super::totals;
use super::{closing, frame_of, marker, opening, wording};
use crate::query::ask::{Choice, Unit as Ranked, ranges};
use crate::query::outline::Outline;
use crate::query::{self, Form, outline};
use crate::view::units::{self, Unit};
use crate::view::{Piece, View, Why, Wording, rendering};
use crate::{Budget, Output, Result, tokens};
use std::ops::Range;

/// How a view is divided.
struct Shares {
    /// What is said of the part that is not shown has no more than this, with its marker: with what else is not the output's
    /// own, a view of 1,000 tokens stays below 15 %.
    said: f64,
    /// What the beginning has of the rest; the end has what is left.
    head: f64,
    /// What is odd may have so much of what is shown.
    odd: f64,
    /// Whether it is data, in which nothing was written for a screen.
    is_data: bool,
}

impl Shares {
    /// Documents are read from their beginning, and their headings tell how they go on.
    const DOCUMENT: Shares = Shares { said: 0.1, head: 1.0, odd: ODD, is_data: false };

    /// Findings are like each other, and how many there are stands at the end.
    const FINDINGS: Shares = Shares { said: 0.12, head: 0.3, odd: 0.75, is_data: false };

    /// Threads do the same, and why they were dumped stands at the beginning or at the end.
    const THREADS: Shares = Shares { said: 0.13, head: 0.5, odd: 0.75, is_data: false };

    /// Where the part that matters stands, by what an output is.
    fn of(form: Form) -> Shares {
        let (said, head) = match form {
            Form::Markdown | Form::Rst => return Shares::DOCUMENT,
            // What a program needs comes first, and what it does last: names tell what lies between.
            Form::Code(_) => (0.12, 0.2),
            // The first changes, and which files have others.
            Form::Diff => (0.1, 1.0),
            // What was found first, and which files have most. A line of the end may have the path of its file far before it.
            Form::Matches => (0.1, 1.0),
            // Listings and tables are alike from end to end: what is said of all of it tells more.
            Form::Listing => (0.1, 0.6),
            Form::Table => (0.13, 0.6),
            // The shape tells of all records; the first and the last show what they look like.
            Form::Json => (0.12, 0.35),
            // How it began, and what it says now.
            Form::Log | Form::TestRun => (0.13, 0.35),
            _ => (0.1, 0.8),
        };
        Shares { said, head, odd: ODD, is_data: matches!(form, Form::Table | Form::Json) }
    }
}

/// The view of a text that is read as a document.
pub(super) fn document(output: &Output, budget: Budget) -> Result<View> {
    let outline = outline::outline(output)?;
    let things = Things::of(&outline);
    let said = |gap: &Range<u64>, room| things.said(output, gap, room);
    between(output, budget, &Shares::DOCUMENT, &Parts::default(), said)
}

/// The view of what a linter found, if it is a list of findings with codes.
pub(super) fn findings(output: &Output, budget: Budget) -> Result<Option<View>> {
    let Some(findings) = Findings::of(output)? else { return Ok(None) };
    let odd = findings.odd();
    let parts = Parts { odd: &odd, ..Parts::default() };
    Ok(Some(between(output, budget, &Shares::FINDINGS, &parts, |_, room| Ok(findings.said(room)))?))
}

/// The view of a list that has a few sections.
pub(super) fn sections(output: &Output, budget: Budget) -> Result<Option<View>> {
    let Some(sections) = sections::of(output)? else { return Ok(None) };
    if output.record().exit.is_some_and(|exit| exit.status() != 0) {
        return Ok(None);
    }
    let (units, trouble) = query::ask::troubles(output)?;
    if trouble.verdict {
        return Ok(None);
    }
    let beginnings = sections.beginnings.clone();
    let (odd, first) = troubles_before(output, budget, (units, trouble.most), beginnings)?;
    let parts = Parts { odd: &odd, first, ..Parts::default() };
    let said = |gap: &Range<u64>, room| Ok(sections.said(lines_of(output, gap)?, room));
    Ok(Some(between(output, budget, &Shares::of(Form::Listing), &parts, said)?))
}

/// The view of what the threads of a program do, if it is a dump of them.
pub(super) fn threads(output: &Output, budget: Budget) -> Result<Option<View>> {
    let Some(threads) = Threads::of(output)? else { return Ok(None) };
    // What is told outside of the stacks is why they were dumped.
    let (mut units, trouble) = query::ask::troubles(output)?;
    units.retain(|unit| !threads.hold(unit.range.start));
    let half = Budget { tokens: budget.tokens / 2, ..budget };
    let (odd, first) = troubles_before(output, half, (units, trouble.most), threads.odd())?;
    let parts = Parts { odd: &odd, first, ..Parts::default() };
    Ok(Some(between(output, budget, &Shares::THREADS, &parts, |_, room| Ok(threads.said(room)))?))
}

/// What is worth less than this share of the worst trouble is none, and so much of a view is for troubles at most.
const TROUBLE: f32 = 0.5;
const TROUBLES: f64 = 0.6;

/// The view of what a service writes, if it says the same over and over. It tells of troubles all day long: these come
/// first, with what belongs to them, and then what the log has besides.
pub(super) fn entries(
    output: &Output,
    budget: Budget,
    weighed: impl Fn(Vec<Ranked>) -> Vec<Ranked>,
) -> Result<Option<View>> {
    let templates = Templates::of(output)?;
    if !templates.are_alike() {
        return Ok(None);
    }
    let (units, trouble) = query::ask::troubles(output)?;
    let rare = lines_at(output, &templates.rare())?;
    let (odd, first) = troubles_before(output, budget, (weighed(units), trouble.most), rare)?;
    let said = |gap: &Range<u64>, room| templates.said(output, lines_of(output, gap)?, room);
    let parts = Parts { odd: &odd, first, ..Parts::default() };
    Ok(Some(between(output, budget, &Shares::of(Form::Log), &parts, said)?))
}

/// Where an output tells of its worst troubles, if there are any, and then what is odd besides; with how many those are.
fn troubles_before(
    output: &Output,
    budget: Budget,
    (units, most): (Vec<Ranked>, f32),
    odd: Vec<Range<u64>>,
) -> Result<(Vec<Range<u64>>, usize)> {
    let mut all = match most >= super::TROUBLE {
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
    let gap = marker(output, wording(budget));
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
pub(super) fn fold(output: &Output, form: Form, budget: Budget) -> Result<View> {
    let shares = Shares::of(form);
    match form {
        Form::Json => {
            let paths = Paths::of(output)?;
            let odd = paths.odd(output)?;
            let parts = Parts { odd: &odd, ..Parts::default() };
            between(output, budget, &shares, &parts, |gap, room| Ok(paths.said(gap.start, room)))
        }
        Form::Log => {
            let templates = Templates::of(output)?;
            let odd = lines_at(output, &templates.rare())?;
            let said = |gap: &Range<u64>, room| templates.said(output, lines_of(output, gap)?, room);
            between(output, budget, &shares, &Parts { odd: &odd, ..Parts::default() }, said)
        }
        Form::Listing => {
            let folders = Folders::of(output)?;
            let starts = folders.odd().iter().map(|line| output.line_start(line - 1));
            let odd = lines_at(output, &starts.collect::<Result<Vec<u64>>>()?)?;
            let said = |gap: &Range<u64>, room| Ok(folders.said(lines_of(output, gap)?, room));
            between(output, budget, &shares, &Parts { odd: &odd, ..Parts::default() }, said)
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
            let said = |gap: &Range<u64>, room| Ok(things::columns(&outline, lines_of(output, gap)?, room));
            between(output, budget, &shares, &Parts { odd: &odd, ..Parts::default() }, said)
        }
        _ => {
            let outline = outline::outline(output)?;
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
                (None, Form::Text) => lines_at(output, &totals::of(output)?)?,
                (None, _) => Vec::new(),
            };
            let parts = Parts { odd: &odd, passed: &passed, ..Parts::default() };
            let things = Things::of(&outline);
            between(output, budget, &shares, &parts, |gap, room| {
                let said = things.said(output, gap, room)?;
                Ok(match &formatting {
                    Some(formatting) => said.map(|text| formatting.said(text)),
                    None => said,
                })
            })
        }
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
    is_code && last.is_some_and(|last| things::definition(&last.name).trim() == "mod tests")
}

/// The lines at some places, or the parts of long ones.
fn lines_at(output: &Output, places: &[u64]) -> Result<Vec<Range<u64>>> {
    let unit = |&place: &u64| Ok(units::around(output, place, 0, 0)?.pop().map(|unit| unit.range));
    places.iter().map(unit).filter_map(Result::transpose).collect()
}

/// How many lines have bytes in a gap.
fn lines_of(output: &Output, gap: &Range<u64>) -> Result<u64> {
    Ok(output.newlines_before(gap.end - 1)? - output.newlines_before(gap.start)? + 1)
}

/// What is tried first is more than there is room for, since the costs of markers are guessed high.
const MORE: f64 = 1.3;

/// So often less is tried.
const STEPS: u32 = 80;

/// So many bytes a token are in the beginning for sure.
const BEGINNING: f64 = 2.0;

/// What is odd has so much of what is shown; the first of it may have more.
const ODD: f64 = 0.45;
const FIRST_ODD: f64 = 0.5;

/// With fewer tokens hardly anything is said, so that a small view says more than its share; but no more than this part of it.
const SAID: f64 = 100.0;
const SAID_AT_MOST: f64 = 0.25;

/// What is passed over must be worth so many markers, since it is missed where one reads on.
const PASSED: u64 = 4;

/// What is shown of an output besides its beginning and its end.
#[derive(Default)]
struct Parts<'a> {
    /// What is odd, the oddest first.
    odd: &'a [Range<u64>],
    /// So much of it is shown before all else.
    first: usize,
    /// What is passed over in the beginning.
    passed: &'a [Range<u64>],
}

/// The beginning and the end, what is odd, and in the gap behind the beginning what `said` says of it.
fn between(
    output: &Output,
    budget: Budget,
    shares: &Shares,
    parts: &Parts,
    said: impl Fn(&Range<u64>, u64) -> Result<Option<String>>,
) -> Result<View> {
    let frame = tokens::count(&opening(output, budget, None, true)) + tokens::count(&closing(output, budget));
    let room = budget.tokens.saturating_sub(frame) as f64;
    let head = units::first(output, enough(budget) * if parts.passed.is_empty() { 1 } else { 2 })?;
    let tail = units::last(output, enough(budget))?;
    let said_room = (room * shares.said).max(SAID.min(room * SAID_AT_MOST));
    let mut described = said_room;
    let areas = rendering::cursor::areas(output)?;
    // What stands alone has a marker before it and one behind.
    let gap = marker(output, wording(budget));
    let call = marker(output, Wording::Commands);
    let cost = |range: &Range<u64>| Ok(tokens::count_bytes(&output.read(range.clone())?));
    let odd = parts.odd.iter().map(|range| Ok((range, (cost(range)? + 2 * gap) as f64)));
    let odd: Vec<(&Range<u64>, f64)> = odd.collect::<Result<_>>()?;
    let passed = parts.passed.iter().map(|range| Ok((range.clone(), cost(range)?)));
    let mut passed: Vec<(Range<u64>, u64)> = passed.collect::<Result<_>>()?;
    passed.retain(|(range, cost)| range.start > 0 && *cost >= PASSED * gap);
    let passed: Vec<Range<u64>> = passed.into_iter().map(|(range, _)| range).collect();
    // What markers cost and what is said in the end is known when it is printed: less is tried until it fits.
    for step in 0..STEPS {
        let room = room * (MORE - f64::from(step.max(1) - 1) / f64::from(STEPS));
        let mut shown_room = room - described;
        let mut shown = Vec::new();
        for (range, cost) in &odd[..parts.first] {
            shown_room -= cost;
            shown.push((*range).clone());
        }
        let mut left = shown_room * shares.odd;
        for (range, cost) in &odd[parts.first..] {
            if shown.iter().any(|shown: &Range<u64>| shown.start <= range.start && range.end <= shown.end) {
                continue;
            }
            if *cost <= left || shown.is_empty() && *cost <= shown_room * FIRST_ODD {
                left -= cost;
                shown.push((*range).clone());
            }
        }
        let shown_room = shown_room * (1.0 - shares.odd) + left;
        let first = part(output, &head, shown_room * shares.head, (&passed, gap), shares.is_data)?;
        shown.extend(without(first.clone(), &passed));
        let last = part(output, &tail, shown_room * (1.0 - shares.head), (&[], gap), shares.is_data)?;
        shown.extend(if shares.is_data { vec![last] } else { both_ends(output, last)? });
        let shown = rendering::cursor::widened(&shown, &areas);
        let mut view = View::showing(output, &shown, wording(budget))?;
        let is_gap = |piece: &&mut Piece| {
            piece.range().start >= first.end && matches!(piece, Piece::Omitted { why: Why::LeftOut, .. })
        };
        let length = |piece: &&mut Piece| piece.range().end - piece.range().start;
        if let Some(gap) = view.pieces.iter_mut().filter(is_gap).max_by_key(length) {
            let range = gap.range().clone();
            let text = within((said_room as u64).saturating_sub(call), |room| said(&range, room))?;
            if step == 0 {
                // What it does not need is for the rest.
                described = (text.as_deref().map_or(0, tokens::count) + call) as f64;
                continue;
            }
            if let Some(text) = text {
                *gap = Piece::Digest { range, text };
            }
        }
        let view = if shares.is_data { view } else { view.on_screen(output)? };
        let view = frame_of(view, output, budget);
        if budget.holds(&view.print(output)?) {
            return Ok(view);
        }
    }
    super::top_and_bottom(output, budget)
}

/// So far before its end the beginning of a last line is looked for.
const LAST_LINE: u64 = 256 * 1024;

/// Half as much of the last line, and as much of its beginning, where its end is all that was shown and it is not the only one:
/// how a long line begins tells what it is.
fn both_ends(output: &Output, end: Range<u64>) -> Result<Vec<Range<u64>>> {
    let shown = output.read(end.clone())?;
    let is_inside = shown.trim_ascii_end().iter().all(|&byte| byte != b'\n');
    let start = output.line_start_near(end.start, LAST_LINE)?;
    if !is_inside || start == end.start || start == 0 || output.read(start - 1..start)? != b"\n" {
        return Ok(vec![end]);
    }
    let half = shown.len() as u64 / 2;
    Ok(vec![start..output.character_start(start + half)?, output.character_start(end.end - half)?..end.end])
}

/// So many bytes are enough to choose a beginning and an end from.
fn enough(budget: Budget) -> u64 {
    (budget.tokens * 6).min(budget.bytes).max(1_024)
}

/// What is said, all of it in `room` tokens if it can be: its list is told to be shorter by what its first line costs.
fn within(room: u64, said: impl Fn(u64) -> Result<Option<String>>) -> Result<Option<String>> {
    let text = said(room)?;
    match text.as_deref().map_or(0, tokens::count).saturating_sub(room) {
        0 => Ok(text),
        over => said(room.saturating_sub(over)),
    }
}

/// A range without what is passed over in it. It begins with something and ends with something.
fn without(range: Range<u64>, passed: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut at = range.start;
    for gap in passed.iter().filter(|gap| gap.start > range.start && gap.start < range.end) {
        left.push(at..gap.start);
        at = gap.end;
    }
    left.push(at..range.end.max(at));
    left
}

/// The units that `room` tokens are enough for, as one range; `units` begin at one end of the output. Of a long line,
/// a part of a part, which in data ends with a member if it can. What is passed over costs a marker.
fn part(
    output: &Output,
    units: &[Unit],
    room: f64,
    (passed, marker): (&[Range<u64>], u64),
    is_data: bool,
) -> Result<Range<u64>> {
    let mut left = room;
    let mut part: Option<Range<u64>> = None;
    for unit in units {
        if let Some(gap) = passed.iter().find(|gap| gap.contains(&unit.range.start)) {
            left -= if gap.start == unit.range.start { marker as f64 } else { 0.0 };
            continue;
        }
        let cost = match unit.overwritten {
            true => 0.0,
            false => tokens::count_bytes(&output.read(unit.range.clone())?) as f64,
        };
        let Range { start, end } = unit.range;
        let mut range = start..end;
        if cost > left {
            let fits = ((end - start) as f64 * left.max(0.0) / cost) as u64;
            let forward = part.as_ref().map_or(start == 0, |part| start == part.end);
            let inside = match forward {
                true => output.read(end - 1..end)? != b"\n",
                false => start > 0 && output.read(start - 1..start)? != b"\n",
            };
            if !inside || fits < 16 {
                break;
            }
            range = match forward {
                true => start..output.character_start(start + fits)?,
                false => output.character_start(end - fits)?..end,
            };
            if is_data {
                let borders = paths::borders(&output.read(range.clone())?);
                let half = (range.end - range.start) / 2;
                range = match forward {
                    true => {
                        start..borders.last().filter(|at| **at >= half).map_or(range.end, |at| start + at)
                    }
                    false => {
                        borders.first().filter(|at| **at <= half).map_or(range.start, |at| range.start + at)
                            ..end
                    }
                };
            }
        }
        left -= cost;
        let known = part.get_or_insert(range.clone());
        *known = known.start.min(range.start)..known.end.max(range.end);
        if left < 0.0 {
            break;
        }
    }
    Ok(part.unwrap_or(0..0))
}

/// The largest count up to `most` that fits.
pub(super) fn fitting(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match fits(middle) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn shown(text: &str, form: Form, tokens: u64) -> String {
        let output = output_of(text.as_bytes());
        let budget = Budget { tokens, bytes: tokens * 8, lines: None };
        let view = fold(&output, form, budget).unwrap();
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
        let view = entries(&output, budget, |units| units).unwrap().unwrap().print(&output).unwrap();
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
        let code = shown(&text, Form::Code(crate::query::Language::Rust), 300);
        assert!(code.contains("fn number_199()") && !code.contains("fn number_7()"), "{code}");
        text += "#[cfg(test)]\nmod tests {\n";
        (0..60).for_each(|n| text += &format!("    #[test]\n    fn test_{n}() {{}}\n"));
        text += "}\n";
        let code = shown(&text, Form::Code(crate::query::Language::Rust), 300);
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
            Form::Code(crate::query::Language::Python),
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

    #[test]
    fn what_is_said_has_its_first_line_in_its_room() {
        let list =
            |room: u64| Ok(Some(format!("a line of six words here{}", "\nx".repeat(room as usize / 2))));
        let said = within(60, list).unwrap().unwrap();
        assert!((50..=60).contains(&tokens::count(&said)), "{}", tokens::count(&said));
    }
}
