//! The strategy `read-grep`: a model reads and searches the output by itself.
//!
//! It has two tools that can reach this one output and nothing else: they have no store and no path. A model
//! whose server ignores tools calls them by lines of text (see [`text_calls`](super::text_calls)).

use crate::extract::answer::{Findings, How};
use crate::extract::asking::{Asking, Done, Refusal};
use crate::extract::extraction::Progress;
use crate::extract::prompts::Prompts;
use crate::extract::text_calls;
use crate::extract::wrapper::Cause;
use crate::model::{Answer, Message, Model, Stop, ToolCalls};
use crate::query::Found;
use crate::request::tool_call;
use crate::settings::Extract as Settings;
use crate::text::count::count;
use crate::wire::{Tool, ToolCall, ToolResult};
use crate::{Budget, Error, Output, Query, Result, excerpt, tokens};
use serde_json::{Map, Value};
use std::ops::Range;

/// Name of the argument that other tools call `handle`.
const FILENAME: &str = "filename";

/// Notice that no call is possible any more.
pub(crate) const LAST: &str = "[no further calls are possible: give the final report now]";

/// Answer to a call that was made before: its result is in the conversation.
const REPEATED: &str =
    "[this call was made before, and its result is above: make another one or give the final report]";

/// Maximum turns in a row in which every call was made before.
const MOST_CIRCLES: u64 = 2;

/// Approximate tokens of the names and brackets around a tool result.
const RESULT_FRAME: u64 = 16;

/// An agent with its output, its models and its tools.
pub(crate) struct ReadGrep<'a> {
    /// The output as the tools name it.
    output: &'a Output,
    asking: &'a Asking<'a>,
    prompts: &'a Prompts<'a>,
    settings: &'a Settings,
    progress: &'a (dyn Fn(Progress) + Sync),
    /// The two tools in the form for models.
    tools: Vec<Tool>,
}

/// The conversation with one model.
struct Conversation {
    system: String,
    /// The request of the first message, which is named again before the last turn.
    request: String,
    messages: Vec<Message>,
    /// Whether the model calls tools by lines of text.
    is_in_text: bool,
    /// Tokens of everything so far.
    used: u64,
    seen: Seen,
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
    /// Turns in a row in which every call was made before.
    circles: u64,
}

impl<'a> ReadGrep<'a> {
    /// `output` must be on [`Surface::Files`](crate::Surface::Files), so that the calls in its markers can be made.
    pub(crate) fn new(
        output: &'a Output,
        asking: &'a Asking<'a>,
        prompts: &'a Prompts<'a>,
        settings: &'a Settings,
        progress: &'a (dyn Fn(Progress) + Sync),
    ) -> ReadGrep<'a> {
        ReadGrep { output, asking, prompts, settings, progress, tools: declared() }
    }

    /// Has models read the output, one after the other, until one answers.
    pub(crate) fn read(&self) -> Done {
        self.asking.of_each(1, |model| self.read_by(model))
    }

    /// One conversation: turn by turn the model calls tools and gets their results, until it gives its report.
    fn read_by(&self, model: &dyn Model) -> Result<Findings, Refusal> {
        let unusable = |cause: Cause| Refusal::unusable(model, cause);
        let mut talk = self.begin(model)?;
        loop {
            talk.seen.turns += 1;
            (self.progress)(Progress::Turn { turn: talk.seen.turns, of: self.settings.max_turns });
            let is_last = self.is_last(&talk.seen, talk.used);
            let tools: &[Tool] = if talk.is_in_text { &[] } else { &self.tools };
            let mut reply = self.asking.ask(model, &talk.system, &talk.messages, tools, !is_last)?;
            if talk.is_in_text && !is_last {
                reply.calls = text_calls::calls(&reply.text, &self.output.record().handle.to_string());
            }
            if reply.calls.is_empty() || reply.stop == Stop::Length {
                return self.finished(&reply, talk).map_err(unusable);
            }
            if is_last {
                return Err(unusable(self.no_report(&talk.seen)));
            }
            self.answer_calls(reply, &mut talk)?;
        }
    }

    /// The first message of a conversation.
    fn begin(&self, model: &dyn Model) -> Result<Conversation, Refusal> {
        let is_in_text = match model.tool_calls() {
            ToolCalls::Native => false,
            ToolCalls::Text => true,
            ToolCalls::None => return Err(Refusal::unusable(model, Cause::NoToolCalls)),
        };
        let system = self.prompts.read_grep();
        let handle = &self.output.record().handle;
        let (lines, bytes) = (count("line", self.output.lines()?), count("byte", self.output.len()));
        let how = if is_in_text { text_calls::EXPLAINED } else { "" };
        let request = self.prompts.behind_file();
        let first = format!("The file {handle} has {lines}, {bytes}. {how}Begin.\n\n{request}");
        let tools: &[Tool] = if is_in_text { &[] } else { &self.tools };
        let declared: u64 = tools.iter().map(|tool| tokens::count(&tool.schema.to_string())).sum();
        let used = tokens::count(&system) + tokens::count(&first) + declared;
        if self.is_full(used) {
            let context = self.asking.window.context;
            return Err(Refusal::unusable(model, Cause::NoRoom { context }));
        }
        let messages = vec![Message::User(first)];
        Ok(Conversation { system, request, messages, is_in_text, used, seen: Seen::default() })
    }

    /// Answers all calls of one turn.
    fn answer_calls(&self, reply: Answer, talk: &mut Conversation) -> Result<()> {
        talk.used +=
            if talk.is_in_text { tokens::count(&reply.text) } else { tokens::count(&reply.raw.to_string()) };
        let known = talk.seen.calls_made.len();
        let mut results: Vec<ToolResult> = Vec::new();
        for call in &reply.calls {
            let result =
                if self.is_full(talk.used) { call.failed(LAST) } else { self.answer(call, &mut talk.seen)? };
            talk.used += tokens::count(&result.text) + RESULT_FRAME;
            results.push(result);
        }
        talk.seen.circles = if talk.seen.calls_made.len() > known { 0 } else { talk.seen.circles + 1 };
        // A model must know that the turn that comes is its last.
        let next = Seen {
            turns: talk.seen.turns + 1,
            calls: talk.seen.calls,
            circles: talk.seen.circles,
            ..Seen::default()
        };
        if self.is_last(&next, talk.used)
            && let Some(result) = results.last_mut()
        {
            result.text = format!("{}\n{LAST}\n{}", result.text.trim_end(), talk.request);
        }
        talk.messages.push(Message::Model(reply));
        talk.messages.push(if talk.is_in_text {
            Message::User(text_calls::results(&results))
        } else {
            Message::Results(results)
        });
        Ok(())
    }

    /// The findings of an agent that makes no more calls.
    fn finished(&self, reply: &Answer, talk: Conversation) -> Result<Findings, Cause> {
        let has_read = |nonce: &str| {
            talk.messages.iter().any(|message| match message {
                Message::User(text) => text.contains(nonce),
                Message::Model(_) => false,
                Message::Results(results) => results.iter().any(|result| result.text.contains(nonce)),
            })
        };
        let report = self.asking.report(reply, &has_read).map_err(|unusable| unusable.cause)?;
        let Seen { ranges, turns, calls, patterns, .. } = talk.seen;
        if ranges.is_empty() && patterns.is_empty() && !self.output.is_empty() {
            return Err(Cause::NothingRead);
        }
        let how = How::Turns { turns, calls, patterns };
        Ok(Findings { text: self.asking.used_report(report), ranges, how })
    }

    /// Why an agent has no findings that makes calls in its last turn.
    fn no_report(&self, seen: &Seen) -> Cause {
        if seen.circles >= MOST_CIRCLES {
            return Cause::Circles;
        }
        let Settings { max_turns, max_tool_calls, .. } = *self.settings;
        Cause::NoReport { turns: seen.turns, max_turns, max_tool_calls }
    }

    /// Whether the model must answer in this turn: its turns, its calls or its context are used up.
    fn is_last(&self, seen: &Seen, used: u64) -> bool {
        seen.turns >= self.settings.max_turns
            || seen.calls >= self.settings.max_tool_calls
            || seen.circles >= MOST_CIRCLES
            || self.is_full(used)
    }

    /// Whether the context has no room for one more tool result.
    fn is_full(&self, used: u64) -> bool {
        used + self.asking.window.answer + self.budget().tokens * 2 > self.asking.window.context
    }

    /// Budget of one tool result: a small part of the context, so that there is room for many.
    fn budget(&self) -> Budget {
        let tokens = (self.asking.window.context / 32).clamp(Budget::LEAST.tokens, 4_000);
        Budget { tokens, bytes: tokens * 8, lines: None }
    }

    /// Answers a call. The model gets an error as a result, and may call again.
    fn answer(&self, call: &ToolCall, seen: &mut Seen) -> Result<ToolResult> {
        if seen.calls >= self.settings.max_tool_calls {
            return Ok(call.failed(LAST));
        }
        seen.calls += 1;
        let made = format!("{} {:?}", call.name, call.arguments.as_ref().ok());
        if seen.calls_made.contains(&made) {
            return Ok(call.failed(REPEATED));
        }
        seen.calls_made.push(made);
        let query = match self.query(call) {
            Ok(query) => query,
            Err(error) => return Ok(call.failed(error.to_string())),
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
            // The store is broken, and no other call will succeed.
            Err(error @ Error::Store { .. }) => Err(error),
            Err(error) => Ok(call.failed(crate::shortened(&error.to_string(), 1_000))),
        }
    }

    fn query(&self, call: &ToolCall) -> Result<Query> {
        if !self.tools.iter().any(|tool| tool.name == call.name) {
            let name: String = call.name.chars().take(60).collect();
            return Err(Error::BadQuery(format!("there is no tool {name:?}; there are Read and Grep")));
        }
        let mut given: Map<String, Value> =
            call.arguments.clone().map_err(|bad| Error::BadQuery(bad.to_string()))?;
        // Models call it by other names that they know from elsewhere.
        let names = [FILENAME, "handle", "path", "file_path"];
        let filename = names.iter().find_map(|name| given.remove(*name));
        let handle = self.output.record().handle.clone();
        let named = filename.as_ref().and_then(Value::as_str).unwrap_or_default();
        if named != handle.to_string() && named != handle.short() && named != handle.id() {
            let named: String = named.chars().take(60).collect();
            return Err(Error::BadQuery(format!(
                "there is no file {named:?}; the only file is {handle:?}",
                handle = handle.to_string()
            )));
        }
        given.insert("handle".to_owned(), handle.to_string().into());
        tool_call::query_of(&call.name.to_lowercase(), &given)
    }
}

/// The two tools: `read` and `grep` of the session's tools, with the name of the file in place of a handle.
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
