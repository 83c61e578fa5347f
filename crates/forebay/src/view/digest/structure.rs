//! Outputs that are no record of a run: the beginning and the end as they are, and between them what the rest has in it.

use super::templates::Templates;
use super::{closing, frame_of, opening, wording};
use crate::query::outline::{Item, Outline};
use crate::query::{Form, JsonPath, Shape, outline, shape};
use crate::view::units::{self, Unit};
use crate::view::{Piece, View, Why, count, rendering};
use crate::{Budget, Output, Result, tokens};
use std::ops::Range;

/// How a view is divided.
struct Shares {
    /// What is said of the part that is not shown has no more than this.
    said: f64,
    /// What the beginning has of the rest; the end has what is left.
    head: f64,
}

impl Shares {
    /// Where the part that matters stands, by what an output is.
    fn of(form: Form) -> Shares {
        let (said, head) = match form {
            // What a program needs comes first, and what it does last: the outline tells what lies between.
            Form::Code(_) => (0.12, 0.3),
            // Headings say more of a document than any of its paragraphs but the first.
            Form::Markdown | Form::Rst => (0.35, 0.85),
            // The first changes, and which files have others.
            Form::Diff => (0.15, 1.0),
            Form::Matches => (0.12, 0.9),
            // Listings and tables are alike from end to end.
            Form::Listing => (0.1, 0.35),
            Form::Table => (0.15, 0.6),
            // The shape tells of all records; the first and the last show what they look like.
            Form::Json => (0.15, 0.45),
            // How a run ended stands at its end.
            Form::Log | Form::TestRun => (0.25, 0.2),
            _ => (0.1, 0.8),
        };
        Shares { said, head }
    }
}

/// The view of an output that has a structure.
pub(super) fn fold(output: &Output, form: Form, budget: Budget) -> Result<View> {
    let outline = match form {
        Form::Json | Form::Log => None,
        _ => Some(outline::outline(output)?),
    };
    let shape = match form {
        Form::Json => Some(shape(output)?),
        _ => None,
    };
    let templates = match form {
        Form::Log | Form::Json | Form::Table => Some(Templates::of(output)?),
        _ => None,
    };
    let said = |gap: &Range<u64>, room: u64| match (&outline, &shape, &templates) {
        (Some(outline), ..) => things(output, outline, gap, room),
        (_, Some(shape), _) => Ok(paths(shape, room)),
        (.., Some(templates)) if form == Form::Log => {
            let lines = output.newlines_before(gap.end - 1)? - output.newlines_before(gap.start)? + 1;
            templates.said(output, lines, room)
        }
        _ => Ok(None),
    };
    let mut odd = shape.as_ref().map_or(Vec::new(), odd_places);
    odd.extend(templates.as_ref().map_or(Vec::new(), Templates::rare));
    for place in &mut odd {
        *place = output.line_start_near(*place, LINE)?;
    }
    // The first and the last line are shown anyway.
    let last = output.line_start_near(output.len().saturating_sub(2), LINE)?;
    odd.retain(|&place| place > 0 && place < last);
    odd.sort_unstable();
    odd.dedup();
    between(output, budget, &Shares::of(form), &odd, said)
}

/// So often less is tried.
const STEPS: u32 = 80;

/// A record is shown from the beginning of its line, if that is no further away.
const LINE: u64 = 400;

/// What a marker costs, about; and a place that is shown by itself has two.
const MARKER: u32 = 30;
const ODD: f64 = 30.0;

/// What odd places may have of what is shown.
const ODD_SHARE: f64 = 0.15;

/// The beginning and the end, what is at `odd` places, and in the gap behind the beginning what `said` says of it.
fn between(
    output: &Output,
    budget: Budget,
    shares: &Shares,
    odd: &[u64],
    said: impl Fn(&Range<u64>, u64) -> Result<Option<String>>,
) -> Result<View> {
    let frame = tokens::count(&opening(output, budget, None, true)) + tokens::count(&closing(output, budget));
    let room = budget.tokens.saturating_sub(frame) as f64;
    let enough = (budget.tokens * 6).min(budget.bytes).max(1_024);
    let head = units::first(output, enough)?;
    let tail = units::last(output, enough)?;
    let mut described = room * shares.said;
    let areas = rendering::cursor::areas(output)?;
    // What markers cost and what is said in the end is known when it is printed: less is tried until it fits.
    for step in 0..STEPS {
        let room = room * (1.0 - f64::from(step.max(1) - 1) / f64::from(STEPS));
        let shown_room = room - described;
        let mut shown = Vec::new();
        let mut left = shown_room * ODD_SHARE;
        for &at in odd {
            let near: Vec<Unit> = units::around(output, at, 0, 0)?;
            let cost = part_cost(output, &near)? + ODD;
            if cost <= left {
                left -= cost;
                shown.extend(near.into_iter().map(|unit| unit.range));
            }
        }
        let shown_room = shown_room * (1.0 - ODD_SHARE) + left;
        let first = part(output, &head, shown_room * shares.head)?;
        shown.extend([first.clone(), part(output, &tail, shown_room * (1.0 - shares.head))?]);
        let shown = rendering::cursor::widened(&shown, &areas);
        let mut view = View::showing(output, &shown, wording(budget))?;
        let is_gap = |piece: &&mut Piece| {
            piece.range().start >= first.end && matches!(piece, Piece::Omitted { why: Why::LeftOut, .. })
        };
        if let Some(gap) = view.pieces.iter_mut().find(is_gap) {
            let range = gap.range().clone();
            let text = said(&range, (room * shares.said) as u64)?;
            let cost = text.as_deref().map_or(0.0, |text| tokens::count(text) as f64);
            if step == 0 {
                // What it does not need is for the rest.
                described = cost + f64::from(MARKER);
                continue;
            }
            if let Some(text) = text {
                *gap = Piece::Digest { range, text };
            }
        }
        let view = frame_of(view.on_screen(output)?, output, budget);
        if budget.holds(&view.print(output)?) {
            return Ok(view);
        }
    }
    super::top_and_bottom(output, budget)
}

/// The units that `room` tokens are enough for, as one range; `units` begin at one end of the output. Of a long line,
/// a part of a part.
fn part(output: &Output, units: &[Unit], room: f64) -> Result<Range<u64>> {
    let mut left = room;
    let mut part: Option<Range<u64>> = None;
    for unit in units {
        let cost = part_cost(output, std::slice::from_ref(unit))?;
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

fn part_cost(output: &Output, units: &[Unit]) -> Result<f64> {
    let mut cost = 0.0;
    for unit in units.iter().filter(|unit| !unit.overwritten) {
        cost += tokens::count_bytes(&output.read(unit.range.clone())?) as f64;
    }
    Ok(cost)
}

/// The things of an outline that begin in a gap, the outer ones rather than the first ones.
fn things(output: &Output, outline: &Outline, gap: &Range<u64>, room: u64) -> Result<Option<String>> {
    let lines = output.newlines_before(gap.start)? + 1..=output.newlines_before(gap.end - 1)? + 1;
    let inside: Vec<&Item> = outline.items.iter().filter(|item| lines.contains(&item.line)).collect();
    // The columns of a table all begin with its first line.
    let inside = if inside.is_empty() && outline.form == Form::Table {
        outline.items.iter().collect()
    } else {
        inside
    };
    // The outer things first, then of the next depth as many as fit.
    let deepest = inside.iter().map(|item| item.depth).max().unwrap_or(0);
    let mut chosen: Vec<&Item> = Vec::new();
    for depth in 0..=deepest {
        let next: Vec<&Item> = inside.iter().copied().filter(|item| item.depth == depth).collect();
        let with = |count: usize| {
            let mut with: Vec<&Item> = chosen.iter().chain(&next[..count]).copied().collect();
            with.sort_by_key(|item| (item.line, item.depth));
            with
        };
        let count = fitting(next.len(), |count| tokens::count(&listed(&with(count))) <= room);
        chosen = with(count);
        if count < next.len() {
            break;
        }
    }
    let count = chosen.len();
    if count == 0 {
        return Ok(None);
    }
    let what = match outline.form {
        Form::Code(language) => format!(" of {}", language.name()),
        Form::Text | Form::Log => String::new(),
        Form::Matches => " of search results".to_owned(),
        Form::Markdown | Form::Rst => format!(" of {}", outline.form.name()),
        form => format!(" of a {}", form.name()),
    };
    let listed_of = match inside.len() - count {
        0 => "they have".to_owned(),
        _ => format!("{count} of the {} things in them", crate::view::grouped(inside.len() as u64)),
    };
    let lines = crate::view::count("line", lines.end() - lines.start() + 1);
    Ok(Some(format!("… {lines}{what} omitted, {listed_of}{}", listed(&chosen))))
}

/// Items, a line each; those inside others on the line of these.
fn listed(items: &[&Item]) -> String {
    let mut text = String::new();
    let outermost = items.iter().map(|item| item.depth).min().unwrap_or(0);
    for item in items {
        // The columns of a table begin with its first line, whatever they are.
        let name = match item.kind {
            "column" => item.name.clone(),
            _ => format!("{} {}", item.line, item.name),
        };
        match item.depth > outermost && !text.is_empty() {
            true => text += &format!(" · {}", name.split('(').next().unwrap_or(&name)),
            false => text += &format!("\n{name}"),
        }
    }
    text
}

/// The paths of a JSON output, as many as there is room for.
fn paths(shape: &Shape, room: u64) -> Option<String> {
    let listed = |count: usize| -> String { shape.paths[..count].iter().map(path).collect() };
    let count = fitting(shape.paths.len(), |count| tokens::count(&listed(count)) <= room);
    let more = match (shape.paths.len() - count, shape.more) {
        (0, false) => String::new(),
        (0, true) => ", others deeper or further not listed".to_owned(),
        (more, _) => format!(", {} more paths not listed", crate::view::grouped(more as u64)),
    };
    let documents = match shape.documents {
        1 => "the JSON".to_owned(),
        many => format!("the {}", self::count("JSON document", many)),
    };
    (count > 0).then(|| format!("… omitted; the shape of {documents}{more}{}", listed(count)))
}

/// A path of JSON, with what is found there.
fn path(path: &JsonPath) -> String {
    let types: Vec<&str> = path.types.iter().map(|(name, _)| *name).collect();
    let times =
        if path.count > 1 { format!(" × {}", crate::view::grouped(path.count)) } else { String::new() };
    let values = match (&path.distinct, &path.numbers) {
        (Some(values), _) if !values.is_empty() => {
            let each = |(value, times): &(String, u64)| match times {
                1 => value.clone(),
                _ => format!("{value} × {}", crate::view::grouped(*times)),
            };
            format!(": {}", values.iter().map(each).collect::<Vec<_>>().join(", "))
        }
        (_, Some((least, most))) if least != most => format!(": {least} to {most}"),
        _ => path.examples.first().map_or(String::new(), |example| format!(": {example}")),
    };
    format!("\n{} {}{times}{values}", path.path, types.join(" or "))
}

/// Where records have what hardly any other has: the first of them.
fn odd_places(shape: &Shape) -> Vec<u64> {
    let most = shape.paths.iter().map(|path| path.count).max().unwrap_or(0);
    let is_odd = |path: &&JsonPath| {
        most >= 20 && path.count * 20 <= most && (shape.documents > 1 || path.path.contains("[]"))
    };
    let mut places: Vec<u64> = shape.paths.iter().filter(is_odd).map(|path| path.first).collect();
    places.dedup();
    places.truncate(8);
    places
}

/// The largest count up to `most` that fits.
fn fitting(most: usize, fits: impl Fn(usize) -> bool) -> usize {
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
