//! Places at which a part of JSON may be cut, so that no member is shown in part.

/// Offsets at which members of arrays and objects begin, after the comma and white space before them. Text in strings
/// may look like a member.
pub(crate) fn cuts(bytes: &[u8]) -> Vec<u64> {
    let is_cut = |&comma: &usize| {
        let before = bytes[..comma].trim_ascii_end();
        let behind = bytes[comma + 1..].trim_ascii_start();
        let ends = match before {
            [.., b'\\', b'"'] => false,
            [.., last] => matches!(last, b'"' | b'}' | b']' | b'0'..=b'9' | b'e' | b'l'),
            [] => false,
        };
        let is_value = before.last().is_some_and(|last| matches!(last, b'"' | b'}' | b']'));
        ends && matches!((behind.first(), is_value), (Some(b'"'), _) | (Some(b'{' | b'['), true))
    };
    let behind = |comma: usize| {
        let rest = &bytes[comma + 1..];
        (comma + 1 + rest.len() - rest.trim_ascii_start().len()) as u64
    };
    memchr::memchr_iter(b',', bytes).filter(is_cut).map(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_end_where_commas_are_between_them() {
        let table = [
            (r#""a":1,"b":"x, y","c":[1, 2],{"#, vec!["\"b\"", "\"c\"", "{"]),
            ("\"a\": true,\n  \"b\": null, \"c\\\",\"", vec!["\"b\"", "\"c\\"]),
            ("no members, only words", vec![]),
        ];
        for (text, expected) in table {
            let found = cuts(text.as_bytes());
            assert_eq!(found.len(), expected.len(), "{text} {found:?}");
            for (cut, expected) in found.iter().zip(expected) {
                assert!(text[*cut as usize..].starts_with(expected), "{text} {cut}");
            }
        }
    }
}
