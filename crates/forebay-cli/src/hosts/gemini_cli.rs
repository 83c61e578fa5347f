//! Gemini CLI: a hook after each tool.
//!
//! The hook gets the whole text. If it denies a result, the model gets the hook's reason instead.

use super::entries::{Entry, What};
use super::{
    FILE_TOKENS, Heard, Hooked, Host, HostFile, Place, ToolResult, Way, Whole, text, text_of_blocks,
};
use serde_json::{Value, json};

pub(crate) const HOST: Host = Host {
    name: "gemini-cli",
    title: "Gemini CLI",
    program: "gemini",
    checked: Some("0.61.0"),
    way: Way::Hook(Hooked { hear, answer, most_bytes: 38_000, keeps_path: true, files, sample, shown }),
    notes: &[
        "results of all tools go through a hook; Gemini CLI shows a replaced result to the model under the key `error`",
        "a file that is read by range is never folded",
    ],
    traces: &[".gemini"],
};

/// First line of our policy file.
const MADE: &str = "# Made by `forebay init gemini-cli`, removed by `forebay init gemini-cli --uninstall`.\n";

/// Frame around a text that did not come from the user.
const FRAME: [&str; 2] = ["<untrusted_context>\n", "\n</untrusted_context>"];

/// Names of the lines that the shell tool adds after an output.
const FACTS: [&str; 6] =
    ["Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ", "Directory: "];

/// Characters of a large output that the host shows from its start and from its end.
const ENDS: [usize; 2] = [8_000, 32_000];

fn hear(event: &Value) -> Heard {
    match text(event, "hook_event_name") {
        Some("AfterTool") => {}
        Some(_) => return Heard::Nothing,
        None => return Heard::Unknown("hook_event_name"),
    }
    let Some(session) = text(event, "session_id") else { return Heard::Unknown("session_id") };
    let Some(tool) = text(event, "tool_name") else { return Heard::Unknown("tool_name") };
    let args = event.get("tool_input").cloned().unwrap_or_default();
    let content = match &event["tool_response"]["llmContent"] {
        Value::String(content) => content.clone(),
        Value::Array(parts) => match text_of_blocks(parts) {
            Some(content) => content,
            None => return Heard::Nothing,
        },
        part @ Value::Object(_) => match text(part, "text") {
            Some(content) => content.to_owned(),
            None => return Heard::Nothing,
        },
        _ => return Heard::Unknown("tool_response.llmContent"),
    };
    let is_file = tool == "read_file";
    let ranges = ["start_line", "end_line", "offset", "limit"];
    if is_file && ranges.iter().any(|key| args.get(key).is_some_and(|value| !value.is_null())) {
        return Heard::Nothing;
    }
    let (output, exit) =
        if tool == "run_shell_command" { of_shell(&content) } else { (unframed(&content), None) };
    let characters = output.chars().count();
    let shown = (characters > ENDS[0] + ENDS[1]).then(|| {
        let head = output.chars().take(ENDS[0]);
        head.chain(output.chars().skip(characters - ENDS[1])).collect()
    });
    let (server, tool) = match tool.strip_prefix("mcp_").and_then(|rest| rest.split_once('_')) {
        Some((server, tool)) => (Some(server.to_owned()), tool.to_owned()),
        None => (None, tool.to_owned()),
    };
    Heard::Result(Box::new(ToolResult {
        session: session.to_owned(),
        call: None,
        tool,
        server,
        args,
        whole: Whole::text(output),
        exit,
        shown,
        most_tokens: is_file.then_some(FILE_TOKENS),
        most_bytes: None,
    }))
}

/// A text without this frame.
fn unframed(content: &str) -> String {
    let inner = content.strip_prefix(FRAME[0]).and_then(|inner| inner.strip_suffix(FRAME[1]));
    inner.unwrap_or(content).to_owned()
}

/// Output and exit status of a command, from the text of the shell tool.
fn of_shell(content: &str) -> (String, Option<i32>) {
    let inner = unframed(content);
    let Some(mut output) = inner.strip_prefix("Output: ") else { return (content.to_owned(), None) };
    let mut exit = Some(0);
    while let Some((before, last)) = output.rsplit_once('\n') {
        if !FACTS.iter().any(|fact| last.starts_with(fact)) {
            break;
        }
        if let Some(code) = last.strip_prefix("Exit Code: ") {
            exit = code.trim().parse().ok();
        }
        output = before;
    }
    (output.to_owned(), exit)
}

fn answer(event: &Value, view: &str) -> Value {
    let content = &event["tool_response"]["llmContent"];
    let first = content.as_str().or_else(|| text(&content[0], "text")).unwrap_or_default();
    let reason = if first.starts_with(FRAME[0].trim_end()) {
        format!("{}{}{}", FRAME[0], view.trim_end_matches('\n'), FRAME[1])
    } else {
        view.to_owned()
    };
    json!({"decision": "deny", "reason": reason})
}

fn shown(answer: &Value) -> Option<&str> {
    text(answer, "reason")
}

fn files(place: &Place) -> Vec<HostFile> {
    let folder = place.base().join(".gemini");
    let handler = json!({
        "name": "forebay", "type": "command", "command": place.hook_command(HOST.name), "timeout": 60_000,
    });
    let group = json!({"matcher": ".*", "hooks": [handler]});
    let entries = vec![Entry { path: &["hooks", "AfterTool"], what: What::Item(group) }];
    let mut files = vec![HostFile::entries(folder.join("settings.json"), place.base(), entries)];
    let rules: Vec<String> = place
        .reads()
        .map(|line| {
            format!(
                "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = {}\ndecision = \"allow\"\npriority = 100\n",
                Value::from(line)
            )
        })
        .collect();
    if !rules.is_empty() {
        let text = format!("{MADE}\n{}", rules.join("\n"));
        files.push(HostFile::whole(folder.join("policies/forebay.toml"), place.base(), text));
    }
    files
}

fn sample(output: &str) -> Value {
    json!({
        "session_id": "doctor", "hook_event_name": "AfterTool", "tool_name": "run_shell_command",
        "tool_input": {"command": "make"},
        "tool_response": {"llmContent": format!("Output: {output}\nProcess Group PGID: 1"), "returnDisplay": ""},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tool: &str, input: Value, content: Value) -> Value {
        json!({
            "session_id": "bcddd7fc", "hook_event_name": "AfterTool", "tool_name": tool, "tool_input": input,
            "tool_response": {"llmContent": content, "returnDisplay": "x"},
        })
    }

    /// Events as Gemini CLI 0.61.0 sends them, with the output they hold and its exit status.
    #[test]
    fn every_sample_gives_its_output() {
        let framed = |inner: &str| json!(format!("{}{inner}{}", FRAME[0], FRAME[1]));
        let shell = json!({"command": "make"});
        let table = [
            (
                event("run_shell_command", shell.clone(), framed("Output: 1\n2\nProcess Group PGID: 7")),
                Some(("1\n2", Some(0))),
            ),
            (
                event(
                    "run_shell_command",
                    shell.clone(),
                    framed("Output: 1\nExit Code: 2\nProcess Group PGID: 7"),
                ),
                Some(("1", Some(2))),
            ),
            (
                event("run_shell_command", shell, json!("Command was cancelled.")),
                Some(("Command was cancelled.", None)),
            ),
            (event("read_file", json!({"file_path": "a"}), json!("text")), Some(("text", None))),
            (event("read_file", json!({"file_path": "a", "start_line": 4}), json!("text")), None),
            (event("mcp_files_list", json!({}), json!([{"text": "x"}, {"text": "y"}])), Some(("x\ny", None))),
            (event("read_file", json!({}), json!([{"inlineData": {}}])), None),
        ];
        for (event, expected) in table {
            match (hear(&event), expected) {
                (Heard::Result(result), Some((output, exit))) => {
                    assert_eq!((result.whole, result.exit), (Whole::text(output), exit), "{event}");
                }
                (Heard::Nothing, None) => {}
                _ => panic!("{event}"),
            }
        }
        assert!(matches!(
            hear(&json!({"hook_event_name": "AfterTool", "session_id": "s", "tool_name": "t"})),
            Heard::Unknown(_)
        ));
    }

    #[test]
    fn the_frame_of_a_text_from_outside_stays() {
        let framed = event(
            "run_shell_command",
            json!({}),
            json!("<untrusted_context>\nOutput: 1\n</untrusted_context>"),
        );
        assert_eq!(answer(&framed, "VIEW\n")["reason"], "<untrusted_context>\nVIEW\n</untrusted_context>");
        assert_eq!(answer(&event("read_file", json!({}), json!("1")), "VIEW\n")["reason"], "VIEW\n");
    }

    #[test]
    fn the_extension_has_the_hook_that_init_registers() {
        let files = files(&super::super::project_of_tests());
        let super::super::Part::Entries(entries) = &files[0].part else { panic!("settings have entries") };
        let hooks = include_str!("../../../../integrations/gemini-cli/hooks/hooks.json");
        let hooks: Value = serde_json::from_str(hooks).unwrap();
        assert_eq!(entries[0].what, What::Item(hooks["hooks"]["AfterTool"][0].clone()));
        assert_eq!((entries[0].path, entries.len()), (&["hooks", "AfterTool"][..], 1));
    }
}
