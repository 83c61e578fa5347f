//! `forebay run` leaves a command what is its own, and keeps all it prints.

use crate::forebay::{Forebay, Ran, eventually};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

/// A terminal with a person at it: what is on its screen, and a keyboard.
struct Terminal {
    name: String,
    keyboard: File,
    shown: Arc<Mutex<String>>,
    reading: std::thread::JoinHandle<()>,
}

impl Terminal {
    fn new(columns: u16) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let keyboard = File::from(ours);
        let (shown, mut screen) = (Arc::<Mutex<String>>::default(), keyboard.try_clone().unwrap());
        let seen = shown.clone();
        let reading = std::thread::spawn(move || {
            let mut block = [0; 1024];
            // A terminal whose last user has gone answers with an error.
            while let Ok(read @ 1..) = screen.read(&mut block) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&block[..read]));
            }
        });
        Terminal { name, keyboard, shown, reading }
    }

    /// The end that programs write to.
    fn end(&self) -> File {
        File::options().read(true).write(true).open(&self.name).unwrap()
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    /// Waits until something is on the screen.
    fn shows(&self, text: &str) {
        eventually(text, || self.shown().contains(text));
    }

    /// Content of the screen after all programs have ended.
    fn all(self) -> String {
        self.reading.join().unwrap();
        self.shown.lock().unwrap().clone()
    }
}

/// Whether a process runs: one that has ended and that nobody has asked for does not.
fn lives(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    !matches!(state.first(), None | Some(b'Z'))
}

/// Starts a script in the background whose first line is the id of its process, and waits for so many lines.
fn started(forebay: &Forebay, script: &str, lines: usize) -> (Child, Vec<String>) {
    let mut command = forebay.command(shell(script));
    let child = forebay.start(command.stdin(Stdio::null()).process_group(0));
    let mut pids = Vec::new();
    eventually("it has started", || {
        let Some(listed) = forebay.ls().first().cloned() else { return false };
        let text = forebay.run(["cat", listed["handle"].as_str().unwrap()]).text();
        pids = text.lines().map(str::to_owned).collect();
        pids.len() == lines
    });
    (child, pids)
}

const LONG: &str = "i=0; while [ $i -lt 4000 ]; do echo \"line $i of a long output\"; i=$((i+1)); done";

fn shell(script: &str) -> [&str; 5] {
    ["run", "--", "sh", "-c", script]
}

#[test]
fn the_exit_status_is_the_commands_own() {
    let forebay = Forebay::new();
    let table =
        [("true", 0), ("exit 3", 3), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)];
    for (script, status) in table {
        for output in ["", LONG] {
            let script = format!("{output}; {script}").trim_start_matches("; ").to_owned();
            let ran = forebay.run(shell(&script));
            assert_eq!((ran.status, ran.err.as_str()), (status, ""), "{script}");
        }
    }
    assert!(
        forebay
            .run(["run", "--", "no-such-command-here"])
            .fails(127)
            .contains("cannot run no-such-command-here")
    );
    let plain = forebay.file("plain.txt", "not a program");
    assert!(
        forebay.run(["run".as_ref(), "--".as_ref(), plain.as_os_str()]).fails(126).contains("cannot run")
    );
}

#[test]
fn the_view_says_how_the_command_ended() {
    let forebay = Forebay::new();
    let view = |end: &str| forebay.run(shell(&format!("{LONG}; {end}"))).text();
    assert!(
        view("exit 3").starts_with("[forebay view of 4,000 lines, 106,890 bytes, exit 3; kept whole as s/")
    );
    assert!(view("kill -KILL $$").contains(", killed by signal 9, exit 137; "));
}

#[test]
fn a_small_output_goes_to_the_streams_it_came_from_byte_for_byte() {
    let forebay = Forebay::new();
    let ran = forebay.run(shell(r"printf 'out\377\0no newline'; printf 'err\r\n' >&2"));
    assert_eq!(
        (ran.status, ran.out.as_slice(), ran.err.as_str()),
        (0, &b"out\xff\0no newline"[..], "err\r\n")
    );
    let nothing = forebay.run(["run", "--", "true"]).ok();
    assert_eq!(nothing.out, b"");
}

#[test]
fn the_childs_input_works() {
    let forebay = Forebay::new();
    let ran = forebay.run_with_input(["run", "--", "cat"], b"from outside\n").ok();
    assert_eq!(ran.out, b"from outside\n");
}

#[test]
fn both_streams_are_kept_in_their_order_and_told_apart() {
    let forebay = Forebay::new();
    let script = "echo one; sleep 0.2; echo two >&2; sleep 0.2; echo three";
    let answer = forebay.run(["run", "--json", "--", "sh", "-c", script]).ok().json();
    let handle = answer["handle"].as_str().unwrap();
    assert_eq!(forebay.run(["cat", handle]).ok().out, b"one\ntwo\nthree\n");
    assert_eq!(forebay.run(["cat", handle, "--stream", "stdout"]).ok().out, b"one\nthree\n");
    assert_eq!(forebay.run(["cat", handle, "--stream", "stderr"]).ok().out, b"two\n");
    assert!(forebay.run(["show", handle]).ok().text().contains("stdout 10 bytes, stderr 4 bytes"));
}

#[test]
fn json_on_stdout_is_shown_and_queried_by_itself_with_stderr_beside_it() {
    let forebay = Forebay::new();
    // As `curl -v` does, it tells about the connection before, inside and after the body.
    let script = r#"echo '* Connected to shop.example' >&2; sleep 0.1; echo '['; i=0
        while [ $i -lt 400 ]; do
            if [ $i = 200 ]; then sleep 0.1; echo '{ [1378 bytes data]' >&2; sleep 0.1; fi
            echo "{\"id\": \"item-$i\", \"state\": \"open\", \"note\": \"words of part $i\"},"; i=$((i+1))
        done; echo '{"id": "last"}]'; sleep 0.1; echo '* Connection left intact' >&2"#;
    let answer = forebay.run(["run", "--json", "--", "sh", "-c", script]).ok().json();
    let (handle, text) = (answer["handle"].as_str().unwrap(), answer["text"].as_str().unwrap());
    assert!(text.contains("; stdout by itself, stderr beside it]\n* Connected to shop.example\n"), "{text}");
    assert!(
        text.contains("\n{ [1378 bytes data]\n") && text.contains("\n* Connection left intact\n"),
        "{text}"
    );
    assert!(text.contains("401 rows: id | state\n"), "it is a table: {text}");
    assert_eq!(forebay.run(["verify", handle]).status, 0);
    let values = forebay.run(["json", handle, ".[300].id"]).ok().text();
    assert!(values.contains("\"item-300\""), "{values}");
    let line = forebay.run(["json", handle, "--json", ".[] | select(.id == \"item-300\")"]).ok().json();
    assert_eq!(line["values"][0]["line"], 2, "the array begins below a line of stderr: {line}");
    let passages = forebay.run(["ask", handle, "what is the note of item-300?"]).ok().text();
    assert!(passages.contains("words of part 300"), "{passages}");
}

#[test]
fn lines_of_two_streams_do_not_run_together() {
    let forebay = Forebay::new();
    let script = "(i=0; while [ $i -lt 3000 ]; do echo out; i=$((i+1)); done) & \
                  i=0; while [ $i -lt 3000 ]; do echo err >&2; i=$((i+1)); done; wait";
    let answer = forebay.run(["run", "--json", "--", "sh", "-c", script]).ok().json();
    let all = forebay.run(["cat", answer["handle"].as_str().unwrap()]).ok().text();
    assert_eq!(all.lines().filter(|line| *line == "out").count(), 3000);
    assert_eq!(all.lines().filter(|line| *line == "err").count(), 3000);
}

#[test]
fn the_json_answer_has_the_documented_fields() {
    let forebay = Forebay::new();
    let small = forebay.run(["run", "--json", "--", "sh", "-c", "echo hi; exit 2"]);
    let answer = small.json();
    assert_eq!(small.status, 2);
    assert_eq!(
        (&answer["stored"], &answer["reason"], &answer["text"]),
        (&false.into(), &serde_json::Value::Null, &"hi\n".into())
    );
    assert_eq!(
        (&answer["exit"], &answer["size"]["bytes"], &answer["size"]["lines"]),
        (&2.into(), &3.into(), &1.into())
    );
    assert!(answer["handle"].as_str().unwrap().starts_with("s/"));
    let large = forebay.run(["run", "--json", "--", "sh", "-c", LONG]).ok().json();
    assert_eq!(
        (&large["stored"], &large["reason"], &large["exit"]),
        (&true.into(), &"token_budget".into(), &0.into())
    );
    for field in ["bytes", "characters", "lines", "longest_line", "tokens"] {
        assert!(large["size"][field].as_u64().unwrap() > 0, "{field}");
    }
    assert!(large["size"]["tokens_exact"].is_boolean());
}

#[test]
fn a_timeout_ends_the_command_and_keeps_what_it_printed() {
    let forebay = Forebay::new();
    let ran = forebay.run(["run", "--timeout", "1s", "--", "sh", "-c", "echo before; sleep 60; echo after"]);
    assert_eq!((ran.status, ran.text().as_str()), (124, "before\n"));
    let listed = &forebay.ls()[0];
    assert_eq!(listed["complete"], false);
    assert_eq!(listed["state"]["cut-short"], "the command was ended after 1 s");
    assert!(forebay.run(["run", "--timeout", "soon", "--", "true"]).err.contains("is not a time"));
}

#[test]
fn on_a_terminal_a_line_shows_how_much_has_come() {
    let (forebay, terminal) = (Forebay::new(), Terminal::new(0));
    let mut command = forebay.command(shell("echo one; echo two; sleep 1; echo three"));
    let ran = command.stdin(Stdio::null()).stderr(terminal.end()).output().unwrap();
    drop(command);
    assert_eq!(ran.stdout, b"one\ntwo\nthree\n");
    let shown = terminal.all();
    assert!(shown.contains("\r\u{1b}[Kforebay: 8 B, 2 lines so far"), "{shown:?}");
    assert!(shown.ends_with("\r\u{1b}[K"), "it is gone when the output comes: {shown:?}");
}

#[test]
fn a_question_without_a_newline_is_on_the_screen_until_it_is_answered() {
    let (forebay, terminal) = (Forebay::new(), Terminal::new(0));
    let script =
        "echo ready; printf 'Name? '; read name; printf 'Age? ' >&2; read age; echo \"$name is $age\"";
    let mut command = forebay.command(shell(script));
    command.stdin(terminal.end()).stdout(Stdio::piped()).stderr(terminal.end());
    let child = command.spawn().unwrap();
    drop(command);
    for (question, answer) in [("Name? ", "Ada\n"), ("Age? ", "36\n")] {
        terminal.shows(question);
        // Time in which a line about the progress would be drawn.
        std::thread::sleep(std::time::Duration::from_millis(600));
        assert!(terminal.shown().ends_with(question), "{:?}", terminal.shown());
        (&terminal.keyboard).write_all(answer.as_bytes()).unwrap();
    }
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.text().as_str()), (0, "ready\nName? Ada is 36\n"));
    let shown = terminal.all();
    assert!(shown.contains("Name? Ada\r\nAge? 36\r\n"), "{shown:?}");
}

#[test]
fn nothing_is_drawn_while_a_password_is_typed() {
    let (forebay, terminal) = (Forebay::new(), Terminal::new(0));
    let script = "stty -echo; echo one; sleep 0.7; echo two; sleep 0.7";
    let mut command = forebay.command(shell(script));
    let ran = command.stdin(terminal.end()).stderr(terminal.end()).output().unwrap();
    drop(command);
    assert_eq!(ran.stdout, b"one\ntwo\n");
    let shown = terminal.all();
    assert!(!shown.contains("so far"), "{shown:?}");
}

#[test]
fn what_others_wrote_to_the_terminal_is_not_erased_and_nothing_is_drawn_without_news() {
    let (forebay, terminal) = (Forebay::new(), Terminal::new(20));
    let script = format!("printf 'Sure (yes/no)? ' >'{}'; echo one; sleep 1.5", terminal.name);
    let mut command = forebay.command(shell(&script));
    let ran = command.stdin(Stdio::null()).stderr(terminal.end()).output().unwrap();
    drop(command);
    assert_eq!(ran.stdout, b"one\n");
    let shown = terminal.all();
    // So many spaces end in the next line.
    let drawn = format!("Sure (yes/no)? {}\r\u{1b}[Kforebay: 4 B, 1 lines so far\r\u{1b}[K", " ".repeat(19));
    assert_eq!(shown, drawn);
}

#[test]
fn on_a_pseudo_terminal_a_command_finds_a_terminal_and_keeps_its_end() {
    let forebay = Forebay::new();
    let on_pty = |script: &str| forebay.run(["run", "--pty", "--", "sh", "-c", script]);
    let ran = on_pty("test -t 1 && test -t 2 && echo both; echo aside >&2; stty size </dev/tty; exit 3");
    assert_eq!((ran.status, ran.text().as_str(), ran.err.as_str()), (3, "both\naside\n24 80\n", ""));
    assert_eq!(on_pty("test -t 1 || test -t 2 || echo neither").text(), "");
    let table = [("true", 0), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)];
    for (script, status) in table {
        assert_eq!(on_pty(script).status, status, "{script}");
    }
    let large = on_pty("seq 100000; printf 'no newline'");
    assert!(
        large.text().starts_with("[forebay view of 100,001 lines, 588,905 bytes, exit 0"),
        "{}",
        large.text()
    );
    assert!(forebay.run(["run", "--pty", "--", "no-such-command-here"]).fails(127).contains("cannot run"));
    let piped = forebay.run_with_input(["run", "--pty", "--", "cat"], b"\x03 as it is \x04\xff");
    assert_eq!(piped.ok().out, b"\x03 as it is \x04\xff");
    let ran = forebay.run(["run", "--pty", "--timeout", "1s", "--", "sh", "-c", "echo before; sleep 60"]);
    assert_eq!((ran.status, ran.text().as_str()), (124, "before\n"));
    let _ = forebay.run(["verify", "--json"]).ok();
}

#[test]
fn at_a_terminal_a_pseudo_terminal_shows_takes_keys_and_has_the_same_size() {
    let forebay = Forebay::new();
    // A session with a terminal of its own, as a person has it: what is typed comes by a pipe.
    let python = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let inner = "stty size; test -t 0 && printf 'Name? '; read name; echo \"hello $name\"; \
                 trap 'stty size; exit 5' WINCH; stty rows 44 cols 99 <\"$OUTER\"; \
                 i=0; while [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done";
    let outer = format!(
        "stty rows 33 cols 77; OUTER=$(tty) '{}' run --pty --call-id typed -- sh -c \"$0\"; \
         echo \"status $?\"; stty -a",
        env!("CARGO_BIN_EXE_forebay")
    );
    let template = forebay.command(["x"]);
    let mut command = Command::new("python3");
    command
        .args(["-c", python, "sh", "-c", &outer, inner])
        .env_clear()
        .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
        .current_dir(forebay.folder());
    let mut child = forebay.start(command.stdin(Stdio::piped()));
    let mut out = child.stdout.take().unwrap();
    let (mut shown, mut block) = (String::new(), [0; 1024]);
    while let read @ 1.. = out.read(&mut block).unwrap() {
        let asked = shown.contains("Name? ");
        shown.push_str(&String::from_utf8_lossy(&block[..read]));
        if !asked && shown.contains("Name? ") {
            child.stdin.as_mut().unwrap().write_all(b"Ada\r").unwrap();
        }
    }
    assert!(child.wait().unwrap().success(), "{shown}");
    let kept = "33 77\r\nName? Ada\r\nhello Ada\r\n44 99\r\n";
    assert!(shown.starts_with(kept), "{shown:?}");
    assert!(shown.contains("forebay: 4 lines kept as s/typed\r\nstatus 5\r\n"), "{shown:?}");
    assert!(shown.contains(" echo ") && shown.contains(" icanon "), "the terminal is as it was: {shown:?}");
    assert_eq!(forebay.run(["cat", "s/typed"]).ok().text(), kept);
}

#[test]
fn a_script_that_does_not_say_by_what_it_is_run_is_run_by_a_shell() {
    let forebay = Forebay::new();
    let script = forebay.file("script", "echo \"$# $1\"; exit 6\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["./script", script.to_str().unwrap()] {
        let ran = forebay.run(["run", "--", name, "a b"]);
        assert_eq!((ran.status, ran.text().as_str()), (6, "1 a b\n"), "{}", ran.err);
    }
    let missing = forebay.file("missing", "#!/no/such/interpreter\n");
    fs::set_permissions(&missing, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(forebay.run(["run", "--", "./missing"]).fails(127).contains("cannot run ./missing"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_ends_when_forebay_is_killed() {
    let forebay = Forebay::new();
    let (mut child, pids) = started(&forebay, "echo $$; exec sleep 300", 1);
    assert!(lives(&pids[0]));
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("it ends", || !lives(&pids[0]));
}

#[test]
fn a_caller_that_kills_its_process_group_kills_the_command_and_its_children() {
    let forebay = Forebay::new();
    let (mut child, pids) = started(&forebay, "echo $$; sh -c 'echo $$; sleep 300; :'; :", 2);
    kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    for pid in pids {
        eventually("it ends", || !lives(&pid));
    }
}

#[test]
fn a_timeout_ends_the_children_of_a_command_too() {
    let forebay = Forebay::new();
    let script = "sh -c 'echo $$; sleep 300; :'; :";
    let ran = forebay.run(["run", "--timeout", "1s", "--", "sh", "-c", script]);
    assert_eq!(ran.status, 124);
    eventually("it ends", || !lives(ran.text().trim()));
}

#[test]
fn what_a_command_printed_is_shown_though_nothing_can_go_on_keeping_the_rest() {
    let forebay = Forebay::new();
    // A binary that can be executed only once.
    let binary = forebay.folder().join("once");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_forebay")).arg(&binary).status().unwrap();
    let fifo = forebay.folder().join("go");
    assert!(copied.success() && Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("chmod 000 '{}'; cat '{}' & echo started; exit 4", binary.display(), fifo.display());
    let template = forebay.command(["x"]);
    let mut command = Command::new(&binary);
    command
        .args(shell(&script))
        .env_clear()
        .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
        .current_dir(forebay.folder())
        .stdin(Stdio::null());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!((ran.status, ran.text().as_str()), (4, "started\n"), "{}", ran.err);
    assert!(ran.err.starts_with("forebay: what a process in the background says of s/"), "{}", ran.err);
    let listed = &forebay.ls()[0];
    assert_eq!((&listed["exit"], &listed["complete"]), (&4.into(), &false.into()));
    let why = listed["state"]["cut-short"].as_str().unwrap();
    assert!(why.contains("no process could continue it: Permission denied"), "{why}");
    drop(File::options().write(true).open(&fifo).unwrap());
}

#[test]
fn a_background_process_does_not_hold_us_and_what_it_says_later_is_kept() {
    let forebay = Forebay::new();
    let fifo = forebay.folder().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("(cat '{}'; echo late; echo later >&2) & echo started; exit 4", fifo.display());
    let ran = forebay.run(shell(&script));
    assert_eq!((ran.status, ran.text().as_str()), (4, "started\n"));
    let (_, follow) = ran.err.split_once("what it says is kept: forebay ").unwrap();
    let listed = &forebay.ls()[0];
    assert_eq!((&listed["state"], &listed["size"]["bytes"]), (&"growing".into(), &8.into()));

    let following = forebay.start(forebay.command(follow.split_whitespace()).stdin(Stdio::null()));
    fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(b"from afar\n").unwrap();
    let followed = crate::forebay::Ran::from(following.wait_with_output().unwrap()).ok().text();
    assert!(
        followed.contains("from afar\nlate\n") && followed.trim_end().ends_with(", exit 4]"),
        "{followed}"
    );
    let listed = &forebay.ls()[0];
    assert_eq!((&listed["complete"], &listed["exit"]), (&true.into(), &4.into()));
    let handle = listed["handle"].as_str().unwrap();
    assert_eq!(forebay.run(["cat", handle]).ok().out, b"started\nfrom afar\nlate\nlater\n");
    assert_eq!(forebay.run(["cat", handle, "--stream", "stderr"]).ok().out, b"later\n");
    assert_eq!(forebay.run(["verify", "--json"]).ok().json()["ok"], true);
}

#[test]
fn a_view_given_while_a_background_process_still_writes_stays_true() {
    let forebay = Forebay::new();
    let fifo = forebay.folder().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("{LONG}; (cat '{}'; echo late) & exit 0", fifo.display());
    let view = forebay.run(shell(&script)).text();
    assert!(
        view.starts_with("[forebay view of 4,000 lines, 106,890 bytes, exit 0; still growing, kept as s/"),
        "{view}"
    );
    fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(b"more\n").unwrap();
    eventually("it ends", || forebay.ls()[0]["complete"] == true);
    assert_eq!(forebay.ls()[0]["size"]["lines"], 4_002);
    let proved = forebay.run(["verify", "--json"]);
    assert_eq!(proved.json()["ok"], true, "{}", proved.text());
    assert!(forebay.try_suggestions(&view) > 0);
}

#[test]
fn termination_reaches_the_command_and_its_children_and_what_was_printed_is_kept() {
    let forebay = Forebay::new();
    let signals = [(Signal::TERM, 143), (Signal::USR1, 138), (Signal::INT, 130), (Signal::HUP, 129)];
    // Whoever runs the tests may ignore a signal (nohup does), and then so does the command.
    for (signal, status) in signals.into_iter().filter(|(signal, _)| !is_ignored(*signal)) {
        let mut command =
            forebay.command(shell("echo ready; sh -c 'echo child; sleep 300' ; echo not reached"));
        let child = forebay.start(command.stdin(Stdio::null()));
        eventually("the output is there", || {
            forebay.ls().iter().any(|listed| listed["state"] == "growing" && listed["size"]["bytes"] == 12)
        });
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ran = crate::forebay::Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.status, ran.text().as_str()), (status, "ready\nchild\n"), "{}", ran.err);
    }
}

fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn killing_forebay_itself_loses_nothing_that_was_captured() {
    let forebay = Forebay::new();
    let mut command = forebay.command(shell("echo captured; echo too >&2; sleep 300"));
    let mut child = forebay.start(command.stdin(Stdio::null()));
    eventually("the output is there", || {
        forebay.ls().first().is_some_and(|listed| listed["size"]["bytes"] == 13)
    });
    let growing = &forebay.ls()[0];
    assert_eq!((&growing["complete"], &growing["state"]), (&false.into(), &"growing".into()));
    child.kill().unwrap();
    child.wait().unwrap();
    let left = &forebay.ls()[0];
    assert_eq!(left["complete"], false);
    assert_eq!(left["state"]["cut-short"], "its writer ended before it did");
    let handle = left["handle"].as_str().unwrap();
    assert_eq!(forebay.run(["cat", handle]).ok().out, b"captured\ntoo\n");
    assert_eq!(forebay.run(["verify", "--json"]).ok().json()["ok"], true);
    assert_eq!(left["call"]["tool"], "run_command", "what was called is known all the same");
}

#[test]
fn which_stream_was_which_is_known_even_of_what_a_killed_writer_left() {
    let forebay = Forebay::new();
    let mut child = forebay.start(forebay.command(shell("echo bad >&2; sleep 300")).stdin(Stdio::null()));
    eventually("the output is there", || {
        forebay.ls().first().is_some_and(|listed| listed["size"]["bytes"] == 4)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let handle = forebay.ls()[0]["handle"].as_str().unwrap().to_owned();
    assert_eq!(forebay.run(["cat", &handle, "--stream", "stderr"]).ok().out, b"bad\n");
    assert_eq!(forebay.run(["cat", &handle, "--stream", "stdout"]).ok().out, b"");
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    let forebay = Forebay::new();
    let template = forebay.command(["x"]);
    let mut outer = std::process::Command::new("sh");
    outer
        .args([
            "-c",
            "trap '' HUP; exec \"$0\" run -- sh -c 'kill -HUP $$; echo alive'",
            env!("CARGO_BIN_EXE_forebay"),
        ])
        .env_clear()
        .envs(template.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())))
        .stdin(Stdio::null());
    assert_eq!(crate::forebay::Ran::from(outer.output().unwrap()).ok().text(), "alive\n");
}

#[test]
fn an_output_is_read_and_followed_while_it_grows() {
    let forebay = Forebay::new();
    let fifo = forebay.folder().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("echo first; echo second; cat '{}'; echo last", fifo.display());
    let mut command = forebay.command(shell(&script));
    let running = forebay.start(command.stdin(Stdio::null()));
    eventually("it grows", || forebay.ls().first().is_some_and(|listed| listed["size"]["bytes"] == 13));
    let handle = forebay.ls()[0]["handle"].as_str().unwrap().to_owned();
    let text = forebay.run(["read", &handle]).ok().text();
    assert!(text.starts_with("[lines 1–2 of 2, still growing · s/"), "{text}");
    assert!(text.contains("first\nsecond\n"));
    let found = forebay.run(["grep", &handle, "second", "--json"]).ok().json();
    assert_eq!((&found["total"], &found["growing"]), (&1.into(), &true.into()));
    let following =
        forebay.start(forebay.command(["tail", &handle, "-n", "1", "--follow"]).stdin(Stdio::null()));
    let waiting = forebay.run(["tail", &handle, "--follow", "--wait", "0.2s"]).ok().text();
    assert!(waiting.contains("[still growing; next: forebay tail"), "{waiting}");
    fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(b"third\n").unwrap();
    let followed = crate::forebay::Ran::from(following.wait_with_output().unwrap()).ok().text();
    assert!(followed.contains("second\nthird\nlast\n[end of s/"), "{followed}");
    assert!(followed.trim_end().ends_with(", exit 0]"), "{followed}");
    let ran = crate::forebay::Ran::from(running.wait_with_output().unwrap()).ok();
    assert_eq!(ran.text(), "first\nsecond\nthird\nlast\n");
}

#[test]
fn following_goes_on_inside_a_line() {
    let forebay = Forebay::new();
    let fifo = forebay.folder().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("printf 'caf\\303'; cat '{}'; printf '\\251 au lait'", fifo.display());
    let running = forebay.start(forebay.command(shell(&script)).stdin(Stdio::null()));
    eventually("it grows", || forebay.ls().first().is_some_and(|listed| listed["size"]["bytes"] == 4));
    let handle = forebay.ls()[0]["handle"].as_str().unwrap().to_owned();
    let following = forebay.start(forebay.command(["tail", &handle, "--follow"]).stdin(Stdio::null()));
    std::thread::sleep(std::time::Duration::from_millis(300));
    fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(b"").unwrap();
    let followed = crate::forebay::Ran::from(following.wait_with_output().unwrap()).ok().text();
    assert!(followed.contains("\ncafé au lait\n[end of s/"), "{followed}");
    let _ = crate::forebay::Ran::from(running.wait_with_output().unwrap()).ok();
}

#[test]
fn following_ends_when_the_budget_is_used_up() {
    let forebay = Forebay::new();
    let mut command = forebay
        .command(shell("i=0; while [ $i -lt 3000 ]; do echo \"line $i\"; i=$((i+1)); done; sleep 300"));
    let mut running = forebay.start(command.stdin(Stdio::null()));
    eventually("it grows", || {
        forebay.ls().first().is_some_and(|listed| listed["size"]["bytes"].as_u64() > Some(28_000))
    });
    let handle = forebay.ls()[0]["handle"].as_str().unwrap().to_owned();
    let ran = forebay.run(["tail", &handle, "--follow", "--budget", "300", "-n", "2000", "--wait", "5"]).ok();
    assert!(crate::forebay::tokens(&ran.out) <= 300, "{}", crate::forebay::tokens(&ran.out));
    assert!(forebay.run(["tail", &handle, "--follow", "--wait=-1"]).err.contains("is not a time"));
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn many_at_once_each_have_an_output_of_their_own() {
    let forebay = Forebay::new();
    let children: Vec<_> = (0..12)
        .map(|number| {
            let mut command =
                forebay.command(["run", "--call-id", "same", "--", "echo", &number.to_string()]);
            forebay.start(command.stdin(Stdio::null()))
        })
        .collect();
    for child in children {
        let _ = crate::forebay::Ran::from(child.wait_with_output().unwrap()).ok();
    }
    let mut kept: Vec<String> = forebay
        .ls()
        .iter()
        .map(|listed| forebay.run(["cat", listed["handle"].as_str().unwrap()]).ok().text())
        .collect();
    kept.sort_by_key(|text| text.trim().parse::<u32>().unwrap());
    assert_eq!(kept, (0..12).map(|number| format!("{number}\n")).collect::<Vec<_>>());
}
