//! `forebay ask`: the passages of an output that answer a question best, bounded.

use crate::args::words;
use crate::context::{Context, Outcome};
use forebay::Query;

/// Ask a question about an output in plain words.
///
/// No model is asked: the passages that answer best are found by their words, and shown in the order of the output with
/// their line numbers. Names, paths and numbers help. Of a page only what a browser would show is looked at, and of
/// JSON the members with their paths. A question about all of it ("what stands out?") is answered by what a view shows,
/// and one with everyday words alone by both.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay ask HANDLE 'why did the build fail?'
  forebay ask HANDLE 'what is the checksum of regex 1.8.3?' --budget 300
  forebay ask HANDLE 'which record is unlike the others?'")]
pub(crate) struct Args {
    /// The output
    handle: String,
    /// The question
    #[arg(allow_hyphen_values = true)]
    question: String,
    /// More of its words, where they are not quoted
    #[arg(hide = true)]
    more: Vec<String>,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    context.answer(&args.handle, &Query::Ask(words(args.question, &args.more)))
}
