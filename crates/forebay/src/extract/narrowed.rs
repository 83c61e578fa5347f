//! The parts of a large output that a model reads in place of all of it.

use crate::extract::answer::By;
use crate::extract::chunks::{LEAST, Source};
use crate::extract::records;
use crate::query::Found;
use crate::{Budget, Output, Piece, Query, Result, digest, excerpt, tokens};
use std::ops::Range;

/// Text for a model in place of the whole output, and its origin.
pub(crate) struct Narrowed {
    pub(crate) text: String,
    pub(crate) ranges: Vec<Range<u64>>,
    pub(crate) by: By,
    /// Positions in the text at which records begin, if it has records.
    borders: Vec<u64>,
}

impl Source for Narrowed {
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.text.read(range)
    }

    fn len(&self) -> u64 {
        self.text.len() as u64
    }

    fn borders(&self, _: u64) -> Result<Vec<u64>> {
        Ok(self.borders.clone())
    }
}

/// The parts of an output that match the instructions, in up to `room` tokens; of JSON its shape and whole records.
pub(crate) fn narrowed(output: &Output, instructions: &str, room: u64) -> Result<Narrowed> {
    let mut text = "These are parts of a longer document, each with where it stands in it.\n".to_owned();
    let shape = Query::Shape { skip: 0 };
    let is_json = crate::query::is_json(output)?;
    if is_json && let Ok(shape) = excerpt(output, &shape, budget((room / 8).max(LEAST))) {
        let shape = String::from_utf8_lossy(&shape.text).into_owned();
        // The reader has no tool to go on with.
        let lines = shape.split_inclusive('\n').filter(|line| !line.starts_with("[next: "));
        text.extend(lines);
    }
    let left = room.saturating_sub(tokens::count(&text)).max(LEAST);
    if is_json && let Some(chosen) = records::chosen(output, instructions, left)? {
        let before = text.len() as u64;
        text.push_str(&chosen.text);
        let by = if chosen.by_words { By::Records } else { By::Spread };
        let borders = chosen.borders.iter().map(|border| before + border).collect();
        return Ok(Narrowed { text, ranges: chosen.ranges, by, borders });
    }
    let found = excerpt(output, &Query::Ask(instructions.to_owned()), budget(left))?;
    let by = match &found.found {
        Found::Passages(passages) if passages.is_empty() => By::Ends,
        _ => By::Words,
    };
    let mut ranges = Vec::new();
    if by == By::Words {
        text.push_str(&String::from_utf8_lossy(&found.text));
        ranges = shown_bytes(&found.found);
    }
    // Few passages leave room for more.
    let left = room.saturating_sub(tokens::count(&text));
    if by == By::Ends || left > room / 2 {
        let (shown, verbatim) = ends(output, left.max(LEAST))?;
        if by == By::Words {
            text.push_str("[the beginning and the end]\n");
        }
        text.push_str(&shown);
        ranges.extend(verbatim);
    }
    Ok(Narrowed { text, ranges, by, borders: Vec::new() })
}

fn budget(tokens: u64) -> Budget {
    Budget { tokens, bytes: u64::MAX, lines: None }
}

/// The bytes whose text is in the passages; other passages only report on their bytes.
fn shown_bytes(found: &Found) -> Vec<Range<u64>> {
    let Found::Passages(passages) = found else { return Vec::new() };
    let shown = passages.iter().filter(|passage| passage.said.is_none() && !passage.text.trim().is_empty());
    shown.map(|passage| passage.bytes.clone()).collect()
}

/// The beginning and the end in up to `room` tokens, and their bytes.
fn ends(output: &Output, room: u64) -> Result<(String, Vec<Range<u64>>)> {
    let view = digest::top_and_bottom(output, budget(room))?;
    let verbatim = view.pieces().iter().filter(|piece| matches!(piece, Piece::Verbatim(_)));
    let ranges = verbatim.map(|piece| piece.range().clone()).collect();
    Ok((String::from_utf8_lossy(&view.print(output)?).into_owned(), ranges))
}
