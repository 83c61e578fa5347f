//! The sections of a list: what stands above its parts, as in `git status`.

use super::READ;
use crate::{Output, Result};
use std::ops::Range;

/// More of them are folders.
const MANY: usize = 12;

/// A section of so many lines is shown whole; of a longer one the title and so many lines.
const SHORT: usize = 8;
const FIRST: usize = 3;

/// So many of a hundred lines are indented below a title.
const SHARE: usize = 80;

/// The beginnings of the sections, the shortest first, where there are a few and hardly anything else.
pub(super) fn of(output: &Output) -> Result<Vec<Range<u64>>> {
    if output.len() > READ {
        return Ok(Vec::new());
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
            return Ok(Vec::new());
        }
    }
    sections.retain(|section| section.len() > 1);
    let inside: usize = sections.iter().map(Vec::len).sum();
    if sections.len() < 2 || inside * 100 < lines * SHARE {
        return Ok(Vec::new());
    }
    sections.sort_by_key(|section| (section.len(), section[0].start));
    let shown = |section: &Vec<Range<u64>>| {
        let last = if section.len() <= SHORT { section.len() } else { FIRST };
        section[0].start..section[last - 1].end
    };
    Ok(sections.iter().map(shown).collect())
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
        let shown: Vec<&str> = of(&output_of(text.as_bytes()))
            .unwrap()
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
        assert!(of(&output_of(text.as_bytes())).unwrap().is_empty());
    }

    #[test]
    fn folders_of_a_list_are_no_sections() {
        let text: String = (0..30).map(|n| format!("./dir {n}:\n  a.rs\n")).collect();
        assert!(of(&output_of(text.as_bytes())).unwrap().is_empty());
    }
}
