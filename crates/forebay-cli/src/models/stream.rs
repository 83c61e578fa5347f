//! Requests to a model, and answers that arrive as a stream.

use super::provider::ModelWire;
use serde_json::Value;
use std::{sync::atomic::AtomicBool, time::Duration};

/// Why a provider's answer cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    /// A field is missing.
    #[error("{0}")]
    Incomplete(&'static str),
    /// The tool calls in it are wrong.
    #[error(transparent)]
    Calls(#[from] forebay::Error),
}

/// A provider's answer, assembled from the events of its stream.
pub(super) trait Fold {
    /// Adds the next event.
    fn take(&mut self, event: Value);

    /// Text or thoughts that an event adds.
    fn adds<'a>(&self, event: &'a Value) -> &'a str;

    /// Ends the answer here: no more of it is read.
    fn end(&mut self);

    /// The whole answer, in the form without a stream; `None` if the stream ended early.
    fn whole(self: Box<Self>) -> Option<Value>;
}

/// A request to a provider.
pub(super) struct Request<'a> {
    pub(super) wire: ModelWire,
    pub(super) base_url: &'a str,
    pub(super) key: Option<&'a str>,
    pub(super) model: &'a str,
    pub(super) stream: bool,
    /// Longest silence of the server in the middle of an answer.
    pub(super) idle_timeout: Duration,
    /// Maximum time until the answer begins; `None` if only the deadline counts. A server with few slots queues
    /// requests, and a slow one needs minutes to read a prompt.
    pub(super) response_timeout: Option<Duration>,
    /// The server's address, without secrets.
    pub(super) address: &'a str,
    /// The command that starts such a server, if there is one.
    pub(super) start: Option<String>,
    /// Whether the server wants the limit of the answer under its other name.
    pub(super) other_limit: &'a AtomicBool,
}
