//! Listings: each folder is named once, with its names below it on one line.

use crate::classify::listing::{LONG, PATH, folder};
use crate::compact::{Compact, Role, Row, common_folder, lines_of, without_end};
use std::collections::HashMap;

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
            // An empty line belongs to the row above it.
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
    // If few names share a folder, the form saves nothing.
    if groups.len() * 10 > rows.len() * 8 && common.is_empty() {
        return None;
    }
    let count = rows.len();
    let rows = with_numbers_joined(rows);
    let mut note = crate::text::count::count("path", found as u64);
    if !common.is_empty() {
        note += &format!(" below {}", crate::printable(&String::from_utf8_lossy(common)));
    }
    if rows.len() < count {
        note += "; {1..9} is each number from 1 to 9";
    }
    Some(Compact { rows, groups, note, inline: true })
}

/// Minimum names in a row that are combined because they differ only in a number: `part-{1..25}.bin`.
const MIN_NUMBERED: usize = 5;

/// Joins adjacent names that have all numbers of a range, in any order. Nothing is left out.
fn with_numbers_joined(rows: Vec<Row>) -> Vec<Row> {
    let parts: Vec<Option<Numbered>> =
        rows.iter().map(|row| Numbered::of(&row.text).filter(|_| row.role == Role::Item)).collect();
    let mut joined: Vec<Row> = Vec::with_capacity(rows.len());
    let mut at = 0;
    while at < rows.len() {
        let is_like = |next: &usize| match (&parts[at], &parts[*next]) {
            (Some(one), Some(next_name)) => one.is_like(next_name) && rows[at].group == rows[*next].group,
            _ => false,
        };
        let end = (at + 1..rows.len()).find(|next| !is_like(next)).unwrap_or(rows.len());
        let mut numbers: Vec<u64> = parts[at..end].iter().flatten().map(|name| name.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let is_range = numbers.len() == end - at && numbers.len() >= MIN_NUMBERED;
        match (&parts[at], numbers.first(), numbers.last()) {
            (Some(name), Some(&first), Some(&last))
                if is_range && last - first + 1 == numbers.len() as u64 =>
            {
                let range = format!("{{{first}..{last}}}");
                let text = [name.before, range.as_bytes(), name.behind].concat();
                joined.push(Row { text, ..rows[at].clone() });
            }
            _ => joined.extend_from_slice(&rows[at..end]),
        }
        at = end;
    }
    joined
}

/// A name with a number in it.
struct Numbered<'n> {
    before: &'n [u8],
    number: u64,
    behind: &'n [u8],
}

impl<'n> Numbered<'n> {
    /// Finds the last number of a name, before its extension. Digits with a leading zero are not a number.
    fn of(name: &'n [u8]) -> Option<Numbered<'n>> {
        let stem = memchr::memrchr(b'.', name).unwrap_or(name.len());
        let end = name[..stem].iter().rposition(u8::is_ascii_digit)? + 1;
        let start = name[..end].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        let digits = std::str::from_utf8(&name[start..end]).ok()?;
        let number = digits.parse().ok().filter(|number: &u64| number.to_string() == digits)?;
        Some(Numbered { before: &name[..start], number, behind: &name[end..] })
    }

    fn is_like(&self, other: &Numbered) -> bool {
        self.before == other.before && self.behind == other.behind
    }
}

/// Whether lines are a recursive listing: names below `folder:`.
pub(crate) fn is_recursive(bytes: &[u8]) -> bool {
    /// Lines examined, and minimum folders among them.
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
    let (mut open, mut is_long, mut after_blank) = (false, false, true);
    let rights = Rights::of(bytes);
    // Start of a heading without names so far.
    let mut heading: Option<u64> = None;
    for (start, line) in lines_of(bytes) {
        let line = without_end(line);
        let squeezed: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let last_group = groups.len().checked_sub(1).map(|group| group as u32);
        // `data:` is a folder only after a blank line.
        let is_folder = after_blank && line.len() > 1 && line.ends_with(b":") && !line.contains(&b' ');
        after_blank = squeezed.is_empty();
        if is_folder || folder(line).is_some() {
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
                    [&name[..], b" ", size, &rights.unusual(&squeezed), b","].concat()
                }
                Some(Entry::Other(name)) => [&name[..], &rights.unusual(&squeezed), b","].concat(),
                Some(Entry::Nothing) => Vec::new(),
                None => squeezed.join(&b' '),
            };
            let (text, group) = if name.is_empty() {
                (Vec::new(), last_group)
            } else if open {
                ([b" ", &name[..]].concat(), last_group)
            } else {
                ([&name[..], b"\n"].concat(), None)
            };
            rows.push(Row { start: heading.take().unwrap_or(start), text, group, ..Row::default() });
        }
    }
    if let Some(start) = heading {
        let group = groups.len().checked_sub(1).map(|group| group as u32);
        rows.push(Row { start, group, ..Row::default() });
    }
    let note = if is_long {
        "names and sizes in bytes; rights and owners where they are unusual, no dates"
    } else {
        ""
    };
    (groups.len() >= 2).then_some(Compact { rows, groups, note: note.to_owned(), inline: true })
}

/// Whether lines have the rights, sizes and dates of their entries.
pub(crate) fn is_long(bytes: &[u8]) -> bool {
    lines_of(bytes).take(400).filter(|(_, line)| LONG.is_match(line)).count() > 2
}

/// Number of entries of a long listing with the same rights, owner and group.
struct Rights {
    counts: HashMap<Vec<u8>, usize>,
    entries: usize,
}

impl Rights {
    /// Rights are unusual if at most one entry in this many has them.
    const UNUSUAL: usize = 50;

    fn of(bytes: &[u8]) -> Rights {
        let mut rights = Rights { counts: HashMap::new(), entries: 0 };
        for (_, line) in lines_of(bytes).filter(|(_, line)| LONG.is_match(line)) {
            let words: Vec<&[u8]> =
                line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
            if let Some(key) = Rights::key(&words) {
                *rights.counts.entry(key).or_default() += 1;
                rights.entries += 1;
            }
        }
        rights
    }

    /// Rights, owner and group of an entry, from its words.
    fn key(words: &[&[u8]]) -> Option<Vec<u8>> {
        let [rights, _, owner, group, ..] = words else { return None };
        Some([*rights, b" ", *owner, b":", *group].concat())
    }

    /// Rights, owner and group of an entry, if they are unusual.
    fn unusual(&self, words: &[&[u8]]) -> Vec<u8> {
        let Some(key) = Rights::key(words) else { return Vec::new() };
        let count = self.counts.get(&key).copied().unwrap_or(0);
        let is_unusual = count * Rights::UNUSUAL <= self.entries;
        if is_unusual { [b" ", &key[..]].concat() } else { Vec::new() }
    }
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

/// Parses a line of `ls -l` from its words.
fn entry<'a>(line: &[u8], words: &[&'a [u8]]) -> Option<Entry<'a>> {
    if !LONG.is_match(line) {
        return None;
    }
    if words.first() == Some(&&b"total"[..]) {
        return Some(Entry::Nothing);
    }
    // Rights, links, owner, group, size, the date, and the name.
    let is_iso = |word: &[u8]| word.len() == 10 && word[4] == b'-' && word[7] == b'-';
    let is_zone = |word: &[u8]| word.len() == 5 && matches!(word[0], b'+' | b'-');
    let date = match words.get(5..8)? {
        [date, _, zone] if is_iso(date) && is_zone(zone) => 3,
        [date, ..] if is_iso(date) => 2,
        _ => 3,
    };
    let (size, name) = (words.get(4)?, words.get(5 + date..).filter(|name| !name.is_empty())?);
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
    fn names_that_differ_only_in_a_number_are_one_range() {
        let name = |n: u64| format!("./data/part-{n}.bin\n");
        let text: String = [1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9].into_iter().map(name).collect();
        let compact = |text: &str| String::from_utf8(render(text.as_bytes()).unwrap().text()).unwrap();
        assert_eq!(compact(&text), "./data/: part-{1..12}.bin\n");
        assert_eq!(render(text.as_bytes()).unwrap().note, "12 paths; {1..9} is each number from 1 to 9");
        let table = [
            ("one number is missing", text.replace("part-7", "part-77")),
            ("one number is there twice", text.clone() + &name(3)),
            ("numbers have leading zeros", text.replace("part-", "part-0")),
        ];
        for (why, text) in table {
            assert!(!compact(&text).contains('{'), "{why}: {}", compact(&text));
        }
        let few: String = (1..5).map(name).collect();
        assert!(!compact(&few).contains('{'), "{few}");
        let others = "./data/a.rs\n".to_owned() + &text + "./src/part-13.bin\n";
        assert_eq!(compact(&others), "./data/: a.rs part-{1..12}.bin\n./src/: part-13.bin\n");
    }

    #[test]
    fn a_recursive_listing_has_its_entries_behind_their_folder() {
        let text = "./a:\none.txt\ntwo.txt\n\n./b:\nthree.txt\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8_lossy(&compact.text()), "./a: one.txt two.txt\n./b: three.txt\n");
    }

    #[test]
    fn of_a_long_listing_names_and_sizes_are_left() {
        let text = "a:\ntotal 16\ndrwxr-xr-x 2 me me 4096 Jan  2 10:00 .\ndrwxr-xr-x 2 me me 4096 Jan  2 10:00 src\n-rw-r--r-- 1 me me 1234 Jan  2 10:00 my notes.md\n\na/src:\ntotal 4\n-rw-r--r-- 1 me me 77 Jan  2 10:00 b.rs\nlrwxrwxrwx 1 me me 4 Jan  2 10:00 c -> b.rs\n";
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&compact.text()),
            "a: src/, my notes.md 1234,\na/src: b.rs 77, c -> b.rs,\n"
        );
        assert_eq!(
            compact.note,
            "names and sizes in bytes; rights and owners where they are unusual, no dates"
        );
    }

    #[test]
    fn text_is_not_a_listing() {
        assert_eq!(render(b"one\ntwo\nthree\n"), None);
    }
}
