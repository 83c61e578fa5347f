//! Sections of a list below their titles, as in `git status`.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::{Summarize, fitting_lines};
use crate::digest::{failures, states};
use crate::text::count::count;
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::{
    MAX_SECTIONS, SECTION_START_LINES, SECTIONS_PERCENT, Shares, WHOLE_SECTION_LINES,
};
use crate::{Budget, Output, Result, printable};
use std::ops::Range;

/// Plans the view of a list that has a few sections, or a state before each of its lines.
pub(crate) fn recognize<'p>(
    probe: &'p Probe<'p>,
    wanted: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    if wanted.exclusive || probe.form()? != Form::Text || probe.ends_badly()? || probe.exited_badly() {
        return Ok(None);
    }
    let sections = probe.whole()?.and_then(|bytes| of(bytes).or_else(|| states::of(bytes)));
    let Some(sections) = sections else { return Ok(None) };
    let failures = probe.failures()?;
    if failures.signal.has_verdict {
        return Ok(None);
    }
    let first = failures::worst(probe.output, budget, failures.units.clone(), failures.signal.highest)?;
    let outliers = sections.beginnings.clone();
    let parts = Parts::new(Shares::of(Form::Listing), sections);
    Ok(Some(Plan::Ends(Parts { first, outliers, ..parts })))
}

/// Sections of a list.
pub(crate) struct Sections {
    /// Beginnings of the sections, the shortest section first.
    pub(crate) beginnings: Vec<Range<u64>>,
    /// Titles of the sections that are not shown whole, with their numbers of lines.
    pub(crate) longer: Vec<(String, u64)>,
}

impl Summarize for Sections {
    /// Number of lines of each section that is not shown whole.
    fn summary(&self, _: &Output, _: &Gap, room: u64) -> Result<Option<Summary>> {
        let lines = self.longer.iter().map(|(title, lines)| format!("{title} {}", count("line", *lines)));
        let listed = fitting_lines(lines, room);
        Ok((!listed.is_empty()).then(|| Summary::of_lines().saying("in all").listing(listed)))
    }
}

/// Finds the sections of a list that consists of a few sections and hardly anything else.
fn of(bytes: &[u8]) -> Option<Sections> {
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
        if sections.len() > MAX_SECTIONS {
            return None;
        }
    }
    sections.retain(|section| section.len() > 1);
    let inside: usize = sections.iter().map(Vec::len).sum();
    if sections.len() < 2 || inside * 100 < lines * SECTIONS_PERCENT {
        return None;
    }
    let is_longer = |section: &&Vec<Range<u64>>| section.len() > WHOLE_SECTION_LINES;
    let title_and_length = |section: &Vec<Range<u64>>| {
        let title = &bytes[section[0].start as usize..section[0].end as usize];
        (printable(String::from_utf8_lossy(title).trim()), section.len() as u64 - 1)
    };
    let longer = sections.iter().filter(is_longer).map(title_and_length).collect();
    sections.sort_by_key(|section| (section.len(), section[0].start));
    let shown = |section: &Vec<Range<u64>>| {
        let last = if section.len() <= WHOLE_SECTION_LINES { section.len() } else { SECTION_START_LINES };
        section[0].start..section[last - 1].end
    };
    Some(Sections { beginnings: sections.iter().map(shown).collect(), longer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::summarize::summary_of;
    use crate::store::memory::output_of;

    #[test]
    fn sections_of_a_list_are_shown_by_their_beginnings_the_shortest_whole() {
        let untracked: String = (0..300).map(|n| format!("\tdist/chunk-{n}.js\n")).collect();
        let text = format!(
            "On branch main\n\nChanges to be committed:\n  (use \"git restore\")\n\tmodified:   a.py\n\nUnmerged paths:\n\tboth modified:   b.py\n\nUntracked files:\n{untracked}\nno changes added\n"
        );
        let output = output_of(text.as_bytes());
        let sections = of(text.as_bytes()).unwrap();
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
        assert!(of(text.as_bytes()).is_none());
    }

    #[test]
    fn folders_of_a_list_are_no_sections() {
        let text: String = (0..30).map(|n| format!("./dir {n}:\n  a.rs\n")).collect();
        assert!(of(text.as_bytes()).is_none());
    }
}
