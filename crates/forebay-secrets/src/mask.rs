//! Writes texts with masks in place of secrets.

use crate::secret::Secret;
use std::borrow::Cow;
use std::ops::Range;

/// The text with a mask for each secret.
pub fn mask<'a>(text: &'a [u8], secrets: &[Secret]) -> Cow<'a, [u8]> {
    mask_range(text, secrets, 0..text.len())
}

/// Part of a text with a mask for each secret. A secret that is partly in the range gets its whole mask.
///
/// `secrets` are those of the whole text, as [`Scanner::scan`](crate::Scanner::scan) returns them.
///
/// # Panics
///
/// If the range is not in the text.
pub fn mask_range<'a>(text: &'a [u8], secrets: &[Secret], range: Range<usize>) -> Cow<'a, [u8]> {
    let first = secrets.partition_point(|secret| secret.range().end <= range.start);
    let inside = secrets[first..].iter().take_while(|secret| secret.range().start < range.end);
    let mut inside = inside.peekable();
    if range.is_empty() || inside.peek().is_none() {
        return Cow::Borrowed(&text[range]);
    }
    let mut out = Vec::with_capacity(range.len());
    let mut at = range.start;
    for secret in inside {
        let pieces = secret.pieces.iter().filter(|piece| piece.start < range.end && piece.end > range.start);
        for (number, piece) in pieces.enumerate() {
            out.extend_from_slice(&text[at..piece.start.max(at)]);
            let mask = if number == 0 { secret.mask() } else { secret.mask_of_line() };
            out.extend_from_slice(mask.as_bytes());
            at = piece.end.min(range.end);
        }
    }
    out.extend_from_slice(&text[at..range.end]);
    Cow::Owned(out)
}

/// Converts places in a masked text into places in the original text.
pub(crate) struct Unmasked {
    /// For each mask, its end in the masked text and the end of the secret in the original text.
    ends: Vec<(usize, usize)>,
}

impl Unmasked {
    /// `secrets` are the masked secrets.
    pub(crate) fn new(secrets: &[Secret]) -> Unmasked {
        let mut ends = Vec::new();
        let (mut masked, mut unmasked) = (0, 0);
        for secret in secrets {
            for (number, piece) in secret.pieces.iter().enumerate() {
                let mask = if number == 0 { secret.mask() } else { secret.mask_of_line() };
                masked += piece.start - unmasked + mask.len();
                unmasked = piece.end;
                ends.push((masked, unmasked));
            }
        }
        Unmasked { ends }
    }

    /// Converts a secret that overlaps no mask.
    pub(crate) fn secret(&self, mut secret: Secret) -> Secret {
        for piece in &mut secret.pieces {
            let masks = self.ends.partition_point(|(masked, _)| *masked <= piece.start);
            let (masked, unmasked) = if masks == 0 { (0, 0) } else { self.ends[masks - 1] };
            *piece = piece.start - masked + unmasked..piece.end - masked + unmasked;
        }
        secret
    }
}

/// End of a mask that begins at `at`, if there is one. Masks have at most 200 bytes.
pub(crate) fn mask_end(text: &[u8], at: usize) -> Option<usize> {
    const START: &[u8] = b"[secret: ";
    let rest = &text[at..text.len().min(at + 200)];
    if !rest.starts_with(START) {
        return None;
    }
    let end = rest.iter().position(|byte| matches!(byte, b']' | b'\n'))?;
    let has_tag = rest.get(end.checked_sub(5)?) == Some(&b'#');
    (rest[end] == b']' && has_tag).then_some(at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::{Fingerprint, Kind, Tag};

    fn secret(pieces: &[Range<usize>]) -> Secret {
        Secret {
            pieces: pieces.to_vec(),
            kind: Kind::of("token"),
            tag: Tag::of(&[0; 32]),
            fingerprint: Fingerprint([0; 16]),
            characters: pieces.iter().map(Range::len).sum(),
        }
    }

    #[test]
    fn masks_stand_where_secrets_were_and_lines_stay() {
        let text = b"a=12345678\n+MII\n+EEE\n+FFF\nend";
        let secrets = [secret(&[2..10]), secret(&[12..15, 17..20, 22..25])];
        let masked = String::from_utf8(mask(text, &secrets).into_owned()).unwrap();
        let want = "a=[secret: token, 8 characters, #bbbb]\n+[secret: token, 9 characters, #bbbb]\n+[secret: #bbbb]\n+[secret: #bbbb]\nend";
        assert_eq!(masked, want);
    }

    #[test]
    fn a_secret_that_a_range_cuts_has_its_whole_mask() {
        let text = b"a=12345678\n+MII\n+EEE\n+FFF\nend";
        let secrets = [secret(&[2..10]), secret(&[12..15, 17..20, 22..25])];
        let table = [
            (0..2, "a="),
            (0..3, "a=[secret: token, 8 characters, #bbbb]"),
            (9..11, "[secret: token, 8 characters, #bbbb]\n"),
            (10..12, "\n+"),
            (18..23, "[secret: token, 9 characters, #bbbb]\n+[secret: #bbbb]"),
            (20..22, "\n+"),
            (25..29, "\nend"),
            (7..7, ""),
        ];
        for (range, want) in table {
            let masked = mask_range(text, &secrets, range.clone()).into_owned();
            assert_eq!(String::from_utf8(masked).unwrap(), want, "{range:?}");
        }
    }

    #[test]
    fn the_end_of_a_mask_is_known() {
        let text = secret(&[0..3]).mask();
        assert_eq!(mask_end(text.as_bytes(), 0), Some(text.len()));
        let text = secret(&[0..3]).mask_of_line();
        assert_eq!(mask_end(text.as_bytes(), 0), Some(text.len()));
        for text in ["[secret: none]", "[secret: a\n#bbbb]", "[secret: a, #bbbb", "[secret:"] {
            assert_eq!(mask_end(text.as_bytes(), 0), None, "{text}");
        }
    }
}
