//! Checks that bytes are JSON while they stream by, in one state and one stack of brackets.

use memchr::memchr2;

/// A document nested deeper than this is not taken for JSON: no reader of ours follows it further.
const DEEPEST: usize = 10_000;

/// Result of the check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not JSON.
    No,
    /// One value.
    One,
    /// Several objects or arrays, each on a line of its own. Numbers on lines of their own are a list that somebody wrote.
    Many,
}

/// A checker that is fed bytes. It gives up at the first byte that cannot be JSON.
#[derive(Default)]
pub(crate) struct Json {
    state: State,
    /// Open brackets: `{` or `[`.
    open: Vec<u8>,
    values: u64,
    /// Whether a value had a newline inside, or shared its line with another.
    not_lines: bool,
    newline_since_value: bool,
    /// The rest of a literal, or of a `\u` escape, that must follow.
    expected: &'static [u8],
    hex: u8,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Between documents.
    #[default]
    Top,
    /// A value must come.
    Value,
    /// A value or `]` may come.
    FirstItem,
    /// A key or `}` may come.
    FirstKey,
    /// A key must come.
    Key,
    Colon,
    /// `,` or a closing bracket.
    AfterValue,
    Text {
        key: bool,
    },
    Escape {
        key: bool,
    },
    Hex {
        key: bool,
    },
    Literal,
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
    /// After a scalar that is no part of anything: nothing may follow.
    Done,
    Failed,
}

impl Json {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.state == State::Failed {
                return;
            }
            // Most bytes of most documents are inside strings: skip to what can end one.
            if let State::Text { .. } = self.state {
                let plain = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                if bytes[..plain].iter().any(|&byte| byte < 0x20) {
                    self.state = State::Failed;
                    return;
                }
                if plain > 0 {
                    bytes = &bytes[plain..];
                    continue;
                }
            }
            self.step(byte);
            bytes = rest;
        }
    }

    pub(crate) fn finish(self) -> Shape {
        match (self.state, self.values) {
            (State::Top, 1) | (State::Done, _) => Shape::One,
            _ if self.open.is_empty() && self.number_may_end() => Shape::One,
            (State::Top, 2..) if !self.not_lines => Shape::Many,
            _ => Shape::No,
        }
    }

    fn step(&mut self, byte: u8) {
        use State::*;
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            let between =
                matches!(self.state, Top | Value | FirstItem | FirstKey | Key | Colon | AfterValue | Done);
            if between || self.number_may_end() {
                if byte == b'\n' {
                    self.newline_since_value = true;
                    self.not_lines |= !self.open.is_empty();
                }
                if !between {
                    self.state = self.after_value();
                }
                return;
            }
        }
        self.state = match (self.state, byte) {
            (Top, b'{' | b'[') => {
                self.not_lines |= self.values > 0 && !self.newline_since_value;
                self.values += 1;
                self.newline_since_value = false;
                self.open(byte)
            }
            (Top, b'"' | b't' | b'f' | b'n' | b'-' | b'0'..=b'9') if self.values == 0 => {
                self.values = 1;
                self.state = Value;
                return self.step(byte);
            }
            (Value | FirstItem, b'{' | b'[') => self.open(byte),
            (FirstItem, b']') | (FirstKey, b'}') => self.close(byte),
            (FirstKey | Key, b'"') => Text { key: true },
            (Value | FirstItem, b'"') => Text { key: false },
            (Value | FirstItem, b't') => self.literal(b"rue"),
            (Value | FirstItem, b'f') => self.literal(b"alse"),
            (Value | FirstItem, b'n') => self.literal(b"ull"),
            (Value | FirstItem, b'-') => Minus,
            (Value | FirstItem | Minus, b'0') => Zero,
            (Value | FirstItem | Minus | Digits, b'0'..=b'9') => Digits,
            (Zero | Digits, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => Fraction,
            (Zero | Digits | Fraction, b'e' | b'E') => Exponent,
            (Exponent, b'+' | b'-') => ExponentSign,
            (Exponent | ExponentSign | ExponentDigits, b'0'..=b'9') => ExponentDigits,
            (Colon, b':') => Value,
            (state, b',') if state == AfterValue || self.number_may_end() => match self.open.last() {
                Some(b'{') => Key,
                Some(_) => Value,
                None => Failed,
            },
            (state, b']' | b'}') if state == AfterValue || self.number_may_end() => self.close(byte),
            (Text { key: true }, b'"') => Colon,
            (Text { key: false }, b'"') => self.after_value(),
            (Text { key }, b'\\') => Escape { key },
            (Escape { key }, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Text { key },
            (Escape { key }, b'u') => {
                self.hex = 4;
                Hex { key }
            }
            (Hex { key }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.hex -= 1;
                if self.hex == 0 { Text { key } } else { Hex { key } }
            }
            (Literal, byte) if self.expected.first() == Some(&byte) => {
                self.expected = &self.expected[1..];
                if self.expected.is_empty() { self.after_value() } else { Literal }
            }
            _ => Failed,
        };
    }

    fn number_may_end(&self) -> bool {
        matches!(self.state, State::Zero | State::Digits | State::Fraction | State::ExponentDigits)
    }

    /// State after a scalar.
    fn after_value(&self) -> State {
        if self.open.is_empty() { State::Done } else { State::AfterValue }
    }

    fn literal(&mut self, rest: &'static [u8]) -> State {
        self.expected = rest;
        State::Literal
    }

    fn open(&mut self, bracket: u8) -> State {
        if self.open.len() == DEEPEST {
            return State::Failed;
        }
        self.open.push(bracket);
        if bracket == b'{' { State::FirstKey } else { State::FirstItem }
    }

    fn close(&mut self, bracket: u8) -> State {
        let fits = match self.open.pop() {
            Some(b'{') => bracket == b'}',
            Some(_) => bracket == b']',
            None => false,
        };
        match (fits, self.open.is_empty()) {
            (false, _) => State::Failed,
            (true, true) => State::Top,
            (true, false) => State::AfterValue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_real_parser(text in "[\\[{]?([\\[\\]{},:]|\"[a-z\\\\\"u0]{0,3}\"|[-+.0-9eE]{1,4}|true|null| ){0,8}[\\]}]?") {
            let mut json = Json::default();
            json.update(text.as_bytes());
            let real = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(json.finish() == Shape::One, real, "{}", text);
        }
    }
}
