//! The commands, a file each, and what they share: the store, the session and the settings.

pub(crate) mod cat;
pub(crate) mod completions;
pub(crate) mod grep;
pub(crate) mod head;
pub(crate) mod hold;
pub(crate) mod ls;
pub(crate) mod put;
pub(crate) mod read;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod tail;
pub(crate) mod verify;

use crate::args::{CallArgs, Cli, Command, Common};
use crate::error::{CliError, DONE};
use crate::print;
use crate::settings::Layers;
use forebay::{
    Call, DiskStore, Excerpt, Folded, Handle, Output, Query, Reply, Session, Settings, Store, Timestamp,
};
use serde_json::json;
use std::process::ExitCode;

/// What a command works with.
pub(crate) struct Context {
    pub(crate) store: DiskStore,
    pub(crate) session: Session,
    pub(crate) settings: Settings,
    pub(crate) json: bool,
    /// Flags that the commands in views and excerpts need.
    pub(crate) flags: String,
}

/// The result of a command.
pub(crate) type Outcome = Result<ExitCode, CliError>;

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> Outcome {
    let shown = match &cli.command {
        Command::Run(args) => Some(&args.shown),
        Command::Put(args) => Some(&args.shown),
        _ => None,
    };
    if let Command::Completions(args) = &cli.command {
        return completions::run(args);
    }
    let mut layers = Layers::gather(&cli.common, shown)?;
    let problem = layers.problem.take();
    if let Command::Settings(args) = &cli.command {
        let shown = settings::run(args, &layers, cli.common.json)?;
        return problem.map_or(Ok(shown), Err);
    }
    if let Some(problem) = problem {
        return Err(problem);
    }
    let context = Context::new(layers, &cli.common)?;
    match cli.command {
        Command::Run(args) => run::run(args, &context),
        Command::Put(args) => put::run(args, &context),
        Command::Cat(args) => cat::run(&args, &context),
        Command::Read(args) => read::run(&args, &context),
        Command::Head(args) => head::run(&args, &context),
        Command::Tail(args) => tail::run(&args, &context),
        Command::Grep(args) => grep::run(args, &context),
        Command::Hold(args) => hold::run(&args, &context),
        Command::Ls(args) => ls::run(&args, &context),
        Command::Show(args) => show::run(&args, &context),
        Command::Verify(args) => verify::run(&args, &context),
        Command::Settings(_) | Command::Completions(_) => Ok(ExitCode::from(DONE)),
    }
}

impl Context {
    fn new(layers: Layers, common: &Common) -> Result<Context, CliError> {
        let flags = layers.root_flags();
        let mut settings = layers.settings;
        if common.budget.is_some() {
            // What is typed for this call is stronger than what is set for single tools.
            settings.shown.digest.tools.clear();
        }
        // A name from a host may hold anything; one that was typed is meant as it is.
        let session = match common.session.is_some() {
            true => settings.session.parse()?,
            false => Session::safe(&settings.session),
        };
        Ok(Context {
            store: DiskStore::new(settings.root),
            session,
            settings: settings.shown,
            json: common.json,
            flags,
        })
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &self.store
    }

    /// The output that is meant by a handle as it was typed.
    pub(crate) fn find(&self, text: &str) -> Result<Handle, CliError> {
        self.store().find(text, &self.session).map_err(|error| match error {
            forebay::Error::NotFound { .. } => {
                CliError::not_there(error.to_string()).hint(self.what_there_is(text))
            }
            error => error.into(),
        })
    }

    /// What can be asked for instead of an output that is not there.
    fn what_there_is(&self, text: &str) -> String {
        let session = text
            .split_once('/')
            .and_then(|(session, _)| session.parse().ok())
            .unwrap_or(self.session.clone());
        let mut records = self.store().list(&session).unwrap_or_default();
        let more = if records.len() > 8 { ", … (`forebay ls` lists them all)" } else { "" };
        let newest: Vec<&str> = records.iter_mut().rev().take(8).map(|record| record.handle.id()).collect();
        match newest.is_empty() {
            true => {
                format!("session {session} has no outputs; `forebay ls --all` lists those of all sessions")
            }
            false => format!("outputs of session {session}: {}{more}", newest.join(", ")),
        }
    }

    pub(crate) fn open(&self, text: &str) -> Result<Output, CliError> {
        Ok(self.store().open(&self.find(text)?)?.with_flags(&self.flags))
    }

    /// The call that an output belongs to.
    pub(crate) fn call(
        &self,
        args: CallArgs,
        tool: &str,
        default_args: Option<String>,
    ) -> Result<Call, CliError> {
        if let Some(text) = &args.args {
            serde_json::from_str::<serde::de::IgnoredAny>(text)
                .map_err(|error| CliError::usage(format!("--args is not JSON: {error}")))?;
        }
        let id = match args.call_id {
            Some(id) if id.is_empty() => return Err(CliError::usage("--call-id is empty")),
            Some(id) => id,
            None => {
                let mut random = [0; 16];
                getrandom::fill(&mut random)
                    .map_err(|error| CliError::not_there(format!("no random numbers for an id: {error}")))?;
                forebay::fresh_id(random)
            }
        };
        let call = Call::new(
            self.session.clone(),
            id,
            args.tool.unwrap_or_else(|| tool.to_owned()),
            Timestamp::now(),
        );
        Ok(Call { server: args.server, args: args.args.or(default_args), ..call })
    }

    /// Prints what the model gets: the view, or the output by the streams it came by.
    pub(crate) fn give(&self, output: &Output, reply: &Reply) -> Result<(), CliError> {
        if self.json {
            return print::json(&self.reply_json(output, reply)?);
        }
        match &reply.folded {
            Some(folded) => print::out(&folded.text),
            None => {
                let mut written = Ok(());
                self.store().for_each_stretch(output, |stream, bytes| match stream {
                    forebay::Stream::Stdout if written.is_ok() => written = print::out(bytes),
                    forebay::Stream::Stdout => {}
                    forebay::Stream::Stderr => print::err_bytes(bytes),
                })?;
                written
            }
        }
    }

    fn reply_json(&self, output: &Output, reply: &Reply) -> Result<serde_json::Value, CliError> {
        let record = output.record();
        let text = match &reply.folded {
            Some(Folded { text, .. }) => String::from_utf8_lossy(text).into_owned(),
            None => String::from_utf8_lossy(&output.read(0..output.len())?).into_owned(),
        };
        let kept = record.lost.as_ref().is_none_or(|_| record.kept() > 0);
        let mut value = json!({
            "handle": kept.then(|| record.handle.to_string()),
            "stored": reply.folded.is_some() && kept,
            "reason": reply.folded.as_ref().map(|folded| folded.reason),
            "text": text,
            "size": reply.size,
            "exit": record.exit.map(forebay::Exit::status),
        });
        let more =
            [
                (
                    "signal",
                    record.exit.and_then(|exit| {
                        if let forebay::Exit::Signal(n) = exit { Some(json!(n)) } else { None }
                    }),
                ),
                (
                    "cut_short",
                    if let forebay::State::CutShort(why) = &record.state { Some(json!(why)) } else { None },
                ),
                ("lost", record.lost.as_ref().map(|lost| json!(lost))),
            ];
        for (name, field) in more {
            if let (Some(object), Some(field)) = (value.as_object_mut(), field) {
                object.insert(name.to_owned(), field);
            }
        }
        Ok(value)
    }

    /// Answers a query about an output and prints the excerpt.
    pub(crate) fn answer(&self, handle: &str, query: &Query) -> Outcome {
        let output = self.open(handle)?;
        let excerpt = forebay::excerpt(&output, query, self.settings.excerpt_budget())?;
        match self.json {
            true => print::json(&excerpt_json(&output, &excerpt)?)?,
            false => print::out(&excerpt.text)?,
        }
        Ok(ExitCode::from(DONE))
    }
}

/// The machine form of an excerpt.
pub(crate) fn excerpt_json(output: &Output, excerpt: &Excerpt) -> Result<serde_json::Value, CliError> {
    let handle = output.record().handle.to_string();
    if let Some(matches) = &excerpt.matches {
        return Ok(json!({
            "handle": handle,
            "total": matches.total,
            "matches": matches.shown,
            "total_lines": excerpt.total_lines,
            "growing": excerpt.growing,
            "next": excerpt.next,
        }));
    }
    let bytes = output.read(excerpt.bytes.clone())?;
    Ok(json!({
        "handle": handle,
        "lines": excerpt.lines.map(|(first, last)| json!({"first": first, "last": last})),
        "bytes": {"start": excerpt.bytes.start, "end": excerpt.bytes.end},
        "total_lines": excerpt.total_lines,
        "total_bytes": output.len(),
        "utf8": std::str::from_utf8(&bytes).is_ok(),
        "content": String::from_utf8_lossy(&bytes),
        "growing": excerpt.growing,
        "next": excerpt.next,
    }))
}

/// A range as it is typed: `A:B`, `A:`, `:B`, or `A` for one line.
pub(crate) fn parse_range(text: &str) -> Result<(Option<u64>, Option<u64>), String> {
    let number = |part: &str| match part.trim() {
        "" => Ok(None),
        digits => digits
            .replace([',', '_'], "")
            .parse()
            .map(Some)
            .map_err(|_| format!("{part:?} is not a number; a range is A:B, A: or :B")),
    };
    match text.split_once(':').or_else(|| text.split_once('-')) {
        Some((from, to)) => Ok((number(from)?, number(to)?)),
        None => number(text).map(|one| (one, one)),
    }
}
