//! The vocabulary, as `build.rs` laid it out: slots, then offsets, then the bytes of all tokens.

include!("hash.rs");

/// The place of a token in the vocabulary; lower ranks are merged first.
pub(crate) type Rank = u32;

static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k.bin"));
const SLOTS: usize = 1 << 19;
const TOKENS: usize = 199_998;
const OFFSETS: usize = SLOTS * 4;
const BYTES: usize = OFFSETS + (TOKENS + 1) * 4;

/// No token of the vocabulary is longer.
const LONGEST: usize = 128;

fn number(at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&TABLE[at..at + 4]);
    u32::from_le_bytes(four)
}

/// The rank of `token`, if it is one.
pub(crate) fn rank(token: &[u8]) -> Option<Rank> {
    if token.is_empty() || token.len() > LONGEST {
        return None;
    }
    let (hash, of_it) = (token_hash(token), ends(token));
    let mark = ((hash >> 50) as u32) << 18;
    let mut at = hash as usize % SLOTS;
    loop {
        let slot = number(at * 4);
        if slot == 0 {
            return None;
        }
        if slot & !0x3_ffff == mark {
            let rank = (slot & 0x3_ffff) - 1;
            let offset = OFFSETS + rank as usize * 4;
            let found = &TABLE[BYTES + number(offset) as usize..BYTES + number(offset + 4) as usize];
            // Nearly all tokens are short, and their ends are all there is to compare.
            if found.len() == token.len() && ends(found) == of_it && (token.len() <= 16 || found == token) {
                return Some(rank);
            }
        }
        at = (at + 1) % SLOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_token_and_the_longest_token_is_as_long_as_we_say() {
        for byte in 0..=255u8 {
            assert!(rank(&[byte]).is_some(), "{byte}");
        }
        let longest = (0..TOKENS)
            .map(|rank| number(OFFSETS + rank * 4 + 4) - number(OFFSETS + rank * 4))
            .max()
            .unwrap();
        assert_eq!(longest as usize, LONGEST);
    }
}
