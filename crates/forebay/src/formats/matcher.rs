//! Searches for lines of given roles.

use crate::formats::built_in::{BUILT_IN, Line};
use crate::formats::schema::Role;
use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use std::sync::OnceLock;

/// The built-in lines of some roles, found with two searches.
pub(crate) struct Matcher {
    wanted: &'static [Role],
    /// Patterns in the order of their roles.
    patterns: Vec<Pattern>,
    /// Patterns that match only at the beginning of a line. In a joint search with the others, every byte with which
    /// one of them can begin would start a search in the whole line.
    at_start: Group,
    /// Those that may match anywhere.
    anywhere: Group,
    /// Bytes that a match at the beginning can begin with, a bit each.
    first_bytes: [u64; 4],
}

/// Patterns that are searched together.
struct Group {
    set: RegexSet,
    /// Index in the matcher of each pattern of the set, ascending.
    indices: Vec<usize>,
}

impl Group {
    #[expect(
        clippy::expect_used,
        reason = "the build script has parsed the patterns, and tests compile them"
    )]
    fn of(lines: &[&Line], belongs: impl Fn(&Line) -> bool) -> Group {
        let indices: Vec<usize> = (0..lines.len()).filter(|&at| belongs(lines[at])).collect();
        // Word boundaries of Unicode are slow in lines with other characters than ASCII's, and runners print many.
        let set = RegexSetBuilder::new(indices.iter().map(|&at| lines[at].pattern)).unicode(false).build();
        Group { set: set.expect("patterns of the built-in formats"), indices }
    }

    fn is_match(&self, text: &[u8]) -> bool {
        !self.indices.is_empty() && self.set.is_match(text)
    }

    /// Indices of the patterns that match.
    fn matches(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        // To find which patterns match takes longer than to find that there is one, and most lines have none.
        let found = self.is_match(text).then(|| self.set.matches(text));
        found.into_iter().flat_map(|found| found.into_iter().map(|at| self.indices[at]))
    }
}

/// One pattern of a matcher.
struct Pattern {
    role: Role,
    text: &'static str,
    /// For matches that need to know where the groups are.
    compiled: OnceLock<Regex>,
}

impl Pattern {
    #[expect(
        clippy::expect_used,
        reason = "the build script has parsed the patterns, and tests compile them"
    )]
    fn captures<'a>(&self, text: &'a [u8]) -> Option<Captures<'a>> {
        let compile = || {
            let built = RegexBuilder::new(self.text).unicode(false).build();
            built.expect("a pattern of the built-in formats")
        };
        self.compiled.get_or_init(compile).captures(text)
    }
}

impl Matcher {
    /// A matcher for these roles. If a line has several of them, the first one in this list applies.
    pub(crate) fn of(wanted: &'static [Role]) -> Matcher {
        let all = || BUILT_IN.iter().flat_map(|format| format.lines);
        let of_role = |role: &'static Role| all().filter(move |line| line.role == *role);
        let lines: Vec<&Line> = wanted.iter().flat_map(of_role).collect();
        let mut first_bytes = [0; 4];
        for line in lines.iter().filter_map(|line| line.first_bytes) {
            first_bytes.iter_mut().zip(line).for_each(|(all, own)| *all |= own);
        }
        let pattern =
            |line: &&Line| Pattern { role: line.role, text: line.pattern, compiled: OnceLock::new() };
        Matcher {
            wanted,
            patterns: lines.iter().map(pattern).collect(),
            at_start: Group::of(&lines, |line| line.first_bytes.is_some()),
            anywhere: Group::of(&lines, |line| line.first_bytes.is_none()),
            first_bytes,
        }
    }

    /// The roles that it looks for.
    pub(crate) fn wanted(&self) -> &'static [Role] {
        self.wanted
    }

    /// Whether a match at the beginning of a text is possible.
    fn may_begin(&self, text: &[u8]) -> bool {
        let begins = |byte: &u8| self.first_bytes[usize::from(byte / 64)] >> (byte % 64) & 1 == 1;
        text.first().is_none_or(begins)
    }

    /// Whether a text is a line of one of the roles.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.may_begin(text) && self.at_start.is_match(text) || self.anywhere.is_match(text)
    }

    /// Indices of the patterns that match a text, in no order.
    fn matches(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        let at_start = self.may_begin(text).then(|| self.at_start.matches(text));
        at_start.into_iter().flatten().chain(self.anywhere.matches(text))
    }

    /// Role of a text; `None` if it has none of them.
    pub(crate) fn role(&self, text: &[u8]) -> Option<Role> {
        self.matches(text).min().map(|at| self.patterns[at].role)
    }

    /// The patterns that match a text, with their groups, in the order of their roles.
    pub(crate) fn captures<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (Role, Captures<'a>)> {
        let mut found: Vec<usize> = self.matches(text).collect();
        found.sort_unstable();
        let patterns = found.into_iter().map(|at| &self.patterns[at]);
        patterns.filter_map(move |pattern| Some((pattern.role, pattern.captures(text)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_the_first_that_any_pattern_gives_wherever_it_matches() {
        const ROLES: &[Role] =
            &[Role::Summary, Role::Verdict, Role::Frame, Role::Log, Role::Passed, Role::Suite];
        let matcher = Matcher::of(ROLES);
        assert!(!matcher.at_start.indices.is_empty() && !matcher.anywhere.indices.is_empty());
        let samples = || BUILT_IN.iter().flat_map(|format| format.lines).flat_map(|line| line.samples);
        let cut = |line: &'static str| (0..=line.len()).filter_map(move |at| line.get(at..));
        let mut both = 0;
        for text in samples().flat_map(|line| cut(line)).map(str::as_bytes) {
            let has = |pattern: &&Pattern| pattern.captures(text).is_some();
            let expected: Vec<Role> =
                matcher.patterns.iter().filter(has).map(|pattern| pattern.role).collect();
            let line = String::from_utf8_lossy(text);
            assert_eq!(matcher.role(text), expected.first().copied(), "{line}");
            assert_eq!(matcher.is_match(text), !expected.is_empty(), "{line}");
            assert_eq!(matcher.captures(text).map(|(role, _)| role).collect::<Vec<_>>(), expected, "{line}");
            both += usize::from(matcher.at_start.is_match(text) && matcher.anywhere.is_match(text));
        }
        assert!(both > 0, "no line matches both at its beginning and inside");
    }
}
