//! Searches with regular expressions in filters: each search is counted before it runs, each match as it is found.
//!
//! jaq's own engine gathers all matches before anything can count them.

use crate::query::json::jq::fuel::Fuel;
use crate::query::json::jq::regexes::Pattern;
use bytes::Bytes;
use jaq_json::{Map, Val};
use regex::bytes::{Captures, Match};

/// Cost of a match for each group: an object of about 400 bytes.
const PER_GROUP: u64 = 24;

/// The wanted parts of a text: the parts between matches, and the matches.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) between: bool,
    pub(crate) matches: bool,
}

impl Pattern {
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

/// Counts characters up to increasing positions.
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
