//! JSON as text: the beginning and end of values, and the target of a path.

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
