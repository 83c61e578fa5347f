//! Rules of the roles: which part of a line a pattern reads, and which roles exclude each other.

use crate::formats::{Role, line_role};
use crate::text::gutter::without_gutter;
use serde::Serialize;

impl Role {
    /// The part of a line that patterns of this role are matched against.
    pub(crate) fn text(self, line: &[u8]) -> &[u8] {
        match self {
            Role::Passed => line_role::result(line),
            Role::Noise => line.trim_ascii(),
            Role::Frame => without_gutter(line),
            _ => line,
        }
    }

    /// Whether a user's file can have lines of this role.
    pub(crate) fn is_for_users(self) -> bool {
        matches!(
            self,
            Role::Summary
                | Role::Suite
                | Role::Failed
                | Role::Failure
                | Role::Outcome
                | Role::TestRun
                | Role::Passed
                | Role::Verdict
                | Role::Noise
        )
    }

    /// Whether a line cannot have both roles.
    pub(crate) fn contradicts(self, other: Role) -> bool {
        const EVENTS: &[Role] = &[Role::Summary, Role::Suite, Role::Failed, Role::Failure];
        const FAILURES: &[Role] = &[Role::Failed, Role::Failure, Role::Verdict, Role::Error];
        const HARMLESS: &[Role] =
            &[Role::Passed, Role::Announcement, Role::Frame, Role::QuotedCode, Role::Detail, Role::Noise];
        let is_failure_and_harmless = |one, other| FAILURES.contains(&one) && HARMLESS.contains(&other);
        self != other && EVENTS.contains(&self) && EVENTS.contains(&other)
            || is_failure_and_harmless(self, other)
            || is_failure_and_harmless(other, self)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The name is that of the format files.
        self.serialize(f)
    }
}
