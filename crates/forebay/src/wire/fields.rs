//! Reads the fields of a vendor's message, with an error that names the field and its place.

use crate::{Error, Result};
use serde_json::{Value, json};

/// A schema in the form that all vendors take: of an object, with `properties` even where there are none. Tools without
/// arguments are often declared with less.
pub(crate) fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}

/// The array in a field; a field that is absent or `null` is an empty one.
pub(crate) fn list<'a>(value: &'a Value, field: &str, place: &str) -> Result<&'a [Value]> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(wrong(place, field, "a list", other)),
    }
}

/// The text in a field, which must not be empty.
pub(crate) fn text(value: &Value, field: &str, place: &str) -> Result<String> {
    match value.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        None | Some(Value::Null | Value::String(_)) => {
            Err(Error::BadQuery(format!("{place} has no {field}, so the call cannot be answered")))
        }
        Some(other) => Err(wrong(place, field, "a text", other)),
    }
}

pub(crate) fn wrong(place: &str, field: &str, wanted: &str, found: &Value) -> Error {
    Error::BadQuery(format!("{field} of {place} is {}, not {wanted}", kind(found)))
}

/// The kind of a value, for an error.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
