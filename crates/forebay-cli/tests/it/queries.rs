//! JSON filters, outlines, questions and searches, and the tools that ask the same.

use crate::forebay::{Forebay, eventually, tokens};
use expect_test::expect;
use serde_json::json;
use std::{io::Write, process::Stdio};

fn records(count: u64) -> String {
    let record = |n: u64| json!({"id": n, "status": if n % 7 == 3 { "failed" } else { "ok" }, "tags": ["a", n.to_string()]});
    serde_json::Value::Array((0..count).map(record).collect()).to_string()
}

#[test]
fn a_filter_and_the_shape_of_json_are_bounded_and_go_on() {
    let forebay = Forebay::new();
    forebay.put("list123", records(3_000).as_bytes(), &[]);
    let text = forebay
        .run(["json", "list123", ".[] | select(.status == \"failed\") | .id", "--max", "3"])
        .ok()
        .text();
    expect![[r#"
        [429 values, 1–3 shown · s/list123]
        3
        10
        17
        [next: forebay json s/list123 '.[] | select(.status == "failed") | .id' --skip 3 --max 3]
    "#]]
    .assert_eq(&text);
    let shape = forebay.run(["json", "list123"]).ok().text();
    expect![[r#"
        [shape of 1 document, 6 paths · s/list123]
        .  array, 3,000 items
        .[]  object ×3,000
        .[].id  number ×3,000, 0 to 2999
        .[].status  string ×3,000: "ok" ×2,571, "failed" ×429
        .[].tags  array ×3,000, 2 items
        .[].tags[]  string ×6,000: "a", "0", "1"
    "#]]
    .assert_eq(&shape);
    let answer = forebay.run(["json", "list123", "map(.id) | add", "--json"]).ok().json();
    assert_eq!((&answer["values"][0]["json"], &answer["total"]), (&json!("4498500"), &json!({"exactly": 1})));
    let pages = forebay.run(["json", "list123", ".[]", "--budget", "200"]).ok().text();
    assert!(tokens(pages.as_bytes()) <= 200 && forebay.try_suggestions(&pages) == 1, "{pages}");
}

#[test]
fn what_cannot_be_filtered_says_why() {
    let forebay = Forebay::new();
    forebay.put("list123", b"[1, 2]", &[]);
    forebay.put("plain12", b"no JSON at all\n", &[]);
    for (args, told) in [
        (["json", "list123", ".[] | nope"], "nope"),
        (["json", "list123", ".["], "^"),
        (["json", "plain12", "."], "not JSON"),
        (["json", "list123", "env"], "env"),
        (["json", "plain12", "--skip=0"], "not JSON"),
    ] {
        let error = forebay.run(args).fails(2);
        assert!(error.contains(told), "{error}");
    }
    for args in [["json", "list123", &"if ".repeat(10_000)], ["grep", "list123", &"(".repeat(9_000)]] {
        let error = forebay.run(args).fails(2);
        assert!(tokens(error.as_bytes()) < 1_500 && error.chars().count() < 1_200, "{error}");
    }
    let failed = forebay.run(["json", "list123", ".[] | error"]);
    assert!(failed.status == 1 && failed.text().contains("[the filter failed: "), "{}", failed.text());
}

#[test]
fn an_outline_shows_as_deep_as_fits_and_goes_deeper() {
    let forebay = Forebay::new();
    let class = |n: u64| {
        format!(
            "class Store{n}:\n    def get(self, key):\n        return key\n\n    def put(self, key):\n        pass\n\n\n"
        )
    };
    let code: String = (0..200).map(class).collect();
    forebay.put(
        "code123",
        code.as_bytes(),
        &["--tool", "read_file", "--args", r#"{"file_path": "store.py"}"#],
    );
    let text = forebay.run(["outline", "code123", "--budget", "120"]).ok().text();
    expect![[r#"
        [Python, 1,600 lines: 11 of 200 things · s/code123]
        1–6 class Store0
        9–14 class Store1
        17–22 class Store2
        25–30 class Store3
        33–38 class Store4
        41–46 class Store5
        49–54 class Store6
        57–62 class Store7
        65–70 class Store8
        73–78 class Store9
        81–86 class Store10
        [next: forebay outline s/code123 --from-line 89 --depth 0]
    "#]]
    .assert_eq(&text);
    let small: String = (0..4).map(class).collect();
    forebay.put("code456", small.as_bytes(), &[]);
    let text = forebay.run(["outline", "code456"]).ok().text();
    assert!(text.contains("\n  2–3 def get(self, key)\n"), "{text}");
    let text = forebay.run(["outline", "code456", "--depth", "0"]).ok().text();
    assert!(text.ends_with("[8 more inside these: forebay outline s/code456 --depth 1]\n"), "{text}");
    assert_eq!(forebay.try_suggestions(&text), 1);
    let items = forebay.run(["outline", "code456", "--json"]).ok().json();
    assert_eq!((&items["form"], items["items"].as_array().unwrap().len()), (&json!("Python"), 12));
}

#[test]
fn a_question_is_answered_with_the_passages_that_answer_it() {
    let forebay = Forebay::new();
    let mut log: String = (0..5_000).map(|n| format!("step {n} of the build\n")).collect();
    log.insert_str(log.len() / 2, "error: linker `cc` not found\n  |\n  = note: No such file or directory\n");
    forebay.put("build12", log.as_bytes(), &[]);
    let text =
        forebay.run(["ask", "build12", "why", "did", "the", "build", "fail?", "--budget", "150"]).ok().text();
    assert!(
        text.contains("error: linker `cc` not found\n  |\n  = note: No such file or directory\n"),
        "{text}"
    );
    let answer =
        forebay.run(["ask", "build12", "what is step 4711?", "--json", "--budget", "150"]).ok().json();
    let passages = answer["passages"].as_array().unwrap();
    assert!(
        passages.iter().any(|passage| passage["text"].as_str().unwrap().contains("step 4711 of")),
        "{answer}"
    );
    assert!(forebay.run(["ask", "build12", " "]).fails(2).contains("no question"));
}

#[test]
fn words_are_found_in_all_outputs_of_a_session_and_only_there() {
    let forebay = Forebay::new();
    forebay.put("older12", "a connection was refused\n".repeat(9).as_bytes(), &[]);
    forebay.put("newer12", b"Refused: the CONNECTION\nanother line\n", &[]);
    forebay.put("other12", b"connection refused too\n", &["--session", "else"]);
    let text = forebay.run(["search", "refused", "connection"]).ok().text();
    let pattern = "connection.*refused|refused.*connection";
    assert_eq!(
        text,
        format!(
            "[10 matches in 2 of 2 outputs]\n[1 match in s/newer12 · put]\n1:Refused: the CONNECTION\n\
             [9 matches in s/older12 · put]\n1:a connection was refused\n2:a connection was refused\n\
             3:a connection was refused\n4:a connection was refused\n5:a connection was refused\n\
             [all of them: forebay grep s/older12 '{pattern}' -i]\n"
        )
    );
    assert_eq!(forebay.try_suggestions(&text), 1);
    assert_eq!(forebay.run(["search", "nowhere"]).ok().text(), "[no line has these words in 2 outputs]\n");
    assert_eq!(forebay.run(["search", "refused", "--json"]).ok().json()["total"], 10);
}

#[test]
fn every_query_works_while_an_output_grows_and_says_so() {
    let forebay = Forebay::new();
    let mut command = forebay.command(["put", "-", "--call-id", "grows12"]);
    let mut running = forebay.start(command.stdin(Stdio::piped()));
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(b"{\"a\": 1}\n{\"a\": 2}\n").unwrap();
    eventually("it grows", || {
        assert!(running.try_wait().unwrap().is_none(), "it ended early: {:?}", forebay.ls());
        forebay.ls().first().is_some_and(|listed| listed["size"]["bytes"] == 18)
    });
    for args in [
        &["read", "grows12"][..],
        &["head", "grows12"],
        &["tail", "grows12"],
        &["grep", "grows12", "a"],
        &["json", "grows12", ".a"],
        &["json", "grows12"],
        &["outline", "grows12"],
        &["ask", "grows12", "what is a?"],
        &["search", "a"],
    ] {
        let text = forebay.run(args).ok().text();
        assert!(text.contains("still growing"), "{args:?}: {text}");
    }
    drop(stdin);
    assert!(running.wait().unwrap().success());
    assert!(!forebay.run(["json", "grows12", ".a"]).ok().text().contains("growing"));
}

#[test]
fn tools_are_listed_for_every_wire_and_their_calls_are_answered() {
    let forebay = Forebay::new();
    let long: String = (0..8_999).map(|line| format!("line {line}\n")).collect::<String>() + "one line\n";
    let view = forebay.put("build12", long.as_bytes(), &["--calls", "tools"]);
    assert!(view["text"].as_str().unwrap().contains("output_read(handle=\"s/build12\", lines=\""), "{view}");
    for (wire, at) in [
        ("openai-chat", "/0/function/name"),
        ("openai-responses", "/0/name"),
        ("anthropic", "/0/name"),
        ("gemini", "/0/functionDeclarations/0/name"),
        ("mcp", "/0/name"),
        ("function-call", "/0/name"),
    ] {
        let tools = forebay.run(["tools", "--wire", wire]).ok().json();
        assert_eq!(tools.pointer(at), Some(&json!("output_read")), "{wire}");
    }
    let tools = forebay.run(["tools", "--wire", "anthropic", "--set", "context"]).ok().json();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["context_list", "context_read", "context_tail", "context_grep"]);
    let message = json!({"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "output_read", "arguments": "{\"handle\": \"s/build12\", \"tail\": 1}"}},
        {"id": "c2", "type": "function", "function": {"name": "output_read", "arguments": "{\"handle\": \"else/build12\"}"}},
        {"id": "c3", "type": "function", "function": {"name": "context_tail", "arguments": "{\"id\": \"build12\", \"lines\": 1}"}},
        {"id": "c4", "type": "function", "function": {"name": "output_read", "arguments": "{\"handle\": "}},
    ]});
    let text =
        forebay.run_with_input(["call", "--wire", "openai-chat"], message.to_string().as_bytes()).ok().text();
    let answers: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let content = |at: usize| answers[at]["content"].as_str().unwrap();
    assert_eq!(
        answers.iter().map(|answer| answer["tool_call_id"].as_str().unwrap()).collect::<Vec<_>>(),
        ["c1", "c2", "c3", "c4"]
    );
    assert!(content(0).contains("\none line\n"));
    assert!(content(1).contains("there is no output else/build12 in this session"));
    assert_eq!(content(2), r#"{"id":"build12","lines":1,"totalLines":9000,"content":"one line\n"}"#);
    assert!(content(3).contains("arguments"), "{}", content(3));
    let error = forebay.run(["call", "output_read", r#"{"handle": "gone-12"}"#]).fails(1);
    assert!(error.contains("there are s/build12"), "{error}");
    assert!(forebay.run(["call", "output_read", "{"]).fails(2).contains("not a JSON object"));
    assert!(forebay.run(["tools", "--wire", "smoke"]).status == 2);
}
