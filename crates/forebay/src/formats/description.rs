//! A format as it is listed.

use crate::formats::schema::Role;
use serde::Serialize;

/// A format as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Description {
    /// Name of its file without `.toml`.
    pub name: String,
    /// Whether Forebay comes with it.
    pub built_in: bool,
    /// The tools, in a few words.
    pub about: String,
    /// Names of the programs.
    pub programs: Vec<String>,
    /// Options of the programs that are followed by the name of a test.
    pub test_filters: Vec<String>,
    /// The lines that the tools print.
    pub lines: Vec<DescribedLine>,
}

/// One kind of line of a format, as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DescribedLine {
    /// Role of such a line.
    pub role: Role,
    /// Regular expression that finds it.
    pub pattern: String,
    /// Remark for readers; empty if there is none.
    pub hint: String,
    /// Lines that the pattern matches.
    pub samples: Vec<String>,
}
