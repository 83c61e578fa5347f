//! OpenAI's chat completions.

use crate::wire::arguments::arguments;
use crate::wire::call::{Tool, ToolCall, ToolResult};
use crate::wire::fields::{list, object_schema, text};
use crate::{Error, Result};
use serde_json::{Value, json};

/// `strict` is left out. It would take only schemas in which every property is required and few keywords are used; it is
/// off by default here, and servers that imitate this interface may not know it.
pub(crate) fn tool(name: &str, tool: &Tool) -> Value {
    json!({
        "type": "function",
        "function": { "name": name, "description": tool.description, "parameters": object_schema(&tool.schema) },
    })
}

pub(crate) fn calls(message: &Value) -> Result<Vec<ToolCall>> {
    if message.get("role").or(message.get("tool_calls")).is_none() {
        let what = "this is not an assistant message: it has neither role nor tool_calls";
        return Err(Error::BadQuery(format!("{what}; of a whole completion, give choices[0].message")));
    }
    let mut calls = Vec::new();
    for (at, call) in list(message, "tool_calls", "the message")?.iter().enumerate() {
        // Imitating servers leave the type out; another one is a tool that is not a function.
        if call.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "function") {
            continue;
        }
        let place = format!("tool_calls[{at}]");
        let function = &call["function"];
        calls.push(ToolCall {
            id: text(call, "id", &place)?,
            name: text(function, "name", &format!("{place}.function"))?,
            arguments: arguments(function.get("arguments")),
        });
    }
    Ok(calls)
}

pub(crate) fn result(result: &ToolResult) -> Value {
    json!({ "role": "tool", "tool_call_id": result.call_id, "content": result.text })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::wire::Wire::OpenaiChat;
    use expect_test::expect;
    use serde_json::{Value, json};

    #[test]
    fn calls_are_the_functions_among_the_tool_calls() {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "context_read", "arguments": "{\"id\": \"s/1\"}"}},
            {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
            {"id": "c3", "function": {"name": "context_list", "arguments": {"limit": 3}}},
            {"id": "c4", "type": "function", "function": {"name": "context_list", "arguments": ""}},
            {"id": "c5", "type": "function", "function": {"name": "context_list"}},
        ]});
        let talk = json!({"role": "assistant", "content": "only talk", "tool_calls": null});
        check(
            OpenaiChat,
            &[message, talk],
            expect![[r#"
                "c1" context_read {"id":"s/1"}
                "c3" context_list {"limit":3}
                "c4" context_list {}
                "c5" context_list {}
                --
                nothing
            "#]],
        );
    }

    #[test]
    fn a_call_that_cannot_be_answered_is_an_error() {
        let call = |call: Value| json!({"role": "assistant", "tool_calls": [call]});
        check(
            OpenaiChat,
            &[
                json!({"choices": []}),
                json!("text"),
                json!({"role": "assistant", "tool_calls": {}}),
                call(json!({"type": "function", "function": {"name": "x", "arguments": "{}"}})),
                call(json!({"id": "", "type": "function", "function": {"name": "x", "arguments": "{}"}})),
                call(json!({"id": 1, "type": "function", "function": {"name": "x", "arguments": "{}"}})),
                call(json!({"id": "c", "type": "function", "function": {"arguments": "{}"}})),
                call(json!({"id": "c", "type": "function"})),
                call(json!({"id": "c", "function": {"name": "x", "arguments": "{\"a\": "}})),
                call(json!({"id": "c", "type": "function", "function": {"name": "x", "arguments": 7}})),
                call(json!(null)),
            ],
            expect![[r#"
                error: this is not an assistant message: it has neither role nor tool_calls; of a whole completion, give choices[0].message
                --
                error: this is not an assistant message: it has neither role nor tool_calls; of a whole completion, give choices[0].message
                --
                error: tool_calls of the message is an object, not a list
                --
                error: tool_calls[0] has no id, so the call cannot be answered
                --
                error: tool_calls[0] has no id, so the call cannot be answered
                --
                error: id of tool_calls[0] is a number, not a text
                --
                error: tool_calls[0].function has no name, so the call cannot be answered
                --
                error: tool_calls[0].function has no name, so the call cannot be answered
                --
                "c" x bad: "{\"a\": ": EOF while parsing a value at line 1 column 6
                --
                "c" x bad: "7": it is a number
                --
                error: tool_calls[0] has no id, so the call cannot be answered
            "#]],
        );
    }
}
