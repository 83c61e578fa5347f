//! Requests that wait for a server's answer, by id.
//!
//! A server may write an id differently from the client (`1500.0` for `1.5e3`); both forms are the same id. Messages
//! to the client have the id in the client's form.

use super::Pending;
use crate::rpc::key;
use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Waiting(HashMap<String, (String, Pending)>);

impl Waiting {
    pub(super) fn insert(&mut self, id: String, pending: Pending) {
        self.0.insert(key(&id), (id, pending));
    }

    pub(super) fn get(&self, id: &str) -> Option<&Pending> {
        self.0.get(&key(id)).map(|(_, pending)| pending)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Pending> {
        self.0.get_mut(&key(id)).map(|(_, pending)| pending)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<(String, Pending)> {
        self.0.remove(&key(id))
    }

    /// Ids, as written, of the requests selected by `which`.
    pub(super) fn ids(&self, which: impl Fn(&Pending) -> bool) -> Vec<String> {
        let mut ids: Vec<String> =
            self.0.values().filter(|(_, pending)| which(pending)).map(|(id, _)| id.clone()).collect();
        ids.sort();
        ids
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Pending> {
        self.0.values_mut().map(|(_, pending)| pending)
    }
}
