//! Text derived from an output, such as the text of a page, with the origin of each part.

use std::ops::Range;

/// Derived text. Each of its lines is a block of the output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub(crate) text: Vec<u8>,
    /// Origins of stretches of the text: offset here, offset in the output.
    origins: Vec<(u64, u64)>,
    /// Properties of each line.
    pub(crate) lines: Vec<Line>,
}

/// Line of a derived text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// Offset in the derived text.
    pub(crate) start: u64,
    /// Whether it is a heading.
    pub(crate) heading: bool,
    /// How much it reads like prose rather than like a menu, from 0 to 1.
    pub(crate) prose: f32,
}

impl Derived {
    /// Adds bytes that came from `origin`.
    pub(crate) fn push(&mut self, byte: u8, origin: usize) {
        let at = self.text.len() as u64;
        let joins = self.origins.last().is_some_and(|&(here, there)| origin as u64 - there == at - here);
        if !joins {
            self.origins.push((at, origin as u64));
        }
        self.text.push(byte);
    }

    /// Adds bytes that came from `origin` on.
    pub(crate) fn extend(&mut self, bytes: &[u8], origin: u64) {
        if !bytes.is_empty() {
            self.origins.push((self.text.len() as u64, origin));
            self.text.extend_from_slice(bytes);
        }
    }

    /// Returns the ranges of the output from which a range of the derived text came, in the order of the text.
    pub(crate) fn origins(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut found: Vec<Range<u64>> = Vec::new();
        let first = self.origins.partition_point(|&(here, _)| here <= range.start).saturating_sub(1);
        for (at, &(here, there)) in self.origins.iter().enumerate().skip(first) {
            if here >= range.end {
                break;
            }
            let end = self.origins.get(at + 1).map_or(self.text.len() as u64, |&(next, _)| next);
            let (start, end) = (range.start.max(here), range.end.min(end));
            if start < end {
                found.push(there + (start - here)..there + (end - here));
            }
        }
        found
    }

    /// Returns the range of the output from which a range of the derived text came.
    pub(crate) fn origin(&self, range: &Range<u64>) -> Range<u64> {
        let of = |at: u64| {
            let next = self.origins.partition_point(|&(here, _)| here <= at);
            let (here, there) = self.origins[..next].last().copied().unwrap_or_default();
            there + (at - here)
        };
        of(range.start)..of(range.end.max(range.start + 1) - 1) + 1
    }

    /// Returns the part of the derived text that came from a range of the output.
    pub(crate) fn within(&self, range: &Range<u64>) -> Range<usize> {
        // The first place that came from `origin` or from behind it: stretches come in the order of the output.
        let first = |origin: u64| {
            let next = self.origins.partition_point(|&(_, there)| there < origin);
            let end = self.origins.get(next).map_or(self.text.len() as u64, |&(here, _)| here);
            let inside = next.checked_sub(1).map(|at| self.origins[at]);
            inside.map_or(end, |(here, there)| (here + (origin - there)).min(end)) as usize
        };
        first(range.start)..first(range.end)
    }

    /// Returns the line at an offset of the derived text.
    pub(crate) fn line_at(&self, at: u64) -> Option<&Line> {
        let next = self.lines.partition_point(|line| line.start <= at);
        self.lines[..next].last()
    }
}
