//! Retention with real processes: which outputs are removed, when, and which never are.

use crate::forebay::{Forebay, Ran, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, SystemTime},
};

const BINARY: &str = env!("CARGO_BIN_EXE_forebay");
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// Makes a file look as if it had been written so long ago.
fn set_back(path: &Path, seconds: u64) {
    let at = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
}

/// Keeps an output that is so many days old.
fn put_old(forebay: &Forebay, session: &str, id: &str, bytes: &[u8], days: u64) {
    forebay.put(id, bytes, &["--session", session]);
    set_back(&forebay.root().join(session).join("tool").join(format!("{id}.meta.json")), days * DAY);
}

fn kept(forebay: &Forebay) -> Vec<String> {
    let listed = forebay.run(["ls", "--all", "--json"]).ok().text();
    let handle =
        |line: &str| serde_json::from_str::<Value>(line).unwrap()["handle"].as_str().unwrap().to_owned();
    listed.lines().map(handle).collect()
}

fn run_folders(forebay: &Forebay) -> Vec<PathBuf> {
    let entries = fs::read_dir(forebay.root()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("run-")).collect()
}

#[test]
fn clean_tells_what_goes_and_what_it_would_remove() {
    let forebay = Forebay::new();
    let nothing = forebay.run(["clean"]);
    assert_eq!((nothing.status, nothing.text().as_str()), (0, ""));
    assert_eq!(nothing.err, "nothing to remove\n");
    put_old(&forebay, "a", "old", b"old", 40);
    put_old(&forebay, "a", "older", b"older", 50);
    put_old(&forebay, "b", "week", b"a week", 8);
    put_old(&forebay, "b", "young", b"young", 0);
    let all = ["a/old", "a/older", "b/week", "b/young"];

    let dry = forebay.run(["clean", "--dry-run"]);
    let rows: Vec<Vec<String>> = dry
        .text()
        .lines()
        .map(|line| {
            line.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
        })
        .collect();
    assert_eq!(rows[0], ["SESSION", "OUTPUTS", "SIZE", "WHY"]);
    assert_eq!((rows.len(), &rows[1][0], &rows[1][1]), (2, &"a".to_owned(), &"2".to_owned()), "{rows:?}");
    assert_eq!(rows[1][3], "older than 30 days");
    assert!(dry.err.starts_with("would remove 2 outputs ("), "{}", dry.err);
    assert_eq!(kept(&forebay), all);

    let only = forebay.run(["clean", "--session", "b", "--older-than", "7d", "--json"]).ok().text();
    let lines: Vec<Value> = only.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["handle"], "b/week");
    assert_eq!((&lines[0]["rule"], &lines[0]["why"]), (&"age".into(), &"older than 7 days".into()));
    assert_eq!((&lines[1]["total"]["outputs"], &lines[1]["total"]["bytes"]), (&1.into(), &lines[0]["bytes"]));
    assert_eq!(kept(&forebay), ["a/old", "a/older", "b/young"], "only the session that was named");

    let done = forebay.run(["clean"]);
    assert!(done.err.starts_with("removed 2 outputs ("), "{}", done.err);
    assert_eq!(kept(&forebay), ["b/young"]);
    assert_eq!(
        forebay.run(["clean", "--older-than", "0"]).err,
        "nothing to remove\n",
        "0 switches a rule off"
    );
    let events = fs::read_to_string(forebay.root().join("a/events.jsonl")).unwrap();
    assert_eq!(events.matches(r#""event":"swept""#).count(), 2, "{events}");

    let gone = forebay.run(["read", "a/old"]).fails(1);
    assert!(gone.contains("asking for it again will not help"), "{gone}");
    for wrong in ["7", "soon", "-1d"] {
        let flag = format!("--older-than={wrong}");
        assert_eq!(forebay.run(["clean", &flag]).status, 2, "{wrong}");
    }
}

#[test]
fn the_oldest_go_until_the_rest_fits() {
    let forebay = Forebay::new();
    for (days, id) in ["c", "b", "a"].into_iter().enumerate() {
        put_old(&forebay, "s", id, id.repeat(100_000).as_bytes(), days as u64 + 1);
    }
    let ran = forebay.run(["clean", "--max-bytes", "250KB"]);
    assert!(ran.text().contains("all outputs have more than 250,000 bytes"), "{}", ran.text());
    assert_eq!(kept(&forebay), ["s/c", "s/b"]);
    // No disk is that large: to remove all would not help, so nothing goes.
    let ran = forebay.run(["clean", "--min-free", "900000TB"]);
    assert!(ran.err.starts_with("nothing to remove\nforebay: less than "), "{}", ran.err);
    assert_eq!(kept(&forebay), ["s/c", "s/b"]);
}

#[test]
fn after_a_gap_of_more_than_a_day_nothing_goes_by_age_until_an_hour_later() {
    let forebay = Forebay::new();
    put_old(&forebay, "s", "old", b"old", 40);
    let swept = forebay.root().join(".swept");
    set_back(&swept, 2 * DAY);
    let dry = forebay.run(["clean", "--dry-run"]);
    assert!(
        dry.err.starts_with("nothing to remove\nforebay: 1 output is too old and stays: "),
        "{}",
        dry.err
    );
    // Neither does the sweep that comes by itself.
    let _ = forebay.run(["run", "--", "true"]).ok();
    eventually("a sweep is noted", || fs::read_to_string(&swept).unwrap().contains("first after a gap at "));
    let ran = forebay.run(["clean"]);
    assert!(ran.err.contains("name the age with --older-than"), "{}", ran.err);
    assert!(kept(&forebay).contains(&"s/old".to_owned()));
    // The gap is an hour ago.
    let text = fs::read_to_string(&swept).unwrap();
    let (before, at) = text.trim_end().rsplit_once(' ').unwrap();
    let at: ::forebay::Timestamp = at.parse().unwrap();
    let earlier = ::forebay::Timestamp::from_second(at.as_second() - HOUR as i64).unwrap();
    fs::write(&swept, format!("{before} {earlier}\n")).unwrap();
    assert!(forebay.run(["clean"]).err.starts_with("removed 1 output ("));
    // Who names the age is sure of the clock.
    put_old(&forebay, "s", "older", b"old", 40);
    fs::write(&swept, "").unwrap();
    set_back(&swept, 2 * DAY);
    assert!(forebay.run(["clean", "--older-than", "30d"]).err.starts_with("removed 1 output ("));
}

#[test]
fn a_root_that_is_the_wrong_folder_loses_nothing() {
    let forebay = Forebay::new();
    let foreign = forebay.folder().join("other/tool");
    fs::create_dir_all(&foreign).unwrap();
    let names = ["a.txt", "b.json", "c.bin", "d.log", "e.tmp", "f.meta.json", "f.txt"];
    for name in names {
        fs::write(foreign.join(name), b"{}").unwrap();
    }
    let there = || fs::read_dir(forebay.folder()).unwrap().count();
    let before = there();
    let clean = ["clean", "--root", "..", "--older-than", "1s", "--max-bytes", "1"];
    std::thread::sleep(Duration::from_millis(1_100));
    let ran = forebay.run(clean);
    assert!(ran.err.starts_with("nothing to remove\nforebay: "), "{}", ran.err);
    assert!(ran.err.contains("/.. has no .forebay-root and no outputs of Forebay"), "{}", ran.err);
    let everything = ["clean", "--root", "..", "--session", "other", "--everything"];
    assert_eq!(forebay.run(everything).status, 1);
    assert_eq!(there(), before, "nothing was written there");
    // Also when outputs were kept there by mistake.
    let kept =
        forebay.run_with_input(["put", "--root", "..", "--session", "other", "--call-id", "mine"], b"x");
    assert_eq!(kept.status, 0, "{}", kept.err);
    assert!(forebay.run(clean).err.contains("removed 1 output ("));
    let _ = forebay.run(everything);
    assert!(names.iter().all(|name| foreign.join(name).exists()));
}

#[test]
fn what_somebody_reads_stays_until_they_are_done() {
    let forebay = Forebay::new();
    let bytes = b"a line of the output\n".repeat(50_000);
    forebay.put("read", &bytes, &[]);
    forebay.put("other", &b"other\n".repeat(50_000), &[]);
    // A megabyte does not fit into a pipe that nobody empties.
    let mut reader = forebay.start(forebay.command(["cat", "s/read"]).stdin(Stdio::null()));
    let mut out = reader.stdout.take().unwrap();
    let mut read = vec![0; 21];
    out.read_exact(&mut read).unwrap();
    let ran = forebay.run(["clean", "--max-bytes", "1"]);
    assert!(ran.err.ends_with("; 1 output stays: it is in use\n"), "{}", ran.err);
    assert_eq!(kept(&forebay), ["s/read"]);
    out.read_to_end(&mut read).unwrap();
    assert!(reader.wait().unwrap().success());
    assert!(read == bytes, "every byte comes");
    assert!(forebay.run(["clean", "--max-bytes", "1"]).err.starts_with("removed 1 output ("));
    assert_eq!(kept(&forebay), [""; 0]);
}

#[test]
fn what_grows_stays() {
    let forebay = Forebay::new();
    let fifo = forebay.folder().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("echo first; cat '{}'; echo last", fifo.display());
    let running = forebay.start(forebay.command(["run", "--", "sh", "-c", &script]).stdin(Stdio::null()));
    eventually("it grows", || forebay.ls().first().is_some_and(|listed| listed["size"]["bytes"] == 6));
    let ran = forebay.run(["clean", "--max-bytes", "1", "--older-than", "1s"]);
    assert_eq!(ran.err, "nothing to remove\n");
    File::options().write(true).open(&fifo).unwrap().write_all(b"second\n").unwrap();
    assert_eq!(Ran::from(running.wait_with_output().unwrap()).ok().out, b"first\nsecond\nlast\n");
    let handle = forebay.ls()[0]["handle"].as_str().unwrap().to_owned();
    assert_eq!(forebay.run(["cat", &handle]).ok().out, b"first\nsecond\nlast\n");
    assert_eq!(forebay.run(["verify", "--json"]).ok().json()["ok"], true);
}

#[test]
fn of_64_processes_that_start_at_once_one_sweeps() {
    let forebay = Forebay::new();
    put_old(&forebay, "old", "gone", b"x", 31);
    let swept = forebay.root().join(".swept");
    assert_eq!(fs::read(&swept).unwrap(), b"", "a new root is not swept, and its hour begins");
    set_back(&swept, 2 * HOUR);
    let children: Vec<Child> = (0..64)
        .map(|number| {
            let id = format!("n{number}");
            forebay.start(forebay.command(["run", "--call-id", &id, "--", "echo", "hi"]).stdin(Stdio::null()))
        })
        .collect();
    for child in children {
        assert_eq!(Ran::from(child.wait_with_output().unwrap()).ok().out, b"hi\n");
    }
    eventually("what is too old goes", || !forebay.root().join("old/tool/gone.meta.json").exists());
    let text = fs::read_to_string(&swept).unwrap();
    assert!(text.starts_with("sweep 1 at "), "{text}");
    assert_eq!(forebay.ls().len(), 64);
    put_old(&forebay, "old", "again", b"x", 31);
    let _ = forebay.run(["run", "--", "true"]).ok();
    std::thread::sleep(Duration::from_millis(300));
    assert!(forebay.root().join("old/tool/again.meta.json").exists(), "once an hour");
    set_back(&swept, 2 * HOUR);
    let kept =
        forebay.command(["put"]).env("FOREBAY_RETENTION_MODE", "session").stdin(Stdio::null()).output();
    assert!(kept.unwrap().status.success());
    assert_eq!(fs::read_to_string(&swept).unwrap(), text, "only in mode keep");
}

/// Starts an agent that says where its outputs are and lives until its input ends.
fn agent(forebay: &Forebay, flags: &[&str]) -> (Child, PathBuf, String) {
    let script = format!(
        "echo kept | '{BINARY}' put --call-id mine >&2; echo \"$FOREBAY_ROOT\"; echo \"$FOREBAY_SESSION\"; cat"
    );
    let args = [&["session"], flags, &["--", "sh", "-c", &script]].concat();
    let mut child = forebay.start(forebay.command(args).stdin(Stdio::piped()));
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let mut line = || lines.next().unwrap().unwrap();
    let (root, session) = (PathBuf::from(line()), line());
    (child, root, session)
}

#[test]
fn the_run_folder_of_a_killed_process_is_swept_by_the_next_and_a_live_one_stays() {
    let forebay = Forebay::new();
    let (mut killed, killed_root, _) = agent(&forebay, &["--retention", "process"]);
    let (mut live, live_root, session) = agent(&forebay, &["--retention", "process"]);
    let name = live_root.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("run-") && name.len() == 16, "{name}");
    assert!(live_root.join(&session).join("tool/mine.meta.json").exists());
    assert_eq!(run_folders(&forebay).len(), 2);
    assert_eq!(kept(&forebay), [""; 0], "a run folder is no session");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(killed_root.exists());
    let _ = forebay.run(["session", "--retention", "process", "--", "true"]).ok();
    assert_eq!(run_folders(&forebay), std::slice::from_ref(&live_root));
    drop(killed.stdin.take());
    drop(live.stdin.take());
    assert!(live.wait().unwrap().success());
    assert_eq!(run_folders(&forebay), [""; 0].map(PathBuf::from));
    // `clean` finds them too.
    let (mut killed, killed_root, _) = agent(&forebay, &["--retention", "process"]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let cleaned = forebay.run(["clean"]);
    assert_eq!((cleaned.status, cleaned.err.as_str()), (0, "removed 1 run folder of a dead process\n"));
    assert!(!killed_root.exists());
}

#[test]
fn a_session_is_held_open_while_its_agent_lives_and_ends_with_it() {
    let forebay = Forebay::new();
    for (mode, remains) in [("keep", true), ("session", false)] {
        let (mut running, root, session) = agent(&forebay, &["--retention", mode]);
        assert_eq!(root, forebay.root());
        assert!(session.starts_with("work-") && session.len() == 17, "{session}");
        let handle = format!("{session}/mine");
        let stays = forebay.run(["clean", "--max-bytes", "1"]);
        assert!(stays.err.starts_with("nothing to remove"), "{}", stays.err);
        let refused = forebay.run(["clean", "--session", &session, "--everything"]).fails(1);
        assert!(refused.contains("is open"), "{refused}");
        assert_eq!(kept(&forebay), [handle.as_str()]);
        drop(running.stdin.take());
        assert!(running.wait().unwrap().success());
        assert_eq!(kept(&forebay).contains(&handle), remains, "{mode}");
        assert_eq!(forebay.root().join(&session).exists(), remains, "{mode}");
        if remains {
            let removed = forebay.run(["clean", "--session", &session, "--everything"]);
            assert_eq!((removed.status, &removed.err[..18]), (0, "removed 1 output ("), "{}", removed.err);
            assert!(removed.err.ends_with(", 1 session\n"), "{}", removed.err);
        }
        let gone = forebay.run(["read", &handle]).fails(1);
        assert!(gone.contains("asking for it again will not help"), "{gone}");
        assert!(!forebay.root().join(&session).exists(), "asking makes nothing");
    }
    let _ = forebay.run(["clean", "--everything"]).fails(2);
    let _ = forebay.run(["clean", "--session", "none", "--everything"]).fails(1);
}

#[test]
fn an_agent_has_its_streams_its_status_and_its_signals_for_itself() {
    let forebay = Forebay::new();
    let session = |script: &str| forebay.run_with_input(["session", "--", "sh", "-c", script], b"typed\n");
    let table = [("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137)];
    for (script, status) in table {
        assert_eq!(session(script).status, status, "{script}");
    }
    let ran = session("cat; echo said; echo aside >&2");
    assert_eq!((ran.text().as_str(), ran.err.as_str()), ("typed\nsaid\n", "aside\n"));
    assert_eq!(session("echo $FOREBAY_RETENTION_MODE").text(), "keep\n");
    let named = forebay.run(["session", "--session", "mine", "--", "sh", "-c", "echo $FOREBAY_SESSION"]).ok();
    assert_eq!(named.text(), "mine\n");
    let left: Vec<_> =
        fs::read_dir(forebay.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [""; 0], "a session in which nothing was kept leaves nothing");
    assert!(forebay.run(["session", "--", "no-such-agent"]).fails(127).contains("cannot run no-such-agent"));

    let script = "trap 'echo ended; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child =
        forebay.start(forebay.command(["session", "--", "sh", "-c", script]).stdin(Stdio::null()));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\nended\n");
}

#[test]
fn in_mode_process_an_output_without_an_end_is_not_kept_and_a_command_runs_all_the_same() {
    let forebay = Forebay::new();
    let ran = |args: &[&str]| {
        let mut command = forebay.command(args);
        command.env("FOREBAY_RETENTION_MODE", "process").stdin(Stdio::null());
        Ran::from(command.output().unwrap())
    };
    assert!(ran(&["put"]).fails(2).contains("forebay session -- AGENT"));
    for command in ["run", "mcp"] {
        let bare = ran(&[command, "--", "sh", "-c", "echo it ran; exit 7"]);
        assert_eq!((bare.status, bare.text().as_str()), (7, "it ran\n"), "{command}");
        assert!(
            bare.err.contains("retention.mode is process") && bare.err.contains("its output is not kept")
        );
    }
    assert_eq!(forebay.ls().len(), 0);
    let script = format!("'{BINARY}' run -- echo hi");
    let mut command = forebay.command(["session", "--", "sh", "-c", &script]);
    command.env("FOREBAY_RETENTION_MODE", "process").stdin(Stdio::null());
    assert_eq!(Ran::from(command.output().unwrap()).ok().text(), "hi\n");
}

#[test]
fn an_output_that_a_background_process_still_writes_outlives_its_session() {
    let forebay = Forebay::new();
    let fifo = forebay.folder().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let inner = format!("(cat '{}') & echo started", fifo.display());
    let script = "\"$0\" run --call-id back -- sh -c \"$1\" 2>/dev/null";
    let args =
        ["session", "--retention", "session", "--session", "t", "--", "sh", "-c", script, BINARY, &inner];
    let ran = forebay.run(args);
    assert_eq!((ran.status, ran.text().as_str()), (0, "started\n"));
    let (message, hint) = ran.err.trim_end().split_once("\nhint: forebay ").unwrap();
    assert_eq!(message, "forebay: session t is not wholly removed: an output is still in use");
    File::options().write(true).open(&fifo).unwrap().write_all(b"late\n").unwrap();
    let whole = || forebay.run(["cat", "t/back"]).out == b"started\nlate\n";
    eventually("it ends", || {
        whole() && forebay.run(["ls", "--session", "t", "--json"]).json()["complete"] == true
    });
    let removed = forebay.run(hint.split_whitespace());
    assert_eq!(removed.status, 0, "{}", removed.err);
    assert!(!forebay.root().join("t").exists());
}
