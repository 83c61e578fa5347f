//! Calls of the tools, and their answers.

use super::*;
use crate::formats::UserFormat;
use crate::request::Query;
use crate::store::Store;
use crate::{Call, Formats, MemoryStore, Preset, Session, Timestamp};
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};

fn put(store: &MemoryStore, session: &str, id: &str, text: &[u8]) -> crate::Output {
    let call = Call::new(Session::safe(session), id, "make", Timestamp::UNIX_EPOCH);
    crate::store::keep::keep(store, &call, &mut &text[..], &|| Timestamp::UNIX_EPOCH).unwrap()
}

/// The outputs of the session of one of them.
fn of<'a>(store: &'a MemoryStore, output: &crate::Output) -> Outputs<'a> {
    Outputs::new(store, output.record().call.session.clone(), &|| Timestamp::UNIX_EPOCH)
}

/// The view of an output.
fn reply_to(store: &MemoryStore, output: &crate::Output) -> Vec<u8> {
    of(store, output).reply(output, &Settings::default()).unwrap().folded.unwrap().text
}

fn call(name: &str, arguments: Value) -> ToolCall {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    ToolCall { id: "c1".into(), name: name.into(), arguments: Ok(arguments) }
}

fn asked(store: &MemoryStore, name: &str, arguments: Value) -> ToolResult {
    let outputs = Outputs::new(store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
    let settings = Settings::default();
    let tools = Tools { outputs: &outputs, models: Models::NONE, settings: &settings, prefix: PREFIX };
    tools.answer(&call(name, arguments))
}

fn check(store: &MemoryStore, name: &str, arguments: Value, expected: Expect) {
    let result = asked(store, name, arguments);
    let sign = if result.is_error { "error: " } else { "" };
    expected.assert_eq(&format!("{sign}{}", result.text));
}

fn numbered(count: u64) -> Vec<u8> {
    (1..=count).map(|line| format!("line {line}\n")).collect::<String>().into_bytes()
}

fn coloured(count: u64) -> Vec<u8> {
    (1..=count).map(|line| format!("\x1b[1mline\x1b[0m {line}\n")).collect::<String>().into_bytes()
}

#[test]
fn each_tool_answers_its_query() {
    let store = MemoryStore::default();
    put(&store, "s", "first1", &numbered(5_000));
    put(&store, "s", "second", b"an error here\nand a line\nan ERROR there\n");
    check(
        &store,
        "output_read",
        json!({"handle": "s/first1", "lines": "7:8 4000:4001"}),
        expect![[r#"
            [lines 7–8 of 5,000 · s/first1]
            line 7
            line 8
            [lines 4,000–4,001 of 5,000 · s/first1]
            line 4000
            line 4001
        "#]],
    );
    check(
        &store,
        "output_read",
        json!({"handle": "first1", "tail": "2"}),
        expect![[r#"
            [lines 4,999–5,000 of 5,000 · s/first1]
            line 4999
            line 5000
        "#]],
    );
    check(
        &store,
        "output_grep",
        json!({"handle": "second", "pattern": "ERROR", "ignore_case": true, "only_matching": true, "max": 1}),
        expect![[r#"
            [2 matches in 3 lines, the first 1 shown · s/second]
            1:error
            [next: output_grep(handle="s/second", pattern="ERROR", ignore_case=true, only_matching=true, max=1, from_byte=8)]
        "#]],
    );
    check(
        &store,
        "output_search",
        json!({"words": "there error"}),
        expect![[r#"
            [1 match in 1 of 2 outputs]
            [1 match in s/second · make]
            3:an ERROR there
        "#]],
    );
    check(
        &store,
        "output_list",
        json!({}),
        expect![[r#"
            [2 outputs, newest first]
            s/second · make · 3 lines, 40 bytes
            s/first1 · make · 5,000 lines, 48,893 bytes
        "#]],
    );
    check(
        &store,
        "output_ask",
        json!({"handle": "second", "question": "what went wrong?"}),
        expect![[r#"
            [1 passage · 3 lines · s/second]
            [1–3]
            an error here
            and a line
            an ERROR there
        "#]],
    );
}

#[test]
fn the_bytes_that_a_context_tool_shows_are_recorded() {
    let store = MemoryStore::default();
    let output = put(&store, "s", "call-1", b"one\ntwo error\nthree\nan error");
    let long = put(&store, "s", "long12", "x".repeat(100_000).as_bytes());
    type Places = Vec<(u64, u64)>;
    let table: [(&str, Value, Places, Places); 6] = [
        ("read", json!({"id": "call-1", "offset": 4, "limit": 4}), vec![(4, 8)], vec![]),
        ("read", json!({"id": "call-1", "offset": 28}), vec![], vec![]),
        ("tail", json!({"id": "call-1", "lines": 2}), vec![(14, 28)], vec![]),
        ("tail", json!({"id": "call-1"}), vec![(0, 28)], vec![]),
        ("grep", json!({"id": "call-1", "pattern": "error"}), vec![], vec![(4, 14), (20, 28)]),
        ("grep", json!({"id": "call-1", "pattern": "nothing"}), vec![], vec![]),
    ];
    let told = || {
        let mut told = Vec::new();
        crate::event::for_each(&store, &Session::safe("s"), |event| {
            if let crate::What::QueryAnswered(answered) = event.what {
                told.push(answered);
            }
        })
        .unwrap();
        told.pop().unwrap()
    };
    for (tool, arguments, shown, drawn_from) in table {
        let result = asked(&store, &format!("context.{tool}"), arguments.clone());
        assert!(!result.is_error, "{}", result.text);
        let told = told();
        assert_eq!((told.shown, told.drawn_from), (shown, drawn_from), "{tool} {arguments}");
        assert_eq!(told.length, output.len());
    }
    // Of a line that is too long, a part is shown.
    let result = asked(&store, "context.tail", json!({"id": "long12", "lines": 1}));
    let content =
        serde_json::from_str::<Value>(&result.text).unwrap()["content"].as_str().unwrap().len() as u64;
    assert!(content < 100_000);
    assert_eq!(told().shown, [(long.len() - content, long.len())]);
}

#[test]
fn the_context_tools_answer_in_their_own_form() {
    let store = MemoryStore::default();
    put(&store, "s", "call-1", b"one\ntwo error\nthree\n");
    for name in ["context.read", "context_read"] {
        check(
            &store,
            name,
            json!({"id": "call-1", "offset": 4, "limit": 4}),
            expect![[r#"{"id":"call-1","offset":4,"limit":4,"done":false,"content":"two "}"#]],
        );
    }
    check(
        &store,
        "context.read",
        json!({"id": "call-1", "offset": 14}),
        expect![[r#"{"id":"call-1","offset":14,"limit":6,"done":true,"content":"three\n"}"#]],
    );
    check(
        &store,
        "context.tail",
        json!({"id": "call-1", "lines": 2}),
        expect![[r#"{"id":"call-1","lines":2,"totalLines":3,"content":"two error\nthree\n"}"#]],
    );
    check(
        &store,
        "context.grep",
        json!({"id": "call-1", "pattern": "Error|Exception", "contextLines": 1}),
        expect![[
            r#"{"id":"call-1","totalMatches":1,"matches":[{"line":2,"content":"two error","before":["one"],"after":["three"]}]}"#
        ]],
    );
    check(
        &store,
        "context.grep",
        json!({"id": "call-1", "pattern": "Error", "caseSensitive": true}),
        expect![[r#"{"id":"call-1","totalMatches":0,"matches":[]}"#]],
    );
    check(
        &store,
        "context.list",
        json!({"kind": "artifact"}),
        expect![[
            r#"{"items":[{"id":"call-1","kind":"artifact","mimeType":"text/plain","byteSize":20,"createdAt":"1970-01-01T00:00:00Z","hint":"tool make, call call-1, 20 bytes"}],"total":1}"#
        ]],
    );
}

#[test]
fn tools_are_offered_after_a_fold_and_before_the_final_turn() {
    let store = MemoryStore::default();
    let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
    let offered = |final_turn| offered(own(PREFIX), outputs.has_folded().unwrap(), final_turn).len();
    assert_eq!(offered(false), 0, "nothing is stored");
    let small = put(&store, "s", "small1", b"x");
    outputs.reply(&small, &Settings::default()).unwrap();
    assert_eq!(offered(false), 0, "what passed was read");
    let large = put(&store, "s", "large1", &numbered(5_000));
    outputs.reply(&large, &Settings::default()).unwrap();
    assert_eq!((offered(false), offered(true)), (own(PREFIX).len(), 0));
}

#[test]
fn tool_output_is_declared_as_models_know_it() {
    let tool = own(PREFIX).pop().unwrap();
    expect![[r#"
        [
          "tool_output",
          "Extract information from a stored oversized tool output by handle",
          {
            "type": "object",
            "properties": {
              "handle": {
                "type": "string",
                "minLength": 1,
                "description": "Handle of the stored tool output (relative path under the tool_output root, e.g. session-<uuid>/<file-uuid>; provided in the tool-result message)"
              },
              "extract": {
                "type": "string",
                "minLength": 1,
                "description": "Provide precise, detailed instructions about what you need from the tool output (be specific, include keys/fields/sections if known)."
              },
              "mode": {
                "type": "string",
                "enum": [
                  "auto",
                  "full-chunked",
                  "read-grep",
                  "truncate"
                ],
                "description": "Optional override. auto=module decides; full-chunked=LLM chunk+reduce; read-grep=dynamic sub-agent with Read/Grep; truncate=keeps top and bottom, truncates in the middle."
              }
            },
            "required": [
              "handle",
              "extract"
            ],
            "additionalProperties": false
          }
        ]"#]].assert_eq(
        &serde_json::to_string_pretty(&json!([tool.name, tool.description, tool.schema])).unwrap(),
    );
    let store = MemoryStore::default();
    put(&store, "s", "first1", &numbered(5));
    check(
        &store,
        "tool_output",
        json!({"handle": "s/first1", "extract": "line 4"}),
        expect![[r#"
        ABSTRACT FROM TOOL OUTPUT make WITH HANDLE s/first1, STRATEGY:ask:

        [1 passage · 5 lines · s/first1]
        [1–5]
        line 1
        line 2
        line 3
        line 4
        line 5
    "#]],
    );
    check(
        &store,
        "tool_output",
        json!({"handle": "s/gone12", "extract": "x", "mode": "truncate"}),
        expect![[r#"
            error: TOOL_OUTPUT FAILED FOR unknown tool WITH HANDLE s/gone12, STRATEGY:truncate:

            there is no output s/gone12 in this session (any more), and asking for it again will not help; there are s/first1"#]],
    );
    check(
        &store,
        "tool_output",
        json!({"handle": "s/first1"}),
        expect![[r#"
        error: TOOL_OUTPUT FAILED FOR make WITH HANDLE s/first1, STRATEGY:auto:

        the argument "extract" is missing: Provide precise, detailed instructions about what you need from the tool output (be specific, include keys/fields/sections if known)."#]],
    );
    check(
        &store,
        "tool_output",
        json!({"handle": "s/first1", "extract": "x", "mode": "all"}),
        expect![[r#"
            error: TOOL_OUTPUT FAILED FOR make WITH HANDLE s/first1, STRATEGY:auto:

            mode must be one of auto, full-chunked, read-grep, truncate, and is "all""#]],
    );
}

#[test]
fn schemas_declare_the_arguments() {
    let schema = |name: &str| {
        let tools: Vec<Tool> = own(PREFIX).into_iter().chain(context()).collect();
        tools.into_iter().find(|tool| tool.name == name).unwrap().schema.to_string()
    };
    expect![[r#"{"type":"object","properties":{"id":{"type":"string","minLength":1,"maxLength":300,"description":"The id of the ContextRef."},"pattern":{"type":"string","minLength":1,"maxLength":1000,"description":"A regular expression."},"maxResults":{"type":"integer","minimum":1,"maximum":200,"default":50,"description":"Maximum matches shown."},"contextLines":{"type":"integer","minimum":0,"maximum":200,"default":0,"description":"Lines shown before and after each match."},"caseSensitive":{"type":"boolean","default":false,"description":"Match case."},"offset":{"type":"integer","minimum":0,"maximum":9223372036854775807,"default":0,"description":"The first byte, as next gives it."}},"required":["id","pattern"],"additionalProperties":false}"#]].assert_eq(&schema("context.grep"));
    for (name, argument, least, most, usual) in [
        ("context.list", "limit", 1, 500, 50),
        ("context.read", "limit", 1, 65_536, 8_192),
        ("context.tail", "lines", 1, 2_000, 200),
    ] {
        let schema: Value = serde_json::from_str(&schema(name)).unwrap();
        let number = &schema["properties"][argument];
        assert_eq!(
            (&number["minimum"], &number["maximum"], &number["default"]),
            (&json!(least), &json!(most), &json!(usual))
        );
    }
}

#[test]
fn a_failed_call_says_what_to_do() {
    let store = MemoryStore::default();
    put(&store, "s", "alive1", b"x\n");
    for (name, arguments, told) in [
        ("read", json!({}), "there is no tool \"read\" here; there are output_read, "),
        ("output_read", json!({}), "the argument \"handle\" is missing"),
        (
            "output_read",
            json!({"handle": "alive1", "line": 3}),
            "read takes no argument \"line\"; it takes handle, lines, bytes, tail",
        ),
        (
            "output_read",
            json!({"handle": "alive1", "lines": "x:3"}),
            "\"x\" is not a number; a range is A:B, A: or :B",
        ),
        ("output_read", json!({"handle": "alive1", "lines": "9:3"}), "lines are counted from 1 and go up"),
        (
            "output_read",
            json!({"handle": "alive1", "lines": "1:2", "tail": 3}),
            "read takes one of lines, bytes and tail",
        ),
        ("output_read", json!({"handle": ["alive1"]}), "handle must be a text, and is [\"alive1\"]"),
        ("output_grep", json!({"handle": "alive1", "pattern": "(x"}), "unclosed group"),
        (
            "output_grep",
            json!({"handle": "alive1", "pattern": "x", "context": -1}),
            "context must be a whole number from 0 to 200",
        ),
        (
            "output_grep",
            json!({"handle": "alive1", "pattern": "x", "ignore_case": 1}),
            "ignore_case must be true or false",
        ),
        (
            "context.read",
            json!({"id": "alive1", "limit": 65_537}),
            "limit must be a whole number from 1 to 65536",
        ),
        ("context.grep", json!({"id": "alive1", "pattern": "x".repeat(1_001)}), "at most 1000 characters"),
    ] {
        let result = asked(&store, name, arguments);
        assert!(result.is_error && result.text.contains(told), "{name}: {}", result.text);
    }
}

#[test]
fn a_call_cannot_reach_beyond_its_session() {
    let store = MemoryStore::default();
    put(&store, "s", "alive1", b"mine\n");
    put(&store, "other", "secret1", b"theirs\n");
    let long = "x".repeat(4_096);
    for handle in [
        "other/secret1",
        "secret1",
        "other/secret",
        "../other/secret1",
        "s/../other/secret1",
        "/etc/passwd",
        "..",
        "a\0b",
        "s/alive1\0",
        "other/nothing1",
        "%2e%2e/other/secret1",
        "other\\secret1",
    ] {
        for (tool, name) in [("output_read", "handle"), ("context.read", "id"), ("context.tail", "id")] {
            let result = asked(&store, tool, json!({ name: handle }));
            assert!(result.is_error && !result.text.contains("theirs"), "{handle}: {}", result.text);
            let told =
                "in this session (any more), and asking for it again will not help; there are s/alive1";
            assert!(result.text.ends_with(told), "{handle}: {}", result.text);
        }
    }
    assert!(
        asked(&store, "output_read", json!({"handle": long})).text.starts_with("handle must be at most 300")
    );
    assert!(!asked(&store, "output_search", json!({"words": "theirs"})).text.contains("secret1"));
    assert!(!asked(&store, "output_list", json!({})).text.contains("secret1"));
    assert!(!asked(&store, "context.list", json!({})).text.contains("secret1"));
}

#[test]
fn a_repeated_answer_says_so() {
    let store = MemoryStore::default();
    put(&store, "s", "long12", &numbered(5_000));
    let read = |lines: &str| asked(&store, "output_read", json!({"handle": "long12", "lines": lines})).text;
    assert!(!read("100:140").contains("before"));
    assert!(
        read("100:140").ends_with(
            "[asked before: nothing here is new; go on with the next part, or ask something else]\n"
        )
    );
    assert!(read("100:140").ends_with(
        "[asked 2 times before: nothing here is new; go on with the next part, or ask something else]\n"
    ));
    assert!(
        read("110:120")
            .ends_with("[all of this was shown before; go on with the next part, or ask something else]\n")
    );
    assert!(!read("110:141").contains("before"), "one line is new");
    let grep = || asked(&store, "output_grep", json!({"handle": "long12", "pattern": "nothing"})).text;
    assert!(!grep().contains("before"));
    assert!(grep().ends_with("[asked before: nothing here is new; ask something else]\n"));
}

#[test]
fn bytes_that_the_view_showed_count_as_shown() {
    let store = MemoryStore::default();
    let output = put(&store, "s", "long12", &numbered(50_000));
    reply_to(&store, &output);
    let read = |lines: &str| asked(&store, "output_read", json!({"handle": "long12", "lines": lines})).text;
    assert!(read("1:2").contains("[all of this was shown before"));
    assert!(!read("25000:25001").contains("shown before"));
    let output = put(&store, "s", "colour", &coloured(50_000));
    reply_to(&store, &output);
    let read = json!({"handle": "colour", "lines": "1:2"});
    assert!(asked(&store, "output_read", read).text.contains("[all of this was shown before"));
}

#[test]
fn a_first_answer_is_never_called_a_repeat() {
    let store = MemoryStore::default();
    let text = numbered(50_000);
    put(&store, "s", "unseen", &text);
    let view = |id: &str| String::from_utf8(reply_to(&store, &put(&store, "s", id, &text))).unwrap();
    let (first, second) = (view("first1"), view("second"));
    assert!(!first.contains("nothing changed"), "{first}");
    assert!(second.starts_with("[nothing changed since s/first1"), "{second}");
}

#[test]
fn the_same_bytes_are_shown_again_in_a_larger_range() {
    let store = MemoryStore::default();
    let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
    let shown = |id: &str, command: &str, intent: Option<&str>, tokens: u64| {
        let call = Call {
            args: Some(json!({ "command": command }).to_string()),
            intent: intent.map(str::to_owned),
            ..Call::new(Session::safe("s"), id, "run", Timestamp::UNIX_EPOCH)
        };
        let mut settings = Settings::default();
        settings.set_budget(tokens);
        let output =
            crate::store::keep::keep(&store, &call, &mut &numbered(50_000)[..], &|| Timestamp::UNIX_EPOCH)
                .unwrap();
        let reply = outputs.reply(&output, &settings).unwrap();
        String::from_utf8(reply.folded.unwrap().text).unwrap()
    };
    let told = |text: &str| text.lines().next().unwrap().split(':').next().unwrap().to_owned();
    shown("first1", "seq 50000", None, 500);
    assert_eq!(told(&shown("second", "seq 50000", None, 500)), "[nothing changed since s/first1");
    assert_eq!(
        told(&shown("other1", "seq 1 50000", None, 500)),
        "[the same bytes as s/first1 of another call"
    );
    assert!(shown("wanted", "seq 50000", Some("line 40000"), 500).contains("line 40000"));
    assert!(shown("larger", "seq 50000", None, 1_000).lines().count() > 20);
    assert_eq!(told(&shown("larges", "seq 50000", None, 1_000)), "[nothing changed since s/larger");
}

#[test]
fn the_same_bytes_are_shown_again_if_the_preset_or_the_formats_of_the_user_have_changed() {
    let formats = |says: &str| {
        let file = format!(
            "about = \"Mine\"\nprograms = [\"mine\"]\n\n[[line]]\nrole = \"failure\"\npattern = '^({says})$'\nsamples = ['{says}']\n"
        );
        Formats::with(vec![UserFormat::parse("mine", &file).unwrap()])
    };
    let plain = Settings::default();
    let head_tail = Settings { preset: Preset::HeadTail, ..Settings::default() };
    let with = |formats: Formats| Settings { formats, ..Settings::default() };
    for (first, second, is_repeated) in [
        (&plain, &plain, true),
        (&with(formats("24999")), &with(formats("24999")), true),
        (&plain, &with(formats("24999")), false),
        (&with(formats("24999")), &with(formats("24998")), false),
        (&with(formats("24999")), &plain, false),
        (&head_tail, &plain, false),
    ] {
        let store = MemoryStore::default();
        let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
        let shown = |id: &str, settings: &Settings| {
            let reply = outputs.reply(&put(&store, "s", id, &numbered(50_000)), settings).unwrap();
            String::from_utf8(reply.folded.unwrap().text).unwrap()
        };
        shown("first1", first);
        let text = shown("second", second);
        let said = text.starts_with("[nothing changed since s/first1");
        assert_eq!(said, is_repeated, "{:?} {:?}: {text}", first.view_maker(), second.view_maker());
    }
}

#[test]
fn the_same_bytes_are_shown_again_where_the_model_may_no_longer_have_them() {
    let later = Timestamp::from_second(31 * 60).unwrap();
    let table: [(&str, Timestamp, &[u64], u64, bool); 5] = [
        ("at once", Timestamp::UNIX_EPOCH, &[], 0, true),
        ("while the context grows", Timestamp::UNIX_EPOCH, &[1_000, 9_000], 3, true),
        ("after half an hour", later, &[], 0, false),
        ("after its host has made room", Timestamp::UNIX_EPOCH, &[90_000, 20_000], 0, false),
        ("after many other answers", Timestamp::UNIX_EPOCH, &[], 300, false),
    ];
    for (when, now, used, answers, is_repeated) in table {
        let store = MemoryStore::default();
        let show = |id: &str, bytes: &[u8], at: Timestamp| {
            let call = Call {
                args: Some(json!({ "command": "seq 50000" }).to_string()),
                ..Call::new(Session::safe("s"), id, "run", at)
            };
            let output = crate::store::keep::keep(&store, &call, &mut &bytes[..], &|| at).unwrap();
            let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
            let reply = outputs.reply(&output, &Settings::default()).unwrap();
            String::from_utf8(reply.folded.unwrap().text).unwrap()
        };
        show("first1", &numbered(50_000), Timestamp::UNIX_EPOCH);
        let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
        used.iter().for_each(|used| outputs.set_used_tokens(*used).unwrap());
        (0..answers).for_each(|more| drop(show(&format!("other{more}"), &numbered(4_000 + more), now)));
        let text = show("second", &numbered(50_000), now);
        assert_eq!(text.starts_with("[nothing changed since s/first1"), is_repeated, "{when}: {text}");
        assert!(text.contains("since s/"), "{when}: {text}");
    }
}

#[test]
fn the_bytes_behind_a_filter_or_a_question_do_not_count_as_shown() {
    let store = MemoryStore::default();
    let json = format!("{{\"a\": 1, \"b\": \"{}\"}}", "some words ".repeat(900));
    put(&store, "s", "json12", json.as_bytes());
    asked(&store, "output_json", json!({"handle": "json12", "filter": ".a"}));
    asked(&store, "output_ask", json!({"handle": "json12", "question": "which words?"}));
    asked(&store, "output_grep", json!({"handle": "json12", "pattern": "words"}));
    let read = asked(&store, "output_read", json!({"handle": "json12", "bytes": "100:200"})).text;
    assert!(!read.contains("before"), "{read}");
}

#[test]
fn a_larger_budget_is_not_the_same_query() {
    let store = MemoryStore::default();
    put(&store, "s", "long12", &numbered(5_000));
    let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
    let read = |tokens| {
        let budget = crate::Budget { tokens, bytes: 9_000, lines: None };
        let query = crate::Query::Lines(vec![1..=4_000]);
        let answer = outputs.answer("long12", &query, budget, &Surface::default());
        String::from_utf8(answer.unwrap().text).unwrap()
    };
    assert!(!read(300).contains("before") && !read(600).contains("before"));
    assert!(read(600).contains("[asked before: nothing here is new"));
}

#[test]
fn a_repeated_query_with_the_smallest_budget_is_answered() {
    let store = MemoryStore::default();
    let session = "M7QMQy0rVNefwc60hFb";
    put(&store, session, "00", b"{}");
    put(&store, session, "01", &numbered(500));
    let outputs = Outputs::new(&store, Session::safe(session), &|| Timestamp::UNIX_EPOCH);
    let queries = [
        Query::Shape { skip: 0 },
        Query::Outline(crate::request::Outlined { from_line: 1, skip: 0, depth: None }),
        Query::Ask("which line?".to_owned()),
        Query::Grep(crate::Grep::new("7")),
        Query::Tail(3),
    ];
    let surface = Surface::Tools { prefix: PREFIX.to_owned() };
    for (id, query) in ["00", "01"].iter().flat_map(|id| queries.iter().map(move |query| (id, query))) {
        for attempt in 1..=3 {
            match outputs.answer(id, query, crate::Budget::LEAST, &surface) {
                Ok(answer) => assert!(crate::Budget::LEAST.holds(&answer.text), "{query:?}, {attempt}"),
                // Lines of text have no shape, however often it is asked for.
                Err(Error::BadQuery(why)) if matches!((*id, query), ("01", Query::Shape { .. })) => {
                    assert!(why.contains("not JSON"), "{why}");
                }
                Err(error) => panic!("{query:?} of {id}, attempt {attempt}: {error}"),
            }
        }
    }
}

#[test]
fn a_damaged_output_of_another_session_is_not_mentioned() {
    let folder = tempfile::tempdir().unwrap();
    let store = crate::DiskStore::new(folder.path());
    for session in ["s", "other"] {
        let call = Call::new(Session::safe(session), "secret1", "make", Timestamp::UNIX_EPOCH);
        crate::store::keep::keep(&store, &call, &mut &b"x"[..], &|| Timestamp::UNIX_EPOCH).unwrap();
    }
    std::fs::write(folder.path().join("other/tool/secret1.meta.json"), "{").unwrap();
    let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
    let told = |handle: &str| outputs.open(handle).err().unwrap().to_string();
    assert_eq!(
        told("other/secret1").replace("secret1", "ID"),
        told("other/nothing").replace("nothing", "ID").replace("secret1", "ID")
    );
    assert!(outputs.open("s/secret1").is_ok());
}

#[test]
fn binary_bytes_do_not_exceed_the_budget() {
    let store = MemoryStore::default();
    let bytes: Vec<u8> = (0..30_000u32).map(|n| 0xc0 + (n % 64) as u8).collect();
    put(&store, "s", "bytes12", &bytes);
    for arguments in
        [json!({"handle": "bytes12", "bytes": "0:30000"}), json!({"handle": "bytes12", "tail": 3})]
    {
        let result = asked(&store, "output_read", arguments);
        assert!(
            !result.is_error && Settings::default().excerpt_budget().holds(result.text.as_bytes()),
            "{}",
            result.text
        );
    }
    let first = asked(&store, "output_read", json!({"handle": "bytes12", "bytes": "20000:29000"}));
    assert!(!first.text.contains("before"), "a first question is no repeated one: {}", first.text);
    let read = asked(&store, "context.read", json!({"id": "bytes12"}));
    assert!(
        read.text.contains("\"offset\":0")
            && Settings::default().excerpt_budget().holds(read.text.as_bytes())
    );
}

#[test]
fn following_next_shows_every_item_and_path_once() {
    let store = MemoryStore::default();
    let page: String = (0..900).map(|n| format!("<h2>Part {n}</h2>")).collect();
    let code: String =
        (0..300).map(|n| format!("class Store{n}:\n    def get(self):\n        pass\n\n")).collect();
    let keys: Vec<String> =
        (0..40).map(|n| format!("\"key{n}\": {{\"{}\": {n}}}", "k".repeat(400 + n))).collect();
    put(&store, "s", "page12", format!("<!doctype html><html><body>{page}</body></html>").as_bytes());
    put(&store, "s", "code12", code.as_bytes());
    put(&store, "s", "json12", format!("{{{}}}", keys.join(",")).as_bytes());
    for (tool, arguments, expected) in [
        ("output_outline", json!({"handle": "page12", "depth": 9}), 900),
        ("output_outline", json!({"handle": "code12", "depth": 1}), 600),
        ("output_json", json!({"handle": "json12"}), 81),
    ] {
        let mut call = (tool.to_owned(), arguments.as_object().unwrap().clone());
        let mut seen = Vec::new();
        for _ in 0..200 {
            let text = asked(&store, &call.0, Value::Object(call.1.clone())).text;
            seen.extend(text.lines().filter(|line| !line.starts_with('[')).map(str::to_owned));
            let Some(next) = suggested(&text).pop() else { break };
            call = next;
        }
        assert_eq!(seen.len(), expected, "{tool} {arguments}");
        seen.sort();
        seen.dedup();
        assert!(seen.len() + 100 > expected, "{tool}: nothing comes twice");
    }
}

/// The calls that are printed in a text.
fn suggested(text: &str) -> Vec<(String, Map<String, Value>)> {
    let mut calls = Vec::new();
    let start = regex::Regex::new(r"(output_\w+)\(").unwrap();
    for found in start.captures_iter(text) {
        let mut rest = &text[found.get(0).unwrap().end()..];
        let mut arguments = Map::new();
        while !rest.starts_with(')') {
            let (name, after) = rest.split_once('=').unwrap();
            let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
            let quoted = after.starts_with('"').then(|| values.next().unwrap().unwrap());
            let end =
                quoted.as_ref().map_or_else(|| after.find([',', ')']).unwrap(), |_| values.byte_offset());
            let value = quoted.unwrap_or_else(|| after[..end].parse().unwrap());
            arguments.insert(name.trim_start_matches(", ").to_owned(), value);
            rest = &after[end..];
        }
        calls.push((found[1].to_owned(), arguments));
    }
    calls
}

#[test]
fn every_printed_call_works() {
    let store = MemoryStore::default();
    let giant = format!("{{\"key\": \"{}\"}}", "some \"quoted\" words ".repeat(9_000).replace('"', "\\\""));
    let log = (1..=9_000).map(|line| format!("step {line}: error 'a' \"b\" -c\n")).collect::<String>();
    let binary: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
    let mut tried = 0;
    for (id, bytes) in [
        ("giant1", giant.as_bytes()),
        ("log123", log.as_bytes()),
        ("binary1", &binary),
        ("plain1", &numbered(20_000)),
    ] {
        let output = put(&store, "s", id, bytes).on(&Surface::Tools { prefix: PREFIX.into() });
        let view = String::from_utf8_lossy(&reply_to(&store, &output)).into_owned();
        let mut texts = vec![view];
        for (tool, arguments) in [
            ("output_read", json!({"handle": id})),
            ("output_read", json!({"handle": id, "tail": 5_000})),
            ("output_read", json!({"handle": id, "lines": "1:1 1:9000"})),
            ("output_read", json!({"handle": id, "bytes": "0:50000 70000:90000"})),
            ("output_grep", json!({"handle": id, "pattern": "e.*'a'|[^x]"})),
            ("output_grep", json!({"handle": id, "pattern": "nowhere", "invert": true, "max": 3})),
            ("output_grep", json!({"handle": id, "pattern": "\n", "multiline": true, "max": 1})),
            ("output_search", json!({"words": "step error"})),
        ] {
            texts.push(asked(&store, tool, arguments).text);
        }
        for text in texts {
            for (tool, arguments) in suggested(&text) {
                let result = asked(&store, &tool, Value::Object(arguments.clone()));
                assert!(!result.is_error, "{tool} {arguments:?}: {}", result.text);
                tried += 1;
            }
        }
    }
    assert!(tried > 25, "{tried}");
}

#[test]
fn a_materialized_output_is_read_by_the_calls_of_its_summary() {
    let store = MemoryStore::default();
    let log = (1..=9_000).map(|line| format!("step {line} Exception\n")).collect::<String>();
    let output = put(&store, "s", "call-1", log.as_bytes());
    let settings = Settings { preset: crate::Preset::Materialize, ..Settings::default() };
    let folded = of(&store, &output).reply(&output, &settings).unwrap().folded.unwrap();
    let text = String::from_utf8(folded.text).unwrap();
    let advice = regex::Regex::new(r#"context\.read\("([^"]+)", (\d+), (\d+)\)"#).unwrap();
    let reads: Vec<_> = advice.captures_iter(&text).collect();
    assert!(!reads.is_empty(), "{text}");
    for read in reads {
        let (offset, limit): (u64, u64) = (read[2].parse().unwrap(), read[3].parse().unwrap());
        let result = asked(&store, "context.read", json!({"id": &read[1], "offset": offset, "limit": limit}));
        let value: Value = serde_json::from_str(&result.text).unwrap();
        assert!(log[offset as usize..].starts_with(value["content"].as_str().unwrap()));
        assert_eq!(value["content"].as_str().unwrap().len() as u64, value["limit"].as_u64().unwrap());
    }
    assert!(
        text.contains("context.tail(\"call-1\", 200), or context.grep(\"call-1\", 'Error|Exception', …)")
    );
    assert!(!asked(&store, "context.tail", json!({"id": "call-1", "lines": 200})).is_error);
    assert!(!asked(&store, "context.grep", json!({"id": "call-1", "pattern": "Error|Exception"})).is_error);
}

#[test]
fn following_next_shows_every_line_and_match_of_a_materialized_output() {
    let store = MemoryStore::default();
    let lines = (1..=900).map(|line| format!("Error {line}: \"quoted\" {}\n", "y".repeat(line % 60)));
    let lines = lines.collect::<String>();
    let giant = "needle ".repeat(20_000);
    put(&store, "s", "lines12", lines.as_bytes());
    put(&store, "s", "giant12", giant.as_bytes());
    // The query, and the text that the answers must have together.
    let from = |line: usize| lines.split_inclusive('\n').skip(line).collect::<String>();
    for (arguments, expected) in [
        (json!({"id": "lines12", "lines": 200}), from(700)),
        (json!({"id": "lines12", "lines": 2_000}), from(0)),
        (json!({"id": "lines12", "lines": 3}), from(897)),
        (json!({"id": "giant12", "lines": 1}), giant),
    ] {
        let tail: Value =
            serde_json::from_str(&asked(&store, "context.tail", arguments.clone()).text).unwrap();
        let end = tail["content"].as_str().unwrap().to_owned();
        let mut before = String::new();
        let mut next = tail["next"].clone();
        while next.is_object() && before.len() + end.len() < expected.len() {
            let name = next["name"].as_str().unwrap().to_owned();
            let read: Value =
                serde_json::from_str(&asked(&store, &name, next["arguments"].clone()).text).unwrap();
            before += read["content"].as_str().unwrap();
            let [offset, limit] = ["offset", "limit"].map(|name| read[name].as_u64().unwrap());
            next["arguments"]["offset"] = (offset + limit).into();
        }
        // The last read may go into what the tail has.
        before.truncate(expected.len() - end.len());
        assert_eq!(before + &end, expected, "{arguments}");
    }
    for (arguments, expected) in [
        (json!({"id": "lines12", "pattern": "error"}), 900),
        (json!({"id": "lines12", "pattern": "error", "contextLines": 3, "maxResults": 200}), 900),
        (json!({"id": "lines12", "pattern": "Error 1", "caseSensitive": true}), 111),
        (json!({"id": "giant12", "pattern": "needle", "maxResults": 200}), 20_000),
    ] {
        let (mut given, mut seen) = (arguments.clone(), 0);
        loop {
            let found: Value = serde_json::from_str(&asked(&store, "context.grep", given).text).unwrap();
            assert_eq!(found["totalMatches"], expected, "{arguments}: {found}");
            seen += found["matches"].as_array().unwrap().len();
            match &found["next"] {
                Value::Null => break,
                next => given = next["arguments"].clone(),
            }
            if expected > 1_000 && seen > 300 {
                seen = expected;
                break;
            }
        }
        assert_eq!(seen, expected, "{arguments}");
    }
}

#[test]
fn no_answer_exceeds_the_limits() {
    let store = MemoryStore::default();
    let giant = "🎉 \"\\ \u{1} words ".repeat(40_000);
    put(&store, "s", "giant1", giant.as_bytes());
    (0..300).for_each(|n| drop(put(&store, "s", &format!("many{n:04}"), &numbered(300))));
    let settings = Settings::default();
    let limits = settings.limits("any");
    for (tool, arguments) in [
        ("output_read", json!({"handle": "giant1"})),
        ("output_grep", json!({"handle": "giant1", "pattern": ".", "max": 10_000})),
        ("output_ask", json!({"handle": "giant1", "question": "which words?"})),
        ("output_search", json!({"words": "line"})),
        ("output_list", json!({})),
        ("context.list", json!({"limit": 500})),
        ("context.read", json!({"id": "giant1", "limit": 65_536})),
        ("context.tail", json!({"id": "giant1", "lines": 2_000})),
        ("context.tail", json!({"id": "many0001", "lines": 2_000})),
        ("context.grep", json!({"id": "many0001", "pattern": ".", "maxResults": 200, "contextLines": 200})),
        ("output_read", json!({"handle": "x".repeat(299)})),
        ("output_grep", json!({"handle": "giant1", "pattern": "(".repeat(9_999)})),
    ] {
        let result = asked(&store, tool, arguments);
        let text = result.text.as_bytes();
        assert!(settings.excerpt_budget().holds(text), "{tool}: {}", text.len());
        assert!(limits.tokens.is_none_or(|most| crate::tokens::count_bytes(text) <= most), "{tool}");
        assert!(!result.text.is_empty() && result.text != "{}", "{tool}");
    }
    let tail = asked(&store, "context.tail", json!({"id": "giant1"})).text;
    let tail: Value = serde_json::from_str(&tail).unwrap();
    assert!(
        giant.ends_with(tail["content"].as_str().unwrap()) && !tail["content"].as_str().unwrap().is_empty()
    );
    let _: &dyn Store = &store;
}
