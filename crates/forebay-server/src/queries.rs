//! Queries of outputs, as the query tools ask them. Each answer counts as shown to the model.

use crate::problem::Problem;
use crate::request::{Request, json, text};
use crate::state::Server;
use axum::response::Response;
use forebay::extract::{Extraction, Extractor, Mode, Models};
use forebay::forms;
use forebay::model::Model;
use forebay::request::declared::Arguments;
use forebay::request::tool_call;
use serde::Deserialize;

/// Answers a query about one output.
pub(crate) fn answer(server: &Server, request: &Request) -> Result<Response, Problem> {
    let (outputs, name) = (request.outputs(server)?, request.path_parameter("output"));
    let mut arguments = request.tool_arguments.clone();
    arguments.insert("handle".to_owned(), name.into());
    let query = tool_call::query_of(request.endpoint.name, &arguments)?;
    let surface = request.surface();
    let excerpt = outputs.answer(name, &query, request.budget(server), &surface)?;
    if request.wants_text() {
        return Ok(text(excerpt.text));
    }
    let mut value = forms::excerpt(&outputs.open(name)?, &excerpt, &surface)?;
    value["text"] = String::from_utf8_lossy(&excerpt.text).into();
    Ok(json(&value))
}

/// Searches all outputs of a session.
pub(crate) fn search(server: &Server, request: &Request) -> Result<Response, Problem> {
    let declared =
        tool_call::declared("search").ok_or_else(|| Problem::internal("the tool search is not declared"))?;
    let arguments = Arguments::new(declared, &request.tool_arguments)?;
    let found = request.outputs(server)?.search(
        arguments.text("words"),
        request.budget(server),
        &request.surface(),
    )?;
    if request.wants_text() {
        return Ok(text(found.text));
    }
    let mut value = forms::searched(&found);
    value["text"] = found.text.into();
    Ok(json(&value))
}

/// The body of an extraction request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Instructions {
    instructions: String,
    #[serde(default = "auto")]
    mode: String,
    #[serde(default)]
    anew: bool,
}

fn auto() -> String {
    Mode::Auto.to_string()
}

/// Has models read an output.
pub(crate) fn extract(server: &Server, request: &Request, body: Instructions) -> Result<Response, Problem> {
    if body.instructions.trim().is_empty() {
        return Err(Problem::bad_request("instructions are empty: say what to find in the output"));
    }
    let _slot = server.slot(request.holders())?;
    let models = (server.config.models)();
    let list: Vec<&dyn Model> = models.iter().map(|model| &**model).collect();
    let models = Models { list: &list, nonce: &server.config.nonce, ..Models::NONE };
    let outputs = request.outputs(server)?;
    let extractor = Extractor::new(&outputs, models);
    let handle = outputs.find(request.path_parameter("output"))?;
    let settings = request.settings(server);
    let extraction = Extraction {
        instructions: &body.instructions,
        mode: body.mode.parse()?,
        rerun: body.anew,
        settings: &settings.extract,
    };
    let answer = extractor.extract(
        request.path_parameter("output"),
        &extraction,
        settings.excerpt_budget(),
        &request.surface(),
    )?;
    Ok(if request.wants_text() { text(answer.text) } else { json(&forms::extract(&handle, &answer)) })
}
