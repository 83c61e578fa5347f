//! Counts tokens: see the crate `forebay-tokens`.

pub use forebay_tokens::*;
