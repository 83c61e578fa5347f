//! The query tools for agents in any language: their definitions, and answers to a model's calls.

use super::Web;
use super::asked::{Asked, json};
use super::door::Right;
use super::problem::Problem;
use crate::models;
use axum::response::Response;
use forebay::Preset;
use forebay::extract::Models;
use forebay::tools::{self, PREFIX};
use forebay::wire::{ToolCall, ToolResult, Wire};
use serde_json::{Value, json};

/// No model calls more tools at once.
const MOST: usize = 64;

fn prefix(asked: &Asked) -> &str {
    if asked.given.has("prefix") { asked.given.text("prefix") } else { PREFIX }
}

/// The form of messages that is asked for, if one is.
fn wire(asked: &Asked) -> Result<Option<Wire>, Problem> {
    Ok(if asked.given.has("wire") { Some(asked.given.text("wire").parse()?) } else { None })
}

/// The definitions.
pub(crate) fn tools(web: &Web, asked: &Asked) -> Result<Response, Problem> {
    let wire = wire(asked)?.unwrap_or(Wire::Mcp);
    let tools = match asked.given.text("set") {
        "own" => tools::own(prefix(asked)),
        "context" => tools::context(),
        "all" => tools::advised(Preset::Materialize, prefix(asked)),
        _ => tools::advised(web.config.settings.preset, prefix(asked)),
    };
    Ok(json(&json!({ "wire": wire.as_str(), "tools": wire.tools(&tools) })))
}

/// Answers to a model's calls.
pub(crate) fn answer(web: &Web, asked: &Asked, body: Value) -> Result<Response, Problem> {
    let clients = web.config.reach.clients();
    // Whoever may not have models read gets what is found without them.
    let list = if asked.visitor.may(Right::Extract).is_ok() { clients.list() } else { Vec::new() };
    let models = Models { list: &list, nonce: &models::nonce, ..Models::NONE };
    let outputs = asked.outputs(web)?;
    let settings = asked.settings(web);
    let answer =
        |call: &ToolCall| -> ToolResult { tools::answer(&outputs, models, call, &settings, prefix(asked)) };
    let Some(wire) = wire(asked)? else {
        let result = answer(&one(body)?);
        return Ok(json(&json!({ "text": result.text, "is_error": result.is_error })));
    };
    let calls = wire.calls(&body)?;
    if calls.len() > MOST {
        return Err(Problem::bad_request(format!(
            "the message has {} calls, and up to {MOST} are answered at once",
            calls.len()
        )));
    }
    let answered: Vec<(ToolCall, ToolResult)> = calls
        .into_iter()
        .map(|call| {
            let result = answer(&call);
            (call, result)
        })
        .collect();
    Ok(json(&json!({ "results": wire.answers(&answered) })))
}

/// One call by its name.
fn one(body: Value) -> Result<ToolCall, Problem> {
    let wrong =
        |what: &str| Problem::bad_request(format!("{what}; a call is {{\"name\": …, \"arguments\": {{…}}}}"));
    let Value::Object(mut body) = body else { return Err(wrong("the body is no object")) };
    let Some(Value::String(name)) = body.remove("name") else { return Err(wrong("the call has no name")) };
    let arguments = match body.remove("arguments") {
        None => serde_json::Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(wrong("the arguments are no object")),
    };
    if let Some((name, _)) = body.into_iter().next() {
        return Err(wrong(&format!("the call has a field {:?} too many", forebay::shortened(&name, 60))));
    }
    Ok(ToolCall { id: String::new(), name, arguments: Ok(arguments) })
}
