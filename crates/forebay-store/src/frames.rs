//! Compressed bytes that can be read in part: frames, and a table of their offsets at the end.
//!
//! This is the seekable format of zstd: each frame is compressed separately, and decoders skip the table, which is a
//! frame too. So any `zstd -d` restores the bytes.

use std::{io, ops::Range};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

/// Uncompressed bytes per frame. A random read decodes one frame, which takes less than a millisecond; larger frames
/// save little.
pub(crate) const FRAME: usize = 1024 * 1024;

/// Compression level: faster than uploads to any bucket, and within a tenth of what slower levels save.
const LEVEL: i32 = 3;

/// Magic number of a frame that decoders skip, and of the end of the table.
const SKIPPABLE: u32 = 0x184D_2A5E;
const SEEKABLE: u32 = 0x8F92_EAB1;

/// Sizes of the table in bytes: before its entries, of one entry, and after the entries.
const HEADER: usize = 8;
const ENTRY: usize = 8;
pub(crate) const FOOTER: usize = 9;

/// Bit in the footer that announces checksums in the entries, which this program does not write.
const HAS_CHECKSUMS: u8 = 0x80;

/// Compresses a frame and adds a checksum.
pub(crate) fn compress(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    compressor.compress(plain)
}

/// Whether compression is worth its time: it saves at least a fifth.
pub(crate) fn is_worth_it(plain: usize, compressed: usize) -> bool {
    compressed * 5 <= plain * 4
}

/// A frame as described by the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Offset of the frame.
    pub(crate) start: u64,
    /// Bytes of the frame.
    pub(crate) length: u32,
    /// Offset of its uncompressed bytes.
    pub(crate) plain_start: u64,
    /// Number of its uncompressed bytes.
    pub(crate) plain_length: u32,
}

impl Frame {
    fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    fn plain_end(&self) -> u64 {
        self.plain_start + u64::from(self.plain_length)
    }
}

/// Table of all frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    frames: Vec<Frame>,
}

impl Table {
    /// Appends a frame.
    pub(crate) fn push(&mut self, length: usize, plain_length: usize) -> io::Result<()> {
        let too_long = |_| invalid("a frame is too long");
        let (start, plain_start) = self.frames.last().map_or((0, 0), |last| (last.end(), last.plain_end()));
        let length = u32::try_from(length).map_err(too_long)?;
        let plain_length = u32::try_from(plain_length).map_err(too_long)?;
        self.frames.push(Frame { start, length, plain_start, plain_length });
        Ok(())
    }

    /// Encodes the table, to be written after the last frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let entries = self.frames.len() * ENTRY;
        let mut bytes = Vec::with_capacity(HEADER + entries + FOOTER);
        bytes.extend(SKIPPABLE.to_le_bytes());
        bytes.extend(((entries + FOOTER) as u32).to_le_bytes());
        for frame in &self.frames {
            bytes.extend(frame.length.to_le_bytes());
            bytes.extend(frame.plain_length.to_le_bytes());
        }
        bytes.extend((self.frames.len() as u32).to_le_bytes());
        bytes.push(0);
        bytes.extend(SEEKABLE.to_le_bytes());
        bytes
    }

    /// Reads the size of the table from the last bytes of an object.
    pub(crate) fn encoded_length(end: &[u8]) -> io::Result<usize> {
        let footer = end.last_chunk::<FOOTER>().ok_or_else(|| invalid("it is too short for a table"))?;
        let [a, b, c, d, flags, magic @ ..] = *footer;
        if u32::from_le_bytes(magic) != SEEKABLE {
            return Err(invalid("it does not end with a table of frames"));
        }
        let entry = if flags & HAS_CHECKSUMS == 0 { ENTRY } else { ENTRY + 4 };
        Ok(HEADER + u32::from_le_bytes([a, b, c, d]) as usize * entry + FOOTER)
    }

    /// Reads a table from exactly its bytes.
    pub(crate) fn decode(bytes: &[u8]) -> io::Result<Table> {
        if bytes.len() != Table::encoded_length(bytes)? || !bytes.starts_with(&SKIPPABLE.to_le_bytes()) {
            return Err(invalid("its table of frames is damaged"));
        }
        let has_checksums = bytes[bytes.len() - FOOTER + 4] & HAS_CHECKSUMS != 0;
        let entry = if has_checksums { ENTRY + 4 } else { ENTRY };
        let mut table = Table::default();
        for entry in bytes[HEADER..bytes.len() - FOOTER].chunks_exact(entry) {
            let [a, b, c, d, e, f, g, h, ..] = *entry else { break };
            let (length, plain) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            table.push(length as usize, plain as usize)?;
        }
        Ok(table)
    }

    /// Returns the frames that contain any of these uncompressed bytes.
    pub(crate) fn frames_of(&self, plain: Range<u64>) -> &[Frame] {
        let first = self.frames.partition_point(|frame| frame.plain_end() <= plain.start);
        let last = self.frames.partition_point(|frame| frame.plain_start < plain.end);
        self.frames.get(first..last.max(first)).unwrap_or_default()
    }
}

/// Returns the range of the object that contains adjacent frames.
pub(crate) fn range_of(frames: &[Frame]) -> Range<u64> {
    match frames {
        [first, .., last] => first.start..last.end(),
        [only] => only.start..only.end(),
        [] => 0..0,
    }
}

/// Decompresses frames next to each other. `open` decrypts the frame of the bytes from an offset on.
pub(crate) fn decompress(
    frames: &[Frame],
    bytes: &[u8],
    open: impl Fn(u64, &[u8]) -> io::Result<Vec<u8>>,
) -> io::Result<Vec<u8>> {
    let mut decompressor = Decompressor::new()?;
    let mut plain = Vec::new();
    let mut rest = bytes;
    for frame in frames {
        let (compressed, after) =
            rest.split_at_checked(frame.length as usize).ok_or_else(|| invalid("a frame is cut short"))?;
        let compressed = open(frame.plain_start, compressed)?;
        let decoded = decompressor.decompress(&compressed, frame.plain_length as usize)?;
        if decoded.len() != frame.plain_length as usize {
            return Err(invalid("a frame has another size than its table says"));
        }
        plain.extend(decoded);
        rest = after;
    }
    Ok(plain)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compresses bytes by frames of `size`.
    fn framed(plain: &[u8], size: usize) -> (Table, Vec<u8>) {
        let (mut table, mut bytes) = (Table::default(), Vec::new());
        for part in plain.chunks(size) {
            let frame = compress(part).unwrap();
            table.push(frame.len(), part.len()).unwrap();
            bytes.extend(frame);
        }
        bytes.extend(table.encode());
        (table, bytes)
    }

    #[test]
    fn any_decoder_of_zstd_restores_the_bytes() {
        for plain in [&b""[..], b"x", &b"many lines\n".repeat(1_000)] {
            let (_, bytes) = framed(plain, 1_000);
            assert!(zstd::stream::decode_all(&bytes[..]).unwrap() == plain);
        }
    }

    #[test]
    fn a_table_that_is_not_one_is_refused() {
        let (_, good) = framed(&b"many lines\n".repeat(1_000), 1_000);
        let length = Table::encoded_length(&good).unwrap();
        let table = &good[good.len() - length..];
        assert!(Table::decode(table).is_ok());
        let mut other = table.to_vec();
        other[0] ^= 1;
        for bad in [&other[..], &table[1..], &table[..table.len() - 1], b"", b"\xb1\xea\x92\x8f"] {
            assert!(Table::decode(bad).is_err(), "{bad:?}");
        }
        assert!(Table::encoded_length(b"plain text that ends").is_err());
    }

    #[test]
    fn compression_is_worth_it_if_it_saves_a_fifth() {
        let table = [(100, 80, true), (100, 81, false), (100, 120, false), (0, 0, true)];
        for (plain, compressed, expected) in table {
            assert_eq!(is_worth_it(plain, compressed), expected, "{plain} {compressed}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_range_is_restored_from_its_frames_alone(
            plain in proptest::collection::vec(any::<u8>(), 0..3_000),
            size in 1usize..700,
            range in (0u64..3_200, 0u64..3_200),
        ) {
            let (_, bytes) = framed(&plain, size);
            let length = Table::encoded_length(&bytes).unwrap();
            let table = Table::decode(&bytes[bytes.len() - length..]).unwrap();
            let range = range.0.min(range.1)..range.0.max(range.1);
            let frames = table.frames_of(range.clone());
            let stored = range_of(frames);
            let found = decompress(frames, &bytes[stored.start as usize..stored.end as usize], |_, frame| Ok(frame.to_vec()))
                .unwrap();
            let start = frames.first().map_or(0, |frame| frame.plain_start as usize);
            let clamp = |at: u64| (at as usize).clamp(start, plain.len().max(start));
            let (from, to) = (clamp(range.start.min(plain.len() as u64)), clamp(range.end));
            if !range.is_empty() && (range.start as usize) < plain.len() {
                prop_assert!(frames[0].plain_end() > range.start, "no frame is read in vain");
                prop_assert_eq!(&found[from - start..to - start], &plain[from..to]);
                prop_assert!(found.len() < to - from + 2 * size);
            }
        }
    }
}
