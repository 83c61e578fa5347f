//! A PostgreSQL server for tests: on a socket in a temporary folder, without a port, removed at the end.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Time in which a server must answer on a machine under load.
const START: Duration = Duration::from_secs(60);

/// Ends the server when the test process ends, however it ends: then standard input is closed.
const GUARD: &str = r#""$@" & server=$!
cat > /dev/null
kill -INT $server
wait $server"#;

/// A running server.
pub(crate) struct Server {
    /// The guard of the server.
    guard: Child,
    folder: tempfile::TempDir,
    /// Number of databases that were made.
    databases: AtomicUsize,
}

/// The server that tests of this process share while any of them runs.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The server that tests share.
    pub(crate) fn shared() -> Arc<Server> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Server::start());
            *shared = Arc::downgrade(&server);
            server
        })
    }

    /// Starts a server.
    pub(crate) fn start() -> Server {
        let owner = owner();
        let folder = folder_of(owner);
        let programs = programs();
        let data = folder.path().join("data");
        let made = as_owner(Command::new(programs.join("initdb")), owner)
            .args(["--auth=trust", "--username=forebay", "--encoding=UTF8", "--no-sync", "--locale=C.UTF-8"])
            .arg(&data)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let guard = as_owner(Command::new("sh"), owner)
            .args(["-c", GUARD, "guard"])
            .arg(programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Server { guard, folder, databases: AtomicUsize::new(0) };
        server.wait_until_it_answers();
        server
    }

    fn wait_until_it_answers(&self) {
        let begun = Instant::now();
        while !self.run("postgres", "SELECT 1").status.success() {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < START, "the server does not answer: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs SQL by `psql`, and leaves its success to the caller.
    fn run(&self, database: &str, sql: &str) -> std::process::Output {
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "forebay", "-d", database, "-h"]);
        psql.arg(self.folder.path()).args(["-c", sql]).output().unwrap()
    }

    /// Runs SQL by `psql`; returns what it printed.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        let output = self.run(database, sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The folder of its socket.
    pub(crate) fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// Makes an empty database; returns its name.
    pub(crate) fn new_database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take().map(|mut input| input.flush()));
        let _ = self.guard.wait();
    }
}

/// A user that may run a server: PostgreSQL refuses to run as root.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    user: u32,
    group: u32,
}

/// The user for the server, if this process is root.
pub(crate) fn owner() -> Option<Owner> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let named = |wanted: &str| {
        let fields: Vec<&str> = users.lines().map(|line| line.split(':')).find_map(|fields| {
            let fields: Vec<&str> = fields.collect();
            (fields[0] == wanted).then_some(fields)
        })?;
        Some(Owner { user: fields[2].parse().ok()?, group: fields[3].parse().ok()? })
    };
    Some(named("postgres").or_else(|| named("nobody")).expect("there is no user that may run PostgreSQL"))
}

/// A temporary folder in which a server can make its socket.
pub(crate) fn folder_of(owner: Option<Owner>) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("forebay-pg").tempdir().unwrap();
    if let Some(owner) = owner {
        chown(folder.path(), Some(owner.user), Some(owner.group)).unwrap();
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

pub(crate) fn as_owner(mut command: Command, owner: Option<Owner>) -> Command {
    if let Some(owner) = owner {
        command.uid(owner.user).gid(owner.group);
    }
    command
}

/// The folder of PostgreSQL's programs: the newest below Debian's, or that of `initdb` on the path.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin")))
        })
        .filter(|(_, programs)| programs.join("initdb").exists())
        .collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).find(|folder: &PathBuf| folder.join("initdb").exists());
    let newest = found.pop().map(|(_, programs)| programs);
    newest.or(on_path).unwrap_or_else(|| panic!("{}", missing(Path::new("/usr/lib/postgresql"))))
}

fn missing(looked_in: &Path) -> String {
    format!(
        "no PostgreSQL server in {} or on the path; run `apt-get install postgresql`",
        looked_in.display()
    )
}
