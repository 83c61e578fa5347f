//! Keeping a whole output.

use crate::call::Call;
use crate::clock::Clock;
use crate::error::Result;
use crate::output::Output;
use crate::record::Exit;
use crate::store::Store;
use crate::store::writer::{End, Stream, Writer};
use std::io::Read;

/// Stores a whole output. It is in the store before any view of it exists, so no view names a handle that cannot be read.
pub fn keep(store: &dyn Store, call: &Call, source: &mut dyn Read, now: Clock<'_>) -> Result<Output> {
    keep_ended(store, call, source, None, now)
}

/// [`keep`] for a command whose exit status is known.
pub fn keep_ended(
    store: &dyn Store,
    call: &Call,
    source: &mut dyn Read,
    exit: Option<Exit>,
    now: Clock<'_>,
) -> Result<Output> {
    let mut writer = Writer::begin(store, call);
    let cut_short = loop {
        match writer.read_from(Stream::Stdout, source) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => break Some(format!("reading the output failed: {error}")),
        }
    };
    Ok(writer.finish(End { exit, cut_short, at: Some(now()) }))
}
