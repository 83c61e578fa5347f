//! `forebay tools`: the queries as tools for a model, in its vendor's form.

use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::print;
use forebay::wire::{Tool, Wire};
use forebay::{Preset, tools};
use std::process::ExitCode;

/// Print the query tools in a model's wire format.
///
/// Pass the printed list to the model, and its calls to `forebay call`. Calls can read only the outputs of the session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay tools                        print a table
  forebay tools --wire anthropic       the field `tools` of a request
  forebay tools --wire mcp --set context
  forebay tools --wire anthropic --when-folded   an empty list until an output has a view")]
pub(crate) struct Args {
    /// Wire format: openai-chat, openai-responses, anthropic, gemini, mcp or function-call
    #[arg(long, value_name = "WIRE")]
    wire: Option<Wire>,
    #[command(flatten)]
    set: Set,
    /// Print an empty list unless an output of the session has a view
    #[arg(long)]
    when_folded: bool,
    /// Print an empty list: it is the final turn, and the model must answer
    #[arg(long)]
    final_turn: bool,
}

/// Choice of tools.
#[derive(Debug, clap::Args)]
pub(crate) struct Set {
    /// Our own tools, those named context.*, or both; default: own, or all with the preset materialize
    #[arg(long, value_enum, value_name = "SET")]
    set: Option<Which>,
    /// Prefix of the names of our own tools
    #[arg(long, default_value = tools::PREFIX, value_name = "TEXT")]
    pub(super) prefix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Our own tools
    Own,
    /// Tools named context.*, which the preset `materialize` uses
    Context,
    /// Both
    All,
}

impl Set {
    fn tools(&self, preset: Preset) -> Vec<Tool> {
        match self.set {
            None => tools::advised(preset, &self.prefix),
            Some(Which::Own) => tools::own(&self.prefix),
            Some(Which::Context) => tools::context(),
            Some(Which::All) => tools::advised(Preset::Materialize, &self.prefix),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let has_folded = !args.when_folded || context.session_outputs().has_folded()?;
    let tools = tools::offered(args.set.tools(context.settings.preset), has_folded, args.final_turn);
    match args.wire.or(context.json.then_some(Wire::Mcp)) {
        Some(wire) => print::json(&wire.tools(&tools))?,
        None => {
            let rows: Vec<[String; 2]> =
                tools.into_iter().map(|tool| [tool.name, tool.description]).collect();
            let width = rows.iter().map(|[name, _]| name.len()).max().unwrap_or(0);
            let text: String =
                rows.iter().map(|[name, description]| format!("{name:<width$}  {description}\n")).collect();
            print::out(text.as_bytes())?;
        }
    }
    Ok(ExitCode::from(DONE))
}
