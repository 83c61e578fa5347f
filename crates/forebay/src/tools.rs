//! The queries as tools for models: names, descriptions, schemas, and the answers to calls.
//!
//! There are two sets with the same abilities: our own, under a prefix, and the `context.*` tools that the summary of a
//! materialized output names. Both read through [`Outputs`], so no call reaches beyond its session. An answer fits the
//! budget of excerpts, which is less than any output that passes, so it never becomes a stored output.
//!
//! ```
//! use forebay::extract::Models;
//! use forebay::{Call, MemoryStore, Outputs, Session, Settings, Timestamp, keep, tools::Tools, wire::Wire};
//! use serde_json::json;
//!
//! let store = MemoryStore::default();
//! let session = Session::safe("demo");
//! let call = Call::new(session.clone(), "call-1", "run_command", Timestamp::UNIX_EPOCH);
//! keep(&store, &call, &mut "one\ntwo\nthree\n".as_bytes(), &Timestamp::now)?;
//!
//! let message = json!({"content": [{"type": "tool_use", "id": "t1", "name": "output_read",
//!     "input": {"handle": "demo/call-1", "lines": "2:2"}}]});
//! let (outputs, settings) = (Outputs::new(&store, session, &Timestamp::now), Settings::default());
//! let tools = Tools { outputs: &outputs, models: Models::NONE, settings: &settings, prefix: "output_" };
//! for call in Wire::Anthropic.calls(&message)? {
//!     let result = tools.answer(&call);
//!     assert!(result.text.contains("\ntwo\n"));
//! }
//! # Ok::<(), forebay::Error>(())
//! ```

pub(crate) mod context;
pub(crate) mod own;
pub(crate) mod tool_output;

use crate::extract::{Extractor, Models};
use crate::request::declared::Arguments;
use crate::request::tool_call;
use crate::wire::{Tool, ToolCall, ToolResult};
use crate::{Budget, Error, Outputs, Preset, Result, Settings, Surface};

/// Default prefix of the names of our own tools.
pub const PREFIX: &str = "output_";

/// Our own tools, with `prefix` before their names, and `tool_output`, which models know by that name.
pub fn own(prefix: &str) -> Vec<Tool> {
    tool_call::TOOLS
        .iter()
        .map(|tool| Tool::declared(tool, prefix))
        .chain([Tool::declared(&tool_output::TOOL, "")])
        .collect()
}

/// The tools that the summary of a materialized output names.
pub fn context() -> Vec<Tool> {
    context::TOOLS.iter().map(|tool| Tool::declared(tool, "context.")).collect()
}

/// The tools that the views of this preset name: our own, and those of a materialized output.
pub fn advised(preset: Preset, prefix: &str) -> Vec<Tool> {
    let context = if preset == Preset::Materialize { context() } else { Vec::new() };
    own(prefix).into_iter().chain(context).collect()
}

/// The tools to offer in a turn: none before an output was folded, because there is nothing to read, and none in the
/// final turn, because there is no time to read. A host whose prompt cache depends on a constant list offers them always.
pub fn offered(tools: Vec<Tool>, has_folded: bool, final_turn: bool) -> Vec<Tool> {
    if has_folded && !final_turn { tools } else { Vec::new() }
}

/// The tools of a session, ready to answer calls.
#[derive(Clone, Copy)]
pub struct Tools<'a> {
    /// Outputs of the session.
    pub outputs: &'a Outputs<'a>,
    /// Models that read for `tool_output`; [`Models::NONE`] if there are none.
    pub models: Models<'a>,
    /// Budgets of answers, and how models read.
    pub settings: &'a Settings,
    /// Prefix of the names of our own tools, such as [`PREFIX`].
    pub prefix: &'a str,
}

impl Tools<'_> {
    /// Answers a call. If the call cannot be carried out, the answer says what to do instead.
    pub fn answer(&self, call: &ToolCall) -> ToolResult {
        match self.try_answer(call) {
            Ok(text) => call.answered(text),
            Err(error) => call.failed(bounded(error.to_string(), self.settings.excerpt_budget())),
        }
    }

    fn try_answer(&self, call: &ToolCall) -> Result<String> {
        let Tools { outputs, models, settings, prefix } = *self;
        let budget = settings.excerpt_budget();
        let surface = Surface::Tools { prefix: prefix.to_owned() };
        let given = call.arguments.as_ref().map_err(|bad| Error::BadQuery(bad.to_string()))?;
        if call.name == tool_output::TOOL.name {
            return tool_output::answer(&Extractor::new(outputs, models), given, settings, &surface);
        }
        let dotted = call.name.strip_prefix("context.").or(call.name.strip_prefix("context_"));
        if let Some(tool) = dotted.and_then(|name| context::TOOLS.iter().find(|tool| tool.name == name)) {
            return context::answer(outputs, tool, given, outputs.within_room(budget));
        }
        let ours = call.name.strip_prefix(prefix);
        if let Some(tool) = ours.and_then(|name| tool_call::TOOLS.iter().find(|tool| tool.name == name)) {
            return own::answer(outputs, tool.name, Arguments::new(tool, given)?, budget, &surface);
        }
        let names: Vec<String> = own(prefix).into_iter().chain(context()).map(|tool| tool.name).collect();
        let called: String = call.name.chars().take(60).collect();
        Err(Error::BadQuery(format!("there is no tool {called:?} here; there are {}", names.join(", "))))
    }
}

/// The text of an error, cut to the budget.
fn bounded(mut text: String, budget: Budget) -> String {
    while !budget.holds(text.as_bytes()) && !text.is_empty() {
        text = crate::shortened(&text, text.chars().count() / 2);
    }
    text
}

#[cfg(test)]
mod tests;
