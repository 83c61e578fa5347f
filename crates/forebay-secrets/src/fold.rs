// Shared by the build script, which lays out the filter, and by the library, which reads it.

/// Bits of the filter's hash: 2^16 bits are 8 KiB, which leaves room beside it in a first-level cache.
pub(crate) const HASH_BITS: u32 = 16;

/// Hash of four bytes, the same for upper and lower case.
pub(crate) fn fold_four(bytes: [u8; 4]) -> u32 {
    (u32::from_le_bytes(bytes) | 0x2020_2020).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)
}

/// Hash of the first three of four bytes, the same for upper and lower case.
pub(crate) fn fold_three(bytes: [u8; 4]) -> u32 {
    ((u32::from_le_bytes(bytes) | 0x2020_2020) << 8).wrapping_mul(0x85EB_CA6B) >> (32 - HASH_BITS)
}
