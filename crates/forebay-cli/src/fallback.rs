//! The fallback root: the place for outputs if the root is not writable.
//!
//! It is `$TMPDIR/forebay-fallback-<user>/<hash of the root>`, and only its owner can open it. A folder of that name
//! that another user created is not used. Reads search it after the root, and sweeps include it.

use forebay::store::retention::Weight;
use forebay::store::{Reservation, Reserved, Rooms, Sink};
use forebay::{Call, DiskStore, Handle, InUse, Part, ReadAt, Record, Result, Session, Store};
use rustix::fs::{Access, access};
use std::{
    env,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Why outputs of a session cannot be kept below a root, as far as that shows without writing.
pub(crate) fn why_not_in(root: &Path, session: &Session) -> Option<String> {
    let folder = root.join(session.as_str());
    ["tool", "terminal"].iter().find_map(|name| {
        let folder = folder.join(name);
        // What is not there yet is made below the nearest folder that is.
        let found = folder.ancestors().find_map(|path| match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some((path, found)),
        });
        let (path, found) = found?;
        let why = match found {
            Err(error) => error.to_string(),
            Ok(found) if !found.is_dir() => "it is not a folder".to_owned(),
            Ok(_) => match access(path, Access::WRITE_OK | Access::EXEC_OK) {
                Err(error) => io::Error::from(error).to_string(),
                Ok(()) => return None,
            },
        };
        Some(format!("{}: {why}", path.display()))
    })
}

fn folder(root: &Path) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    let name = forebay::fingerprint(root.as_os_str().as_encoded_bytes());
    let folder = env::temp_dir().join(format!("forebay-fallback-{user}")).join(name);
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Makes the fallback of a root.
pub(crate) fn make(root: &Path) -> std::result::Result<PathBuf, String> {
    let folder = folder(root);
    for path in [folder.parent().unwrap_or(&folder), &folder] {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(format!("{}: {error}", path.display()));
            }
            _ if !is_ours(path) => {
                return Err(format!("{} is not a folder that only you can use", path.display()));
            }
            _ => {}
        }
    }
    Ok(folder)
}

/// The fallback of a root, if outputs were kept there.
pub(crate) fn existing(root: &Path) -> Option<PathBuf> {
    let folder = folder(root);
    (is_ours(folder.parent()?) && is_ours(&folder)).then_some(folder)
}

/// Moves what was kept in the fallback of a root into the root, which can be written now: whole sessions, but for those in
/// which something is still written. What cannot be moved stays where reads find it.
pub(crate) fn take_in(root: &Path) {
    let Some(folder) = existing(root) else { return };
    for session in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let Some(name) = session.file_name().to_str().and_then(|name| name.parse::<Session>().ok()) else {
            continue;
        };
        if session.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = take_in_session(&session.path(), root, &name);
        }
    }
}

fn take_in_session(from: &Path, root: &Path, name: &Session) -> io::Result<()> {
    let mut files = Vec::new();
    for kind in ["tool", "terminal"] {
        match fs::read_dir(from.join(kind)) {
            Ok(found) => files.extend(found.flatten().map(|file| (kind, file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let is_plain = |file: &fs::DirEntry| file.file_type().is_ok_and(|kind| kind.is_file());
    let is_growing =
        |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "part");
    if files.iter().any(|(_, file)| !is_plain(file) || is_growing(file)) {
        return Ok(());
    }
    let events = fs::read(from.join("events.jsonl")).unwrap_or_default();
    if files.is_empty() && events.is_empty() {
        return Ok(());
    }
    // A record names the bytes, so they come first.
    files.sort_by_key(|(_, file)| file.path().to_string_lossy().ends_with(".meta.json"));
    for (kind, file) in files {
        let folder = root.join(name.as_str()).join(kind);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let to = folder.join(file.file_name());
        if to.symlink_metadata().is_err() {
            move_file(&file.path(), &to)?;
        }
    }
    let store = DiskStore::new(root);
    for line in events.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        store.log(name, line).map_err(io::Error::other)?;
    }
    fs::remove_file(from.join("events.jsonl"))
}

/// Moves a file, also to another disk.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            fs::copy(from, to)?;
            fs::remove_file(from)
        }
        moved => moved,
    }
}

/// Whether this is a folder, not a link to one, that belongs to this user and that no other user can open.
pub(crate) fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0
    })
}

/// A root and its fallback as one store for readers: outputs missing in the root are read from the fallback.
pub(crate) struct WithFallback {
    pub(crate) root: DiskStore,
    pub(crate) fallback: DiskStore,
}

impl WithFallback {
    /// The same two folders.
    pub(crate) fn again(&self) -> WithFallback {
        WithFallback {
            root: self.root.at(self.root.root()),
            fallback: self.fallback.at(self.fallback.root()),
        }
    }

    /// The answer of the root, or else that of the fallback.
    fn either<T>(&self, ask: impl Fn(&DiskStore) -> Result<T>) -> Result<T> {
        ask(&self.root).or_else(|error| ask(&self.fallback).map_err(|_| error))
    }

    /// Answers of both. An error of the root is ignored if the fallback has something.
    fn both<T>(&self, ask: impl Fn(&DiskStore) -> Result<Vec<T>>) -> Result<Vec<T>> {
        let more = ask(&self.fallback).unwrap_or_default();
        match ask(&self.root) {
            Ok(mut found) => {
                found.extend(more);
                Ok(found)
            }
            Err(error) if more.is_empty() => Err(error),
            Err(_) => Ok(more),
        }
    }
}

impl Store for WithFallback {
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        self.either(|store| store.create(handle, call))
    }

    fn record(&self, handle: &Handle) -> Result<Record> {
        self.either(|store| store.record(handle))
    }

    fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>> {
        self.either(|store| store.open_part(handle, part))
    }

    fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()> {
        self.either(|store| store.attach(handle, part, bytes))
    }

    fn list(&self, session: &Session) -> Result<Vec<Record>> {
        let mut records = self.both(|store| store.list(session))?;
        records.sort_by(|a, b| (a.call.at, &a.handle).cmp(&(b.call.at, &b.handle)));
        Ok(records)
    }

    fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>> {
        let mut ids = self.both(|store| store.ids(session, prefix))?;
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        let mut sessions = self.both(Store::sessions)?;
        sessions.sort();
        sessions.dedup();
        Ok(sessions)
    }

    fn weights(&self, session: &Session) -> Result<Vec<Weight>> {
        self.both(|store| store.weights(session))
    }

    fn delete(&self, handle: &Handle) -> Result<()> {
        self.either(|store| store.delete(handle))
    }

    fn share(&self, newer: &Handle, older: &Handle) -> Result<()> {
        self.either(|store| store.share(newer, older))
    }

    fn path(&self, handle: &Handle) -> Option<PathBuf> {
        self.root.path(handle).or_else(|| self.fallback.path(handle))
    }

    fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
        self.either(|store| store.log(session, line))
    }

    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
        let logs = self.both(|store| Ok(vec![store.open_log(session)?]))?;
        Ok(Box::new(Joined(logs)))
    }
}

impl Rooms for WithFallback {
    fn in_use(&self, session: &Session) -> Result<InUse> {
        self.either(|store| store.in_use(session))
    }

    fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()> {
        self.either(|store| store.set_in_use(session, in_use))
    }

    fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved> {
        self.either(|store| store.reserve(session, wanted))
    }
}

/// Two sequences of bytes, one after the other.
struct Joined(Vec<Box<dyn ReadAt>>);

impl ReadAt for Joined {
    fn size(&self) -> io::Result<u64> {
        self.0.iter().map(|part| part.size()).sum()
    }

    fn read_at(&self, mut offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        for part in &self.0 {
            let size = part.size()?;
            if offset < size {
                let most = usize::try_from(size - offset).unwrap_or(usize::MAX).min(buffer.len());
                return part.read_at(offset, &mut buffer[..most]);
            }
            offset -= size;
        }
        Ok(0)
    }
}
