//! jq filters over JSON of any size. Only the modules below know jaq.

pub(crate) mod batch;
pub(crate) mod fuel;
pub(crate) mod keys;
pub(crate) mod matches;
pub(crate) mod parse;
pub(crate) mod plan;
pub(crate) mod program;
pub(crate) mod regexes;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod stream;
pub(crate) mod write;
