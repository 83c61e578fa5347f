//! What holds for every line of every built-in format.

use crate::formats::user::{UserFormat, contradiction};
use crate::formats::{BUILT_IN, Formats, Role};

/// Whether the library reads a line as one of this role.
fn is_read_as(role: Role, line: &[u8]) -> bool {
    let formats = Formats::default();
    match role {
        Role::Summary | Role::Suite | Role::Failed | Role::Failure => formats.event(line) == Some(role),
        Role::Outcome => formats.is_outcome(line),
        Role::TestRun => formats.is_of_test_run(line),
    }
}

#[test]
fn every_line_of_every_format_matches_its_samples() {
    for format in BUILT_IN {
        for line in format.lines {
            let pattern = regex::bytes::RegexBuilder::new(line.pattern).unicode(false).build().unwrap();
            assert!(!line.samples.is_empty(), "{}: {} has no samples", format.name, line.pattern);
            for sample in line.samples {
                let place = format!("{}: {}: {sample}", format.name, line.pattern);
                assert!(pattern.is_match(sample.as_bytes()), "{place}: does not match");
                assert!(is_read_as(line.role, sample.as_bytes()), "{place}: not read as {}", line.role);
                assert_eq!(contradiction(line.role, sample), None, "{place}");
            }
        }
    }
}

#[test]
fn the_built_in_files_keep_the_bounds_of_a_users_file() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/formats")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(UserFormat::parse(name, &text).err(), None, "{name}");
    }
}

#[test]
fn a_users_lines_come_before_the_built_in_ones() {
    let text = "about = \"x\"\n[[line]]\nrole = \"failed\"\npattern = '^BROKEN '\nsamples = ['BROKEN a']\n";
    let formats = Formats::with(vec![UserFormat::parse("x", text).unwrap()]);
    assert_eq!(formats.event(b"BROKEN cart"), Some(Role::Failed));
    assert_eq!(formats.event(b"42 examples, 1 failure"), Some(Role::Summary));
    assert_eq!(Formats::default().event(b"BROKEN cart"), None);
    assert_eq!(formats.describe()[0].name, "x");
}
