//! `forebay mcp`: a gateway between an MCP client and its servers.

pub(crate) mod wrap;

use crate::bounds::QueryBounds;
use crate::commands::clean;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::launch::run_bare;
use crate::models::{self, ModelSettings};
use crate::units;
use forebay::extract::Models;
use forebay::tools::{self, Tools};
use forebay::{Stop, Store, Timestamp};
use forebay_mcp::{Answer, Auth, Diagnostics, Gateway, Reached, Server, config};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use wrap::Way;

/// Run an MCP gateway between a client and its servers.
///
/// Results that fit pass unchanged. A larger one is replaced by a small view, with tools that read, search and query all of
/// it. Without a server, the gateway serves these tools over stored outputs.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  forebay mcp -- npx some-server .           in place of the server's own command
  forebay mcp --config servers.json          many servers as one
  forebay mcp --url https://example.org/mcp  a server at an address
  forebay mcp --listen 127.0.0.1:8000 --config servers.json
                                             for clients that come by HTTP
  forebay mcp                                the query tools over stored outputs
  forebay mcp wrap cursor                    route a client's servers through the gateway"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    setup: Option<Setup>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, clap::Subcommand)]
enum Setup {
    /// Route the servers of a client through the gateway
    Wrap(wrap::Args),
    /// Restore a client's settings
    Unwrap(wrap::Args),
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// File of servers in the form {"mcpServers": {…}}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "url"])]
    config: Option<PathBuf>,
    /// URL of a server
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    url: Option<String>,
    /// Header for the server at the URL, as `Name: value`; ${NAME} stands for an environment variable
    #[arg(long = "header", value_name = "HEADER", requires = "url")]
    headers: Vec<String>,
    /// Serve clients over HTTP on this address and port
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// File with the token that clients must send as `Authorization: Bearer`; required if other machines can connect
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
    /// Accept requests of web pages from this origin
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "listen")]
    origins: Vec<String>,
    /// Accept requests for this host name
    #[arg(long = "allow-host", value_name = "NAME", requires = "listen")]
    hosts: Vec<String>,
    /// Header that identifies a client: clients that send the same value share a session
    #[arg(long, value_name = "HEADER", requires = "listen")]
    session_key: Option<String>,
    /// Let clients sign in to the server at the URL themselves: pass their `Authorization` on to it, and its challenge
    /// to them
    #[arg(long, requires = "listen", requires = "url", conflicts_with = "token_file")]
    pass_authorization: bool,
    /// Prefix of the names of our own tools
    #[arg(long, default_value = tools::PREFIX, value_name = "TEXT")]
    prefix: String,
    /// List our own tools only once an output is stored, and notify the client that the list has changed
    #[arg(long)]
    tools_when_kept: bool,
    /// Answer a request with an error if the server takes longer than this; 0 sets no limit
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = units::duration)]
    timeout: Duration,
    /// Answer with an error instead of a message larger than this; 0 sets no limit
    #[arg(long, value_name = "SIZE", default_value = "16GiB", value_parser = units::size)]
    max_message: u64,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "SERVER")]
    server: Vec<OsString>,
}

impl Args {
    /// Whether it stores results of tools. Without a server it only reads.
    pub(crate) fn keeps(&self) -> bool {
        let Serve { config, url, server, .. } = &self.serve;
        self.setup.is_none() && (config.is_some() || url.is_some() || !server.is_empty())
    }
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    match args.setup {
        Some(Setup::Wrap(args)) => wrap::run(&args, Way::Wrap, context),
        Some(Setup::Unwrap(args)) => wrap::run(&args, Way::Unwrap, context),
        None => serve(args.serve, context),
    }
}

fn serve(args: Serve, context: &Context) -> Outcome {
    if let Err(error) = context.can_keep() {
        return match &args.server[..] {
            [program, rest @ ..] if args.listen.is_none() => {
                Err(run_bare(std::process::Command::new(program).args(rest), &error))
            }
            _ => Err(error),
        };
    }
    clean::now_and_then(context);
    let servers = servers(&args)?;
    let auth = auth(&args)?;
    // Without a server, the gateway serves stored outputs, so it uses the session that other commands write to.
    let session = (context.session_is_set || servers.is_empty()).then(|| context.session.clone());
    let root = context.store.root();
    let store = Arc::new(context.store.at(root));
    let reads: Arc<dyn Store> = match &context.shared {
        Some(shared) => shared.behind(Box::new(context.store.at(root)), root).store,
        None => store.clone(),
    };
    let gateway = Gateway {
        store,
        reads,
        settings: context.settings.clone(),
        limits_are_set: context.limits_are_set,
        session,
        servers,
        many: args.config.is_some(),
        prefix: args.prefix,
        tools_when_kept: args.tools_when_kept,
        timeout: Some(args.timeout).filter(|timeout| !timeout.is_zero()),
        max_message: Some(args.max_message).filter(|&most| most > 0).unwrap_or(u64::MAX),
        diagnostics: Diagnostics::to(std::io::stderr()),
        now: Arc::new(Timestamp::now),
        answer: answer(context),
    };
    match auth {
        Some(auth) => forebay_mcp::serve_http(gateway, auth)?,
        None => forebay_mcp::serve_stdio(gateway)?,
    }
    Ok(ExitCode::from(DONE))
}

/// Answers calls of our own tools. Extraction uses models if some are configured.
fn answer(context: &Context) -> Answer {
    let models = ModelSettings { ends_by_signal: false, ..context.models.clone() };
    let root = context.store.root().to_owned();
    Box::new(move |outputs, call, settings, prefix| {
        let clients = models.clients();
        let list = clients.list();
        let models = Models { list: &list, nonce: &models::nonce, ..Models::NONE };
        let bounds = QueryBounds::shared(settings.query, Stop::default(), &root);
        Tools {
            outputs: &outputs.bounded_by(bounds).knowing(&settings.formats).masked_by(&settings.masking),
            models,
            settings,
            prefix,
        }
        .answer(call)
    })
}

fn auth(args: &Serve) -> Result<Option<Auth>, CliError> {
    let Some(listen) = args.listen else { return Ok(None) };
    let token = match &args.token_file {
        Some(file) => {
            let token = read(file)?.trim().to_owned();
            match token.len() {
                16.. => Some(token),
                _ => {
                    return Err(CliError::usage(format!(
                        "the token in {} has fewer than 16 characters",
                        file.display()
                    )));
                }
            }
        }
        None => None,
    };
    let auth = Auth {
        listen,
        token,
        origins: args.origins.clone(),
        hosts: args.hosts.clone(),
        session_key: args.session_key.clone(),
        pass_authorization: args.pass_authorization,
    };
    auth.check().map_err(|error| match args.token_file {
        None => CliError::from(error).hint("give one with --token-file FILE, or listen on 127.0.0.1"),
        Some(_) => CliError::from(error).hint("name another header with --session-key"),
    })?;
    Ok(Some(auth))
}

fn read(file: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(file)
        .map_err(|error| CliError::not_there(format!("cannot read {}: {error}", file.display())))
}

fn servers(args: &Serve) -> Result<Vec<Server>, CliError> {
    let variable = |name: &str| std::env::var(name).ok();
    if let Some(file) = &args.config {
        return config::servers(&read(file)?, &variable)
            .map_err(|error| CliError::usage(format!("{}: {error}", file.display())));
    }
    if let Some(url) = &args.url {
        let mut headers = BTreeMap::new();
        for header in &args.headers {
            let Some((name, value)) = header.split_once(':') else {
                return Err(CliError::usage(format!("--header {header:?} is not `Name: value`")));
            };
            let value = config::filled(value.trim(), &variable)
                .map_err(|missing| CliError::usage(format!("--header {header:?}: {missing}")))?;
            headers.insert(name.trim().to_owned(), value);
        }
        let reached = Reached::Address { url: url.clone(), headers, legacy: false };
        return Ok(vec![Server { name: "remote".to_owned(), reached }]);
    }
    let [program, ..] = &args.server[..] else { return Ok(Vec::new()) };
    // A missing program is reported at once, as a shell would do.
    if !is_there(program) {
        return Err(CliError::cannot_run(program, &std::io::ErrorKind::NotFound.into()));
    }
    // Used until the server reports its own name.
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let reached =
        Reached::Program { command: args.server.clone(), environment: BTreeMap::new(), folder: None };
    Ok(vec![Server { name, reached }])
}

/// Whether a program with this name exists.
fn is_there(program: &OsStr) -> bool {
    if program.as_encoded_bytes().contains(&b'/') {
        Path::new(program).is_file()
    } else {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
    }
}
