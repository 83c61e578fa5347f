//! The path from the size of an output to what a model gets for it.

pub(crate) mod shown;
pub(crate) mod verify;

use crate::error::Result;
use crate::limits::{Limits, Reason, Room, decide};
use crate::output::Output;
use crate::settings::{Preset, Settings};
use crate::size::Size;
use crate::view::View;
use crate::{limits, room, size, tokens};

/// Reply to a call: the output itself, or a view of it.
#[derive(Clone, Debug)]
pub struct Reply {
    /// How large the output is, with tokens counted as far as the answer depended on it.
    pub size: Size,
    /// View in place of the output; `None` if the output fits and passes as it is.
    pub folded: Option<Folded>,
    /// How many tokens that has.
    pub tokens: u64,
}

/// A view in place of an output that does not fit.
#[derive(Clone, Debug)]
pub struct Folded {
    /// Why the output was not passed on whole.
    pub reason: Reason,
    /// The view.
    pub view: View,
    /// The view, printed: what the model is shown.
    pub text: Vec<u8>,
    /// Why the view is smaller than the preset makes it, if it is.
    pub shrunk: Option<String>,
}

impl Reply {
    pub(crate) fn folded(size: Size, folded: Folded) -> Reply {
        Reply { size, tokens: folded.tokens(), folded: Some(folded) }
    }
}

impl Folded {
    /// How many tokens it has.
    pub fn tokens(&self) -> u64 {
        tokens::count_bytes(&self.text)
    }
}

/// Returns what a model would get for an output. It has no effect: nothing is stored, counted or logged.
/// [`Outputs::reply`](crate::Outputs::reply) does the same and gives it to the model.
pub fn preview(output: &Output, settings: &Settings, room: Room) -> Result<Reply> {
    let limits = settings.limits(&output.record().call.tool);
    let size = sized_for(output, &limits, room)?;
    let reason = if settings.bypasses(&output.record().call) {
        None
    } else {
        decide(&counted_for(output, size, settings)?, &limits, room)
    };
    // What was lost cannot be passed on, however small it is.
    match reason.or((!output.lost().is_empty()).then_some(Reason::SizeCap)) {
        Some(reason) => {
            let folded = Folded::within(output, settings, room, reason, &room::cause(room))?;
            match saves_too_little(output, settings, room, &folded)? {
                Some(tokens) => Ok(Reply { tokens, size: Size { tokens, ..size }, folded: None }),
                None => Ok(Reply::folded(size, folded)),
            }
        }
        None => Ok(Reply { tokens: size.tokens, size, folded: None }),
    }
}

/// The tokens of an output whose view would save less than it must. Under `recovery` a view must be shorter than its output.
pub(crate) fn saves_too_little(
    output: &Output,
    settings: &Settings,
    room: Room,
    folded: &Folded,
) -> Result<Option<u64>> {
    let share = settings.digest.least_saving;
    let most = match settings.preset {
        _ if !output.lost().is_empty() => return Ok(None),
        Preset::Digest if share > 0.0 => (folded.tokens() as f64 / (1.0 - share.min(0.9))) as u64,
        Preset::Recovery if size::characters(&folded.text) >= output.record().size.characters => u64::MAX,
        _ => return Ok(None),
    };
    let tokens = output.tokens_up_to(room.left().map_or(most, |left| left.min(most)))?;
    Ok(tokens.map(|(tokens, _)| tokens))
}

/// The size, with the tokens counted as far as they can matter: beyond what fits, a bound will do.
pub(crate) fn sized_for(output: &Output, limits: &Limits, room: Room) -> Result<Size> {
    let size = output.record().size;
    let limit = limits::token_limit(limits, room).unwrap_or(COUNTED);
    let counted = if size.tokens_exact { None } else { output.tokens_up_to(limit)? };
    Ok(match counted {
        Some((tokens, tokens_exact)) => Size { tokens, tokens_exact, ..size },
        None => size,
    })
}

/// The size as the limits of the preset count it. The host of `materialize` counts characters as UTF-16 units: they are
/// counted where that can change the answer, which is in outputs that the other limit lets pass.
pub(crate) fn counted_for(output: &Output, size: Size, settings: &Settings) -> Result<Size> {
    let limits = &settings.materialize;
    let is_plain = size.bytes == size.characters;
    if settings.preset != Preset::Materialize || is_plain || size.bytes > limits.max_inline_bytes {
        return Ok(size);
    }
    Ok(Size { characters: size::utf16_units(&output.read(0..output.len())?), ..size })
}

/// Where nothing limits tokens, so many are counted.
pub(crate) const COUNTED: u64 = 100_000;
