//! `forebay events`: the events of a session.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print::{self, grouped};
use crate::units;
use clap::builder::PossibleValuesParser;
use forebay::accounting::log_line;
use forebay::event::{self, Answered};
use forebay::text::count::count;
use forebay::{Event, Handle, Ledger, Session, Size, Timestamp, What};
use serde::Deserialize;
use std::{ops::ControlFlow, process::ExitCode, thread, time::Duration};

/// Print the events of a session: calls, outputs, views, answers.
///
/// Prints one line for each event, oldest first, with times in UTC. --json prints the stored lines unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay events --since 10m
  forebay events --follow --kind view-given --kind fell-back
  forebay events --id HANDLE
  forebay events --form log                a log line for each output replaced by a view
  forebay events --form accounting         the cost of each call, as JSON
  forebay events --json --all | jq -r 'select(.event == \"query-answered\") | .query' | sort | uniq -c")]
pub(crate) struct Args {
    /// Follow new events until interrupted
    #[arg(short, long)]
    follow: bool,
    /// Print only events of this kind; may be given several times
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(What::KINDS))]
    kind: Vec<String>,
    /// Print only events of this output, also if it was removed
    #[arg(long, value_name = "HANDLE", conflicts_with = "all")]
    id: Option<String>,
    /// Print only events since this time (2026-11-16T10:00:00Z, 2026-11-16, 90s, 10m, 2h, 3d)
    #[arg(long, value_name = "TIME", value_parser = units::moment)]
    since: Option<Timestamp>,
    /// Print the events of all sessions
    #[arg(long)]
    all: bool,
    /// Form of the lines
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    form: Form,
}

/// Form of the printed lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// A line for each event
    Text,
    /// A log line for each output replaced by a view, each extraction and each fallback
    Log,
    /// An accounting entry for each reply and each extraction
    Accounting,
}

/// Poll interval for new events.
const PAUSE: Duration = Duration::from_millis(50);

/// Bytes printed at a time.
const AT_ONCE: usize = 64 * 1024;

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if context.json && args.form == Form::Log {
        return Err(CliError::usage("a log line has no JSON form")
            .hint("`--form accounting` prints JSON, and so does `--json` without a form"));
    }
    let wanted = EventFilter::new(args, context)?;
    let mut teller =
        Teller { form: args.form, raw: context.json && args.form == Form::Text, widest: 0, no_events: 0 };
    let masking = &context.settings.masking;
    let mut sources: Vec<Source> = Vec::new();
    let mut told = false;
    loop {
        let sessions = match (args.all, &wanted.session) {
            (true, _) => context.store().sessions()?,
            (false, session) => vec![session.clone()],
        };
        for session in sessions {
            if !sources.iter().any(|source| source.session == session) {
                sources.push(Source { ledger: Ledger::new(session.clone()), session, at: 0 });
            }
        }
        // The events of one session are printed as they are read. Those of several sessions are sorted first.
        let mut lines: Vec<(Timestamp, String)> = Vec::new();
        let mut out = Vec::new();
        for source in &mut sources {
            let Source { session, at, ledger } = source;
            let mut stopped = None;
            *at = event::for_each_line(context.store(), session, *at, |line| {
                let line = masking.text(&String::from_utf8_lossy(line)).into_owned();
                let Some((at, text)) = teller.tell(line.as_bytes(), session, ledger, &wanted) else {
                    return ControlFlow::Continue(());
                };
                told = true;
                if args.all {
                    lines.push((at, text));
                    return ControlFlow::Continue(());
                }
                out.extend_from_slice(text.as_bytes());
                if out.len() < AT_ONCE {
                    return ControlFlow::Continue(());
                }
                match print::is_read(&std::mem::take(&mut out)) {
                    Ok(true) => return ControlFlow::Continue(()),
                    Ok(false) => stopped = Some(Ok(ExitCode::from(DONE))),
                    Err(error) => stopped = Some(Err(error)),
                }
                ControlFlow::Break(())
            })?;
            if let Some(stopped) = stopped {
                return stopped;
            }
        }
        lines.sort_by_key(|(at, _)| *at);
        lines.iter().for_each(|(_, line)| out.extend_from_slice(line.as_bytes()));
        if !out.is_empty() && !print::is_read(&out)? {
            return Ok(ExitCode::from(DONE));
        }
        if !args.follow {
            break;
        }
        thread::sleep(PAUSE);
    }
    if teller.no_events > 0 {
        let are = if teller.no_events == 1 { "is no event" } else { "are no events" };
        print::err(&format!("forebay: passed over {} that {are}\n", count("line", teller.no_events)));
    }
    if !told && !context.json {
        let which = if args.all { "any session".to_owned() } else { format!("session {}", wanted.session) };
        let filtered = !args.kind.is_empty() || args.id.is_some() || args.since.is_some();
        let what = if filtered || args.form != Form::Text { "nothing like that" } else { "nothing" };
        print::err(&format!("{what} has happened in {which} yet\n"));
    }
    Ok(ExitCode::from(DONE))
}

/// The events of one session, and the offset up to which they are read.
struct Source {
    session: Session,
    at: u64,
    ledger: Ledger,
}

/// Selection of events.
struct EventFilter<'a> {
    session: Session,
    kinds: &'a [String],
    id: Option<String>,
    since: Option<Timestamp>,
}

impl EventFilter<'_> {
    fn new<'a>(args: &'a Args, context: &Context) -> Result<EventFilter<'a>, CliError> {
        let handle: Option<Handle> = match args.id.as_deref() {
            Some(text) if text.contains('/') => Some(text.parse()?),
            Some(text) => Some(Handle::new(context.session.clone(), text)?),
            None => None,
        };
        let session = handle.as_ref().map_or(&context.session, |handle| handle.session()).clone();
        let id = handle.map(|handle| handle.id().to_owned());
        Ok(EventFilter { session, kinds: &args.kind, id, since: args.since })
    }

    fn takes(&self, kind: &str, id: Option<&str>, at: Timestamp) -> bool {
        let same = |wanted: &String| match id {
            Some(id) => {
                id == wanted || (wanted.len() >= forebay::SHORTEST_PREFIX && id.starts_with(wanted.as_str()))
            }
            None => false,
        };
        (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
            && self.id.as_ref().is_none_or(same)
            && self.since.is_none_or(|since| at >= since)
    }
}

/// Fields that every event has, including those of newer versions.
#[derive(Deserialize)]
struct Head {
    event: String,
    #[serde(default)]
    id: Option<String>,
    at: Timestamp,
}

/// Prints events.
struct Teller {
    form: Form,
    /// Whether lines are printed unchanged.
    raw: bool,
    /// The width of the widest handle so far.
    widest: usize,
    /// The number of lines that were not events.
    no_events: u64,
}

impl Teller {
    /// Prints the text of a line, unless it is empty.
    fn tell(
        &mut self,
        line: &[u8],
        session: &Session,
        ledger: &mut Ledger,
        wanted: &EventFilter,
    ) -> Option<(Timestamp, String)> {
        let event = if self.raw { None } else { Event::parse(line) };
        let head = match &event {
            Some(event) => {
                let entry = if self.form == Form::Text { None } else { ledger.take(event) };
                if !wanted.takes(event.what.kind(), event.what.id(), event.at) {
                    return None;
                }
                let text = match self.form {
                    Form::Text => {
                        self.row(session, event.what.kind(), event.what.id(), event.at, &said(&event.what))
                    }
                    Form::Log => format!("{}\n", log_line(event, session, entry.as_ref())?),
                    Form::Accounting => format!("{}\n", serde_json::to_string(&entry?.accounting).ok()?),
                };
                return Some((event.at, text));
            }
            None => serde_json::from_slice::<Head>(line).ok(),
        };
        let Some(Head { event: kind, id, at }) = head else {
            self.no_events += 1;
            return None;
        };
        if !wanted.takes(&kind, id.as_deref(), at) {
            return None;
        }
        match (self.raw, self.form) {
            (true, _) => Some((at, String::from_utf8(line.to_vec()).ok()?)),
            (false, Form::Text) => {
                Some((at, self.row(session, &kind, id.as_deref(), at, "(not known to this version)")))
            }
            _ => None,
        }
    }

    fn row(&mut self, session: &Session, kind: &str, id: Option<&str>, at: Timestamp, said: &str) -> String {
        let handle = id.and_then(|id| Handle::new(session.clone(), id).ok());
        let handle = handle.map_or_else(|| session.to_string(), |handle| handle.short());
        let fresh = session.as_str().len() + 9;
        self.widest = self.widest.max(fresh).max(handle.chars().count());
        let (at, widest) = (at.strftime("%Y-%m-%d %H:%M:%SZ"), self.widest);
        let row =
            forebay::printable(&format!("{at}  {kind:<16}  {handle:<widest$}  {said}")).replace('\n', " ");
        format!("{}\n", row.trim_end())
    }
}

/// Text of an event, without time and subject.
fn said(what: &What) -> String {
    match what {
        What::CallStarted(started) => {
            let tool = match &started.server {
                Some(server) => format!("{server}/{}", started.tool),
                None => started.tool.clone(),
            };
            format!("{tool}, {} of arguments", count("character", started.argument_characters))
        }
        What::OutputStored(stored) | What::OutputCutShort(stored) => {
            let mut said = format!("{}, {}", sized(&stored.size), stored.kind);
            if let Some(exit) = stored.exit {
                said.push_str(&format!(", {exit}"));
            }
            if let Some(first) = &stored.same_as {
                said.push_str(&format!(", the same as {}", shown_id(first)));
            }
            if stored.lost > 0 {
                said.push_str(&format!(", {} lost", count("byte", stored.lost)));
            }
            if let Some(why) = &stored.why {
                said.push_str(&format!(": {why}"));
            }
            said
        }
        What::OutputPassed(replied) => format!("as it is, {}", count("token", replied.tokens)),
        What::ViewGiven(replied) => {
            let reason = replied.reason.map_or(String::new(), |reason| format!("{reason}: "));
            let grows = if replied.so_far.is_some() { ", still growing" } else { "" };
            let (given, whole) = (count("token", replied.tokens), grouped(replied.baseline));
            format!("{reason}{given} in place of {whole}{grows}")
        }
        What::QueryAnswered(answered) => {
            format!(
                "{}: {}, {}",
                asked(answered),
                count("token", answered.tokens),
                count("byte", answered.bytes)
            )
        }
        What::ExtractionDone(extracted) => {
            let by = extracted.model.as_ref().map_or(String::new(), |model| format!(" by {model}"));
            let [read, written] = [extracted.tokens_in, extracted.tokens_out].map(grouped);
            let given = count("token", extracted.tokens);
            format!("{}{by}: {given} given, {read} read, {written} written", extracted.strategy)
        }
        What::ExtractionFailed(failure) => {
            format!("{} of {}: {}", failure.strategy, failure.handle, failure.why)
        }
        What::FellBack(fell_back) => format!("{} to {}: {}", fell_back.from, fell_back.to, fell_back.why),
        What::Swept(swept) => format!("{}: {}", count("byte", swept.bytes), swept.why),
        What::SecretsRevealed { secrets, .. } => format!("{} shown to a person", count("secret", *secrets)),
        What::RoomReported { used } => format!("{} in use", count("token", *used)),
        What::RoomExceeded { used, most } => {
            format!("{} in use, with room for {}", count("token", *used), grouped(*most))
        }
        _ => String::new(),
    }
}

/// The query and its arguments in a few words.
fn asked(answered: &Answered) -> String {
    let mut text = answered.query.clone();
    for (name, value) in
        answered.arguments.iter().filter(|(name, _)| !matches!(name.as_str(), "handle" | "id"))
    {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!(" {name}={value}"));
    }
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn sized(size: &Size) -> String {
    format!("{}, {}", count("line", size.lines), count("byte", size.bytes))
}

/// An id as displayed; of a generated id only the beginning.
fn shown_id(id: &str) -> String {
    let handle = Handle::new(Session::safe("s"), id).map(|handle| handle.short());
    handle.map_or_else(|_| id.to_owned(), |short| short.trim_start_matches("s/").to_owned())
}
