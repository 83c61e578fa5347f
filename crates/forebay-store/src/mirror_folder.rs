//! The folder `.mirror` of a local root, through which writers and mirrors communicate.
//!
//! ```text
//! <root>/.mirror/todo/<session>     a writer has added something to the session
//! <root>/.mirror/doing/<session>    a mirror has begun with it and not finished
//! <root>/.mirror/lock               locked by the running mirror
//! <root>/.mirror/origin             the name of this root among all mirrored ones
//! <root>/.mirror/status.json        state of the last mirror
//! <root>/.mirror/rooms/<session>    tokens counted while the shared store was unreachable
//! <root>/.mirror/away               written when the shared store could not count tokens
//! ```
//!
//! A mirror moves a session from `todo` to `doing` before it reads the session. A later change creates a new file in
//! `todo`, so nothing is missed, even if the mirror is killed.

use crate::room_notes::RoomNotes;
use forebay::{Session, Timestamp};
use serde_json::json;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Folders of the notes that no mirror has seen, and of those that a mirror works on.
const NOTED: &str = "todo";
const DOING: &str = "doing";
const LOCK: &str = "lock";
const ORIGIN: &str = "origin";
const STATUS: &str = "status.json";
const ROOMS: &str = "rooms";
const AWAY: &str = "away";

/// Time for which no tokens are counted in a shared store that did not answer in time.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// The folder `.mirror` of a local root.
#[derive(Clone, Debug)]
pub struct MirrorFolder {
    folder: PathBuf,
}

/// State of the mirrors of a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fared {
    /// Time of the last pass that reached the shared store.
    pub reached: Option<Timestamp>,
    /// Passes that have failed since then.
    pub failures: u64,
    /// The error of the last pass, if it failed.
    pub error: Option<String>,
}

impl MirrorFolder {
    /// The folder of a root. It is not created yet.
    pub fn of(root: &Path) -> MirrorFolder {
        MirrorFolder { folder: root.join(".mirror") }
    }

    /// Notes that a session may have something to share.
    pub fn note(&self, session: &Session) -> io::Result<()> {
        let file = self.folder.join(NOTED).join(session.as_str());
        match touch(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make()?;
                touch(&file)
            }
            noted => noted,
        }
    }

    /// Token counts of a session that were noted while the shared store was unreachable.
    pub(crate) fn room_notes(&self, session: &Session) -> RoomNotes {
        RoomNotes::at(self.folder.join(ROOMS).join(session.as_str()))
    }

    /// Notes that the shared store did not count tokens in time.
    pub(crate) fn note_away(&self) -> io::Result<()> {
        self.make()?;
        fs::write(self.folder.join(AWAY), "")
    }

    /// Whether the shared store recently failed to count tokens in time, for this process or another one.
    pub(crate) fn is_away(&self) -> bool {
        let noted = fs::metadata(self.folder.join(AWAY)).and_then(|noted| noted.modified());
        noted.is_ok_and(|at| at.elapsed().is_ok_and(|since| since < LEFT_ALONE))
    }

    /// The sessions that are noted as having something to share. The stores are not compared.
    pub fn sessions(&self) -> io::Result<Vec<Session>> {
        let mut sessions = names_in(&self.folder.join(NOTED))?;
        sessions.extend(names_in(&self.folder.join(DOING))?);
        sessions.sort();
        sessions.dedup();
        Ok(sessions)
    }

    /// Age of the oldest note that no mirror has processed; `None` if there is none.
    pub fn lag(&self) -> Option<Duration> {
        let folders = [NOTED, DOING].map(|name| fs::read_dir(self.folder.join(name)));
        let notes = folders.into_iter().flatten().flatten().flatten();
        let times = notes.filter_map(|note| note.metadata().ok()?.modified().ok());
        times.min().map(|oldest| oldest.elapsed().unwrap_or_default())
    }

    /// Whether a mirror of this root is running.
    pub fn is_served(&self) -> bool {
        match self.lock() {
            Ok(lock) => matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)),
            Err(_) => false,
        }
    }

    /// Becomes the mirror of this root; `None` if another one is running. Dropping the value allows another mirror.
    pub fn serve(&self) -> io::Result<Option<Serving>> {
        self.make()?;
        let lock = self.lock()?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Serving { folder: self.clone(), _lock: lock })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// The name of this root among all mirrored ones. It is random and not derived from the machine, since a volume
    /// with a root may be used by one container after another.
    pub fn origin(&self) -> io::Result<String> {
        let file = self.folder.join(ORIGIN);
        if let Ok(name) = fs::read_to_string(&file)
            && !name.is_empty()
        {
            return Ok(name);
        }
        self.make()?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = forebay::fresh_id(random);
        // If two processes do this at once, the first one's name stays.
        let made = self.folder.join(format!("{ORIGIN}.{name}"));
        fs::write(&made, &name)?;
        let linked = fs::hard_link(&made, &file);
        fs::remove_file(&made)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => fs::read_to_string(&file),
        }
    }

    /// State of the mirrors.
    pub fn fared(&self) -> Fared {
        let read = fs::read(self.folder.join(STATUS)).ok();
        let value: serde_json::Value =
            read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Fared {
            reached: value["reached"].as_str().and_then(|at| at.parse().ok()),
            failures: value["failures"].as_u64().unwrap_or(0),
            error: value["error"].as_str().map(str::to_owned),
        }
    }

    /// The file that the running mirror locks.
    fn lock(&self) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(self.folder.join(LOCK))
    }

    fn make(&self) -> io::Result<()> {
        for folder in [NOTED, DOING] {
            DirBuilder::new().recursive(true).mode(0o700).create(self.folder.join(folder))?;
        }
        Ok(())
    }
}

/// The right to be the mirror of a root.
#[derive(Debug)]
pub struct Serving {
    folder: MirrorFolder,
    _lock: File,
}

impl Serving {
    /// State of the mirrors.
    pub fn fared(&self) -> Fared {
        self.folder.fared()
    }

    /// Records that the shared store could not be opened.
    pub fn failed(&self, error: String, failures: u64) -> io::Result<()> {
        self.remember(&Fared { failures, error: Some(error), ..self.fared() })
    }

    /// Moves all notes to `doing`; returns all sessions in it.
    pub(crate) fn begin(&self) -> io::Result<Vec<Session>> {
        for session in names_in(&self.folder.folder.join(NOTED))? {
            fs::rename(self.file(NOTED, &session), self.file(DOING, &session))?;
        }
        names_in(&self.folder.folder.join(DOING))
    }

    /// Marks a session as shared, up to what it had when `begin` was called.
    pub(crate) fn done(&self, session: &Session) -> io::Result<()> {
        fs::remove_file(self.file(DOING, session))
    }

    /// Records the result of a pass.
    pub(crate) fn remember(&self, fared: &Fared) -> io::Result<()> {
        let value = json!({
            "reached": fared.reached.map(|at| at.to_string()), "failures": fared.failures, "error": fared.error,
        });
        let new = self.folder.folder.join(format!("{STATUS}.new"));
        fs::write(&new, value.to_string())?;
        fs::rename(new, self.folder.folder.join(STATUS))
    }

    fn file(&self, folder: &str, session: &Session) -> PathBuf {
        self.folder.folder.join(folder).join(session.as_str())
    }
}

fn touch(file: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(file).map(drop)
}

fn names_in(folder: &Path) -> io::Result<Vec<Session>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_while_a_session_is_worked_on_is_begun_with_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = MirrorFolder::of(root.path());
        let sessions = ["a", "b"].map(Session::safe);
        assert_eq!((folder.sessions().unwrap(), folder.lag()), (vec![], None));
        folder.note(&sessions[0]).unwrap();
        assert!(folder.lag().is_some());
        folder.note(&sessions[1]).unwrap();
        let serving = folder.serve().unwrap().unwrap();
        assert_eq!(serving.begin().unwrap().len(), 2);
        folder.note(&sessions[0]).unwrap();
        for session in &sessions {
            serving.done(session).unwrap();
        }
        assert_eq!(folder.sessions().unwrap(), sessions[..1]);
        assert_eq!(serving.begin().unwrap(), sessions[..1]);
        drop(serving);
        assert_eq!(folder.serve().unwrap().unwrap().begin().unwrap(), sessions[..1], "a mirror was killed");
    }

    #[test]
    fn a_root_has_one_mirror_and_one_name() {
        let root = tempfile::tempdir().unwrap();
        let folder = MirrorFolder::of(root.path());
        assert!(!folder.is_served());
        let serving = folder.serve().unwrap();
        assert!(serving.is_some() && folder.is_served() && folder.serve().unwrap().is_none());
        drop(serving);
        assert!(!folder.is_served());
        let name = folder.origin().unwrap();
        assert_eq!(folder.origin().unwrap(), name);
        assert!(name.len() > 10, "{name}");
        assert_ne!(MirrorFolder::of(&root.path().join("other")).origin().unwrap(), name);
    }

    #[test]
    fn how_a_mirror_fared_is_remembered() {
        let root = tempfile::tempdir().unwrap();
        let folder = MirrorFolder::of(root.path());
        assert_eq!(folder.fared(), Fared::default());
        let fared = Fared {
            reached: Some(Timestamp::from_second(5).unwrap()),
            failures: 3,
            error: Some("away".to_owned()),
        };
        folder.serve().unwrap().unwrap().remember(&fared).unwrap();
        assert_eq!(folder.fared(), fared);
    }
}
