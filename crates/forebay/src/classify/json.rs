//! JSON as text: where values begin and end, and where a path leads.

pub(crate) mod locate;
pub(crate) mod records;
pub(crate) mod scan;

/// The path to the member of an object that has this key.
pub(crate) fn member(path: &str, key: &str) -> String {
    if !is_identifier(key) {
        format!("{path}[{}]", serde_json::Value::from(key))
    } else if path == "." {
        format!(".{key}")
    } else {
        format!("{path}.{key}")
    }
}

pub(crate) fn is_identifier(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
