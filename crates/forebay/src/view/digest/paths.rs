//! The paths of JSON: what is found at each, and the records that are not like the others.

use crate::query::{JsonPath, Place, Shape};
use crate::view::count;
use crate::{Output, Result, tokens};
use std::ops::Range;

/// The paths of a JSON output, with what is odd among them.
pub(super) struct Paths {
    shape: Shape,
    lines: Vec<Line>,
}

/// What is said of a path.
struct Line {
    /// The line and what it costs; and the same without an example, for where the example is shown.
    text: (String, u64),
    bare: (String, u64),
    /// How soon it is said: what is odd first, then the outer ones.
    rank: (u8, usize),
    /// Where it first occurs.
    first: u64,
    /// Whether it is one value: where that is shown, nothing is left to say of it.
    is_one_value: bool,
}

/// In fewer records nothing is rare; else what one in so many has.
const RECORDS: u64 = 20;
const RARE: u64 = 20;

fn is_rare(count: u64, all: u64) -> bool {
    all >= RECORDS && count * RARE <= all
}

impl Paths {
    pub(super) fn of(shape: Shape) -> Paths {
        let line = |path: &JsonPath| {
            let said = |example: bool| {
                let text = path_line(path, shape.documents, example);
                let cost = tokens::count(&text);
                (text, cost)
            };
            let holds_only = path.types.iter().all(|(name, _)| *name == "object") && path.keys.is_none();
            let rank = match odd_places(path).is_empty() {
                false => 0,
                true if holds_only && path.count == path.of => 2,
                true => 1,
            };
            let depth = path.path.bytes().filter(|byte| b".[".contains(byte)).count();
            let holds = |(name, _): &(&str, u64)| matches!(*name, "array" | "object");
            Line {
                text: said(true),
                bare: said(false),
                rank: (rank, depth),
                first: path.place.at,
                is_one_value: path.count == 1 && !path.types.iter().any(holds),
            }
        };
        let lines = shape.paths.iter().map(line).collect();
        Paths { shape, lines }
    }

    /// The records that have what hardly any other has: the rarest first.
    pub(super) fn odd(&self, output: &Output) -> Result<Vec<Range<u64>>> {
        let many = |path: &&JsonPath| self.shape.documents > 1 || path.path.contains("[]");
        let mut places: Vec<(u64, Place)> =
            self.shape.paths.iter().filter(many).flat_map(odd_places).collect();
        places.sort_by_key(|(count, place)| (*count, place.at));
        let mut seen: Vec<u64> = Vec::new();
        let mut odd = Vec::new();
        for (_, place) in places {
            if odd.len() < ODD && !seen.contains(&place.outer) {
                seen.push(place.outer);
                odd.push(record(output, place)?);
            }
        }
        Ok(odd)
    }

    /// As many of them as there is room for, of an output that is shown up to `shown`: what is seen there is not said again.
    pub(super) fn said(&self, shown: u64, room: u64) -> Option<String> {
        let is_new = |line: &&Line| !line.is_one_value || line.first >= shown;
        let lines: Vec<&Line> = self.lines.iter().filter(is_new).collect();
        let said = |number: usize| match lines[number].first >= shown {
            true => &lines[number].text,
            false => &lines[number].bare,
        };
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|&number| (lines[number].rank, number));
        let mut left = room;
        let fits = order.iter().take_while(|&&number| {
            let cost = said(number).1;
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        });
        let mut chosen: Vec<usize> = fits.copied().collect();
        chosen.sort_unstable();
        let listed: String = chosen.iter().map(|&number| said(number).0.as_str()).collect();
        let more = match (lines.len() - chosen.len(), self.shape.more) {
            (0, false) => String::new(),
            (0, true) => ", others deeper or further not said".to_owned(),
            (more, _) => format!(", {} more paths not said", crate::view::grouped(more as u64)),
        };
        let documents = match self.shape.documents {
            1 => "the JSON".to_owned(),
            many => format!("the {}", count("JSON document", many)),
        };
        (!chosen.is_empty()).then(|| format!("… omitted; the shape of {documents}{more}{listed}"))
    }
}

/// So many odd records are looked at.
const ODD: usize = 8;

/// A longer record is shown in part.
const RECORD: u64 = 700;

/// A part of a record is so long, and begins so far before what is odd in it.
const PART: u64 = 240;
const BEFORE: u64 = 80;

/// Where a path is found that hardly any record has, or a value or a type that it hardly ever has; with how often.
fn odd_places(path: &JsonPath) -> Vec<(u64, Place)> {
    let mut odd = Vec::new();
    if is_rare(path.count, path.of) {
        odd.push((path.count, path.place));
    }
    let values = path.distinct.iter().flatten().map(|(_, count)| *count).zip(&path.values);
    let types = path.types.iter().map(|(_, count)| *count).zip(&path.of_types);
    let rare = values.chain(types).filter(|(count, _)| is_rare(*count, path.count));
    odd.extend(rare.map(|(count, place)| (count, *place)));
    odd
}

/// The record at a place from its beginning to its end, with its line where it has one to itself.
fn record(output: &Output, place: Place) -> Result<Range<u64>> {
    for start in [place.outer, place.inner] {
        let bytes = output.read(start..(start + RECORD).min(output.len()))?;
        if let Some(length) = value_length(&bytes) {
            return alone_on_lines(output, start..start + length as u64);
        }
    }
    let start = place.inner.max(place.at.saturating_sub(BEFORE));
    let end = output.character_start((start + PART).min(output.len()))?;
    Ok(output.character_start(start)?..end)
}

/// How long the JSON value is that bytes begin with, if it ends in them.
fn value_length(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => return Some(at),
            _ => {}
        }
        if depth == 0 && !quoted && !escaped && matches!(byte, b'}' | b']' | b'"') {
            return Some(at + 1);
        }
    }
    None
}

/// A record and the rest of its lines, if that is only white space and a comma.
fn alone_on_lines(output: &Output, range: Range<u64>) -> Result<Range<u64>> {
    let start = output.line_start_near(range.start, BEFORE)?;
    let end = output.line_end_near(range.end, BEFORE)?;
    let before = output.read(start..range.start)?;
    let behind = output.read(range.end..end)?;
    let begins = start == 0 || output.read(start - 1..start)? == b"\n";
    let ends = behind.ends_with(b"\n") || end == output.len();
    let is_alone =
        begins && ends && before.trim_ascii().is_empty() && matches!(behind.trim_ascii(), b"" | b",");
    Ok(if is_alone { start..end } else { range })
}

/// A path of JSON, with what is found there: the values, the least and the greatest of them, or an example if that is wanted.
fn path_line(path: &JsonPath, documents: u64, example: bool) -> String {
    let types: Vec<&str> = path.types.iter().map(|(name, _)| *name).collect();
    // What every record has need not be counted.
    let is_each = path.path.ends_with("[]") || path.path == ".";
    let times = match path.count {
        1 if path.of <= 1 => String::new(),
        count if count == path.of && !is_each => String::new(),
        count => format!(" × {}", crate::view::grouped(count)),
    };
    // Which record of an array it is; documents have lines, which markers tell.
    let which = |count: u64, all: u64, place: &Place| match path.path.find("[]") {
        Some(array) if documents == 1 && is_rare(count, all) => {
            format!(" in {}[{}]", &path.path[..array], place.index)
        }
        _ => String::new(),
    };
    let values = match (&path.distinct, &path.numbers, &path.items) {
        (Some(values), ..) if !values.is_empty() => {
            let each = |((value, times), place): (&(String, u64), &Place)| {
                let which = which(*times, path.count, place);
                match times {
                    1 => format!("{value}{which}"),
                    times if *times == path.count => format!("always {value}"),
                    times => format!("{value} × {}{which}", crate::view::grouped(*times)),
                }
            };
            format!(": {}", values.iter().zip(&path.values).map(each).collect::<Vec<_>>().join(", "))
        }
        (_, Some((least, most)), _) if least != most => format!(": {least} to {most}"),
        (.., Some((least, most))) if least == most => format!(" of {}", crate::view::grouped(*most)),
        (.., Some((least, most))) => {
            format!(" of {} to {}", crate::view::grouped(*least), crate::view::grouped(*most))
        }
        _ => {
            let first = path.examples.first().filter(|_| example);
            first.map_or(String::new(), |example| format!(": {example}"))
        }
    };
    let first = which(path.count, path.of, &path.place);
    format!("\n{} {}{times}{first}{values}", path.path, types.join(" or "))
}
