//! What agents' interfaces speak: tools, calls and results, between our types and each vendor's JSON.
//!
//! A host tells its model of some tools, the model calls one, and the host answers. Every vendor spells these three
//! differently. Here is one file per spelling, and nothing but values in and out: no network, no client.
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
pub mod function_call;
pub(crate) mod gemini;
pub(crate) mod mcp;
pub(crate) mod name;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;

pub use arguments::BadArguments;

use crate::request::declared::{Argument, Declared, Takes};
use crate::{Error, Result};
use serde_json::{Map, Value, json};

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name; it may have dots, which a vendor that forbids them gets as `_`.
    pub name: String,
    /// What it does and when to call it.
    pub description: String,
    /// The JSON schema of its arguments, which are an object.
    pub schema: Value,
    /// Whether calling it changes nothing. Only MCP has a place for it.
    pub read_only: bool,
}

impl Tool {
    /// A declared tool as a model is told of it, its name behind `prefix`.
    pub fn declared(declared: &Declared, prefix: &str) -> Tool {
        let property = |argument: &Argument| {
            let mut property = match argument.takes {
                Takes::Text(most) if argument.required => {
                    json!({"type": "string", "minLength": 1, "maxLength": most})
                }
                Takes::Text(most) => json!({"type": "string", "maxLength": most}),
                Takes::AnyText => json!({"type": "string", "minLength": 1}),
                Takes::Choice(texts) => json!({"type": "string", "enum": texts}),
                Takes::Number { least, most, usual } => {
                    let mut number = json!({"type": "integer", "minimum": least, "maximum": most});
                    if let Some(usual) = usual {
                        number["default"] = usual.into();
                    }
                    number
                }
                Takes::Switch => json!({"type": "boolean", "default": false}),
            };
            property["description"] = argument.description.into();
            (argument.name.to_owned(), property)
        };
        let required: Vec<&str> = declared
            .arguments
            .iter()
            .filter(|argument| argument.required)
            .map(|argument| argument.name)
            .collect();
        Tool {
            name: format!("{prefix}{}", declared.name),
            description: declared.description.to_owned(),
            schema: json!({
                "type": "object",
                "properties": declared.arguments.iter().map(property).collect::<Map<String, Value>>(),
                "required": required,
                "additionalProperties": false,
            }),
            read_only: true,
        }
    }
}

/// A call that a model made.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that the answer must name; empty where the wire has none.
    pub id: String,
    /// The name as it was called: [`Wire::tool`] finds the tool.
    pub name: String,
    /// The arguments; what is not a JSON object is kept, with the error that the model should read.
    pub arguments: std::result::Result<Map<String, Value>, BadArguments>,
}

impl ToolCall {
    /// The result that answers this call.
    pub fn answered(&self, text: impl Into<String>) -> ToolResult {
        ToolResult { call_id: self.id.clone(), name: self.name.clone(), text: text.into(), is_error: false }
    }

    /// The result that says why this call failed.
    pub fn failed(&self, text: impl Into<String>) -> ToolResult {
        ToolResult { is_error: true, ..self.answered(text) }
    }
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call; empty if it had none.
    pub call_id: String,
    /// The name as it was called.
    pub name: String,
    /// What the model gets to read: the output, a view of it, an excerpt.
    pub text: String,
    /// Whether the call failed. OpenAI has no place for it, so the text must tell by itself.
    pub is_error: bool,
}

/// One spelling of tools, calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// OpenAI's chat completions, and the many servers that imitate them.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// The Model Context Protocol, where we are the server.
    Mcp,
    /// Records inside the assistant's text, for models that have no native calls.
    FunctionCall,
}

impl Wire {
    /// All there are.
    pub const ALL: [Wire; 6] = [
        Wire::OpenaiChat,
        Wire::OpenaiResponses,
        Wire::Anthropic,
        Wire::Gemini,
        Wire::Mcp,
        Wire::FunctionCall,
    ];

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

    /// The calls in what a model said, in their order; none if it only talked.
    ///
    /// | wire | what it takes |
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
    /// alone. Calls of other kinds, such as those of the vendor's own tools, are left to whoever declared them.
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

    /// The messages that give a model the results of one turn, in the order of their calls.
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

    /// The same for results with their calls: a record inside of text has the arguments of its call too.
    pub fn answers(self, answered: &[(ToolCall, ToolResult)]) -> Vec<Value> {
        match self {
            Wire::FunctionCall if !answered.is_empty() => vec![function_call::answers(answered)],
            _ => self.results(&answered.iter().map(|(_, result)| result.clone()).collect::<Vec<_>>()),
        }
    }

    /// What it is called: `openai-chat` and so on.
    pub fn as_str(self) -> &'static str {
        match self {
            Wire::OpenaiChat => "openai-chat",
            Wire::OpenaiResponses => "openai-responses",
            Wire::Anthropic => "anthropic",
            Wire::Gemini => "gemini",
            Wire::Mcp => "mcp",
            Wire::FunctionCall => "function-call",
        }
    }
}

impl std::fmt::Display for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Wire {
    type Err = Error;

    fn from_str(name: &str) -> Result<Wire> {
        Wire::ALL.into_iter().find(|wire| wire.as_str() == name).ok_or_else(|| {
            let all = Wire::ALL.map(Wire::as_str).join(", ");
            Error::BadSetting(format!("there is no wire '{}': it is one of {all}", crate::printable(name)))
        })
    }
}

/// A schema as all vendors want it: of an object, with its properties even where there are none. A tool without
/// arguments is often declared with less.
fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}

/// The array in a field; an absent one and `null` are empty.
fn list<'a>(value: &'a Value, field: &str, place: &str) -> Result<&'a [Value]> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => Err(wrong(place, field, "a list", other)),
    }
}

/// The text in a field that must be there and say something.
fn text(value: &Value, field: &str, place: &str) -> Result<String> {
    match value.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        None | Some(Value::Null | Value::String(_)) => {
            Err(Error::BadQuery(format!("{place} has no {field}, so the call cannot be answered")))
        }
        Some(other) => Err(wrong(place, field, "a text", other)),
    }
}

fn wrong(place: &str, field: &str, wanted: &str, found: &Value) -> Error {
    Error::BadQuery(format!("{field} of {place} is {}, not {wanted}", kind(found)))
}

/// What a value is, for an error.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

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
    fn every_wire_tells_of_tools_in_its_own_way() {
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
    fn every_wire_gives_results_in_its_own_way() {
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

    /// Where the text of a lone result is.
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
