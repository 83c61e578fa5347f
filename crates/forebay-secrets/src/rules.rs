//! The known forms of secrets: the built-in table and the rules of users.

use crate::encoding::{base64, crc32_base62};
use crate::placeholder::is_placeholder_token;
use crate::randomness::is_random;
pub(crate) use crate::schema::Check;
use crate::text::is_start;
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::OnceLock;

/// Maximum bytes of a secret that a rule finds. A certificate in base64 within a token makes the longest ones.
const MAX_MATCH: usize = 8 * 1024;

/// Maximum bytes from the start of a match to the keyword in it.
const MAX_BEFORE: usize = 256;

/// One kind of secret that is known by its form.
pub(crate) struct Rule {
    pub(crate) service: &'static str,
    pub(crate) name: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) checks: &'static [Check],
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for tests and for the list of rules"))]
    pub(crate) samples: &'static [&'static str],
    #[cfg_attr(not(test), expect(dead_code, reason = "samples are for tests and for the list of rules"))]
    pub(crate) counter_samples: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// The compiled pattern of a built-in rule. A process compiles those whose keywords it meets.
#[expect(clippy::expect_used, reason = "the build script has parsed the patterns, and a test compiles them")]
fn compiled(number: usize) -> &'static Regex {
    static COMPILED: OnceLock<Vec<OnceLock<Regex>>> = OnceLock::new();
    let all = COMPILED.get_or_init(|| RULES.iter().map(|_| OnceLock::new()).collect());
    all[number].get_or_init(|| compile(RULES[number].pattern).expect("a built-in pattern"))
}

/// Compiles a pattern with the limits that hold for all rules.
pub(crate) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(1 << 20).dfa_size_limit(1 << 20).build()
}

/// The secret that a built-in rule finds at a keyword.
pub(crate) fn find(text: &[u8], at: usize, number: u16) -> Option<Range<usize>> {
    let number = usize::from(number);
    find_with(text, at, compiled(number), RULES[number].checks)
}

/// The secret that a pattern finds at a keyword.
pub(crate) fn find_with(text: &[u8], at: usize, pattern: &Regex, checks: &[Check]) -> Option<Range<usize>> {
    let first = at.saturating_sub(MAX_BEFORE);
    let last = text.len().min(at + MAX_MATCH);
    let window = &text[first..last];
    // Most patterns begin with their keyword; the others have it within the match.
    let mut from = at - first;
    let mut found = pattern.captures_at(window, from).filter(|found| found.get_match().start() == from);
    if found.is_none() {
        from = 0;
        while found.is_none() {
            let next = pattern.captures_at(window, from)?;
            let range = next.get_match().range();
            if range.start > at - first {
                return None;
            }
            from = range.start + 1;
            found = (range.end > at - first).then_some(next);
        }
    }
    let found = found?;
    let whole = first + found.get_match().start()..first + found.get_match().end();
    let group = found.get(1).map_or(whole.clone(), |group| first + group.start()..first + group.end());
    // A token is no part of a longer word. Where the pattern has other text around it, that says so itself.
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let starts = group.start > whole.start
        || !text[whole.start].is_ascii_alphanumeric()
        || is_start(text, whole.start);
    let ends = group.end < whole.end || !text.get(whole.end).is_some_and(of_word);
    let accepted = starts && ends && accepts(&text[group.clone()], checks);
    (accepted && !group.is_empty()).then_some(group)
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
