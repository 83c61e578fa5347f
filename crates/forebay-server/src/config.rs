//! The configuration of a server.

use crate::auth::Auth;
use crate::metrics::OnTheWay;
use forebay::model::Model;
use forebay::settings::QueryLimits;
use forebay::{Bounds, Settings, Stop};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A question to the shared store whether it answers; an error says why not.
pub type CheckShared = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

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
    /// Asks the shared store, if there is one, whether it answers; an error says why not.
    pub check_shared: Option<CheckShared>,
    /// Looks in a folder for outputs on their way to the shared store, if there is one.
    pub on_the_way: Option<fn(&Path) -> OnTheWay>,
    /// Longest time in which a client may neither send nor read anything.
    pub idle: Duration,
    /// Maximum bytes of one uploaded output.
    pub max_upload: u64,
    /// Time that requests in progress get to end when the server stops.
    pub grace: Duration,
    /// Shortest time between two sweeps of one store.
    pub sweep_every: Duration,
}
