//! Tables: columns, heads and rows.

use crate::classify::lines::LOOKED_AT;
use crate::text::similarity::template;
use memchr::{memchr, memchr2};

/// Separation of the columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    Separated(u8),
    Aligned,
    /// Start of each column, in characters.
    Ruled(Vec<usize>),
}

pub(crate) const SEPARATORS: [(u8, &str); 4] = [
    (b'\t', "separated by tabs"),
    (b',', "separated by commas"),
    (b';', "separated by semicolons"),
    (b'|', "separated by bars"),
];

/// Whether lines that begin with time stamps are rows of a table with a header.
pub(crate) fn is_stamped(lines: &[&[u8]]) -> bool {
    let is_named = lines.first().is_some_and(|header| !crate::classify::log::is_stamped(header));
    is_named && matches!(Head::of(lines), Some(Head { columns: Columns::Separated(_), .. }))
}

/// Whether lines are rows of a table. They may be cut, so the field count of long ones is unknown.
pub(crate) fn is_table(lines: &[&[u8]]) -> bool {
    Head::of(lines).is_some()
}

/// Head of a table, in lines that are not blank.
pub(crate) struct Head {
    pub(crate) columns: Columns,
    /// Line with the names of the columns.
    pub(crate) names: usize,
    /// First row: the same line, if there are no names.
    pub(crate) first: usize,
}

impl Head {
    pub(crate) fn of(lines: &[&[u8]]) -> Option<Head> {
        let rows: Vec<&[u8]> = lines.iter().copied().filter(|line| !line.trim_ascii().is_empty()).collect();
        if rows.len() < 3 {
            return None;
        }
        if let Some(separator) = separator(&rows) {
            let first = usize::from(!is_row(&rows, separator));
            return Some(Head { columns: Columns::Separated(separator), names: 0, first });
        }
        if let Some((at, starts)) = ruler(&rows)
            && is_ruled(&rows[at + 1..], &starts)
        {
            return Some(Head { columns: Columns::Ruled(starts), names: at - 1, first: at + 1 });
        }
        // Text above a table, as in `top` and profilers, can look like its header.
        let heads = |at: &usize, least: usize| heads(rows[*at], &rows[at + 1..], least);
        let below = || (1..ABOVE.min(rows.len() - 2)).rev().find(|at| heads(at, NUMBERS_BELOW));
        let names = Some(0).filter(|at| heads(at, NUMBERS)).or_else(below)?;
        Some(Head { columns: Columns::Aligned, names, first: names + 1 })
    }
}

/// Returns the separator of the fields of a table.
pub(crate) fn separator(rows: &[&[u8]]) -> Option<u8> {
    let header = rows[0];
    // Lines of JSON contain commas too.
    let is_object = |row: &&&[u8]| row.starts_with(b"{") && row.trim_ascii_end().ends_with(b"}");
    if rows.iter().filter(is_object).count() * 2 > rows.len() {
        return None;
    }
    SEPARATORS.iter().map(|(separator, _)| *separator).find(|&separator| {
        let wanted = fields(header, separator).len();
        // Two columns separated by a comma can be a sentence.
        let least = if separator == b'\t' { 2 } else { 3 };
        let is_same = |row: &&&[u8]| match fields(row, separator).len() {
            // A cut row has lost fields; it counts only with so many fields that it is not a sentence.
            found if row.len() >= LOOKED_AT => found <= wanted && wanted >= MANY,
            found => found == wanted,
        };
        let drawn = rows.iter().filter(|row| is_rule(row)).count();
        let same = rows.iter().filter(is_same).count() + drawn;
        let named = fields(header, separator).iter().filter(|field| !field.trim().is_empty()).count();
        wanted >= least && named * 4 >= wanted * 3 && same * 20 >= rows.len() * 19
    })
}

/// Whether the first row is data and not a header: in some column it has a number or a date, as nearly all rows have
/// there in the same form. A year can be a name.
pub(crate) fn is_row(rows: &[&[u8]], separator: u8) -> bool {
    let [first, below @ ..] = rows else { return false };
    let below: Vec<Vec<String>> =
        below.iter().filter(|row| !is_rule(row)).take(FIRST).map(|row| fields(row, separator)).collect();
    let is_like = |(column, field): (usize, &String)| {
        let field = field.trim().as_bytes();
        let is_year = field.len() == 4 && (field.starts_with(b"19") || field.starts_with(b"20"));
        let like = |row: &&Vec<String>| {
            row.get(column).is_some_and(|other| template(other.trim().as_bytes()) == template(field))
        };
        let is_number = field.first().is_some_and(u8::is_ascii_digit);
        is_number && !is_year && below.iter().filter(like).count() * 10 >= below.len() * 9
    };
    fields(first, separator).iter().enumerate().any(is_like)
}

/// Whether a line is a rule between rows.
pub(crate) fn is_rule(row: &[u8]) -> bool {
    row.iter().all(|byte| b"-=+| ".contains(byte)) && row.iter().any(|byte| b"-=".contains(byte))
}

/// Minimum columns of numbers below a header, and below a header with text above it.
pub(crate) const NUMBERS: usize = 2;

pub(crate) const NUMBERS_BELOW: usize = 3;

/// Whether a line is the header of rows aligned under it, or has at least `least` columns of numbers below.
pub(crate) fn heads(header: &[u8], rows: &[&[u8]], least: usize) -> bool {
    let wanted = aligned(header).len();
    let is_header =
        is_header(header) && is_in_columns(header, rows) || has_numbers_below(header, rows, least);
    is_header && rows.iter().filter(|row| aligned(row).len() + 1 >= wanted).count() * 10 >= rows.len() * 9
}

/// Commas that no sentence has.
pub(crate) const MANY: usize = 8;

/// Whether rows are in the columns of a header: they have as many fields, or for most pairs of names there is a place between
/// them at which nearly every row is blank. Prose under a title in capitals has neither.
pub(crate) fn is_in_columns(header: &[u8], rows: &[&[u8]]) -> bool {
    let names = aligned(header);
    let nearly_all = |fit: usize| fit * 10 >= rows.len() * 9;
    if nearly_all(rows.iter().filter(|row| aligned(row).len() == names.len()).count()) {
        return true;
    }
    let start = |name: &&[u8]| name.as_ptr() as usize - header.as_ptr() as usize;
    let is_border = |pair: &&[&[u8]]| {
        (start(&pair[0]) + 1..start(&pair[1]) + pair[1].len()).any(|place| {
            nearly_all(rows.iter().filter(|row| row.get(place).is_none_or(u8::is_ascii_whitespace)).count())
        })
    };
    names.windows(2).filter(is_border).count() * 2 >= names.len()
}

/// First lines that contain the header and its rule.
pub(crate) const ABOVE: usize = 8;

/// Returns the rule under a header, and where its strokes begin, as in `dpkg -l`, `pip list` and `psql`.
pub(crate) fn ruler(rows: &[&[u8]]) -> Option<(usize, Vec<usize>)> {
    let found = rows.iter().take(ABOVE).enumerate().skip(1).find_map(|(at, row)| {
        let row = row.trim_ascii_end();
        if !is_rule(row) {
            return None;
        }
        // With two kinds of strokes, the thin one is between columns.
        let stroke = if row.contains(&b'=') { b'=' } else { b'-' };
        let is_stroke = |byte: u8| byte == stroke || byte == b'+' && stroke == b'=';
        let starts: Vec<usize> = (0..row.len())
            .filter(|&place| is_stroke(row[place]) && (place == 0 || !is_stroke(row[place - 1])))
            .collect();
        (starts.len() >= 2).then_some((at, starts))
    })?;
    Some(found)
}

/// Whether columns begin at these places in nearly all rows.
pub(crate) fn is_ruled(rows: &[&[u8]], starts: &[usize]) -> bool {
    let fits = |row: &&&[u8]| {
        let text: Vec<char> = String::from_utf8_lossy(row).chars().collect();
        let is_apart = |&start: &usize| text.get(start - 1).is_none_or(|before| matches!(before, ' ' | '|'));
        starts.iter().filter(|start| **start > 0).all(is_apart)
    };
    rows.len() >= 2 && rows.iter().filter(fits).count() * 10 >= rows.len() * 9
}

/// Whether a line has names, with numbers below at least `least` of them, as in `df`.
pub(crate) fn has_numbers_below(header: &[u8], rows: &[&[u8]], least: usize) -> bool {
    let names = aligned(header);
    let is_name = |field: &&[u8]| field.iter().any(u8::is_ascii_alphabetic);
    let numeric = |column: usize| {
        let below = rows.iter().filter(|row| {
            aligned(row).get(column).is_some_and(|field| {
                let digits =
                    field.iter().filter(|byte| byte.is_ascii_digit() || b".%,".contains(byte)).count();
                // A unit can follow the digits.
                digits > 0 && digits + 1 >= field.len() && !field[0].is_ascii_alphabetic()
            })
        });
        below.count() * 10 >= rows.len() * 9
    };
    names.len() >= 4
        && names.iter().all(is_name)
        && (1..names.len()).filter(|&column| numeric(column)).count() >= least
}

/// Whether a line is a header of three or more names in capitals, as in `ps` or `kubectl get`.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let capitals =
        |field: &&[u8]| field.iter().all(|byte| byte.is_ascii_uppercase() || b"%()-_/# +".contains(byte));
    let fields: Vec<&[u8]> =
        line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty()).collect();
    fields.len() >= 3 && fields.iter().all(capitals) && line.iter().any(u8::is_ascii_uppercase)
}

pub(crate) fn aligned(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty()).collect()
}

/// Returns the fields of a row. A separator in quotes does not count.
pub(crate) fn fields(row: &[u8], separator: u8) -> Vec<String> {
    let mut fields = Vec::new();
    for_each_field(row, separator, |field| fields.push(String::from_utf8_lossy(field).replace('"', "")));
    fields
}

pub(crate) fn for_each_field<'a>(row: &'a [u8], separator: u8, mut take: impl FnMut(&'a [u8])) {
    let mut rest = row;
    loop {
        let mut from = 0;
        let end = loop {
            match memchr2(separator, b'"', &rest[from..]) {
                Some(at) if rest[from + at] == b'"' => {
                    let open = from + at + 1;
                    from = memchr(b'"', &rest[open..]).map_or(rest.len(), |close| open + close + 1);
                }
                Some(at) => break Some(from + at),
                None => break None,
            }
        };
        let Some(end) = end else { return take(rest) };
        take(&rest[..end]);
        rest = &rest[end + 1..];
    }
}

/// Rows that are read to find how columns are separated.
pub(crate) const FIRST: usize = 200;
