//! OpenAI's responses.

use crate::wire::arguments::arguments;
use crate::wire::call::{Tool, ToolCall, ToolResult};
use crate::wire::fields::{list, object_schema, text};
use crate::{Error, Result};
use serde_json::{Value, json};

/// `strict` must be off explicitly: without it, this API rewrites the schema so that every property is required, and
/// the model then has to make up a value for each optional argument.
pub(crate) fn tool(name: &str, tool: &Tool) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": tool.description,
        "parameters": object_schema(&tool.schema),
        "strict": false,
    })
}

pub(crate) fn calls(message: &Value) -> Result<Vec<ToolCall>> {
    let items = match message {
        Value::Array(items) => items,
        _ if message.get("output").is_some() && message.get("type").is_none() => {
            list(message, "output", "the response")?
        }
        _ if message.get("type").is_some() => std::slice::from_ref(message),
        _ => {
            let what = "this is neither a response nor an item of its output: it has neither output nor type";
            return Err(Error::BadQuery(what.to_owned()));
        }
    };
    let mut calls = Vec::new();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| item["type"] == "function_call") {
        let place = format!("output[{at}]");
        calls.push(ToolCall {
            // The item has an `id`, too, but answers go by `call_id`.
            id: text(item, "call_id", &place)?,
            name: text(item, "name", &place)?,
            arguments: arguments(item.get("arguments")),
        });
    }
    Ok(calls)
}

pub(crate) fn result(result: &ToolResult) -> Value {
    json!({ "type": "function_call_output", "call_id": result.call_id, "output": result.text })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::wire::Wire::OpenaiResponses;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn calls_are_found_in_a_response_its_output_and_an_item() {
        let call = json!({
            "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "context_read", "arguments": "{\"id\": \"s/1\"}"
        });
        let output =
            json!([{"type": "reasoning", "summary": []}, call, {"type": "web_search_call", "id": "w"}]);
        let messages = [
            json!({"object": "response", "output": output}),
            output,
            call,
            json!({"type": "message", "content": []}),
            json!({"output": null}),
        ];
        check(
            OpenaiResponses,
            &messages,
            expect![[r#"
                "c1" context_read {"id":"s/1"}
                --
                "c1" context_read {"id":"s/1"}
                --
                "c1" context_read {"id":"s/1"}
                --
                nothing
                --
                nothing
            "#]],
        );
    }

    #[test]
    fn a_call_that_cannot_be_answered_is_an_error() {
        check(
            OpenaiResponses,
            &[
                json!({}),
                json!(null),
                json!({"output": "text"}),
                json!({"type": "function_call", "id": "fc_1", "name": "x", "arguments": "{}"}),
                json!({"type": "function_call", "call_id": "c", "name": ["x"], "arguments": "{}"}),
                json!({"type": "function_call", "call_id": "c", "name": "x", "arguments": "{\"a\": \"cut"}),
            ],
            expect![[r#"
                error: this is neither a response nor an item of its output: it has neither output nor type
                --
                error: this is neither a response nor an item of its output: it has neither output nor type
                --
                error: output of the response is a text, not a list
                --
                error: output[0] has no call_id, so the call cannot be answered
                --
                error: name of output[0] is a list, not a text
                --
                "c" x bad: "{\"a\": \"cut": EOF while parsing a string at line 1 column 10
            "#]],
        );
    }
}
