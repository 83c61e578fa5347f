//! Text as bytes: counting, quoting, words, time stamps, the text of a page.

pub mod count;
pub(crate) mod derived;
pub(crate) mod failure_scan;
pub(crate) mod gutter;
pub mod host;
pub(crate) mod html;
pub(crate) mod lookalikes;
pub mod moment;
pub(crate) mod pattern;
pub(crate) mod quote;
pub(crate) mod ranges;
pub(crate) mod similarity;
pub(crate) mod timestamp;
pub(crate) mod words;
