use super::{SMALL, answer};
use crate::Budget;
use crate::query::Found;

#[test]
fn members_of_json_are_found_by_their_path_and_their_siblings() {
    let versions: Vec<String> = (0..300)
        .map(|n| {
            format!(r#""1.{n}.0":{{"name":"axios","dist":{{"shasum":"{:08x}","size":{n}}}}}"#, n * 7_919)
        })
        .collect();
    let text = format!(r#"{{"versions":{{{}}}}}"#, versions.join(","));
    let found = answer(text.as_bytes(), "What is the shasum of axios 1.123.0?", SMALL);
    let shown = String::from_utf8(found.text).unwrap();
    assert!(shown.contains("[.versions[\"1.123.0\"].dist]\n\"shasum\":\"000edcd5\""), "{shown}");
    let Found::Passages(passages) = found.found else { panic!() };
    let passage = passages.iter().find(|passage| passage.text.contains("000edcd5")).unwrap();
    assert!(
        text[passage.bytes.start as usize..passage.bytes.end as usize].contains("\"shasum\":\"000edcd5\"")
    );
}

#[test]
fn members_of_a_named_record_are_shown_without_long_text_of_others() {
    let prose = "The rsa package is under a licence that who wrote it gave. ".repeat(40);
    let record = |n: u64, name: &str| {
        format!(
            r#"{{"name":"{name}","author":"Author {n}","description":"{prose}","needs":["part{n} (>=1)"]}}"#
        )
    };
    let records: Vec<String> = (0..40).map(|n| record(n, if n == 23 { "rsa" } else { "other" })).collect();
    let text = format!(r#"{{"installed":[{}]}}"#, records.join(","));
    let budget = Budget { tokens: 500, bytes: 8_000, lines: None };
    for (question, answered) in
        [("Who wrote rsa?", "\"author\":\"Author 23\""), ("Which part does rsa need?", "\"part23 (>=1)\"")]
    {
        let shown = String::from_utf8(answer(text.as_bytes(), question, budget).text).unwrap();
        assert!(shown.contains(answered), "{question}: {shown}");
    }
}
