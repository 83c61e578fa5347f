//! Properties of every line of every built-in format.

use crate::formats::built_in::BUILT_IN;
use crate::formats::user::{UserFormat, contradiction};
use crate::formats::{Formats, Role, frames, line_role, noise, sections, verdict};

/// Whether the library reads a line as one of this role.
fn is_read_as(role: Role, line: &[u8]) -> bool {
    let formats = Formats::default();
    match role {
        Role::Summary | Role::Suite | Role::Failed | Role::Failure => formats.event(line) == Some(role),
        Role::Outcome => formats.is_outcome(line),
        Role::TestRun => formats.is_of_test_run(line),
        Role::Passed => line_role::has_passed(line),
        Role::Announcement => line_role::of(line, false, false) == 0.25,
        Role::QuotedCode | Role::RuntimeFrame | Role::RunnerFrame => {
            line_role::of(line, false, false) == line_role::QUOTED
        }
        Role::Detail => line_role::informs(line),
        Role::Verdict => (0..line.len()).any(|at| verdict::is_verdict(line, &(at..at + 1), &(0..line.len()))),
        Role::Error => verdict::is_told(line),
        Role::Ignored => verdict::is_ignored(&[line, b"\n"].concat()),
        Role::Frame => frames::is_frame(line),
        Role::Noise => noise::is_noise(line),
        Role::Section => sections::section(line).is_some(),
        Role::Group => sections::section(line).is_some_and(|(_, is_group)| is_group),
        Role::GroupEnd => sections::ends_section(line),
        Role::Log => sections::is_of_log(line),
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
                assert!(pattern.is_match(line.role.text(sample.as_bytes())), "{place}: does not match");
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
        let problems = UserFormat::parse("built-in", &text).err().unwrap_or_default();
        let is_for_users = |message: &str| !message.starts_with("only built-in formats");
        assert!(
            !problems.iter().any(|problem| is_for_users(&problem.message)),
            "{}: {problems:?}",
            path.display()
        );
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
