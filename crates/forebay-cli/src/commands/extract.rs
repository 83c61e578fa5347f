//! `forebay extract`: instructions in plain words, answered over a whole output.

use super::{Context, Outcome};
use crate::error::DONE;
use crate::print;
use forebay::extract::Mode;
use serde_json::json;
use std::process::ExitCode;

/// Have an output read as instructions in plain words say.
///
/// The answer is what the tool `tool_output` gives a model. Without a model, the passages that answer best are found by
/// their words (strategy `ask`); a strategy that needs a model says so and gives the beginning and the end.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay extract HANDLE 'all failing tests with their assertion'
  forebay extract HANDLE 'the first and the last request' --mode truncate")]
pub(crate) struct Args {
    /// The output
    handle: String,
    /// What is wanted of it
    #[arg(required = true, num_args = 1.., value_name = "INSTRUCTIONS")]
    instructions: Vec<String>,
    /// How it is read: auto, full-chunked, read-grep or truncate
    #[arg(long, default_value = "auto", value_name = "MODE")]
    mode: Mode,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let outputs = context.outputs(&args.handle)?;
    let budget = context.settings.excerpt_budget();
    let instructions = args.instructions.join(" ");
    let answer = outputs.extract(&args.handle, &instructions, args.mode, budget, &context.surface)?;
    match context.json {
        true => print::json(&json!({
            "handle": outputs.find(&args.handle)?.to_string(),
            "strategy": answer.strategy,
            "fell_back": answer.fell_back.map(|(from, why)| json!({"from": from.to_string(), "why": why})),
            "text": answer.text,
        }))?,
        false => print::out(answer.text.as_bytes())?,
    }
    Ok(ExitCode::from(DONE))
}
