//! Stores the whole output of an agent's tools, and shows the model the part that it needs.
//!
//! An output is written to a [`Store`] byte for byte. If it fits its [`Limits`], it passes unchanged. If not, the model
//! gets a small [`View`] that marks everything left out, and a [`Handle`] with which it can read the rest at any time.
//!
//! ```
//! use forebay::{Call, MemoryStore, Outputs, Query, Settings, Session, Timestamp, excerpt, keep};
//!
//! let store = MemoryStore::default();
//! let outputs = Outputs::new(&store, Session::safe("demo"), &Timestamp::now);
//! let call = Call::new(Session::safe("demo"), "call-1", "run_command", Timestamp::UNIX_EPOCH);
//! let log: String = (1..=50_000).map(|line| format!("line {line}: all is well\n")).collect();
//!
//! let output = keep(&store, &call, &mut log.as_bytes(), &Timestamp::now)?;
//! let reply = outputs.reply(&output, &Settings::default())?;
//! assert!(reply.folded.is_some_and(|folded| folded.text.len() < 12_000));
//!
//! let excerpt = excerpt(&output, &Query::Lines(vec![40_000..=40_001]), Settings::default().excerpt_budget())?;
//! assert!(String::from_utf8_lossy(&excerpt.text).contains("line 40000: all is well\n"));
//! # Ok::<(), forebay::Error>(())
//! ```
//!
//! The features `archive`, `json` (jq filters) and `outline` (grammars) are on by default; each removes its dependencies when
//! it is off.
//!
//! The library is synchronous and uses no terminal, network, clock or environment. Only [`store`] uses the disk.

#![cfg_attr(
    not(all(feature = "archive", feature = "json", feature = "outline")),
    expect(dead_code, reason = "parts that serve only a feature")
)]

pub mod accounting;
#[cfg(feature = "archive")]
pub mod archive;
pub(crate) mod bounds;
mod call;
pub(crate) mod classify;
pub(crate) mod clock;
pub(crate) mod compact;
pub(crate) mod digest;
mod error;
pub mod event;
pub mod extract;
pub mod formats;
pub mod forms;
mod handle;
mod kind;
mod limits;
pub mod masking;
pub mod model;
pub(crate) mod outline;
mod output;
mod outputs;
pub(crate) mod presets;
pub mod query;
pub(crate) mod rank;
mod record;
pub(crate) mod reply;
pub mod request;
mod room;
pub mod settings;
pub mod size;
pub mod stats;
mod stop;
pub mod store;
mod surface;
pub(crate) mod terminal;
#[doc(hidden)] // for the crates of this workspace, which print counts in the same form
pub mod text;
mod threads;
pub mod tokens;
pub mod tools;
pub mod view;
mod weights;
pub mod wire;

pub use accounting::{Accounting, Ledger, Notice};
pub use bounds::Bounds;
pub use call::Call;
pub use clock::Clock;
pub use error::{Error, NameKind, Result};
pub use event::{Event, What};
pub use formats::Formats;
pub use handle::{Handle, SHORTEST_PREFIX, Session, fingerprint, fresh_id};
pub use jiff::Timestamp;
pub use kind::Kind;
pub use limits::{Budget, Limits, Reason, Room, Window, decide};
pub use masking::{Masking, Secrets};
pub use output::secrets::FoundSecret;
pub use output::{Output, ReadAt};
pub use outputs::Outputs;
pub use presets::fold;
pub use presets::materialize::ContextRef;
pub use query::{Excerpt, excerpt};
pub use record::{Exit, Lost, Record, State, Streams};
pub use reply::shown::ShownView;
pub use reply::verify::verify_output;
pub use reply::{Folded, Reply, preview};
pub use request::Query;
pub use request::grep::Grep;
pub use room::preview_all;
pub use settings::{Preset, Settings};
pub use size::Size;
pub use stats::{Stats, Tally};
pub use stop::{Stop, WeakStop};
pub use store::disk::DiskStore;
pub use store::disk::run_folder::RunFolder;
pub use store::keep::{keep, keep_ended};
pub use store::memory::MemoryStore;
pub use store::rooms::InUse;
pub use store::writer::{End, Stream, Writer};
pub use store::{Part, Sink, Store};
pub use surface::Surface;
#[doc(hidden)] // for the crates of this workspace, which quote text in the same form
pub use text::quote::{printable, shell_word, shortened};
pub use view::verify::Fault;
pub use view::{Piece, View, Why, verify};

/// Rust examples of the pages for people, compiled as documentation tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../../../docs/extract.md")]
    struct Extract;
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_page_with_a_rust_example_is_compiled() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let pages = docs.filter(|page| page.extension().is_some_and(|extension| extension == "md"));
        for page in pages.chain([root.join("README.md"), root.join("ARCHITECTURE.md")]) {
            let name = page.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let included = include_str!("lib.rs").contains(&format!("include_str!(\"../../../{name}\")"));
            assert!(included || !fs::read_to_string(&page).unwrap().contains("```rust"), "{name}");
        }
    }
}
