//! Outputs that are not text: their kind from their first bytes, and the contents of archives and databases.

use crate::classify::form::Form;
use crate::digest::frame::framed;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::fitting;
use crate::text::count::grouped;
use crate::view::{Summary, View};
use crate::weights::folding::ARCHIVE_NAMES_PERCENT;
use crate::{Budget, Output, Result, tokens};

/// Bytes at the beginning that are searched for signatures and for the tables of a database.
const BEGINNING: u64 = 64 * 1024;

/// Bytes at the end that are searched for the end of a zip directory: its comment has at most 64 KiB.
const ZIP_END: u64 = 66 * 1024;

/// Maximum bytes read of the directory of a zip archive.
const ZIP_DIRECTORY: u64 = 1024 * 1024;

/// Maximum headers read of a tar archive, which has no directory.
const TAR_HEADERS: usize = 2_000;

/// Plans the view of an output that is not text: a summary in place of all of it.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, budget: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Binary {
        return Ok(None);
    }
    let output = probe.output;
    let view = |room| framed(View::summarized(output, summary(output, room)?)?, output, budget);
    let whole = view(budget.tokens)?;
    let fits = budget.holds(&whole.print(output)?);
    Ok(Some(Plan::View(if fits { whole } else { view(0)? })))
}

/// Signatures of kinds of files.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"MZ", "Windows program"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x04\x22\x4d\x18", "LZ4 data"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"!<arch>\n", "ar archive or static library"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
    (b"\0\x01\0\0\0", "TrueType font"),
    (b"OTTO", "OpenType font"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\0\0\x01\0", "Windows icon"),
    (b"\xd4\xc3\xb2\xa1", "capture of packets (pcap)"),
    (b"\x0a\x0d\x0d\x0a", "capture of packets (pcapng)"),
    (b"PAR1", "Parquet file"),
    (b"ARROW1", "Arrow file"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF\r\n\x1a\n", "HDF5 file"),
    (b"\x80\x02", "Python pickle"),
    (b"\x80\x04", "Python pickle"),
    (b"\x80\x05", "Python pickle"),
];

/// Kind and size of an output that is not text, and the contents of an archive or a database.
fn summary(output: &Output, room: u64) -> Result<Summary> {
    Ok(Summary::stated(&described(output, room)?))
}

fn described(output: &Output, room: u64) -> Result<String> {
    let size = format!("{} bytes that are not text", grouped(output.len()));
    let start = output.read(0..BEGINNING.min(output.len()))?;
    let Some(name) = name(&start) else { return Ok(size) };
    let inside = match &start[..] {
        [b'P', b'K', 3, 4, ..] => zip(output)?,
        start if at(start, 257, b"ustar") => tar(output)?,
        _ => None,
    };
    Ok(match inside {
        Some(inside) => {
            let entries = match inside.entries {
                1 => "1 entry".to_owned(),
                entries => format!("{} entries", grouped(entries)),
            };
            format!("{name} of {entries}, {size}{}", inside.listed(room))
        }
        None => format!("{name}, {size}"),
    })
}

/// Contents of an archive.
#[derive(Debug, PartialEq)]
struct Inside {
    entries: u64,
    /// Names of the first entries with their sizes.
    names: Vec<(String, u64)>,
}

impl Inside {
    fn listed(&self, room: u64) -> String {
        let line = |(name, size): &(String, u64)| match size {
            0 => format!("\n{name}"),
            size => format!("\n{name} {}", grouped(*size)),
        };
        let lines: Vec<String> = self.names.iter().map(line).collect();
        let room = room * ARCHIVE_NAMES_PERCENT / 100;
        let fits = fitting(lines.len(), |count| tokens::count(&lines[..count].concat()) <= room);
        let more = match self.entries - fits as u64 {
            0 => String::new(),
            more => format!("\nand {} more", grouped(more)),
        };
        lines[..fits].concat() + &more
    }
}

fn shown(name: &[u8]) -> String {
    crate::shortened(&crate::printable(&String::from_utf8_lossy(name)), 100)
}

/// Entries of a zip archive, from the directory at its end.
fn zip(output: &Output) -> Result<Option<Inside>> {
    let from = output.len().saturating_sub(ZIP_END);
    let end = output.read(from..output.len())?;
    let Some(place) = memchr::memmem::rfind(&end, b"PK\x05\x06") else { return Ok(None) };
    let (Some(entries), Some(start)) = (little(&end, place + 10, 2), little(&end, place + 16, 4)) else {
        return Ok(None);
    };
    let until = (start + ZIP_DIRECTORY).min(output.len());
    let directory = if start < until { output.read(start..until)? } else { Vec::new() };
    let mut names = Vec::new();
    let mut here = 0;
    while at(&directory, here, b"PK\x01\x02") {
        let length = |place: usize| little(&directory, here + place, 2).unwrap_or(0) as usize;
        let (name, extra, comment) = (length(28), length(30), length(32));
        let Some(text) = directory.get(here + 46..here + 46 + name) else { break };
        names.push((shown(text), little(&directory, here + 24, 4).unwrap_or(0)));
        here += 46 + name + extra + comment;
    }
    // An archive with 65,535 entries or more stores their number elsewhere.
    Ok(Some(Inside { entries: entries.max(names.len() as u64), names }))
}

/// Entries of a tar archive, from header to header; `None` if there are too many to count.
fn tar(output: &Output) -> Result<Option<Inside>> {
    let mut names = Vec::new();
    let mut here = 0;
    while here + 512 <= output.len() {
        let header = output.read(here..here + 512)?;
        if !at(&header, 257, b"ustar") {
            break;
        }
        if names.len() == TAR_HEADERS {
            return Ok(None);
        }
        let digits: Vec<u8> = header[124..136].iter().copied().filter(u8::is_ascii_digit).collect();
        let size = std::str::from_utf8(&digits).ok().and_then(|digits| u64::from_str_radix(digits, 8).ok());
        let size = size.unwrap_or(0);
        // Headers of other types describe the entry after them.
        if matches!(header[156], b'0' | 0 | b'5' | b'2' | b'1') {
            let name = header[..100].split(|&byte| byte == 0).next().unwrap_or_default();
            names.push((shown(name), size));
        }
        here += 512 + size.div_ceil(512) * 512;
    }
    Ok(Some(Inside { entries: names.len() as u64, names }))
}

fn at(bytes: &[u8], from: usize, wanted: &[u8]) -> bool {
    bytes.get(from..).is_some_and(|rest| rest.starts_with(wanted))
}

fn little(bytes: &[u8], from: usize, length: usize) -> Option<u64> {
    Some(bytes.get(from..from + length)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn big(bytes: &[u8], from: usize, length: usize) -> Option<u64> {
    Some(bytes.get(from..from + length)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Kind of a file by its first bytes, if it is known.
fn name(start: &[u8]) -> Option<String> {
    let at = |from: usize, bytes: &[u8]| at(start, from, bytes);
    let sized = |name: &str, size: Option<(u64, u64)>| {
        Some(format!(
            "{name}{}",
            size.map_or(String::new(), |(width, height)| format!(" of {width} × {height}"))
        ))
    };
    let small = |from: usize| little(start, from, 2);
    let large = |from: usize| big(start, from, 4);
    if at(0, b"\x89PNG\r\n\x1a\n") {
        return sized("PNG image", large(16).zip(large(20)));
    }
    if at(0, b"GIF8") {
        return sized("GIF image", small(6).zip(small(8)));
    }
    if at(0, b"\xff\xd8\xff") {
        return sized("JPEG image", jpeg(start));
    }
    if at(0, b"BM") && little(start, 14, 4) == Some(40) {
        return sized("BMP image", little(start, 18, 4).zip(little(start, 22, 4)));
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
    if at(0, b"PK\x03\x04") {
        return Some("zip archive".to_owned());
    }
    if at(0, b"\x1f\x8b") {
        // A flag says that the name of the packed file follows.
        let packed = start.get(3).filter(|flags| *flags & 0b1100 == 0b1000).and_then(|_| start.get(10..));
        let packed = packed.and_then(|rest| rest.split(|&byte| byte == 0).next()).map(shown);
        return Some(format!("gzip data{}", packed.map_or(String::new(), |name| format!(" of {name}"))));
    }
    if at(0, b"\x7fELF") {
        return Some(elf(start));
    }
    if at(0, b"\0asm") {
        return Some(format!("WebAssembly module, version {}", little(start, 4, 4)?));
    }
    if at(0, b"%PDF-") {
        let version = String::from_utf8_lossy(start.get(5..8)?).into_owned();
        return Some(format!("PDF document, version {}", shown(version.as_bytes())));
    }
    if at(0, b"SQLite format 3\0") {
        return Some(sqlite(start));
    }
    let known = SIGNATURES.iter().find(|(beginning, _)| at(0, beginning));
    known.map(|(_, name)| (*name).to_owned())
}

/// Width and height of a JPEG image, from the first segment that has them.
fn jpeg(start: &[u8]) -> Option<(u64, u64)> {
    let mut here = 2;
    loop {
        let mark = *start.get(here..here + 2)?.strip_prefix(b"\xff")?.first()?;
        if matches!(mark, 0xc0..=0xcf) && !matches!(mark, 0xc4 | 0xc8 | 0xcc) {
            return big(start, here + 7, 2).zip(big(start, here + 5, 2));
        }
        here += 2 + usize::try_from(big(start, here + 2, 2)?).ok()?;
    }
}

fn elf(start: &[u8]) -> String {
    let bits = match start.get(4) {
        Some(1) => " 32-bit",
        Some(2) => " 64-bit",
        _ => "",
    };
    let number = |from| if start.get(5) == Some(&2) { big(start, from, 2) } else { little(start, from, 2) };
    let kind = match number(16) {
        Some(1) => "object",
        Some(2) => "program",
        Some(3) => "program or shared library",
        Some(4) => "core dump",
        _ => "program or object",
    };
    let machine = match number(18) {
        Some(3) => " for x86",
        Some(40) => " for ARM",
        Some(62) => " for x86-64",
        Some(183) => " for AArch64",
        Some(243) => " for RISC-V",
        _ => "",
    };
    format!("ELF{bits} {kind}{machine}")
}

/// A database with the tables that are defined in its first pages.
fn sqlite(start: &[u8]) -> String {
    let mut tables: Vec<String> = Vec::new();
    for place in memchr::memmem::find_iter(start, b"CREATE TABLE ") {
        let rest = &start[place + b"CREATE TABLE ".len()..];
        let rest = rest.strip_prefix(b"IF NOT EXISTS ").unwrap_or(rest);
        let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"`")).unwrap_or(rest);
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let name = shown(&rest[..length]);
        if length > 0 && !name.starts_with("sqlite_") && !tables.contains(&name) && tables.len() < 20 {
            tables.push(name);
        }
    }
    tables.sort();
    if tables.is_empty() {
        return "SQLite database".to_owned();
    }
    format!("SQLite database with the tables {}", tables.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn well_known_bytes_are_named() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08";
        let jpeg =
            b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08\x01\xe0\x02\x80\x03";
        let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0";
        let sqlite = b"SQLite format 3\0....CREATE TABLE orders (id)..CREATE TABLE \"a_b\"(x).CREATE TABLE sqlite_sequence(a)";
        let table: &[(&[u8], Option<&str>)] = &[
            (png, Some("PNG image of 640 × 480")),
            (&png[..12], Some("PNG image")),
            (jpeg, Some("JPEG image of 640 × 480")),
            (&jpeg[..12], Some("JPEG image")),
            (b"GIF89a\x10\0\x20\0", Some("GIF image of 16 × 32")),
            (elf, Some("ELF 64-bit object for x86-64")),
            (b"\x7fELF", Some("ELF program or object")),
            (b"\x1f\x8b\x08\x08\0\0\0\0\0\x03notes.txt\0xx", Some("gzip data of notes.txt")),
            (b"\x1f\x8b\x08", Some("gzip data")),
            (b"\0asm\x01\0\0\0", Some("WebAssembly module, version 1")),
            (b"%PDF-1.7\n", Some("PDF document, version 1.7")),
            (sqlite, Some("SQLite database with the tables a_b, orders")),
            (b"SQLite format 3\0", Some("SQLite database")),
            (b"RIFF\0\0\0\0WEBP", Some("WebP image")),
            (b"\0\0\0", None),
            (b"", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(name(bytes).as_deref(), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn archives_say_what_is_in_them() {
        let mut tar = Vec::new();
        for (name, size) in [("notes/", 0_usize), ("notes/a.txt", 700), ("notes/b.txt", 5)] {
            let mut header = vec![0; 512];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
            header[156] = if size == 0 { b'5' } else { b'0' };
            header[257..262].copy_from_slice(b"ustar");
            tar.extend(header);
            tar.extend(vec![b'x'; size.div_ceil(512) * 512]);
        }
        tar.extend([0; 1024]);
        assert_eq!(
            described(&output_of(&tar), 200).unwrap(),
            "tar archive of 3 entries, 4,096 bytes that are not text\nnotes/\nnotes/a.txt 700\nnotes/b.txt 5"
        );
        let mut zip = b"PK\x03\x04 what is packed\0".to_vec();
        let start = zip.len() as u32;
        for (name, size) in [("a.txt", 700_u32), ("b/c.txt", 5)] {
            let mut entry = b"PK\x01\x02".to_vec();
            entry.resize(46, 0);
            entry[24..28].copy_from_slice(&size.to_le_bytes());
            entry[28] = name.len() as u8;
            entry.extend(name.as_bytes());
            zip.extend(entry);
        }
        zip.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0\0\0\0\0");
        zip.extend(start.to_le_bytes());
        zip.extend([0, 0]);
        assert_eq!(
            described(&output_of(&zip), 200).unwrap(),
            "zip archive of 2 entries, 146 bytes that are not text\na.txt 700\nb/c.txt 5"
        );
        assert!(described(&output_of(&zip), 10).unwrap().ends_with("not text\na.txt 700\nand 1 more"));
    }

    #[test]
    fn bytes_that_lie_about_what_they_hold_are_named_all_the_same() {
        for (bytes, expected) in [
            (&b"PK\x03\x04\0"[..], "zip archive, 5 bytes that are not text"),
            (
                b"PK\x03\x04\0PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0",
                "zip archive of 65,535 entries, 27 bytes that are not text\nand 65,535 more",
            ),
            (b"\xff\xd8\xff\xe0\xff\xff\0", "JPEG image, 7 bytes that are not text"),
        ] {
            assert_eq!(described(&output_of(bytes), 100).unwrap(), expected);
        }
    }
}
