//! `forebay completions`: the completion script of a shell.

use crate::context::Outcome;
use crate::error::DONE;
use crate::print;
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

/// Prints the completion script for a command line.
pub(crate) fn run(args: &Args, mut cli: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "forebay", &mut script);
    print::out(&script)?;
    Ok(ExitCode::from(DONE))
}
