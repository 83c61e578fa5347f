//! The commands, a file each, and what they share: the store, the session and the settings.

pub(crate) mod ask;
pub(crate) mod call;
pub(crate) mod cat;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod extract;
pub(crate) mod grep;
pub(crate) mod head;
pub(crate) mod hold;
pub(crate) mod import;
pub(crate) mod json;
pub(crate) mod ls;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod outline;
pub(crate) mod put;
pub(crate) mod read;
pub(crate) mod room;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tail;
pub(crate) mod tools;
pub(crate) mod verify;

use crate::args::{CallArgs, Calls, Cli, Command, Common};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::live_log;
use crate::machine_form;
use crate::models::Reach;
use crate::print;
use crate::settings::Layers;
use forebay::query::{Ended, Found};
use forebay::settings::Keep;
use forebay::{
    Call, DiskStore, Handle, Output, Outputs, Query, Reply, RunFolder, Session, Settings, Store, Surface,
    Timestamp,
};
use std::process::ExitCode;

/// What a command works with.
pub(crate) struct Context {
    pub(crate) store: DiskStore,
    pub(crate) session: Session,
    /// The session, if it was typed for this command.
    pub(crate) named: Option<Session>,
    /// The session that is named after the folder we run in.
    pub(crate) folder: Session,
    pub(crate) settings: Settings,
    /// Which models there are, and how they are reached.
    pub(crate) reach: Reach,
    pub(crate) json: bool,
    /// How the commands in views and excerpts are written.
    pub(crate) surface: Surface,
    /// Whether the session was said, by a flag, the environment or a file, and is not that of the folder.
    pub(crate) session_is_set: bool,
    /// Whether the limits of outputs were set, and are not the built-in ones.
    pub(crate) limits_are_set: bool,
}

/// The result of a command.
pub(crate) type Outcome = Result<ExitCode, CliError>;

/// Random bits, for what must have a name that nothing else has.
pub(crate) fn random() -> Result<[u8; 16], CliError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|error| CliError::not_there(format!("no random numbers for a name: {error}")))?;
    Ok(random)
}

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
    let by_models = match &cli.command {
        Command::Extract(args) => Some(&args.by_models),
        Command::Call(args) => Some(&args.by_models),
        Command::Models(args) => Some(&args.by_models),
        Command::Serve(args) => Some(&args.by_models),
        _ => None,
    };
    let mut layers = Layers::gather(&cli.common, shown, by_models)?;
    let problem = layers.problem.take();
    if let Command::Settings(args) = &cli.command {
        let shown = settings::run(args, &layers, cli.common.json)?;
        return problem.map_or(Ok(shown), Err);
    }
    if let Some(problem) = problem {
        return Err(problem);
    }
    let calls = shown.map_or(Calls::Shell, |shown| shown.calls);
    let context = Context::new(layers, &cli.common, calls)?;
    match cli.command {
        Command::Run(args) => run::run(args, &context),
        Command::Put(args) => put::run(args, &context),
        Command::Cat(args) => cat::run(&args, &context),
        Command::Read(args) => read::run(&args, &context),
        Command::Head(args) => head::run(&args, &context),
        Command::Tail(args) => tail::run(&args, &context),
        Command::Grep(args) => grep::run(args, &context),
        Command::Json(args) => json::run(args, &context),
        Command::Outline(args) => outline::run(&args, &context),
        Command::Ask(args) => ask::run(args, &context),
        Command::Extract(args) => extract::run(&args, &context),
        Command::Models(args) => models::run(&args, &context),
        Command::Search(args) => search::run(&args, &context),
        Command::Room(args) => room::run(&args, &context),
        Command::Tools(args) => tools::run(&args, &context),
        Command::Call(args) => call::run(args, &context),
        Command::Mcp(args) => mcp::run(args, &context),
        Command::Serve(args) => serve::run(args, &context),
        Command::Hold(args) => hold::run(&args, &context),
        Command::Ls(args) => ls::run(&args, &context),
        Command::Show(args) => show::run(&args, &context),
        Command::Events(args) => events::run(&args, &context),
        Command::Stats(args) => stats::run(&args, &context),
        Command::Verify(args) => verify::run(&args, &context),
        Command::Session(args) => session::run(&args, &context),
        Command::Clean(args) => clean::run(&args, &context),
        Command::Export(args) => export::run(&args, &context),
        Command::Import(args) => import::run(&args, &context),
        Command::Settings(_) | Command::Completions(_) => Ok(ExitCode::from(DONE)),
    }
}

impl Context {
    fn new(layers: Layers, common: &Common, calls: Calls) -> Result<Context, CliError> {
        let surface = match calls {
            Calls::Shell => Surface::Shell { flags: layers.root_flags() },
            Calls::Tools => Surface::Tools { prefix: forebay::tools::PREFIX.to_owned() },
        };
        let (session_is_set, limits_are_set) =
            (layers.is_set(&["session"]), layers.is_set(&["digest", "tokens"]));
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
            store: DiskStore::new(settings.root).observed(common.log.map(live_log::observer)),
            named: common.session.is_some().then(|| session.clone()),
            folder: crate::settings::folder_session(),
            session,
            reach: Reach {
                names: settings.shown.extract.models.clone(),
                waiting: settings.models,
                providers: settings.providers,
                ends_by_signal: true,
            },
            settings: settings.shown,
            json: common.json,
            surface,
            session_is_set,
            limits_are_set,
        })
    }

    /// Whether an output that is kept now has an end, as the settings want it: in mode `process` that is the end of a
    /// process that owns the folder.
    pub(crate) fn can_keep(&self) -> Result<(), CliError> {
        let root = self.store.root();
        if self.settings.retention.mode != Keep::Process || RunFolder::is_alive(root) {
            return Ok(());
        }
        let wrong = format!(
            "retention.mode is process, and {} is not the folder of a process that lives",
            root.display()
        );
        Err(CliError::usage(wrong)
            .hint("start the agent with `forebay session -- AGENT`, or choose another retention.mode"))
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &self.store
    }

    /// The output that is meant by a handle as it was typed.
    pub(crate) fn find(&self, text: &str) -> Result<Handle, CliError> {
        Ok(self.outputs(text)?.find(text)?)
    }

    /// The outputs of the session that a handle names, or of this one. Whoever types may read all sessions.
    pub(crate) fn outputs(&self, handle: &str) -> Result<Outputs<'_>, CliError> {
        let handle: Handle = match handle.contains('/') {
            true => handle.parse()?,
            false => Handle::new(self.session.clone(), handle)?,
        };
        Ok(self.outputs_of(handle.session().clone()))
    }

    /// The outputs of the session that this command runs in.
    pub(crate) fn session_outputs(&self) -> Outputs<'_> {
        self.outputs_of(self.session.clone())
    }

    fn outputs_of(&self, session: Session) -> Outputs<'_> {
        Outputs::new(self.store(), session, Timestamp::now).within(self.settings.room)
    }

    pub(crate) fn open(&self, text: &str) -> Result<Output, CliError> {
        Ok(self.outputs(text)?.open(text)?.on(&self.surface))
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
            None => forebay::fresh_id(random()?),
        };
        let call = Call::new(
            self.session.clone(),
            id,
            args.tool.unwrap_or_else(|| tool.to_owned()),
            Timestamp::now(),
        );
        Ok(Call {
            server: args.server,
            kind: args.tool_kind,
            args: args.args.or(default_args),
            intent: args.intent,
            ..call
        })
    }

    /// Prints what the model gets: the view, or the output by the streams it came by.
    pub(crate) fn give(&self, store: &dyn Store, output: &Output, reply: &Reply) -> Result<(), CliError> {
        if self.json {
            return print::json(&machine_form::reply(output, reply)?);
        }
        match &reply.folded {
            Some(folded) => print::out(&folded.text),
            None => {
                let mut written = Ok(());
                store.for_each_stretch(output, |stream, bytes| match stream {
                    forebay::Stream::Stdout if written.is_ok() => written = print::out(bytes),
                    forebay::Stream::Stdout => {}
                    forebay::Stream::Stderr => print::err_bytes(bytes),
                })?;
                written
            }
        }
    }

    /// Answers a query about an output and prints the excerpt.
    pub(crate) fn answer(&self, handle: &str, query: &Query) -> Outcome {
        let outputs = self.outputs(handle)?;
        let budget = self.settings.excerpt_budget();
        let excerpt = outputs.answer(handle, query, budget, &self.surface)?;
        match self.json {
            true => print::json(&machine_form::excerpt(&outputs.open(handle)?, &excerpt, &self.surface)?)?,
            false => print::out(&excerpt.text)?,
        }
        // What a filter gave before it failed is told, and so is that it failed.
        let failed = matches!(&excerpt.found, Found::Values(values) if values.ended != Ended::AllRead);
        Ok(ExitCode::from(if failed { NOT_THERE } else { DONE }))
    }
}
