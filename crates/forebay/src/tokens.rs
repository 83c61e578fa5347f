//! Counting tokens as the o200k vocabulary does, exactly and with no start-up cost.
//!
//! The vocabulary lies in the binary as a ready hash table (`build.rs` writes it), so the first count
//! costs as little as the thousandth. Text is cut into pieces (`split`) that are merged one by one
//! (`merge`); a piece is never more than the text between two borders, so a count can stop early.

mod merge;
mod split;
mod table;

/// The exact number of o200k tokens in `text`.
///
/// ```
/// assert_eq!(forebay::tokens::count("hello world"), 2);
/// ```
pub fn count(text: &str) -> u64 {
    count_up_to(text, u64::MAX).unwrap_or(u64::MAX)
}

/// The exact number of tokens in `text`, or `None` as soon as it is known to be more than `limit`.
pub fn count_up_to(text: &str, limit: u64) -> Option<u64> {
    tally(text, limit).map(|(count, _)| count)
}

/// A piece of more bytes than this (a quarter of a million letters or signs with nothing between them) is counted in
/// parts, so that memory stays flat. Its count may then be a few tokens off.
const PART: usize = 256 * 1024;

/// The same, and whether the count is exact.
pub(crate) fn tally(text: &str, limit: u64) -> Option<(u64, bool)> {
    let (mut total, mut exact) = (0, true);
    for piece in split::pieces(text) {
        exact &= piece.len() <= PART;
        for part in piece.as_bytes().chunks(PART) {
            total += merge::tokens_in(part);
            if total > limit {
                return None;
            }
        }
    }
    Some((total, exact))
}

/// The exact number of tokens in bytes as a model would be shown them: invalid UTF-8 becomes U+FFFD.
pub fn count_bytes(bytes: &[u8]) -> u64 {
    count(&String::from_utf8_lossy(bytes))
}

/// A count that is never too low and costs nothing: a token holds at least one byte of the text, and
/// a byte that is not UTF-8 is shown as the three bytes of U+FFFD, which are one token or two.
pub fn at_most(bytes: u64, invalid: u64) -> u64 {
    bytes.saturating_add(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(text: &str) -> u64 {
        tiktoken::get_encoding("o200k_base").unwrap().count(text) as u64
    }

    #[test]
    fn counts_equal_the_reference_on_texts_that_split_in_odd_ways() {
        let texts = [
            "",
            " ",
            "hello world",
            "HELLO World camelCaseWord XMLHttpRequest don't CAN'T we'LL i'ſ",
            "  leading and trailing  ",
            "a\n\n\n  b\r\n\r\n\tc   \n",
            "}\n\n\n});\n/// path/to//x\n",
            "12345678901234567890 1,234.56 ²³ ٣٤٥",
            "naïve café Ǆungla ʰello 漢字かな混じり文 한국어 عربى",
            "e\u{301}\u{301}\u{301}x \u{301}\u{301} \u{301}A\u{301}B",
            "🎉🎉👩‍👩‍👧 \u{fffd}\u{fffd} \u{200b}\u{feff}",
            "==================== ---------- ....... ########",
            "\u{a0}\u{2003}nbsp \u{85}x",
            "<|endoftext|> <|fim_prefix|>",
            "ΑΒΓαβγ ǅ ǅx Xǅ",
        ];
        for text in texts {
            assert_eq!(count(text), reference(text), "{text:?}");
        }
    }

    #[test]
    fn a_count_stops_at_its_limit() {
        assert_eq!(count_up_to("one two three", 3), Some(3));
        assert_eq!(count_up_to("one two three", 2), None);
        assert_eq!(count_up_to(&"word ".repeat(1_000_000), 10), None);
    }

    #[test]
    fn one_piece_of_a_million_characters_is_counted_in_reasonable_work() {
        // A merge that compares every pair with every other would not come back from this.
        for unit in ["a", "\u{301}", "漢", "=", " "] {
            assert!(count(&unit.repeat(1_000_000)) > 0);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn counts_equal_the_reference(text in "\\PC*") {
            prop_assert_eq!(count(&text), reference(&text));
        }

        #[test]
        fn counts_equal_the_reference_on_what_tools_print(text in "([ \\t\\r\\n]{0,4}|[a-zA-Z']{1,9}|[0-9]{1,7}|[-_=./:;(){}\\[\\]\"<>|]{1,5}|[é漢ßΣʰ\u{301}\u{a0}🎉ſ]{1,3}){0,40}") {
            prop_assert_eq!(count(&text), reference(&text));
        }

        #[test]
        fn a_count_is_never_above_the_cheap_bound(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let text = String::from_utf8_lossy(&bytes);
            let invalid = text.chars().filter(|&c| c == '\u{fffd}').count() as u64;
            prop_assert!(count(&text) <= at_most(bytes.len() as u64, invalid));
        }
    }
}
