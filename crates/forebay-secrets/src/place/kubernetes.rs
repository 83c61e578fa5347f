//! The values of Kubernetes secrets, in YAML and JSON.

use crate::encoding::base64;
use crate::placeholder::is_reference;
use crate::text::{line_end, line_start};
use std::ops::Range;

/// Maximum bytes of an object before and after its kind. Kubernetes keeps secrets of at most 1 MiB; most have a few KB.
pub(crate) const MAX_OBJECT: usize = 32 * 1024;

/// A value, and what it contains when decoded.
pub(crate) struct Value {
    pub(crate) range: Range<usize>,
    pub(crate) decoded: Option<Vec<u8>>,
}

/// Values of the object whose kind is at `at`, if it is a secret.
pub(crate) fn find(text: &[u8], at: usize) -> Vec<Value> {
    let line = &text[at..line_end(text, at, 64)];
    let kind = line.iter().position(|byte| *byte == b':').map_or(&[][..], |colon| &line[colon + 1..]);
    let kind = kind.trim_ascii();
    let kind = kind.strip_prefix(b"\\").unwrap_or(kind);
    let kind = kind.strip_prefix(b"\"").unwrap_or(kind);
    let kind = kind.strip_prefix(b"'").unwrap_or(kind);
    let Some(after) = kind.strip_prefix(b"Secret").or_else(|| kind.strip_prefix(b"secret")) else {
        return Vec::new();
    };
    if after.first().is_some_and(u8::is_ascii_alphanumeric) {
        return Vec::new();
    }
    let first = at.saturating_sub(MAX_OBJECT);
    let last = text.len().min(at + MAX_OBJECT);
    if text[..at].ends_with(b"\"") { in_json(text, at, first..last) } else { in_yaml(text, at, first..last) }
}

/// Values in `data` and `stringData` of the YAML document around `at`.
fn in_yaml(text: &[u8], at: usize, around: Range<usize>) -> Vec<Value> {
    let before = &text[around.start..at];
    let from = around.start + memchr::memmem::rfind(before, b"\n---").map_or(0, |rule| rule + 1);
    let to = at + memchr::memmem::find(&text[at..around.end], b"\n---").unwrap_or(around.end - at);
    let own_line = line_start(text, at, 256);
    let indent = at - own_line;
    let mut values = Vec::new();
    let mut block: Option<Block> = None;
    // The key of a value that is on the lines after it.
    let mut scalar: Option<Scalar> = None;
    let mut line = line_start(text, from, 256);
    while line < to {
        let end = line_end(text, line, MAX_OBJECT).min(to);
        let content = line + text[line..end].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let depth = content - line;
        let entry = text[content..end].trim_ascii_end();
        line = end + 1;
        if entry.is_empty() {
            continue;
        }
        scalar = scalar.filter(|scalar| depth > scalar.depth);
        block = block.filter(|block| depth > block.depth);
        match (&block, &scalar) {
            (Some(Block { encoded: true, .. }), Some(scalar)) => {
                values.extend(value(text, scalar.key.clone(), content..end, true));
            }
            (Some(block), None) => {
                if let Some(colon) = memchr::memmem::find(entry, b": ") {
                    let key = content..content + colon;
                    if matches!(entry[colon + 2], b'|' | b'>') {
                        scalar = Some(Scalar { depth, key });
                    } else {
                        values.extend(value(text, key, content + colon + 2..end, block.encoded));
                    }
                }
            }
            (None, _) if depth <= indent + 2 && (entry == b"data:" || entry == b"stringData:") => {
                block = Some(Block { depth, encoded: entry == b"data:" });
            }
            _ => {}
        }
    }
    values
}

/// The `data` of a secret, or its `stringData`.
struct Block {
    /// Indentation of its name.
    depth: usize,
    /// Whether the values are in base64.
    encoded: bool,
}

/// A value that is written on the lines after its key.
struct Scalar {
    /// Indentation of the key.
    depth: usize,
    key: Range<usize>,
}

/// The values of the `"data"` next to `at`, before or after it.
fn in_json(text: &[u8], at: usize, around: Range<usize>) -> Vec<Value> {
    let mut values = Vec::new();
    for (name, encoded) in [(&b"data"[..], true), (b"stringData", false)] {
        let before = memchr::memmem::rfind(&text[around.start..at], name).map(|found| around.start + found);
        let after = memchr::memmem::find(&text[at..around.end], name).map(|found| at + found);
        for found in [before, after].into_iter().flatten() {
            let quote = found + name.len();
            let slashes = text[quote..].iter().take_while(|byte| **byte == b'\\').count();
            let mark = &text[quote..text.len().min(quote + slashes + 1)];
            if !mark.ends_with(b"\"") || !text[..found].ends_with(mark) {
                continue;
            }
            values.extend(entries(text, quote + mark.len(), around.end, mark, encoded));
        }
    }
    values
}

/// The entries of the JSON object that begins after a colon at `at`.
fn entries(text: &[u8], at: usize, limit: usize, mark: &[u8], encoded: bool) -> Vec<Value> {
    let mut values = Vec::new();
    let skip = |at: usize| {
        let mut at = at;
        while at < limit {
            match &text[at..limit] {
                [b'\\', b'n' | b't' | b'r', ..] => at += 2,
                [b' ' | b'\n' | b'\t' | b'\r' | b',' | b':' | b'{', ..] => at += 1,
                _ => break,
            }
        }
        at
    };
    let string = |at: usize| {
        let from = at + text[at..limit].starts_with(mark).then_some(mark.len())?;
        let length = memchr::memmem::find(&text[from..limit], mark)?;
        Some(from..from + length)
    };
    let mut at = skip(at);
    while let Some(key) = string(at) {
        at = skip(key.end + mark.len());
        let Some(content) = string(at) else { break };
        at = skip(content.end + mark.len());
        values.extend(value(text, key, content, encoded));
    }
    values
}

/// A value, unless its key or its content shows that it is not secret.
fn value(text: &[u8], key: Range<usize>, range: Range<usize>, encoded: bool) -> Option<Value> {
    const HARMLESS: &[&str] = &[
        "ca.crt",
        "tls.crt",
        "username",
        "user",
        "namespace",
        "host",
        "port",
        "database",
        "dbname",
        "email",
        "url",
        "name",
        "type",
        "endpoint",
        "region",
        "bucket",
    ];
    let key = text[key].trim_ascii();
    let content = &text[range.clone()];
    let trimmed = content.trim_ascii();
    let from = range.start + content.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut range = from..from + trimmed.len();
    if let [quote @ (b'"' | b'\''), .., last] = trimmed
        && quote == last
    {
        range = range.start + 1..range.end - 1;
    }
    let content = &text[range.clone()];
    if HARMLESS.iter().any(|name| key.eq_ignore_ascii_case(name.as_bytes())) || content.len() < 8 {
        return None;
    }
    if encoded && (!content.len().is_multiple_of(4) || content.iter().any(u8::is_ascii_whitespace)) {
        return None;
    }
    let decoded = if encoded { Some(base64(content)?) } else { None };
    let plain = decoded.as_deref().unwrap_or(content);
    let harmless = plain.starts_with(b"-----BEGIN CERT")
        || plain.starts_with(b"-----BEGIN PUBLIC")
        || is_reference(plain);
    (!harmless && plain.len() >= 6).then_some(Value { range, decoded })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_yaml_and_json_and_other_kinds_have_none() {
        let value = "czlLZDgya2ZRNw==";
        let table = [
            (
                format!(
                    "apiVersion: v1\ndata:\n  KEY: {value}\n  ca.crt: {value}\nkind: Secret\nmetadata:\n  name: x\n"
                ),
                1,
            ),
            (
                "kind: Secret\nstringData:\n  KEY: s9Kd82kfQ7\n  other: \"s9Kd82kfQ7\"\ntype: Opaque\n"
                    .to_owned(),
                2,
            ),
            (
                format!(
                    "items:\n- apiVersion: v1\n  data:\n    a: {value}\n  kind: Secret\n- apiVersion: v1\n  data:\n    b: {value}\n  kind: Secret\n"
                ),
                2,
            ),
            (format!("apiVersion: v1\ndata:\n  KEY: {value}\nkind: ConfigMap\n"), 0),
            (format!("{{\"data\": {{\"a\": \"{value}\", \"b\":\"{value}\"}}, \"kind\": \"Secret\"}}"), 2),
            (format!("{{\\\"kind\\\": \\\"Secret\\\", \\\"data\\\": {{\\\"a\\\": \\\"{value}\\\"}}}}"), 1),
            (format!("{{\"data\": {{\"a\": \"{value}\"}}, \"kind\": \"ConfigMap\"}}"), 0),
            (format!("kind: secret\ndata:\n\t.dockercfg: |\n\t\t{value}\n\t\t{value}\ntype: x\n"), 2),
            (format!("kind: Secret\ndata:\n  ca.crt: |\n    {value}\n"), 0),
            ("kind: Secret\ndata:\n  note: hello world\n".to_owned(), 0),
        ];
        for (text, want) in table {
            let at = memchr::memmem::find(text.as_bytes(), b"kind").unwrap();
            assert_eq!(find(text.as_bytes(), at).len(), want, "{text}");
        }
    }
}
