//! The envelope of an answer: its output, its strategy, and what is omitted to fit the budget.

use crate::event::Reading;
use crate::extract::answer::Extract;
use crate::extract::extraction::Mode;
use crate::extract::provenance::part_read;
use crate::extract::strategy::Strategy;
use crate::query::fitted;
use crate::text::count::grouped;
use crate::{Budget, Output, Result, Surface, tokens};
use std::ops::Range;

/// An answer of models with everything that its envelope says.
pub(crate) struct Abstract<'a> {
    pub(crate) strategy: Strategy,
    pub(crate) answer: &'a str,
    /// Notes on its origin, longest first.
    pub(crate) notes: &'a [String],
    /// Share of the output that was read, if the strategy should read all of it and read less.
    pub(crate) share: Option<String>,
    /// Characters of the answer that the caller has read already.
    pub(crate) from: usize,
}

/// The mark at the end of instructions that asks for a later part of an abstract, before its number.
pub(crate) const FROM: &str = "[from character ";

/// Budget in tokens below which the line on omitted characters is short.
pub(crate) const NARROW: u64 = 256;

/// Splits instructions into the text and the number of characters of the abstract that the caller has read already.
pub(crate) fn part_of(instructions: &str) -> (&str, usize) {
    let marked = instructions.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once(FROM));
    let number = |text: &str| text.replace(',', "").parse::<usize>().ok().filter(|&number| number > 0);
    match marked.and_then(|(wanted, at)| Some((wanted.trim_end(), number(at)?))) {
        Some((wanted, at)) if !wanted.is_empty() => (wanted, at - 1),
        _ => (instructions, 0),
    }
}

/// The answer of models in its envelope, cut to fit, with the first note that leaves most of the budget to the
/// answer.
pub(crate) fn in_envelope(output: &Output, found: &Abstract, budget: Budget) -> Extract {
    let Abstract { strategy, answer, notes, share, from } = found;
    let all = answer.chars().count();
    let from = (*from).min(all);
    let mut head = match share {
        None => opening(output, strategy.as_str()),
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
        let left = if budget.tokens < NARROW {
            format!("[… {left} of {all} characters are left out: add {FROM}{next}]]")
        } else {
            format!(
                "[… {left} of {all} characters of this abstract are left out: the same call with {FROM}{next}] at the end of its instructions gives them]"
            )
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
    Extract::new(*strategy, text)
}

/// An earlier answer, given again: all of it, or the part that the caller has not read yet.
pub(crate) fn repeated(
    output: &Output,
    strategy: Strategy,
    reading: &Reading,
    from: usize,
    budget: Budget,
) -> Result<Extract> {
    let how = match output.surface() {
        Surface::Shell { .. } => "--anew has it read again",
        _ => "other instructions have it read anew",
    };
    let notice = format!("[this was asked before, and is the answer that was given then; {how}]\n");
    // A caller that reads on has seen the notice.
    let notice = if from == 0 { notice } else { String::new() };
    let notes: Vec<String> = reading.notes.iter().map(|note| format!("{note}{notice}")).collect();
    let ranges: Vec<Range<u64>> = reading.ranges.iter().map(|&(start, end)| start..end).collect();
    let share = part_read(output, strategy, &ranges)?;
    let found = Abstract { strategy, answer: &reading.answer, notes: &notes, share, from };
    Ok(Extract { repeated: true, ..in_envelope(output, &found, budget) })
}

/// The text if it fits the budget, else as much of its head as fits.
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
