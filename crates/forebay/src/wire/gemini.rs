//! Google's Gemini.

use crate::wire::arguments::{BadArguments, arguments};
use crate::wire::call::{Tool, ToolCall, ToolResult};
use crate::wire::fields::{list, object_schema, text};
use crate::wire::vendor::Wire;
use crate::{Error, Result};
use serde_json::{Map, Value, json};

/// The schema goes into `parametersJsonSchema`. The older field `parameters` is a dialect of OpenAPI that rejects
/// `additionalProperties`, `$ref` and others; a schema translated to it would say less.
pub(crate) fn tool(name: &str, tool: &Tool) -> Value {
    json!({ "name": name, "description": tool.description, "parametersJsonSchema": object_schema(&tool.schema) })
}

/// All functions are one tool here, and a tool without functions is refused.
pub(crate) fn tools(functions: Vec<Value>) -> Value {
    if functions.is_empty() { json!([]) } else { json!([{ "functionDeclarations": functions }]) }
}

pub(crate) fn calls(message: &Value) -> Result<Vec<ToolCall>> {
    if message.get("parts").or(message.get("role")).is_none() {
        let what = "this is not a content: it has neither parts nor role";
        return Err(Error::BadQuery(format!("{what}; of a whole answer, give candidates[0].content")));
    }
    let mut calls = Vec::new();
    for (at, part) in list(message, "parts", "the content")?.iter().enumerate() {
        // The interface takes and some clients give the names of its fields in either style.
        let Some(call) = part.get("functionCall").or(part.get("function_call")) else { continue };
        if call.is_null() {
            continue;
        }
        let place = format!("parts[{at}].functionCall");
        calls.push(ToolCall {
            // Only some models give ids; without them answers go by name and order.
            id: match call.get("id") {
                None | Some(Value::Null) => String::new(),
                Some(_) => text(call, "id", &place)?,
            },
            name: text(call, "name", &place)?,
            arguments: whole_arguments(call),
        });
    }
    Ok(calls)
}

/// Arguments can be streamed. A fragment looks like a call without arguments, which it must not become.
fn whole_arguments(call: &Value) -> Result<Map<String, Value>, BadArguments> {
    let either = |one, other| call.get(one).or(call.get(other)).filter(|value| !value.is_null());
    let fragment = either("partialArgs", "partial_args");
    let goes_on = either("willContinue", "will_continue").is_some_and(|goes_on| *goes_on == true);
    if fragment.is_some() || goes_on {
        Err(BadArguments { text: call.to_string(), why: "it is a fragment of a stream".to_owned() })
    } else {
        arguments(call.get("args"))
    }
}

pub(crate) fn results(results: &[ToolResult]) -> Value {
    let part = |result: &ToolResult| {
        let key = if result.is_error { "error" } else { "output" };
        let mut response = Map::new();
        if !result.call_id.is_empty() {
            response.insert("id".to_owned(), result.call_id.clone().into());
        }
        response.insert("name".to_owned(), Wire::Gemini.name(&result.name).into());
        response.insert("response".to_owned(), json!({ key: result.text }));
        json!({ "functionResponse": response })
    };
    json!({ "role": "user", "parts": results.iter().map(part).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::wire::Wire::Gemini;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn calls_are_the_parts_with_a_function_call() {
        let content = json!({"role": "model", "parts": [
            {"text": "I look."},
            {"functionCall": {"id": "g1", "name": "context_read", "args": {"id": "s/1"}}, "thoughtSignature": "eA=="},
            {"functionCall": {"name": "context_list"}},
            {"function_call": {"id": null, "name": "context_list", "args": null}, "text": null},
            {"functionCall": null, "text": "done"},
        ]});
        check(
            Gemini,
            &[content, json!({"role": "model"})],
            expect![[r#"
                "g1" context_read {"id":"s/1"}
                "" context_list {}
                "" context_list {}
                --
                nothing
            "#]],
        );
    }

    #[test]
    fn a_call_that_cannot_be_answered_is_an_error() {
        let part = |call| json!({"role": "model", "parts": [{"functionCall": call}]});
        check(
            Gemini,
            &[
                json!({"candidates": []}),
                json!({"parts": "text"}),
                part(json!({"args": {}})),
                part(json!({"id": 7, "name": "x"})),
                part(json!({"name": "x", "args": [1]})),
                part(json!({"name": "x", "partialArgs": [{"jsonPath": "$.a"}]})),
                part(json!({"name": "x", "args": {}, "will_continue": true})),
                part(json!({"name": "x", "args": {}, "willContinue": false})),
                part(json!("x")),
            ],
            expect![[r#"
                error: this is not a content: it has neither parts nor role; of a whole answer, give candidates[0].content
                --
                error: parts of the content is a text, not a list
                --
                error: parts[0].functionCall has no name, so the call cannot be answered
                --
                error: id of parts[0].functionCall is a number, not a text
                --
                "" x bad: "[1]": it is a list
                --
                "" x bad: "{\"name\":\"x\",\"partialArgs\":[{\"jsonPath\":\"$.a\"}]}": it is a fragment of a stream
                --
                "" x bad: "{\"name\":\"x\",\"args\":{},\"will_continue\":true}": it is a fragment of a stream
                --
                "" x {}
                --
                error: parts[0].functionCall has no name, so the call cannot be answered
            "#]],
        );
    }
}
