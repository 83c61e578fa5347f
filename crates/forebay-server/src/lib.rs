//! The HTTP API over a store of outputs, and the page that shows them.
//!
//! A request first passes [`auth`], which checks host, origin and token. The table in `routes` names every address once:
//! the router and the OpenAPI document are both made from it. The request then becomes a `Request` with its arguments
//! checked, and a handler answers it: `put`, `queries`, `calls`, `outputs`, `sessions`, `archives`, `browse` (for a person:
//! adds nothing to what the model was given) or `health`.
//!
//! Work that may block runs on threads of its own. All responses are bounded or streamed, so memory grows neither with
//! outputs nor with slow clients.
//!
//! The crate reads no settings, no environment and no command line, and it installs no signal handlers: its caller passes
//! everything in [`Config`].

mod archives;
pub mod auth;
mod browse;
mod calls;
mod encoding;
mod error;
mod health;
mod listener;
mod local_token;
mod metrics;
mod openapi;
mod outputs;
mod page;
mod problem;
mod put;
mod queries;
mod random;
mod request;
mod routes;
mod server;
mod sessions;
mod slots;
mod sweep;
mod timeouts;

pub use archives::spool;
pub use error::{Error, Result};
pub use listener::Listen;
pub use local_token::{LocalToken, fresh_token};
pub use put::MAX_LATENCY_MS;
pub use server::serve;

use auth::Auth;
use forebay::model::Model;
use forebay::settings::QueryLimits;
use forebay::{Bounds, Settings, Stop};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Everything a server needs from its caller.
pub struct Config {
    /// Settings for views, excerpts, extraction and retention.
    pub settings: Settings,
    /// Who may connect, and where.
    pub auth: Auth,
    /// Makes the models for one extraction, in the order in which they are tried.
    pub models: Box<dyn Fn() -> Vec<Box<dyn Model>> + Send + Sync>,
    /// Returns random letters and digits that no output contains.
    pub nonce: fn() -> String,
    /// Makes the bounds of the queries of one request, which the flag ends; the path is the root of its outputs.
    pub bounds: fn(QueryLimits, Stop, &Path) -> Arc<dyn Bounds>,
    /// Longest time in which a client may neither send nor read anything.
    pub idle: Duration,
    /// Maximum bytes of one uploaded output.
    pub max_upload: u64,
    /// Time that requests in progress get to end when the server stops.
    pub grace: Duration,
    /// Shortest time between two sweeps of one store.
    pub sweep_every: Duration,
}
