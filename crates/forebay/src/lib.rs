//! Keeps every byte a tool says, and shows the model the part it needs.
//!
//! Agents call tools, and tools talk too much. This library stands between the two: the whole output goes into a
//! [`Store`], byte for byte; what fits its [`Limits`] passes untouched; of what does not, the model gets a small
//! [`View`] that marks everything it leaves out, and a [`Handle`] with which it can read the rest at any time.
//!
//! ```
//! use forebay::{Call, MemoryStore, Outputs, Query, Settings, Session, Timestamp, excerpt, keep};
//!
//! let store = MemoryStore::default();
//! let outputs = Outputs::new(&store, Session::safe("demo"), Timestamp::now);
//! let call = Call::new(Session::safe("demo"), "call-1", "run_command", Timestamp::UNIX_EPOCH);
//! let log: String = (1..=50_000).map(|line| format!("line {line}: all is well\n")).collect();
//!
//! let output = keep(&store, &call, &mut log.as_bytes(), Timestamp::now)?;
//! let reply = outputs.reply(&output, &Settings::default())?;
//! assert!(reply.folded.is_some_and(|folded| folded.text.len() < 12_000));
//!
//! let excerpt = excerpt(&output, &Query::Lines(vec![40_000..=40_001]), Settings::default().excerpt_budget())?;
//! assert!(String::from_utf8_lossy(&excerpt.text).contains("line 40000: all is well\n"));
//! # Ok::<(), forebay::Error>(())
//! ```
//!
//! It is synchronous, and touches no terminal, network, clock or environment; only [`store`] touches a disk.

pub mod accounting;
pub mod archive;
mod call;
mod error;
pub mod event;
pub mod extract;
mod handle;
mod kind;
mod limits;
pub mod model;
mod output;
mod outputs;
pub mod query;
mod quote;
mod record;
pub mod retention;
mod room;
pub mod settings;
pub mod size;
pub mod stats;
mod stop;
pub mod store;
mod surface;
mod threads;
pub mod tokens;
pub mod tools;
pub mod view;
pub mod wire;

pub use accounting::{Accounting, Ledger, Notice};
pub use call::Call;
pub use error::{Error, Result};
pub use event::{Event, What};
pub use handle::{Handle, SHORTEST_PREFIX, Session, fingerprint, fresh_id};
pub use jiff::Timestamp;
pub use kind::Kind;
pub use limits::{Budget, Limits, Reason, decide};
pub use output::{Output, ReadAt};
pub use outputs::Outputs;
pub use query::{Excerpt, Grep, Query, excerpt};
pub use quote::{printable, shell_word, shortened};
pub use record::{Exit, Lost, Record, State, Streams};
pub use room::{InUse, Room, Window, replies};
pub use settings::{Preset, Settings};
pub use size::Size;
pub use stats::{Stats, Tally};
pub use stop::{Bounds, Stop, WeakStop};
pub use store::{
    End, Part, Sink, Store, Stream, Writer, disk::DiskStore, disk::RunFolder, memory::MemoryStore,
};
pub use surface::Surface;
pub use view::{ContextRef, Fault, Piece, View, Why, fold, verify};

use serde::{Deserialize, Serialize};
use std::io::Read;

/// What the model gets for a call.
#[derive(Clone, Debug)]
pub struct Reply {
    /// How large the output is, with tokens counted as far as the answer depended on it.
    pub size: Size,
    /// What it gets in place of the output; `None` if the output fits and passes as it is.
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

/// A clock: the library has none of its own.
pub type Clock = fn() -> Timestamp;

impl Reply {
    fn folded(size: Size, folded: Folded) -> Reply {
        Reply { size, tokens: folded.tokens(), folded: Some(folded) }
    }
}

impl Folded {
    /// How many tokens it has.
    pub fn tokens(&self) -> u64 {
        tokens::count_bytes(&self.text)
    }
}

/// Keeps a whole output. It is in the store before anything is said of it, so no view names a handle that cannot
/// be read. The library has no clock: `now` is the caller's.
pub fn keep(store: &dyn Store, call: &Call, source: &mut dyn Read, now: Clock) -> Result<Output> {
    keep_ended(store, call, source, None, now)
}

/// [`keep`] for a command whose exit status is known.
pub fn keep_ended(
    store: &dyn Store,
    call: &Call,
    source: &mut dyn Read,
    exit: Option<Exit>,
    now: Clock,
) -> Result<Output> {
    let mut writer = store.begin(call);
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

/// What the model gets for an output: the path from its size to what is shown. It has no effect: to look is free, and
/// [`Outputs::reply`] gives it.
pub fn reply(output: &Output, settings: &Settings, room: Room) -> Result<Reply> {
    let limits = settings.limits(&output.record().call.tool);
    let size = sized_for(output, &limits, room)?;
    let reason = match settings.bypasses(&output.record().call) {
        true => None,
        false => decide(&counted_for(output, size, settings)?, &limits, room),
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
fn saves_too_little(
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
fn sized_for(output: &Output, limits: &Limits, room: Room) -> Result<Size> {
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
fn counted_for(output: &Output, size: Size, settings: &Settings) -> Result<Size> {
    let limits = &settings.materialize;
    let is_plain = size.bytes == size.characters;
    if settings.preset != Preset::Materialize || is_plain || size.bytes > limits.max_inline_bytes {
        return Ok(size);
    }
    Ok(Size { characters: size::utf16_units(&output.read(0..output.len())?), ..size })
}

/// Where nothing limits tokens, so many are counted.
const COUNTED: u64 = 100_000;

/// The view that a model was given, as it is kept beside the output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Given {
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

impl Given {
    /// The view that was given of an output, if one was.
    pub fn of(store: &dyn Store, handle: &Handle) -> Result<Option<Given>> {
        let part = store.open_part(handle, Part::View)?;
        let cannot = || Error::store(format!("read the view of {handle}"));
        let size = part.size().map_err(cannot())?;
        if size > archive::LARGEST_VIEW {
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
    pub fn seen(&self, output: Output) -> Result<Output> {
        let output = if self.growing { output.until(self.view.total())? } else { output };
        Ok(match &self.handle {
            Some(handle) => output.called(handle.clone()),
            None => output,
        })
    }
}

/// Everything that can be proved of a kept output: that its bytes are those of the record, and that the view that
/// was given of it is true. Returns what is not.
pub fn verify_output(store: &dyn Store, handle: &Handle) -> Result<Vec<Fault>> {
    let output = store.open(handle)?;
    if output.is_growing() {
        return Ok(Vec::new());
    }
    let mut faults = view::verify_record(&output)?;
    if let Some(said) = output.record().streams {
        let mut found = Streams::default();
        store.for_each_stretch(&output, |stream, bytes| match stream {
            Stream::Stdout => found.stdout += bytes.len() as u64,
            Stream::Stderr => found.stderr += bytes.len() as u64,
        })?;
        if output.record().lost.is_none() && said != found {
            let text = |streams: Streams| format!("{} and {}", streams.stdout, streams.stderr);
            faults.push(Fault::Record { field: "streams", said: text(said), found: text(found) });
        }
    }
    if let Some(given) = Given::of(store, handle)? {
        let output = given.seen(output)?;
        faults.extend(view::verify_text(&given.view, &output, &given.text)?);
    }
    Ok(faults)
}
