//! Finding out how a model calls tools, by asking it something that only a tool can tell.

use forebay::model::{Answer, Message, ModelError, Prompt, Stop, ToolCalls};
use forebay::wire::Tool;
use serde_json::json;
use std::sync::atomic::AtomicBool;

/// Tokens of an answer to a probe: a call has some 30, and a model that thinks needs a few words before it.
const ANSWER: u64 = 256;

/// Name of the tool that the probe offers.
const TOOL: &str = "read_line";

/// Word that begins a call as a line of text.
const LINE: &str = "GREP ";

/// How a model calls tools; `None` if the probe failed. `takes_tools` is what its server reports about its template.
pub(super) fn tool_calls(
    takes_tools: Option<bool>,
    ask: impl Fn(&Prompt) -> Result<Answer, ModelError>,
) -> Option<ToolCalls> {
    let nobody = AtomicBool::new(false);
    let tool = Tool {
        name: TOOL.to_owned(),
        description: "Reads one line of the file notes.txt".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"number": {"type": "integer", "description": "Number of the line, counted from 1"}},
            "required": ["number"],
        }),
        read_only: true,
    };
    if takes_tools != Some(false) {
        let said = ask(&Prompt {
            system: "Use the tool to answer. You cannot see the file without it.",
            messages: &[Message::User("What does line 7 of notes.txt say?".to_owned())],
            tools: &[tool],
            may_call: true,
            max_output: ANSWER,
            abandoned: &nobody,
        });
        match said {
            Ok(said) if said.calls.iter().any(|call| call.name == TOOL) => return Some(ToolCalls::Native),
            // It thinks for longer than a probe waits, and its server says that it can.
            Ok(said) if said.stop == Stop::Length && takes_tools == Some(true) => {
                return Some(ToolCalls::Native);
            }
            Err(ModelError::Stopped(_)) => return None,
            // Servers that take no tools say so in many words, and those that cannot be reached fail again.
            Ok(_) | Err(_) => {}
        }
    }
    let said = ask(&Prompt {
        system: "You search a long file by writing one line: the word GREP, a space and the word to search for. \
                 Write nothing else. Example:\nGREP warning",
        messages: &[Message::User("Search the file for the word timeout.".to_owned())],
        tools: &[],
        may_call: false,
        max_output: ANSWER,
        abandoned: &nobody,
    });
    let is_call = |line: &str| {
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '`');
        line.strip_prefix(LINE).is_some_and(|pattern| pattern.contains("timeout"))
    };
    if said.ok()?.text.lines().any(is_call) { Some(ToolCalls::Text) } else { Some(ToolCalls::None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay::model::Usage;
    use forebay::wire::ToolCall;
    use serde_json::{Map, Value};
    use std::cell::Cell;

    fn said(text: &str) -> Result<Answer, ModelError> {
        let (stop, usage) = (Stop::Ended, Usage::default());
        Ok(Answer { text: text.to_owned(), calls: Vec::new(), stop, usage, raw: Value::Null })
    }

    fn called(name: &str) -> Result<Answer, ModelError> {
        let call = ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments: Ok(Map::new()) };
        said("").map(|said| Answer { calls: vec![call], stop: Stop::Calls, ..said })
    }

    fn failed() -> Result<Answer, ModelError> {
        Err(ModelError::Lasting("500: tools param requires --jinja flag".to_owned()))
    }

    #[test]
    fn a_model_shows_how_it_calls_tools() {
        use ToolCalls::{Native, None as Nothing, Text};
        let cut = || said("I think").map(|said| Answer { stop: Stop::Length, ..said });
        type Script = fn() -> Result<Answer, ModelError>;
        let calls: Script = || called(TOOL);
        let other: Script = || called("else");
        let line: Script = || said("Sure:\n`GREP timeout`\n");
        let talk: Script = || said("I would use GREP to search.");
        let example: Script = || said("GREP warning");
        type Row = (&'static str, Option<bool>, Script, Script, Option<ToolCalls>, u32);
        let table: [Row; 9] = [
            ("a call", None, calls, talk, Some(Native), 1),
            ("a call of something else", Some(true), other, line, Some(Text), 2),
            ("text", None, talk, line, Some(Text), 2),
            ("neither", None, talk, talk, Some(Nothing), 2),
            ("the example", None, talk, example, Some(Nothing), 2),
            ("no tools in its template", Some(false), calls, line, Some(Text), 1),
            ("an error", None, failed, line, Some(Text), 2),
            ("thoughts that do not end", Some(true), cut, talk, Some(Native), 1),
            ("no server", None, failed, failed, None, 2),
        ];
        for (name, takes_tools, first, second, expected, asked) in table {
            let times = Cell::new(0);
            let found = tool_calls(takes_tools, |prompt| {
                times.set(times.get() + 1);
                if prompt.tools.is_empty() { second() } else { first() }
            });
            assert_eq!((found, times.get()), (expected, asked), "{name}");
        }
    }
}
