//! The sections of a list: what stands above its parts, as in `git status`.

use super::READ;
use crate::view::count;
use crate::{Output, Result, printable, tokens};
use std::ops::Range;

/// More of them are folders.
const MANY: usize = 12;

/// A section of so many lines is shown whole; of a longer one the title and so many lines.
const SHORT: usize = 8;
const FIRST: usize = 3;

/// So many of a hundred lines are indented below a title.
const SHARE: usize = 80;

/// The sections of a list.
pub(super) struct Sections {
    /// Their beginnings, the shortest first.
    pub(super) beginnings: Vec<Range<u64>>,
    /// The titles of those that are not shown whole, with how many lines each has.
    longer: Vec<(String, u64)>,
}

impl Sections {
    /// How many lines are in sections that are not shown whole, as much as there is room for.
    pub(super) fn said(&self, gap: u64, room: u64) -> Option<String> {
        let mut text = String::new();
        for (title, lines) in &self.longer {
            let more = format!("\n{title} {}", count("line", *lines));
            if tokens::count(&text) + tokens::count(&more) > room {
                break;
            }
            text += &more;
        }
        (!text.is_empty()).then(|| format!("… {} omitted; in all{text}", count("line", gap)))
    }
}

/// The sections of a list, where there are a few and hardly anything else.
pub(super) fn of(output: &Output) -> Result<Option<Sections>> {
    if output.len() > READ {
        return Ok(None);
    }
    let bytes = output.read(0..output.len())?;
    let mut sections: Vec<Vec<Range<u64>>> = Vec::new();
    let (mut at, mut is_open, mut lines) = (0, false, 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let range = at..at + line.len() as u64;
        at = range.end;
        lines += usize::from(!line.trim_ascii().is_empty());
        let is_indented = line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        let is_title = !is_indented && line.trim_ascii_end().ends_with(b":") && line.contains(&b' ');
        match sections.last_mut().filter(|_| is_open && is_indented) {
            _ if is_title => sections.push(vec![range]),
            Some(section) => section.push(range),
            None => {}
        }
        is_open = is_title || is_open && is_indented;
        if sections.len() > MANY {
            return Ok(None);
        }
    }
    sections.retain(|section| section.len() > 1);
    let inside: usize = sections.iter().map(Vec::len).sum();
    if sections.len() < 2 || inside * 100 < lines * SHARE {
        return Ok(None);
    }
    let is_longer = |section: &&Vec<Range<u64>>| section.len() > SHORT;
    let told = |section: &Vec<Range<u64>>| {
        let title = &bytes[section[0].start as usize..section[0].end as usize];
        (printable(String::from_utf8_lossy(title).trim()), section.len() as u64 - 1)
    };
    let longer = sections.iter().filter(is_longer).map(told).collect();
    sections.sort_by_key(|section| (section.len(), section[0].start));
    let shown = |section: &Vec<Range<u64>>| {
        let last = if section.len() <= SHORT { section.len() } else { FIRST };
        section[0].start..section[last - 1].end
    };
    Ok(Some(Sections { beginnings: sections.iter().map(shown).collect(), longer }))
}

/// So many lines make a list of states, if they are this share of all lines, in hundredths.
const STATED: usize = 20;
const STATED_SHARE: usize = 85;

/// So many of a hundred names are paths: they have an extension or lie in a folder.
const PATHS: usize = 60;

/// More states than these are none.
const STATES: usize = 16;

/// The lines of a list by the state that stands before each, as in `git status --short`, `git diff --name-status`, `svn status`
/// and `rsync --itemize-changes`: where there are a few and hardly anything else.
pub(super) fn by_state(output: &Output) -> Result<Option<Sections>> {
    if output.len() > READ {
        return Ok(None);
    }
    let bytes = output.read(0..output.len())?;
    let mut states: Vec<(&[u8], Vec<Range<u64>>)> = Vec::new();
    let (mut at, mut lines, mut stated, mut pathlike) = (0, 0, 0, 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let range = at..at + line.len() as u64;
        at = range.end;
        lines += usize::from(!line.trim_ascii().is_empty());
        let Some((state, path)) = state(line) else {
            // What is no such list is not read to its end.
            if lines > STATED * 4 && stated * 2 < lines {
                return Ok(None);
            }
            continue;
        };
        stated += 1;
        pathlike += usize::from(path.iter().any(|byte| matches!(byte, b'/' | b'.')));
        match states.iter_mut().find(|(known, _)| *known == state) {
            Some((_, lines)) => lines.push(range),
            None => states.push((state, vec![range])),
        }
        if states.len() > STATES {
            return Ok(None);
        }
    }
    if states.len() < 2
        || stated < STATED
        || stated * 100 < lines * STATED_SHARE
        || pathlike * 100 < stated * PATHS
    {
        return Ok(None);
    }
    states.sort_by_key(|(_, lines)| (lines.len(), lines[0].start));
    let shown = |(_, lines): &(&[u8], Vec<Range<u64>>)| {
        let shown = if lines.len() <= SHORT { lines.len() } else { FIRST };
        lines[..shown].to_vec()
    };
    let longer = states.iter().filter(|(_, lines)| lines.len() > SHORT).rev();
    let told = |(state, lines): &(&[u8], Vec<Range<u64>>)| {
        (printable(&String::from_utf8_lossy(state)), lines.len() as u64)
    };
    Ok(Some(Sections {
        beginnings: states.iter().flat_map(shown).collect(),
        longer: longer.map(told).collect(),
    }))
}

/// A state has no more bytes than this.
const STATE: usize = 12;

/// The state before a path, and the path: `M`, `??`, `R100`, `>f+++++++++`, `*deleting`.
fn state(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii();
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
    let (state, path) = (&line[..end], line[end..].trim_ascii_start());
    let is_letters = |state: &[u8]| {
        let digits = state.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let letters = &state[..state.len() - digits];
        (1..=2).contains(&letters.len()) && letters.iter().all(u8::is_ascii_uppercase)
    };
    let is_sign = |byte: &u8| b"?!~*<>+.".contains(byte);
    let fits = state.len() <= STATE && (is_letters(state) || is_sign(&state[0]) || state.ends_with(b"++"));
    let is_path = !path.contains(&b' ')
        || path.contains(&b'\t')
        || path.starts_with(b"\"")
        || memchr::memmem::find(path, b" -> ").is_some();
    (fits && is_path && state.iter().all(u8::is_ascii_graphic)).then_some((state, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn sections_of_a_list_are_shown_by_their_beginnings_the_shortest_whole() {
        let untracked: String = (0..300).map(|n| format!("\tdist/chunk-{n}.js\n")).collect();
        let text = format!(
            "On branch main\n\nChanges to be committed:\n  (use \"git restore\")\n\tmodified:   a.py\n\nUnmerged paths:\n\tboth modified:   b.py\n\nUntracked files:\n{untracked}\nno changes added\n"
        );
        let sections = of(&output_of(text.as_bytes())).unwrap().unwrap();
        assert_eq!(
            sections.said(297, 99).unwrap(),
            "… 297 lines omitted; in all\nUntracked files: 300 lines"
        );
        let shown: Vec<&str> = sections
            .beginnings
            .into_iter()
            .map(|range| &text[range.start as usize..range.end as usize])
            .collect();
        assert_eq!(
            shown,
            [
                "Unmerged paths:\n\tboth modified:   b.py\n",
                "Changes to be committed:\n  (use \"git restore\")\n\tmodified:   a.py\n",
                "Untracked files:\n\tdist/chunk-0.js\n\tdist/chunk-1.js\n",
            ]
        );
    }

    #[test]
    fn a_text_with_a_list_in_it_has_no_sections() {
        let text = "To do:\n  this\nTo wait for:\n  that\n".to_owned() + &"Words of a text.\n".repeat(9);
        assert!(of(&output_of(text.as_bytes())).unwrap().is_none());
    }

    #[test]
    fn folders_of_a_list_are_no_sections() {
        let text: String = (0..30).map(|n| format!("./dir {n}:\n  a.rs\n")).collect();
        assert!(of(&output_of(text.as_bytes())).unwrap().is_none());
    }

    #[test]
    fn lines_are_told_apart_by_the_state_before_them() {
        let lines = |state: &str, count: usize| -> String {
            (0..count).map(|n| format!("{state} src/part{n}.rs\n")).collect()
        };
        for (common, rare) in [
            (" M", "??"),
            ("M\t", "R086\tsrc/old.rs\t"),
            (">f..t......", "*deleting  "),
            ("A      ", "!      "),
            ("cd+++++++++", ".d..t......"),
        ] {
            let text = lines(common, 30) + &lines(rare, 2) + &lines(common, 30);
            let sections = by_state(&output_of(text.as_bytes())).unwrap().unwrap();
            let shown =
                sections.beginnings.iter().map(|range| &text[range.start as usize..range.end as usize]);
            let expected = lines(rare, 2) + &lines(common, 3);
            assert_eq!(shown.collect::<String>(), expected, "{common}");
            assert_eq!(sections.longer, [(common.trim().to_owned(), 60)]);
        }
        let names = lines(" M", 30) + "UU Makefile\n M \"docs/my file.md\"\n D LICENSE\n";
        let sections = by_state(&output_of(names.as_bytes())).unwrap().unwrap();
        let first = &sections.beginnings[0];
        assert_eq!(&names[first.start as usize..first.end as usize], "UU Makefile\n");
        assert_eq!(sections.longer, [("M".to_owned(), 31)]);
        let ended = lines(" M", 19) + &lines("??", 2) + "sent 16,857 bytes  received 1,414 bytes\n";
        assert!(by_state(&output_of(ended.as_bytes())).unwrap().is_some());
    }

    #[test]
    fn other_lists_have_no_states() {
        for line in [
            "-rw-r--r-- 1 ann ann 12 src/part#.rs",
            "OK src/part#.rs is as it was before",
            "copying src/part#.rs",
            "I said # things.",
            "? word#",
            "12 src/part#.rs",
        ] {
            let other = if line.starts_with('O') { "?? b.rs\n" } else { "M a.rs\n" };
            let text: String = (0..60).map(|n| line.replace('#', &n.to_string()) + "\n").collect();
            assert!(by_state(&output_of((text + other).as_bytes())).unwrap().is_none(), "{line}");
        }
        // One state alone says nothing, and too many are none.
        let one: String = (0..60).map(|n| format!("M a{n}.rs\n")).collect();
        let many: String = (0..60).map(|n| format!("R{n} a.rs\n")).collect();
        for text in [one, many] {
            assert!(by_state(&output_of(text.as_bytes())).unwrap().is_none(), "{text}");
        }
    }
}
