//! Prints what every wire makes of tools and results, and reads calls: what `tests/vendor` holds against the
//! vendors' own types.
//!
//! Without anything on its input it prints one JSON object, wire by wire. With a JSON object of messages, wire by wire,
//! it prints the calls that it reads in each.

use forebay::tools;
use forebay::wire::{Tool, ToolCall, Wire};
use serde_json::{Map, Value, json};
use std::io::{Read, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let printed = match input.trim() {
        "" => written(),
        messages => read(&serde_json::from_str(messages)?)?,
    };
    writeln!(std::io::stdout(), "{printed:#}")?;
    Ok(())
}

/// Messages to send: the tools, and the results of a turn with two calls.
fn written() -> Value {
    let call =
        |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: Ok(Map::new()) };
    let results = [
        call("call_1", "context.search").answered("a.rs:1: fn main() {\n\u{1b}[0m\"</function_call>\"\n"),
        call("call_2", "context.list").failed("there is no output s/9 (any more)"),
    ];
    let of = |wire: Wire| json!({ "tools": wire.tools(&tools()), "results": wire.results(&results) });
    Wire::ALL.into_iter().map(|wire| (wire.to_string(), of(wire))).collect()
}

/// The calls in a message of each wire, each with the tool that is meant.
fn read(messages: &Map<String, Value>) -> Result<Value, forebay::Error> {
    let mut read = Map::new();
    for (wire, message) in messages {
        let wire: Wire = wire.parse()?;
        let one = |call: ToolCall| {
            json!({
                "id": call.id,
                "tool": wire.tool(&tools(), &call.name).map(|tool| tool.name.clone()),
                "arguments": call.arguments.as_ref().ok(),
                "error": call.arguments.as_ref().err().map(ToString::to_string),
            })
        };
        read.insert(wire.to_string(), wire.calls(message)?.into_iter().map(one).collect());
    }
    Ok(Value::Object(read))
}

/// Two tools with all that a schema may have, and the ones that there are.
fn tools() -> Vec<Tool> {
    let search = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "id": { "type": "string", "minLength": 1, "description": "The output." },
            "pattern": { "type": "string", "maxLength": 1000 },
            "show": {
                "type": "object",
                "properties": {
                    "order": { "enum": ["line", "worth"], "default": "line" },
                    "around": { "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "null" }] },
                },
                "additionalProperties": false,
            },
        },
        "required": ["id", "pattern"],
        "additionalProperties": false,
    });
    let invented = [
        Tool {
            name: "context.search".into(),
            description: "Searches one output.".into(),
            schema: search,
            read_only: true,
        },
        Tool {
            name: "context.list".into(),
            description: "Lists the outputs of this session.".into(),
            schema: json!({ "type": "object" }),
            read_only: true,
        },
    ];
    let ours = tools::own(tools::PREFIX).into_iter().chain(tools::context());
    invented.into_iter().chain(ours.filter(|tool| tool.name != "context.list")).collect()
}
