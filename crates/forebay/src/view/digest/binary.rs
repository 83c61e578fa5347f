//! What bytes are that are not text, told from how they begin.

/// So many of the first bytes tell it.
pub(super) const LOOKED_AT: u64 = 512;

/// How files begin, and what they are.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"\x7fELF", "ELF program or object"),
    (b"MZ", "Windows program"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"\0asm", "WebAssembly module"),
    (b"\x1f\x8b", "gzip data"),
    (b"PK\x03\x04", "zip archive"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"%PDF-", "PDF document"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
];

/// What bytes are that begin so, if it is known.
pub(super) fn name(start: &[u8]) -> Option<String> {
    let at = |from: usize, bytes: &[u8]| start.get(from..).is_some_and(|rest| rest.starts_with(bytes));
    let large = |from: usize| Some(u32::from_be_bytes(start.get(from..from + 4)?.try_into().ok()?));
    let small = |from: usize| Some(u16::from_le_bytes(start.get(from..from + 2)?.try_into().ok()?));
    if at(0, b"\x89PNG\r\n\x1a\n") {
        let size = large(16).zip(large(20)).map(|(width, height)| format!(" of {width} × {height}"));
        return Some(format!("PNG image{}", size.unwrap_or_default()));
    }
    if at(0, b"GIF8") {
        let size = small(6).zip(small(8)).map(|(width, height)| format!(" of {width} × {height}"));
        return Some(format!("GIF image{}", size.unwrap_or_default()));
    }
    if at(0, b"RIFF") && at(8, b"WEBP") {
        return Some("WebP image".to_owned());
    }
    if at(0, b"RIFF") && at(8, b"WAVE") {
        return Some("WAV audio".to_owned());
    }
    if at(4, b"ftyp") {
        return Some("MP4 video or the like".to_owned());
    }
    if at(257, b"ustar") {
        return Some("tar archive".to_owned());
    }
    let known = BEGINNINGS.iter().find(|(beginning, _)| at(0, beginning));
    known.map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_bytes_are_named() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08";
        let table: &[(&[u8], Option<&str>)] = &[
            (png, Some("PNG image of 640 × 480")),
            (&png[..12], Some("PNG image")),
            (b"GIF89a\x10\0\x20\0", Some("GIF image of 16 × 32")),
            (b"\x7fELF\x02\x01", Some("ELF program or object")),
            (b"\x1f\x8b\x08", Some("gzip data")),
            (b"RIFF\0\0\0\0WEBP", Some("WebP image")),
            (b"\0\0\0", None),
            (b"", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(name(bytes).as_deref(), *expected, "{bytes:?}");
        }
    }
}
