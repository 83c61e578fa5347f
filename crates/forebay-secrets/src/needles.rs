//! Finds many texts in one pass over another text.

/// Texts to find, indexed by their first four bytes. A search takes as long for hundreds of texts as for one.
#[derive(Clone, Debug)]
pub(crate) struct Needles {
    /// One bit for each hash that some text has.
    bits: Box<[u64; 1 << (HASH_BITS - 6)]>,
    /// Texts, sorted by their hashes.
    entries: Vec<Needle>,
}

/// A text to find.
#[derive(Clone, Debug)]
struct Needle {
    hash: u32,
    text: Vec<u8>,
    /// Number of the text, in the given order.
    number: usize,
}

/// Bits of the hash.
const HASH_BITS: u32 = 16;

fn hash(bytes: [u8; 4]) -> u32 {
    u32::from_le_bytes(bytes).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)
}

impl Needles {
    /// Indexes these texts. Texts with fewer than four bytes are never found.
    pub(crate) fn new(texts: impl IntoIterator<Item = Vec<u8>>) -> Needles {
        let needle = |(number, text): (usize, Vec<u8>)| {
            Some(Needle { hash: hash(*text.first_chunk()?), text, number })
        };
        let mut entries: Vec<Needle> = texts.into_iter().enumerate().filter_map(needle).collect();
        entries.sort_by_key(|needle| needle.hash);
        let mut bits = Box::new([0; 1 << (HASH_BITS - 6)]);
        for needle in &entries {
            bits[needle.hash as usize / 64] |= 1 << (needle.hash % 64);
        }
        Needles { bits, entries }
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Calls `found` with the place and the number of each occurrence.
    pub(crate) fn find(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        if self.is_empty() {
            return;
        }
        let mut from = 0;
        while let Some(hit) = self.next_hit(&text[from..]) {
            let at = from + hit.at;
            let first = self.entries.partition_point(|needle| needle.hash < hit.hash);
            let same = self.entries[first..].iter().take_while(|needle| needle.hash == hit.hash);
            for needle in same.filter(|needle| text[at..].starts_with(&needle.text)) {
                found(at, needle.number);
            }
            from = at + 1;
        }
    }

    /// Finds the first place at which some text can begin. A separate function for the same reason as in
    /// [`crate::filter`].
    #[inline(never)]
    fn next_hit(&self, text: &[u8]) -> Option<Hit> {
        let bits = &*self.bits;
        let mut hits =
            text.array_windows::<4>().enumerate().map(|(at, bytes)| Hit { at, hash: hash(*bytes) });
        hits.find(|hit| bits[hit.hash as usize / 64] >> (hit.hash % 64) & 1 == 1)
    }
}

/// A place at which some text can begin.
struct Hit {
    at: usize,
    hash: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_texts_are_found_where_they_are() {
        let needles = Needles::new(["abcd", "abcde", "xyz", "cdab"].map(|text| text.as_bytes().to_vec()));
        let mut found = Vec::new();
        needles.find(b"xyz abcdeabcdabc", |at, number| found.push((at, number)));
        found.sort_unstable();
        assert_eq!(found, [(4, 0), (4, 1), (9, 0), (11, 3)]);
        Needles::new([]).find(b"abcd", |_, _| panic!("found nothing"));
    }
}
