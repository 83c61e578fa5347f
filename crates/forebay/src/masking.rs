//! Masks in place of secrets, in everything that a model reads.
//!
//! Stored bytes stay unchanged. Views, excerpts and texts about outputs pass through a [`Masking`], which finds
//! secrets and replaces each by a mask such as `[secret: github token, 40 characters, #k3f9]`. A mask never depends
//! on where a text is cut: if an excerpt shows only part of a secret, it still has the whole mask.

use crate::{Call, Record};
use forebay_secrets::{Scanner, Secret};
use memchr::memmem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What happens to secrets in what a model reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Secrets {
    /// A mask stands in place of each.
    #[default]
    Mask,
    /// They are shown, and the first line says how many there are.
    Warn,
    /// Nothing looks for them.
    Off,
}

/// Finds secrets and masks them, by the mode of each tool.
///
/// The default finds nothing. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct Masking {
    scanner: Option<Arc<Scanner>>,
    mode: Secrets,
    tools: Arc<BTreeMap<String, Secrets>>,
}

/// Two maskings are equal if they mask by the same rules.
impl PartialEq for Masking {
    fn eq(&self, other: &Masking) -> bool {
        let scanner = |masking: &Masking| masking.scanner.as_ref().map(Arc::as_ptr);
        scanner(self) == scanner(other) && self.mode == other.mode && self.tools == other.tools
    }
}

impl Masking {
    /// Masks what a scanner finds. `tools` has the modes of tools that differ from `mode`, by `tool` or
    /// `server/tool`.
    pub fn new(scanner: Scanner, mode: Secrets, tools: BTreeMap<String, Secrets>) -> Masking {
        Masking { scanner: Some(Arc::new(scanner)), mode, tools: Arc::new(tools) }
    }

    /// Mode for the outputs of a call.
    pub fn mode(&self, call: &Call) -> Secrets {
        if self.scanner.is_none() {
            return Secrets::Off;
        }
        let of_tool =
            [call.full_name(), call.tool.clone()].into_iter().find_map(|name| self.tools.get(&name));
        of_tool.copied().unwrap_or(self.mode)
    }

    /// The scanner; `None` if secrets are not searched for.
    pub fn scanner(&self) -> Option<&Scanner> {
        self.scanner.as_deref()
    }

    /// Whether a text of a call has secrets and its mode is not `Off`.
    pub fn has_secrets(&self, call: &Call, text: &[u8]) -> bool {
        self.mode(call) != Secrets::Off
            && self.scanner().is_some_and(|scanner| !scanner.scan(text).is_empty())
    }

    /// Masks the secrets in a text that is not part of one output, such as a line of the log.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.mode == Secrets::Mask { self.masked(text) } else { Cow::Borrowed(text) }
    }

    /// Masks the secrets in the arguments and the intent of a record's call.
    pub fn record(&self, record: &Record) -> Record {
        let mut record = record.clone();
        for text in [&mut record.call.args, &mut record.call.intent].into_iter().flatten() {
            *text = self.text(text).into_owned();
        }
        record
    }

    /// Masks the secrets in all strings of a JSON value that is not part of one output.
    pub fn json(&self, value: &mut Value) {
        if self.mode == Secrets::Mask {
            self.mask(value, "");
        }
    }

    /// Masks the secrets in a text, whatever the mode.
    pub(crate) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.scanner().map(|scanner| scanner.masked(text.as_bytes())) {
            // Masks are ASCII and never split a character.
            Some(Cow::Owned(masked)) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
            _ => Cow::Borrowed(text),
        }
    }

    /// Masks the secrets in all strings of a JSON value, whatever the mode. `name` is the key of the value, which may
    /// indicate a secret.
    pub(crate) fn mask(&self, value: &mut Value, name: &str) {
        match value {
            Value::String(text) => {
                let assigned = format!("{name}={text}");
                let of_name = self.masked(&assigned);
                match of_name.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
                    Some(masked) if !name.is_empty() && masked != text => *text = masked.to_owned(),
                    _ => {
                        if let Cow::Owned(masked) = self.masked(text) {
                            *text = masked;
                        }
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask(value, name)),
            Value::Object(members) => members.iter_mut().for_each(|(name, value)| self.mask(value, name)),
            _ => {}
        }
    }
}

/// A range of a text, and the mask in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mask {
    pub(crate) range: Range<u64>,
    pub(crate) text: String,
}

/// Bytes before and after a range that can affect its masks. The longest common private key has 3.2 kB.
pub(crate) const CONTEXT: u64 = 4 * 1024;

/// Masks of a text whose first byte is at `offset`.
pub(crate) fn masks(scanner: &Scanner, text: &[u8], offset: u64) -> Vec<Mask> {
    scanner.scan(text).iter().flat_map(|secret| masks_of(secret, offset)).collect()
}

/// Masks of a secret: the full mask first, and a short one for each further line.
pub(crate) fn masks_of(secret: &Secret, offset: u64) -> Vec<Mask> {
    let of_piece = |(number, piece): (usize, &Range<usize>)| Mask {
        range: offset + piece.start as u64..offset + piece.end as u64,
        text: if number == 0 { secret.mask() } else { secret.mask_of_line() },
    };
    secret.pieces.iter().enumerate().map(of_piece).collect()
}

/// Sorts masks, and joins those that overlap.
pub(crate) fn joined(mut masks: Vec<Mask>) -> Vec<Mask> {
    masks.sort_by_key(|mask| (mask.range.start, std::cmp::Reverse(mask.range.end)));
    let mut joined: Vec<Mask> = Vec::with_capacity(masks.len());
    for mask in masks {
        match joined.last_mut() {
            Some(last) if mask.range.start < last.range.end => {
                last.range.end = last.range.end.max(mask.range.end);
            }
            _ => joined.push(mask),
        }
    }
    joined
}

/// The bytes from `offset` on with masks in place of secrets. A mask that is only partly in the range is included
/// whole.
pub(crate) fn masked(bytes: &[u8], offset: u64, masks: &[Mask]) -> Vec<u8> {
    let end = offset + bytes.len() as u64;
    let mut text = Vec::with_capacity(bytes.len());
    if bytes.is_empty() {
        return text;
    }
    let mut at = offset;
    for mask in masks.iter().filter(|mask| mask.range.start < end && mask.range.end > offset) {
        let start = mask.range.start.max(at);
        text.extend_from_slice(&bytes[(at - offset) as usize..(start - offset) as usize]);
        text.extend_from_slice(mask.text.as_bytes());
        at = mask.range.end.min(end).max(at);
    }
    text.extend_from_slice(&bytes[(at - offset) as usize..]);
    text
}

/// Number of masked secrets. A key of several lines counts once.
pub(crate) fn count(masks: &[Mask]) -> u64 {
    masks.iter().filter(|mask| !mask.text.starts_with("[secret: #")).count() as u64
}

/// Values of an output's secrets, for finding them in texts that quote the output.
#[derive(Default)]
pub(crate) struct KnownValues(Vec<Known>);

struct Known {
    bytes: Vec<u8>,
    mask: String,
}

/// Minimum bytes of the beginning or the end by which a shortened value is found.
const PART: usize = 8;

impl KnownValues {
    /// Adds the values that the masks of these bytes replace.
    pub(crate) fn add(&mut self, bytes: &[u8], offset: u64, masks: &[Mask]) {
        for mask in masks {
            let start = mask.range.start.saturating_sub(offset) as usize;
            let end = (mask.range.end.saturating_sub(offset) as usize).min(bytes.len());
            if end.saturating_sub(start) >= PART
                && self.0.iter().all(|value| value.bytes != bytes[start..end])
            {
                self.0.push(Known { bytes: bytes[start..end].to_vec(), mask: mask.text.clone() });
            }
        }
    }

    /// Places where a text has one of the values, or its beginning or end.
    pub(crate) fn found(&self, text: &[u8]) -> Vec<Mask> {
        let mut found = Vec::new();
        for Known { bytes, mask } in &self.0 {
            let mut add = |range: Range<usize>| {
                found.push(Mask { range: range.start as u64..range.end as u64, text: mask.clone() });
            };
            for at in memmem::find_iter(text, &bytes[..PART]) {
                let same = text[at..].iter().zip(bytes).take_while(|(a, b)| a == b).count();
                add(at..at + same);
            }
            for at in memmem::find_iter(text, &bytes[bytes.len() - PART..]) {
                let end = at + PART;
                let same =
                    text[..end].iter().rev().zip(bytes.iter().rev()).take_while(|(a, b)| a == b).count();
                add(end - same..end);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(range: Range<u64>, text: &str) -> Mask {
        Mask { range, text: text.to_owned() }
    }

    #[test]
    fn a_mask_that_a_cut_divides_stands_whole() {
        let masks = [mask(12..20, "[secret: a]"), mask(20..22, "[secret: #b]")];
        for (bytes, offset, expected) in [
            ("ab12345678", 10, "ab[secret: a]"),
            ("78xyz", 18, "[secret: a][secret: #b]z"),
            ("34", 14, "[secret: a]"),
            ("", 14, ""),
            ("ab", 10, "ab"),
            ("z", 22, "z"),
        ] {
            let text = String::from_utf8(masked(bytes.as_bytes(), offset, &masks)).unwrap();
            assert_eq!(text, expected, "{bytes} at {offset}");
        }
    }

    #[test]
    fn a_value_is_found_where_a_text_quotes_it_in_part() {
        let mut values = KnownValues::default();
        let text = b"key = abcdefghijklmnop;";
        values.add(text, 100, &[mask(106..122, "[secret: key]")]);
        for (quoted, expected) in [
            ("it was abcdefghijklmnop.", "it was [secret: key]."),
            ("it was abcdefghij…", "it was [secret: key]…"),
            ("it was …ghijklmnop", "it was …[secret: key]"),
            ("it was abcdefgh…ijklmnop", "it was [secret: key]…[secret: key]"),
            ("it was abcdefg", "it was abcdefg"),
        ] {
            let masks = joined(values.found(quoted.as_bytes()));
            let text = String::from_utf8(masked(quoted.as_bytes(), 0, &masks)).unwrap();
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn masks_that_overlap_become_one() {
        let masks = vec![mask(5..9, "b"), mask(0..6, "a"), mask(9..12, "c")];
        assert_eq!(joined(masks), [mask(0..9, "a"), mask(9..12, "c")]);
    }

    #[test]
    fn a_tool_has_its_own_mode() {
        let tools = [("cat".to_owned(), Secrets::Off), ("fs/read".to_owned(), Secrets::Warn)];
        let masking = Masking::new(Scanner::new([7; 32]), Secrets::Mask, BTreeMap::from(tools));
        let call = |server: Option<&str>, tool: &str| {
            let call = Call::new(crate::Session::safe("s"), "id", tool, jiff::Timestamp::UNIX_EPOCH);
            Call { server: server.map(str::to_owned), ..call }
        };
        for (call, expected) in [
            (call(None, "cat"), Secrets::Off),
            (call(None, "make"), Secrets::Mask),
            (call(Some("fs"), "read"), Secrets::Warn),
            (call(Some("other"), "read"), Secrets::Mask),
        ] {
            assert_eq!(masking.mode(&call), expected, "{call:?}");
        }
        assert_eq!(Masking::default().mode(&call(None, "make")), Secrets::Off);
    }
}
