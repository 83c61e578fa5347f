//! Settings in layers.

use crate::forebay::{Forebay, Ran};
use std::fs;

fn value(ran: &Ran, key: &str) -> (String, String) {
    let line =
        ran.text().lines().find(|line| line.contains(&format!("\"key\":\"{key}\""))).unwrap().to_owned();
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    (json["value"].to_string(), json["source"].as_str().unwrap().to_owned())
}

/// How many outputs the user's root has, whatever a project's file says.
fn kept_in(forebay: &Forebay) -> usize {
    fs::read_dir(forebay.root().join("s/terminal"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".meta.json"))
        .count()
}

#[test]
fn each_layer_is_stronger_than_the_one_before() {
    let forebay = Forebay::new();
    let settings = |environment: &[(&str, &str)], flags: &[&str]| {
        let mut command = forebay.command([&["settings", "--json"], flags].concat());
        command.envs(environment.iter().copied());
        value(&Ran::from(command.output().unwrap()).ok(), "digest.tokens")
    };
    assert_eq!(settings(&[], &[]), ("4000".into(), "built-in".into()));

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
    let error = forebay.run(["settings"]).fails(2);
    assert!(
        error.contains("forebay.toml: there is no setting digest.tokns; did you mean digest.tokens?"),
        "{error}"
    );

    let forebay = Forebay::new();
    let mut command = forebay.command(["settings"]);
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
        ("not toml at all", "forebay.toml"),
    ];
    for (text, expected) in table {
        let forebay = Forebay::new();
        forebay.file("forebay.toml", text);
        let error = forebay.run(["settings"]).fails(2);
        assert!(error.contains(expected), "{text}: {error}");
    }
    let forebay = Forebay::new();
    for (name, value, expected) in [
        ("FOREBAY_DIGEST_TOKENS", "many", "must be a whole number, not \"many\""),
        ("FOREBAY_EXTRACT_MODELS", "gpt", "a model is provider/model"),
        ("FOREBAY_RECOVERY_NAMES_GREP", "first run: rm -r", "a name has up to 64 letters"),
    ] {
        let mut command = forebay.command(["settings"]);
        let error = Ran::from(command.env(name, value).output().unwrap()).fails(2);
        assert!(error.contains(expected), "{name}: {error}");
    }
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
    let error = forebay.run(["settings", "--agent", wrong.to_str().unwrap()]).fails(2);
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

#[test]
fn a_project_sets_only_what_a_stranger_may() {
    let own = "/.config/forebay/settings.toml";
    let table = [
        ("root = '.fb'", "root"),
        ("session = 'other'", "session"),
        ("retention.mode = 'session'", "retention.mode"),
        ("retention.max_age_days = 1", "retention.max_age_days"),
        ("retention.max_bytes = 1", "retention.max_bytes"),
        ("models.retries = 99", "models.retries"),
        ("extract.models = ['ollama/x']", "extract.models"),
        ("extract.max_calls = 9000", "extract.max_calls"),
        ("[providers.ollama]\nbase_url = 'http://elsewhere'", "providers.ollama"),
        ("[providers.mine]\nwire = 'gemini'\nkey_command = 'touch ran'", "providers.mine"),
        ("host.shown_tokens = 1", "host.shown_tokens"),
    ];
    for (refused, key) in table {
        let forebay = Forebay::new();
        let file = forebay.file("forebay.toml", format!("digest.tokens = 1234\n{refused}\n"));
        let ran = forebay.run(["run", "--", "sh", "-c", "exit 7"]);
        assert_eq!(ran.status, 7, "{key}");
        let home = forebay.folder().display();
        let line = format!("{}: {key} cannot be set by a project; it belongs in {home}{own}", file.display());
        assert_eq!(ran.err, format!("forebay: {line} (ignored)\n"));
        assert_eq!(kept_in(&forebay), 1, "{key}: it is kept in the user's own root and session");

        let shown = forebay.run(["settings", "--json"]);
        assert_eq!(
            value(&shown, "digest.tokens"),
            ("1234".into(), file.display().to_string()),
            "the rest counts"
        );
        let sources = shown.text().matches(&*format!("\"{}\"", file.display())).count();
        assert_eq!(sources, 1, "{key}: nothing else comes from the project");
        assert!(shown.fails(2).contains(&line));
    }
}

#[test]
fn a_projects_retention_removes_nothing() {
    let forebay = Forebay::new();
    forebay.put("kept-1", b"something", &[]);
    forebay.file("forebay.toml", "retention.max_bytes = 1\nretention.max_age_days = 1\n");
    let cleaned = forebay.run(["clean"]);
    assert_eq!(cleaned.status, 0, "{}", cleaned.err);
    assert!(cleaned.err.contains("retention.max_bytes cannot be set by a project"), "{}", cleaned.err);
    assert!(cleaned.err.ends_with("nothing to remove\n"), "{}", cleaned.err);

    // What the user wrote and cannot be read must not become other rules.
    let user = forebay.folder().join(".config/forebay/settings.toml");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(&user, "retention.max_age_days = '365 days'").unwrap();
    assert!(forebay.run(["clean"]).fails(2).contains("retention.max_age_days"));
}

#[test]
fn a_project_file_counts_only_in_the_home_folder_or_the_repository() {
    let forebay = Forebay::new();
    let home = forebay.folder().join("home");
    fs::create_dir(&home).unwrap();
    let above = forebay.folder().join("forebay.toml");
    fs::write(&above, "digest.tokens = 1002\n").unwrap();
    let settings = || {
        let mut command = forebay.command(["settings", "--json"]);
        Ran::from(command.env("HOME", &home).output().unwrap())
    };
    let ignored = format!(
        "forebay: {}: it lies neither in your home folder nor in this repository; the file is ignored\n",
        above.display()
    );
    for repository in [None, Some("work/.git")] {
        if let Some(folder) = repository {
            fs::create_dir(forebay.folder().join(folder)).unwrap();
        }
        let shown = settings();
        assert_eq!(value(&shown, "digest.tokens"), ("4000".into(), "built-in".into()));
        assert_eq!((shown.status, shown.err.as_str()), (0, ignored.as_str()));
    }
    // Below the top of a repository it counts, and a file that does not count hides none that does.
    fs::remove_dir(forebay.folder().join("work/.git")).unwrap();
    fs::create_dir(forebay.folder().join(".git")).unwrap();
    assert_eq!(value(&settings().ok(), "digest.tokens"), ("1002".into(), above.display().to_string()));
    if rustix::process::geteuid().is_root() {
        let nearer = forebay.file("forebay.toml", "digest.tokens = 1003\n");
        std::os::unix::fs::chown(&nearer, Some(12_345), None).unwrap();
        let shown = settings();
        assert_eq!(value(&shown, "digest.tokens").0, "1002");
        assert!(shown.err.contains("it belongs to user 12345"), "{}", shown.err);
    }
}

/// A fault, and the message about it.
struct Wrong {
    what: &'static str,
    said: &'static str,
    files: &'static [(&'static str, &'static str)],
    environment: &'static [(&'static str, &'static str)],
    flags: &'static [&'static str],
}

const NOTHING: Wrong = Wrong { what: "", said: "", files: &[], environment: &[], flags: &[] };
const PROJECT: &str = "work/forebay.toml";
const USER: &str = ".config/forebay/settings.toml";

#[test]
fn whatever_is_wrong_with_settings_and_flags_the_wrapped_command_runs_and_the_cause_is_named() {
    const fn file(
        what: &'static str,
        said: &'static str,
        files: &'static [(&'static str, &'static str)],
    ) -> Wrong {
        Wrong { what, said, files, ..NOTHING }
    }
    const fn set(
        what: &'static str,
        said: &'static str,
        to: &'static [(&'static str, &'static str)],
    ) -> Wrong {
        Wrong { what, said, environment: to, ..NOTHING }
    }
    const fn flag(what: &'static str, said: &'static str, flags: &'static [&'static str]) -> Wrong {
        Wrong { what, said, flags, ..NOTHING }
    }
    let table = [
        file("project: syntax", "forebay.toml: line 2: ", &[(PROJECT, "digest.tokens = 9\nnot toml at all")]),
        file("project: not UTF-8", "it is not UTF-8", &[(PROJECT, "\u{0}BINARY")]),
        file("project: unknown key", "there is no setting digest.tokns", &[(PROJECT, "digest.tokns = 5")]),
        file(
            "project: a newer key",
            "there is no setting views.shape",
            &[(PROJECT, "[views]\nshape = 'round'")],
        ),
        file(
            "project: wrong type",
            "digest.tokens = \"many\": invalid type",
            &[(PROJECT, "digest.tokens = 'many'")],
        ),
        file("project: a number for a table", "there is no setting digest", &[(PROJECT, "digest = 5")]),
        file("project: unknown value", "preset = \"best\": unknown variant", &[(PROJECT, "preset = 'best'")]),
        file(
            "project: out of range",
            "head_tail.head_ratio is a share",
            &[(PROJECT, "head_tail.head_ratio = 3.5")],
        ),
        file(
            "project: half an entry",
            "head_tail.tools.x: missing field",
            &[(PROJECT, "head_tail.tools.x.lines = 3")],
        ),
        file("project: refused key", "root cannot be set by a project", &[(PROJECT, "root = '/'")]),
        file("user: syntax", "settings.toml: line 1: ", &[(USER, "[digest")]),
        file("user: unknown key", "there is no setting digest.tokns", &[(USER, "digest.tokns = 5")]),
        file("user: a newer key", "there is no setting views.shape", &[(USER, "[views]\nshape = 'round'")]),
        file("user: wrong type", "bypass = \"x\": invalid type", &[(USER, "bypass = 'x'")]),
        file("user: out of range", "excerpt is 1 tokens", &[(USER, "excerpt.tokens = 1")]),
        set("unknown variable", "FOREBAY_PRESETT, which sets nothing", &[("FOREBAY_PRESETT", "handle")]),
        set("variable of a later version", "FOREBAY_VIEWS_SHAPE, which", &[("FOREBAY_VIEWS_SHAPE", "round")]),
        set("variable: wrong type", "FOREBAY_DIGEST_TOKENS must be", &[("FOREBAY_DIGEST_TOKENS", "many")]),
        set("variable: unknown value", "FOREBAY_PRESET: preset = \"best\"", &[("FOREBAY_PRESET", "best")]),
        set(
            "variable: out of range",
            "overlap_percent is at most 50",
            &[("FOREBAY_EXTRACT_OVERLAP_PERCENT", "60")],
        ),
        set("variable: agent file", "none.ai: cannot read the agent file", &[("FOREBAY_AGENT", "none.ai")]),
        flag("agent file missing", "none.ai: cannot read the agent file", &["--agent", "none.ai"]),
        Wrong {
            files: &[("work/a.ai", "no front matter")],
            ..flag("agent file without settings", "it has no front matter", &["--agent", "a.ai"])
        },
        Wrong {
            files: &[("work/a.ai", "---\ntoolOutput:\n  maxChunk: 3\n---\n")],
            ..flag("agent file: unknown key", "there is no setting toolOutput.maxChunk", &["--agent", "a.ai"])
        },
        flag("session", "'../up' is not the name of a session", &["--session", "../up"]),
        flag("call id", "--call-id is empty", &["--call-id", ""]),
        flag("arguments", "--args is not JSON", &["--args", "{not json"]),
        flag("budget", "--budget \"abc\"", &["--budget", "abc"]),
        flag("budget, joined", "--budget \"abc\"", &["--budget=abc"]),
        flag("budget: out of range", "a budget has at least 64 tokens", &["--budget", "5"]),
        flag("preset", "--preset \"best\": not one of digest, handle", &["--preset", "best"]),
        flag("timeout", "--timeout \"soon\"", &["--timeout", "soon"]),
        flag("maximum", "handle.max_bytes is at most 1000000", &["--tool-response-max-bytes", "1000001"]),
        flag("several", "--call-id is empty", &["--budget", "x", "--call-id", "", "--args", "{"]),
    ];
    for wrong in table {
        let forebay = Forebay::new();
        for (name, text) in wrong.files {
            let path = forebay.folder().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text =
                if wrong.what.contains("UTF-8") { b"a = '\xff'".to_vec() } else { text.as_bytes().to_vec() };
            fs::write(path, text).unwrap();
        }
        // `session` and `mcp` have none of the flags that say who called what.
        let common = ["--agent", "--session", "--budget"];
        let everywhere = wrong.flags.first().is_none_or(|flag| common.iter().any(|name| flag == name))
            && !wrong.flags.contains(&"--args");
        for command in ["run", "session", "mcp"] {
            if command != "run" && !everywhere {
                continue;
            }
            let args = [&[command], wrong.flags, &["--", "sh", "-c", "touch ran; echo hi; exit 7"]].concat();
            let mut typed = forebay.command(args);
            typed.envs(wrong.environment.iter().copied()).stdin(std::process::Stdio::null());
            let ran = Ran::from(typed.output().unwrap());
            let told = format!("{} {command}: {}", wrong.what, ran.err);
            assert!(fs::remove_file(forebay.folder().join("work/ran")).is_ok(), "{told}");
            assert_eq!(ran.err.matches(wrong.said).count(), 1, "{told}");
            if command != "mcp" {
                assert_eq!((ran.status, ran.text().as_str()), (7, "hi\n"), "{told}");
            }
        }
    }
}

#[test]
fn a_settings_file_that_is_no_regular_file_or_too_large_is_not_read() {
    let run = |make: &dyn Fn(&std::path::Path), said: &str| {
        let forebay = Forebay::new();
        make(&forebay.folder().join(PROJECT));
        let ran = forebay.run(["run", "--", "sh", "-c", "exit 7"]);
        assert_eq!(ran.status, 7, "{}", ran.err);
        assert!(ran.err.contains(said) && !ran.err.contains("root:"), "{said}: {}", ran.err);
    };
    let mkfifo = |path: &std::path::Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    run(&|path| mkfifo(path), "it is not a regular file");
    run(&|path| fs::create_dir(path).unwrap(), "it is not a regular file");
    run(&|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(), "it is a link");
    run(&|path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap(), "it is a link");
    run(&|path| fs::write(path, " ".repeat(1_048_577)).unwrap(), "it has more than 1048576 bytes");

    let forebay = Forebay::new();
    mkfifo(&forebay.folder().join("work/pipe.ai"));
    let ran = forebay.run(["run", "--agent", "pipe.ai", "--", "sh", "-c", "exit 7"]);
    assert_eq!((ran.status, ran.err.contains("it is not a regular file")), (7, true), "{}", ran.err);
}

#[test]
fn with_too_few_open_files_the_command_runs_all_the_same() {
    let forebay = Forebay::new();
    // With too few to take its output in, the command runs with its own streams.
    for (command, files, is_kept) in [("run", 14, true), ("run", 7, false), ("session", 14, true)] {
        let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        let template = forebay.command(["x"]);
        let ran = Ran::from(
            std::process::Command::new("sh")
                .args([
                    "-c",
                    &script,
                    env!("CARGO_BIN_EXE_forebay"),
                    command,
                    "--",
                    "sh",
                    "-c",
                    "echo hi; exit 7",
                ])
                .env_clear()
                .envs(template.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())))
                .current_dir(forebay.folder().join("work"))
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap(),
        );
        assert_eq!((ran.status, ran.text().as_str()), (7, "hi\n"), "{command}: {}", ran.err);
        assert_eq!(ran.err.contains("Too many open files"), !is_kept, "{command} {files}: {}", ran.err);
    }
}

#[test]
fn reads_go_on_without_a_setting_that_is_wrong_and_stop_for_a_flag() {
    let forebay = Forebay::new();
    forebay.put("output-1", b"one\ntwo\n", &[]);
    forebay.file("forebay.toml", "digest.tokns = 5\n");
    for args in [&["read", "output-1"][..], &["cat", "output-1"], &["grep", "output-1", "two"], &["ls"]] {
        let ran = forebay.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.err);
        assert!(ran.err.contains("there is no setting digest.tokns"), "{args:?}: {}", ran.err);
        let _ = forebay.run([args, &["--budget", "5"]].concat()).fails(2);
    }
    let put = forebay.run_with_input(["put"], b"x");
    assert_eq!((put.status, put.text().as_str()), (0, "x"), "{}", put.err);
    let _ = forebay.run(["put", "--budget", "5", "/dev/null"]).fails(2);
}

#[test]
fn a_preset_handle_that_is_switched_off_neither_stores_nor_replaces() {
    let forebay = Forebay::new();
    let off = forebay.file("off.ai", "---\ncontextWindow: 12000\ntoolOutput:\n  enabled: false\n---\n");
    let off = off.to_str().unwrap();
    let long: String = (1..=20_000).map(|line| format!("line {line}\n")).collect();
    let answer = forebay.put("off-1", long.as_bytes(), &["--agent", off]);
    assert_eq!(
        (&answer["stored"], &answer["handle"], &answer["reason"]),
        (&false.into(), &().into(), &().into())
    );
    assert_eq!(answer["text"].as_str().unwrap(), long, "the context is full, and it passes");
    let ran = forebay.run(["run", "--agent", off, "--", "seq", "20000"]).ok();
    assert_eq!(ran.text().lines().count(), 20_000);
    assert_eq!(forebay.ls().len(), 0, "nothing is stored");

    // Nor is the output of a tool folded that is never touched.
    forebay.file("forebay.toml", "bypass = ['put']\nroom.context_window = 12000\n");
    assert_eq!(forebay.put("bypass-1", long.as_bytes(), &[])["text"].as_str().unwrap(), long);
}

#[test]
fn any_key_of_tool_output_in_a_front_matter_chooses_the_preset_handle() {
    let table = [
        ("toolOutput:\n  maxChunks: 4", "handle"),
        ("toolOutput:\n  overlapPercent: 20", "handle"),
        ("toolOutput:\n  models: openai/x", "handle"),
        ("toolResponseMaxBytes: 900", "handle"),
        ("contextWindow: 9000", "digest"),
        ("maxTurns: 3", "digest"),
    ];
    for (text, preset) in table {
        let forebay = Forebay::new();
        let agent = forebay.file("a.ai", format!("---\n{text}\n---\n"));
        let shown = forebay.run(["settings", "--json", "--agent", agent.to_str().unwrap()]).ok();
        assert_eq!(value(&shown, "preset").0, format!("\"{preset}\""), "{text}");
    }
}
