//! `forebay serve`: outputs by HTTP, with a page to look at them.

use super::{Context, Outcome, random};
use crate::args::ByModels;
use crate::error::{CliError, DONE};
use crate::models::Reach;
use crate::print;
use crate::units;
use crate::web::door::{Door, Right, Token, Tokens, hash};
use crate::web::{self, Config};
use forebay::Session;
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Serve outputs by HTTP, with a page to look at them.
///
/// The page is at `/`, the API under `/v1`, and `/v1/openapi.json` describes it. Only this machine can come unless
/// another address is given; for that, tokens are needed, each for a tenant and for what it may do.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  forebay serve                            then open http://127.0.0.1:7433
  curl -sT build.log 'http://127.0.0.1:7433/v1/sessions/demo/outputs/call-1?tool=make'
                                           keep an output; the answer is what the model gets
  forebay serve token --tokens tokens.toml --tenant team-a --may read,write
  forebay serve --listen 0.0.0.0:7433 --tokens tokens.toml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The address and port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7433")]
    listen: SocketAddr,
    /// A file of tokens, as `forebay serve token` makes it; needed if other machines can reach the address
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// A web page's origin that may come besides our own page, as `https://example.org`
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// A host name that we are reached by besides those of this machine
    #[arg(long = "allow-host", value_name = "NAME")]
    hosts: Vec<String>,
    /// No output that is put is larger (500MB, 2GiB)
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = units::size)]
    max_upload: u64,
    /// A client that neither sends nor takes anything for so long is let go
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::duration)]
    idle: Duration,
    /// So long what is under way may go on when the server stops
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::duration)]
    grace: Duration,
    #[command(flatten)]
    pub(crate) by_models: ByModels,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a token, and add its hash to a file of tokens
    Token(TokenArgs),
}

/// Make a token, and add its hash to a file of tokens.
///
/// The token is printed once and kept nowhere; who has lost it makes another. A server reads the file when it starts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay serve token --tokens tokens.toml
  forebay serve token --tokens tokens.toml --tenant team-a --may read")]
struct TokenArgs {
    /// The file; it is made if it is not there
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// Whose outputs it reaches; those of the root itself if it is not said
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// What it may do
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "RIGHTS",
        default_value = "read,write,extract,delete"
    )]
    may: Vec<Right>,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    if let Some(Command::Token(args)) = args.command {
        return token(&args, context);
    }
    context.can_keep()?;
    context.reach.check()?;
    if args.idle.is_zero() {
        return Err(CliError::usage("--idle 0 would let every client go at once"));
    }
    let tokens = args.tokens.as_deref().map(Tokens::read).transpose()?;
    let door = Door::new(args.listen, tokens, context.store.root(), (args.origins, args.hosts))?;
    let config = Config {
        settings: context.settings.clone(),
        reach: Reach { ends_by_signal: false, ..context.reach.clone() },
        door,
        idle: args.idle,
        max_upload: args.max_upload,
        grace: args.grace,
    };
    let json = context.json;
    let cannot = |error: std::io::Error| {
        CliError::not_there(format!("cannot serve at {}: {error}", args.listen))
            .hint("choose another address with --listen, such as 127.0.0.1:0 for any free port")
    };
    web::serve(config, |address| {
        let _ = match json {
            true => print::json(&json!({ "listening": format!("http://{address}") })),
            false => {
                print::err(&format!("forebay: serving at http://{address}\n"));
                Ok(())
            }
        };
    })
    .map_err(cannot)?;
    Ok(ExitCode::from(DONE))
}

fn token(args: &TokenArgs, context: &Context) -> Outcome {
    let wrong = |_| {
        CliError::usage(
            "a tenant's name has up to 128 letters, digits, '_', '-' or '.', and begins with none of the last two",
        )
    };
    let tenant: Option<Session> =
        args.tenant.as_deref().map(|name| name.parse().map_err(wrong)).transpose()?;
    let token = format!(
        "fb_{}",
        [random()?, random()?].concat().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    );
    let added = Tokens { all: vec![Token { hash: hash(&token), tenant, may: args.may.clone() }] };
    add(&args.tokens, &added)?;
    match context.json {
        true => print::json(&json!({ "token": token, "tokens": args.tokens }))?,
        false => {
            print::err(&format!(
                "forebay: its hash is in {}; this is the only time that you see it:\n",
                args.tokens.display()
            ));
            print::out(format!("{token}\n").as_bytes())?;
        }
    }
    Ok(ExitCode::from(DONE))
}

/// Adds a token to a file, which nobody else may read.
fn add(file: &Path, added: &Tokens) -> Result<(), CliError> {
    let cannot = |error: &dyn std::fmt::Display| {
        CliError::not_there(format!("cannot add a token to {}: {error}", file.display()))
    };
    if file.exists() {
        // What is no file of tokens is not made one.
        Tokens::read(file)?;
    }
    let text = toml::to_string(added).map_err(|error| cannot(&error))?;
    let mut opened = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(file)
        .map_err(|error| cannot(&error))?;
    opened.write_all(format!("{text}\n").as_bytes()).map_err(|error| cannot(&error))
}
