//! Where the versions of a text are in conflict, as `git merge` leaves them.

use super::READ;
use crate::view::count;
use crate::{Output, Result, tokens};
use memchr::memmem;
use std::ops::Range;

/// So many lines of each version are shown.
const FIRST: usize = 6;

/// How the parts of a conflict begin: ours, what both come from, theirs, and the end.
const OURS: &[u8] = b"<<<<<<< ";
const BASE: &[u8] = b"||||||| ";
const THEIRS: &[u8] = b"=======";
const END: &[u8] = b">>>>>>> ";

/// The conflicts of a text in their order, each as the ranges that are shown of it: the beginning of each version, and the
/// lines around them that say whose it is.
pub(super) fn of(output: &Output) -> Result<Vec<Range<u64>>> {
    if output.len() > READ {
        return Ok(Vec::new());
    }
    let bytes = output.read(0..output.len())?;
    if !bytes.starts_with(OURS) && memmem::find(&bytes, &[b"\n", OURS].concat()).is_none() {
        return Ok(Vec::new());
    }
    let mut shown: Vec<Range<u64>> = Vec::new();
    // The lines of the conflict that is open, and how many of its version there were.
    let mut open: Vec<Range<u64>> = Vec::new();
    let (mut lines, mut divided) = (0, false);
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let range = at..at + line.len() as u64;
        at = range.end;
        let divides = line.trim_ascii_end() == THEIRS;
        match () {
            () if line.starts_with(OURS) => {
                open = vec![range];
                (lines, divided) = (0, false);
            }
            () if open.is_empty() => {}
            () if line.starts_with(END) => {
                open.push(range);
                if divided {
                    shown.append(&mut open);
                }
                open.clear();
            }
            () => {
                divided |= divides;
                lines = if divides || line.starts_with(BASE) { 0 } else { lines + 1 };
                if lines <= FIRST {
                    open.push(range);
                }
            }
        }
    }
    Ok(joined(shown))
}

/// Ranges in their order, those that touch as one.
fn joined(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// How many conflicts there are in all, and the lines that they begin in, as many as there is room for.
pub(super) fn said(
    output: &Output,
    shown: &[Range<u64>],
    gap: &Range<u64>,
    room: u64,
) -> Result<Option<String>> {
    let mut begins = Vec::new();
    for range in shown {
        let bytes = output.read(range.clone())?;
        for at in memmem::find_iter(&bytes, OURS).filter(|at| *at == 0 || bytes[at - 1] == b'\n') {
            begins.push(output.newlines_before(range.start + at as u64)? + 1);
        }
    }
    let omitted = output.newlines_before(gap.end - 1)? - output.newlines_before(gap.start)? + 1;
    let omitted = count("line", omitted);
    let mut text =
        format!("… {omitted} omitted; {} in all, from lines", count("conflict", begins.len() as u64));
    for (number, line) in begins.iter().enumerate() {
        let more = format!("{} {line}", if number == 0 { "" } else { "," });
        if tokens::count(&text) + tokens::count(&more) > room {
            return Ok((number > 0).then(|| text + ", …"));
        }
        text += &more;
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
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
            + &"between\n".repeat(9)
            + &conflict("two", 8)
            + "last\n";
        let output = output_of(text.as_bytes());
        let shown = of(&output).unwrap();
        let texts: Vec<&str> =
            shown.iter().map(|range| &text[range.start as usize..range.end as usize]).collect();
        let two = conflict("two", 8);
        let (before, after) = two.split_once("ours 6 of two\nours 7 of two\n").unwrap();
        assert_eq!(texts, [conflict("one", 2).as_str(), before, after]);
        let said = |room| said(&output, &shown, &(0..text.len() as u64), room).unwrap();
        assert_eq!(said(99).unwrap(), "… 33 lines omitted; 2 conflicts in all, from lines 2, 19");
        assert_eq!(said(3), None);
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
            assert_eq!(of(&output_of(text.as_bytes())).unwrap(), [], "{text}");
        }
    }
}
