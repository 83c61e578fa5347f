//! Checks of what the parsers of Forebay promise for any input: a broken promise is a panic.
//!
//! Each module checks one parser. Two drivers call them: `tests/mutated.rs` with mutated samples, and `cargo fuzz`
//! (the folder `fuzz` of the repository) with inputs that libFuzzer finds.

#![expect(
    clippy::unwrap_used,
    reason = "a broken promise is a panic, which both drivers report with its input"
)]

pub mod archive;
pub mod jq;
pub mod mcp;
pub mod mutate;
pub mod page;
pub mod screen;
pub mod view;

use forebay::{Budget, Call, MemoryStore, Output, Session, Settings, Timestamp, View, fold, keep, verify};

/// One parser, with inputs to begin from.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name, which is also that of the target of `cargo fuzz`.
    pub name: &'static str,
    /// Panics if the parser breaks a promise for this input.
    pub check: fn(&[u8]),
    /// Small inputs that the parser accepts.
    pub samples: fn() -> Vec<Vec<u8>>,
    /// Words of its language, which mutations insert.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: [Target; 6] = [
    Target { name: "archive", check: archive::check, samples: archive::samples, words: archive::WORDS },
    Target { name: "jq", check: jq::check, samples: jq::samples, words: jq::WORDS },
    Target { name: "mcp", check: mcp::check, samples: mcp::samples, words: mcp::WORDS },
    Target { name: "page", check: page::check, samples: page::samples, words: page::WORDS },
    Target { name: "screen", check: screen::check, samples: screen::samples, words: screen::WORDS },
    Target { name: "view", check: view::check, samples: view::samples, words: view::WORDS },
];

/// Budget of the views and excerpts that are checked: small, so that small inputs exceed it.
const BUDGET: Budget = Budget { tokens: 200, bytes: 1_600, lines: None };

/// Stores bytes as an output.
fn output_of(bytes: &[u8]) -> Output {
    let call = Call::new(Session::safe("s"), "id1234", "tool", Timestamp::UNIX_EPOCH);
    keep(&MemoryStore::default(), &call, &mut &*bytes, &|| Timestamp::UNIX_EPOCH).unwrap()
}

/// Folds an output, and checks that its view is within the budget, true, and the same every time.
fn check_fold(output: &Output) {
    let mut settings = Settings::default();
    settings.digest.tokens = BUDGET.tokens;
    settings.digest.budget = BUDGET;
    let view = fold(output, &settings).unwrap();
    let text = check_view(&view, output);
    assert!(BUDGET.holds(&text), "{} bytes", text.len());
    assert_eq!(fold(output, &settings).unwrap(), view);
}

/// Prints a view of an output, and checks that verification finds no fault in it.
fn check_view(view: &View, output: &Output) -> Vec<u8> {
    let text = view.print(output).unwrap();
    assert_eq!(verify(view, output).unwrap(), []);
    let stored = serde_json::to_string(view).unwrap();
    assert_eq!(&serde_json::from_str::<View>(&stored).unwrap(), view);
    text
}
