//! Searches for lines of given roles.

use crate::formats::built_in::BUILT_IN;
use crate::formats::schema::Role;
use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use std::sync::OnceLock;

/// The built-in lines of some roles, found with one search.
pub(crate) struct Matcher {
    wanted: &'static [Role],
    set: RegexSet,
    /// Each pattern of the set with its role.
    patterns: Vec<Pattern>,
    /// Bytes that a match can begin with, a bit each.
    first_bytes: [u64; 4],
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
    /// Looks for these roles. Where a line has several of them, the role that is named first here holds.
    #[expect(
        clippy::expect_used,
        reason = "the build script has parsed the patterns, and tests compile them"
    )]
    pub(crate) fn of(wanted: &'static [Role]) -> Matcher {
        let lines = || {
            let all = || BUILT_IN.iter().flat_map(|format| format.lines);
            wanted.iter().flat_map(move |role| all().filter(move |line| line.role == *role))
        };
        let mut first_bytes = [0; 4];
        for line in lines() {
            first_bytes.iter_mut().zip(line.first_bytes).for_each(|(all, own)| *all |= own);
        }
        // Word boundaries of Unicode are slow in lines with other characters than ASCII's, and runners print many.
        let set = RegexSetBuilder::new(lines().map(|line| line.pattern)).unicode(false).build();
        Matcher {
            wanted,
            set: set.expect("patterns of the built-in formats"),
            patterns: lines()
                .map(|line| Pattern { role: line.role, text: line.pattern, compiled: OnceLock::new() })
                .collect(),
            first_bytes,
        }
    }

    /// The roles that it looks for.
    pub(crate) fn wanted(&self) -> &'static [Role] {
        self.wanted
    }

    /// Whether a text is a line of one of the roles.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        let begins = |byte: &u8| self.first_bytes[usize::from(byte / 64)] >> (byte % 64) & 1 == 1;
        text.first().is_none_or(begins) && self.set.is_match(text)
    }

    /// Role of a text; `None` if it has none of them.
    pub(crate) fn role(&self, text: &[u8]) -> Option<Role> {
        // To find which patterns match takes longer than to find that there is one, and most lines have none.
        if !self.is_match(text) {
            return None;
        }
        self.set.matches(text).iter().next().map(|at| self.patterns[at].role)
    }

    /// The patterns that match a text, with their groups.
    pub(crate) fn captures<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (Role, Captures<'a>)> {
        let found = self.is_match(text).then(|| self.set.matches(text));
        let patterns = found.into_iter().flat_map(|found| found.into_iter().map(|at| &self.patterns[at]));
        patterns.filter_map(move |pattern| Some((pattern.role, pattern.captures(text)?)))
    }
}
