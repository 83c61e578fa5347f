//! Finds the keywords of all rules in a text, reading each byte once.
//!
//! The build script generates the table, so creating a scanner builds nothing. Each four bytes are hashed, and a bit
//! tells whether a keyword begins with such bytes. At the few places that pass, the keywords are compared.

use crate::text::starts_with_ignore_case;

include!("fold.rs");

/// A search that starts at a keyword but looks for no known form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// A word in the name of a setting.
    Name,
    /// A word that points to a service in the name of a setting.
    Service,
    /// A header that sends or sets cookies.
    Cookie,
    /// An authentication scheme before its credentials.
    Scheme,
    /// The `://` of a URL.
    Url,
    /// The first or last line of a PEM block.
    Pem,
    /// The kind of a Kubernetes object.
    Kubernetes,
    /// An option of a command line that takes a password.
    Command,
    /// A field of a PostgreSQL password file.
    PgPass,
    /// A secret that is masked already.
    Mask,
}

/// The search that a keyword starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The rule with this number.
    Rule(u16),
    /// Another search.
    Anchor(Anchor),
}

/// A text that every match of some rule contains, in lower case.
pub(crate) struct Keyword {
    pub(crate) text: &'static [u8],
    pub(crate) actions: &'static [Action],
}

/// Keywords by the hash of their first bytes.
pub(crate) struct Hashes {
    /// One bit for each hash that some keyword has.
    bits: [u64; 1 << (HASH_BITS - 6)],
    /// For every sixteen hashes, the index of their first entry.
    starts: [u16; (1 << (HASH_BITS - 4)) + 1],
    entries: &'static [Entry],
}

/// A keyword by the hash of its first bytes.
pub(crate) struct Entry {
    hash: u16,
    keyword: u16,
}

impl Hashes {
    /// Whether some keyword has the hash.
    fn has(&self, hash: u32) -> bool {
        self.bits[hash as usize / 64] >> (hash % 64) & 1 == 1
    }

    /// The keywords that have the hash.
    fn keywords(&self, hash: u32) -> impl Iterator<Item = &'static Keyword> {
        let bucket = (hash >> 4) as usize;
        let entries = &self.entries[usize::from(self.starts[bucket])..usize::from(self.starts[bucket + 1])];
        entries
            .iter()
            .filter(move |entry| u32::from(entry.hash) == hash)
            .map(|entry| &KEYWORDS[usize::from(entry.keyword)])
    }
}

include!(concat!(env!("OUT_DIR"), "/filter.rs"));

/// Calls `found` with each keyword and its place, in the order of the text.
pub(crate) fn for_each_keyword(text: &[u8], mut found: impl FnMut(usize, &'static Keyword)) {
    let mut from = 0;
    while let Some(hit) = next_hit(&text[from..]) {
        let at = from + hit.at;
        let keywords = LONG.keywords(hit.long).chain(SHORT.keywords(hit.short));
        for keyword in keywords.filter(|keyword| starts_with_ignore_case(&text[at..], keyword.text)) {
            found(at, keyword);
        }
        from = at + 1;
    }
}

/// A place at which some keyword can begin.
struct Hit {
    at: usize,
    long: u32,
    short: u32,
}

/// Finds the first place at which some keyword can begin. Nearly all time is spent in this loop; a separate function
/// keeps its variables in registers.
#[inline(never)]
fn next_hit(text: &[u8]) -> Option<Hit> {
    let hits = text.array_windows::<4>().enumerate().map(|(at, bytes)| Hit {
        at,
        long: fold_four(*bytes),
        short: fold_three(*bytes),
    });
    hits.into_iter().find(|hit| LONG.has(hit.long) || SHORT.has(hit.short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_either_case_and_nothing_else_is() {
        for keyword in KEYWORDS {
            for text in [keyword.text.to_ascii_lowercase(), keyword.text.to_ascii_uppercase()] {
                let text = [b"\x00~", &*text, b"\x00~"].concat();
                let mut places = Vec::new();
                for_each_keyword(&text, |at, found| {
                    assert!(starts_with_ignore_case(&text[at..], found.text));
                    if found.text == keyword.text {
                        places.push(at);
                    }
                });
                assert_eq!(places, [2], "{}", keyword.text.escape_ascii());
            }
        }
        for_each_keyword(b"\x00\x01~~ 12 34 {} \xff\xfe", |at, _| panic!("a keyword at {at}"));
    }
}
