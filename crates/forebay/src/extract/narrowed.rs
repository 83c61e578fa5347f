//! The parts of a large output that a model reads in place of all of it.

use super::chunked::LEAST;
use crate::query::Found;
use crate::{Budget, Kind, Output, Piece, Query, Result, excerpt, tokens, view};
use std::ops::Range;

/// What a model is given to read in place of the whole output, and where it comes from.
pub(super) struct Narrowed {
    pub(super) text: String,
    pub(super) ranges: Vec<Range<u64>>,
    /// Whether it has words of the instructions; if nothing has, it is the beginning and the end.
    pub(super) by_words: bool,
}

/// The parts of an output that instructions speak of, in so many tokens: of JSON also what there is in it.
pub(super) fn narrowed(output: &Output, instructions: &str, room: u64) -> Result<Narrowed> {
    let budget = |tokens: u64| Budget { tokens, bytes: u64::MAX, lines: None };
    let mut text = "These are parts of a longer document, each with where it stands in it.\n".to_owned();
    let json = matches!(output.record().kind, Kind::Json | Kind::JsonLines);
    if json && let Ok(shape) = excerpt(output, &Query::Shape { skip: 0 }, budget((room / 8).max(LEAST))) {
        text.push_str(&String::from_utf8_lossy(&shape.text));
    }
    let left = room.saturating_sub(tokens::count(&text)).max(LEAST);
    let found = excerpt(output, &Query::Ask(instructions.to_owned()), budget(left))?;
    let by_words = !matches!(&found.found, Found::Passages(passages) if passages.is_empty());
    let ranges = match () {
        () if !by_words => {
            let ends = view::top_and_bottom(output, budget(left))?;
            text.push_str(&String::from_utf8_lossy(&ends.print(output)?));
            let verbatim = ends.pieces().iter().filter(|piece| matches!(piece, Piece::Verbatim(_)));
            verbatim.map(|piece| piece.range().clone()).collect()
        }
        // A member that answers is worth little without the record that it stands in.
        () if json => {
            let ranges = widened(output, found.shown, left)?;
            for range in &ranges {
                let part = output.read(range.clone())?;
                text.push_str(&format!("[bytes {}–{}]\n", range.start, range.end));
                text.push_str(&String::from_utf8_lossy(&part));
                text.push('\n');
            }
            ranges
        }
        () => {
            text.push_str(&String::from_utf8_lossy(&found.text));
            found.shown
        }
    };
    Ok(Narrowed { text, ranges, by_words })
}

/// The ranges with what stands around each, as far as the tokens go; those that then touch are one.
fn widened(output: &Output, ranges: Vec<Range<u64>>, room: u64) -> Result<Vec<Range<u64>>> {
    /// More than this around a place rarely belongs to it.
    const FURTHEST: u64 = 4_096;
    let mut reach = FURTHEST;
    loop {
        let around = ranges.iter().map(|range| {
            let start = output.character_start(range.start.saturating_sub(reach))?;
            Ok(start.min(range.start)..output.character_start(range.end + reach)?.min(output.len()))
        });
        let wide = super::joined(around.collect::<Result<_>>()?);
        let mut used = 0;
        for range in &wide {
            used += tokens::count_bytes(&output.read(range.clone())?) + 16;
        }
        if used <= room || reach < 16 {
            return Ok(wide);
        }
        reach /= 2;
    }
}
