//! Claude Code: a hook after each tool, and a prefix for the shell, which covers failing commands.
//!
//! The hook gets the complete result of a tool and answers with one of the same form. Above 30,000 characters, a
//! command's output is in a file. There is no hook after a command that fails, and its output is cut twice before the
//! model sees it; the shell prefix replaces the output before the host reads it.

use super::entries::{Entry, SHELL, What};
use super::{
    FILE_TOKENS, Heard, Hooked, Host, HostFile, MASK_IN_EDIT, Place, Scope, ToolResult, Way, Whole, has_mask,
    mcp_name, text, text_of_blocks,
};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) const HOST: Host = Host {
    name: "claude-code",
    title: "Claude Code",
    program: "claude",
    checked: Some("2.1.326"),
    way: Way::Hook(Hooked { hear, answer, most_bytes: 28_000, keeps_path: true, files, sample, shown }),
    notes: &[
        "results of Bash, Read, Grep, Glob, WebFetch, WebSearch, agents and MCP tools go through a hook",
        "commands that fail go through the shell prefix, since no hook can replace their output",
        "a file that is read by range is never folded",
    ],
    traces: &[".claude", ".claude.json"],
};

/// Tools whose results the hook gets.
const TOOLS: &str = "Bash|Read|Grep|Glob|WebFetch|WebSearch|Task|Agent|mcp__.*";

/// Tools that write files. They must not write masks of secrets.
const EDITS: &str = "Edit|MultiEdit|Write|NotebookEdit";

/// The variable that names a program to run in place of the shell.
pub(crate) const PREFIX: &str = "CLAUDE_CODE_SHELL_PREFIX";

/// The program that the host starts in place of its shell.
const PREFIX_PROGRAM: &str = include_str!("claude_shell.sh");

/// Characters of a large output that the host shows, besides the name of its file.
const PREVIEW: usize = 2_000;

/// Maximum bytes of a search result that the host shows whole. It puts 20,000 characters and more into a file.
const MOST_OF_SEARCH: u64 = 19_000;

fn hear(event: &Value) -> Heard {
    // Cursor runs the hooks of Claude Code too, and has its own hook for this.
    if event.get("cursor_version").is_some() {
        return Heard::Nothing;
    }
    match text(event, "hook_event_name") {
        Some("PostToolUse") => {}
        Some("PreToolUse") => return before(event),
        Some(_) => return Heard::Nothing,
        None => return Heard::Unknown("hook_event_name"),
    }
    let Some(session) = text(event, "session_id") else { return Heard::Unknown("session_id") };
    let Some(name) = text(event, "tool_name") else { return Heard::Unknown("tool_name") };
    let args = event.get("tool_input").cloned().unwrap_or_default();
    let response = &event["tool_response"];
    let (server, tool) = mcp_name(name);
    let Some((whole, shown)) = whole(name, &args, response) else {
        return if is_of_no_use(name, &args, response) {
            Heard::Nothing
        } else {
            Heard::Unknown("tool_response")
        };
    };
    Heard::Result(Box::new(ToolResult {
        session: session.to_owned(),
        call: text(event, "tool_use_id").map(str::to_owned),
        most_tokens: (tool == "Read").then_some(FILE_TOKENS),
        most_bytes: (tool == "Grep").then_some(MOST_OF_SEARCH),
        exit: (tool == "Bash").then_some(0),
        tool,
        server,
        args,
        whole,
        shown,
    }))
}

/// Refuses to write a mask into a file. All other calls are left to the host.
fn before(event: &Value) -> Heard {
    let is_edit = text(event, "tool_name").is_some_and(|name| EDITS.split('|').any(|edit| edit == name));
    if is_edit && has_mask(&event["tool_input"]) {
        Heard::Refused(json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": MASK_IN_EDIT,
        }}))
    } else {
        Heard::Nothing
    }
}

/// The whole output, and what the host shows of it if that is less.
fn whole(name: &str, args: &Value, response: &Value) -> Option<(Whole, Option<String>)> {
    let all = |whole: &str| Some((Whole::text(whole), None));
    match name {
        "Bash" => {
            if is_of_no_use(name, args, response) {
                return None;
            }
            let (stdout, stderr) = (text(response, "stdout")?, text(response, "stderr").unwrap_or_default());
            match text(response, "persistedOutputPath") {
                Some(path) => {
                    let shown = stdout.chars().take(PREVIEW).collect();
                    Some((Whole::File(PathBuf::from(path)), Some(shown)))
                }
                None => Some((Whole::Text { stdout: stdout.into(), stderr: stderr.into() }, None)),
            }
        }
        "Read" if is_of_no_use(name, args, response) => None,
        "Read" => all(text(response.get("file")?, "content")?),
        "Grep" => {
            let whole = text(response, "content")?;
            let is_cut = whole.len() as u64 > MOST_OF_SEARCH;
            Some((Whole::text(whole), is_cut.then(|| whole.chars().take(PREVIEW).collect())))
        }
        "Glob" => {
            let names: Option<Vec<&str>> =
                response.get("filenames")?.as_array()?.iter().map(Value::as_str).collect();
            all(&names?.join("\n"))
        }
        "WebFetch" => all(text(response, "result")?),
        "WebSearch" => {
            let results = response.get("results")?.as_array()?;
            let texts: Vec<String> = results
                .iter()
                .map(|result| result.as_str().map_or_else(|| result.to_string(), str::to_owned))
                .collect();
            all(&texts.join("\n"))
        }
        "Task" | "Agent" => all(&text_of_blocks(response.get("content")?.as_array()?)?),
        _ if name.starts_with("mcp__") => match response {
            Value::String(whole) => all(whole),
            Value::Array(blocks) => all(&text_of_blocks(blocks)?),
            _ => all(&text_of_blocks(response.get("content")?.as_array()?)?),
        },
        _ => None,
    }
}

/// Whether a result has a known form without anything to fold.
fn is_of_no_use(name: &str, args: &Value, response: &Value) -> bool {
    let is = |key: &str| response.get(key).is_some_and(|value| *value == Value::Bool(true));
    let has = |value: &Value, key: &str| value.get(key).is_some_and(|value| !value.is_null());
    match name {
        // A command in the background has no output yet; one that the host takes as done although it failed went
        // through the shell prefix.
        "Bash" => {
            is("isImage") || has(response, "backgroundTaskId") || has(response, "returnCodeInterpretation")
        }
        "Read" => {
            text(response, "type") != Some("text")
                || ["offset", "limit", "pages"].iter().any(|key| has(args, key))
        }
        "Grep" => text(response, "mode").is_some() && !has(response, "content"),
        "Task" | "Agent" => text(response, "status") != Some("completed") || !has(response, "content"),
        // Images and other blocks stay as they are.
        _ if name.starts_with("mcp__") => response.is_array() || response.is_object(),
        "Glob" | "WebFetch" | "WebSearch" => false,
        _ => true,
    }
}

fn answer(event: &Value, view: &str) -> Value {
    let mut output = event["tool_response"].clone();
    match text(event, "tool_name").unwrap_or_default() {
        "Bash" => {
            output = json!({"stdout": view, "stderr": "", "interrupted": output["interrupted"] == true})
        }
        "Read" => output["file"]["content"] = format!("{NUMBERED}{view}").into(),
        "Grep" => output["content"] = view.into(),
        "Glob" => output["filenames"] = view.lines().collect(),
        "WebFetch" => output["result"] = view.into(),
        "WebSearch" => output["results"] = json!([view]),
        "Task" | "Agent" => output["content"] = json!([{"type": "text", "text": view}]),
        _ if output.is_string() => output = view.into(),
        _ if output.is_array() => output = json!([{"type": "text", "text": view}]),
        _ => output["content"] = json!([{"type": "text", "text": view}]),
    }
    json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}})
}

/// First line of a view of a file: the host adds line numbers to the text that it gets.
const NUMBERED: &str = "[the numbers on the left count the lines of this view, not those of the file]\n";

fn shown(answer: &Value) -> Option<&str> {
    text(&answer["hookSpecificOutput"]["updatedToolOutput"], "stdout")
}

fn files(place: &Place) -> Vec<HostFile> {
    let folder = match place.scope {
        Scope::User => config_folder(place),
        Scope::Project => place.project.join(".claude"),
    };
    let handler = json!({"type": "command", "command": place.hook_command(HOST.name), "timeout": 60});
    let group = |tools: &str| What::Item(json!({"matcher": tools, "hooks": [handler]}));
    let mut entries = vec![
        Entry { path: &["hooks", "PostToolUse"], what: group(TOOLS) },
        Entry { path: &["hooks", "PreToolUse"], what: group(EDITS) },
    ];
    let mut files = Vec::new();
    // A project's settings are used on other machines too, which do not have this file.
    if place.scope == Scope::User {
        // MCP servers are started with the prefix as a file name, so it can have no arguments.
        let shell = folder.join(SHELL.trim_start_matches('/'));
        let program = forebay::shell_word(&place.program.display().to_string());
        let prefix = What::Value(shell.display().to_string().into());
        entries.push(Entry { path: &["env", PREFIX], what: prefix });
        files.push(HostFile::program(shell, place.base(), PREFIX_PROGRAM.replace("@PROGRAM@", &program)));
    }
    entries.extend(place.reads().map(|line| Entry {
        path: &["permissions", "allow"],
        what: What::Item(format!("Bash({line}:*)").into()),
    }));
    files.push(HostFile::entries(folder.join("settings.json"), place.base(), entries));
    files
}

/// The folder of the user's settings.
pub(crate) fn config_folder(place: &Place) -> PathBuf {
    std::env::var_os("CLAUDE_CONFIG_DIR")
        .filter(|folder| !folder.is_empty())
        .map_or_else(|| place.home.join(".claude"), PathBuf::from)
}

fn sample(output: &str) -> Value {
    json!({
        "session_id": "doctor", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "call",
        "tool_input": {"command": "make"},
        "tool_response": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false},
    })
}

/// The command of the model in a line of the host's shell: the argument of `eval`, or the whole line.
pub(crate) fn command_of(line: &str) -> String {
    evaluated(line).unwrap_or_else(|| line.to_owned())
}

/// The argument of `eval`, without the text that the host adds around it.
fn evaluated(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("&& eval ")?;
    let (argument, _) = rest.rsplit_once(" && pwd -P >|")?;
    let argument = argument.trim_end().strip_suffix("< /dev/null").unwrap_or(argument).trim_end();
    unquoted(argument)
}

/// Removes the quotes as a shell does.
fn unquoted(quoted: &str) -> Option<String> {
    let mut word = String::new();
    let mut rest = quoted.chars();
    while let Some(next) = rest.next() {
        match next {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    other => word.push(other),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => word.push(rest.next()?),
                    other => word.push(other),
                }
            },
            '\\' => word.push(rest.next()?),
            other if other.is_whitespace() => return None,
            other => word.push(other),
        }
    }
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tool: &str, input: Value, response: Value) -> Value {
        json!({
            "session_id": "5abb7bd5", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input,
            "tool_response": response, "tool_use_id": "toolu_1", "transcript_path": "/t.jsonl", "cwd": "/p",
        })
    }

    /// Events as Claude Code 2.1.326 sends them, with the text they hold and, as JSON, the output that an answer gives.
    fn samples() -> Vec<(Value, Option<Whole>, Value)> {
        vec![
            (
                event(
                    "Bash",
                    json!({"command": "seq 1 3"}),
                    json!({"stdout": "1\n2\n3", "stderr": "e", "interrupted": false, "isImage": false, "noOutputExpected": false}),
                ),
                Some(Whole::Text { stdout: "1\n2\n3".into(), stderr: "e".into() }),
                json!({"stdout": "VIEW", "stderr": "", "interrupted": false}),
            ),
            (
                event(
                    "Bash",
                    json!({"command": "seq 1 20001"}),
                    json!({"stdout": "1\n2\n", "stderr": "", "interrupted": false, "isImage": false, "persistedOutputPath": "/r/b.txt", "persistedOutputSize": 108900}),
                ),
                Some(Whole::File("/r/b.txt".into())),
                json!({"stdout": "VIEW", "stderr": "", "interrupted": false}),
            ),
            (
                event(
                    "Bash",
                    json!({"command": "serve", "run_in_background": true}),
                    json!({"stdout": "", "stderr": "", "interrupted": false, "isImage": false, "backgroundTaskId": "b1"}),
                ),
                None,
                Value::Null,
            ),
            (
                event(
                    "Read",
                    json!({"file_path": "/p/a.rs"}),
                    json!({"type": "text", "file": {"filePath": "/p/a.rs", "content": "a\nb\n", "numLines": 3, "startLine": 1, "totalLines": 3}}),
                ),
                Some(Whole::text("a\nb\n")),
                json!({"type": "text", "file": {"filePath": "/p/a.rs", "content": format!("{NUMBERED}VIEW"), "numLines": 3, "startLine": 1, "totalLines": 3}}),
            ),
            (
                event(
                    "Read",
                    json!({"file_path": "/p/a.rs", "offset": 5, "limit": 2}),
                    json!({"type": "text", "file": {"filePath": "/p/a.rs", "content": "5\n6", "numLines": 2, "startLine": 5, "totalLines": 3001}}),
                ),
                None,
                Value::Null,
            ),
            (
                event(
                    "Grep",
                    json!({"pattern": "1", "output_mode": "content"}),
                    json!({"mode": "content", "numFiles": 0, "filenames": [], "content": "a:1:1", "numLines": 250}),
                ),
                Some(Whole::text("a:1:1")),
                json!({"mode": "content", "numFiles": 0, "filenames": [], "content": "VIEW", "numLines": 250}),
            ),
            (
                event(
                    "Glob",
                    json!({"pattern": "*"}),
                    json!({"filenames": ["a", "b"], "numFiles": 2, "truncated": false}),
                ),
                Some(Whole::text("a\nb")),
                json!({"filenames": ["VIEW"], "numFiles": 2, "truncated": false}),
            ),
            (
                event(
                    "WebFetch",
                    json!({"url": "https://example.org"}),
                    json!({"code": 200, "result": "text"}),
                ),
                Some(Whole::text("text")),
                json!({"code": 200, "result": "VIEW"}),
            ),
            (
                event(
                    "Task",
                    json!({"prompt": "p"}),
                    json!({"status": "completed", "content": [{"type": "text", "text": "done"}]}),
                ),
                Some(Whole::text("done")),
                json!({"status": "completed", "content": [{"type": "text", "text": "VIEW"}]}),
            ),
            (
                event(
                    "mcp__files__read",
                    json!({}),
                    json!([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]),
                ),
                Some(Whole::text("x\ny")),
                json!([{"type": "text", "text": "VIEW"}]),
            ),
            (
                event(
                    "mcp__files__show",
                    json!({}),
                    json!([{"type": "image", "data": "", "mimeType": "image/png"}]),
                ),
                None,
                Value::Null,
            ),
            (event("Edit", json!({}), json!({})), None, Value::Null),
        ]
    }

    #[test]
    fn every_sample_gives_its_text_and_is_answered_in_its_own_shape() {
        for (event, expected, output) in samples() {
            match (hear(&event), expected) {
                (Heard::Result(result), Some(expected)) => {
                    assert_eq!(result.whole, expected, "{event}");
                    assert_eq!(
                        answer(&event, "VIEW")["hookSpecificOutput"]["updatedToolOutput"],
                        output,
                        "{event}"
                    );
                    assert_eq!(
                        (result.session.as_str(), result.call.as_deref()),
                        ("5abb7bd5", Some("toolu_1"))
                    );
                }
                (Heard::Nothing, None) => {}
                _ => panic!("{event}"),
            }
        }
    }

    #[test]
    fn the_server_of_an_mcp_tool_is_told_from_its_name() {
        let event = event("mcp__files__read__all", json!({}), json!([{"type": "text", "text": "x"}]));
        let Heard::Result(result) = hear(&event) else { panic!("{event}") };
        assert_eq!((result.server.as_deref(), result.tool.as_str()), (Some("files"), "read__all"));
    }

    #[test]
    fn an_event_of_another_form_is_said_to_be_one() {
        let table = [
            (json!({}), "hook_event_name"),
            (json!({"hook_event_name": "PostToolUse"}), "session_id"),
            (json!({"hook_event_name": "PostToolUse", "session_id": "s"}), "tool_name"),
            (event("Bash", json!({}), json!("text")), "tool_response"),
            (event("Glob", json!({}), json!({"files": []})), "tool_response"),
        ];
        for (event, field) in table {
            assert!(matches!(hear(&event), Heard::Unknown(unknown) if unknown == field), "{event}");
        }
        assert!(matches!(hear(&json!({"hook_event_name": "PreToolUse"})), Heard::Nothing));
    }

    #[test]
    fn the_command_of_the_model_is_found_in_the_line_of_the_shell() {
        let around = |quoted: &str| {
            format!(
                "source /s/snapshot-bash-1.sh 2>/dev/null || true && {{ shopt -u extglob; }} || true && eval {quoted} && pwd -P >| /tmp/claude-1-cwd"
            )
        };
        let table = [
            ("'seq 1 3' < /dev/null", "seq 1 3"),
            ("'echo '\"'\"'a b'\"'\"' && make' < /dev/null", "echo 'a b' && make"),
            ("'cat <<EOF | wc -l\na\nEOF'", "cat <<EOF | wc -l\na\nEOF"),
        ];
        for (quoted, command) in table {
            assert_eq!(command_of(&around(quoted)), command);
        }
        assert_eq!(command_of("make"), "make");
    }

    #[test]
    fn the_plugin_has_the_hook_that_init_registers() {
        let files = files(&super::super::project_of_tests());
        let super::super::Part::Entries(entries) = &files[0].part else { panic!("settings have entries") };
        let hooks = include_str!("../../../../integrations/claude-code/hooks/hooks.json");
        let hooks: Value = serde_json::from_str(hooks).unwrap();
        assert_eq!(entries.len(), 2);
        for (entry, event) in entries.iter().zip(["PostToolUse", "PreToolUse"]) {
            assert_eq!(entry.path, ["hooks", event]);
            assert_eq!(entry.what, What::Item(hooks["hooks"][event][0].clone()));
        }
    }

    #[test]
    fn an_edit_with_a_mask_is_refused_and_no_other_call_is() {
        let mask = "KEY=[secret: github token, 40 characters, #k3f9]";
        let call = |tool: &str, input: Value| {
            hear(&json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input}))
        };
        for (heard, refused) in [
            (call("Write", json!({"file_path": "a", "content": mask})), true),
            (call("MultiEdit", json!({"edits": [{"new_string": mask}]})), true),
            (call("Edit", json!({"new_string": "KEY=[secret: none]"})), false),
            (call("Bash", json!({"command": format!("echo '{mask}'")})), false),
        ] {
            assert_eq!(matches!(heard, Heard::Refused(_)), refused);
        }
    }
}
