//! Groups of arguments that several commands share. Each command's own arguments are in its file.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Flags that every command has.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Store outputs in this folder
    #[arg(long, global = true, value_name = "DIR", help_heading = "Common options")]
    pub(crate) root: Option<PathBuf>,
    /// Share outputs with other machines in this PostgreSQL database, postgres://user@host/name
    #[arg(long, global = true, value_name = "URL", help_heading = "Common options")]
    pub(crate) database: Option<String>,
    /// Store the bytes of shared outputs in this bucket, s3://bucket/prefix
    #[arg(long, global = true, value_name = "URL", help_heading = "Common options")]
    pub(crate) blobs: Option<String>,
    /// Name of the session; default: FOREBAY_SESSION, the session of the agent, or the current folder
    #[arg(long, global = true, value_name = "NAME", help_heading = "Common options")]
    pub(crate) session: Option<String>,
    /// Agent file with settings in its YAML front matter; default: FOREBAY_AGENT
    #[arg(long, global = true, value_name = "FILE", help_heading = "Common options")]
    pub(crate) agent: Option<PathBuf>,
    /// Maximum tokens of an excerpt or a view; a larger output gets a view
    #[arg(long, global = true, value_name = "TOKENS", value_parser = units::tokens, help_heading = "Common options")]
    pub(crate) budget: Option<u64>,
    /// Print log lines to stderr; `--log=accounting` prints accounting entries
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
    /// A line for each output replaced by a view, each extraction and each fallback
    Lines,
    /// A JSON object for each reply and each extraction
    Accounting,
}

/// Form of the view, for the commands that store an output.
#[derive(Debug, Args)]
pub(crate) struct Shown {
    /// View of a large output
    #[arg(long, value_enum, value_name = "PRESET")]
    pub(crate) preset: Option<Preset>,
    /// Write calls in a view for a shell, or for the query tools
    #[arg(long, value_enum, value_name = "FORM", default_value = "shell")]
    pub(crate) calls: Calls,
    /// Print the text as the response of a record in this format, for models without native calls
    #[arg(long, value_enum, value_name = "WIRE")]
    pub(crate) wire: Option<RecordWire>,
    /// Tokens of the model's context window; views are fitted into the free part
    #[arg(long, value_name = "TOKENS", value_parser = units::tokens)]
    pub(crate) context_window: Option<u64>,
    /// Maximum bytes of an output shown whole; selects the preset `handle` if none is named
    #[arg(long, value_name = "N")]
    pub(crate) tool_response_max_bytes: Option<u64>,
}

/// Choice of models, for the commands that use them.
#[derive(Debug, Args)]
pub(crate) struct ByModels {
    /// Models as provider/model, tried in this order
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    pub(crate) models: Option<Vec<String>>,
    /// Maximum chunks that auto reads; of a larger output it reads only the parts that match
    #[arg(long, value_name = "N")]
    pub(crate) max_chunks: Option<u64>,
}

/// The presets, as they are typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Preset {
    /// The lines that matter, with markers for the rest
    Digest,
    /// A message with the handle
    Handle,
    /// The beginning and the end
    HeadTail,
    /// A summary with snippets and a reference
    Materialize,
    /// The beginning, and calls that return the rest
    Recovery,
}

/// Formats of records that hold an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordWire {
    /// `<function_call>{…, "response": "…"}</function_call>`
    FunctionCall,
}

/// Form of the calls in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Calls {
    /// As commands
    Shell,
    /// As calls of the tools that `forebay tools` lists
    Tools,
}

/// Waiting for the shared store, for the commands that store an output.
#[derive(Clone, Debug, Args)]
pub(crate) struct Waits {
    /// Return only when the output is shared with other machines, or fail after this time; default: 60s
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "60s",
        value_parser = units::duration
    )]
    pub(crate) wait: Option<Duration>,
}

/// Description of the call, for the commands that store an output.
#[derive(Clone, Debug, Args)]
pub(crate) struct CallArgs {
    /// Name of the tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// MCP server of the tool
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Kind of tool for the log: mcp, rest, agent, …; default: mcp with a server, agent without
    #[arg(long, value_name = "KIND")]
    pub(crate) tool_kind: Option<String>,
    /// Id of the call at the host, which becomes the id of the output
    #[arg(long, value_name = "ID")]
    pub(crate) call_id: Option<String>,
    /// Arguments of the call, as JSON
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Purpose of the call in plain words: the view shows what answers it
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub(crate) intent: Option<String>,
}

/// Joins a text that was typed as several words. The first may begin with a dash; a later one that does is a flag.
pub(crate) fn words(mut first: String, more: &[String]) -> String {
    for word in more {
        first.push(' ');
        first.push_str(word);
    }
    first
}
