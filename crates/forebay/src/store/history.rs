//! Earlier outputs of a session that an output repeats: the same call made before, and outputs with the same bytes.

use crate::event::{self, Event, What};
use crate::handle::Handle;
use crate::output::{Output, SameGiven};
use crate::record::{Record, State};
use crate::store::Store;

/// Bytes of a session's events that are searched for an earlier run of a call: some thousand calls.
const CALLS_SEARCHED: u64 = 512 * 1024;

/// Maximum candidates of an earlier run that are opened.
const MAX_OPENED: usize = 16;

/// Outputs with fewer bytes have no earlier run: they are never folded.
const MIN_BYTES: u64 = 512;

/// Bytes of a session's events that are searched for an output with the same bytes: some ten thousand outputs.
const OUTPUTS_SEARCHED: u64 = 8 * 1024 * 1024;

/// Returns the output of the previous run of the same call in this session, if it is still kept. A call without
/// arguments has none.
pub fn earlier_run(store: &dyn Store, record: &Record) -> Option<Output> {
    let call = &record.call;
    let args = call.args.as_ref()?;
    if record.size.bytes < MIN_BYTES {
        return None;
    }
    let end = event::last_lines(store, &call.session, CALLS_SEARCHED).ok()?;
    let tool = serde_json::to_string(&call.tool).ok()?;
    let (mut began, mut opened) = (false, 0);
    for line in end.rsplit(|&byte| byte == b'\n') {
        if memchr::memmem::find(line, tool.as_bytes()).is_none() {
            continue;
        }
        let Ok(Event { what: What::CallStarted(started), .. }) = serde_json::from_slice(line) else {
            continue;
        };
        // Calls that began after this one are not earlier.
        if !began {
            began = started.id == record.handle.id();
            continue;
        }
        let same_length = started.argument_characters == args.chars().count() as u64;
        if started.tool != call.tool || !same_length {
            continue;
        }
        opened += 1;
        let earlier = Handle::new(call.session.clone(), &started.id).ok().and_then(|it| store.open(&it).ok());
        let is_same_call = |earlier: &Output| {
            let record = earlier.record();
            record.call.args.as_ref() == Some(args)
                && record.call.server == call.server
                && record.state == State::Complete
                && record.lost.is_none()
        };
        match earlier.filter(is_same_call) {
            Some(earlier) => return Some(earlier),
            None if opened == MAX_OPENED => return None,
            None => {}
        }
    }
    None
}

/// The outputs of the session with the bytes of an output that is ending: the nearest that is still kept, after the
/// first that the nearest repeats.
pub(crate) fn outputs_with_the_same_bytes(store: &dyn Store, record: &Record, bytes: u64) -> Vec<Record> {
    let session = &record.call.session;
    if bytes == 0 {
        return Vec::new();
    }
    let Ok(end) = event::last_lines(store, session, OUTPUTS_SEARCHED) else { return Vec::new() };
    let kept = |id: &str| {
        let found = store.record(&Handle::new(session.clone(), id).ok()?).ok()?;
        (found.hash == record.hash && found.state == State::Complete).then_some(found)
    };
    for at in memchr::memmem::rfind_iter(&end, record.hash.as_bytes()) {
        if let Ok(Event { what: What::OutputStored(stored), .. }) = serde_json::from_slice(line_at(&end, at))
            && let Some(nearest) = kept(&stored.id)
        {
            let first = stored.same_as.as_deref().and_then(kept);
            return first.into_iter().chain([nearest]).collect();
        }
    }
    Vec::new()
}

/// Tokens of the reply that the model got for an output. `None` if the searched events do not have it.
pub(crate) fn tokens_given(store: &dyn Store, handle: &Handle) -> Option<u64> {
    let end = event::last_lines(store, handle.session(), OUTPUTS_SEARCHED).ok()?;
    let id = serde_json::to_string(handle.id()).ok()?;
    memchr::memmem::rfind_iter(&end, id.as_bytes()).find_map(|at| {
        match serde_json::from_slice(line_at(&end, at)) {
            Ok(Event { what: What::OutputPassed(given) | What::ViewGiven(given), .. }) => {
                (given.id == handle.id()).then_some(given.tokens)
            }
            _ => None,
        }
    })
}

/// The reply for the output that this one repeats. `None` if the two calls state different intents, because the earlier
/// view was chosen for another one.
pub(crate) fn same_output_given(store: &dyn Store, record: &Record) -> Option<SameGiven> {
    let same = record.same_as.as_ref()?;
    let tokens = tokens_given(store, same)?;
    let (call, earlier) = (&record.call, store.record(same).ok()?.call);
    let same_call = call.tool == earlier.tool && call.server == earlier.server && call.args == earlier.args;
    (call.intent == earlier.intent).then(|| SameGiven { handle: same.clone(), tokens, same_call })
}

/// The line of `lines` that contains the offset `at`, without its newline.
fn line_at(lines: &[u8], at: usize) -> &[u8] {
    let start = memchr::memrchr(b'\n', &lines[..at]).map_or(0, |newline| newline + 1);
    let line = &lines[start..];
    &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())]
}
