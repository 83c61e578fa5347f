//! The default preset: what matters in an output, chosen under the budget, in order.
//!
//! What a run tells is ranked by the engine that also answers questions, and whole passages are chosen. Pages are read as
//! their text. Everything else has a structure: its beginning and its end are shown, and what lies between is outlined.

mod again;
mod binary;
mod changes;
mod findings;
mod folders;
mod formatting;
mod paths;
mod sections;
mod structure;
mod templates;
mod things;
mod threads;
mod totals;

use super::units;
use super::{Canvas, Piece, View, Wording, errors, print, rendering};
use crate::query::{
    Form,
    ask::{Choice, Trouble, Unit, ranges},
};
use crate::{Budget, Grep, Kind, Output, Query, Result, Settings, State, query, tokens};
use again::Again;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Below this many tokens a view says only what no marker says, and does not name the file.
const ROOMY: u64 = 1_500;

/// Below this many tokens the number of lines is all there is room for, unless lines have more bytes than this on average:
/// then their number says little.
const TIGHT: u64 = 600;
const LONG_LINES: u64 = 400;

/// From this weight of its words on, an output tells that something went wrong.
const TROUBLE: f32 = 1.2;

/// So many of the last bytes tell how a run ended.
const LAST: u64 = 2_048;

/// What is wanted counts so much beside the best of what is told anyway.
const WANTED: f32 = 1.2;

/// A view so many times as large as the one of the same bytes before it shows something new.
const MORE: f64 = 1.5;

/// A gap of fewer bytes than this costs more to mark than to show.
const NOT_WORTH_A_MARKER: u64 = 100;

/// The best of an output that fits the budget.
pub(super) fn fold(output: &Output, settings: &Settings) -> Result<View> {
    // A view is never more than what would have passed. A limit that lets hardly anything pass bounds no view.
    let limit = settings.limits(&output.record().call.tool).tokens;
    let limit = limit.filter(|&limit| limit >= Budget::LEAST.tokens).unwrap_or(u64::MAX);
    let budget = Budget { tokens: settings.digest.budget.tokens.min(limit), ..settings.digest.budget };
    if let Some(view) = as_before(output, budget)? {
        return Ok(view);
    }
    let again = Again::of(output)?;
    let told = again.as_ref().map_or("", |again| again.text.as_str());
    let smaller = Budget { tokens: budget.tokens.saturating_sub(tokens::count(told)), ..budget };
    // Where what changed leaves no room for a view, the view is worth more.
    let (told, smaller) = if smaller.tokens * 2 < budget.tokens { ("", budget) } else { (told, smaller) };
    let view = parts(output, smaller, again.as_ref())?;
    let opening = view.opening.clone() + told;
    let closing = view.closing.clone();
    let view = view.framed(opening, closing);
    match told.is_empty() || budget.holds(&view.print(output)?) {
        true => Ok(view),
        false => parts(output, budget, again.as_ref()),
    }
}

/// That the model has seen it all, where it was given as much of the same bytes before.
fn as_before(output: &Output, budget: Budget) -> Result<Option<View>> {
    let Some(given) = output.given_before() else { return Ok(None) };
    let as_much = (given.tokens as f64 * MORE) as u64;
    if budget.tokens > as_much && tokens::count_bytes(&parts(output, budget, None)?.print(output)?) > as_much
    {
        return Ok(None);
    }
    let record = output.record();
    let (lines, bytes) = (print::count("line", record.size.lines), print::count("byte", record.size.bytes));
    let exit = record.exit.map_or(String::new(), |exit| format!(", {exit}"));
    let short = given.handle.short();
    let text = match given.same_call {
        true => format!("nothing changed since {short}: the same {lines}, {bytes}{exit}"),
        false => format!("the same bytes as {short} of another call: {lines}, {bytes}{exit}"),
    };
    View::summed_up(output, text).map(Some)
}

/// What is shown, by what an output is and by what is wanted from it.
fn parts(output: &Output, budget: Budget, again: Option<&Again>) -> Result<View> {
    let weighed = |units: Vec<Unit>| match again {
        Some(again) => again.weighed(units),
        None => units,
    };
    if let Some(view) = on_one_screen(output, budget)? {
        return Ok(view);
    }
    let call = &output.record().call;
    let form = match query::outline::form(output)? {
        // Runs of tests print paths too.
        Form::Matches | Form::Listing | Form::Table if ends_badly(output)? => Form::TestRun,
        form => form,
    };
    if matches!(form, Form::Matches | Form::TestRun | Form::Text | Form::Log) && call.wanted().is_none() {
        if let Some(view) = structure::findings(output, budget)? {
            return Ok(view);
        }
        if let Some(view) = structure::threads(output, budget)? {
            return Ok(view);
        }
        if form == Form::Text
            && !ends_badly(output)?
            && let Some(view) = structure::sections(output, budget)?
        {
            return Ok(view);
        }
    }
    match (form, call.wanted()) {
        (Form::Binary, _) => {
            let text = binary::said(output, budget.tokens)?;
            let view = frame_of(View::summed_up(output, text)?, output, budget);
            // What is in it may be too much to say.
            match budget.holds(&view.print(output)?) {
                true => Ok(view),
                false => Ok(frame_of(View::summed_up(output, binary::said(output, 0)?)?, output, budget)),
            }
        }
        (Form::Html, wanted) if output.len() <= query::ask::READ_WHOLE => {
            page(output, budget, wanted.as_deref())
        }
        (Form::Diff | Form::Json | Form::Matches | Form::Html, _) => match &call.intent {
            Some(intent) => run(output, budget, query::ask::asked(output, intent)?),
            None => structure::fold(output, form, budget),
        },
        (Form::Log, None) if query::outline::is_entries(output)? => {
            match structure::entries(output, budget, weighed)? {
                Some(view) => Ok(view),
                None => told(output, form, budget, None, weighed),
            }
        }
        (Form::Log | Form::TestRun | Form::Text, wanted) => told(output, form, budget, wanted, weighed),
        // What a command names are tests, and only a run tells of those.
        _ => told(output, form, budget, call.intent.clone(), weighed),
    }
}

/// What is shown of an output that may tell how something ran: what went wrong, if that is told, and what is wanted.
fn told(
    output: &Output,
    form: Form,
    budget: Budget,
    wanted: Option<String>,
    weighed: impl Fn(Vec<Unit>) -> Vec<Unit>,
) -> Result<View> {
    let (units, trouble) = query::ask::unasked(output)?;
    let went_wrong = trouble.most >= TROUBLE && is_run(output, form, &units, &trouble)?;
    let is_run = went_wrong || matches!(form, Form::Log | Form::TestRun | Form::Text);
    match wanted {
        Some(wanted) if is_run => {
            run(output, budget, weighed(joined_units(units, query::ask::asked(output, &wanted)?)))
        }
        Some(wanted) => run(output, budget, weighed(query::ask::asked(output, &wanted)?)),
        None if went_wrong || form == Form::TestRun => run(output, budget, weighed(units)),
        None if form == Form::Text && is_document(output)? => structure::document(output, budget),
        None => structure::fold(output, form, budget),
    }
}

/// Whether a text is read from its beginning: prose, or a history. A single line is neither.
fn is_document(output: &Output) -> Result<bool> {
    Ok(output.record().size.lines > 1
        && (query::ask::is_prose(output)? || query::outline::is_history(output)?))
}

/// So many of the best units tell whether there was a failure.
const TELLING: usize = 30;

/// Whether an output that speaks of trouble tells how something ran. What was written to be read speaks of errors that
/// may happen, but it does not end with one; and a run may print what looks like a program, a list or a document.
fn is_run(output: &Output, form: Form, units: &[Unit], trouble: &Trouble) -> Result<bool> {
    let record = output.record();
    let failed = record.exit.is_some_and(|exit| exit.status() != 0);
    let told = || units.iter().take(TELLING).any(|unit| query::ask::is_told(unit.text.as_bytes()));
    Ok(match form {
        Form::Log | Form::TestRun => true,
        _ if record.call.reads() => form == Form::Text && (failed || trouble.verdict || ends_badly(output)?),
        Form::Text if !is_document(output)? => true,
        Form::Text | Form::Markdown | Form::Rst => told() && (failed || trouble.late),
        _ => told(),
    })
}

/// Outputs of a few bytes more than this are not painted whole to see whether they then fit.
const PAINTED: u64 = 1024 * 1024;

/// All of an output that was painted again and again, if what is left on the screen fits.
fn on_one_screen(output: &Output, budget: Budget) -> Result<Option<View>> {
    if output.len() > PAINTED || rendering::cursor::areas(output)?.is_empty() {
        return Ok(None);
    }
    let whole = View::showing(output, &[0..output.len()], wording(budget))?.on_screen(output)?;
    let view = frame_of(whole, output, budget);
    Ok(budget.holds(&view.print(output)?).then_some(view))
}

/// Whether the last lines tell of errors, and are none of a list.
fn ends_badly(output: &Output) -> Result<bool> {
    let from = output.line_start_near(output.len().saturating_sub(LAST), LAST)?;
    let end = output.read(from..output.len())?;
    let mut scanner = errors::Scanner::default();
    scanner.update(&end);
    let mut last =
        end.split(|&byte| byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty()).take(3);
    let spoken = scanner.finish();
    let speaks = |line: &[u8]| {
        let start = line.as_ptr() as usize - end.as_ptr() as usize;
        spoken.iter().any(|&at| (start..start + line.len()).contains(&(at as usize)))
    };
    Ok(last.any(|line| speaks(line) && !query::ask::is_listed(line)))
}

/// Units of two rankings in one: each by its better rank, and what was wanted before all.
fn joined_units(units: Vec<Unit>, wanted: Vec<Unit>) -> Vec<Unit> {
    let best = |units: &[Unit]| units.iter().map(|unit| unit.worth).fold(f32::MIN_POSITIVE, f32::max);
    let scale = WANTED * best(&units) / best(&wanted);
    let mut joined: HashMap<u64, Unit> = units.into_iter().map(|unit| (unit.index, unit)).collect();
    for unit in wanted {
        let worth = unit.worth * scale;
        let known = joined.entry(unit.index).or_insert(Unit { worth: 0.0, ..unit });
        known.worth = known.worth.max(worth);
    }
    joined.into_values().collect()
}

/// What a run tells: what went wrong and how it ended.
fn run(output: &Output, budget: Budget, units: Vec<Unit>) -> Result<View> {
    let areas = rendering::cursor::areas(output)?;
    let (units, last) = painted_once(output, units, &areas)?;
    chosen(output, budget, Choice { units, last: Some(last), marker: 0, reads_on: false, hole: 0 }, |shown| {
        let shown = rendering::cursor::widened(shown, &areas);
        View::showing(output, &shown, wording(budget))?.on_screen(output)
    })
}

/// The same units, with one for all of each area that was painted more than once: it is shown whole or not at all. They
/// are numbered anew, so that what follows such an area has the next number; the number of the last one comes with them.
fn painted_once(output: &Output, units: Vec<Unit>, areas: &[Range<u64>]) -> Result<(Vec<Unit>, u64)> {
    let mut painted: BTreeMap<u64, Unit> = BTreeMap::new();
    // Where areas that are shown begin, and how many numbers they take too many.
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    let mut once = Vec::with_capacity(units.len());
    for unit in units {
        let area = areas.get(areas.partition_point(|area| area.end <= unit.range.start));
        match area.filter(|area| area.start < unit.range.end) {
            None => once.push(unit),
            Some(area) => match painted.get_mut(&area.start) {
                Some(known) => known.worth = known.worth.max(unit.worth),
                None => {
                    let bytes = output.read(area.clone())?;
                    let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
                    let above = unit.range.start.saturating_sub(area.start) as usize;
                    let index = unit.index.saturating_sub(lines(&bytes[..above.min(bytes.len())]));
                    taken.insert(index, lines(&bytes).saturating_sub(1));
                    let text = query::ask::visible(&bytes);
                    painted.insert(area.start, Unit { index, range: area.clone(), text, ..unit });
                }
            },
        }
    }
    once.extend(painted.into_values());
    once.sort_by_key(|unit| unit.index);
    let (mut taken, mut before) = (taken.into_iter().peekable(), 0);
    let last = output.lines()?.saturating_sub(1);
    let mut anew = |index: u64| {
        while let Some((_, lines)) = taken.next_if(|(area, _)| *area < index) {
            before += lines;
        }
        index.saturating_sub(before)
    };
    once.iter_mut().for_each(|unit| unit.index = anew(unit.index));
    Ok((once, anew(last)))
}

/// What a page says.
fn page(output: &Output, budget: Budget, wanted: Option<&str>) -> Result<View> {
    let page = rendering::page::text(&output.read(0..output.len())?);
    let units = match wanted {
        Some(wanted) => query::ask::asked_page(output, &page, wanted)?,
        None => query::ask::unasked_page(&page),
    };
    let last = (page.lines.len() as u64).saturating_sub(1);
    let choice = Choice { units, last: Some(last), marker: 0, reads_on: wanted.is_none(), hole: 0 };
    chosen(output, budget, choice, |shown| Ok(View::showing(output, shown, wording(budget))?.on_page()))
}

/// The view of what is chosen, as `showing` shows it.
fn chosen(
    output: &Output,
    budget: Budget,
    choice: Choice,
    showing: impl Fn(&[Range<u64>]) -> Result<View>,
) -> Result<View> {
    let frame = |shown: &[&Unit]| -> Result<View> { Ok(frame_of(showing(&ranges(shown))?, output, budget)) };
    let choice = Choice { marker: marker(output, wording(budget)), ..choice };
    let shown = choice.choose(budget, |shown| {
        let text = frame(shown)?.print(output)?;
        Ok((tokens::count_bytes(&text), budget.holds(&text)))
    })?;
    match shown.is_empty() {
        true => top_and_bottom(output, budget),
        false => frame(&shown.iter().collect::<Vec<_>>()),
    }
}

/// How markers are worded: in a small view the call is said once.
fn wording(budget: Budget) -> Wording {
    if budget.tokens < ROOMY { Wording::Ranges } else { Wording::Commands }
}

/// What a marker costs, about.
fn marker(output: &Output, wording: Wording) -> u64 {
    let middle = output.record().size.lines / 2 + 1;
    tokens::count(&match wording {
        Wording::Ranges => format!("[… {middle}:{}]\n", middle * 2),
        _ => {
            let call = output.call(&Query::Lines(vec![middle..=middle * 2]));
            format!("[… {} lines omitted: {call}]\n", print::grouped(middle))
        }
    })
}

/// A view with what is said around it.
fn frame_of(view: View, output: &Output, budget: Budget) -> View {
    let canvas = view.pieces().iter().find_map(Piece::canvas);
    let named =
        view.pieces().iter().any(|piece| matches!(piece, Piece::Omitted { .. } | Piece::Digest { .. }));
    view.framed(opening(output, budget, canvas, named), closing(output, budget))
}

/// The beginning and the end of an output: all that is left of one that could not be kept.
pub(crate) fn top_and_bottom(output: &Output, budget: Budget) -> Result<View> {
    let enough = (budget.tokens * 6).min(budget.bytes).max(1_024);
    let lost = output.lost();
    let kept = |units: Vec<units::Unit>| -> Vec<Range<u64>> {
        let whole = |range: &Range<u64>| range.end <= lost.start || range.start >= lost.end;
        units.into_iter().map(|unit| unit.range).filter(whole).collect()
    };
    let head = kept(units::first(output, enough.min(lost.start))?);
    let behind = if lost.is_empty() { output.len() } else { output.len() - lost.end };
    let tail = kept(units::last(output, enough.min(behind))?);
    fit(output, budget, &in_turn(head, tail))
}

/// The order in which units are taken in: the very end and the very beginning, then three of the end and one of the beginning
/// in turn.
fn in_turn(head: Vec<Range<u64>>, tail: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let (mut head, mut tail) = (head.into_iter(), tail.into_iter());
    let mut order: Vec<Range<u64>> = tail.by_ref().take(1).chain(head.by_ref().take(1)).collect();
    loop {
        let before = order.len();
        order.extend(tail.by_ref().take(3).chain(head.by_ref().take(1)));
        if order.len() == before {
            return order;
        }
    }
}

/// Takes in as many as fit: the longest beginning of `order` whose printed view holds the budget.
fn fit(output: &Output, budget: Budget, order: &[Range<u64>]) -> Result<View> {
    let view = |count: usize| -> Result<View> {
        let view = View::showing(output, &joined(output, order[..count].to_vec())?, wording(budget))?;
        Ok(frame_of(view, output, budget))
    };
    let (mut low, mut high) = (0, order.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        match budget.holds(&view(middle)?.print(output)?) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    // One more unit may close a gap and so cost less than it adds: the search may end a little too high or low,
    // and too high must not be.
    while low > 0 && !budget.holds(&view(low)?.print(output)?) {
        low -= 1;
    }
    if low == 0 && !budget.holds(&view(0)?.print(output)?) {
        // Not even the frame fits. One line must do, and it names the handle.
        return View::showing(output, &[], Wording::Commands);
    }
    view(low)
}

/// The same ranges in order, with gaps closed that are not worth a marker.
fn joined(output: &Output, mut ranges: Vec<Range<u64>>) -> Result<Vec<Range<u64>>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    let lost = output.lost();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(last) if range.start - last.end < NOT_WORTH_A_MARKER => {
                let gap = last.end..range.start;
                let overwritten = memchr::memchr(b'\r', &output.read(gap.clone())?).is_some();
                let is_lost = gap.start < lost.end && lost.start < gap.end;
                match overwritten || is_lost {
                    true => joined.push(range),
                    false => last.end = range.end,
                }
            }
            _ => joined.push(range),
        }
    }
    Ok(joined)
}

/// One line that says what this is and how it ended. In a small view the handle stands where a marker names it, if one does.
fn opening(output: &Output, budget: Budget, canvas: Option<Canvas>, named: bool) -> String {
    let record = output.record();
    let size = record.size;
    let exit = record.exit.map_or(String::new(), |exit| format!(", {exit}"));
    let roomy = budget.tokens >= ROOMY;
    let state = match (&record.lost, &record.state) {
        (Some(lost), _) => {
            format!("; only {} bytes could be kept: {}", print::grouped(record.kept()), lost.why)
        }
        (None, State::CutShort(why)) => {
            format!("; cut short: {why}; what came is kept as {}", record.handle.short())
        }
        (None, State::Growing) => format!("; still growing, kept as {}", record.handle.short()),
        (None, State::Complete) if named && !roomy => String::new(),
        (None, State::Complete) => format!("; kept whole as {}", record.handle.short()),
    };
    let name = if roomy { "forebay view" } else { "view" };
    let (lines, bytes) = (print::count("line", size.lines), print::count("byte", size.bytes));
    let size = match budget.tokens < TIGHT && record.lost.is_none() {
        // What is not text has no lines to speak of.
        _ if record.kind == Kind::Binary => bytes,
        true if size.bytes <= size.lines * LONG_LINES => lines,
        _ => format!("{lines}, {bytes}"),
    };
    let shown = canvas.map_or(String::new(), |canvas| format!(" as {canvas} shows them"));
    format!("[{name} of {size}{shown}{exit}{state}]\n")
}

/// One line that says how to look further, where there is room for it.
fn closing(output: &Output, budget: Budget) -> String {
    let record = output.record();
    if record.lost.is_some() || budget.tokens < ROOMY {
        return String::new();
    }
    let search = match record.kind {
        Kind::Binary => String::new(),
        _ => format!("[search: {}", output.call(&Query::Grep(Grep::new("PATTERN")))),
    };
    match (output.path(), search.is_empty()) {
        (Some(path), false) => format!("{search} · file: {}]\n", path.display()),
        (Some(path), true) => format!("[file: {}]\n", path.display()),
        (None, false) => format!("{search}]\n"),
        (None, true) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn settings(tokens: u64) -> Settings {
        let mut settings = Settings::default();
        settings.digest.budget = Budget { tokens, bytes: tokens * 8, lines: None };
        settings
    }

    fn check(text: &[u8], tokens: u64, expected: Expect) {
        let output = output_of(text);
        let shown = fold(&output, &settings(tokens)).unwrap().print(&output).unwrap();
        expected.assert_eq(&String::from_utf8_lossy(&shown));
        assert!(settings(tokens).digest.budget.holds(&shown));
    }

    #[test]
    fn the_error_in_the_middle_is_shown_with_its_context() {
        let mut lines: Vec<String> =
            (1..=400).map(|line| format!("compiling unit number {line}\n")).collect();
        lines[200] = "error[E0308]: mismatched types\n".into();
        lines[201] = "  --> src/main.rs:2:5\n".into();
        check(
            lines.concat().as_bytes(),
            260,
            expect![[r#"
                [view of 400 lines]
                [… forebay read s/id1234 --lines 1:198]
                compiling unit number 199
                compiling unit number 200
                error[E0308]: mismatched types
                  --> src/main.rs:2:5
                compiling unit number 203
                compiling unit number 204
                compiling unit number 205
                [… 206:375]
                compiling unit number 376
                compiling unit number 377
                compiling unit number 378
                compiling unit number 379
                compiling unit number 380
                compiling unit number 381
                compiling unit number 382
                compiling unit number 383
                compiling unit number 384
                compiling unit number 385
                compiling unit number 386
                compiling unit number 387
                compiling unit number 388
                compiling unit number 389
                compiling unit number 390
                compiling unit number 391
                compiling unit number 392
                compiling unit number 393
                compiling unit number 394
                compiling unit number 395
                compiling unit number 396
                compiling unit number 397
                compiling unit number 398
                compiling unit number 399
                compiling unit number 400
            "#]],
        );
    }

    #[test]
    fn of_a_progress_bar_only_what_a_person_would_have_seen_is_shown() {
        let bar: String = (0..2_000).map(|step| format!("{step} of 2000\r")).collect();
        check(
            format!("start\n{bar}all done\n").as_bytes(),
            200,
            expect![[r#"
                [view of 2 lines, 24,905 bytes as a screen shows them; kept whole as s/id1234]
                start
                all done
            "#]],
        );
    }

    #[test]
    fn units_behind_an_area_that_was_painted_again_have_the_next_numbers() {
        let text = "one\nbase: 1%\nbase: 2%\nbase: 3%\ntwo\nthree\n";
        let output = output_of(text.as_bytes());
        let mut start = 0;
        let unit = |(index, line): (usize, &str)| {
            let range = start..start + line.len() as u64;
            start = range.end;
            Unit { index: index as u64, range, text: line.to_owned(), worth: index as f32 }
        };
        let units: Vec<Unit> = text.split_inclusive('\n').enumerate().map(unit).collect();
        let (units, last) = painted_once(&output, units, &[4..31]).unwrap();
        let numbers: Vec<(u64, f32)> = units.iter().map(|unit| (unit.index, unit.worth)).collect();
        assert_eq!(numbers, [(0, 0.0), (1, 3.0), (2, 4.0), (3, 5.0)]);
        assert_eq!(last, 3);
    }

    #[test]
    fn of_errors_that_are_about_as_grave_the_first_is_shown() {
        let error = |n: u64| format!("ERROR: part {n} cannot be loaded\n{}", "it goes on\n".repeat(9));
        let before: String = (0..2_000).map(|n| format!("step {n} is done\n")).collect();
        let text = before + &(0..8).map(error).collect::<String>();
        let output = output_of(text.as_bytes());
        let shown = fold(&output, &settings(120)).unwrap().print(&output).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("part 0 "), "{shown}");
    }

    #[test]
    fn of_what_is_painted_again_only_what_is_left_on_the_screen_is_shown() {
        let layers = ["base", "tools", "app"];
        let area = |done: u64| -> String {
            layers.iter().map(|layer| format!("\x1b[2K{layer}: {done}%\n")).collect::<String>() + "\x1b[3A"
        };
        let pull: String = (0..=100).map(area).collect();
        let text = format!("pulling\n{pull}\x1b[3Bpulled\n");
        check(
            text.as_bytes(),
            200,
            expect![[r#"
            [view of 305 lines as a screen shows them; kept whole as s/id1234]
            pulling
            base: 100%
            tools: 100%
            app: 100%
            pulled
        "#]],
        );
        let noise: String = (0..400).map(|line| format!("step {line} is done\n")).collect();
        let text = format!("{noise}{text}{noise}error: it is gone\n");
        let output = output_of(text.as_bytes());
        let view = fold(&output, &settings(300)).unwrap();
        assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
        let shown = String::from_utf8(view.print(&output).unwrap()).unwrap();
        assert!(!shown.contains("50%"), "{shown}");
    }

    #[test]
    fn a_line_with_returns_is_shown_as_it_ended_or_not_at_all() {
        let bar: String = (0..900).map(|step| format!("{step} of 900 parts are here\r")).collect();
        let noise: String = (0..60).map(|line| format!("step {line} is done\n")).collect();
        let text = format!("start\n{bar}all done\n{noise}");
        let output = output_of(text.as_bytes());
        for tokens in [90, 120, 150, 200] {
            let view = fold(&output, &settings(tokens)).unwrap();
            let shown = String::from_utf8(view.print(&output).unwrap()).unwrap();
            assert!(!shown.contains("of 900 parts"), "{shown}");
        }
    }

    #[test]
    fn what_was_painted_at_length_leaves_its_room_to_what_matters() {
        let noise: String = (0..300).map(|line| format!("step {line} is done\n")).collect();
        // An area that no view of this size has room for, with the worst word in it.
        let words = |n: u64| -> String { (0..60).map(|word| format!(" part{}", word * n)).collect() };
        let area: String = (0..40).map(|n| format!("fatal: {n}{}\n", words(n))).collect();
        let cause =
            "1) it adds\nFailed asserting that 2 is 3.\n\n2) it subtracts\nFailed asserting that 1 is 0.\n";
        let text = format!("{noise}{area}\x1b[40A{area}{noise}There were 2 failures:\n\n{cause}{noise}");
        let output = output_of(text.as_bytes());
        let view = fold(&output, &settings(500)).unwrap();
        assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
        let shown = String::from_utf8(view.print(&output).unwrap()).unwrap();
        assert!(shown.contains(cause), "{shown}");
    }

    #[test]
    fn the_smaller_a_view_the_fewer_gaps_it_has() {
        // Each line is like no other: what is rare among much that is alike would stand alone.
        let letters = |line: u32| -> String {
            (0..4).map(|place| char::from(b'a' + (line / 8_u32.pow(place) % 8) as u8)).collect()
        };
        let mut lines: Vec<String> =
            (0..4_000).map(|line| format!("step {} is done as it should be\n", letters(line))).collect();
        for (at, word) in
            ["error", "missing", "unknown", "expected", "broken", "refused", "mismatch"].iter().enumerate()
        {
            lines[500 * (at + 1)] = format!("the part {word} here\n");
        }
        let output = output_of(lines.concat().as_bytes());
        let gaps = |tokens: u64| {
            let view = fold(&output, &settings(tokens)).unwrap();
            view.pieces().iter().filter(|piece| matches!(piece, Piece::Omitted { .. })).count()
        };
        assert!(gaps(250) < gaps(1_000), "{} {}", gaps(250), gaps(1_000));
    }

    #[test]
    fn one_giant_line_is_shown_from_both_ends() {
        let text = format!("[{}]", "{\"key\": \"value\"}, ".repeat(100_000));
        let output = output_of(text.as_bytes());
        let view = fold(&output, &settings(500)).unwrap();
        assert!(matches!(view.pieces().first(), Some(Piece::Verbatim(range)) if range.end > 250));
        assert!(
            matches!(view.pieces().last(), Some(Piece::Verbatim(range)) if range.end - range.start > 250)
        );
        assert!(settings(500).digest.budget.holds(&view.print(&output).unwrap()));
    }

    #[test]
    fn bytes_that_are_not_text_are_named_and_not_shown() {
        check(
            &[0; 5_000],
            200,
            expect![[r#"
                [view of 5,000 bytes]
                [5,000 bytes that are not text: forebay cat s/id1234]
            "#]],
        );
    }

    #[test]
    fn a_limit_that_lets_nothing_pass_does_not_make_the_view_empty() {
        let text: String = (0..900).map(|line| format!("line {line} of the output\n")).collect();
        let output = output_of(text.as_bytes());
        for limit in [0, 1, 63] {
            let settings = {
                let mut settings = settings(300);
                settings.digest.tokens = limit;
                settings
            };
            let view = fold(&output, &settings).unwrap().print(&output).unwrap();
            assert!(tokens::count_bytes(&view) > 200, "{}", String::from_utf8_lossy(&view));
        }
    }

    #[test]
    fn a_budget_too_small_for_anything_leaves_one_line_with_the_handle() {
        let table = "id,state\n".to_owned() + &"1,paid\n".repeat(900);
        let log = "step\n".repeat(900) + "error: it broke\n";
        let page = "<html><body><p>words</p>".to_owned() + &"<p>more words</p>\n".repeat(900);
        let json = format!("[{}1]", "{\"a\": 1}, ".repeat(900));
        for text in [table, log, page, json, "a/b.rs\n".repeat(900)] {
            let output = output_of(text.as_bytes());
            for tokens in [0, 1, 10] {
                let view = fold(&output, &settings(tokens)).unwrap();
                assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
                let shown = String::from_utf8(view.print(&output).unwrap()).unwrap();
                assert!(shown.contains("s/id1234") && shown.lines().count() == 1, "{shown}");
            }
        }
    }

    /// The gallery: real outputs, and what a model is shown of each in 500 tokens.
    #[test]
    fn the_gallery_shows_the_views_of_real_outputs() {
        let testdata = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");
        let kept =
            ["cargo-build-error.log", "cargo-test-failing.log"].map(|name| format!("{testdata}/{name}"));
        let made = std::fs::read_dir(format!("{testdata}/gallery")).unwrap();
        let mut files: Vec<String> =
            made.map(|entry| entry.unwrap().path().display().to_string()).chain(kept).collect();
        files.retain(|file| !file.ends_with("README.md"));
        files.sort_by_key(|file| file.rsplit('/').next().unwrap().to_owned());
        let mut page = "# Gallery\n\nWhat a model is shown of real outputs in 500 tokens. A test makes this page, and proves every view on it; \
            `testdata/gallery/README.md` says where the outputs come from.\n"
            .to_owned();
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let output = output_of(&bytes);
            let view = fold(&output, &settings(500)).unwrap();
            let text = view.print(&output).unwrap();
            let name = file.rsplit('/').next().unwrap();
            assert_eq!(crate::verify(&view, &output).unwrap(), vec![], "{name}");
            assert!(settings(500).digest.budget.holds(&text), "{name}");
            assert!(text.len() < bytes.len(), "{name}");
            let all = tokens::count_bytes(&bytes);
            page += &format!(
                "\n## {name}\n\n{} tokens, shown in {}.\n\n````\n{}````\n",
                print::grouped(all),
                tokens::count_bytes(&text),
                // A page of Markdown has one kind of line end.
                String::from_utf8_lossy(&text).replace("\r\n", "\n").trim_end().to_owned() + "\n"
            );
        }
        expect_test::expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gallery.md")]
            .assert_eq(&page);
    }

    fn view_of(call: &crate::Call, bytes: &[u8], tokens: u64) -> String {
        let output = crate::store::memory::output_of_call(call, bytes);
        let view = fold(&output, &settings(tokens)).unwrap();
        assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
        String::from_utf8(view.print(&output).unwrap()).unwrap()
    }

    fn called(command: &str) -> crate::Call {
        crate::Call {
            args: Some(serde_json::json!({ "command": command }).to_string()),
            ..crate::Call::new(crate::Session::safe("s"), "id1234", "run", jiff::Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn a_run_is_known_by_what_it_tells_whatever_it_looks_like() {
        let many = |line: &str| -> String { (0..300).map(|n| line.replace('#', &n.to_string())).collect() };
        let table = [
            // Like a list.
            ("src/module_#.ts\n", "src/a.go:5:2: cannot use x as y\n"),
            // Like a program.
            (
                "INSERT INTO account VALUES (#, 'user#@example.org');\n",
                "psql:m.sql:255: ERROR:  it is null\n",
            ),
            ("mkdir -p $WORK/b#/\ncat >$WORK/b#/cfg << 'EOF'\nEOF\n", "a.go:5:2: undefined: Repo\n"),
            // Like a text.
            ("step # goes on\n", "Exception in thread \"main\" java.lang.StackOverflowError\n"),
        ];
        for (line, told) in table {
            let text = many(line) + told + &many(line);
            let shown = view_of(&called("make"), text.as_bytes(), 200);
            assert!(shown.contains(told.trim_end()), "{shown}");
        }
        // Like a document, which may speak of errors; but it does not end with them.
        let long = many(&format!("c++ -c part_#.cc {}\n", "-DA_LONG_DEFINITION=1 ".repeat(9)));
        let shown = view_of(&called("make"), format!("{long}ERROR: it is gone\nstopped\n").as_bytes(), 200);
        assert!(shown.contains("ERROR: it is gone"), "{shown}");
    }

    #[test]
    fn what_was_written_to_be_read_is_shown_from_its_beginning() {
        let option = |n: u32| match n {
            200 => "       Where it cannot go on, it ends with a fatal error.\n".to_owned(),
            _ => format!("       --option-{n}  Shows the way of another kind.\n"),
        };
        let page = "GUIDE(1)\n\nNAME\n       guide - shows the way\n\n".to_owned()
            + &(0..300).map(option).collect::<String>()
            + "SEE ALSO\n       map(1)\n";
        for (command, is_read) in [
            ("man guide", true),
            ("cat doc/guide.txt", true),
            ("guide --help", true),
            ("cat guide.log", false),
        ] {
            let shown = view_of(&called(command), page.as_bytes(), 200);
            assert_eq!(shown.contains("a fatal error"), !is_read, "{command}: {shown}");
            assert!(!is_read || shown.contains("GUIDE(1)\n"), "{command}: {shown}");
        }
        let failed = page + "guide: error: it is gone\n";
        let shown = view_of(&called("man guide"), failed.as_bytes(), 200);
        assert!(shown.contains("a fatal error") && shown.contains("it is gone"), "{shown}");
    }

    #[test]
    fn troubles_of_a_service_come_first_with_what_belongs_to_them() {
        let entry = |n: u32| {
            format!("2024-05-01 12:{:02}:{:02} INFO request {n} was answered in {n} ms\n", n / 60, n % 60)
        };
        let mut text: String = (0..20).map(entry).collect();
        text += "2024-05-01 12:00:20 ERROR deadlock detected\n2024-05-01 12:00:20 DETAIL one waits for two\n";
        text += "2024-05-01 12:00:20 ERROR and two waits for one\n";
        text += &(20..900).map(entry).collect::<String>();
        for tokens in [250, 500, 1_000] {
            let shown = view_of(&called("serve"), text.as_bytes(), tokens);
            let trouble = "ERROR deadlock detected\n2024-05-01 12:00:20 DETAIL one waits for two\n2024-05-01 12:00:20 ERROR and two";
            assert!(shown.contains(trouble), "{shown}");
            assert!(shown.contains("× 900 in 1–903: "), "{shown}");
        }
    }

    #[test]
    fn what_is_wanted_is_shown_beside_what_went_wrong() {
        let mut lines: Vec<String> =
            (0..900).map(|n| format!("10:00:{:02} INFO step {n} done\n", n % 60)).collect();
        lines[300] = "10:00:30 INFO the database listens on port 5433\n".to_owned();
        for at in 1..20 {
            lines[300 + at] = format!("10:00:31 INFO the cache {} is warm\n", "x".repeat(at));
        }
        lines[700] = "10:00:40 ERROR the disk is full\n".to_owned();
        let call = crate::Call::new(crate::Session::safe("s"), "id1234", "run", jiff::Timestamp::UNIX_EPOCH);
        let text = lines.concat();
        let plain = view_of(&call, text.as_bytes(), 250);
        assert!(plain.contains("the disk is full") && !plain.contains("port 5433"), "{plain}");
        let asking = crate::Call { intent: Some("which port does the database use?".to_owned()), ..call };
        let wanted = view_of(&asking, text.as_bytes(), 250);
        assert!(wanted.contains("the disk is full") && wanted.contains("port 5433"), "{wanted}");
    }

    #[test]
    fn a_call_made_again_tells_what_changed_and_hides_no_failure_that_persists() {
        use crate::{Call, MemoryStore, Session, Timestamp, keep};
        let store = MemoryStore::default();
        let run = |id: &str, failures: &[&str]| {
            let mut text: String = (0..300).map(|n| format!("test case_{n} ... ok\n")).collect();
            failures
                .iter()
                .for_each(|name| text += &format!("test {name} ... FAILED: assertion of {name}\n"));
            let call = Call {
                args: Some("{\"command\": \"cargo test\"}".to_owned()),
                ..Call::new(Session::safe("s"), id, "run", Timestamp::UNIX_EPOCH)
            };
            let output = keep(&store, &call, &mut text.as_bytes(), || Timestamp::UNIX_EPOCH).unwrap();
            let view = fold(&output, &settings(400)).unwrap();
            assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
            String::from_utf8(view.print(&output).unwrap()).unwrap()
        };
        let first = run("first1", &["parses", "prints"]);
        assert!(!first.contains("since"), "{first}");
        let second = run("second", &["parses", "reads"]);
        assert!(second.contains("[since s/first1, the same call: 1 of 302 lines new, 1 gone; of those that speak of errors 1 new, 1 as before, 1 gone: test prints"), "{second}");
        assert!(
            second.contains("FAILED: assertion of parses") && second.contains("FAILED: assertion of reads"),
            "{second}"
        );
    }

    #[test]
    fn hostile_outputs_are_folded_with_bounded_work() {
        let giant = "error abc ".repeat(600_000);
        let words: String = (0u64..120_000)
            .map(|n| {
                format!("{} failed\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).replace(['1', '3', '5'], "x")
            })
            .collect();
        let deep = "[".repeat(9_000) + &"]".repeat(9_000);
        for text in [giant, words, deep] {
            let output = output_of(text.as_bytes());
            let view = fold(&output, &settings(300)).unwrap();
            assert!(settings(300).digest.budget.holds(&view.print(&output).unwrap()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_view_is_true_and_within_its_budget(
            parts in proptest::collection::vec(prop_oneof![
                Just(b"plain words here\n".to_vec()), Just(b"error: it broke\n".to_vec()), Just(b"50%\r".to_vec()),
                Just(vec![b'x'; 3_000]), Just(b"{\"a\": [1, \"b\"]}\n".to_vec()), Just(b"\x1b[31mred\x1b[0m\n".to_vec()),
                Just(b"<html><body><p>some words of a page</p>\n".to_vec()), Just(b"a/b.rs:12: fn c()\n".to_vec()),
                Just(b"@@ -1,2 +1,3 @@\n+new\n".to_vec()), Just(b"  File \"a.py\", line 3\n".to_vec()), Just("漢字🎉".repeat(50).into_bytes()), Just(b"\n\n".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..60),
            ], 0..60),
            tokens in 90u64..800,
        ) {
            let output = output_of(&parts.concat());
            let view = fold(&output, &settings(tokens)).unwrap();
            let text = view.print(&output).unwrap();
            prop_assert!(settings(tokens).digest.budget.holds(&text));
            let again = fold(&output, &settings(tokens)).unwrap().print(&output).unwrap();
            prop_assert_eq!(&text, &again);
            prop_assert_eq!(crate::verify(&view, &output).unwrap(), vec![]);
        }
    }
}
