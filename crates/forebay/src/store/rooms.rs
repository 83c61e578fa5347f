//! The tokens of the model's context that each session has in use.

use crate::{Error, Result, Session};
use serde::{Deserialize, Serialize};
use std::io;

/// The tokens of the context that a session has in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InUse {
    /// Tokens that the caller reported last.
    pub reported: u64,
    /// Tokens handed over since then.
    pub given: u64,
}

/// Tokens that a session wants to hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Number of tokens.
    pub tokens: u64,
    /// Maximum tokens that the session may then have in use.
    pub most: u64,
    /// Whether they are handed over even if they are more.
    pub force: bool,
}

/// The answer to a [`Reservation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Whether the tokens are reserved.
    pub is_made: bool,
    /// The tokens that are in use now.
    pub in_use: InUse,
}

/// Counts the tokens that each session has in use. Every [`Store`](crate::Store) does, for the processes that share it.
pub trait Rooms: Send + Sync {
    /// Tokens that a session has in use.
    fn in_use(&self, session: &Session) -> Result<InUse>;

    /// Sets the tokens that a session has in use, even if the old value cannot be read.
    fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()>;

    /// Adds tokens to those handed over if there is room for them, in one step.
    fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved>;
}

impl InUse {
    /// Both together.
    pub fn total(&self) -> u64 {
        self.reported.saturating_add(self.given)
    }

    /// Adds the tokens of a reservation if there is room for them.
    pub fn reserve(self, wanted: Reservation) -> Reserved {
        let left = wanted.most.saturating_sub(self.total());
        let is_made = wanted.force || wanted.tokens <= left;
        let given = if is_made { self.given.saturating_add(wanted.tokens) } else { self.given };
        Reserved { is_made, in_use: InUse { given, ..self } }
    }

    /// Reads it as a store keeps it; nothing is in use at first.
    pub(crate) fn parse(text: &[u8], session: &Session) -> Result<InUse> {
        if text.is_empty() {
            return Ok(InUse::default());
        }
        let what = || format!("read how much {session} has in use (say it anew: forebay room --used TOKENS)");
        serde_json::from_slice(text).map_err(|error| Error::store(what())(io::Error::from(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_made_if_there_is_room_or_if_it_must_be() {
        let table = [
            // reported, given, tokens, most, force: given afterwards
            ((0, 0, 10, 10, false), Some(10)),
            ((0, 0, 11, 10, false), None),
            ((5, 4, 1, 10, false), Some(5)),
            ((5, 4, 2, 10, false), None),
            ((5, 4, 2, 10, true), Some(6)),
            ((20, 4, 0, 10, false), Some(4)),
            ((u64::MAX, 1, 1, 10, true), Some(2)),
            ((0, u64::MAX, 1, 10, true), Some(u64::MAX)),
        ];
        for ((reported, given, tokens, most, force), expected) in table {
            let reserved = InUse { reported, given }.reserve(Reservation { tokens, most, force });
            assert_eq!(reserved.is_made, expected.is_some(), "{reserved:?}");
            assert_eq!(reserved.in_use, InUse { reported, given: expected.unwrap_or(given) });
        }
    }
}
