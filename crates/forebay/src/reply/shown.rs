//! The view that a model was given, as it is kept beside its output.

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::output;
use crate::output::Output;
use crate::store::{Part, Store};
use crate::view::View;
use serde::{Deserialize, Serialize};

/// The view that a model was given, as it is kept beside the output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownView {
    /// The pieces.
    pub view: View,
    /// The printed text; what is not UTF-8 stands as U+FFFD.
    pub text: String,
    /// Whether the output went on growing afterwards, so that the view is of its beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub growing: bool,
    /// The handle that the output had when it was given, where it has another now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Handle>,
}

impl ShownView {
    /// The view that was given of an output, if one was.
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

    /// The output as it was when the view of it was given.
    pub fn output_as_shown(&self, output: Output) -> Result<Output> {
        let output = if self.growing { output.until(self.view.total())? } else { output };
        Ok(match &self.handle {
            Some(handle) => output.called(handle.clone()),
            None => output,
        })
    }
}

/// No view is larger: four million tokens, which no model is shown at once.
pub(crate) const LARGEST_VIEW: u64 = 16 * 1024 * 1024;
