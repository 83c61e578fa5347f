//! JSON within an output: all of it, or the part between a few lines of text, such as warnings of the command.

use crate::kind::json::{Json as Checker, Shape as Checked};
use crate::{Kind, Output, Result};
use std::ops::Range;

/// Maximum bytes of text before it, and after it.
const AROUND: u64 = 16 * 1024;

/// Maximum bytes of an output in which JSON is located.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Maximum places at which a beginning is tried.
const TRIED: usize = 4;

/// Returns the JSON in an output: one document, or several on lines of their own, that are most of the output.
pub(crate) fn found(output: &Output) -> Result<Option<Range<u64>>> {
    match output.record().kind {
        // A scalar contains nothing to find: it is read as text.
        Kind::Json if is_scalar(output)? => return Ok(None),
        Kind::Json | Kind::JsonLines => return Ok(Some(0..output.len())),
        Kind::Binary => return Ok(None),
        Kind::Text if output.is_growing() || output.len() > LARGEST => return Ok(None),
        Kind::Text => {}
    }
    let beginning = output.read(0..output.len().min(AROUND))?;
    let first = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
    // Text before a document does not begin with a value.
    if serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok() {
        return Ok(None);
    }
    let mut at = 0;
    let mut starts = Vec::new();
    for line in beginning.split_inclusive(|&byte| byte == b'\n') {
        if at > 0 && may_begin(line) {
            starts.push(at);
        }
        at += line.len() as u64;
    }
    for start in starts.into_iter().take(TRIED) {
        if let Some(end) = end_of(output, start)? {
            return Ok(Some(start..end));
        }
    }
    Ok(None)
}

fn is_scalar(output: &Output) -> Result<bool> {
    let beginning = output.read(0..output.len().min(AROUND))?;
    let first = beginning.trim_ascii_start().first();
    Ok(first.is_some_and(|byte| !matches!(byte, b'{' | b'[')))
}

/// Whether a line can begin a document. `[INFO] …` cannot.
fn may_begin(line: &[u8]) -> bool {
    let behind = match line {
        [b'[' | b'{', behind @ ..] => behind.trim_ascii_start(),
        _ => return false,
    };
    match behind.first() {
        None => true,
        Some(b'"' | b'{' | b'[' | b'}' | b']' | b'-' | b'0'..=b'9') => true,
        Some(_) => [&b"true"[..], b"false", b"null"].iter().any(|word| behind.starts_with(word)),
    }
}

/// Returns the end of the documents that begin at a place, if they are JSON and most of the output, with little after them.
fn end_of(output: &Output, start: u64) -> Result<Option<u64>> {
    let from = output.len().saturating_sub(AROUND).max(start);
    let mut last = &output.read(from..output.len())?[..];
    // The last line that can end a document does; lines after it are text.
    while !matches!(last.trim_ascii_end().last(), None | Some(b']' | b'}')) {
        last = &last[..memchr::memrchr(b'\n', last.trim_ascii_end()).unwrap_or(0)];
    }
    let end = from + last.trim_ascii_end().len() as u64;
    if end.saturating_sub(start) * 2 < output.len() {
        return Ok(None);
    }
    let mut checker = Checker::default();
    output.for_each_block(start..end, |_, block| checker.update(block))?;
    Ok((checker.finish() != Checked::No).then_some(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn json_is_found_behind_a_few_lines_of_text_and_nowhere_else() {
        let rows: Vec<String> = (0..40).map(|n| format!(r#"{{"id": {n}, "ok": true}}"#)).collect();
        let array = format!("[{}]", rows.join(","));
        let table = [
            (array.clone(), Some(array.clone())),
            (format!("npm warn a setting is unknown\n{array}\n"), Some(array.clone())),
            (format!("$ list --json\n\n{array}\nDone in 0.1s.\n"), Some(array.clone())),
            (format!("warning: old\n{}\n", rows.join("\n")), Some(rows.join("\n"))),
            // A log, a list in another language, a text with an example, and values beside each other.
            ("[INFO] building\n".repeat(80), None),
            (format!("it is\n{}\n", array.replace('"', "'")), None),
            (format!("{}\n{array}\n", "a line of words\n".repeat(200)), None),
            (format!("\"name\"\n{array}\n"), None),
            (format!("it breaks off\n{}", &array[..array.len() - 4]), None),
            (String::new(), None),
        ];
        for (text, expected) in table {
            let found = found(&output_of(text.as_bytes())).unwrap();
            let found = found.map(|range| text[range.start as usize..range.end as usize].to_owned());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    #[cfg(feature = "json")]
    fn a_filter_a_shape_and_an_answer_reach_json_behind_text() {
        let rows: Vec<String> = (0..40).map(|n| format!(r#"{{"id": {n}, "name": "n{n}"}}"#)).collect();
        let output = output_of(format!("npm warn it is old\n[{}]\n", rows.join(",")).as_bytes());
        let values = crate::query::json::filter(&output, ".[7].name", 0, 9, 99).unwrap().values;
        assert_eq!(values.iter().map(|value| value.json.as_str()).collect::<Vec<_>>(), ["\"n7\""]);
        assert_eq!(crate::outline::json::shape(&output).unwrap().documents, 1);
        let asked = crate::Query::Ask("What is the id of n31?".into());
        let answer =
            crate::excerpt(&output, &asked, crate::Budget { tokens: 200, bytes: 4_000, lines: None })
                .unwrap();
        assert!(String::from_utf8_lossy(&answer.text).contains("\"id\": 31"), "{answer:?}");
    }
}
