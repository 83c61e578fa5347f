//! Knowledge of the lines that tools print: verdicts, findings, stack frames, test results, words for failures.
//!
//! These modules say what a line is. How much that counts is decided in [`rank`](crate::rank).

pub(crate) mod failure_word;
pub(crate) mod finding;
pub(crate) mod frames;
pub(crate) mod line_role;
pub(crate) mod location;
pub(crate) mod test_runs;
pub(crate) mod verdict;
