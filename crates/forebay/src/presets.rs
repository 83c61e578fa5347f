//! Presets: the fold that each names.

pub(crate) mod handle;
pub(crate) mod head_tail;
pub(crate) mod materialize;
pub(crate) mod recovery;

use crate::digest::top_and_bottom;
use crate::settings::Preset;
use crate::view::{Omitted, Summary, View, Wording};
use crate::{Output, Result, Settings, digest};

/// View of an output within the budget of a digest, whatever the preset.
pub(crate) fn smaller(output: &Output, settings: &Settings) -> Result<View> {
    let output = &output.clone().knowing(&settings.formats);
    if output.record().lost.is_some() {
        return top_and_bottom(output, settings.digest.budget);
    }
    digest::fold(output, settings)
}

/// Smallest view: one line with the cause. Under the preset `handle` it is the first two lines of the message, because a model
/// that knows the tool `tool_output` needs the handle to call it.
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

/// View of an output that does not fit, under the preset of `settings`.
pub fn fold(output: &Output, settings: &Settings) -> Result<View> {
    let output = &output.clone().knowing(&settings.formats);
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
