//! Sweeping: removes the outputs that the rules of retention select, except those in use.
//!
//! Weights come from file names and metadata alone, so a hundred thousand outputs take a second. Only the records of
//! outputs to be removed are read: a file that only looks like a record is not ours. A sweep never waits for a lock: a
//! locked file is in use, and the next sweep will come.

use crate::event::{Event, Swept, What};
use crate::store::disk::files::{self, names_in};
use crate::store::disk::open::{Held, OPEN};
use crate::store::disk::root::{MARKER, is_our_session, is_record};
use crate::store::disk::run_folder::is_run_folder;
use crate::store::disk::{DATA, DiskStore, FOLDERS, Files, META, PARTS, STATE};
pub use crate::store::retention::Gone;
use crate::store::retention::{Cause, Rules, Weight, decide, out_of_reach};
use crate::{Error, Handle, Part, Result, Session, Store, Timestamp};
use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    os::unix::fs::{DirEntryExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Age in seconds at which files of a dead process are removed: no process needs a day between two steps.
const LEFT: i64 = 24 * 60 * 60;

/// Maximum removals that are logged at once.
const NOTED: usize = 256;

/// Rules and scope of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Rules of retention.
    pub rules: Rules,
    /// The only session that is swept; `None` for all.
    pub only: Option<Session>,
    /// The caller's time.
    pub now: Timestamp,
    /// Whether outputs are removed by age. They are not if the clock may have jumped:
    /// [`counts_ages`](DiskStore::counts_ages).
    pub by_age: bool,
    /// Free bytes of the disk, if known.
    pub free: Option<u64>,
    /// Whether outputs are only reported and not removed.
    pub dry_run: bool,
}

/// Outputs that a sweep removed, or would remove.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Removed outputs.
    pub gone: Vec<Gone>,
    /// Outputs that the rules select but that stay, with the cause.
    pub stays: Vec<(Handle, String)>,
    /// Sessions that were removed as a whole.
    pub sessions: Vec<Session>,
    /// Removed files that dead processes had left.
    pub leftovers: u64,
    /// Removed run folders of dead processes.
    pub runs: Vec<PathBuf>,
    /// The rule that no sweep can satisfy. It removes nothing.
    pub out_of_reach: Option<Cause>,
    /// Number of outputs that are too old and stay because the clock may have jumped.
    pub held_back: u64,
    /// Whether the root holds files but is not known to be ours, so that nothing was removed.
    pub foreign: bool,
}

impl DiskStore {
    /// Removes outputs that the rules select, files of dead processes, and old sessions without outputs.
    pub fn sweep(&self, sweep: &Sweep) -> Result<Report> {
        let mut report = Report::default();
        let mut weights = Vec::new();
        if !self.is_ours(sweep.dry_run) {
            report.foreign = self.is_foreign()?;
            return Ok(report);
        }
        for session in self.session_folders()? {
            if sweep.only.as_ref().is_some_and(|only| *only != session) {
                continue;
            }
            let (mut found, leftovers) = self.scan(&session)?;
            for leftover in leftovers.iter().filter(|leftover| sweep.by_age && leftover.is_old(sweep.now)) {
                report.leftovers += leftover.remove(sweep.dry_run);
            }
            let open = self.unless_open(&session, false).is_none();
            found.iter_mut().for_each(|weight| weight.in_use |= open);
            if found.is_empty() && !open && self.is_too_old(&session, sweep) {
                let removed = sweep.dry_run || self.remove_folder(&session);
                report.sessions.extend(removed.then_some(session));
            }
            weights.extend(found);
        }
        let max_age = sweep.rules.max_age;
        let rules = Rules { max_age: max_age.filter(|_| sweep.by_age), ..sweep.rules };
        if !sweep.by_age {
            let by_age = Rules { max_age, ..Rules::default() };
            report.held_back = decide(&weights, &by_age, sweep.now, None).len() as u64;
        }
        report.out_of_reach = out_of_reach(&weights, &rules, sweep.free);
        self.sweep_outputs(weights, &Sweep { rules, ..sweep.clone() }, &mut report);
        if sweep.only.is_none() {
            for name in names_in(self.root())? {
                let leftover = Leftover { others: Vec::new(), path: self.root().join(&name) };
                if files::temporary_stem(&name) == Some(MARKER) && sweep.by_age && leftover.is_old(sweep.now)
                {
                    report.leftovers += leftover.remove(sweep.dry_run);
                }
            }
            report.runs = self.sweep_runs(sweep.now, sweep.dry_run)?;
        }
        Ok(report)
    }

    /// Whether a root that is not ours holds a folder that looks like a session but is not one.
    fn is_foreign(&self) -> Result<bool> {
        let folders = self.session_folders()?;
        Ok(folders.iter().any(|session| !is_our_session(&self.root().join(session.as_str()))))
    }

    /// Decides and removes until nothing is left to remove. If a chosen output is in use, others may be removed in
    /// its place.
    fn sweep_outputs(&self, mut weights: Vec<Weight>, sweep: &Sweep, report: &mut Report) {
        let mut free = sweep.free;
        loop {
            let going = decide(&weights, &sweep.rules, sweep.now, free);
            if going.is_empty() {
                return;
            }
            let bytes: HashMap<&Handle, u64> =
                weights.iter().map(|weight| (&weight.handle, weight.bytes)).collect();
            let mut sessions: BTreeMap<Session, Vec<Gone>> = BTreeMap::new();
            for (handle, cause) in going {
                let bytes = bytes.get(&handle).copied().unwrap_or_default();
                sessions.entry(handle.session().clone()).or_default().push(Gone { handle, bytes, cause });
            }
            let mut tried = Report::default();
            for (session, going) in sessions {
                self.remove_outputs(&session, going, sweep.now, sweep.dry_run, &mut tried);
            }
            let gone = tried.gone.iter().map(|gone| (&gone.handle, false));
            let mut done: HashMap<&Handle, bool> = gone.collect();
            done.extend(tried.stays.iter().map(|(handle, _)| (handle, true)));
            weights.retain_mut(|weight| {
                let stays = done.get(&weight.handle).copied();
                weight.in_use |= stays == Some(true);
                stays != Some(false)
            });
            let freed = tried.gone.iter().fold(0, |sum: u64, gone| sum.saturating_add(gone.bytes));
            free = free.map(|free| free.saturating_add(freed));
            let in_use = !tried.stays.is_empty();
            report.gone.extend(tried.gone);
            report.stays.extend(tried.stays);
            if !in_use {
                return;
            }
        }
    }

    /// Removes a whole session that is not open: its outputs, its events, its state. What is in use stays.
    pub fn remove_session(&self, session: &Session, now: Timestamp, dry_run: bool) -> Result<Report> {
        let mut report = Report::default();
        if !self.is_ours(dry_run) {
            report.foreign = self.is_foreign()?;
            return Ok(report);
        }
        let (weights, leftovers) = self.scan(session)?;
        let all = weights.into_iter().map(|weight| Gone {
            handle: weight.handle,
            bytes: weight.bytes,
            cause: Cause::Session,
        });
        self.remove_outputs(session, all.collect(), now, dry_run, &mut report);
        if !report.stays.is_empty() || !files::is_folder(&self.root().join(session.as_str())) {
            return Ok(report);
        }
        let free = leftovers.iter().all(|leftover| leftover.remove(dry_run) > 0);
        let removed = free && (dry_run || self.remove_folder(session));
        report.sessions.extend(removed.then(|| session.clone()));
        Ok(report)
    }

    /// Whether a process holds a session open.
    pub fn is_open(&self, session: &Session) -> bool {
        self.unless_open(session, false).is_none()
    }

    /// Free bytes of the disk for this user.
    pub fn free(&self) -> Result<u64> {
        let there = self.root().ancestors().find(|folder| files::is_root(folder)).unwrap_or(Path::new("/"));
        let disk = rustix::fs::statvfs(there).map_err(|error| {
            Error::store(format!("see how full the disk of {} is", there.display()))(error.into())
        })?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// The weights of a session, and files that belong to no output: their writer died between two steps.
    pub(crate) fn scan(&self, session: &Session) -> Result<(Vec<Weight>, Vec<Leftover>)> {
        #[derive(Default)]
        struct Found {
            bytes: u64,
            /// When the record was written, if there is one.
            time: Option<Timestamp>,
            growing: bool,
        }
        let (mut weights, mut leftovers) = (Vec::new(), Vec::new());
        let links = links_in(&self.session_folder(session)?);
        for folder in FOLDERS {
            let folder = self.folder(session, folder)?;
            let cannot = || Error::store(format!("list {}", folder.display()));
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(cannot()(error)),
            };
            let mut outputs: HashMap<String, Found> = HashMap::new();
            let mut temporary = Vec::new();
            for entry in entries {
                let entry = entry.map_err(cannot())?;
                // A file may go while we look.
                let (Ok(name), Ok(data)) = (entry.file_name().into_string(), entry.metadata()) else {
                    continue;
                };
                if files::is_temporary(&name) {
                    temporary.extend(files::is_private(&data).then_some(name));
                    continue;
                }
                let Some((id, ending)) = name.find('.').map(|dot| name.split_at(dot)) else { continue };
                if !data.is_file() || !(ending == META || PARTS.contains(&ending) || DATA.contains(&ending)) {
                    continue;
                }
                let found = match outputs.get_mut(id) {
                    Some(found) => found,
                    None => outputs.entry(id.to_owned()).or_default(),
                };
                // A link by which a tool reads the bytes is no further output that shares them.
                let names = data.nlink().saturating_sub(links.get(&data.ino()).copied().unwrap_or(0));
                found.bytes += data.len() / names.max(1);
                if ending == META {
                    let at = data.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
                    found.time = Some(at.unwrap_or(Timestamp::MAX));
                }
                found.growing |= ending == ".part";
            }
            for name in temporary {
                leftovers.push(Leftover::new(&folder, &name, session, |id| {
                    outputs.get(id).is_some_and(|found| found.time.is_some())
                }));
            }
            for (id, found) in outputs {
                let Ok(handle) = Handle::new(session.clone(), &id) else { continue };
                let files = Files::new(folder.clone(), &handle);
                let part = files.part(Part::Bytes);
                // A part that nobody has locked is what a dead writer left. One that is not there any more has just
                // been ended, and stays for this time.
                let alive = found.growing && !files::read(&part).is_ok_and(|part| part.try_lock().is_ok());
                match found.time {
                    Some(time) => {
                        weights.push(Weight { handle, bytes: found.bytes, time, in_use: alive });
                    }
                    // Its writer died before it had a record. Files with other names may be anybody's.
                    None if found.growing
                        && !alive
                        && files::stat(&part).is_some_and(|data| files::is_private(&data)) =>
                    {
                        leftovers.push(Leftover { others: Vec::new(), path: part });
                    }
                    None => {}
                }
            }
        }
        weights.sort_by(|a, b| a.handle.cmp(&b.handle));
        Ok((weights, leftovers))
    }

    /// All folders of sessions, including those without outputs. Foreign folders are skipped.
    pub(crate) fn session_folders(&self) -> Result<Vec<Session>> {
        let ours = [FOLDERS[0], FOLDERS[1], crate::store::disk::EVENTS, STATE, OPEN];
        let mut sessions: Vec<Session> = names_in(self.root())?
            .iter()
            .filter_map(|name| name.parse().ok())
            .filter(|session: &Session| {
                let folder = self.root().join(session.as_str());
                let is_ours =
                    |name: &&str| files::stat(&folder.join(name)).is_some_and(|data| !data.is_symlink());
                // A session with a link in place of a folder is not ours to sweep.
                FOLDERS.iter().all(|inner| self.folder(session, inner).is_ok())
                    && files::is_folder(&folder)
                    && !is_run_folder(&folder)
                    && ours.iter().any(is_ours)
            })
            .collect();
        sessions.sort();
        Ok(sessions)
    }

    /// Removes outputs of one session, each unless it is in use, and notes it in the session's events.
    fn remove_outputs(
        &self,
        session: &Session,
        going: Vec<Gone>,
        now: Timestamp,
        dry_run: bool,
        report: &mut Report,
    ) {
        let Some(_held) = self.unless_open(session, !dry_run && !going.is_empty()) else {
            let why = || "its session is open".to_owned();
            report.stays.extend(going.into_iter().map(|gone| (gone.handle, why())));
            return;
        };
        let mut notes = Vec::new();
        for gone in going {
            match self.remove_unused(&gone.handle, dry_run) {
                Ok(true) => {
                    let swept = Swept {
                        id: gone.handle.id().to_owned(),
                        bytes: gone.bytes,
                        why: gone.cause.to_string(),
                    };
                    notes.push(Event { what: What::Swept(swept), at: now });
                    report.gone.push(gone);
                }
                Ok(false) => report.stays.push((gone.handle, "it is in use".to_owned())),
                // Somebody else has removed it.
                Err(Error::NotFound { .. }) => {}
                Err(error) => report.stays.push((gone.handle, error.to_string())),
            }
            if notes.len() == NOTED {
                self.note(session, &mut notes, dry_run);
            }
        }
        self.note(session, &mut notes, dry_run);
    }

    /// Adds events to those of a session, many in one step.
    fn note(&self, session: &Session, notes: &mut Vec<Event>, dry_run: bool) {
        let lines: Vec<Vec<u8>> =
            notes.drain(..).filter_map(|event| serde_json::to_vec(&event).ok()).collect();
        if !dry_run && !lines.is_empty() {
            // Outputs that were removed are gone, even if the log cannot be written.
            let _ = self.log(session, &lines.join(&b'\n'));
        }
    }

    /// Removes an output unless a process has it open; returns whether it was removed.
    fn remove_unused(&self, handle: &Handle, dry_run: bool) -> Result<bool> {
        let files = self.files(handle)?;
        if !is_record(&files.meta(), handle.id()) {
            let why = "its record is damaged or not Forebay's; remove its files by hand";
            return Err(Error::store(format!("remove {handle}"))(io::Error::other(why)));
        }
        // Held until all files are gone, so that a reader that comes now finds nothing or everything.
        let _lock = match files.data().map(|path| files::read(&path).map(|file| (file.try_lock(), file))) {
            None => None,
            Some(Ok((Ok(()), file))) => Some(file),
            Some(Ok((Err(_), _))) => return Ok(false),
            // A writer that has just ended has renamed it: the next sweep finds it.
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Some(Err(error)) => return Err(Error::store(format!("remove {handle}"))(error)),
        };
        if !dry_run {
            files.remove(handle)?;
        }
        Ok(true)
    }

    /// Whether nothing has happened in a session for longer than outputs are kept.
    fn is_too_old(&self, session: &Session, sweep: &Sweep) -> bool {
        let Some(most) = sweep.rules.max_age else { return false };
        let folder = self.root().join(session.as_str());
        let written = |path: &Path| files::stat(path).and_then(|data| data.modified().ok());
        let last =
            [crate::store::disk::EVENTS, STATE].iter().filter_map(|name| written(&folder.join(name))).max();
        let last = last.or_else(|| written(&folder)).and_then(|last| Timestamp::try_from(last).ok());
        last.and_then(|last| Duration::try_from(sweep.now.duration_since(last)).ok())
            .is_some_and(|age| age > most)
    }

    /// Removes the folder of a session without outputs. If an output begins at the same time, its folder stays,
    /// because only empty folders are removed.
    fn remove_folder(&self, session: &Session) -> bool {
        let Ok(folder) = self.session_folder(session) else { return false };
        if !is_our_session(&folder) {
            return false;
        }
        let Some(_held) = self.unless_open(session, true) else { return false };
        for inner in FOLDERS {
            match fs::remove_dir(folder.join(inner)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return false,
                _ => {}
            }
        }
        let tmp = names_in(&folder).unwrap_or_default().into_iter().filter(|name| files::is_temporary(name));
        let ours = [crate::store::disk::EVENTS, STATE, crate::store::disk::STATE_LOCK].map(str::to_owned);
        // The lock goes last, because it is what keeps others out.
        for name in tmp.chain(ours).chain([OPEN.to_owned()]) {
            let _ = fs::remove_file(folder.join(name));
        }
        fs::remove_dir(&folder).is_ok()
    }

    /// Releases a session. If nothing has happened in it, its files are removed.
    pub fn close(&self, session: &Session, held: Held) {
        drop(held);
        let bare = names_in(&self.root().join(session.as_str())).is_ok_and(|names| names == [OPEN]);
        if bare {
            self.remove_folder(session);
        }
    }
}

/// Files that a process left which died between two steps.
pub(crate) struct Leftover {
    /// The bytes and parts of an output that was being removed.
    others: Vec<PathBuf>,
    /// A part without a record, or a temporary file; this one goes last.
    path: PathBuf,
}

impl Leftover {
    /// A temporary file, with all that belongs to it. The record of an output has such a name while the output is
    /// being removed.
    fn new(folder: &Path, name: &str, session: &Session, has_record: impl Fn(&str) -> bool) -> Leftover {
        let path = folder.join(name);
        let id = files::temporary_stem(name).and_then(|stem| stem.strip_suffix(".meta"));
        let removed = id.filter(|id| !has_record(id) && is_record(&path, id));
        let handle = removed.and_then(|id| Handle::new(session.clone(), id).ok());
        let others = handle.map(|handle| Files::new(folder.to_owned(), &handle).without_record());
        Leftover { others: others.unwrap_or_default(), path }
    }

    fn is_old(&self, now: Timestamp) -> bool {
        is_left_over(&self.path, now)
    }

    /// Removes it unless a process has it locked; returns the number of files removed.
    fn remove(&self, dry_run: bool) -> u64 {
        let all = || self.others.iter().chain([&self.path]);
        let is_free = |path: &PathBuf| files::read(path).is_ok_and(|file| file.try_lock().is_ok());
        if !all().all(is_free) {
            return 0;
        }
        all().map(|path| u64::from(dry_run || fs::remove_file(path).is_ok())).sum()
    }
}

/// Number of hard links to outputs in a session's folder, by inode.
fn links_in(folder: &Path) -> HashMap<u64, u64> {
    let mut links = HashMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Only ids have no dot.
        let is_id = entry.file_name().to_str().is_some_and(|name| !name.contains('.'));
        if is_id && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            *links.entry(entry.ino()).or_default() += 1;
        }
    }
    links
}

/// Whether a file or folder has been unchanged for so long that no process still uses it. The time of the last change
/// cannot be set back, so a copy with old times counts as new.
pub(crate) fn is_left_over(path: &Path, now: Timestamp) -> bool {
    let Some(data) = files::stat(path) else { return false };
    let touched = data.mtime().max(data.ctime());
    let unlocked = || !data.is_file() || files::read(path).is_ok_and(|file| file.try_lock().is_ok());
    now.as_second().saturating_sub(touched) > LEFT && unlocked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::rooms::{InUse, Rooms};
    use crate::store::writer::{End, Stream, Writer};
    use crate::{Call, RunFolder, event};

    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;

    fn session(name: &str) -> Session {
        Session::safe(name)
    }

    fn put(store: &dyn Store, name: &str, id: &str, bytes: &[u8]) -> Handle {
        let mut writer = Writer::begin(store, &Call::new(session(name), id, "tool", Timestamp::UNIX_EPOCH));
        writer.write(Stream::Stdout, bytes);
        let output = writer.finish(End::default());
        assert_eq!(output.record().state, crate::State::Complete);
        output.record().handle.clone()
    }

    fn after(seconds: i64) -> Timestamp {
        Timestamp::from_second(Timestamp::now().as_second() + seconds).unwrap()
    }

    /// A sweep that much later, of what is older than a day.
    fn a_day(later: i64) -> Sweep {
        let max_age = Some(Duration::from_secs(DAY as u64));
        let rules = Rules { max_age, ..Rules::default() };
        Sweep { rules, only: None, now: after(later), by_age: true, free: None, dry_run: false }
    }

    fn more_than(bytes: u64) -> Sweep {
        let rules = Rules { max_bytes: Some(bytes), ..Rules::default() };
        Sweep { rules, ..a_day(0) }
    }

    fn gone(report: &Report) -> Vec<String> {
        report.gone.iter().map(|gone| gone.handle.to_string()).collect()
    }

    fn ids(store: &DiskStore, name: &str) -> Vec<String> {
        store.ids(&session(name), "").unwrap()
    }

    fn files_below(folder: &Path) -> Vec<String> {
        let mut names = names_in(folder).unwrap_or_default();
        names.sort();
        names
    }

    #[test]
    fn old_outputs_are_removed_with_all_their_files_and_logged() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, "s", "one", &b"x\n".repeat(100_000));
        let view = store.attach(&"s/one".parse().unwrap(), Part::View, b"{}");
        assert!(view.is_ok());
        assert_eq!(gone(&store.sweep(&a_day(DAY - HOUR)).unwrap()), [""; 0]);
        let dry = store.sweep(&Sweep { dry_run: true, ..a_day(DAY + HOUR) }).unwrap();
        assert_eq!((gone(&dry), ids(&store, "s")), (vec!["s/one".to_owned()], vec!["one".to_owned()]));
        assert!(!folder.path().join("s/open.lock").exists(), "to look leaves no trace");
        let report = store.sweep(&a_day(DAY + HOUR)).unwrap();
        assert_eq!(gone(&report), ["s/one"]);
        assert_eq!(files_below(&folder.path().join("s/tool")), [""; 0]);
        let mut swept = Vec::new();
        let read = event::for_each(&store, &session("s"), |event| {
            if let What::Swept(event) = event.what {
                swept.push((event.id, event.why));
            }
        });
        assert!(read.is_ok());
        assert_eq!(swept, [("one".to_owned(), "older than 1 day".to_owned())]);
        let error = store.record(&"s/one".parse().unwrap()).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }

    #[test]
    fn outputs_that_are_written_or_read_stay_and_others_are_removed_instead() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let dyn_store: &dyn Store = &store;
        for id in ["one", "two", "three"] {
            put(&store, "s", id, format!("{id}\n").repeat(10_000).as_bytes());
        }
        let mut writer =
            Writer::begin(dyn_store, &Call::new(session("s"), "grows", "tool", Timestamp::UNIX_EPOCH));
        writer.write(Stream::Stdout, b"so far\n");
        let reading = dyn_store.open(&"s/one".parse().unwrap()).unwrap();
        let report = store.sweep(&more_than(1)).unwrap();
        assert_eq!(gone(&report), ["s/two", "s/three"]);
        assert_eq!(report.stays, [("s/one".parse().unwrap(), "it is in use".to_owned())]);
        assert_eq!(reading.read(0..4).unwrap(), b"one\n");
        writer.write(Stream::Stdout, b"and more\n");
        let grown = writer.finish(End::default());
        assert_eq!(grown.record().state, crate::State::Complete);
        drop(reading);
        // An output that was small enough to stay in memory has nothing open.
        assert_eq!(gone(&store.sweep(&more_than(1)).unwrap()).len(), 2);
    }

    #[test]
    fn the_output_of_a_dead_writer_is_swept_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let dyn_store: &dyn Store = &store;
        let mut writer =
            Writer::begin(dyn_store, &Call::new(session("s"), "dead", "tool", Timestamp::UNIX_EPOCH));
        writer.write(Stream::Stdout, b"so far\n");
        drop(writer);
        assert_eq!(gone(&store.sweep(&more_than(1)).unwrap()), ["s/dead"]);
        assert_eq!(files_below(&folder.path().join("s/tool")), [""; 0]);
    }

    #[test]
    fn a_session_that_is_held_open_is_passed_over_and_one_that_was_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, "open", "a", b"x");
        put(&store, "shut", "b", b"x");
        let held = [store.hold_open(&session("open")).unwrap(), store.hold_open(&session("open")).unwrap()];
        assert!(store.is_open(&session("open")) && !store.is_open(&session("shut")));
        assert_eq!(gone(&store.sweep(&a_day(2 * DAY)).unwrap()), ["shut/b"]);
        let removed = store.remove_session(&session("open"), after(0), false).unwrap();
        assert_eq!((removed.sessions, removed.stays.len()), (vec![], 1));
        drop(held);
        assert_eq!(gone(&store.sweep(&a_day(2 * DAY)).unwrap()), ["open/a"]);
    }

    #[test]
    fn a_session_with_nothing_left_goes_when_its_events_are_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, "s", "a", b"x");
        store.set_in_use(&session("s"), InUse { reported: 1, given: 0 }).unwrap();
        let first = store.sweep(&a_day(2 * DAY)).unwrap();
        assert_eq!((gone(&first).len(), first.sessions), (1, vec![]), "its events tell of the sweep");
        assert_eq!(store.sweep(&a_day(DAY - HOUR)).unwrap().sessions, []);
        let held = store.hold_open(&session("s")).unwrap();
        assert_eq!(store.sweep(&a_day(2 * DAY)).unwrap().sessions, [], "somebody works in it");
        drop(held);
        let dry = Sweep { dry_run: true, ..a_day(2 * DAY) };
        assert_eq!(store.sweep(&dry).unwrap().sessions, [session("s")]);
        assert_eq!(store.sweep(&a_day(2 * DAY)).unwrap().sessions, [session("s")]);
        assert_eq!(files_below(folder.path()), [".forebay-root"]);
    }

    #[test]
    fn a_session_is_removed_except_for_outputs_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let dyn_store: &dyn Store = &store;
        put(&store, "s", "a", b"x");
        put(&store, "other", "b", b"x");
        let writer =
            Writer::begin(dyn_store, &Call::new(session("s"), "grows", "tool", Timestamp::UNIX_EPOCH));
        let report = store.remove_session(&session("s"), after(0), false).unwrap();
        assert_eq!((gone(&report), report.sessions), (vec!["s/a".to_owned()], vec![]));
        drop(writer);
        let report = store.remove_session(&session("s"), after(0), false).unwrap();
        assert_eq!(report.sessions, [session("s")]);
        assert_eq!(files_below(folder.path()), [".forebay-root", "other"]);
        assert!(store.remove_session(&session("s"), after(0), false).unwrap().sessions.is_empty());
        put(&store, "s", "again", b"x");
        assert_eq!(ids(&store, "s"), ["again"], "its name can be used again");
    }

    #[test]
    fn leftovers_of_dead_processes_are_removed_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, "s", "kept", b"x");
        let tool = folder.path().join("s/tool");
        let ours = ["a.1-0.tmp", "b.part", "c.part", "kept.meta.7-1.tmp"];
        let foreign = ["a.tmp", "d.lines", "e.txt", "e.json", "f.log", "g.1.tmp", "mine.md", "notes"];
        for name in ours.iter().chain(&foreign) {
            files::create(&tool.join(name)).unwrap();
        }
        // These have our form, but everybody may read them.
        for name in ["x.1-0.tmp", "y.part"] {
            fs::write(tool.join(name), b"left").unwrap();
        }
        let alive = files::read(&tool.join("c.part")).unwrap();
        alive.try_lock().unwrap();
        let off = |later| Sweep { rules: Rules::default(), ..a_day(later) };
        assert_eq!(store.sweep(&off(DAY - HOUR)).unwrap().leftovers, 0);
        assert_eq!(store.sweep(&Sweep { by_age: false, ..off(2 * DAY) }).unwrap().leftovers, 0);
        assert_eq!(store.sweep(&Sweep { dry_run: true, ..off(2 * DAY) }).unwrap().leftovers, 3);
        assert_eq!(store.sweep(&off(2 * DAY)).unwrap().leftovers, 3);
        let mut left =
            [&foreign[..], &["c.part", "kept.meta.json", "kept.txt", "x.1-0.tmp", "y.part"]].concat();
        left.sort_unstable();
        assert_eq!(files_below(&tool), left, "what is locked or not ours stays");
    }

    #[test]
    fn leftovers_of_a_killed_removal_are_removed_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, "s", "half", &b"x\n".repeat(100_000));
        put(&store, "s", "other", b"x");
        store.link(&"s/half".parse().unwrap()).unwrap();
        let tool = folder.path().join("s/tool");
        fs::rename(tool.join("half.meta.json"), tool.join("half.meta.9-0.tmp")).unwrap();
        assert_eq!(ids(&store, "s"), ["other"], "it is gone for whoever asks");
        let rules = Rules::default();
        assert_eq!(store.sweep(&Sweep { rules, ..a_day(DAY - HOUR) }).unwrap().leftovers, 0);
        assert_eq!(store.sweep(&Sweep { rules, ..a_day(2 * DAY) }).unwrap().leftovers, 4);
        assert_eq!(files_below(&tool), ["other.meta.json", "other.txt"]);
        assert_eq!(files_below(&folder.path().join("s")), ["events.jsonl", "tool"]);
    }

    /// All files below a folder, with their bytes.
    fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all.extend(everything(&path))
            } else {
                drop(all.insert(path.clone(), fs::read(&path).unwrap()))
            }
        }
        all
    }

    #[test]
    fn a_root_that_is_set_to_a_foreign_folder_loses_nothing_foreign() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "project/tool/notes.txt",
            "project/tool/data.json",
            "project/tool/a.bin",
            "project/tool/x.tmp",
            "project/tool/x.1-0.tmp",
            "project/tool/b.part",
            "project/tool/b.lines",
            "project/tool/c.meta.json",
            "project/tool/c.txt",
            "project/terminal/d.log",
            "logs/events.jsonl",
            "logs/state.json",
            "state/state.json",
            "run-abcdefghjkmn/run.lock",
            "run-abcdefghjkmn/s/tool/e.txt",
            "run-bcdefghjkmnp/a.tmp",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, b"{\"foreign\": true}\n").unwrap();
        }
        let before = everything(folder.path());
        let store = DiskStore::new(folder.path());
        let all = Rules { max_age: Some(Duration::from_secs(1)), max_bytes: Some(1), min_free: Some(1) };
        let late = Sweep { rules: all, free: Some(0), ..a_day(400 * DAY) };
        let clean = |store: &DiskStore| {
            let reports = [
                store.sweep(&late).unwrap(),
                store.sweep(&Sweep { only: Some(session("project")), ..late.clone() }).unwrap(),
                store.remove_session(&session("project"), late.now, false).unwrap(),
                store.remove_session(&session("logs"), late.now, false).unwrap(),
            ];
            assert_eq!(store.sweep_runs(late.now, false).unwrap(), [""; 0].map(PathBuf::from));
            reports
        };
        assert!(clean(&store).iter().all(|report| report.foreign), "nothing proves that it is ours");
        assert_eq!(everything(folder.path()), before);
        // With outputs of ours in it, these go and nothing else does.
        put(&store, "project", "mine", b"x");
        put(&store, "s", "mine", b"x");
        let reports = clean(&store);
        assert_eq!(gone(&reports[0]), ["project/mine", "s/mine"]);
        assert!(reports.iter().all(|report| !report.foreign));
        let mut after = everything(folder.path());
        after.retain(|path, _| before.contains_key(path));
        assert_eq!(after, before);
    }

    #[test]
    fn a_root_without_a_mark_is_adopted_if_it_holds_our_records_and_one_of_a_newer_version_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let handle = put(&store, "s", "old", b"x");
        let marker = folder.path().join(".forebay-root");
        assert_eq!(fs::read(&marker).unwrap(), b"forebay root 1\n");
        fs::remove_file(&marker).unwrap();
        assert_eq!(store.record(&handle).unwrap().size.bytes, 1, "it can be read without");
        let look = Sweep { dry_run: true, ..a_day(2 * DAY) };
        assert_eq!((gone(&store.sweep(&look).unwrap()), marker.exists()), (vec!["s/old".to_owned()], false));
        fs::write(&marker, b"forebay root 2\n").unwrap();
        assert_eq!(gone(&store.sweep(&a_day(2 * DAY)).unwrap()), [""; 0]);
        fs::remove_file(&marker).unwrap();
        assert_eq!(gone(&store.sweep(&a_day(2 * DAY)).unwrap()), ["s/old"]);
        assert!(marker.exists());
    }

    #[test]
    fn an_output_with_a_damaged_record_stays_and_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, "s", "bad", b"x");
        fs::write(folder.path().join("s/tool/bad.meta.json"), b"{").unwrap();
        let report = store.sweep(&a_day(2 * DAY)).unwrap();
        assert_eq!((report.gone.len(), report.stays.len()), (0, 1));
        assert!(report.stays[0].1.contains("by hand"), "{:?}", report.stays);
    }

    #[test]
    fn after_a_gap_of_more_than_a_day_ages_count_only_an_hour_later() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        assert!(!store.counts_ages(after(0), false).unwrap());
        assert_eq!(files_below(folder.path()), [""; 0], "a root that is not ours is not written to");
        put(&store, "s", "one", b"x");
        let hour = Duration::from_secs(3_600);
        assert!(!store.take_turn(after(0), hour).unwrap());
        let table = [
            // Seconds from now; whether ages count then.
            (60, true),
            (2 * HOUR, true),
            (25 * HOUR, true),
            // The clock jumps ahead.
            (25 * HOUR + 40 * DAY, false),
            (25 * HOUR + 40 * DAY + 60, false),
            (26 * HOUR + 40 * DAY, true),
            // It is set right, and goes on.
            (26 * HOUR, false),
            (26 * HOUR + 1_800, false),
            (27 * HOUR, true),
            (27 * HOUR + DAY, true),
            (27 * HOUR + 2 * DAY + 1, false),
        ];
        for (later, counts) in table {
            assert_eq!(store.counts_ages(after(later), true).unwrap(), counts, "{later}: to look");
            assert_eq!(store.counts_ages(after(later), false).unwrap(), counts, "{later}");
        }
        // A turn notes the gap too, for the sweep that it starts.
        let jump = after(60 * DAY);
        assert!(store.take_turn(jump, hour).unwrap());
        assert!(!store.counts_ages(jump, false).unwrap());
        let sweep = Sweep { by_age: false, ..a_day(60 * DAY) };
        let report = store.sweep(&sweep).unwrap();
        assert_eq!((gone(&report).len(), report.held_back), (0, 1));
    }

    #[test]
    fn of_many_that_ask_at_once_one_has_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let hour = Duration::from_secs(3_600);
        let turns = |now: Timestamp| {
            std::thread::scope(|scope| {
                let asked: Vec<_> =
                    (0..64).map(|_| scope.spawn(|| store.take_turn(now, hour).unwrap())).collect();
                asked.into_iter().filter_map(|turn| turn.join().unwrap().then_some(())).count()
            })
        };
        assert_eq!(turns(after(0)), 0, "a new root has nothing old");
        let table = [(HOUR / 2, 0), (2 * HOUR, 1), (2 * HOUR + 60, 0), (4 * HOUR, 1), (-HOUR, 1)];
        for (later, expected) in table {
            assert_eq!(turns(after(later)), expected, "{later}");
        }
        let text = fs::read_to_string(folder.path().join(".swept")).unwrap();
        assert!(text.starts_with("sweep 3 at "), "{text}");
        assert_eq!(store.sessions().unwrap(), []);
    }

    #[test]
    fn a_run_folder_goes_with_its_process_and_a_live_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let run = |random| RunFolder::new(folder.path(), 7, Timestamp::UNIX_EPOCH, [random; 16]).unwrap();
        let (live, ended) = (run(1), run(2));
        // A name that a careless look would take for a session's.
        put(&DiskStore::new(live.path()), "tool", "a", b"x");
        put(&DiskStore::new(ended.path()), "s", "a", b"x");
        assert_eq!(store.sessions().unwrap(), []);
        let path = ended.path().to_owned();
        assert!(RunFolder::is_alive(&path) && !RunFolder::is_alive(folder.path()));
        drop(ended);
        assert!(!path.exists());
        // What a killed process leaves has the lock file, and nobody who holds it.
        fs::create_dir_all(path.join("s/tool")).unwrap();
        fs::write(path.join("run.lock"), b"").unwrap();
        put(&DiskStore::new(&path), "s", "a", b"x");
        assert!(!RunFolder::is_alive(&path));
        // A session that is called like a run is one.
        put(&store, "run-abcdefghjkmn", "a", b"x");
        assert_eq!(store.sweep_runs(after(0), true).unwrap(), std::slice::from_ref(&path));
        assert_eq!(store.sweep(&a_day(0)).unwrap().runs, std::slice::from_ref(&path));
        assert!(!path.exists() && live.path().join("tool/tool/a.txt").exists());
        assert_eq!(store.sessions().unwrap(), [session("run-abcdefghjkmn")]);
        // One that was never locked is young for a day.
        fs::create_dir(&path).unwrap();
        assert_eq!(store.sweep_runs(after(DAY - HOUR), false).unwrap(), [""; 0].map(PathBuf::from));
        assert_eq!(store.sweep_runs(after(2 * DAY), false).unwrap(), [path]);
    }

    #[test]
    fn outputs_in_use_keep_the_run_folder_of_a_dead_process() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let run = RunFolder::new(folder.path(), 7, Timestamp::UNIX_EPOCH, [1; 16]).unwrap();
        let inner = DiskStore::new(run.path());
        let writer = Writer::begin(&inner, &Call::new(session("s"), "grows", "tool", Timestamp::UNIX_EPOCH));
        let path = run.path().to_owned();
        drop(run);
        assert!(path.join("s/tool/grows.part").exists());
        assert_eq!(store.sweep_runs(after(0), false).unwrap(), [""; 0].map(PathBuf::from));
        drop(writer);
        assert_eq!(store.sweep_runs(after(0), false).unwrap(), std::slice::from_ref(&path));
        assert!(!path.exists());
    }

    #[test]
    fn an_output_that_begins_while_its_session_is_removed_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    store.remove_folder(&session("s"));
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            for number in 0..200 {
                let handle = put(&store, "s", &format!("n{number}"), b"kept");
                let output = store.open(&handle).unwrap();
                assert_eq!(output.read(0..4).unwrap(), b"kept");
                drop(output);
                store.delete(&handle).unwrap();
            }
        });
    }
}
