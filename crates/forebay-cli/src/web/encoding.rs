//! How the body of a request is encoded (`Content-Encoding`), and its bytes without that, a part at a time: what is small
//! on the wire and large without its encoding takes disk and no memory.

use super::problem::Problem;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use std::io::{self, Read};

/// The largest window of a zstd body, as a power of two: 8 MiB, as RFC 9659 has it.
const ZSTD_WINDOW: u32 = 23;

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    Deflate,
    Zstd,
}

impl Encoding {
    /// What is taken, as it is told to whoever sent something else.
    pub(crate) const TAKEN: &str = "identity, gzip, deflate, zstd";

    /// The encoding that these headers say.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Encoding, Problem> {
        let mut said = headers.get_all(CONTENT_ENCODING).iter();
        let Some(first) = said.next() else { return Ok(Encoding::Identity) };
        let name = first.to_str().unwrap_or("?").trim().to_ascii_lowercase();
        let encoding = match name.as_str() {
            "" | "identity" => Some(Encoding::Identity),
            "gzip" | "x-gzip" => Some(Encoding::Gzip),
            "deflate" => Some(Encoding::Deflate),
            "zstd" => Some(Encoding::Zstd),
            _ => None,
        };
        encoding.filter(|_| said.next().is_none()).ok_or_else(|| {
            let detail = format!("a body encoded as {name:?} is not taken; send one of {}", Encoding::TAKEN);
            Problem::unsupported_encoding(detail, Encoding::TAKEN)
        })
    }

    /// Whether the headers say that the body is as it is; another one is refused.
    pub(crate) fn none(headers: &HeaderMap) -> Result<(), Problem> {
        match Encoding::of(headers) {
            Ok(Encoding::Identity) => Ok(()),
            _ => Err(Problem::unsupported_encoding(
                "this address takes no encoded body; send it without Content-Encoding",
                "identity",
            )),
        }
    }

    /// The bytes without the encoding, at most so many: one more is an error of the kind `FileTooLarge`.
    pub(crate) fn decoded<'a>(self, body: impl Read + 'a, most: u64) -> io::Result<Box<dyn Read + 'a>> {
        let inner: Box<dyn Read + 'a> = match self {
            // Whoever sends it has counted already.
            Encoding::Identity => return Ok(Box::new(body)),
            Encoding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(body)),
            Encoding::Deflate => Box::new(flate2::read::ZlibDecoder::new(body)),
            Encoding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(body)?;
                decoder.window_log_max(ZSTD_WINDOW)?;
                Box::new(decoder)
            }
        };
        Ok(Box::new(Bounded { inner, left: most }))
    }
}

/// A reader that gives at most so many bytes.
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
    fn a_body_is_taken_in_the_encodings_that_are_named_and_refused_in_others() {
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
        for (said, expected) in table {
            let mut headers = HeaderMap::new();
            for value in *said {
                headers.append(CONTENT_ENCODING, value.parse().unwrap());
            }
            assert_eq!(Encoding::of(&headers).ok(), *expected, "{said:?}");
            let plain = matches!(expected, Some(Encoding::Identity));
            assert_eq!(Encoding::none(&headers).is_ok(), plain, "{said:?}");
        }
    }
}
