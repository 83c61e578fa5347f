//! Samples of rules.
//!
//! A file full of sample tokens sets off every other scanner. In a sample, `{a32}` therefore stands for 32 made-up
//! characters of a class, which are the same in every run. The classes are:
//!
//! | class | characters |
//! |---|---|
//! | `a` | letters and digits |
//! | `l` | small letters and digits |
//! | `u` | capital letters and digits |
//! | `h`, `H` | small, capital hexadecimal digits |
//! | `d` | digits |
//! | `s` | small letters |
//! | `U`, `A` | capital letters, letters of either case |
//! | `b` | base64 |
//! | `w` | base64 of URLs |
//! | `t` | base32 |
//! | `n` | base58 |
//! | `q` | capital bech32 |
//!
//! `{crc}` stands for the checksum of the 30 characters before it.

use crate::encoding::crc32_base62;

/// Expands a sample.
pub(crate) fn expand(sample: &str) -> Vec<u8> {
    let mut out = Vec::new();
    // A xorshift generator: the characters only need to look random.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut rest = sample;
    while let Some((before, after)) = rest.split_once('{') {
        out.extend_from_slice(before.as_bytes());
        let end = after.find('}');
        let field = end.map(|end| &after[..end]);
        if field == Some("crc") {
            let body = out[out.len().saturating_sub(30)..].to_vec();
            out.extend(crc32_base62(&body));
        } else if let Some((letters, count)) = field.and_then(drawn) {
            out.extend((0..count).map(|_| letters[draw(letters.len())]));
        } else {
            out.push(b'{');
            rest = after;
            continue;
        }
        rest = &after[end.map_or(0, |end| end + 1)..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// The characters and the number of a field such as `a32`.
fn drawn(field: &str) -> Option<(&'static [u8], usize)> {
    let count = field.get(1..)?.parse().ok()?;
    let letters: &[u8] = match field.as_bytes()[0] {
        b'a' => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        b'l' => b"0123456789abcdefghijklmnopqrstuvwxyz",
        b'u' => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b'h' => b"0123456789abcdef",
        b'H' => b"0123456789ABCDEF",
        b'd' => b"0123456789",
        b's' => b"abcdefghijklmnopqrstuvwxyz",
        b'U' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b'A' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        b'n' => b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        b'q' => b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        b'b' => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/",
        b'w' => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-",
        b't' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        _ => return None,
    };
    Some((letters, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_drawn_and_other_braces_stay() {
        let text = String::from_utf8(expand("a_{h8}-{d3} ${X} {}{z1}{crc")).unwrap();
        let (drawn, rest) = text.split_at(14);
        assert!(
            drawn.starts_with("a_") && drawn[2..10].bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{text}"
        );
        assert_eq!(rest, " ${X} {}{z1}{crc");
        assert_eq!(expand("{a30}").len(), 30);
        assert_eq!(expand("{a30}{crc}")[30..], crc32_base62(&expand("{a30}")));
    }
}
