//! Our own tools, one for each kind of query.

use crate::request::declared::Arguments;
use crate::request::tool_call::query_with;
use crate::{Budget, Outputs, Result, Surface};

/// Answers a call of one of these tools.
pub(crate) fn answer(
    outputs: &Outputs,
    name: &str,
    arguments: Arguments,
    budget: Budget,
    surface: &Surface,
) -> Result<String> {
    match name {
        "list" => return outputs.listing(budget),
        "search" => return Ok(outputs.search(arguments.text("words"), budget, surface)?.text),
        _ => {}
    }
    let query = query_with(name, &arguments)?;
    let answer = outputs.answer(arguments.text("handle"), &query, budget, surface)?;
    Ok(String::from_utf8_lossy(&answer.text).into_owned())
}
