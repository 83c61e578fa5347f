//! Ranges of lines and bytes as they are typed.

use crate::{Error, Result};
use std::ops::{Range, RangeInclusive};

/// Maximum ranges in one query.
pub(crate) const MOST: usize = 100;

/// Parses ranges of lines: `A:B`, `A:`, `:B`, or `A` for one line; several are separated by spaces.
pub fn line_ranges(text: &str) -> Result<Vec<RangeInclusive<u64>>> {
    let range = |Ends { from, to }| from.unwrap_or(1)..=to.unwrap_or(u64::MAX);
    Ok(parse(text)?.into_iter().map(range).collect())
}

/// Parses ranges of bytes: `A:B`, `A:` or `:B`; several are separated by spaces.
pub fn byte_ranges(text: &str) -> Result<Vec<Range<u64>>> {
    let range = |Ends { from, to }| from.unwrap_or(0)..to.unwrap_or(u64::MAX);
    Ok(parse(text)?.into_iter().map(range).collect())
}

/// A range of lines as [`line_ranges`] parses it.
pub(crate) fn written(range: &RangeInclusive<u64>) -> String {
    match *range.end() {
        u64::MAX => format!("{}:", range.start()),
        end => format!("{}:{end}", range.start()),
    }
}

/// The ends of a range; `None` for an end that is left out.
struct Ends {
    from: Option<u64>,
    to: Option<u64>,
}

fn parse(text: &str) -> Result<Vec<Ends>> {
    let number = |part: &str| {
        // Headers print numbers with commas between thousands, so they come back that way; `10,20` is not one.
        let grouped = part.split(',').skip(1).all(|group| group.len() == 3);
        match part.replace([',', '_'], "").parse() {
            _ if part.is_empty() => Ok(None),
            Ok(number) if grouped => Ok(Some(number)),
            _ => {
                let part: String = part.chars().take(40).collect();
                Err(Error::BadQuery(format!("{part:?} is not a number; a range is A:B, A: or :B")))
            }
        }
    };
    let parts = text.split([' ', ';', '\t', '\n']).map(|part| part.trim_matches(','));
    let parts = joined(parts.filter(|part| !part.is_empty()))?;
    let ranges: Vec<Ends> = parts
        .iter()
        .map(|part| match part.split_once([':', '-', '–']) {
            Some(("", _)) if part.starts_with(['-', '–']) => Err(Error::BadQuery(format!(
                "{part:?} is no range: a range is A:B, A: or :B, and the last lines are the tail"
            ))),
            Some((from, to)) => Ok(Ends { from: number(from)?, to: number(to)? }),
            None => number(part).map(|one| Ends { from: one, to: one }),
        })
        .collect::<Result<_>>()?;
    if ranges.is_empty() {
        return Err(Error::BadQuery("no range: a range is A:B, A: or :B".to_owned()));
    }
    Ok(ranges)
}

/// The parts of a text between spaces, with `1 : 2` as one. A space on one side only is an error: it could mean one range
/// or two.
fn joined<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    const BETWEEN: [char; 3] = [':', '-', '–'];
    let is_number = |part: &str| !part.contains(BETWEEN);
    let mut ranges: Vec<String> = Vec::new();
    let mut open = false;
    for part in parts {
        let is_between = part.chars().count() == 1 && part.starts_with(BETWEEN);
        match ranges.last_mut() {
            Some(last) if is_between && is_number(last) => {
                last.push_str(part);
                open = true;
                continue;
            }
            Some(last) if open && is_number(part) => last.push_str(part),
            Some(last)
                if is_number(last) && part.starts_with(BETWEEN)
                    || is_number(part) && last.ends_with(BETWEEN) =>
            {
                let [last, part] = [&**last, part].map(|text| crate::shortened(text, 40));
                return Err(Error::BadQuery(format!(
                    "\"{last} {part}\" has a blank in a range: write A:B, A: or :B"
                )));
            }
            _ => ranges.push(part.to_owned()),
        }
        open = false;
    }
    Ok(ranges)
}
