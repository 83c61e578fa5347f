//! Values that are shown although they look secret.

use crate::secret::{Fingerprint, ParseFingerprintError};
use crate::user::Problem;
use regex::bytes::{RegexSet, RegexSetBuilder};
use std::collections::HashSet;
use std::str::FromStr;

/// Maximum memory of all compiled patterns, in bytes.
const MAX_COMPILED: usize = 8 * 1024 * 1024;

/// Values that are not masked.
#[derive(Clone, Debug, Default)]
pub struct Allowlist {
    fingerprints: HashSet<Fingerprint>,
    patterns: Option<RegexSet>,
}

impl Allowlist {
    /// Reads a list with one entry on each line: the fingerprint of a value, or `/pattern/` for values that match it
    /// as a whole. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    ///
    /// All problems, in the order of the lines.
    ///
    /// # Examples
    ///
    /// ```
    /// use forebay_secrets::Allowlist;
    ///
    /// assert!(Allowlist::parse("# of the test server\n/test-[0-9a-f]{32}/\n").is_ok());
    /// assert_eq!(Allowlist::parse("/(/").unwrap_err()[0].line, 1);
    /// ```
    pub fn parse(text: &str) -> Result<Allowlist, Vec<Problem>> {
        let mut fingerprints = HashSet::new();
        let mut patterns = Vec::new();
        let mut problems = Vec::new();
        for (line, entry) in (1..).zip(text.lines().map(str::trim)) {
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            match entry.strip_prefix('/').and_then(|entry| entry.strip_suffix('/')) {
                Some(pattern) => match compile(&[whole(pattern)]) {
                    Ok(set) if set.is_match(b"") => {
                        let message =
                            "the pattern matches an empty value; make a part of it required".to_owned();
                        problems.push(Problem { line, message });
                    }
                    Ok(_) => patterns.push(whole(pattern)),
                    Err(error) => {
                        let message = format!("the pattern `{pattern}`: {error}");
                        problems.push(Problem { line, message });
                    }
                },
                None => match Fingerprint::from_str(entry) {
                    Ok(fingerprint) => {
                        fingerprints.insert(fingerprint);
                    }
                    Err(error) => problems.push(Problem { line, message: error.to_string() }),
                },
            }
        }
        let set = compile(&patterns)
            .map_err(|error| Problem { line: 1, message: format!("all patterns: {error}") });
        match set {
            Ok(set) if problems.is_empty() => {
                Ok(Allowlist { fingerprints, patterns: Some(set).filter(|set| !set.is_empty()) })
            }
            Ok(_) => Err(problems),
            Err(problem) => {
                problems.push(problem);
                Err(problems)
            }
        }
    }

    /// Whether a value is on the list.
    pub(crate) fn has(&self, value: &[u8], fingerprint: impl FnOnce() -> Fingerprint) -> bool {
        self.patterns.as_ref().is_some_and(|patterns| patterns.is_match(value))
            || !self.fingerprints.is_empty() && self.fingerprints.contains(&fingerprint())
    }
}

fn whole(pattern: &str) -> String {
    format!(r"\A(?:{pattern})\z")
}

fn compile(patterns: &[String]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns).unicode(false).size_limit(MAX_COMPILED).build()
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Fingerprint, ParseFingerprintError> {
        let mut bytes = [0; 16];
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() == 32).ok_or(ParseFingerprintError)?;
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = (pair[0] << 4 | pair[1]) as u8;
        }
        Ok(Fingerprint(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_allowed_by_fingerprint_or_as_a_whole_by_pattern() {
        let list = Allowlist::parse("# test\n\n000102030405060708090a0b0c0d0e0f\n/test-[0-9]+/\n").unwrap();
        let own = Fingerprint(std::array::from_fn(|at| at as u8));
        let other = Fingerprint([0; 16]);
        assert!(list.has(b"anything", || own));
        assert!(!list.has(b"anything", || other));
        assert!(list.has(b"test-12", || other));
        assert!(!list.has(b"a test-12", || other));
        assert_eq!(own.to_string().parse(), Ok(own));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, line, message) in [
            ("\n/(/", 2, "the pattern `(`"),
            ("/a*/", 1, "matches an empty value"),
            ("12ab", 1, "32 hexadecimal digits"),
            ("000102030405060708090a0b0c0d0e0g", 1, "32 hexadecimal digits"),
        ] {
            let problems = Allowlist::parse(text).unwrap_err();
            assert!(problems[0].line == line && problems[0].message.contains(message), "{problems:?}");
        }
    }
}
