//! Verification of a stored output.

use crate::error::Result;
use crate::handle::Handle;
use crate::record::Streams;
use crate::reply::shown::ShownView;
use crate::store::writer::Stream;
use crate::store::{Store, streams};
use crate::view::verify;
use crate::view::verify::Fault;

/// Verifies a stored output: its bytes against its record, and the view that was shown of it against its bytes. Returns
/// the faults.
pub fn verify_output(store: &dyn Store, handle: &Handle) -> Result<Vec<Fault>> {
    let output = store.open(handle)?;
    if output.is_growing() {
        return Ok(Vec::new());
    }
    let mut faults = verify::verify_record(&output)?;
    if let Some(said) = output.record().streams {
        let mut found = Streams::default();
        streams::for_each_stretch(store, &output, |stream, bytes| match stream {
            Stream::Stdout => found.stdout += bytes.len() as u64,
            Stream::Stderr => found.stderr += bytes.len() as u64,
        })?;
        if output.record().lost.is_none() && said != found {
            let text = |streams: Streams| format!("{} and {}", streams.stdout, streams.stderr);
            faults.push(Fault::Record { field: "streams", said: text(said), found: text(found) });
        }
    }
    if let Some(given) = ShownView::of(store, handle)? {
        let output = given.output_as_shown(output)?;
        faults.extend(verify::verify_text(&given.view, &output, &given.text)?);
    }
    Ok(faults)
}
