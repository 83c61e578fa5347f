//! `forebay events` and `stats`: what happened, and what it saved.

use crate::forebay::{Forebay, eventually};
use expect_test::expect;
use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

/// A session's events with a line that is none, one of a newer version, and one that is not whole.
const STORY: &str = r#"{"event":"room-reported","used":12000,"at":"2026-11-14T23:00:00Z"}
{"event":"call-started","id":"toolu_01","call":"toolu_01","tool":"read_file","server":"filesystem","argument_characters":256,"at":"2026-11-15T09:00:00Z"}
{"event":"output-stored","id":"toolu_01","size":{"bytes":345,"characters":345,"lines":12,"longest_line":60,"tokens":90,"tokens_exact":true},"kind":"json","hash":"aa","at":"2026-11-15T09:00:00.150Z"}
{"event":"output-passed","id":"toolu_01","characters":345,"bytes":345,"tokens":90,"baseline":90,"at":"2026-11-15T09:00:00.151Z"}
this is no event
{"event":"call-started","id":"3zy7556yq7sbx4gm8z3yaqyx48f","call":"c2","tool":"run_command","argument_characters":1,"at":"2026-11-16T10:00:00Z"}
{"event":"output-cut-short","id":"3zy7556yq7sbx4gm8z3yaqyx48f","size":{"bytes":468906,"characters":468906,"lines":20001,"longest_line":24,"tokens":468906,"tokens_exact":false},"kind":"text","hash":"bb","exit":{"signal":9},"lost":1,"why":"the command was ended after 90 s","at":"2026-11-16T10:01:30Z"}
{"event":"view-given","id":"3zy7556yq7sbx4gm8z3yaqyx48f","reason":"size_cap","characters":3900,"bytes":3912,"tokens":983,"baseline":10000,"at":"2026-11-16T10:01:30.010Z"}
{"event":"fell-back","id":"3zy7556yq7sbx4gm8z3yaqyx48f","from":"digest","to":"smaller view","why":"1,000 tokens are left in the context","at":"2026-11-16T10:01:30.011Z"}
{"event":"query-answered","id":"3zy7556yq7sbx4gm8z3yaqyx48f","query":"grep","arguments":{"handle":"s/3zy7556y","pattern":"error|panic\n"},"length":468906,"shown":[],"budget":2000,"bytes":1400,"tokens":412,"at":"2026-11-16T10:02:00Z"}
{"event":"query-answered","query":"search","arguments":{"words":"connection refused"},"length":0,"shown":[],"budget":2000,"bytes":40,"tokens":11,"at":"2026-11-16T10:02:10Z"}
{"event":"extraction-done","id":"3zy7556yq7sbx4gm8z3yaqyx48f","strategy":"full-chunked","model":"provider/model","tokens_in":1200,"tokens_out":300,"tokens":290,"at":"2026-11-16T10:03:00Z"}
{"event":"invented-later","id":"toolu_01","at":"2026-11-16T10:04:00Z","more":[1]}
{"event":"swept","id":"toolu_01","bytes":345,"why":"older than 1 day","at":"2026-11-16T11:00:00Z"}
{"event":"swept","id":"torn"#;

fn with(story: &str) -> Forebay {
    let forebay = Forebay::new();
    fs::create_dir_all(forebay.root().join("s/tool")).unwrap();
    fs::write(forebay.root().join("s/events.jsonl"), story).unwrap();
    forebay
}

#[test]
fn events_are_a_line_each_under_each_other() {
    let ran = with(STORY).run(["events"]);
    expect![[r#"
        2026-11-14 23:00:00Z  room-reported     s           12,000 tokens in use
        2026-11-15 09:00:00Z  call-started      s/toolu_01  filesystem/read_file, 256 characters of arguments
        2026-11-15 09:00:00Z  output-stored     s/toolu_01  12 lines, 345 bytes, JSON
        2026-11-15 09:00:00Z  output-passed     s/toolu_01  as it is, 90 tokens
        2026-11-16 10:00:00Z  call-started      s/3zy7556y  run_command, 1 character of arguments
        2026-11-16 10:01:30Z  output-cut-short  s/3zy7556y  20,001 lines, 468,906 bytes, text, killed by signal 9, exit 137, 1 byte lost: the command was ended after 90 s
        2026-11-16 10:01:30Z  view-given        s/3zy7556y  size_cap: 983 tokens in place of 10,000
        2026-11-16 10:01:30Z  fell-back         s/3zy7556y  digest to smaller view: 1,000 tokens are left in the context
        2026-11-16 10:02:00Z  query-answered    s/3zy7556y  grep pattern=error|panic : 412 tokens, 1,400 bytes
        2026-11-16 10:02:10Z  query-answered    s           search words=connection refused: 11 tokens, 40 bytes
        2026-11-16 10:03:00Z  extraction-done   s/3zy7556y  full-chunked by provider/model: 290 tokens given, 1,200 read, 300 written
        2026-11-16 10:04:00Z  invented-later    s/toolu_01  (not known to this version)
        2026-11-16 11:00:00Z  swept             s/toolu_01  345 bytes: older than 1 day
    "#]].assert_eq(&ran.text());
    assert_eq!((ran.status, ran.err.as_str()), (0, "forebay: passed over 1 line that is no event\n"));
}

#[test]
fn filters_choose_and_the_machine_form_is_the_lines_as_they_are() {
    let forebay = with(STORY);
    let all: Vec<&str> = STORY.lines().collect();
    let table: [(&[&str], &[usize]); 11] = [
        (&[], &[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
        (&["--kind", "call-started"], &[1, 5]),
        (&["--kind", "swept", "--kind", "view-given"], &[7, 13]),
        (&["--id", "toolu_01"], &[1, 2, 3, 12, 13]),
        (&["--id", "s/3zy7556y"], &[5, 6, 7, 8, 9, 11]),
        (&["--id", "toolu"], &[]),
        (&["--id", "other/toolu_01"], &[]),
        (&["--since", "2026-11-16T10:03:00Z"], &[11, 12, 13]),
        (&["--since", "2026-11-16", "--kind", "query-answered"], &[9, 10]),
        (&["--all", "--kind", "room-reported"], &[0]),
        (&["--since", "9000-01-01"], &[]),
    ];
    for (filters, expected) in table {
        let ran = forebay.run([&["events", "--json"], filters].concat());
        let lines: String = expected.iter().map(|&line| format!("{}\n", all[line])).collect();
        assert_eq!((ran.status, ran.text()), (0, lines), "{filters:?}");
        let text = forebay.run([&["events"], filters].concat()).text();
        assert_eq!(text.lines().count(), expected.len(), "{filters:?}: {text}");
    }
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_said_to_be_nothing() {
    let forebay = Forebay::new();
    let table: [(&[&str], &str); 4] = [
        (&["events"], "nothing has happened in session s yet\n"),
        (&["events", "--kind", "swept"], "nothing like that has happened in session s yet\n"),
        (&["events", "--all"], "nothing has happened in any session yet\n"),
        (&["stats"], "nothing has happened in session s yet, so nothing is saved\n"),
    ];
    for (args, said) in table {
        let ran = forebay.run(args);
        assert_eq!((ran.status, ran.text().as_str(), ran.err.as_str()), (0, "", said), "{args:?}");
    }
    assert!(forebay.run(["events", "--json", "--form", "log"]).fails(2).contains("no JSON form"));
    for args in [
        &["events", "--kind", "unheard-of"][..],
        &["stats", "--since", "yesterday"],
        &["events", "--all", "--id", "a"],
    ] {
        assert_eq!(forebay.run(args).status, 2, "{args:?}");
    }
}

#[test]
fn log_and_accounting_have_the_documented_forms() {
    let forebay = with(STORY);
    expect![[r#"
        [WRN] Tool 'run_command' output stored for tool_output (size_cap). tool=run_command tool_namespace=agent provider=agent tool_kind=agent handle=s/3zy7556yq7sbx4gm8z3yaqyx48f reason=size_cap bytes=468906 lines=20001 tokens=468906 tool_output=true
        [WRN] Fell back from digest to smaller view. handle=s/3zy7556yq7sbx4gm8z3yaqyx48f from=digest to="smaller view" why="1,000 tokens are left in the context"
        [INF] Extracted from tool output (full-chunked). handle=s/3zy7556yq7sbx4gm8z3yaqyx48f strategy=full-chunked model=provider/model tokens_in=1200 tokens_out=300 tokens=290
    "#]].assert_eq(&forebay.run(["events", "--form", "log"]).text());
    expect![[r#"
        {"type":"tool","timestamp":1794733200000,"status":"ok","latency":150,"mcpServer":"filesystem","command":"read_file","charactersIn":256,"charactersOut":345}
        {"type":"tool","timestamp":1794823200000,"status":"failed","latency":90000,"command":"run_command","charactersIn":1,"charactersOut":3900,"details":{"tool_output_handle":"s/3zy7556yq7sbx4gm8z3yaqyx48f","tool_output_reason":"size_cap","truncated":true}}
    "#]].assert_eq(&forebay.run(["events", "--form", "accounting"]).text());
    // What is told of a reply is joined from before the time that is asked for.
    let later = forebay.run(["events", "--form", "accounting", "--since", "2026-11-16T10:01:00Z"]).text();
    assert_eq!(later.lines().count(), 1, "{later}");
    let passed = forebay.run(["events", "--form", "accounting", "--kind", "output-passed"]).text();
    assert_eq!(passed.lines().count(), 1, "{passed}");
}

#[test]
fn an_answer_says_which_bytes_it_shows_or_comes_from() {
    let forebay = Forebay::new();
    forebay.put("call-1", b"one\ntwo\nthree\n", &[]);
    for query in [&["read", "call-1", "--lines", "1:2"][..], &["grep", "call-1", "t"]] {
        assert_eq!(forebay.run(query).status, 0);
    }
    let told = forebay.run(["events", "--json", "--kind", "query-answered"]).text();
    let told: Vec<&str> = told.lines().collect();
    assert!(told[0].contains(r#""shown":[[0,8]],"budget""#), "{}", told[0]);
    assert!(told[1].contains(r#""shown":[],"drawn_from":[[4,8],[8,14]],"budget""#), "{}", told[1]);
}

#[test]
fn a_real_session_is_accounted_for() {
    let forebay = Forebay::new();
    let long = "many words in a line\n".repeat(3_000);
    forebay.put(
        "call-1",
        long.as_bytes(),
        &["--server", "fs", "--tool", "read_file", "--args", "{\"a\": 1}"],
    );
    assert_eq!(forebay.run(["run", "--", "sh", "-c", "echo hi; exit 3"]).status, 3);
    let given = fs::read_to_string(forebay.root().join("s/tool/call-1.view.json")).unwrap();
    let given: serde_json::Value = serde_json::from_str(&given).unwrap();
    let characters = given["text"].as_str().unwrap().chars().count();
    let accounting = forebay.run(["events", "--form", "accounting"]).ok().text();
    let entries: Vec<serde_json::Value> =
        accounting.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.len(), 2, "{accounting}");
    assert_eq!((&entries[0]["mcpServer"], &entries[0]["command"]), (&"fs".into(), &"read_file".into()));
    assert_eq!((&entries[0]["charactersIn"], &entries[0]["charactersOut"]), (&8.into(), &characters.into()));
    assert_eq!(entries[0]["details"]["tool_output_handle"], "s/call-1");
    assert_eq!((&entries[1]["status"], &entries[1]["charactersOut"]), (&"failed".into(), &3.into()));
    assert!(entries[1].get("details").is_none() && entries[1].get("mcpServer").is_none(), "{accounting}");
    let log = forebay.run(["events", "--form", "log"]).ok().text();
    assert!(
        log.starts_with(
            "[WRN] Tool 'read_file' output stored for tool_output (token_budget). tool=mcp:fs/read_file "
        ),
        "{log}"
    );
    assert_eq!(log.lines().count(), 1);
}

#[test]
fn stats_deduct_every_cost() {
    let forebay = with(STORY);
    expect![[r#"
        session s: 2 outputs, 458.3 KiB kept, 1 cut short, 1 swept (345 B)

        THE MODEL GOT              TIMES  CHARACTERS SAVED EACH
        the output as it is            1                      -
        a view: reserve_failed         0                      -
        a view: size_cap               1                465,006
        a view: token_budget           0                      -
        a view: compact                0                      -
        a view: secrets                0                      -
        something else than meant      1                      -

           TOKENS
           10,090  without forebay: the outputs, as far as the host shows them
        -   1,073  given for the calls
        -     423  given in 2 answers
        -   1,790  read and written for 1 abstract
        =   6,804  saved (67 %)

        tokens saved by tool (▒: lost)
        run_command           6,815  ███████████████████████████████████████████████████
        filesystem/read_file      0
        (all outputs)           -11  ▒
    "#]]
    .assert_eq(&forebay.run(["stats"]).ok().text());
    expect![[r#"
        all sessions since 2026-11-16T10:01:30.011Z: 0 outputs, 0 B kept, 1 swept (345 B)

        THE MODEL GOT              TIMES  CHARACTERS SAVED EACH
        the output as it is            0                      -
        a view: reserve_failed         0                      -
        a view: size_cap               0                      -
        a view: token_budget           0                      -
        a view: compact                0                      -
        a view: secrets                0                      -
        something else than meant      1                      -

           TOKENS
                0  without forebay: the outputs, as far as the host shows them
        -       0  given for the calls
        -     423  given in 2 answers
        -   1,790  read and written for 1 abstract
        =  -2,213  saved: it cost 2,213 tokens more than it spared

        tokens saved by day (▒: lost)
        2026-11-16  -2,213  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
    "#]]
    .assert_eq(
        &forebay.run(["stats", "--all", "--by", "day", "--since", "2026-11-16T10:01:30.011Z"]).ok().text(),
    );
    expect![[r#"
        {"outputs":2,"bytes":469250,"cut_short":1,"passed":1,"reserve_failed":{"times":0,"characters_saved":0,"mean_characters_saved":null},"size_cap":{"times":1,"characters_saved":465006,"mean_characters_saved":465006},"token_budget":{"times":0,"characters_saved":0,"mean_characters_saved":null},"compact":{"times":0,"characters_saved":0,"mean_characters_saved":null},"secrets":{"times":0,"characters_saved":0,"mean_characters_saved":null},"baseline":10090,"given":1073,"queries":2,"retrieved":423,"extractions":1,"extracted":1790,"fallbacks":1,"swept":1,"swept_bytes":345,"saved":6804,"by_day":{"2026-11-15":{"outputs":1,"bytes":345,"cut_short":0,"passed":1,"reserve_failed":{"times":0,"characters_saved":0,"mean_characters_saved":null},"size_cap":{"times":0,"characters_saved":0,"mean_characters_saved":null},"token_budget":{"times":0,"characters_saved":0,"mean_characters_saved":null},"compact":{"times":0,"characters_saved":0,"mean_characters_saved":null},"secrets":{"times":0,"characters_saved":0,"mean_characters_saved":null},"baseline":90,"given":90,"queries":0,"retrieved":0,"extractions":0,"extracted":0,"fallbacks":0,"swept":0,"swept_bytes":0,"saved":0},"2026-11-16":{"outputs":1,"bytes":468905,"cut_short":1,"passed":0,"reserve_failed":{"times":0,"characters_saved":0,"mean_characters_saved":null},"size_cap":{"times":1,"characters_saved":465006,"mean_characters_saved":465006},"token_budget":{"times":0,"characters_saved":0,"mean_characters_saved":null},"compact":{"times":0,"characters_saved":0,"mean_characters_saved":null},"secrets":{"times":0,"characters_saved":0,"mean_characters_saved":null},"baseline":10000,"given":983,"queries":2,"retrieved":423,"extractions":1,"extracted":1790,"fallbacks":1,"swept":1,"swept_bytes":345,"saved":6804}}}
    "#]].assert_eq(&forebay.run(["stats", "--json", "--by", "day"]).ok().text());
}

#[test]
fn whatever_a_model_reads_is_deducted() {
    let forebay = Forebay::new();
    let long: String = (1..=4_000).map(|line| format!("line {line} of the log\n")).collect();
    forebay.put("long01", long.as_bytes(), &[]);
    let retrieved = || forebay.run(["stats", "--json"]).ok().json()["retrieved"].as_u64().unwrap();
    let table: [&[&str]; 9] = [
        &["read", "long01", "--lines", "5:9"],
        &["grep", "long01", "99"],
        &["tail", "long01"],
        &["tail", "long01", "--follow"],
        &["search", "3999"],
        &["call", "output_list", "{}"],
        &["call", "context.list", "{}"],
        &["call", "context.read", r#"{"id": "long01"}"#],
        &["call", "context.grep", r#"{"id": "long01", "pattern": "77"}"#],
    ];
    for args in table {
        let before = retrieved();
        let ran = forebay.run(args).ok();
        let told = crate::forebay::tokens(&ran.out);
        // A last line that says why following stopped is not an answer.
        assert!((told.saturating_sub(20)..=told).contains(&(retrieved() - before)), "{args:?}: {told}");
        assert!(retrieved() > before, "{args:?}");
    }
    let saved = forebay.run(["stats", "--json"]).ok().json();
    let cost =
        ["given", "retrieved", "extracted"].iter().map(|cost| saved[*cost].as_i64().unwrap()).sum::<i64>();
    assert_eq!(saved["saved"].as_i64().unwrap(), saved["baseline"].as_i64().unwrap() - cost);
}

#[test]
fn following_goes_on_with_what_other_processes_do_also_in_a_session_that_is_not_there_yet() {
    let forebay = Forebay::new();
    for all in [false, true] {
        let session = if all { "new" } else { "s" };
        let args = [
            "events",
            "--follow",
            "--kind",
            "output-stored",
            if all { "--all" } else { "--since=2026-01-01" },
        ];
        let mut child = forebay.start(forebay.command(args).stdin(Stdio::null()));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for id in ["first1", "second"] {
            forebay.put(id, id.as_bytes(), &["--session", session]);
            // Those that were there before come first.
            let line = loop {
                let line = lines.next().unwrap().unwrap();
                if line.contains(&format!(" {session}/{id} ")) {
                    break line;
                }
            };
            assert!(line.contains("  output-stored  "), "{line}");
        }
        child.kill().unwrap();
        eventually("it ends", || child.try_wait().unwrap().is_some());
    }
}
