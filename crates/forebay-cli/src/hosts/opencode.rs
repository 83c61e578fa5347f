//! OpenCode: a plugin, which passes the results of tools to this program.
//!
//! The event and the answer have the form of our plugin, `opencode.js`. A large output is cut before the plugin gets
//! it, and OpenCode stores all of it in a file.

use super::{
    FILE_TOKENS, Heard, Hooked, Host, HostFile, Place, Scope, ToolResult, Way, Whole, text, text_of_blocks,
};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) const HOST: Host = Host {
    name: "opencode",
    title: "OpenCode",
    program: "opencode",
    checked: Some("1.18.33"),
    way: Way::Hook(Hooked { hear, answer, most_bytes: 45_000, keeps_path: true, files, sample, shown }),
    notes: &[
        "results of all tools, MCP tools included, go through a plugin file",
        "a file that is read by range is never folded",
    ],
    traces: &[".config/opencode", ".local/share/opencode"],
};

/// Source of the plugin, with a placeholder for the program.
const PLUGIN: &str = include_str!("opencode.js");

fn hear(event: &Value) -> Heard {
    match text(event, "event") {
        Some("after") => {}
        Some(_) => return Heard::Nothing,
        None => return Heard::Unknown("event"),
    }
    let Some(session) = text(event, "session") else { return Heard::Unknown("session") };
    let Some(tool) = text(event, "tool") else { return Heard::Unknown("tool") };
    let args = event.get("args").cloned().unwrap_or_default();
    let result = &event["output"];
    let output = match (result.get("output"), result.get("content")) {
        (Some(Value::String(output)), _) => output.clone(),
        (_, Some(Value::Array(blocks))) => match text_of_blocks(blocks) {
            Some(output) => output,
            None => return Heard::Nothing,
        },
        _ => return Heard::Unknown("output"),
    };
    let is_file = tool == "read";
    if is_file && ["offset", "limit"].iter().any(|key| args.get(key).is_some_and(|value| !value.is_null())) {
        return Heard::Nothing;
    }
    let (whole, shown) = match text(&result["metadata"], "outputPath") {
        // Only the file of a shell command is written in the background.
        Some(path) if tool == SHELL => {
            let whole = Whole::Unfinished { path: PathBuf::from(path), end: end_of(&output).to_owned() };
            (whole, Some(output))
        }
        Some(path) => (Whole::File(PathBuf::from(path)), Some(output)),
        None => (Whole::text(output), None),
    };
    Heard::Result(Box::new(ToolResult {
        session: session.to_owned(),
        call: text(event, "call").map(str::to_owned),
        tool: tool.to_owned(),
        server: None,
        args,
        whole,
        exit: result["metadata"]["exit"].as_i64().and_then(|exit| exit.try_into().ok()),
        shown,
        most_tokens: is_file.then_some(FILE_TOKENS),
        most_bytes: None,
    }))
}

/// Name of the tool that runs commands.
const SHELL: &str = "bash";

/// Beginning of the text that OpenCode adds to the output of a command that it stopped.
const NOTES: &str = "\n\n<shell_metadata>\n";

/// Bytes at the end of the shown text that are compared with the file to see whether it is complete.
const END: usize = 200;

/// Last bytes of an output of which the host shows the end.
fn end_of(shown: &str) -> &str {
    let shown = shown.rsplit_once(NOTES).map_or(shown, |(shown, _)| shown);
    let end = &shown[shown.ceil_char_boundary(shown.len().saturating_sub(END))..];
    // The text before the output is not in the file.
    end.rsplit_once("\n\n").map_or(end, |(_, end)| end)
}

fn answer(event: &Value, view: &str) -> Value {
    if event["output"]["output"].is_string() {
        json!({"output": view})
    } else {
        json!({"content": [{"type": "text", "text": view}]})
    }
}

fn shown(answer: &Value) -> Option<&str> {
    text(answer, "output")
}

fn files(place: &Place) -> Vec<HostFile> {
    let folder = match place.scope {
        Scope::User => place.config.join("opencode"),
        Scope::Project => place.project.join(".opencode"),
    };
    let top = match place.scope {
        Scope::User => &place.config,
        Scope::Project => &place.project,
    };
    let program = Value::from(place.program.display().to_string()).to_string();
    let text = PLUGIN.replace("\"@PROGRAM@\"", &program);
    vec![HostFile::whole(folder.join("plugins/forebay.js"), top, text)]
}

fn sample(output: &str) -> Value {
    json!({
        "event": "after", "session": "doctor", "call": "call", "tool": "bash", "args": {"command": "make"},
        "output": {"title": "make", "output": output, "metadata": {"exit": 0, "truncated": false}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as our plugin sends them from OpenCode 1.18.33, with the output they hold and its exit status.
    #[test]
    fn every_sample_gives_its_output() {
        let event = |tool: &str, args: Value, output: Value| json!({"event": "after", "session": "ses_1", "call": "call_1", "tool": tool, "args": args, "output": output});
        let shell = json!({"command": "make", "description": "x"});
        let table = [
            (
                event(
                    "bash",
                    shell.clone(),
                    json!({"title": "make", "metadata": {"output": "1\n", "exit": 0, "truncated": false}, "output": "1\n"}),
                ),
                Some((Whole::text("1\n"), Some(0), json!({"output": "VIEW"}))),
            ),
            (
                event(
                    "bash",
                    shell,
                    json!({"title": "make", "metadata": {"exit": 2, "truncated": true, "outputPath": "/o/tool_1"}, "output": "...output truncated...\n\nFull output saved to: /o/tool_1\n\n8\n9\n"}),
                ),
                Some((
                    Whole::Unfinished { path: "/o/tool_1".into(), end: "8\n9\n".into() },
                    Some(2),
                    json!({"output": "VIEW"}),
                )),
            ),
            (
                event("files_list", json!({}), json!({"content": [{"type": "text", "text": "x"}]})),
                Some((Whole::text("x"), None, json!({"content": [{"type": "text", "text": "VIEW"}]}))),
            ),
            (event("read", json!({"filePath": "a", "offset": 3}), json!({"output": "x"})), None),
            (event("files_show", json!({}), json!({"content": [{"type": "image", "data": ""}]})), None),
        ];
        for (event, expected) in table {
            match (hear(&event), expected) {
                (Heard::Result(result), Some((whole, exit, answered))) => {
                    assert_eq!((result.whole, result.exit), (whole, exit), "{event}");
                    assert_eq!(answer(&event, "VIEW"), answered, "{event}");
                }
                (Heard::Nothing, None) => {}
                _ => panic!("{event}"),
            }
        }
        assert!(matches!(
            hear(&json!({"event": "after", "session": "s", "tool": "t"})),
            Heard::Unknown("output")
        ));
    }

    #[test]
    fn the_plugin_names_the_program_as_a_javascript_text() {
        let place = Place {
            scope: Scope::User,
            home: "/home/u".into(),
            config: "/home/u/.config".into(),
            project: "/p".into(),
            program: "/opt/my \"tools\"/forebay".into(),
            word: "forebay".into(),
            allows_reads: false,
        };
        let files = files(&place);
        let super::super::Part::Whole(text) = &files[0].part else { panic!("the plugin is a whole file") };
        assert!(text.contains(r#"const PROGRAM = "/opt/my \"tools\"/forebay""#), "{text}");
        assert!(!text.contains("@PROGRAM@"), "{text}");
    }
}
