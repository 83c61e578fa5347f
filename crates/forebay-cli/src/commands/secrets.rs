//! `forebay secrets`: values that the user registers to be masked.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print;
use crate::secrets::{register, registered};
use serde_json::json;
use std::io::{self, IsTerminal, Read};
use std::process::ExitCode;

/// Register values that are masked wherever they occur.
///
/// A value is found in base64, hexadecimal, URL-encoded and JSON-escaped form too, and over line breaks. Values are kept in a
/// file that only you can read, and never printed. Those of environment variables with names such as GITHUB_TOKEN or
/// DB_PASSWORD are known without being registered.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay secrets add staging-db < password.txt
  pass show api-key | forebay secrets add api-key
  forebay secrets ls
  forebay secrets rm staging-db")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Register a value, read from standard input
    Add {
        /// Name that masks show
        name: String,
    },
    /// List the names of registered values
    Ls,
    /// Forget a registered value
    Rm {
        /// Its name
        name: String,
    },
}

/// Minimum bytes of a value. A shorter one would also match inside other words.
const SHORTEST: usize = 8;

/// Maximum bytes of a value.
const LONGEST: u64 = 64 * 1024;

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let mut values = registered()?;
    match &args.action {
        Action::Add { name } => {
            let is_name = !name.is_empty() && name.chars().count() <= 40;
            if !is_name || name.chars().any(|c| c.is_control() || "[],#".contains(c)) {
                return Err(CliError::usage(format!(
                    "{name:?} cannot be a name: use up to 40 characters without brackets, commas and #"
                )));
            }
            let value = read()?;
            let is_new = values.insert(name.clone(), value).is_none();
            let path = register(&values)?;
            let verb = if is_new { "registered" } else { "replaced" };
            print::err(&format!("{name} is {verb} in {}\n", path.display()));
        }
        Action::Ls => {
            for name in values.keys() {
                if context.json {
                    print::json(&json!({ "name": name }))?;
                } else {
                    print::out(format!("{name}\n").as_bytes())?;
                }
            }
        }
        Action::Rm { name } => {
            if values.remove(name).is_none() {
                return Err(CliError::not_there(format!("no value is registered as {name:?}"))
                    .hint("`forebay secrets ls` lists the names"));
            }
            register(&values)?;
        }
    }
    Ok(ExitCode::from(DONE))
}

/// The value on standard input, without the line break at its end.
fn read() -> Result<String, CliError> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        print::err("forebay: type the value, then Ctrl-D\n");
    }
    let mut value = String::new();
    (&mut stdin).take(LONGEST + 1).read_to_string(&mut value)?;
    let value = value.strip_suffix('\n').unwrap_or(&value);
    let value = value.strip_suffix('\r').unwrap_or(value);
    if value.len() as u64 > LONGEST {
        return Err(CliError::usage(format!("the value has more than {LONGEST} bytes")));
    }
    if value.len() < SHORTEST {
        return Err(CliError::usage(format!(
            "the value has {} bytes; one of fewer than {SHORTEST} would be found inside other words",
            value.len()
        )));
    }
    Ok(value.to_owned())
}
