//! Finds the parts of JSON by where they stand, so that what is forwarded is never re-written.
//!
//! A message may be a gigabyte in a file, so it is walked once with a small buffer and nothing is kept but ranges. A
//! scanner trusts the inside of scalars: what it finds is forwarded as it is, and its reader may be less strict.

use memchr::memchr2;
use std::borrow::Cow;
use std::io::{self, BufRead};
use std::ops::Range;

/// Maximum bytes of a field name, escapes included. No name that we search for is longer.
const LONGEST_NAME: usize = 256;

/// No message nests deeper in what is walked by hand.
const DEEPEST: usize = 10_000;

/// Walks one JSON text from its beginning.
pub struct Scanner<R> {
    input: R,
    at: u64,
    /// The name that was read last, as it is written: there are many, and one place for them is enough.
    name: Vec<u8>,
    /// Where it stands.
    named_at: u64,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name with its escapes decoded; empty if it is longer than any name that we search for.
    pub name: String,
    /// Where its name begins, quotes included.
    pub start: u64,
    pub value: Range<u64>,
}

impl Field {
    /// Range before the value: the name, the colon, and white space.
    pub fn label(&self) -> Range<u64> {
        self.start..self.value.start
    }
}

impl<R: BufRead> Scanner<R> {
    /// A scanner of a text that begins at offset `at` of a larger one. Ranges are relative to the larger one.
    pub fn new(input: R, at: u64) -> Scanner<R> {
        Scanner { input, at, name: Vec::new(), named_at: at }
    }

    /// Skips one value of any kind, and returns its range.
    pub fn value(&mut self) -> io::Result<Range<u64>> {
        let first = self.first()?;
        let start = self.at;
        match first {
            b'"' => self.skip_string()?,
            b'{' | b'[' => self.skip_nested()?,
            _ => self.skip_scalar()?,
        }
        Ok(start..self.at)
    }

    /// Walks an object: `each` gets every name and must read its value. Any other value is skipped.
    pub fn fields(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> io::Result<()>,
    ) -> io::Result<Range<u64>> {
        if self.first()? != b'{' {
            return self.value();
        }
        let start = self.at;
        self.take()?;
        loop {
            match self.first()? {
                b'}' => break,
                b',' => {
                    self.take()?;
                }
                b'"' => {
                    let mut name = std::mem::take(&mut self.name);
                    self.named_at = self.at;
                    self.read_name(&mut name)?;
                    if self.first()? != b':' {
                        return Err(malformed(self.at, "a colon is missing"));
                    }
                    self.take()?;
                    each(self, &plain(&name))?;
                    self.name = name;
                }
                _ => return Err(malformed(self.at, "a field has no name")),
            }
        }
        self.take()?;
        Ok(start..self.at)
    }

    /// Walks an array: `each` must read one value. Any other value is skipped.
    pub fn items(&mut self, mut each: impl FnMut(&mut Self) -> io::Result<()>) -> io::Result<Range<u64>> {
        if self.first()? != b'[' {
            return self.value();
        }
        let start = self.at;
        self.take()?;
        loop {
            match self.first()? {
                b']' => break,
                b',' => {
                    self.take()?;
                }
                _ => each(self)?,
            }
        }
        self.take()?;
        Ok(start..self.at)
    }

    /// First byte of the next value, after white space.
    pub fn first(&mut self) -> io::Result<u8> {
        loop {
            match self.peek()? {
                None => return Err(malformed(self.at, "it ends too early")),
                Some(b' ' | b'\t' | b'\n' | b'\r') => {
                    self.take()?;
                }
                Some(byte) => return Ok(byte),
            }
        }
    }

    /// There must be nothing more.
    pub fn end(&mut self) -> io::Result<()> {
        match self.first() {
            Ok(_) => Err(malformed(self.at, "there is data after its end")),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    fn take(&mut self) -> io::Result<u8> {
        let byte = self.peek()?.ok_or_else(|| malformed(self.at, "it ends too early"))?;
        self.skip(1);
        Ok(byte)
    }

    fn skip(&mut self, count: usize) {
        self.input.consume(count);
        self.at += count as u64;
    }

    /// Where the name begins of the field whose value is next.
    pub fn named_at(&self) -> u64 {
        self.named_at
    }

    /// Reads the name of a field, quotes included, as it is written; nothing of one that is too long.
    fn read_name(&mut self, name: &mut Vec<u8>) -> io::Result<()> {
        name.clear();
        name.push(self.take()?);
        let mut too_long = false;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Err(malformed(self.at, "a name does not end"));
            }
            let stop = memchr2(b'"', b'\\', buffer);
            let length = stop.map_or(buffer.len(), |at| at + 1);
            too_long |= name.len() + length > LONGEST_NAME;
            if !too_long {
                name.extend_from_slice(&buffer[..length]);
            }
            let ends = stop.is_some_and(|at| buffer[at] == b'"');
            self.skip(length);
            if ends {
                break;
            }
            if stop.is_some() {
                // What is escaped does not end it.
                let escaped = self.take()?;
                name.extend((!too_long).then_some(escaped));
            }
        }
        if too_long {
            name.clear();
        }
        Ok(())
    }

    fn skip_string(&mut self) -> io::Result<()> {
        self.take()?;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Err(malformed(self.at, "a string does not end"));
            }
            match memchr2(b'"', b'\\', buffer) {
                None => {
                    let all = buffer.len();
                    self.skip(all);
                }
                Some(at) if buffer[at] == b'"' => {
                    self.skip(at + 1);
                    return Ok(());
                }
                Some(at) => {
                    self.skip(at + 1);
                    self.take()?;
                }
            }
        }
    }

    fn skip_nested(&mut self) -> io::Result<()> {
        let mut depth = 0;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Err(malformed(self.at, "it ends too early"));
            }
            // Up to the next string or the end, whichever comes first.
            let mut stopped = None;
            for (at, byte) in buffer.iter().enumerate() {
                match byte {
                    b'"' => stopped = Some((at, false)),
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth == 1 => stopped = Some((at + 1, true)),
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                if stopped.is_some() || depth > DEEPEST {
                    break;
                }
            }
            if depth > DEEPEST {
                return Err(malformed(self.at, "it nests too deep"));
            }
            let all = buffer.len();
            match stopped {
                None => self.skip(all),
                Some((end, true)) => {
                    self.skip(end);
                    return Ok(());
                }
                Some((start, false)) => {
                    self.skip(start);
                    self.skip_string()?;
                }
            }
        }
    }

    fn skip_scalar(&mut self) -> io::Result<()> {
        let start = self.at;
        while let Some(byte) = self.peek()? {
            if matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[') || byte.is_ascii_whitespace() {
                break;
            }
            self.skip(1);
        }
        if self.at == start {
            return Err(malformed(self.at, "a value is missing"));
        }
        Ok(())
    }
}

/// A name without its quotes and escapes, as a JSON reader gets it.
fn plain(name: &[u8]) -> Cow<'_, str> {
    let inside = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
    if memchr::memchr(b'\\', inside).is_some()
        && let Ok(said) = serde_json::from_slice(name)
    {
        return Cow::Owned(said);
    }
    String::from_utf8_lossy(inside)
}

/// The fields of an object, in their order.
pub fn fields_of(input: impl BufRead, at: u64) -> io::Result<Vec<Field>> {
    let mut fields = Vec::new();
    Scanner::new(input, at).fields(|scanner, name| {
        let start = scanner.named_at();
        fields.push(Field { name: name.to_owned(), start, value: scanner.value()? });
        Ok(())
    })?;
    Ok(fields)
}

/// Value of a field of an object. Of two fields with the same name, the last one counts, as in other parsers.
pub fn field_of(input: impl BufRead, at: u64, name: &str) -> io::Result<Option<Range<u64>>> {
    let mut found = None;
    Scanner::new(input, at).fields(|scanner, this| {
        let value = scanner.value()?;
        if this == name {
            found = Some(value);
        }
        Ok(())
    })?;
    Ok(found)
}

fn malformed(at: u64, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not JSON: {what} at byte {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn fields(text: &str) -> Vec<(String, &str)> {
        let fields = fields_of(text.as_bytes(), 0).unwrap();
        fields
            .into_iter()
            .map(|Field { name, value, .. }| (name, &text[value.start as usize..value.end as usize]))
            .collect()
    }

    #[test]
    fn parts_are_found_where_they_stand() {
        let text = r#" {"id" : 1.0e2 ,"a":{"x":[1,"}]\"",{}]}, "b":"q\\\"" , "c":[ ],"d":null}"#;
        assert_eq!(
            fields(text),
            [
                ("id".into(), "1.0e2"),
                ("a".into(), r#"{"x":[1,"}]\"",{}]}"#),
                ("b".into(), r#""q\\\"""#),
                ("c".into(), "[ ]"),
                ("d".into(), "null")
            ]
        );
    }

    #[test]
    fn a_name_is_known_however_it_is_written_and_may_have_any_length() {
        let long = "x".repeat(100_000);
        let text = format!(r#"{{"{long}" : 1,"cont\u0065nt":2,"a\"b":3,"\q":4,"{long}\"":5,"":6}}"#);
        let expected = [("", "1"), ("content", "2"), ("a\"b", "3"), ("\\q", "4"), ("", "5"), ("", "6")];
        assert_eq!(fields(&text), expected.map(|(name, value)| (name.to_owned(), value)));
        for small in [1, 7, 4_096] {
            let input = std::io::BufReader::with_capacity(small, text.as_bytes());
            let all = fields_of(input, 0).unwrap();
            let labels: Vec<u64> = all.iter().map(|field| field.label().end - field.label().start).collect();
            assert_eq!(labels, [100_005, 15, 7, 5, 100_005, 3], "{small}");
            assert_eq!(field_of(text.as_bytes(), 0, "content").unwrap(), Some(all[1].value.clone()));
        }
        assert_eq!(field_of(&br#"{"a":1,"a":2}"#[..], 0, "a").unwrap(), Some(11..12), "the last counts");
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        let text = r#"{"id":1,"result":{"a":["x\"y",{"b":null}]}}"#;
        for cut in 0..text.len() {
            assert!(fields_of(&text.as_bytes()[..cut], 0).is_err(), "{}", &text[..cut]);
        }
        assert!(fields_of(&b"{\"a\":}"[..], 0).is_err());
        assert!(fields_of(&b"{\"a\" 1}"[..], 0).is_err());
        assert!(fields_of(&b"{1:1}"[..], 0).is_err());
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(("[a-z\"\\\\]{0,4}", inner), 0..4)
                    .prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_is_found_whole_whatever_it_is(value in json(), pretty in any::<bool>(), small in 1usize..9) {
            let inner = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let text = format!("{{\"first\": {inner} ,\"second\":{inner}}}");
            let input = std::io::BufReader::with_capacity(small, text.as_bytes());
            let found: Vec<&str> = fields_of(input, 0).unwrap().into_iter()
                .map(|field| &text[field.value.start as usize..field.value.end as usize]).collect();
            prop_assert_eq!(&found, &[&inner, &inner]);
        }
    }
}
