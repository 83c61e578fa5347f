//! `forebay reveal`: the secrets of an output, for a person.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// Show a person the lines with secrets of an output, unmasked.
///
/// Works only at a terminal, so that no model reads what it prints, and is recorded as an event. The fingerprint of a value
/// that is no secret can be added to the setting `secrets.allow`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay reveal HANDLE
  forebay scan HANDLE              where the secrets are, without their values")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(CliError::not_there("secrets are shown only to a person at a terminal")
            .hint("run `forebay reveal` in a terminal, without a pipe")
            .hint("`forebay scan HANDLE` says where they are, without their values"));
    }
    let outputs = context.outputs(&args.handle)?;
    let output = outputs.open(&args.handle)?.masked_by(&context.scanning());
    let found = output.found_secrets()?;
    if found.is_empty() {
        print::err("forebay: no secrets are found in this output\n");
        return Ok(ExitCode::from(DONE));
    }
    outputs.secrets_revealed(&output, found.len() as u64);
    for secret in &found {
        print::out(
            format!(
                "line {}, {}, #{}, fingerprint {}\n{}\n",
                print::grouped(secret.line),
                secret.kind,
                secret.tag,
                secret.fingerprint,
                forebay::printable(&output.revealed(secret)?)
            )
            .as_bytes(),
        )?;
    }
    Ok(ExitCode::from(DONE))
}
