//! Reads one JSON value, strictly as RFC 8259 has it, into a value that filters work on.
//!
//! Strings without escapes are slices of the bytes that are read, so most of a document is never copied.

use bytes::Bytes;
use jaq_json::{Map, Num, Val};
use memchr::memchr2;

/// A value nested deeper than this is refused.
pub(crate) const DEEPEST: usize = 10_000;

/// An integer with more digits than this keeps its digits but takes part in arithmetic as a float.
const MANY_DIGITS: usize = 1_000;

/// A syntax error and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Counted from the beginning of the bytes.
    pub at: usize,
    /// Description of the error.
    pub why: &'static str,
}

/// Reads `range` of `bytes`, which must be one value with nothing but white space around it.
pub(crate) fn parse(bytes: &Bytes, range: std::ops::Range<usize>) -> Result<Val, Wrong> {
    read(Reader { bytes, text: &bytes[..range.end], at: range.start, tight: false })
}

/// Reads all of `bytes` in the same way, slower, into a value that takes less memory.
pub(crate) fn parse_tight(bytes: &Bytes) -> Result<Val, Wrong> {
    read(Reader { bytes, text: bytes, at: 0, tight: true })
}

fn read(mut reader: Reader) -> Result<Val, Wrong> {
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at == reader.text.len() { Ok(value) } else { Err(reader.wrong("something follows the value")) }
}

struct Reader<'a> {
    bytes: &'a Bytes,
    text: &'a [u8],
    at: usize,
    /// Whether objects give back the room that they took to grow.
    tight: bool,
}

impl Reader<'_> {
    fn wrong(&self, why: &'static str) -> Wrong {
        let why = if self.at >= self.text.len() { "it ends too early" } else { why };
        Wrong { at: self.at, why }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Val, Wrong> {
        match self.peek() {
            Some(b'"') => Ok(Val::TStr(Box::new(self.string()?))),
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", Val::Bool(true)),
            Some(b'f') => self.word(b"false", Val::Bool(false)),
            Some(b'n') => self.word(b"null", Val::Null),
            _ => Err(self.wrong("no value can begin with this")),
        }
    }

    fn word(&mut self, word: &[u8], value: Val) -> Result<Val, Wrong> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.wrong("no value can begin with this"))
        }
    }

    fn array(&mut self, depth: usize) -> Result<Val, Wrong> {
        if depth > DEEPEST {
            return Err(self.wrong("it is nested too deep"));
        }
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(items.into_iter().collect());
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    items.shrink_to_fit();
                    return Ok(items.into_iter().collect());
                }
                _ => return Err(self.wrong("',' or ']' must come here")),
            }
            self.space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Val, Wrong> {
        if depth > DEEPEST {
            return Err(self.wrong("it is nested too deep"));
        }
        self.at += 1;
        let mut members = Map::default();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Val::obj(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a key must come here"));
            }
            let key = Val::TStr(Box::new(self.string()?));
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.wrong("':' must come here"));
            }
            self.at += 1;
            self.space();
            let value = self.value(depth)?;
            members.insert(key, value);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    if self.tight {
                        members.shrink_to_fit();
                    }
                    return Ok(Val::obj(members));
                }
                _ => return Err(self.wrong("',' or '}' must come here")),
            }
            self.space();
        }
    }

    fn number(&mut self) -> Result<Val, Wrong> {
        let start = self.at;
        let mut whole = true;
        self.at += usize::from(self.text[start] == b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.wrong("a digit must come here")),
        }
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            whole = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits()?;
        }
        let digits = &self.text[start..self.at];
        if whole && digits.len() <= 18 && digits != b"-0" {
            let magnitude = digits
                .iter()
                .filter(|byte| **byte != b'-')
                .fold(0isize, |sum, byte| sum * 10 + isize::from(byte - b'0'));
            return Ok(Val::Num(Num::Int(if digits[0] == b'-' { -magnitude } else { magnitude })));
        }
        // Only ASCII has got here.
        let text = String::from_utf8_lossy(digits);
        let integer = (whole && digits.len() <= MANY_DIGITS && digits != b"-0")
            .then(|| Num::from_str_radix(&text, 10))
            .flatten();
        Ok(Val::Num(integer.unwrap_or_else(|| Num::Dec(text.into_owned().into()))))
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), Wrong> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.wrong("a digit must come here")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<Bytes, Wrong> {
        self.at += 1;
        let start = self.at;
        let plain = self.plain()?;
        if self.text[self.at] == b'"' {
            self.at += 1;
            return Ok(self.bytes.slice(start..start + plain));
        }
        let mut decoded = self.text[start..self.at].to_vec();
        loop {
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Ok(decoded.into());
            }
            self.escape(&mut decoded)?;
            let start = self.at;
            let plain = self.plain()?;
            decoded.extend_from_slice(&self.text[start..start + plain]);
        }
    }

    /// Skips the text before the next quote or backslash, and returns its length.
    fn plain(&mut self) -> Result<usize, Wrong> {
        let rest = &self.text[self.at..];
        let Some(plain) = memchr2(b'"', b'\\', rest) else {
            self.at = self.text.len();
            return Err(self.wrong("it ends too early"));
        };
        let part = &rest[..plain];
        // One pass for both: what has neither control characters nor high bits needs no second look.
        if part.iter().fold(false, |odd, &byte| odd | !(0x20..0x80).contains(&byte)) {
            if let Some(control) = part.iter().position(|&byte| byte < 0x20) {
                self.at += control;
                return Err(self.wrong("a control character cannot stand in a string"));
            }
            if let Err(error) = std::str::from_utf8(part) {
                self.at += error.valid_up_to();
                return Err(self.wrong("this is not UTF-8"));
            }
        }
        self.at += plain;
        Ok(plain)
    }

    fn escape(&mut self, decoded: &mut Vec<u8>) -> Result<(), Wrong> {
        self.at += 1;
        let byte = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 1;
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    let before = self.at;
                    self.at += 2;
                    match self.hex()? {
                        low @ 0xdc00..=0xdfff => code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00),
                        _ => self.at = before,
                    }
                }
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.wrong("there is no such escape")),
        };
        self.at += 1;
        decoded.push(byte);
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, Wrong> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.wrong("a hexadecimal digit must come here"))?;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Val, Wrong> {
        parse(&Bytes::copy_from_slice(text.as_bytes()), 0..text.len())
    }

    #[test]
    fn numbers_keep_their_text() {
        for text in [
            "0",
            "-0",
            "-12",
            "1.0",
            "1e400",
            "-1.50E-3",
            "123456789012345678901234567890",
            "9223372036854775807",
        ] {
            assert_eq!(parsed(text).unwrap().to_string(), text);
        }
        let long = "7".repeat(100_000);
        assert_eq!(parsed(&long).unwrap().to_string(), long);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let table = [
            ("", 0, "it ends too early"),
            ("[1,]", 3, "no value can begin with this"),
            ("[1 2]", 3, "',' or ']' must come here"),
            ("{\"a\" 1}", 5, "':' must come here"),
            ("{a:1}", 1, "a key must come here"),
            ("{\"a\":1,}", 7, "a key must come here"),
            ("01", 1, "something follows the value"),
            ("-", 1, "it ends too early"),
            ("NaN", 0, "no value can begin with this"),
            ("\"a\nb\"", 2, "a control character cannot stand in a string"),
            ("\"\\x\"", 2, "there is no such escape"),
            ("\"\\u12\"", 5, "a hexadecimal digit must come here"),
            ("[\"abc", 5, "it ends too early"),
        ];
        for (text, at, why) in table {
            assert_eq!(parsed(text).unwrap_err(), Wrong { at, why }, "{text}");
        }
        // Filters run on threads with a large stack.
        let deep = std::thread::Builder::new().stack_size(crate::query::json::jq::fuel::STACK);
        let deep = deep.spawn(|| parsed(&"[".repeat(DEEPEST + 1)).unwrap_err().why).unwrap().join().unwrap();
        assert_eq!(deep, "it is nested too deep");
        let bytes = Bytes::from_static(b"\"ab\xff\"");
        assert_eq!(parse(&bytes, 0..5).unwrap_err(), Wrong { at: 3, why: "this is not UTF-8" });
    }

    proptest! {
        #[test]
        fn it_agrees_with_another_parser(text in "[\\[{]([\\[\\]{},:]|\"[a-z\\\\\"u0]{0,3}\"|[-+.0-9eE]{1,4}|true|null| ){0,8}[\\]}]") {
            let other = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(parsed(&text).is_ok(), other, "{}", text);
        }

        #[test]
        fn any_bytes_are_taken_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let bytes = Bytes::from(bytes);
            let _ = parse(&bytes, 0..bytes.len());
        }
    }
}
