//! The origin of an answer: the share of the output that was read, the models that read it and the cost.

use crate::event::{Reading, Usage};
use crate::extract::answer::{By, Findings, How};
use crate::extract::strategy::Strategy;
use crate::text::count::{count, grouped};
use crate::{Output, Result};
use std::ops::Range;

/// Notes on the origin of an answer: the parts that were read, the models and the cost. The longest comes first.
pub(crate) fn notes(
    output: &Output,
    reading: &Reading,
    findings: &Findings,
    ranges: &[Range<u64>],
    missing: u64,
) -> Result<Vec<String>> {
    let covered = covered(output, ranges)?;
    let how = match &findings.how {
        How::Chunks(chunks) => format!("in {}: {covered}", count("chunk", *chunks)),
        How::Narrowed { chunks, by } => {
            let chosen = match by {
                By::Words => "chosen by the words of the instructions",
                By::Records => "records chosen by the words of the instructions and others spread over it",
                By::Ends => "its beginning and its end, since no words of the instructions are in it",
                By::Spread => "records spread over it, since no words of the instructions are in it",
            };
            let chunks = count("chunk", *chunks);
            format!("in {chunks}: {covered}, {chosen}; the rest was not read (extract.max_chunks)")
        }
        How::Passages => format!(
            "in the passages that match the instructions: {covered}; the rest was not read (mode full-chunked reads all of it)"
        ),
        How::Filtered => format!("by a jq filter that it wrote: {covered}"),
        How::Turns { turns, calls, patterns } => {
            let searched = match patterns.as_slice() {
                [] => String::new(),
                some => {
                    let shown = some.iter().take(PATTERNS).cloned().collect::<Vec<_>>().join(", ");
                    let more = some.len().saturating_sub(PATTERNS);
                    let more = if more > 0 { format!(" and {more} more patterns") } else { String::new() };
                    format!("; searched for {shown}{more}")
                }
            };
            format!("in {}, {}: {covered}{searched}", count("turn", *turns), count("call", *calls))
        }
    };
    let models = reading.models.join(", ");
    let Usage { tokens_in, tokens_out } = reading.usage;
    let cost = format!("{} in, {} out", count("token", tokens_in), grouped(tokens_out));
    let unfound = match missing {
        0 => String::new(),
        1 => "[1 quote is not found in the output]\n".to_owned(),
        many => format!("[{many} quotes are not found in the output]\n"),
    };
    Ok(vec![
        format!("{unfound}[read by {models} {how} · {cost}]\n"),
        format!("{unfound}[read by {models}: {} · {cost}]\n", share(output, ranges)?),
        format!("[read: {}]\n", share(output, ranges)?),
        String::new(),
    ])
}

/// The share of an output that was read, if the strategy should read all of it and read less. An agent that searches
/// reads parts by design.
pub(crate) fn part_read(
    output: &Output,
    strategy: Strategy,
    ranges: &[Range<u64>],
) -> Result<Option<String>> {
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    if strategy == Strategy::FullChunked && bytes < output.len() {
        Ok(Some(share(output, ranges)?))
    } else {
        Ok(None)
    }
}

/// The share of an output that some ranges are.
pub(crate) fn share(output: &Output, ranges: &[Range<u64>]) -> Result<String> {
    let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    if bytes >= output.len() {
        return Ok(format!("all {}", count("line", output.lines()?)));
    }
    // Rounded down, so that all means all.
    let share = bytes as f64 * 100.0 / output.len() as f64;
    let share = match share {
        _ if bytes == 0 => "nothing".to_owned(),
        _ if share < 0.01 => "less than 0.01 %".to_owned(),
        _ if share < 1.0 => format!("{share:.2} %"),
        _ => format!("{:.0} %", share.floor()),
    };
    Ok(format!("{share} of {}", count("byte", output.len())))
}

/// The share of an output that some ranges are, with their lines.
pub(crate) fn covered(output: &Output, ranges: &[Range<u64>]) -> Result<String> {
    let (share, lines) = (share(output, ranges)?, output.lines()?);
    if ranges.is_empty() || share.starts_with("all ") {
        return Ok(share);
    }
    let mut places = Vec::new();
    for range in ranges.iter().take(RANGES) {
        let first = output.newlines_before(range.start)? + 1;
        let last = output.newlines_before(range.end - 1)? + 1;
        places.push(match lines {
            0..=1 => format!("{}–{}", range.start, range.end),
            _ if first == last => first.to_string(),
            _ => format!("{first}–{last}"),
        });
    }
    places.dedup();
    if ranges.len() > RANGES {
        places.push(format!("and {} more", ranges.len() - RANGES));
    }
    let noun = if lines <= 1 { "bytes" } else { "lines" };
    Ok(format!("{share} ({noun} {})", places.join(", ")))
}

/// Maximum number of patterns named in a note.
pub(crate) const PATTERNS: usize = 4;

/// Maximum number of ranges named in a note.
pub(crate) const RANGES: usize = 8;

/// Ranges in their order, those that touch as one.
pub(crate) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}
