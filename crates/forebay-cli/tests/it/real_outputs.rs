//! Real outputs go in and come out byte for byte, and the view of each is within its budget, and true.

use crate::forebay::{Forebay, tokens};
use std::process::Command;

fn check(forebay: &Forebay, id: &str, bytes: &[u8]) -> String {
    let answer = forebay.put(id, bytes, &["--budget", "1000"]);
    let handle = answer["handle"].as_str().unwrap();
    assert!(forebay.run(["cat", handle]).ok().out == bytes, "{id} came back changed");
    assert_eq!(forebay.run(["verify", handle, "--json"]).json()["ok"], true, "{id}");
    let text = answer["text"].as_str().unwrap().to_owned();
    assert!(tokens(text.as_bytes()) <= 1_000, "{id}: {} tokens", tokens(text.as_bytes()));
    assert_eq!(answer["stored"], true, "{id} is large");
    text
}

fn testdata(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../testdata/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn a_failing_test_run_shows_its_failure() {
    let text = check(&Forebay::new(), "cargo-test", &testdata("cargo-test-failing.log"));
    assert!(
        text.contains("panicked at") && text.contains("left: ") && text.contains("test result: FAILED"),
        "{text}"
    );
}

#[test]
fn a_compiler_error_among_many_lines_is_shown() {
    let text = check(&Forebay::new(), "cargo-build", &testdata("cargo-build-error.log"));
    assert!(text.contains("error[E0308]: mismatched types") && text.contains("could not compile"), "{text}");
}

#[test]
fn a_listing_a_lock_file_and_a_program_go_in_and_come_out() {
    let forebay = Forebay::new();
    let listed = tempfile::tempdir().unwrap();
    for folder in (0..40).map(|number| listed.path().join(format!("package{number}/src"))) {
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..50 {
            std::fs::write(folder.join(format!("module{file}.rs")), "").unwrap();
        }
    }
    let find = Command::new("find").arg(".").current_dir(listed.path()).output().unwrap();
    let text = check(&forebay, "find", &find.stdout);
    assert!(
        text.contains(" of a listing omitted; ") && text.contains(": forebay read s/find --lines "),
        "{text}"
    );
    check(
        &forebay,
        "lock",
        &std::fs::read(format!("{}/../../Cargo.lock", env!("CARGO_MANIFEST_DIR"))).unwrap(),
    );
    let binary = std::fs::read(env!("CARGO_BIN_EXE_forebay")).unwrap();
    let text = check(&forebay, "binary", &binary);
    assert!(text.contains(" bytes that are not text: "), "{text}");
}

#[test]
fn one_line_of_forty_megabytes_is_kept_and_shown_from_both_ends() {
    let forebay = Forebay::new();
    let items: Vec<String> =
        (0..700_000).map(|n| format!("{{\"id\":{n},\"name\":\"item {n}\",\"ok\":true}}")).collect();
    let json = format!("[{}]", items.join(","));
    let text = check(&forebay, "minified", json.as_bytes());
    assert!(text.contains("[{\"id\":0,\"name\":\"item 0\"") && text.contains("\"ok\":true}]"), "{text}");
    assert_eq!(forebay.ls()[0]["kind"], "json");
    let found = forebay.run(["grep", "minified", "\"id\":424242,", "--json"]).ok().json();
    assert_eq!(found["total"], 1);
    assert!(found["matches"][0]["text"].as_str().unwrap().contains("item 424242"));
}

#[test]
fn a_progress_bar_is_shown_as_a_person_would_have_seen_it() {
    let forebay = Forebay::new();
    let bar: String =
        (0..=60_000).map(|n| format!("\rDownloading… {n} of 60000 [{}]", "#".repeat(n / 2_000))).collect();
    let text = check(&forebay, "progress", format!("Fetching things\n{bar}\nDone in 3 s\n").as_bytes());
    assert!(text.contains(" bytes as a screen shows them; kept whole"), "{text}");
    assert!(text.contains("Downloading… 60000 of 60000") && !text.contains("Downloading… 59999"), "{text}");
    let tail = forebay.run(["tail", "progress", "-n", "100"]).ok();
    assert!(tail.out.len() <= 12_000);
}

#[test]
fn much_of_the_same_is_kept_whole() {
    let forebay = Forebay::new();
    let ran = forebay.run(["run", "--", "sh", "-c", "yes | head -c 200000000"]).ok();
    assert!(
        ran.text()
            .starts_with("[forebay view of 100,000,000 lines, 200,000,000 bytes, exit 0; kept whole as s/"),
        "{}",
        &ran.text()[..200]
    );
    let handle = forebay.ls()[0]["handle"].as_str().unwrap().to_owned();
    let text = forebay.run(["read", &handle, "--lines", "50000000:50000001"]).ok().text();
    assert!(
        text.starts_with("[lines 50,000,000–50,000,001 of 100,000,000 · s/") && text.contains("]\ny\ny\n"),
        "{text}"
    );
}
