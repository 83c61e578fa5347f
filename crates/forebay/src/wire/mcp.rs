//! The Model Context Protocol, seen from the server.

use crate::wire::arguments::arguments;
use crate::wire::call::{Tool, ToolCall, ToolResult};
use crate::wire::fields::{object_schema, text, wrong};
use crate::{Error, Result};
use serde_json::{Value, json};

pub(crate) fn tool(name: &str, tool: &Tool) -> Value {
    json!({
        "name": name,
        "description": tool.description,
        "inputSchema": object_schema(&tool.schema),
        "annotations": { "readOnlyHint": tool.read_only },
    })
}

pub(crate) fn calls(message: &Value) -> Result<Vec<ToolCall>> {
    let (id, params, place) = match message.get("method") {
        None => (String::new(), message, "the params"),
        Some(method) if method == "tools/call" => (request_id(message)?, &message["params"], "params"),
        Some(_) => return Ok(Vec::new()),
    };
    Ok(vec![ToolCall {
        id,
        name: text(params, "name", place)?,
        arguments: arguments(params.get("arguments")),
    }])
}

/// The id of a request as a text. The sender of the response must repeat it unchanged.
fn request_id(request: &Value) -> Result<String> {
    match request.get("id") {
        Some(Value::String(id)) => Ok(id.clone()),
        Some(Value::Number(id)) => Ok(id.to_string()),
        None | Some(Value::Null) => {
            Err(Error::BadQuery("the request has no id, so the call cannot be answered".to_owned()))
        }
        Some(other) => Err(wrong("the request", "id", "a text or a number", other)),
    }
}

/// Only text, no `structuredContent`: where there is one, several hosts show the model nothing else. `resultType` is
/// required since revision 2026-07-28, and older clients skip it.
pub(crate) fn result(result: &ToolResult) -> Value {
    json!({
        "content": [{ "type": "text", "text": result.text }],
        "isError": result.is_error,
        "resultType": "complete",
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::wire::Wire::Mcp;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn a_call_is_a_request_or_its_params() {
        let params =
            json!({"name": "context.read", "arguments": {"id": "s/1"}, "_meta": {"progressToken": 1}});
        let request = |id, method| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        check(
            Mcp,
            &[
                request(json!(7), "tools/call"),
                request(json!("r-7"), "tools/call"),
                request(json!(8), "tools/list"),
                params.clone(),
                json!({"name": "context.list"}),
            ],
            expect![[r#"
                "7" context.read {"id":"s/1"}
                --
                "r-7" context.read {"id":"s/1"}
                --
                nothing
                --
                "" context.read {"id":"s/1"}
                --
                "" context.list {}
            "#]],
        );
    }

    #[test]
    fn a_call_that_cannot_be_answered_is_an_error() {
        check(
            Mcp,
            &[
                json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "x"}}),
                json!({"jsonrpc": "2.0", "id": [1], "method": "tools/call", "params": {"name": "x"}}),
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}),
                json!({"name": 7}),
                json!("x"),
                json!({"name": "x", "arguments": "a=1"}),
            ],
            expect![[r#"
                error: the request has no id, so the call cannot be answered
                --
                error: id of the request is a list, not a text or a number
                --
                error: params has no name, so the call cannot be answered
                --
                error: name of the params is a number, not a text
                --
                error: the params has no name, so the call cannot be answered
                --
                "" x bad: "a=1": expected value at line 1 column 1
            "#]],
        );
    }
}
