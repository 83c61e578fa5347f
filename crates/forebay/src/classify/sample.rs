//! Samples of an output's lines, used to detect its form.

use crate::classify::lines::{LOOKED_AT, Numbering};
use crate::terminal::without_codes;
use crate::{Output, Result};
use memchr::memchr;

/// Bytes of the first and of the last window of a sample; those between them have a quarter of it.
const WINDOW: u64 = 32 * 1024;

/// Windows between the first and the last.
const WINDOWS_BETWEEN: u64 = 6;

/// Bytes of a line that are kept.
const LINE_BYTES: usize = 256;

/// Lines of a sample.
pub(crate) struct Sample {
    /// Lines of the beginning.
    pub(crate) head: Vec<Vec<u8>>,
    /// The same lines with as many bytes as the outline of a table reads.
    long: Vec<Vec<u8>>,
    /// Lines of the other windows.
    rest: Vec<Vec<u8>>,
}

impl Sample {
    pub(crate) fn of(output: &Output) -> Result<Sample> {
        let long = window(output, 0, WINDOW, LOOKED_AT)?;
        let head = long.iter().map(|line| line[..line.len().min(LINE_BYTES)].to_vec()).collect();
        let mut rest = Vec::new();
        let length = output.len();
        if length > WINDOW {
            let between = (length - WINDOW) / (WINDOWS_BETWEEN + 1);
            for place in 1..=WINDOWS_BETWEEN {
                rest.extend(window(output, WINDOW.max(place * between), WINDOW / 4, LINE_BYTES)?);
            }
            rest.extend(window(output, length.saturating_sub(WINDOW).max(WINDOW), WINDOW, LINE_BYTES)?);
        }
        Ok(Sample { head, long, rest })
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.head.iter().chain(&self.rest).map(|line| &line[..])
    }

    /// Returns the first line that is not blank, without blanks around it.
    pub(crate) fn first_line(&self) -> Option<&[u8]> {
        self.head.iter().map(|line| line.trim_ascii()).find(|line| !line.is_empty())
    }

    /// Returns the lines as rows of a table: those of the beginning in full, and of the other windows those that were not
    /// cut, because the number of fields tells the columns.
    pub(crate) fn rows(&self) -> Vec<&[u8]> {
        let whole = self.rest.iter().filter(|line| line.len() < LINE_BYTES);
        self.long.iter().chain(whole).map(|line| &line[..]).collect()
    }

    /// Returns the percentage of lines for which `what` holds. Blank lines do not count.
    pub(crate) fn share(&self, mut what: impl FnMut(&[u8]) -> bool) -> usize {
        let (mut held, mut all) = (0, 0);
        for line in self.lines().filter(|line| !line.trim_ascii().is_empty()) {
            held += usize::from(what(line));
            all += 1;
        }
        held * 100 / all.max(1)
    }

    pub(crate) fn count(&self, mut what: impl FnMut(&[u8]) -> bool) -> usize {
        self.lines().filter(|line| what(line)).count()
    }

    pub(crate) fn without_numbers(&self, numbering: Numbering) -> Sample {
        let plain = |lines: &[Vec<u8>]| {
            lines.iter().map(|line| numbering.strip(line).unwrap_or_default().to_vec()).collect()
        };
        Sample { head: plain(&self.head), long: plain(&self.long), rest: plain(&self.rest) }
    }
}

/// Returns the whole lines of a window, each cut to `line` bytes.
fn window(output: &Output, start: u64, length: u64, line: usize) -> Result<Vec<Vec<u8>>> {
    let bytes = output.read(start..(start + length).min(output.len()))?;
    let is_last = start + length >= output.len();
    let mut bytes = &bytes[..];
    if start > 0 {
        bytes = &bytes[memchr(b'\n', bytes).map_or(bytes.len(), |newline| newline + 1)..];
    } else {
        bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    }
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) || (!is_last && lines.len() > 1) {
        lines.pop();
    }
    let mut buffer = Vec::new();
    let plain = |text: &[u8]| without_codes(&text[..text.len().min(line)], &mut buffer).to_vec();
    Ok(lines.into_iter().map(plain).collect())
}
