//! Document 002: the preset `materialize`.

use crate::forebay::{Forebay, Ran};
use crate::http::Server;
use crate::mcp::{Client, SERVER};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

const PRESET: [&str; 2] = ["--preset", "materialize"];
const OUTPUTS: &str = "/v1/sessions/s/outputs";

/// `seq 1 5000`, which has 23,893 bytes.
fn numbers() -> String {
    (1..=5_000).map(|number| format!("{number}\n")).collect()
}

/// The answer to a put under the preset.
fn put(forebay: &Forebay, id: &str, text: &str, more: &[&str]) -> Value {
    forebay.put(id, text.as_bytes(), &[&PRESET, more].concat())
}

/// Reply to `seq 1 5000` under the id `c3`.
fn summary(forebay: &Forebay, more: &[&str]) -> String {
    text_of(&put(forebay, "c3", &numbers(), more))
}

fn text_of(answer: &Value) -> String {
    answer["text"].as_str().unwrap().to_owned()
}

/// Runs a command with more variables in its environment.
fn run_with(forebay: &Forebay, variables: &[(&str, &str)], args: &[&str], input: &str) -> Ran {
    let mut command = forebay.command(args);
    command.envs(variables.iter().copied()).stdin(Stdio::piped());
    let mut child = forebay.start(&mut command);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let feeding = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let ran = Ran::from(child.wait_with_output().unwrap());
    let _ = feeding.join().unwrap();
    ran
}

/// Whether an output is summarised when the two limits are these.
fn is_summarised(chars: u64, bytes: u64, text: &str) -> bool {
    let forebay = Forebay::new();
    let (chars, bytes) = (chars.to_string(), bytes.to_string());
    let limits = [
        ("FOREBAY_MATERIALIZE_MAX_INLINE_CHARS", &*chars),
        ("FOREBAY_MATERIALIZE_MAX_INLINE_BYTES", &*bytes),
    ];
    let args = [&["put", "--json"], &PRESET[..]].concat();
    run_with(&forebay, &limits, &args, text).ok().json()["stored"] == true
}

/// The value and the source of a setting.
fn setting(ran: &Ran, key: &str) -> (Value, Value) {
    let mut rows =
        ran.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let row = rows.iter_mut().find(|row| row["key"] == key).unwrap();
    (row["value"].take(), row["source"].take())
}

fn context_ref(text: &str) -> Value {
    let line = text.lines().find_map(|line| line.strip_prefix("ContextRef: "));
    serde_json::from_str(line.unwrap_or_else(|| panic!("{text}"))).unwrap()
}

/// The answer of a context tool.
fn context(forebay: &Forebay, tool: &str, arguments: &Value) -> Value {
    forebay.run(["call", "--set", "context", &format!("context.{tool}"), &arguments.to_string()]).ok().json()
}

/// Bytes of an output, read by `context.read` call by call.
fn read(forebay: &Forebay, id: &str, mut offset: u64, end: u64) -> String {
    let mut all = String::new();
    while offset < end {
        let part = context(
            forebay,
            "read",
            &json!({"id": id, "offset": offset, "limit": (end - offset).min(65_536)}),
        );
        offset += part["limit"].as_u64().unwrap();
        all += part["content"].as_str().unwrap();
    }
    all
}

/// The file of an output in the folder of its session.
fn file(forebay: &Forebay, name: &str) -> PathBuf {
    forebay.root().join("s").join(name)
}

/// The one place that starts the server.
fn served(forebay: &Forebay) -> Server {
    Server::start_with(forebay, &[], |command| {
        command.env("FOREBAY_PRESET", "materialize");
    })
}

/// A client of the gateway with the preset.
fn gateway(forebay: &Forebay) -> Client {
    let mut command = forebay.command(["mcp", "--", "python3", SERVER]);
    command.env("FOREBAY_PRESET", "materialize");
    Client::of(command).greeted()
}

/// A file of the page.
fn page(server: &Server, path: &str) -> String {
    server.get(path).is(200).text()
}

#[test]
fn row_002_1_every_way_in_gives_the_same_summary() {
    let lines: String = (1..=500).map(|number| format!("line {number}: all is well\n")).collect();
    let same = |text: &str| {
        let reference = context_ref(text);
        let [id, time] = ["id", "createdAt"].map(|key| reference[key].as_str().unwrap().to_owned());
        text.replace(&id, "ID").replace(&time, "TIME")
    };
    let call = ["--server", "odd", "--tool", "lines", "--call-id", "call-0001"];
    let [one, two, three, four] = [(); 4].map(|()| Forebay::new());
    let by_put = text_of(&put(&one, "call-0001", &lines, &call[..4]));
    let path = two.file("lines", &lines);
    let command = ["--", "cat", path.to_str().unwrap()];
    let by_run = two.run([&["run"][..], &PRESET, &call, &command].concat()).ok().text();
    let server = served(&three);
    let put_by_http = format!("{OUTPUTS}/call-0001?server=odd&tool=lines");
    let by_http = text_of(&server.put(&put_by_http, lines.as_bytes()).is(201).json());
    let by_mcp = gateway(&four).call(1, "lines", json!({"count": 500}));
    let by_mcp = by_mcp["result"]["content"][0]["text"].as_str().unwrap();
    for (way, text) in [("run", &*by_run), ("http", &by_http), ("mcp", by_mcp)] {
        assert_eq!(same(text), same(&by_put), "{way}");
    }
}

#[test]
fn row_002_2_only_the_carrier_of_the_output_changes() {
    let forebay = Forebay::new();
    let command = ["--", "sh", "-c", "seq 1 5000; exit 3"];
    let ran = forebay.run([&["run"][..], &PRESET, &command].concat());
    assert_eq!(ran.status, 3);
    assert!(ran.text().contains("\nContextRef: "));
    let mut client = gateway(&forebay);
    let failed = client.call(1, "lines", json!({"count": 5_000, "error": true}));
    assert_eq!(
        (&failed["result"]["isError"], &failed["result"]["_meta"]),
        (&json!(true), &json!({"kept": [1, 2.5]}))
    );
    assert!(failed["result"]["content"][0]["text"].as_str().unwrap().contains("ContextRef: "));
    let refused = client.call(2, "no_such_tool", json!({}));
    assert_eq!(refused["error"], json!({"code": -32602, "message": "no such tool"}));
}

#[test]
fn row_002_3_any_tool_is_treated_so() {
    let forebay = Forebay::new();
    for (number, more) in
        [&[][..], &["--tool", "unheard_of"], &["--tool", "x", "--server", "y"]].iter().enumerate()
    {
        let answer = put(&forebay, &format!("call-{number}"), &"x".repeat(4_001), more);
        assert_eq!((&answer["stored"], &answer["reason"]), (&json!(true), &json!("size_cap")), "{more:?}");
    }
}

#[test]
fn row_002_4_at_the_threshold_an_output_stays_inline() {
    let forebay = Forebay::new();
    let inline = put(&forebay, "at", &"x".repeat(4_000), &[]);
    assert_eq!((&inline["stored"], text_of(&inline)), (&json!(false), "x".repeat(4_000)));
    let above = put(&forebay, "above", &"x".repeat(4_001), &[]);
    assert!(above["stored"] == true && text_of(&above).contains("ContextRef: "));
}

#[test]
fn row_002_5_the_whole_output_is_filed_by_the_id_of_its_call() {
    let forebay = Forebay::new();
    put(&forebay, "call_1", &numbers(), &[]);
    assert_eq!(std::fs::read_to_string(file(&forebay, "tool/call_1.txt")).unwrap(), numbers());
}

#[test]
fn row_002_6_the_summary_needs_no_model() {
    let forebay = Forebay::new();
    let models = forebay.run(["models", "--json"]);
    assert!(!models.text().contains("\"model\""), "none is configured: {}", models.text());
    assert!(summary(&forebay, &[]).starts_with("[Output of put, call c3, kept as a file]\n"));
}

#[test]
fn row_002_7_the_first_and_the_last_lines_are_shown() {
    let text = summary(&Forebay::new(), &[]);
    assert!(text.contains("\n1\n2\n") && text.contains("\n4999\n5000\n"), "{text}");
}

#[test]
fn row_002_8_the_reference_leads_to_the_whole_output() {
    let forebay = Forebay::new();
    let reference = context_ref(&summary(&forebay, &[]));
    let id = reference["id"].as_str().unwrap();
    assert_eq!(read(&forebay, id, 0, reference["byteSize"].as_u64().unwrap()), numbers());
}

#[test]
fn row_002_9_the_last_line_says_how_to_go_on() {
    let text = summary(&Forebay::new(), &[]);
    let last = text.lines().last().unwrap();
    assert!(last.find("context.tail(").unwrap() < last.find("context.grep(").unwrap(), "{last}");
}

#[test]
fn row_002_10_nothing_is_cut_without_a_way_back() {
    let forebay = Forebay::new();
    let error: String = numbers().replace("\n2500\n", "\nException: here\n");
    let text = text_of(&put(&forebay, "c3", &error, &[]));
    let mut whole = String::new();
    let body = text.split("\nContextRef: ").next().unwrap().lines().skip(2);
    let mut gaps = 0;
    for line in body {
        let Some(marker) = line.strip_prefix("[… ") else {
            whole += &format!("{line}\n");
            continue;
        };
        let (counted, call) = marker.split_once(" lines omitted: context.read(\"c3\", ").unwrap();
        let (offset, limit) = call.trim_end_matches(")]").split_once(", ").unwrap();
        let offset: u64 = offset.parse().unwrap();
        let missing = read(&forebay, "c3", offset, offset + limit.parse::<u64>().unwrap());
        assert_eq!(missing.lines().count().to_string(), counted.replace(',', ""), "{line}");
        whole += &missing;
        gaps += 1;
    }
    assert_eq!((gaps, whole == error), (2, true), "{text}");
}

#[test]
fn row_002_11_every_conversation_has_its_own_folder() {
    let forebay = Forebay::new();
    for session in ["one", "two"] {
        let args = [&["put", "--call-id", "c", "--session", session][..], &PRESET].concat();
        let _ = forebay.run_with_input(args, session.as_bytes()).ok();
    }
    for session in ["one", "two"] {
        let file = forebay.root().join(session).join("tool/c.txt");
        assert_eq!(std::fs::read_to_string(file).unwrap(), session);
    }
}

#[test]
fn row_002_12_the_file_is_named_after_the_call() {
    let forebay = Forebay::new();
    for (id, name) in [("toolu_01", Some("toolu_01.txt")), ("a/b c", None), ("../../up", None)] {
        let answer = put(&forebay, id, id, &[]);
        let kept = answer["handle"].as_str().unwrap().strip_prefix("s/").unwrap();
        assert!(!kept.contains(['/', ' ']) && !kept.starts_with('.'), "{id} is made safe: {kept}");
        let file = file(&forebay, &format!("tool/{kept}.txt"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), id);
        assert!(name.is_none_or(|name| file.ends_with(name)), "{}", file.display());
    }
}

/// Keeps each text and checks the ending of its file.
fn ends_with(ending: &str, texts: &[&str]) {
    let forebay = Forebay::new();
    for (number, text) in texts.iter().enumerate() {
        let id = format!("call-{number}");
        put(&forebay, &id, text, &[]);
        let file = file(&forebay, &format!("tool/{id}.{ending}"));
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some(*text), "{text:?}");
    }
}

#[test]
fn row_002_13_json_is_kept_as_json() {
    ends_with("json", &["[1, 2]", "{\"a\": {\"b\": null}}\n", " [] ", "42\n", "\"a text\"", "true"]);
}

#[test]
fn row_002_14_everything_else_is_kept_as_text() {
    ends_with("txt", &["{\"a\": 1", "plain words", "1\n2\n", "[INFO] building\n", "42 apples", ""]);
}

#[test]
fn row_002_15_the_kind_of_a_reference_is_artifact() {
    assert_eq!(context_ref(&summary(&Forebay::new(), &[]))["kind"], "artifact");
}

#[test]
fn row_002_16_the_hint_names_the_tool_and_its_server() {
    for (more, expected) in [
        (&["--tool", "grep_repo"][..], "tool grep_repo, call c3, "),
        (&["--tool", "grep_repo", "--server", "srv"], "tool grep_repo of server srv, call c3, "),
    ] {
        let hint = context_ref(&summary(&Forebay::new(), more))["hint"].take();
        assert!(hint.as_str().unwrap().starts_with(expected), "{hint}");
    }
}

#[test]
fn row_002_17_the_hint_has_the_call_and_the_size() {
    let hint = context_ref(&summary(&Forebay::new(), &[]))["hint"].take();
    assert!(hint.as_str().unwrap().ends_with(", call c3, 23893 bytes"), "{hint}");
}

#[test]
fn row_002_18_the_file_is_complete_before_the_summary_is_printed() {
    let forebay = Forebay::new();
    let mut command = forebay.command([&["put", "--call-id", "c3"][..], &PRESET].concat());
    let mut child = forebay.start(command.stdin(Stdio::piped()));
    child.stdin.take().unwrap().write_all(numbers().as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("[Output of put"), "{line}");
    assert_eq!(std::fs::read_to_string(file(&forebay, "tool/c3.txt")).unwrap(), numbers());
    assert_eq!(forebay.run(["verify", "c3"]).status, 0);
}

#[test]
fn row_002_19_the_reference_can_be_read_at_once() {
    let forebay = Forebay::new();
    let id = context_ref(&summary(&forebay, &[]))["id"].take();
    let read = context(&forebay, "read", &json!({"id": id, "limit": 4}));
    assert_eq!(read, json!({"id": "c3", "offset": 0, "limit": 4, "done": false, "content": "1\n2\n"}));
}

#[test]
fn row_002_20_reading_needs_nothing_but_the_file_and_its_record() {
    let forebay = Forebay::new();
    let _ = summary(&forebay, &[]);
    std::fs::remove_file(file(&forebay, "events.jsonl")).unwrap();
    assert_eq!(context(&forebay, "tail", &json!({"id": "c3", "lines": 1}))["content"], "5000\n");
}

/// A session with one materialized output, as an archive.
fn exported(forebay: &Forebay) -> PathBuf {
    let _ = summary(forebay, &[]);
    let archive = forebay.folder().join("a.tar.zst");
    let _ = forebay.run(["export", "--out", archive.to_str().unwrap()]).ok();
    archive
}

#[test]
fn row_002_21_an_archive_has_the_artifacts() {
    let forebay = Forebay::new();
    let bytes = zstd::decode_all(std::fs::File::open(exported(&forebay)).unwrap()).unwrap();
    let mut archive = tar::Archive::new(&bytes[..]);
    let paths: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().display().to_string())
        .collect();
    assert!(paths.contains(&"outputs/c3/bytes".to_owned()), "{paths:?}");
}

#[test]
fn row_002_22_a_reference_is_valid_after_import() {
    let (here, there) = (Forebay::new(), Forebay::new());
    let archive = exported(&here);
    let _ = there.run(["import", archive.to_str().unwrap()]).ok();
    assert_eq!(read(&there, "c3", 0, 23_893), numbers());
}

#[test]
fn row_002_23_more_than_4000_characters_are_summarised() {
    let settings = Forebay::new().run(["settings", "--json"]).ok();
    assert_eq!(setting(&settings, "materialize.max_inline_chars").0, 4_000);
    assert_eq!(put(&Forebay::new(), "c", &"é".repeat(4_001), &[])["stored"], true);
    assert_eq!(put(&Forebay::new(), "c", &"é".repeat(4_000), &[])["stored"], false);
}

#[test]
fn row_002_24_more_than_16384_bytes_are_summarised() {
    let settings = Forebay::new().run(["settings", "--json"]).ok();
    assert_eq!(setting(&settings, "materialize.max_inline_bytes").0, 16_384);
    for (text, expected) in
        [("x".repeat(16_384), false), ("x".repeat(16_385), true), ("漢".repeat(5_462), true)]
    {
        assert_eq!(is_summarised(100_000, 16_384, &text), expected, "{}", text.len());
    }
}

#[test]
fn row_002_25_both_limits_are_settings() {
    let forebay = Forebay::new();
    for name in ["CHARS", "BYTES"] {
        let variable = format!("FOREBAY_MATERIALIZE_MAX_INLINE_{name}");
        let args = [&["put", "--json"], &PRESET[..]].concat();
        let answer = run_with(&forebay, &[(&variable, "3000")], &args, &"x".repeat(3_001)).ok().json();
        assert_eq!(answer["stored"], true, "{name}");
        let settings = run_with(&forebay, &[(&variable, "3000")], &["settings", "--json"], "").ok();
        let key = format!("materialize.max_inline_{}", name.to_lowercase());
        assert_eq!(setting(&settings, &key), (json!(3_000), json!(variable)));
    }
}

#[test]
fn row_002_26_either_limit_alone_is_enough() {
    assert!(is_summarised(100_000, 16_384, &"x".repeat(16_385)));
    assert!(is_summarised(4_000, 100_000, &"x".repeat(4_001)));
}

#[test]
fn row_002_27_the_stricter_limit_wins() {
    let table = [(6_000, 4_500, true), (4_500, 6_000, true), (6_000, 6_000, false)];
    for (chars, bytes, expected) in table {
        assert_eq!(is_summarised(chars, bytes, &"x".repeat(5_000)), expected, "{chars} {bytes}");
    }
}

#[test]
fn row_002_28_the_summary_names_server_and_tool() {
    let text = summary(&Forebay::new(), &["--server", "srv", "--tool", "t"]);
    assert!(text.starts_with("[Output of srv/t, "), "{text}");
}

#[test]
fn row_002_29_the_summary_names_the_call() {
    assert!(summary(&Forebay::new(), &[]).lines().next().unwrap().contains(", call c3,"));
}

#[test]
fn row_002_30_the_summary_has_the_size() {
    let text = format!("{}🎉漢é\nlast", "x\n".repeat(4_000));
    let answer = put(&Forebay::new(), "c", &text, &[]);
    // As `wc -c`, `wc -m` and a reader count them.
    let size = format!("[Size: {} bytes, {} characters, 4002 lines; ", text.len(), text.chars().count());
    assert!(text_of(&answer).lines().nth(1).unwrap().starts_with(&size), "{size}: {}", text_of(&answer));
}

#[test]
fn row_002_31_the_summary_says_whether_it_is_json() {
    let json = format!("[{}1]", "1, ".repeat(3_000));
    let table =
        [(json.as_str(), "JSON: yes]"), (&json[..json.len() - 1], "JSON: no]"), (&numbers(), "JSON: no]")];
    for (text, expected) in table {
        let summary = text_of(&put(&Forebay::new(), "c", text, &[]));
        assert!(summary.lines().nth(1).unwrap().ends_with(expected), "{summary}");
    }
}

/// The snippets of a summary with one gap: the beginning and the end.
fn snippets(text: &str) -> [String; 2] {
    let body = text.split("ContextRef: ").next().unwrap().splitn(3, '\n').nth(2).unwrap();
    let (head, rest) = body.split_once("[… ").unwrap();
    let (_, tail) = rest.split_once(")]").unwrap();
    [head.to_owned(), tail.strip_prefix('\n').unwrap_or(tail).to_owned()]
}

#[test]
fn row_002_32_snippets_have_40_lines_or_2048_bytes() {
    let [head, tail] = snippets(&summary(&Forebay::new(), &[]));
    assert_eq!(head, (1..=40).map(|number| format!("{number}\n")).collect::<String>());
    assert_eq!(tail, (4_961..=5_000).map(|number| format!("{number}\n")).collect::<String>());
    let wide = format!("{}\n", "x".repeat(4_095)).repeat(9);
    for part in snippets(&text_of(&put(&Forebay::new(), "c", &wide, &[]))) {
        let bytes = part.bytes().filter(|&byte| byte == b'x').count();
        assert!((500..=2_048).contains(&bytes), "{bytes}");
    }
}

#[test]
fn row_002_33_the_sizes_of_snippets_are_settings() {
    let forebay = Forebay::new();
    let args = [&["put"], &PRESET[..]].concat();
    let lines = ("FOREBAY_MATERIALIZE_SNIPPET_LINES", "5");
    let [head, tail] = snippets(&run_with(&forebay, &[lines], &args, &numbers()).ok().text());
    assert_eq!((head.as_str(), tail.as_str()), ("1\n2\n3\n4\n5\n", "4996\n4997\n4998\n4999\n5000\n"));
    let bytes = ("FOREBAY_MATERIALIZE_SNIPPET_BYTES", "50");
    for part in snippets(&run_with(&forebay, &[bytes], &args, &numbers()).ok().text()) {
        assert!((40..=50).contains(&part.len()), "{part}");
    }
}

#[test]
fn row_002_34_paragraphs_around_errors_are_shown() {
    let traceback = "\nTraceback (most recent call last):\n  File \"app.py\", line 7, in main\n    run()\nValueError: out of cheese\n";
    let log = numbers().replace("\n2500\n", traceback);
    let text = text_of(&put(&Forebay::new(), "c", &log, &[]));
    assert!(
        text.contains("  File \"app.py\", line 7, in main\n    run()\nValueError: out of cheese\n"),
        "{text}"
    );
}

#[test]
fn row_002_35_the_advice_has_its_fixed_text() {
    let text = summary(&Forebay::new(), &[]);
    let advice = "If you need more details: first context.tail(\"c3\", 200), or context.grep(\"c3\", 'Error|Exception', …).";
    assert_eq!(text.lines().last(), Some(advice));
}

#[test]
fn row_002_36_the_advised_calls_work() {
    let forebay = Forebay::new();
    let log: String = (1..=3_000)
        .map(|line| match line % 10 {
            0 => format!("Error {line}\n"),
            5 => format!("an Exception in line {line}\n"),
            _ => format!("line {line}\n"),
        })
        .collect();
    put(&forebay, "c3", &log, &[]);
    let tail = context(&forebay, "tail", &json!({"id": "c3", "lines": 200}));
    let expected: String = log.split_inclusive('\n').skip(2_800).collect();
    assert_eq!((&tail["content"], &tail["lines"]), (&json!(expected), &json!(200)));
    let mut call = json!({"id": "c3", "pattern": "Error|Exception"});
    let mut lines = Vec::new();
    loop {
        let found = context(&forebay, "grep", &call);
        assert_eq!(found["totalMatches"], 600);
        lines
            .extend(found["matches"].as_array().unwrap().iter().map(|found| found["line"].as_u64().unwrap()));
        if found["next"].is_null() {
            break;
        }
        assert_eq!(found["next"]["name"], "context.grep");
        call = found["next"]["arguments"].clone();
    }
    assert_eq!(lines, (1..=600).map(|number| number * 5).collect::<Vec<u64>>());
    // Whoever is told of these tools is given them.
    let listed =
        |variables: &[(&str, &str)]| run_with(&forebay, variables, &["tools", "--json"], "").ok().text();
    assert!(listed(&[("FOREBAY_PRESET", "materialize")]).contains("\"context.tail\""));
    assert!(!listed(&[]).contains("\"context.tail\"") && listed(&[]).contains("\"tool_output\""));
    let server = served(&forebay);
    assert!(server.get("/v1/tools").is(200).text().contains("\"context.tail\""));
    assert!(!server.get("/v1/tools?set=own").is(200).text().contains("\"context.tail\""));
}

#[test]
fn row_002_37_a_tool_message_has_the_summary_and_not_the_output() {
    let forebay = Forebay::new();
    let mut client = gateway(&forebay);
    let by_mcp = client.call(1, "lines", json!({"count": 5_000}));
    let content = by_mcp["result"]["content"].to_string();
    for (text, missing) in [(summary(&forebay, &[]), "\n2500\n"), (content, "line 2500")] {
        assert!(text.contains("ContextRef: ") && !text.contains(missing), "{text}");
    }
}

/// The fields of the only record in a text.
fn record(text: &str) -> Value {
    let inside = text
        .trim_end()
        .strip_prefix("<function_call>")
        .and_then(|rest| rest.strip_suffix("</function_call>"));
    serde_json::from_str(inside.unwrap_or_else(|| panic!("{text}"))).unwrap()
}

#[test]
fn row_002_38_a_record_has_the_summary_as_its_response() {
    let forebay = Forebay::new();
    let more = ["--wire", "function-call", "--tool", "grep", "--args", "{\"q\": \"</function_call>\"}"];
    let args = [&["put", "--call-id", "c1"], &PRESET[..], &more].concat();
    let printed = forebay.run_with_input(args, numbers().as_bytes()).ok().text();
    let as_json = text_of(&put(&forebay, "c2", &numbers(), &more));
    let command = ["--call-id", "c4", "--wire", "function-call", "--tool", "grep", "--", "seq", "1", "5000"];
    let ran = forebay.run([&["run"][..], &PRESET, &command].concat()).ok().text();
    let server = served(&forebay);
    let path = format!("{OUTPUTS}/c5?tool=grep&wire=function-call&args=%7B%22q%22%3A1%7D");
    let by_http = text_of(&server.put(&path, numbers().as_bytes()).is(201).json());
    let plain = server.ask(&format!("PUT {path}"), &[("accept", "text/plain")], numbers().as_bytes()).is(200);
    let table = [
        ("c1", &printed, json!({"q": "</function_call>"})),
        ("c2", &as_json, json!({"q": "</function_call>"})),
        ("c4", &ran, json!({"command": "seq 1 5000"})),
        ("c5", &by_http, json!({"q": 1})),
        ("c5", &plain.text(), json!({"q": 1})),
    ];
    for (id, text, arguments) in table {
        let record = record(text);
        assert_eq!(
            (&record["id"], &record["name"], &record["arguments"]),
            (&json!(id), &json!("grep"), &arguments)
        );
        let response = record["response"].as_str().unwrap();
        assert!(response.starts_with("[Output of grep, call "), "{response}");
        assert_eq!(context_ref(response)["id"], id);
    }
    // What fits is the response itself.
    let small = text_of(&put(&forebay, "c6", "all of it\n", &["--wire", "function-call"]));
    assert_eq!(record(&small)["response"], "all of it\n");
    // The answer to a call of a tool is such a record too.
    let call =
        r#"<function_call>{"name": "context.tail", "arguments": {"id": "c1", "lines": 1}}</function_call>"#;
    let answer = forebay.run_with_input(["call", "--wire", "function-call"], call.as_bytes()).ok().json();
    let answer = record(answer["content"].as_str().unwrap());
    assert_eq!(answer["arguments"], json!({"id": "c1", "lines": 1}));
    let response: Value = serde_json::from_str(answer["response"].as_str().unwrap()).unwrap();
    assert_eq!(response["content"], "5000\n");
    let body = json!({"content": call}).to_string();
    let answer = server.post("/v1/sessions/s/calls?wire=function-call", &body).is(200).json();
    assert!(
        answer["results"][0]["content"].as_str().unwrap().contains("\"arguments\":{\"id\":\"c1\""),
        "{answer}"
    );
}

#[test]
fn row_002_39_behind_a_record_the_output_stays_readable() {
    let forebay = Forebay::new();
    put(&forebay, "c3", &numbers(), &["--wire", "function-call"]);
    assert_eq!(forebay.run(["cat", "s/c3"]).ok().text(), numbers());
}

#[test]
fn row_002_40_the_page_shows_the_same_summary() {
    let forebay = Forebay::new();
    let text = summary(&forebay, &[]);
    let server = served(&forebay);
    let view = server.get(&format!("{OUTPUTS}/c3/view")).is(200).json();
    let shown: String =
        view["pieces"].as_array().unwrap().iter().map(|piece| piece["text"].as_str().unwrap()).collect();
    assert_eq!(shown, text);
    assert!(forebay.run(["show", "c3"]).ok().text().ends_with(&text));
    let script = page(&server, "/output.js");
    assert!(script.contains("'As the model saw it'") && script.contains("source.ask('view')"));
}

#[test]
fn row_002_41_the_page_reads_the_whole_output_page_by_page() {
    let forebay = Forebay::new();
    let _ = summary(&forebay, &[]);
    let server = served(&forebay);
    let mut whole = String::new();
    for first in (1..=5_000).step_by(1_000) {
        let window = server.get(&format!("{OUTPUTS}/c3/lines?first={first}&count=1000")).is(200).json();
        whole.extend(
            window["lines"]
                .as_array()
                .unwrap()
                .iter()
                .map(|line| format!("{}\n", line["text"].as_str().unwrap())),
        );
    }
    assert_eq!(whole, numbers());
    let read = server.get(&format!("{OUTPUTS}/c3/read?lines=2500:2502")).is(200).json();
    assert_eq!(read["content"], "2500\n2501\n2502\n");
    assert!(page(&server, "/output.js").contains("['whole', 'Whole']"));
    assert!(page(&server, "/api.js").contains("this.ask('lines'"));
}

#[test]
fn row_002_42_the_page_searches_in_the_output() {
    let forebay = Forebay::new();
    let _ = summary(&forebay, &[]);
    let server = served(&forebay);
    for query in ["grep?pattern=99&max=3", "find?pattern=99&max=3"] {
        let found = server.get(&format!("{OUTPUTS}/c3/{query}")).is(200).json();
        assert_eq!((&found["total"], found["matches"].as_array().unwrap().len()), (&json!(95), 3), "{query}");
        assert_eq!(found["matches"][2]["line"], 299);
    }
    assert!(page(&server, "/whole.js").contains("'aria-label': 'Search in this output'"));
    assert!(page(&server, "/search.js").contains("source.ask('find'"));
}

#[test]
fn row_002_43_the_page_shows_the_end() {
    let forebay = Forebay::new();
    let _ = summary(&forebay, &[]);
    let server = served(&forebay);
    let tail = server.get(&format!("{OUTPUTS}/c3/read?tail=50")).is(200).json();
    assert_eq!(tail["content"], (4_951..=5_000).map(|number| format!("{number}\n")).collect::<String>());
    let last = server.get(&format!("{OUTPUTS}/c3/lines?last=2")).is(200).json();
    assert_eq!((&last["lines"][0]["text"], &last["lines"][1]["text"]), (&json!("4999"), &json!("5000")));
    let script = page(&server, "/whole.js");
    assert!(script.contains("'Tail')") && script.contains("{ last: lines }"));
}

/// How often outputs of the session were summarised, and the mean of the characters that it saved.
fn counters(forebay: &Forebay) -> (u64, f64) {
    let cap = forebay.run(["stats", "--json"]).ok().json()["size_cap"].take();
    (cap["times"].as_u64().unwrap(), cap["mean_characters_saved"].as_f64().unwrap_or(0.0))
}

#[test]
fn row_002_44_summaries_are_counted() {
    let forebay = Forebay::new();
    for (text, expected) in [(numbers(), 1), ("x".repeat(5_000), 2), ("fits".to_owned(), 2)] {
        let id = format!("call-{}", text.len());
        put(&forebay, &id, &text, &[]);
        assert_eq!(counters(&forebay).0, expected);
    }
}

#[test]
fn row_002_45_the_mean_of_the_saved_characters_is_counted() {
    let forebay = Forebay::new();
    let mut saved = 0;
    for (number, text) in [numbers(), "é".repeat(9_000)].into_iter().enumerate() {
        let answer = put(&forebay, &format!("call-{number}"), &text, &[]);
        saved += text.chars().count() - text_of(&answer).chars().count();
        assert_eq!(counters(&forebay).1, (saved / (number + 1)) as f64, "without its fraction");
    }
}

/// `seq 1 5000` as a command that is run: the id and the summary.
fn command(forebay: &Forebay) -> (String, String) {
    let text = forebay.run([&["run"][..], &PRESET, &["--", "seq", "1", "5000"]].concat()).ok().text();
    (context_ref(&text)["id"].as_str().unwrap().to_owned(), text)
}

#[test]
fn row_002_46_the_output_of_a_command_is_the_output_of_a_tool() {
    let (id, text) = command(&Forebay::new());
    assert!(text.starts_with(&format!("[Output of run_command, call {id}, kept as a file]\n")), "{text}");
}

#[test]
fn row_002_47_a_command_is_not_cut_at_a_fixed_length() {
    let forebay = Forebay::new();
    let args = [&["run", "--call-id", "long"][..], &PRESET, &["--", "seq", "1", "1000000"]].concat();
    let _ = forebay.run(args).ok();
    let whole: String = (1..=1_000_000).map(|number| format!("{number}\n")).collect();
    assert!(forebay.run(["cat", "s/long"]).ok().text() == whole);
}

#[test]
fn row_002_48_the_output_of_a_command_is_filed_as_a_log() {
    let forebay = Forebay::new();
    let (id, _) = command(&forebay);
    assert_eq!(std::fs::read_to_string(file(&forebay, &format!("terminal/{id}.log"))).unwrap(), numbers());
}

#[test]
fn row_002_49_a_command_is_summarised_and_read_as_every_tool_is() {
    let forebay = Forebay::new();
    let (id, text) = command(&forebay);
    let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&context_ref(&text)), fields(&context_ref(&summary(&forebay, &[]))));
    assert!(text.contains("\n40\n[… 4,920 lines omitted: ") && !text.contains("\n2500\n"), "{text}");
    assert_eq!(context(&forebay, "tail", &json!({"id": id, "lines": 1}))["content"], "5000\n");
    assert_eq!(
        context(&forebay, "grep", &json!({"id": id, "pattern": "^2500$"}))["matches"][0]["line"],
        2_500
    );
    let listed = context(&forebay, "list", &json!({}));
    assert!(listed["items"].as_array().unwrap().iter().any(|item| item["id"] == id), "{listed}");
}

#[test]
fn row_002_50_a_reference_is_read_only_in_its_conversation() {
    let forebay = Forebay::new();
    let _ = summary(&forebay, &[]);
    let other = forebay.put("own", b"mine", &["--session", "other"]);
    assert_eq!(other["handle"], "other/own");
    for (session, id) in [("other", "c3"), ("other", "s/c3"), ("s", "other/own")] {
        for (tool, more) in [("read", json!({})), ("tail", json!({})), ("grep", json!({"pattern": "."}))] {
            let mut arguments = more;
            arguments["id"] = json!(id);
            let tool = format!("context.{tool}");
            let error = forebay.run(["--session", session, "call", &tool, &arguments.to_string()]).fails(1);
            assert!(error.contains("asking for it again will not help"), "{error}");
        }
    }
}

#[test]
fn characters_are_counted_as_the_host_of_the_document_counts_them() {
    // A JavaScript string counts an emoji as two.
    for (text, expected) in
        [("🎉".repeat(2_000), false), ("🎉".repeat(2_000) + "x", true), ("漢".repeat(4_000), false)]
    {
        assert_eq!(is_summarised(4_000, 16_384, &text), expected, "{} characters", text.chars().count());
    }
    let text = text_of(&put(&Forebay::new(), "c", &"🎉\n".repeat(4_000), &[]));
    assert!(text.encode_utf16().count() <= 4_000, "{}", text.encode_utf16().count());
    assert!(text.contains("[Size: 20000 bytes, 8000 characters, 4000 lines; "), "{text}");
    let mut client = gateway(&Forebay::new());
    let raw =
        |count: usize| format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}]}}", "🎉".repeat(count));
    for (id, count, expected) in [(1, 2_000, false), (2, 2_001, true)] {
        let answer = client.call(id, "raw", json!({"result": raw(count)}));
        assert_eq!(answer.to_string().contains("ContextRef: "), expected, "{count}");
    }
}
