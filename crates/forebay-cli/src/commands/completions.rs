//! `forebay completions`: the completion script of a shell.

use super::Outcome;
use crate::args::Cli;
use crate::error::DONE;
use crate::print;
use clap::CommandFactory;
use clap_complete::Shell;
use std::process::ExitCode;

/// Print the completion script of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay completions bash > ~/.local/share/bash-completion/completions/forebay
  forebay completions fish > ~/.config/fish/completions/forebay.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "forebay", &mut script);
    print::out(&script)?;
    Ok(ExitCode::from(DONE))
}
