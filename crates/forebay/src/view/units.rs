//! The units that a fold chooses from: lines, and the parts of lines that are too long to be shown whole.

use crate::{Output, Result};
use std::ops::Range;

/// Longest line that is one unit, in bytes. A longer one is chosen from in parts.
const LONG: usize = 512;

/// Bytes of a part of a long line: about three lines of a terminal.
const PART: usize = 256;

/// A line, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) range: Range<u64>,
    /// A carriage return wrote over it, so that a person would not have seen it.
    pub(crate) overwritten: bool,
}

/// The units of `range`, which should begin at a line start. Otherwise the first unit is the rest of a line.
pub(crate) fn units(output: &Output, range: Range<u64>) -> Result<Vec<Unit>> {
    let bytes = output.read(range.start..range.end.min(output.len()))?;
    let mut units = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let (length, overwritten) = stretch(&bytes[start..]);
        let end = start + length;
        while end - start > LONG {
            let mut cut = start + PART;
            while cut < end && bytes[cut] & 0xc0 == 0x80 {
                cut += 1;
            }
            units.push(unit(&range, start..cut, overwritten));
            start = cut;
        }
        if start < end {
            units.push(unit(&range, start..end, overwritten));
        }
        start = end;
    }
    Ok(units)
}

fn unit(base: &Range<u64>, part: Range<usize>, overwritten: bool) -> Unit {
    Unit { range: base.start + part.start as u64..base.start + part.end as u64, overwritten }
}

/// Length of the text that a terminal would show at once, and whether it was then overwritten.
fn stretch(bytes: &[u8]) -> (usize, bool) {
    let mut from = 0;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &bytes[from..]) {
        let at = from + found;
        if bytes[at] == b'\n' {
            return (at + 1, false);
        }
        // Carriage returns before a newline overwrite nothing.
        let after = bytes[at..].iter().take_while(|&&byte| byte == b'\r').count() + at;
        match bytes.get(after) {
            Some(b'\n') => return (after + 1, false),
            Some(_) => return (after, true),
            None => from = after,
        }
    }
    (bytes.len(), false)
}

/// Units at the beginning with `enough` bytes, or more if most are overwritten.
pub(crate) fn first(output: &Output, enough: u64) -> Result<Vec<Unit>> {
    let mut reach = enough;
    loop {
        let end = output.line_end_near(reach.min(output.len()), LONG as u64)?;
        let units = units(output, 0..end)?;
        if is_enough(&units, enough) || end == output.len() || reach > FARTHEST {
            return Ok(units);
        }
        reach *= 8;
    }
}

/// The units at the end, last first, likewise.
pub(crate) fn last(output: &Output, enough: u64) -> Result<Vec<Unit>> {
    let mut reach = enough;
    loop {
        let from = output.len().saturating_sub(reach);
        let start = if from == 0 { 0 } else { next_line(output, from)? };
        let mut units = units(output, start..output.len())?;
        units.reverse();
        if is_enough(&units, enough) || from == 0 || reach > FARTHEST {
            return Ok(units);
        }
        reach *= 8;
    }
}

/// Maximum bytes searched for text that was not overwritten.
const FARTHEST: u64 = 1024 * 1024;

fn is_enough(units: &[Unit], enough: u64) -> bool {
    let seen: u64 =
        units.iter().filter(|unit| !unit.overwritten).map(|unit| unit.range.end - unit.range.start).sum();
    seen >= enough / 2
}

/// The start of the next line if it is near, else the next character.
fn next_line(output: &Output, from: u64) -> Result<u64> {
    let end = output.line_end_near(from, LONG as u64)?;
    if end < output.len() && output.read(end - 1..end)? == b"\n" {
        return Ok(end);
    }
    output.character_start(from)
}

/// The unit at `offset`, with up to `before` units before it and up to `after` after it.
pub(crate) fn around(output: &Output, offset: u64, before: usize, after: usize) -> Result<Vec<Unit>> {
    let reach = (LONG * (before + 1)) as u64;
    let from = output.line_start_near(offset.saturating_sub(reach), LONG as u64)?;
    let from = if from == 0 { 0 } else { output.character_start(from)? };
    let to = (offset + (LONG * (after + 2)) as u64).min(output.len());
    let mut units = units(output, from..to)?;
    if to < output.len() && units.len() > 1 {
        // The last one may go on after the bytes that were read.
        units.pop();
    }
    let at =
        units.iter().position(|unit| unit.range.contains(&offset)).unwrap_or(units.len().saturating_sub(1));
    units.truncate(at + after + 1);
    units.drain(..at.saturating_sub(before));
    Ok(units)
}

/// Ranges of the lines at some offsets, or of the parts of long ones.
pub(crate) fn at(output: &Output, offsets: &[u64]) -> Result<Vec<Range<u64>>> {
    let unit = |&offset: &u64| Ok(around(output, offset, 0, 0)?.pop().map(|unit| unit.range));
    offsets.iter().map(unit).filter_map(Result::transpose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn texts(bytes: &[u8]) -> Vec<(String, bool)> {
        let output = output_of(bytes);
        let units = units(&output, 0..output.len()).unwrap();
        let text = |unit: &Unit| String::from_utf8(output.read(unit.range.clone()).unwrap()).unwrap();
        units.iter().map(|unit| (text(unit), unit.overwritten)).collect()
    }

    #[test]
    fn lines_returns_and_long_lines_are_told_apart() {
        let plain = |text: &str| (text.to_owned(), false);
        let gone = |text: &str| (text.to_owned(), true);
        assert_eq!(texts(b"a\nb"), [plain("a\n"), plain("b")]);
        assert_eq!(texts(b"a\r\nb\r\r\n"), [plain("a\r\n"), plain("b\r\r\n")]);
        assert_eq!(texts(b"1%\r2%\rdone\n"), [gone("1%\r"), gone("2%\r"), plain("done\n")]);
        assert_eq!(texts(b"1%\r2%\r"), [gone("1%\r"), plain("2%\r")]);
        let long = "漢".repeat(400);
        let parts = texts(long.as_bytes());
        assert_eq!(parts.iter().map(|(text, _)| text.as_str()).collect::<String>(), long);
        assert!(parts.len() > 2 && parts.iter().all(|(text, _)| text.len() <= LONG));
    }

    #[test]
    fn a_long_progress_bar_is_looked_through_for_its_end() {
        let bar: String = (0..30_000).map(|step| format!("step {step}\r")).collect();
        let output = output_of(format!("start\n{bar}done\nnext\n").as_bytes());
        let shown: Vec<_> =
            last(&output, 1_000).unwrap().into_iter().filter(|unit| !unit.overwritten).collect();
        assert_eq!(output.read(shown[0].range.clone()).unwrap(), b"next\n");
        assert_eq!(output.read(shown[1].range.clone()).unwrap(), b"done\n");
    }
}
