//! The sections of a list: what stands above its parts, as in `git status`.

use crate::digest::READ;
use crate::digest::ends::{Summarize, fitting_lines};
use crate::text::count::count;
use crate::view::Summary;
use crate::view::print::Gap;
use crate::{Output, Result, printable};
use std::ops::Range;

/// More of them are folders.
const MANY: usize = 12;

/// A section of so many lines is shown whole; of a longer one the title and so many lines.
pub(crate) const SHORT: usize = 8;
pub(crate) const FIRST: usize = 3;

/// So many of a hundred lines are indented below a title.
const SHARE: usize = 80;

/// The sections of a list.
pub(crate) struct Sections {
    /// Their beginnings, the shortest first.
    pub(crate) beginnings: Vec<Range<u64>>,
    /// The titles of those that are not shown whole, with how many lines each has.
    pub(crate) longer: Vec<(String, u64)>,
}

impl Summarize for Sections {
    /// Lines of each section that is not shown whole.
    fn summary(&self, _: &Output, _: &Gap, room: u64) -> Result<Option<Summary>> {
        let lines = self.longer.iter().map(|(title, lines)| format!("{title} {}", count("line", *lines)));
        let listed = fitting_lines(lines, room);
        Ok((!listed.is_empty()).then(|| Summary::of_lines().saying("in all").listing(listed)))
    }
}

/// The sections of a list, where there are a few and hardly anything else.
pub(crate) fn of(output: &Output) -> Result<Option<Sections>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::ends::summary_of;
    use crate::store::memory::output_of;

    #[test]
    fn sections_of_a_list_are_shown_by_their_beginnings_the_shortest_whole() {
        let untracked: String = (0..300).map(|n| format!("\tdist/chunk-{n}.js\n")).collect();
        let text = format!(
            "On branch main\n\nChanges to be committed:\n  (use \"git restore\")\n\tmodified:   a.py\n\nUnmerged paths:\n\tboth modified:   b.py\n\nUntracked files:\n{untracked}\nno changes added\n"
        );
        let output = output_of(text.as_bytes());
        let sections = of(&output).unwrap().unwrap();
        assert_eq!(summary_of(&sections, &output, 99).unwrap(), "in all\nUntracked files: 300 lines");
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
}
