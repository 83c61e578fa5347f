//! Lists that say before each of their lines in which state it is, as `git status --short` does.

use crate::digest::READ;
use crate::digest::sections::{FIRST, SHORT, Sections};
use crate::{Output, Result, printable};
use std::ops::Range;

/// So many lines make a list of states, if they are this share of all lines, in hundredths.
const STATED: usize = 20;
const STATED_SHARE: usize = 85;

/// So many of a hundred names are paths: they have an extension or lie in a folder.
const PATHS: usize = 60;

/// More states than these are none.
const STATES: usize = 16;

/// The lines of a list by the state that stands before each, as in `git status --short`, `git diff --name-status`, `svn status`
/// and `rsync --itemize-changes`: where there are a few and hardly anything else.
pub(crate) fn of(output: &Output) -> Result<Option<Sections>> {
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
            let sections = of(&output_of(text.as_bytes())).unwrap().unwrap();
            let shown =
                sections.beginnings.iter().map(|range| &text[range.start as usize..range.end as usize]);
            let expected = lines(rare, 2) + &lines(common, 3);
            assert_eq!(shown.collect::<String>(), expected, "{common}");
            assert_eq!(sections.longer, [(common.trim().to_owned(), 60)]);
        }
        let names = lines(" M", 30) + "UU Makefile\n M \"docs/my file.md\"\n D LICENSE\n";
        let sections = of(&output_of(names.as_bytes())).unwrap().unwrap();
        let first = &sections.beginnings[0];
        assert_eq!(&names[first.start as usize..first.end as usize], "UU Makefile\n");
        assert_eq!(sections.longer, [("M".to_owned(), 31)]);
        let ended = lines(" M", 19) + &lines("??", 2) + "sent 16,857 bytes  received 1,414 bytes\n";
        assert!(of(&output_of(ended.as_bytes())).unwrap().is_some());
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
            assert!(of(&output_of((text + other).as_bytes())).unwrap().is_none(), "{line}");
        }
        // One state alone says nothing, and too many are none.
        let one: String = (0..60).map(|n| format!("M a{n}.rs\n")).collect();
        let many: String = (0..60).map(|n| format!("R{n} a.rs\n")).collect();
        for text in [one, many] {
            assert!(of(&output_of(text.as_bytes())).unwrap().is_none(), "{text}");
        }
    }
}
