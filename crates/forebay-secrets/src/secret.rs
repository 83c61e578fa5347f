//! Secrets that were found, and the masks that stand for them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// What a secret is: the service that it is for, if that is known, and what it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The service, such as `github`.
    pub service: Option<Cow<'static, str>>,
    /// The kind of secret, such as `token`.
    pub name: Cow<'static, str>,
}

impl Kind {
    /// A secret of no known service.
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

/// Short text by which equal secrets are seen to be equal: `k3f9`. It is a keyed hash of the value, so that the value
/// cannot be found by trying without the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag([u8; 4]);

impl Tag {
    pub(crate) fn of(hash: &[u8; 32]) -> Tag {
        // No letters that look like a digit, and no vowels, which could make words.
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

/// Text that is no fingerprint.
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
    /// The bytes to mask, in order, at least one range. Several ranges are the lines of one secret: what is between them
    /// is a line break with the indentation of the next line, and stays.
    pub pieces: Vec<Range<usize>>,
    /// What it is.
    pub kind: Kind,
    /// The same for equal values, also where one of them is encoded.
    pub tag: Tag,
    /// Fingerprint of the value.
    pub fingerprint: Fingerprint,
    /// Number of characters in all pieces.
    pub characters: usize,
}

impl Secret {
    /// From the first byte to the last one.
    pub fn range(&self) -> Range<usize> {
        self.pieces.first().map_or(0, |piece| piece.start)..self.pieces.last().map_or(0, |piece| piece.end)
    }

    /// The mask that stands for the first line: `[secret: github token, 40 characters, #k3f9]`.
    pub fn mask(&self) -> String {
        format!("[secret: {}, {} characters, #{}]", self.kind, self.characters, self.tag)
    }

    /// The mask that stands for each further line: `[secret: #k3f9]`.
    pub fn mask_of_line(&self) -> String {
        format!("[secret: #{}]", self.tag)
    }
}
