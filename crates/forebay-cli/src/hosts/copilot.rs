//! Copilot CLI: a hook after each tool.
//!
//! A large output is in a file that the result names. A command that fails is reported as a success; its last line
//! has the exit status.

use super::{FILE_TOKENS, Heard, Hooked, Host, HostFile, Place, Scope, ToolResult, Way, Whole, text};
use serde_json::{Value, json};
use std::path::PathBuf;

pub(crate) const HOST: Host = Host {
    name: "copilot",
    title: "Copilot CLI",
    program: "copilot",
    checked: Some("1.0.102"),
    way: Way::Hook(Hooked { hear, answer, most_bytes: 18_000, keeps_path: true, files, sample, shown }),
    notes: &[
        "results of all tools go through a hook, also of commands that fail",
        "a file that is viewed by range is never folded",
        "Copilot CLI has no settings for allowed commands: start it with --allow-tool 'shell(forebay:*)' so that reading \
         asks nothing",
    ],
    traces: &[".copilot"],
};

/// Beginning of a result whose output is in a file, and the text before the file's name.
const LARGE: [&str; 2] = ["Output too large to read at once (", "Saved to: "];

/// Part of the name of each such file.
const FILE_NAME: &str = "copilot-tool-output";

/// Beginning of the last line of a command's result.
const ENDED: &str = "\n<shellId: ";

fn hear(event: &Value) -> Heard {
    let Some(session) = text(event, "sessionId") else { return Heard::Unknown("sessionId") };
    let Some(tool) = text(event, "toolName") else { return Heard::Unknown("toolName") };
    // An event before a tool has no result.
    let Some(result) = event.get("toolResult") else { return Heard::Nothing };
    let Some(shown) = text(result, "textResultForLlm") else {
        return Heard::Unknown("toolResult.textResultForLlm");
    };
    if text(result, "resultType").is_some_and(|kind| kind != "success") {
        return Heard::Nothing;
    }
    let args = match &event["toolArgs"] {
        // Older versions send the arguments as text.
        Value::String(args) => serde_json::from_str(args).unwrap_or_default(),
        args => args.clone(),
    };
    let is_file = tool == "view";
    if is_file && args.get("view_range").is_some_and(|range| !range.is_null()) {
        return Heard::Nothing;
    }
    let (body, last) = split(shown);
    let saved = shown
        .strip_prefix(LARGE[0])
        .and_then(|rest| rest.split_once(LARGE[1]))
        .and_then(|(_, rest)| rest.lines().next())
        .filter(|path| path.contains(FILE_NAME));
    let (whole, shown) = match saved {
        Some(path) => (Whole::File(PathBuf::from(path)), Some(shown.to_owned())),
        None => (Whole::text(body), None),
    };
    Heard::Result(Box::new(ToolResult {
        session: session.to_owned(),
        call: None,
        tool: tool.to_owned(),
        server: None,
        args,
        whole,
        exit: exit_of(last),
        shown,
        most_tokens: is_file.then_some(FILE_TOKENS),
        most_bytes: None,
    }))
}

/// A command's output, and the following line with the exit status.
fn split(result: &str) -> (&str, &str) {
    match result.rfind(ENDED) {
        Some(at) if result.ends_with('>') => (result[..at].trim_end_matches('\n'), &result[at + 1..]),
        _ => (result, ""),
    }
}

fn exit_of(last: &str) -> Option<i32> {
    last.strip_suffix('>')?.rsplit_once("exit code ")?.1.parse().ok()
}

fn answer(event: &Value, view: &str) -> Value {
    let result = &event["toolResult"];
    let (_, last) = split(text(result, "textResultForLlm").unwrap_or_default());
    let kind = text(result, "resultType").unwrap_or("success");
    json!({"modifiedResult": {"textResultForLlm": format!("{view}{last}"), "resultType": kind}})
}

fn shown(answer: &Value) -> Option<&str> {
    text(&answer["modifiedResult"], "textResultForLlm")
}

fn files(place: &Place) -> Vec<HostFile> {
    let folder = match place.scope {
        Scope::User => place.home.join(".copilot/hooks"),
        Scope::Project => place.project.join(".github/hooks"),
    };
    let command = place.hook_command(HOST.name);
    let hooks = json!({
        "version": 1,
        "hooks": {"postToolUse": [{"type": "command", "bash": command, "timeoutSec": 60}]},
    });
    vec![HostFile::whole(folder.join("forebay.json"), place.base(), format!("{hooks:#}\n"))]
}

fn sample(output: &str) -> Value {
    json!({
        "sessionId": "doctor", "toolName": "bash", "toolArgs": {"command": "make"},
        "toolResult": {"resultType": "success", "textResultForLlm": output},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as Copilot CLI 1.0.102 sends them, with the output they hold, its exit status and the answer's text.
    #[test]
    fn every_sample_gives_its_output() {
        let event = |tool: &str, args: Value, result: &str| {
            json!({
                "sessionId": "f870d34d", "timestamp": 1, "cwd": "/p", "toolName": tool, "toolArgs": args,
                "toolResult": {"resultType": "success", "textResultForLlm": result},
            })
        };
        let shell = json!({"command": "make", "description": "x"});
        let file = "/tmp/t/1795062719787-copilot-tool-output-14053-90c0.txt";
        let large = format!(
            "Output too large to read at once (106.4 KB). Saved to: {file}\nConsider using tools.\n\nPreview:\n1\n\n<shellId: 1 completed with exit code 2>"
        );
        let table = [
            (
                event("bash", shell.clone(), "1\n2\n<shellId: 0 completed with exit code 0>"),
                Some((Whole::text("1\n2"), Some(0), "VIEW\n<shellId: 0 completed with exit code 0>")),
            ),
            (
                event("bash", shell.clone(), &large),
                Some((Whole::File(file.into()), Some(2), "VIEW\n<shellId: 1 completed with exit code 2>")),
            ),
            // An output that only looks as if it had a file.
            (
                event("bash", shell, "Output too large to read at once (1 KB). Saved to: /etc/passwd\n"),
                Some((
                    Whole::text("Output too large to read at once (1 KB). Saved to: /etc/passwd\n"),
                    None,
                    "VIEW\n",
                )),
            ),
            (event("view", json!({"path": "a"}), "text"), Some((Whole::text("text"), None, "VIEW\n"))),
            (event("view", json!({"path": "a", "view_range": [1, 9]}), "text"), None),
            (json!({"sessionId": "s", "toolName": "bash", "toolArgs": {}}), None),
        ];
        for (event, expected) in table {
            match (hear(&event), expected) {
                (Heard::Result(result), Some((whole, exit, answered))) => {
                    assert_eq!((result.whole, result.exit), (whole, exit), "{event}");
                    assert_eq!(shown(&answer(&event, "VIEW\n")), Some(answered), "{event}");
                }
                (Heard::Nothing, None) => {}
                _ => panic!("{event}"),
            }
        }
    }
}
