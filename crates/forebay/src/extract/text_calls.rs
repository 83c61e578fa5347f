//! Tool calls as lines of text, for models whose servers ignore tools: one call a line.

use crate::wire::{ToolCall, ToolResult};
use serde_json::{Map, Value};

/// Instructions for calls, for the model.
pub(crate) const EXPLAINED: &str = "You call Read and Grep by writing lines and nothing else, one call a line:\n\
GREP pattern\nREAD first:last\n\
GREP searches the file for a regular expression, READ gives the lines from first to last. You get the results in the next message. For example:\n\
GREP error|failed\nREAD 120:160\n";

/// Maximum calls of one turn: a confused model writes many.
const MOST: usize = 8;

/// The calls in the text of a model.
pub(crate) fn calls(text: &str, filename: &str) -> Vec<ToolCall> {
    let calls = text.lines().filter_map(|line| call(line, filename)).take(MOST);
    let numbered = calls.enumerate().map(|(number, (name, mut arguments))| {
        arguments.insert("filename".to_owned(), filename.into());
        ToolCall { id: format!("call-{}", number + 1), name: name.to_owned(), arguments: Ok(arguments) }
    });
    numbered.collect()
}

/// The call in a line: the name of a tool, then a pattern or the numbers of two lines.
fn call(line: &str, filename: &str) -> Option<(&'static str, Map<String, Value>)> {
    let line = line.trim().trim_start_matches(['-', '*', '>']).trim().trim_matches('`');
    let (word, rest) = line.split_once([' ', ':'])?;
    // Models repeat the name of the file, with or without its tool's brackets.
    let rest = rest.trim().trim_start_matches(filename).trim();
    let mut arguments = Map::new();
    let name = match word {
        "GREP" | "Grep" => {
            let pattern = unquoted(rest);
            (!pattern.is_empty()).then(|| arguments.insert("pattern".to_owned(), pattern.into()))?;
            "Grep"
        }
        "READ" | "Read" => {
            let (first, last) = rest.split_once([':', '-', '–', ' ']).unwrap_or((rest, rest));
            let number = |text: &str| text.trim().parse::<u64>().ok();
            let lines = format!("{}:{}", number(first)?, number(last)?);
            arguments.insert("lines".to_owned(), lines.into());
            "Read"
        }
        _ => return None,
    };
    Some((name, arguments))
}

/// A pattern without quotation marks or slashes around it.
fn unquoted(pattern: &str) -> &str {
    let pairs = ['"', '\'', '/', '`'];
    let inside = pairs.iter().find_map(|&mark| pattern.strip_prefix(mark)?.strip_suffix(mark));
    inside.unwrap_or(pattern)
}

/// The message with the results of the calls of one turn.
pub(crate) fn results(results: &[ToolResult]) -> String {
    let mut text = String::new();
    for (number, result) in (1..).zip(results) {
        text.push_str(&format!("RESULT {number}\n{}\n", result.text.trim_end()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_from_lines() {
        let table = [
            ("GREP error|failed", vec![r#"Grep {"pattern":"error|failed","filename":"s/1"}"#]),
            (
                "I search first.\nGREP \"no space\"\nREAD 10:20",
                vec![
                    r#"Grep {"pattern":"no space","filename":"s/1"}"#,
                    r#"Read {"lines":"10:20","filename":"s/1"}"#,
                ],
            ),
            ("```\nRead s/1 7-9\n```", vec![r#"Read {"lines":"7:9","filename":"s/1"}"#]),
            ("- `READ 5`", vec![r#"Read {"lines":"5:5","filename":"s/1"}"#]),
            ("Grep: panic", vec![r#"Grep {"pattern":"panic","filename":"s/1"}"#]),
            // Prose that begins like a call is none.
            ("READ the file first.\nReading is fun.\nGREP", vec![]),
        ];
        for (text, expected) in table {
            let shown: Vec<String> = calls(text, "s/1")
                .into_iter()
                .map(|call| format!("{} {}", call.name, Value::Object(call.arguments.unwrap_or_default())))
                .collect();
            assert_eq!(shown, expected, "{text}");
        }
        assert_eq!(calls(&"GREP x\n".repeat(100), "s/1").len(), MOST);
    }
}
