//! Accounting for hosts: an entry for each reply, and a log line for each stored output and each fallback.
//!
//! Both join the events of one output: its call, its end and its reply. Log lines are also emitted through `tracing`, so
//! that a host can send them to its other logs.

use crate::event::{Extracted, ExtractionCall, ExtractionFailure, FellBack, SoFar, Started, Stored};
use crate::{Call, Event, Exit, Handle, Reason, Record, Session, Size, Timestamp, What, printable};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::{self, Write};

/// The accounting entry of one reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Accounting {
    /// Kind of the entry.
    #[serde(rename = "type")]
    pub kind: EntryKind,
    /// Time of the call, in milliseconds since 1970.
    pub timestamp: i64,
    /// Whether the call succeeded.
    pub status: Status,
    /// Milliseconds from the call to the end of its output.
    pub latency: u64,
    /// Server of the tool, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<String>,
    /// The tool.
    pub command: String,
    /// Characters of the call's arguments.
    pub characters_in: u64,
    /// Characters of the reply: of the output, or of the view if there is one.
    pub characters_out: u64,
    /// Details of an output that a view replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// Kind of an accounting entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EntryKind {
    /// A call of a tool.
    Tool,
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// Its output is complete, and its command, if it had one, exited with 0.
    Ok,
    /// Its output was cut short, or its command failed.
    Failed,
}

/// Details of an output that a view replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Details {
    /// Handle of the output.
    pub tool_output_handle: Handle,
    /// The limit that it exceeded.
    pub tool_output_reason: Reason,
    /// Always true: the output was replaced.
    pub truncated: bool,
}

/// The log line of an output that is stored and replaced by a view.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// The tool's own name.
    pub tool_name: String,
    /// Its name with where it is from: `mcp:filesystem/read_file`.
    pub tool: String,
    /// Origin of the tool: its server, or the agent itself.
    pub tool_namespace: String,
    /// Provider of the tool: `mcp:filesystem`, or the agent itself.
    pub provider: String,
    /// Kind of the tool: the one that the caller stated, else `mcp` if it has a server, else `agent`.
    pub tool_kind: String,
    /// Handle of the output.
    pub handle: Handle,
    /// The limit that it exceeded.
    pub reason: Reason,
    /// Size of the output.
    pub size: Size,
}

impl Notice {
    /// The notice about a replaced output; `None` if none of it could be stored. `tokens` are those of the output, if they
    /// were counted for its view.
    pub(crate) fn of(record: &Record, reason: Reason, tokens: Option<u64>) -> Option<Notice> {
        let kept = record.lost.is_none() || record.kept() > 0;
        let size = Size { tokens: tokens.unwrap_or(record.size.tokens), ..record.size };
        kept.then(|| Notice::new(record.handle.clone(), &Tool::of(&record.call), reason, size))
    }

    fn new(handle: Handle, tool: &Tool, reason: Reason, size: Size) -> Notice {
        // A name may hold anything, and a log has a line for each.
        let line = |text: &str| printable(text).replace('\n', " ");
        let tool_name = line(&tool.name);
        let server = tool.server.as_deref().map(line);
        let usual = if server.is_some() { "mcp" } else { "agent" };
        let tool_kind = tool.kind.as_deref().map_or(usual.to_owned(), line);
        let (tool, tool_namespace, provider) = match server {
            Some(server) => {
                let provider = format!("{tool_kind}:{server}");
                (format!("{provider}/{tool_name}"), server, provider)
            }
            None => (tool_name.clone(), tool_kind.clone(), tool_kind.clone()),
        };
        Notice { tool_name, tool, tool_namespace, provider, tool_kind, handle, reason, size }
    }

    /// The sentence of the log line.
    pub fn message(&self) -> String {
        format!("Tool '{}' output stored for tool_output ({}).", self.tool_name, self.reason)
    }

    /// Emits it through `tracing`.
    pub(crate) fn emit(&self) {
        tracing::warn!(
            tool = self.tool,
            tool_namespace = self.tool_namespace,
            provider = self.provider,
            tool_kind = self.tool_kind.as_str(),
            handle = %self.handle,
            reason = %self.reason,
            bytes = self.size.bytes,
            lines = self.size.lines,
            tokens = self.size.tokens,
            tool_output = true,
            "{}",
            self.message()
        );
    }
}

/// The log line: the sentence, and the fields as `key=value`.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[WRN] {}", self.message())?;
        let Notice { tool, tool_namespace, provider, tool_kind, handle, reason, size, .. } = self;
        for (key, value) in [("tool", tool), ("tool_namespace", tool_namespace), ("provider", provider)] {
            write!(f, " {key}={}", Value(value))?;
        }
        let Size { bytes, lines, tokens, .. } = size;
        write!(
            f,
            " tool_kind={tool_kind} handle={handle} reason={reason} bytes={bytes} lines={lines} tokens={tokens} \
             tool_output=true"
        )
    }
}

/// The log line of an event, if it has one: an output that was replaced by a view, an extraction, a failed extraction,
/// a fallback. `entry` is what the [`Ledger`] made of the event.
pub fn log_line(event: &Event, session: &Session, entry: Option<&Entry>) -> Option<String> {
    match &event.what {
        What::FellBack(fell_back) => Some(fell_back.log_line(session)),
        What::ExtractionDone(extracted) => Some(extracted.log_line(session)),
        What::ExtractionFailed(failure) => Some(failure.log_line()),
        _ => entry?.notice.as_ref().map(Notice::to_string),
    }
}

impl Extracted {
    fn log_line(&self, session: &Session) -> String {
        let Extracted { id, strategy, model, tokens_in, tokens_out, tokens, .. } = self;
        let model = model.as_deref().map_or(String::new(), |model| format!(" model={}", Value(model)));
        format!(
            "[INF] Extracted from tool output ({strategy}). handle={session}/{id} strategy={}{model} \
             tokens_in={tokens_in} tokens_out={tokens_out} tokens={tokens}",
            Value(strategy)
        )
    }
}

impl ExtractionFailure {
    fn log_line(&self) -> String {
        let why = printable(&self.why).replace('\n', " ");
        format!(
            "[ERR] tool_output failed. handle={} strategy={} why={}",
            Value(&self.handle),
            self.strategy,
            Value(&why)
        )
    }

    /// Emits it through `tracing`.
    pub(crate) fn emit(&self) {
        tracing::error!(
            handle = self.handle,
            strategy = self.strategy,
            why = self.why,
            "tool_output failed."
        );
    }
}

impl FellBack {
    /// The log line that something else was given than what was meant.
    pub fn log_line(&self, session: &Session) -> String {
        let FellBack { id, from, to, why } = self;
        let why = printable(why).replace('\n', " ");
        format!(
            "[WRN] {} handle={session}/{id} from={from} to={} why={}",
            self.message(),
            Value(to),
            Value(&why)
        )
    }

    /// The sentence of that line.
    fn message(&self) -> String {
        format!("Fell back from {} to {}.", self.from, self.to)
    }

    /// Emits it through `tracing`.
    pub(crate) fn emit(&self, session: &Session) {
        let FellBack { id, from, to, why } = self;
        tracing::warn!(handle = format!("{session}/{id}"), from, to, why, "{}", self.message());
    }
}

/// A value of a field, in quotes if its end would otherwise be unclear.
struct Value<'a>(&'a str);

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && !self.0.contains([' ', '"', '=', '\\']) {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for character in self.0.chars() {
            if matches!(character, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(character)?;
        }
        f.write_char('"')
    }
}

/// Entry and log line of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The accounting entry.
    pub accounting: Accounting,
    /// The log line, if a view replaced the output.
    pub notice: Option<Notice>,
}

/// Joins the events of a session, output by output.
///
/// ```
/// use forebay::{Call, Ledger, MemoryStore, Outputs, Session, Settings, Timestamp, event, keep};
///
/// let (store, session) = (MemoryStore::default(), Session::safe("demo"));
/// let outputs = Outputs::new(&store, session.clone(), &Timestamp::now);
/// let call = Call::new(session.clone(), "call-1", "read_file", Timestamp::UNIX_EPOCH);
/// outputs.reply(&keep(&store, &call, &mut "small".as_bytes(), &Timestamp::now)?, &Settings::default())?;
///
/// let mut ledger = Ledger::new(session.clone());
/// let mut characters = 0;
/// event::for_each(&store, &session, |event| {
///     characters += ledger.take(&event).map_or(0, |entry| entry.accounting.characters_out);
/// })?;
/// assert_eq!(characters, 5);
/// # Ok::<(), forebay::Error>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    session: Session,
    calls: HashMap<String, Open>,
}

/// The tool of a call.
#[derive(Clone, Debug)]
struct Tool {
    name: String,
    server: Option<String>,
    kind: Option<String>,
}

impl Tool {
    fn of(call: &Call) -> Tool {
        Tool { name: call.tool.clone(), server: call.server.clone(), kind: call.kind.clone() }
    }
}

/// The events of a call so far.
#[derive(Clone, Debug)]
struct Open {
    at: Timestamp,
    tool: Tool,
    characters_in: u64,
    ended: Option<(Timestamp, End)>,
}

/// End of an output, or its state while it grows.
#[derive(Clone, Copy, Debug)]
struct End {
    size: Size,
    failed: bool,
    kept: bool,
}

impl Ledger {
    /// Nothing is known yet.
    pub fn new(session: Session) -> Ledger {
        Ledger { session, calls: HashMap::new() }
    }

    /// Whether no call waits for its reply.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds the next event. For a reply, returns its entry, unless the event of its call is missing.
    pub fn take(&mut self, event: &Event) -> Option<Entry> {
        let (replied, replaced) = match &event.what {
            What::CallStarted(started) => {
                self.calls.insert(started.id.clone(), Open::new(started, event.at));
                return None;
            }
            What::OutputStored(stored) | What::OutputCutShort(stored) => {
                let whole = matches!(event.what, What::OutputStored(_));
                if let Some(open) = self.calls.get_mut(&stored.id) {
                    open.ended = Some((event.at, End::of(stored, whole)));
                }
                return None;
            }
            What::OutputPassed(replied) => (replied, None),
            What::ViewGiven(replied) => (replied, replied.reason),
            What::ExtractionDone(extracted) => {
                return Some(Entry::of_extraction(extracted.request.as_ref()?, event.at, Status::Ok));
            }
            What::ExtractionFailed(failure) => {
                return Some(Entry::of_extraction(&failure.request, event.at, Status::Failed));
            }
            _ => return None,
        };
        let open = self.calls.get(&replied.id)?.clone();
        // A growing output has not ended, but its call ends now.
        let so_far = || replied.so_far.as_ref().map(|so_far| (event.at, End::so_far(so_far)));
        let (ended, end) = so_far().or(open.ended)?;
        if replied.so_far.is_none() {
            // A call has one reply, unless its output still grew.
            self.calls.remove(&replied.id);
        }
        let handle = Handle::new(self.session.clone(), &replied.id).ok()?;
        let stored = replaced.filter(|_| end.kept);
        Some(Entry {
            accounting: Accounting {
                kind: EntryKind::Tool,
                timestamp: open.at.as_millisecond(),
                status: if end.failed { Status::Failed } else { Status::Ok },
                latency: u64::try_from(ended.as_millisecond() - open.at.as_millisecond()).unwrap_or(0),
                mcp_server: open.tool.server.clone(),
                command: open.tool.name.clone(),
                characters_in: open.characters_in,
                characters_out: replied.characters,
                details: stored.map(|reason| Details {
                    tool_output_handle: handle.clone(),
                    tool_output_reason: reason,
                    truncated: true,
                }),
            },
            notice: stored.map(|reason| {
                let tokens = replied.output_tokens.unwrap_or(end.size.tokens);
                Notice::new(handle, &open.tool, reason, Size { tokens, ..end.size })
            }),
        })
    }
}

impl Entry {
    /// A call of `tool_output`, which was answered at `ended`.
    fn of_extraction(call: &ExtractionCall, ended: Timestamp, status: Status) -> Entry {
        let accounting = Accounting {
            kind: EntryKind::Tool,
            timestamp: call.at.as_millisecond(),
            status,
            latency: u64::try_from(ended.as_millisecond() - call.at.as_millisecond()).unwrap_or(0),
            mcp_server: None,
            command: "tool_output".to_owned(),
            characters_in: call.argument_characters,
            characters_out: call.characters,
            details: None,
        };
        Entry { accounting, notice: None }
    }
}

impl Open {
    fn new(started: &Started, at: Timestamp) -> Open {
        Open {
            at,
            tool: Tool {
                name: started.tool.clone(),
                server: started.server.clone(),
                kind: started.kind.clone(),
            },
            characters_in: started.argument_characters,
            ended: None,
        }
    }
}

impl End {
    fn of(stored: &Stored, whole: bool) -> End {
        End {
            size: stored.size,
            failed: !whole || exited_badly(stored.exit),
            kept: stored.lost == 0 || stored.lost < stored.size.bytes,
        }
    }

    fn so_far(so_far: &SoFar) -> End {
        End { size: so_far.size, failed: exited_badly(so_far.exit), kept: true }
    }
}

fn exited_badly(exit: Option<Exit>) -> bool {
    exit.is_some_and(|exit| exit.status() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryStore, Outputs, Settings, State, Store, Stream, store, tokens};
    use expect_test::expect;
    use std::sync::{Arc, Mutex};

    const NOW: fn() -> Timestamp =
        || Timestamp::UNIX_EPOCH + std::time::Duration::from_millis(1_737_012_800_150);

    fn settings() -> Settings {
        let mut settings = Settings { preset: crate::Preset::Handle, ..Settings::default() };
        settings.handle.max_bytes = 100;
        settings
    }

    /// Replies to a call as a host does.
    fn reply(store: &dyn Store, call: &Call, text: &str, end: store::End) -> crate::reply::Reply {
        let mut writer = store::Writer::begin(store, call);
        writer.write(Stream::Stdout, text.as_bytes());
        let output = writer.finish(end);
        Outputs::new(store, call.session.clone(), &NOW).reply(&output, &settings()).unwrap()
    }

    fn call(id: &str) -> Call {
        let at = Timestamp::from_millisecond(1_737_012_800_000).unwrap();
        let call = Call::new(Session::safe("session-abc"), id, "read_file", at);
        Call { server: Some("filesystem".into()), args: Some("{\"path\": \"ä\"}".into()), ..call }
    }

    fn end() -> store::End {
        store::End { at: Some(NOW()), ..store::End::default() }
    }

    fn entries(store: &dyn Store) -> Vec<Entry> {
        let session = Session::safe("session-abc");
        let mut ledger = Ledger::new(session.clone());
        let mut entries = Vec::new();
        crate::event::for_each(store, &session, |event| entries.extend(ledger.take(&event))).unwrap();
        entries
    }

    #[test]
    fn an_entry_and_a_log_line_have_the_documented_form() {
        let store = MemoryStore::default();
        reply(&store, &call("small"), "small\n", end());
        let stored = reply(&store, &call("file-xyz"), &"many words\n".repeat(40), end());
        let own = Call { server: None, tool: "run \"it\"\n".into(), args: None, ..call("own") };
        reply(&store, &own, &"a\n".repeat(60), end());
        let entries = entries(&store);
        let text: String = entries
            .iter()
            .map(|entry| {
                let notice = entry.notice.as_ref().map_or(String::new(), |notice| format!("{notice}\n"));
                format!("{}\n{notice}", serde_json::to_string(&entry.accounting).unwrap())
            })
            .collect();
        expect![[r#"
            {"type":"tool","timestamp":1737012800000,"status":"ok","latency":150,"mcpServer":"filesystem","command":"read_file","charactersIn":13,"charactersOut":6}
            {"type":"tool","timestamp":1737012800000,"status":"ok","latency":150,"mcpServer":"filesystem","command":"read_file","charactersIn":13,"charactersOut":285,"details":{"tool_output_handle":"session-abc/file-xyz","tool_output_reason":"size_cap","truncated":true}}
            [WRN] Tool 'read_file' output stored for tool_output (size_cap). tool=mcp:filesystem/read_file tool_namespace=filesystem provider=mcp:filesystem tool_kind=mcp handle=session-abc/file-xyz reason=size_cap bytes=440 lines=40 tokens=120 tool_output=true
            {"type":"tool","timestamp":1737012800000,"status":"ok","latency":150,"command":"run \"it\"\n","charactersIn":0,"charactersOut":280,"details":{"tool_output_handle":"session-abc/own","tool_output_reason":"size_cap","truncated":true}}
            [WRN] Tool 'run "it" ' output stored for tool_output (size_cap). tool="run \"it\" " tool_namespace=agent provider=agent tool_kind=agent handle=session-abc/own reason=size_cap bytes=120 lines=60 tokens=120 tool_output=true
        "#]]
        .assert_eq(&text);
        let out = entries[1].accounting.characters_out;
        assert_eq!(out, crate::size::characters(&stored.folded.unwrap().text), "the length of the message");
        assert_eq!(
            serde_json::from_value::<Accounting>(serde_json::json!(entries[1].accounting)).unwrap(),
            entries[1].accounting
        );
    }

    #[test]
    fn a_call_has_failed_if_its_output_was_cut_short_or_its_command_ended_badly() {
        let cut = || Some("the command was ended after 1 s".to_owned());
        let table = [
            (None, None, Status::Ok),
            (Some(Exit::Code(0)), None, Status::Ok),
            (Some(Exit::Code(2)), None, Status::Failed),
            (Some(Exit::Signal(9)), None, Status::Failed),
            (None, cut(), Status::Failed),
            (Some(Exit::Code(0)), cut(), Status::Failed),
        ];
        for (exit, cut_short, status) in table {
            let store = MemoryStore::default();
            reply(&store, &call("a"), "text", store::End { exit, cut_short: cut_short.clone(), at: None });
            let entries = entries(&store);
            assert_eq!(entries.len(), 1);
            assert_eq!(entries[0].accounting.status, status, "{exit:?} {cut_short:?}");
            assert_eq!(entries[0].accounting.latency, 0, "an end that nobody told is that of the call");
        }
    }

    #[test]
    fn a_growing_output_has_an_entry_and_unknown_values_are_left_out() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let replied = |so_far| {
            What::ViewGiven(crate::event::Replied {
                id: "a".into(),
                reason: Some(Reason::SizeCap),
                characters: 5,
                bytes: 5,
                tokens: 2,
                baseline: 9,
                output_tokens: None,
                made_by: None,
                so_far,
            })
        };
        let started = What::started(&Record::begin(call("a").handle(1).unwrap(), call("a")));
        let size = Size { bytes: 700, lines: 7, tokens: 70, ..Size::default() };
        let growing = replied(Some(SoFar { size, exit: Some(Exit::Code(3)) }));
        let mut ledger = Ledger::new(Session::safe("session-abc"));
        let mut take = |what, second| ledger.take(&Event { what, at: at(second) });
        assert_eq!(take(growing.clone(), 1), None, "no call is known");
        assert_eq!(take(started, 1_737_012_800), None);
        assert_eq!(take(replied(None), 1_737_012_801), None, "how it ended is not known");
        let entry = take(growing, 1_737_012_802).unwrap();
        assert_eq!((entry.accounting.latency, entry.accounting.status), (2_000, Status::Failed));
        assert_eq!(entry.notice.unwrap().size, size);
    }

    #[test]
    fn of_an_output_that_could_not_be_kept_nothing_says_that_it_is_stored() {
        let mut record = Record::begin(call("a").handle(1).unwrap(), call("a"));
        record.size.bytes = 9;
        record.state = State::CutShort("full".into());
        for (lost, said) in [(0, true), (5, true), (9, false)] {
            record.lost = (lost > 0).then(|| crate::Lost { bytes: lost, why: "full".into() });
            assert_eq!(Notice::of(&record, Reason::SizeCap, None).is_some(), said, "{lost}");
            let mut ledger = Ledger::new(Session::safe("session-abc"));
            let replied = crate::event::Replied {
                id: "a".into(),
                reason: Some(Reason::SizeCap),
                characters: 5,
                bytes: 5,
                tokens: 2,
                baseline: 9,
                output_tokens: None,
                made_by: None,
                so_far: None,
            };
            let events = [What::started(&record), What::ended(&record), What::ViewGiven(replied)];
            let entries: Vec<Entry> =
                events.into_iter().filter_map(|what| ledger.take(&Event { what, at: NOW() })).collect();
            assert_eq!(entries.len(), 1);
            assert_eq!((entries[0].notice.is_some(), entries[0].accounting.details.is_some()), (said, said));
        }
    }

    /// Writes down what it is told, as a host's own subscriber would.
    #[derive(Clone, Default)]
    struct Listener(Arc<Mutex<Vec<String>>>);

    impl tracing::Subscriber for Listener {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            struct Fields(String);
            impl tracing::field::Visit for Fields {
                fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
                    write!(self.0, " {field}={value:?}").unwrap();
                }
            }
            let mut fields = Fields(event.metadata().level().to_string());
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn a_subscriber_gets_one_event_for_each_replaced_output() {
        let listener = Listener::default();
        let store = MemoryStore::default();
        let text = "many words\n".repeat(40);
        // Where there is one listener, a thread that comes to the place that tells for the first time asks only its own, and
        // finds none: another test may do so at this moment. Of two, all threads know.
        let _second = tracing::dispatcher::Dispatch::new(Listener::default());
        tracing::subscriber::with_default(listener.clone(), || {
            reply(&store, &call("small"), "small\n", end());
            reply(&store, &call("file-xyz"), &text, end());
        });
        let heard = listener.0.lock().unwrap().join("\n");
        expect![[r#"WARN message=Tool 'read_file' output stored for tool_output (size_cap). tool="mcp:filesystem/read_file" tool_namespace="filesystem" provider="mcp:filesystem" tool_kind="mcp" handle=session-abc/file-xyz reason=size_cap bytes=440 lines=40 tokens=120 tool_output=true"#]].assert_eq(&heard);
        assert!(tokens::count(&text) <= entries(&store)[1].notice.as_ref().unwrap().size.tokens);
    }
}
