//! Streaming decoding of a JSON string: escapes, and base64 if it is used.

use base64::{Engine, engine::general_purpose::STANDARD};
use std::io::{self, BufRead, Read};

/// Decodes a JSON string, from the bytes between its quotes. A lone surrogate, which no text can contain, stays
/// escaped.
pub(crate) struct Unescaped<R> {
    input: R,
    /// Decoded bytes that had no room in the reader's buffer.
    left: Vec<u8>,
}

impl<R: BufRead> Unescaped<R> {
    pub(crate) fn new(input: R) -> Unescaped<R> {
        Unescaped { input, left: Vec::new() }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let byte = *self.input.fill_buf()?.first().ok_or_else(|| wrong("an escape does not end"))?;
        self.input.consume(1);
        Ok(byte)
    }

    /// The four digits of `\u`.
    fn digits(&mut self) -> io::Result<[u8; 4]> {
        let mut digits = [0; 4];
        for digit in &mut digits {
            *digit = self.byte()?;
        }
        Ok(digits)
    }

    /// Decodes the escape whose backslash has just been read.
    fn escape(&mut self) -> io::Result<()> {
        match self.byte()? {
            b'u' => self.unicode(),
            byte => {
                self.left.push(short(byte).ok_or_else(|| wrong("there is no such escape"))?);
                Ok(())
            }
        }
    }

    fn unicode(&mut self) -> io::Result<()> {
        let mut digits = self.digits()?;
        loop {
            let first = unit(digits)?;
            if !(0xD800..0xDC00).contains(&first) {
                match char::from_u32(first) {
                    Some(character) => self.push(character),
                    None => self.lone(digits),
                }
                return Ok(());
            }
            // Two halves make a character; a half that stands alone stays as it is written.
            if self.input.fill_buf()?.first() != Some(&b'\\') {
                self.lone(digits);
                return Ok(());
            }
            self.input.consume(1);
            if self.input.fill_buf()?.first() != Some(&b'u') {
                self.lone(digits);
                return self.escape();
            }
            self.input.consume(1);
            let next = self.digits()?;
            let second = unit(next)?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                char::from_u32(code).into_iter().for_each(|character| self.push(character));
                return Ok(());
            }
            self.lone(digits);
            digits = next;
        }
    }

    fn push(&mut self, character: char) {
        self.left.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn lone(&mut self, digits: [u8; 4]) {
        self.left.extend(b"\\u");
        self.left.extend(digits);
    }
}

impl<R: BufRead> Read for Unescaped<R> {
    /// Fills the buffer as far as possible. Each read by the caller is expensive, and a text may have an escape on
    /// every line.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let room = &mut buffer[filled..];
            if !self.left.is_empty() {
                let count = self.left.len().min(room.len());
                room[..count].copy_from_slice(&self.left[..count]);
                self.left.drain(..count);
                filled += count;
                continue;
            }
            let ready = self.input.fill_buf()?;
            if ready.is_empty() {
                break;
            }
            let most = ready.len().min(room.len());
            let plain = memchr::memchr(b'\\', &ready[..most]).unwrap_or(most);
            room[..plain].copy_from_slice(&ready[..plain]);
            self.input.consume(plain);
            filled += plain;
            if plain < most {
                self.input.consume(1);
                // Nearly all escapes stand for one byte, which has room here.
                match self.input.fill_buf()?.first().copied().and_then(short) {
                    Some(byte) => {
                        self.input.consume(1);
                        buffer[filled] = byte;
                        filled += 1;
                    }
                    None => self.escape()?,
                }
            }
        }
        Ok(filled)
    }
}

/// The character of a one-letter escape.
fn short(escaped: u8) -> Option<u8> {
    Some(match escaped {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'"' | b'\\' | b'/' => escaped,
        _ => return None,
    })
}

fn unit(digits: [u8; 4]) -> io::Result<u32> {
    let text =
        std::str::from_utf8(&digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    text.and_then(|text| u32::from_str_radix(text, 16).ok()).ok_or_else(|| wrong("\\u needs four digits"))
}

/// Reads the bytes that base64 stands for. Only the one true spelling is taken, so that nothing is lost: with what
/// these bytes are encoded to, it is the text again. Anything else is an error.
pub(crate) struct Decoded<R> {
    input: R,
    left: Vec<u8>,
    given: usize,
    ended: bool,
}

/// Characters of base64 decoded at a time; a multiple of four.
const AT_ONCE: usize = 64 * 1024;

impl<R: Read> Decoded<R> {
    pub(crate) fn new(input: R) -> Decoded<R> {
        Decoded { input, left: Vec::new(), given: 0, ended: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        let mut text = Vec::with_capacity(AT_ONCE);
        (&mut self.input).take(AT_ONCE as u64).read_to_end(&mut text)?;
        self.given = 0;
        self.left = if text.is_empty() {
            Vec::new()
        } else if self.ended {
            return Err(wrong("base64 continues after its padding"));
        } else {
            STANDARD.decode(&text).map_err(|error| wrong(&format!("not base64: {error}")))?
        };
        self.ended |= text.len() < AT_ONCE || text.ends_with(b"=");
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.left.len() {
            self.refill()?;
        }
        let count = (self.left.len() - self.given).min(buffer.len());
        buffer[..count].copy_from_slice(&self.left[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unescaped(inner: &[u8], small: usize) -> io::Result<String> {
        let mut text = String::new();
        let input = std::io::BufReader::with_capacity(small, inner);
        Unescaped::new(input).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn half_a_character_is_kept_as_it_is_written() {
        let table = [
            (r"a\ud83c\udf89b", "a🎉b"),
            (r"a\ud83cb", r"a\ud83cb"),
            (r"\ud83c\n", "\\ud83c\n"),
            (r"\udf89", r"\udf89"),
            (r"\ud83c\ud83c\udf89", "\\ud83c🎉"),
            (r"\u00e9\/\b", "é/\u{8}"),
        ];
        for (written, meant) in table {
            assert_eq!(unescaped(written.as_bytes(), 3).unwrap(), meant, "{written}");
        }
        for wrong in [r"\x", r"\u12", r"\uzzzz", "\\"] {
            assert!(unescaped(wrong.as_bytes(), 3).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_one_spelling_of_base64_is_taken() {
        let mut bytes = Vec::new();
        assert!(Decoded::new(&b"QUI="[..]).read_to_end(&mut bytes).is_ok());
        assert_eq!(bytes, b"AB");
        for text in ["QUI", "QUJ=", "QU I=", "QUI=\n", "QUI=QUI="] {
            assert!(Decoded::new(text.as_bytes()).read_to_end(&mut Vec::new()).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_serde_reads_it(text in any::<String>(), small in 1usize..9) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(unescaped(&json.as_bytes()[1..json.len() - 1], small).unwrap(), text);
        }

        #[test]
        fn any_bytes_come_out_of_base64(length in prop_oneof![0usize..40, 49_100usize..49_200, 98_300usize..98_310]) {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + at / 255) as u8).collect();
            let mut read = Vec::new();
            Decoded::new(STANDARD.encode(&bytes).as_bytes()).read_to_end(&mut read).unwrap();
            prop_assert_eq!(read, bytes);
        }
    }
}
