//! Writes a value as compact JSON, up to a maximum length.

use crate::query::json::jq::fuel::Fuel;
use jaq_json::{Num, Val};
use std::fmt::Write;

/// The beginning of a value as text, and the length of all of it.
pub(crate) struct Written {
    pub text: String,
    pub length: u64,
}

/// Writes `value`, keeping no more than `room` bytes. If the fuel runs out, the text ends.
pub(crate) fn write(value: &Val, room: u64, fuel: &Fuel) -> Written {
    let mut writer =
        Writer { text: String::new(), room: usize::try_from(room).unwrap_or(usize::MAX), length: 0, fuel };
    writer.value(value);
    Written { text: writer.text, length: writer.length }
}

/// Counts a value before it becomes a part of a string; returns whether the run may continue.
pub(crate) fn count_written(value: &Val, fuel: &Fuel) -> bool {
    match value {
        Val::TStr(text) | Val::BStr(text) => fuel.text(text.len()),
        Val::Arr(_) | Val::Obj(_) => {
            let length = write(value, 0, fuel).length;
            fuel.goes_on() && fuel.text(usize::try_from(length).unwrap_or(usize::MAX))
        }
        _ => true,
    }
}

struct Writer<'a> {
    text: String,
    room: usize,
    length: u64,
    fuel: &'a Fuel,
}

impl Writer<'_> {
    fn push(&mut self, part: &str) {
        self.length += part.len() as u64;
        let free = self.room.saturating_sub(self.text.len());
        if free >= part.len() {
            self.text.push_str(part);
        } else if free > 0 {
            self.text.push_str(&part[..part.floor_char_boundary(free)]);
            // A character was left out: nothing shorter may follow.
            self.room = self.text.len();
        }
    }

    fn value(&mut self, value: &Val) -> bool {
        if !self.fuel.spend(1) {
            return false;
        }
        match value {
            Val::Null => self.push("null"),
            Val::Bool(true) => self.push("true"),
            Val::Bool(false) => self.push("false"),
            Val::Num(number) => self.number(number),
            Val::TStr(text) | Val::BStr(text) => return self.string(text),
            Val::Arr(items) => {
                self.push("[");
                for (number, item) in items.iter().enumerate() {
                    if number > 0 {
                        self.push(",");
                    }
                    if !self.value(item) {
                        return false;
                    }
                }
                self.push("]");
            }
            Val::Obj(members) => {
                self.push("{");
                for (number, (key, value)) in members.iter().enumerate() {
                    if number > 0 {
                        self.push(",");
                    }
                    let key_written = match key {
                        Val::TStr(key) | Val::BStr(key) => self.string(key),
                        // Keys of JSON are strings, so another key becomes its text.
                        key => {
                            let key = write(key, self.room as u64, self.fuel).text;
                            self.string(key.as_bytes())
                        }
                    };
                    if !key_written {
                        return false;
                    }
                    self.push(":");
                    if !self.value(value) {
                        return false;
                    }
                }
                self.push("}");
            }
        }
        true
    }

    fn number(&mut self, number: &Num) {
        match number {
            // A value that JSON has no number for is written as jq writes it.
            Num::Float(float) if float.is_nan() => self.push("null"),
            Num::Float(float) if float.is_infinite() => {
                self.push(if *float > 0.0 { "1.7976931348623157e308" } else { "-1.7976931348623157e308" });
            }
            Num::Float(float) if float.fract() == 0.0 && float.abs() < 1e17 => {
                let mut text = String::new();
                let _ = write!(text, "{float:.0}");
                self.push(&text);
            }
            Num::Dec(text) => self.push(text),
            number => {
                let mut text = String::new();
                let _ = write!(text, "{number}");
                self.push(&text);
            }
        }
    }

    fn string(&mut self, bytes: &[u8]) -> bool {
        if !self.fuel.spend(bytes.len() as u64 / 16) {
            return false;
        }
        self.push("\"");
        let text = String::from_utf8_lossy(bytes);
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escaped = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                8 => "\\b",
                12 => "\\f",
                0..0x20 | 0x7f => {
                    self.push(&text[plain..at]);
                    self.push(&format!("\\u{byte:04x}"));
                    plain = at + 1;
                    continue;
                }
                _ => continue,
            };
            self.push(&text[plain..at]);
            self.push(escaped);
            plain = at + 1;
        }
        self.push(&text[plain..]);
        self.push("\"");
        true
    }
}
