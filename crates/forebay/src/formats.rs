//! Knowledge of the lines that tools print: verdicts, findings, stack frames, test results, words for failures.
//!
//! One file of `formats/` describes one tool: its programs, and patterns of its lines with their [`Role`]s. The build
//! script turns these files into a table. [`UserFormat::parse`] reads a user's own files, which reach the library in
//! [`Formats`]. The modules here find the role of a line in both; `rank` decides how much the line counts.

mod built_in;
pub(crate) mod command;
mod description;
pub(crate) mod failure_word;
pub(crate) mod finding;
pub(crate) mod frames;
pub(crate) mod line_role;
pub(crate) mod location;
pub(crate) mod matcher;
pub(crate) mod noise;
mod role;
mod schema;
pub(crate) mod sections;
pub(crate) mod shell;
pub(crate) mod test_runs;
mod user;
pub(crate) mod verdict;

pub use description::{DescribedLine, Description};
pub use schema::Role;
pub use user::{Problem, UserFormat};

use crate::formats::built_in::{BUILT_IN, Format};
use crate::formats::matcher::Matcher;
use crate::terminal::readable;
use crate::text::timestamp::unstamped;
use std::sync::Arc;

/// Hexadecimal digits of the hash of a user's formats: enough to tell a few versions of them apart.
const HASH_DIGITS: usize = 16;

/// The built-in formats, and those that a user has added.
///
/// The default has only the built-in ones. A copy is cheap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Formats {
    user: Option<Arc<[UserFormat]>>,
}

impl Formats {
    /// The built-in formats and those of a user, which take precedence.
    pub fn with(user: Vec<UserFormat>) -> Formats {
        Formats { user: Some(user.into()).filter(|user: &Arc<[UserFormat]>| !user.is_empty()) }
    }

    /// Every format: those of the user, then the built-in ones by name.
    pub fn describe(&self) -> Vec<Description> {
        self.user().iter().map(UserFormat::describe).chain(BUILT_IN.iter().map(Format::describe)).collect()
    }

    /// Whether a user has added any.
    pub(crate) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    fn user(&self) -> &[UserFormat] {
        self.user.as_deref().unwrap_or_default()
    }

    /// Whether a user's files say that a line reports a failure, or that it reports none; `None` if they say neither.
    pub(crate) fn reports_failure(&self, line: &[u8]) -> Option<bool> {
        const ROLES: &[Role] = &[Role::Verdict, Role::Failed, Role::Failure, Role::Passed, Role::Noise];
        if self.user().is_empty() {
            return None;
        }
        let line = readable(unstamped(line.trim_ascii_end()));
        let has =
            |role: &Role| self.user().iter().any(|format| format.role(&[*role], role.text(&line)).is_some());
        ROLES.iter().find(|role| has(role)).map(|role| !matches!(role, Role::Passed | Role::Noise))
    }

    /// Hash of the user's formats, which changes with them; `None` if there are none.
    pub(crate) fn hash(&self) -> Option<String> {
        let text = format!("{:?}", self.user.as_ref()?.iter().map(UserFormat::describe).collect::<Vec<_>>());
        Some(blake3::hash(text.as_bytes()).to_hex()[..HASH_DIGITS].to_owned())
    }

    /// Role of a text, if it is one of those that a matcher looks for.
    pub(crate) fn role(&self, matcher: &Matcher, text: &[u8]) -> Option<Role> {
        let of_user = self.user().iter().find_map(|format| format.role(matcher.wanted(), text));
        of_user.or_else(|| matcher.role(text))
    }

    /// Whether a text has one of the roles that a matcher looks for.
    pub(crate) fn is_match(&self, matcher: &Matcher, text: &[u8]) -> bool {
        matcher.is_match(text)
            || self.user().iter().any(|format| format.role(matcher.wanted(), text).is_some())
    }
}

#[cfg(test)]
mod tests;
