//! The arguments of a call, as a model wrote them.

use crate::wire::fields::kind;
use serde_json::{Map, Value};

/// Arguments that are not a JSON object. Its text is the result for the model, which can correct its call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the arguments of this call are not a JSON object ({why}); nothing was done: call again with one JSON object"
)]
#[non_exhaustive]
pub struct BadArguments {
    /// Text of the model.
    pub text: String,
    /// Why it is not a JSON object.
    pub why: String,
}

/// The arguments of a call: an object, or a text that holds one. A tool that needs none is called with nothing, with
/// `null` and with an empty text, depending on the model.
pub(crate) fn arguments(value: Option<&Value>) -> Result<Map<String, Value>, BadArguments> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => match parse(text) {
            Ok(Value::Null) => Ok(Map::new()),
            Ok(Value::Object(object)) => Ok(object),
            Ok(other) => Err(BadArguments { text: text.clone(), why: format!("it is {}", kind(&other)) }),
            Err(error) => Err(BadArguments { text: text.clone(), why: error.to_string() }),
        },
        Some(other) => Err(BadArguments { text: other.to_string(), why: format!("it is {}", kind(other)) }),
    }
}

/// The arguments as a JSON value; what is not JSON is a text.
pub(crate) fn to_value(arguments: &Result<Map<String, Value>, BadArguments>) -> Value {
    match arguments {
        Ok(object) => Value::Object(object.clone()),
        Err(bad) => Value::String(bad.text.clone()),
    }
}

/// Reads JSON that may have been cut in the middle of a character.
///
/// A writer that counts in UTF-16 may cut between the halves of a pair, and write one half as an escape. This is JSON,
/// but not UTF-8; like all bytes that are not UTF-8, it becomes U+FFFD.
pub(crate) fn parse(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(json).or_else(|error| {
        let mended = without_lone_surrogates(json);
        if mended == json { Err(error) } else { serde_json::from_str(&mended) }
    })
}

fn without_lone_surrogates(json: &str) -> String {
    let mut whole = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let next = escape.get(6..).and_then(surrogate);
        let (written, length) = match (surrogate(escape), next) {
            (Some(Half::High), Some(Half::Low)) => (&escape[..12], 12),
            (Some(_), _) => ("\\ufffd", 6),
            // A backslash and the character it escapes, so that `\\ud800` is not taken for an escape.
            (None, _) => {
                let length = escape.chars().take(2).map(char::len_utf8).sum();
                (&escape[..length], length)
            }
        };
        whole.push_str(written);
        rest = &escape[length..];
    }
    whole + rest
}

enum Half {
    High,
    Low,
}

/// The half of a pair that a text begins with, as an escape.
fn surrogate(text: &str) -> Option<Half> {
    match u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn nothing_in_any_spelling_is_no_arguments() {
        for value in [
            None,
            Some(json!(null)),
            Some(json!({})),
            Some(json!("")),
            Some(json!(" \n")),
            Some(json!("null")),
        ] {
            assert_eq!(arguments(value.as_ref()), Ok(Map::new()), "{value:?}");
        }
    }

    #[test]
    fn what_is_no_object_is_kept_with_an_error_for_the_model() {
        let mut table = String::new();
        for value in [
            json!("{\"a\": 1"),
            json!("{'a': 1}"),
            json!("a=1"),
            json!("[1]"),
            json!("\"{}\""),
            json!("{\"a\":1}{\"b\":2}"),
            json!("{\"a\": 1e999}"),
            json!([1]),
            json!(7),
            json!(true),
        ] {
            let bad = arguments(Some(&value)).unwrap_err();
            table += &format!("{:16} {}\n", bad.text, bad.why);
        }
        expect![[r#"
            {"a": 1          EOF while parsing an object at line 1 column 7
            {'a': 1}         key must be a string at line 1 column 2
            a=1              expected value at line 1 column 1
            [1]              it is a list
            "{}"             it is a text
            {"a":1}{"b":2}   trailing characters at line 1 column 8
            {"a": 1e999}     number out of range at line 1 column 11
            [1]              it is a list
            7                it is a number
            true             it is a boolean
        "#]]
        .assert_eq(&table);
        let told = arguments(Some(&json!("a=1"))).unwrap_err().to_string();
        assert!(told.ends_with("nothing was done: call again with one JSON object"), "{told}");
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        let deep = format!("{{\"a\":{}", "[".repeat(1_000_000));
        expect!["recursion limit exceeded at line 1 column 132"]
            .assert_eq(&arguments(Some(&json!(deep))).unwrap_err().why);
    }

    #[test]
    fn half_a_character_stands_as_the_replacement_character() {
        for (json, read) in [
            (r#"{"a":"\ud83c\udf89"}"#, "🎉"),
            (r#"{"a":"\ud83c"}"#, "\u{FFFD}"),
            (r#"{"a":"x\udf89y"}"#, "x\u{FFFD}y"),
            (r#"{"a":"\ud83c\ud83c\udf89"}"#, "\u{FFFD}🎉"),
            (r#"{"a":"\uDF89\uD83C"}"#, "\u{FFFD}\u{FFFD}"),
            (r#"{"a":"\\ud83c \ud83c"}"#, "\\ud83c \u{FFFD}"),
            (r#"{"a":"\ud83c\n\"漢"}"#, "\u{FFFD}\n\"漢"),
        ] {
            assert_eq!(arguments(Some(&json!(json))).unwrap()["a"], read, "{json}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read_or_kept(text in prop_oneof![
            any::<String>(),
            proptest::collection::vec(prop_oneof![
                Just("\\"), Just("\\ud800"), Just("\\udc00"), Just("\\u"), Just("{"), Just("}"), Just("\""), Just("漢"),
            ], 0..12).prop_map(|parts| parts.concat()),
        ]) {
            prop_assert_eq!(parse(&Value::from(text.as_str()).to_string()).unwrap(), text.as_str());
            // No panic, and what is not read is all there.
            let read = arguments(Some(&json!(text)));
            prop_assert!(read.is_ok() || read.is_err_and(|bad| bad.text == text));
        }
    }
}
