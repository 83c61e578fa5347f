//! Lines of test runners.

use crate::formats::matcher::Matcher;
use crate::formats::{Formats, Role};
use std::sync::LazyLock;

/// Maximum bytes of a line that is examined. Runners shorten names, so a longer line is data that a test printed.
const LONGEST: usize = 400;

impl Formats {
    /// Role of a line in a test run (summary, suite, failed or failure), read without colours and time stamps; `None`
    /// for most lines.
    pub(crate) fn event(&self, line: &[u8]) -> Option<Role> {
        static EVENTS: LazyLock<Matcher> =
            LazyLock::new(|| Matcher::of(&[Role::Summary, Role::Suite, Role::Failed, Role::Failure]));
        if line.len() > LONGEST { None } else { self.role(&EVENTS, line) }
    }

    /// Whether a line is a test with its result.
    pub(crate) fn is_outcome(&self, line: &[u8]) -> bool {
        static OUTCOME: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Outcome]));
        self.is_match(&OUTCOME, line)
    }

    /// Whether only a test run prints a line like this one.
    pub(crate) fn is_of_test_run(&self, line: &[u8]) -> bool {
        static TEST_RUN: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Summary, Role::TestRun]));
        line.len() <= LONGEST && self.is_match(&TEST_RUN, line)
    }
}
