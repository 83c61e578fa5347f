//! Reading back: bounded, true, and never a dead end.

use crate::forebay::{Forebay, tokens};
use expect_test::expect;

fn numbered(count: u32) -> String {
    (1..=count).map(|line| format!("line {line} of the output\n")).collect()
}

#[test]
fn an_excerpt_says_where_it_stands_and_how_to_go_on() {
    let forebay = Forebay::new();
    forebay.put("output-1", numbered(52_311).as_bytes(), &[]);
    let text = forebay.run(["read", "output-1", "--lines", "40000:40002"]).ok().text();
    expect![[r#"
        [lines 40,000–40,002 of 52,311 · s/output-1]
        line 40000 of the output
        line 40001 of the output
        line 40002 of the output
        [next: forebay read s/output-1 --lines 40003:40005]
    "#]]
    .assert_eq(&text);
    let text = forebay.run(["tail", "output-1", "-n", "2"]).ok().text();
    expect![[r#"
        [lines 52,310–52,311 of 52,311 · s/output-1]
        line 52310 of the output
        line 52311 of the output
        [all of this was shown before; ask something else]
    "#]]
    .assert_eq(&text);
    let text = forebay.run(["grep", "output-1", "line 5231[01]", "-C", "1"]).ok().text();
    expect![[r#"
        [2 matches in 52,311 lines · s/output-1]
        52309-line 52309 of the output
        52310:line 52310 of the output
        52311:line 52311 of the output
    "#]]
    .assert_eq(&text);
}

#[test]
fn every_answer_is_bounded_whatever_the_length_of_a_line() {
    let forebay = Forebay::new();
    let giant = format!("[{}]", "{\"key\": \"value\", \"n\": 17},".repeat(100_000));
    forebay.put("giant", giant.as_bytes(), &[]);
    forebay.put("lines", "x\n".repeat(400_000).as_bytes(), &[]);
    forebay.put("wide", format!("{}\n", "wörd ".repeat(2_000)).repeat(300).as_bytes(), &[]);
    for id in ["giant", "lines", "wide"] {
        for query in [
            &["read"][..],
            &["head", "-n", "100000"],
            &["tail", "-n", "100000"],
            &["read", "--lines", "1:900000"],
            &["read", "--bytes", "100:900000"],
            &["grep", "--max", "100000", "-C", "100", "-e", "e|x|ö"],
        ] {
            for budget in [None, Some("200")] {
                let mut args = vec![query[0], id];
                args.extend(&query[1..]);
                args.extend(budget.map(|_| "--budget").into_iter().chain(budget));
                let ran = forebay.run(&args).ok();
                let limit = if budget.is_some() { 200 } else { 2_000 };
                assert!(
                    tokens(&ran.out) <= limit && ran.out.len() <= 12_000,
                    "{args:?}: {} tokens",
                    tokens(&ran.out)
                );
                assert!(tokens(&ran.out) > limit / 4, "{args:?} says too little: {}", ran.text());
            }
        }
    }
}

#[test]
fn a_read_never_becomes_a_stored_output() {
    let forebay = Forebay::new();
    forebay.put("output", numbered(50_000).as_bytes(), &[]);
    forebay.put("giant", "x ".repeat(500_000).as_bytes(), &[]);
    for preset in ["digest", "handle", "head-tail", "materialize", "recovery"] {
        for id in ["output", "giant"] {
            for query in
                [&["read", id][..], &["tail", id, "-n", "5000"], &["grep", id, "o|x", "--max", "5000"]]
            {
                let mut command = forebay.command(query);
                command.env("FOREBAY_PRESET", preset);
                let excerpt = crate::forebay::Ran::from(command.output().unwrap()).ok();
                let again = forebay.run_with_input(
                    ["put", "--json", "--preset", preset, "--tool", "list_directory"],
                    &excerpt.out,
                );
                assert_eq!(again.ok().json()["stored"], false, "{preset} {query:?}");
            }
        }
    }
}

#[test]
fn what_is_not_utf_8_comes_back_as_it_was() {
    let forebay = Forebay::new();
    forebay.put("bytes", b"ok\n\xff\xfe\x80 bytes\nok\n", &[]);
    let ran = forebay.run(["read", "bytes", "--lines", "2:2"]).ok();
    assert!(ran.out.windows(9).any(|part| part == b"\xff\xfe\x80 bytes"));
    let json = forebay.run(["read", "bytes", "--lines", "2:2", "--json"]).ok().json();
    assert_eq!(
        (&json["utf8"], &json["content"]),
        (&false.into(), &"\u{fffd}\u{fffd}\u{fffd} bytes\n".into())
    );
    let found = forebay.run(["grep", "bytes", "bytes", "--json"]).ok().json();
    assert_eq!((&found["total"], &found["matches"][0]["line"]), (&1.into(), &2.into()));
}

#[test]
fn a_dead_handle_gets_an_answer_that_is_final_and_says_what_to_do() {
    let forebay = Forebay::new();
    forebay.put("alive-1", b"x", &[]);
    for command in ["read", "cat", "tail", "head", "show", "verify"] {
        let error = forebay.run([command, "s/gone-12345"]).fails(1);
        expect![[r#"
            forebay: there is no output s/gone-12345 in this session (any more), and asking for it again will not help; there are s/alive-1
            hint: `forebay ls` lists what there is
        "#]]
        .assert_eq(&error);
    }
    assert!(forebay.run(["read", "other/alive-1"]).fails(1).contains("there is no output other/alive-1"));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let forebay = Forebay::new();
    forebay.put("alive-1", b"x", &[]);
    let long = "x".repeat(4096);
    for name in
        ["../s/alive-1", "/etc/passwd", "s/../../etc/passwd", "s/alive-1/..", "s/a b", "s/\u{1b}[31m", &long]
    {
        let error = forebay.run(["read", name]).fails(2);
        assert!(
            error.contains("is not the name of a") && error.len() < 500 && !error.contains('\u{1b}'),
            "{error}"
        );
    }
}

#[test]
fn ranges_that_are_not_there_say_what_is() {
    let forebay = Forebay::new();
    forebay.put("short-1", b"one\ntwo\n", &[]);
    let error = forebay.run(["read", "short-1", "--lines", "9:10"]).fails(1);
    assert!(error.contains("line 9 is behind the end: s/short-1 has 2 lines"), "{error}");
    assert_eq!(forebay.try_suggestions(&error), 1);
    assert!(forebay.run(["read", "short-1", "--lines", "x:y"]).err.contains("is not a number"));
    assert!(forebay.run(["grep", "short-1", "(unclosed"]).fails(2).contains("unclosed group"));
}

#[test]
fn every_command_that_is_printed_works() {
    let forebay = Forebay::new();
    let mut log: Vec<String> = (1..=9_000).map(|line| format!("step {line}\n")).collect();
    log[4_000] = "error: it's broken \"here\"\n".into();
    let progress: String = (0..5_000).map(|step| format!("{step} done\r")).collect();
    let giant = "word ".repeat(200_000);
    let mut tried = 0;
    for (id, bytes) in [("log-001", log.concat()), ("progress", progress), ("giant-1", giant)] {
        let view = forebay.put(id, bytes.as_bytes(), &[])["text"].as_str().unwrap().to_owned();
        tried += forebay.try_suggestions(&view);
        for query in [
            &["read", id][..],
            &["tail", id, "-n", "9000"],
            &["grep", id, "o", "--max", "3"],
            &["grep", id, "it's|o", "-i", "-C", "2"],
        ] {
            tried += forebay.try_suggestions(&forebay.run(query).ok().text());
        }
    }
    assert!(tried >= 16, "{tried}");
}

#[test]
fn grep_counts_truly_and_goes_on_where_it_stopped() {
    let forebay = Forebay::new();
    let text: String =
        (0..10_000).map(|n| if n % 10 == 3 { format!("hit {n}\n") } else { format!("miss {n}\n") }).collect();
    forebay.put("hits-01", text.as_bytes(), &[]);
    let mut from = 0;
    let mut seen = Vec::new();
    loop {
        let found = forebay
            .run(["grep", "hits-01", "^hit", "--max", "400", "--json", "--from-byte", &from.to_string()])
            .ok()
            .json();
        let shown = found["matches"].as_array().unwrap();
        seen.extend(shown.iter().map(|found| found["line"].as_u64().unwrap()));
        assert_eq!(found["total"].as_u64().unwrap() + (seen.len() - shown.len()) as u64, 1_000);
        let Some(next) = found["next"].as_str() else { break };
        from = next.rsplit(' ').next().unwrap().parse().unwrap();
    }
    assert_eq!(seen, (0..1_000).map(|n| n * 10 + 4).collect::<Vec<u64>>());
}

#[test]
fn listing_and_showing_read_well() {
    let forebay = Forebay::new();
    let args = ["--tool", "fetch", "--server", "web", "--args", r#"{"url": "https://example.org"}"#];
    forebay.put("listed-1", b"{\"a\": 1}\n", &args);
    forebay.put("listed-2", numbered(9_000).as_bytes(), &[]);
    let text = forebay.run(["ls"]).ok().text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("HANDLE      TOOL            SIZE  LINES  KIND  STATE"), "{text}");
    assert!(lines[1].starts_with("s/listed-1  web/fetch        9 B      1  JSON  complete"), "{text}");
    assert!(lines[2].starts_with("s/listed-2  put        209.9 KiB  9,000  text  complete"), "{text}");
    let shown = forebay.run(["show", "listed-2"]).ok().text();
    assert!(
        shown.contains("kind      text\n")
            && shown.contains("bytes of the output as they are:\n\n[forebay view of 9,000 lines"),
        "{shown}"
    );
    let json = forebay.run(["show", "listed-2", "--json"]).ok().json();
    assert_eq!((&json["complete"], &json["given"]["view"]["wording"]), (&true.into(), &"ranges".into()));
    let nothing = forebay.run(["ls", "--session", "empty"]);
    assert_eq!((nothing.status, nothing.text().as_str()), (0, ""));
    assert!(nothing.err.contains("nothing is kept in session empty"));
}

#[test]
fn verify_finds_what_was_changed() {
    let forebay = Forebay::new();
    let answer = forebay.put("proved-1", numbered(9_000).as_bytes(), &[]);
    assert_eq!(answer["stored"], true);
    forebay.put("proved-2", b"small", &[]);
    let ran = forebay.run(["verify"]);
    assert_eq!(
        (ran.status, ran.text().as_str(), ran.err.as_str()),
        (0, "ok      s/proved-1\nok      s/proved-2\n", "2 proved, 0 faulty\n")
    );

    let path = forebay.root().join("s/tool/proved-1.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("line 3 ", "lime 3 ", 1)).unwrap();
    let ran = forebay.run(["verify", "proved-1", "--json"]);
    assert_eq!(ran.status, 1);
    let faults = ran.json()["faults"].to_string();
    assert!(
        faults.contains("its record says hash") && faults.contains("the view's text differs"),
        "{faults}"
    );

    std::fs::write(&path, &text[..text.len() - 25]).unwrap();
    let faults = forebay.run(["verify", "proved-1", "--json"]).json()["faults"].to_string();
    assert!(faults.contains("its record says 214893 bytes, and there are 214868"), "{faults}");
}

#[test]
fn a_damaged_output_is_never_passed_off_as_a_whole_one() {
    let forebay = Forebay::new();
    for id in ["gone-01", "short-1", "record-1", "index-1", "fine-01"] {
        // Outputs that are the same would be kept once, and damaged together.
        let bytes = numbered(9_000).replacen("line", &id[..4], 1);
        forebay.put(id, bytes.as_bytes(), &[]);
    }
    let tool = forebay.root().join("s/tool");
    std::fs::remove_file(tool.join("gone-01.txt")).unwrap();
    std::fs::write(tool.join("short-1.txt"), "half").unwrap();
    std::fs::write(tool.join("record-1.meta.json"), "{\"version\": 1, \"han").unwrap();
    std::fs::write(tool.join("index-1.lines"), [7; 24]).unwrap();
    for command in ["cat", "read", "tail", "show"] {
        for id in ["gone-01", "short-1"] {
            assert!(
                forebay.run([command, id]).fails(3).contains("its record says 214893 bytes, and there are "),
                "{command}"
            );
        }
        assert!(forebay.run([command, "record-1"]).fails(3).contains("cannot read the record"), "{command}");
    }
    let listed = forebay.ls();
    assert_eq!(listed.len(), 5, "one bad record does not hide the others");
    let proved = forebay.run(["verify", "--json"]);
    let faulty: Vec<String> = proved
        .text()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| line["ok"] == false)
        .map(|line| line["handle"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(faulty, ["s/gone-01", "s/index-1", "s/record-1", "s/short-1"]);
}

#[test]
fn streams_that_cannot_be_told_apart_any_more_are_an_error() {
    let forebay = Forebay::new();
    let answer = forebay.run(["run", "--json", "--", "sh", "-c", "echo out; echo err >&2"]).ok().json();
    let handle = answer["handle"].as_str().unwrap();
    let streams = forebay.root().join(format!("{}.streams", handle.replace("s/", "s/terminal/")));
    std::fs::write(&streams, [9; 8]).unwrap();
    assert!(forebay.run(["verify", handle, "--json"]).json()["faults"].to_string().contains("streams"));
    std::fs::remove_file(&streams).unwrap();
    assert!(
        forebay
            .run(["cat", handle, "--stream", "stderr"])
            .fails(3)
            .contains("cannot read which stream each part of")
    );
}

#[test]
fn a_budget_that_leads_nowhere_is_refused() {
    let forebay = Forebay::new();
    forebay.put("output", numbered(9_000).as_bytes(), &[]);
    for budget in ["0", "1", "63"] {
        for command in [&["read", "output"][..], &["tail", "output"], &["grep", "output", "x"]] {
            let error = forebay.run([command, &["--budget", budget]].concat()).fails(2);
            assert!(error.contains("a budget has at least 64 tokens"), "{error}");
        }
    }
    let long = "x9-".repeat(40);
    forebay.put(&long, numbered(9_000).as_bytes(), &[]);
    let error = forebay.run(["read", &long, "--budget", "64"]).fails(2);
    assert!(
        error.contains("has no room for this handle and something to read: ask with a larger one"),
        "{error}"
    );
}

#[test]
fn names_and_arguments_cannot_act_on_a_terminal() {
    let forebay = Forebay::new();
    let evil = "\u{1b}[31mEVIL\u{7}\rfake";
    forebay.put(
        "evil-01",
        numbered(9_000).as_bytes(),
        &["--tool", evil, "--server", evil, "--preset", "materialize"],
    );
    let args = format!("{{\"path\": {}}}", serde_json::to_string(evil).unwrap());
    let view = forebay.put(
        "evil-02",
        numbered(9_000).as_bytes(),
        &["--tool", "read_file", "--args", &args, "--preset", "recovery"],
    );
    let mut shown = vec![view["text"].as_str().unwrap().to_owned()];
    for command in [
        &["ls"][..],
        &["show", "evil-01"],
        &["show", "evil-02"],
        &["put", evil],
        &["run", "--", evil],
        &["grep", "evil-01", "(\u{1b}["],
        &["ls", "--agent", evil],
        &["read", evil],
    ] {
        let ran = forebay.run(command);
        shown.extend([ran.text(), ran.err]);
    }
    for text in shown {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\r']), "{text:?}");
    }
}

#[test]
fn commands_that_are_printed_find_a_root_that_was_named_by_a_flag() {
    let forebay = Forebay::new();
    let ran = |args: &[&str]| {
        let mut command = forebay.command(args);
        command.env_remove("FOREBAY_ROOT").stdin(std::process::Stdio::null());
        crate::forebay::Ran::from(command.output().unwrap()).ok().text()
    };
    let log = forebay.file("log", numbered(9_000));
    let view = ran(&["put", "--root", "a root", "--call-id", "rooted", log.to_str().unwrap()]);
    let root = forebay.folder().join("work/a root");
    let flag = format!("--root '{}'", root.display());
    assert!(view.contains(&format!("forebay read s/rooted {flag} --lines ")), "{view}");
    let excerpt = ran(&["read", "rooted", "--root", root.to_str().unwrap(), "--lines", "4005:4009"]);
    assert!(
        excerpt.ends_with(&format!("[next: forebay read s/rooted {flag} --lines 4010:4014]\n")),
        "{excerpt}"
    );
    assert!(forebay.try_suggestions(&view) + forebay.try_suggestions(&excerpt) > 1);
    assert_eq!(
        forebay.run(["verify", "rooted", "--root", root.to_str().unwrap(), "--json"]).ok().json()["ok"],
        true
    );
}

#[test]
fn blanks_around_the_colon_of_a_range_are_understood_or_refused() {
    let forebay = Forebay::new();
    forebay.put("output-1", numbered(200).as_bytes(), &[]);
    let read = |lines: &[&str]| {
        let flags = lines.iter().flat_map(|lines| ["--lines", lines]);
        forebay.run(["read", "output-1"].into_iter().chain(flags))
    };
    let first_two = read(&["1:2"]).ok().text();
    for lines in [" 1 : 2 ", "1 - 2", "1\t:\t2", "1 – 2"] {
        let text = read(&[lines]).ok().text();
        assert!(text.starts_with(&first_two), "{lines:?}: {text}");
    }
    let several = read(&["3 : 5 9 : 11"]).ok().text();
    assert_eq!(several.matches("of the output").count(), 6, "{several}");
    let several = read(&["199:", "3"]).ok().text();
    assert_eq!(several.matches("of the output").count(), 3, "each flag for itself: {several}");
    for lines in ["1: 2", "1 :2", "5 -9"] {
        assert!(read(&[lines]).fails(2).contains("has a blank in a range"), "{lines:?}");
    }
    assert!(read(&["-5"]).fails(2).contains("the last lines are the tail"));
}

#[test]
fn a_free_text_may_begin_with_a_dash() {
    let forebay = Forebay::new();
    let lines = "- the failing test\n-x marks the spot\n{\"a\": -1}\n".repeat(3);
    forebay.put("dashes-1", lines.as_bytes(), &["--intent", "- the failing test", "--args", "-1"]);
    forebay.put("json-1", b"{\"a\": -1}", &["--intent", "-v"]);
    let table: [(&[&str], &str); 6] = [
        (&["ask", "dashes-1", "- the failing test"], "- the failing test"),
        (&["grep", "dashes-1", "- the failing"], "- the failing test"),
        (&["grep", "dashes-1", "-x marks", "--max", "1"], "-x marks the spot"),
        (&["search", "-x", "marks"], "-x marks the spot"),
        (&["extract", "dashes-1", "- the failing test"], "- the failing test"),
        (&["json", "json-1", "-.a"], "1"),
    ];
    for (args, expected) in table {
        let text = forebay.run(args).ok().text();
        assert!(text.contains(expected), "{args:?}: {text}");
    }
    // What is a flag of ours stays one.
    for command in ["ask", "extract"] {
        assert!(forebay.run([command, "dashes-1", "what", "fails?", "--json"]).ok().json().is_object());
    }
    assert!(forebay.run(["search", "marks", "spot", "--json"]).ok().json().is_object());
    let ran = forebay.run(["run", "--intent", "- why", "--", "echo", "hi"]).ok();
    assert_eq!(ran.text(), "hi\n");
}
