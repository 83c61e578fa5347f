//! The paths of JSON: what is found at each, and the records that are not like the others.

use crate::classify::json::member;
use crate::digest::ends::Summarize;
use crate::outline::json::{JsonPath, Place, Shape, shape};
use crate::text::count::count;
use crate::view::Summary;
use crate::view::print::Gap;
use crate::{Output, Result, tokens};
use std::ops::Range;

/// The paths of a JSON output, with what is odd among them.
pub(crate) struct Paths {
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
    pub(crate) fn of(output: &Output) -> Result<Paths> {
        let shape = shape(output)?;
        let line = |path: &JsonPath| {
            let said = |example: bool| -> Result<(String, u64)> {
                let text = path_line(output, path, shape.documents, example)?;
                let cost = tokens::count(&format!("\n{text}"));
                Ok((text, cost))
            };
            let holds_only = path.types.iter().all(|(name, _)| *name == "object") && path.keys.is_none();
            let rank = match odd_places(path).is_empty() {
                false => 0,
                true if holds_only && path.count == path.of => 2,
                true => 1,
            };
            let depth = path.path.bytes().filter(|byte| b".[".contains(byte)).count();
            let holds = |(name, _): &(&str, u64)| matches!(*name, "array" | "object");
            Ok(Line {
                text: said(true)?,
                bare: said(false)?,
                rank: (rank, depth),
                first: path.place.at,
                is_one_value: path.count == 1 && !path.types.iter().any(holds),
            })
        };
        let lines = shape.paths.iter().map(line).collect::<Result<_>>()?;
        Ok(Paths { shape, lines })
    }

    /// The records that have what hardly any other has: the rarest first.
    pub(crate) fn odd(&self, output: &Output) -> Result<Vec<Range<u64>>> {
        let many = |path: &&JsonPath| self.shape.documents > 1 || path.path.contains("[]");
        let mut places: Vec<(u64, Place)> =
            self.shape.paths.iter().filter(many).flat_map(odd_places).collect();
        places.sort_by_key(|(count, place)| (*count, place.at));
        let mut odd: Vec<Range<u64>> = Vec::new();
        for (_, place) in places {
            if odd.len() >= ODD {
                break;
            }
            if !odd.iter().any(|record| record.contains(&place.at)) {
                let record = record(output, place)?;
                if self.shape.documents > 1 {
                    odd.push(with_lines_before(output, record.clone())?);
                }
                // Where there is no room for what led to it.
                odd.push(record);
            }
        }
        Ok(odd)
    }

    /// Paths of an output that is shown up to `shown`: single values that the reader sees there are not repeated.
    fn said(&self, shown: u64, room: u64) -> Option<Summary> {
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
        let listed: Vec<String> = chosen.iter().map(|&number| said(number).0.clone()).collect();
        let more = match (lines.len() - chosen.len(), self.shape.more) {
            (0, false) => String::new(),
            (0, true) => ", others deeper or further not said".to_owned(),
            (more, _) => format!(", {} more paths not said", crate::text::count::grouped(more as u64)),
        };
        let documents = match self.shape.documents {
            1 => "the JSON".to_owned(),
            many => format!("the {}", count("JSON document", many)),
        };
        let text = format!("the shape of {documents}{more}");
        (!chosen.is_empty()).then(|| Summary::uncounted().saying(text).listing(listed))
    }
}

impl Summarize for Paths {
    fn summary(&self, _: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        Ok(self.said(gap.bytes.start, room))
    }
}

/// So many odd records are looked at.
const ODD: usize = 8;

/// A longer record is shown in part.
const RECORD: u64 = 700;

/// A part of a record is so long, and begins so far before what is odd in it.
const PART: u64 = 240;
const BEFORE: u64 = 80;

/// Where a path is found that hardly any record has, a value or a type that it hardly ever has, a number that stands far
/// out, or a value that two records have that it should tell apart; with how often.
fn odd_places(path: &JsonPath) -> Vec<(u64, Place)> {
    let mut odd = Vec::new();
    if is_rare(path.count, path.of) {
        odd.push((path.count, path.place));
    }
    let values = path.distinct.iter().flatten().map(|(_, count)| *count).zip(&path.values);
    let values = values.flat_map(|(count, places)| places.iter().map(move |place| (count, place)));
    let types = path.types.iter().map(|(_, count)| *count).zip(&path.of_types);
    let rare = values.chain(types).filter(|(count, _)| is_rare(*count, path.count));
    odd.extend(rare.map(|(count, place)| (count, *place)));
    odd.extend(path.outliers.iter().map(|place| (1, *place)));
    odd.extend(path.twice.iter().flatten().map(|place| (2, *place)));
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
    let start = output.character_start(place.inner.max(place.at.saturating_sub(BEFORE)))?;
    let end = output.character_start((start + PART).min(output.len()))?;
    let borders: Vec<u64> =
        borders(&output.read(start..end)?).into_iter().map(|border| start + border).collect();
    // A member that is cut says nothing, so it is not begun.
    let before = borders.iter().find(|border| start > place.inner && **border <= place.at);
    let behind = borders.iter().rfind(|border| **border > place.at);
    Ok(*before.unwrap_or(&start)..*behind.unwrap_or(&end))
}

/// What came before an odd document led to it: so many lines are shown with it, of so many bytes.
const LED_TO_IT: usize = 2;
const LED_BYTES: u64 = 700;

/// A record with the lines before it.
fn with_lines_before(output: &Output, record: Range<u64>) -> Result<Range<u64>> {
    let from = record.start.saturating_sub(LED_BYTES);
    let before = output.read(from..record.start)?;
    let ends = || memchr::memrchr_iter(b'\n', &before);
    // The first of them ends the line above, if the record begins one.
    let begins = before.is_empty() || before.ends_with(b"\n");
    let start = ends().nth(LED_TO_IT).or(ends().next_back()).map(|at| from + at as u64 + 1);
    Ok(start.filter(|_| begins).unwrap_or(record.start)..record.end)
}

/// Where members of arrays and objects end, behind their commas and the white space after these. Inside of strings there may be what
/// looks the same.
pub(crate) fn borders(bytes: &[u8]) -> Vec<u64> {
    let is_border = |&comma: &usize| {
        let before = bytes[..comma].trim_ascii_end();
        let behind = bytes[comma + 1..].trim_ascii_start();
        let ends = match before {
            [.., b'\\', b'"'] => false,
            [.., last] => matches!(last, b'"' | b'}' | b']' | b'0'..=b'9' | b'e' | b'l'),
            [] => false,
        };
        let is_value = before.last().is_some_and(|last| matches!(last, b'"' | b'}' | b']'));
        ends && matches!((behind.first(), is_value), (Some(b'"'), _) | (Some(b'{' | b'['), true))
    };
    let behind = |comma: usize| {
        let rest = &bytes[comma + 1..];
        (comma + 1 + rest.len() - rest.trim_ascii_start().len()) as u64
    };
    memchr::memchr_iter(b',', bytes).filter(is_border).map(behind).collect()
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

/// Which member of the outermost array or map that a path goes through has what is at a place: a path itself. Nothing where it
/// goes through none.
fn outer_member(output: &Output, path: &JsonPath, place: &Place) -> Result<Option<String>> {
    let Some((depth, length)) = path.merged else { return Ok(None) };
    let outer = &path.path[..length];
    let Some(&key) = place.keys.get(depth) else { return Ok(None) };
    if key == 0 {
        return Ok(Some(format!("{outer}[{}]", place.index)));
    }
    let bytes = output.read(key..(key + KEY).min(output.len()))?;
    let key = value_length(&bytes).and_then(|length| serde_json::from_slice::<String>(&bytes[..length]).ok());
    Ok(key.map(|key| member(outer, &key)))
}

/// A longer key is not said.
const KEY: u64 = 120;

/// A path of JSON, with what is found there: the values, the least and the greatest of them, or an example if that is wanted.
fn path_line(output: &Output, path: &JsonPath, documents: u64, example: bool) -> Result<String> {
    let items = path.items.map_or(String::new(), |(least, most)| match least == most {
        true => format!(" of {}", crate::text::count::grouped(most)),
        false => {
            format!(" of {} to {}", crate::text::count::grouped(least), crate::text::count::grouped(most))
        }
    });
    let typed = |(name, _): &(&str, _)| format!("{name}{}", if *name == "array" { &items } else { "" });
    let types: Vec<String> = path.types.iter().map(typed).collect();
    // What every record has need not be counted.
    let is_each = path.path.ends_with("[]") || path.path == ".";
    let times = match path.count {
        1 if path.of <= 1 => String::new(),
        count if count == path.of && !is_each => String::new(),
        count => format!(" × {}", crate::text::count::grouped(count)),
    };
    // Which record of an array or a map it is; documents have lines, which markers tell.
    let which = |count: u64, all: u64, place: &Place| -> Result<String> {
        let member = match documents == 1 && is_rare(count, all) {
            true => outer_member(output, path, place)?,
            false => None,
        };
        let first = if count > 1 { ", first" } else { "" };
        Ok(member.map_or(String::new(), |member| format!("{first} in {member}")))
    };
    let values = match (&path.distinct, &path.numbers) {
        (Some(values), _) if !values.is_empty() => {
            let each = |((value, times), places): (&(String, u64), &Vec<Place>)| {
                let which = which(*times, path.count, places.first().unwrap_or(&path.place))?;
                Ok(match times {
                    1 => format!("{value}{which}"),
                    times if *times == path.count => format!("always {value}"),
                    times => format!("{value} × {}{which}", crate::text::count::grouped(*times)),
                })
            };
            format!(": {}", values.iter().zip(&path.values).map(each).collect::<Result<Vec<_>>>()?.join(", "))
        }
        (_, Some((least, most))) if least != most => format!(": {least} to {most}"),
        _ => {
            let first = path.examples.first().filter(|_| example);
            first.map_or(String::new(), |example| format!(": {example}"))
        }
    };
    let twice = match path.twice.len() {
        0 => String::new(),
        values => format!(", {} twice", crate::text::count::count("value", values as u64)),
    };
    let first = which(path.count, path.of, &path.place)?;
    Ok(format!("{} {}{times}{first}{values}{twice}", path.path, types.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn members_end_where_commas_are_between_them() {
        let table = [
            (r#""a":1,"b":"x, y","c":[1, 2],{"#, vec!["\"b\"", "\"c\"", "{"]),
            ("\"a\": true,\n  \"b\": null, \"c\\\",\"", vec!["\"b\"", "\"c\\"]),
            ("no members, only words", vec![]),
        ];
        for (text, expected) in table {
            let found = borders(text.as_bytes());
            assert_eq!(found.len(), expected.len(), "{text} {found:?}");
            for (border, expected) in found.iter().zip(expected) {
                assert!(text[*border as usize..].starts_with(expected), "{text} {border}");
            }
        }
    }

    #[test]
    fn a_record_with_a_number_far_out_is_odd() {
        let record = |n: u64| {
            let total = if n == 187 { "2.218".to_owned() } else { format!("0.0{}", 10 + n % 83) };
            format!("{{\"n\":{n},\"code\":200,\"total\":{total}}}\n")
        };
        let output = output_of((0..300).map(record).collect::<String>().as_bytes());
        let odd = Paths::of(&output).unwrap().odd(&output).unwrap();
        let shown: Vec<Vec<u8>> = odd.iter().map(|range| output.read(range.clone()).unwrap()).collect();
        let shown: Vec<&str> = shown.iter().map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
        // With what led to it, and where there is no room for that, without.
        assert_eq!(shown, [record(185) + &record(186) + &record(187), record(187)]);
    }

    #[test]
    fn records_with_the_same_id_are_odd() {
        let record = |n: u64| format!("{{\"id\":{},\"n\":{n}}}\n", if n == 187 { 20 } else { n });
        let output = output_of((0..300).map(record).collect::<String>().as_bytes());
        let paths = Paths::of(&output).unwrap();
        let odd = paths.odd(&output).unwrap();
        let shown: Vec<Vec<u8>> = odd.iter().map(|range| output.read(range.clone()).unwrap()).collect();
        let shown: Vec<&str> = shown.iter().map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
        assert!(shown.contains(&&*record(20)) && shown.contains(&&*record(187)), "{shown:?}");
        let said = paths.said(0, 400).unwrap().facts();
        assert!(said.contains("\n.id number: 0 to 299, 1 value twice"), "{said}");
    }

    #[test]
    fn what_hardly_any_member_of_a_map_has_is_told_with_the_key_that_has_it() {
        let members: Vec<String> = (0..60)
            .map(|n| {
                let more = if n == 40 { r#", "optional": true"# } else { "" };
                format!(r#""node_modules/p{n}": {{"version": "1.{n}"{more}}}"#)
            })
            .collect();
        let text = format!(r#"{{"name": "demo", "packages": {{{}}}}}"#, members.join(", "));
        let paths = Paths::of(&output_of(text.as_bytes())).unwrap();
        let said = paths.said(0, 400).unwrap().facts();
        assert!(
            said.contains("\n.packages[].optional boolean × 1 in .packages[\"node_modules/p40\"]"),
            "{said}"
        );
    }

    #[test]
    fn every_member_that_is_named_has_what_is_said_of_it() {
        let records: Vec<String> = (0..30)
            .map(|n| format!(r#"{{"id": {n}{}}}"#, if n == 7 { r#", "note": "x""# } else { "" }))
            .collect();
        for (text, expected) in [
            (format!("[{}]", records.join(",")), ".[].note string × 1 in .[7]"),
            (
                format!(r#"{{"a b": {{"rows": [{}]}}}}"#, records.join(",")),
                r#".["a b"].rows[].note string × 1 in .["a b"].rows[7]"#,
            ),
        ] {
            let said = Paths::of(&output_of(text.as_bytes())).unwrap().said(0, 400).unwrap().facts();
            assert!(said.contains(expected), "{said}");
        }
    }
}
