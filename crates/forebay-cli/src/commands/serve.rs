//! `forebay serve`: the HTTP API and the page.

use crate::args::ByModels;
use crate::bounds::QueryBounds;
use crate::commands::clean::SWEEP_EVERY;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::models::{self, ModelSettings};
use crate::print;
use crate::shared::Shared;
use crate::units;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use forebay::Session;
use forebay_server::auth::{Access, Allowed, Auth, Right, Token, Tokens, hash};
use forebay_server::{Config, Listen, LocalToken, fresh_token};
use serde_json::json;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Serve outputs over HTTP, with a page that shows them.
///
/// The page is at `/`, the API under `/v1`, and `/v1/openapi.json` describes it. Only this machine can connect unless you
/// give another address; that requires tokens, each for a tenant and with rights.
///
/// On this machine a token keeps other users out. It is part of the printed address: open that in a browser. Programs send
/// it as `Authorization: Bearer`; `forebay serve token` prints it.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  forebay serve                            then open the printed address
  curl -sT build.log -H \"Authorization: Bearer $(forebay serve token)\" \\
       'http://127.0.0.1:7433/v1/sessions/demo/outputs/call-1?tool=make'
                                           store an output; the response is what the model gets
  forebay serve --socket forebay.sock      use a socket file that only you can connect to
  forebay serve token --rotate             replace the token; the old one becomes invalid
  forebay serve token --tokens tokens.toml --tenant team-a --may read,write
  forebay serve --listen 0.0.0.0:7433 --tokens tokens.toml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7433")]
    listen: SocketAddr,
    /// Listen on a socket file that only you can connect to, instead of a port; requires no token
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    socket: Option<PathBuf>,
    /// File of tokens, made by `forebay serve token`; required if other machines can connect
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Require no token: every user of this machine can read, change and remove all outputs
    #[arg(long, conflicts_with = "tokens")]
    no_token: bool,
    /// Accept requests of web pages from this origin, such as `https://example.org`
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Accept requests for this host name
    #[arg(long = "allow-host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Maximum size of an uploaded output (500MB, 2GiB)
    #[arg(long, value_name = "SIZE", default_value = "64GiB", value_parser = units::size)]
    max_upload: u64,
    /// Disconnect a client that neither sends nor reads anything for this time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::duration)]
    idle: Duration,
    /// Give requests in progress this time to end when the server stops
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::duration)]
    grace: Duration,
    #[command(flatten)]
    pub(crate) by_models: ByModels,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print this machine's token, or add one to a file of tokens
    Token(TokenArgs),
}

/// Print this machine's token, or add one to a file of tokens.
///
/// Without --tokens, prints the token that `forebay serve` requires on this machine, and makes one if there is none. It is
/// stored in the file `.serve-token` under the root, which only you can read. A running server accepts a new one
/// immediately.
///
/// With --tokens, makes a new token and adds its hash to the file. The token is printed once and stored nowhere. If it is
/// lost, make another. A server reads the file when it starts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  curl -H \"Authorization: Bearer $(forebay serve token)\" http://127.0.0.1:7433/v1/sessions
  forebay serve token --rotate
  forebay serve token --tokens tokens.toml
  forebay serve token --tokens tokens.toml --tenant team-a --may read")]
struct TokenArgs {
    /// Add a new token to this file, which is created if it does not exist
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Replace this machine's token by a new one
    #[arg(long, conflicts_with = "tokens")]
    rotate: bool,
    /// Tenant whose outputs it gives access to; default: the root itself
    #[arg(long, value_name = "NAME", requires = "tokens")]
    tenant: Option<String>,
    /// Rights of the token
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "RIGHTS",
        requires = "tokens",
        default_value = "read,write,extract,delete"
    )]
    may: Vec<RightArg>,
}

/// A right as typed on the command line.
#[derive(Clone, Copy, Debug)]
struct RightArg(Right);

impl ValueEnum for RightArg {
    fn value_variants<'a>() -> &'a [RightArg] {
        static ALL: [RightArg; Right::ALL.len()] = [
            RightArg(Right::Read),
            RightArg(Right::Write),
            RightArg(Right::Extract),
            RightArg(Right::Delete),
            RightArg(Right::Metrics),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.description()))
    }
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    if let Some(Command::Token(args)) = args.command {
        return token(&args, context);
    }
    context.can_keep()?;
    context.models.check()?;
    if args.idle.is_zero() {
        return Err(CliError::usage("--idle 0 would disconnect every client immediately"));
    }
    let root = context.store.root();
    let access = match &args.tokens {
        Some(file) => Access::Tokens(Tokens::read(file)?),
        // Only its owner can connect to the socket file.
        None if args.no_token || args.socket.is_some() => Access::Open,
        None => Access::LocalToken,
    };
    let local = matches!(access, Access::LocalToken).then(|| LocalToken::of(root));
    let listen = args.socket.map_or(Listen::Address(args.listen), Listen::Socket);
    let allowed = Allowed { origins: args.origins, hosts: args.hosts };
    // If the shared store is unreachable, the server does not start; its supervisor retries.
    let shared = context.shared.as_ref().map(Shared::serve).transpose()?;
    let open = shared.as_ref().map(|shared| &*shared.open);
    let auth = Auth::new(listen.clone(), access, &context.store, open, allowed)?;
    let token = local.map(|local| local.get()).transpose()?;
    let models = ModelSettings { ends_by_signal: false, ..context.models.clone() };
    let config = Config {
        settings: context.settings.clone(),
        auth,
        models: Box::new(move || models.clients().into_models()),
        nonce: models::nonce,
        bounds: QueryBounds::shared,
        on_the_way: shared.as_ref().map(|shared| shared.on_the_way),
        check_shared: shared.map(|shared| shared.check),
        idle: args.idle,
        max_upload: args.max_upload,
        grace: args.grace,
        sweep_every: SWEEP_EVERY,
    };
    let json = context.json;
    let cannot = |error: std::io::Error| {
        CliError::not_there(format!("cannot serve at {listen}: {error}")).hint(match listen {
            Listen::Address(_) => {
                "choose another address with --listen, such as 127.0.0.1:0 for any free port"
            }
            Listen::Socket(_) => "choose another name with --socket; it has up to about 100 characters",
        })
    };
    forebay_server::serve(config, forebay_mcp::signalled(), |place| {
        let url = token.map(|token| format!("{place}/?token={token}"));
        let _ = if json {
            print::json(&match &url {
                Some(url) => json!({ "listening": place.to_string(), "url": url }),
                None => json!({ "listening": place.to_string() }),
            })
        } else {
            print::err(&format!("forebay: serving at {}\n", url.unwrap_or_else(|| place.to_string())));
            Ok(())
        };
    })
    .map_err(cannot)?;
    Ok(ExitCode::from(DONE))
}

fn token(args: &TokenArgs, context: &Context) -> Outcome {
    match &args.tokens {
        Some(file) => token_of_file(file, args, context),
        None => {
            let local = LocalToken::of(context.store.root());
            let token = if args.rotate { local.rotate()? } else { local.get()? };
            if context.json {
                print::json(&json!({ "token": token, "file": local.file() }))?
            } else {
                print::out(format!("{token}\n").as_bytes())?
            }
            Ok(ExitCode::from(DONE))
        }
    }
}

/// Makes a token, and adds its hash to a file.
fn token_of_file(file: &Path, args: &TokenArgs, context: &Context) -> Outcome {
    let wrong = |_| {
        CliError::usage(
            "a tenant's name has up to 128 letters, digits, '_', '-' or '.', and begins with none of the last two",
        )
    };
    let tenant: Option<Session> =
        args.tenant.as_deref().map(|name| name.parse().map_err(wrong)).transpose()?;
    let token = fresh_token()?;
    let added = Tokens {
        all: vec![Token { hash: hash(&token), tenant, may: args.may.iter().map(|right| right.0).collect() }],
    };
    add(file, &added)?;
    if context.json {
        print::json(&json!({ "token": token, "tokens": file }))?
    } else {
        print::err(&format!(
            "forebay: its hash is in {}; this is the only time that you see it:\n",
            file.display()
        ));
        print::out(format!("{token}\n").as_bytes())?;
    }
    Ok(ExitCode::from(DONE))
}

/// Adds a token to a file that only its owner can read.
fn add(file: &Path, added: &Tokens) -> Result<(), CliError> {
    let cannot = |error: &dyn std::fmt::Display| {
        CliError::not_there(format!("cannot add a token to {}: {error}", file.display()))
    };
    if file.exists() {
        // A file of another kind must not be changed.
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
