//! A folder for the outputs of one process, which is removed when the process ends.
//!
//! ```text
//! <root>/run-<12 characters>/run.lock      locked as long as the process lives
//!                            <session>/…   as in any root
//! ```
//!
//! A run folder whose lock is free was left by a dead process. The lock proves this; a process id could not, because ids
//! are reused. A folder gets its lock file only when the file is locked, so a new folder never looks dead.

use crate::store::disk::files::{self, beside, is_at, make_folder, names_in};
use crate::store::disk::root::{KEY, MARKER};
use crate::store::disk::turn::SWEPT;
use crate::store::disk::{DiskStore, sweep};
use crate::{Error, Result, Timestamp, fresh_id};
use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

const LOCK: &str = "run.lock";
const PREFIX: &str = "run-";
const LENGTH: usize = 12;

/// The folder of a process that lives. When it is dropped, the folder goes, but for outputs that are in use.
#[derive(Debug)]
#[must_use = "the folder is removed when this is dropped"]
pub struct RunFolder {
    path: PathBuf,
    /// Says that the process lives.
    lock: File,
}

impl RunFolder {
    /// Makes a run folder below `root`. The library has no clock and no chance: when the process started and random
    /// bits are the caller's.
    pub fn new(root: &Path, pid: u32, started: Timestamp, random: [u8; 16]) -> Result<RunFolder> {
        let path = root.join(format!("{PREFIX}{}", run_name(pid, started, random)));
        let cannot = || Error::store(format!("make the run folder {}", path.display()));
        make_folder(root).map_err(cannot())?;
        DiskStore::new(root).mark();
        DirBuilder::new().mode(0o700).create(&path).map_err(cannot())?;
        let name = path.join(LOCK);
        let beside = beside(&name);
        let locked = files::create(&beside).and_then(|lock| {
            lock.try_lock()?;
            fs::rename(&beside, &name)?;
            Ok(lock)
        });
        match locked {
            Ok(lock) => {
                DiskStore::new(&path).mark();
                Ok(RunFolder { path, lock })
            }
            Err(error) => {
                let _ = fs::remove_file(&beside).and_then(|()| fs::remove_dir(&path));
                Err(cannot()(error))
            }
        }
    }

    /// The folder: the root of the outputs of this process.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `folder` is a run folder whose process lives.
    pub fn is_alive(folder: &Path) -> bool {
        files::read(&folder.join(LOCK)).is_ok_and(|lock| lock.try_lock_shared().is_err())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        remove(&self.path);
        let _ = self.lock.unlock();
    }
}

/// Twelve characters that no other run has: from the process, its start, and random bits in case both come again.
pub fn run_name(pid: u32, started: Timestamp, random: [u8; 16]) -> String {
    let seed = [&pid.to_be_bytes()[..], &started.as_nanosecond().to_be_bytes(), &random].concat();
    let mut bits = [0; 16];
    bits.copy_from_slice(&blake3::hash(&seed).as_bytes()[..16]);
    let mut name = fresh_id(bits);
    name.truncate(LENGTH);
    name
}

/// Whether a folder is one of ours; a session may have any name.
pub(crate) fn is_run_folder(folder: &Path) -> bool {
    files::stat(&folder.join(LOCK)).is_some_and(|lock| lock.is_file() && lock.len() == 0)
}

/// Whether a folder may be called so if it is a run's.
pub(crate) fn is_run_name(name: &str) -> bool {
    let is_ours = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == LENGTH && rest.bytes().all(is_ours))
}

impl DiskStore {
    /// Removes the run folders of dead processes, and returns them. Folders of live processes, and those in use,
    /// stay.
    pub fn sweep_runs(&self, now: Timestamp, dry_run: bool) -> Result<Vec<PathBuf>> {
        let mut gone = Vec::new();
        if !self.is_ours(dry_run) {
            return Ok(gone);
        }
        for name in names_in(self.root())? {
            let folder = self.root().join(&name);
            if is_run_name(&name) && files::is_folder(&folder) && sweep_run(&folder, now, dry_run) {
                gone.push(folder);
            }
        }
        Ok(gone)
    }
}

fn sweep_run(folder: &Path, now: Timestamp, dry_run: bool) -> bool {
    let path = folder.join(LOCK);
    match files::read(&path) {
        Ok(lock) => lock.try_lock().is_ok() && is_at(&lock, &path) && (dry_run || remove(folder)),
        // Its process ended between making the folder and locking it, or between the last two steps of removing it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            sweep::is_left_over(folder, now) && is_bare(folder) && (dry_run || remove_bare(folder))
        }
        Err(_) => false,
    }
}

/// Removes a run folder whose lock we hold; returns whether it is gone. Outputs in use keep the folder.
fn remove(folder: &Path) -> bool {
    let store = DiskStore::new(folder);
    // A run may be started inside a run.
    let nested = store.sweep_runs(Timestamp::MAX, false).is_ok()
        && names_in(folder).is_ok_and(|names| !names.iter().any(|name| is_run_folder(&folder.join(name))));
    let Ok(sessions) = store.session_folders() else { return false };
    let mut empty = nested;
    for session in sessions {
        empty &=
            store.remove_session(&session, Timestamp::MAX, false).is_ok_and(|report| report.stays.is_empty());
    }
    empty && is_bare(folder) && remove_bare(folder)
}

/// Whether a run folder contains only its own files.
fn is_bare(folder: &Path) -> bool {
    names_in(folder).is_ok_and(|names| names.iter().all(|name| is_own(name)))
}

/// Whether a file of a run folder is its own and no session's.
fn is_own(name: &str) -> bool {
    [LOCK, MARKER, KEY, SWEPT].contains(&name) || files::is_temporary(name)
}

/// Removes a run folder that has only its own files. The lock file goes last, because it excludes other processes.
fn remove_bare(folder: &Path) -> bool {
    let mut names = names_in(folder).unwrap_or_default();
    names.sort_by_key(|name| name == LOCK);
    for name in names.iter().filter(|name| is_own(name)) {
        let _ = fs::remove_file(folder.join(name));
    }
    fs::remove_dir(folder).is_ok()
}
