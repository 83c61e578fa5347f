//! Queries of outputs, as the tools ask them: each answer counts among what the model was given.

use super::Web;
use super::asked::{Asked, json, text};
use super::problem::Problem;
use crate::{machine_form, models};
use axum::response::Response;
use forebay::extract::{Extraction, Extractor, Mode, Models};
use forebay::request::declared::Arguments;
use forebay::request::tool_call;
use serde::Deserialize;

/// Answers a query about one output.
pub(crate) fn answer(web: &Web, asked: &Asked) -> Result<Response, Problem> {
    let (outputs, name) = (asked.outputs(web)?, asked.named("output"));
    let mut arguments = asked.for_tool.clone();
    arguments.insert("handle".to_owned(), name.into());
    let query = tool_call::query_of(asked.route.name, &arguments)?;
    let surface = asked.surface();
    let excerpt = outputs.answer(name, &query, asked.budget(web), &surface)?;
    if asked.wants_text() {
        return Ok(text(excerpt.text));
    }
    let mut value = machine_form::excerpt(&outputs.open(name)?, &excerpt, &surface)?;
    value["text"] = String::from_utf8_lossy(&excerpt.text).into();
    Ok(json(&value))
}

/// Searches all outputs of a session.
pub(crate) fn search(web: &Web, asked: &Asked) -> Result<Response, Problem> {
    let declared = tool_call::declared("search").ok_or_else(|| Problem::ours("there is no search"))?;
    let arguments = Arguments::new(declared, &asked.for_tool)?;
    let found = asked.outputs(web)?.search(arguments.text("words"), asked.budget(web), &asked.surface())?;
    if asked.wants_text() {
        return Ok(text(found.text));
    }
    let mut value = machine_form::searched(&found);
    value["text"] = found.text.into();
    Ok(json(&value))
}

/// What models are to find.
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
pub(crate) fn extract(web: &Web, asked: &Asked, wanted: Instructions) -> Result<Response, Problem> {
    if wanted.instructions.trim().is_empty() {
        return Err(Problem::bad_request("instructions are empty: say what is wanted from the output"));
    }
    let _place = web.place(asked)?;
    let clients = web.config.reach.clients();
    let list = clients.list();
    let models = Models { list: &list, nonce: &models::nonce, ..Models::NONE };
    let outputs = asked.outputs(web)?;
    let extractor = Extractor::new(&outputs, models);
    let handle = outputs.find(asked.named("output"))?;
    let settings = asked.settings(web);
    let extraction = Extraction {
        instructions: &wanted.instructions,
        mode: wanted.mode.parse()?,
        anew: wanted.anew,
        settings: &settings.extract,
    };
    let answer =
        extractor.extract(asked.named("output"), &extraction, settings.excerpt_budget(), &asked.surface())?;
    Ok(match asked.wants_text() {
        true => text(answer.text),
        false => json(&machine_form::extract(&handle, &answer)),
    })
}
