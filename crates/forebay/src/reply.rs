//! The path from the size of an output to what a model gets for it.

pub(crate) mod shown;
pub(crate) mod verify;

use crate::error::Result;
use crate::limits::{Limits, Reason, Room, decide};
use crate::output::Output;
use crate::reply::shown::ShownView;
use crate::settings::{Preset, Settings};
use crate::size::Size;
use crate::view::{View, Wording};
use crate::{Budget, Piece, digest, limits, room, size, tokens};

/// Reply to a call: the output itself, or a view of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reply {
    /// Size of the output, with tokens counted as far as the decision depended on them.
    pub size: Size,
    /// View in place of the output; `None` if the output fits and passes as it is.
    pub folded: Option<Folded>,
    /// Tokens of the reply.
    pub tokens: u64,
}

/// A view in place of an output that does not fit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Folded {
    /// The limit that the output exceeded.
    pub reason: Reason,
    /// The view.
    pub view: View,
    /// The printed view, as the model sees it.
    pub text: Vec<u8>,
    /// Cause of a view smaller than the preset's, if it is smaller.
    pub shrunk: Option<String>,
}

impl Reply {
    /// A reply with an output that passes unchanged.
    pub fn passed(size: Size, tokens: u64) -> Reply {
        Reply { size, tokens, folded: None }
    }

    /// A reply with a view that was shown before.
    pub fn shown(size: Size, tokens: u64, reason: Reason, shown: ShownView) -> Reply {
        let folded = Folded { reason, view: shown.view, text: shown.text.into_bytes(), shrunk: None };
        Reply { size, tokens, folded: Some(folded) }
    }

    pub(crate) fn folded(size: Size, folded: Folded) -> Reply {
        Reply { size, tokens: folded.tokens(), folded: Some(folded) }
    }
}

impl Folded {
    /// Tokens of the printed view.
    pub fn tokens(&self) -> u64 {
        tokens::count_bytes(&self.text)
    }
}

/// Returns what a model would get for an output. It has no effect: nothing is stored, counted or logged.
/// [`Outputs::reply`](crate::Outputs::reply) does the same and gives it to the model.
pub fn preview(output: &Output, settings: &Settings, room: Room) -> Result<Reply> {
    let output = &output.clone().masked_by(&settings.masking);
    let limits = settings.limits(&output.record().call.tool);
    let size = sized_for(output, &limits, room)?;
    let reason = if settings.bypasses(&output.record().call) {
        None
    } else {
        decide(&counted_for(output, size, settings)?, &limits, room)
    };
    // An output with lost bytes cannot pass, however small it is.
    match reason.or((!output.lost().is_empty()).then_some(Reason::SizeCap)) {
        Some(reason) => {
            let folded = Folded::for_room(output, settings, room, reason, &room::cause(room))?;
            match saves_too_little(output, settings, room, &folded)? {
                Some(tokens) => passing(output, Size { tokens, ..size }, tokens),
                None => Ok(Reply::folded(size, folded)),
            }
        }
        None => match compacted(output, settings, room, &size)? {
            Some(folded) => Ok(Reply::folded(size, folded)),
            None => passing(output, size, size.tokens),
        },
    }
}

/// Reply with the output as it is, but for its secrets.
fn passing(output: &Output, size: Size, tokens: u64) -> Result<Reply> {
    if !output.has_secrets()? {
        return Ok(Reply::passed(size, tokens));
    }
    let view = View::new(output.len(), vec![Piece::Verbatim(0..output.len())], Wording::Commands)?;
    let view = view.masked(output)?;
    let text = view.print(output)?;
    Ok(Reply::folded(size, Folded { reason: Reason::Secrets, text, view, shrunk: None }))
}

/// The compact form of an output that fits, if the settings want one and it saves enough.
fn compacted(output: &Output, settings: &Settings, room: Room, size: &Size) -> Result<Option<Folded>> {
    let from = settings.digest.compact_from;
    let is_wanted =
        settings.preset == Preset::Digest && from > 0 && !settings.bypasses(&output.record().call);
    if !is_wanted || size.tokens <= from || output.record().lost.is_some() {
        return Ok(None);
    }
    let most = (size.tokens as f64 * (1.0 - COMPACT_SAVING)) as u64;
    let tokens = room.left().map_or(most, |left| left.min(most));
    let budget = Budget { tokens, bytes: output.len(), lines: None };
    let Some(view) = digest::compact(&output.clone().knowing(&settings.formats), budget)? else {
        return Ok(None);
    };
    let view = view.masked(output)?;
    Ok(Some(Folded { reason: Reason::Compact, text: view.print(output)?, view, shrunk: None }))
}

/// Share of the tokens that a compact form must save: less is not worth another form.
const COMPACT_SAVING: f64 = 0.1;

/// Tokens of an output whose view would save too little, which then passes. Under `recovery` a view must be shorter than
/// its output.
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

/// The size, with tokens counted up to the limit. Beyond it an upper bound is enough.
pub(crate) fn sized_for(output: &Output, limits: &Limits, room: Room) -> Result<Size> {
    let size = output.record().size;
    let limit = limits::token_limit(limits, room).unwrap_or(COUNTED);
    let counted = if size.tokens_exact { None } else { output.tokens_up_to(limit)? };
    Ok(match counted {
        Some((tokens, tokens_exact)) => Size { tokens, tokens_exact, ..size },
        None => size,
    })
}

/// The size as the limits of the preset count it. The host of `materialize` counts characters as UTF-16 units. They are
/// counted only where they can change the decision: in outputs that the byte limit lets pass.
pub(crate) fn counted_for(output: &Output, size: Size, settings: &Settings) -> Result<Size> {
    let limits = &settings.materialize;
    let is_plain = size.bytes == size.characters;
    if settings.preset != Preset::Materialize || is_plain || size.bytes > limits.max_inline_bytes {
        return Ok(size);
    }
    Ok(Size { characters: size::utf16_units(&output.read(0..output.len())?), ..size })
}

/// Maximum tokens that are counted if no limit applies to them.
pub(crate) const COUNTED: u64 = 100_000;
