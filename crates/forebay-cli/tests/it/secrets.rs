//! Secrets, on every way by which an output can leave.

use crate::forebay::Forebay;
use crate::http::Server;
use crate::mcp::Client;
use serde_json::json;

/// Five keys of different kinds, made up here and put together when the test runs.
fn keys() -> [(&'static str, String); 5] {
    let random = "kV9wq27LmZx4tRbQ8sYc3JnHfD6gPuEa5WoTi1Mv";
    [
        ("GITLAB_TOKEN", format!("glpat{}{}", "-", &random[..20])),
        ("DB_PASSWORD", format!("{}$x", &random[5..21])),
        ("AWS_SECRET_ACCESS_KEY", random.chars().rev().collect()),
        ("SLACK_BOT_TOKEN", format!("xoxb{}{}-{}-{}", "-", "204857391624", "731940285617", &random[3..27])),
        ("NPM_AUTH_SECRET", format!("{}{}", &random[7..27], &random[1..13])),
    ]
}

/// Fails if a text has eight characters in a row of a key.
#[track_caller]
fn check(text: &str, what: &str) {
    for (name, key) in keys() {
        for part in key.as_bytes().windows(8) {
            let part = std::str::from_utf8(part).unwrap();
            assert!(!text.contains(part), "{what} shows {part} of {name}: {text}");
        }
    }
}

/// What `env` prints with the keys, after many other lines.
fn dump(lines: usize) -> String {
    let filler: String = (0..lines).map(|number| format!("LINE_{number}=value of line {number}\n")).collect();
    let keys: String = keys().iter().map(|(name, key)| format!("{name}={key}\n")).collect();
    format!("{filler}{keys}HOME=/home/dev\n")
}

#[test]
fn a_command_that_prints_its_environment_shows_no_byte_of_a_key() {
    let forebay = Forebay::new();
    let run = |flags: &[&str]| {
        let mut command = forebay.command([&["run"], flags, &["--", "env"]].concat());
        command.envs(keys());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let shown = run(&[]);
    check(&shown, "run");
    assert_eq!(shown.matches("[secret: ").count(), 5, "{shown}");
    assert!(shown.trim_end().ends_with("[5 secrets masked]"), "{shown}");
    check(&run(&["--json"]), "run --json");
    check(&run(&["--budget", "100"]), "run --budget");
}

#[test]
fn every_command_that_reads_masks_and_cat_does_not() {
    for lines in [3, 30_000] {
        let forebay = Forebay::new();
        let text = dump(lines);
        let put = forebay.run_with_input(["put", "--call-id", "dump01", "--json", "-"], text.as_bytes());
        check(&put.ok().text(), "put --json");
        let commands: &[&[&str]] = &[
            &["read", "dump01", "--lines", "1:99999"],
            &["head", "dump01"],
            &["tail", "dump01", "-n", "8"],
            &["grep", "dump01", "TOKEN|PASSWORD|SECRET", "-C", "2"],
            &["grep", "dump01", "-o", "[A-Za-z0-9$]"],
            &["grep", "dump01", "-v", "LINE"],
            &["ask", "dump01", "what is the password?"],
            &["outline", "dump01"],
            &["search", "token"],
            &["extract", "dump01", "list all keys", "--mode", "truncate"],
            &["show", "dump01"],
            &["scan", "dump01"],
            &["events"],
            &["ls"],
        ];
        for command in commands {
            for json in [false, true] {
                let flags: &[&str] = if json { &["--json"] } else { &[] };
                check(&forebay.run([command, flags].concat()).text(), &command.join(" "));
            }
        }
        let bytes = text.len() - 150;
        for from in (bytes..bytes + 120).step_by(7) {
            let range = format!("{from}:{}", from + 9);
            check(&forebay.run(["read", "dump01", "--bytes", &range]).text(), "read --bytes");
        }
        assert_eq!(forebay.run(["cat", "dump01"]).ok().text(), text);
        assert!(forebay.run(["verify"]).text().starts_with("ok "));
        let failed = forebay.run(["reveal", "dump01"]).fails(1);
        assert!(failed.contains("only to a person at a terminal"), "{failed}");
    }
}

#[test]
fn a_filter_that_takes_texts_apart_gets_masks() {
    let forebay = Forebay::new();
    let (_, key) = &keys()[2];
    let text = json!({ "db": { "password": key, "pin": 90_417_263_558_201u64, "path": "a/b" } }).to_string();
    forebay.put("config", text.as_bytes(), &[]);
    for filter in [
        ".db.password[0:8]",
        ".db.password | explode",
        ".db.password | @base64",
        "[.db.password | split(\"\")[]] | join(\" \")",
        ".db.password | ascii_downcase",
        ".db.password | explode | reverse | implode",
        ".db.password / \"\"",
        "\"\\(.db.password[2:14])\"",
    ] {
        let shown = forebay.run(["json", "config", filter]).ok().text();
        let (result, codes) =
            (shown.lines().nth(1).unwrap(), format!("{:?}", key.as_bytes()).replace(' ', ""));
        check(result, filter);
        check(&result.chars().rev().collect::<String>(), filter);
        assert!(!result.contains(&codes) && !result.contains(&key[..4].to_lowercase()), "{filter}: {result}");
    }
    let path = forebay.run(["json", "config", ".db.path | split(\"/\")"]).ok().text();
    assert!(path.contains(r#"["a","b"]"#), "{path}");
    let found = forebay.run(["json", "config", &format!(".db | select(.password == \"{key}\") | .path")]);
    assert!(found.text().contains("a/b"), "{}", found.text());
}

#[test]
fn arguments_of_a_call_are_masked_in_listings_and_events() {
    let forebay = Forebay::new();
    let args = json!({ "command": format!("curl -H 'Authorization: Bearer {}' x", keys()[2].1) }).to_string();
    let _ = forebay.run_with_input(["put", "--call-id", "call01", "--args", &args, "-"], b"ok\n").ok();
    for command in [&["ls"][..], &["show", "call01"], &["events"]] {
        for flags in [&[][..], &["--json"]] {
            check(&forebay.run([command, flags].concat()).ok().text(), &command.join(" "));
        }
    }
}

#[test]
fn modes_are_the_users_own_and_hold_for_single_tools() {
    let forebay = Forebay::new();
    let password = format!("DB_PASSWORD={}\n", keys()[1].1);
    let file = forebay.file("dump.txt", &password);
    let put = |environment: &[(&str, &str)], tool: &str| {
        let mut command = forebay.command(["put", "--tool", tool]);
        let ran = command.arg(&file).envs(environment.iter().copied()).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(put(&[("FOREBAY_SECRETS_MODE", "off")], "cat"), password);
    assert_eq!(put(&[("FOREBAY_SECRETS_MODE", "warn")], "cat"), format!("{password}[1 secret shown]\n"));
    forebay.file("forebay.toml", "[secrets]\nmode = \"off\"\n");
    check(&put(&[], "cat"), "a project's settings");
}

#[test]
fn values_of_variables_and_registered_ones_are_found_in_every_form() {
    let forebay = Forebay::new();
    let [.., (name, value)] = keys();
    let (base64, hex) = ("Li4uIFJ2OTZtbUtZYS1Qbw==", "52763936");
    let other = "Rv96mm-KYa*Po".to_owned();
    let added = forebay.run_with_input(["secrets", "add", "staging"], format!("{other}\n").as_bytes());
    assert_eq!(added.status, 0);
    assert_eq!(forebay.run(["secrets", "ls"]).ok().text(), "staging\n");
    let urlencoded = other.replace('*', "%2A");
    let text = format!("it said {value} and {other} and {urlencoded} {base64} {hex}\n");
    let file = forebay.file("said.txt", &text);
    let mut command = forebay.command(["put"]);
    let ran = command.arg(file).env(name, &value).output().unwrap();
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert!(!shown.contains(&value) && !shown.contains(&other) && !shown.contains(&urlencoded), "{shown}");
    assert!(shown.contains(base64) && shown.contains(hex), "{shown}");
    assert!(forebay.run_with_input(["secrets", "add", "short"], b"abc\n").fails(2).contains("3 bytes"));
    assert_eq!(forebay.run(["secrets", "rm", "staging"]).status, 0);
    assert!(forebay.run(["secrets", "rm", "staging"]).fails(1).contains("no value is registered"));
}

#[test]
fn outputs_with_secrets_are_removed_on_request() {
    let forebay = Forebay::new();
    let _ = forebay.run_with_input(["put", "--call-id", "secret1", "-"], dump(2).as_bytes()).ok();
    let _ = forebay.run_with_input(["put", "--call-id", "clean01", "-"], b"nothing\n").ok();
    assert!(forebay.run(["clean", "--with-secrets", "--dry-run"]).text().contains("secret1"));
    assert!(forebay.run(["clean", "--with-secrets"]).text().contains("secret1"));
    let left = forebay.run(["ls"]).ok().text();
    assert!(left.contains("clean01") && !left.contains("secret1"), "{left}");
}

#[test]
fn the_http_api_masks_and_gives_the_bytes_to_programs() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    const OUTPUTS: &str = "/v1/sessions/s/outputs";
    for (id, lines) in [("small01", 3), ("large01", 30_000)] {
        let text = dump(lines);
        check(&server.put(&format!("{OUTPUTS}/{id}?tool=env"), text.as_bytes()).is(201).text(), "put");
        for query in [
            "read?tail=8",
            "grep?pattern=TOKEN",
            "ask?question=password",
            "outline",
            "lines?last=9&width=200",
        ] {
            check(&server.get(&format!("{OUTPUTS}/{id}/{query}")).text(), query);
        }
        check(&server.get(&format!("{OUTPUTS}/{id}")).is(200).text(), "record");
    }
    check(&server.get("/v1/sessions/s/events").is(200).text(), "events");
    check(&server.get("/v1/sessions/s/search?words=token").is(200).text(), "search");
}

#[test]
fn the_page_reveals_secrets_to_a_person_and_not_to_a_token_with_some_rights() {
    let forebay = Forebay::new();
    let file = ["--tokens", "tokens.toml"];
    let made = |may: &[&str]| {
        let args: Vec<&str> = ["serve", "token"].into_iter().chain(file).chain(may.iter().copied()).collect();
        format!("Bearer {}", forebay.run(args).text().trim())
    };
    let (person, reader) =
        (made(&["--may", "read,write,extract,delete,metrics"]), made(&["--may", "read,write"]));
    let server = Server::start(&forebay, &file);
    let ask =
        |token: &str, request: &str, body: &[u8]| server.ask(request, &[("authorization", token)], body);
    ask(&reader, "PUT /v1/sessions/s/outputs/dump01", dump(20).as_bytes()).is(201);
    ask(&reader, "PUT /v1/sessions/s/outputs/plain1", b"nothing to hide").is(201);
    let refused = ask(&reader, "POST /v1/sessions/s/outputs/dump01/reveal", b"").is(403).text();
    assert!(refused.contains("does not reveal secrets"), "{refused}");
    let events = |name: &str| {
        let events = ask(&person, "GET /v1/sessions/s/events", b"").is(200).json();
        let all = events["events"].as_array().unwrap().clone();
        all.into_iter().filter(|event| event["event"] == name).collect::<Vec<_>>()
    };
    assert_eq!(events("secrets-revealed").len(), 0);
    let revealed = ask(&person, "POST /v1/sessions/s/outputs/dump01/reveal", b"").is(200).json();
    let secrets = revealed["secrets"].as_array().unwrap();
    for (secret, (at, (name, key))) in secrets.iter().zip(keys().into_iter().enumerate()) {
        assert_eq!((&secret["line"], &secret["text"]), (&json!(21 + at), &json!(format!("{name}={key}"))));
    }
    assert_eq!(secrets.len(), keys().len());
    let revealed = ask(&person, "POST /v1/sessions/s/outputs/plain1/reveal", b"").is(200).json();
    assert_eq!(revealed, json!({ "secrets": [] }));
    let told = events("secrets-revealed");
    assert_eq!(
        (told.len(), &told[0]["id"], &told[0]["secrets"]),
        (1, &json!("dump01"), &json!(keys().len()))
    );
    check(&json!(told).to_string(), "the event");
}

#[test]
fn the_mcp_gateway_masks_small_results_and_kept_ones() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let result = |text: &str| json!({ "content": [{ "type": "text", "text": text }] }).to_string();
    for (id, lines) in [(1, 3), (2, 30_000)] {
        let answer = client.call(id, "raw", json!({ "result": result(&dump(lines)) })).to_string();
        check(&answer, "a result");
        assert!(answer.contains("[secret: "), "{answer}");
    }
    let untouched = client.call(3, "raw", json!({ "result": result("nothing to hide") }));
    assert_eq!(untouched["result"]["content"][0]["text"], "nothing to hide");
}
