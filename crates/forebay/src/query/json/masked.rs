//! A filter over JSON with secrets.
//!
//! A filter that selects whole values runs on the stored bytes, and its results are masked like all other text. A
//! filter that may take a text apart, such as `.token[0:8]` or `.token | explode`, would produce unrecognisable parts
//! of a secret. It runs on the text with masks instead.

use crate::masking::Mask;
use crate::text::derived::Derived;
use crate::{Error, Output, Result};
use std::ops::Range;

/// Maximum bytes of an output that is held in memory with its masks.
const MAX_MASKED: u64 = 64 * 1024 * 1024;

/// Words of jq that return whole texts or none, so that each text in their results is a text of the output.
const WHOLE: &[&str] = &[
    "add",
    "all",
    "and",
    "any",
    "arrays",
    "as",
    "booleans",
    "contains",
    "def",
    "del",
    "delpaths",
    "elif",
    "else",
    "empty",
    "end",
    "endswith",
    "false",
    "first",
    "flatten",
    "floor",
    "foreach",
    "from_entries",
    "getpath",
    "group_by",
    "has",
    "if",
    "in",
    "index",
    "input",
    "inputs",
    "inside",
    "isempty",
    "iterables",
    "join",
    "keys",
    "keys_unsorted",
    "last",
    "length",
    "limit",
    "map",
    "map_values",
    "max",
    "max_by",
    "min",
    "min_by",
    "not",
    "nth",
    "null",
    "nulls",
    "numbers",
    "objects",
    "or",
    "path",
    "paths",
    "pick",
    "range",
    "recurse",
    "reduce",
    "scalars",
    "select",
    "skip",
    "sort",
    "sort_by",
    "startswith",
    "strings",
    "test",
    "then",
    "to_entries",
    "tojson",
    "tonumber",
    "tostring",
    "transpose",
    "true",
    "type",
    "unique",
    "unique_by",
    "until",
    "values",
    "walk",
    "while",
    "with_entries",
];

/// The masks that a filter needs in the text that it reads, each with the bytes that it stands for.
pub(crate) fn masks(output: &Output, filter: &str) -> Result<Vec<(Range<u64>, String)>> {
    if gives_whole_texts(filter) {
        return Ok(Vec::new());
    }
    let masks = output.all_masks()?;
    if !masks.is_empty() && output.len() > MAX_MASKED {
        let why = "this filter may take texts apart, and the output has secrets and is too large to be masked for it: select \
             whole values, without slices and functions on texts; `.a.b`, `select(.a == 1)` and `map(.a)` are such filters";
        return Err(Error::BadQuery(why.to_owned()));
    }
    Ok(masks.into_iter().map(|Mask { range, text }| (range, text)).collect())
}

/// Whether each text in the results of a filter is a whole text of its input. `false` if that is uncertain.
fn gives_whole_texts(filter: &str) -> bool {
    let bytes = filter.as_bytes();
    let (mut at, mut open) = (0, Vec::new());
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => match text_end(bytes, at) {
                Some(end) => at = end,
                None => return false,
            },
            b'#' | b'@' => return false,
            b'[' | b'{' | b'(' => open.push(*byte),
            b']' | b'}' | b')' => drop(open.pop()),
            // A slice, which can be one of a text.
            b':' if open.last() == Some(&b'[') => return false,
            b'/' if bytes.get(at + 1) == Some(&b'/') => at += 1,
            // Division takes a text apart.
            b'/' => return false,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let word = bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'));
                let mut end = at + word.count();
                // The key of an object ends with a colon.
                end -= bytes[at..end].iter().rev().take_while(|byte| **byte == b':').count();
                let is_name = at > 0 && matches!(bytes[at - 1], b'.' | b'$');
                let is_key = open.last() == Some(&b'{') && bytes[end..].trim_ascii_start().starts_with(b":");
                if !is_name && !is_key && WHOLE.binary_search(&&filter[at..end]).is_err() {
                    return false;
                }
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    true
}

/// Offset of the quote that ends the text in quotes at `start`; `None` if it contains an expression or does not end.
fn text_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' if bytes.get(at + 1) == Some(&b'(') => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The text of an output with masks in it.
pub(crate) fn text(output: &Output, masks: &[(Range<u64>, String)]) -> Result<Derived> {
    let mut text = Derived::default();
    let mut at = 0;
    for (range, mask) in masks.iter().filter(|(range, _)| range.end <= output.len()) {
        if range.start < at {
            continue;
        }
        let before = output.read(at..range.start)?;
        text.extend(&before, at);
        let is_bare = is_bare(&before, &output.read(range.end..(range.end + 1).min(output.len()))?);
        let mask = if is_bare { format!("\"{mask}\"") } else { mask.clone() };
        text.extend(mask.as_bytes(), range.start);
        at = range.end;
    }
    text.extend(&output.read(at..output.len())?, at);
    Ok(text)
}

/// Whether a value is not in quotes, such as a number, judged by the text before and after it.
fn is_bare(before: &[u8], after: &[u8]) -> bool {
    let has_end = matches!(after, [b',' | b'}' | b']' | b' ' | b'\n' | b'\r'] | []);
    let start = before.trim_ascii_end();
    has_end && start.ends_with(b":") && start[..start.len() - 1].trim_ascii_end().ends_with(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WHOLE.is_sorted());
    }

    #[test]
    fn filters_that_may_take_texts_apart_are_told_from_those_that_select() {
        for filter in [
            ".",
            ".db.password",
            ".[0].token, .[\"a b\"]",
            "map(select(.status == \"failed: x\")) | length",
            "group_by(.kind) | map({kind: .[0].kind, n: length})",
            "{explode: .a, split: [.b]}",
            "to_entries | map(.key)",
            ".explode",
            ".a // \"none\"",
            "[.[] | {a: .b}]",
            ". as $split | $split.x",
        ] {
            assert!(gives_whole_texts(filter), "{filter}");
        }
        for filter in [
            ".token[0:8]",
            ".token[:8]",
            ".token | explode",
            "[.token | split(\"\")[]]",
            ".token / \"\"",
            ".token | @base64",
            "\"\\(.token[0:4])\"",
            ".token | ltrimstr(\"a\")",
            ".token | ascii_downcase",
            "{a: (.token | explode)}",
            "{explode}",
            "reverse",
            "\"open",
            "a::b",
            "# explode",
        ] {
            assert!(!gives_whole_texts(filter), "{filter}");
        }
    }
}
