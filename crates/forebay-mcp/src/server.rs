//! A server behind the gateway, and a connection to it.

mod child;
mod http;

use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::message::{Message, Spool};
use crate::params::Sent;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Maximum messages that wait for a receiver.
pub(crate) const QUEUE: usize = 64;

/// A server as the settings or the command line describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name.
    pub name: String,
    /// The way to reach it.
    pub reached: Reached,
}

/// The way to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A program that reads standard input and writes standard output.
    Program {
        /// The program and its arguments.
        command: Vec<OsString>,
        /// Additions to its environment.
        environment: BTreeMap<String, String>,
        /// The folder it runs in; `None` for ours.
        folder: Option<PathBuf>,
    },
    /// An HTTP address.
    Address {
        /// The address.
        url: String,
        /// Headers of every request, such as `Authorization`.
        headers: BTreeMap<String, String>,
        /// Whether it supports only the older transport by server-sent events.
        legacy: bool,
    },
}

/// The latest `Authorization` of a client, for servers that get it. A client may renew it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authorization(Arc<Mutex<Option<String>>>);

impl Authorization {
    pub(crate) fn set(&self, value: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A connection to a server.
pub(crate) struct Link {
    /// Sends messages to it; dropping this closes the connection.
    pub(crate) to: mpsc::Sender<Message>,
    /// Receives its messages, and in the end why there are no more.
    pub(crate) from: mpsc::Receiver<Incoming>,
    /// Ends when all its tasks and processes have.
    pub(crate) gone: tokio::task::JoinHandle<()>,
}

/// An event of a connection to a server.
pub(crate) enum Incoming {
    Message(Message),
    /// The connection is closed, for this reason.
    Closed(String),
}

impl Server {
    /// Whether it is reached by HTTP, and so gets headers.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.reached, Reached::Address { .. })
    }

    /// Connects to it: starts the program, or prepares requests to the address.
    pub(crate) async fn connect(&self, with: Connecting<'_>) -> Result<Link> {
        match &self.reached {
            Reached::Program { command, environment, folder } => child::start(
                &self.name,
                command,
                environment,
                folder.as_deref(),
                with.diagnostics,
                with.spool,
            ),
            Reached::Address { url, headers, legacy } => {
                let carried = http::Carried {
                    headers: headers.clone(),
                    authorization: with.authorization.clone(),
                    sent: with.sent.clone(),
                };
                http::connect(&self.name, url, carried, *legacy, with.spool).await
            }
        }
    }
}

/// The parts of a conversation that a connection needs.
pub(crate) struct Connecting<'a> {
    pub(crate) spool: &'a Spool,
    /// Receives what a program writes to standard error.
    pub(crate) diagnostics: &'a Diagnostics,
    pub(crate) authorization: &'a Authorization,
    /// Values that clients have sent as `Mcp-Param-…`.
    pub(crate) sent: &'a Sent,
}
