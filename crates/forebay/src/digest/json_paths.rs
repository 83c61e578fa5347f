//! Paths of JSON with the values at each, and unusual records.

use crate::classify::form::Form;
use crate::classify::json::member;
use crate::digest::ends::Parts;
use crate::digest::json_cuts::cuts;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::Summarize;
use crate::outline::json::{JsonPath, Place, Shape, shape};
use crate::text::count::{count, grouped};
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::{
    BEFORE_RARE_BYTES, DOCUMENTS_BEFORE, DOCUMENTS_BEFORE_BYTES, MAX_RARE_RECORDS, MIN_RECORDS,
    RECORD_PART_BYTES, RECORDS_PER_RARE, Shares, WHOLE_RECORD_BYTES,
};
use crate::{Budget, Output, Result, tokens};
use std::ops::Range;

/// Plans the view of JSON.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Json {
        return Ok(None);
    }
    let paths = Paths::of(probe.output)?;
    let outliers = paths.outliers(probe.output)?;
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(Shares::of(Form::Json), paths) })))
}

/// Paths of a JSON output.
struct Paths {
    shape: Shape,
    lines: Vec<Line>,
}

/// Line of a summary about one path.
struct Line {
    /// The line and its tokens, and the same without an example, for a path whose example is shown elsewhere.
    text: (String, u64),
    bare: (String, u64),
    /// Sort key: paths with rare values first, then by depth.
    rank: (u8, usize),
    /// Offset of the first occurrence.
    first: u64,
    /// Whether the path has a single value. If that value is shown, the line says nothing new.
    is_one_value: bool,
}

/// Whether `count` records are few among `all`.
fn is_rare(count: u64, all: u64) -> bool {
    all >= MIN_RECORDS && count * RECORDS_PER_RARE <= all
}

impl Paths {
    fn of(output: &Output) -> Result<Paths> {
        let shape = shape(output)?;
        let line = |path: &JsonPath| {
            let text = |example: bool| -> Result<(String, u64)> {
                let text = path_line(output, path, shape.documents, example)?;
                let cost = tokens::count(&format!("\n{text}"));
                Ok((text, cost))
            };
            let holds_only = path.types.iter().all(|(name, _)| *name == "object") && path.keys.is_none();
            let rank = if !rare_places(path).is_empty() {
                0
            } else if holds_only && path.count == path.of {
                2
            } else {
                1
            };
            let depth = path.path.bytes().filter(|byte| b".[".contains(byte)).count();
            let holds = |(name, _): &(&str, u64)| matches!(*name, "array" | "object");
            Ok(Line {
                text: text(true)?,
                bare: text(false)?,
                rank: (rank, depth),
                first: path.place.at,
                is_one_value: path.count == 1 && !path.types.iter().any(holds),
            })
        };
        let lines = shape.paths.iter().map(line).collect::<Result<_>>()?;
        Ok(Paths { shape, lines })
    }

    /// Records with rare paths or values, the rarest first.
    fn outliers(&self, output: &Output) -> Result<Vec<Range<u64>>> {
        let many = |path: &&JsonPath| self.shape.documents > 1 || path.path.contains("[]");
        let mut places: Vec<(u64, Place)> =
            self.shape.paths.iter().filter(many).flat_map(rare_places).collect();
        places.sort_by_key(|(count, place)| (*count, place.at));
        let mut outliers: Vec<Range<u64>> = Vec::new();
        for (_, place) in places {
            if outliers.len() >= MAX_RARE_RECORDS {
                break;
            }
            if !outliers.iter().any(|record| record.contains(&place.at)) {
                let record = record(output, place)?;
                if self.shape.documents > 1 {
                    outliers.push(with_lines_before(output, record.clone())?);
                }
                // Without the lines before it if there is no room for both.
                outliers.push(record);
            }
        }
        Ok(outliers)
    }

    /// Paths of an output that is shown up to `shown`. Single values that are visible there are not repeated.
    fn listed(&self, shown: u64, room: u64) -> Option<Summary> {
        let is_new = |line: &&Line| !line.is_one_value || line.first >= shown;
        let lines: Vec<&Line> = self.lines.iter().filter(is_new).collect();
        let text = |number: usize| {
            let line = lines[number];
            if line.first >= shown { &line.text } else { &line.bare }
        };
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|&number| (lines[number].rank, number));
        let mut left = room;
        let fits = order.iter().take_while(|&&number| {
            let cost = text(number).1;
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        });
        let mut chosen: Vec<usize> = fits.copied().collect();
        chosen.sort_unstable();
        let listed: Vec<String> = chosen.iter().map(|&number| text(number).0.clone()).collect();
        let more = match (lines.len() - chosen.len(), self.shape.more) {
            (0, false) => String::new(),
            (0, true) => ", others deeper or further not said".to_owned(),
            (more, _) => format!(", {} more paths not said", grouped(more as u64)),
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
        Ok(self.listed(gap.bytes.start, room))
    }
}

/// Places of a rare path, of its rare values and types, of outliers among its numbers, and of values that two records
/// share although the path identifies records; each with its count.
fn rare_places(path: &JsonPath) -> Vec<(u64, Place)> {
    let mut outliers = Vec::new();
    if is_rare(path.count, path.of) {
        outliers.push((path.count, path.place));
    }
    let values = path.distinct.iter().flatten().map(|(_, count)| *count).zip(&path.values);
    let values = values.flat_map(|(count, places)| places.iter().map(move |place| (count, place)));
    let types = path.types.iter().map(|(_, count)| *count).zip(&path.of_types);
    let rare = values.chain(types).filter(|(count, _)| is_rare(*count, path.count));
    outliers.extend(rare.map(|(count, place)| (count, *place)));
    outliers.extend(path.outliers.iter().map(|place| (1, *place)));
    outliers.extend(path.twice.iter().flatten().map(|place| (2, *place)));
    outliers
}

/// Record at a place, or a part of a long record; with its line if it is alone on it.
fn record(output: &Output, place: Place) -> Result<Range<u64>> {
    for start in [place.outer, place.inner] {
        let bytes = output.read(start..(start + WHOLE_RECORD_BYTES).min(output.len()))?;
        if let Some(length) = value_length(&bytes) {
            return alone_on_lines(output, start..start + length as u64);
        }
    }
    let start = output.character_start(place.inner.max(place.at.saturating_sub(BEFORE_RARE_BYTES)))?;
    let end = output.character_start((start + RECORD_PART_BYTES).min(output.len()))?;
    let borders: Vec<u64> =
        cuts(&output.read(start..end)?).into_iter().map(|border| start + border).collect();
    // A member is omitted rather than cut.
    let before = borders.iter().find(|border| start > place.inner && **border <= place.at);
    let behind = borders.iter().rfind(|border| **border > place.at);
    Ok(*before.unwrap_or(&start)..*behind.unwrap_or(&end))
}

/// A document with the lines before it, which give its context.
fn with_lines_before(output: &Output, record: Range<u64>) -> Result<Range<u64>> {
    let from = record.start.saturating_sub(DOCUMENTS_BEFORE_BYTES);
    let before = output.read(from..record.start)?;
    let ends = || memchr::memrchr_iter(b'\n', &before);
    // The first of them ends the previous line if the record begins a line.
    let begins = before.is_empty() || before.ends_with(b"\n");
    let start = ends().nth(DOCUMENTS_BEFORE).or(ends().next_back()).map(|at| from + at as u64 + 1);
    Ok(start.filter(|_| begins).unwrap_or(record.start)..record.end)
}

/// Length of the JSON value at the beginning of some bytes, if they contain its end.
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

/// Maximum bytes of white space beside a record that is alone on its lines.
const LINE_REST: u64 = 80;

/// Extends a record to whole lines, if the rest of them is only white space and a comma.
fn alone_on_lines(output: &Output, range: Range<u64>) -> Result<Range<u64>> {
    let start = output.line_start_near(range.start, LINE_REST)?;
    let end = output.line_end_near(range.end, LINE_REST)?;
    let before = output.read(start..range.start)?;
    let behind = output.read(range.end..end)?;
    let begins = start == 0 || output.read(start - 1..start)? == b"\n";
    let ends = behind.ends_with(b"\n") || end == output.len();
    let is_alone =
        begins && ends && before.trim_ascii().is_empty() && matches!(behind.trim_ascii(), b"" | b",");
    Ok(if is_alone { start..end } else { range })
}

/// Path of the member of the outermost array or map that contains a place; `None` if the path has neither.
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

/// Maximum bytes of a key that is named.
const KEY: u64 = 120;

/// Line about a path: its types and values, its minimum and maximum, or an example if one is wanted.
fn path_line(output: &Output, path: &JsonPath, documents: u64, example: bool) -> Result<String> {
    let items = path.items.map_or(String::new(), |(least, most)| {
        if least == most {
            format!(" of {}", grouped(most))
        } else {
            format!(" of {} to {}", grouped(least), grouped(most))
        }
    });
    let typed = |(name, _): &(&str, _)| format!("{name}{}", if *name == "array" { &items } else { "" });
    let types: Vec<String> = path.types.iter().map(typed).collect();
    // A path that every record has is not counted.
    let is_each = path.path.ends_with("[]") || path.path == ".";
    let times = match path.count {
        1 if path.of <= 1 => String::new(),
        count if count == path.of && !is_each => String::new(),
        count => format!(" × {}", grouped(count)),
    };
    // Member of an array or a map with a rare value. Documents have lines, which markers name.
    let which = |count: u64, all: u64, place: &Place| -> Result<String> {
        let is_named = documents == 1 && is_rare(count, all);
        let member = if is_named { outer_member(output, path, place)? } else { None };
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
                    times => format!("{value} × {}{which}", grouped(*times)),
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
        values => format!(", {} twice", count("value", values as u64)),
    };
    let first = which(path.count, path.of, &path.place)?;
    Ok(format!("{} {}{times}{first}{values}{twice}", path.path, types.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::plan::shown;
    use crate::store::memory::output_of;

    #[test]
    fn a_record_with_a_number_far_out_is_odd() {
        let record = |n: u64| {
            let total = if n == 187 { "2.218".to_owned() } else { format!("0.0{}", 10 + n % 83) };
            format!("{{\"n\":{n},\"code\":200,\"total\":{total}}}\n")
        };
        let output = output_of((0..300).map(record).collect::<String>().as_bytes());
        let outliers = Paths::of(&output).unwrap().outliers(&output).unwrap();
        let shown: Vec<Vec<u8>> = outliers.iter().map(|range| output.read(range.clone()).unwrap()).collect();
        let shown: Vec<&str> = shown.iter().map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
        // With what led to it, and where there is no room for that, without.
        assert_eq!(shown, [record(185) + &record(186) + &record(187), record(187)]);
    }

    #[test]
    fn records_with_the_same_id_are_odd() {
        let record = |n: u64| format!("{{\"id\":{},\"n\":{n}}}\n", if n == 187 { 20 } else { n });
        let output = output_of((0..300).map(record).collect::<String>().as_bytes());
        let paths = Paths::of(&output).unwrap();
        let outliers = paths.outliers(&output).unwrap();
        let shown: Vec<Vec<u8>> = outliers.iter().map(|range| output.read(range.clone()).unwrap()).collect();
        let shown: Vec<&str> = shown.iter().map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
        assert!(shown.contains(&&*record(20)) && shown.contains(&&*record(187)), "{shown:?}");
        let said = paths.listed(0, 400).unwrap().facts();
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
        let said = paths.listed(0, 400).unwrap().facts();
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
            let said = Paths::of(&output_of(text.as_bytes())).unwrap().listed(0, 400).unwrap().facts();
            assert!(said.contains(expected), "{said}");
        }
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
                let text = shown(recognize, &format!("{open}{}{close}", records(separator)), Form::Json, 700);
                for record in [
                    r#"{"id":7312,"status":"failed","tags":["a","b"],"load":0}"#,
                    r#"{"id":4111,"status":"ok","tags":["a","b"],"load":9,"error":"the disk is full"}"#,
                    r#"{"id":9000,"status":"ok","tags":["a","b"],"load":null}"#,
                ] {
                    // The part that is shown begins and ends with the record.
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
        let text = shown(recognize, &records("\n"), Form::Json, 500);
        assert!(text.contains("]\n{\"id\":4109") && text.contains("disk is full\"}\n["), "{text}");
        // Alone, if there is no room for both.
        let text = shown(recognize, &records("\n"), Form::Json, 120);
        assert!(text.contains("]\n{\"id\":4111") && !text.contains("\"id\":4110,"), "{text}");
    }

    #[test]
    fn a_record_too_long_to_show_is_shown_where_it_is_odd() {
        let long = "x".repeat(3_000);
        let mut records: Vec<String> =
            (0..60).map(|n| format!(r#"{{"id":{n},"text":"{long}","status":"ok"}}"#)).collect();
        records[30] = records[30].replace("ok", "refused");
        let text = shown(recognize, &format!("[{}]", records.join(",")), Form::Json, 500);
        assert!(text.contains(r#""status":"refused"}"#), "{text}");
    }

    #[test]
    fn what_is_shown_of_json_is_not_said_again() {
        let items: String =
            (0..300).map(|n| format!(",\n{{\"id\": {n}, \"name\": \"item number {n}\"}}")).collect();
        let text = format!("{{\"status\": \"fine\", \"items\": [{}], \"next\": \"page 2\"}}", &items[2..]);
        let view = shown(recognize, &text, Form::Json, 400);
        assert!(
            view.contains("\n.items array of 300") && view.contains("\n.items[].name string\n"),
            "{view}"
        );
        assert!(view.contains("\n.next string: \"page 2\"") && !view.contains("\n.status"), "{view}");
    }

    #[test]
    fn of_json_on_one_line_no_member_is_cut() {
        let members: Vec<String> =
            (0..400).map(|n| format!(r#""member number {n}": "value of it""#)).collect();
        let text = shown(recognize, &format!("{{{}}}", members.join(",")), Form::Json, 400);
        let (before, behind) = text.split_once("[… ").unwrap();
        assert!(before.ends_with("value of it\","), "{text}");
        let behind = behind.split_once("]\"").map_or("", |(_, rest)| rest);
        assert!(behind.starts_with("member number "), "{text}");
    }
}
