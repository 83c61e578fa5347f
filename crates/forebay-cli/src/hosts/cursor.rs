//! Cursor: a hook after each tool, which can replace only the results of MCP tools.

use super::entries::{Entry, What};
use super::{Heard, Hooked, Host, HostFile, Place, ToolResult, Way, Whole, text, text_of_blocks};
use serde_json::{Value, json};

pub(crate) const HOST: Host = Host {
    name: "cursor",
    title: "Cursor",
    program: "cursor-agent",
    checked: None,
    way: Way::Hook(Hooked { hear, answer, most_bytes: 38_000, keeps_path: true, files, sample, shown }),
    notes: &[
        "Cursor lets a hook replace the results of MCP tools only; its shell and its own tools cannot be covered",
        "this host was never run in our tests: the forms are those of its documentation",
    ],
    traces: &[".cursor"],
};

fn hear(event: &Value) -> Heard {
    match text(event, "hook_event_name") {
        Some("postToolUse") => {}
        Some(_) => return Heard::Nothing,
        None => return Heard::Unknown("hook_event_name"),
    }
    let Some(session) = text(event, "conversation_id") else { return Heard::Unknown("conversation_id") };
    let Some(name) = text(event, "tool_name") else { return Heard::Unknown("tool_name") };
    let Some(name) = name.strip_prefix("MCP:") else { return Heard::Nothing };
    let Some(blocks) = blocks(event) else { return Heard::Unknown("tool_output") };
    let Some(output) = text_of_blocks(&blocks) else { return Heard::Nothing };
    let (server, tool) = match name.split_once(':') {
        Some((server, tool)) => (Some(server.to_owned()), tool),
        None => (None, name),
    };
    Heard::Result(Box::new(ToolResult {
        session: session.to_owned(),
        call: text(event, "tool_use_id").map(str::to_owned),
        tool: tool.to_owned(),
        server,
        args: event.get("tool_input").cloned().unwrap_or_default(),
        whole: Whole::text(output),
        exit: None,
        shown: None,
        most_tokens: None,
        most_bytes: None,
    }))
}

/// The content blocks of an MCP result, which is an object or its JSON as text.
fn blocks(event: &Value) -> Option<Vec<Value>> {
    let parsed;
    let output = match event.get("tool_output")? {
        Value::String(json) => {
            parsed = serde_json::from_str(json).unwrap_or(Value::Null);
            if parsed.is_null() {
                return Some(vec![json!({"type": "text", "text": json})]);
            }
            &parsed
        }
        output => output,
    };
    match output {
        Value::Array(blocks) => Some(blocks.clone()),
        Value::Object(result) => result.get("content")?.as_array().cloned(),
        _ => None,
    }
}

fn answer(_: &Value, view: &str) -> Value {
    json!({"updated_mcp_tool_output": {"content": [{"type": "text", "text": view}]}})
}

fn shown(answer: &Value) -> Option<&str> {
    text(&answer["updated_mcp_tool_output"]["content"][0], "text")
}

fn files(place: &Place) -> Vec<HostFile> {
    let handler = json!({"command": place.hook_command(HOST.name)});
    let entries = vec![
        Entry { path: &["version"], what: What::Needed(1.into()) },
        Entry { path: &["hooks", "postToolUse"], what: What::Item(handler) },
    ];
    vec![HostFile::entries(place.base().join(".cursor/hooks.json"), place.base(), entries)]
}

fn sample(output: &str) -> Value {
    json!({
        "conversation_id": "doctor", "hook_event_name": "postToolUse", "tool_name": "MCP:files:list",
        "tool_use_id": "call", "tool_input": {},
        "tool_output": json!({"content": [{"type": "text", "text": output}]}).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events in the forms of the documentation, with the output they hold.
    #[test]
    fn only_results_of_mcp_tools_are_taken() {
        let event = |tool: &str, output: Value| {
            json!({
                "conversation_id": "c", "generation_id": "g", "hook_event_name": "postToolUse", "cursor_version": "2.4",
                "tool_name": tool, "tool_input": {}, "tool_output": output, "tool_use_id": "t",
            })
        };
        let result = json!({"content": [{"type": "text", "text": "x"}]});
        let table = [
            (event("MCP:files:list", json!(result.to_string())), Some("x")),
            (event("MCP:files:list", result), Some("x")),
            (event("MCP:list", json!("plain")), Some("plain")),
            (event("MCP:show", json!({"content": [{"type": "image", "data": ""}]})), None),
            (event("Shell", json!("1\n2")), None),
        ];
        for (event, expected) in table {
            match (hear(&event), expected) {
                (Heard::Result(result), Some(output)) => {
                    assert_eq!(result.whole, Whole::text(output), "{event}")
                }
                (Heard::Nothing, None) => {}
                _ => panic!("{event}"),
            }
        }
    }
}
