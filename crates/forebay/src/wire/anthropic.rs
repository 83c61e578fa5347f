//! Anthropic's messages.

use crate::wire::arguments::arguments;
use crate::wire::call::{Tool, ToolCall, ToolResult};
use crate::wire::fields::{list, object_schema, text};
use crate::{Error, Result};
use serde_json::{Value, json};

pub(crate) fn tool(name: &str, tool: &Tool) -> Value {
    json!({ "name": name, "description": tool.description, "input_schema": object_schema(&tool.schema) })
}

pub(crate) fn calls(message: &Value) -> Result<Vec<ToolCall>> {
    let blocks = match message.get("content") {
        None => return Err(Error::BadQuery("this is not a message: it has no content".to_owned())),
        Some(Value::String(_)) => return Ok(Vec::new()),
        Some(_) => list(message, "content", "the message")?,
    };
    let mut calls = Vec::new();
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| block["type"] == "tool_use") {
        let place = format!("content[{at}]");
        calls.push(ToolCall {
            id: text(block, "id", &place)?,
            name: text(block, "name", &place)?,
            arguments: arguments(block.get("input")),
        });
    }
    Ok(calls)
}

/// One message, because the results of a turn that come in several teach the model not to make calls side by side.
pub(crate) fn results(results: &[ToolResult]) -> Value {
    let block = |result: &ToolResult| {
        json!({
            "type": "tool_result",
            "tool_use_id": result.call_id,
            "content": result.text,
            "is_error": result.is_error,
        })
    };
    json!({ "role": "user", "content": results.iter().map(block).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::wire::Wire::Anthropic;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn calls_are_the_blocks_of_type_tool_use() {
        let message = json!({"role": "assistant", "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "context_read", "input": {"id": "s/1", "limit": 10}},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "tool_use", "id": "toolu_2", "name": "context_list", "input": {}},
        ]});
        check(
            Anthropic,
            &[message, json!({"content": "only talk"}), json!({"content": []})],
            expect![[r#"
                "toolu_1" context_read {"id":"s/1","limit":10}
                "toolu_2" context_list {}
                --
                nothing
                --
                nothing
            "#]],
        );
    }

    #[test]
    fn a_call_that_cannot_be_answered_is_an_error() {
        let block = |block| json!({"role": "assistant", "content": [block]});
        check(
            Anthropic,
            &[
                json!({"role": "assistant"}),
                json!([]),
                json!({"content": 7}),
                block(json!({"type": "tool_use", "name": "x", "input": {}})),
                block(json!({"type": "tool_use", "id": 7, "name": "x", "input": {}})),
                block(json!({"type": "tool_use", "id": "t", "input": {}})),
                block(json!({"type": "tool_use", "id": "t", "name": "x", "input": [1]})),
                block(json!({"type": "tool_use", "id": "t", "name": "x", "input": "{\"a\": "})),
                block(json!(null)),
            ],
            expect![[r#"
                error: this is not a message: it has no content
                --
                error: this is not a message: it has no content
                --
                error: content of the message is a number, not a list
                --
                error: content[0] has no id, so the call cannot be answered
                --
                error: id of content[0] is a number, not a text
                --
                error: content[0] has no name, so the call cannot be answered
                --
                "t" x bad: "[1]": it is a list
                --
                "t" x bad: "{\"a\": ": EOF while parsing a value at line 1 column 6
                --
                nothing
            "#]],
        );
    }
}
