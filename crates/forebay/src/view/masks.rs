//! Secrets in a view. Masks are ranges of the printed text, so `verify` produces the same text without searching for
//! secrets.

use crate::masking::{self, CONTEXT, KnownValues, Mask, Secrets};
use crate::text::count::count;
use crate::view::{Piece, View};
use crate::{Output, Result};

/// Maximum bytes of the output behind rendered pieces that are searched for secrets, besides the text that they print.
const RENDERED: u64 = 256 * 1024;

impl View {
    /// The same view with masks in place of secrets, by the mode of its tool. Its first line counts them.
    pub(crate) fn masked(self, output: &Output) -> Result<View> {
        let mode = output.secrets();
        let Some(scanner) = output.masking().scanner().filter(|_| mode != Secrets::Off) else {
            return Ok(self);
        };
        let view = View { masks: Vec::new(), ..self };
        let printed = view.printed(output)?;
        let mut masks = Vec::new();
        let mut values = KnownValues::default();
        let (mut text, mut rendered) = (Vec::new(), 0);
        for part in printed {
            let at = text.len() as u64;
            let piece = part.piece.and_then(|number| view.pieces.get(number));
            match piece {
                Some(Piece::Verbatim(range)) => {
                    let around = range.start.saturating_sub(CONTEXT)..(range.end + CONTEXT).min(output.len());
                    let bytes = output.read(around.clone())?;
                    let found = masking::masks(scanner, &bytes, around.start);
                    values.add(&bytes, around.start, &found);
                    for mask in found {
                        let shown = mask.range.start.max(range.start)..mask.range.end.min(range.end);
                        if shown.start < shown.end {
                            let shown = at + shown.start - range.start..at + shown.end - range.start;
                            masks.push(Mask { range: shown, text: mask.text });
                        }
                    }
                }
                Some(Piece::Rendered { range, .. }) if rendered < RENDERED => {
                    let end = range.end.min(range.start + RENDERED - rendered);
                    rendered += end - range.start;
                    let bytes = output.read(range.start..end)?;
                    values.add(&bytes, range.start, &masking::masks(scanner, &bytes, range.start));
                }
                _ => {}
            }
            text.extend(part.text);
        }
        masks.extend(masking::masks(scanner, &text, 0));
        masks.extend(values.found(&text));
        let masks = masking::joined(masks);
        let secrets = masking::count(&masks);
        if secrets == 0 {
            return Ok(view);
        }
        let is_masked = mode == Secrets::Mask;
        let masks = if is_masked { masks } else { Vec::new() };
        let word = if is_masked { "masked" } else { "shown" };
        let said = format!("{} {word}", count("secret", secrets));
        Ok(View { masks, ..view }.saying(&said))
    }

    /// Prints the view with masks in place of secrets.
    pub(crate) fn print_masked(self, output: &Output) -> Result<Vec<u8>> {
        self.masked(output)?.print(output)
    }

    /// The same view with a fact in its first line, or in a last line if it has no first line of ours.
    fn saying(mut self, fact: &str) -> View {
        let first = self.opening.find('\n').unwrap_or(self.opening.len());
        let is_ours = self.opening.starts_with("[view of ") || self.opening.starts_with("[forebay view of ");
        match self.opening[..first].rfind(']').filter(|_| is_ours) {
            Some(end) => {
                let fact = format!("; {fact}");
                self.opening.insert_str(end, &fact);
                let (end, more) = (end as u64, fact.len() as u64);
                for mask in self.masks.iter_mut().filter(|mask| mask.range.start >= end) {
                    mask.range = mask.range.start + more..mask.range.end + more;
                }
            }
            None => self.closing.push_str(&format!("[{fact}]\n")),
        }
        self
    }
}
