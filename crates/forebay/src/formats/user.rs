//! Format files of a user.

use crate::formats::built_in::{self, BUILT_IN};
use crate::formats::description::{DescribedLine, Description};
use crate::formats::schema::{File, Line, Role};
use regex::bytes::{RegexSet, RegexSetBuilder};
use std::ops::Range;

/// Maximum bytes of a file: more than ten times the largest built-in one.
const MAX_BYTES: usize = 64 * 1024;

/// Maximum lines of a file. Every output is searched for all of them.
const MAX_LINES: usize = 200;

/// Maximum bytes of a pattern: several times the longest built-in one.
const MAX_PATTERN: usize = 1_000;

/// Maximum bytes of memory for one compiled pattern, and for all of a file.
const MAX_COMPILED: usize = 1024 * 1024;
const MAX_COMPILED_FILE: usize = 8 * 1024 * 1024;

/// A format file of a user. Its patterns take time in proportion to the text they are matched against, as all of the
/// `regex` crate do, and their size is bounded.
#[derive(Clone, Debug)]
pub struct UserFormat {
    name: String,
    file: File,
    set: RegexSet,
}

impl PartialEq for UserFormat {
    fn eq(&self, other: &UserFormat) -> bool {
        self.describe() == other.describe()
    }
}

/// Fault of a format file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the line, from 1.
    pub line: usize,
    /// Description of the fault, and the remedy.
    pub message: String,
}

impl UserFormat {
    /// Reads a format file. `name` is the file's name without `.toml`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in the order of the lines.
    pub fn parse(name: &str, text: &str) -> Result<UserFormat, Vec<Problem>> {
        let at = |place: Range<usize>, message: String| Problem {
            line: 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..place.start.min(text.len())]).count(),
            message,
        };
        if text.len() > MAX_BYTES {
            return Err(vec![at(
                0..0,
                format!("the file has {} bytes; {MAX_BYTES} are allowed", text.len()),
            )]);
        }
        let file: File = toml::from_str(text)
            .map_err(|error| vec![at(error.span().unwrap_or_default(), error.message().to_owned())])?;
        let mut problems: Vec<Problem> = Vec::new();
        if let Some(line) = file.lines.get(MAX_LINES) {
            problems.push(at(line.pattern.span(), format!("more than {MAX_LINES} lines; split the file")));
        }
        for line in file.lines.iter().take(MAX_LINES) {
            let wrong = line.wrong().into_iter();
            problems.extend(wrong.map(|(place, message)| at(place, message)));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        match compiled(file.lines.iter().map(|line| &**line.pattern.get_ref()), MAX_COMPILED_FILE) {
            Ok(set) => Ok(UserFormat { name: name.to_owned(), file, set }),
            Err(message) => Err(vec![at(0..0, format!("all patterns together: {message}"))]),
        }
    }

    /// Role of a text among the wanted ones. If it has several, the first wanted one.
    pub(crate) fn role(&self, wanted: &[Role], text: &[u8]) -> Option<Role> {
        if !self.set.is_match(text) {
            return None;
        }
        let found = self.set.matches(text);
        wanted.iter().copied().find(|role| found.iter().any(|at| self.file.lines[at].role == *role))
    }

    /// The programs of the tools.
    pub(crate) fn programs(&self) -> &[String] {
        &self.file.programs
    }

    /// Options of the programs that are followed by the name of a test.
    pub(crate) fn test_filters(&self) -> &[String] {
        &self.file.test_filters
    }

    /// The format as it is listed.
    pub fn describe(&self) -> Description {
        let File { about, programs, test_filters, lines } = &self.file;
        let line = |line: &Line| DescribedLine {
            role: line.role,
            pattern: line.pattern.get_ref().clone(),
            hint: line.hint.clone(),
            samples: line.samples.iter().map(|sample| sample.get_ref().clone()).collect(),
        };
        Description {
            name: self.name.clone(),
            built_in: false,
            about: about.clone(),
            programs: programs.clone(),
            test_filters: test_filters.clone(),
            lines: lines.iter().map(line).collect(),
        }
    }
}

impl Line {
    /// Faults of one `[[line]]` table, each with its place in the file.
    fn wrong(&self) -> Vec<(Range<usize>, String)> {
        let pattern = self.pattern.get_ref();
        if !self.role.is_for_users() {
            let message = format!("only built-in formats have lines of the role `{}`", self.role);
            return vec![(self.pattern.span(), message)];
        }
        if pattern.len() > MAX_PATTERN {
            let message = format!("the pattern has {} bytes; {MAX_PATTERN} are allowed", pattern.len());
            return vec![(self.pattern.span(), message)];
        }
        let set = match compiled([pattern.as_str()].into_iter(), MAX_COMPILED) {
            Ok(set) => set,
            Err(message) => return vec![(self.pattern.span(), format!("the pattern: {message}"))],
        };
        if set.is_match(b"") {
            return vec![(self.pattern.span(), "the pattern matches an empty line".to_owned())];
        }
        if self.samples.is_empty() {
            let message = "no samples; give at least one line that the tool prints".to_owned();
            return vec![(self.pattern.span(), message)];
        }
        let wrong = |sample: &toml::Spanned<String>| {
            let text = sample.get_ref();
            if !set.is_match(self.role.text(text.as_bytes())) {
                return Some((sample.span(), format!("the pattern does not match this sample: {text}")));
            }
            let (name, role) = contradiction(self.role, text)?;
            let message =
                format!("the format `{name}` takes this sample for a line of the role `{role}`: {text}");
            Some((sample.span(), message))
        };
        self.samples.iter().filter_map(wrong).collect()
    }
}

/// The built-in format, and its role, that says the opposite of a sample.
pub(crate) fn contradiction(role: Role, sample: &str) -> Option<(&'static str, Role)> {
    let lines = BUILT_IN.iter().flat_map(|format| format.lines.iter().map(move |line| (format.name, line)));
    let mut contrary = lines.filter(|(_, line)| role.contradicts(line.role));
    let claims = |line: &built_in::Line| {
        let pattern = compiled([line.pattern].into_iter(), MAX_COMPILED_FILE);
        pattern.is_ok_and(|pattern| pattern.is_match(line.role.text(sample.as_bytes())))
    };
    contrary.find(|(_, line)| claims(line)).map(|(name, line)| (name, line.role))
}

/// Fault of a pattern.
#[derive(Debug, thiserror::Error)]
enum PatternFault {
    #[error("needs more than {0} bytes of memory; make it shorter")]
    TooLarge(usize),
    #[error("{0}")]
    Syntax(String),
}

fn compiled<'a>(patterns: impl Iterator<Item = &'a str>, size: usize) -> Result<RegexSet, PatternFault> {
    let built = RegexSetBuilder::new(patterns).unicode(false).size_limit(size).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(size) => PatternFault::TooLarge(size),
        // The message points at the place in the pattern with lines of its own.
        error => {
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default();
            PatternFault::Syntax(last.trim_start_matches("error: ").to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "about = \"checker\"\nprograms = [\"checker\"]\n\n[[line]]\nrole = \"failed\"\npattern = '^BROKEN: '\nsamples = [\"BROKEN: cart\"]\n";

    fn problems(text: &str) -> Vec<(usize, String)> {
        let problems = UserFormat::parse("checker", text).unwrap_err();
        problems.into_iter().map(|problem| (problem.line, problem.message)).collect()
    }

    #[test]
    fn a_file_says_which_lines_have_which_role() {
        let format = UserFormat::parse("checker", FILE).unwrap();
        assert_eq!(format.role(&[Role::Summary, Role::Failed], b"BROKEN: tax"), Some(Role::Failed));
        assert_eq!(format.role(&[Role::Summary], b"BROKEN: tax"), None);
        assert_eq!(format.role(&[Role::Failed], b"it is BROKEN: tax"), None);
        assert_eq!(format.describe().lines.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let table = [
            (FILE.replace("failed", "broken"), 5, "unknown variant `broken`"),
            (FILE.replace("role", "rule"), 5, "unknown field `rule`"),
            (FILE.replace("^BROKEN: ", "^(BROKEN"), 6, "the pattern: unclosed group"),
            (FILE.replace("^BROKEN: ", "(?:BROKEN|x{200}{200}{200})"), 6, "needs more than"),
            (FILE.replace("^BROKEN: ", &"B".repeat(1_001)), 6, "1000 are allowed"),
            (FILE.replace("^BROKEN: ", "(?:BROKEN)?"), 6, "matches an empty line"),
            (FILE.replace("[\"BROKEN: cart\"]", "[]"), 6, "no samples"),
            (
                FILE.replace("[\"BROKEN: cart\"]", "[\n\"BROKEN: cart\",\n\"cart\"]"),
                9,
                "does not match this sample: cart",
            ),
            (
                FILE.replace("^BROKEN: ", "^test ").replace("BROKEN: cart", "test result: ok. 3 passed"),
                7,
                "`cargo-test`",
            ),
            (" ".repeat(MAX_BYTES + 1), 1, "bytes"),
        ];
        for (text, line, message) in table {
            let problems = problems(&text);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].0 == line && problems[0].1.contains(message), "{problems:?} for {message}");
        }
    }
}
