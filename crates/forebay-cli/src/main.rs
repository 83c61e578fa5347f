//! The command `forebay`: keeps what tools print, and shows the part that is needed.

mod args;
mod capture;
mod commands;
mod error;
mod print;
mod settings;

use args::Cli;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => error.report(),
    }
}
