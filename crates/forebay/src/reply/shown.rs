//! The view that a model was shown, as it is stored beside its output.

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::output;
use crate::output::Output;
use crate::store::{Part, Store};
use crate::view::View;
use serde::{Deserialize, Serialize};

/// The view that a model was shown, as it is stored beside the output.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShownView {
    /// The pieces.
    pub view: View,
    /// The printed text, with U+FFFD for invalid UTF-8.
    pub text: String,
    /// Whether the output was still growing, so that the view covers only its beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub growing: bool,
    /// The handle that the output had at that time, if it differs from the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Handle>,
}

impl ShownView {
    /// Reads the view that the model got of an output; `None` if there was none.
    pub fn of(store: &dyn Store, handle: &Handle) -> Result<Option<ShownView>> {
        let part = store.open_part(handle, Part::View)?;
        let cannot = || Error::store(format!("read the view of {handle}"));
        let size = part.size().map_err(cannot())?;
        if size > LARGEST_VIEW {
            return Err(cannot()(std::io::Error::other("it is larger than any view")));
        }
        let mut text = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        if text.is_empty() {
            return Ok(None);
        }
        let read = output::read_full(&*part, 0, &mut text).map_err(cannot())?;
        text.truncate(read);
        serde_json::from_slice(&text).map(Some).map_err(|error| cannot()(error.into()))
    }

    /// The output as it was when the view was shown.
    pub fn output_as_shown(&self, output: Output) -> Result<Output> {
        let output = if self.growing { output.until(self.view.total())? } else { output };
        Ok(match &self.handle {
            Some(handle) => output.called(handle.clone()),
            None => output,
        })
    }
}

/// Maximum bytes of a stored view: four million tokens, more than any model is shown at once.
pub(crate) const LARGEST_VIEW: u64 = 16 * 1024 * 1024;
