//! The kind of an output's bytes, derived from the bytes alone.

pub(crate) mod json;

use crate::Size;
use json::{Json, Shape};
use serde::{Deserialize, Serialize};

/// Kind of an output's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Anything that is read as text.
    Text,
    /// One JSON value.
    Json,
    /// JSON values, one a line.
    JsonLines,
    /// Not text.
    Binary,
}

impl Kind {
    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Kind::Text => "text/plain",
            Kind::Json => "application/json",
            Kind::JsonLines => "application/jsonl",
            Kind::Binary => "application/octet-stream",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Kind::Text => "text",
            Kind::Json => "JSON",
            Kind::JsonLines => "JSON lines",
            Kind::Binary => "binary",
        })
    }
}

/// Offset below which a NUL shows that the bytes are not text. A later one may be an error in a log.
const EARLY: u64 = 8 * 1024;

/// Tells the kind of bytes as they come.
#[derive(Default)]
pub(crate) struct Sniffer {
    seen: u64,
    early_nul: bool,
    json: Json,
}

impl Sniffer {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        if self.seen < EARLY {
            let early = &bytes[..bytes.len().min((EARLY - self.seen) as usize)];
            self.early_nul |= memchr::memchr(0, early).is_some();
        }
        self.seen += bytes.len() as u64;
        self.json.update(bytes);
    }

    pub(crate) fn finish(self, size: &Size, invalid: u64) -> Kind {
        // One character in ten that is not UTF-8: a Latin-1 text stays text, compressed data does not.
        if self.early_nul || invalid * 10 > size.characters {
            return Kind::Binary;
        }
        match self.json.finish() {
            _ if invalid > 0 => Kind::Text,
            Shape::One => Kind::Json,
            Shape::Many => Kind::JsonLines,
            Shape::No => Kind::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::size::Measure;

    fn kind(bytes: &[u8]) -> Kind {
        let mut measure = Measure::default();
        measure.update(bytes);
        measure.finish().kind
    }

    #[test]
    fn the_kind_follows_from_the_bytes() {
        let table: &[(&[u8], Kind)] = &[
            (b"", Kind::Text),
            (b"plain words\n", Kind::Text),
            (b"{\"a\": [1, 2.5e3, null, true, \"x\\n\\u00e9\"]}\n", Kind::Json),
            (b" [] ", Kind::Json),
            (b"{\"a\":1}\n{\"a\":2}\n", Kind::JsonLines),
            (b"{\"a\":1}\n\n[2]", Kind::JsonLines),
            (b"{\"a\":1} {\"a\":2}", Kind::Text),
            (b"{\n\"a\":1}\n{\"a\":2}\n", Kind::Text),
            (b"42\n", Kind::Json),
            (b"-1.5e3", Kind::Json),
            (b"\"quoted\"", Kind::Json),
            (b" true\n", Kind::Json),
            (b"null", Kind::Json),
            (b"42\n43\n", Kind::Text),
            (b"4,2", Kind::Text),
            (b"42 apples\n", Kind::Text),
            (b"nullable", Kind::Text),
            (b"\"a\" \"b\"", Kind::Text),
            (b"{\"a\":1}\n7\n", Kind::Text),
            (b"-", Kind::Text),
            (b"{\"a\": }", Kind::Text),
            (b"{\"a\": 1", Kind::Text),
            (b"[1,]", Kind::Text),
            (b"[01]", Kind::Text),
            (b"[1 2]", Kind::Text),
            (b"[\"a\nb\"]", Kind::Text),
            (b"[INFO] building\n", Kind::Text),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Kind::Binary),
            (b"caf\xe9 au lait, Latin-1\n", Kind::Text),
            (b"{\"a\": \"long enough to stay text \xff\"}", Kind::Text),
            (b"\xff\xfe\xfd\xfc", Kind::Binary),
        ];
        for (bytes, expected) in table {
            assert_eq!(kind(bytes), *expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn deep_nesting_is_not_followed_for_ever() {
        assert_eq!(kind(&vec![b'['; 1_000_000]), Kind::Text);
        assert_eq!(kind(&[vec![b'['; 1_000], vec![b']'; 1_000]].concat()), Kind::Json);
    }
}
