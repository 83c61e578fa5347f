//! Instructions in plain words, answered by models over the real wires.

use super::forebay::{Forebay, Ran, eventually};
use super::model_server::{Asked, Does, ModelServer, report};
use expect_test::expect;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

/// The providers, a model of each, and the variables that say where they are and who asks.
const PROVIDERS: [(&str, &str, &str); 3] = [
    ("openai/gpt-test", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    ("anthropic/claude-test", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    ("gemini/gemini-test", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
];

const SECRET: &str = "sk-very-secret-0123";

fn log(lines: usize) -> String {
    let text: String = (1..=lines).map(|line| format!("line {line} of the log\n")).collect();
    text.replace("line 400 of the log\n", "error: disk is full\n")
}

/// `forebay extract` against a server, by one model or several.
fn extracting(forebay: &Forebay, server: &ModelServer, models: &str, args: &[&str]) -> Command {
    let mut command = forebay.command(["extract", "big001", "which error is there?", "--models", models]);
    command.args(args).env("FOREBAY_MODELS_BACKOFF_MILLISECONDS", "5");
    reaching(&mut command, server);
    command
}

pub(crate) fn reaching(command: &mut Command, server: &ModelServer) {
    for (_, url, key) in PROVIDERS {
        command.env(url, &server.url).env(key, SECRET);
    }
}

fn ran(command: &mut Command) -> Ran {
    Ran::from(command.stdin(Stdio::null()).output().unwrap())
}

/// Reactions of a model in a conversation with Read and Grep.
fn reads_and_greps(asked: &Asked) -> Does {
    match asked.turns() {
        0 => Does::Calls(vec![
            ("Grep", json!({"filename": "s/big001", "pattern": "error"}).to_string()),
            ("Read", json!({"filename": "s/big001", "lines": "1:2"}).to_string()),
        ]),
        1 => Does::Calls(vec![("Read", json!({"filename": "s/big001", "lines": "399:401"}).to_string())]),
        _ => report(asked, "Line 400 says `error: disk is full`."),
    }
}

#[test]
fn each_wire_has_an_output_read_whole_streaming_and_not() {
    for (model, _, _) in PROVIDERS {
        for stream in ["true", "false"] {
            let forebay = Forebay::new();
            forebay.put("big001", log(500).as_bytes(), &[]);
            let server = ModelServer::start(|asked| report(asked, "It is `error: disk is full`, é."));
            let answer =
                ran(extracting(&forebay, &server, model, &[]).env("FOREBAY_MODELS_STREAM", stream)).ok();
            let expected = format!(
                "ABSTRACT FROM TOOL OUTPUT put WITH HANDLE s/big001, STRATEGY:full-chunked:\n\n\
                 It is `error: disk is full`, é.\n\n\
                 [read by {model} in 1 chunk: all 500 lines · 50 tokens in, 5 out]\n"
            );
            assert_eq!(answer.text(), expected, "{model} {stream}");
            let [asked] = &server.asked()[..] else { panic!("{model}") };
            assert!(asked.system().starts_with("You are an internal extraction agent."));
            assert!(asked.body.to_string().contains("1: line 1 of the log\\n2: line 2"));
        }
    }
}

#[test]
fn each_wire_carries_the_conversation_of_an_agent_that_reads_and_searches() {
    for (model, _, _) in PROVIDERS {
        for stream in ["true", "false"] {
            let forebay = Forebay::new();
            forebay.put("big001", log(3_000).as_bytes(), &[]);
            let server = ModelServer::start(reads_and_greps);
            let answer = ran(extracting(&forebay, &server, model, &["--mode", "read-grep"])
                .env("FOREBAY_MODELS_STREAM", stream))
            .ok();
            let expected = format!(
                "ABSTRACT FROM TOOL OUTPUT put WITH HANDLE s/big001, STRATEGY:read-grep:\n\n\
                 Line 400 says `error: disk is full`.\n\n\
                 [read by {model} in 3 turns, 3 calls: 0.16 % of 61,893 bytes (lines 1–2, 399–401); \
                 searched for \"error\" (1 match) · 150 tokens in, 15 out]\n"
            );
            assert_eq!(answer.text(), expected, "{model} {stream}");
            let last = server.asked().pop().unwrap().body.to_string();
            for seen in ["400:error: disk is full", "line 399 of the log", "Read", "Grep"] {
                assert!(last.contains(seen), "{model} {stream}: {seen}");
            }
            // What a vendor signs is given back as it came.
            assert!(model.starts_with("openai") || last.contains("c2ln"), "{last}");
        }
    }
}

#[test]
fn requests_are_those_of_the_vendors() {
    let forebay = Forebay::new();
    forebay.put("big001", b"one\ntwo\n", &[]);
    let server = ModelServer::start(|asked| report(asked, "found"));
    for (model, _, _) in PROVIDERS {
        let _ =
            ran(extracting(&forebay, &server, model, &["--anew"]).env("FOREBAY_MODELS_STREAM", "false")).ok();
    }
    let shown: Vec<String> = server
        .asked()
        .iter()
        .map(|asked| {
            let mut body = asked.body.clone();
            let system = asked.system().to_owned();
            fn shortened(value: &mut Value, system: &str) {
                match value {
                    Value::String(text) if text == system => *text = "SYSTEM".to_owned(),
                    Value::Array(items) => items.iter_mut().for_each(|item| shortened(item, system)),
                    Value::Object(members) => {
                        members.values_mut().for_each(|member| shortened(member, system))
                    }
                    _ => {}
                }
            }
            shortened(&mut body, &system);
            let names = ["authorization", "x-api-key", "x-goog-api-key", "anthropic-version"];
            let headers = names.iter().filter(|name| !asked.header(name).is_empty());
            let headers: Vec<String> =
                headers.map(|name| format!("{name}: {}", asked.header(name))).collect();
            let nonce = system.split("<ai-agent-").nth(1).unwrap().split("-FINAL").next().unwrap();
            let body = body.to_string().replace(nonce, "NONCE");
            format!("{}\n{}\n{body}\n", asked.path, headers.join("\n"))
        })
        .collect();
    expect![[r#"
        /v1/chat/completions
        authorization: Bearer sk-very-secret-0123
        {"model":"gpt-test","messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"1: one\n2: two\n\n\nEND OF THE DOCUMENT CHUNK\n\nIf the document has nothing about what to extract, the report is NO RELEVANT DATA FOUND.\n\nWHAT TO EXTRACT\nwhich error is there?\n\nWrite <ai-agent-NONCE-FINAL format=\"text\">\nthen copy the few lines of the document above that answer it, each with its line number,\nthen write </ai-agent-NONCE-FINAL>"}],"max_tokens":8192}

        /v1/messages
        x-api-key: sk-very-secret-0123
        anthropic-version: 2023-06-01
        {"model":"claude-test","max_tokens":8192,"system":"SYSTEM","messages":[{"role":"user","content":"1: one\n2: two\n\n\nEND OF THE DOCUMENT CHUNK\n\nIf the document has nothing about what to extract, the report is NO RELEVANT DATA FOUND.\n\nWHAT TO EXTRACT\nwhich error is there?\n\nWrite <ai-agent-NONCE-FINAL format=\"text\">\nthen copy the few lines of the document above that answer it, each with its line number,\nthen write </ai-agent-NONCE-FINAL>"}]}

        /v1beta/models/gemini-test:generateContent
        x-goog-api-key: sk-very-secret-0123
        {"systemInstruction":{"parts":[{"text":"SYSTEM"}]},"contents":[{"role":"user","parts":[{"text":"1: one\n2: two\n\n\nEND OF THE DOCUMENT CHUNK\n\nIf the document has nothing about what to extract, the report is NO RELEVANT DATA FOUND.\n\nWHAT TO EXTRACT\nwhich error is there?\n\nWrite <ai-agent-NONCE-FINAL format=\"text\">\nthen copy the few lines of the document above that answer it, each with its line number,\nthen write </ai-agent-NONCE-FINAL>"}]}],"generationConfig":{"maxOutputTokens":8192}}
    "#]].assert_eq(&shown.join("\n"));
}

#[test]
fn every_cause_of_a_failure_reaches_the_user() {
    let tool = "agent has tools";
    let table: [(&str, Does, &str); 13] = [
        ("length", Does::IsCutOff("<ai-agent-".to_owned()), "its answer was cut off at the length limit"),
        ("empty", Does::Says(String::new()), "its answer was empty"),
        ("no wrapper", Does::Says("It is full.".to_owned()), "its answer had no <ai-agent-"),
        ("refusal", Does::Refuses, "it refused"),
        (
            "rate limit",
            Does::Fails(429, "retry-after: 0", json!({"error": {"message": "slow down"}}).to_string()),
            "429 rate limit: slow down (3 times)",
        ),
        (
            "overloaded",
            Does::Fails(529, "retry-after-ms: 1", json!({"error": {"message": "overloaded"}}).to_string()),
            "529 error: overloaded (3 times)",
        ),
        (
            "wrong key",
            // So long that its middle is left out, and the key stands where it is cut.
            Does::Fails(
                401,
                "",
                json!({"error": {"message": format!("bad key {}{SECRET}", "x".repeat(130))}}).to_string(),
            ),
            "401 Unauthorized: bad key x",
        ),
        ("not found", Does::Fails(404, "", "no such model".to_owned()), "404 Not Found: no such model"),
        ("silence", Does::IsSilent, "timeout: nothing came for 1 s (models.timeout_seconds) (3 times)"),
        ("break", Does::BreaksOff("<ai-agent- and more of it".to_owned()), "broke"),
        ("babble", Does::Babbles("<html>hello"), "its answer is not JSON"),
        ("bad JSON in a call", Does::Calls(vec![("Read", "{\"filename\": ".to_owned())]), tool),
        ("unknown tool", Does::Calls(vec![("Bash", "{}".to_owned())]), tool),
    ];
    let fails = |model: &str, stream: &str, name: &str, does: Does, cause: &str| {
        let agent = cause == tool;
        let went_on = "it went on calling tools after 2 turns and gave no final report";
        let cause = if agent { went_on } else { cause };
        let forebay = Forebay::new();
        forebay.put("big001", log(50).as_bytes(), &[]);
        let server = ModelServer::start(move |_| does.clone());
        let mode = if agent { "read-grep" } else { "full-chunked" };
        let answer = ran(extracting(&forebay, &server, model, &["--mode", mode])
            .env("FOREBAY_MODELS_STREAM", stream)
            .env("FOREBAY_MODELS_RETRIES", "2")
            .env("FOREBAY_MODELS_TIMEOUT_SECONDS", "1")
            .env("FOREBAY_EXTRACT_MAX_TURNS", "2"))
        .answered();
        let text = answer.text();
        let warning = format!("STRATEGY:truncate:\n\nWARNING: {mode} could not run: {model}: ");
        assert!(text.contains(&warning), "{model} {stream} {name}: {text}");
        assert!(text.contains(cause), "{model} {stream} {name}: {text}");
        let events = forebay.run(["events", "--kind", "fell-back"]).ok().text();
        let log = forebay.run(["events", "--form", "log"]).ok().text();
        let said = cause.split_once(" <").map_or(cause, |(start, _)| start);
        assert!(events.contains(said), "{name}: {events}");
        assert!(log.contains(said) && log.contains("[WRN]"), "{name}: {log}");
        for shown in [text, events, log] {
            assert!(!shown.contains("sk-very"), "{model} {stream} {name}");
        }
    };
    std::thread::scope(|scope| {
        for (model, _, _) in PROVIDERS {
            for stream in ["true", "false"] {
                let (table, fails) = (table.clone(), &fails);
                scope.spawn(move || {
                    for (name, does, cause) in table {
                        fails(model, stream, name, does, cause);
                    }
                });
            }
        }
    });
}

/// Only letters and digits, all of them small.
fn letters(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

#[test]
fn a_key_that_a_server_repeats_in_any_form_reaches_nobody() {
    let split = SECRET.replace('-', "-\n ");
    let percent = SECRET.replace('-', "%2D").replace('v', "%76");
    let json = SECRET.replace('-', "\\u002d").replace('s', "\\u0073");
    let forms = [SECRET.to_owned(), SECRET.to_uppercase(), split, percent, json];
    let failed = |status, body: String| Does::Fails(status, "", body);
    std::thread::scope(|scope| {
        for written in forms {
            scope.spawn(move || {
                let message = json!({"error": {"message": format!("wrong: {written}")}}).to_string();
                let odd = json!({"detail": [{"msg": "wrong", "input": written}]}).to_string();
                let raw =
                    format!("{{\"error\": {{\"message\": \"wrong: {}\"}}}}", written.replace('\n', "\\n"));
                let does: [(&str, Does); 7] = [
                    ("an error", failed(401, message)),
                    ("an odd error", failed(400, odd)),
                    ("an error that is escaped", failed(400, raw)),
                    ("an error that is no JSON", failed(500, format!("<p>wrong: {written}"))),
                    ("no report", Does::Says(format!("The key is {written}."))),
                    ("a report", Does::Says(format!("REPORT It is {written}."))),
                    ("a pattern", grep(&written)),
                ];
                for (name, does) in does {
                    for (model, _, _) in PROVIDERS {
                        let forebay = Forebay::new();
                        forebay.put("big001", log(50).as_bytes(), &[]);
                        let does = does.clone();
                        let server = ModelServer::start(move |asked| match &does {
                            Does::Says(text) if text.starts_with("REPORT") => report(asked, &text[7..]),
                            Does::Calls(_) if asked.turns() > 0 => report(asked, "nothing"),
                            does => does.clone(),
                        });
                        let mode = if name == "a pattern" { "read-grep" } else { "full-chunked" };
                        let answer = ran(extracting(&forebay, &server, model, &["--mode", mode])
                            .env("FOREBAY_MODELS_RETRIES", "0"));
                        let events = std::fs::read_to_string(forebay.root().join("s/events.jsonl")).unwrap();
                        let text = answer.answered().text();
                        assert!(text.contains('…'), "{model}, {name}, {written:?}: {text}");
                        for shown in [
                            text,
                            events.replace("\\n", " "),
                            forebay.run(["events", "--form", "log"]).text(),
                        ] {
                            assert!(
                                !letters(&shown).contains(&letters(SECRET)),
                                "{model}, {name}, {written:?}: {shown}"
                            );
                            assert!(!shown.contains(&written), "{model}, {name}, {written:?}: {shown}");
                        }
                    }
                }
            });
        }
    });
}

fn grep(pattern: &str) -> Does {
    Does::Calls(vec![("Grep", json!({"filename": "s/big001", "pattern": pattern}).to_string())])
}

#[test]
fn a_model_is_told_what_was_wrong_with_its_call_and_may_mend_it() {
    for (model, _, _) in PROVIDERS {
        let forebay = Forebay::new();
        forebay.put("big001", log(500).as_bytes(), &[]);
        let server = ModelServer::start(|asked| match asked.turns() {
            0 => Does::Calls(vec![
                ("Read", "{\"filename\": ".to_owned()),
                ("Bash", "{\"command\": \"ls\"}".to_owned()),
                ("Read", json!({"filename": "../../etc/passwd"}).to_string()),
                ("Grep", json!({"filename": "s/big001", "pattern": "("}).to_string()),
            ]),
            1 => Does::Calls(vec![("Grep", json!({"filename": "s/big001", "pattern": "zebra"}).to_string())]),
            _ => report(asked, "NO RELEVANT DATA FOUND\nlines of a log"),
        });
        let answer = ran(&mut extracting(&forebay, &server, model, &["--mode", "read-grep"])).ok().text();
        assert!(
            answer.contains("STRATEGY:read-grep:\n\nNO RELEVANT DATA FOUND\nlines of a log\n"),
            "{answer}"
        );
        let told = server.asked()[1].body.to_string();
        for said in [
            "not a JSON object",
            "there is no tool \\\"Bash\\\"",
            "the only file is \\\"s/big001\\\"",
            "unclosed group",
        ] {
            assert!(told.contains(said), "{model}: {said}: {told}");
        }
    }
}

#[test]
fn a_busy_server_is_asked_again_and_the_next_model_after_that() {
    let forebay = Forebay::new();
    forebay.put("big001", log(50).as_bytes(), &[]);
    let busy = || Does::Fails(503, "", String::new());
    // It answers at the third try.
    let server =
        ModelServer::start(move |asked| if asked.number < 2 { busy() } else { report(asked, "first") });
    let answer = ran(&mut extracting(&forebay, &server, "openai/one", &["--json"])).ok().json();
    assert_eq!((answer["strategy"].as_str(), &answer["asked"]), (Some("full-chunked"), &json!(1)));
    assert_eq!(server.asked().len(), 3);

    // It never does, and the next model of another vendor answers.
    let server =
        ModelServer::start(
            move |asked| if asked.path.ends_with("/messages") { report(asked, "second") } else { busy() },
        );
    let models = "openai/one,anthropic/two";
    let answer =
        ran(extracting(&forebay, &server, models, &["--anew"]).env("FOREBAY_MODELS_RETRIES", "1")).ok();
    assert!(answer.text().contains("\nsecond\n\n[read by anthropic/two in 1 chunk"), "{}", answer.text());
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_server_that_wants_the_other_name_of_the_limit_gets_it() {
    let forebay = Forebay::new();
    forebay.put("big001", log(50).as_bytes(), &[]);
    let server = ModelServer::start(|asked| match asked.body.get("max_tokens") {
        Some(_) => {
            let text = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
            Does::Fails(400, "", json!({"error": {"message": text}}).to_string())
        }
        None => report(asked, "found"),
    });
    let _ = ran(&mut extracting(&forebay, &server, "openai/o9", &[])).ok();
    assert_eq!(server.asked()[1].body["max_completion_tokens"], 8_192);
}

#[test]
fn the_deadline_and_a_signal_end_all_waiting() {
    let forebay = Forebay::new();
    forebay.put("big001", log(50).as_bytes(), &[]);
    let server = ModelServer::start(|_| Does::IsSilent);
    let answer = ran(extracting(&forebay, &server, "openai/one,gemini/two", &[])
        .env("FOREBAY_MODELS_DEADLINE_SECONDS", "1"))
    .answered();
    assert!(answer.text().contains("openai/one: the deadline of 1 s passed"), "{}", answer.text());
    // A server that wants us to wait longer than that is not waited for.
    let patient = ModelServer::start(|_| Does::Fails(429, "retry-after: 3600", String::new()));
    let answer = ran(&mut extracting(&forebay, &patient, "openai/one", &[])).answered().text();
    assert!(
        answer.contains("429 rate limit; the deadline would pass before the next try in 3600 s"),
        "{answer}"
    );

    let silent = ModelServer::start(|_| Does::IsSilent);
    let mut command = extracting(&forebay, &silent, "openai/one", &[]);
    let child = forebay.start(command.stdin(Stdio::null()));
    eventually("it asks", || !silent.asked().is_empty());
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let error = Ran::from(child.wait_with_output().unwrap()).fails(1);
    assert_eq!(error, "forebay: stopped: a signal came\n");
}

#[test]
fn chunks_are_read_at_once_as_many_as_are_allowed() {
    let forebay = Forebay::new();
    forebay.put("big001", log(20_000).as_bytes(), &[]);
    let server = ModelServer::start(|asked| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        report(asked, "part")
    });
    let answer = ran(extracting(&forebay, &server, "openai/one", &["--max-chunks", "16", "--json"])
        .env("FOREBAY_EXTRACT_CONTEXT_TOKENS", "20000")
        .env("FOREBAY_EXTRACT_PARALLEL", "3"))
    .ok()
    .json();
    assert_eq!(answer["strategy"], "full-chunked", "{answer}");
    assert!(server.asked().len() > 6, "{}", server.asked().len());
    assert_eq!(server.most_at_once(), 3);
    assert_eq!(answer["read"], json!([[0, log(20_000).len()]]));
}

#[test]
fn a_reading_is_planned_without_asking_a_model() {
    let forebay = Forebay::new();
    forebay.put("big001", log(20_000).as_bytes(), &[]);
    let server = ModelServer::start(|asked| report(asked, "found"));
    let plan = |args: &[&str]| {
        let args = [&["--dry-run"], args].concat();
        ran(extracting(&forebay, &server, "openai/one", &args).env("FOREBAY_EXTRACT_CONTEXT_TOKENS", "20000"))
            .ok()
    };
    let whole = plan(&["--mode", "full-chunked", "--json"]).json();
    assert_eq!(whole["strategy"], "full-chunked");
    assert_eq!(whole["calls"].as_u64(), whole["chunks"].as_u64().map(|chunks| chunks + 1));
    assert!(whole["tokens"].as_u64() > Some(120_000), "{whole}");
    let text = plan(&[]).text();
    expect![[r#"
        strategy  read-grep
        models    openai/one
        window    20,000 tokens
        calls     at most 20, 1 at a time
        tokens    depends on what the model searches for
    "#]]
    .assert_eq(&text);
    assert!(server.asked().is_empty());
}

#[test]
fn a_signal_ends_a_reading_and_what_was_read_is_printed() {
    let forebay = Forebay::new();
    forebay.put("big001", log(20_000).as_bytes(), &[]);
    let server = ModelServer::start(|asked| {
        if asked.system().contains("Index: 1 of") {
            report(asked, "400: error: disk is full")
        } else {
            Does::IsSilent
        }
    });
    let mut command = extracting(&forebay, &server, "openai/one", &["--mode", "full-chunked"]);
    command.env("FOREBAY_EXTRACT_CONTEXT_TOKENS", "20000").env("FOREBAY_EXTRACT_PARALLEL", "1");
    let child = forebay.start(command.stdin(Stdio::null()));
    eventually("it reads the second chunk", || server.asked().len() > 1);
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ended.status, ended.err.as_str()), (130, ""));
    let text = ended.text();
    assert!(text.contains("[stopped: a signal came. 1 chunk had been read"), "{text}");
    assert!(text.contains("[chunk 1]\n400: error: disk is full\n"), "{text}");
}

#[test]
fn what_was_found_is_remembered_by_the_session() {
    let forebay = Forebay::new();
    forebay.put("big001", log(50).as_bytes(), &[]);
    let server = ModelServer::start(|asked| report(asked, &format!("answer {}", asked.number)));
    let ask = |args: &[&str]| ran(&mut extracting(&forebay, &server, "openai/one", args)).ok().text();
    let first = ask(&[]);
    let again = ask(&[]);
    assert!(first.contains("\nanswer 0\n") && again.contains("\nanswer 0\n"));
    assert!(
        again.ends_with(
            "[this was asked before, and is the answer that was given then; --anew has it read again]\n"
        ),
        "{again}"
    );
    assert!(ask(&["--anew"]).contains("\nanswer 1\n"));
    assert!(ask(&[]).contains("\nanswer 1\n"));
    assert_eq!(server.asked().len(), 2);
    let stats = forebay.run(["stats", "--json"]).ok().json();
    assert_eq!(stats["extractions"], 4);
}

#[test]
fn the_tool_that_models_know_has_an_output_read_by_models() {
    let forebay = Forebay::new();
    forebay.put("big001", log(50).as_bytes(), &[]);
    let server = ModelServer::start(|asked| report(asked, "found"));
    let arguments = json!({"handle": "s/big001", "extract": "which error?"}).to_string();
    let mut command = forebay.command(["call", "tool_output", &arguments, "--models", "gemini/one"]);
    reaching(&mut command, &server);
    let answer = ran(&mut command).ok().text();
    assert!(
        answer.starts_with(
            "ABSTRACT FROM TOOL OUTPUT put WITH HANDLE s/big001, STRATEGY:full-chunked:\n\nfound\n"
        ),
        "{answer}"
    );
}

#[test]
fn a_model_that_nobody_has_does_not_hinder_other_tools() {
    let forebay = Forebay::new();
    forebay.put("big001", b"one\n", &[]);
    let arguments = json!({"handle": "s/big001"}).to_string();
    let ran = forebay.run(["call", "output_read", &arguments, "--models", "nobody/one"]).ok();
    assert!(ran.text().contains("one"));
    let arguments = json!({"handle": "s/big001", "extract": "which?"}).to_string();
    let ran = forebay.run(["call", "tool_output", &arguments, "--models", "nobody/one"]).ok().text();
    assert!(ran.contains("could not run: nobody/one: there is no provider \"nobody\""), "{ran}");
}

#[test]
fn models_read_for_the_clients_of_the_gateway_too() {
    let forebay = Forebay::new();
    forebay.put("big001", log(50).as_bytes(), &[]);
    let server = ModelServer::start(|asked| report(asked, "found"));
    let mut command = forebay.command(["mcp"]);
    reaching(&mut command, &server);
    command.env("FOREBAY_EXTRACT_MODELS", "anthropic/one").stdin(Stdio::piped());
    let mut gateway = forebay.start(&mut command);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let called = json!({"name": "tool_output", "arguments": {"handle": "big001", "extract": "which error?"}});
    let mut input = gateway.stdin.take().unwrap();
    for (id, method, params) in [(1, "initialize", params), (2, "tools/call", called)] {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
    }
    let mut lines = BufReader::new(gateway.stdout.take().unwrap()).lines();
    let _ = lines.next().unwrap().unwrap();
    let answer = lines.next().unwrap().unwrap();
    assert!(answer.contains("STRATEGY:full-chunked:\\n\\nfound\\n"), "{answer}");
    drop(input);
    assert!(gateway.wait().unwrap().success());
}

#[test]
fn models_are_shown_with_where_their_keys_come_from_and_whether_they_answer() {
    let forebay = Forebay::new();
    let none = forebay.run(["models"]).ok().text();
    assert!(none.starts_with("No model is configured"), "{none}");
    let server = ModelServer::start(|asked| match asked.body["model"].as_str() {
        Some("good") => Does::Says("ready".to_owned()),
        _ => Does::Fails(404, "", "no such model".to_owned()),
    });
    let own = forebay.folder().join(".config/forebay");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(
        own.join("settings.toml"),
        format!(
            "[extract]\nmodels = ['local/good', 'local/bad', 'openai/gpt']\n[providers.local]\nwire = 'openai-chat'\nbase_url = '{}'\nkey_command = 'echo {SECRET}; echo called >> {}'\n",
            server.url,
            own.join("calls").display()
        ),
    )
    .unwrap();
    let checked = forebay.run(["models", "--check"]);
    assert_eq!(checked.status, 1);
    let text = checked.text().replace(&server.url, "URL");
    let text: String =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect();
    let yes = text.find("yes, in ").unwrap();
    let end = yes + text[yes..].find('\n').unwrap();
    expect![[r#"
        local/good openai-chat URL/v1 key from its key command
        answers yes
        window unknown: its server does not say
        token ratio 1.50 of its tokens for each of ours (a guess)
        tools none
        streaming yes

        local/bad openai-chat URL/v1 key from its key command
        answers no: 404 Not Found: no such model

        openai/gpt openai-chat https://api.openai.com/v1 key missing: set OPENAI_API_KEY
        answers no: it has no key: set OPENAI_API_KEY, or key_command of its provider
    "#]]
    .assert_eq(&format!("{}yes{}", &text[..yes], &text[end..]));
    assert_eq!(server.asked()[0].header("authorization"), format!("Bearer {SECRET}"));
    let lines = forebay.run(["models", "--json"]).ok().text();
    assert!(lines.contains(r#""key":"from its key command""#) && !lines.contains(SECRET), "{lines}");

    // Both models of a provider were checked, and its key was asked for once; so it is by chunks at the same time.
    let calls = || std::mem::take(&mut std::fs::read_to_string(own.join("calls")).unwrap());
    assert_eq!(calls(), "called\n");
    forebay.put("big001", log(20_000).as_bytes(), &[]);
    let mut chunks =
        forebay.command(["extract", "big001", "what?", "--models", "local/good", "--max-chunks", "16"]);
    let answer = ran(chunks.env("FOREBAY_EXTRACT_CONTEXT_TOKENS", "20000").args(["--mode", "full-chunked"]))
        .answered();
    assert!(answer.text().contains("local/good: its answer had no"), "{}", answer.text());
    assert_eq!(calls(), "called\ncalled\n");

    // What is cloned from elsewhere says neither where keys go nor which command is run.
    forebay.file("forebay.toml", "[providers.openai]\nwire = 'openai-chat'\nbase_url = 'http://elsewhere'\n");
    let error = forebay.run(["models"]).fails(2);
    assert!(
        error.contains("forebay.toml: providers.openai cannot be set by a project; it belongs in "),
        "{error}"
    );
    forebay.file("forebay.toml", "");

    let error = forebay.run(["models", "--models", "nobody/one"]).fails(2);
    assert!(
        error.contains("there is no provider \"nobody\"") && error.contains("anthropic, gemini, "),
        "{error}"
    );
}
