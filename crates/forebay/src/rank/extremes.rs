//! Rows and members with extreme values, for questions that ask for the most or the least of something.

use crate::rank::passage::RankedUnit;
use crate::rank::question::{Question, stem};
use crate::rank::scan::TextUnits;
use crate::terminal::visible;
use crate::weights::{bounds, extremes as weights};
use crate::{Output, Result};
use std::collections::HashMap;

/// Words that ask for an extreme, whether it is the most, and parts of the names of columns with it.
const EXTREMES: &[(&str, bool, &[&str])] = &[
    ("most", true, &[]),
    ("highest", true, &[]),
    ("greatest", true, &[]),
    ("maximum", true, &[]),
    ("largest", true, &["size", "byte"]),
    ("biggest", true, &["size", "byte"]),
    ("longest", true, &["time", "dur", "len", "elapsed"]),
    ("slowest", true, &["time", "dur", "ms", "sec", "elapsed"]),
    ("hottest", true, &["temp"]),
    ("warmest", true, &["temp"]),
    ("heaviest", true, &["weight"]),
    ("least", false, &[]),
    ("fewest", false, &[]),
    ("lowest", false, &[]),
    ("minimum", false, &[]),
    ("smallest", false, &["size", "byte"]),
    ("shortest", false, &["time", "dur", "len", "elapsed"]),
    ("fastest", false, &["time", "dur", "ms", "sec", "elapsed"]),
    ("coldest", false, &["temp"]),
    ("lightest", false, &["weight"]),
    ("cheapest", false, &["price", "cost"]),
    ("costliest", true, &["price", "cost"]),
    ("priciest", true, &["price", "cost"]),
    ("tallest", true, &["height", "elev"]),
    ("deepest", true, &["depth"]),
    ("farthest", true, &["dist"]),
    ("furthest", true, &["dist"]),
    ("nearest", false, &["dist"]),
    ("strongest", true, &["speed", "force", "magnitude"]),
    ("northernmost", true, &["lat"]),
    ("southernmost", false, &["lat"]),
    ("easternmost", true, &["lon", "lng"]),
    ("westernmost", false, &["lon", "lng"]),
];

/// Words after them, whether more is upwards, and parts of the names of columns with it: `the most expensive one`, `the
/// furthest south`. South and west are counted downwards.
const QUALITIES: &[(&str, bool, &[&str])] = &[
    ("expensive", true, &["price", "cost"]),
    ("costly", true, &["price", "cost"]),
    ("populous", true, &["population"]),
    ("populated", true, &["population"]),
    ("distant", true, &["dist"]),
    ("popular", true, &["count", "download", "star", "vote"]),
    ("rain", true, &["precip"]),
    ("north", true, &["lat"]),
    ("south", false, &["lat"]),
    ("east", true, &["lon", "lng"]),
    ("west", false, &["lon", "lng"]),
];

/// Extreme that a question asks for.
#[derive(Clone, Copy, Debug)]
struct Extreme {
    most: bool,
    /// Parts of the names of columns with it.
    called: &'static [&'static str],
}

/// Line of a table.
struct Row {
    unit: usize,
    cells: Vec<String>,
}

/// Adds the rows with the extreme that a question asks for.
pub(crate) fn with_extremes(
    output: &Output,
    question: &Question,
    mut units: Vec<RankedUnit>,
) -> Result<Vec<RankedUnit>> {
    let Some(extreme) = asked_for(&question.text).filter(|_| output.len() <= bounds::MEDIUM) else {
        return Ok(units);
    };
    let bytes = output.read(0..output.len())?;
    let all: Vec<_> = TextUnits { bytes: &bytes, at: 0 }.collect();
    let lines: Vec<String> = all.iter().map(|range| visible(&bytes[range.clone()])).collect();
    let best = units.first().map_or(1.0, |unit| unit.score);
    for (at, share) in rows(&lines, extreme, question) {
        let score = best * share;
        match units.iter_mut().find(|unit| unit.index == at as u64) {
            Some(unit) => unit.score = unit.score.max(score),
            None => units.push(RankedUnit {
                index: at as u64,
                range: all[at].start as u64..all[at].end as u64,
                text: lines[at].clone(),
                score,
            }),
        }
    }
    Ok(units)
}

/// Whether a question asks for an extreme.
pub(crate) fn is_asked(question: &Question) -> bool {
    asked_for(&question.text).is_some()
}

/// Returns the extreme that a question asks for.
fn asked_for(question: &str) -> Option<Extreme> {
    let words: Vec<String> =
        question.split(|sign: char| !sign.is_alphanumeric()).map(str::to_lowercase).collect();
    let known = |word: &String| EXTREMES.iter().find(|(extreme, ..)| extreme == word);
    let (at, &(_, most, called)) =
        words.iter().enumerate().find_map(|(at, word)| known(word).map(|known| (at, known)))?;
    let quality = |word: &String| QUALITIES.iter().find(|(quality, ..)| quality == word);
    Some(match words.get(at + 1).and_then(quality) {
        Some((_, upwards, called)) => Extreme { most: most == *upwards, called },
        None => Extreme { most, called },
    })
}

impl Extreme {
    /// Returns how well the name of a column fits the question; 0 if it does not.
    fn fits(self, name: &str, question: &Question) -> usize {
        let name = name.to_lowercase();
        let plain = name.trim_matches(|sign: char| !sign.is_alphanumeric());
        let said = |term: &str| {
            term.len() > 2 && (name.contains(&stem(term)) || plain.len() > 2 && term.starts_with(plain))
        };
        let end = if self.most { "max" } else { "min" };
        let asked = question.terms.iter().filter(|term| term.word && said(&term.form)).count();
        let called = self.called.iter().filter(|called| name.contains(**called)).count();
        let whole = name.contains("total");
        2 * asked + 2 * called + usize::from(asked + called > 0 && (name.contains(end) || whole))
    }
}

/// A member that is a number.
pub(crate) struct Figure<'a> {
    pub(crate) line: usize,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// Returns the lines of the members with the extreme that a question asks for, each with its share of the best score.
pub(crate) fn among<'a>(figures: impl Iterator<Item = Figure<'a>>, question: &Question) -> Vec<(usize, f32)> {
    let Some(extreme) = asked_for(&question.text) else { return Vec::new() };
    let mut by_key: HashMap<&[u8], Vec<(f64, usize)>> = HashMap::new();
    for figure in figures {
        if let Some(number) = std::str::from_utf8(figure.value).ok().and_then(number) {
            by_key.entry(figure.key).or_default().push((number, figure.line));
        }
    }
    let fits = |key: &[u8]| extreme.fits(&String::from_utf8_lossy(key), question);
    let known = by_key.into_iter().filter(|(key, figures)| figures.len() > 2 && fits(key) > 0);
    let Some((_, mut figures)) = known.max_by_key(|(key, figures)| (fits(key), figures.len(), *key)) else {
        return Vec::new();
    };
    figures.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    if extreme.most {
        figures.reverse();
    }
    figures.into_iter().map(|(_, line)| line).zip(weights::EXTREME_ROWS).collect()
}

/// Returns the lines of a table with the extreme values and the line with the names of the columns, each with its share of
/// the best score.
fn rows(lines: &[String], extreme: Extreme, question: &Question) -> Vec<(usize, f32)> {
    let apart = [',', '\t', ';'].into_iter().find(|sign| is_table(lines, *sign));
    let cells = |line: &String| -> Vec<String> {
        match apart {
            Some(sign) => line.trim_end().split(sign).take(weights::MAX_COLUMNS).map(str::to_owned).collect(),
            None => line.split_whitespace().take(weights::MAX_COLUMNS).map(str::to_owned).collect(),
        }
    };
    let is_blank = |line: &String| line.trim().is_empty();
    let table: Vec<Row> = (0..lines.len())
        .filter(|&at| !is_blank(&lines[at]))
        .map(|unit| Row { unit, cells: cells(&lines[unit]) })
        .collect();
    let has_number = |row: &Row, column: usize| row.cells.get(column).and_then(|cell| number(cell)).is_some();
    let numeric: Vec<usize> = (0..weights::MAX_COLUMNS)
        .filter(|&column| {
            let having = table.iter().filter(|row| has_number(row, column)).count();
            having > 2 && having * 100 >= table.len() * weights::MIN_NUMERIC_PERCENT
        })
        .collect();
    let first = table.iter().position(|row| numeric.iter().all(|&column| has_number(row, column)));
    let names = first.and_then(|first| table[..first].last()).filter(|row| {
        numeric.iter().all(|&column| row.cells.get(column).is_some() && !has_number(row, column))
    });
    let Some(column) = column(&table, &numeric, names, extreme, question) else { return Vec::new() };
    let mut valued: Vec<(f64, usize)> =
        table.iter().filter_map(|row| Some((number(row.cells.get(column)?)?, row.unit))).collect();
    valued.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    if extreme.most {
        valued.reverse();
    }
    let named = names.map(|row| (row.unit, weights::COLUMN_NAMES));
    valued.into_iter().map(|(_, unit)| unit).zip(weights::EXTREME_ROWS).chain(named).collect()
}

/// Whether the first lines of a text have the same number of fields, more than two, with this sign between them.
fn is_table(lines: &[String], sign: char) -> bool {
    let mut fields = lines.iter().take(weights::SEPARATOR_LINES).map(|line| line.matches(sign).count());
    let first = fields.next().unwrap_or(0);
    first > 1 && lines.len() > 2 && fields.all(|count| count == first)
}

/// Returns the column that a question asks for, by its name. In a table without names, a question for a size gets the column
/// with the largest numbers.
fn column(
    table: &[Row],
    numeric: &[usize],
    names: Option<&Row>,
    extreme: Extreme,
    question: &Question,
) -> Option<usize> {
    let Some(names) = names else {
        let most = |column: usize| {
            let numbers = table.iter().filter_map(|row| number(row.cells.get(column)?));
            numbers.fold(f64::MIN, f64::max)
        };
        let largest = numeric.iter().copied().max_by(|a, b| most(*a).total_cmp(&most(*b)));
        return largest.filter(|_| extreme.called.contains(&"size"));
    };
    let fits = |column: usize| extreme.fits(&names.cells[column], question);
    let best = numeric.iter().copied().rev().max_by_key(|&column| fits(column));
    best.filter(|&column| fits(column) > 0)
}

/// Reads a number as tables write it: `12`, `-7.1`, `1.5M`, `12%`, or `394/1`, which is 394.
fn number(cell: &str) -> Option<f64> {
    let cell = cell.trim().trim_matches('"');
    let (first, rest) = cell.split_once('/').unwrap_or((cell, "0"));
    let _: u64 = rest.parse().ok()?;
    let digits = first.trim_end_matches(|sign: char| sign.is_ascii_alphabetic() || sign == '%');
    let unit = match &first[digits.len()..] {
        "" | "%" | "B" | "s" | "ms" => 1.0,
        "k" | "K" | "kB" | "KB" | "KiB" => 1e3,
        "M" | "MB" | "MiB" => 1e6,
        "G" | "GB" | "GiB" => 1e9,
        "T" | "TB" | "TiB" => 1e12,
        _ => return None,
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    digits.parse::<f64>().ok().filter(|_| plain).map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(table: &'a str, question: &str) -> Vec<&'a str> {
        let lines: Vec<String> = table.lines().map(str::to_owned).collect();
        let question = Question::new(question);
        let found = asked_for(&question.text).map(|extreme| rows(&lines, extreme, &question));
        let lines: Vec<&str> = table.lines().collect();
        found.unwrap_or_default().into_iter().take(1).map(|(at, _)| lines[at]).collect()
    }

    #[test]
    fn the_row_with_the_most_or_the_least_of_what_is_asked_for_comes_first() {
        let weather = "date,rain,temp_max,temp_min\n2014/08/10,0.5,30.1,17.8\n2014/08/11,9.5,35.6,17.0\n2013/12/07,0.0,0.0,-7.1\n2013/12/08,0.1,1.0,-3.0\n";
        let airports =
            "id,latitude,longitude,cost\nA,10.5,20.1,100\nB,71.2,-156.7,40\nC,-3.1,12.5,9000\nD,9.0,9.0,70\n";
        let processes = "USER  PID %CPU %MEM COMMAND\nroot    1  0.0  0.7 init\nroot    2  9.0  0.2 make all\nroot 9003  0.1  0.1 sh\n";
        let listing = "total 9\n-rw-r--r-- 1 root root 900 Jan  3 2023 a.so\n-rw-r--r-- 1 root root 117308864 Jan  3 2023 b.so\n-rw-r--r-- 9 root root 12 Jan 31 2023 c.so\n";
        let profile = "   Ordered by: time\n\n   ncalls  tottime  where\n    394/1    0.019    a.py\n    32964    0.002    b.py\n        3    0.950    c.py\n        4    0.001    d.py\n       5    0.001    e.py\n       6    0.001    f.py\n";
        for (table, question, row) in [
            (weather, "What was the hottest day?", "2014/08/11,9.5,35.6,17.0"),
            (weather, "On which day was it coldest?", "2013/12/07,0.0,0.0,-7.1"),
            (weather, "When was the most rain?", "2014/08/11,9.5,35.6,17.0"),
            (airports, "Which airport lies furthest north?", "B,71.2,-156.7,40"),
            (airports, "Which one is furthest south?", "C,-3.1,12.5,9000"),
            (airports, "Which is the westernmost?", "B,71.2,-156.7,40"),
            (airports, "Which was the most expensive?", "C,-3.1,12.5,9000"),
            (processes, "Which process uses the most memory?", "root    1  0.0  0.7 init"),
            (listing, "What is the largest library?", "-rw-r--r-- 1 root root 117308864 Jan  3 2023 b.so"),
            (listing, "What is the smallest one?", "-rw-r--r-- 9 root root 12 Jan 31 2023 c.so"),
            (profile, "Which function was called most often?", "    32964    0.002    b.py"),
        ] {
            assert_eq!(shown(table, question), [row], "{question}");
        }
    }

    #[test]
    fn prose_and_tables_without_such_a_column_have_no_extreme_row() {
        let prose = "What is said here\nhas no numbers\nand no columns\n";
        let table = "a,b,c\n1,2,3\n4,5,6\n7,8,9\n";
        for (text, question) in [
            (prose, "the most words"),
            (table, "the most words"),
            (table, "which row has b?"),
            ("", "the most"),
        ] {
            assert!(shown(text, question).is_empty(), "{question}");
        }
    }
}
