//! Bech32, the encoding of keys: a prefix, `1`, and the bytes with a checksum.

/// Characters of the five-bit digits.
const DIGITS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Number of digits of the checksum.
const CHECKSUM: usize = 6;

/// Encodes bytes in small letters.
pub(crate) fn encode(prefix: &str, bytes: &[u8]) -> String {
    let mut digits = regrouped(bytes, 8, 5);
    let mut values = prefix_values(prefix);
    values.extend(&digits);
    values.extend([0; CHECKSUM]);
    let sum = polymod(&values) ^ 1;
    digits.extend((0..CHECKSUM).rev().map(|at| (sum >> (5 * at)) as u8 & 31));
    let mut text = format!("{prefix}1");
    text.extend(digits.iter().map(|digit| char::from(DIGITS[usize::from(*digit)])));
    text
}

/// Decodes 32 bytes. The text is in small letters; its prefix and checksum must be right.
pub(crate) fn decode(prefix: &str, text: &str) -> Option<[u8; 32]> {
    let text = text.strip_prefix(prefix)?.strip_prefix('1')?;
    let digit = |byte| DIGITS.iter().position(|digit| *digit == byte).map(|at| at as u8);
    let digits: Vec<u8> = text.bytes().map(digit).collect::<Option<_>>()?;
    let mut values = prefix_values(prefix);
    values.extend(&digits);
    if polymod(&values) != 1 {
        return None;
    }
    let data = &digits[..digits.len().checked_sub(CHECKSUM)?];
    let bytes = regrouped(data, 5, 8);
    // 32 bytes end within a digit, whose other bits are zero.
    let (bytes, rest) = bytes.split_at_checked(32)?;
    (data.len() == 52 && rest.iter().all(|byte| *byte == 0)).then(|| bytes.try_into().ok())?
}

/// Regroups bits into values of another width, the last one filled with zeros.
fn regrouped(values: &[u8], from: u32, to: u32) -> Vec<u8> {
    let mut regrouped = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for value in values {
        bits = bits << from | u32::from(*value);
        count += from;
        while count >= to {
            count -= to;
            regrouped.push((bits >> count & ((1 << to) - 1)) as u8);
        }
    }
    if count > 0 {
        regrouped.push((bits << (to - count) & ((1 << to) - 1)) as u8);
    }
    regrouped
}

/// The values of a prefix that enter the checksum.
fn prefix_values(prefix: &str) -> Vec<u8> {
    let high = prefix.bytes().map(|byte| byte >> 5);
    let low = prefix.bytes().map(|byte| byte & 31);
    high.chain([0]).chain(low).collect()
}

/// The remainder whose value of 1 marks a right checksum.
fn polymod(values: &[u8]) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.iter().fold(1, |sum, value| {
        let top = sum >> 25;
        let next = (sum & 0x01ff_ffff) << 5 ^ u32::from(*value);
        (0..5).filter(|bit| top >> bit & 1 == 1).fold(next, |next, bit| next ^ GENERATOR[bit])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(bytes: [u8; 32]) {
            let text = encode("age", &bytes);
            prop_assert_eq!(text.len(), 62);
            prop_assert_eq!(decode("age", &text), Some(bytes));
        }

        #[test]
        fn a_changed_character_is_seen(bytes: [u8; 32], at in 4usize..62, digit in 0usize..32) {
            let mut text = encode("age", &bytes).into_bytes();
            prop_assume!(text[at] != DIGITS[digit]);
            text[at] = DIGITS[digit];
            prop_assert_eq!(decode("age", &String::from_utf8(text).unwrap()), None);
        }
    }
}
