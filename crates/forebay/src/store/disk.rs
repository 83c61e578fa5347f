//! A store of plain files, which a person, `rg`, `jq` and an agent's own tools can read.
//!
//! ```text
//! <root>/<session>/tool/<id>.txt | .json | .bin    the bytes, verbatim
//! <root>/<session>/terminal/<id>.log               the bytes of a wrapped command
//!                          <id>.meta.json          the record
//!                          <id>.lines              the line index, of an output over 64 KiB
//!                          <id>.streams            which stream a stretch came by, if there were two
//!                          <id>.view.json          the view that the model was given
//! ```
//!
//! While it is written, an output has the name `<id>.part` and its writer holds a lock on it. A part that nobody
//! has locked is what a dead writer left: it is measured and kept as an output that was cut short.
//!
//! A reader has a shared lock on the bytes of an output that has ended, and whoever holds a session open one on its
//! `open.lock`. A sweep removes only what it can lock for itself.

mod open;
mod run_folder;
mod sweep;

pub use open::Held;
pub use run_folder::{RunFolder, run_name};
pub use sweep::{Gone, Report, Sweep};

use super::{Change, Part, Sink, Store, Writer};
use crate::event::{Event, What};
use crate::output::{BLOCK, ReadAt};
use crate::retention::Weight;
use crate::size::Measure;
use crate::{Call, Error, Handle, Kind, Record, Result, Session, State, record::VERSION};
use run_folder::is_run_folder;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

const FOLDERS: [&str; 2] = ["tool", "terminal"];
const META: &str = ".meta.json";
/// The endings that the bytes can have: those of an output that has ended, and that of one that grows.
const DATA: [&str; 5] = [".log", ".txt", ".json", ".bin", ".part"];
/// The endings of what stands beside the bytes.
const PARTS: [&str; 3] = [".lines", ".streams", ".view.json"];
const EVENTS: &str = "events.jsonl";
const STATE: &str = "state.json";
const STATE_LOCK: &str = "state.json.lock";

/// A folder that is removed as an output begins is made anew, so often.
const ATTEMPTS: usize = 64;

/// Outputs up to this size are forced to the disk before they count as whole. A larger one is left to the
/// kernel: it survives the end of any process, and a power cut may cost its end, which `verify` tells.
const SYNCED: u64 = 16 * 1024 * 1024;

/// Keeps outputs as files below a folder.
#[derive(Clone)]
pub struct DiskStore {
    root: PathBuf,
    /// Whether readers are told where files lie.
    tells_paths: bool,
    /// Called with every event that this store logs.
    observer: Option<Observer>,
}

/// A listener for the events that a store logs: the session, and the event's line without its newline.
pub type Observer = Arc<dyn Fn(&Session, &[u8]) + Send + Sync>;

impl DiskStore {
    /// A store below `root`, which is made when the first output comes.
    pub fn new(root: impl Into<PathBuf>) -> DiskStore {
        DiskStore { root: root.into(), tells_paths: true, observer: None }
    }

    /// A store below another root, with the same listener.
    pub fn at(&self, root: impl Into<PathBuf>) -> DiskStore {
        DiskStore { root: root.into(), tells_paths: true, observer: self.observer.clone() }
    }

    /// The same store for readers who are elsewhere: no view and no record tells them a path.
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

    fn folder(&self, session: &Session, folder: &str) -> PathBuf {
        self.root.join(session.as_str()).join(folder)
    }

    fn events(&self, session: &Session) -> PathBuf {
        self.root.join(session.as_str()).join(EVENTS)
    }

    /// The files of an output that exists.
    fn files(&self, handle: &Handle) -> Result<Files> {
        for folder in FOLDERS {
            let files = Files::new(self.folder(handle.session(), folder), handle);
            // A folder that may not be looked into is not a folder without the output.
            let meta = files.meta();
            if meta.try_exists().map_err(Error::store(format!("read {}", meta.display())))? {
                return Ok(files);
            }
        }
        Err(Error::NotFound { wanted: handle.to_string() })
    }

    /// Goes on writing an output that another process has begun and handed over, with the open file that it gave up.
    pub fn resume(&self, handle: &Handle, file: File) -> Result<Writer<'_>> {
        let files = self.files(handle)?;
        let record = files.read_record()?;
        let path = files.part(Part::Bytes);
        let cannot = || Error::store(format!("go on writing {}", path.display()));
        let mut so_far = File::open(&path).map_err(cannot())?;
        let (measure, index) = measured(&mut so_far).map_err(cannot())?;
        let appended = so_far.size().map_err(cannot())?;
        replace(&files.part(Part::Lines), &index).map_err(cannot())?;
        let open = |part| {
            OpenOptions::new().append(true).create(true).mode(0o600).open(files.part(part)).map_err(cannot())
        };
        let sink = DiskSink {
            handle: handle.clone(),
            lines: Some(open(Part::Lines)?),
            streams: Some(open(Part::Streams)?),
            file,
            appended,
            files,
        };
        let output = (self as &dyn Store).open(handle)?;
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
        match alive {
            false => self.recover(files, file, &path),
            true => {
                // Its writer is alive, or has ended it just now.
                record = files.read_record()?;
                if record.state == State::Growing {
                    record.size.bytes = file.metadata().map_or(0, |data| data.len());
                }
                Ok(record)
            }
        }
    }

    fn try_create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        let session = handle.session();
        let folder = self.folder(session, FOLDERS[usize::from(call.terminal)]);
        let cannot = |path: &Path| Error::store(format!("write {}", path.display()));
        make_folder(&folder).map_err(cannot(&folder))?;
        let files = Files::new(folder, handle);
        let other = Files::new(self.folder(session, FOLDERS[usize::from(!call.terminal)]), handle);
        if files.meta().exists() || other.meta().exists() {
            return Ok(None);
        }
        // A part that nobody has locked is what a dead writer left, so the file has its name only when it is locked; and
        // whoever makes the record's file owns the name, so that nobody sees an output that has no part.
        let (path, beside) = (files.part(Part::Bytes), beside(&files.part(Part::Bytes)));
        let opened = new_file(&beside).and_then(|file| {
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
            Ok(()) if other.meta().exists() => {
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

    /// Ends an output for its dead writer. Where nothing can be written, the answer is the same, and the next
    /// reader does the work again.
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
            let at = record.ended.unwrap_or(record.call.at);
            Event { what: What::ended(&record), at }.log(self, record.handle.session());
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
                opened(&path).map_err(Error::store(format!("read {}", path.display())))?
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
            for name in names_in(&self.folder(session, folder))? {
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
            .filter(|session| FOLDERS.iter().any(|folder| self.folder(session, folder).is_dir()))
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
        let beside = beside(&newer);
        let shared = fs::hard_link(&older, &beside).and_then(|()| fs::rename(&beside, &newer));
        // Two names of one file are not renamed into one: the third name stays, if they were shared before.
        let _ = fs::remove_file(&beside);
        shared.map_err(cannot())
    }

    fn path(&self, handle: &Handle) -> Option<PathBuf> {
        if self.tells_paths { self.files(handle).ok()?.data() } else { None }
    }

    fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
        // An event that cannot be written can still be printed.
        if let Some(observer) = &self.observer {
            observer(session, line);
        }
        let path = self.events(session);
        let cannot = || Error::store(format!("write {}", path.display()));
        let open = || OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path);
        let mut file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.root.join(session.as_str());
                make_folder(&folder).and_then(|()| open()).map_err(cannot())?
            }
            opened => opened.map_err(cannot())?,
        };
        file.lock().map_err(cannot())?;
        // A process that is killed while it writes leaves a part of a line, which nobody had been told of.
        let size = file.metadata().map_err(cannot())?.len();
        let torn = torn_end(&file, size).map_err(cannot())?;
        if torn > 0 {
            file.set_len(size - torn).map_err(cannot())?;
        }
        file.write_all(&[line, b"\n"].concat()).map_err(cannot())
    }

    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
        let path = self.events(session);
        match File::open(&path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Box::new(Vec::new())),
            Err(error) => Err(Error::store(format!("read {}", path.display()))(error)),
        }
    }

    fn change_state(&self, session: &Session, change: Change<'_>) -> Result<()> {
        let folder = self.root.join(session.as_str());
        let path = folder.join(STATE);
        let cannot = || Error::store(format!("write {}", path.display()));
        make_folder(&folder).map_err(cannot())?;
        // The lock is on a file of its own, because the state's file is a new one after each change.
        let lock = folder.join(STATE_LOCK);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock);
        let lock = lock.map_err(cannot())?;
        lock.lock().map_err(cannot())?;
        let state = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(cannot())?,
        };
        match change(&state) {
            Some(changed) => replace(&path, &changed).map_err(cannot()),
            None => Ok(()),
        }
    }
}

/// Whether a step failed as it does when a sweep removes the empty folder of a session meanwhile: a file has no folder
/// to be in, or a folder that was said to be there is not.
fn is_swept(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
}

/// Whether these are the bytes of an output that grows.
fn is_part(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "part")
}

/// How many bytes stand behind the last newline.
fn torn_end(file: &File, size: u64) -> io::Result<u64> {
    let mut block = [0; 4096];
    let mut end = size;
    while end > 0 {
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

/// Makes a folder and those above it, for its owner alone.
fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
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

    /// The names that the file of the bytes can have, twice: a writer that ends renames its part, and the new name may
    /// have been looked for just before that. No file is renamed a second time.
    fn data_names(&self) -> impl Iterator<Item = PathBuf> {
        DATA.iter().chain(&DATA).map(|ending| self.named(ending))
    }

    /// The file that holds the bytes now.
    fn data(&self) -> Option<PathBuf> {
        self.data_names().find(|path| path.exists())
    }

    /// Removes all of them. The record goes first: an output that is not listed is not asked for.
    fn remove(&self, handle: &Handle) -> Result<()> {
        fs::remove_file(self.meta()).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { wanted: handle.to_string() },
            _ => Error::store(format!("remove {handle}"))(error),
        })?;
        for path in DATA.iter().chain(&PARTS).map(|ending| self.named(ending)) {
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
            let file = opened(&path).map_err(Error::store(format!("read {}", path.display())))?;
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
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound { wanted: self.id.clone() },
            _ => cannot()(error),
        })?;
        let record: Record = serde_json::from_slice(&text).map_err(|error| cannot()(error.into()))?;
        match record.version <= VERSION {
            true => Ok(record),
            false => Err(cannot()(io::Error::other(format!(
                "version {} is newer than this program",
                record.version
            )))),
        }
    }

    fn write_record(&self, record: &Record) -> io::Result<()> {
        replace(&self.meta(), &to_json(record))
    }
}

struct DiskSink {
    handle: Handle,
    files: Files,
    /// The bytes. Holding it holds the lock that says "growing".
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
            None => new_file(&self.files.part(part))?,
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

    fn finish(self: Box<Self>, record: &Record) -> Result<()> {
        let path = self.files.finished(record);
        let cannot = || Error::store(format!("write {}", path.display()));
        if self.appended <= SYNCED {
            self.file.sync_data().map_err(cannot())?;
        }
        fs::rename(self.files.part(Part::Bytes), &path).map_err(cannot())?;
        self.files.write_record(record).map_err(cannot())
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

/// Opens a file for reading; `None` if there is none.
fn opened(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)
}

/// Whether two files have the same bytes.
fn are_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
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

/// A name beside a file that no other process or thread uses.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{number}.tmp", std::process::id()))
}

/// Makes a file that must not exist yet, in one step.
fn claim(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let claimed = new_file(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::hard_link(&beside, path));
    let _ = fs::remove_file(&beside);
    claimed
}

/// Writes a small file in one step: beside it first, so that no reader sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn to_json(record: &Record) -> Vec<u8> {
    let mut text =
        serde_json::to_vec_pretty(record).unwrap_or_else(|_| unreachable!("a record has only text keys"));
    text.push(b'\n');
    text
}

fn names_in(folder: &Path) -> Result<Vec<String>> {
    let cannot = || Error::store(format!("list {}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(cannot()(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(cannot())?.file_name().into_string());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{End, Stream};
    use std::os::unix::fs::PermissionsExt;

    fn call(id: &str) -> Call {
        Call::new(Session::safe("s"), id, "tool", jiff::Timestamp::UNIX_EPOCH)
    }

    fn put(store: &dyn Store, call: &Call, bytes: &[u8]) -> Record {
        let mut writer = store.begin(call);
        writer.write(Stream::Stdout, bytes);
        writer.finish(End::default()).record().clone()
    }

    #[test]
    fn it_keeps_what_every_store_promises() {
        let folder = tempfile::tempdir().unwrap();
        let number = std::cell::Cell::new(0);
        crate::store::conformance::check(&|| {
            number.set(number.get() + 1);
            Box::new(DiskStore::new(folder.path().join(number.get().to_string())))
        });
    }

    #[test]
    fn files_have_the_names_of_the_layout_and_nobody_else_can_read_them() {
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
        let ended = std::sync::atomic::AtomicBool::new(false);
        for round in 0..200 {
            let mut writer = (&store as &dyn Store).begin(&call(&format!("a{round}")));
            writer.write(Stream::Stdout, b"text");
            let handle = writer.handle().unwrap().clone();
            ended.store(false, Ordering::Relaxed);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        let output = (&store as &dyn Store).open(&handle);
                        let read = output.and_then(|output| output.read(0..4)).unwrap();
                        assert_eq!(read, b"text");
                    }
                });
                writer.finish(End::default());
                ended.store(true, Ordering::Relaxed);
            });
        }
    }
}
