//! What can be typed. Each command's own arguments stand in its file.

use crate::commands::{
    ask, call, cat, clean, completions, events, export, extract, filter, grep, head, hold, import, json, ls,
    mcp, models, outline, put, read, room, run, search, serve, session, settings, show, stats, tail, tools,
    verify,
};
use crate::units;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Keeps every byte a tool prints, and shows the part that is needed.
///
/// The whole output is stored; what is small passes untouched; of what is large you get a view that marks everything
/// it leaves out, and a handle to read the rest with.
#[derive(Debug, Parser)]
#[command(
    name = "forebay",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
Examples:
  forebay run -- cargo test              run it, keep all it prints, show what matters
  curl -s URL | forebay put --tool fetch keep an output made elsewhere
  forebay grep HANDLE 'error|panic' -C 3 search the whole of it
  forebay read HANDLE --lines 400:460    read any part of it
  forebay ask HANDLE 'why did it fail?'  the passages that answer a question
  forebay ls                             what is kept
  forebay mcp -- npx some-server         an MCP server whose results fit the model's context
  forebay serve                          an HTTP API, and a page to look at outputs

A HANDLE is <session>/<id>; any unique prefix of the id with 6 or more characters will do."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command has.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The folder in which outputs are kept
    #[arg(long, global = true, value_name = "DIR", help_heading = "Common options")]
    pub(crate) root: Option<PathBuf>,
    /// The conversation; from FOREBAY_SESSION or the folder if it is not said
    #[arg(long, global = true, value_name = "NAME", help_heading = "Common options")]
    pub(crate) session: Option<String>,
    /// An agent file whose YAML front matter holds settings; from FOREBAY_AGENT if it is not given
    #[arg(long, global = true, value_name = "FILE", help_heading = "Common options")]
    pub(crate) agent: Option<PathBuf>,
    /// At most this many tokens for an excerpt or a digest; an output of more is folded
    #[arg(long, global = true, value_name = "TOKENS", value_parser = units::tokens, help_heading = "Common options")]
    pub(crate) budget: Option<u64>,
    /// Print log lines to stderr as things happen; `--log=accounting` prints accounting entries
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "lines",
        help_heading = "Common options"
    )]
    pub(crate) log: Option<LogForm>,
    /// Print JSON instead of text
    #[arg(long, global = true, help_heading = "Common options")]
    pub(crate) json: bool,
}

/// Lines that `--log` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// A line for each output that is replaced by a view, each extraction and each fallback
    Lines,
    /// A JSON object for each reply and each extraction
    Accounting,
}

/// Form of the view, for the commands that store an output.
#[derive(Debug, Args)]
pub(crate) struct Shown {
    /// The view that a large output gets
    #[arg(long, value_enum, value_name = "PRESET")]
    pub(crate) preset: Option<Preset>,
    /// How the calls in a view are written: for a shell, or for the query tools
    #[arg(long, value_enum, value_name = "FORM", default_value = "shell")]
    pub(crate) calls: Calls,
    /// Print the text as the response of a record of this form, for models without native calls
    #[arg(long, value_enum, value_name = "WIRE")]
    pub(crate) wire: Option<RecordWire>,
    /// How many tokens the model's context has; outputs are fitted into what is left of it
    #[arg(long, value_name = "TOKENS", value_parser = units::tokens)]
    pub(crate) context_window: Option<u64>,
    /// More bytes than this do not fit; selects the preset `handle` if none is named
    #[arg(long, value_name = "N")]
    pub(crate) tool_response_max_bytes: Option<u64>,
}

/// Which models read, for the commands that have an output read.
#[derive(Debug, Args)]
pub(crate) struct ByModels {
    /// The models that read, as provider/model, tried in this order
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    pub(crate) models: Option<Vec<String>>,
    /// How many chunks auto may read before it reads only the parts that match
    #[arg(long, value_name = "N")]
    pub(crate) max_chunks: Option<u64>,
}

/// The presets, as they are typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Preset {
    /// The lines that matter, with what is left out marked
    Digest,
    /// Only a message with the handle
    Handle,
    /// The beginning and the end
    HeadTail,
    /// A summary with snippets and a reference
    Materialize,
    /// The beginning, and calls that get the rest
    Recovery,
}

/// The forms of records that an answer can stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordWire {
    /// `<function_call>{…, "response": "…"}</function_call>`
    FunctionCall,
}

/// How the calls in a view are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Calls {
    /// As commands
    Shell,
    /// As calls of the tools that `forebay tools` lists
    Tools,
}

/// Who called what, for the commands that take an output in.
#[derive(Clone, Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool's name
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The server that the tool belongs to
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Kind of tool for the log: mcp, rest, agent, …; mcp with a server and agent without, if it is not said
    #[arg(long, value_name = "KIND")]
    pub(crate) tool_kind: Option<String>,
    /// The host's id of the call; the output is named after it
    #[arg(long, value_name = "ID")]
    pub(crate) call_id: Option<String>,
    /// The call's arguments, as JSON
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// What is wanted from the output, in plain words: the view shows what answers it
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub(crate) intent: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command, keep all it prints, print the view
    Run(run::Args),
    /// Keep an output made elsewhere, print the view
    Put(put::Args),
    /// Print the bytes of an output, for pipes
    Cat(cat::Args),
    /// Read lines or bytes of an output
    Read(read::Args),
    /// Read the first lines of an output
    Head(head::Args),
    /// Read the last lines of an output, or follow it while it grows
    Tail(tail::Args),
    /// Search an output with a regular expression
    Grep(grep::Args),
    /// Run a jq filter over a JSON output, or see its shape
    Json(json::Args),
    /// See what is in an output: functions, headings, files, failures
    Outline(outline::Args),
    /// Ask a question about an output in plain words
    Ask(ask::Args),
    /// Have an output read as instructions in plain words say
    Extract(extract::Args),
    /// See which models read, and whether they answer
    Models(models::Args),
    /// Search all outputs of a session for words
    Search(search::Args),
    /// See or say how much of the model's context is in use
    Room(room::Args),
    /// Print the query tools in the form that an agent's model takes
    Tools(tools::Args),
    /// Answer a model's calls of the query tools
    Call(call::Args),
    /// Stand between an MCP client and its servers
    Mcp(mcp::Args),
    /// Serve outputs by HTTP, with a page to look at them
    Serve(serve::Args),
    #[command(hide = true)]
    Hold(hold::Args),
    #[command(hide = true)]
    Filter(filter::Args),
    /// List the outputs of a session
    Ls(ls::Args),
    /// Show what is known of an output, and what the model was given of it
    Show(show::Args),
    /// See what happened in a session: calls, outputs, views, answers
    Events(events::Args),
    /// See what was saved, all costs deducted
    Stats(stats::Args),
    /// Prove outputs against their records, and views against their outputs
    Verify(verify::Args),
    /// Run an agent in a session of its own, which ends when the agent does
    Session(session::Args),
    /// Remove outputs by age and size, or a whole session
    Clean(clean::Args),
    /// Write all outputs of a session into one file
    Export(export::Args),
    /// Take in the outputs of such a file
    Import(import::Args),
    /// Show every setting with its value and where it came from
    Settings(settings::Args),
    /// Print the completion script of a shell
    Completions(completions::Args),
}
