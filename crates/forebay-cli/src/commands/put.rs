//! `forebay put`: keep an output made elsewhere, print the view.

use super::{Context, Outcome, clean};
use crate::args::{CallArgs, Shown};
use crate::error::{CliError, DONE, NOT_THERE, STORE};
use crate::print;
use crate::progress::Watched;
use forebay::{State, Timestamp};
use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
    process::ExitCode,
};

/// Keep an output made elsewhere, print the view.
///
/// Of a large output the view is printed; a small one is printed as it is. Both are kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay put build.log
  curl -s https://example.org/api | forebay put --tool fetch --args '{\"url\": \"https://example.org/api\"}'
  forebay put --json --budget 800 --call-id toolu_01AbC result.json")]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,
    #[command(flatten)]
    pub(crate) shown: Shown,
    /// The file that holds the output; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    context.can_keep()?;
    let source: Box<dyn Read> = match args.file.as_deref().filter(|file| file.as_os_str() != "-") {
        Some(path) => {
            let cannot =
                |error: io::Error| CliError::not_there(format!("cannot read {}: {error}", path.display()));
            let file = File::open(path).map_err(cannot)?;
            if file.metadata().map_err(cannot)?.is_dir() {
                return Err(CliError::usage(format!("{} is a folder, not an output", path.display())));
            }
            Box::new(file)
        }
        None => Box::new(io::stdin()),
    };
    let call = context.call(args.call, "put", None)?;
    clean::now_and_then(context);
    let mut source = Watched::new(source);
    let output = forebay::keep(context.store(), &call, &mut source, Timestamp::now)?.on(&context.surface);
    let reply = context.session_outputs().reply(&output, &context.settings)?;
    context.give(&output, &reply)?;
    if let Some(lost) = &output.record().lost {
        print::err(&format!("forebay: {} bytes could not be kept: {}\n", lost.bytes, lost.why));
        return Ok(ExitCode::from(STORE));
    }
    if let State::CutShort(why) = &output.record().state {
        print::err(&format!("forebay: {why}; what came before that is kept\n"));
        return Ok(ExitCode::from(NOT_THERE));
    }
    Ok(ExitCode::from(DONE))
}
