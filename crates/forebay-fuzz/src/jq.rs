//! jq filters on JSON.

use crate::{BUDGET, output_of};
use forebay::query::{Ended, Filter, Total, values};
use forebay::{Query, excerpt};
use serde::de::IgnoredAny;

/// Words of filters and of JSON.
pub const WORDS: &[&str] = &[
    ".[]",
    ".a",
    "..",
    " | ",
    "map(",
    "select(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\u00e9",
    "\\(",
    "if . then . else . end",
    "reduce .[] as $x (0; . + $x)",
    "def f: .; f",
    "limit(2; ",
    "keys",
    "to_entries",
    "tojson",
    "test(\"a\")",
    "@csv",
    "?",
    "//",
    "as $x | ",
    "try error(1)",
    "null",
    "true",
    "1e400",
    "-0",
    "\n",
    ",",
    ":",
    "2:3",
    "#",
];

/// Maximum bytes of requested results.
const ENOUGH: u64 = 4_096;

/// A filter on the first line, and a document below it.
pub fn samples() -> Vec<Vec<u8>> {
    let filters = [
        ".items[] | {id, name: .name}",
        "[.items[] | select(.id > 1) | .id] | add",
        ".items | map(.name) | join(\", \")",
        "first(.items[].id), (.items | length), keys",
        ".items[0:1] | .[0].name | ascii_downcase | test(\"a\"; \"i\")",
        "def f(g): [g | tostring]; f(.items[].id) | @csv",
        "reduce .items[] as {id: $i} ({}; .[$i | tostring] = $i) | to_entries[] | .value |= . + 1",
        "[paths], ..|numbers",
    ];
    let documents = [
        "{\"items\": [{\"id\": 1, \"name\": \"a\\u00e9\"}, {\"id\": 2.50, \"name\": null}, {\"id\": -0}], \"n\": 1e400}",
        "{\"items\": []}\n{\"items\": [{\"id\": 12345678901234567890, \"name\": [[], {}, \"x\\\"y\"]}]}\n",
    ];
    filters
        .iter()
        .flat_map(|filter| documents.map(|document| format!("{filter}\n{document}").into_bytes()))
        .collect()
}

/// A filter on any document ends with an error or with results that are JSON, each from a place in the document.
pub fn check(input: &[u8]) {
    let split = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    let (filter, document) = input.split_at(split);
    let output = output_of(document);
    let filter = Filter::new(String::from_utf8_lossy(filter));
    if let Ok(found) = values(&output, &filter, ENOUGH) {
        let count = found.values.len() as u64;
        match found.total {
            Total::Exactly(total) => assert!(total >= count && found.ended == Ended::AllRead),
            Total::AtLeast(total) => assert!(total >= count),
        }
        for value in &found.values {
            assert!(value.json.len() as u64 <= value.length);
            let is_json = || serde_json::from_str::<IgnoredAny>(&value.json).is_ok();
            assert!(!value.is_whole() || is_json(), "{} is not JSON", value.json);
            if let Some(at) = &value.at {
                assert!(at.start < at.end && at.end <= output.len(), "{at:?}");
                assert_eq!(value.line, Some(output.newlines_before(at.start).unwrap() + 1));
            }
        }
    }
    for query in [Query::Json(filter), Query::Shape { skip: 0 }] {
        if let Ok(excerpt) = excerpt(&output, &query, BUDGET) {
            assert!(BUDGET.holds(&excerpt.text), "{} bytes", excerpt.text.len());
        }
    }
}
