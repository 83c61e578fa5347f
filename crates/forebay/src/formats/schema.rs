//! Layout of a format file. The build script reads the built-in files with it, and the library those of a user.

use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Role of a line in a tool's output.
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
    /// A test passed, was not run, or failed as it should.
    Passed,
    /// A test is about to run. Its name may contain the failure that it checks for.
    Announcement,
    /// A form in which only this tool says that something failed. Where the pattern has a group, the group begins with
    /// the word that says so: `error`, `FAIL`.
    Verdict,
    /// A line that begins by reporting an error.
    Error,
    /// The failure on the line above does no harm.
    Ignored,
    /// A call in a stack trace.
    Frame,
    /// A call inside the runtime of a language.
    RuntimeFrame,
    /// A call by which a test runner reaches a test.
    RunnerFrame,
    /// Source code that is quoted.
    QuotedCode,
    /// A message for developers of the tool itself.
    Detail,
    /// Nothing that helps a reader: the line is the same in every output, or only a machine reads it.
    Noise,
    /// A section of a log begins; the group of the pattern is its title.
    Section,
    /// A section begins that ends with a `group-end` line; the group of the pattern is its title.
    Group,
    /// A section of a log ends.
    GroupEnd,
    /// Only a log of this system has this line.
    Log,
}

/// One file: the format of one tool, or of tools with similar output.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// The tools, in a few words.
    pub(crate) about: String,
    /// Names of the programs.
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    /// Options of the programs that are followed by the name of a test.
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
    /// Remark for readers of the file.
    #[serde(default)]
    pub(crate) hint: String,
    /// Lines that the pattern must match.
    pub(crate) samples: Vec<Spanned<String>>,
}
