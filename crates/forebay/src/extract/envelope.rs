//! The envelope of an answer: of which output it is, by which strategy, and what is left out for the budget.

use crate::event::Reading;
use crate::extract::provenance::part_read;
use crate::extract::{Extract, Mode};
use crate::query::fitted;
use crate::text::count::grouped;
use crate::{Budget, Output, Result, Surface, tokens};
use std::ops::Range;

/// Answer of models with everything its envelope says.
pub(crate) struct Abstract<'a> {
    pub(crate) strategy: &'static str,
    pub(crate) answer: &'a str,
    /// Where it comes from, longest first.
    pub(crate) notes: &'a [String],
    /// How much of the output was read, if that is less than its strategy stands for.
    pub(crate) share: Option<String>,
    /// The characters of the answer that the caller has read already.
    pub(crate) from: usize,
}

/// The mark at the end of instructions that asks for a later part of an abstract, before its number.
pub(crate) const FROM: &str = "[from character ";

/// Below this many tokens, the line that says what is left out is a short one.
pub(crate) const NARROW: u64 = 256;

/// Splits instructions into what is wanted and how many characters of the abstract the caller has read already.
pub(crate) fn part_of(instructions: &str) -> (&str, usize) {
    let marked = instructions.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once(FROM));
    let number = |text: &str| text.replace(',', "").parse::<usize>().ok().filter(|&number| number > 0);
    match marked.and_then(|(wanted, at)| Some((wanted.trim_end(), number(at)?))) {
        Some((wanted, at)) if !wanted.is_empty() => (wanted, at - 1),
        _ => (instructions, 0),
    }
}

/// The answer of models in its envelope, cut where it does not fit. Of the notes, the first is told that leaves most of
/// the budget to the answer.
pub(crate) fn told(output: &Output, found: &Abstract, budget: Budget) -> Extract {
    let Abstract { strategy, answer, notes, share, from } = found;
    let all = answer.chars().count();
    let from = (*from).min(all);
    let mut head = match share {
        None => opening(output, strategy),
        Some(share) => {
            let (percent, _) = share.split_once(" of ").unwrap_or((share, ""));
            let head = opening(output, &format!("{strategy}, {percent} read"));
            format!("{head}[{share} were read; mode full-chunked reads all of them]\n")
        }
    };
    if from > 0 {
        let (first, all) = (grouped((from + 1).min(all) as u64), grouped(all as u64));
        head.push_str(&format!("[this abstract from character {first} of {all} on]\n"));
    }
    let print = |shown: usize, note: &str| {
        let apart = if note.is_empty() { "" } else { "\n" };
        let part: String = answer.chars().skip(from).take(shown).collect();
        let left = all - from - shown;
        if left == 0 {
            return format!("{head}{part}\n{apart}{note}");
        }
        let (left, all, next) = (grouped(left as u64), grouped(all as u64), from + shown + 1);
        let left = match budget.tokens < NARROW {
            true => format!("[… {left} of {all} characters are left out: add {FROM}{next}]]"),
            false => format!(
                "[… {left} of {all} characters of this abstract are left out: the same call with {FROM}{next}] at the end of its instructions gives them]"
            ),
        };
        format!("{head}{}\n{left}\n{note}", part.trim_end())
    };
    let small =
        |note: &&String| tokens::count(note) <= budget.tokens / 4 && note.len() as u64 <= budget.bytes / 4;
    let most = all - from;
    let whole = notes.iter().map(String::as_str).chain([""]).map(|note| print(most, note));
    let mut text = whole.into_iter().find(|text| budget.holds(text.as_bytes())).unwrap_or_else(|| {
        let note = notes.iter().find(small).map_or("", String::as_str);
        print(fitted(most, budget, |shown| print(shown, note).into_bytes()), note)
    });
    if !budget.holds(text.as_bytes()) {
        text = print(0, "");
    }
    // Names may be so long that nothing else fits.
    while !budget.holds(text.as_bytes()) {
        text = crate::shortened(&text, text.chars().count() / 2);
    }
    Extract { text, strategy, fell_back: None, reading: None, repeated: false, stopped: None }
}

/// An earlier answer, given again: all of it, or the part that the caller has not read yet.
pub(crate) fn again(
    output: &Output,
    strategy: &'static str,
    reading: &Reading,
    from: usize,
    budget: Budget,
) -> Result<Extract> {
    let how = match output.surface() {
        Surface::Shell { .. } => "--anew has it read again",
        _ => "other instructions have it read anew",
    };
    let repeated = format!("[this was asked before, and is the answer that was given then; {how}]\n");
    // Whoever reads on knows that.
    let repeated = if from == 0 { repeated } else { String::new() };
    let notes: Vec<String> = reading.notes.iter().map(|note| format!("{note}{repeated}")).collect();
    let ranges: Vec<Range<u64>> = reading.ranges.iter().map(|&(start, end)| start..end).collect();
    let share = part_read(output, strategy, &ranges)?;
    let told =
        told(output, &Abstract { strategy, answer: &reading.answer, notes: &notes, share, from }, budget);
    Ok(Extract { repeated: true, ..told })
}

/// A text that keeps to its budget; where it does not, as much of its head as does.
pub(crate) fn held(text: String, head: &str, budget: Budget) -> String {
    let mut text = if budget.holds(text.as_bytes()) { text } else { head.to_owned() };
    while !budget.holds(text.as_bytes()) {
        text = crate::shortened(&text, text.chars().count() / 2);
    }
    text
}

pub(crate) fn cost(text: &str) -> Budget {
    let lines = Some(text.lines().count() as u64);
    Budget { tokens: tokens::count(text), bytes: text.len() as u64, lines }
}

pub(crate) fn opening(output: &Output, strategy: &str) -> String {
    let record = output.record();
    format!(
        "ABSTRACT FROM TOOL OUTPUT {} WITH HANDLE {}, STRATEGY:{strategy}:\n\n",
        record.call.full_name(),
        record.handle
    )
}

/// First words of the answer to instructions that could not be followed.
pub const FAILED: &str = "TOOL_OUTPUT FAILED FOR ";

/// The answer to instructions that could not be followed.
pub(crate) fn failed(tool: &str, handle: &str, mode: Mode, why: &str) -> String {
    format!("{FAILED}{tool} WITH HANDLE {handle}, STRATEGY:{mode}:\n\n{why}")
}
