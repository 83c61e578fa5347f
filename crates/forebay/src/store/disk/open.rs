//! Sessions that a process holds open.
//!
//! A process that works in a session holds a shared lock on its `open.lock`, and a sweep takes an exclusive one. The
//! kernel frees the lock of a process however it ends, so no lock outlives its holder.

use crate::store::disk::files::{self, is_at, lock_file, make_folder};
use crate::store::disk::{ATTEMPTS, DiskStore, is_swept};
use crate::{Error, Result, Session};
use std::{fs::File, io};

pub(crate) const OPEN: &str = "open.lock";

/// A lock on a session, freed when this is dropped or its process is gone.
#[derive(Debug)]
#[must_use = "the session is let go when this is dropped"]
pub struct Held {
    /// Guards the session against a sweep. `None` if there is no lock file, and so no holder.
    _lock: Option<File>,
}

impl DiskStore {
    /// Holds a session open: as long as the answer lives, nothing of the session is swept. Where another process keeps
    /// the lock for itself, that is an error after about two seconds.
    pub fn hold_open(&self, session: &Session) -> Result<Held> {
        let folder = self.session_folder(session)?;
        let path = folder.join(OPEN);
        let cannot = || Error::store(format!("hold {} open", folder.display()));
        let mut attempt = 1;
        loop {
            match make_folder(&folder).and_then(|()| lock_file(&path)) {
                Ok(file) => {
                    self.patience.lock_shared(&file).map_err(cannot())?;
                    if is_at(&file, &path) {
                        return Ok(Held { _lock: Some(file) });
                    }
                }
                Err(error) if attempt < ATTEMPTS && is_swept(&error) => {}
                Err(error) => return Err(cannot()(error)),
            }
            attempt += 1;
        }
    }

    /// Locks a session in order to sweep it; `None` while it is held open. Never waits. A missing lock file is
    /// created only if `make` is set: a dry run must leave no trace.
    pub(crate) fn unless_open(&self, session: &Session, make: bool) -> Option<Held> {
        let path = self.root().join(session.as_str()).join(OPEN);
        let opened = if make { lock_file(&path) } else { files::read(&path) };
        match opened {
            Ok(file) => {
                (file.try_lock().is_ok() && is_at(&file, &path)).then_some(Held { _lock: Some(file) })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Held { _lock: None }),
            // A folder that cannot be read is not ours to sweep.
            Err(_) => None,
        }
    }
}
