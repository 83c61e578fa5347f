//! Text as bytes: counting, quoting, words, time stamps, what a page says.

pub mod count;
pub(crate) mod derived;
pub(crate) mod failure_scan;
pub(crate) mod html;
pub(crate) mod lookalikes;
pub(crate) mod pattern;
pub(crate) mod quote;
pub(crate) mod similarity;
pub(crate) mod timestamp;
pub(crate) mod words;
