//! A store of plain files, which a person, `rg`, `jq` and an agent's own tools can read.
//!
//! ```text
//! <root>/<session>/tool/<id>.txt | .json | .bin    the bytes, verbatim
//! <root>/<session>/terminal/<id>.log               the bytes of a wrapped command
//!                          <id>.meta.json          the record
//!                          <id>.lines              the line index, of an output over 64 KiB
//!                          <id>.streams            the stream of each stretch, if there were two
//!                          <id>.view.json          the view that the model was shown
//! <root>/<session>/<id>                            a hard link to the bytes, if a view named it (preset `handle`)
//! <root>/.forebay-root                             marks the root as ours
//! <root>/.forebay-key                              key of the tags in masks of secrets
//! ```
//!
//! While it is written, an output has the name `<id>.part`, and its writer holds a lock on it. An unlocked part was
//! left by a dead writer: it is measured and kept as an output that was cut short.
//!
//! A reader holds a shared lock on the bytes of a finished output, and a process that holds a session open one on its
//! `open.lock`. A sweep removes only files that it can lock exclusively.

pub(crate) mod files;
pub(crate) mod open;
pub(crate) mod root;
pub(crate) mod run_folder;
pub(crate) mod sweep;
pub(crate) mod turn;

pub use open::Held;
pub use run_folder::{RunFolder, run_name};
pub use sweep::{Gone, Report, Sweep};

use crate::event;
use crate::output::{BLOCK, ReadAt};
use crate::size::Measure;
use crate::store::retention::Weight;
use crate::store::rooms::InUse;
use crate::store::writer::Writer;
use crate::store::{Part, Reservation, Reserved, Rooms, Sink, Store};
use crate::{Call, Error, Handle, Kind, Record, Result, Session, State};
use files::{Patience, Refused, beside, claim, names_in, replace};
use run_folder::is_run_folder;
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

const FOLDERS: [&str; 2] = ["tool", "terminal"];
const META: &str = ".meta.json";
/// File extensions of the bytes: three of finished outputs, and one of growing outputs.
const DATA: [&str; 5] = [".log", ".txt", ".json", ".bin", ".part"];
/// File extensions of the other parts.
const PARTS: [&str; 3] = [".lines", ".streams", ".view.json"];
const EVENTS: &str = "events.jsonl";
const STATE: &str = "state.json";
const STATE_LOCK: &str = "state.json.lock";

/// Maximum attempts to create a folder that other processes remove while an output begins.
const ATTEMPTS: usize = 64;

/// Maximum bytes of an output that is synced to the disk before it counts as complete. A larger one survives the end of
/// any process, but a power cut may lose its end, which `verify` reports.
const SYNCED: u64 = 16 * 1024 * 1024;

/// Keeps outputs as files below a folder.
pub struct DiskStore {
    root: PathBuf,
    /// Whether readers get the paths of files.
    tells_paths: bool,
    /// Called with every event that this store logs.
    observer: Option<Observer>,
    /// Waits for locks that other processes hold.
    patience: Patience,
    /// Guards the first note that could not be written because another process locks the file, or because it is not a
    /// regular file.
    problem: Mutex<Option<String>>,
    /// Key of the tags in masks of secrets, once it is known. It is written with the first output.
    key: OnceLock<[u8; 32]>,
}

/// A listener for the events that a store logs: the session, and the event's line without its newline.
pub type Observer = Arc<dyn Fn(&Session, &[u8]) + Send + Sync>;

impl DiskStore {
    /// A store below `root`, which is created with the first output.
    pub fn new(root: impl Into<PathBuf>) -> DiskStore {
        DiskStore {
            root: root.into(),
            tells_paths: true,
            observer: None,
            patience: Patience::default(),
            problem: Mutex::default(),
            key: OnceLock::new(),
        }
    }

    /// A store with another root and the same listener.
    pub fn at(&self, root: impl Into<PathBuf>) -> DiskStore {
        DiskStore::new(root).observed(self.observer.clone())
    }

    /// The same store for remote readers: views and records contain no paths.
    pub fn without_paths(self) -> DiskStore {
        DiskStore { tells_paths: false, ..self }
    }

    /// The same store with a listener, so that a program can print events as they happen.
    pub fn observed(self, observer: Option<Observer>) -> DiskStore {
        DiskStore { observer, ..self }
    }

    /// The folder that holds everything.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Notes that could not be written because another process locks a file of the store, or because it is not a regular
    /// file. The outputs are stored all the same; the caller should report this.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers why a note could not be written, if that is for [`DiskStore::problem`].
    fn noticed<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error @ Error::Store { source, .. }) = &result
            && Refused::is(source)
        {
            let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
            problem.get_or_insert_with(|| error.to_string());
        }
        result
    }

    /// The folder of a session. One that is a link leads out of the root, and is refused.
    fn session_folder(&self, session: &Session) -> Result<PathBuf> {
        let path = self.root.join(session.as_str());
        files::check_folder(&path).map_err(Error::store(format!("use {}", path.display())))?;
        Ok(path)
    }

    /// One of the folders of a session that hold outputs; a link is refused.
    fn folder(&self, session: &Session, folder: &str) -> Result<PathBuf> {
        let path = self.session_folder(session)?.join(folder);
        files::check_folder(&path).map_err(Error::store(format!("use {}", path.display())))?;
        Ok(path)
    }

    /// The files of an output that exists.
    fn files(&self, handle: &Handle) -> Result<Files> {
        for folder in FOLDERS {
            let files = Files::new(self.folder(handle.session(), folder)?, handle);
            let meta = files.meta();
            match fs::symlink_metadata(&meta) {
                Ok(_) => return Ok(files),
                Err(error) if is_missing(&error) => {}
                // A folder that may not be looked into is not a folder without the output.
                Err(error) => return Err(Error::store(format!("read {}", meta.display()))(error)),
            }
        }
        Err(Error::NotFound { wanted: handle.to_string() })
    }

    /// Continues an output that another process has begun and handed over with its open file.
    pub fn resume(&self, handle: &Handle, file: File) -> Result<Writer<'_>> {
        let files = self.files(handle)?;
        let record = files.read_record()?;
        let path = files.part(Part::Bytes);
        let cannot = || Error::store(format!("go on writing {}", path.display()));
        let mut so_far = files::read(&path).map_err(cannot())?;
        let (measure, index) = measured(&mut so_far).map_err(cannot())?;
        let appended = so_far.size().map_err(cannot())?;
        replace(&files.part(Part::Lines), &index).map_err(cannot())?;
        let open = |part| files::append(&files.part(part)).map_err(cannot());
        let sink = DiskSink {
            handle: handle.clone(),
            lines: Some(open(Part::Lines)?),
            streams: Some(open(Part::Streams)?),
            file,
            appended,
            files,
        };
        let output = self.open(handle)?;
        Writer::resume(self, Box::new(sink), record, measure, &output)
    }

    /// The record of an output; one whose writer is dead is brought to its end first.
    fn current(&self, files: &Files) -> Result<Record> {
        let mut record = files.read_record()?;
        if record.state != State::Growing {
            return Ok(record);
        }
        // Somebody took the file away.
        let Some((path, file)) = files.open_data()? else {
            return Err(Error::NotFound { wanted: record.handle.to_string() });
        };
        // Readers lock what has its last name, and a writer may die before it has written that it is whole.
        let alive = file.try_lock().is_err() && (is_part(&path) || file.try_lock_shared().is_err());
        if alive {
            // Its writer is alive, or has ended it just now.
            record = files.read_record()?;
            if record.state == State::Growing {
                record.size.bytes = file.metadata().map_or(0, |data| data.len());
            }
            Ok(record)
        } else {
            self.recover(files, file, &path)
        }
    }

    fn try_create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        let session = handle.session();
        let cannot = |path: &Path| Error::store(format!("write {}", path.display()));
        let folder = self.folder(session, FOLDERS[usize::from(call.terminal)])?;
        files::make_folder(&folder).map_err(cannot(&folder))?;
        self.mark();
        let files = Files::new(folder, handle);
        let other = Files::new(self.folder(session, FOLDERS[usize::from(!call.terminal)])?, handle);
        let is_taken = |files: &Files| files::stat(&files.meta()).is_some();
        if is_taken(&files) || is_taken(&other) {
            return Ok(None);
        }
        // A part that nobody has locked is what a dead writer left, so the file has its name only when it is locked; and
        // the process that makes the record's file owns the name, so that nobody sees an output without a part.
        let (path, beside) = (files.part(Part::Bytes), beside(&files.part(Part::Bytes)));
        let opened = files::create(&beside).and_then(|file| {
            file.try_lock()?;
            fs::hard_link(&beside, &path)?;
            Ok(file)
        });
        let _ = fs::remove_file(&beside);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(cannot(&path)(error)),
        };
        let claimed = match claim(&files.meta(), &to_json(&Record::begin(handle.clone(), call.clone()))) {
            Ok(()) if is_taken(&other) => {
                let _ = fs::remove_file(files.meta());
                Err(io::ErrorKind::AlreadyExists.into())
            }
            claimed => claimed,
        };
        match claimed {
            Ok(()) => {
                let handle = handle.clone();
                Ok(Some(Box::new(DiskSink { handle, files, file, appended: 0, lines: None, streams: None })))
            }
            Err(error) => {
                let _ = fs::remove_file(&path);
                match error.kind() {
                    io::ErrorKind::AlreadyExists => Ok(None),
                    _ => Err(cannot(&files.meta())(error)),
                }
            }
        }
    }

    /// Ends an output of a dead writer. If nothing can be written, the result is the same, and the next reader
    /// repeats the work.
    fn recover(&self, files: &Files, mut file: File, path: &Path) -> Result<Record> {
        let mut record = files.read_record()?;
        if record.state != State::Growing {
            return Ok(record);
        }
        let (measure, index) =
            measured(&mut file).map_err(Error::store(format!("read {}", path.display())))?;
        record.abandoned(measure.finish());
        let written = if index.is_empty() { Ok(()) } else { replace(&files.part(Part::Lines), &index) };
        record.ended =
            file.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.try_into().ok());
        if written.is_ok()
            && fs::rename(path, files.finished(&record)).is_ok()
            && files.write_record(&record).is_ok()
        {
            event::log_end(self, &record);
        }
        Ok(record)
    }
}

impl Store for DiskStore {
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        let mut attempt = 1;
        loop {
            match self.try_create(handle, call) {
                Err(Error::Store { source, .. }) if attempt < ATTEMPTS && is_swept(&source) => attempt += 1,
                created => return created,
            }
        }
    }

    fn record(&self, handle: &Handle) -> Result<Record> {
        self.current(&self.files(handle)?)
    }

    fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>> {
        let files = self.files(handle)?;
        let opened = match part {
            Part::Bytes => files.open_data()?.map(|(path, file)| {
                if !is_part(&path) {
                    // Says that the output is in use. On a part, a lock would say that its writer lives. Where none
                    // can be had, the open file can be read all the same.
                    let _ = file.try_lock_shared();
                }
                file
            }),
            _ => {
                let path = files.part(part);
                files::read_if_any(&path).map_err(Error::store(format!("read {}", path.display())))?
            }
        };
        Ok(match opened {
            Some(file) => Box::new(file),
            None => Box::new(Vec::new()),
        })
    }

    fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()> {
        let path = self.files(handle)?.part(part);
        replace(&path, bytes).map_err(Error::store(format!("write {}", path.display())))
    }

    fn list(&self, session: &Session) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for id in self.ids(session, "")? {
            let handle = Handle::new(session.clone(), &id)?;
            // An output may go while we look; one whose record cannot be read must not hide the others.
            match self.record(&handle) {
                Ok(record) => records.push(record),
                Err(Error::NotFound { .. }) => {}
                Err(error) => {
                    let call = Call::new(session.clone(), &id, "?", jiff::Timestamp::UNIX_EPOCH);
                    let state = State::CutShort(error.to_string());
                    records.push(Record { state, ..Record::begin(handle, call) });
                }
            }
        }
        records.sort_by(|a, b| (a.call.at, &a.handle).cmp(&(b.call.at, &b.handle)));
        Ok(records)
    }

    fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for folder in FOLDERS {
            for name in names_in(&self.folder(session, folder)?)? {
                ids.extend(name.strip_suffix(META).filter(|id| id.starts_with(prefix)).map(str::to_owned));
            }
        }
        ids.retain(|id| Handle::new(session.clone(), id).is_ok());
        ids.sort();
        Ok(ids)
    }

    fn sessions(&self) -> Result<Vec<Session>> {
        let mut sessions: Vec<Session> = names_in(&self.root)?
            .iter()
            .filter_map(|name| name.parse().ok())
            .filter(|session| {
                let is_folder =
                    |folder: &&str| self.folder(session, folder).is_ok_and(|path| files::is_folder(&path));
                FOLDERS.iter().any(is_folder)
            })
            .filter(|session| !is_run_folder(&self.root.join(session.as_str())))
            .collect();
        sessions.sort();
        Ok(sessions)
    }

    fn weights(&self, session: &Session) -> Result<Vec<Weight>> {
        Ok(self.scan(session)?.0)
    }

    fn delete(&self, handle: &Handle) -> Result<()> {
        self.files(handle)?.remove(handle)
    }

    fn share(&self, newer: &Handle, older: &Handle) -> Result<()> {
        let cannot = || Error::store(format!("keep {newer} and {older} once"));
        let [newer, older] = [newer, older].map(|handle| self.files(handle).map(|files| files.data()));
        let (Some(newer), Some(older)) = (newer?, older?) else { return Ok(()) };
        // Somebody may have changed the older file by hand, and then its bytes are not ours.
        if !are_same(&newer, &older).map_err(cannot())? {
            return Ok(());
        }
        let linked = link_path(&newer).filter(|link| is_link_of(link, &newer));
        let beside = beside(&newer);
        let shared = fs::hard_link(&older, &beside).and_then(|()| fs::rename(&beside, &newer));
        // Two names of one file are not renamed into one: the third name stays, if they were shared before.
        let _ = fs::remove_file(&beside);
        shared.map_err(cannot())?;
        // The link must not keep a second copy.
        match linked {
            Some(link) => {
                fs::remove_file(&link).and_then(|()| fs::hard_link(&newer, &link)).map_err(cannot())
            }
            None => Ok(()),
        }
    }

    fn link(&self, handle: &Handle) -> Result<()> {
        let files = self.files(handle)?;
        let cannot = || Error::store(format!("make {handle} a path under {}", self.root.display()));
        // A writer that ends just now renames the file, so the second attempt finds it.
        for last in [false, true] {
            let Some(data) = files.data() else { break };
            let Some(link) = link_path(&data) else { return Ok(()) };
            match fs::hard_link(&data, &link) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_link_of(&link, &data) => {
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && !last => {}
                Err(error) => return Err(cannot()(error)),
            }
        }
        Err(Error::NotFound { wanted: handle.to_string() })
    }

    fn path(&self, handle: &Handle) -> Option<PathBuf> {
        if self.tells_paths { self.files(handle).ok()?.data() } else { None }
    }

    fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
        // An event that cannot be written can still be printed.
        if let Some(observer) = &self.observer {
            observer(session, line);
        }
        self.noticed(self.try_log(session, line))
    }

    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
        let path = self.session_folder(session)?.join(EVENTS);
        match files::read_if_any(&path).map_err(Error::store(format!("read {}", path.display())))? {
            Some(file) => Ok(Box::new(file)),
            None => Ok(Box::new(Vec::new())),
        }
    }
}

impl Rooms for DiskStore {
    fn in_use(&self, session: &Session) -> Result<InUse> {
        self.change_in_use(session, |in_use| Ok((in_use?, None)))
    }

    fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()> {
        self.change_in_use(session, |_| Ok(((), Some(in_use))))
    }

    fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved> {
        self.change_in_use(session, |in_use| {
            let reserved = in_use?.reserve(wanted);
            Ok((reserved, reserved.is_made.then_some(reserved.in_use)))
        })
    }
}

impl DiskStore {
    fn try_log(&self, session: &Session, line: &[u8]) -> Result<()> {
        let path = self.session_folder(session)?.join(EVENTS);
        let cannot = || Error::store(format!("write {}", path.display()));
        let mut file = match files::append(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_session(session).and_then(|()| files::append(&path)).map_err(cannot())?
            }
            opened => opened.map_err(cannot())?,
        };
        self.patience.lock(&file).map_err(cannot())?;
        // A process that is killed while it writes leaves a part of a line, which nobody had been told of.
        let size = file.metadata().map_err(cannot())?.len();
        let torn = torn_end(&file, size).map_err(cannot())?;
        if torn > 0 {
            file.set_len(size - torn).map_err(cannot())?;
        }
        file.write_all(&[line, b"\n"].concat()).map_err(cannot())
    }

    /// Changes what a session has in use. `change` gets it as it is, and returns its answer and the new state, if there is
    /// one.
    fn change_in_use<T>(
        &self,
        session: &Session,
        change: impl FnOnce(Result<InUse>) -> Result<(T, Option<InUse>)>,
    ) -> Result<T> {
        self.noticed(self.try_change_in_use(session, change))
    }

    fn try_change_in_use<T>(
        &self,
        session: &Session,
        change: impl FnOnce(Result<InUse>) -> Result<(T, Option<InUse>)>,
    ) -> Result<T> {
        let folder = self.session_folder(session)?;
        let path = folder.join(STATE);
        let cannot = || Error::store(format!("write {}", path.display()));
        self.make_session(session).map_err(cannot())?;
        // The lock is on a file of its own, because the state's file is a new one after each change.
        let lock = files::lock_file(&folder.join(STATE_LOCK)).map_err(cannot())?;
        self.patience.lock(&lock).map_err(cannot())?;
        let state = match files::whole(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(cannot())?,
        };
        let (answer, changed) = change(InUse::parse(&state, session))?;
        if let Some(changed) = changed {
            let text = serde_json::to_vec(&changed).map_err(io::Error::from).map_err(cannot())?;
            replace(&path, &text).map_err(cannot())?;
        }
        Ok(answer)
    }
}

/// Path of the hard link of an output, for tools that join the root and the handle. An id that is the name of one of our
/// folders has none.
fn link_path(data: &Path) -> Option<PathBuf> {
    let id = data.file_name()?.to_str()?.split('.').next()?;
    let is_folder = FOLDERS.iter().any(|folder| folder.eq_ignore_ascii_case(id));
    (!is_folder).then_some(data.parent()?.parent()?.join(id))
}

/// Whether a path is the hard link of an output's bytes.
fn is_link_of(link: &Path, data: &Path) -> bool {
    let both = files::stat(link).filter(|link| link.is_file()).zip(files::stat(data));
    both.is_some_and(|(link, data)| files::are_one(&link, &data))
}

/// Whether there is nothing at a path.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a step failed because a sweep removed the empty folder of its session: the folder of a file is missing, or
/// a folder that existed is gone.
fn is_swept(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
}

/// Whether these are the bytes of an output that grows.
fn is_part(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "part")
}

/// Number of bytes after the last newline.
fn torn_end(file: &File, size: u64) -> io::Result<u64> {
    let mut block = [0; 4096];
    let mut end = size;
    while end > 0 {
        if size - end > files::LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no line ends near its end; remove it"));
        }
        // Nearly always the last byte is a newline, and nothing else is read.
        let length = if end == size { 1 } else { end.min(block.len() as u64) };
        let read = &mut block[..length as usize];
        file.read_exact_at(read, end - length)?;
        if let Some(newline) = memchr::memrchr(b'\n', read) {
            return Ok(size - (end - length + newline as u64 + 1));
        }
        end -= length;
    }
    Ok(size)
}

/// The files of one output.
struct Files {
    folder: PathBuf,
    id: String,
}

impl Files {
    fn new(folder: PathBuf, handle: &Handle) -> Files {
        Files { folder, id: handle.id().to_owned() }
    }

    fn named(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}{ending}", self.id))
    }

    fn meta(&self) -> PathBuf {
        self.named(META)
    }

    fn part(&self, part: Part) -> PathBuf {
        self.named(match part {
            Part::Bytes => ".part",
            Part::Lines => ".lines",
            Part::Streams => ".streams",
            Part::View => ".view.json",
        })
    }

    /// Names that the file of the bytes can have, twice. A writer that ends renames its part, and a lookup of the new
    /// name may have come just before. No file is renamed a second time.
    fn data_names(&self) -> impl Iterator<Item = PathBuf> {
        DATA.iter().chain(&DATA).map(|ending| self.named(ending))
    }

    /// The file that holds the bytes now.
    fn data(&self) -> Option<PathBuf> {
        self.data_names().find(|path| files::is_file(path))
    }

    /// All existing files except the record.
    fn without_record(&self) -> Vec<PathBuf> {
        let link = self.data().and_then(|data| link_path(&data).filter(|link| is_link_of(link, &data)));
        let named = DATA.iter().chain(&PARTS).map(|ending| self.named(ending));
        link.into_iter().chain(named.filter(|path| files::stat(path).is_some())).collect()
    }

    /// Removes all files. The record is removed first, because an output that is not listed is not read. It keeps a
    /// temporary name until the others are gone, so that files left by a killed process are known to be ours.
    fn remove(&self, handle: &Handle) -> Result<()> {
        let record = beside(&self.meta());
        fs::rename(self.meta(), &record).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { wanted: handle.to_string() },
            _ => Error::store(format!("remove {handle}"))(error),
        })?;
        for path in self.without_record().into_iter().chain([record]) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::store(format!("remove {}", path.display()))(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The file that holds the bytes now, opened.
    fn open_data(&self) -> Result<Option<(PathBuf, File)>> {
        for path in self.data_names() {
            let file = files::read_if_any(&path).map_err(Error::store(format!("read {}", path.display())))?;
            if let Some(file) = file {
                return Ok(Some((path, file)));
            }
        }
        Ok(None)
    }

    /// The name of the bytes of an output that has ended.
    fn finished(&self, record: &Record) -> PathBuf {
        self.named(match (record.call.terminal, record.kind) {
            (true, _) => ".log",
            (_, Kind::Text | Kind::JsonLines) => ".txt",
            (_, Kind::Json) => ".json",
            (_, Kind::Binary) => ".bin",
        })
    }

    fn read_record(&self) -> Result<Record> {
        let path = self.meta();
        let cannot = || Error::store(format!("read the record {}", path.display()));
        let text = files::whole(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { wanted: self.id.clone() },
            _ => cannot()(error),
        })?;
        Record::from_json(&text).map_err(cannot())
    }

    fn write_record(&self, record: &Record) -> io::Result<()> {
        replace(&self.meta(), &to_json(record))
    }
}

struct DiskSink {
    handle: Handle,
    files: Files,
    /// The bytes. The open file holds the lock that means "growing".
    file: File,
    appended: u64,
    lines: Option<File>,
    streams: Option<File>,
}

impl Sink for DiskSink {
    fn handle(&self) -> &Handle {
        &self.handle
    }

    fn append(&mut self, part: Part, mut bytes: &[u8]) -> io::Result<()> {
        let beside = match part {
            Part::Bytes => {
                while !bytes.is_empty() {
                    match self.file.write(bytes) {
                        Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                        Ok(written) => {
                            self.appended += written as u64;
                            bytes = &bytes[written..];
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                return Ok(());
            }
            Part::Lines => &mut self.lines,
            Part::Streams => &mut self.streams,
            Part::View => return Err(io::ErrorKind::Unsupported.into()),
        };
        let mut file = match beside.take() {
            Some(file) => file,
            None => files::create(&self.files.part(part))?,
        };
        let written = file.write_all(bytes);
        *beside = Some(file);
        written
    }

    fn appended(&self) -> u64 {
        self.appended
    }

    fn into_file(self: Box<Self>) -> Option<File> {
        Some(self.file)
    }

    fn finish(self: Box<Self>, record: &Record) -> Result<Box<dyn ReadAt>> {
        let path = self.files.finished(record);
        let cannot = || Error::store(format!("write {}", path.display()));
        if self.appended <= SYNCED {
            self.file.sync_data().map_err(cannot())?;
        }
        fs::rename(self.files.part(Part::Bytes), &path).map_err(cannot())?;
        self.files.write_record(record).map_err(cannot())?;
        // From now on we are a reader: the lock says that the output is in use, and no longer that it grows.
        let _ = self.file.try_lock_shared();
        Ok(Box::new(self.file))
    }
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

/// Measures a file; returns the line index too.
fn measured(file: &mut File) -> io::Result<(Measure, Vec<u8>)> {
    let mut measure = Measure::default();
    let mut block = vec![0; BLOCK];
    let mut index = Vec::new();
    loop {
        let read = file.read(&mut block)?;
        if read == 0 {
            return Ok((measure, index));
        }
        measure.update(&block[..read]);
        index.extend(measure.take_index());
    }
}

/// Whether two files have the same bytes.
fn are_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (files::read(one)?, files::read(other)?);
    if one.size()? != other.size()? {
        return Ok(false);
    }
    let (mut block, mut beside) = (vec![0; BLOCK], vec![0; BLOCK]);
    loop {
        let read = one.read(&mut block)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut beside[..read])?;
        if block[..read] != beside[..read] {
            return Ok(false);
        }
    }
}

fn to_json(record: &Record) -> Vec<u8> {
    let mut text =
        serde_json::to_vec_pretty(record).unwrap_or_else(|_| unreachable!("a record has only text keys"));
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::retention::Rules;
    use crate::store::writer::{End, Stream};
    use crate::{Outputs, Preset, Settings, Timestamp};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    fn call(id: &str) -> Call {
        Call::new(Session::safe("s"), id, "tool", jiff::Timestamp::UNIX_EPOCH)
    }

    fn put(store: &dyn Store, call: &Call, bytes: &[u8]) -> Record {
        let mut writer = Writer::begin(store, call);
        writer.write(Stream::Stdout, bytes);
        writer.finish(End::default()).record().clone()
    }

    #[test]
    fn it_conforms_to_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let number = std::cell::Cell::new(0);
        crate::store::conformance::check(&|| {
            number.set(number.get() + 1);
            Box::new(DiskStore::new(folder.path().join(number.get().to_string())))
        });
    }

    #[test]
    fn two_stores_on_one_root_conform_to_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let number = std::cell::Cell::new(0);
        crate::store::conformance::check_shared(&|| {
            number.set(number.get() + 1);
            [0, 1].map(|_| -> Box<dyn Store> {
                Box::new(DiskStore::new(folder.path().join(number.get().to_string())))
            })
        });
    }

    #[test]
    fn files_have_the_names_of_the_layout_and_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path().join("root"));
        put(&store, &call("a"), b"text");
        put(&store, &call("b"), b"{\"json\": true}");
        put(&store, &call("c"), b"\0\0\0");
        put(&store, &Call { terminal: true, ..call("d") }, &b"x\n".repeat(100_000));
        let root = folder.path().join("root/s");
        for name in [
            "tool/a.txt",
            "tool/b.json",
            "tool/c.bin",
            "terminal/d.log",
            "terminal/d.lines",
            "tool/a.meta.json",
        ] {
            let mode =
                fs::metadata(root.join(name)).unwrap_or_else(|_| panic!("{name}")).permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        assert_eq!(fs::metadata(root.join("tool")).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(root.join("tool")).unwrap().count(), 6, "nothing else is left in the folder");
    }

    #[test]
    fn an_output_is_not_shared_with_one_that_was_changed_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, &call("a"), b"the same");
        fs::write(folder.path().join("s/tool/a.txt"), b"THE SAME").unwrap();
        put(&store, &call("b"), b"the same");
        assert_eq!(fs::read(folder.path().join("s/tool/b.txt")).unwrap(), b"the same");
    }

    #[test]
    fn a_record_of_a_newer_version_is_refused_and_not_misread() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let record = put(&store, &call("a"), b"text");
        let meta = folder.path().join("s/tool/a.meta.json");
        let newer = fs::read_to_string(&meta).unwrap().replace("\"version\": 1", "\"version\": 2");
        fs::write(&meta, newer).unwrap();
        let error = Store::record(&store, &record.handle).unwrap_err().to_string();
        assert!(error.contains("version 2 is newer"), "{error}");
    }

    #[test]
    fn an_output_is_there_at_every_moment_also_while_its_writer_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let ended = AtomicBool::new(false);
        for round in 0..200 {
            let mut writer = Writer::begin(&store, &call(&format!("a{round}")));
            writer.write(Stream::Stdout, b"text");
            let handle = writer.handle().unwrap().clone();
            ended.store(false, Ordering::Relaxed);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        let output = store.open(&handle);
                        let read = output.and_then(|output| output.read(0..4)).unwrap();
                        assert_eq!(read, b"text");
                    }
                });
                writer.finish(End::default());
                ended.store(true, Ordering::Relaxed);
            });
        }
    }

    /// A folder elsewhere with a file that must not change, and a store that has an output.
    fn with_foreign_file() -> (tempfile::TempDir, PathBuf, DiskStore) {
        let folder = tempfile::tempdir().unwrap();
        let foreign = folder.path().join("home/secret");
        fs::create_dir(foreign.parent().unwrap()).unwrap();
        fs::write(&foreign, b"mine\n").unwrap();
        let store = DiskStore::new(folder.path().join("root"));
        put(&store, &call("first"), b"first");
        (folder, foreign, store)
    }

    #[test]
    fn files_of_the_store_that_are_links_are_not_followed_and_the_output_is_kept() {
        for name in
            [".swept", "s/events.jsonl", "s/state.json", "s/state.json.lock", "s/open.lock", ".forebay-root"]
        {
            let (_folder, foreign, store) = with_foreign_file();
            let path = store.root().join(name);
            let _ = fs::remove_file(&path);
            symlink(&foreign, &path).unwrap();
            let record = put(&store, &call("second"), b"second");
            assert_eq!(record.state, State::Complete, "{name}");
            let _ = store.set_in_use(&Session::safe("s"), InUse::default());
            let _ = store.hold_open(&Session::safe("s"));
            let late = Timestamp::MAX;
            let _ = store.take_turn(late, Duration::from_secs(1));
            let _ = store.counts_ages(late, false);
            let rules = Rules { max_age: Some(Duration::from_secs(1)), ..Rules::default() };
            let _ = store.sweep(&Sweep {
                rules,
                only: None,
                now: late,
                by_age: true,
                free: None,
                dry_run: false,
            });
            assert_eq!(fs::read(&foreign).unwrap(), b"mine\n", "{name}");
            let told = ["s/events.jsonl", "s/state.json", "s/state.json.lock"].contains(&name);
            assert_eq!(store.problem().is_some_and(|said| said.contains("symbolic link")), told, "{name}");
        }
    }

    #[test]
    fn folders_of_the_store_that_are_links_are_refused() {
        for name in ["s", "s/tool", "s/terminal"] {
            let (_folder, foreign, store) = with_foreign_file();
            let (path, home) = (store.root().join(name), foreign.parent().unwrap());
            if path.exists() {
                fs::rename(&path, store.root().join("away")).unwrap();
            }
            symlink(home, &path).unwrap();
            let terminal = name.ends_with("terminal");
            let record = put(&store, &Call { terminal, ..call("second") }, b"second");
            assert!(record.lost.is_some_and(|lost| lost.why.contains("symbolic link")), "{name}");
            assert!(
                store.ids(&Session::safe("s"), "").is_err() && store.list(&Session::safe("s")).is_err(),
                "{name}"
            );
            assert!(store.remove_session(&Session::safe("s"), Timestamp::MAX, false).is_err(), "{name}");
            assert_eq!(names_in(home).unwrap(), ["secret"], "{name}");
        }
    }

    #[test]
    fn a_fifo_in_the_store_blocks_no_process() {
        let (_folder, _, store) = with_foreign_file();
        let fifo = |name: &str| {
            let path = store.root().join(name);
            let _ = fs::remove_file(&path);
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        for name in
            ["s/events.jsonl", "s/state.json", "s/open.lock", "s/tool/x.part", "s/tool/y.meta.json", ".swept"]
        {
            fifo(name);
        }
        assert_eq!(put(&store, &call("second"), b"second").state, State::Complete);
        assert!(store.problem().is_some_and(|said| said.contains("not a regular file")));
        assert!(store.hold_open(&Session::safe("s")).is_err());
        assert_eq!(
            store.list(&Session::safe("s")).unwrap().len(),
            3,
            "the one that cannot be read is listed too"
        );
        assert!(store.weights(&Session::safe("s")).is_ok());
    }

    #[test]
    fn files_that_another_process_keeps_locked_are_given_up_and_the_output_is_kept() {
        let (_folder, _, store) = with_foreign_file();
        let locked: Vec<File> = [EVENTS, STATE_LOCK, "open.lock"]
            .map(|name| files::lock_file(&store.root().join("s").join(name)).unwrap())
            .into();
        locked.iter().for_each(|file| file.try_lock().unwrap());
        assert_eq!(put(&store, &call("second"), b"second").state, State::Complete);
        assert!(store.problem().is_some_and(|said| said.contains("events.jsonl") && said.contains("locked")));
        assert!(store.in_use(&Session::safe("s")).is_err());
        assert!(store.hold_open(&Session::safe("s")).is_err());
        drop(locked);
        assert!(store.hold_open(&Session::safe("s")).is_ok());
    }

    /// A store that is swept empty whenever something is noted after an output has ended.
    struct Swept(DiskStore);

    impl Swept {
        fn sweep(&self) {
            let rules = Rules { max_age: Some(Duration::from_secs(1)), ..Rules::default() };
            let sweep =
                Sweep { rules, only: None, now: Timestamp::MAX, by_age: true, free: None, dry_run: false };
            self.0.sweep(&sweep).unwrap();
        }
    }

    impl Store for Swept {
        fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
            self.0.create(handle, call)
        }
        fn record(&self, handle: &Handle) -> Result<Record> {
            self.0.record(handle)
        }
        fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>> {
            self.0.open_part(handle, part)
        }
        fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()> {
            self.0.attach(handle, part, bytes)
        }
        fn list(&self, session: &Session) -> Result<Vec<Record>> {
            self.0.list(session)
        }
        fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>> {
            self.0.ids(session, prefix)
        }
        fn sessions(&self) -> Result<Vec<Session>> {
            self.0.sessions()
        }
        fn weights(&self, session: &Session) -> Result<Vec<Weight>> {
            self.0.weights(session)
        }
        fn delete(&self, handle: &Handle) -> Result<()> {
            self.0.delete(handle)
        }
        fn share(&self, newer: &Handle, older: &Handle) -> Result<()> {
            self.0.share(newer, older)
        }
        fn path(&self, handle: &Handle) -> Option<PathBuf> {
            self.0.path(handle)
        }
        fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
            self.sweep();
            self.0.log(session, line)
        }
        fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
            self.0.open_log(session)
        }
    }

    impl Rooms for Swept {
        fn in_use(&self, session: &Session) -> Result<InUse> {
            self.0.in_use(session)
        }
        fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()> {
            self.0.set_in_use(session, in_use)
        }
        fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved> {
            self.0.reserve(session, wanted)
        }
    }

    #[test]
    fn an_output_that_a_sweep_meets_before_its_reply_is_whole() {
        for lines in [10, 100_000] {
            let folder = tempfile::tempdir().unwrap();
            let store = Swept(DiskStore::new(folder.path()));
            let bytes = b"a line\n".repeat(lines);
            let mut writer = Writer::begin(&store, &call("a"));
            writer.write(Stream::Stdout, &bytes);
            let output = writer.finish(End::default());
            assert_eq!((&output.record().state, output.lines().unwrap()), (&State::Complete, lines as u64));
            // Somebody may also remove it by hand.
            let _ = fs::remove_dir_all(folder.path().join("s/tool"));
            let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
            assert!(outputs.reply(&output, &Settings::default()).is_ok());
            assert!(output.read(0..output.len()).unwrap() == bytes);
        }
    }

    #[test]
    fn a_tool_that_joins_root_and_handle_reads_the_bytes_until_the_output_goes() {
        let settings = Settings { preset: Preset::Handle, ..Settings::default() };
        let clean = |store: &DiskStore| {
            let rules = Rules { max_bytes: Some(1), ..Rules::default() };
            let (only, now, free) = (None, Timestamp::UNIX_EPOCH, None);
            store.sweep(&Sweep { rules, only, now, by_age: false, free, dry_run: false }).unwrap();
        };
        type Ways<'a> = [&'a dyn Fn(&DiskStore, &Handle); 3];
        let ways: Ways<'_> =
            [&|store, handle| store.delete(handle).unwrap(), &|store, _| clean(store), &|store, handle| {
                drop(store.remove_session(handle.session(), Timestamp::MAX, false).unwrap())
            }];
        for way in ways {
            let folder = tempfile::tempdir().unwrap();
            let store = DiskStore::new(folder.path());
            let bytes = b"some words\n".repeat(20_000);
            let outputs = Outputs::new(&store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
            let mut links = Vec::new();
            // The second is kept once with the first; the last one's name is a folder.
            for id in ["a", "b", "tool"] {
                let mut writer = Writer::begin(&store, &call(id));
                writer.write(Stream::Stdout, &bytes);
                let output = writer.finish(End::default());
                let reply = outputs.reply(&output, &settings).unwrap();
                let text = String::from_utf8(reply.folded.unwrap().text).unwrap();
                let handle = output.record().handle.clone();
                assert!(text.contains(&format!("handle = \"{handle}\"")), "{text}");
                links.push((folder.path().join(handle.to_string()), handle));
            }
            for (path, _) in &links[..2] {
                assert!(fs::read(path).unwrap() == bytes, "{}", path.display());
            }
            assert!(links[2].0.is_dir());
            for (_, handle) in &links {
                if store.record(handle).is_ok() {
                    way(&store, handle);
                }
            }
            assert!(links[..2].iter().all(|(path, _)| !path.exists()));
        }
    }

    #[test]
    fn an_output_whose_index_could_not_be_written_to_its_end_is_not_faulty() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let record = put(&store, &call("a"), &b"a line\n".repeat(100_000));
        let path = folder.path().join("s/tool/a.lines");
        let index = fs::read(&path).unwrap();
        for length in [0, 3, 8, 21, index.len()] {
            fs::write(&path, &index[..length]).unwrap();
            assert_eq!(crate::reply::verify::verify_output(&store, &record.handle).unwrap(), [], "{length}");
            let output = store.open(&record.handle).unwrap();
            assert_eq!(output.newlines_before(output.len()).unwrap(), 100_000, "{length}");
        }
        for wrong in [[&index[..8], &[1; 8]].concat(), [&index[..], &[0; 8]].concat()] {
            fs::write(&path, wrong).unwrap();
            let faults = crate::reply::verify::verify_output(&store, &record.handle).unwrap();
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert_eq!(faults[0].to_string(), "the line index kept with it is not that of its bytes");
        }
    }
}
