//! Counts tokens of the o200k vocabulary, exactly and without start-up cost.
//!
//! The build script writes the vocabulary as a hash table into the binary, so the first count costs no more than later
//! ones. `split` cuts a text into pieces, and `merge` counts the tokens of each piece. A count can stop after any piece.

mod merge;
mod split;
mod table;

/// The exact number of o200k tokens in `text`.
///
/// ```
/// assert_eq!(forebay_tokens::count("hello world"), 2);
/// ```
pub fn count(text: &str) -> u64 {
    count_up_to(text, u64::MAX).unwrap_or(u64::MAX)
}

/// The exact number of tokens in `text`; `None` as soon as it exceeds `limit`.
pub fn count_up_to(text: &str, limit: u64) -> Option<u64> {
    tally(text, limit).map(|(count, _)| count)
}

/// Whether `text` has at most `limit` tokens.
pub fn fit(text: &str, limit: u64) -> bool {
    match most(text, limit) {
        None => false,
        Some(most) => most <= limit || count_up_to(text, limit).is_some(),
    }
}

/// An upper bound of the tokens in `text`, faster than a count; `None` as soon as the tokens exceed `limit`.
///
/// A piece that is not one token has at least two, and at most one for each byte. Such pieces are few, so unless the
/// text is close to the limit, it can be compared with the limit without merging them.
///
/// ```
/// let text = "forebays hold all the water that comes";
/// assert!(forebay_tokens::most(text, 20).is_some_and(|most| most >= forebay_tokens::count(text)));
/// assert_eq!(forebay_tokens::most(text, 5), None);
/// ```
pub fn most(text: &str, limit: u64) -> Option<u64> {
    let (mut least, mut most, mut left) = (0, 0, text.len() as u64);
    for piece in split::pieces(text) {
        // Of the text that is not split yet, each byte is a token at worst.
        if most + left <= limit {
            break;
        }
        let bytes = piece.len() as u64;
        let (at_least, at_most) = if merge::is_token(piece.as_bytes()) { (1, 1) } else { (2, bytes) };
        least += at_least;
        most += at_most;
        left -= bytes;
        if least > limit {
            return None;
        }
    }
    Some(most + left)
}

/// A piece of more bytes than this (a quarter of a million letters or signs with nothing between them) is counted in
/// parts, so that memory stays flat. Its count may then be a few tokens off.
const PART: usize = 256 * 1024;

/// The number of tokens, and whether it is exact.
pub fn tally(text: &str, limit: u64) -> Option<(u64, bool)> {
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

/// The exact number of tokens in bytes in their form for models: invalid UTF-8 becomes U+FFFD.
pub fn count_bytes(bytes: &[u8]) -> u64 {
    count(&String::from_utf8_lossy(bytes))
}

/// An upper bound from the number of bytes alone. A token holds at least one byte of the text; a byte that is not UTF-8 is
/// shown as the three bytes of U+FFFD, which are one token or two.
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

    /// Texts of every kind that tools print: logs, code, diffs, JSON, pages, tables.
    fn real_texts() -> Vec<String> {
        let folder =
            |path: &str| std::fs::read_dir(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let folders = ["../../testdata", "../../testdata/gallery", "../forebay/src", "src"];
        let files = folders.into_iter().flat_map(folder);
        let files = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        files.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
    }

    #[test]
    fn whether_a_real_text_fits_agrees_with_its_count() {
        let texts = real_texts();
        assert!(texts.len() > 30);
        for text in texts {
            let end = (0..=20_000.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap();
            let (text, counted) = (&text[..end], count(&text[..end]));
            assert_eq!(counted, reference(text));
            for limit in [0, counted / 2, counted.saturating_sub(1), counted, counted + 1, counted * 2] {
                assert_eq!(fit(text, limit), counted <= limit, "{limit} of {counted}: {text}");
                assert!(most(text, limit).is_none_or(|most| most >= counted), "{limit}: {text}");
            }
        }
    }

    #[test]
    fn most_real_texts_are_known_to_fit_without_counting() {
        let known = real_texts().into_iter().filter(|text| {
            let end = (0..=8_000.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap();
            most(&text[..end], 3_000).is_none_or(|most| most <= 3_000)
        });
        assert!(known.count() * 4 > real_texts().len() * 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn counts_equal_the_reference(text in "\\PC*") {
            prop_assert_eq!(count(&text), reference(&text));
        }

        #[test]
        // Without the long s, after which the reference counts a contraction otherwise than the vendor's tokenizer.
        fn counts_equal_the_reference_on_what_tools_print(text in "([ \\t\\r\\n]{0,4}|[a-zA-Z']{1,9}|[0-9]{1,7}|[-_=./:;(){}\\[\\]\"<>|]{1,5}|[é漢ßΣʰ\u{301}\u{a0}🎉]{1,3}){0,40}") {
            prop_assert_eq!(count(&text), reference(&text));
        }

        #[test]
        fn whether_it_fits_is_told_as_if_it_were_counted(
            text in prop_oneof!["\\PC*", "([ \\t\\r\\n]{0,4}|[a-zA-Z']{1,9}|[0-9²]{1,7}|[-_=./:;(){}\"<>|]{1,5}|[é漢ßΣʰ\u{301}\u{a0}🎉ſ]{1,3}){0,40}"],
            limit in 0u64..60,
        ) {
            let counted = count(&text);
            prop_assert_eq!(fit(&text, limit), counted <= limit);
            prop_assert!(most(&text, limit).is_none_or(|most| most >= counted));
            prop_assert!(most(&text, limit).is_some() || counted > limit);
        }

        #[test]
        fn a_count_is_never_above_the_cheap_bound(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let text = String::from_utf8_lossy(&bytes);
            let invalid = text.chars().filter(|&c| c == '\u{fffd}').count() as u64;
            prop_assert!(count(&text) <= at_most(bytes.len() as u64, invalid));
        }
    }
}
