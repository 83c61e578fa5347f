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
mod config;
mod encoding;
mod endpoint;
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
mod state;
mod sweep;
mod tenant;
mod timeouts;
mod uploads;

pub use archives::spool;
pub use config::{CheckShared, Config};
pub use error::{Error, Result};
pub use listener::Listen;
pub use local_token::{LocalToken, fresh_token};
pub use metrics::OnTheWay;
pub use routes::MAX_LATENCY_MS;
pub use server::serve;
pub use tenant::{Forget, OpenTenant, SharedTenant, Tend};
