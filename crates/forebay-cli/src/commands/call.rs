//! `forebay call`: answers a model's calls of the query tools.

use crate::args::ByModels;
use crate::commands::tools::Set;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::{models, print};
use forebay::extract::{FAILED, Models};
use forebay::tools::Tools;
use forebay::wire::{ToolCall, ToolResult, Wire};
use serde_json::Value;
use std::{io::Read, process::ExitCode};

/// Maximum bytes of a message, which the model's context window bounds.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Answer a model's calls of the query tools.
///
/// Either name the tool and give its arguments as JSON, or name a wire format with --wire and pass the model's message on
/// stdin. Then all calls in the message are answered, and the messages to send back are printed, one on each line.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay call output_grep '{\"handle\": \"s/abc12345\", \"pattern\": \"error\"}'
  forebay call --wire anthropic < message.json")]
pub(crate) struct Args {
    /// Name of the tool
    #[arg(required_unless_present = "wire", conflicts_with = "wire")]
    name: Option<String>,
    /// Arguments as a JSON object
    #[arg(value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    arguments: String,
    /// Wire format of the message on stdin: openai-chat, openai-responses, anthropic, gemini, mcp or function-call
    #[arg(long, value_name = "WIRE")]
    wire: Option<Wire>,
    #[command(flatten)]
    set: Set,
    #[command(flatten)]
    pub(crate) by_models: ByModels,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    let clients = context.models.clients();
    let list = clients.list();
    let models = Models { list: &list, nonce: &models::nonce, ..Models::NONE };
    let outputs = context.session_outputs();
    let tools = Tools { outputs: &outputs, models, settings: &context.settings, prefix: &args.set.prefix };
    let answer = |call: &ToolCall| -> ToolResult { tools.answer(call) };
    let Some(wire) = args.wire else {
        let arguments = serde_json::from_str(&args.arguments)
            .map_err(|error| CliError::usage(format!("the arguments are not a JSON object: {error}")))?;
        let name = args.name.clone().unwrap_or_default();
        let result = answer(&ToolCall { id: String::new(), name, arguments: Ok(arguments) });
        if context.json {
            print::json(&Wire::Mcp.results(std::slice::from_ref(&result))[0])?;
            return Ok(ExitCode::from(if result.is_error { NOT_THERE } else { DONE }));
        }
        if result.is_error && result.text.starts_with(FAILED) {
            // The envelope is the exact answer.
            print::out(format!("{}\n", result.text.trim_end()).as_bytes())?;
            return Ok(ExitCode::from(NOT_THERE));
        }
        if result.is_error {
            return Err(CliError::not_there(result.text));
        }
        print::out(result.text.as_bytes())?;
        return Ok(ExitCode::from(DONE));
    };
    let mut said = String::new();
    std::io::stdin()
        .take(LARGEST)
        .read_to_string(&mut said)
        .map_err(|error| CliError::usage(format!("the message on stdin cannot be read: {error}")))?;
    // A model without native tool calls writes plain text.
    let message = match wire {
        Wire::FunctionCall => serde_json::from_str(&said).unwrap_or(Value::String(said)),
        _ => serde_json::from_str(&said)
            .map_err(|error| CliError::usage(format!("the message on stdin is not JSON: {error}")))?,
    };
    let answered: Vec<(ToolCall, ToolResult)> = wire
        .calls(&message)?
        .into_iter()
        .map(|call| {
            let result = answer(&call);
            (call, result)
        })
        .collect();
    for message in wire.answers(&answered) {
        print::json(&message)?;
    }
    Ok(ExitCode::from(DONE))
}
