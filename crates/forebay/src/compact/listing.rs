//! Listings: names below their folder, which is named once, with the names of a folder on one line.

use crate::classify::listing::{PATH, folder};
use crate::compact::{Compact, Role, Row, common_folder, lines_of, without_end};

/// Renders a listing of paths, or of names below their folders as `ls -R` prints it.
pub(crate) fn render(bytes: &[u8]) -> Option<Compact> {
    paths(bytes).or_else(|| names(bytes))
}

/// Paths, one on each line.
fn paths(bytes: &[u8]) -> Option<Compact> {
    let is_path = |line: &[u8]| line.contains(&b'/') && PATH.is_match(line);
    let lines: Vec<(u64, &[u8])> = lines_of(bytes).map(|(start, line)| (start, without_end(line))).collect();
    let found = lines.iter().filter(|(_, line)| is_path(line)).count();
    let filled = lines.iter().filter(|(_, line)| !line.trim_ascii().is_empty()).count();
    if found < 3 || found * 10 < filled * 6 {
        return None;
    }
    let common = common_folder(lines.iter().map(|(_, line)| *line).filter(|line| is_path(line)));
    let (mut rows, mut groups): (Vec<Row>, Vec<Vec<u8>>) = Default::default();
    let mut open: Option<&[u8]> = None;
    for (start, line) in lines {
        if !is_path(line) {
            // An empty line belongs to what is above it.
            if !line.trim_ascii().is_empty() || rows.is_empty() {
                rows.push(Row { start, text: [line, b"\n"].concat(), role: Role::Heading, ..Row::default() });
                open = None;
            }
            continue;
        }
        let at = memchr::memrchr(b'/', line.strip_suffix(b"/").unwrap_or(line)).map_or(0, |at| at + 1);
        let (folder, name) = line.split_at(at.max(common.len().min(line.len())));
        if open != Some(folder) {
            let shown = &folder[common.len().min(folder.len())..];
            let shown: &[u8] = if shown.is_empty() { b"." } else { shown };
            groups.push([shown, b":"].concat());
            open = Some(folder);
        }
        let group = Some(groups.len() as u32 - 1);
        rows.push(Row { start, text: [b" ", name].concat(), group, ..Row::default() });
    }
    // Where hardly two names share a folder, nothing is gained.
    if groups.len() * 10 > rows.len() * 8 && common.is_empty() {
        return None;
    }
    let mut note = crate::text::count::count("path", found as u64);
    if !common.is_empty() {
        note += &format!(" below {}", crate::printable(&String::from_utf8_lossy(common)));
    }
    Some(Compact { rows, groups, note, inline: true })
}

/// Whether lines are a recursive listing: names below `folder:`.
pub(crate) fn is_recursive(bytes: &[u8]) -> bool {
    /// Lines that are looked at, and folders that must be among them.
    const SAMPLE: usize = 400;
    const FOLDERS: usize = 3;
    let mut after_blank = true;
    let mut folders = 0;
    for (_, line) in lines_of(bytes).take(SAMPLE) {
        let line = without_end(line);
        folders += usize::from(after_blank && folder(line).is_some());
        after_blank = line.trim_ascii().is_empty();
    }
    folders >= FOLDERS
}

/// Names below `folder:`. A heading belongs to the first names below it, and an empty line to what is above it.
fn names(bytes: &[u8]) -> Option<Compact> {
    let (mut rows, mut groups): (Vec<Row>, Vec<Vec<u8>>) = Default::default();
    let mut open = false;
    // Where a heading begins that has no names yet.
    let mut heading: Option<u64> = None;
    for (start, line) in lines_of(bytes) {
        let line = without_end(line);
        let squeezed: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let last_group = groups.len().checked_sub(1).map(|group| group as u32);
        if folder(line).is_some() {
            if let Some(start) = heading.replace(start) {
                rows.push(Row { start, group: last_group, ..Row::default() });
            }
            groups.push(line.to_vec());
            open = true;
        } else if squeezed.is_empty() {
            if let Some(start) = heading.take() {
                rows.push(Row { start, group: last_group, ..Row::default() });
            }
            open = false;
            if rows.is_empty() {
                rows.push(Row { start, ..Row::default() });
            }
        } else {
            let name = squeezed.join(&b' ');
            let (text, group) = match open {
                true => ([b" ", &name[..]].concat(), last_group),
                false => ([&name[..], b"\n"].concat(), None),
            };
            rows.push(Row { start: heading.take().unwrap_or(start), text, group, ..Row::default() });
        }
    }
    if let Some(start) = heading {
        let group = groups.len().checked_sub(1).map(|group| group as u32);
        rows.push(Row { start, group, ..Row::default() });
    }
    (groups.len() >= 2).then_some(Compact { rows, groups, note: String::new(), inline: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_folder_stand_on_one_line_behind_it() {
        let text = "/home/me/project/a.rs\n/home/me/project/src/b.rs\n/home/me/project/src/c.rs\n/home/me/project/src/deep/d.rs\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8_lossy(&compact.text()), ".: a.rs\nsrc/: b.rs c.rs\nsrc/deep/: d.rs\n");
        assert_eq!(compact.note, "4 paths below /home/me/project/");
    }

    #[test]
    fn a_recursive_listing_has_its_entries_behind_their_folder() {
        let text = "./a:\none.txt\ntwo.txt\n\n./b:\nthree.txt\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8_lossy(&compact.text()), "./a: one.txt two.txt\n./b: three.txt\n");
    }

    #[test]
    fn text_is_not_a_listing() {
        assert_eq!(render(b"one\ntwo\nthree\n"), None);
    }
}
