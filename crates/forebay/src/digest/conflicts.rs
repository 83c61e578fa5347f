//! Merge conflicts in the form of `git merge`.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::Summarize;
use crate::text::count::count;
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::{CONFLICT_SIDE_LINES, FAILED_RUN, MAX_CONFLICTS, Shares, WHOLE_CONFLICT_LINES};
use crate::{Budget, Output, Result, tokens};
use memchr::memmem;
use std::ops::Range;

/// Plans the view of a text with merge conflicts that reports no failure.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, wanted: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    let form = probe.form()?;
    let may_have_conflicts =
        matches!(form, Form::Code(_) | Form::Text | Form::Markdown | Form::Rst | Form::Html | Form::Json);
    if wanted.exclusive || !may_have_conflicts {
        return Ok(None);
    }
    let Some(conflicts) = probe.whole()?.and_then(Conflicts::of) else { return Ok(None) };
    if reports_failure(probe, form)? {
        return Ok(None);
    }
    let outliers = conflicts.shown.clone();
    let shares = Shares::of(form).with_conflicts();
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(shares, conflicts) })))
}

/// Whether output with merge conflicts also reports a failure. Files that were read do not count: they may only mention
/// errors.
fn reports_failure(probe: &Probe, form: Form) -> Result<bool> {
    if probe.exited_badly() || probe.call().reads() {
        return Ok(probe.exited_badly());
    }
    let ranked = probe.ranked()?;
    let ended = || Ok(form == Form::Text && probe.ends_badly()?);
    Ok(ranked.signal.highest >= FAILED_RUN
        && (ranked.signal.has_verdict || ranked.starts_with_error() || ended()?))
}

/// Beginnings of the parts of a conflict: ours, theirs, and the end.
const OURS: &[u8] = b"<<<<<<< ";
const THEIRS: &[u8] = b"=======";
const END: &[u8] = b">>>>>>> ";

/// The conflicts of a text.
pub(crate) struct Conflicts {
    /// Ranges of the conflicts to show, in order.
    shown: Vec<Range<u64>>,
    /// First line of each conflict, counted from 1.
    begin: Vec<u64>,
}

impl Conflicts {
    /// Finds the conflicts of a text, if there are any.
    pub(crate) fn of(bytes: &[u8]) -> Option<Conflicts> {
        if !bytes.starts_with(OURS) && memmem::find(bytes, &[b"\n", OURS].concat()).is_none() {
            return None;
        }
        let mut conflicts = Conflicts { shown: Vec::new(), begin: Vec::new() };
        // Lines of the open conflict, the number of its first line, and the line that divides its versions.
        let (mut open, mut first, mut divided): (Vec<Range<u64>>, u64, Option<usize>) = Default::default();
        let mut at = 0;
        for (number, line) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
            let range = at..at + line.len() as u64;
            at = range.end;
            if line.starts_with(OURS) {
                (open, first, divided) = (vec![range], number, None);
                continue;
            }
            if open.is_empty() {
                continue;
            }
            divided = divided.or((line.trim_ascii_end() == THEIRS).then_some(open.len()));
            open.push(range);
            if line.starts_with(END) {
                if let Some(divided) = divided {
                    conflicts.begin.push(first);
                    if conflicts.begin.len() <= MAX_CONFLICTS {
                        conflicts.shown.extend(shown(&open, divided));
                    }
                }
                open.clear();
            }
        }
        (!conflicts.begin.is_empty()).then_some(conflicts)
    }
}

impl Summarize for Conflicts {
    /// Number of conflicts, and their first lines.
    fn summary(&self, _: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        let all = count("conflict", self.begin.len() as u64);
        let lines = if self.begin.len() == 1 { "line" } else { "lines" };
        let mut text = format!("{all} in all, from {lines}");
        for (number, line) in self.begin.iter().enumerate() {
            let more = format!("{} {line}", if number == 0 { "" } else { "," });
            if Summary::of_lines().saying(&text).tokens(gap) + tokens::count(&more) > room {
                return Ok((number > 0).then(|| Summary::of_lines().saying(text + ", …")));
            }
            text += &more;
        }
        Ok(Some(Summary::of_lines().saying(text)))
    }
}

/// Ranges of a conflict that are shown: all of it, or the beginnings of our version and of theirs.
fn shown(lines: &[Range<u64>], divided: usize) -> Vec<Range<u64>> {
    let range = |lines: &[Range<u64>]| lines[0].start..lines[lines.len() - 1].end;
    if lines.len() <= WHOLE_CONFLICT_LINES {
        return vec![range(lines)];
    }
    let ours = range(&lines[..divided.min(CONFLICT_SIDE_LINES + 1)]);
    vec![ours, range(&lines[divided..lines.len().min(divided + CONFLICT_SIDE_LINES + 1)])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::summarize::summary_of;
    use crate::store::memory::output_of;

    fn conflict(name: &str, lines: usize) -> String {
        let ours: String = (0..lines).map(|n| format!("ours {n} of {name}\n")).collect();
        format!(
            "<<<<<<< HEAD\n{ours}||||||| base\nbase of {name}\n=======\ntheirs of {name}\n>>>>>>> {name}\n"
        )
    }

    #[test]
    fn conflicts_are_shown_by_the_beginning_of_each_version() {
        let text = "first\n".to_owned()
            + &conflict("one", 2)
            + &conflict("next", 2)
            + &"between\n".repeat(9)
            + &conflict("two", 30)
            + "last\n";
        let conflicts = Conflicts::of(text.as_bytes()).unwrap();
        let texts: Vec<&str> =
            conflicts.shown.iter().map(|range| &text[range.start as usize..range.end as usize]).collect();
        let two = conflict("two", 6);
        let (ours, theirs) = two.split_once("||||||| base\nbase of two\n").unwrap();
        assert_eq!(texts, [&conflict("one", 2), &conflict("next", 2), ours, theirs]);
        let summary = |room| summary_of(&conflicts, &output_of(text.as_bytes()), room);
        assert_eq!(summary(99).unwrap(), "3 conflicts in all, from lines 2, 10, 27");
        assert_eq!(summary(3), None);
    }

    #[test]
    fn what_only_looks_like_a_conflict_is_none() {
        for text in [
            "Title\n=======\n",
            "<<<<<<< HEAD\nno end\n=======\n",
            "<<<<<<< HEAD\nnot divided\n>>>>>>> x\n",
            " <<<<<<< HEAD\na\n=======\nb\n >>>>>>> x\n",
            "++<<<<<<< HEAD\n++=======\n++>>>>>>> x\n",
        ] {
            assert!(Conflicts::of(text.as_bytes()).is_none(), "{text}");
        }
    }
}
