//! The scanner of MCP messages.

use forebay_mcp::scan::{Field, Scanner, fields_of};
use serde_json::{Map, Value};
use std::io::{self, BufReader};
use std::ops::Range;

/// Parts of messages.
pub const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\\"",
    "\\",
    "\\u0069d",
    ":",
    ",",
    "null",
    "NaN",
    "1e9",
    "\"id\":",
    "\"result\":",
    "\"\":",
    " ",
    "\t",
    "\n",
    "é",
    "\u{0}",
    "[[[[[[[[",
];

/// Messages.
pub fn samples() -> Vec<Vec<u8>> {
    let text = "line one\\nline \\\"two\\\" \\u00e9 }]".repeat(20);
    [
        "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/call\", \"params\": {\"name\": \"read\", \"arguments\": {}}}",
        &format!("{{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}"),
        "[{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}, {\"i\\u0064\":null , \"result\" : [ ] }, 3.5e-7]",
        " {\"\":0,\"a\":{\"x\":[1,\"}]\\\"\",{}]},\"a\":true}\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// A message has the same parts however many bytes are read at once, and those that a JSON parser finds.
pub fn check(message: &[u8]) {
    let whole = parts(message, usize::MAX);
    for at_once in [1, 2, 7, 64] {
        let read = parts(message, at_once);
        assert_eq!(read, whole, "{at_once} bytes at once");
    }
    let bytes = |range: &Range<u64>| &message[range.start as usize..range.end as usize];
    let (fields, items) = match &whole {
        Parts { fields: Ok(fields), items: Ok(items), .. } => (fields, items),
        broken => return assert!(serde_json::from_slice::<Value>(message).is_err(), "{broken:?}"),
    };
    let mut at = 0;
    for field in fields {
        assert!(
            at <= field.start && field.start < field.value.start && field.value.start < field.value.end,
            "{field:?}"
        );
        at = field.value.end;
    }
    match serde_json::from_slice(message) {
        Ok(Value::Object(object)) => {
            let mut found = Map::new();
            for field in fields {
                found.insert(field.name.clone(), serde_json::from_slice(bytes(&field.value)).unwrap());
            }
            // The name of a field that no caller looks for may be left out.
            assert!(found == object || object.keys().any(|name| name.len() > 40), "{found:?}");
        }
        Ok(Value::Array(array)) => {
            let found: Vec<Value> =
                items.iter().map(|item| serde_json::from_slice(bytes(item)).unwrap()).collect();
            assert_eq!(found, array);
        }
        _ => {}
    }
}

/// Fields of the outermost object, or items of the outermost array, or the errors in their place.
#[derive(Debug, PartialEq)]
struct Parts {
    fields: Result<Vec<Field>, Refusal>,
    items: Result<Vec<Range<u64>>, Refusal>,
    ends: bool,
}

/// Text of the error of a message that cannot be read.
#[derive(Debug, PartialEq)]
struct Refusal(String);

/// Parts of a message that is read in blocks of `at_once` bytes.
fn parts(message: &[u8], at_once: usize) -> Parts {
    let input = || BufReader::with_capacity(at_once.min(message.len().max(1)), message);
    let refusal = |error: io::Error| Refusal(error.to_string());
    let fields = fields_of(input(), 0).map_err(refusal);
    let mut scanner = Scanner::new(input(), 0);
    let mut items = Vec::new();
    let array = scanner.items(|scanner| {
        items.push(scanner.value()?);
        Ok(())
    });
    Parts {
        fields,
        ends: array.is_ok() && scanner.end().is_ok(),
        items: array.map(|_| items).map_err(refusal),
    }
}
