//! Search results below the path of their file, which is printed once.

use crate::classify::search::{Grouped, Groups, path};
use crate::compact::{Compact, Role, Row, common_folder, lines_of, without_end};

/// Renders search results.
pub(crate) fn render(bytes: &[u8]) -> Option<Compact> {
    if bytes.is_empty() {
        return None;
    }
    let found: Vec<Found> = lines_of(bytes).map(|(start, line)| Found::of(start, line)).collect();
    let results = found.iter().filter(|found| found.path.is_some()).count();
    if results * 10 < found.len() * 7 {
        return already_grouped(bytes);
    }
    let common = common_folder(found.iter().filter_map(|found| found.path));
    let (mut rows, mut groups): (Vec<Row>, Vec<Vec<u8>>) = Default::default();
    let mut open: Option<&[u8]> = None;
    let mut matches = 0;
    for found in &found {
        let Some(path) = found.path else {
            // A line between two results only says that lines are missing.
            let text = if without_end(found.line) == b"--" { b"\n".to_vec() } else { found.line.to_vec() };
            let group = open.and(groups.len().checked_sub(1)).map(|group| group as u32);
            rows.push(Row { start: found.start, text, group, role: Role::Heading, ..Row::default() });
            continue;
        };
        if open != Some(path) {
            groups.push([&path[common.len()..], b"\n"].concat());
            open = Some(path);
        }
        matches += u64::from(found.is_match);
        let role = if found.is_match { Role::Item } else { Role::Context };
        let group = Some(groups.len() as u32 - 1);
        rows.push(Row { start: found.start, text: found.rest().to_vec(), group, role, ..Row::default() });
    }
    let mut files: Vec<&[u8]> = found.iter().filter_map(|found| found.path).collect();
    files.sort_unstable();
    files.dedup();
    let count = crate::text::count::count("match", matches);
    let mut note = format!("{count} in {}", crate::text::count::count("file", files.len() as u64));
    if !common.is_empty() {
        note += &format!("; paths below {}", crate::printable(&String::from_utf8_lossy(common)));
    }
    Some(Compact { rows, groups, note, inline: false })
}

/// A line of results.
struct Found<'a> {
    start: u64,
    line: &'a [u8],
    path: Option<&'a [u8]>,
    is_match: bool,
}

impl<'a> Found<'a> {
    fn of(start: u64, line: &'a [u8]) -> Found<'a> {
        let found = path(without_end(line));
        Found { start, line, path: found.map(|found| found.0), is_match: found.is_some_and(|found| found.1) }
    }

    /// The line after its path: `12:text`.
    fn rest(&self) -> &'a [u8] {
        let rest = &self.line[self.path.map_or(0, <[u8]>::len)..];
        let is_mark = |byte: &u8| b":-".contains(byte);
        if rest.first().is_some_and(is_mark) { &rest[1..] } else { rest }
    }
}

/// Results that are already grouped below their paths.
fn already_grouped(bytes: &[u8]) -> Option<Compact> {
    let mut reader = Groups::default();
    let (mut below, mut other) = (0, 0);
    let (mut rows, mut groups): (Vec<Row>, Vec<Vec<u8>>) = Default::default();
    // Start of a heading without rows so far.
    let mut heading: Option<u64> = None;
    for (start, line) in lines_of(bytes) {
        let role = match reader.take(without_end(line)) {
            Grouped::Heading => {
                heading = heading.or(Some(start));
                groups.push(line.to_vec());
                continue;
            }
            Grouped::Below(true) => Role::Item,
            Grouped::Below(false) | Grouped::Between => Role::Context,
            Grouped::Other => {
                other += 1;
                Role::Heading
            }
        };
        below += usize::from(role == Role::Item);
        let group = groups.len().checked_sub(1).map(|group| group as u32);
        rows.push(Row {
            start: heading.take().unwrap_or(start),
            text: line.to_vec(),
            group,
            role,
            ..Row::default()
        });
    }
    if let Some(start) = heading {
        let group = groups.len().checked_sub(1).map(|group| group as u32);
        rows.push(Row { start, group, ..Row::default() });
    }
    let files = groups.len() as u64;
    let note = format!(
        "{} in {}",
        crate::text::count::count("match", below as u64),
        crate::text::count::count("file", files)
    );
    (below > 2 && other * 10 < below).then_some(Compact { rows, groups, note, inline: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_named_once_and_every_match_keeps_its_number() {
        let text = "/home/me/project/src/a.rs:3:use x;\n/home/me/project/src/a.rs-4-}\n--\n/home/me/project/src/a.rs:9:x();\n/home/me/project/lib.rs:1:mod x;\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&compact.text()),
            "src/a.rs\n3:use x;\n4-}\n\n9:x();\nlib.rs\n1:mod x;\n"
        );
        assert_eq!(compact.note, "3 matches in 2 files; paths below /home/me/project/");
    }

    #[test]
    fn a_file_is_named_again_after_another() {
        let compact = render(b"src/a.rs:3:x\nsrc/b.rs:4:x\nsrc/a.rs:5:x\n").unwrap();
        assert_eq!(String::from_utf8_lossy(&compact.text()), "src/a.rs\n3:x\nsrc/b.rs\n4:x\nsrc/a.rs\n5:x\n");
        assert_eq!(compact.note, "3 matches in 2 files");
    }

    #[test]
    fn results_below_their_file_keep_its_name_in_every_part() {
        let text = "src/a.rs\n3:use x;\n9:x();\n\nsrc/b.rs\n1:mod x;\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8_lossy(&compact.text()), text);
        assert_eq!(compact.note, "3 matches in 2 files");
        let part = compact.print(compact.rows[1].start..19, &mut crate::compact::Place::default());
        assert_eq!(String::from_utf8_lossy(&part), "src/a.rs\n9:x();\n");
    }

    #[test]
    fn text_is_not_a_list_of_results() {
        assert_eq!(render(b"one\ntwo\nthree\n"), None);
    }
}
