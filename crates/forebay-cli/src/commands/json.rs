//! `forebay json`: what a jq filter gives, or the shape of a document, bounded.

use crate::context::{Context, Outcome};
use forebay::Query;
use forebay::query::Filter;

/// Run a jq filter over a JSON output, or see its shape.
///
/// Without a filter every path is shown with its types, how often it occurs and what is found there; each path is itself
/// a filter. Filters that go through the members of an array, such as `.[] | …` or `map(…)`, read an output of any size
/// without holding it in memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay json HANDLE                                       its shape
  forebay json HANDLE '.items[] | select(.ok | not) | .id'
  forebay json HANDLE 'group_by(.kind) | map({kind: .[0].kind, n: length})'")]
pub(crate) struct Args {
    /// The output
    handle: String,
    /// The filter, in the language of jq
    #[arg(allow_hyphen_values = true)]
    filter: Option<String>,
    /// Pass over so many results, or paths
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// How many results are shown at most
    #[arg(long, value_name = "N", default_value_t = Filter::SHOWN, requires = "filter", value_parser = clap::value_parser!(u64).range(1..))]
    max: u64,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    let query = match args.filter {
        Some(filter) => Query::Json(Filter { filter, skip: args.skip, max: args.max, together: false }),
        None => Query::Shape { skip: args.skip },
    };
    context.answer(&args.handle, &query)
}
