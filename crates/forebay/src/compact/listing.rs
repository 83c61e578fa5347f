//! Listings: names below their folder, which is named once, with the names of a folder on one line.

use crate::classify::listing::{LONG, PATH, folder};
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
    let (mut open, mut is_long) = (false, false);
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
            let name = match entry(line, &squeezed) {
                Some(Entry::File(name, size)) => {
                    is_long = true;
                    [&name[..], b" ", size, b","].concat()
                }
                Some(Entry::Other(name)) => [&name[..], b","].concat(),
                Some(Entry::Nothing) => Vec::new(),
                None => squeezed.join(&b' '),
            };
            let (text, group) = match open {
                _ if name.is_empty() => (Vec::new(), last_group),
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
    let note = if is_long { "names and sizes in bytes, without rights, owners and dates" } else { "" };
    (groups.len() >= 2).then_some(Compact { rows, groups, note: note.to_owned(), inline: true })
}

/// A line of `ls -l`.
enum Entry<'a> {
    /// Name and size of a file.
    File(Vec<u8>, &'a [u8]),
    /// Name of a folder, with a slash, or of a link or a device.
    Other(Vec<u8>),
    /// The total of a folder, or the folder itself.
    Nothing,
}

/// Entry of a line of `ls -l` with its words.
fn entry<'a>(line: &[u8], words: &[&'a [u8]]) -> Option<Entry<'a>> {
    if !LONG.is_match(line) {
        return None;
    }
    // Rights, links, owner, group, size, three words of the date, and the name.
    let (Some(size), Some(name)) = (words.get(4), words.get(8..).filter(|name| !name.is_empty())) else {
        return Some(Entry::Nothing);
    };
    let name = name.join(&b' ');
    Some(match line.first() {
        Some(b'd') if matches!(&name[..], b"." | b"..") => Entry::Nothing,
        Some(b'd') => Entry::Other([&name[..], b"/"].concat()),
        Some(b'-') => Entry::File(name, size),
        _ => Entry::Other(name),
    })
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
    fn of_a_long_listing_names_and_sizes_are_left() {
        let text = "./a:\ntotal 16\ndrwxr-xr-x 2 me me 4096 Jan  2 10:00 .\ndrwxr-xr-x 2 me me 4096 Jan  2 10:00 src\n-rw-r--r-- 1 me me 1234 Jan  2 10:00 my notes.md\n\n./a/src:\ntotal 4\n-rw-r--r-- 1 me me 77 Jan  2 10:00 b.rs\nlrwxrwxrwx 1 me me 4 Jan  2 10:00 c -> b.rs\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&compact.text()),
            "./a: src/, my notes.md 1234,\n./a/src: b.rs 77, c -> b.rs,\n"
        );
        assert_eq!(compact.note, "names and sizes in bytes, without rights, owners and dates");
    }

    #[test]
    fn text_is_not_a_listing() {
        assert_eq!(render(b"one\ntwo\nthree\n"), None);
    }
}
