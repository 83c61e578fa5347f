//! `forebay migrate`: copies all outputs of this machine to the shared store, or the other way.

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
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Move outputs into the store that machines share, or out of it.
///
/// Every output is read again where it has arrived, and proved against its record. What already exists is not copied, so a
/// migration that was stopped goes on where it ended. Nothing is removed without --remove.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay migrate in               share all outputs of this machine, and prove them there
  forebay migrate in --remove      and remove from this machine what was proved
  forebay migrate in --bring-back  share outputs again that were removed from the shared store
  forebay migrate out              copy all outputs of the shared store to this machine
  forebay migrate out build-17     only one session")]
pub(crate) struct Args {
    #[command(subcommand)]
    direction: Direction,
}

#[derive(Debug, clap::Subcommand)]
enum Direction {
    /// From this machine into the shared store
    In {
        #[command(flatten)]
        which: Which,
        /// Also share outputs that were removed from the shared store
        #[arg(long)]
        bring_back: bool,
    },
    /// From the shared store to this machine
    Out(Which),
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Sessions to move; default: all
    #[arg(value_name = "SESSION")]
    sessions: Vec<Session>,
    /// Remove each original once its copy is verified
    #[arg(long)]
    remove: bool,
    /// Retry for this time if the shared store is unreachable or a mirror is running
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration)]
    patience: Duration,
}

/// Pause between two checks whether a mirror has ended.
const PAUSE: Duration = Duration::from_millis(500);

/// Result of a migration.
#[derive(Default)]
struct Moved {
    /// Number of outputs that were verified after copying.
    proved: u64,
    bytes: u64,
    removed: u64,
    /// Outputs whose names were taken in the shared store, with their new names.
    renamed: Vec<(Handle, Handle)>,
    /// Outputs that still grow.
    growing: Vec<Handle>,
    /// Outputs that could not be moved, each with the reason.
    stays: Vec<(Handle, String)>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let Some(shared) = &context.shared else { return Err(super::mirror::not_set()) };
    let (Direction::In { which, .. } | Direction::Out(which)) = &args.direction;
    let begun = Instant::now();
    let store = open_patiently(shared, which.patience)?;
    let serving = serve(context.store.root(), which.patience.saturating_sub(begun.elapsed()))?;
    // A plain disk store: copied outputs must not be noted for the mirror, which would copy them back.
    let local = DiskStore::new(context.store.root());
    let moving = Moving { local: &local, store: &store, serving: &serving, which };
    let moved = match args.direction {
        Direction::In { bring_back, .. } => moving.move_in(bring_back)?,
        Direction::Out(_) => moving.move_out()?,
    };
    tell(&moved, shared, args, context)?;
    Ok(ExitCode::from(if moved.growing.is_empty() && moved.stays.is_empty() { DONE } else { NOT_THERE }))
}

/// Becomes the only mirror of this root.
fn serve(root: &Path, patience: Duration) -> Result<Serving, CliError> {
    let (folder, begun) = (MirrorFolder::of(root), Instant::now());
    loop {
        let serving = folder.serve().map_err(|error| {
            CliError::not_there(format!("cannot write below {}: {error}", root.display()))
        })?;
        match serving {
            Some(serving) => return Ok(serving),
            None if begun.elapsed() < patience => thread::sleep(PAUSE),
            None => {
                return Err(CliError::not_there("a mirror of this root is running")
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

    fn move_in(&self, bring_back: bool) -> Result<Moved, CliError> {
        let (mut mirror, mut moved, mut progress) = (self.mirror()?, Moved::default(), Progress::new());
        for session in self.sessions(self.local)? {
            for record in self.local.list(&session)? {
                let handle = &record.handle;
                if record.state == State::Growing {
                    moved.growing.push(handle.clone());
                    continue;
                }
                if bring_back {
                    self.store.forget_removal(&record)?;
                }
                match self.prove(&mut mirror, handle) {
                    Ok(named) => {
                        moved.proved += 1;
                        moved.bytes += record.kept();
                        if named != *handle {
                            // If it were removed, its name would mean the other output.
                            moved.renamed.push((handle.clone(), named));
                        } else if self.which.remove {
                            self.local.delete(handle)?;
                            moved.removed += 1;
                        }
                    }
                    Err(why) => moved.stays.push((handle.clone(), why)),
                }
                progress.done(moved.bytes);
            }
            mirror.session(&session)?;
        }
        progress.clear();
        self.store.catch_up()?;
        Ok(moved)
    }

    /// Shares an output and verifies the copy; returns its handle in the shared store, or why it is not verified.
    fn prove(&self, mirror: &mut Mirror<'_>, handle: &Handle) -> Result<Handle, String> {
        let named = loop {
            match mirror.share(handle) {
                Ok(Sharing::Done(named)) => break named,
                Ok(Sharing::UnderWay) => {}
                Ok(Sharing::Elsewhere) => return Err("another process is copying it".to_owned()),
                Err(error) => return Err(error.to_string()),
            }
        };
        match verify_output(self.store, &named) {
            Ok(faults) => faults.first().map_or(Ok(named), |fault| Err(fault.to_string())),
            Err(forebay::Error::NotFound { .. }) => {
                Err("it was removed from the shared store; --bring-back shares it again".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Removes outputs from the shared store; returns how many.
    fn remove_shared(&self, proved: &[Handle]) -> Result<u64, CliError> {
        let mut removed = 0;
        for handle in proved {
            match self.store.delete(handle) {
                Ok(()) => removed += 1,
                Err(forebay::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(removed)
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
            let (mut is_proved, mut proved) = (true, Vec::new());
            for handle in arrived {
                match verify_output(self.local, &handle)?.first() {
                    None => {
                        moved.proved += 1;
                        moved.bytes += self.local.record(&handle)?.kept();
                        proved.push(handle);
                    }
                    Some(fault) => {
                        is_proved = false;
                        moved.stays.push((handle, fault.to_string()));
                    }
                }
            }
            if self.which.remove && whole && is_proved {
                moved.removed += self.remove_shared(&proved)?;
                // What another machine has shared meanwhile stays, and then the events do too.
                self.store.remove_notes(&session)?;
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
            "renamed": moved.renamed.iter().map(|(here, there)| json!([here.to_string(), there.to_string()]))
                .collect::<Vec<_>>(),
            "growing": moved.growing.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "stays": moved.stays.iter().map(|(handle, why)| json!({ "handle": handle.to_string(), "why": why }))
                .collect::<Vec<_>>(),
        }));
    }
    let to = match args.direction {
        Direction::In { .. } => shared.place(),
        Direction::Out(_) => context.store.root().display().to_string(),
    };
    let removed = match moved.removed {
        0 => String::new(),
        removed => format!("; {} originals removed", grouped(removed)),
    };
    let mut text = format!(
        "{}, {}, proved in {to}{removed}\n",
        count("output", moved.proved),
        print::bytes(moved.bytes)
    );
    for (here, there) in &moved.renamed {
        text.push_str(&format!(
            "{here} is shared as {there}, and stays here too: its name belongs to another machine's output\n"
        ));
    }
    for handle in &moved.growing {
        text.push_str(&format!("{handle} still grows: run the same command again when it has ended\n"));
    }
    for (handle, why) in &moved.stays {
        text.push_str(&format!("{handle} stays where it is: {why}\n"));
    }
    print::out(text.as_bytes())
}
