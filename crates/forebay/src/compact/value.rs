//! A lenient parser of JSON values that keeps their offsets. Rendering needs no strict parser.
//!
//! Python prints its values in nearly the same form, with single quotes and other keywords. Both forms are parsed.

use std::borrow::Cow;

/// Maximum nesting depth of a value that is rendered.
const DEEPEST: usize = 100;

/// A value and the offset of its first byte.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value<'a> {
    pub(crate) start: usize,
    pub(crate) data: Data<'a>,
}

/// Contents of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as written.
    Number(&'a str),
    /// A text without its escapes.
    Text(Cow<'a, str>),
    /// Items of an array.
    List(Vec<Value<'a>>),
    /// Members of an object, with their keys.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

/// Consecutive values, with the text before and after them.
pub(crate) struct Values<'a> {
    pub(crate) values: Vec<Value<'a>>,
    /// First byte of the first value.
    pub(crate) start: usize,
    /// First byte after the last value.
    pub(crate) end: usize,
}

/// Parses the values of an output. `None` if most of it is something else.
pub(crate) fn values(bytes: &[u8]) -> Option<Values<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let start = beginning(text)?;
    let mut reader = Reader { text, at: start };
    let mut values = Vec::new();
    let mut end = start;
    while reader.at < text.len() {
        let Some(value) = reader.value(0) else { break };
        values.push(value);
        end = reader.at;
        reader.between();
    }
    let rest = text.len() - end;
    (!values.is_empty() && rest * 10 < text.len() * 3 && start * 10 < text.len() * 3).then_some(Values {
        values,
        start,
        end,
    })
}

/// Start of the first array or object, after at most a few lines of text.
fn beginning(text: &str) -> Option<usize> {
    let is_begin = |at: &usize| {
        let rest = text[at + 1..].trim_start();
        let next = rest.bytes().next();
        next.is_some_and(|byte| b"\"'{[]}-0123456789".contains(&byte))
    };
    let mut places = text.match_indices(['{', '[']).map(|(at, _)| at).filter(is_begin);
    places.next()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips what may be between two documents.
    fn between(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b',') {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value<'a>> {
        if depth > DEEPEST {
            return None;
        }
        self.space();
        let start = self.at;
        let data = match self.peek()? {
            b'{' => self.object(depth)?,
            b'[' => self.list(depth)?,
            b'"' | b'\'' => Data::Text(self.string()?),
            b'-' | b'0'..=b'9' => self.number()?,
            _ => self.word()?,
        };
        Some(Value { start, data })
    }

    fn word(&mut self) -> Option<Data<'a>> {
        let words = [
            ("null", Data::Null),
            ("None", Data::Null),
            ("true", Data::Bool(true)),
            ("True", Data::Bool(true)),
            ("false", Data::Bool(false)),
            ("False", Data::Bool(false)),
        ];
        let (word, data) = words.into_iter().find(|(word, _)| self.text[self.at..].starts_with(word))?;
        self.at += word.len();
        Some(data)
    }

    fn number(&mut self) -> Option<Data<'a>> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)).count();
        self.at += length;
        (length > 0).then(|| Data::Number(&rest[..length]))
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let quote = self.peek()?;
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            match *bytes.get(at)? {
                byte if byte == quote => break,
                b'\\' => {
                    escaped = true;
                    at += 2;
                }
                _ => at += 1,
            }
        }
        self.at = at + 1;
        let inside = self.text.get(start..at)?;
        Some(if escaped { Cow::Owned(unescaped(inside)) } else { Cow::Borrowed(inside) })
    }

    fn list(&mut self, depth: usize) -> Option<Data<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space();
            if self.peek()? == b']' {
                self.at += 1;
                return Some(Data::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {}
                _ => return None,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Data<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.space();
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(Data::Object(members));
                }
                b'"' | b'\'' => {}
                _ => return None,
            }
            let key = self.string()?;
            self.space();
            if self.peek()? != b':' {
                return None;
            }
            self.at += 1;
            members.push((key, self.value(depth + 1)?));
            self.space();
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {}
                _ => return None,
            }
        }
    }
}

/// A text without its escapes.
fn unescaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        shown.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next() {
            Some('n') => shown.push('\n'),
            Some('t') => shown.push('\t'),
            Some('r') => shown.push('\r'),
            Some('u') => {
                let (decoded, length) = unicode(&rest[at..]);
                shown.push(decoded);
                rest = &rest[at + length..];
                continue;
            }
            Some(other) => shown.push(other),
            None => {}
        }
        rest = after.as_str();
    }
    shown.push_str(rest);
    shown
}

/// The character of an escape `\u0041` at the beginning of a text, and the bytes of the escape.
fn unicode(text: &str) -> (char, usize) {
    let code = |at: usize| text.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(first) = code(2) else { return ('\u{fffd}', 2) };
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    let second = text.get(6..8).filter(|mark| *mark == "\\u").and_then(|_| code(8));
    let joined = second.map(|second| 0x1_0000 + ((first & 0x3ff) << 10) + (second & 0x3ff));
    match joined.and_then(char::from_u32) {
        Some(character) => (character, 12),
        None => ('\u{fffd}', 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value as strict JSON.
    fn strict(value: &Value) -> serde_json::Value {
        match &value.data {
            Data::Null => serde_json::Value::Null,
            Data::Bool(yes) => (*yes).into(),
            Data::Number(number) => serde_json::from_str(number).unwrap(),
            Data::Text(text) => text.as_ref().into(),
            Data::List(items) => items.iter().map(strict).collect(),
            Data::Object(members) => serde_json::Value::Object(
                members.iter().map(|(key, value)| (key.to_string(), strict(value))).collect(),
            ),
        }
    }

    #[test]
    fn values_are_those_that_a_strict_reader_finds() {
        for text in [
            r#"{"a": [1, -2.5e3, "x\"\\\n\u00e9\ud83d\ude00", null, true, false, {}, []], "b": {"c": "d"}}"#,
            "[]",
            "[[], {}]",
        ] {
            let found = values(text.as_bytes()).unwrap();
            assert_eq!(found.values.len(), 1);
            assert_eq!(strict(&found.values[0]), serde_json::from_str::<serde_json::Value>(text).unwrap());
        }
    }

    #[test]
    fn values_of_python_several_values_and_text_around_them_are_read() {
        let table = [
            ("{'a': None, 'b': True}", 1),
            ("{\"a\": 1}\n{\"a\": 2}\n", 2),
            ("Found 2: [{\"id\": 123456789}, {\"id\": 123456789}]\ndone", 1),
        ];
        for (text, count) in table {
            assert_eq!(values(text.as_bytes()).unwrap().values.len(), count, "{text}");
        }
        for text in ["", "no JSON", "[INFO] it runs", "{\"a\": ", "{a: 1}", "[1, 2] and then much more text"]
        {
            assert!(values(text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_fail(text in "[\\[\\]{}\"'\\\\,:0-9a-fu\\n é-]{0,60}") {
            values(text.as_bytes());
        }
    }
}
