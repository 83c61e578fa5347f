//! Where the versions of a text are in conflict, as `git merge` leaves them.

use crate::digest::READ;
use crate::digest::ends::Summarize;
use crate::text::count::count;
use crate::view::Summary;
use crate::view::print::Gap;
use crate::{Output, Result, tokens};
use memchr::memmem;
use std::ops::Range;

/// A conflict of so many lines is shown whole; of a longer one so many lines of our version and of theirs.
const SHORT: usize = 24;
const FIRST: usize = 6;

/// So many conflicts are looked at.
const MANY: usize = 200;

/// How the parts of a conflict begin: ours, theirs, and the end.
const OURS: &[u8] = b"<<<<<<< ";
const THEIRS: &[u8] = b"=======";
const END: &[u8] = b">>>>>>> ";

/// The conflicts of a text.
pub(crate) struct Conflicts {
    /// What is shown of them, in their order.
    pub(crate) shown: Vec<Range<u64>>,
    /// The lines that they begin in, counted from 1.
    begin: Vec<u64>,
}

impl Conflicts {
    /// The conflicts of a text, if there are any.
    pub(crate) fn of(output: &Output) -> Result<Option<Conflicts>> {
        if output.len() > READ {
            return Ok(None);
        }
        let bytes = output.read(0..output.len())?;
        if !bytes.starts_with(OURS) && memmem::find(&bytes, &[b"\n", OURS].concat()).is_none() {
            return Ok(None);
        }
        let mut conflicts = Conflicts { shown: Vec::new(), begin: Vec::new() };
        // The lines of the conflict that is open, the one it begins in, and which of them divides its versions.
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
                    if conflicts.begin.len() <= MANY {
                        conflicts.shown.extend(shown(&open, divided));
                    }
                }
                open.clear();
            }
        }
        Ok((!conflicts.begin.is_empty()).then_some(conflicts))
    }

}

impl Summarize for Conflicts {
    /// Number of conflicts, and the lines that they begin in.
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

/// What is shown of a conflict: all of it, or the beginnings of our version and of theirs.
fn shown(lines: &[Range<u64>], divided: usize) -> Vec<Range<u64>> {
    let range = |lines: &[Range<u64>]| lines[0].start..lines[lines.len() - 1].end;
    if lines.len() <= SHORT {
        return vec![range(lines)];
    }
    let ours = range(&lines[..divided.min(FIRST + 1)]);
    vec![ours, range(&lines[divided..lines.len().min(divided + FIRST + 1)])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::ends::summary_of;
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
        let conflicts = Conflicts::of(&output_of(text.as_bytes())).unwrap().unwrap();
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
            assert!(Conflicts::of(&output_of(text.as_bytes())).unwrap().is_none(), "{text}");
        }
    }
}
