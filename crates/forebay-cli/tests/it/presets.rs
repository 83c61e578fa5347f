//! The presets, through the command line.

use crate::forebay::{Forebay, tokens};

fn numbered(count: u32) -> String {
    (1..=count).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn below_its_limits_an_output_passes_byte_for_byte() {
    let forebay = Forebay::new();
    for preset in ["digest", "handle", "head-tail", "materialize", "recovery"] {
        let bytes = "3,499 bytes, and no newline ".repeat(125).into_bytes();
        let ran = forebay.run_with_input(["put", "--preset", preset], &bytes[..3_499]).ok();
        assert!(ran.out == bytes[..3_499], "{preset}");
    }
}

#[test]
fn the_handle_preset_gives_only_its_message_and_zero_stores_everything() {
    let forebay = Forebay::new();
    let answer = forebay.put("big-01", &vec![b'x'; 12_289], &["--preset", "handle"]);
    assert_eq!(answer["reason"], "size_cap");
    assert_eq!(
        answer["text"],
        "Tool output is too large (12289 bytes, 1 lines, 1537 tokens).\n\
         Call tool_output(handle = \"s/big-01\", extract = \"what to extract\").\n\
         The handle is a relative path under the tool_output root.\n\
         Provide precise and detailed instructions in `extract` about what you are looking for.\n"
    );
    // A tool that joins the root and the handle reads the bytes, until the output goes.
    let path = forebay.root().join("s/big-01");
    assert_eq!(std::fs::read(&path).unwrap(), vec![b'x'; 12_289]);
    assert_eq!(forebay.ls().len(), 1);
    let other = forebay.put("big-03", &vec![b'y'; 12_289], &[]);
    assert!(!forebay.root().join("s/big-03").exists(), "{other}");
    assert_eq!(forebay.run(["clean", "--session", "s", "--everything"]).status, 0);
    assert!(!path.exists() && !forebay.root().join("s").exists());
    assert_eq!(forebay.put("big-02", &vec![b'x'; 12_288], &["--preset", "handle"])["stored"], false);
    assert_eq!(forebay.put("one", b"x", &["--tool-response-max-bytes", "0"])["stored"], true);
    assert_eq!(forebay.put("nothing", b"", &["--tool-response-max-bytes", "0"])["stored"], false);
    let error = forebay.run_with_input(["put", "--tool-response-max-bytes", "1000001"], b"x").fails(2);
    assert!(error.contains("handle.max_bytes is at most 1000000"), "{error}");
}

#[test]
fn the_head_tail_preset_keeps_to_the_limits_of_its_tool_and_names_the_artifact() {
    let forebay = Forebay::new();
    let answer = forebay.put(
        "lines-1",
        numbered(500).as_bytes(),
        &["--preset", "head-tail", "--tool", "list_directory"],
    );
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with("[First 30 lines of 500]\nline 1\n"));
    assert!(text.contains("line 30\n\n... [400 lines truncated — full output available in artifacts] ...\n\n[Last 70 lines of 500]\nline 431\n"));
    let path = forebay.root().join("s/tool/lines-1.txt");
    assert!(text.ends_with(&format!("[Full output: {} (handle s/lines-1)]\n", path.display())), "{text}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), numbered(500));
    assert_eq!(forebay.put("lines-2", numbered(200).as_bytes(), &["--preset", "head-tail"])["stored"], false);
}

#[test]
fn the_materialize_preset_writes_json_as_json_and_names_the_reference() {
    let forebay = Forebay::new();
    let json = format!("[{}1]", "1, ".repeat(3_000));
    let answer = forebay.put(
        "toolu_01AbC",
        json.as_bytes(),
        &["--preset", "materialize", "--server", "db", "--tool", "query"],
    );
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with("[Output of db/query, call toolu_01AbC, kept as a file]\n[Size: 9003 bytes, 9003 characters, 1 lines; JSON: yes]\n"), "{text}");
    assert!(text.contains(r#"ContextRef: {"id":"toolu_01AbC","kind":"artifact","mimeType":"application/json","byteSize":9003,"createdAt":""#));
    assert!(text.contains(
        r#"first context.tail("toolu_01AbC", 200), or context.grep("toolu_01AbC", 'Error|Exception', …)."#
    ));
    assert!(text.chars().count() <= 4_000);
    assert_eq!(std::fs::read_to_string(forebay.root().join("s/tool/toolu_01AbC.json")).unwrap(), json);
}

#[test]
fn the_recovery_preset_cuts_each_tool_at_its_own_threshold() {
    let forebay = Forebay::new();
    for (tool, limit) in [("read_file", 3_500), ("web_search", 4_000), ("web_fetch", 5_000), ("other", 3_500)]
    {
        let bytes = "0123456789".repeat(600);
        let at = |length: usize| {
            forebay.put("x", &bytes.as_bytes()[..length], &["--preset", "recovery", "--tool", tool])
        };
        assert_eq!(at(limit)["stored"], false, "{tool}");
        let text = at(limit + 1)["text"].as_str().unwrap().to_owned();
        let shown = format!(
            "{}\n\n[... {} characters truncated ...]\n\n--- Recovery Options ---\n",
            &bytes[..2_000],
            limit + 1 - 2_000
        );
        assert!(text.starts_with(&shown), "{tool}: {text}");
        assert!(
            text.contains(&format!(" | 1 lines, {},{:03} chars\n", (limit + 1) / 1000, (limit + 1) % 1000)),
            "{text}"
        );
        assert!(text.contains("\nCommands:\n  • "), "{text}");
    }
}

#[test]
fn the_recovery_section_stays_small_whatever_the_output_is() {
    let forebay = Forebay::new();
    let json = format!("[{}]", "{\"path\": \"a/b\"}, ".repeat(9_000));
    let url = format!("https://example.org/{}\n", "x".repeat(9_000)).repeat(3);
    let long = format!("{{\"query\": \"{}\", \"url\": \"{}\"}}", "q".repeat(9_000), "u".repeat(9_000));
    for tool in
        ["list_issues", "grep_content", "web_search", "web_fetch", "read_file", "execute_shell", "other"]
    {
        for text in [&json, &url] {
            let answer =
                forebay.put("x", text.as_bytes(), &["--preset", "recovery", "--tool", tool, "--args", &long]);
            let length = answer["text"].as_str().unwrap().len();
            assert!(length < 6_000, "{tool}: {length}");
        }
    }
}

#[test]
fn a_budget_that_is_typed_is_stronger_than_one_that_is_set_for_a_tool() {
    let forebay = Forebay::new();
    forebay.file("forebay.toml", "[digest.tools]\nrun_command = 90000\n");
    let ran = forebay.run(["run", "--budget", "100", "--", "seq", "5000"]).ok();
    assert!(tokens(&ran.out) <= 100);
}

#[test]
fn a_view_is_never_larger_than_what_would_have_passed() {
    let forebay = Forebay::new();
    forebay.file("forebay.toml", "digest.tokens = 300\n");
    let answer = forebay.put("x", numbered(500).as_bytes(), &[]);
    assert!(tokens(answer["text"].as_str().unwrap().as_bytes()) <= 300);
}

#[test]
fn the_digest_holds_its_budget_exactly_at_every_size() {
    let forebay = Forebay::new();
    let mut log = numbered(30_000).into_bytes();
    log.extend("\u{1b}[31merror\u{1b}[0m: 漢字 🎉 \u{fffd}\n".repeat(200).as_bytes());
    log.extend(vec![b'='; 20_000]);
    for budget in [64, 100, 250, 500, 1_000, 4_000] {
        let answer = forebay.put("log", &log, &["--budget", &budget.to_string()]);
        let text = answer["text"].as_str().unwrap();
        assert!(tokens(text.as_bytes()) <= budget, "{budget}: {} tokens", tokens(text.as_bytes()));
        assert!(text.contains("s/log"), "{budget}: the handle is never cut: {text}");
    }
}

#[test]
fn the_same_bytes_give_the_same_view() {
    let forebay = Forebay::new();
    let view = |session: &str| {
        let args = ["put", "--json", "--call-id", "same", "--session", session];
        let text = forebay.run_with_input(args, numbered(9_000).as_bytes()).ok().json()["text"]
            .as_str()
            .unwrap()
            .to_owned();
        text.replace(session, "SESSION")
    };
    assert_eq!(view("one"), view("two"));
}

#[test]
fn a_bypassed_tool_is_never_touched() {
    let forebay = Forebay::new();
    let mut command =
        forebay.command(["run", "--tool", "my_special_tool", "--", "sh", "-c", "yes | head -n 100000"]);
    command.env("TOOL_RESULT_BYPASS_TOOLS", "another_tool,my_special_tool");
    let ran = crate::forebay::Ran::from(command.output().unwrap()).ok();
    assert!(ran.out == b"y\n".repeat(100_000));
    let ran =
        forebay.run(["run", "--tool", "my_special_tool", "--", "sh", "-c", "yes | head -n 100000"]).ok();
    assert!(ran.out.len() < 12_000);
}
