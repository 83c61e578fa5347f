//! The strategy `read-grep`: a model reads and searches the output by itself.
//!
//! It has two tools, and both can reach this one output and nothing else: they are given no store and no path. A model
//! whose server ignores tools calls them by lines of text (see [`text_calls`](super::text_calls)).

use crate::extract::asking::{Asking, Failure, Refusal};
use crate::extract::prompts::Prompts;
use crate::extract::wrapper::Unusable;
use crate::extract::{How, Progress, Read, text_calls};
use crate::model::{Message, Model, Said, Stop, ToolCalls};
use crate::query::Found;
use crate::request::tool_call;
use crate::settings::Extract as Settings;
use crate::text::count::count;
use crate::wire::{Tool, ToolCall, ToolResult};
use crate::{Budget, Output, Query, Result, excerpt, tokens};
use serde_json::{Map, Value};
use std::ops::Range;

/// Name of the argument that other tools call `handle`.
const FILENAME: &str = "filename";

/// Notice that no call is possible any more.
pub(crate) const LAST: &str = "[no further calls are possible: give the final report now]";

/// Answer to a call that was made before: its result is in the conversation.
const REPEATED: &str =
    "[this call was made before, and its result is above: make another one or give the final report]";

/// An agent with its output, its models and its tools.
pub(crate) struct ReadGrep<'a> {
    /// The output as the tools name it.
    output: &'a Output,
    asking: &'a Asking<'a>,
    prompts: &'a Prompts<'a>,
    settings: &'a Settings,
    progress: &'a (dyn Fn(Progress) + Sync),
    /// The two tools as the model is told of them.
    tools: Vec<Tool>,
}

/// Everything that an agent has read and called so far.
#[derive(Default)]
struct Seen {
    ranges: Vec<Range<u64>>,
    turns: u64,
    calls: u64,
    patterns: Vec<String>,
    /// The calls that were made, by name and arguments.
    calls_made: Vec<String>,
    /// Turns in a row in which every call had been made before.
    circles: u64,
}

/// Turns without a new call after which a model must answer.
const CIRCLES: u64 = 2;

impl<'a> ReadGrep<'a> {
    /// `output` must speak as [`Surface::Files`](crate::Surface::Files) does, so that what it suggests can be called.
    pub(crate) fn new(
        output: &'a Output,
        asking: &'a Asking<'a>,
        prompts: &'a Prompts<'a>,
        settings: &'a Settings,
        progress: &'a (dyn Fn(Progress) + Sync),
    ) -> ReadGrep<'a> {
        ReadGrep { output, asking, prompts, settings, progress, tools: declared() }
    }

    /// Has one model after the other read the output, until one gives an answer.
    pub(crate) fn read(&self) -> std::result::Result<(String, Read), Failure> {
        self.asking.of_each(1, |model| self.read_by(model))
    }

    fn read_by(&self, model: &dyn Model) -> std::result::Result<(String, Read), Refusal> {
        let useless = |why: String| Refusal::Useless(model.name().to_owned(), why);
        let in_text = match model.tool_calls() {
            ToolCalls::Native => false,
            ToolCalls::Text => true,
            ToolCalls::None => return Err(useless("it cannot call tools".to_owned())),
        };
        let system = self.prompts.read_grep();
        let handle = &self.output.record().handle;
        let (lines, bytes) = (count("line", self.output.lines()?), count("byte", self.output.len()));
        let how = if in_text { text_calls::EXPLAINED } else { "" };
        let request = self.prompts.behind_file();
        let first = format!("The file {handle} has {lines}, {bytes}. {how}Begin.\n\n{request}");
        let tools: &[Tool] = if in_text { &[] } else { &self.tools };
        let declared: u64 = tools.iter().map(|tool| tokens::count(&tool.schema.to_string())).sum();
        let mut used = tokens::count(&system) + tokens::count(&first) + declared;
        let mut messages = vec![Message::User(first)];
        let mut seen = Seen::default();
        if self.is_full(used) {
            let context = self.asking.window.context;
            return Err(useless(format!(
                "a context of {context} tokens has no room to read (extract.context_tokens)"
            )));
        }
        loop {
            seen.turns += 1;
            (self.progress)(Progress::Turn { turn: seen.turns, of: self.settings.max_turns });
            let last = self.is_last(&seen, used);
            let mut said = self.asking.said(model, &system, &messages, tools, !last)?;
            if in_text && !last {
                said.calls = text_calls::calls(&said.text, &handle.to_string());
            }
            if said.calls.is_empty() || said.stop == Stop::Length {
                return self.finished(model, &said, &messages, seen);
            }
            if last {
                let limits = format!(
                    "extract.max_turns is {}, extract.max_tool_calls {}",
                    self.settings.max_turns, self.settings.max_tool_calls
                );
                let why = match seen.circles >= CIRCLES {
                    true => "it went in circles: the same calls again and again".to_owned(),
                    false => format!(
                        "it went on calling tools after {} and gave no final report ({limits})",
                        count("turn", seen.turns)
                    ),
                };
                return Err(useless(why));
            }
            let said_in_text = || tokens::count(&said.text);
            used += if in_text { said_in_text() } else { tokens::count(&said.raw.to_string()) };
            let known = seen.calls_made.len();
            let mut results: Vec<ToolResult> = Vec::new();
            for call in &said.calls {
                let result = match self.is_full(used) {
                    true => call.failed(LAST),
                    false => self.answer(call, &mut seen)?,
                };
                // The names of a result and its brackets cost something too.
                used += tokens::count(&result.text) + 16;
                results.push(result);
            }
            seen.circles = if seen.calls_made.len() > known { 0 } else { seen.circles + 1 };
            // The turn that comes is the last one: it must know.
            let next =
                Seen { turns: seen.turns + 1, calls: seen.calls, circles: seen.circles, ..Seen::default() };
            if self.is_last(&next, used)
                && let Some(result) = results.last_mut()
            {
                result.text = format!("{}\n{LAST}\n{request}", result.text.trim_end());
            }
            messages.push(Message::Model(said));
            messages.push(match in_text {
                true => Message::User(text_calls::results(&results)),
                false => Message::Results(results),
            });
        }
    }

    /// The report of an agent that calls nothing any more.
    fn finished(
        &self,
        model: &dyn Model,
        said: &Said,
        messages: &[Message],
        seen: Seen,
    ) -> std::result::Result<(String, Read), Refusal> {
        let useless = |why: String| Refusal::Useless(model.name().to_owned(), why);
        let has_read = |nonce: &str| {
            messages.iter().any(|message| match message {
                Message::User(text) => text.contains(nonce),
                Message::Model(_) => false,
                Message::Results(results) => results.iter().any(|result| result.text.contains(nonce)),
            })
        };
        let report = self.asking.report(said, &has_read).map_err(|Unusable { why, .. }| useless(why))?;
        if seen.ranges.is_empty() && seen.patterns.is_empty() && !self.output.is_empty() {
            return Err(useless("it answered without reading or searching anything".to_owned()));
        }
        let how = How::Turns { turns: seen.turns, calls: seen.calls, patterns: seen.patterns };
        Ok((self.asking.read(report), Read { ranges: seen.ranges, how }))
    }

    /// Whether the model must answer in this turn: its turns, its calls or its context are used up.
    fn is_last(&self, seen: &Seen, used: u64) -> bool {
        seen.turns >= self.settings.max_turns
            || seen.calls >= self.settings.max_tool_calls
            || seen.circles >= CIRCLES
            || self.is_full(used)
    }

    /// Whether one more answer of a tool has no room in the context.
    fn is_full(&self, used: u64) -> bool {
        used + self.asking.window.answer + self.budget().tokens * 2 > self.asking.window.context
    }

    /// Budget of one tool result: a small part of the context, so that there is room for many.
    fn budget(&self) -> Budget {
        let tokens = (self.asking.window.context / 32).clamp(Budget::LEAST.tokens, 4_000);
        Budget { tokens, bytes: tokens * 8, lines: None }
    }

    /// Answers a call. What cannot be done is said to the model, which may mend it.
    fn answer(&self, call: &ToolCall, seen: &mut Seen) -> Result<ToolResult> {
        if seen.calls >= self.settings.max_tool_calls {
            return Ok(call.failed(LAST));
        }
        seen.calls += 1;
        let made = format!("{} {:?}", call.name, call.arguments.as_ref().ok());
        match seen.calls_made.contains(&made) {
            true => return Ok(call.failed(REPEATED)),
            false => seen.calls_made.push(made),
        }
        let query = match self.query(call) {
            Ok(query) => query,
            Err(why) => return Ok(call.failed(why)),
        };
        match excerpt(self.output, &query, self.budget()) {
            Ok(answer) => {
                seen.ranges.extend(answer.shown.iter().cloned());
                if let (Query::Grep(grep), Found::Matches(matches)) = (&query, &answer.found) {
                    let from = match grep.from_byte {
                        0 => String::new(),
                        byte => format!(" from byte {byte} on"),
                    };
                    let (pattern, found) =
                        (crate::shortened(&grep.pattern, 60), count("match", matches.total));
                    seen.patterns.push(format!("{pattern:?}{from} ({found})"));
                }
                Ok(call.answered(String::from_utf8_lossy(&answer.text)))
            }
            // The store is broken, and no other question will mend it.
            Err(error @ crate::Error::Store { .. }) => Err(error),
            Err(error) => Ok(call.failed(crate::shortened(&error.to_string(), 1_000))),
        }
    }

    fn query(&self, call: &ToolCall) -> std::result::Result<Query, String> {
        if !self.tools.iter().any(|tool| tool.name == call.name) {
            let name: String = call.name.chars().take(60).collect();
            return Err(format!("there is no tool {name:?}; there are Read and Grep"));
        }
        let mut given: Map<String, Value> = call.arguments.clone().map_err(|bad| bad.to_string())?;
        // Models call it by other names that they know from elsewhere.
        let names = [FILENAME, "handle", "path", "file_path"];
        let filename = names.iter().find_map(|name| given.remove(*name));
        let handle = self.output.record().handle.clone();
        let named = filename.as_ref().and_then(Value::as_str).unwrap_or_default();
        if named != handle.to_string() && named != handle.short() && named != handle.id() {
            let named: String = named.chars().take(60).collect();
            return Err(format!(
                "there is no file {named:?}; the only file is {handle:?}",
                handle = handle.to_string()
            ));
        }
        given.insert("handle".to_owned(), handle.to_string().into());
        tool_call::query_of(&call.name.to_lowercase(), &given).map_err(|error| error.to_string())
    }
}

/// The two tools: those that agents have, with the file's name in place of a handle.
fn declared() -> Vec<Tool> {
    let named = [("read", "Read"), ("grep", "Grep")];
    let mut tools = Vec::new();
    for tool in tool_call::TOOLS.iter().map(|tool| Tool::declared(tool, "")) {
        let Some((_, name)) = named.iter().find(|(own, _)| *own == tool.name) else { continue };
        let mut schema = tool.schema;
        let renamed = |name: &str| if name == "handle" { FILENAME.to_owned() } else { name.to_owned() };
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            *properties = std::mem::take(properties)
                .into_iter()
                .map(|(name, mut property)| {
                    if name == "handle" {
                        property["description"] = "The filename, exactly as given.".into();
                    }
                    (renamed(&name), property)
                })
                .collect();
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.iter_mut().for_each(|name| *name = renamed(name.as_str().unwrap_or_default()).into());
        }
        tools.push(Tool { name: (*name).to_owned(), schema, ..tool });
    }
    tools
}
