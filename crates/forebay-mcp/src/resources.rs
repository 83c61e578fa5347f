//! Kept outputs as MCP resources: `forebay://<session>/<id>`, whole or a range of lines or bytes.

use base64::{Engine, engine::general_purpose::STANDARD};
use forebay::{Handle, Outputs, query};
use serde_json::{Value, json};

/// Prefix of the addresses.
pub(crate) const SCHEME: &str = "forebay://";

/// Maximum bytes of one read; a larger output is read range by range.
const LARGEST: u64 = 1024 * 1024;

/// Maximum outputs in a list, the newest first.
const LISTED: usize = 100;

/// The error of a resource that is not there, as the protocol has it.
pub(crate) const NOT_FOUND: i64 = -32_002;

/// The address of an output.
pub(crate) fn uri(handle: &Handle) -> String {
    format!("{SCHEME}{handle}")
}

/// Why a resource cannot be read, with the code of the error.
pub(crate) struct Unreadable {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// The outputs of a session as entries of `resources/list`.
pub(crate) fn list(outputs: &Outputs) -> Vec<Value> {
    let records = outputs.list().unwrap_or_default();
    let entry = |record: &forebay::Record| {
        let call = forebay::shortened(&record.call.full_name(), 100);
        json!({
            "uri": uri(&record.handle),
            "name": record.handle.short(),
            "description": format!("output of {call}"),
            "mimeType": record.kind.media_type(),
            "size": record.kept(),
        })
    };
    records.iter().rev().take(LISTED).map(entry).collect()
}

/// The entries of `resources/templates/list`.
pub(crate) fn templates() -> Vec<Value> {
    let template = |form: &str, name: &str, description: &str| {
        json!({
            "uriTemplate": format!("{SCHEME}{{session}}/{{id}}{form}"),
            "name": name,
            "description": description,
        })
    };
    vec![
        template("", "kept output", "A tool output that was kept, whole (up to 1 MiB)."),
        template(
            "?lines={first}:{last}",
            "lines of a kept output",
            "Lines, counted from 1, both ends included.",
        ),
        template(
            "?bytes={start}:{end}",
            "bytes of a kept output",
            "Bytes, counted from 0, the end not included.",
        ),
    ]
}

/// The result of `resources/read`.
pub(crate) fn read(outputs: &Outputs, uri: &str) -> Result<Value, Unreadable> {
    let wrong = |message: String| Unreadable { code: -32_602, message };
    let (handle, range) = match uri.strip_prefix(SCHEME).unwrap_or_default().split_once('?') {
        Some((handle, range)) => (handle, Some(range)),
        None => (uri.strip_prefix(SCHEME).unwrap_or_default(), None),
    };
    let gone = |error: forebay::Error| Unreadable { code: NOT_FOUND, message: error.to_string() };
    let output = outputs.open(handle).map_err(gone)?;
    let range = match range.map(|range| range.split_once('=').unwrap_or((range, ""))) {
        None => 0..output.len(),
        Some(("bytes", range)) => {
            match query::byte_ranges(range).map_err(|error| wrong(error.to_string()))?[..] {
                [ref range] => range.start.min(output.len())..range.end.min(output.len()),
                _ => return Err(wrong(format!("bytes={range} must be one range"))),
            }
        }
        Some(("lines", range)) => {
            match query::line_ranges(range).map_err(|error| wrong(error.to_string()))?[..] {
                // A line that is not there is at the end.
                [ref range] => {
                    output.line_start(range.start().saturating_sub(1)).map_err(gone)?
                        ..output.line_start(*range.end()).map_err(gone)?
                }
                _ => return Err(wrong(format!("lines={range} must be one range"))),
            }
        }
        Some((other, _)) => return Err(wrong(format!("{other:?} is neither lines nor bytes"))),
    };
    let bytes = range.end.saturating_sub(range.start);
    if bytes > LARGEST {
        let first = uri.split('?').next().unwrap_or_default();
        return Err(wrong(format!(
            "{bytes} bytes are more than one read gives ({LARGEST}): read {first}?bytes=0:{LARGEST} and so on, \
             or use the tools that search it"
        )));
    }
    let bytes = output.shown(range).map_err(gone)?;
    let kind = output.record().kind.media_type();
    let content = match String::from_utf8(bytes) {
        Ok(text) => json!({ "uri": uri, "mimeType": kind, "text": text }),
        Err(error) => {
            json!({ "uri": uri, "mimeType": kind, "blob": STANDARD.encode(error.as_bytes()) })
        }
    };
    outputs.record_answer(forebay::event::Answered::text(
        output.record().handle.id(),
        "resource",
        serde_json::Map::from_iter([("uri".to_owned(), uri.into())]),
        forebay::Budget { tokens: 0, bytes: LARGEST, lines: None },
        content["text"].as_str().unwrap_or_default(),
    ));
    Ok(json!({ "contents": [content], "resultType": "complete" }))
}
