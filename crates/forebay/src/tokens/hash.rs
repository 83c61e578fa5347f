// The hash of the token table. The build script includes this file too, so that the table it writes
// and the lookups in it can never disagree.

/// A 64-bit mix of a token's bytes. Tokens are short, so one multiplication per eight bytes is enough.
pub(crate) fn token_hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (bytes.len() as u64).wrapping_mul(K);
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        hash = (hash ^ u64::from_le_bytes(eight)).wrapping_mul(K);
        hash ^= hash >> 29;
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(K);
    hash ^ (hash >> 32)
}
