//! `forebay migrate`: all outputs of this machine into the shared store, or all of the shared store to this machine.

use crate::commands::mirror::open_patiently;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::print::{self, grouped};
use crate::progress::Progress;
use crate::shared::{Shared, origin};
use crate::units;
use forebay::text::count::count;
use forebay::{DiskStore, Handle, Session, State, Store, verify_output};
use forebay_store::{Brought, Mirror, MirrorFolder, Serving, SharedStore, Sharing};
use serde_json::json;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Move outputs into the store that machines share, or out of it.
///
/// Every output is read again where it has arrived, and proved against its record. What is there already is not copied, so a
/// migration that was stopped goes on where it ended. Nothing is removed without --remove.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay migrate in             share all outputs of this machine, and prove them there
  forebay migrate in --remove    and remove from this machine what was proved
  forebay migrate out            copy all outputs of the shared store to this machine
  forebay migrate out build-17   only one session")]
pub(crate) struct Args {
    #[command(subcommand)]
    direction: Direction,
}

#[derive(Debug, clap::Subcommand)]
enum Direction {
    /// From this machine into the shared store
    In(Which),
    /// From the shared store to this machine
    Out(Which),
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Sessions to move; default: all
    #[arg(value_name = "SESSION")]
    sessions: Vec<Session>,
    /// Remove each output where it was, once it is proved where it has arrived
    #[arg(long)]
    remove: bool,
    /// Try for this time if the shared store is away, or if a mirror is at work
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration)]
    patience: Duration,
}

/// Pause between two looks for whether a mirror has ended.
const PAUSE: Duration = Duration::from_millis(500);

/// The result of a migration.
#[derive(Default)]
struct Moved {
    /// Outputs that are proved where they have arrived.
    proved: u64,
    bytes: u64,
    removed: u64,
    /// Outputs that still grow.
    growing: Vec<Handle>,
    /// Outputs whose names others have there, or that are damaged, each with the reason.
    stays: Vec<(Handle, String)>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let Some(shared) = &context.shared else { return Err(super::mirror::not_set()) };
    let (Direction::In(which) | Direction::Out(which)) = &args.direction;
    let begun = Instant::now();
    let store = open_patiently(shared, which.patience)?;
    let folder = MirrorFolder::of(context.store.root());
    let serving = serve(&folder, which.patience.saturating_sub(begun.elapsed()))?;
    // Nobody is told of what is copied: the mirror would take it back.
    let local = DiskStore::new(context.store.root());
    let moving = Moving { local: &local, store: &store, serving: &serving, which };
    let moved = match args.direction {
        Direction::In(_) => moving.move_in()?,
        Direction::Out(_) => moving.move_out()?,
    };
    tell(&moved, shared, args, context)?;
    Ok(ExitCode::from(if moved.growing.is_empty() && moved.stays.is_empty() { DONE } else { NOT_THERE }))
}

/// Keeps mirrors of this root from beginning.
fn serve(folder: &MirrorFolder, patience: Duration) -> Result<Serving, CliError> {
    let begun = Instant::now();
    loop {
        let serving = folder
            .serve()
            .map_err(|error| CliError::not_there(format!("cannot write the folder .mirror: {error}")))?;
        match serving {
            Some(serving) => return Ok(serving),
            None if begun.elapsed() < patience => thread::sleep(PAUSE),
            None => {
                return Err(CliError::not_there("a mirror of this root is at work")
                    .hint("stop `forebay mirror run`, or wait until the last command is shared"));
            }
        }
    }
}

struct Moving<'a> {
    local: &'a DiskStore,
    store: &'a SharedStore,
    serving: &'a Serving,
    which: &'a Which,
}

impl Moving<'_> {
    fn sessions(&self, of: &dyn Store) -> Result<Vec<Session>, CliError> {
        let there = of.sessions()?;
        if self.which.sessions.is_empty() {
            return Ok(there);
        }
        for session in &self.which.sessions {
            if !there.contains(session) {
                let hint = "`forebay ls --all` lists the outputs of all sessions";
                return Err(CliError::not_there(format!("nothing is kept in session {session}")).hint(hint));
            }
        }
        Ok(self.which.sessions.clone())
    }

    fn mirror(&self) -> Result<Mirror<'_>, CliError> {
        Ok(Mirror::new(self.local, self.store, origin(self.local.root())?))
    }

    fn move_in(&self) -> Result<Moved, CliError> {
        let (mut mirror, mut moved, mut progress) = (self.mirror()?, Moved::default(), Progress::new());
        for session in self.sessions(self.local)? {
            for record in self.local.list(&session)? {
                let handle = &record.handle;
                if record.state == State::Growing {
                    moved.growing.push(handle.clone());
                    continue;
                }
                match self.prove(&mut mirror, handle) {
                    Ok(None) => {
                        moved.proved += 1;
                        moved.bytes += record.kept();
                        if self.which.remove {
                            self.local.delete(handle)?;
                            moved.removed += 1;
                        }
                    }
                    Ok(Some(why)) => moved.stays.push((handle.clone(), why)),
                    Err(error) => moved.stays.push((handle.clone(), error.to_string())),
                }
                progress.done(moved.bytes);
            }
            mirror.session(&session)?;
        }
        progress.clear();
        self.store.catch_up()?;
        Ok(moved)
    }

    /// Shares an output and reads it again; returns why it is not proved, if it is not.
    fn prove(&self, mirror: &mut Mirror<'_>, handle: &Handle) -> forebay::Result<Option<String>> {
        let named = loop {
            match mirror.share(handle)? {
                Sharing::Done(named) => break named,
                Sharing::UnderWay => {}
                Sharing::Elsewhere => return Ok(Some("another process is taking it".to_owned())),
            }
        };
        Ok(verify_output(self.store, &named)?.first().map(ToString::to_string))
    }

    fn move_out(&self) -> Result<Moved, CliError> {
        let (mut mirror, mut moved, mut progress) = (self.mirror()?, Moved::default(), Progress::new());
        for session in self.sessions(self.store)? {
            let Brought { arrived, growing, differ, .. } =
                mirror.bring(self.serving, &session, &mut |bytes| progress.done(moved.bytes + bytes))?;
            let whole = growing.is_empty() && differ.is_empty();
            let differs = "another output has its name on this machine".to_owned();
            moved.growing.extend(growing);
            moved.stays.extend(differ.into_iter().map(|handle| (handle, differs.clone())));
            let mut is_proved = true;
            for handle in arrived {
                match verify_output(self.local, &handle)?.first() {
                    None => {
                        moved.proved += 1;
                        moved.bytes += self.local.record(&handle)?.kept();
                    }
                    Some(fault) => {
                        is_proved = false;
                        moved.stays.push((handle, fault.to_string()));
                    }
                }
            }
            // Its events go with its last output.
            if self.which.remove && whole && is_proved {
                moved.removed += self.store.remove_session(&session, false)?.len() as u64;
            }
        }
        progress.clear();
        Ok(moved)
    }
}

fn tell(moved: &Moved, shared: &Shared, args: &Args, context: &Context) -> Result<(), CliError> {
    if context.json {
        return print::json(&json!({
            "proved": moved.proved, "bytes": moved.bytes, "removed": moved.removed,
            "growing": moved.growing.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "stays": moved.stays.iter().map(|(handle, why)| json!({ "handle": handle.to_string(), "why": why }))
                .collect::<Vec<_>>(),
        }));
    }
    let to = match args.direction {
        Direction::In(_) => shared.place(),
        Direction::Out(_) => context.store.root().display().to_string(),
    };
    let removed = match moved.removed {
        0 => String::new(),
        removed => format!("; {} removed where they were", grouped(removed)),
    };
    let mut text = format!(
        "{}, {}, proved in {to}{removed}\n",
        count("output", moved.proved),
        print::bytes(moved.bytes)
    );
    for handle in &moved.growing {
        text.push_str(&format!("{handle} still grows: run the same command again when it has ended\n"));
    }
    for (handle, why) in &moved.stays {
        text.push_str(&format!("{handle} stays where it is: {why}\n"));
    }
    print::out(text.as_bytes())
}
