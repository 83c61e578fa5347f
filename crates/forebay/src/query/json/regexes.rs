//! Regular expressions in filters, on the `regex` crate: each search is counted before it runs, each match as it is found.
//!
//! jaq's own engine takes minutes for `a{1000}b`, and gathers all matches before anything can count them.

use crate::query::json::fuel::Fuel;
use bytes::Bytes;
use jaq_core::Error;
use jaq_json::{Map, Val};
use regex::bytes::{Captures, Match, Regex, RegexBuilder};

/// Maximum bytes of a compiled pattern, with the cost of a search for each 16 bytes of text. The worst time of a search
/// grows with both.
const COST: [(usize, u64); 4] = [(32 << 10, 1), (128 << 10, 8), (512 << 10, 64), (2 << 20, 512)];

/// Cost of a match for each group: an object of about 400 bytes.
const PER_GROUP: u64 = 24;

/// The wanted parts of a text: the parts between matches, and the matches.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) between: bool,
    pub(crate) matches: bool,
}

/// A compiled pattern with the cost of a search.
#[derive(Clone)]
pub(crate) struct Pattern {
    regex: Regex,
    cost: u64,
    global: bool,
    no_empty: bool,
}

impl Pattern {
    /// Compiles a pattern with the flags of jq.
    pub(crate) fn new(pattern: &str, flags: &str) -> Result<Pattern, Error<Val>> {
        if let Some(flag) = flags.chars().find(|flag| !"gnimslxp".contains(*flag)) {
            return Err(Error::str(format_args!("invalid regex flag: {flag}")));
        }
        let has = |flag: char| flags.contains(flag);
        let mut builder = RegexBuilder::new(pattern);
        builder
            .case_insensitive(has('i'))
            .multi_line(has('m') || has('p'))
            .dot_matches_new_line(has('s') || has('p'))
            .swap_greed(has('l'))
            .ignore_whitespace(has('x'));
        let mut wrong = None;
        for (size, cost) in COST {
            match builder.size_limit(size).build() {
                Ok(regex) => return Ok(Pattern { regex, cost, global: has('g'), no_empty: has('n') }),
                Err(error @ regex::Error::CompiledTooBig(_)) => wrong = Some(error),
                Err(error) => return Err(Error::str(format_args!("invalid regex: {error}"))),
            }
        }
        Err(Error::str(format_args!("invalid regex: {}", wrong.map_or_else(String::new, |e| e.to_string()))))
    }

    /// The parts of a text; `None` once the fuel is used up.
    pub(crate) fn parts(&self, text: &Bytes, parts: Parts, fuel: &Fuel) -> Option<Val> {
        if !fuel.spend((text.len() as u64 / 16 + 1) * self.cost) {
            return None;
        }
        let mut found: Vec<Val> = Vec::new();
        let (mut last, mut characters) = (0, Characters::default());
        for captures in self.regex.captures_iter(text) {
            let whole = captures.get(0)?;
            if self.no_empty && whole.is_empty() {
                continue;
            }
            // A search may have gone through all of the text, so each match is a step.
            if !fuel.step() || !fuel.spend(PER_GROUP * captures.len() as u64) {
                return None;
            }
            if parts.between {
                found.push(slice(text, last..whole.start()));
                last = whole.end();
            }
            if parts.matches {
                found.push(self.groups(text, &captures, &whole, &mut characters));
            }
            if !self.global {
                break;
            }
        }
        if parts.between {
            found.push(slice(text, last..text.len()));
        }
        Some(found.into_iter().collect())
    }

    fn groups(&self, text: &Bytes, captures: &Captures, whole: &Match, characters: &mut Characters) -> Val {
        let before = characters.before(text, whole.start());
        let groups = captures.iter().zip(self.regex.capture_names());
        let object = |(group, name): (Option<Match>, Option<&str>)| {
            let group = group?;
            let offset = if group.start() >= whole.start() {
                before + count(&text[whole.start()..group.start()])
            } else {
                count(&text[..group.start()])
            };
            let key = |name: &'static str| Val::utf8_str(Bytes::from_static(name.as_bytes()));
            let mut object = Map::default();
            object.insert(key("offset"), Val::from(offset));
            object.insert(key("length"), Val::from(count(group.as_bytes())));
            object.insert(key("string"), slice(text, group.range()));
            if let Some(name) = name {
                object.insert(key("name"), Val::utf8_str(name.to_owned()));
            }
            Some(Val::obj(object))
        };
        groups.filter_map(object).collect()
    }
}

fn slice(text: &Bytes, range: std::ops::Range<usize>) -> Val {
    Val::utf8_str(text.slice(range))
}

/// Number of characters of a text.
fn count(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Counts characters up to positions that come in order.
#[derive(Default)]
struct Characters {
    at: usize,
    count: usize,
}

impl Characters {
    fn before(&mut self, text: &[u8], place: usize) -> usize {
        self.count += count(&text[self.at..place]);
        self.at = place;
        self.count
    }
}
