//! `forebay mcp`: stands between an MCP client and its servers.

use super::{Context, Outcome, clean};
use crate::error::{CliError, DONE};
use crate::units;
use forebay::{DiskStore, Timestamp, tools};
use forebay_mcp::{Gateway, Reached, Server, Talk};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Stand between an MCP client and its servers.
///
/// Results of tools that fit pass as they are. Of a larger one the client gets a small view, and tools to read, search
/// and query the whole of it. With no server, it serves these tools over what is kept already.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay mcp -- npx -y @modelcontextprotocol/server-filesystem .   in place of the server's own command
  forebay mcp                                                      the query tools over the outputs that are kept
  claude mcp add files -- forebay mcp -- npx -y @modelcontextprotocol/server-filesystem .")]
pub(crate) struct Args {
    /// What the names of our own tools begin with
    #[arg(long, default_value = tools::PREFIX, value_name = "TEXT")]
    prefix: String,
    /// A request that the server does not answer in this time gets an error; 0 waits for ever
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = units::duration)]
    timeout: Duration,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "SERVER")]
    server: Vec<OsString>,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    context.can_keep()?;
    clean::now_and_then(context);
    let servers = servers(&args)?;
    // Without a server there is only what is kept already, so it is the session that others write to.
    let session = (context.session_is_set || servers.is_empty()).then(|| context.session.clone());
    let gateway = Gateway {
        store: Arc::new(DiskStore::new(context.store.root())),
        settings: context.settings.clone(),
        limits_are_set: context.limits_are_set,
        session,
        servers,
        prefix: args.prefix,
        timeout: Some(args.timeout).filter(|timeout| !timeout.is_zero()),
        talk: Talk::to(std::io::stderr()),
        now: Timestamp::now,
    };
    forebay_mcp::serve_stdio(gateway)?;
    Ok(ExitCode::from(DONE))
}

fn servers(args: &Args) -> Result<Vec<Server>, CliError> {
    let [program, ..] = &args.server[..] else { return Ok(Vec::new()) };
    // What cannot be run at all is told at once, as a shell would.
    if !is_there(program) {
        return Err(CliError::cannot_run(program, &std::io::ErrorKind::NotFound.into()));
    }
    // Until it has said its own name.
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let reached =
        Reached::Program { command: args.server.clone(), environment: BTreeMap::new(), folder: None };
    Ok(vec![Server { name, reached }])
}

/// Whether there is a program of this name.
fn is_there(program: &OsStr) -> bool {
    match program.as_encoded_bytes().contains(&b'/') {
        true => Path::new(program).is_file(),
        false => std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file())),
    }
}
