//! Compact renderings: a whole output in fewer tokens, without losing anything that distinguishes its parts.
//!
//! A rendering is a list of rows. Each row begins at a byte of the output, and the rows tile the output. So a view
//! can show some rows and mark the others as omitted, as it does with lines. A rendering depends only on the bytes:
//! the printer computes it again from them, and so does verification.

pub(crate) mod lines;
pub(crate) mod listing;
pub(crate) mod numbered;
pub(crate) mod records;
pub(crate) mod search;
pub(crate) mod value;

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Maximum bytes of an output that is rendered in a compact form. The rendering is held in memory.
pub(crate) const LARGEST: u64 = 2 * 1024 * 1024;

/// A compact form of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CompactForm {
    /// A numbered read: a number on every fifth line.
    Numbered,
    /// Search results below the path of their file.
    Matches,
    /// Paths below their folder.
    Folders,
    /// JSON as tables of records.
    Records {
        /// Level of omission: 0 omits only empty fields, 4 everything but what identifies a record.
        detail: u8,
        /// Maximum characters of a text before it is shortened.
        text: u32,
    },
    /// Lines as a screen shows them, repeated lines counted and long encoded data shortened.
    Lines,
}

impl std::fmt::Display for CompactForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            CompactForm::Numbered => "with every fifth number",
            CompactForm::Matches => "grouped by file",
            CompactForm::Folders => "grouped by folder",
            CompactForm::Records { .. } => "as tables",
            CompactForm::Lines => "as a screen shows them",
        })
    }
}

/// A rendering of a whole output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compact {
    /// Rows in the order of the output, which they tile.
    pub(crate) rows: Vec<Row>,
    /// Headings of groups: the files of search results, the folders of a listing.
    pub(crate) groups: Vec<Vec<u8>>,
    /// Facts that hold for all rows: a common folder, fields that are left out. Printed in the first line of a view.
    pub(crate) note: String,
    /// Whether the rows of a group are on one line.
    pub(crate) inline: bool,
}

/// One row of a rendering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// First byte of the output that the row covers. It extends to the start of the next row.
    pub(crate) start: u64,
    /// Text, with its line end.
    pub(crate) text: Vec<u8>,
    /// Text after a gap: also has the number or the place that the previous row would have shown.
    pub(crate) fresh: Option<Vec<u8>>,
    /// Group of the row.
    pub(crate) group: Option<u32>,
    pub(crate) role: Role,
    /// Number of lists around the row.
    pub(crate) depth: u16,
}

/// Kind of row, used in choosing rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// A line, an entry or a record.
    #[default]
    Item,
    /// A context line of a match.
    Context,
    /// A heading of the following lines.
    Heading,
}

/// Renders bytes in a form; `None` if they do not have that form.
pub(crate) fn render(form: CompactForm, bytes: &[u8]) -> Option<Compact> {
    match form {
        CompactForm::Numbered => numbered::render(bytes),
        CompactForm::Matches => search::render(bytes),
        CompactForm::Folders => listing::render(bytes),
        CompactForm::Records { detail, text } => {
            records::render(bytes, records::Detail { level: detail, text })
        }
        CompactForm::Lines => lines::render(bytes),
    }
}

/// Renders bytes if the text has at most `most` bytes. Stops as soon as it has more.
pub(crate) fn render_within(form: CompactForm, bytes: &[u8], most: u64) -> Option<Compact> {
    /// Maximum ratio of an output's length to that of its rendering. It does not apply to repeated lines.
    const SHORTEST: u64 = 100;
    if form == CompactForm::Lines {
        return lines::render_within(bytes, most);
    }
    let fits = |compact: &Compact| {
        let length: usize = compact.rows.iter().map(|row| row.text.len()).sum();
        length as u64 <= most
    };
    if bytes.len() as u64 / SHORTEST > most { None } else { render(form, bytes).filter(fits) }
}

/// Position of the printer in a rendering. Adjacent rows of a group share one heading.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    group: Option<u32>,
}

impl Compact {
    /// Text of all rows.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.print(0..u64::MAX, &mut Place::default())
    }

    /// Text of the rows that begin in a range of the output.
    pub(crate) fn print(&self, range: Range<u64>, place: &mut Place) -> Vec<u8> {
        let first = self.rows.partition_point(|row| row.start < range.start);
        let end = self.rows.partition_point(|row| row.start < range.end);
        let mut text = Vec::new();
        for (at, row) in self.rows[first..end].iter().enumerate() {
            if row.group != place.group || at == 0 && self.inline {
                if self.inline && !text.is_empty() && text.last() != Some(&b'\n') {
                    text.push(b'\n');
                }
                text.extend(row.group.map(|group| &self.groups[group as usize][..]).unwrap_or_default());
                place.group = row.group;
            }
            text.extend(row.fresh.as_ref().filter(|_| at == 0).unwrap_or(&row.text));
        }
        if self.inline && text.last().is_some_and(|&byte| byte != b'\n') {
            text.push(b'\n');
        }
        text
    }

    /// Range of the output that a row covers.
    pub(crate) fn range(&self, row: usize, length: u64) -> Range<u64> {
        let end = self.rows.get(row + 1).map_or(length, |next| next.start);
        self.rows[row].start..end
    }
}

/// Lines of bytes with their offsets, each with its line end.
pub(crate) fn lines_of(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> + Clone {
    let mut at = 0;
    bytes.split_inclusive(|&byte| byte == b'\n').map(move |line| {
        let start = at;
        at += line.len() as u64;
        (start, line)
    })
}

/// A line without its line end.
pub(crate) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Folder that all paths share, with its slash; empty if it is too short to be worth naming.
pub(crate) fn common_folder<'a>(mut paths: impl Iterator<Item = &'a [u8]>) -> &'a [u8] {
    /// Minimum bytes of a folder that is named once.
    const WORTH: usize = 8;
    let Some(first) = paths.next() else { return b"" };
    let mut length = memchr::memrchr(b'/', first).map_or(0, |at| at + 1);
    let mut several = false;
    for path in paths {
        several = true;
        let same = first[..length].iter().zip(path).take_while(|(a, b)| a == b).count();
        length = memchr::memrchr(b'/', &first[..same]).map_or(0, |at| at + 1);
    }
    if several && length >= WORTH { &first[..length] } else { b"" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMS: [CompactForm; 6] = [
        CompactForm::Numbered,
        CompactForm::Matches,
        CompactForm::Folders,
        CompactForm::Records { detail: 0, text: u32::MAX },
        CompactForm::Records { detail: 3, text: 60 },
        CompactForm::Lines,
    ];

    #[test]
    fn the_common_folder_ends_with_a_slash_and_is_worth_naming() {
        let table: &[(&[&str], &str)] = &[
            (&["/usr/share/a/x", "/usr/share/b/y"], "/usr/share/"),
            (&["/usr/share/ab/x", "/usr/share/ac/y"], "/usr/share/"),
            (&["src/a.rs", "src/b.rs"], ""),
            (&["/usr/share/a/x"], ""),
            (&[], ""),
        ];
        for (paths, expected) in table {
            let found = common_folder(paths.iter().map(|path| path.as_bytes()));
            assert_eq!(String::from_utf8_lossy(found), *expected, "{paths:?}");
        }
    }

    proptest! {
        #[test]
        fn the_rows_of_every_form_tile_the_output(
            parts in proptest::collection::vec(prop_oneof![
                Just("     1→fn main() {\n"), Just("     2→}\n"), Just("src/a.rs:3:let x = 1;\n"), Just("src/a.rs-4-}\n"), Just("--\n"),
                Just("./a/b/c.txt\n"), Just("./a/b/d.txt\n"), Just("{\"a\": [1, {\"b\": null}]}\n"), Just("[{\"id\": 1}, {\"id\": 2}]"),
                Just("\n"), Just("\r\n"), Just("é"), Just("\u{1b}[1mx\u{1b}[0m\n"), Just("same line\n"), Just("]"), Just("\"") ], 0..40),
        ) {
            let bytes = parts.concat().into_bytes();
            for form in FORMS {
                let Some(compact) = render(form, &bytes) else { continue };
                prop_assert_eq!(compact.rows.first().map(|row| row.start), (!bytes.is_empty()).then_some(0));
                for (one, next) in compact.rows.iter().zip(compact.rows.iter().skip(1)) {
                    prop_assert!(one.start < next.start && next.start < bytes.len() as u64, "{:?}", form);
                }
                let mut place = Place::default();
                compact.print(3..17, &mut place);
            }
        }
    }
}
