//! The known forms of secrets: the built-in table and the rules of users.

use crate::encoding::{base64, crc32_base62};
use crate::placeholder::is_placeholder_token;
use crate::randomness::is_random;
pub(crate) use crate::schema::Check;
use crate::text::is_start;
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::OnceLock;

/// Maximum bytes of a secret that a rule finds. The longest are tokens that contain a certificate in base64.
const MAX_MATCH: usize = 8 * 1024;

/// Maximum bytes from the start of a match to the keyword in it.
const MAX_BEFORE: usize = 256;

/// Maximum bytes from a keyword to the end of the shortest match, if the keyword is not at its start.
const MAX_AFTER: usize = 512;

/// One kind of secret with a known form.
pub(crate) struct Rule {
    pub(crate) service: &'static str,
    pub(crate) name: &'static str,
    pub(crate) pattern: &'static str,
    /// Whether a match begins with its keyword.
    pub(crate) at_start: bool,
    pub(crate) checks: &'static [Check],
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for tests and for the list of rules"))]
    pub(crate) samples: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for tests and for the list of rules"))]
    pub(crate) counter_samples: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Compiled patterns of a built-in rule. A process compiles a pattern when it first finds its keyword.
#[expect(clippy::expect_used, reason = "the build script has parsed the patterns, and a test compiles them")]
fn compiled(number: usize) -> &'static Compiled {
    static COMPILED: OnceLock<Vec<OnceLock<Compiled>>> = OnceLock::new();
    let all = COMPILED.get_or_init(|| RULES.iter().map(|_| OnceLock::new()).collect());
    let rule = &RULES[number];
    all[number].get_or_init(|| Compiled::new(rule.pattern, rule.at_start).expect("a built-in pattern"))
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// Finds a match at a given start.
    here: Regex,
    /// Finds the start of a match; `None` if a match begins with its keyword.
    around: Option<Regex>,
}

impl Compiled {
    /// Compiles a pattern with the limits of all rules. `at_start` says that matches begin with a keyword.
    pub(crate) fn new(pattern: &str, at_start: bool) -> Result<Compiled, regex::Error> {
        let compile = |pattern: &str| {
            RegexBuilder::new(pattern).unicode(false).size_limit(1 << 20).dfa_size_limit(1 << 20).build()
        };
        let around = if at_start { None } else { Some(compile(pattern)?) };
        Ok(Compiled { here: compile(&format!(r"\A(?:{pattern})"))?, around })
    }

    /// The match around a keyword, and its first group, or the whole match if the pattern has no group.
    fn find(&self, text: &[u8], at: usize) -> Option<Match> {
        let here = |start: usize| {
            let found = self.here.captures(&text[start..text.len().min(start + MAX_MATCH)])?;
            let place = |found: regex::bytes::Match<'_>| start + found.start()..start + found.end();
            let whole = place(found.get_match());
            Some(Match { secret: found.get(1).map_or(whole.clone(), place), whole })
        };
        let Some(around) = &self.around else { return here(at) };
        let first = at.saturating_sub(MAX_BEFORE);
        let window = &text[..text.len().min(at + MAX_AFTER)];
        let mut from = first;
        while let Some(found) = around.find_at(window, from).filter(|found| found.start() <= at) {
            if found.end() > at {
                return here(found.start());
            }
            from = found.start() + 1;
        }
        None
    }
}

/// Match of a pattern.
struct Match {
    whole: Range<usize>,
    secret: Range<usize>,
}

/// Secret found by a built-in rule at a keyword.
pub(crate) fn find(text: &[u8], at: usize, number: u16) -> Option<Range<usize>> {
    let number = usize::from(number);
    find_with(text, at, compiled(number), RULES[number].checks)
}

/// Secret found by a pattern at a keyword.
pub(crate) fn find_with(
    text: &[u8],
    at: usize,
    pattern: &Compiled,
    checks: &[Check],
) -> Option<Range<usize>> {
    // Most keywords are in the middle of words.
    if pattern.around.is_none()
        && text[at].is_ascii_alphanumeric()
        && !is_start(text, at)
        && pattern.here.captures_len() == 1
    {
        return None;
    }
    let Match { whole, secret } = pattern.find(text, at)?;
    // A token is never part of a longer word. A pattern with text around its group checks this itself.
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let starts = secret.start > whole.start
        || !text[whole.start].is_ascii_alphanumeric()
        || is_start(text, whole.start);
    let ends = secret.end < whole.end || !text.get(whole.end).is_some_and(of_word);
    let accepted = starts && ends && !secret.is_empty() && accepts(&text[secret.clone()], checks);
    accepted.then_some(secret)
}

/// Whether a value passes the checks of its rule.
fn accepts(value: &[u8], checks: &[Check]) -> bool {
    let any = |of: fn(&u8) -> bool| value.iter().any(of);
    let passes = |check: &Check| match check {
        Check::Crc32Base62 => {
            let body = value.len().checked_sub(36).and_then(|start| value.get(start..start + 30));
            body.is_some_and(|body| value.ends_with(&crc32_base62(body)))
        }
        Check::Jwt => is_jwt(value),
        Check::Digit => any(u8::is_ascii_digit),
        Check::Mixed => any(u8::is_ascii_digit) && any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase),
        Check::Random => is_random(value),
        Check::Any => true,
    };
    checks.iter().all(passes) && (checks.contains(&Check::Any) || !is_placeholder_token(value))
}

/// Whether a value has the structure of a JSON web token.
fn is_jwt(value: &[u8]) -> bool {
    let Some(dot) = memchr::memchr(b'.', value) else { return false };
    let header = base64(&value[..dot]).unwrap_or_default();
    header.starts_with(b"{") && memchr::memmem::find(&header, b"\"alg\"").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::expand;

    #[test]
    fn every_rule_finds_its_samples_and_not_its_counter_samples() {
        let mut problems = Vec::new();
        for (number, rule) in (0..).zip(RULES) {
            let name = format!("{} {}", rule.service, rule.name);
            assert!(!rule.samples.is_empty(), "{name} has no samples");
            let finds = |text: &[u8]| {
                let mut found = None;
                crate::filter::for_each_keyword(text, |at, keyword| {
                    if keyword.actions.contains(&crate::filter::Action::Rule(number)) && found.is_none() {
                        found = find(text, at, number);
                    }
                });
                found
            };
            for sample in rule.samples {
                let text = expand(sample);
                if finds(&text).is_none() {
                    problems.push(format!("{name} does not find {}", text.escape_ascii()));
                }
            }
            for sample in rule.counter_samples {
                let text = expand(sample);
                if finds(&text).is_some() {
                    problems.push(format!("{name} finds {}", text.escape_ascii()));
                }
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn a_wrong_checksum_makes_a_sample() {
        let right = expand("{a30}{crc}");
        assert!(accepts(&right, &[Check::Crc32Base62]));
        let mut wrong = right;
        wrong[0] ^= 1;
        assert!(!accepts(&wrong, &[Check::Crc32Base62]));
        assert!(!accepts(b"short", &[Check::Crc32Base62]));
    }
}
