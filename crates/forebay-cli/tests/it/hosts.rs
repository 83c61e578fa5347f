//! Hooks, the shell prefix, `init` and `doctor`, with events in the shapes of the hosts.

use crate::forebay::{Forebay, Ran};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A log of 3,000 lines with its failure at the end.
fn log() -> String {
    let lines: String = (1..=3_000).map(|line| format!("step {line} of the build is done\n")).collect();
    lines + "error: linking failed\n"
}

/// Events of each host with a large result, and the path to the text in its answer.
fn events(output: &str) -> Vec<(&'static str, Value, &'static str)> {
    let command = json!({"command": "make"});
    vec![
        (
            "claude-code",
            json!({"session_id": "h", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c1",
                "tool_input": command, "tool_response": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false}}),
            "/hookSpecificOutput/updatedToolOutput/stdout",
        ),
        (
            "codex",
            json!({"session_id": "h", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c1",
                "tool_input": command, "tool_response": output}),
            "/reason",
        ),
        (
            "gemini-cli",
            json!({"session_id": "h", "hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": command,
                "tool_response": {"llmContent": format!("Output: {output}\nExit Code: 2\nProcess Group PGID: 7")}}),
            "/reason",
        ),
        (
            "opencode",
            json!({"event": "after", "session": "h", "call": "c1", "tool": "bash", "args": command,
                "output": {"output": output, "metadata": {"exit": 2}}}),
            "/output",
        ),
        (
            "copilot",
            json!({"sessionId": "h", "toolName": "bash", "toolArgs": command,
                "toolResult": {"resultType": "success", "textResultForLlm": output}}),
            "/modifiedResult/textResultForLlm",
        ),
        (
            "cursor",
            json!({"conversation_id": "h", "hook_event_name": "postToolUse", "tool_name": "MCP:s:build", "tool_use_id": "c1",
                "tool_input": {}, "tool_output": json!({"content": [{"type": "text", "text": output}]}).to_string()}),
            "/updated_mcp_tool_output/content/0/text",
        ),
    ]
}

/// A hook runs in the session of its host, and not in one that was set.
fn hook(forebay: &Forebay, host: &str, event: &[u8]) -> Ran {
    let mut command = forebay.command(["hook", host]);
    let mut child = forebay.start(command.env_remove("FOREBAY_SESSION").stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    let event = event.to_vec();
    let feeding = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &event));
    let ran = Ran::from(child.wait_with_output().unwrap());
    let _ = feeding.join().unwrap();
    ran
}

fn noted(forebay: &Forebay) -> Vec<String> {
    let ran = forebay.run(["events", "--all", "--json", "--kind", "fell-back"]);
    ran.text()
        .lines()
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            assert!(event["from"].as_str().unwrap().starts_with("hook "), "{event}");
            event["why"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn a_large_result_becomes_a_view_whose_calls_work() {
    for (host, event, place) in events(&log()) {
        let forebay = Forebay::new();
        let answer = hook(&forebay, host, event.to_string().as_bytes()).ok().json();
        let view = answer.pointer(place).unwrap_or_else(|| panic!("{host}: {answer}")).as_str().unwrap();
        assert!(
            view.contains("[forebay view of ") && view.contains("error: linking failed"),
            "{host}: {view}"
        );
        assert_eq!(view.contains("unfolded: #whole"), host != "cursor", "{host}: {view}");
        // The calls name this program by its file, since it is not on the path.
        let own = env!("CARGO_BIN_EXE_forebay");
        assert!(forebay.try_suggestions(&view.replace(own, "forebay")) > 0, "{host}: {view}");
        let kept = fs::read_dir(forebay.root().join("h/tool")).unwrap().count();
        assert!(kept > 1, "{host}");
    }
}

/// An edit repeats lines of the file, so it is neither folded nor made compact.
#[test]
fn a_file_of_records_that_is_read_whole_passes_as_it_is() {
    let records: Vec<Value> = (0..150)
        .map(|id| json!({"id": id, "name": format!("part {id}"), "state": "ready", "note": ""}))
        .collect();
    let text = serde_json::to_string_pretty(&records).unwrap();
    let read = |tool: &str| {
        json!({"session_id": "h", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_use_id": "c1",
        "tool_input": {"file_path": "parts.json"}, "tool_response": match tool {
            "Read" => json!({"type": "text", "file": {"filePath": "parts.json", "content": text,
                "numLines": text.lines().count(), "startLine": 1, "totalLines": text.lines().count()}}),
            _ => json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false}),
        }})
    };
    for (tool, is_compact) in [("Read", false), ("Bash", true)] {
        let ran = hook(&Forebay::new(), "claude-code", read(tool).to_string().as_bytes()).ok();
        assert_eq!(ran.text().contains("as tables"), is_compact, "{tool}: {}", ran.text());
        assert_eq!(ran.text().is_empty(), !is_compact, "{tool}: {}", ran.text());
    }
}

#[test]
fn a_small_result_is_kept_and_passes_in_silence() {
    for (host, event, _) in events("one\ntwo\n") {
        let forebay = Forebay::new();
        let ran = hook(&forebay, host, event.to_string().as_bytes()).ok();
        assert_eq!(ran.text(), "", "{host}");
        let listed = forebay.run(["ls", "--json", "--session", "h"]).ok();
        let record: Value = serde_json::from_str(listed.text().trim()).unwrap();
        assert!(record["handle"].as_str().unwrap().starts_with("h/"), "{host}: {record}");
    }
}

#[test]
fn whatever_is_wrong_the_hosts_own_result_stands_and_the_cause_is_an_event() {
    let (host, event, _) = events(&log()).remove(0);
    let sane = event.to_string();
    type Damage = fn(&Forebay) -> Vec<u8>;
    let table: [(&str, &str, Damage); 5] = [
        ("not JSON", "the event is not JSON", |_| b"{\"session_id\": ".to_vec()),
        ("another version", "the event has another form than that of Claude Code: tool_response", |_| {
            br#"{"session_id": "h", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}, "tool_response": 1}"#.to_vec()
        }),
        ("a file that is gone", "cannot be read", |_| {
            br#"{"session_id": "h", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {},
                "tool_response": {"stdout": "x", "persistedOutputPath": "/nowhere/x"}}"#
                .to_vec()
        }),
        ("settings that do not parse", "the settings are wrong", |forebay| {
            fs::create_dir_all(forebay.folder().join(".config/forebay")).unwrap();
            fs::write(forebay.folder().join(".config/forebay/settings.toml"), "preset = ").unwrap();
            Vec::new()
        }),
        ("no such host", "there is no hook for a host of this name", |_| Vec::new()),
    ];
    for (what, why, damage) in table {
        let forebay = Forebay::new();
        let given = damage(&forebay);
        let host = if what == "no such host" { "emacs" } else { host };
        let event = if given.is_empty() { sane.clone().into_bytes() } else { given };
        let ran = hook(&forebay, host, &event);
        assert_eq!((ran.status, ran.text().as_str(), ran.err.as_str()), (0, "", ""), "{what}");
        fs::remove_dir_all(forebay.folder().join(".config")).ok();
        assert!(noted(&forebay).iter().any(|noted| noted.contains(why)), "{what}: {:?}", noted(&forebay));
    }
}

#[test]
fn a_root_that_cannot_be_written_is_replaced_and_taken_in_later() {
    let forebay = Forebay::new();
    let (host, event, place) = events(&log()).remove(0);
    // What the sandbox of a host keeps: the root is a file there, which nobody can write below.
    fs::write(forebay.root(), "").unwrap();
    let answer = hook(&forebay, host, event.to_string().as_bytes()).ok().json();
    assert!(answer.pointer(place).is_some(), "{answer}");
    fs::remove_file(forebay.root()).unwrap();
    let (_, other, _) = events("small\n").remove(3);
    assert_eq!(hook(&forebay, "opencode", other.to_string().as_bytes()).ok().text(), "");
    let kept = forebay.root().join("h/tool/c1.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), log());
}

#[test]
fn a_word_in_the_command_or_the_environment_gives_the_result_unfolded() {
    let (host, event, _) = events(&log()).remove(0);
    for command in ["make #whole", "FOREBAY_OFF=1 make", "cd app && FOREBAY_OFF=1 make"] {
        let forebay = Forebay::new();
        let mut event = event.clone();
        event["tool_input"]["command"] = command.into();
        assert_eq!(hook(&forebay, host, event.to_string().as_bytes()).ok().text(), "", "{command}");
        assert_eq!(
            fs::read_to_string(forebay.root().join("h/tool/c1.txt")).unwrap(),
            log(),
            "it is kept all the same"
        );
    }
    let forebay = Forebay::new();
    let mut run = forebay.command(["run", "--", "seq", "1", "20001"]);
    assert_eq!(Ran::from(run.env("FOREBAY_OFF", "1").output().unwrap()).ok().text().lines().count(), 20_001);
}

#[test]
fn a_view_and_the_answers_of_our_own_commands_are_not_folded_again() {
    let (host, event, place) = events(&log()).remove(0);
    let forebay = Forebay::new();
    let answer = hook(&forebay, host, event.to_string().as_bytes()).ok().json();
    let mut again = event.clone();
    again["tool_response"]["stdout"] = answer.pointer(place).unwrap().clone();
    assert_eq!(hook(&forebay, host, again.to_string().as_bytes()).ok().text(), "");
    let mut cat = event;
    cat["tool_input"]["command"] = format!("{} cat h/c1", env!("CARGO_BIN_EXE_forebay")).into();
    assert_eq!(hook(&forebay, host, cat.to_string().as_bytes()).ok().text(), "");
}

#[test]
fn mutated_events_are_answered_with_nothing_or_with_json() {
    let forebay = Forebay::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for (host, event, _) in events(&"line of a log\n".repeat(200)) {
        for round in 0..12 {
            let mut bytes = event.to_string().into_bytes();
            for _ in 0..=next(4) {
                let at = next(bytes.len());
                match next(3) {
                    0 => bytes[at] = next(256) as u8,
                    1 => drop(bytes.drain(at..(at + next(40)).min(bytes.len()))),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let ran = hook(&forebay, host, &bytes);
            assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{host}, round {round}");
            if !ran.out.is_empty() {
                let _: Value = ran.json();
            }
        }
    }
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => drop(found.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    found
}

const HOOKED: [&str; 6] = ["claude-code", "codex", "gemini-cli", "opencode", "copilot", "cursor"];

#[test]
fn init_is_idempotent_and_uninstall_gives_every_byte_back() {
    let own = [
        (
            ".claude/settings.json",
            "{\n  // mine\n  \"permissions\": {\"deny\": [\"Bash(rm:*)\"]},\n  \"model\": \"x\" }",
        ),
        (
            ".codex/hooks.json",
            "{\"hooks\": {\"PostToolUse\": [{\"matcher\": \"*\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}}",
        ),
        (".gemini/settings.json", "{\n\t\"theme\": \"x\" // dark\n}\n"),
        (".cursor/hooks.json", "{ \"version\": 1, \"hooks\": {} }\n"),
    ];
    for prepared in [&own[..], &[]] {
        for more in [&["--allow-reads"][..], &[], &["--scope", "project"], &["--instructions"]] {
            let forebay = Forebay::new();
            for (name, text) in prepared {
                let path = forebay.folder().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let hosts = if more == ["--instructions"] { &HOOKED[..5] } else { &HOOKED[..] };
            let before = files(forebay.folder());
            let init = |flags: &[&str]| forebay.run([&["init"], hosts, flags].concat());
            assert_eq!(init(&[&["--dry-run"], more].concat()).status, 0);
            assert_eq!(files(forebay.folder()), before, "a dry run changes nothing");
            assert_eq!(init(&[&["--yes"], more].concat()).status, 0);
            let set_up = files(forebay.folder());
            assert!(set_up.len() > before.len());
            assert_eq!(init(&[&["--yes"], more].concat()).status, 0);
            assert_eq!(files(forebay.folder()), set_up, "a second time changes nothing: {more:?}");
            let scope = if more == ["--scope", "project"] { more } else { &[] };
            let ran = init(&[&["--uninstall", "--yes"], scope].concat());
            assert_eq!(ran.status, 0, "{}", ran.err);
            assert_eq!(files(forebay.folder()), before, "{more:?} {}", ran.err);
        }
    }
}

#[test]
fn what_somebody_else_set_stays_and_is_named() {
    let forebay = Forebay::new();
    let settings = forebay.folder().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, r#"{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/usr/bin/log.sh"}}"#).unwrap();
    let ran = forebay.run(["init", "claude-code", "--yes"]);
    assert!(ran.err.contains("CLAUDE_CODE_SHELL_PREFIX is \"/usr/bin/log.sh\" and stays"), "{}", ran.err);
    assert!(fs::read_to_string(settings).unwrap().contains("/usr/bin/log.sh"));
    let plugin = forebay.folder().join(".config/opencode/plugins/forebay.js");
    fs::create_dir_all(plugin.parent().unwrap()).unwrap();
    fs::write(&plugin, "mine").unwrap();
    assert!(forebay.run(["init", "opencode", "--yes"]).fails(2).contains("was not created by Forebay"));
    fs::write(forebay.folder().join(".codex-hooks"), "").unwrap();
    assert!(forebay.run(["init", "emacs"]).fails(2).contains("there is no host \"emacs\""));
}

#[test]
fn a_broken_settings_file_is_left_alone() {
    let forebay = Forebay::new();
    let settings = forebay.folder().join(".gemini/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{ \"hooks\": [ }").unwrap();
    assert!(
        forebay.run(["init", "gemini-cli", "--yes"]).fails(2).contains(".gemini/settings.json: not JSON")
    );
    assert_eq!(fs::read_to_string(settings).unwrap(), "{ \"hooks\": [ }");
}

/// Runs a line as Claude Code does: with a file for both streams.
fn shell(forebay: &Forebay, line: &str, variables: &[(&str, &str)]) -> (i32, String) {
    let path = forebay.folder().join("output");
    let file = fs::OpenOptions::new().append(true).create(true).open(&path).unwrap();
    let mut command = forebay.command(["shell", "--", line]);
    command.env_remove("FOREBAY_SESSION").envs(variables.iter().copied());
    let status =
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
    let output = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    (status.code().unwrap(), output)
}

const AGENT: [(&str, &str); 2] = [("AI_AGENT", "claude-code_2-1-326_agent"), ("CLAUDE_CODE_SESSION_ID", "h")];

#[test]
fn the_shell_prefix_folds_what_fails_and_nothing_else() {
    let forebay = Forebay::new();
    let count = "for i in $(seq 1 5000); do echo step $i; done; echo fatal: it broke >&2;";
    let (status, output) = shell(&forebay, &format!("{count} exit 7"), &AGENT);
    assert_eq!(status, 7);
    assert!(
        output.starts_with("[forebay view of 5,001 lines") && output.contains("fatal: it broke"),
        "{output}"
    );
    assert!(output.contains("exit 7") && output.len() < 10_000, "{output}");
    // What succeeds is left to the hook; what is small, no tool's, or unfolded on purpose stays as it is.
    let harness = [("AI_AGENT", "claude-code_2-1-326_harness"), ("CLAUDE_PROJECT_DIR", "/p")];
    let off = [AGENT[0], AGENT[1], ("FOREBAY_OFF", "1")];
    type Row<'a> = (&'a str, String, &'a [(&'a str, &'a str)], i32);
    let table: [Row<'_>; 5] = [
        ("success", format!("{count} exit 0"), &AGENT, 0),
        ("small", "X=1; echo $X; cd /; pwd; exit 3".to_owned(), &AGENT, 3),
        ("hook", format!("{count} exit 2"), &harness, 2),
        ("unfolded", format!("{count} exit 2 #whole"), &AGENT, 2),
        ("off", format!("{count} exit 2"), &off, 2),
    ];
    for (what, line, variables, expected) in table {
        let (status, output) = shell(&forebay, &line, variables);
        assert_eq!(status, expected, "{what}");
        let whole = if what == "small" { "1\n/\n" } else { "step 1\n" };
        assert!(
            output.starts_with(whole) && !output.contains("forebay"),
            "{what}: {}",
            &output[..100.min(output.len())]
        );
    }
    let records = fs::read_dir(forebay.root().join("h/tool")).unwrap().flatten();
    assert!(
        records
            .map(|file| fs::metadata(file.path()).unwrap().permissions().mode() & 0o077)
            .all(|mode| mode == 0)
    );
}

#[test]
fn what_a_process_in_the_background_still_writes_is_not_lost() {
    let forebay = Forebay::new();
    let line = "seq 1 20001; (sleep 3; echo late) & exit 4";
    let path = forebay.folder().join("output");
    let file = fs::OpenOptions::new().append(true).create(true).open(&path).unwrap();
    let mut command = forebay.command(["shell", "--", line]);
    command
        .env_remove("FOREBAY_SESSION")
        .envs(AGENT)
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file);
    assert_eq!(command.status().unwrap().code(), Some(4));
    crate::forebay::eventually("the late line", || fs::read_to_string(&path).unwrap().ends_with("late\n"));
    assert!(fs::read_to_string(&path).unwrap().starts_with("[forebay view of "));
}

#[test]
fn the_doctor_finds_what_is_broken_and_says_what_mends_it() {
    let forebay = Forebay::new();
    let doctor = |forebay: &Forebay| {
        let ran = forebay.run(["doctor", "claude-code", "--json"]);
        let findings: Vec<Value> =
            ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (ran.status, findings)
    };
    let state = |findings: &[Value], check: &str| {
        findings
            .iter()
            .filter(|finding| finding["check"] == check)
            .map(|finding| finding["state"].clone())
            .collect::<Vec<_>>()
    };
    let (status, findings) = doctor(&forebay);
    assert_eq!((status, state(&findings, "registered")), (1, vec![json!("broken")]));
    let mend =
        findings.iter().find(|finding| finding["check"] == "registered").unwrap()["mend"].as_str().unwrap();
    assert_eq!(mend, "forebay init claude-code");
    assert_eq!(forebay.run(["init", "claude-code", "--yes"]).status, 0);
    let (status, findings) = doctor(&forebay);
    assert_eq!(status, 0, "{findings:#?}");
    for check in ["store", "settings", "registered", "hook", "shell prefix", "transcripts"] {
        assert_eq!(state(&findings, check), [json!("good")], "{check}");
    }
    assert_eq!(forebay.run(["init", "claude-code", "--yes", "--scope", "project"]).status, 0);
    assert_eq!(state(&doctor(&forebay).1, "registered"), [json!("broken")], "registered twice");
    assert_eq!(forebay.run(["init", "claude-code", "--yes", "--scope", "project", "--uninstall"]).status, 0);
    let settings = forebay.folder().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace(env!("CARGO_BIN_EXE_forebay"), "/nowhere/forebay")).unwrap();
    assert_eq!(state(&doctor(&forebay).1, "hook"), [json!("broken")], "the program moved");
    assert_eq!(forebay.run(["init", "claude-code", "--yes"]).status, 0);
    assert_eq!(doctor(&forebay).0, 0, "init mends it");
}

#[test]
fn the_doctor_ends_with_what_happened() {
    let forebay = Forebay::new();
    for output in [log(), "small\n".to_owned()] {
        let (_, mut event, _) = events(&output).remove(3);
        event["call"] = output.len().to_string().into();
        assert_eq!(hook(&forebay, "opencode", event.to_string().as_bytes()).status, 0);
    }
    let handle = format!("h/{}", log().len());
    assert!(forebay.run(["read", &handle, "--lines", "1:3"]).ok().text().contains("step 3 of the build"));
    let ran = forebay.run(["doctor", "qwen-code"]);
    let last = ran.text().lines().last().unwrap().to_owned();
    assert!(last.starts_with("last 7 days: 2 results seen, 1 folded, "), "{last}");
    assert!(last.contains("tokens saved (against what the agents themselves would have shown)"), "{last}");
    assert!(ran.text().contains("cannot replace"), "{}", ran.text());
}

#[test]
fn inside_an_agent_only_its_own_session_can_be_read() {
    let forebay = Forebay::new();
    for (session, call) in [("h", "own"), ("other", "secret")] {
        let (_, mut event, _) = events("small\n").remove(3);
        (event["session"], event["call"]) = (session.into(), call.into());
        assert_eq!(hook(&forebay, "opencode", event.to_string().as_bytes()).status, 0);
    }
    let inside = |args: &[&str]| {
        let mut command = forebay.command(args);
        command.env_remove("FOREBAY_SESSION").envs(AGENT).env("CLAUDECODE", "1");
        Ran::from(command.output().unwrap())
    };
    // No flag is needed for the session of the agent.
    assert!(inside(&["ls"]).ok().text().contains("h/own"));
    assert!(inside(&["read", "own"]).ok().text().contains("small"));
    let root = forebay.root().display().to_string();
    let refused: [&[&str]; 7] = [
        &["read", "other/secret"],
        &["cat", "other/secret"],
        &["grep", "other/secret", "small"],
        &["show", "other/secret"],
        &["ls", "--all"],
        &["ls", "--session", "other"],
        &["read", "secret", "--root", &root, "--session", "other"],
    ];
    for args in refused {
        let ran = inside(args);
        assert!(
            ran.status != 0 && !ran.text().contains("small") && !ran.text().contains("secret"),
            "{args:?} {}",
            ran.text()
        );
    }
    // A person at another shell reads what they like.
    assert!(forebay.run(["read", "other/secret"]).ok().text().contains("small"));
}

#[test]
fn agents_without_such_hooks_get_the_gateway_and_hear_so() {
    let table =
        [("qwen-code", ".qwen/settings.json"), ("cline", ".cline/data/settings/cline_mcp_settings.json")];
    for (host, file) in table {
        let forebay = Forebay::new();
        let settings = forebay.folder().join(file);
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let text =
            "{\n  // mine\n  \"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"x\"]}}\n}\n";
        fs::write(&settings, text).unwrap();
        let ran = forebay.run(["init", host, "--yes"]);
        assert!(ran.status == 0 && ran.err.contains("cannot replace"), "{}", ran.err);
        assert!(fs::read_to_string(&settings).unwrap().contains("\"mcp\", \"--\", \"npx\""));
        assert_eq!(forebay.run(["init", host, "--yes", "--uninstall"]).status, 0);
        assert_eq!(fs::read_to_string(&settings).unwrap(), text, "{host}");
    }
    let ran = Forebay::new().run(["init", "goose", "--yes"]);
    assert!(ran.status == 0 && ran.err.contains("put `forebay mcp --` before the `cmd`"), "{}", ran.err);
}

#[test]
fn a_file_that_the_host_still_writes_is_waited_for() {
    let forebay = Forebay::new();
    let file = forebay.file("tool_1", "");
    let whole = log();
    let (_, mut event, _) =
        events(&format!("...\n\nFull output saved to: x\n\n{}", &whole[whole.len() - 400..])).remove(3);
    event["output"]["metadata"]["outputPath"] = file.display().to_string().into();
    // The first half is there, and the rest comes while the hook waits for it.
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let (path, rest) = (file.clone(), whole[whole.len() / 2..].to_owned());
    let writing = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, rest.as_bytes()).unwrap();
    });
    let view = hook(&forebay, "opencode", event.to_string().as_bytes()).ok().text();
    writing.join().unwrap();
    assert!(view.contains("error: linking failed") && !view.contains("cut short"), "{view}");
    // One that never ends as it is shown says so.
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    (event["call"], event["output"]["output"]) = ("c2".into(), "...\n\nanother end\n".into());
    let view = hook(&forebay, "opencode", event.to_string().as_bytes()).ok().text();
    assert!(view.contains("its file was not complete"), "{view}");
}
