//! Settings in layers.

use crate::forebay::{Forebay, Ran};
use std::fs;

fn value(ran: &Ran, key: &str) -> (String, String) {
    let line =
        ran.text().lines().find(|line| line.contains(&format!("\"key\":\"{key}\""))).unwrap().to_owned();
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    (json["value"].to_string(), json["source"].as_str().unwrap().to_owned())
}

#[test]
fn each_layer_is_stronger_than_the_one_before() {
    let forebay = Forebay::new();
    let settings = |environment: &[(&str, &str)], flags: &[&str]| {
        let mut command = forebay.command([&["settings", "--json"], flags].concat());
        command.envs(environment.iter().copied());
        value(&Ran::from(command.output().unwrap()).ok(), "digest.tokens")
    };
    assert_eq!(settings(&[], &[]), ("3000".into(), "built-in".into()));

    let user = forebay.folder().join(".config/forebay/settings.toml");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(&user, "[digest]\ntokens = 1001\n").unwrap();
    assert_eq!(settings(&[], &[]), ("1001".into(), user.display().to_string()));

    let project = forebay.folder().join("forebay.toml");
    fs::write(&project, "digest.tokens = 1002").unwrap();
    assert_eq!(
        settings(&[], &[]),
        ("1002".into(), project.display().to_string()),
        "found above the working folder"
    );

    let environment = [("FOREBAY_DIGEST_TOKENS", "1003")];
    assert_eq!(settings(&environment, &[]), ("1003".into(), "FOREBAY_DIGEST_TOKENS".into()));
    assert_eq!(settings(&environment, &["--budget", "1004"]), ("1004".into(), "--budget".into()));
}

#[test]
fn a_setting_has_its_effect_from_every_layer() {
    let forebay = Forebay::new();
    let lines: String = (1..=150).map(|line| format!("line {line}\n")).collect();
    assert_eq!(forebay.put("a", lines.as_bytes(), &[])["stored"], false);
    forebay.file(
        "forebay.toml",
        "preset = 'head-tail'\n[head_tail.tools.mine]\ncharacters = 9000\nlines = 100\n",
    );
    assert_eq!(forebay.put("b", lines.as_bytes(), &[])["stored"], false);
    let text = forebay.put("c", lines.as_bytes(), &["--tool", "mine"])["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("[First 30 lines of 150]\n"), "{text}");
}

#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest() {
    let forebay = Forebay::new();
    forebay.file("forebay.toml", "[digest]\ntokns = 5\n");
    let error = forebay.run(["ls"]).fails(2);
    assert!(
        error.contains("forebay.toml: there is no setting digest.tokns; did you mean digest.tokens?"),
        "{error}"
    );

    let forebay = Forebay::new();
    let mut command = forebay.command(["ls"]);
    command.env("FOREBAY_PRESETT", "handle");
    let error = Ran::from(command.output().unwrap()).fails(2);
    assert!(error.contains("FOREBAY_PRESETT, which sets nothing; did you mean FOREBAY_PRESET?"), "{error}");
}

#[test]
fn a_value_of_the_wrong_kind_or_range_is_an_error_that_says_so() {
    let table = [
        ("preset = 'best'", "forebay.toml: preset = \"best\": unknown variant"),
        ("digest.tokens = 'many'", "forebay.toml: digest.tokens = \"many\": invalid type"),
        ("head_tail.head_ratio = 3.5", "head_tail.head_ratio is a share from 0 to 1, not 3.5"),
        ("extract.overlap_percent = 60", "extract.overlap_percent is at most 50, not 60"),
        ("extract.models = ['gpt']", "a model is provider/model"),
        ("not toml at all", "forebay.toml"),
    ];
    for (text, expected) in table {
        let forebay = Forebay::new();
        forebay.file("forebay.toml", text);
        let error = forebay.run(["ls"]).fails(2);
        assert!(error.contains(expected), "{text}: {error}");
    }
    let forebay = Forebay::new();
    let mut command = forebay.command(["ls"]);
    command.env("FOREBAY_DIGEST_TOKENS", "many");
    assert!(Ran::from(command.output().unwrap()).fails(2).contains("must be a whole number, not \"many\""));
}

#[test]
fn the_front_matter_of_an_agent_file_is_understood() {
    let forebay = Forebay::new();
    let store = forebay.folder().join("elsewhere");
    let agent = forebay.file(
        "test.ai",
        format!(
            "---\nmodels:\n  - openai/gpt-4o\nmaxTurns: 20\ntoolResponseMaxBytes: 8192\ntoolOutput:\n  enabled: true\n  maxChunks: 3\n  \
             overlapPercent: 20\n  avgLineBytesThreshold: 500\n  models: openai/gpt-4o\n  storeDir: {}\n---\nYou are an agent.\n",
            store.display()
        ),
    );
    let agent = agent.to_str().unwrap();
    let shown = forebay.run(["settings", "--json", "--agent", agent]).ok();
    let from = |text: &str| (text.to_owned(), agent.to_owned());
    assert_eq!(value(&shown, "handle.max_bytes"), from("8192"));
    assert_eq!(value(&shown, "preset"), from("\"handle\""));
    assert_eq!(value(&shown, "extract.max_chunks"), from("3"));
    assert_eq!(value(&shown, "extract.overlap_percent"), from("20"));
    assert_eq!(value(&shown, "extract.avg_line_bytes"), from("500"));
    assert_eq!(value(&shown, "extract.models"), from("[\"openai/gpt-4o\"]"));

    let answer = forebay.put("stored-1", &vec![b'x'; 8_193], &["--agent", agent]);
    assert!(answer["text"].as_str().unwrap().starts_with("Tool output is too large (8193 bytes"));
    assert!(store.join("s/tool/stored-1.txt").exists(), "storeDir is honoured");
    assert_eq!(forebay.put("small-1", &vec![b'x'; 8_192], &["--agent", agent])["stored"], false);
    let flag =
        forebay.put("flag-1", &vec![b'x'; 8_193], &["--agent", agent, "--tool-response-max-bytes", "9000"]);
    assert_eq!(flag["stored"], false, "a flag is stronger");

    let disabled = forebay.file("off.ai", "---\ntoolOutput:\n  enabled: false\n---\n");
    assert_eq!(
        forebay.put("off-1", &vec![b'x'; 90_000], &["--agent", disabled.to_str().unwrap()])["stored"],
        false
    );
    let wrong = forebay.file("wrong.ai", "---\ntoolOutput:\n  maxChunk: 3\n---\n");
    let error = forebay.run(["ls", "--agent", wrong.to_str().unwrap()]).fails(2);
    assert!(
        error.contains("there is no setting toolOutput.maxChunk; did you mean toolOutput.maxChunks?"),
        "{error}"
    );
}

#[test]
fn settings_that_are_wrong_are_shown_all_the_same() {
    let forebay = Forebay::new();
    let file = forebay.file("forebay.toml", "head_tail.head_ratio = 1.5");
    let ran = forebay.run(["settings", "--json"]);
    assert_eq!(value(&ran, "head_tail.head_ratio"), ("1.5".into(), file.display().to_string()));
    assert!(ran.fails(2).contains("head_tail.head_ratio is a share from 0 to 1, not 1.5"));
}

#[test]
fn the_reference_page_is_the_one_that_the_declarations_make() {
    let made = Forebay::new().run(["settings", "--reference"]).ok().text();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(page, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(page).unwrap(), made, "UPDATE_EXPECT=1 cargo test writes it anew");
}

#[test]
fn the_session_is_that_of_the_folder_unless_it_is_said() {
    let forebay = Forebay::new();
    let session = |name: Option<&str>| {
        let mut command = forebay.command(["settings", "--json"]);
        command.env_remove("FOREBAY_SESSION");
        command.envs(name.map(|name| ("FOREBAY_SESSION", name)));
        value(&Ran::from(command.output().unwrap()).ok(), "session").0
    };
    let of_folder = session(None);
    assert!(of_folder.starts_with("\"work-") && of_folder.len() == "\"work-12345678\"".len(), "{of_folder}");
    assert_eq!(session(None), of_folder);
    assert_eq!(session(Some("mine")), "\"mine\"");
    let mut odd = forebay.command(["put", "--json", "--call-id", "x"]);
    odd.env("FOREBAY_SESSION", "a/b c").stdin(std::process::Stdio::null());
    let handle = Ran::from(odd.output().unwrap()).ok().json()["handle"].as_str().unwrap().to_owned();
    assert!(handle.starts_with("a-b-c-"), "a host's own name is made safe: {handle}");
}

#[test]
fn completions_know_every_command() {
    let forebay = Forebay::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = forebay.run(["completions", shell]).ok().text();
        for command in ["run", "put", "grep", "verify", "settings"] {
            assert!(script.contains(command), "{shell} {command}");
        }
    }
}
