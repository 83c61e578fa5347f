//! Sweeping: what is weighed and decided on becomes what is removed, and nothing that is in use does.
//!
//! A sweep reads no record: names and the metadata of files tell all it needs, so a hundred thousand outputs take a
//! second to weigh. It never waits for a lock: what it does not get is in use, and the next sweep comes.

use super::open::{Held, OPEN, is_at, lock_file};
use super::{DATA, DiskStore, FOLDERS, Files, META, PARTS, STATE, is_run_folder, make_folder, names_in};
use crate::event::{Event, Swept, What};
use crate::retention::{Cause, Rules, Weight, decide};
use crate::{Error, Handle, Part, Result, Session, Store, Timestamp};
use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File, Metadata},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// What a process left behind goes after this long: none needs an hour between two steps.
const LEFT: i64 = 60 * 60;

/// So many removals are noted at once.
const NOTED: usize = 256;

/// The file whose time says when this root was swept last.
const SWEPT: &str = ".swept";

/// What to sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// When outputs go.
    pub rules: Rules,
    /// Only this session, if one is named.
    pub only: Option<Session>,
    /// The time; the library has no clock.
    pub now: Timestamp,
    /// The free bytes of the disk, where they are known.
    pub free: Option<u64>,
    /// Whether nothing is removed, and only told.
    pub dry_run: bool,
}

/// What a sweep removed, or would have.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The outputs that went.
    pub gone: Vec<Gone>,
    /// The outputs that would have had to go and stay, with the reason.
    pub stays: Vec<(Handle, String)>,
    /// The sessions that were removed as a whole.
    pub sessions: Vec<Session>,
    /// Files that dead processes had left.
    pub leftovers: u64,
    /// Run folders of processes that are gone.
    pub runs: Vec<PathBuf>,
}

/// An output that went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Its name.
    pub handle: Handle,
    /// What it weighed.
    pub bytes: u64,
    /// Why it went.
    pub cause: Cause,
}

impl DiskStore {
    /// Removes what the rules say, what dead processes left, and sessions that have nothing left and are too old.
    pub fn sweep(&self, sweep: &Sweep) -> Result<Report> {
        let mut report = Report::default();
        let mut weights = Vec::new();
        for session in self.session_folders()? {
            if sweep.only.as_ref().is_some_and(|only| *only != session) {
                continue;
            }
            let (mut found, leftovers) = self.scan(&session)?;
            for path in leftovers.into_iter().filter(|path| is_left_over(path, sweep.now)) {
                report.leftovers += u64::from(sweep.dry_run || fs::remove_file(&path).is_ok());
            }
            let open = self.unless_open(&session, false).is_none();
            found.iter_mut().for_each(|weight| weight.in_use |= open);
            if found.is_empty() && !open && self.is_too_old(&session, sweep) {
                let removed = sweep.dry_run || self.remove_folder(&session);
                report.sessions.extend(removed.then_some(session));
            }
            weights.extend(found);
        }
        self.sweep_outputs(weights, sweep, &mut report);
        if sweep.only.is_none() {
            report.runs = self.sweep_runs(sweep.now, sweep.dry_run)?;
        }
        Ok(report)
    }

    /// Decides and removes until nothing is left to remove: for what turns out to be in use, others may have to go.
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
        let (weights, leftovers) = self.scan(session)?;
        let all = weights.into_iter().map(|weight| Gone {
            handle: weight.handle,
            bytes: weight.bytes,
            cause: Cause::Session,
        });
        self.remove_outputs(session, all.collect(), now, dry_run, &mut report);
        if !report.stays.is_empty() || !self.root().join(session.as_str()).is_dir() {
            return Ok(report);
        }
        let free = leftovers.iter().all(|path| {
            let unlocked = File::open(path).is_ok_and(|file| file.try_lock().is_ok());
            unlocked && (dry_run || fs::remove_file(path).is_ok())
        });
        let removed = free && (dry_run || self.remove_folder(session));
        report.sessions.extend(removed.then(|| session.clone()));
        Ok(report)
    }

    /// Whether somebody holds a session open.
    pub fn is_open(&self, session: &Session) -> bool {
        self.unless_open(session, false).is_none()
    }

    /// Takes the turn to sweep this root: of all that ask within `every`, one gets it. The first to ask of a root that
    /// was never swept does not: there is nothing old in it yet, and the next has its turn when the time is over.
    pub fn take_turn(&self, now: Timestamp, every: Duration) -> Result<bool> {
        let path = self.root().join(SWEPT);
        let cannot = || Error::store(format!("write {}", path.display()));
        let is_due = |data: &Metadata| {
            let at = data.modified().ok().and_then(|at| Timestamp::try_from(at).ok()).unwrap_or(now);
            // A stamp from far in the future was set by a clock that was wrong.
            now.duration_since(at).unsigned_abs() >= every
        };
        // Nearly always this is all that is done.
        match fs::metadata(&path) {
            Ok(data) if !is_due(&data) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folder(self.root()).and_then(|()| lock_file(&path)).map_err(cannot())?;
                return Ok(false);
            }
            Err(error) => return Err(cannot()(error)),
        }
        let mut file = lock_file(&path).map_err(cannot())?;
        if file.try_lock().is_err() || !is_at(&file, &path) || !is_due(&file.metadata().map_err(cannot())?) {
            return Ok(false);
        }
        let sweeps = fs::read_to_string(&path)
            .ok()
            .and_then(|text| text.split_whitespace().nth(1).and_then(|count| count.parse::<u64>().ok()));
        let line = format!("sweep {} at {now}\n", sweeps.unwrap_or(0) + 1);
        file.set_len(0).and_then(|()| file.write_all(line.as_bytes())).map_err(cannot())?;
        file.set_modified(SystemTime::from(now)).map_err(cannot())?;
        Ok(true)
    }

    /// How many bytes the disk has left for us.
    pub fn free(&self) -> Result<u64> {
        let there = self.root().ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
        let disk = rustix::fs::statvfs(there).map_err(|error| {
            Error::store(format!("see how full the disk of {} is", there.display()))(error.into())
        })?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// The weights of a session, and files that belong to no output: their writer died between two steps.
    pub(super) fn scan(&self, session: &Session) -> Result<(Vec<Weight>, Vec<PathBuf>)> {
        #[derive(Default)]
        struct Found {
            bytes: u64,
            /// When the record was written, if there is one.
            time: Option<Timestamp>,
            growing: bool,
        }
        let (mut weights, mut leftovers) = (Vec::new(), Vec::new());
        for folder in FOLDERS.map(|folder| self.folder(session, folder)) {
            let cannot = || Error::store(format!("list {}", folder.display()));
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(cannot()(error)),
            };
            let mut outputs: HashMap<String, Found> = HashMap::new();
            for entry in entries {
                let entry = entry.map_err(cannot())?;
                // A file may go while we look.
                let (Ok(name), Ok(data)) = (entry.file_name().into_string(), entry.metadata()) else {
                    continue;
                };
                if name.ends_with(".tmp") {
                    leftovers.push(entry.path());
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
                found.bytes += data.len() / data.nlink().max(1);
                if ending == META {
                    let at = data.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
                    found.time = Some(at.unwrap_or(Timestamp::MAX));
                }
                found.growing |= ending == ".part";
            }
            for (id, found) in outputs {
                let Ok(handle) = Handle::new(session.clone(), &id) else { continue };
                let files = Files::new(folder.clone(), &handle);
                let part = files.part(Part::Bytes);
                // A part that nobody has locked is what a dead writer left. One that is not there any more has just
                // been ended, and stays for this time.
                let alive = found.growing && !File::open(&part).is_ok_and(|part| part.try_lock().is_ok());
                match found.time {
                    Some(time) => {
                        weights.push(Weight { handle, bytes: found.bytes, time, in_use: alive });
                    }
                    None if alive => {}
                    None => leftovers.extend(
                        DATA.iter()
                            .chain(&PARTS)
                            .map(|ending| files.named(ending))
                            .filter(|path| path.exists()),
                    ),
                }
            }
        }
        weights.sort_by(|a, b| a.handle.cmp(&b.handle));
        Ok((weights, leftovers))
    }

    /// All folders of sessions, also of those that have no outputs. What is not ours is not looked at.
    fn session_folders(&self) -> Result<Vec<Session>> {
        let ours = [FOLDERS[0], FOLDERS[1], super::EVENTS, STATE, OPEN];
        let mut sessions: Vec<Session> = names_in(self.root())?
            .iter()
            .filter_map(|name| name.parse().ok())
            .filter(|session: &Session| {
                let folder = self.root().join(session.as_str());
                folder.is_dir()
                    && !is_run_folder(&folder)
                    && ours.iter().any(|name| folder.join(name).exists())
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
            // What was removed is gone, whether it can be noted or not.
            let _ = self.log(session, &lines.join(&b'\n'));
        }
    }

    /// Removes an output unless somebody has it open; tells whether it is gone.
    fn remove_unused(&self, handle: &Handle, dry_run: bool) -> Result<bool> {
        let files = self.files(handle)?;
        // Held until all files are gone, so that a reader that comes now finds nothing or everything.
        let _lock = match files.data().map(|path| File::open(&path).map(|file| (file.try_lock(), file))) {
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
        let written = |path: &Path| fs::metadata(path).ok().and_then(|data| data.modified().ok());
        let last = [super::EVENTS, STATE].iter().filter_map(|name| written(&folder.join(name))).max();
        let last = last.or_else(|| written(&folder)).and_then(|last| Timestamp::try_from(last).ok());
        last.and_then(|last| Duration::try_from(sweep.now.duration_since(last)).ok())
            .is_some_and(|age| age > most)
    }

    /// Removes the folder of a session that has no outputs. An output that begins meanwhile keeps its folder: folders
    /// are only removed when they are empty.
    fn remove_folder(&self, session: &Session) -> bool {
        let Some(_held) = self.unless_open(session, true) else { return false };
        let folder = self.root().join(session.as_str());
        for inner in FOLDERS {
            match fs::remove_dir(folder.join(inner)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return false,
                _ => {}
            }
        }
        let tmp = names_in(&folder).unwrap_or_default().into_iter().filter(|name| name.ends_with(".tmp"));
        let ours = [super::EVENTS, STATE, super::STATE_LOCK].map(str::to_owned);
        // The lock goes last, because it is what keeps others out.
        for name in tmp.chain(ours).chain([OPEN.to_owned()]) {
            let _ = fs::remove_file(folder.join(name));
        }
        fs::remove_dir(&folder).is_ok()
    }

    /// Lets a session go; if nothing has happened in it, no trace is left.
    pub fn close(&self, session: &Session, held: Held) {
        drop(held);
        let bare = names_in(&self.root().join(session.as_str())).is_ok_and(|names| names == [OPEN]);
        if bare {
            self.remove_folder(session);
        }
    }
}

/// Whether a file or folder has not been touched for so long that nobody will. The time of the last change cannot be
/// set back, so what was copied from elsewhere with its old times is young.
pub(super) fn is_left_over(path: &Path, now: Timestamp) -> bool {
    let Ok(data) = fs::symlink_metadata(path) else { return false };
    let touched = data.mtime().max(data.ctime());
    let unlocked = || !path.is_file() || File::open(path).is_ok_and(|file| file.try_lock().is_ok());
    now.as_second().saturating_sub(touched) > LEFT && unlocked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{End, Stream};
    use crate::{Call, RunFolder};

    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;

    fn session(name: &str) -> Session {
        Session::safe(name)
    }

    fn put(store: &dyn Store, name: &str, id: &str, bytes: &[u8]) -> Handle {
        let mut writer = store.begin(&Call::new(session(name), id, "tool", Timestamp::UNIX_EPOCH));
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
        Sweep { rules, only: None, now: after(later), free: None, dry_run: false }
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
    fn what_is_too_old_goes_with_all_its_files_and_is_noted() {
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
        let read = (&store as &dyn Store).for_each_event(&session("s"), |event| {
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
    fn what_grows_stays_and_so_does_what_is_read_and_others_go_in_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let dyn_store: &dyn Store = &store;
        for id in ["one", "two", "three"] {
            put(&store, "s", id, format!("{id}\n").repeat(10_000).as_bytes());
        }
        let mut writer = dyn_store.begin(&Call::new(session("s"), "grows", "tool", Timestamp::UNIX_EPOCH));
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
    fn what_a_dead_writer_left_is_swept_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let dyn_store: &dyn Store = &store;
        let mut writer = dyn_store.begin(&Call::new(session("s"), "dead", "tool", Timestamp::UNIX_EPOCH));
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
        assert!(store.change_state(&session("s"), &mut |_| Some(b"{}".to_vec())).is_ok());
        let first = store.sweep(&a_day(2 * DAY)).unwrap();
        assert_eq!((gone(&first).len(), first.sessions), (1, vec![]), "its events tell of the sweep");
        assert_eq!(store.sweep(&a_day(DAY - HOUR)).unwrap().sessions, []);
        let held = store.hold_open(&session("s")).unwrap();
        assert_eq!(store.sweep(&a_day(2 * DAY)).unwrap().sessions, [], "somebody works in it");
        drop(held);
        let dry = Sweep { dry_run: true, ..a_day(2 * DAY) };
        assert_eq!(store.sweep(&dry).unwrap().sessions, [session("s")]);
        assert_eq!(store.sweep(&a_day(2 * DAY)).unwrap().sessions, [session("s")]);
        assert_eq!(files_below(folder.path()), [""; 0]);
    }

    #[test]
    fn a_whole_session_is_removed_but_for_what_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let dyn_store: &dyn Store = &store;
        put(&store, "s", "a", b"x");
        put(&store, "other", "b", b"x");
        let writer = dyn_store.begin(&Call::new(session("s"), "grows", "tool", Timestamp::UNIX_EPOCH));
        let report = store.remove_session(&session("s"), after(0), false).unwrap();
        assert_eq!((gone(&report), report.sessions), (vec!["s/a".to_owned()], vec![]));
        drop(writer);
        let report = store.remove_session(&session("s"), after(0), false).unwrap();
        assert_eq!(report.sessions, [session("s")]);
        assert_eq!(files_below(folder.path()), ["other"]);
        assert!(store.remove_session(&session("s"), after(0), false).unwrap().sessions.is_empty());
        put(&store, "s", "again", b"x");
        assert_eq!(ids(&store, "s"), ["again"], "its name can be used again");
    }

    #[test]
    fn what_dead_processes_left_goes_after_an_hour() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        put(&store, "s", "kept", b"x");
        let tool = folder.path().join("s/tool");
        for name in ["a.1-0.tmp", "b.part", "c.part", "d.lines", "kept.meta.7-1.tmp", "notes", "mine.md"] {
            fs::write(tool.join(name), b"left").unwrap();
        }
        let alive = File::open(tool.join("c.part")).unwrap();
        alive.try_lock().unwrap();
        let off = |later| Sweep { rules: Rules::default(), ..a_day(later) };
        assert_eq!(store.sweep(&off(HOUR / 2)).unwrap().leftovers, 0);
        assert_eq!(store.sweep(&Sweep { dry_run: true, ..off(2 * HOUR) }).unwrap().leftovers, 4);
        assert_eq!(store.sweep(&off(2 * HOUR)).unwrap().leftovers, 4);
        let left = ["c.part", "kept.meta.json", "kept.txt", "mine.md", "notes"];
        assert_eq!(files_below(&tool), left, "what is locked or not ours stays");
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
        let text = fs::read_to_string(folder.path().join(SWEPT)).unwrap();
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
        // One that was never locked is young for an hour.
        fs::create_dir(&path).unwrap();
        assert_eq!(store.sweep_runs(after(0), false).unwrap(), [""; 0].map(PathBuf::from));
        assert_eq!(store.sweep_runs(after(2 * HOUR), false).unwrap(), [path]);
    }

    #[test]
    fn what_is_read_or_written_in_the_run_folder_of_a_dead_process_stays_until_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = DiskStore::new(folder.path());
        let run = RunFolder::new(folder.path(), 7, Timestamp::UNIX_EPOCH, [1; 16]).unwrap();
        let inner = DiskStore::new(run.path());
        let writer =
            (&inner as &dyn Store).begin(&Call::new(session("s"), "grows", "tool", Timestamp::UNIX_EPOCH));
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
                let output = (&store as &dyn Store).open(&handle).unwrap();
                assert_eq!(output.read(0..4).unwrap(), b"kept");
                drop(output);
                store.delete(&handle).unwrap();
            }
        });
    }
}
