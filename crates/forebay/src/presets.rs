//! The folds that presets name, and the choice among them.

pub(crate) mod handle;
pub(crate) mod head_tail;
pub(crate) mod materialize;
pub(crate) mod recovery;

use crate::digest::top_and_bottom;
use crate::settings::Preset;
use crate::view::{Omitted, Summary, View, Wording};
use crate::{Output, Result, Settings, digest};

/// The view of an output that holds the budget of a digest, whatever the preset.
pub(crate) fn smaller(output: &Output, settings: &Settings) -> Result<View> {
    match output.record().lost.is_some() {
        true => top_and_bottom(output, settings.digest.budget),
        false => digest::fold(output, settings),
    }
}

/// The smallest view: one line, with the cause. Under the preset `handle` it is the message's first two lines, because a
/// model that was told to call `tool_output` must be able to.
pub(crate) fn smallest(output: &Output, preset: Preset, cause: &str) -> Result<View> {
    if !output.lost().is_empty() {
        return View::showing(output, &[], Wording::Commands);
    }
    if preset == Preset::Handle {
        return handle::short(output);
    }
    let summary = Summary { omitted: Omitted::Size, ..Summary::stated(cause) };
    View::summarized(output, summary)
}

/// The view of an output that does not fit, under the preset of `settings`.
pub fn fold(output: &Output, settings: &Settings) -> Result<View> {
    if output.record().lost.is_some() {
        return top_and_bottom(output, settings.digest.budget);
    }
    match settings.preset {
        Preset::Digest => digest::fold(output, settings),
        Preset::Handle => handle::fold(output),
        Preset::HeadTail => head_tail::fold(output, settings),
        Preset::Materialize => materialize::fold(output, settings),
        Preset::Recovery => recovery::fold(output, settings),
    }
}
