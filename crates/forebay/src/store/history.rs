//! Earlier outputs of a session that an output repeats: those of the same call, and those with the same bytes.

use crate::Timestamp;
use crate::call::Call;
use crate::event::{self, Event, Started, What};
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
    let mut opened = 0;
    for started in calls_before(&end, record.handle.id(), tool.as_bytes()) {
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

/// Earlier calls of a session that show what the agent works on.
const RECENT_CALLS: usize = 40;

/// Outputs with fewer bytes fit every limit, so nothing is chosen from them.
const MIN_CHOSEN_FROM: u64 = 1_500;

/// Returns the calls before this one in its session, the latest first. Only their arguments and intents matter.
pub(crate) fn recent_calls(store: &dyn Store, record: &Record) -> Vec<Call> {
    let session = &record.call.session;
    if record.size.bytes < MIN_CHOSEN_FROM {
        return Vec::new();
    }
    let Ok(end) = event::last_lines(store, session, CALLS_SEARCHED) else { return Vec::new() };
    let before = calls_before(&end, record.handle.id(), b"argument_characters");
    let ids: Vec<String> = before.map(|started| started.id).take(RECENT_CALLS * 4).collect();
    store.calls(session, &ids, RECENT_CALLS).unwrap_or_default()
}

/// Calls that began before another one, the latest first. Lines of events without the given text are not read.
fn calls_before<'e>(events: &'e [u8], id: &'e str, text: &'e [u8]) -> impl Iterator<Item = Started> + 'e {
    let lines = events.rsplit(|&byte| byte == b'\n');
    let read = move |line: &&[u8]| memchr::memmem::find(line, text).is_some();
    let started = |line| match serde_json::from_slice(line) {
        Ok(Event { what: What::CallStarted(started), .. }) => Some(started),
        _ => None,
    };
    // Calls that began after this one are not earlier.
    lines.filter(read).filter_map(started).skip_while(move |started| started.id != id).skip(1)
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
    reply_in(&end, handle).map(|reply| reply.tokens)
}

/// A reply among the events of a session.
struct ReplyGiven {
    tokens: u64,
    /// The preset and the formats that made the view, if one was given.
    made_by: Option<Option<String>>,
    at: Timestamp,
    /// Offset of its line.
    offset: usize,
}

/// The latest reply for an output.
fn reply_in(events: &[u8], handle: &Handle) -> Option<ReplyGiven> {
    let id = serde_json::to_string(handle.id()).ok()?;
    memchr::memmem::rfind_iter(events, id.as_bytes()).find_map(|offset| {
        match serde_json::from_slice(line_at(events, offset)) {
            Ok(Event { what: What::OutputPassed(given) | What::ViewGiven(given), at }) => {
                let made_by = given.reason.map(|_| given.made_by);
                (given.id == handle.id()).then_some(ReplyGiven { tokens: given.tokens, made_by, at, offset })
            }
            _ => None,
        }
    })
}

/// Time since a reply, and tokens given since, within which the model certainly still has it. Hosts keep the latest
/// replies when they free room; after a longer pause, the conversation may be another one with the same name.
const REMEMBERED_MINUTES: i64 = 30;
const REMEMBERED_TOKENS: u64 = 30_000;

/// Whether the model surely still has a reply.
fn is_remembered(events: &[u8], reply: &ReplyGiven, now: Option<Timestamp>) -> bool {
    let minutes = now.map_or(i64::MAX, |now| now.duration_since(reply.at).as_mins());
    let mut tokens: u64 = 0;
    let mut reported: Option<u64> = None;
    let mut made_room = false;
    let after = events[reply.offset..].split(|&byte| byte == b'\n').skip(1);
    for event in after.filter_map(|line| serde_json::from_slice::<Event>(line).ok()) {
        tokens += match event.what {
            What::OutputPassed(given) | What::ViewGiven(given) => given.tokens,
            What::QueryAnswered(answered) => answered.tokens,
            What::RoomReported { used } => {
                made_room |= reported.is_some_and(|before| used < before);
                reported = Some(used);
                0
            }
            _ => 0,
        };
    }
    !made_room && minutes <= REMEMBERED_MINUTES && tokens <= REMEMBERED_TOKENS
}

/// The reply for the output that this one repeats. `None` if the model may no longer have it, or if the two calls state
/// different intents, because the earlier view was chosen for another one.
pub(crate) fn same_output_given(store: &dyn Store, record: &Record) -> Option<SameGiven> {
    let same = record.same_as.as_ref()?;
    let end = event::last_lines(store, same.session(), OUTPUTS_SEARCHED).ok()?;
    let reply = reply_in(&end, same)?;
    let (call, earlier) = (&record.call, store.record(same).ok()?.call);
    let same_call = call.tool == earlier.tool && call.server == earlier.server && call.args == earlier.args;
    let is_told = call.intent == earlier.intent && is_remembered(&end, &reply, record.ended);
    is_told.then(|| SameGiven {
        handle: same.clone(),
        tokens: reply.tokens,
        made_by: reply.made_by,
        same_call,
    })
}

/// The line of `lines` that contains the offset `at`, without its newline.
fn line_at(lines: &[u8], at: usize) -> &[u8] {
    let start = memchr::memrchr(b'\n', &lines[..at]).map_or(0, |newline| newline + 1);
    let line = &lines[start..];
    &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())]
}
