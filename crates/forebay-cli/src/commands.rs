//! The command line: the commands, a file each, and which of them runs.

pub(crate) mod ask;
pub(crate) mod call;
pub(crate) mod cat;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod extract;
pub(crate) mod filter;
pub(crate) mod formats;
pub(crate) mod grep;
pub(crate) mod head;
pub(crate) mod hold;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod json;
pub(crate) mod ls;
pub(crate) mod mcp;
#[cfg(feature = "shared")]
pub(crate) mod migrate;
#[cfg(feature = "shared")]
pub(crate) mod mirror;
pub(crate) mod models;
pub(crate) mod outline;
pub(crate) mod put;
pub(crate) mod read;
pub(crate) mod reveal;
pub(crate) mod room;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tail;
pub(crate) mod tools;
pub(crate) mod verify;

use crate::args::{Calls, Common};
use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::print;
use crate::settings::{Layers, OnProblem};
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Keep every byte a tool prints, and show the part that is needed.
///
/// The whole output is stored. A small output is shown unchanged. A large one gets a view that marks everything it leaves
/// out, and a handle for reading the rest.
#[derive(Debug, Parser)]
#[command(
    name = "forebay",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
Examples:
  forebay run -- cargo test              run it, store its output, show what matters
  curl -s URL | forebay put --tool fetch store an output made elsewhere
  forebay grep HANDLE 'error|panic' -C 3 search the whole output
  forebay read HANDLE --lines 400:460    read any part
  forebay ask HANDLE 'why did it fail?'  the passages that answer a question
  forebay ls                             list stored outputs
  forebay init                           set up the coding agents that are installed
  forebay mcp -- npx some-server         an MCP server whose results fit the model's context
  forebay serve                          an HTTP API and a page that shows outputs

A HANDLE is <session>/<id>; any unique prefix of the id with 6 or more characters works."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Put(put::Args),
    Cat(cat::Args),
    Reveal(reveal::Args),
    Scan(scan::Args),
    Secrets(secrets::Args),
    Read(read::Args),
    Head(head::Args),
    Tail(tail::Args),
    Grep(grep::Args),
    Json(json::Args),
    Outline(outline::Args),
    Ask(ask::Args),
    Extract(extract::Args),
    Models(models::Args),
    Search(search::Args),
    Room(room::Args),
    Tools(tools::Args),
    Call(call::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    Hook(hook::Args),
    Shell(shell::Args),
    Mcp(mcp::Args),
    Serve(serve::Args),
    #[cfg(feature = "shared")]
    Mirror(mirror::Args),
    #[cfg(feature = "shared")]
    Migrate(migrate::Args),
    #[command(hide = true)]
    Hold(hold::Args),
    #[command(hide = true)]
    Filter(filter::Args),
    Ls(ls::Args),
    Show(show::Args),
    Events(events::Args),
    Stats(stats::Args),
    Verify(verify::Args),
    Session(session::Args),
    Clean(clean::Args),
    Export(export::Args),
    Import(import::Args),
    Settings(settings::Args),
    Formats(formats::Args),
    Completions(completions::Args),
}

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> Outcome {
    let shown = match &cli.command {
        Command::Run(args) => Some(&args.shown),
        Command::Put(args) => Some(&args.shown),
        _ => None,
    };
    if let Command::Completions(args) = &cli.command {
        return completions::run(args, Cli::command());
    }
    if let Command::Filter(args) = &cli.command {
        return filter::run(args, &cli.common);
    }
    if let Command::Hook(args) = &cli.command {
        return Ok(hook::run(args, &cli.common));
    }
    if let Command::Shell(args) = &cli.command {
        return Ok(shell::run(args, &cli.common));
    }
    let by_models = match &cli.command {
        Command::Extract(args) => Some(&args.by_models),
        Command::Call(args) => Some(&args.by_models),
        Command::Models(args) => Some(&args.by_models),
        Command::Serve(args) => Some(&args.by_models),
        _ => None,
    };
    let on_problem = on_problem(&cli.command);
    let mut layers = Layers::gather(&cli.common, shown, by_models, on_problem)?;
    if let Command::Settings(args) = &cli.command {
        let shown = settings::run(args, &layers, cli.common.json)?;
        return layers.settle(on_problem).map(|()| shown);
    }
    layers.settle(on_problem)?;
    if let Command::Formats(args) = &cli.command {
        return formats::run(args, &layers.settings.shown.formats, cli.common.json);
    }
    let calls = shown.map_or(Calls::Shell, |shown| shown.calls);
    let as_record = shown.is_some_and(|shown| shown.wire.is_some());
    let mut context = Context::new(layers, &cli.common, calls, on_problem)?;
    context.as_record = as_record;
    let keeps = match &cli.command {
        Command::Run(_) | Command::Session(_) => true,
        Command::Put(args) => args.keeps(),
        Command::Mcp(args) => args.keeps(),
        _ => false,
    };
    if keeps {
        context.keep_where_it_can()
    } else {
        context.look_into_fallback();
        context.look_into_shared();
    }
    let outcome = match cli.command {
        Command::Run(args) => run::run(args, &context),
        Command::Put(args) => put::run(args, &context),
        Command::Cat(args) => cat::run(&args, &context),
        Command::Reveal(args) => reveal::run(&args, &context),
        Command::Scan(args) => scan::run(&args, &context),
        Command::Secrets(args) => secrets::run(&args, &context),
        Command::Read(args) => read::run(&args, &context),
        Command::Head(args) => head::run(&args, &context),
        Command::Tail(args) => tail::run(&args, &context),
        Command::Grep(args) => grep::run(args, &context),
        Command::Json(args) => json::run(args, &context),
        Command::Outline(args) => outline::run(&args, &context),
        Command::Ask(args) => ask::run(args, &context),
        Command::Extract(args) => extract::run(&args, &context),
        Command::Models(args) => models::run(&args, &context),
        Command::Search(args) => search::run(&args, &context),
        Command::Room(args) => room::run(&args, &context),
        Command::Tools(args) => tools::run(&args, &context),
        Command::Call(args) => call::run(args, &context),
        Command::Init(args) => init::run(&args, &context),
        Command::Doctor(args) => doctor::run(&args, &context),
        Command::Mcp(args) => mcp::run(args, &context),
        Command::Serve(args) => serve::run(args, &context),
        #[cfg(feature = "shared")]
        Command::Mirror(args) => mirror::run(&args, &context),
        #[cfg(feature = "shared")]
        Command::Migrate(args) => migrate::run(&args, &context),
        Command::Hold(args) => hold::run(&args, &context),
        Command::Ls(args) => ls::run(&args, &context),
        Command::Show(args) => show::run(&args, &context),
        Command::Events(args) => events::run(&args, &context),
        Command::Stats(args) => stats::run(&args, &context),
        Command::Verify(args) => verify::run(&args, &context),
        Command::Session(args) => session::run(&args, &context),
        Command::Clean(args) => clean::run(&args, &context),
        Command::Export(args) => export::run(&args, &context),
        Command::Import(args) => import::run(&args, &context),
        Command::Settings(_)
        | Command::Formats(_)
        | Command::Completions(_)
        | Command::Filter(_)
        | Command::Hook(_)
        | Command::Shell(_) => Ok(ExitCode::from(DONE)),
    };
    if let Some(problem) = context.store.problem() {
        print::err(&format!(
            "forebay: outputs are stored, but the event log could not be written: {problem}\n"
        ));
    }
    if let Some(problem) = context.with_shared.as_ref().and_then(|shared| (shared.problem)()) {
        print::err(&format!("forebay: only outputs of this machine were read: {problem}\n"));
    }
    outcome
}

/// How a command treats wrong settings: they stop no command that wraps, stores or reads outputs.
fn on_problem(command: &Command) -> OnProblem {
    match command {
        Command::Run(_)
        | Command::Session(_)
        | Command::Mcp(_)
        | Command::Hold(_)
        | Command::Hook(_)
        | Command::Shell(_)
        | Command::Init(_)
        | Command::Doctor(_) => OnProblem::GoOn,
        Command::Settings(_)
        | Command::Models(_)
        | Command::Serve(_)
        | Command::Export(_)
        | Command::Import(_)
        | Command::Completions(_) => OnProblem::Stop,
        // Commands start it in the background, where nobody sees what it reports.
        #[cfg(feature = "shared")]
        Command::Mirror(_) => OnProblem::GoOn,
        #[cfg(feature = "shared")]
        Command::Migrate(_) => OnProblem::Stop,
        Command::Clean(_) => OnProblem::StopForUser,
        _ => OnProblem::StopForFlags,
    }
}
