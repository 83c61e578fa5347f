//! The room in a model's context: how much is left of it, and how replies are fitted into it.
//!
//! A caller that knows how many tokens are in use says so; otherwise they are counted from what was handed over. The
//! count is a state of the session in its store, so that many processes share it, and tokens are set aside in one step.

use crate::view::{self, count};
use crate::{Error, Folded, Output, Reason, Reply, Result, Session, Settings, Store, reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The room that is left in the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Nobody counts.
    Unknown,
    /// This many tokens are left.
    Tokens(u64),
    /// Tokens could not be set aside for the output, because others took them: this many are left now.
    NotReserved(u64),
}

impl Room {
    /// How many tokens are left, if somebody counts.
    pub fn left(self) -> Option<u64> {
        match self {
            Room::Unknown => None,
            Room::Tokens(left) | Room::NotReserved(left) => Some(left),
        }
    }
}

/// The model's context, and what of it outputs may not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// How many tokens the model's context has; 0 if it is not known, and then nothing is counted.
    pub context_window: u64,
    /// How many of them are for what the model writes.
    pub output_reserve: u64,
    /// How many stay free in case a count is wrong.
    pub safety_buffer: u64,
}

impl Window {
    /// How many tokens outputs may have when so many are in use.
    pub fn left(&self, used: u64) -> Room {
        let taken = self.output_reserve.saturating_add(self.safety_buffer).saturating_add(used);
        match self.context_window {
            0 => Room::Unknown,
            window => Room::Tokens(window.saturating_sub(taken)),
        }
    }
}

/// The tokens of the context that are in use, as a session's state has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InUse {
    /// What the caller said last.
    pub reported: u64,
    /// What was handed over since then.
    pub given: u64,
}

impl InUse {
    /// Both together.
    pub fn total(&self) -> u64 {
        self.reported.saturating_add(self.given)
    }

    /// What a session has in use.
    pub(crate) fn of(store: &dyn Store, session: &Session) -> Result<InUse> {
        InUse::changed(store, session, |_| None)
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
        before.map_err(|error| Error::store(format!("read the state of {session}"))(error.into()))
    }
}

/// What the model gets for several outputs that come at once: each as it would alone, if all of them fit together.
/// If not, those are folded whose folding saves most, and then views are made smaller, the largest first.
pub fn replies(outputs: &[&Output], settings: &Settings, room: Room) -> Result<Vec<Reply>> {
    let mut replies: Vec<Reply> =
        outputs.iter().map(|output| reply(output, settings, room)).collect::<Result<_>>()?;
    let Some(left) = room.left() else { return Ok(replies) };
    let cost = |replies: &[Reply]| replies.iter().map(|reply| reply.tokens).sum::<u64>();
    if cost(&replies) <= left {
        return Ok(replies);
    }
    let reason = match room {
        Room::NotReserved(_) => Reason::ReserveFailed,
        _ => Reason::TokenBudget,
    };
    let mut folded = Vec::new();
    for (number, passing) in replies.iter().enumerate().filter(|(_, reply)| reply.folded.is_none()) {
        let view = Folded::within(outputs[number], settings, room, reason)?;
        let reply = Reply::folded(passing.size, view);
        folded.extend((reply.tokens < passing.tokens).then_some((
            passing.tokens - reply.tokens,
            number,
            reply,
        )));
    }
    folded.sort_by_key(|(saved, number, _)| (std::cmp::Reverse(*saved), *number));
    for (_, number, smaller) in folded {
        if cost(&replies) <= left {
            break;
        }
        replies[number] = smaller;
    }
    // What a small one does not need of its share, the larger ones have.
    let mut order: Vec<usize> = (0..replies.len()).collect();
    order.sort_by_key(|&number| replies[number].tokens);
    let mut rest = left;
    for (place, number) in order.iter().copied().enumerate() {
        let share = rest / (order.len() - place) as u64;
        let room = match room {
            Room::NotReserved(_) => Room::NotReserved(share),
            _ => Room::Tokens(share),
        };
        if replies[number].tokens > share {
            let reason = replies[number].folded.as_ref().map_or(reason, |folded| folded.reason.min(reason));
            let smaller = Folded::within(outputs[number], settings, room, reason)?;
            let smaller = Reply::folded(replies[number].size, smaller);
            if smaller.tokens < replies[number].tokens {
                replies[number] = smaller;
            }
        }
        rest = rest.saturating_sub(replies[number].tokens);
    }
    Ok(replies)
}

impl Folded {
    /// The view of an output that fits the room: that of the preset, a smaller one, or one line.
    pub(crate) fn within(output: &Output, settings: &Settings, room: Room, reason: Reason) -> Result<Folded> {
        let printed = |view: view::View| -> Result<Folded> {
            Ok(Folded { reason, text: view.print(output)?, view, shrunk: None })
        };
        let meant = printed(view::fold(output, settings)?)?;
        let Some(left) = room.left().filter(|&left| meant.tokens() > left) else { return Ok(meant) };
        let shrunk = Some(match room {
            Room::NotReserved(_) => {
                format!("tokens could not be reserved, and {} left in the context", are(left))
            }
            _ => format!("{} left in the context", are(left)),
        });
        let mut digest = settings.clone();
        digest.digest.budget.tokens = left;
        let smaller = printed(view::smaller(output, &digest)?)?;
        if smaller.tokens() <= left {
            return Ok(Folded { shrunk, ..smaller });
        }
        let cause = shrunk.as_deref().unwrap_or_default();
        Ok(Folded { shrunk: shrunk.clone(), ..printed(view::one_line(output, cause)?)? })
    }
}

/// `1 token is`, `2 tokens are`.
fn are(tokens: u64) -> String {
    format!("{} {}", count("token", tokens), if tokens == 1 { "is" } else { "are" })
}
