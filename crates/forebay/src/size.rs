//! The size of an output, measured in the same pass in which it is written.

use crate::kind::{Kind, Sniffer};
use crate::text::failure_scan::Scanner;
use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

/// Size of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Bytes.
    pub bytes: u64,
    /// Characters, as a reader sees them: a sequence that is not UTF-8 counts as the one U+FFFD shown for it.
    pub characters: u64,
    /// Lines. A last line without a newline counts.
    pub lines: u64,
    /// Bytes of the longest line, without its newline.
    pub longest_line: u64,
    /// Tokens: exact, or never too low.
    pub tokens: u64,
    /// Whether `tokens` is exact.
    pub tokens_exact: bool,
}

/// Bytes between two entries of the line index. An entry is the number of newlines before its offset.
pub const STRIDE: u64 = 64 * 1024;

/// Measures bytes as they come.
#[derive(Default)]
pub struct Measure {
    pub(crate) hash: blake3::Hasher,
    pub(crate) text: Text,
}

/// Result of a [`Measure`].
#[non_exhaustive]
pub struct Measured {
    /// Size of the output.
    pub size: Size,
    /// Kind of its bytes.
    pub kind: Kind,
    /// The hash of its bytes.
    pub hash: String,
    /// Offsets in lines that mention errors, found in the same pass so that a view need not search for them.
    pub spoken: Vec<u64>,
}

impl Measure {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        // A stride at a time: it stays in the cache while everything is measured.
        for part in bytes.chunks(STRIDE as usize) {
            self.hash.update(part);
            self.text.update(part);
        }
    }

    /// Returns the entries of the line index added since the last call: the newlines before each further [`STRIDE`].
    pub fn take_index(&mut self) -> Vec<u8> {
        self.text.take_index()
    }

    /// Returns the result.
    pub fn finish(self) -> Measured {
        self.text.finish(&self.hash)
    }
}

/// All that is measured but the hash, which can go its own way.
#[derive(Default)]
pub(crate) struct Text {
    bytes: u64,
    characters: Characters,
    newlines: u64,
    longest: u64,
    /// Offset of the line that has not ended yet.
    line_start: u64,
    sniffer: Sniffer,
    scanner: Scanner,
    /// Entries of the line index that were not returned yet.
    index: Vec<u8>,
}

impl Text {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let to_entry = STRIDE - self.bytes % STRIDE;
            let (part, rest) =
                bytes.split_at(bytes.len().min(usize::try_from(to_entry).unwrap_or(usize::MAX)));
            self.sniffer.update(part);
            self.scanner.update(part);
            self.characters.update(part);
            for newline in memchr_iter(b'\n', part) {
                let end = self.bytes + newline as u64;
                self.longest = self.longest.max(end - self.line_start);
                self.line_start = end + 1;
                self.newlines += 1;
            }
            self.bytes += part.len() as u64;
            if self.bytes.is_multiple_of(STRIDE) {
                self.index.extend(self.newlines.to_le_bytes());
            }
            bytes = rest;
        }
    }

    /// Number of newlines.
    pub(crate) fn newlines(&self) -> u64 {
        self.newlines
    }

    pub(crate) fn take_index(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.index)
    }

    pub(crate) fn finish(self, hash: &blake3::Hasher) -> Measured {
        let (characters, invalid) = self.characters.finish();
        let last_line = self.bytes - self.line_start;
        let size = Size {
            bytes: self.bytes,
            characters,
            lines: self.newlines + u64::from(last_line > 0),
            longest_line: self.longest.max(last_line),
            tokens: crate::tokens::at_most(self.bytes, invalid),
            tokens_exact: self.bytes == 0,
        };
        Measured {
            size,
            kind: self.sniffer.finish(&size, invalid),
            hash: hash.finalize().to_hex().to_string(),
            spoken: self.scanner.finish(),
        }
    }
}

/// Counts characters as bytes arrive, for [`Size::characters`].
#[derive(Default)]
pub(crate) struct Characters {
    count: u64,
    invalid: u64,
    /// The bytes of a character whose end has not come yet.
    carry: Vec<u8>,
}

impl Characters {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        if self.carry.is_empty() && bytes.is_ascii() {
            self.count += bytes.len() as u64;
            return;
        }
        // A character cut in two by the border between two writes is put together first.
        while !self.carry.is_empty() && !bytes.is_empty() {
            self.carry.push(bytes[0]);
            bytes = &bytes[1..];
            let carry = std::mem::take(&mut self.carry);
            let rest = self.count_valid(&carry);
            self.carry = carry[carry.len() - rest..].to_vec();
        }
        let rest = self.count_valid(bytes);
        if rest > 0 {
            self.carry = bytes[bytes.len() - rest..].to_vec();
        }
    }

    /// How many there were, and how many of them stand for what is not UTF-8.
    pub(crate) fn finish(self) -> (u64, u64) {
        let open = u64::from(!self.carry.is_empty());
        (self.count + open, self.invalid + open)
    }

    /// Counts all characters that have their end in `bytes`; returns how many bytes at the end do not.
    fn count_valid(&mut self, mut bytes: &[u8]) -> usize {
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => {
                    self.count += count_starts(text.as_bytes());
                    return 0;
                }
                Err(error) => error,
            };
            self.count += count_starts(&bytes[..error.valid_up_to()]);
            bytes = &bytes[error.valid_up_to()..];
            match error.error_len() {
                None => return bytes.len(),
                Some(length) => {
                    self.count += 1;
                    self.invalid += 1;
                    bytes = &bytes[length..];
                }
            }
        }
    }
}

/// Characters of valid UTF-8: every byte that does not continue one.
fn count_starts(valid: &[u8]) -> u64 {
    valid.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64
}

/// Characters of any bytes, counted as [`Size::characters`] is.
pub(crate) fn characters(bytes: &[u8]) -> u64 {
    let mut characters = Characters::default();
    characters.update(bytes);
    characters.finish().0
}

/// Characters as a JavaScript string's `length` counts them: UTF-16 units, two for a character beyond U+FFFF. Hidden:
/// only the MCP gateway needs it, for the limit of `materialize`.
#[doc(hidden)]
pub fn utf16_units(bytes: &[u8]) -> u64 {
    String::from_utf8_lossy(bytes).chars().map(|c| c.len_utf16() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn measure(parts: &[&[u8]]) -> Measured {
        let mut measure = Measure::default();
        parts.iter().for_each(|part| measure.update(part));
        measure.finish()
    }

    #[test]
    fn lines_and_characters_are_counted_as_a_reader_counts_them() {
        // bytes, characters, lines, longest line
        let table: &[(&[u8], u64, u64, u64)] = &[
            (b"", 0, 0, 0),
            (b"\n", 1, 1, 0),
            (b"a", 1, 1, 1),
            (b"a\nbcd", 5, 2, 3),
            (b"a\nbcd\n", 6, 2, 3),
            (b"a\r\nb\rc", 6, 2, 3),
            ("漢字\n".as_bytes(), 3, 1, 6),
            (b"\xff\xfe", 2, 1, 2),
            (b"ok\xe6\xbc", 3, 1, 4),
            (b"\0\0\n", 3, 1, 2),
        ];
        for (bytes, characters, lines, longest) in table {
            let size = measure(&[bytes]).size;
            assert_eq!(
                (size.characters, size.lines, size.longest_line),
                (*characters, *lines, *longest),
                "{bytes:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_way_the_bytes_come_makes_no_difference(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(0xe6), Just(0xbc), Just(0xa2)], 0..300),
            cuts in proptest::collection::vec(0usize..300, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let (one, many) = (measure(&[&bytes]), measure(&parts));
            prop_assert_eq!((one.size, one.kind, one.hash), (many.size, many.kind, many.hash));
        }

        #[test]
        fn characters_are_those_of_the_shown_text(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let shown = String::from_utf8_lossy(&bytes).chars().count() as u64;
            prop_assert_eq!(measure(&[&bytes]).size.characters, shown);
            prop_assert_eq!(characters(&bytes), shown);
        }
    }
}
