//! State that all requests of a server share.

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::slots::{Holders, Slot, Slots};
use crate::uploads::Uploads;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Maximum short requests worked on at once. A filter or a search may take a core and some memory.
const MAX_WORKING: usize = 32;

/// State that all requests share.
pub(crate) struct Server {
    pub(crate) config: Config,
    /// Becomes true when the server begins to stop.
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) metrics: Metrics,
    pub(crate) uploads: Uploads,
    slots: Slots,
    /// Limits the short requests worked on at once.
    working: Arc<Semaphore>,
    /// The descriptions of all routes.
    pub(crate) endpoints: Vec<&'static Endpoint>,
}

impl Server {
    pub(crate) fn new(
        config: Config,
        stopping: watch::Receiver<bool>,
        endpoints: Vec<&'static Endpoint>,
    ) -> Server {
        let (metrics, uploads, slots) = Default::default();
        let working = Arc::new(Semaphore::new(MAX_WORKING));
        Server { config, stopping, metrics, uploads, slots, working, endpoints }
    }

    /// Waits for a turn to work on a short request.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.working
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| Problem::unavailable("the server is about to stop"))
    }

    /// Takes a slot for a request that may hold a thread for long.
    pub(crate) fn slot(&self, holders: Holders<'_>) -> Result<Slot, Problem> {
        self.slots.take(holders, self.config.auth.has_several_tenants())
    }
}
