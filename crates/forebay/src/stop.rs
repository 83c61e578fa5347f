//! A flag with which a caller ends a query. The library checks it while it works.
//!
//! The library has no clock and no processes of its own. A server passes its [`Bounds`] to
//! [`Outputs`](crate::Outputs): they end queries, and may run filters where memory is limited.

use crate::{Error, Result};
use std::sync::{Arc, OnceLock, Weak};

/// A flag that ends a query. Clones are the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    why: Arc<OnceLock<String>>,
    /// The flag of what the query is a part of.
    parent: Option<Arc<OnceLock<String>>>,
}

impl Stop {
    /// A new flag that also counts as raised when this one is.
    pub fn child(&self) -> Stop {
        Stop { why: Arc::default(), parent: Some(self.why.clone()) }
    }

    /// Ends the query. The first reason counts.
    pub fn raise(&self, why: impl Into<String>) {
        let _ = self.why.set(why.into());
    }

    /// Why the query is to end, if it is.
    pub fn why(&self) -> Option<&str> {
        let parent = || self.parent.as_ref().and_then(|parent| parent.get());
        self.why.get().or_else(parent).map(String::as_str)
    }

    /// Whether the query is to end.
    pub fn is_raised(&self) -> bool {
        self.why().is_some()
    }

    /// An error once the flag is raised.
    pub fn check(&self) -> Result<()> {
        match self.why() {
            Some(why) => Err(Error::Stopped(why.to_owned())),
            None => Ok(()),
        }
    }

    /// A weak reference to the flag for a timer, so that the flag ends with its query.
    pub fn downgrade(&self) -> WeakStop {
        WeakStop(Arc::downgrade(&self.why))
    }
}

/// A weak reference to a [`Stop`], valid as long as its query.
#[derive(Clone, Debug)]
pub struct WeakStop(Weak<OnceLock<String>>);

impl WeakStop {
    /// Ends the query, if there still is one.
    pub fn raise(&self, why: impl Into<String>) {
        if let Some(flag) = self.0.upgrade() {
            let _ = flag.set(why.into());
        }
    }
}
