//! Finds the keywords of all rules in a text, with one look at each byte.
//!
//! The build script lays the table out, so that nothing is built when a scanner is made. Four bytes at a time are folded
//! into a hash; a bit says whether a keyword begins with such bytes. Few places pass, and there the keywords are
//! compared.

use crate::text::starts_with_ignore_case;

include!("fold.rs");
include!("anchors.rs");

/// Search that begins at a text which is not part of a known form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// A word in the name of a setting.
    Name,
    /// A word that points to a service in the name of a setting.
    Service,
    /// The header that sends cookies, or sets one.
    Cookie,
    /// An authentication scheme before its credentials.
    Scheme,
    /// What is between the scheme and the host of a URL.
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

/// What a keyword starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The rule with this number.
    Rule(u16),
    /// Another search.
    Anchor(Anchor),
}

/// A text that every match of some rule contains, in small letters.
pub(crate) struct Keyword {
    pub(crate) text: &'static [u8],
    pub(crate) actions: &'static [Action],
}

include!(concat!(env!("OUT_DIR"), "/filter.rs"));

/// Calls `found` with the place of each keyword and the keyword, in the order of the text.
pub(crate) fn for_each_keyword<'a>(text: &[u8], mut found: impl FnMut(usize, &'a Keyword)) {
    let mut check = |at: usize, hash: u32| {
        if BITS[hash as usize / 64] >> (hash % 64) & 1 == 0 {
            return;
        }
        let bucket = (hash >> 4) as usize;
        let entries = &ENTRIES[usize::from(STARTS[bucket])..usize::from(STARTS[bucket + 1])];
        for (_, number) in entries.iter().filter(|entry| u32::from(entry.0) == hash) {
            let keyword = &KEYWORDS[usize::from(*number)];
            if starts_with_ignore_case(&text[at..], keyword.text) {
                found(at, keyword);
            }
        }
    };
    for (at, bytes) in text.array_windows::<4>().enumerate() {
        let hash = fold(*bytes);
        check(at, hash);
    }
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
