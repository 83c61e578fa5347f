//! The store, the session and the settings that commands share.

use crate::args::{CallArgs, Calls, Common};
use crate::bounds::QueryBounds;
use crate::error::{CliError, DONE, NOT_THERE};
use crate::fallback::{self, WithFallback};
use crate::hosts;
use crate::live_log;
use crate::models::ModelSettings;
use crate::print;
use crate::secrets;
use crate::settings::{Layers, OnProblem, root_flag};
use crate::shared::{Shared, WithShared};
use forebay::forms;
use forebay::query::{Ended, Found};
use forebay::settings::Keep;
use forebay::store::Rooms;
use forebay::store::disk::Observer;
use forebay::{
    Call, DiskStore, Handle, Masking, Output, Outputs, Query, Reply, RunFolder, Secrets, Session, Settings,
    Store, Surface, Timestamp,
};
use std::{path::Path, process::ExitCode, sync::Arc, time::Duration};

/// Settings and stores that a command uses.
pub(crate) struct Context {
    pub(crate) store: DiskStore,
    /// The root with its fallback, for a command that reads, if there is a fallback.
    pub(crate) with_fallback: Option<WithFallback>,
    /// The shared store, if one is set.
    pub(crate) shared: Option<Shared>,
    /// The root with the shared store behind it, for a command that reads.
    pub(crate) with_shared: Option<WithShared>,
    /// The count of the tokens in use on all machines, for a command that looks into this root alone.
    rooms: Option<Arc<dyn Store>>,
    pub(crate) session: Session,
    /// The session, if it was typed for this command.
    pub(crate) named: Option<Session>,
    /// The session that is named after the folder we run in.
    pub(crate) folder: Session,
    pub(crate) settings: Settings,
    /// The configured models.
    pub(crate) models: ModelSettings,
    pub(crate) json: bool,
    /// How the commands in views and excerpts are written.
    pub(crate) surface: Surface,
    /// Whether the session is set by a flag, the environment or a file, instead of derived from the folder.
    pub(crate) session_is_set: bool,
    /// Whether the limits of outputs were set, and are not the built-in ones.
    pub(crate) limits_are_set: bool,
    /// Treatment of wrong values.
    on_problem: OnProblem,
    /// Whether answers to the model are written as a `<function_call>` record.
    pub(crate) as_record: bool,
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

impl Context {
    pub(crate) fn new(
        layers: Layers,
        common: &Common,
        calls: Calls,
        on_problem: OnProblem,
    ) -> Result<Context, CliError> {
        let surface = match calls {
            Calls::Shell => match hosts::of_shell() {
                Some(host) => Surface::Shell {
                    program: hosts::program_in(host),
                    flags: layers.root_flags(),
                    unfolded: None,
                },
                None => Surface::shell(layers.root_flags()),
            },
            Calls::Tools => Surface::Tools { prefix: forebay::tools::PREFIX.to_owned() },
        };
        let (session_is_set, limits_are_set) =
            (layers.is_set(&["session"]), layers.is_set(&["digest", "tokens"]));
        let has_budget = layers.has_flag("--budget");
        let mut settings = layers.settings;
        if has_budget {
            // What is typed for this call is stronger than what is set for single tools.
            settings.shown.digest.tools.clear();
        }
        if hosts::is_off() {
            settings.shown.bypass.push("*".to_owned());
        }
        // A name from a host may hold anything; one that was typed is meant as it is.
        let session = match settings.session.parse::<Session>() {
            Ok(session) if hosts::knows_session() && common.session.is_some() && !is_of_shell(&session) => {
                return Err(CliError::not_there(format!(
                    "{session} is not the session of this agent, and an agent reads only its own"
                ))
                .hint("leave out --session, or run the command in a shell of your own"));
            }
            Ok(session) => session,
            Err(error) if common.session.is_some() && on_problem != OnProblem::GoOn => {
                return Err(error.into());
            }
            Err(error) => {
                let safe = Session::safe(&settings.session);
                if common.session.is_some() {
                    print::err(&format!("forebay: {error}; the session is {safe}\n"));
                }
                safe
            }
        };
        let (shared, is_off) = (layers.shared, settings.shown.is_off());
        let store = DiskStore::new(&settings.root).observed(observer(
            common,
            shared.as_ref(),
            is_off,
            &settings.root,
        ));
        settings.shown.masking = secrets::masking(&settings.shown, &store);
        let rooms = match &shared {
            Some(shared) if settings.shown.room.context_window > 0 => {
                Some(shared.behind(Box::new(store.at(store.root())), store.root()).store)
            }
            _ => None,
        };
        Ok(Context {
            store,
            with_fallback: None,
            shared,
            with_shared: None,
            rooms,
            named: common.session.is_some().then(|| session.clone()),
            folder: crate::settings::folder_session(),
            session,
            models: ModelSettings {
                names: settings.shown.extract.models.clone(),
                waiting: settings.models,
                providers: settings.providers,
                ends_by_signal: true,
                facts: crate::settings::model_facts(),
            },
            settings: settings.shown,
            json: common.json,
            surface,
            session_is_set,
            limits_are_set,
            on_problem,
            as_record: false,
        })
    }

    /// Stores outputs in the fallback if the root is not writable.
    pub(crate) fn keep_where_it_can(&mut self) {
        if let Some(why) = self.keep_elsewhere() {
            print::err(&why);
        }
    }

    /// Stores outputs in the fallback if the root is not writable; returns a message about it, if there is one.
    pub(crate) fn keep_elsewhere(&mut self) -> Option<String> {
        let told = self.fall_back();
        if told.is_some() {
            self.settings.masking = secrets::masking(&self.settings, &self.store);
        }
        told
    }

    fn fall_back(&mut self) -> Option<String> {
        let root = self.store.root().to_owned();
        let why = why_not_in(&root, &self.session)?;
        let told = match fallback::make(&root) {
            Ok(folder) => {
                if let Surface::Shell { flags, .. } = &mut self.surface {
                    *flags = root_flag(&folder);
                }
                let told = format!("they are kept in {}", folder.display());
                self.store = DiskStore::new(folder);
                self.rooms = None;
                told
            }
            Err(other) => format!("nor can they be kept in a folder for temporary files: {other}"),
        };
        let root = root.display();
        Some(forebay::printable(&format!("forebay: outputs cannot be kept in {root}: {why}; {told}\n")))
    }

    /// Has reads look into the fallback too, if outputs were kept there.
    pub(crate) fn look_into_fallback(&mut self) {
        let root = self.store.root();
        self.with_fallback = fallback::existing(root)
            .map(|folder| WithFallback { root: DiskStore::new(root), fallback: DiskStore::new(folder) });
    }

    /// Has reads look into the shared store too, if one is set.
    pub(crate) fn look_into_shared(&mut self) {
        let Some(shared) = &self.shared else { return };
        let root = self.store.root();
        let local: Box<dyn Store> = match &self.with_fallback {
            Some(both) => Box::new(both.again()),
            None => Box::new(self.store.at(root)),
        };
        self.with_shared = Some(shared.behind(local, root));
        self.rooms = None;
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

    /// Waits until an output is shared with other machines.
    pub(crate) fn wait_until_shared(&self, output: &Output, patience: Duration) -> Result<(), CliError> {
        let handle = &output.record().handle;
        let Some(shared) = &self.shared else {
            return Err(CliError::usage(format!("{handle} is not shared, since no shared store is set"))
                .hint(
                    "set store.database, such as FOREBAY_STORE_DATABASE=postgres://db.example.com/outputs",
                ));
        };
        let there = shared.wait(&self.store, handle, patience)?;
        if there != *handle {
            print::err(&format!(
                "forebay: shared as {there}, since another machine gave the name {handle} to another output\n"
            ));
        }
        Ok(())
    }

    pub(crate) fn store(&self) -> &dyn Store {
        match &self.with_shared {
            Some(all) => &*all.store,
            None => self.local(),
        }
    }

    /// The outputs of this machine.
    pub(crate) fn local(&self) -> &dyn Store {
        match &self.with_fallback {
            Some(both) => both,
            None => &self.store,
        }
    }

    /// A masking that finds secrets whatever the settings say about them.
    pub(crate) fn scanning(&self) -> Masking {
        let mut settings = self.settings.clone();
        settings.secrets.mode = Secrets::Mask;
        secrets::masking(&settings, &self.store)
    }

    /// The output that is meant by a handle as it was typed.
    pub(crate) fn find(&self, text: &str) -> Result<Handle, CliError> {
        Ok(self.outputs(text)?.find(text)?)
    }

    /// Outputs of the session that a handle names, or of the current one. A person may read all sessions. An agent,
    /// recognised by its shell, reads only its own session.
    pub(crate) fn outputs(&self, handle: &str) -> Result<Outputs<'_>, CliError> {
        let handle: Handle =
            if handle.contains('/') { handle.parse()? } else { Handle::new(self.session.clone(), handle)? };
        if handle.session() != &self.session && hosts::knows_session() {
            return Err(CliError::not_there(format!(
                "{} is not of this session ({}), and an agent reads only its own",
                handle.short(),
                self.session
            )));
        }
        Ok(self.outputs_of(handle.session().clone()))
    }

    /// The outputs of the session that this command runs in.
    pub(crate) fn session_outputs(&self) -> Outputs<'_> {
        self.outputs_of(self.session.clone())
    }

    fn outputs_of(&self, session: Session) -> Outputs<'_> {
        let rooms: &dyn Rooms = match &self.rooms {
            Some(rooms) => &**rooms,
            None => self.store(),
        };
        Outputs::new(self.store(), session, &Timestamp::now)
            .counted_in(rooms)
            .within(self.settings.room)
            .bounded_by(QueryBounds::alone(self.settings.query))
            .knowing(&self.settings.formats)
            .masked_by(&self.settings.masking)
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
        let mut args = args;
        if let Some(text) = &args.args
            && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text)
        {
            self.stop_or_warn(CliError::usage(format!("--args is not JSON: {error}")))?;
            args.args = None;
        }
        if args.call_id.as_ref().is_some_and(String::is_empty) {
            self.stop_or_warn(CliError::usage("--call-id is empty"))?;
            args.call_id = None;
        }
        let id = match args.call_id {
            Some(id) => id,
            None => forebay::fresh_id(random()?),
        };
        let mut call = Call::new(
            self.session.clone(),
            id,
            args.tool.unwrap_or_else(|| tool.to_owned()),
            Timestamp::now(),
        );
        call.server = args.server;
        call.kind = args.tool_kind;
        call.args = args.args.or(default_args);
        call.intent = args.intent;
        Ok(call)
    }

    /// Stops on a wrong flag, or reports it if the command continues without it.
    fn stop_or_warn(&self, error: CliError) -> Result<(), CliError> {
        match self.on_problem {
            OnProblem::GoOn => {
                print::warning(&error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Passes the result to the model. If storing is switched off, an output that passed whole is not kept.
    pub(crate) fn give(&self, store: &dyn Store, output: &Output, reply: &Reply) -> Result<(), CliError> {
        let forget = self.settings.is_off() && reply.folded.is_none() && !output.is_growing();
        let given = self.print(store, output, reply, forget);
        if forget {
            // What cannot be removed now goes with the next sweep.
            let _ = store.delete(&output.record().handle);
        }
        given
    }

    /// Prints the view, or the output by the streams it came by.
    fn print(&self, store: &dyn Store, output: &Output, reply: &Reply, forget: bool) -> Result<(), CliError> {
        let record = if self.as_record { Some(forms::function_call(output, reply)?) } else { None };
        if self.json {
            let mut value = forms::reply(output, reply)?;
            if let Some(record) = record {
                value["text"] = record.into();
            }
            if forget {
                value["handle"] = serde_json::Value::Null;
            }
            return print::json(&value);
        }
        if let Some(record) = record {
            return print::out((record + "\n").as_bytes());
        }
        match &reply.folded {
            Some(folded) => print::out(&folded.text),
            None => {
                let mut written = Ok(());
                forebay::store::for_each_stretch(store, output, |stream, bytes| match stream {
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
        if self.json {
            print::json(&forms::excerpt(&outputs.open(handle)?, &excerpt, &self.surface)?)?
        } else {
            print::out(&excerpt.text)?
        }
        // What a filter gave before it failed is told, and so is that it failed.
        let failed = matches!(&excerpt.found, Found::Values(values) if values.ended != Ended::AllRead);
        Ok(ExitCode::from(if failed { NOT_THERE } else { DONE }))
    }
}

/// The listeners for the events that the store of a root logs.
fn observer(common: &Common, shared: Option<&Shared>, is_off: bool, root: &Path) -> Option<Observer> {
    let printing = common.log.map(live_log::observer);
    // What is not to stay here must not stay elsewhere.
    let sharing = shared.filter(|_| !is_off).map(|shared| shared.observer(root.to_owned()));
    match (printing, sharing) {
        (Some(printing), Some(sharing)) => Some(Arc::new(move |session: &Session, line: &[u8]| {
            printing(session, line);
            sharing(session, line);
        })),
        (one, other) => one.or(other),
    }
}

/// Whether a session is that of the agent in whose shell we run.
fn is_of_shell(session: &Session) -> bool {
    hosts::session_of_shell().is_some_and(|own| Session::safe(&own) == *session)
}

/// Why outputs cannot be stored in a root. The default root may be in a folder for temporary files, where another
/// user may have created it in order to read the outputs.
fn why_not_in(root: &Path, session: &Session) -> Option<String> {
    let is_shared = Some(root) == crate::settings::root_without_home().as_deref()
        && root.symlink_metadata().is_ok()
        && !fallback::is_ours(root);
    if is_shared {
        Some(format!("{} is not a folder that only you can use", root.display()))
    } else {
        fallback::why_not_in(root, session)
    }
}
