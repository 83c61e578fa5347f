//! Document 004: the preset `recovery`.

use crate::forebay::{Forebay, Ran};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

fn put(forebay: &Forebay, tool: &str, args: &str, text: &str) -> serde_json::Value {
    forebay.put("id1234", text.as_bytes(), &["--preset", "recovery", "--tool", tool, "--args", args])
}

/// The view of a text, and where it is kept.
fn view(tool: &str, args: &str, text: &str) -> (Forebay, String) {
    let forebay = Forebay::new();
    let view = put(&forebay, tool, args, text)["text"].as_str().unwrap().to_owned();
    (forebay, view)
}

/// View of a text with these environment variables.
fn printed(variables: &[(&str, &str)], tool: &str, text: &str) -> String {
    let forebay = Forebay::new();
    let file = forebay.file("text", text);
    let mut command = forebay.command(["put", "--preset", "recovery", "--tool", tool]);
    command.arg(file).envs(variables.iter().copied());
    Ran::from(command.output().unwrap()).ok().text()
}

/// Lines of 40 characters that are no two alike.
fn lines(count: usize) -> String {
    (1..=count)
        .map(|n| format!("{n:04} abcdefghijklmnopqrstuvwxyz and so\n"))
        .map(|line| format!("{line:>40}"))
        .collect()
}

/// The module of the document: 250 lines, 10,000 characters, a class on line 10, functions on 15, 30 and 100.
fn module() -> String {
    let defined = |line: usize| match line {
        10 => "class DataProcessor:",
        15 => "    def __init__(self):",
        30 => "    def process(self, item):",
        100 => "def main():",
        1..10 => "import os",
        _ => "        self.value = 1",
    };
    (1..=250).map(|line| format!("{:<39}\n", defined(line))).collect()
}

const MODULE: &str = r#"{"path": "large_module.py"}"#;

/// The calls that a view suggests.
fn calls(view: &str) -> Vec<String> {
    view.lines().filter_map(|line| line.strip_prefix("  • ")).map(str::to_owned).collect()
}

/// The value of a text argument of a call.
fn argument(call: &str, key: &str) -> Option<String> {
    let rest = call.split_once(&format!("{key}=\""))?.1;
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    serde_json::from_str(&format!("\"{}\"", &rest[..end])).ok()
}

/// Result of a suggested shell or grep call on the stored file.
fn followed(call: &str) -> Option<String> {
    let ran = match call.split('(').next()? {
        "shell" => Command::new("sh").args(["-c", &argument(call, "command")?]).output(),
        "grep_content" => {
            Command::new("grep").args(["-nE", &argument(call, "pattern")?, &argument(call, "path")?]).output()
        }
        _ => return None,
    };
    let ran = Ran::from(ran.unwrap()).ok();
    assert!(!ran.out.is_empty(), "{call} gives nothing");
    Some(ran.text())
}

/// A tool passes what has exactly its threshold, and cuts what has one character more.
fn check_threshold(tool: &str, threshold: usize) {
    let text = "0123456789".repeat(600);
    for (length, is_cut) in [(threshold - 1, false), (threshold, false), (threshold + 1, true)] {
        let answer = put(&Forebay::new(), tool, "{}", &text[..length]);
        assert_eq!(answer["stored"], is_cut, "{tool} {length}");
        assert_eq!(answer["text"] == text[..length], !is_cut, "{tool} {length}");
    }
}

#[test]
fn row_004_1_above_the_threshold_an_output_is_cut() {
    let answer = put(&Forebay::new(), "read_file", "{}", &"x".repeat(3_501));
    assert_eq!((&answer["stored"], &answer["reason"]), (&true.into(), &"size_cap".into()));
}

#[test]
fn row_004_2_up_to_the_threshold_an_output_passes_unchanged() {
    for length in [3_499, 3_500] {
        assert_eq!(view("read_file", "{}", &lines(90)[..length]).1, lines(90)[..length]);
    }
}

#[test]
fn row_004_3_suggestions_with_commands_are_added() {
    let (_, view) = view("read_file", MODULE, &module());
    assert!(view.contains("\n--- Recovery Options ---\n") && view.contains("\nCommands:\n  • "), "{view}");
}

#[test]
fn row_004_4_size_line_count_and_structure_are_told() {
    let (_, view) = view("read_file", MODULE, &module());
    let (lines, characters) = (module().lines().count(), module().chars().count());
    assert_eq!((lines, characters), (250, 10_000));
    assert!(view.contains(" | 250 lines, 10,000 chars\n\nStructure:\n"), "{view}");
}

#[test]
fn row_004_5_the_content_is_cut_to_2_000_characters() {
    let (_, view) = view("read_file", "{}", &"漢".repeat(5_000));
    assert_eq!(view.split_once("\n\n[... ").unwrap().0, "漢".repeat(2_000));
    let settings = Forebay::new().run(["settings", "--json"]).ok().text();
    let line = settings.lines().find(|line| line.contains("\"recovery.shown_characters\"")).unwrap();
    assert!(line.contains("\"value\":2000"), "{line}");
}

#[test]
fn row_004_6_suggestions_use_the_tools_that_the_agent_has() {
    let forebay = Forebay::new();
    forebay.file(
        "forebay.toml",
        "[recovery.names]\ngrep = 'Grep'\nshell = 'Bash'\npath = 'file'\ncommand = 'cmd'\n",
    );
    let answer = put(&forebay, "read_file", MODULE, &module());
    let calls = calls(answer["text"].as_str().unwrap());
    assert!(
        calls.iter().any(|call| call.starts_with("Grep(pattern=\"DataProcessor\", file=\"")),
        "{calls:?}"
    );
    assert!(calls.iter().any(|call| call.starts_with("Bash(cmd=\"sed -n ")), "{calls:?}");
    assert!(
        !calls.iter().any(|call| call.starts_with("grep_content") || call.starts_with("shell")),
        "{calls:?}"
    );
}

#[test]
fn row_004_7_files_are_searched_with_grep_content() {
    for (file, text) in [("a.py", module()), ("notes.txt", lines(500))] {
        let (_kept, view) = view("read_file", &format!(r#"{{"path": "{file}"}}"#), &text);
        let grep = calls(&view).into_iter().find(|call| call.starts_with("grep_content(pattern=\"")).unwrap();
        let found = followed(&grep).unwrap();
        // A search that gives everything would be cut again.
        assert!(found.chars().count() <= 3_500 && !grep.contains("pattern=\".\""), "{grep}");
    }
}

#[test]
fn row_004_8_files_are_read_with_sed() {
    let (_kept, view) = view("read_file", "{}", &lines(500));
    let sed = calls(&view).into_iter().find(|call| call.starts_with("shell(command=\"sed -n '")).unwrap();
    assert!(followed(&sed).unwrap().lines().all(|line| lines(500).contains(line)));
}

#[test]
fn row_004_9_classes_and_functions_have_their_line_numbers() {
    let (forebay, view) = view("read_file", MODULE, &module());
    let kept = forebay.root().join("s/tool/id1234.txt");
    let found = Command::new("grep").args(["-nE", "^ *(class|def) "]).arg(kept).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let expected: Vec<&str> = found.lines().map(|line| line.split(':').next().unwrap()).collect();
    let structure: Vec<&str> = view.lines().filter(|line| line.starts_with("  - ")).collect();
    let numbers: Vec<&str> =
        structure.iter().map(|line| line.rsplit_once("(line ").unwrap().1.trim_end_matches(')')).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn row_004_10_searches_are_narrowed_by_pattern_and_by_file() {
    let found = |file: &str, count: usize| -> String {
        (0..count).map(|n| format!("src/{file}.py:{}:import module_{}\n", n + 1, n % 40)).collect()
    };
    let text = found("large", 400) + &found("small", 20);
    let (_, view) = view("grep_content", r#"{"pattern": "import", "path": "src", "limit": 500}"#, &text);
    assert!(view.contains("\nMatches per file: src/large.py (400), src/small.py (20)\n"), "{view}");
    let calls = calls(&view);
    let file = r#"grep_content(pattern="import", path="src/small.py", limit=500)  # its 20 matches"#;
    assert!(calls.iter().any(|call| call == file), "{calls:?}");
    let narrower = calls.iter().find(|call| call.starts_with("grep_content(pattern=\"import.*")).unwrap();
    assert!(narrower.contains("path=\"src\", limit=500"), "the other arguments stay: {narrower}");
}

#[test]
fn row_004_11_shell_output_is_read_with_head_tail_and_sed_and_not_made_again() {
    let (_, view) = view("execute_shell", r#"{"command": "touch made-again"}"#, &lines(500));
    let calls = calls(&view);
    for program in ["head -n ", "tail -n ", "sed -n "] {
        assert!(
            calls.iter().any(|call| call.starts_with(&format!("shell(command=\"{program}"))),
            "{calls:?}"
        );
    }
    assert!(!calls.iter().any(|call| call.contains("touch")), "{calls:?}");
}

#[test]
fn row_004_12_web_searches_are_refined_or_one_result_is_fetched() {
    let results = "1. https://example.org/a some words\n".repeat(200);
    let (_, view) = view("web_search", r#"{"query": "q", "lang": "en"}"#, &results);
    let calls = calls(&view);
    assert!(
        calls.contains(
            &r#"web_search(query="q site:example.org", lang="en")  # results of one site"#.to_owned()
        )
    );
    assert!(
        calls.contains(&r#"web_fetch(url="https://example.org/a")  # one result"#.to_owned()),
        "{calls:?}"
    );
}

/// The calls for a page that was fetched.
fn page() -> (Forebay, Vec<String>) {
    let text = "some words of a page\n".repeat(400) + "the API endpoint\n";
    let (forebay, view) = view("web_fetch", r#"{"url": "https://example.com/docs"}"#, &text);
    (forebay, calls(&view))
}

#[test]
fn row_004_13_web_fetches_are_saved_and_then_searched() {
    let calls = page().1;
    assert!(calls[0].starts_with("web_fetch(url=") && calls[0].contains("save_to=\""), "{calls:?}");
    assert!(calls[1].starts_with("grep_content(pattern="), "{calls:?}");
}

#[test]
fn row_004_14_listings_are_narrowed_by_pattern_and_by_extension() {
    let listed: String =
        (0..600).map(|n| format!("src/{n}.rs\n")).chain((0..40).map(|n| format!("docs/{n}.md\n"))).collect();
    let (_, view) = view("glob_files", r#"{"pattern": "**/*"}"#, &listed);
    assert!(view.contains("\nFiles per folder: src (600), docs (40)\n"), "{view}");
    assert!(view.contains("\nFiles per extension: .rs (600), .md (40)\n"), "{view}");
    assert!(view.contains("  • glob_files(pattern=\"docs/*\")"), "{view}");
    assert!(view.contains("  • glob_files(pattern=\"**/*.md\")"), "{view}");
}

#[test]
fn row_004_15_it_is_configured_by_environment_variables() {
    let view = printed(&[("FOREBAY_RECOVERY_SHOWN_CHARACTERS", "1000")], "read_file", &"x".repeat(9_000));
    assert!(view.starts_with(&format!("{}\n\n[... 8000 characters truncated", "x".repeat(1_000))), "{view}");
}

const BYPASS: (&str, &str) = ("TOOL_RESULT_BYPASS_TOOLS", "my_special_tool,another_tool");

#[test]
fn row_004_16_tools_in_the_bypass_list_are_never_cut() {
    let text = "x\n".repeat(500_000);
    for tool in ["my_special_tool", "another_tool"] {
        assert!(printed(&[BYPASS], tool, &text) == text, "{tool}");
    }
}

#[test]
fn row_004_17_tools_that_are_not_in_that_list_are_cut() {
    assert!(printed(&[BYPASS], "read_file", &lines(500)).contains("--- Recovery Options ---"));
}

#[test]
fn row_004_18_the_threshold_of_read_file_is_3_500() {
    check_threshold("read_file", 3_500);
}

#[test]
fn row_004_19_the_threshold_of_grep_content_is_3_500() {
    check_threshold("grep_content", 3_500);
}

#[test]
fn row_004_20_the_threshold_of_execute_shell_is_3_500() {
    check_threshold("execute_shell", 3_500);
}

#[test]
fn row_004_21_the_threshold_of_web_fetch_is_5_000() {
    check_threshold("web_fetch", 5_000);
}

#[test]
fn row_004_22_the_threshold_of_web_search_is_4_000() {
    check_threshold("web_search", 4_000);
}

#[test]
fn row_004_23_the_threshold_of_glob_files_is_3_500() {
    check_threshold("glob_files", 3_500);
}

#[test]
fn row_004_24_the_threshold_of_any_other_tool_is_3_500() {
    check_threshold("whatever", 3_500);
}

#[test]
fn row_004_25_thresholds_count_characters() {
    assert_eq!(view("read_file", "{}", &"漢".repeat(3_500)).1, "漢".repeat(3_500));
    assert_ne!(view("read_file", "{}", &"漢".repeat(3_501)).1, "漢".repeat(3_501));
}

#[test]
fn row_004_26_every_threshold_is_greater_than_what_is_shown() {
    let settings = Forebay::new().run(["settings", "--json"]).ok().text();
    let settings: Vec<serde_json::Value> =
        settings.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_threshold = |setting: &&serde_json::Value| {
        let key = setting["key"].as_str().unwrap();
        key.starts_with("recovery.") && key.ends_with(".characters")
    };
    let thresholds: Vec<_> = settings.iter().filter(is_threshold).collect();
    assert!(
        thresholds.len() >= 7 && thresholds.iter().all(|setting| setting["value"].as_u64() > Some(2_000))
    );
    for threshold in ["1500", "2000"] {
        let forebay = Forebay::new();
        let mut command = forebay.command(["settings"]);
        command.env("FOREBAY_RECOVERY_OTHER_CHARACTERS", threshold);
        let error = Ran::from(command.output().unwrap()).fails(2);
        assert!(error.contains("cutting must save something"), "{error}");
    }
}

#[test]
fn row_004_27_cutting_always_reduces_the_size() {
    let code: String = (0..400).map(|n| format!("def function_{n}():\n    pass\n")).collect();
    for length in [3_501, 3_600, 4_000] {
        let (_, view) = view("read_file", r#"{"path": "a.py"}"#, &code[..length]);
        assert!(view.contains("--- Recovery Options ---") && view.len() < length, "{length}: {view}");
    }
    // Where no section is short enough, the output passes.
    let forebay = Forebay::new();
    let root = forebay.folder().join("a-long-name/".repeat(160));
    let mut command = forebay.command(["put", "--json", "--preset", "recovery", "--tool", "read_file"]);
    command.env("FOREBAY_ROOT", root).arg(forebay.file("code", &code[..3_501]));
    let answer = Ran::from(command.output().unwrap()).ok().json();
    assert_eq!((&answer["text"], &answer["stored"]), (&code[..3_501].into(), &false.into()));
}

#[test]
fn row_004_28_first_come_the_first_2_000_characters_verbatim() {
    assert!(view("read_file", MODULE, &module()).1.starts_with(&module()[..2_000]));
}

#[test]
fn row_004_29_then_comes_the_number_of_characters_that_are_cut() {
    for (length, number) in [(10_000, 8_000), (23_893, 21_893)] {
        let (_, view) = view("read_file", "{}", &"x".repeat(length));
        assert!(
            view[2_000..].starts_with(&format!("\n\n[... {number} characters truncated ...]\n")),
            "{view}"
        );
    }
}

#[test]
fn row_004_30_then_comes_the_header_of_the_section() {
    let (_, view) = view("read_file", MODULE, &module());
    assert!(view.contains(" truncated ...]\n\n--- Recovery Options ---\n"), "{view}");
}

#[test]
fn row_004_31_then_comes_the_file_with_its_size() {
    let (_, view) = view("read_file", MODULE, &module());
    assert!(view.contains(" ---\nFile: large_module.py | 250 lines, 10,000 chars\n"), "{view}");
}

#[test]
fn row_004_32_then_comes_the_structure() {
    let (_, view) = view("read_file", MODULE, &module());
    assert!(view.contains("chars\n\nStructure:\n  - class DataProcessor (line 10)\n"), "{view}");
}

#[test]
fn row_004_33_functions_and_methods_are_in_order_and_not_indented_further() {
    let (_, view) = view("read_file", MODULE, &module());
    assert!(
        view.contains(
            "(line 10)\n  - def __init__ (line 15)\n  - def process (line 30)\n  - def main (line 100)\n"
        ),
        "{view}"
    );
}

#[test]
fn row_004_34_then_come_the_commands() {
    let (_, view) = view("read_file", MODULE, &module());
    let (_, commands) = view.split_once("(line 100)\n\nCommands:\n").unwrap();
    assert!(commands.lines().count() >= 3 && commands.lines().all(|line| line.starts_with("  • ")), "{view}");
}

#[test]
fn row_004_35_the_pattern_is_a_name_of_the_structure() {
    let (forebay, view) = view("read_file", MODULE, &module());
    let path = forebay.root().join("s/tool/id1234.txt");
    let call = format!("grep_content(pattern=\"DataProcessor\", path=\"{}\")", path.display());
    assert!(calls(&view).contains(&call), "{view}");
    assert!(followed(&call).unwrap().contains("10:class DataProcessor:"));
}

/// The ranges of the calls with `sed`: first and last line, and the note behind the call.
fn ranges(view: &str) -> Vec<(u64, u64, String)> {
    let sed = calls(view).into_iter().filter(|call| call.starts_with("shell(command=\"sed -n '"));
    let range = |call: String| {
        let range = call.split('\'').nth(1).unwrap().trim_end_matches('p');
        let (from, to) = range.split_once(',').unwrap();
        let note = call.rsplit_once("\")  # ").unwrap().1.to_owned();
        (from.parse().unwrap(), to.parse().unwrap(), note)
    };
    sed.map(range).collect()
}

#[test]
fn row_004_36_a_range_has_two_blanks_and_a_note_behind_it() {
    let (_, view) = view("read_file", MODULE, &module());
    // Lines 1 to 50 are shown already.
    assert_eq!(ranges(&view)[0], (51, 99, "Lines 51-99".to_owned()));
}

#[test]
fn row_004_37_a_range_begins_at_a_definition_and_has_50_further_lines() {
    let (_, view) = view("read_file", MODULE, &module());
    assert_eq!(ranges(&view)[1], (100, 150, "Lines 100-150".to_owned()));
    // Lines that are longer: the range is cut so that its result passes.
    let wide = module().replace('\n', &format!("{}\n", "#".repeat(160)));
    let (_kept, view) = self::view("read_file", MODULE, &wide);
    for call in calls(&view) {
        assert!(followed(&call).unwrap().chars().count() <= 3_500, "{call}");
    }
}

#[test]
fn row_004_38_the_parts_are_in_order() {
    let (_, view) = view("read_file", MODULE, &module());
    let parts =
        ["import os", " characters truncated ...]", "--- Recovery", "File: ", "Structure:", "Commands:"];
    let places: Vec<usize> = parts.iter().map(|part| view.find(part).unwrap()).collect();
    assert!(places.is_sorted() && places[0] == 0, "{places:?}");
}

#[test]
fn row_004_39_the_search_after_a_saved_fetch_names_its_file() {
    let (forebay, calls) = page();
    let saved = r#"web_fetch(url="https://example.com/docs", save_to="temp/docs.md")"#;
    assert!(calls[0].starts_with(saved), "{calls:?}");
    assert_eq!(argument(&calls[1], "path").unwrap(), "temp/docs.md");
    // With the page at that place, the search finds something.
    let page = forebay.run(["cat", "s/id1234"]).ok().text();
    let pattern = argument(&calls[1], "pattern").unwrap();
    assert!(page.lines().any(|line| line.contains(&pattern)), "{pattern}");
}

#[test]
fn row_004_40_every_suggested_command_works_on_the_kept_file() {
    for (tool, args, text) in [
        ("read_file", MODULE, module()),
        ("execute_shell", r#"{"command": "make"}"#, lines(500) + "error: it broke\n"),
        ("whatever", "{}", "x".repeat(30_000)),
    ] {
        let (_kept, view) = view(tool, args, &text);
        let given: Vec<String> = calls(&view).iter().filter_map(|call| followed(call)).collect();
        assert!(given.len() >= 2, "{view}");
        assert!(given.iter().all(|given| given.chars().count() <= 3_500), "{view}");
    }
}

#[test]
fn row_004_41_following_the_suggestions_gets_what_was_cut() {
    let text = lines(100) + "error: the needle\n" + &lines(100);
    let (_kept, view) = view("execute_shell", r#"{"command": "make"}"#, &text);
    assert!(!view.contains("needle"));
    assert!(
        calls(&view).iter().filter_map(|call| followed(call)).any(|given| given.contains("needle")),
        "{view}"
    );
}

#[test]
fn row_004_42_the_language_is_told_from_the_extension() {
    for (file, source, comment, expected) in [
        ("a.py", "def main():\n    pass\n", "#", "def main (line 1)"),
        ("a.rs", "fn main() {}\n", "//", "fn main (line 1)"),
        ("a.go", "package m\nfunc main() {}\n", "//", "func main (line 2)"),
        ("a.js", "function main() {}\n", "//", "function main (line 1)"),
    ] {
        let text = format!("{source}{}", format!("{comment} x\n").repeat(900));
        let (_kept, view) = view("read_file", &format!(r#"{{"path": "{file}"}}"#), &text);
        assert!(view.contains(&format!("\nStructure:\n  - {expected}\n")), "{file}: {view}");
        let grep =
            calls(&view).into_iter().find(|call| call.starts_with("grep_content(pattern=\"main\"")).unwrap();
        assert!(followed(&grep).unwrap().contains("main()"), "{file}");
    }
}

#[test]
fn row_004_43_a_text_file_has_no_structure() {
    for text in [module(), lines(500)] {
        let (_, view) = view("read_file", r#"{"path": "notes.txt"}"#, &text);
        assert!(view.contains("--- Recovery Options ---") && !view.contains("Structure:"), "{view}");
    }
}

#[test]
fn row_004_44_only_the_processed_result_is_given() {
    let (forebay, given) = view("read_file", MODULE, &module());
    let shown = forebay.run(["show", "s/id1234", "--json"]).ok().json();
    assert_eq!(shown["given"]["text"], given);
    // A client of the gateway gets the view, and nothing else.
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");
    let mut command = forebay.command(["mcp", "--", "python3", server]);
    let mut gateway = command
        .env("FOREBAY_PRESET", "recovery")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = gateway.stdin.take().unwrap();
    for message in [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lines","arguments":{"count":900}}}"#,
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let answers = BufReader::new(gateway.stdout.take().unwrap()).lines();
    let answer = answers
        .map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap())
        .find(|answer| answer["id"] == 1)
        .unwrap();
    drop(input);
    let _ = gateway.wait();
    let content = answer["result"]["content"].as_array().unwrap();
    let texts: Vec<&str> = content.iter().filter_map(|block| block["text"].as_str()).collect();
    assert!(texts.len() == 1 && texts[0].contains("\n--- Recovery Options ---\n"), "{answer}");
    assert!(!answer.to_string().contains("line 500: "), "{answer}");
}
