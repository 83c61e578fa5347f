//! Lists with a state before each line, such as `git status --short`.

use crate::digest::sections::Sections;
use crate::printable;
use crate::weights::folding::{
    MAX_STATES, MIN_STATED, PATHS_PERCENT, SECTION_START_LINES, STATED_PERCENT, WHOLE_SECTION_LINES,
};
use std::ops::Range;

/// Groups the lines of a list by the state before each, as in `git status --short`, `git diff --name-status`, `svn
/// status` and `rsync --itemize-changes`. `None` unless there are a few states and hardly any other lines.
pub(crate) fn of(bytes: &[u8]) -> Option<Sections> {
    let mut states: Vec<(&[u8], Vec<Range<u64>>)> = Vec::new();
    let (mut at, mut lines, mut stated, mut pathlike) = (0, 0, 0, 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let range = at..at + line.len() as u64;
        at = range.end;
        lines += usize::from(!line.trim_ascii().is_empty());
        let Some((state, path)) = state(line) else {
            // Any other output is not read to its end.
            if lines > MIN_STATED * 4 && stated * 2 < lines {
                return None;
            }
            continue;
        };
        stated += 1;
        pathlike += usize::from(path.iter().any(|byte| matches!(byte, b'/' | b'.')));
        match states.iter_mut().find(|(known, _)| *known == state) {
            Some((_, lines)) => lines.push(range),
            None => states.push((state, vec![range])),
        }
        if states.len() > MAX_STATES {
            return None;
        }
    }
    if states.len() < 2
        || stated < MIN_STATED
        || stated * 100 < lines * STATED_PERCENT
        || pathlike * 100 < stated * PATHS_PERCENT
    {
        return None;
    }
    states.sort_by_key(|(_, lines)| (lines.len(), lines[0].start));
    let shown = |(_, lines): &(&[u8], Vec<Range<u64>>)| {
        let shown = if lines.len() <= WHOLE_SECTION_LINES { lines.len() } else { SECTION_START_LINES };
        lines[..shown].to_vec()
    };
    let longer = states.iter().filter(|(_, lines)| lines.len() > WHOLE_SECTION_LINES).rev();
    let name_and_length = |(state, lines): &(&[u8], Vec<Range<u64>>)| {
        (printable(&String::from_utf8_lossy(state)), lines.len() as u64)
    };
    Some(Sections {
        beginnings: states.iter().flat_map(shown).collect(),
        longer: longer.map(name_and_length).collect(),
    })
}

/// Maximum bytes of a state: that of `rsync` has eleven.
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
            let sections = of(text.as_bytes()).unwrap();
            let shown =
                sections.beginnings.iter().map(|range| &text[range.start as usize..range.end as usize]);
            let expected = lines(rare, 2) + &lines(common, 3);
            assert_eq!(shown.collect::<String>(), expected, "{common}");
            assert_eq!(sections.longer, [(common.trim().to_owned(), 60)]);
        }
        let names = lines(" M", 30) + "UU Makefile\n M \"docs/my file.md\"\n D LICENSE\n";
        let sections = of(names.as_bytes()).unwrap();
        let first = &sections.beginnings[0];
        assert_eq!(&names[first.start as usize..first.end as usize], "UU Makefile\n");
        assert_eq!(sections.longer, [("M".to_owned(), 31)]);
        let ended = lines(" M", 19) + &lines("??", 2) + "sent 16,857 bytes  received 1,414 bytes\n";
        assert!(of(ended.as_bytes()).is_some());
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
            assert!(of((text + other).as_bytes()).is_none(), "{line}");
        }
        // A single state says nothing, and too many are not states.
        let one: String = (0..60).map(|n| format!("M a{n}.rs\n")).collect();
        let many: String = (0..60).map(|n| format!("R{n} a.rs\n")).collect();
        for text in [one, many] {
            assert!(of(text.as_bytes()).is_none(), "{text}");
        }
    }
}
