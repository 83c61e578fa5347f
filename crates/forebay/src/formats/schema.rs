//! Layout of a format file. The build script reads the built-in files with it, and the library those of a user.

use serde::{Deserialize, Serialize};
use toml::Spanned;

/// What a line of a tool's output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Role {
    /// How a test run ended.
    Summary,
    /// A part of a test run begins: a file, a class, a package.
    Suite,
    /// A test failed, and the line is all there is.
    Failed,
    /// A test failed, and the lines after this one say how.
    Failure,
    /// A test with its result, whatever that is.
    Outcome,
    /// Only a test run prints this line.
    TestRun,
}

/// One file: what is known of one tool, or of tools that print alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The tools, in a few words.
    pub(crate) about: String,
    /// Names of the programs.
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    /// Options of the programs that stand before the name of a test.
    #[serde(default)]
    pub(crate) test_filters: Vec<String>,
    /// The lines that the tools print.
    #[serde(default, rename = "line")]
    pub(crate) lines: Vec<Line>,
}

/// One kind of line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    pub(crate) role: Role,
    /// Regular expression that finds the line. Letters, digits and word boundaries are those of ASCII.
    pub(crate) pattern: Spanned<String>,
    /// Remark for whoever reads the file.
    #[serde(default)]
    pub(crate) hint: String,
    /// Lines that the pattern must match.
    pub(crate) samples: Vec<Spanned<String>>,
}
