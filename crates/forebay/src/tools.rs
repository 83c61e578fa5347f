//! The queries as tools that a model calls: names, descriptions, schemas, and one function that answers a call.
//!
//! Two sets say the same: ours, under a prefix, and the `context.*` tools that the summary of a materialized output
//! advises. Both read through [`Outputs`], so a call cannot reach beyond its session whatever it asks for. An answer
//! holds the budget of excerpts, which is less than any output that passes, so it never becomes a stored output.
//!
//! ```
//! use forebay::{Call, MemoryStore, Outputs, Session, Settings, Timestamp, keep, tools, wire::Wire};
//! use serde_json::json;
//!
//! let store = MemoryStore::default();
//! let session = Session::safe("demo");
//! let call = Call::new(session.clone(), "call-1", "run_command", Timestamp::UNIX_EPOCH);
//! keep(&store, &call, &mut "one\ntwo\nthree\n".as_bytes())?;
//!
//! let message = json!({"content": [{"type": "tool_use", "id": "t1", "name": "output_read",
//!     "input": {"handle": "demo/call-1", "lines": "2:2"}}]});
//! let outputs = Outputs::new(&store, session);
//! for call in Wire::Anthropic.calls(&message)? {
//!     let result = tools::answer(&outputs, &call, &Settings::default(), "output_", Timestamp::UNIX_EPOCH);
//!     assert!(result.text.contains("\ntwo\n"));
//! }
//! # Ok::<(), forebay::Error>(())
//! ```

mod arguments;
mod context;
mod output;

pub(crate) use output::call_of;

use crate::wire::{Tool, ToolCall, ToolResult};
use crate::{Error, Outputs, Result, Settings, Surface, Timestamp};
use arguments::Arguments;

/// What the names of our own tools begin with unless it is said.
pub const PREFIX: &str = "output_";

/// Our own tools, their names beginning with `prefix`.
pub fn own(prefix: &str) -> Vec<Tool> {
    output::TOOLS.iter().map(|tool| tool.told(prefix)).collect()
}

/// The tools that the summary of a materialized output advises.
pub fn context() -> Vec<Tool> {
    context::TOOLS.iter().map(|tool| tool.told("context.")).collect()
}

/// Answers a call of one of the tools, at a time. A call that cannot be answered is answered with what to do instead.
pub fn answer(
    outputs: &Outputs,
    call: &ToolCall,
    settings: &Settings,
    prefix: &str,
    at: Timestamp,
) -> ToolResult {
    let budget = settings.excerpt_budget();
    let surface = Surface::Tools { prefix: prefix.to_owned() };
    let asked = || -> Result<String> {
        let given = call.arguments.as_ref().map_err(|bad| Error::BadQuery(bad.to_string()))?;
        let dotted = call.name.strip_prefix("context.").or(call.name.strip_prefix("context_"));
        let ours = call.name.strip_prefix(prefix);
        if let Some(tool) = dotted.and_then(|name| context::TOOLS.iter().find(|tool| tool.name == name)) {
            return context::answer(outputs, tool.name, Arguments::new(tool, given)?, budget);
        }
        if let Some(tool) = ours.and_then(|name| output::TOOLS.iter().find(|tool| tool.name == name)) {
            return output::answer(outputs, tool.name, Arguments::new(tool, given)?, budget, &surface, at);
        }
        let names: Vec<String> = own(prefix).into_iter().chain(context()).map(|tool| tool.name).collect();
        let called: String = call.name.chars().take(60).collect();
        Err(Error::BadQuery(format!("there is no tool {called:?} here; there are {}", names.join(", "))))
    };
    match asked() {
        Ok(text) => call.answered(text),
        Err(error) => call.failed(bounded(error.to_string(), budget)),
    }
}

/// An error as it is told, within the budget.
fn bounded(mut text: String, budget: crate::Budget) -> String {
    while !budget.holds(text.as_bytes()) && !text.is_empty() {
        let half = (0..=text.len() / 2).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(half);
    }
    text
}
