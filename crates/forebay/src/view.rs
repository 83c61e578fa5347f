//! A view: a partition of one output into parts that are shown, left out or summed up.
//!
//! Folds are small pure functions that choose pieces ([`fold`](crate::fold)). [`View::new`] checks that every byte of the output
//! is in exactly one of them, and one printer writes the pieces and every marker between them ([`View::print`]).
//! So no view can lose a byte without saying so, and no count in a marker can be wrong.

pub(crate) mod masks;
pub(crate) mod piece;
pub(crate) mod print;
pub(crate) mod repainted;
pub(crate) mod summary;
pub(crate) mod units;
pub(crate) mod verify;

pub use crate::compact::CompactForm;
pub use piece::{Canvas, Piece, Why, Wording};
pub use print::Printed;
pub use summary::{Omitted, Summary};
pub use verify::{Fault, verify};

use crate::masking::Mask;
use crate::text::{lookalikes, timestamp};
use crate::{Error, Output, Result, Surface, terminal};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A partition of one output into pieces, with a text before and after them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct View {
    pub(crate) total: u64,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) wording: Wording,
    pub(crate) opening: String,
    pub(crate) closing: String,
    /// Place of its reader, which decides how the calls in its markers are written.
    #[serde(default)]
    pub(crate) surface: Surface,
    /// Masks in place of secrets, by their places in the text that is printed without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) masks: Vec<Mask>,
    /// Whether its page, or its compact form, is of standard output by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) apart: bool,
}

/// A view as it is stored, before its tiling is checked.
#[derive(Deserialize)]
struct Unchecked {
    total: u64,
    pieces: Vec<Piece>,
    wording: Wording,
    opening: String,
    closing: String,
    #[serde(default)]
    surface: Surface,
    #[serde(default)]
    masks: Vec<Mask>,
    #[serde(default)]
    apart: bool,
}

impl TryFrom<Unchecked> for View {
    type Error = Error;

    fn try_from(unchecked: Unchecked) -> Result<View> {
        let Unchecked { total, pieces, wording, opening, closing, surface, masks, apart } = unchecked;
        Ok(View { opening, closing, surface, masks, apart, ..View::new(total, pieces, wording)? })
    }
}

impl View {
    /// A view of an output of `total` bytes. The pieces must tile it: no empty pieces, no gaps, no overlaps.
    pub fn new(total: u64, pieces: Vec<Piece>, wording: Wording) -> Result<View> {
        let mut at = 0;
        for piece in &pieces {
            let range = piece.range();
            if range.start != at || range.end <= range.start {
                return Err(Error::NotAView(format!("byte {at} is followed by the piece {range:?}")));
            }
            at = range.end;
        }
        if at != total {
            return Err(Error::NotAView(format!("the pieces end at byte {at} of {total}")));
        }
        let (opening, closing, surface, masks, apart) = Default::default();
        Ok(View { total, pieces, wording, opening, closing, surface, masks, apart })
    }

    /// A view that shows `shown` (in any order, overlapping or not) and leaves out the rest.
    pub(crate) fn showing(output: &Output, shown: &[Range<u64>], wording: Wording) -> Result<View> {
        let mut shown: Vec<Range<u64>> = shown.iter().filter(|range| !range.is_empty()).cloned().collect();
        shown.sort_by_key(|range| range.start);
        let mut pieces: Vec<Piece> = Vec::new();
        let mut at = 0;
        let lost = output.record().kept()..output.record().size.bytes;
        let gap = |pieces: &mut Vec<Piece>, range: Range<u64>| -> Result<()> {
            // A gap of an output that could not be kept whole may be left out in part and lost in part.
            for (part, lost) in [
                (range.start..range.end.min(lost.start), false),
                (range.start.max(lost.start)..range.end.min(lost.end), true),
                (range.start.max(lost.end)..range.end, false),
            ] {
                if part.start < part.end {
                    let why = if lost { Why::Lost } else { why(output, &part)? };
                    pieces.push(Piece::Omitted { range: part, why });
                }
            }
            Ok(())
        };
        for range in shown {
            let range = range.start.max(at)..range.end.min(output.len());
            if range.is_empty() {
                continue;
            }
            if range.start > at {
                gap(&mut pieces, at..range.start)?;
            }
            at = range.end;
            match pieces.last_mut() {
                Some(Piece::Verbatim(last)) if last.end == range.start => last.end = range.end,
                _ => pieces.push(Piece::Verbatim(range)),
            }
        }
        if at < output.len() {
            gap(&mut pieces, at..output.len())?;
        }
        Ok(View { surface: output.surface().clone(), ..View::new(output.len(), pieces, wording)? })
    }

    /// View in which one summary replaces the whole output.
    pub(crate) fn summarized(output: &Output, summary: Summary) -> Result<View> {
        let piece = Piece::Digest { range: 0..output.len(), summary };
        let view = View::new(output.len(), vec![piece], Wording::Commands)?;
        Ok(View { surface: output.surface().clone(), ..view })
    }

    /// The same view, with verbatim parts rendered as in a browser.
    pub(crate) fn on_page(mut self) -> View {
        for piece in &mut self.pieces {
            if let Piece::Verbatim(range) = piece {
                *piece = Piece::Rendered { range: range.clone(), on: Canvas::Page };
            }
        }
        self
    }

    /// The same view, with verbatim parts rendered as on a screen, where that changes them.
    pub(crate) fn on_screen(mut self, output: &Output) -> Result<View> {
        for piece in &mut self.pieces {
            if let Piece::Verbatim(range) = piece {
                let bytes = output.read(range.clone())?;
                // Lines that end with a return and a newline look the same.
                let same = terminal::screen(&bytes).split(|&byte| byte == b'\n').eq(bytes
                    .split(|&byte| byte == b'\n')
                    .map(|line| line.strip_suffix(b"\r").unwrap_or(line)));
                if !same && !is_stamped_by_service(&bytes) {
                    *piece = Piece::Rendered { range: range.clone(), on: Canvas::Screen };
                }
            }
        }
        Ok(self)
    }

    /// The same view, with a backslash before lines of the output that look like markers.
    pub(crate) fn quoting(mut self, output: &Output) -> Result<View> {
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in std::mem::take(&mut self.pieces) {
            let (range, on) = match &piece {
                Piece::Verbatim(range) => (range.clone(), None),
                Piece::Rendered { range, on: Canvas::Screen } => (range.clone(), Some(Canvas::Screen)),
                _ => {
                    pieces.push(piece);
                    continue;
                }
            };
            let bytes = output.read(range.clone())?;
            // The rendered form of many lines may depend on all of them.
            if on.is_some() {
                let ours = lookalikes::like_ours(&terminal::screen(&bytes)).next().is_some();
                let on = if ours { Canvas::Quoted } else { Canvas::Screen };
                pieces.push(Piece::Rendered { range, on });
                continue;
            }
            let mut at = range.start;
            for line in lookalikes::like_ours(&bytes) {
                let line = range.start + line.start as u64..range.start + line.end as u64;
                if line.start > at {
                    pieces.push(Piece::Verbatim(at..line.start));
                }
                at = line.end;
                pieces.push(Piece::Rendered { range: line, on: Canvas::Quoted });
            }
            if at < range.end {
                pieces.push(Piece::Verbatim(at..range.end));
            }
        }
        Ok(View { pieces, ..self })
    }

    /// The same view, with a text before and after it.
    pub(crate) fn framed(self, opening: impl Into<String>, closing: impl Into<String>) -> View {
        View { opening: opening.into(), closing: closing.into(), ..self }
    }

    /// Bytes of the output.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The pieces, in the order of the output.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Bytes of the output that are shown as they are.
    pub fn verbatim_bytes(&self) -> u64 {
        self.pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Verbatim(_)))
            .map(|p| p.range().end - p.range().start)
            .sum()
    }
}

/// Whether a screen shows lines as they are but for the time stamps of a service, which a reader needs.
fn is_stamped_by_service(bytes: &[u8]) -> bool {
    let lines = || bytes.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    terminal::screen(bytes).split(|&byte| byte == b'\n').eq(lines().map(timestamp::unstamped))
        && !lines().any(timestamp::is_of_runner)
}

/// Reason for a gap: overwritten if it is inside of one line and ends with a carriage return.
fn why(output: &Output, gap: &Range<u64>) -> Result<Why> {
    let ends_overwritten = output.read(gap.end - 1..gap.end)? == b"\r" && gap.end < output.len();
    let one_line =
        ends_overwritten && output.newlines_before(gap.start)? == output.newlines_before(gap.end)?;
    Ok(if one_line { Why::Overwritten } else { Why::LeftOut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use proptest::prelude::*;

    #[test]
    fn pieces_that_do_not_tile_are_not_a_view() {
        let verbatim = |range| Piece::Verbatim(range);
        let view = |total, pieces| View::new(total, pieces, Wording::Commands);
        assert!(view(10, vec![verbatim(0..4), verbatim(4..10)]).is_ok());
        assert!(view(0, vec![]).is_ok());
        for pieces in [
            vec![],
            vec![verbatim(0..9)],
            vec![verbatim(1..10)],
            vec![verbatim(0..4), verbatim(5..10)],
            vec![verbatim(0..6), verbatim(4..10)],
            vec![verbatim(0..4), verbatim(4..4), verbatim(4..10)],
            vec![verbatim(0..11)],
        ] {
            assert!(matches!(view(10, pieces.clone()), Err(Error::NotAView(_))), "{pieces:?}");
        }
    }

    #[test]
    fn a_written_view_that_does_not_tile_is_refused_when_it_is_read() {
        let written = r#"{"total":10,"pieces":[{"verbatim":{"start":0,"end":9}}],"wording":"commands","opening":"","closing":""}"#;
        assert!(serde_json::from_str::<View>(written).unwrap_err().to_string().contains("byte 9 of 10"));
    }

    proptest! {
        #[test]
        fn whatever_is_shown_the_view_tiles_its_output(
            bytes in proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            shown in proptest::collection::vec((0u64..220, 0u64..220), 0..6),
        ) {
            let output = output_of(&bytes);
            let shown: Vec<_> = shown.into_iter().map(|(a, b)| a.min(b)..a.max(b)).collect();
            let view = View::showing(&output, &shown, Wording::Commands).unwrap();
            for at in 0..bytes.len() as u64 {
                let wanted = shown.iter().any(|range| range.contains(&at));
                let piece = view.pieces().iter().find(|piece| piece.range().contains(&at)).unwrap();
                prop_assert_eq!(matches!(piece, Piece::Verbatim(_)), wanted, "byte {}", at);
            }
        }
    }
}
