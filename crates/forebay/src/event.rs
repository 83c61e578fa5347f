//! The events of a session, one line each. Statistics, accounting and notes about repeated outputs are derived from them.
//!
//! An event names outputs by their ids and never holds their bytes. Each is one complete line of JSON.

use crate::{Error, Exit, Kind, Reason, Record, Result, Session, Size, State, Store, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ops::AddAssign;
use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, BufReader, Read},
    ops::ControlFlow,
};

/// One event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Kind and details of the event.
    #[serde(flatten)]
    pub what: What,
    /// Time of the event.
    pub at: Timestamp,
}

/// Kind and details of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum What {
    /// A tool was called, and its output begins.
    CallStarted(Started),
    /// An output ended and is stored completely.
    OutputStored(Stored),
    /// An output was cut short. The part that came is stored.
    OutputCutShort(Stored),
    /// The model got an output unchanged.
    OutputPassed(Replied),
    /// The model got a view in place of an output.
    ViewGiven(Replied),
    /// A query was answered.
    QueryAnswered(Answered),
    /// A model read an output and wrote an abstract.
    ExtractionDone(Extracted),
    /// An extraction failed.
    ExtractionFailed(ExtractionFailure),
    /// A fallback was given in place of the intended reply.
    FellBack(FellBack),
    /// An output was removed.
    Swept(Swept),
    /// The caller reported the tokens in use.
    RoomReported {
        /// Number of tokens.
        used: u64,
    },
    /// More tokens are in use than there is room for, because machines handed over tokens while they could not reach the
    /// shared store.
    RoomExceeded {
        /// Tokens in use.
        used: u64,
        /// Tokens that there is room for.
        most: u64,
    },
    /// A person was shown secrets of an output that are masked elsewhere.
    SecretsRevealed {
        /// The output.
        id: String,
        /// Number of secrets.
        secrets: u64,
    },
}

/// A call that began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Started {
    /// The output's id.
    pub id: String,
    /// The host's id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The server of the tool, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Kind of the tool, if the caller stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number of characters of the arguments, which the record holds.
    pub argument_characters: u64,
}

/// An output that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stored {
    /// The output's id.
    pub id: String,
    /// Size of the output.
    pub size: Size,
    /// Kind of its bytes.
    pub kind: Kind,
    /// The BLAKE3 hash of its bytes.
    pub hash: String,
    /// Exit status of its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Number of bytes that could not be stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Cause of the cut, if it was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The id of the first output with the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
}

/// A reply to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Replied {
    /// The output's id.
    pub id: String,
    /// The limit that the output exceeded, if a view was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Characters of the reply.
    pub characters: u64,
    /// Bytes of the reply.
    pub bytes: u64,
    /// Tokens of the reply.
    pub tokens: u64,
    /// Tokens that the model would have got without Forebay: the output, or the part that its host shows.
    pub baseline: u64,
    /// Tokens of the whole output, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Preset and formats of a user that made the view, unless they are the default: the preset, and a hash of the formats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// State of the output at that time, if it was still growing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub so_far: Option<SoFar>,
}

/// State of a growing output when the model got a reply for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SoFar {
    /// Size at that time.
    pub size: Size,
    /// Exit status of its command, if it had ended while a background process kept the output open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

/// An answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answered {
    /// The output's id; empty if the query searched all outputs of the session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The name of the query.
    pub query: String,
    /// Arguments of the query.
    pub arguments: Map<String, Value>,
    /// Bytes that the output had.
    pub length: u64,
    /// Ranges of the output that were shown.
    pub shown: Vec<(u64, u64)>,
    /// First ranges that the answer was derived from without showing all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn_from: Vec<(u64, u64)>,
    /// Budget of the answer, in tokens.
    pub budget: u64,
    /// Bytes of the answer.
    pub bytes: u64,
    /// Tokens of the answer.
    pub tokens: u64,
}

/// An abstract that a model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Extracted {
    /// The output's id.
    pub id: String,
    /// The strategy that was used.
    pub strategy: String,
    /// The model, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that the model read.
    pub tokens_in: u64,
    /// Tokens that the model wrote.
    pub tokens_out: u64,
    /// Tokens of the answer.
    pub tokens: u64,
    /// Number of reports that departed from the requested format but could be read, by deviation:
    /// `not-closed`, `not-opened`, `other-nonce`, `no-tag`, `tag-repeated`, `repetition`, `cut-off`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub leniencies: BTreeMap<String, u64>,
    /// The call that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<ExtractionCall>,
    /// Instructions and result, so that a repeated request need not read the output again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// An extraction that could not be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExtractionFailure {
    /// The output's id; empty if the handle names none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The handle as the caller wrote it.
    pub handle: String,
    /// The requested mode.
    pub strategy: String,
    /// The cause.
    pub why: String,
    /// The call that asked for it.
    pub request: ExtractionCall,
}

/// Time and size of a call of `tool_output`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExtractionCall {
    /// Time of the call.
    pub at: Timestamp,
    /// Characters of its arguments, as JSON.
    pub argument_characters: u64,
    /// Characters of the answer.
    pub characters: u64,
}

impl ExtractionCall {
    /// Measures a call that was made at `at` with `arguments` and answered with `answer`.
    pub(crate) fn new(at: Timestamp, arguments: &Map<String, Value>, answer: &str) -> ExtractionCall {
        let characters = |text: &str| text.chars().count() as u64;
        let arguments = serde_json::to_string(arguments).unwrap_or_default();
        ExtractionCall { at, argument_characters: characters(&arguments), characters: characters(answer) }
    }
}

/// An extraction whose answer can be given again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Memory {
    /// The instructions.
    pub instructions: String,
    /// The requested mode.
    pub mode: String,
    /// Bytes that the output had.
    pub length: u64,
    /// The hash of its bytes; empty if it was still growing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// Maximum number of chunks, and tokens per chunk.
    pub most: (u64, u64),
    /// The reading and its answer.
    pub reading: Reading,
}

/// A fallback that was given in place of the intended reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FellBack {
    /// The output's id.
    pub id: String,
    /// The intended reply.
    pub from: String,
    /// The fallback.
    pub to: String,
    /// The cause.
    pub why: String,
}

/// An output that was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Swept {
    /// The output's id.
    pub id: String,
    /// Bytes that this freed.
    pub bytes: u64,
    /// The rule that removed it.
    pub why: String,
}

impl Answered {
    /// A plain-text answer about one output, or about all outputs if `id` is empty.
    pub fn text(
        id: &str,
        query: &str,
        arguments: Map<String, Value>,
        budget: crate::Budget,
        text: &str,
    ) -> Answered {
        Answered {
            id: id.to_owned(),
            query: query.to_owned(),
            arguments,
            length: 0,
            shown: Vec::new(),
            drawn_from: Vec::new(),
            budget: budget.tokens,
            bytes: text.len() as u64,
            tokens: crate::tokens::count(text),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl What {
    /// The event of a call that begins.
    pub(crate) fn started(record: &Record) -> What {
        let call = &record.call;
        What::CallStarted(Started {
            id: record.handle.id().to_owned(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            server: call.server.clone(),
            kind: call.kind.clone(),
            argument_characters: call.args.as_ref().map_or(0, |args| args.chars().count() as u64),
        })
    }

    /// The event of an output that ended.
    pub(crate) fn ended(record: &Record) -> What {
        let stored = Stored {
            id: record.handle.id().to_owned(),
            size: record.size,
            kind: record.kind,
            hash: record.hash.clone(),
            exit: record.exit,
            lost: record.lost.as_ref().map_or(0, |lost| lost.bytes),
            why: if let State::CutShort(why) = &record.state { Some(why.clone()) } else { None },
            same_as: record.same_as.as_ref().map(|handle| handle.id().to_owned()),
        };
        match &stored.why {
            Some(_) => What::OutputCutShort(stored),
            None => What::OutputStored(stored),
        }
    }

    /// The names of all kinds, as they are written in events.
    pub const KINDS: [&str; 13] = [
        "call-started",
        "output-stored",
        "output-cut-short",
        "output-passed",
        "view-given",
        "query-answered",
        "extraction-done",
        "extraction-failed",
        "fell-back",
        "swept",
        "room-reported",
        "room-exceeded",
        "secrets-revealed",
    ];

    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        let [
            started,
            stored,
            cut_short,
            passed,
            view,
            answered,
            extracted,
            failed,
            fell_back,
            swept,
            room,
            exceeded,
            revealed,
        ] = What::KINDS;
        match self {
            What::CallStarted(_) => started,
            What::OutputStored(_) => stored,
            What::OutputCutShort(_) => cut_short,
            What::OutputPassed(_) => passed,
            What::ViewGiven(_) => view,
            What::QueryAnswered(_) => answered,
            What::ExtractionDone(_) => extracted,
            What::ExtractionFailed(_) => failed,
            What::FellBack(_) => fell_back,
            What::Swept(_) => swept,
            What::RoomReported { .. } => room,
            What::RoomExceeded { .. } => exceeded,
            What::SecretsRevealed { .. } => revealed,
        }
    }

    /// The id of the output that it is about, if there is one.
    pub fn id(&self) -> Option<&str> {
        let id = match self {
            What::CallStarted(started) => &started.id,
            What::OutputStored(stored) | What::OutputCutShort(stored) => &stored.id,
            What::OutputPassed(replied) | What::ViewGiven(replied) => &replied.id,
            What::QueryAnswered(answered) => &answered.id,
            What::ExtractionDone(extracted) => &extracted.id,
            What::ExtractionFailed(failure) => &failure.id,
            What::FellBack(fell_back) => &fell_back.id,
            What::Swept(swept) => &swept.id,
            What::SecretsRevealed { id, .. } => id,
            What::RoomReported { .. } | What::RoomExceeded { .. } => return None,
        };
        Some(id.as_str()).filter(|id| !id.is_empty())
    }
}

impl Event {
    /// Parses a line; `None` if it is not an event.
    pub fn parse(line: &[u8]) -> Option<Event> {
        serde_json::from_slice(line).ok()
    }

    /// Appends it to the events of a session. If that fails, it is reported and ignored, because the work matters more
    /// than its log.
    pub(crate) fn log(self, store: &dyn Store, session: &Session) {
        if let Ok(Err(error)) = serde_json::to_vec(&self).map(|line| store.log(session, &line)) {
            tracing::warn!(session = session.as_str(), "cannot log an event: {error}");
        }
    }
}

/// Lines of a session's events, with the number of their occurrences.
#[derive(Default)]
pub struct Logged {
    /// Number of occurrences, by hash of the line.
    times: HashMap<[u8; 32], u64>,
}

impl Logged {
    /// The events that a session has now.
    pub fn of(store: &dyn Store, session: &Session) -> Result<Logged> {
        let mut logged = Logged::default();
        for_each_line(store, session, 0, |line| {
            logged.add(line.strip_suffix(b"\n").unwrap_or(line));
            ControlFlow::Continue(())
        })?;
        Ok(logged)
    }

    /// Adds a line, without its newline.
    pub fn add(&mut self, line: &[u8]) {
        *self.times.entry(*blake3::hash(line).as_bytes()).or_default() += 1;
    }

    /// Removes one occurrence of a line, without its newline; returns whether there was one.
    pub fn take(&mut self, line: &[u8]) -> bool {
        match self.times.get_mut(blake3::hash(line).as_bytes()).filter(|times| **times > 0) {
            Some(times) => {
                *times -= 1;
                true
            }
            None => false,
        }
    }
}

/// Logs an event. If that fails, it is reported and ignored.
pub fn log(store: &dyn Store, session: &Session, what: What, at: Timestamp) {
    Event { what, at }.log(store, session);
}

/// Logs the end of an output. Its writer does this, or the store that ends it for a writer that vanished.
pub fn log_end(store: &dyn Store, record: &Record) {
    let at = record.ended.unwrap_or(record.call.at);
    Event { what: What::ended(record), at }.log(store, record.handle.session());
}

/// Passes the events of a session to `take`, oldest first. Lines that are not events are skipped.
pub fn for_each(store: &dyn Store, session: &Session, mut take: impl FnMut(Event)) -> Result<()> {
    for_each_line(store, session, 0, |line| {
        if let Some(event) = Event::parse(line) {
            take(event);
        }
        ControlFlow::Continue(())
    })?;
    Ok(())
}

/// Passes the lines of a session's events to `take`, each with its newline, from the byte `from` until `take` breaks.
/// Returns the offset of the next line. A last line that is not complete yet is left for the next call.
pub fn for_each_line(
    store: &dyn Store,
    session: &Session,
    from: u64,
    mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<u64> {
    let cannot = || Error::store(format!("read the events of {session}"));
    let log = store.open_log(session)?;
    // A log that is shorter than the part already read is a new one.
    let mut at = if log.size().map_err(cannot())? < from { 0 } else { from };
    let mut lines = BufReader::with_capacity(1 << 16, LogReader { log, at });
    let mut line = Vec::new();
    while lines.by_ref().take(LONGEST).read_until(b'\n', &mut line).map_err(cannot())? > 0
        && line.ends_with(b"\n")
    {
        at += line.len() as u64;
        if take(&line).is_break() {
            break;
        }
        line.clear();
    }
    Ok(at)
}

/// Returns the last complete lines of a session's events, at most `bytes` bytes.
pub(crate) fn last_lines(store: &dyn Store, session: &Session, bytes: u64) -> Result<Vec<u8>> {
    let cannot = || Error::store(format!("read the events of {session}"));
    let log = store.open_log(session)?;
    let size = log.size().map_err(cannot())?;
    let start = size.saturating_sub(bytes);
    let mut end = vec![0; usize::try_from(size - start).unwrap_or(usize::MAX)];
    let read = crate::output::read_full(&*log, start, &mut end).map_err(cannot())?;
    end.truncate(read);
    if start > 0 {
        // The first line is cut, so it is dropped.
        let first = memchr::memchr(b'\n', &end).map_or(end.len(), |newline| newline + 1);
        end.drain(..first);
    }
    Ok(end)
}

/// Maximum bytes of a line of events. Reading stops at a longer line, which Forebay did not write.
pub(crate) const LONGEST: u64 = 64 * 1024 * 1024;

/// Reads a log sequentially from an offset.
struct LogReader {
    log: Box<dyn crate::ReadAt>,
    at: u64,
}

impl Read for LogReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.log.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Cost of an answer, in the vendor's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that were read.
    pub tokens_in: u64,
    /// Tokens that were written.
    pub tokens_out: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
    }
}

/// Reading by models, with its cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reading {
    /// The models whose answers were used.
    pub models: Vec<String>,
    /// Number of requests to models, including those with unusable answers.
    pub asked: u64,
    /// Tokens of all requests.
    pub usage: Usage,
    /// Ranges of the output that were read, in order.
    pub ranges: Vec<(u64, u64)>,
    /// Full answer of the models, whatever its length.
    pub answer: String,
    /// Notes on the origin of the answer, longest first; the first one that fits is shown.
    pub notes: Vec<String>,
    /// Number of reports that departed from the requested format but could be read, by deviation.
    #[serde(skip)]
    pub leniencies: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_that_begins_with_its_kind() {
        let what = What::Swept(Swept { id: "a".into(), bytes: 7, why: "old".into() });
        let event = Event { what, at: Timestamp::UNIX_EPOCH };
        let line = r#"{"event":"swept","id":"a","bytes":7,"why":"old","at":"1970-01-01T00:00:00Z"}"#;
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        assert_eq!(serde_json::from_str::<Event>(line).unwrap(), event);
    }

    /// A line of each kind.
    const LINES: [&str; 13] = [
        r#"{"event":"call-started","id":"a","call":"c","tool":"t","server":"s","argument_characters":3,"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"output-stored","id":"a","size":{"bytes":1,"characters":1,"lines":1,"longest_line":1,"tokens":1,"tokens_exact":true},"kind":"text","hash":"h","exit":{"code":1},"same_as":"b","at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"output-cut-short","id":"a","size":{"bytes":9,"characters":1,"lines":1,"longest_line":1,"tokens":1,"tokens_exact":true},"kind":"binary","hash":"h","exit":{"signal":9},"lost":2,"why":"full","at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"output-passed","id":"a","characters":1,"bytes":2,"tokens":3,"baseline":4,"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"view-given","id":"a","reason":"size_cap","characters":1,"bytes":2,"tokens":3,"baseline":4,"so_far":{"size":{"bytes":1,"characters":1,"lines":1,"longest_line":1,"tokens":1,"tokens_exact":false},"exit":{"code":0}},"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"query-answered","id":"a","query":"grep","arguments":{"pattern":"x"},"length":5,"shown":[[0,5]],"drawn_from":[[2,3]],"budget":64,"bytes":5,"tokens":2,"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"extraction-done","id":"a","strategy":"read-grep","model":"p/m","tokens_in":1,"tokens_out":2,"tokens":3,"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"extraction-failed","handle":"s/gone","strategy":"auto","why":"there is none","request":{"at":"2026-11-16T01:02:03Z","argument_characters":30,"characters":90},"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"fell-back","id":"a","from":"digest","to":"smaller view","why":"full","at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"swept","id":"a","bytes":7,"why":"old","at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"room-reported","used":7,"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"room-exceeded","used":7,"most":5,"at":"2026-11-16T01:02:03Z"}"#,
        r#"{"event":"secrets-revealed","id":"a","secrets":2,"at":"2026-11-16T01:02:03Z"}"#,
    ];

    #[test]
    fn a_line_of_each_kind_is_read_in_any_order_and_written_back_the_same() {
        for (line, kind) in LINES.iter().zip(What::KINDS) {
            let event = Event::parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((event.what.kind(), serde_json::to_string(&event).unwrap().as_str()), (kind, *line));
            // In another order, and with fields that this version does not know.
            let mut fields: Map<String, Value> = serde_json::from_str(line).unwrap();
            let name = fields.shift_remove("event").unwrap();
            fields.insert("event".into(), name);
            fields.insert("newer".into(), Value::Null);
            let text = serde_json::to_string(&fields).unwrap();
            assert_eq!(Event::parse(text.as_bytes()), Some(event), "{text}");
        }
    }

    #[test]
    fn lines_that_are_not_events_are_skipped() {
        for line in [
            "",
            "{",
            "null",
            "{}",
            "\0\0\0",
            r#"{"event":"#,
            r#"{"event":"swept"#,
            r#"{"event":"swept","id":"a"}"#,
            r#"{"event":"unheard-of","id":"a","at":"2026-11-16T01:02:03Z"}"#,
            r#"{"event":"swept","id":"a","bytes":7,"why":"old","at":"yesterday"}"#,
            r#"{"event":"swept","id":"a","bytes":7,"why":"old","at":"2026-11-16T01:02:03Z"}{"#,
        ] {
            assert_eq!(Event::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn lines_are_handed_on_from_where_one_stopped_and_only_when_they_are_whole() {
        let store = crate::MemoryStore::default();
        let session = Session::safe("s");
        let lines = |from| {
            let mut lines = Vec::new();
            let next = for_each_line(&store, &session, from, |line| {
                lines.push(String::from_utf8_lossy(line).into_owned());
                ControlFlow::Continue(())
            });
            (lines.concat(), next.unwrap())
        };
        assert_eq!(lines(0), (String::new(), 0), "a session that is not there has none");
        store.log(&session, b"one").unwrap();
        store.log(&session, b"two").unwrap();
        assert_eq!(lines(0), ("one\ntwo\n".into(), 8));
        assert_eq!(lines(4), ("two\n".into(), 8));
        assert_eq!(lines(8), (String::new(), 8));
        assert_eq!(lines(99), ("one\ntwo\n".into(), 8), "a shorter log is another one");
        let stopped = for_each_line(&store, &session, 0, |_| ControlFlow::Break(()));
        assert_eq!(stopped.unwrap(), 4);
    }
}
