//! Encodings of request bodies (`Content-Encoding`). Bodies are decoded a part at a time, so a small body that decodes to a
//! large one takes disk and no memory.

use crate::problem::Problem;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use std::io::{self, Read};

/// Largest window of a zstd body, as a power of two: 8 MiB, the limit of RFC 9659.
const MAX_ZSTD_WINDOW_LOG: u32 = 23;

/// The encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
}

impl Encoding {
    /// The accepted encodings, as error messages list them.
    pub(crate) const ACCEPTED: &str = "identity, gzip, deflate, zstd";

    /// The encoding in these headers.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Encoding, Problem> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let Some(first) = values.next() else { return Ok(Encoding::Identity) };
        let name = first.to_str().unwrap_or("?").trim().to_ascii_lowercase();
        let encoding = match name.as_str() {
            "" | "identity" => Some(Encoding::Identity),
            "gzip" | "x-gzip" => Some(Encoding::Gzip),
            "deflate" => Some(Encoding::Deflate),
            "zstd" => Some(Encoding::Zstd),
            _ => None,
        };
        encoding.filter(|_| values.next().is_none()).ok_or_else(|| {
            let detail = format!("unsupported encoding {name:?}; send one of {}", Encoding::ACCEPTED);
            Problem::unsupported_encoding(detail, Encoding::ACCEPTED)
        })
    }

    /// Refuses an encoded body.
    pub(crate) fn require_none(headers: &HeaderMap) -> Result<(), Problem> {
        match Encoding::of(headers) {
            Ok(Encoding::Identity) => Ok(()),
            _ => Err(Problem::unsupported_encoding(
                "this address accepts no encoded body; send it without Content-Encoding",
                "identity",
            )),
        }
    }

    /// The decoded bytes, at most `max` of them: one more is an error of the kind `FileTooLarge`.
    pub(crate) fn decoded<'a>(self, body: impl Read + 'a, max: u64) -> io::Result<Box<dyn Read + 'a>> {
        let inner: Box<dyn Read + 'a> = match self {
            // The sender counts the bytes of such a body.
            Encoding::Identity => return Ok(Box::new(body)),
            Encoding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(body)),
            Encoding::Deflate => Box::new(flate2::read::ZlibDecoder::new(body)),
            Encoding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(body)?;
                decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        };
        Ok(Box::new(Bounded { inner, left: max }))
    }
}

/// A reader that fails after a number of bytes.
struct Bounded<'a> {
    inner: Box<dyn Read + 'a>,
    left: u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_encodings_are_accepted_and_others_refused() {
        let table: &[(&[&str], Option<Encoding>)] = &[
            (&[], Some(Encoding::Identity)),
            (&["identity"], Some(Encoding::Identity)),
            (&["GZIP"], Some(Encoding::Gzip)),
            (&["x-gzip"], Some(Encoding::Gzip)),
            (&["deflate"], Some(Encoding::Deflate)),
            (&["zstd"], Some(Encoding::Zstd)),
            (&["br"], None),
            (&["gzip, zstd"], None),
            (&["gzip", "gzip"], None),
        ];
        for (values, expected) in table {
            let mut headers = HeaderMap::new();
            for value in *values {
                headers.append(CONTENT_ENCODING, value.parse().unwrap());
            }
            assert_eq!(Encoding::of(&headers).ok(), *expected, "{values:?}");
            let plain = matches!(expected, Some(Encoding::Identity));
            assert_eq!(Encoding::require_none(&headers).is_ok(), plain, "{values:?}");
        }
    }
}
