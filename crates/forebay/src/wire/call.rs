//! Tools, calls and results, apart from any vendor's JSON.

use crate::request::declared::{Argument, Declared, Takes};
use crate::wire::arguments::BadArguments;
use serde_json::{Map, Value, json};

/// A tool in the form for models.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name. It may have dots; for a vendor that forbids them they become `_`.
    pub name: String,
    /// Purpose, and when to call it.
    pub description: String,
    /// JSON schema of its arguments, which are an object.
    pub schema: Value,
    /// Whether a call changes nothing. Only MCP has a field for it.
    pub read_only: bool,
}

impl Tool {
    /// A declared tool in the form for models, with `prefix` before its name.
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
    /// Id that the result must name; empty if the wire has none.
    pub id: String,
    /// The name as it was called: `Wire::tool` finds the tool.
    pub name: String,
    /// The arguments, or the text that is not a JSON object with an error for the model.
    pub arguments: Result<Map<String, Value>, BadArguments>,
}

impl ToolCall {
    /// The result of this call.
    pub fn answered(&self, text: impl Into<String>) -> ToolResult {
        ToolResult { call_id: self.id.clone(), name: self.name.clone(), text: text.into(), is_error: false }
    }

    /// The result of this call when it failed; `text` says why.
    pub fn failed(&self, text: impl Into<String>) -> ToolResult {
        ToolResult { is_error: true, ..self.answered(text) }
    }
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call; empty if it had none.
    pub call_id: String,
    /// The name as it was called.
    pub name: String,
    /// Text for the model: the output, a view of it or an excerpt.
    pub text: String,
    /// Whether the call failed. OpenAI's messages have no field for it, so the text must say so too.
    pub is_error: bool,
}
