//! Lines of answers and of outputs, in the form in which they are compared.

use crate::{Output, Result};
use memchr::memchr;

/// Minimum characters of a text that counts as a quote: shorter words in quotation marks are just as often names.
pub(crate) const SHORTEST: usize = 12;

/// Maximum quotes and copied lines of an answer that are searched in the output.
pub(crate) const MOST: usize = 256;

/// Maximum characters of a quote that are searched in the output.
pub(crate) const LONGEST: usize = 1_024;

/// Maximum bytes of a line that is read as a whole.
pub(crate) const LONG_LINE: usize = 64 * 1024;

/// The number before a line that a model copied with it, and the line.
pub(crate) fn number_before(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-*>`[".contains(c));
    let line = line.strip_prefix("Line ").or_else(|| line.strip_prefix("line ")).unwrap_or(line);
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = line[..line.len() - rest.len()].parse().ok()?;
    let rest = rest.strip_prefix(']').unwrap_or(rest).trim_start_matches('*');
    Some((number, rest.strip_prefix([':', '|', '.', ')'])?))
}

/// A line of an answer without its number and without the marks of a list or of code.
pub(crate) fn bare(line: &str) -> &str {
    let line = number_before(line).map_or(line, |(_, rest)| rest);
    line.trim().trim_start_matches(['-', '*', '>']).trim().trim_matches('`').trim()
}

/// Whether a line opens or closes a block of code.
pub(crate) fn is_fence(line: &str) -> bool {
    line.trim().strip_prefix("```").is_some_and(|rest| !rest.contains('`'))
}

/// Passes each line without its newline to `take`, and whether the line ends there: lines longer than [`LONG_LINE`]
/// are passed as overlapping parts.
pub(crate) fn for_each_line(output: &Output, mut take: impl FnMut(&[u8], bool)) -> Result<()> {
    let mut rest: Vec<u8> = Vec::new();
    output.for_each_block(0..output.len(), |_, block| {
        rest.extend_from_slice(block);
        let mut used = 0;
        while let Some(newline) = memchr(b'\n', &rest[used..]) {
            take(&rest[used..used + newline], true);
            used += newline + 1;
        }
        if rest.len() - used > LONG_LINE {
            take(&rest[used..], false);
            used = rest.len() - LONGEST;
        }
        rest.drain(..used);
    })?;
    take(&rest, true);
    Ok(())
}

/// A text with one blank in place of each run of white space.
pub(crate) fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
