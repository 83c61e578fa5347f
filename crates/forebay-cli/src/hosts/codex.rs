//! Codex: a hook after each tool.
//!
//! The hook runs outside the sandbox. It gets a result that Codex has cut to about 10,000 characters, without an exit
//! status. By then, the transcript has more: the status, and the first and last 32 KiB of a command's output. Codex
//! accepts no replacement from a hook. But if a hook answers with a stop, Codex shows the model its reason and
//! continues the turn.

use super::entries::{Entry, What};
use super::{
    Heard, Hooked, Host, HostFile, Place, Scope, ToolResult, Way, Whole, mcp_name, text, text_of_blocks,
};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

pub(crate) const HOST: Host = Host {
    name: "codex",
    title: "Codex",
    program: "codex",
    checked: Some("0.169.0"),
    way: Way::Hook(Hooked {
        hear,
        answer,
        most_bytes: 9_000,
        // A login shell sets its own path.
        keeps_path: false,
        files,
        sample,
        shown,
    }),
    notes: &[
        "Codex asks once whether it may run the hook: start it, open /hooks and trust the entry; until then it skips the hook \
         silently",
        "Codex itself keeps only the first and the last 32 KiB of a command's output, so no more can be stored; \
         `forebay run -- COMMAND` stores all",
        "commands in the sandbox read outputs, and the next hook imports what they store below $TMPDIR",
    ],
    traces: &[".codex"],
};

/// Bytes of a command's output that Codex keeps in its transcript: half from the start, half from the end.
const KEPT: usize = 65_536;

/// Bytes at the end of a transcript that are searched: enough for an output with every byte escaped, and for what
/// follows it.
const TRANSCRIPT_END: u64 = 1 << 20;

/// First line of a result that Codex has cut.
const CUT: &str = "Warning: truncated output (original token count: ";

fn hear(event: &Value) -> Heard {
    match text(event, "hook_event_name") {
        Some("PostToolUse") => {}
        Some(_) => return Heard::Nothing,
        None => return Heard::Unknown("hook_event_name"),
    }
    let Some(session) = text(event, "session_id") else { return Heard::Unknown("session_id") };
    let Some(name) = text(event, "tool_name") else { return Heard::Unknown("tool_name") };
    let output = match &event["tool_response"] {
        Value::String(output) => output.clone(),
        Value::Array(blocks) => match text_of_blocks(blocks) {
            Some(output) => output,
            None => return Heard::Nothing,
        },
        Value::Object(fields) => match fields.get("content").and_then(Value::as_array) {
            Some(blocks) => match text_of_blocks(blocks) {
                Some(output) => output,
                None => return Heard::Nothing,
            },
            None => return Heard::Nothing,
        },
        _ => return Heard::Unknown("tool_response"),
    };
    let (server, tool) = mcp_name(name);
    let ran = executed(event);
    let exit = ran.as_ref().and_then(|ran| ran["exit_code"].as_i64()?.try_into().ok());
    let (whole, shown) = match cut(&output) {
        Some(whole) => {
            let kept = ran.as_ref().and_then(|ran| text(ran, "aggregated_output"));
            (kept.map_or(whole, kept_of), Some(output))
        }
        None => (Whole::text(output), None),
    };
    Heard::Result(Box::new(ToolResult {
        session: session.to_owned(),
        call: text(event, "tool_use_id").map(str::to_owned),
        tool,
        server,
        args: event.get("tool_input").cloned().unwrap_or_default(),
        whole,
        exit,
        shown,
        most_tokens: None,
        most_bytes: None,
    }))
}

/// The transcript's entry for the command of this call, if it exists yet.
fn executed(event: &Value) -> Option<Value> {
    let (path, call) = (text(event, "transcript_path")?, text(event, "tool_use_id")?);
    let end = end_of(Path::new(path)).ok()?;
    end.lines()
        .rev()
        .filter(|line| line.contains("aggregated_output") && line.contains(call))
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|mut line| line["payload"]["item"].take())
        .find(|item| text(item, "id") == Some(call))
}

fn end_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TRANSCRIPT_END)))?;
    let mut end = Vec::new();
    file.take(TRANSCRIPT_END).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

/// The part of an output that the transcript has.
fn kept_of(kept: &str) -> Whole {
    if kept.len() < KEPT {
        return Whole::text(kept);
    }
    let middle = kept.ceil_char_boundary(kept.len() / 2);
    let text = format!("{}\n[Codex did not keep this part]\n{}", &kept[..middle], &kept[middle..]);
    Whole::Cut { text, why: "Codex kept only its first and last 32 KiB".to_owned() }
}

/// The remaining part of an output that Codex has cut.
fn cut(output: &str) -> Option<Whole> {
    let (tokens, rest) = output.strip_prefix(CUT)?.split_once(')')?;
    let (_, rest) = rest.trim_start_matches('\n').split_once("\n\n")?;
    let why = format!("Codex had cut it from {tokens} tokens before Forebay got it");
    Some(Whole::Cut { text: rest.to_owned(), why })
}

fn answer(_: &Value, view: &str) -> Value {
    json!({"continue": false, "stopReason": "the output is shown as a view", "reason": view})
}

fn shown(answer: &Value) -> Option<&str> {
    text(answer, "reason")
}

fn files(place: &Place) -> Vec<HostFile> {
    let folder = match place.scope {
        Scope::User => std::env::var_os("CODEX_HOME")
            .filter(|folder| !folder.is_empty())
            .map_or_else(|| place.home.join(".codex"), PathBuf::from),
        Scope::Project => place.project.join(".codex"),
    };
    let handler = json!({"type": "command", "command": place.hook_command(HOST.name), "timeout": 60});
    let group = json!({"matcher": "*", "hooks": [handler]});
    let entries = vec![Entry { path: &["hooks", "PostToolUse"], what: What::Item(group) }];
    vec![HostFile::entries(folder.join("hooks.json"), place.base(), entries)]
}

fn sample(output: &str) -> Value {
    json!({
        "session_id": "doctor", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "call",
        "tool_input": {"command": "make"}, "tool_response": output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as Codex 0.169.0 sends them, with the output they hold.
    #[test]
    fn every_sample_gives_its_output() {
        let event = |response: Value| {
            json!({
                "session_id": "01a1f212-90ba", "turn_id": "t", "hook_event_name": "PostToolUse", "model": "gpt-5.4",
                "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": response, "tool_use_id": "call_1",
            })
        };
        let cut = "Warning: truncated output (original token count: 27226)\nTotal output lines: 20002\n\n1\n2\n…6\n";
        let table = [
            (event(json!("1\n2\n")), Some(Whole::text("1\n2\n"))),
            (
                event(json!(cut)),
                Some(Whole::Cut {
                    text: "1\n2\n…6\n".into(),
                    why: "Codex had cut it from 27226 tokens before Forebay got it".into(),
                }),
            ),
            (event(json!({"content": [{"type": "text", "text": "x"}]})), Some(Whole::text("x"))),
            (event(json!({"content": [{"type": "image", "data": ""}]})), None),
            (json!({"hook_event_name": "PreToolUse", "session_id": "s"}), None),
        ];
        for (event, expected) in table {
            match (hear(&event), expected) {
                (Heard::Result(result), Some(whole)) => {
                    assert_eq!((result.whole, result.session.as_str()), (whole, "01a1f212-90ba"), "{event}");
                }
                (Heard::Nothing, None) => {}
                _ => panic!("{event}"),
            }
        }
        assert!(matches!(hear(&event(Value::Null)), Heard::Unknown("tool_response")));
    }

    #[test]
    fn the_transcript_has_more_of_an_output_and_its_exit_status() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("rollout.jsonl");
        let item = |call: &str, output: &str| {
            json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {
                "type": "CommandExecution", "id": call, "aggregated_output": output, "exit_code": 2,
            }}})
        };
        let whole = "line\n".repeat(4_000);
        let most = "z".repeat(KEPT);
        let lines = [item("call_1", &whole), item("call_2", &most), json!({"type": "token_usage_record"})];
        std::fs::write(&transcript, lines.map(|line| line.to_string()).join("\n")).unwrap();
        let hear = |call: &str| {
            let cut = format!("{CUT}9999)\nTotal output lines: 3\n\nline\n");
            let event = json!({
                "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {},
                "tool_use_id": call, "tool_response": cut, "transcript_path": transcript,
            });
            match hear(&event) {
                Heard::Result(result) => *result,
                _ => panic!("{event}"),
            }
        };
        assert_eq!((hear("call_1").whole, hear("call_1").exit), (Whole::text(whole), Some(2)));
        let Whole::Cut { text, why } = hear("call_2").whole else { panic!("it is cut") };
        assert_eq!(
            (text.matches('z').count(), why.as_str()),
            (KEPT, "Codex kept only its first and last 32 KiB")
        );
        assert!(matches!(hear("call_3").whole, Whole::Cut { why, .. } if why.contains("9999 tokens")));
    }
}
