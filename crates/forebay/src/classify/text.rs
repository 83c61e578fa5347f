//! Text of a program, ready to be parsed.

use crate::Result;
use crate::classify::lines::Source;
use memchr::memrchr;

/// Beginning of an output as whole lines, without line numbers.
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    /// Bytes of the output that it stands for.
    pub(crate) read: u64,
}

pub(crate) fn text(source: &Source, limit: u64) -> Result<Text> {
    let end = source.output.len().min(source.output.lost().start);
    let mut bytes = source.output.read(0..limit.min(end))?;
    if (bytes.len() as u64) < end {
        // A line longer than the limit is not code.
        bytes.truncate(memrchr(b'\n', &bytes).map_or(0, |newline| newline + 1));
    }
    let read = bytes.len() as u64;
    if let Some(numbering) = source.numbering {
        let mut plain = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match numbering.strip(line) {
                Some(rest) => plain.extend_from_slice(rest),
                None => plain.push(b'\n'),
            }
        }
        bytes = plain;
    }
    Ok(Text { bytes, read })
}
