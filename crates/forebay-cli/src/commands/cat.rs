//! `forebay cat`: the bytes of an output, for pipes.

use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::print::forgive;
use clap::ValueEnum;
use forebay::Stream;
use forebay::store::for_each_stretch;
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// Print the bytes of an output, for pipes.
///
/// Prints all of them unchanged. For a model use `read`, `grep` and `tail`, whose answers are bounded.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay cat HANDLE | jq .
  forebay cat HANDLE --stream stderr | less")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// Print only this stream
    #[arg(long, value_enum)]
    stream: Option<StreamName>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StreamName {
    Stdout,
    Stderr,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let output = context.open(&args.handle)?;
    let wanted = args.stream.map(|stream| match stream {
        StreamName::Stdout => Stream::Stdout,
        StreamName::Stderr => Stream::Stderr,
    });
    let mut stdout = io::stdout().lock();
    let mut written = Ok(());
    for_each_stretch(context.store(), &output, |stream, bytes| {
        if written.is_ok() && wanted.is_none_or(|wanted| wanted == stream) {
            written = stdout.write_all(bytes);
        }
    })?;
    forgive(written.and_then(|()| stdout.flush()))?;
    Ok(ExitCode::from(DONE))
}
