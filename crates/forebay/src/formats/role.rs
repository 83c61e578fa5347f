//! What the roles of lines exclude.

use crate::formats::Role;
use serde::Serialize;

impl Role {
    /// Whether a line cannot have both roles.
    pub(crate) fn contradicts(self, other: Role) -> bool {
        const EVENTS: &[Role] = &[Role::Summary, Role::Suite, Role::Failed, Role::Failure];
        self != other && EVENTS.contains(&self) && EVENTS.contains(&other)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The name is that of the format files.
        self.serialize(f)
    }
}
