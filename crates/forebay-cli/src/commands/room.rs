//! `forebay room`: how much of the model's context is in use, and how much is left for outputs.

use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::print::{self, grouped};
use forebay::Window;
use forebay::forms;
use std::process::ExitCode;

/// Show or report how much of the model's context window is in use.
///
/// If the size of the window is set (`room.context_window`), an output that does not fit into the free part gets a view
/// that does. Forebay counts the tokens it prints. A host that knows the true number reports it, best before each request
/// to its model.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  export FOREBAY_ROOM_CONTEXT_WINDOW=200000
  forebay room                 print the used and the free part
  forebay room --used 143210   report the host's own count; later answers are added to it
  forebay put --dry-run FILE   what an output would get; stores and counts nothing")]
pub(crate) struct Args {
    /// Report this many tokens as used
    #[arg(long, value_name = "TOKENS")]
    used: Option<u64>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let outputs = context.session_outputs();
    if let Some(used) = args.used {
        outputs.set_used_tokens(used)?;
    }
    let in_use = outputs.in_use()?;
    let Window { context_window, output_reserve, safety_buffer } = context.settings.room;
    let left = outputs.room()?.left();
    if context.json {
        print::json(&forms::room(&outputs, context.settings.room)?)?;
        return Ok(ExitCode::from(DONE));
    }
    let row = |name: &str, tokens: u64| vec![name.to_owned(), grouped(tokens)];
    let mut rows = vec![row("said to be in use", in_use.reported), row("handed over since", in_use.given)];
    if let Some(left) = left {
        rows.insert(0, row("context", context_window));
        rows.push(row("for what the model writes", output_reserve));
        rows.push(row("kept free", safety_buffer));
        rows.push(row("left for outputs", left));
    }
    print::out(print::table(&["ROOM", "TOKENS"], &[false, true], &rows).as_bytes())?;
    if left.is_none() {
        print::err(
            "how large the context is, is not known, so nothing is counted: set room.context_window \
             (FOREBAY_ROOM_CONTEXT_WINDOW)\n",
        );
    }
    Ok(ExitCode::from(DONE))
}
