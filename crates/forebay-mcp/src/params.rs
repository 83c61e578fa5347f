//! Arguments of tools that are sent in headers too (`x-mcp-header`, since revision 2026-07-28), so that a proxy can
//! route a call by its headers.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Prefix of the names of such headers.
pub(crate) const HEADER: &str = "mcp-param-";

/// Key that marks such an argument in the schema of a tool.
pub(crate) const MARK: &str = "x-mcp-header";

/// An argument that is sent in a header too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Param {
    /// The header, in small letters.
    header: String,
    /// Where the argument stands, from the outermost field on.
    path: Vec<String>,
}

/// Why the marks in a tool's schema cannot be followed. A client must not use such a tool.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    #[error("{0} is no name of a header")]
    Name(Value),
    #[error("two arguments are to stand in the header {0}")]
    Twice(String),
    #[error("{0} stands where no single argument is meant, or on one that is no text, integer or boolean")]
    Place(String),
}

/// How the headers of a call disagree with its arguments.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header {0} does not say what the arguments say")]
pub(crate) struct Differs(String);

/// The arguments that a tool's `inputSchema` marks.
pub(crate) fn declared(schema: &Value) -> Result<Vec<Param>, Wrong> {
    let mut params = Vec::new();
    walk(schema, Some(&mut Vec::new()), &mut params)?;
    Ok(params)
}

/// Walks through a schema. `path` is `None` inside parts that do not apply to every call.
fn walk(schema: &Value, path: Option<&mut Vec<String>>, params: &mut Vec<Param>) -> Result<(), Wrong> {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Array(all) => return all.iter().try_for_each(|one| walk(one, None, params)),
        _ => return Ok(()),
    };
    let mut path = path;
    if let Some(name) = fields.get(MARK) {
        let header = name.as_str().filter(|name| is_token(name)).ok_or_else(|| Wrong::Name(name.clone()))?;
        let place = path.as_deref().filter(|path| !path.is_empty() && is_plain(fields.get("type")));
        let path = place.ok_or_else(|| Wrong::Place(header.to_owned()))?.clone();
        let header = format!("{HEADER}{}", header.to_ascii_lowercase());
        if params.iter().any(|param| param.header == header) {
            return Err(Wrong::Twice(header));
        }
        params.push(Param { header, path });
    }
    for (key, value) in fields {
        match (key.as_str(), value, &mut path) {
            ("properties", Value::Object(properties), path) => {
                for (name, schema) in properties {
                    match path {
                        Some(path) => {
                            path.push(name.clone());
                            walk(schema, Some(path), params)?;
                            path.pop();
                        }
                        None => walk(schema, None, params)?,
                    }
                }
            }
            // What stands there is no schema.
            ("default" | "examples" | "enum" | "const", ..) => {}
            (_, value, _) => walk(value, None, params)?,
        }
    }
    Ok(())
}

/// Whether a text can be a part of a header's name.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Whether a type is one of those whose values a header can carry; they may be missing.
fn is_plain(kind: Option<&Value>) -> bool {
    let plain = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match kind {
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter(|kind| kind.as_str() != Some("null"));
            kinds.next().is_some_and(plain) && kinds.next().is_none()
        }
        kind => kind.is_some_and(plain),
    }
}

/// The headers of a call with these arguments.
pub(crate) fn headers(params: &[Param], arguments: &Value) -> Headers {
    let header = |param: &Param| Some((param.header.clone(), encoded(&param.said(arguments)?)));
    params.iter().filter_map(header).collect()
}

/// Checks that the headers of a call agree with its arguments. `given` returns all values of a header.
pub(crate) fn check<'a>(
    params: &[Param],
    arguments: &Value,
    given: impl Fn(&str) -> Vec<&'a str>,
) -> Result<(), Differs> {
    let number = |text: &str| text.parse::<f64>().ok();
    for param in params {
        let same = match (param.said(arguments), &given(&param.header)[..]) {
            (None, []) => true,
            (Some(said), [value]) => decoded(value).is_some_and(|value| {
                value == said || number(&value).is_some_and(|value| number(&said) == Some(value))
            }),
            _ => false,
        };
        if !same {
            return Err(Differs(param.header.clone()));
        }
    }
    Ok(())
}

impl Param {
    /// Value of the argument as text; `None` if it is absent.
    fn said(&self, arguments: &Value) -> Option<String> {
        match self.path.iter().try_fold(arguments, |value, name| value.get(name))? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Number(number) => Some(match number.as_f64() {
                Some(whole) if number.is_f64() && whole.fract() == 0.0 && whole.abs() < 9e15 => {
                    format!("{whole:.0}")
                }
                _ => number.to_string(),
            }),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// A text as a header can carry it: as it is, or in base64.
pub(crate) fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// Decodes the value of a header: plain text, or base64 for what a header cannot carry.
pub(crate) fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        Some(base64) => String::from_utf8(STANDARD.decode(base64).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Headers of a request, by name and value.
pub(crate) type Headers = Vec<(String, String)>;

/// Such headers as clients have sent them, by request id. They are forwarded unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent(Arc<Mutex<HashMap<String, Headers>>>);

impl Sent {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Headers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, id: &str, headers: Headers) {
        self.all().insert(id.to_owned(), headers);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Headers> {
        self.all().get(id).cloned()
    }

    pub(crate) fn forget(&self, id: &str) {
        self.all().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "region": {"type": "string", MARK: "Region"},
            "deep": {"type": "object", "properties": {"count": {"type": ["integer", "null"], MARK: "Count"}}},
            "sure": {"type": "boolean", MARK: "Sure", "default": {MARK: "data, not a schema"}},
            "query": {"type": "string"},
            MARK: {"type": "string"},
        }})
    }

    #[test]
    fn what_is_marked_stands_in_headers() {
        let params = declared(&schema()).unwrap();
        let told = |arguments: Value| {
            let mut headers = headers(&params, &arguments);
            headers.sort();
            headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
        };
        let table = [
            (json!({"region": "us-west1", "query": "x"}), "mcp-param-region: us-west1"),
            (json!({"deep": {"count": -7}, "sure": false}), "mcp-param-count: -7\nmcp-param-sure: false"),
            (json!({"deep": {"count": 42.0}}), "mcp-param-count: 42"),
            (json!({"region": "Hello, 世界"}), "mcp-param-region: =?base64?SGVsbG8sIOS4lueVjA==?="),
            (json!({"region": " padded "}), "mcp-param-region: =?base64?IHBhZGRlZCA=?="),
            (json!({"region": "line1\nline2"}), "mcp-param-region: =?base64?bGluZTEKbGluZTI=?="),
            (
                json!({"region": "=?base64?literal?="}),
                "mcp-param-region: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
            ),
            (json!({"region": "", "sure": null}), "mcp-param-region: "),
            (json!({"region": ["a"], "deep": 1}), ""),
            (json!(null), ""),
        ];
        for (arguments, expected) in table {
            assert_eq!(told(arguments.clone()), expected, "{arguments}");
        }
    }

    #[test]
    fn marks_that_cannot_be_followed_are_told() {
        let one = |property: Value| json!({"properties": {"a": property}});
        let text = json!({"type": "string", MARK: "A"});
        let table = [
            one(json!({"type": "string", MARK: ""})),
            one(json!({"type": "string", MARK: "a b"})),
            one(json!({"type": "string", MARK: "a\r\nb"})),
            one(json!({"type": "string", MARK: 7})),
            one(json!({"type": "number", MARK: "A"})),
            one(json!({"type": "object", MARK: "A"})),
            one(json!({MARK: "A"})),
            one(json!({"type": "array", "items": text})),
            one(json!({"oneOf": [text]})),
            json!({"properties": {"a": text, "b": {"type": "string", MARK: "a"}}}),
            json!({"$defs": {"x": text}}),
            json!({"type": "string", MARK: "A"}),
        ];
        for schema in table {
            assert!(declared(&schema).is_err(), "{schema}");
        }
        assert_eq!(declared(&json!({"type": "object"})), Ok(Vec::new()));
    }

    #[test]
    fn headers_must_say_what_the_arguments_say() {
        let params = declared(&schema()).unwrap();
        let checked = |arguments: Value, headers: &[(&str, &'static str)]| {
            let given = |name: &str| {
                headers.iter().filter(|(header, _)| *header == name).map(|(_, value)| *value).collect()
            };
            check(&params, &arguments, given).is_ok()
        };
        const REGION: &str = "mcp-param-region";
        const COUNT: &str = "mcp-param-count";
        type Row = (Value, &'static [(&'static str, &'static str)], bool);
        let table: [Row; 9] = [
            (json!({"region": "é"}), &[(REGION, "=?base64?w6k=?=")], true),
            (json!({"region": "é"}), &[(REGION, "=?base64?w6k?=")], false),
            (json!({"region": "a"}), &[(REGION, "b")], false),
            (json!({"region": "a"}), &[], false),
            (json!({"region": null}), &[], true),
            (json!({}), &[(REGION, "a")], false),
            (json!({"region": "a"}), &[(REGION, "a"), (REGION, "a")], false),
            (json!({"deep": {"count": 42}}), &[(COUNT, "42.0")], true),
            (json!({"query": "x"}), &[("mcp-param-unknown", "x")], true),
        ];
        for (arguments, headers, right) in table {
            assert_eq!(checked(arguments.clone(), headers), right, "{arguments} {headers:?}");
        }
    }
}
