//! Values of one column of a table.

use crate::outline::duplicates::Twice;
use crate::outline::name;
use crate::outline::outliers::Greatest;
use crate::text::count::counted;

/// Maximum distinct values that are listed.
const DISTINCT: usize = 6;

/// Maximum bytes of a value that can be a category.
const SHORT: usize = 40;

/// Minimum rows of a table in which values can be rare, and how many rows there are for each rare one.
const ROWS: u64 = 20;
pub(crate) const RARE: u64 = 20;

/// Column with a summary of its values.
pub(crate) struct Column {
    pub(crate) name: String,
    filled: u64,
    numbers: u64,
    least: Option<(f64, String)>,
    greatest: Option<(f64, String)>,
    /// Distinct values with their counts and first lines; `None` once there are too many.
    distinct: Option<Vec<(Vec<u8>, u64, u64)>>,
    /// First value.
    example: String,
    /// Line of the first value that is not a number, and of the first missing one.
    worded: u64,
    missing: u64,
    /// Largest numbers with their lines.
    greatest_at: Greatest<u64>,
    /// Lines of duplicates, if the values identify rows.
    pub(crate) twice: Option<Twice<u64>>,
}

impl Column {
    pub(crate) fn new(name: String) -> Column {
        Column {
            name,
            filled: 0,
            numbers: 0,
            least: None,
            greatest: None,
            distinct: Some(Vec::new()),
            example: String::new(),
            worded: 0,
            missing: 0,
            greatest_at: Greatest::default(),
            twice: None,
        }
    }

    pub(crate) fn take(&mut self, field: &[u8], line: u64) {
        let field = field.trim_ascii();
        let field = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field);
        if field.is_empty() {
            self.missing = if self.missing == 0 { line } else { self.missing };
            return;
        }
        if self.filled == 0 {
            self.example = name(&String::from_utf8_lossy(&field[..field.len().min(SHORT)]));
        }
        self.filled += 1;
        if let Some(twice) = &mut self.twice {
            twice.take(field, || line);
        }
        match number(field) {
            Some(value) => {
                self.numbers += 1;
                self.greatest_at.take(value, || line);
                let written = || String::from_utf8_lossy(field).into_owned();
                if self.least.as_ref().is_none_or(|(least, _)| value < *least) {
                    self.least = Some((value, written()));
                }
                if self.greatest.as_ref().is_none_or(|(greatest, _)| value > *greatest) {
                    self.greatest = Some((value, written()));
                }
            }
            None if self.worded == 0 => self.worded = line,
            None => {}
        }
        match &mut self.distinct {
            Some(distinct) if field.len() <= SHORT => {
                match distinct.iter().position(|(known, ..)| known == field) {
                    Some(known) => distinct[known].1 += 1,
                    None if distinct.len() < DISTINCT => distinct.push((field.to_vec(), 1, line)),
                    None => self.distinct = None,
                }
            }
            Some(_) => self.distinct = None,
            None => {}
        }
    }

    /// Returns the lines with values that few other rows have, each with the number of such rows.
    pub(crate) fn odd(&self, rows: u64) -> Vec<(u64, u64)> {
        let mut odd = Vec::new();
        let mut take = |count: u64, line: u64| {
            if count > 0 && line > 0 && count * RARE <= rows {
                odd.push((count, line));
            }
        };
        if rows >= ROWS {
            let distinct = self.distinct.iter().flatten();
            distinct.for_each(|(_, count, line)| take(*count, *line));
            take(self.filled - self.numbers, self.worded);
            take(rows.saturating_sub(self.filled), self.missing);
            self.greatest_at.outliers().into_iter().for_each(|line| take(1, line));
            self.twice().iter().flatten().for_each(|line| take(2, *line));
        }
        odd
    }

    /// Returns both lines of each duplicate.
    fn twice(&self) -> &[[u64; 2]] {
        self.twice.as_ref().map_or(&[], Twice::places)
    }

    /// Whether its values are categories that can be listed.
    fn has_kinds(&self, rows: u64) -> bool {
        self.distinct.as_ref().is_some_and(|distinct| rows > DISTINCT as u64 || distinct.len() == 1)
    }

    /// Returns how much its summary says: categories more than a range, a range more than a constant, a constant more than an example.
    pub(crate) fn told(&self, rows: u64) -> u64 {
        match &self.distinct {
            _ if self.filled == 0 => 0,
            Some(distinct) if self.has_kinds(rows) => {
                if distinct.len() > 1 {
                    3
                } else {
                    1
                }
            }
            _ if self.is_number() => 2,
            _ => 0,
        }
    }

    /// Whether nearly all values are numbers.
    fn is_number(&self) -> bool {
        self.numbers * RARE >= self.filled * (RARE - 1) && self.numbers > 0
    }

    /// Returns a summary of its values.
    pub(crate) fn described(&self, rows: u64) -> String {
        let range = self.least.as_ref().zip(self.greatest.as_ref());
        let what = match (&self.distinct, range) {
            _ if self.filled == 0 => "empty".to_owned(),
            (Some(distinct), _) if self.has_kinds(rows) => {
                let mut distinct: Vec<_> = distinct.iter().collect();
                distinct.sort_by_key(|(_, count, line)| (std::cmp::Reverse(*count), *line));
                let said = |(value, count, _): &&(Vec<u8>, u64, u64)| {
                    let value = name(&String::from_utf8_lossy(value));
                    match *count {
                        1 => value,
                        count if count == rows => format!("always {value}"),
                        count => format!("{value} × {}", crate::text::count::grouped(count)),
                    }
                };
                distinct.iter().map(said).collect::<Vec<_>>().join(", ")
            }
            (_, Some(((_, least), (_, greatest)))) if self.is_number() => match self.filled - self.numbers {
                0 => format!("{least} to {greatest}"),
                words => format!("{least} to {greatest}, {} no numbers", crate::text::count::grouped(words)),
            },
            _ => format!("such as {}", self.example),
        };
        let missing = match rows.saturating_sub(self.filled) {
            missing if missing > 0 && self.filled > 0 => {
                format!(", {} empty", crate::text::count::grouped(missing))
            }
            _ => String::new(),
        };
        let twice = match self.twice().len() {
            0 => String::new(),
            values => format!(", {} twice", counted(values as u64, "value")),
        };
        if self.name.is_empty() {
            format!("{what}{missing}{twice}")
        } else {
            format!("{}: {what}{missing}{twice}", name(&self.name))
        }
    }
}

/// Reads a number, with or without a per cent sign.
fn number(field: &[u8]) -> Option<f64> {
    let first = *field.first()?;
    if !first.is_ascii_digit() && first != b'-' && first != b'.' || field.len() > 24 {
        return None;
    }
    let field = field.strip_suffix(b"%").unwrap_or(field);
    std::str::from_utf8(field).ok()?.parse::<f64>().ok().filter(|value| value.is_finite())
}
