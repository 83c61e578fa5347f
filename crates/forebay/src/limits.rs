//! When an output no longer fits, and how much may be shown instead.

use crate::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When an output no longer fits. What is `None` is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// More bytes than this do not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// More characters than this do not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<u64>,
    /// More lines than this do not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// More tokens than this do not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// Maximum cost of a view or an excerpt: a hard bound that includes markers, whatever the length of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// At most this many o200k tokens.
    pub tokens: u64,
    /// At most this many bytes.
    pub bytes: u64,
    /// At most this many lines; as many as fit, if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
}

impl Budget {
    /// Less than this has no room for a marker, a handle and something to read.
    pub const LEAST: Budget = Budget { tokens: 64, bytes: 512, lines: Some(8) };

    /// The budget that keeps to both.
    pub fn min(self, other: Budget) -> Budget {
        let lines = match (self.lines, other.lines) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Budget { tokens: self.tokens.min(other.tokens), bytes: self.bytes.min(other.bytes), lines }
    }

    /// The budget that is left after `cost`.
    pub(crate) fn less(self, cost: Budget) -> Budget {
        Budget {
            tokens: self.tokens.saturating_sub(cost.tokens),
            bytes: self.bytes.saturating_sub(cost.bytes),
            lines: self.lines.map(|lines| lines.saturating_sub(cost.lines.unwrap_or(0))),
        }
    }

    /// A share of its tokens.
    pub(crate) fn part(self, share: f64) -> Budget {
        Budget { tokens: (self.tokens as f64 * share) as u64, ..self }
    }

    /// Whether a text keeps to it.
    pub fn holds(&self, text: &[u8]) -> bool {
        text.len() as u64 <= self.bytes
            && self.lines.is_none_or(|limit| lines_of(text) <= limit)
            && crate::tokens::fit(&String::from_utf8_lossy(text), self.tokens)
    }
}

/// Lines of a text, a last one without a newline included.
fn lines_of(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
        + u64::from(text.last().is_some_and(|&byte| byte != b'\n'))
}

/// Why an output was not passed on whole, the strongest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Tokens for the response could not be reserved.
    ReserveFailed,
    /// It has more bytes, characters or lines than its limits allow.
    SizeCap,
    /// It has more tokens than its limits allow or than are left in the context.
    TokenBudget,
    /// It fits, but has more tokens than a setting lets pass unless they are made compact. Nothing is left out.
    Compact,
    /// It fits, but has secrets. All else is shown as it is.
    Secrets,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Reason::ReserveFailed => "reserve_failed",
            Reason::SizeCap => "size_cap",
            Reason::TokenBudget => "token_budget",
            Reason::Compact => "compact",
            Reason::Secrets => "secrets",
        })
    }
}

/// Whether an output fits: `None` if it does, else the strongest reason why not.
///
/// `size.tokens` may be an upper bound where that is enough to say that it fits.
///
/// ```
/// use forebay::{Limits, Reason, Room, Size, decide};
/// let size = Size { bytes: 20_000, tokens: 5_000, ..Size::default() };
/// let limits = Limits { bytes: Some(12_288), ..Limits::default() };
/// assert_eq!(decide(&size, &limits, Room::Unknown), Some(Reason::SizeCap));
/// assert_eq!(decide(&size, &Limits::default(), Room::Tokens(4_000)), Some(Reason::TokenBudget));
/// ```
pub fn decide(size: &Size, limits: &Limits, room: Room) -> Option<Reason> {
    let over = |value: u64, limit: Option<u64>| limit.is_some_and(|limit| value > limit);
    let too_large = over(size.bytes, limits.bytes)
        || over(size.characters, limits.characters)
        || over(size.lines, limits.lines);
    let too_many_tokens = over(size.tokens, token_limit(limits, room));
    if size.bytes == 0 || !(too_large || too_many_tokens) {
        None
    } else if matches!(room, Room::NotReserved(_)) {
        Some(Reason::ReserveFailed)
    } else if too_large {
        Some(Reason::SizeCap)
    } else {
        Some(Reason::TokenBudget)
    }
}

/// How many tokens fit.
pub(crate) fn token_limit(limits: &Limits, room: Room) -> Option<u64> {
    [limits.tokens, room.left()].into_iter().flatten().min()
}

/// The room that is left in the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Room {
    /// Nobody counts.
    Unknown,
    /// This many tokens are left.
    Tokens(u64),
    /// Tokens could not be set aside for the output, because others took them: this many are left now.
    NotReserved(u64),
}

impl Room {
    /// Tokens that are left, if they are counted.
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
    /// Tokens of the model's context window; 0 if unknown, and then nothing is counted.
    pub context_window: u64,
    /// Tokens that are reserved for the model's own text.
    pub output_reserve: u64,
    /// Tokens that stay free in case a count is wrong.
    pub safety_buffer: u64,
}

impl Window {
    /// Tokens that are left for outputs when `used` are in use.
    pub fn left(&self, used: u64) -> Room {
        let taken = self.output_reserve.saturating_add(self.safety_buffer).saturating_add(used);
        match self.context_window {
            0 => Room::Unknown,
            window => Room::Tokens(window.saturating_sub(taken)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_reason_wins() {
        let size = Size { bytes: 20_000, characters: 20_000, lines: 100, tokens: 5_000, ..Size::default() };
        let limits = |bytes, tokens| Limits { bytes, tokens, ..Limits::default() };
        let table = [
            (limits(None, None), Room::Unknown, None),
            (limits(Some(20_000), Some(5_000)), Room::Tokens(5_000), None),
            (limits(Some(19_999), None), Room::Unknown, Some(Reason::SizeCap)),
            (limits(None, Some(4_999)), Room::Unknown, Some(Reason::TokenBudget)),
            (limits(None, None), Room::Tokens(4_999), Some(Reason::TokenBudget)),
            (limits(Some(1), Some(1)), Room::Tokens(1), Some(Reason::SizeCap)),
            (limits(Some(1), Some(1)), Room::NotReserved(0), Some(Reason::ReserveFailed)),
            (limits(None, None), Room::NotReserved(4_999), Some(Reason::ReserveFailed)),
            (limits(None, None), Room::NotReserved(5_000), None),
            (limits(Some(0), None), Room::Unknown, Some(Reason::SizeCap)),
            (Limits { lines: Some(99), ..Limits::default() }, Room::Unknown, Some(Reason::SizeCap)),
            (Limits { characters: Some(19_999), ..Limits::default() }, Room::Unknown, Some(Reason::SizeCap)),
        ];
        for (limits, room, expected) in table {
            assert_eq!(decide(&size, &limits, room), expected, "{limits:?} {room:?}");
        }
    }

    #[test]
    fn nothing_is_never_too_much() {
        let limits = Limits { bytes: Some(0), ..Limits::default() };
        assert_eq!(decide(&Size::default(), &limits, Room::NotReserved(0)), None);
    }
}
