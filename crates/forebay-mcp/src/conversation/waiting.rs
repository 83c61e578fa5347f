//! Requests that wait for a server's answer, by their ids.
//!
//! A server may write an id otherwise than the client did (`1500.0` for `1.5e3`), and it is the same id all the same.
//! What is said to the client has the id as the client wrote it.

use super::Pending;
use serde_json::Value;
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

    /// The ids, as they were written, of those that `which` says.
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

/// The one spelling of an id.
pub(crate) fn key(id: &str) -> String {
    // Nearly all ids are small numbers, and are written in one way.
    if id.len() < 16 && id.bytes().all(|byte| byte.is_ascii_digit()) {
        return id.to_owned();
    }
    match serde_json::from_str(id) {
        Ok(Value::Number(number)) if number.is_f64() => match number.as_f64() {
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 9e15 => format!("{}", whole as i64),
            _ => number.to_string(),
        },
        Ok(value) => value.to_string(),
        Err(_) => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn an_id_is_the_same_however_it_is_written() {
        for same in [["1.5e3", "1500.0"], ["1500", "1500.0"], ["\"\\u00e9\"", "\"é\""], ["-0.0", "0"]] {
            assert_eq!(key(same[0]), key(same[1]), "{same:?}");
        }
        for other in [["1", "\"1\""], ["1.5", "1"], ["\"a\"", "\"b\""]] {
            assert_ne!(key(other[0]), key(other[1]), "{other:?}");
        }
    }
}
