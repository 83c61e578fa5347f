mod context;
mod failures;
mod json;
mod pages;
mod passages;
mod whole;
mod words;

use super::*;
use crate::excerpt;
use crate::store::memory::output_of;
use expect_test::Expect;
use proptest::prelude::*;

pub(super) const SMALL: Budget = Budget { tokens: 120, bytes: 2_000, lines: None };

pub(super) fn answer(text: &[u8], question: &str, budget: Budget) -> Excerpt {
    let excerpt = excerpt(&output_of(text), &Query::Ask(question.into()), budget).unwrap();
    assert!(budget.holds(&excerpt.text), "{}", String::from_utf8_lossy(&excerpt.text));
    excerpt
}

pub(super) fn check(text: &str, question: &str, expected: Expect) {
    expected.assert_eq(&String::from_utf8_lossy(&answer(text.as_bytes(), question, SMALL).text));
}

pub(super) fn noise(from: u64, to: u64) -> String {
    (from..to).map(|line| format!("compiling unit number {line} of the project\n")).collect()
}

/// Lines that are like no other.
pub(super) fn unlike(from: u8, to: u8) -> String {
    let letter = |n: u8| char::from(b'a' + n);
    (from..to).map(|n| format!("compiling {}{} for the project\n", letter(n % 26), letter(n / 26))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_answer_is_within_its_budget_and_shows_what_is_there(
        start in prop_oneof![Just(""), Just("<!doctype html>"), Just("["), Just("{\"a\":"), Just("diff --git a/x b/x\n@@ -1 +1 @@\n")],
        parts in proptest::collection::vec(prop_oneof![
            Just(b"plain words here\n".to_vec()), Just(b"error: it broke\n".to_vec()), Just(b"    at deep place\n".to_vec()),
            Just(vec![b'x'; 3_000]), Just("漢字🎉 ".repeat(50).into_bytes()), Just(b"\n\n".to_vec()), Just(b"50%\r".to_vec()),
            Just(b"<p>some <b>text</b>&amp;&#99;</p>".to_vec()), Just(b"{\"key\": [1, \"words\"]},".to_vec()),
            Just(b"exit code 1\n".to_vec()), proptest::collection::vec(any::<u8>(), 0..60),
        ], 0..60),
        question in prop_oneof![Just("why did it fail?"), Just("what does key say of words?"), Just("error at \"deep place\" 漢字"), Just("summary of the page")],
        tokens in 64u64..500,
    ) {
        let bytes = [start.as_bytes().to_vec(), parts.concat()].concat();
        let budget = Budget { tokens, bytes: tokens * 8, lines: None };
        let first = answer(&bytes, question, budget);
        prop_assert_eq!(&first.text, &answer(&bytes, question, budget).text, "the same question has the same answer");
        let Found::Passages(passages) = &first.found else { panic!() };
        let text = String::from_utf8_lossy(&bytes);
        // Escape codes, what was written over and tags are left out.
        let plain = start.is_empty() && !bytes.iter().any(|byte| matches!(byte, 0x1b | b'\r' | b'<'));
        for line in passages.iter().filter(|_| plain).flat_map(|passage| passage.text.lines()) {
            prop_assert!(text.contains(line), "every line that is shown is there: {line:?}");
        }
        let mut at = 0;
        for range in &first.shown {
            prop_assert!(range.start >= at && range.end > range.start && range.end <= bytes.len() as u64);
            at = range.start;
        }
    }
}
