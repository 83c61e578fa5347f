//! A model that reads for another: what it is asked, what it says, what it cost.
//!
//! The library knows no network. Whoever has a client implements [`Model`]; messages, tools and limits go in, text or
//! tool calls come out.

pub use crate::event::Usage;
use crate::wire::{Tool, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// A model that can be asked.
pub trait Model: Sync {
    /// Name as `provider/model`.
    fn name(&self) -> &str;

    /// Asks it. Waiting, trying again and giving up in time are the implementor's: an error is the end of that.
    fn answer(&self, prompt: &Prompt) -> Result<Said, ModelError>;

    /// Known facts about the model and its server. A reading asks for it before it plans its chunks, and again after an
    /// overflow, so a client may ask its server once and must remember what errors and usage have taught it.
    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// How it calls tools. Only who wants to give it tools asks: a client may have to probe its server for it.
    fn tool_calls(&self) -> ToolCalls {
        ToolCalls::Native
    }
}

/// Known facts about a model and its server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Tokens that the model reads and writes at once, in its own tokens, if that is known.
    pub window: Option<u64>,
    /// Its tokens for each token that Forebay counts.
    pub token_ratio: f64,
    /// Requests that its server works on at the same time, if that is known.
    pub slots: Option<u64>,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile { window: None, token_ratio: 1.0, slots: None }
    }
}

/// How a model calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCalls {
    /// By the calls of its wire.
    Native,
    /// As lines of text: its server's template ignores tools.
    Text,
    /// Not at all.
    None,
}

/// A request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// System prompt.
    pub system: &'a str,
    /// The conversation so far, beginning with a user's message.
    pub messages: &'a [Message],
    /// The tools that it has.
    pub tools: &'a [Tool],
    /// Whether it may call them now; in the last turn it must answer.
    pub may_call: bool,
    /// So many tokens may it write.
    pub max_output: u64,
    /// Becomes true when nobody waits for the answer any more: a client that waits should look at it.
    pub abandoned: &'a AtomicBool,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Text for the model to read.
    User(String),
    /// Answer of the model.
    Model(Said),
    /// Results of its calls, in their order.
    Results(Vec<ToolResult>),
}

/// Answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The text of it, without what it thought where the wire tells the two apart.
    pub text: String,
    /// The tools that it calls.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// Tokens of the request and the answer.
    pub usage: Usage,
    /// The message in its vendor's own form. It is given back as it came: vendors sign parts of it.
    pub raw: Value,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It had said all.
    Ended,
    /// It waits for what its calls give.
    Calls,
    /// It may not write more: what it said is not whole.
    Length,
    /// It, or its vendor, will not answer; with the reason as it was given.
    Refused(String),
    /// It began to repeat itself, and its client ended it; the text ends before the repetition.
    Repeated,
    /// Something else, in the vendor's word.
    Other(String),
}

/// Why a model gave no answer, sorted by what can be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Asking once more may help.
    #[error("{0}")]
    Passing(String),
    /// Asking this model once more will not help; another may.
    #[error("{0}")]
    Lasting(String),
    /// The prompt is longer than the model's window: a shorter one may be answered.
    #[error("{why}")]
    TooLong {
        /// Error text of the server.
        why: String,
        /// Tokens of the prompt by the server's count, if it said that.
        tokens: Option<u64>,
        /// The window, if the server said that.
        window: Option<u64>,
    },
    /// Nobody waits for an answer any more.
    #[error("{0}")]
    Stopped(String),
}
