//! The encodings in which secrets are written.

/// Decodes base64 of either alphabet, with or without padding. White space, also as the escapes `\n` and `\r`, is
/// skipped.
pub(crate) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits = 0u32;
    let mut count = 0;
    let mut padding = 0;
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            b'\\' if matches!(after, [b'n' | b'r', ..]) => {
                rest = &after[1..];
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count % 4 == 0 {
            out.extend([(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]);
            bits = 0;
        }
    }
    match (count % 4, padding) {
        (0, 0) => {}
        (2, 0 | 2) => out.push((bits >> 4) as u8),
        (3, 0 | 1) => out.extend([(bits >> 10) as u8, (bits >> 2) as u8]),
        _ => return None,
    }
    Some(out)
}

/// Writes bytes in base64 with padding. `plus_and_slash` are the last two characters of the alphabet.
pub(crate) fn to_base64(bytes: &[u8], plus_and_slash: [u8; 2]) -> Vec<u8> {
    let digit = |value: u32| match (value & 63) as u8 {
        value @ 0..=25 => b'A' + value,
        value @ 26..=51 => b'a' + value - 26,
        value @ 52..=61 => b'0' + value - 52,
        62 => plus_and_slash[0],
        _ => plus_and_slash[1],
    };
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        out.extend([digit(bits >> 18), digit(bits >> 12)]);
        out.push(if chunk.len() > 1 { digit(bits >> 6) } else { b'=' });
        out.push(if chunk.len() > 2 { digit(bits) } else { b'=' });
    }
    out
}

/// CRC-32 as in ZIP files.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 },
        )
    };
    !bytes.iter().fold(!0, step)
}

/// CRC-32 of a text in base 62, as the six characters with which tokens of GitHub and npm end.
pub(crate) fn crc32_base62(bytes: &[u8]) -> [u8; 6] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = crc32(bytes);
    let mut out = [b'0'; 6];
    for digit in out.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_in_either_alphabet_with_or_without_padding() {
        let table: [(&str, Option<&str>); 9] = [
            ("Zm9v", Some("foo")),
            ("Zm9vYg==", Some("foob")),
            ("Zm9vYg", Some("foob")),
            ("Zm9v\n  YmE=", Some("fooba")),
            ("Zm9v\\nYmE", Some("fooba")),
            ("Zg=", None),
            ("Zm9vY", None),
            ("Zm=9v", None),
            ("Zm9v!", None),
        ];
        for (text, want) in table {
            assert_eq!(base64(text.as_bytes()).as_deref(), want.map(str::as_bytes), "{text}");
        }
        assert_eq!(base64(b"-_-_"), base64(b"+/+/"));
        for length in 0..8 {
            let bytes: Vec<u8> = (250..=255).chain(0..2).take(length).collect();
            assert_eq!(base64(&to_base64(&bytes, *b"+/")), Some(bytes.clone()));
            assert_eq!(base64(&to_base64(&bytes, *b"-_")), Some(bytes));
        }
    }

    #[test]
    fn checksums_are_those_of_the_services() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(&crc32_base62(&[b'0'; 30]), b"2C8GjS");
        assert_eq!(&crc32_base62(b""), b"000000");
    }
}
