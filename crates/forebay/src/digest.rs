//! The default preset: what matters in an output, chosen under the budget, in order.
//!
//! What a run tells is ranked by the engine that also answers questions, and whole passages are chosen. Pages are read as
//! their text. Everything else has a structure: its beginning and its end are shown, and what lies between is outlined.

pub(crate) mod binary;
pub(crate) mod changes;
pub(crate) mod conflicts;
pub(crate) mod ends;
pub(crate) mod findings;
pub(crate) mod folders;
pub(crate) mod formatting;
pub(crate) mod json_paths;
pub(crate) mod outline_items;
pub(crate) mod rerun;
pub(crate) mod sections;
pub(crate) mod states;
pub(crate) mod structure;
pub(crate) mod templates;
pub(crate) mod threads;
pub(crate) mod totals;

use crate::classify::form;
use crate::classify::form::Form;
use crate::classify::source;
use crate::digest::conflicts::Conflicts;
use crate::digest::rerun::Again;
use crate::formats::verdict;
use crate::rank::Reached;
use crate::rank::choose::{Choice, ranges};
use crate::rank::passage::Unit;
use crate::rank::score::Trouble;
use crate::text::{count, failure_scan, html};
use crate::view::print::marker_tokens;
use crate::view::{Canvas, Piece, Summary, View, Wording, repainted, units};
use crate::{Budget, Grep, Kind, Output, Query, Result, Settings, State, rank, terminal, tokens};
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

/// A view so many times as large as the one of the same bytes before it shows something new.
const MORE: f64 = 1.5;

/// A larger output is not read whole to see whether it is of a kind that few are of.
const READ: u64 = 8 * 1024 * 1024;

/// A gap of fewer bytes than this costs more to mark than to show.
const NOT_WORTH_A_MARKER: u64 = 100;

/// The best of an output that fits the budget.
pub(crate) fn fold(output: &Output, settings: &Settings) -> Result<View> {
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

/// What is shown of bytes of which the model was given something before: that they are the same, unless a view of this size
/// shows more.
fn as_before(output: &Output, budget: Budget) -> Result<Option<View>> {
    let Some(given) = output.given_before() else { return Ok(None) };
    let as_much = (given.tokens as f64 * MORE) as u64;
    if budget.tokens > as_much {
        let view = parts(output, budget, None)?;
        if tokens::count_bytes(&view.print(output)?) > as_much {
            return Ok(Some(view));
        }
    }
    let record = output.record();
    let (lines, bytes) = (count::count("line", record.size.lines), count::count("byte", record.size.bytes));
    let exit = record.exit.map_or(String::new(), |exit| format!(", {exit}"));
    let short = given.handle.short();
    let text = match given.same_call {
        true => format!("nothing changed since {short}: the same {lines}, {bytes}{exit}"),
        false => format!("the same bytes as {short} of another call: {lines}, {bytes}{exit}"),
    };
    View::summarized(output, Summary::stated(&text)).map(Some)
}

/// What stands out of an output, whatever changed since it was there before.
pub(crate) fn standing_out(output: &Output, budget: Budget) -> Result<View> {
    parts(output, budget, None)
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
    let (wanted, beside) = match call.wanted() {
        Some(wanted) => match rank::reached(output, &wanted, budget)? {
            Reached::Nothing => (None, Vec::new()),
            Reached::Beside(ranges) => (Some(wanted), ranges),
            Reached::Words => (Some(wanted), Vec::new()),
        },
        None => (None, Vec::new()),
    };
    let beside = &beside[..];
    let intent = call.intent.clone().filter(|intent| wanted.as_ref() == Some(intent));
    // What is wanted alone leaves no room for what else an output is.
    let is_all = wanted.is_some() && beside.is_empty();
    let form = match form::form(output)? {
        // Runs of tests print paths too.
        Form::Matches | Form::Listing | Form::Table if ends_badly(output)? => Form::TestRun,
        // Changes are named after what they mend.
        Form::Log | Form::TestRun if form::is_changes(output)? => Form::Text,
        form => form,
    };
    if matches!(form, Form::Code(_) | Form::Text | Form::Markdown | Form::Rst | Form::Html | Form::Json)
        && !is_all
        && let Some(conflicts) = Conflicts::of(output)?
        && !fails(output, form)?
    {
        return structure::conflicts(output, form, budget, (&conflicts, beside));
    }
    // The calls of a dump look like a program.
    if matches!(form, Form::Code(_) | Form::Matches | Form::TestRun | Form::Text | Form::Log)
        && !is_all
        && let Some(view) = structure::threads(output, budget, beside)?
    {
        return Ok(view);
    }
    if matches!(form, Form::Matches | Form::TestRun | Form::Text | Form::Log) && !is_all {
        if let Some(view) = structure::findings(output, budget, beside)? {
            return Ok(view);
        }
        if form == Form::Text
            && !ends_badly(output)?
            && let Some(view) = structure::sections(output, budget, beside)?
        {
            return Ok(view);
        }
    }
    match (form, wanted) {
        (Form::Binary, _) => {
            let summary = binary::summary(output, budget.tokens)?;
            let view = frame_of(View::summarized(output, summary)?, output, budget)?;
            // What is in it may be too much to say.
            match budget.holds(&view.print(output)?) {
                true => Ok(view),
                false => frame_of(View::summarized(output, binary::summary(output, 0)?)?, output, budget),
            }
        }
        (Form::Html, wanted) if output.len() <= rank::READ_WHOLE => page(output, budget, wanted.as_deref()),
        (Form::Diff | Form::Json | Form::Matches | Form::Html, _) => match intent {
            Some(intent) if is_all => run(output, budget, rank::asked(output, &intent)?),
            _ => structure::fold(output, form, budget, beside),
        },
        (Form::Log, wanted) if !is_all && form::is_entries(output)? => {
            match structure::entries(output, budget, beside, weighed)? {
                Some(view) => Ok(view),
                None => told(output, form, budget, (wanted, beside), weighed),
            }
        }
        (Form::Log | Form::TestRun | Form::Text, wanted) => {
            told(output, form, budget, (wanted, beside), weighed)
        }
        // What a command names are tests, and only a run tells of those.
        _ => told(output, form, budget, (intent, beside), weighed),
    }
}

/// What is shown of an output that may tell how something ran: what went wrong, if that is told, and what is wanted.
fn told(
    output: &Output,
    form: Form,
    budget: Budget,
    (wanted, beside): (Option<String>, &[Range<u64>]),
    weighed: impl Fn(Vec<Unit>) -> Vec<Unit>,
) -> Result<View> {
    let (units, trouble) = rank::unasked(output)?;
    let went_wrong = trouble.most >= TROUBLE && is_run(output, form, &units, &trouble)?;
    let tells = went_wrong || form == Form::TestRun;
    let is_run = tells || matches!(form, Form::Log | Form::Text);
    match wanted {
        Some(wanted) if is_run && (tells || beside.is_empty()) => {
            run(output, budget, weighed(joined_units(units, rank::asked(output, &wanted)?)))
        }
        Some(wanted) if beside.is_empty() => run(output, budget, weighed(rank::asked(output, &wanted)?)),
        None if tells => run(output, budget, weighed(units)),
        _ if form == Form::Text && is_document(output)? => structure::document(output, budget, beside),
        _ => structure::fold(output, form, budget, beside),
    }
}

/// Whether a text is read from its beginning: prose, a history, or a dump of SQL. A single line is none of these.
fn is_document(output: &Output) -> Result<bool> {
    Ok(output.record().size.lines > 1
        && (rank::is_prose(output)? || form::is_history(output)? || form::is_sql(output)?))
}

/// So many of the best units tell whether there was a failure.
const TELLING: usize = 30;

/// Whether an output that speaks of trouble tells how something ran. What was written to be read speaks of errors that
/// may happen, but it does not end with one; and a run may print what looks like a program, a list or a document.
fn is_run(output: &Output, form: Form, units: &[Unit], trouble: &Trouble) -> Result<bool> {
    let record = output.record();
    let failed = exited_badly(output);
    let told = || begins_by_telling(units);
    Ok(match form {
        Form::Log | Form::TestRun => true,
        _ if record.call.reads() => form == Form::Text && (failed || trouble.verdict || ends_badly(output)?),
        Form::Text if form::is_sql(output)? => {
            let end = output.read(output.len().saturating_sub(LAST)..output.len())?;
            let is_statement = end.trim_ascii_end().ends_with(b";");
            told() || failed || !is_statement && ends_badly(output)?
        }
        Form::Text if !is_document(output)? => true,
        Form::Text | Form::Markdown | Form::Rst => told() && (failed || trouble.late),
        _ => told(),
    })
}

/// Whether one of the best units begins by telling of a failure.
fn begins_by_telling(units: &[Unit]) -> bool {
    units.iter().take(TELLING).any(|unit| verdict::is_told(unit.text.as_bytes()))
}

/// Whether what made an output says that it failed.
fn exited_badly(output: &Output) -> bool {
    output.record().exit.is_some_and(|exit| exit.status() != 0)
}

/// Whether an output in which versions are in conflict tells of a failure besides. A file that is read speaks of errors that
/// may happen, and so does the end of a program.
fn fails(output: &Output, form: Form) -> Result<bool> {
    if exited_badly(output) || output.record().call.reads() {
        return Ok(exited_badly(output));
    }
    let (units, trouble) = rank::unasked(output)?;
    let ended = || Ok(form == Form::Text && ends_badly(output)?);
    Ok(trouble.most >= TROUBLE && (trouble.verdict || begins_by_telling(&units) || ended()?))
}

/// Outputs of a few bytes more than this are not painted whole to see whether they then fit.
const PAINTED: u64 = 1024 * 1024;

/// All of an output that was painted again and again, if what is left on the screen fits.
fn on_one_screen(output: &Output, budget: Budget) -> Result<Option<View>> {
    if output.len() > PAINTED || repainted::areas(output)?.is_empty() {
        return Ok(None);
    }
    let whole = View::showing(output, &[0..output.len()], wording(budget))?.on_screen(output)?;
    let view = frame_of(whole, output, budget)?;
    Ok(budget.holds(&view.print(output)?).then_some(view))
}

/// Whether the last lines tell of errors, and are none of a list.
fn ends_badly(output: &Output) -> Result<bool> {
    let from = output.line_start_near(output.len().saturating_sub(LAST), LAST)?;
    let end = output.read(from..output.len())?;
    let mut scanner = failure_scan::Scanner::default();
    scanner.update(&end);
    let mut last =
        end.split(|&byte| byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty()).take(3);
    let spoken = scanner.finish();
    let speaks = |line: &[u8]| {
        let start = line.as_ptr() as usize - end.as_ptr() as usize;
        spoken.iter().any(|&at| (start..start + line.len()).contains(&(at as usize)))
    };
    Ok(last.any(|line| speaks(line) && !source::is_lone(line.trim_ascii())))
}

/// What is wanted counts so much beside the best of what is told anyway.
const WANTED: f32 = 1.2;

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
    let areas = repainted::areas(output)?;
    let (units, last) = painted_once(output, units, &areas)?;
    chosen(output, budget, Choice { units, last: Some(last), marker: 0, reads_on: false, hole: 0 }, |shown| {
        let shown = repainted::widened(shown, &areas);
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
                    let text = terminal::visible(&bytes);
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
    let page = html::text(&output.read(0..output.len())?);
    let units = match wanted {
        Some(wanted) => rank::asked_page(output, &page, wanted)?,
        None => rank::unasked_page(&page),
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
    let frame = |shown: &[&Unit]| -> Result<View> { frame_of(showing(&ranges(shown))?, output, budget) };
    let choice = Choice { marker: marker_tokens(output, wording(budget)), ..choice };
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

/// A view with what is said around it, in which nothing but our markers looks like one.
fn frame_of(view: View, output: &Output, budget: Budget) -> Result<View> {
    let canvas = view.pieces().iter().find_map(Piece::canvas);
    let view = view.quoting(output)?;
    let named =
        view.pieces().iter().any(|piece| matches!(piece, Piece::Omitted { .. } | Piece::Digest { .. }));
    let is_quoted = |piece: &Piece| piece.canvas() == Some(Canvas::Quoted);
    let mut opening = opening(output, budget, canvas, named);
    if view.pieces().iter().any(is_quoted) {
        opening.truncate(opening.len() - "]\n".len());
        opening.push_str("; \\[ is its own text]\n");
    }
    Ok(view.framed(opening, closing(output, budget)))
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
        frame_of(view, output, budget)
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
            format!("; only {} bytes could be kept: {}", count::grouped(record.kept()), lost.why)
        }
        (None, State::CutShort(why)) => {
            format!("; cut short: {why}; what came is kept as {}", record.handle.short())
        }
        (None, State::Growing) => format!("; still growing, kept as {}", record.handle.short()),
        (None, State::Complete) if named && !roomy => String::new(),
        (None, State::Complete) => format!("; kept whole as {}", record.handle.short()),
    };
    let name = if roomy { "forebay view" } else { "view" };
    let (lines, bytes) = (count::count("line", size.lines), count::count("byte", size.bytes));
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
mod tests;
