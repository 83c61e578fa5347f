// The hash of the token table. The build script includes this file too, so that the table it writes
// and the lookups in it can never disagree.

/// A 64-bit mix of a token's bytes. Tokens are short, and nearly all of them differ at their ends.
pub(crate) fn token_hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = |hash: u64, word: u64| {
        let hash = (hash ^ word).wrapping_mul(K);
        hash ^ (hash >> 29)
    };
    let mut hash = (bytes.len() as u64).wrapping_mul(K);
    // Between its first and its last eight bytes, which may overlap, only a long token has more.
    for word in bytes.get(8..).unwrap_or_default().chunks_exact(8) {
        hash = mixed(hash, word.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    }
    let (first, last) = ends(bytes);
    mixed(mixed(hash, first), last)
}

/// The first and the last bytes as two numbers: all there is of up to sixteen bytes whose length is known.
fn ends(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
    }
    let byte = |at: usize| bytes.get(at).copied().map_or(0, u64::from);
    (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
}
