//! `export` and `import`: a session as one file.

use crate::forebay::{Forebay, eventually};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

/// A session with a view, a passed output, a command with two streams, and the same bytes twice.
fn filled() -> Forebay {
    let forebay = Forebay::new();
    let long: String = (0..20_000).map(|line| format!("line {line} is long enough to matter\n")).collect();
    forebay.put("long", long.as_bytes(), &[]);
    forebay.put("again", long.as_bytes(), &[]);
    forebay.put("short", b"few words", &[]);
    let ran =
        forebay.run(["run", "--call-id", "command", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(ran.status, 3);
    let _ = forebay.run(["grep", "long", "line 777 "]).ok();
    forebay
}

fn archive(forebay: &Forebay) -> PathBuf {
    let path = forebay.folder().join("work/s.tar.zst");
    let _ = forebay.run(["export", "--out", path.to_str().unwrap()]).ok();
    path
}

fn listing(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(listing(&path))
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// Output of `ls` and `cat`, without the paths of this store.
fn told(forebay: &Forebay) -> Vec<String> {
    let mut told = Vec::new();
    for mut record in forebay.ls() {
        let handle = record["handle"].as_str().unwrap().to_owned();
        record.as_object_mut().unwrap().remove("path");
        told.push(format!("{record} {:?}", forebay.run(["cat", &handle]).ok().out));
        let mut shown = forebay.run(["show", &handle, "--json"]).ok().json();
        told.push(shown["given"].take().to_string());
    }
    told
}

#[test]
fn a_session_works_on_another_machine_under_the_same_handles() {
    let (here, there) = (filled(), Forebay::new());
    let file = here.folder().join("work/s.tar.zst");
    let exported = here.run(["export", "--json", "--out", file.to_str().unwrap()]).ok().json();
    assert_eq!((&exported["outputs"], &exported["session"]), (&4.into(), &"s".into()));
    assert_eq!(exported["written"], fs::metadata(&file).unwrap().len());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let would = there.run(["import", "--dry-run", "--json", file.to_str().unwrap()]).ok().json();
    assert!(!there.root().exists());
    let imported = there.run(["import", "--json", file.to_str().unwrap()]).ok().json();
    assert_eq!((&imported["added"], &imported["already_there"]), (&4.into(), &0.into()));
    assert_eq!((&would["added"], &would["bytes"]), (&imported["added"], &imported["bytes"]));
    assert_eq!(told(&there), told(&here));
    assert_eq!(there.run(["verify"]).status, 0);
    let events = |forebay: &Forebay| fs::read_to_string(forebay.root().join("s/events.jsonl")).unwrap();
    let imported_events = events(&there);
    assert!(events(&here).starts_with(&imported_events), "what was told since is not in the archive");

    let before = listing(&there.root());
    let again = there.run(["import", file.to_str().unwrap()]).ok().text();
    assert_eq!(again, "session s: nothing is new, 4 already there\n");
    assert_eq!(listing(&there.root()), before);
}

#[test]
fn an_archive_goes_through_a_pipe() {
    let (here, there) = (filled(), Forebay::new());
    let piped = here.run(["export", "--out", "-"]);
    assert_eq!(piped.status, 0, "{}", piped.err);
    assert!(piped.err.starts_with("4 outputs of session s, "), "{}", piped.err);
    assert_eq!(piped.out, fs::read(archive(&here)).unwrap());
    let text = there.run_with_input(["import", "-"], &piped.out).ok().text();
    assert!(text.starts_with("session s: 4 outputs, "), "{text}");
    assert_eq!(told(&there), told(&here));
    let names: Vec<_> = fs::read_dir(there.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(
        names.iter().filter(|name| *name != ".forebay-root" && *name != ".forebay-key").count(),
        1,
        "nothing is left of the pipe"
    );
    let error = there.run_with_input(["import", "-", "--max-bytes", "1000"], &piped.out).fails(1);
    assert!(error.contains("more than the 1000 bytes"), "{error}");
}

#[test]
fn an_export_says_how_many_secrets_are_inside() {
    let forebay = Forebay::new();
    forebay.put("env", b"HOME=/root\nDB_PASSWORD=kV8xq2LmZr0TfW4y\n", &[]);
    forebay.put("log", b"postgres://app:9fKq3LzxWv7Rt2@db/app\n", &[]);
    forebay.put("plain", b"nothing of interest\n", &[]);
    let exported = forebay.run(["export", "--json", "--out", "a"]).ok().json();
    assert_eq!((&exported["secrets"], &exported["encrypted"]), (&2.into(), &false.into()));
    let text = forebay.run(["export", "--out", "b"]).ok().text();
    assert!(text.trim_end().ends_with("; 2 secrets in them, unmasked"), "{text}");
    assert!(!text.contains("kV8xq2"), "{text}");
}

/// A file with a new key, and its recipient.
fn key(forebay: &Forebay, name: &str) -> (PathBuf, String) {
    let identity = forebay_age::Identity::generate().unwrap();
    let path = forebay.folder().join("work").join(name);
    let recipient = identity.recipient().to_string();
    fs::write(&path, format!("# public key: {recipient}\n{}\n", identity.to_text())).unwrap();
    (path, recipient)
}

#[test]
fn an_encrypted_archive_is_imported_with_any_of_its_keys() {
    let here = filled();
    let ((first, to_first), (second, to_second)) = (key(&here, "first"), key(&here, "second"));
    let exported = here
        .run(["export", "--json", "--out", "s.age", "--encrypt", &to_first, "--encrypt", &to_second])
        .ok()
        .json();
    let file = here.folder().join("work/s.age");
    assert_eq!(exported["encrypted"], true);
    assert_eq!(exported["written"], fs::metadata(&file).unwrap().len());
    let sealed = fs::read(&file).unwrap();
    for key in [&first, &second] {
        let there = Forebay::new();
        let arguments = ["import", file.to_str().unwrap(), "--identity", key.to_str().unwrap()];
        let imported = there.run(arguments).ok().text();
        assert!(imported.starts_with("session s: 4 outputs, "), "{imported}");
        assert_eq!(told(&there), told(&here));
        assert_eq!(there.run(["verify"]).status, 0);
    }
    let there = Forebay::new();
    let imported = there.run_with_input(["import", "-", "--identity", first.to_str().unwrap()], &sealed).ok();
    assert!(imported.text().starts_with("session s: 4 outputs, "), "{}", imported.text());
}

#[test]
fn a_passphrase_file_encrypts_and_decrypts_an_archive() {
    let (here, there) = (filled(), Forebay::new());
    let passphrase = here.folder().join("work/passphrase");
    fs::write(&passphrase, "correct horse battery staple\nand a note\n").unwrap();
    let passphrase = passphrase.to_str().unwrap();
    let piped = here.run(["export", "--out", "-", "--passphrase-file", passphrase]);
    assert!(piped.err.contains(", encrypted"), "{}", piped.err);
    let imported = there.run_with_input(["import", "-", "--passphrase-file", passphrase], &piped.out).ok();
    assert!(imported.text().starts_with("session s: 4 outputs, "), "{}", imported.text());
    assert_eq!(told(&there), told(&here));
}

#[test]
fn a_wrong_key_is_refused_and_nothing_is_written() {
    let here = filled();
    let (key_file, recipient) = key(&here, "right");
    let (wrong, _) = key(&here, "wrong");
    let passphrase = here.folder().join("work/passphrase");
    fs::write(&passphrase, "correct horse\n").unwrap();
    let _ = here.run(["export", "--out", "for-key", "--encrypt", &recipient]).ok();
    let _ = here.run(["export", "--out", "for-words", "--passphrase-file", "passphrase"]).ok();
    let _ = here.run(["export", "--out", "plain"]).ok();
    let path = |name: &str| here.folder().join("work").join(name).to_str().unwrap().to_owned();
    let mut cut = fs::read(path("for-key")).unwrap();
    cut.pop();
    fs::write(path("cut"), cut).unwrap();
    fs::write(path("no-key"), "# nothing\n").unwrap();
    fs::write(path("other-words"), "wrong horse\n").unwrap();
    let wrong = wrong.to_str().unwrap();
    let right = key_file.to_str().unwrap();
    for (file, options, status, expected) in [
        ("for-key", &["--identity", wrong][..], 1, "it is not sealed for this key"),
        ("for-key", &[], 1, "give the key with --identity FILE"),
        ("for-key", &["--passphrase-file", &path("passphrase")], 1, "it is sealed for a key"),
        ("for-words", &["--identity", right], 1, "give it with --passphrase-file FILE"),
        ("for-words", &["--passphrase-file", &path("other-words")], 1, "the passphrase is wrong"),
        ("cut", &["--identity", right], 1, "damaged or cut off at its end"),
        ("plain", &["--identity", right], 1, "the archive is not encrypted"),
        ("for-key", &["--identity", &path("no-key")], 2, "has no key"),
        ("for-key", &["--identity", &path("passphrase")], 2, "passphrase:1: it is not an identity"),
        ("for-key", &["--identity", &path("none")], 1, "cannot read"),
    ] {
        let there = Forebay::new();
        let file = path(file);
        let arguments: Vec<&str> = ["import", &file].into_iter().chain(options.iter().copied()).collect();
        let error = there.run(&arguments).fails(status);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!there.root().exists(), "{arguments:?}: something was written");
    }
    for (options, expected) in [
        (&["--encrypt", "age1nobody"][..], "age-keygen"),
        (&["--encrypt", &recipient, "--encrypt", "passphrase"], "not both"),
        (&["--passphrase-file", "no-words"], "no passphrase in its first line"),
    ] {
        fs::write(path("no-words"), "\n").unwrap();
        let arguments: Vec<&str> =
            ["export", "--out", "new"].into_iter().chain(options.iter().copied()).collect();
        let error = here.run(&arguments).fails(2);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!here.folder().join("work/new").exists());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_export_that_is_killed_leaves_no_file() {
    let forebay = Forebay::new();
    let mut state = 1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let bytes: Vec<u8> = (0..3_000_000).flat_map(|_| random()).collect();
    forebay.put("long", &bytes, &[]);
    let folder = forebay.folder().join("work");
    let mut export = forebay.start(forebay.command(["export", "--out", "s.tar.zst"]).stdin(Stdio::null()));
    let fds = PathBuf::from(format!("/proc/{}/fd", export.id()));
    // It has begun to write when it has a file of this folder open.
    let writes = || {
        let open = fs::read_dir(&fds).into_iter().flatten().flatten();
        open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|file| file.starts_with(&folder))
    };
    while export.try_wait().unwrap().is_none() && !writes() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    export.kill().unwrap();
    let status = export.wait().unwrap();
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!((status.success(), left.len()), (false, 0), "{left:?}");
}

#[test]
fn a_file_is_replaced_only_by_force_and_no_half_file_stays() {
    let forebay = filled();
    let path = archive(&forebay);
    let out = path.to_str().unwrap();
    let good = fs::read(&path).unwrap();
    fs::write(&path, b"mine").unwrap();
    let error = forebay.run(["export", "--out", out]).fails(1);
    assert!(error.contains("already exists") && error.contains("--force"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let _ = forebay.run(["export", "--out", out, "--force"]).ok();
    assert_eq!(fs::read(&path).unwrap(), good);

    // One that fails in the middle.
    fs::write(forebay.root().join("s/tool/short.txt"), b"few wordz").unwrap();
    let error = forebay.run(["export", "--out", out, "--force"]).fails(3);
    assert!(error.contains("s/short: its bytes are not those of its record"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), good);
    let names: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["s.tar.zst"]);
    for (args, code, said) in [
        (&["export", "nobody", "--out", "x"][..], 1, "nothing is kept in session nobody"),
        (&["export", "--out", "/dev/null", "--force"], 2, "is not a file"),
        (&["export", "--out", "."], 2, "is not a file"),
        (&["export", "--out", "nowhere/x"], 1, "cannot write nowhere/x"),
        (&["export", "--out", "-", "--json"], 2, "both write to standard output"),
        (&["export", "a/b", "--out", "x"], 2, "is not the name of a session"),
    ] {
        let error = forebay.run(args).fails(code);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn what_is_no_archive_is_refused_and_nothing_is_written() {
    let forebay = filled();
    let good = fs::read(archive(&forebay)).unwrap();
    let there = Forebay::new();
    there.put("mine", b"mine", &[]);
    let before = listing(&there.root());
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    for (bytes, said) in [
        (&b""[..], "it is empty"),
        (b"hello", "it is not a zstd file"),
        (&good[..good.len() / 2], "half a file"),
        (&flipped, "refused"),
        (&[&good[..], b"x"].concat(), "there is data after its end"),
    ] {
        let file = there.file("bad", bytes);
        for error in [
            there.run(["import", file.to_str().unwrap()]).fails(1),
            there.run_with_input(["import", "-"], bytes).fails(1),
        ] {
            assert!(error.contains(said) && error.contains("nothing of it is kept"), "{error}");
        }
        assert_eq!(listing(&there.root()), before);
    }
    for (args, code, said) in [
        (&["import", "nowhere"][..], 1, "cannot read nowhere"),
        (&["import", "."], 2, "is a folder"),
        (&["import", "bad", "--as", "../up"], 2, "is not the name of a session"),
    ] {
        let error = there.run(args).fails(code);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    assert_eq!(listing(&there.root()), before);
}

#[test]
fn a_handle_with_other_bytes_stands_in_the_way_and_another_name_helps() {
    let (here, there) = (filled(), Forebay::new());
    let file = archive(&here);
    there.put("short", b"other words", &[]);
    let before = listing(&there.root());
    let error = there.run(["import", file.to_str().unwrap()]).fails(1);
    assert!(error.contains("s/short") && error.contains("hint: `--as NAME`"), "{error}");
    assert_eq!(listing(&there.root()), before);
    let text = there.run(["import", file.to_str().unwrap(), "--as", "theirs"]).ok().text();
    assert!(text.starts_with("session theirs: 4 outputs, "), "{text}");
    assert_eq!(there.run(["cat", "theirs/short"]).ok().out, b"few words");
    assert_eq!(there.run(["verify", "--session", "theirs"]).status, 0);
}

#[test]
fn an_import_that_is_stopped_leaves_nothing() {
    let here = Forebay::new();
    // Bytes that do not pack, so that there is time.
    let mut state = 1u64;
    let noise: Vec<u8> = (0..8_000_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    for id in ["a", "b", "c"] {
        here.put(id, &[id.as_bytes(), &noise].concat(), &[]);
    }
    let file = archive(&here);
    let there = Forebay::new();
    let mut child = there.start(there.command(["import", file.to_str().unwrap()]).stdin(Stdio::null()));
    eventually("something is written", || {
        there.root().join("s/tool").exists() || child.try_wait().unwrap().is_some()
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    // It may have been done before the signal came.
    if status.success() {
        assert_eq!(there.ls().len(), 3);
    } else {
        assert_eq!(status.code(), Some(3));
        let left = listing(&there.root());
        assert!(
            left.keys().all(|path| path.ends_with(".forebay-root") || path.ends_with(".forebay-key")),
            "{:?}",
            left.keys()
        );
    }
}
