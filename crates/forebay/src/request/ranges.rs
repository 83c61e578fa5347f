//! Ranges of lines and bytes as they are typed.

use crate::{Error, Result};
use std::ops::{Range, RangeInclusive};

/// How many ranges one query may have.
pub(crate) const MOST: usize = 100;

/// Ranges of lines as they are typed: `A:B`, `A:`, `:B`, or `A` for one line; several stand apart by blanks.
pub fn line_ranges(text: &str) -> Result<Vec<RangeInclusive<u64>>> {
    let range = |(from, to): (Option<u64>, Option<u64>)| from.unwrap_or(1)..=to.unwrap_or(u64::MAX);
    Ok(typed(text)?.into_iter().map(range).collect())
}

/// Ranges of bytes as they are typed: `A:B`, `A:` or `:B`; several stand apart by blanks.
pub fn byte_ranges(text: &str) -> Result<Vec<Range<u64>>> {
    let range = |(from, to): (Option<u64>, Option<u64>)| from.unwrap_or(0)..to.unwrap_or(u64::MAX);
    Ok(typed(text)?.into_iter().map(range).collect())
}

/// A range of lines the way [`line_ranges`] reads it.
pub(crate) fn written(range: &RangeInclusive<u64>) -> String {
    match *range.end() {
        u64::MAX => format!("{}:", range.start()),
        end => format!("{}:{end}", range.start()),
    }
}

pub(crate) fn typed(text: &str) -> Result<Vec<(Option<u64>, Option<u64>)>> {
    let number = |part: &str| {
        // Headers print thousands apart, so that is how numbers come back; `10,20` is no such number.
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
    let ranges: Vec<(Option<u64>, Option<u64>)> = parts
        .iter()
        .map(|part| match part.split_once([':', '-', '–']) {
            Some(("", _)) if part.starts_with(['-', '–']) => Err(Error::BadQuery(format!(
                "{part:?} is no range: a range is A:B, A: or :B, and the last lines are the tail"
            ))),
            Some((from, to)) => Ok((number(from)?, number(to)?)),
            None => number(part).map(|one| (one, one)),
        })
        .collect::<Result<_>>()?;
    if ranges.is_empty() {
        Err(Error::BadQuery("no range: a range is A:B, A: or :B".to_owned()))
    } else {
        Ok(ranges)
    }
}

/// The parts of a text between blanks, with `1 : 2` as one. Where a blank is on one side only, nobody can tell whether one
/// range is meant or two.
pub(crate) fn joined<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
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
