//! Every target with mutated samples, the same ones each time.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a wrong setting of the test is a failure")]

use forebay_fuzz::TARGETS;
use forebay_fuzz::mutate::Mutator;
use std::panic::catch_unwind;

/// Inputs of each target, unless `FOREBAY_FUZZ_INPUTS` says another number.
const INPUTS: u64 = 1_000;

fn check(name: &str) {
    let target = TARGETS.into_iter().find(|target| target.name == name).unwrap();
    let count = std::env::var("FOREBAY_FUZZ_INPUTS").map_or(INPUTS, |count| count.parse().expect("a number"));
    (target.samples)().iter().for_each(|sample| (target.check)(sample));
    for seed in 0..count {
        let input = Mutator::new(seed, (target.samples)(), target.words).input();
        if catch_unwind(|| (target.check)(&input)).is_err() {
            panic!("{name}: seed {seed} breaks a promise: {}", input.escape_ascii());
        }
    }
}

#[test]
fn an_archive_is_refused_or_true() {
    check("archive");
}

#[test]
fn a_filter_ends_with_an_error_or_with_json() {
    check("jq");
}

#[test]
fn a_message_has_the_same_parts_however_it_is_read() {
    check("mcp");
}

#[test]
fn any_bytes_are_shown_as_a_page() {
    check("page");
}

#[test]
fn any_bytes_are_shown_as_a_screen() {
    check("screen");
}

#[test]
fn a_stored_view_is_refused_or_prints_truly() {
    check("view");
}
