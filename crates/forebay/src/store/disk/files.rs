//! Opens the files of the disk store: never through a symbolic link, regular files only, with bounded reads and
//! waits.
//!
//! A root may contain foreign files, such as a link to a file elsewhere, a FIFO, a device, or a file that another
//! process keeps locked. Each of them becomes an error here. No other module of the disk store opens files; a test
//! checks that.

use crate::Handle;
use crate::{Result, Session};
use rustix::{fs::OFlags, io::Errno};
use std::{
    fmt,
    fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// Largest file that is read whole, in bytes: a record, a state, an unfinished line of events. A record holds the
/// arguments of its call, which may be a whole file.
pub(crate) const LARGEST: u64 = 64 * 1024 * 1024;

/// Why a file is not used, although the system would open it.
#[derive(Debug)]
pub(crate) struct Refused(&'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// Whether an error is one of these.
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Refused>())
    }
}

const LINK: Refused = Refused("it is a symbolic link, and Forebay follows none inside its root; remove it");
const NOT_A_FILE: Refused = Refused("it is not a regular file; remove it");
const TOO_LARGE: Refused = Refused("it is larger than any file that Forebay writes there; remove it");
const NOT_A_FOLDER: Refused = Refused("it is not a folder; remove it");
const LOCKED: Refused = Refused("another process keeps it locked, and waiting for it did not help");

fn refused(why: Refused) -> io::Error {
    io::Error::other(why)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // Without NONBLOCK, opening a FIFO waits until somebody opens its other end. It does nothing to regular files.
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()).mode(0o600);
    options
}

fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::MLINK) => refused(LINK),
        Some(Errno::NXIO | Errno::ISDIR) => refused(NOT_A_FILE),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused(NOT_A_FILE)) }
}

/// Opens a file for reading.
pub(crate) fn read(path: &Path) -> io::Result<File> {
    open(options().read(true), path)
}

/// Opens a file for reading; `None` if it does not exist.
pub(crate) fn read_if_any(path: &Path) -> io::Result<Option<File>> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Makes a file that must not exist yet, to be appended to.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open(options().read(true).append(true).create_new(true), path)
}

/// Opens a file to be appended to, and makes it if it is not there.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    open(options().read(true).append(true).create(true), path)
}

/// Opens a file to be locked or rewritten, and makes it if it is not there.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    open(options().read(true).write(true).create(true).truncate(false), path)
}

/// Returns all bytes of a small file.
pub(crate) fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(refused(TOO_LARGE)) } else { Ok(bytes) }
}

/// Metadata of a path, without following a link. `None` if it does not exist or cannot be read.
pub(crate) fn stat(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok()
}

/// Whether a path is a folder and not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    stat(path).is_some_and(|data| data.is_dir())
}

/// Whether a root exists. The user sets it, so it may be a link to a folder.
pub(crate) fn is_root(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_dir())
}

/// Whether a path is a regular file.
pub(crate) fn is_file(path: &Path) -> bool {
    stat(path).is_some_and(|data| data.is_file())
}

/// Whether a file was made by us, as far as its mode tells: only its owner may read and write it.
pub(crate) fn is_private(data: &Metadata) -> bool {
    data.is_file() && data.permissions().mode() & 0o777 == 0o600
}

/// Whether two names refer to the same file.
pub(crate) fn are_one(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Whether an open file still has its name: a lock on one that was removed guards nothing.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().ok().zip(stat(path)).is_some_and(|(ours, there)| are_one(&ours, &there))
}

/// Refuses a path at which something other than a folder is. A path at which nothing is passes.
pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => Ok(()),
        Ok(data) if data.is_symlink() => Err(refused(LINK)),
        Ok(_) => Err(refused(NOT_A_FOLDER)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Creates a folder and those above it, accessible only to their owner.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The names in a folder that are text.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>> {
    let cannot = || crate::Error::store(format!("list {}", folder.display()));
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

/// A name beside a file that no other process or thread uses; [`is_temporary`] recognises it.
pub(crate) fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{number}.tmp", std::process::id()))
}

/// Whether a name is one that [`beside`] makes: `<stem>.<process>-<number>.tmp`. The stem is the id of an output, also
/// with `.meta` or `.view` behind it, or the name of another file that the store replaces.
pub(crate) fn is_temporary(name: &str) -> bool {
    let stem = temporary_stem(name)
        .map(|stem| stem.strip_suffix(".meta").or_else(|| stem.strip_suffix(".view")).unwrap_or(stem));
    stem.is_some_and(|stem| {
        stem == crate::store::disk::root::MARKER || Handle::new(Session::safe("s"), stem).is_ok()
    })
}

/// Prefix of temporary names, before their numbers.
pub(crate) fn temporary_stem(name: &str) -> Option<&str> {
    let (stem, numbers) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (process, number) = numbers.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(process) && is_number(number)).then_some(stem)
}

/// Makes a file that must not exist yet, in one step.
pub(crate) fn claim(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    let claimed = create(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::hard_link(&beside, path));
    let _ = fs::remove_file(&beside);
    claimed
}

/// Writes a small file in one step: under a temporary name first, so that no reader sees half of it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    // A process that had our number may have left the name behind.
    let _ = fs::remove_file(&beside);
    let written =
        create(&beside).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// How long a lock is waited for: about two seconds, in attempts with pauses of up to 10 ms. Our own processes hold a
/// lock for less than a millisecond.
const ATTEMPTS: u32 = 210;

/// Attempts after an earlier wait has failed: about 10 ms. A lock that is never released must not delay every further
/// step.
const ATTEMPTS_LATER: u32 = 8;

/// Waits for locks, but never without end.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Whether the last wait failed.
    spent: AtomicBool,
}

impl Patience {
    /// Locks a file for this process alone.
    pub(crate) fn lock(&self, file: &File) -> io::Result<()> {
        self.wait(|| file.try_lock())
    }

    /// Locks a file together with others.
    pub(crate) fn lock_shared(&self, file: &File) -> io::Result<()> {
        self.wait(|| file.try_lock_shared())
    }

    fn wait(&self, attempt: impl Fn() -> std::result::Result<(), TryLockError>) -> io::Result<()> {
        let attempts = if self.spent.load(Ordering::Relaxed) { ATTEMPTS_LATER } else { ATTEMPTS };
        for number in 0..attempts {
            match attempt() {
                Ok(()) => {
                    self.spent.store(false, Ordering::Relaxed);
                    return Ok(());
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            std::thread::sleep(Duration::from_micros(50 << number.min(7)).min(Duration::from_millis(10)));
        }
        self.spent.store(true, Ordering::Relaxed);
        Err(refused(LOCKED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_this_module_opens_files_of_the_store() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
        let modules = fs::read_dir(source.join("disk")).unwrap().map(|entry| entry.unwrap().path());
        let mut looked_at = 0;
        for path in modules.chain([source.join("disk.rs")]).filter(|path| !path.ends_with("files.rs")) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for opens in [
                "File::open",
                "File::create",
                "File::options",
                "OpenOptions",
                "fs::read(",
                "fs::read_to_string",
                "fs::write",
                "fs::metadata",
                "fs::copy",
                ".exists()",
                ".is_dir()",
                ".try_exists()",
                ".lock()",
                ".lock_shared()",
                "remove_dir_all",
            ] {
                // Metadata that was read already and a mutex have methods of the same names.
                let is_other = |line: &str| line.contains("data.is_dir()") || line.contains("PoisonError");
                let found = code.lines().find(|line| line.contains(opens) && !is_other(line));
                assert_eq!(found, None, "{}", path.display());
            }
            looked_at += 1;
        }
        assert!(looked_at >= 6, "{looked_at}");
    }

    #[test]
    fn links_fifos_devices_and_folders_are_refused_and_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"text").unwrap();
        fs::create_dir(at("folder")).unwrap();
        for (name, to) in
            [("link", "file"), ("zero", "/dev/zero"), ("dangling", "none"), ("dir-link", "folder")]
        {
            symlink(to, at(name)).unwrap();
        }
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        type Open = fn(&Path) -> io::Result<File>;
        let ways: [(&str, Open); 3] = [("read", read), ("append", append), ("lock_file", lock_file)];
        for (way, open) in ways {
            for (name, why) in [
                ("file", ""),
                ("link", "symbolic link"),
                ("zero", "symbolic link"),
                ("dangling", "symbolic link"),
                ("dir-link", "symbolic link"),
                ("fifo", "not a regular file"),
                ("folder", "not a regular file"),
            ] {
                let said = open(&at(name)).err().map(|error| error.to_string()).unwrap_or_default();
                assert!(said.contains(why) && said.is_empty() == why.is_empty(), "{way} {name}: {said}");
            }
            assert!(open(Path::new("/dev/zero")).is_err(), "{way}");
        }
        assert!(!at("none").exists(), "nothing is made behind a link");
        for (name, refuses) in [("folder", false), ("none", false), ("dir-link", true), ("file", true)] {
            assert_eq!(check_folder(&at(name)).is_err(), refuses, "{name}");
        }
        let large = File::create(at("large")).unwrap();
        large.set_len(1 << 40).unwrap();
        assert!(whole(&at("large")).unwrap_err().to_string().contains("larger than any file"));
        assert_eq!(whole(&at("file")).unwrap(), b"text");
    }

    #[test]
    fn a_temporary_name_has_our_form_and_no_other() {
        for name in
            ["a.txt", "a.part", "a.meta.json", "a.view.json", "state.json", "run.lock", ".forebay-root"]
        {
            let made = beside(&Path::new("x").join(name));
            let made = made.file_name().unwrap().to_str().unwrap();
            assert!(is_temporary(made), "{made}");
        }
        for name in [
            "a.tmp",
            "a.1.tmp",
            "a.1-.tmp",
            "a.-1.tmp",
            "a.1-2-3.tmp",
            "a.b.1-2.tmp",
            ".1-2.tmp",
            "a.x1-2.tmp",
            "1-2.tmp",
        ] {
            assert!(!is_temporary(name), "{name}");
        }
    }

    #[test]
    fn the_wait_for_a_held_lock_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let (theirs, ours) = (lock_file(&path).unwrap(), lock_file(&path).unwrap());
        theirs.try_lock().unwrap();
        let patience = Patience::default();
        let error = patience.lock(&ours).unwrap_err();
        assert!(Refused::is(&error) && error.to_string().contains("keeps it locked"), "{error}");
        assert!(patience.spent.load(Ordering::Relaxed) && patience.lock_shared(&ours).is_err());
        drop(theirs);
        assert!(patience.lock(&ours).is_ok() && !patience.spent.load(Ordering::Relaxed));
    }
}
