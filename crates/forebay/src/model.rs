//! A model that reads for another: the request, the response and its cost.
//!
//! The library knows no network. A caller that has a client implements [`Model`]: messages, tools and limits go in,
//! text or tool calls come out.

pub use crate::event::Usage;
use crate::wire::{Tool, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// A model that can answer requests.
pub trait Model: Sync {
    /// Name as `provider/model`.
    fn name(&self) -> &str;

    /// Sends a request and waits for the response. Retries and timeouts are up to the implementor: an error is final.
    fn answer(&self, prompt: &Prompt) -> Result<Answer, ModelError>;

    /// Known facts about the model and its server. A reading asks for it before it plans its chunks, and again after an
    /// overflow, so a client may ask its server once and must remember what errors and usage have taught it.
    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// Form of its tool calls. The library reads it only before it sends tools, since a client may have to probe its
    /// server.
    fn tool_calls(&self) -> ToolCalls {
        ToolCalls::Native
    }
}

/// Known facts about a model and its server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Tokens of the prompt and the response together, by the model's own count; `None` if unknown.
    pub window: Option<u64>,
    /// Number of its tokens for each token that Forebay counts.
    pub token_ratio: f64,
    /// Requests that its server works on at the same time; `None` if unknown.
    pub slots: Option<u64>,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile { window: None, token_ratio: 1.0, slots: None }
    }
}

/// The form in which a model calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCalls {
    /// In the form that its API has for calls.
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
    /// The tools that it may call.
    pub tools: &'a [Tool],
    /// Whether it may call them in this turn; in the last turn it must answer.
    pub may_call: bool,
    /// Maximum tokens of the response.
    pub max_output: u64,
    /// Becomes true when the response is not needed any more. A client that waits should check it.
    pub abandoned: &'a AtomicBool,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Text for the model to read.
    User(String),
    /// Answer of the model.
    Model(Answer),
    /// Results of its calls, in their order.
    Results(Vec<ToolResult>),
}

/// Answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its text, without the model's thoughts where the API marks them.
    pub text: String,
    /// The tool calls in it.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// Tokens of the request and the response.
    pub usage: Usage,
    /// The message in its vendor's own form. The next request contains it unchanged: vendors sign parts of it.
    pub raw: Value,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The response is complete.
    Ended,
    /// It waits for the results of its calls.
    Calls,
    /// It reached its length limit: the response is not complete.
    Length,
    /// The model or its vendor refuses to answer; with the reason as it was given.
    Refused(String),
    /// It began to repeat itself, and the client ended it; the text ends before the repetition.
    Repeated,
    /// Another reason, in the vendor's word.
    Other(String),
}

/// Why a model gave no response, sorted by what the caller can do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A retry may succeed.
    #[error("{0}")]
    Passing(String),
    /// A retry with this model will not succeed; another model may answer.
    #[error("{0}")]
    Lasting(String),
    /// The prompt is longer than the model's window; a shorter one may fit.
    #[error("{why}")]
    TooLong {
        /// Error text of the server.
        why: String,
        /// Tokens of the prompt by the server's count, if it reports them.
        tokens: Option<u64>,
        /// The window, if the server reports it.
        window: Option<u64>,
    },
    /// The response is not needed any more.
    #[error("{0}")]
    Stopped(String),
}
