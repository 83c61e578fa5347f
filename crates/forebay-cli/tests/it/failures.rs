//! A store that fails: the command still runs to its end, and nothing is claimed that is not there.

use crate::forebay::{Forebay, Ran};
use std::process::{Command, Stdio};

const LONG: &str =
    "i=0; while [ $i -lt 60000 ]; do echo \"line $i of a long output\"; i=$((i+1)); done; exit 7";

/// Runs with a limit on the size of files, which is how a disk that runs full looks to a program.
fn with_small_files(forebay: &Forebay, args: &[&str]) -> Ran {
    let template = forebay.command(["x"]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -f 200; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_forebay")])
        .args(args)
        .env_clear()
        .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
        .current_dir(forebay.folder())
        .stdin(Stdio::null());
    Ran::from(shell.output().unwrap())
}

#[test]
fn on_a_full_disk_the_command_runs_to_its_end_and_the_view_says_what_was_kept() {
    let forebay = Forebay::new();
    let ran = with_small_files(&forebay, &["run", "--", "sh", "-c", LONG]);
    let text = ran.text();
    assert_eq!(ran.status, 7, "{text}");
    let kept = 200 * 512;
    assert!(text.starts_with("[forebay view of 60,000 lines, 1,668,890 bytes, exit 7; only 102,400 bytes could be kept: the store failed: "), "{text}");
    assert!(
        text.contains("line 0 of a long output\n") && text.contains("line 59999 of a long output\n"),
        "{text}"
    );
    assert!(text.contains(" bytes are lost: the store failed: "), "{text}");
    assert!(ran.err.contains("forebay: 1566490 bytes of the output could not be kept"), "{}", ran.err);

    let listed = &forebay.ls()[0];
    assert_eq!((&listed["complete"], &listed["lost"]["bytes"]), (&false.into(), &1_566_490.into()));
    let handle = listed["handle"].as_str().unwrap();
    let bytes = forebay.run(["cat", handle]).ok().out;
    assert_eq!(bytes.len(), kept);
    assert!(bytes.starts_with(b"line 0 of a long output\n"));
    let proved = forebay.run(["verify", handle, "--json"]);
    assert_eq!(proved.json()["ok"], true, "{}", proved.text());
    assert!(forebay.try_suggestions(&text) > 0, "what is kept can be read: {text}");
}

#[test]
fn when_the_disk_runs_full_far_into_an_output_what_is_kept_is_read_and_every_line_number_is_true() {
    let forebay = Forebay::new();
    let template = forebay.command(["x"]);
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "ulimit -f 4000; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_forebay"),
            "run",
            "--",
            "seq",
            "2000000",
        ])
        .env_clear()
        .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
        .current_dir(forebay.folder())
        .stdin(Stdio::null());
    let text = Ran::from(shell.output().unwrap()).text();
    assert!(
        text.starts_with(
            "[forebay view of 2,000,000 lines, 14,888,896 bytes, exit 0; only 2,048,000 bytes could be kept"
        ),
        "{text}"
    );
    assert!(!text.contains('\0'), "nothing is made up");
    let (before, _) = text.split_once(" omitted: forebay read ").unwrap();
    let (_, what) = before.rsplit_once("[… ").unwrap();
    // Every line of this output is its own number, so the last line that is kept is known: 2,048,000 bytes of them.
    let shown: u64 = text
        .lines()
        .filter_map(|line| line.parse::<u64>().ok())
        .take_while(|n| *n < 1_000_000)
        .last()
        .unwrap();
    let last_kept = 308_444;
    assert_eq!(what, format!("{} bytes of lines {}–{last_kept}", omitted(shown), shown + 1));
    assert!(text.lines().any(|line| line == "2000000"));
    assert!(forebay.try_suggestions(&text) > 0);

    fn omitted(shown: u64) -> String {
        let bytes_shown: u64 = (1..=shown).map(|n| n.to_string().len() as u64 + 1).sum();
        ::forebay::text::count::grouped(2_048_000 - bytes_shown)
    }
}

#[test]
fn what_was_cut_short_by_a_full_disk_is_not_faulty_while_the_disk_is_full() {
    let forebay = Forebay::new();
    let _ = with_small_files(&forebay, &["run", "--call-id", "cut", "--", "sh", "-c", LONG]);
    // As the disk leaves it: the last steps of the writer failed, and so does mending it.
    let folder = forebay.root().join("s/terminal");
    let meta = std::fs::read_to_string(folder.join("cut.meta.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&meta).unwrap();
    record["state"] = "growing".into();
    record["lost"].take();
    std::fs::write(folder.join("cut.meta.json"), record.to_string()).unwrap();
    std::fs::write(folder.join("cut.lines"), [0; 3]).unwrap();
    let template = forebay.command(["x"]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -f 0; \"$0\" verify | cat", env!("CARGO_BIN_EXE_forebay")])
        .env_clear()
        .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
        .current_dir(forebay.folder());
    let ran = Ran::from(shell.output().unwrap());
    assert_eq!((ran.text().as_str(), ran.err.as_str()), ("ok      s/cut\n", "1 proved, 0 faulty\n"));
    std::fs::write(folder.join("cut.lines"), [1; 8]).unwrap();
    let _ = forebay.run(["ls"]).ok();
    std::fs::write(folder.join("cut.lines"), [1; 8]).unwrap();
    let ran = forebay.run(["verify"]);
    assert_eq!(ran.text(), "FAULTY  s/cut: the line index kept with it is not that of its bytes\n");
}

#[test]
fn a_lock_that_somebody_keeps_holds_nobody_up_and_is_reported() {
    let forebay = Forebay::new();
    forebay.put("first", b"first", &[]);
    let events = std::fs::File::open(forebay.root().join("s/events.jsonl")).unwrap();
    events.lock().unwrap();
    for args in [&["put", "--call-id", "second"][..], &["run", "--call-id", "third", "--", "echo", "hi"]] {
        let ran = forebay.run(args);
        assert_eq!(ran.status, 0, "{}", ran.err);
        assert!(ran.err.contains("events.jsonl: another process keeps it locked"), "{}", ran.err);
    }
    let session = forebay.root().join("s/open.lock");
    let lock = std::fs::File::create(&session).unwrap();
    lock.lock().unwrap();
    let ran = forebay.run(["session", "--session", "s", "--", "echo", "hi"]);
    assert_eq!((ran.status, ran.text().as_str()), (0, "hi\n"), "{}", ran.err);
    assert!(ran.err.contains("not protected from being swept"), "{}", ran.err);
    drop((events, lock));
    assert_eq!(forebay.ls().len(), 3, "all are kept");
}

#[test]
fn a_root_with_links_to_files_elsewhere_changes_none_of_them() {
    let forebay = Forebay::new();
    let foreign = forebay.file("bashrc", "mine\n");
    let root = forebay.root();
    std::fs::create_dir_all(root.join("s")).unwrap();
    for name in [".swept", "s/events.jsonl", "s/state.json", "s/state.json.lock", "s/open.lock"] {
        std::os::unix::fs::symlink(&foreign, root.join(name)).unwrap();
    }
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
    std::fs::File::options().write(true).open(&foreign).unwrap().set_modified(old).unwrap();
    for args in [
        &["run", "--context-window", "20000", "--", "echo", "$(touch x)"][..],
        &["room", "--used", "5"],
        &["clean", "--older-than", "1s"],
        &["session", "--session", "s", "--", "true"],
    ] {
        let _ = forebay.run(args);
        assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "mine\n", "{args:?}");
    }
    let ran = forebay.run(["run", "--", "echo", "hi"]);
    assert_eq!((ran.status, ran.text().as_str()), (0, "hi\n"));
    assert!(ran.err.contains("events.jsonl: it is a symbolic link"), "{}", ran.err);
    assert!(forebay.ls().len() >= 2, "outputs are kept");
}

#[test]
fn where_no_thread_can_be_made_a_large_output_is_kept_shown_and_read() {
    let forebay = Forebay::new();
    // No address space has room for such a stack, so every thread fails.
    let without_threads = |args: &[&str]| {
        let mut command = forebay.command(args);
        command.env("RUST_MIN_STACK", "1125899906842624").stdin(Stdio::null());
        Ran::from(command.output().unwrap())
    };
    // So large that everything which has threads for large outputs would use them.
    let script =
        "yes \"$(printf 'word%.0s-' $(seq 200))\" | head -n 17000; echo 'error: it failed' >&2; exit 7";
    let view = without_threads(&["run", "--call-id", "large", "--", "sh", "-c", script]);
    let text = view.text();
    assert_eq!((view.status, view.err.as_str()), (7, ""));
    assert!(
        text.starts_with("[forebay view of 17,001 lines, 17,017,017 bytes, exit 7; kept whole"),
        "{text}"
    );
    assert!(text.contains("error: it failed\n"), "{text}");
    assert_eq!(forebay.run(["verify", "--json"]).ok().json()["ok"], true);
    let table: [(&[&str], &str); 2] = [
        (&["grep", "s/large", "fail"], "17001:error: it failed"),
        (&["ask", "s/large", "why did it fail?"], "error: it failed"),
    ];
    for (args, found) in table {
        let text = without_threads(args).ok().text();
        assert!(text.contains(found), "{args:?}: {text}");
    }
}

#[test]
fn a_command_runs_however_few_files_may_be_open() {
    let forebay = Forebay::new();
    let limited = |limit: u32| {
        let template = forebay.command(["x"]);
        let mut shell = Command::new("sh");
        let script =
            format!("ulimit -n {limit}; exec \"$0\" run --call-id n{limit} -- sh -c 'echo hi; exit 3'");
        shell
            .args(["-c", &script, env!("CARGO_BIN_EXE_forebay")])
            .env_clear()
            .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
            .current_dir(forebay.folder())
            .stdin(Stdio::null());
        Ran::from(shell.output().unwrap())
    };
    let ran = limited(14);
    assert_eq!((ran.status, ran.text().as_str(), ran.err.as_str()), (3, "hi\n", ""));
    assert_eq!(forebay.run(["cat", "s/n14"]).ok().text(), "hi\n");
    for limit in 5..14 {
        let ran = limited(limit);
        assert_eq!((ran.status, ran.text().as_str()), (3, "hi\n"), "{limit}: {}", ran.err);
        let id = format!("s/n{limit}");
        let is_told = ran.err.contains("forebay: the output is not kept: Too many open files")
            || ran.err.contains("could not be kept");
        assert_eq!(is_told, forebay.run(["cat", &id]).status != 0, "{limit}: {}", ran.err);
    }
}

#[test]
fn a_name_that_could_not_be_claimed_leaves_nothing_behind() {
    let forebay = Forebay::new();
    let template = forebay.command(["x"]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -f 0; exec \"$0\" put", env!("CARGO_BIN_EXE_forebay")])
        .env_clear()
        .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
        .current_dir(forebay.folder())
        .stdin(Stdio::null());
    let _ = Ran::from(shell.output().unwrap());
    assert_eq!(forebay.ls().len(), 0);
}

#[test]
fn a_source_that_cannot_be_read_is_told() {
    let forebay = Forebay::new();
    let error = forebay.run(["put", "/proc/self/mem"]).fails(1);
    assert!(error.contains("reading the output failed"), "{error}");
}

#[test]
fn without_any_store_a_small_output_passes_and_a_large_one_is_shown_from_both_ends() {
    let forebay = Forebay::new();
    let file = forebay.file("a-file", "");
    let root = file.join("below").display().to_string();
    let ran = |args: &[&str]| {
        let mut command = forebay.command([&["run", "--root", &root], args].concat());
        Ran::from(command.env("TMPDIR", &file).stdin(Stdio::null()).output().unwrap())
    };
    let run = |script: &str| ran(&["--", "sh", "-c", script]);

    let small = run("echo out; echo err >&2; exit 5");
    assert_eq!((small.status, small.text().as_str()), (5, "out\n"));
    assert!(small.err.starts_with("forebay: outputs cannot be kept in "), "{}", small.err);
    assert!(small.err.contains("nor can they be kept in a folder for temporary files"), "{}", small.err);
    assert!(
        small.err.contains("err\nforebay: 8 bytes of the output could not be kept: cannot write "),
        "{}",
        small.err
    );

    let large = run(LONG);
    let text = large.text();
    assert_eq!(large.status, 7);
    assert!(text.contains("exit 7; only 0 bytes could be kept: cannot write "), "{text}");
    assert!(
        text.contains("line 0 of a long output\n") && text.contains("line 59999 of a long output\n"),
        "{text}"
    );
    assert!(!text.contains("forebay read") && !text.contains("forebay grep"), "no handle is claimed: {text}");

    let answer = ran(&["--json", "--", "sh", "-c", LONG]).json();
    assert_eq!(
        (&answer["handle"], &answer["stored"], &answer["exit"]),
        (&serde_json::Value::Null, &false.into(), &7.into())
    );
}

#[test]
fn a_put_that_cannot_be_kept_is_an_error_after_all_was_shown() {
    let forebay = Forebay::new();
    let file = forebay.file("a-file", "");
    let root = file.join("below").display().to_string();
    let input = forebay.file("small", "small\n").display().to_string();
    // Nor can be counted what is left in the context.
    for more in [&[][..], &["--context-window", "20000"]] {
        let mut command = forebay.command([&["put", "--root", &root, &input], more].concat());
        let ran = Ran::from(command.env("TMPDIR", &file).stdin(Stdio::null()).output().unwrap());
        assert_eq!((ran.status, ran.text().as_str()), (3, "small\n"));
        assert!(ran.err.contains("could not be kept"), "{}", ran.err);
    }
}

#[test]
fn a_bad_input_is_a_clear_error_and_changes_nothing() {
    let forebay = Forebay::new();
    assert!(forebay.run(["put", "no-such-file"]).fails(1).contains("cannot read no-such-file"));
    assert!(forebay.run(["put", "."]).fails(2).contains("is a folder"));
    assert!(forebay.run(["put", "--args", "{not json", "/dev/null"]).fails(2).contains("--args is not JSON"));
    assert!(forebay.run(["put", "--call-id", "", "/dev/null"]).fails(2).contains("--call-id is empty"));
    assert!(forebay.run(["ls", "--session", "../up"]).fails(2).contains("is not the name of a session"));
    assert_eq!(forebay.ls().len(), 0);
}

#[test]
fn where_the_root_cannot_be_written_outputs_are_kept_in_a_folder_for_the_user_alone_and_read_from_there() {
    use std::os::unix::fs::PermissionsExt;
    let forebay = Forebay::new();
    let root = forebay.file("a-file", "").join("below").display().to_string();
    let with_root = |args: &[&str]| forebay.run([args, &["--root", &root]].concat());

    let ran = forebay.run(["run", "--root", &root, "--call-id", "long-1", "--", "sh", "-c", LONG]);
    let text = ran.text();
    assert_eq!(ran.status, 7, "{}", ran.err);
    assert!(text.contains("60,000 lines, 1,668,890 bytes, exit 7; kept whole as s/long-1"), "{text}");
    assert!(forebay.try_suggestions(&text) > 0, "{text}");
    let (_, folder) = ran.err.split_once("they are kept in ").unwrap();
    let folder = std::path::Path::new(folder.trim());
    assert!(ran.err.contains(&root) && folder.starts_with(forebay.folder().join("tmp")), "{}", ran.err);
    for folder in [folder, folder.parent().unwrap()] {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    let put = forebay.run_with_input(["put", "--root", &root, "--call-id", "put-1"], b"small\n");
    assert_eq!((put.status, put.text().as_str()), (0, "small\n"), "{}", put.err);

    // Who asks by the root finds them.
    assert_eq!(with_root(&["cat", "long-1"]).ok().out.len(), 1_668_890);
    assert!(with_root(&["read", "s/long-1", "--lines", "500:501"]).ok().text().contains("line 500 of"));
    assert!(with_root(&["grep", "long-1", "line 59998"]).ok().text().contains("line 59998 of"));
    assert_eq!(with_root(&["ls", "--json"]).ok().text().lines().count(), 2);
    let found = with_root(&["search", "line", "59998"]).ok().text();
    assert!(found.contains("long-1"), "{found}");
    assert!(with_root(&["events"]).ok().text().contains("long-1"));
    assert_eq!(with_root(&["verify", "--json"]).ok().text().matches("\"ok\":true").count(), 2);
    assert_eq!(forebay.ls().len(), 0, "another root does not have them");

    let cleaned = with_root(&["clean", "--max-bytes", "1"]);
    assert_eq!((cleaned.status, cleaned.err.starts_with("removed 2 outputs")), (0, true), "{}", cleaned.err);
}

#[test]
fn a_fallback_folder_that_somebody_else_may_use_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let forebay = Forebay::new();
    let root = forebay.file("a-file", "").join("below").display().to_string();
    let folder = forebay
        .folder()
        .join("tmp")
        .join(format!("forebay-fallback-{}", rustix::process::geteuid().as_raw()));
    let elsewhere = forebay.folder().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::set_permissions(&elsewhere, PermissionsExt::from_mode(0o700)).unwrap();
    let run = || forebay.run(["run", "--root", &root, "--", "sh", "-c", "echo hi; exit 3"]);
    let refused = |what: &str| {
        let ran = run();
        assert_eq!((ran.status, ran.text().as_str()), (3, "hi\n"), "{what}");
        assert!(ran.err.contains("is not a folder that only you can use"), "{what}: {}", ran.err);
    };
    symlink(&elsewhere, &folder).unwrap();
    refused("a link");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
    refused("open to others");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
    let ran = run();
    assert!(ran.err.contains("they are kept in "), "{}", ran.err);
}

#[test]
fn the_help_of_a_command_explains_it_and_the_list_of_commands_is_short() {
    let forebay = Forebay::new();
    let help = forebay.run(["export", "--help"]).text();
    assert!(help.contains("same handles. A growing"), "{help}");
    let list = forebay.run(["--help"]).text();
    assert!(!list.contains("same handles"), "{list}");
}
