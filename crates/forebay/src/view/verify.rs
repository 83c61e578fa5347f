//! Proves a view against its output, with counts of its own.
//!
//! The printer counts gaps with the line index and the record. Here every count is made from the bytes of the gap itself, so a
//! wrong index, a wrong record or a wrong marker is found.

use crate::size::{Characters, Measure};
use crate::view::print::Gap;
use crate::view::{Piece, View};
use crate::{Output, Result};

/// A claim that is not true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The record makes a claim about the bytes that is not true.
    #[error("its record says {field} {said}, but its bytes have {found}")]
    Record {
        /// The field of the record.
        field: &'static str,
        /// Value in the record.
        said: String,
        /// True value.
        found: String,
    },
    /// The line index does not belong to the bytes.
    #[error("the line index kept with it is not that of its bytes")]
    Index,
    /// The view is of another output than this.
    #[error("the view is of {said} bytes, but the output has {found}")]
    Length {
        /// Bytes that the view covers.
        said: u64,
        /// Bytes of the output.
        found: u64,
    },
    /// The text of the view is not what its pieces print.
    #[error("the view's text differs from its output at byte {at} of the text")]
    Text {
        /// Offset of the first difference.
        at: usize,
    },
}

/// Finds the faults of a view: none if every line it shows is the output's, every gap is marked and every count is true.
pub fn verify(view: &View, output: &Output) -> Result<Vec<Fault>> {
    verify_text(view, output, &String::from_utf8_lossy(&view.print(output)?))
}

/// Finds the faults of a view whose text was stored earlier.
pub(crate) fn verify_text(view: &View, output: &Output, text: &str) -> Result<Vec<Fault>> {
    if view.total != output.len() {
        return Ok(vec![Fault::Length { said: view.total, found: output.len() }]);
    }
    let gaps = counted_from_bytes(view, output)?;
    let true_text = view.print_with(output, |range| {
        gaps.iter()
            .find(|gap| gap.bytes == *range)
            .cloned()
            .ok_or_else(|| crate::Error::NotAView(format!("{range:?}")))
    })?;
    let true_text = String::from_utf8_lossy(&true_text);
    let same = true_text.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let is_same = same == true_text.len() && same == text.len();
    Ok(if is_same { Vec::new() } else { vec![Fault::Text { at: same }] })
}

/// Counts the gaps of a view in one pass over the whole output.
fn counted_from_bytes(view: &View, output: &Output) -> Result<Vec<Gap>> {
    let mut gaps = Vec::new();
    let mut line = 1;
    let mut at_line_start = true;
    for piece in &view.pieces {
        let range = piece.range().clone();
        let (first, starts_line) = (line, at_line_start);
        let mut last = line;
        let mut characters = Characters::default();
        output.for_each_block(range.clone(), |_, block| {
            for &byte in block {
                last = line;
                at_line_start = byte == b'\n';
                line += u64::from(at_line_start);
            }
            characters.update(block);
        })?;
        if !matches!(piece, Piece::Verbatim(_)) {
            gaps.push(Gap {
                bytes: range.clone(),
                lines: (first, last),
                begins_a_line: starts_line,
                whole_lines: starts_line && (at_line_start || range.end == output.len()),
                characters: characters.finish().0,
            });
        }
    }
    Ok(gaps)
}

/// Finds the faults of a record: none if its output has the size, the kind and the hash of the record.
pub(crate) fn verify_record(output: &Output) -> Result<Vec<Fault>> {
    let mut measure = Measure::default();
    let mut index = Vec::new();
    output.for_each_block(0..output.len(), |_, block| {
        measure.update(block);
        index.extend(measure.take_index());
    })?;
    let found = measure.finish();
    let record = output.record();
    let mut faults = Vec::new();
    let mut compare = |field, said: String, found: String| {
        if said != found {
            faults.push(Fault::Record { field, said, found });
        }
    };
    compare("hash", record.hash.clone(), found.hash);
    compare("kept bytes", record.kept().to_string(), found.size.bytes.to_string());
    if record.lost.is_none() {
        compare("characters", record.size.characters.to_string(), found.size.characters.to_string());
        compare("lines", record.size.lines.to_string(), found.size.lines.to_string());
        compare("longest line", record.size.longest_line.to_string(), found.size.longest_line.to_string());
        compare("kind", record.kind.to_string(), found.kind.to_string());
        // An index that ends early, because the disk was full or its writer was killed, only makes reading slow.
        let kept = output.index()?;
        if !index.starts_with(&kept[..kept.len() - kept.len() % 8]) {
            faults.push(Fault::Index);
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use crate::view::Wording;

    #[test]
    fn a_changed_text_a_wrong_count_and_another_output_are_found() {
        let output = output_of(b"one\ntwo\nthree\nfour\n");
        let view = View::showing(&output, &[0..4], Wording::Commands).unwrap();
        let text = String::from_utf8(view.print(&output).unwrap()).unwrap();
        assert_eq!(verify_text(&view, &output, &text).unwrap(), []);
        for changed in [
            text.replace("one", "0ne"),
            text.replace("3 lines", "2 lines"),
            text.replace("2:4", "2:5"),
            text[..9].into(),
        ] {
            assert_ne!(changed, text);
            assert!(
                matches!(verify_text(&view, &output, &changed).unwrap()[..], [Fault::Text { .. }]),
                "{changed}"
            );
        }
        let other = output_of(b"one\ntwo\n");
        assert!(matches!(verify(&view, &other).unwrap()[..], [Fault::Length { .. }]));
        let same_length = output_of(b"one\ntwo\nthree four\n");
        assert!(matches!(verify_text(&view, &same_length, &text).unwrap()[..], [Fault::Text { .. }]));
    }

    #[test]
    fn a_record_that_is_not_true_is_found() {
        let output = output_of(b"one\ntwo\n");
        assert_eq!(verify_record(&output).unwrap(), []);
        let shorter = output.until(4).unwrap();
        let faults = verify_record(&shorter).unwrap();
        assert!(matches!(&faults[..], [Fault::Record { field: "hash", .. }]), "{faults:?}");
    }
}
