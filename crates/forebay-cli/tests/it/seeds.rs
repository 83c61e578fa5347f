//! The five documents that describe what Forebay must do, one file each and one test for each numbered statement.
//!
//! A test is named `row_<document>_<number>_<what it shows>`. Statements that Forebay keeps in another way have their
//! reason in `docs/seeds.md`.

mod handle_000;
mod handle_003;
mod head_tail_001;
mod materialize_002;
mod recovery_004;

/// Every statement of a document has a test of its own, so that none is lost.
#[test]
fn every_numbered_statement_has_a_test() {
    let documents = [
        ("000", 99, include_str!("seeds/handle_000.rs")),
        ("001", 34, include_str!("seeds/head_tail_001.rs")),
        ("002", 50, include_str!("seeds/materialize_002.rs")),
        ("003", 71, include_str!("seeds/handle_003.rs")),
        ("004", 44, include_str!("seeds/recovery_004.rs")),
    ];
    for (document, rows, source) in documents {
        for row in 1..=rows {
            let name = format!("fn row_{document}_{row}_");
            assert_eq!(source.matches(&name).count(), 1, "{name}");
        }
    }
}
