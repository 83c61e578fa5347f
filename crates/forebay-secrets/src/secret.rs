//! Secrets found in a text, and their masks.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Kind of a secret: its service, if known, and what the service calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The service, such as `github`.
    pub service: Option<Cow<'static, str>>,
    /// The kind of secret, such as `token`.
    pub name: Cow<'static, str>,
}

impl Kind {
    /// A secret without a known service.
    pub(crate) fn of(name: &'static str) -> Kind {
        Kind { service: None, name: Cow::Borrowed(name) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(service) = &self.service {
            write!(f, "{service} ")?;
        }
        f.write_str(&self.name)
    }
}

/// Short text that is the same for equal secrets, such as `k3f9`. It is a keyed hash of the value, so the value
/// cannot be found by trial without the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag([u8; 4]);

impl Tag {
    pub(crate) fn of(hash: &[u8; 32]) -> Tag {
        // No letters that look like digits, and no vowels, so that no words appear.
        const LETTERS: &[u8; 28] = b"bcdfghjkmnpqrstvwxyz23456789";
        Tag(std::array::from_fn(|at| LETTERS[usize::from(hash[at]) % LETTERS.len()]))
    }

    /// The four characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{self}")
    }
}

/// Fingerprint of a value: 16 bytes of its keyed hash, for allowlists. Written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub(crate) [u8; 16]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Error for a text that is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseFingerprintError;

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a fingerprint of 32 hexadecimal digits; write a pattern as `/pattern/`")
    }
}

impl std::error::Error for ParseFingerprintError {}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Bytes to mask, in order, at least one range. Several ranges are the lines of one secret. The text between
    /// them, a line break and the indentation of the next line, stays.
    pub pieces: Vec<Range<usize>>,
    /// Kind of secret.
    pub kind: Kind,
    /// Tag, which is the same for equal values, even if one of them is encoded.
    pub tag: Tag,
    /// Fingerprint of the value.
    pub fingerprint: Fingerprint,
    /// Number of characters in all pieces.
    pub characters: usize,
}

impl Secret {
    /// Range from the first byte to the last one.
    pub fn range(&self) -> Range<usize> {
        self.pieces.first().map_or(0, |piece| piece.start)..self.pieces.last().map_or(0, |piece| piece.end)
    }

    /// Mask of the first line: `[secret: github token, 40 characters, #k3f9]`.
    pub fn mask(&self) -> String {
        format!("[secret: {}, {} characters, #{}]", self.kind, self.characters, self.tag)
    }

    /// Mask of each further line: `[secret: #k3f9]`.
    pub fn mask_of_line(&self) -> String {
        format!("[secret: #{}]", self.tag)
    }
}
