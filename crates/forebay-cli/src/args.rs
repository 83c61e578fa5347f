//! Groups of arguments that several commands share. Each command's own arguments are in its file.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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

/// Joins a text that was typed as several words. The first may begin with a dash; a later one that does is a flag.
pub(crate) fn words(mut first: String, more: &[String]) -> String {
    for word in more {
        first.push(' ');
        first.push_str(word);
    }
    first
}
