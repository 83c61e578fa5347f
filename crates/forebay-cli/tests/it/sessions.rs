//! Sessions: room, batches, what is the same again, and when tools are offered.

use crate::forebay::Forebay;

const WINDOW: [&str; 2] = ["--context-window", "20000"];

fn numbered(lines: u64) -> String {
    (1..=lines).map(|line| format!("line {line} of a long output\n")).collect()
}

#[test]
fn the_room_is_what_the_host_says_and_what_was_handed_over_since() {
    let forebay = Forebay::new();
    let room = |args: &[&str]| {
        let mut command = forebay.command(["room", "--json"].iter().chain(args));
        let ran = command.env("FOREBAY_ROOM_CONTEXT_WINDOW", "20000").output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&ran.stdout).unwrap()
    };
    assert_eq!(room(&[])["left"], 20_000 - 8_192 - 2_048);
    assert_eq!(room(&["--used", "9000"])["left"], 760);
    let file = forebay.file("small.txt", "a few words\n");
    forebay.run([&["put"], &WINDOW[..], &[file.to_str().unwrap()]].concat()).ok().text();
    let given = room(&[])["given"].as_u64().unwrap();
    assert!(given > 0 && given < 10, "{given}");
    assert_eq!(room(&[])["left"], 760 - given);
    let text = forebay.run(["room"]);
    assert!(text.err.contains("set room.context_window"), "{}", text.err);
    assert!(text.text().contains("said to be in use   9,000"), "{}", text.text());
}

#[test]
fn outputs_of_one_turn_are_fitted_into_the_room_together() {
    let forebay = Forebay::new();
    let files = [300, 320, 310].map(|lines| forebay.file(&format!("{lines}.txt"), numbered(lines)));
    let paths: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let put = |more: &[&str]| {
        let ran = forebay.run([&["put", "--json"], &WINDOW[..], more, &paths].concat()).ok();
        let text = ran.text();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let stored = |replies: &[serde_json::Value]| {
        replies.iter().map(|reply| reply["stored"] == true).collect::<Vec<_>>()
    };
    let used = |tokens: &str| assert_eq!(forebay.run(["room", "--json", "--used", tokens]).status, 0);
    assert_eq!(stored(&put(&["--dry-run"])), [false; 3], "there is room for all");
    assert!(forebay.ls().is_empty(), "a dry run keeps nothing");
    used("3000");
    let folded = stored(&put(&["--dry-run"])).into_iter().filter(|stored| *stored).count();
    assert_eq!(folded, 1, "one must be folded");
    used("9700");
    let replies = put(&[]);
    assert_eq!(stored(&replies), [true; 3]);
    for reply in &replies {
        assert_eq!(reply["reason"], "token_budget");
        let handle = reply["handle"].as_str().unwrap();
        assert!(reply["text"].as_str().unwrap().contains(handle.get(..10).unwrap()), "{reply}");
        assert!(forebay.run(["cat", handle]).ok().text().contains("line 299 of"), "nothing is dropped");
    }
    used("20000");
    let text = put(&[])[0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("0 tokens are left in the context") && text.lines().count() == 1, "{text}");
    assert_eq!(forebay.ls().len(), 6);
    assert!(!forebay.run(["verify", "--json"]).ok().text().contains("\"ok\":false"));
}

#[test]
fn one_mistyped_file_leaves_nothing_behind() {
    let forebay = Forebay::new();
    let file = forebay.file("there.txt", "x");
    let path = file.to_str().unwrap();
    assert!(forebay.run(["put", path, "not-there.txt"]).fails(1).contains("not-there.txt"));
    assert!(forebay.run(["put", "--call-id", "a", path, path]).fails(2).contains("--call-id"));
    assert!(forebay.ls().is_empty());
}

#[test]
fn the_same_again_is_kept_once_and_said_in_one_line() {
    let forebay = Forebay::new();
    let run =
        |exit: &str| forebay.run(["run", "--json", "--", "sh", "-c", &format!("seq 5000; exit {exit}")]).out;
    let json = |out: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    let (first, second, third) = (json(run("3")), json(run("3")), json(run("3")));
    let handle = |reply: &serde_json::Value| reply["handle"].as_str().unwrap().to_owned();
    let short = |reply: &serde_json::Value| handle(reply)[..10].to_owned();
    for again in [&second, &third] {
        let text = again["text"].as_str().unwrap();
        let told =
            format!("[nothing changed since {}: the same 5,000 lines, 23,893 bytes, exit 3: ", short(&first));
        assert!(text.starts_with(&told) && text.lines().count() == 1, "{text}");
        assert!(text.contains(&format!("forebay read {} --lines 1:5000", short(again))), "{text}");
        assert_eq!(again["exit"], 3);
    }
    let ended_otherwise = json(run("0"));
    assert!(!ended_otherwise["text"].as_str().unwrap().contains("nothing changed"), "the exit has changed");
    let files: Vec<_> = [&first, &second, &third, &ended_otherwise]
        .map(|reply| forebay.run(["show", "--json", &handle(reply)]).ok().json()["path"].clone())
        .into();
    let inode = |path: &serde_json::Value| {
        std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path.as_str().unwrap()).unwrap())
    };
    assert!(files.iter().all(|path| inode(path) == inode(&files[0])), "the bytes are kept once");
    for reply in [&first, &second, &third, &ended_otherwise] {
        assert!(forebay.run(["cat", &handle(reply)]).ok().text().ends_with("4999\n5000\n"));
    }
    assert!(!forebay.run(["verify", "--json"]).ok().text().contains("\"ok\":false"));
}

#[test]
fn tools_are_listed_when_the_session_has_something_to_read() {
    let forebay = Forebay::new();
    let listed = |more: &[&str]| {
        let ran = forebay.run([&["tools", "--wire", "anthropic"], more].concat()).ok();
        ran.json().as_array().unwrap().len()
    };
    assert_eq!((listed(&[]), listed(&["--when-folded"])), (8, 0));
    assert_eq!(forebay.run(["run", "--", "seq", "5000"]).status, 0);
    assert_eq!((listed(&["--when-folded"]), listed(&["--when-folded", "--final-turn"])), (8, 0));
}
