//! `forebay ask`: the passages of an output that best answer a question, within a budget.

use crate::args::words;
use crate::context::{Context, Outcome};
use forebay::Query;

/// Ask a question about an output in plain words.
///
/// Prints the passages that best match the words of the question, in the order of the output and with line numbers. Uses no
/// model. Names, paths and numbers in the question help. In a web page only the visible text is searched, in JSON the
/// members with their paths. A question about the whole output ("what stands out?") is answered by the lines that a view
/// shows, a question of everyday words by both.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay ask HANDLE 'why did the build fail?'
  forebay ask HANDLE 'what is the checksum of regex 1.8.3?' --budget 300
  forebay ask HANDLE 'which record is unlike the others?'")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// The question
    #[arg(allow_hyphen_values = true)]
    question: String,
    /// More words of the question, if it is not quoted
    #[arg(hide = true)]
    more: Vec<String>,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    context.answer(&args.handle, &Query::Ask(words(args.question, &args.more)))
}
