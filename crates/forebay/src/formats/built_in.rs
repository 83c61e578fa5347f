//! The formats that Forebay comes with, as the build script lays them out.

use crate::formats::description::{DescribedLine, Description};
use crate::formats::schema::Role;

/// Lines of one tool, or of tools that print alike.
pub(crate) struct Format {
    /// Name of its file without `.toml`.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) programs: &'static [&'static str],
    pub(crate) test_filters: &'static [&'static str],
    pub(crate) lines: &'static [Line],
}

/// One kind of line that a tool prints.
pub(crate) struct Line {
    pub(crate) role: Role,
    pub(crate) pattern: &'static str,
    /// Bytes that a match can begin with, a bit each; `None` if the pattern may match in the middle of a line.
    pub(crate) first_bytes: Option<[u64; 4]>,
    pub(crate) hint: &'static str,
    pub(crate) samples: &'static [&'static str],
}

/// The formats that Forebay comes with.
pub(crate) static BUILT_IN: &[Format] = include!(concat!(env!("OUT_DIR"), "/formats.rs"));

impl Format {
    /// Whether the format is that of a test runner: it has filters for tests, or lines that report on tests.
    pub(crate) fn is_of_tests(&self) -> bool {
        const ROLES: &[Role] =
            &[Role::Suite, Role::Failed, Role::Failure, Role::Summary, Role::Outcome, Role::TestRun];
        !self.test_filters.is_empty() || self.lines.iter().any(|line| ROLES.contains(&line.role))
    }

    /// The format as it is listed.
    pub(crate) fn describe(&self) -> Description {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let line = |line: &Line| DescribedLine {
            role: line.role,
            pattern: line.pattern.to_owned(),
            hint: line.hint.to_owned(),
            samples: texts(line.samples),
        };
        Description {
            name: self.name.to_owned(),
            built_in: true,
            about: self.about.to_owned(),
            programs: texts(self.programs),
            test_filters: texts(self.test_filters),
            lines: self.lines.iter().map(line).collect(),
        }
    }
}
