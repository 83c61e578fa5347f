//! JSON-RPC as MCP uses it: error codes, error responses, and ids that are equal however they are written.

use crate::message::Message;
use serde_json::{Value, json};

/// The message is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// The message is not a request, or comes at the wrong time.
pub(crate) const INVALID_REQUEST: i64 = -32_600;
/// The method is unknown.
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
/// The parameters do not fit the method.
pub(crate) const INVALID_PARAMS: i64 = -32_602;
/// The request failed.
pub(crate) const INTERNAL_ERROR: i64 = -32_603;
/// The headers of a request contradict its message (revision 2026-07-28).
pub(crate) const HEADERS_DIFFER: i64 = -32_020;

/// The first revision without sessions.
pub(crate) const STATELESS_SINCE: &str = "2026-07-28";

/// The field below `_meta` that names the revision of a request (revision 2026-07-28).
pub(crate) const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// The field below `_meta` that names the subscription of a message.
pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Maximum characters of an error message.
const MAX_ERROR_CHARACTERS: usize = 2_000;

/// The one spelling of an id. A server may write an id otherwise than the client did: `1500.0` for `1.5e3`.
pub(crate) fn key(id: &str) -> String {
    // Nearly all ids are small numbers, and are written in one way.
    if id.len() < 16 && id.bytes().all(|byte| byte.is_ascii_digit()) {
        return id.to_owned();
    }
    match serde_json::from_str(id) {
        Ok(Value::Number(number)) if number.is_f64() => match number.as_f64() {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 9e15 => format!("{}", whole as i64),
            _ => number.to_string(),
        },
        Ok(value) => value.to_string(),
        Err(_) => id.to_owned(),
    }
}

/// A response with a result.
pub(crate) fn result(id: &str, result: &str) -> Message {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into()
}

/// An error response.
pub(crate) fn error(id: &str, code: i64, message: &str) -> Message {
    error_with(id, code, message, None)
}

/// An error response with data for programs.
pub(crate) fn error_with(id: &str, code: i64, message: &str, data: Option<Value>) -> Message {
    let message = forebay::shortened(message, MAX_ERROR_CHARACTERS);
    let mut error = json!({ "code": code, "message": message });
    if let (Some(error), Some(data)) = (error.as_object_mut(), data) {
        error.insert("data".to_owned(), data);
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}").into()
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn an_id_is_the_same_however_it_is_written() {
        for same in [["1.5e3", "1500.0"], ["1500", "1500.0"], ["\"\\u00e9\"", "\"é\""], ["-0.0", "0"]] {
            assert_eq!(key(same[0]), key(same[1]), "{same:?}");
        }
        for other in [["1", "\"1\""], ["1.5", "1"], ["\"a\"", "\"b\""]] {
            assert_ne!(key(other[0]), key(other[1]), "{other:?}");
        }
    }
}
