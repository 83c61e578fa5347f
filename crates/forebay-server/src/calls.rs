//! The query tools for agents in any language: their definitions, and answers to a model's calls.

use crate::auth::Right;
use crate::problem::Problem;
use crate::request::{Request, json};
use crate::state::Server;
use axum::response::Response;
use forebay::Preset;
use forebay::extract::Models;
use forebay::model::Model;
use forebay::tools::{self, PREFIX, Tools};
use forebay::wire::{ToolCall, ToolResult, Wire};
use serde_json::{Value, json};

/// Maximum calls in one message; models make far fewer at a time.
const MAX_CALLS: usize = 64;

fn prefix(request: &Request) -> &str {
    if request.arguments.has("prefix") { request.arguments.text("prefix") } else { PREFIX }
}

/// Vendor's format of the messages, if the request names one.
fn wire(request: &Request) -> Result<Option<Wire>, Problem> {
    Ok(if request.arguments.has("wire") { Some(request.arguments.text("wire").parse()?) } else { None })
}

/// Responds with the definitions of the tools.
pub(crate) fn tools(server: &Server, request: &Request) -> Result<Response, Problem> {
    let wire = wire(request)?.unwrap_or(Wire::Mcp);
    let tools = match request.arguments.text("set") {
        "own" => tools::own(prefix(request)),
        "context" => tools::context(),
        "all" => tools::advised(Preset::Materialize, prefix(request)),
        _ => tools::advised(server.config.settings.preset, prefix(request)),
    };
    Ok(json(&json!({ "wire": wire.as_str(), "tools": wire.tools(&tools) })))
}

/// Answers a model's calls.
pub(crate) fn answer(server: &Server, request: &Request, body: Value) -> Result<Response, Problem> {
    // A caller without the right gets what is found without models.
    let models = if request.caller.has(Right::Extract) { (server.config.models)() } else { Vec::new() };
    let list: Vec<&dyn Model> = models.iter().map(|model| &**model).collect();
    let models = Models { list: &list, nonce: &server.config.nonce, ..Models::NONE };
    let outputs = request.outputs(server)?;
    let settings = request.settings(server);
    let tools = Tools { outputs: &outputs, models, settings: &settings, prefix: prefix(request) };
    let answer = |call: &ToolCall| -> ToolResult { tools.answer(call) };
    let Some(wire) = wire(request)? else {
        let result = answer(&parse_call(body)?);
        return Ok(json(&json!({ "text": result.text, "is_error": result.is_error })));
    };
    let calls = wire.calls(&body)?;
    if calls.len() > MAX_CALLS {
        return Err(Problem::bad_request(format!(
            "the message has {} calls, and the limit is {MAX_CALLS}",
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

/// A call that is not in a wire format: a name and arguments.
fn parse_call(body: Value) -> Result<ToolCall, Problem> {
    let wrong =
        |why: &str| Problem::bad_request(format!("{why}; a call is {{\"name\": …, \"arguments\": {{…}}}}"));
    let Value::Object(mut body) = body else { return Err(wrong("the body is not an object")) };
    let Some(Value::String(name)) = body.remove("name") else { return Err(wrong("the call has no name")) };
    let arguments = match body.remove("arguments") {
        None => serde_json::Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(wrong("the arguments are not an object")),
    };
    if let Some((name, _)) = body.into_iter().next() {
        return Err(wrong(&format!("the call has an unknown field {:?}", forebay::shortened(&name, 60))));
    }
    Ok(ToolCall { id: String::new(), name, arguments: Ok(arguments) })
}
