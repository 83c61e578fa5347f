//! What we know of the lines of tools.

pub(crate) mod failure_word;
pub(crate) mod finding;
pub(crate) mod frames;
pub(crate) mod line_role;
pub(crate) mod location;
pub(crate) mod test_runs;
pub(crate) mod verdict;
