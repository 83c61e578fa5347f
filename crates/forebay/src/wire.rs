//! Tools, calls and results in the JSON of each vendor's API.
//!
//! A host declares tools to its model, the model calls one, and the host answers with its result. Every vendor has its
//! own JSON for these three. There is one file per vendor, with values in and values out: no network, no client.
//!
//! ```
//! use forebay::wire::{Tool, Wire};
//! use serde_json::json;
//!
//! let tools = [Tool {
//!     name: "context.tail".into(),
//!     description: "Reads the end of an output.".into(),
//!     schema: json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}),
//!     read_only: true,
//! }];
//! let wire = Wire::Anthropic;
//! assert_eq!(wire.tools(&tools)[0]["name"], "context_tail");
//!
//! let answer = json!({"role": "assistant", "content": [
//!     {"type": "tool_use", "id": "t1", "name": "context_tail", "input": {"id": "s/1"}},
//! ]});
//! for call in wire.calls(&answer)? {
//!     let tool = wire.tool(&tools, &call.name);
//!     assert_eq!(tool.map(|tool| tool.name.as_str()), Some("context.tail"));
//!     assert_eq!(wire.results(&[call.answered("the end")])[0]["content"][0]["tool_use_id"], "t1");
//! }
//! # Ok::<(), forebay::Error>(())
//! ```

pub(crate) mod anthropic;
pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod fields;
pub mod function_call;
pub(crate) mod gemini;
pub(crate) mod mcp;
pub(crate) mod name;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod vendor;

pub use arguments::BadArguments;
pub use call::{Tool, ToolCall, ToolResult};
pub use vendor::Wire;

use crate::Result;
use serde_json::Value;

impl Wire {
    /// The value of the field `tools`: of a request, or for MCP of the result of `tools/list`. Models without native
    /// calls have no such field; their host puts the list into the prompt.
    pub fn tools(self, tools: &[Tool]) -> Value {
        let names = self.names(tools);
        let each = |tool: fn(&str, &Tool) -> Value| -> Vec<Value> {
            names.iter().zip(tools).map(|(name, it)| tool(name, it)).collect()
        };
        match self {
            Wire::OpenaiChat => each(openai_chat::tool).into(),
            Wire::OpenaiResponses => each(openai_responses::tool).into(),
            Wire::Anthropic => each(anthropic::tool).into(),
            Wire::Gemini => gemini::tools(each(gemini::tool)),
            Wire::Mcp => each(mcp::tool).into(),
            Wire::FunctionCall => each(function_call::tool).into(),
        }
    }

    /// The calls in a message of a model, in their order.
    ///
    /// | wire | message |
    /// |---|---|
    /// | `openai-chat` | an assistant message |
    /// | `openai-responses` | a response, its `output`, or one item of that |
    /// | `anthropic` | an assistant message, which the whole answer is |
    /// | `gemini` | the `content` of a candidate |
    /// | `mcp` | a request `tools/call`, or its `params` |
    /// | `function-call` | a text, or an assistant message |
    ///
    /// A call without a name, or without the id its answer must have, makes the whole message an error: the vendor
    /// takes no next message that leaves a call unanswered. Arguments that cannot be used are an error of their call
    /// alone. Calls of other kinds, such as those of the vendor's own tools, are skipped.
    pub fn calls(self, message: &Value) -> Result<Vec<ToolCall>> {
        match self {
            Wire::OpenaiChat => openai_chat::calls(message),
            Wire::OpenaiResponses => openai_responses::calls(message),
            Wire::Anthropic => anthropic::calls(message),
            Wire::Gemini => gemini::calls(message),
            Wire::Mcp => mcp::calls(message),
            Wire::FunctionCall => function_call::calls(message),
        }
    }

    /// The messages with the results of one turn, in the order of their calls.
    ///
    /// Anthropic and Gemini want all results of a turn in one message, the others one each. For MCP each is the
    /// `result` of the response to its request.
    pub fn results(self, results: &[ToolResult]) -> Vec<Value> {
        let together = |message: fn(&[ToolResult]) -> Value| match results {
            [] => Vec::new(),
            _ => vec![message(results)],
        };
        match self {
            Wire::OpenaiChat => results.iter().map(openai_chat::result).collect(),
            Wire::OpenaiResponses => results.iter().map(openai_responses::result).collect(),
            Wire::Anthropic => together(anthropic::results),
            Wire::Gemini => together(gemini::results),
            Wire::Mcp => results.iter().map(mcp::result).collect(),
            Wire::FunctionCall => together(function_call::results),
        }
    }

    /// Like [`results`](Wire::results), with the calls: a record inside a text has the arguments of its call too.
    pub fn answers(self, answered: &[(ToolCall, ToolResult)]) -> Vec<Value> {
        match self {
            Wire::FunctionCall if !answered.is_empty() => vec![function_call::answers(answered)],
            _ => self.results(&answered.iter().map(|(_, result)| result.clone()).collect::<Vec<_>>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use serde_json::{Map, json};

    /// The calls in a message or the error, as lines.
    pub(super) fn said(wire: Wire, message: &Value) -> String {
        match wire.calls(message) {
            Err(error) => format!("error: {error}\n"),
            Ok(calls) if calls.is_empty() => "nothing\n".to_owned(),
            Ok(calls) => calls
                .into_iter()
                .map(|ToolCall { id, name, arguments }| match arguments {
                    Ok(object) => format!("{id:?} {name} {}\n", Value::Object(object)),
                    Err(bad) => format!("{id:?} {name} bad: {:?}: {}\n", bad.text, bad.why),
                })
                .collect(),
        }
    }

    pub(super) fn check(wire: Wire, messages: &[Value], calls: Expect) {
        calls.assert_eq(&messages.iter().map(|message| said(wire, message)).collect::<Vec<_>>().join("--\n"));
    }

    fn for_all(lines: impl Fn(Wire) -> Vec<Value>) -> String {
        let of = |wire| lines(wire).iter().fold(format!("{wire}\n"), |all, line| format!("{all}  {line}\n"));
        Wire::ALL.map(of).concat()
    }

    #[test]
    fn a_wire_is_known_by_its_name() {
        for wire in Wire::ALL {
            assert_eq!(wire.to_string().parse::<Wire>().unwrap(), wire);
        }
        let error = "openai".parse::<Wire>().unwrap_err().to_string();
        assert!(error.starts_with("there is no wire 'openai': it is one of openai-chat, "), "{error}");
    }

    #[test]
    fn every_wire_declares_tools_in_its_own_form() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": false});
        let tool = |name: &str, schema, read_only| Tool {
            name: name.to_owned(),
            description: format!("Does {name}."),
            schema,
            read_only,
        };
        let tools = [tool("context.read", schema, true), tool("stop", json!({}), false)];
        let lines = |wire: Wire| wire.tools(&tools).as_array().unwrap().clone();
        expect![[r#"
            openai-chat
              {"type":"function","function":{"name":"context_read","description":"Does context.read.","parameters":{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}}}
              {"type":"function","function":{"name":"stop","description":"Does stop.","parameters":{"type":"object","properties":{}}}}
            openai-responses
              {"type":"function","name":"context_read","description":"Does context.read.","parameters":{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false},"strict":false}
              {"type":"function","name":"stop","description":"Does stop.","parameters":{"type":"object","properties":{}},"strict":false}
            anthropic
              {"name":"context_read","description":"Does context.read.","input_schema":{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}}
              {"name":"stop","description":"Does stop.","input_schema":{"type":"object","properties":{}}}
            gemini
              {"functionDeclarations":[{"name":"context_read","description":"Does context.read.","parametersJsonSchema":{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}},{"name":"stop","description":"Does stop.","parametersJsonSchema":{"type":"object","properties":{}}}]}
            mcp
              {"name":"context.read","description":"Does context.read.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false},"annotations":{"readOnlyHint":true}}
              {"name":"stop","description":"Does stop.","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":false}}
            function-call
              {"name":"context.read","description":"Does context.read.","parameters":{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}}
              {"name":"stop","description":"Does stop.","parameters":{"type":"object","properties":{}}}
        "#]].assert_eq(&for_all(lines));
        for wire in Wire::ALL {
            assert_eq!(wire.tools(&[]), json!([]), "{wire}");
        }
    }

    #[test]
    fn every_wire_writes_results_in_its_own_form() {
        let call =
            |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: Ok(Map::new()) };
        let results =
            [call("c1", "context.read").answered("line 1\n\"2\""), call("c2", "stop").failed("it cannot")];
        expect![[r#"
            openai-chat
              {"role":"tool","tool_call_id":"c1","content":"line 1\n\"2\""}
              {"role":"tool","tool_call_id":"c2","content":"it cannot"}
            openai-responses
              {"type":"function_call_output","call_id":"c1","output":"line 1\n\"2\""}
              {"type":"function_call_output","call_id":"c2","output":"it cannot"}
            anthropic
              {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"line 1\n\"2\"","is_error":false},{"type":"tool_result","tool_use_id":"c2","content":"it cannot","is_error":true}]}
            gemini
              {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"context_read","response":{"output":"line 1\n\"2\""}}},{"functionResponse":{"id":"c2","name":"stop","response":{"error":"it cannot"}}}]}
            mcp
              {"content":[{"type":"text","text":"line 1\n\"2\""}],"isError":false,"resultType":"complete"}
              {"content":[{"type":"text","text":"it cannot"}],"isError":true,"resultType":"complete"}
            function-call
              {"role":"assistant","content":"<function_call>{\"id\":\"c1\",\"name\":\"context.read\",\"response\":\"line 1\\n\\\"2\\\"\"}</function_call>\n<function_call>{\"id\":\"c2\",\"name\":\"stop\",\"is_error\":true,\"response\":\"it cannot\"}</function_call>"}
        "#]].assert_eq(&for_all(|wire| wire.results(&results)));
        for wire in Wire::ALL {
            assert_eq!(wire.results(&[]), [json!(null); 0], "{wire}");
        }
    }

    #[test]
    fn a_call_without_an_id_is_answered_without_one() {
        let call = ToolCall { id: String::new(), name: "stop".into(), arguments: Ok(Map::new()) };
        let results = [call.answered("done")];
        expect![[
            r#"{"role":"user","parts":[{"functionResponse":{"name":"stop","response":{"output":"done"}}}]}"#
        ]]
        .assert_eq(&Wire::Gemini.results(&results)[0].to_string());
        expect![[r#"{"role":"assistant","content":"<function_call>{\"name\":\"stop\",\"response\":\"done\"}</function_call>"}"#]].assert_eq(&Wire::FunctionCall.results(&results)[0].to_string());
    }

    /// The place of the text of a lone result.
    fn result_text(wire: Wire, message: &Value) -> Option<String> {
        let at = match wire {
            Wire::OpenaiChat => "/content",
            Wire::OpenaiResponses => "/output",
            Wire::Anthropic => "/content/0/content",
            Wire::Gemini => "/parts/0/functionResponse/response/output",
            Wire::Mcp => "/content/0/text",
            Wire::FunctionCall => {
                let text = message["content"].as_str()?;
                return match function_call::segments(text).as_slice() {
                    [function_call::Segment::Record { result, .. }] => {
                        result.clone().map(|result| result.text)
                    }
                    _ => None,
                };
            }
        };
        Some(message.pointer(at)?.as_str()?.to_owned())
    }

    /// Any JSON, with the field names of all wires in it so that it is now and then nearly right.
    fn messages() -> impl Strategy<Value = Value> {
        let words = "role content parts output type function_call tool_use function tool_calls id name call_id \
                     arguments input args functionCall method tools/call params { {} </function_call> \
                     <function_call>{\"name\":\"x\"}";
        let word = proptest::sample::select(words.split(' ').collect::<Vec<_>>());
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            word.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((word.clone(), inner), 0..6).prop_map(|fields| fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_text_comes_through_any_wire(
            text in prop_oneof![
                any::<String>(),
                proptest::collection::vec(prop_oneof![
                    Just("</function_call>"), Just("<function_call>{"), Just("\\ud800"), Just("\\"), Just("\""),
                    Just("\0\u{1}\u{1b}\u{7f}\u{85}"), Just("\u{FFFE}\u{2028}"), Just("🎉"), Just("\r\n"),
                ], 0..12).prop_map(|parts| parts.concat()),
            ],
        ) {
            let call = ToolCall { id: "c".into(), name: "x".into(), arguments: Ok(Map::new()) };
            for wire in Wire::ALL {
                let sent = wire.results(&[call.answered(text.as_str())])[0].to_string();
                let read = result_text(wire, &serde_json::from_str(&sent).unwrap());
                prop_assert_eq!(read.as_deref(), Some(text.as_str()), "{}: {}", wire, sent);
            }
        }

        #[test]
        fn no_message_is_too_strange_to_be_read_or_refused(message in messages()) {
            for wire in Wire::ALL {
                for call in wire.calls(&message).unwrap_or_default() {
                    prop_assert!(!call.name.is_empty(), "{}: {}", wire, message);
                }
            }
        }
    }
}
