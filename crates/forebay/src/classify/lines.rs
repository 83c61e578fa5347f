//! Lines of an output, each cut to its beginning.

use crate::{Output, Result};
use memchr::memchr;
use std::ops::Range;

/// Maximum bytes of a line that are read.
pub(crate) const LOOKED_AT: usize = 1024;

/// Line of an output.
pub(crate) struct Line<'a> {
    /// Number, counted from 1.
    pub(crate) number: u64,
    /// Beginning, without a line number printed before it and without the line end.
    pub(crate) text: &'a [u8],
}

impl Line<'_> {
    /// Returns its beginning as text.
    pub(crate) fn lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.text)
    }
}

/// Form of the line numbers printed before lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbering {
    separator: &'static [u8],
    /// Spaces after the separator that do not belong to the line.
    spaces: usize,
}

impl Numbering {
    /// Returns the numbering of nearly all `lines`, if there is one.
    pub(crate) fn of<'a>(lines: impl Iterator<Item = &'a [u8]> + Clone) -> Option<Numbering> {
        let separators: [&'static [u8]; 6] = [b"\t", b": ", b":", "→".as_bytes(), b"|", "│".as_bytes()];
        separators.iter().find_map(|&separator| {
            let (mut numbered, mut other, mut last, mut spaced) = (0, 0, None, true);
            for line in lines.clone() {
                match split(line, separator) {
                    // A table can have numbers in its first column, but they rarely count lines.
                    Some((number, rest)) if last.is_none_or(|last| number == last + 1) => {
                        spaced &= rest.first().is_none_or(|&byte| byte == b' ');
                        (numbered, last) = (numbered + 1, Some(number));
                    }
                    Some((number, _)) if last.is_some_and(|last| number > last) => {
                        (numbered, last) = (numbered + 1, Some(number));
                        other += 1;
                    }
                    _ => other += usize::from(!line.trim_ascii().is_empty()),
                }
            }
            if is_column(lines.clone(), separator) {
                return None;
            }
            let spaces = usize::from(spaced && separator.last() != Some(&b' ') && separator != b"\t");
            (numbered >= 3 && other * 4 <= numbered).then_some(Numbering { separator, spaces })
        })
    }

    /// Returns the line after its number; `None` if it has none.
    pub(crate) fn strip(self, line: &[u8]) -> Option<&[u8]> {
        Some(self.split(line)?.1)
    }

    /// Returns the number of a line and the line after it; `None` if it has none.
    pub(crate) fn split(self, line: &[u8]) -> Option<(u64, &[u8])> {
        // Editors that trim blank lines remove the space of `12: `.
        let (number, rest) =
            split(line, self.separator).or_else(|| split(line, self.separator.trim_ascii_end()))?;
        let spaces = rest.iter().take(self.spaces).take_while(|&&byte| byte == b' ').count();
        Some((number, &rest[spaces..]))
    }
}

/// Whether a separator also separates columns: nearly all lines have the same number of it, and more than one.
fn is_column<'a>(lines: impl Iterator<Item = &'a [u8]>, separator: &[u8]) -> bool {
    let [mark @ (b'\t' | b'|')] = separator else { return false };
    let of_line = |line: &'a [u8]| memchr::memchr_iter(*mark, line).count();
    let counts: Vec<usize> = lines.filter(|line| split(line, separator).is_some()).map(of_line).collect();
    let first = counts.first().copied().unwrap_or(0);
    first > 1 && counts.iter().filter(|count| **count == first).count() * 20 >= counts.len() * 19
}

fn split<'a>(line: &'a [u8], separator: &[u8]) -> Option<(u64, &'a [u8])> {
    if separator.is_empty() {
        return None;
    }
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&line[..digits]).ok()?.parse().ok()?;
    let mut rest = &line[digits..];
    if separator == b"|" || separator == "│".as_bytes() {
        rest = rest.trim_ascii_start();
    }
    Some((number, rest.strip_prefix(separator)?))
}

/// Output, read by lines.
pub(crate) struct Source<'a> {
    pub(crate) output: &'a Output,
    pub(crate) numbering: Option<Numbering>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(output: &'a Output, numbering: Option<Numbering>) -> Source<'a> {
        Source { output, numbering }
    }

    /// Calls `take` with each line.
    pub(crate) fn for_each(&self, take: impl FnMut(&Line)) -> Result<()> {
        self.for_each_from(0, take)
    }

    /// Calls `take` with each line from the one that begins at `start`.
    pub(crate) fn for_each_from(&self, start: u64, mut take: impl FnMut(&Line)) -> Result<()> {
        // Lost bytes count as lines but cannot be read.
        let lost = self.output.lost();
        let parts = [0..lost.start, lost.end..self.output.len()];
        for part in parts {
            let part = part.start.max(start)..part.end;
            if part.start < part.end {
                self.part(part, &mut take)?;
            }
        }
        Ok(())
    }

    fn part(&self, part: Range<u64>, take: &mut impl FnMut(&Line)) -> Result<()> {
        let mut number = self.output.newlines_before(part.start)? + 1;
        // Beginning of a line whose end has not come yet, and whether there is one.
        let mut begun: Vec<u8> = Vec::new();
        let mut inside = false;
        self.output.for_each_block(part, |_, block| {
            let mut rest = block;
            while let Some(end) = memchr(b'\n', rest) {
                let text = if inside {
                    begin(&mut begun, &rest[..end]);
                    &begun[..]
                } else {
                    &rest[..end.min(LOOKED_AT)]
                };
                take(&Line { number, text: self.plain(number, text) });
                begun.clear();
                inside = false;
                number += 1;
                rest = &rest[end + 1..];
            }
            if !rest.is_empty() {
                begin(&mut begun, rest);
                inside = true;
            }
        })?;
        if inside {
            take(&Line { number, text: self.plain(number, &begun) });
        }
        Ok(())
    }

    fn plain<'b>(&self, number: u64, text: &'b [u8]) -> &'b [u8] {
        let text = if number == 1 { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text) } else { text };
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match self.numbering {
            Some(numbering) => numbering.strip(text).unwrap_or_default(),
            None => text,
        }
    }
}

fn begin(begun: &mut Vec<u8>, more: &[u8]) {
    let room = LOOKED_AT.saturating_sub(begun.len());
    begun.extend_from_slice(&more[..more.len().min(room)]);
}
