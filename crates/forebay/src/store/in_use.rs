//! The tokens that a session has in use.

use crate::{Error, Result, Session, Store};
use serde::{Deserialize, Serialize};

/// The tokens of the context that are in use, as a session's state has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InUse {
    /// Tokens that the caller reported last.
    pub reported: u64,
    /// Tokens handed over since then.
    pub given: u64,
}

impl InUse {
    /// Both together.
    pub fn total(&self) -> u64 {
        self.reported.saturating_add(self.given)
    }

    /// Tokens that a session has in use.
    pub(crate) fn of(store: &dyn Store, session: &Session) -> Result<InUse> {
        InUse::changed(store, session, |_| None)
    }

    /// Makes it what a session has in use, whatever it was: also where that cannot be read.
    pub(crate) fn put(self, store: &dyn Store, session: &Session) -> Result<()> {
        store.change_state(session, &mut |_| serde_json::to_vec(&self).ok())
    }

    /// Changes what a session has in use, in one step; returns what it was before.
    pub(crate) fn changed(
        store: &dyn Store,
        session: &Session,
        change: impl Fn(InUse) -> Option<InUse>,
    ) -> Result<InUse> {
        let mut before = Ok(InUse::default());
        store.change_state(session, &mut |state| {
            before = match state {
                [] => Ok(InUse::default()),
                state => serde_json::from_slice(state),
            };
            let changed = change(*before.as_ref().ok()?)?;
            serde_json::to_vec(&changed).ok()
        })?;
        let what = format!("read how much {session} has in use (say it anew: forebay room --used TOKENS)");
        before.map_err(|error| Error::store(what)(error.into()))
    }
}
