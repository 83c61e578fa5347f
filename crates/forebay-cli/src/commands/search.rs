//! `forebay search`: words in all outputs of a session, the newest output first.

use crate::args::words;
use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::print;
use forebay::forms;
use std::process::ExitCode;

/// Search all outputs of a session for words.
///
/// Finds the lines with all of the words, in any order, in upper or lower case. Matches are grouped by output, the newest
/// first; a few are printed for each, with the command that prints them all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay search connection refused
  forebay search TypeError --session build-17")]
pub(crate) struct Args {
    /// Words to find
    #[arg(allow_hyphen_values = true, value_name = "WORDS")]
    first: String,
    /// More words
    #[arg(hide = true)]
    more: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let outputs = context.session_outputs();
    let found = outputs.search(
        &words(args.first.clone(), &args.more),
        context.settings.excerpt_budget(),
        &context.surface,
    )?;
    if context.json {
        print::json(&forms::searched(&found))?
    } else {
        print::out(found.text.as_bytes())?
    }
    Ok(ExitCode::from(DONE))
}
