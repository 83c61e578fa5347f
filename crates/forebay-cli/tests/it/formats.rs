//! `forebay formats`, and what a user's own formats do.

use crate::forebay::Forebay;
use std::fs;

/// The example of docs/formats.md.
fn example() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, file) = page.split_once("```toml\n").unwrap();
    file.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_example_of_the_docs_passes_its_check_and_changes_the_outline() {
    let forebay = Forebay::new();
    let passed: String = (1..=400).map(|n| format!("fine cart/error-{n}\n")).collect();
    let log = format!("> suite cart\n{passed}BROKEN cart/total: got 3\n401 checks, 1 broken\n");
    forebay.put("a", log.as_bytes(), &["--budget", "300"]);
    let failures = || forebay.run(["outline", "a"]).ok().text().matches("BROKEN cart/total: got 3").count();
    assert_eq!(failures(), 0, "the built-in formats do not know it");

    let folder = forebay.folder().join(".config/forebay/formats");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("checker.toml");
    fs::write(&file, example()).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(
        forebay.run(["formats", "check", path]).ok().text(),
        format!("{path}: 4 kinds of line, 4 samples, all match\n")
    );
    assert_eq!(failures(), 1);
    let listed = forebay.run(["formats"]).ok();
    assert!(listed.text().lines().next().unwrap().starts_with("checker "), "{}", listed.text());
    assert!(listed.text().contains("(yours)") && listed.text().contains("\npytest "));
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let forebay = Forebay::new();
    let file = forebay.folder().join("bad.toml");
    fs::write(&file, example().replace("'^fine '", "'^fine ('")).unwrap();
    let ran = forebay.run(["formats", "check", file.to_str().unwrap()]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("bad.toml:7: the pattern: unclosed group"), "{}", ran.err);

    // A file with an error does not count, and stops nothing.
    let folder = forebay.folder().join(".config/forebay/formats");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(&file, folder.join("bad.toml")).unwrap();
    let ran = forebay.run(["formats"]);
    assert!(ran.status == 0 && ran.err.contains("unclosed group (ignored)"), "{}", ran.err);
    assert!(!ran.text().contains("yours"));
}
