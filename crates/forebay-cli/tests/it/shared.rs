//! Outputs of two machines, which are two roots here, in one database.

use crate::forebay::{Forebay, Ran};
use crate::postgres::Server;
use serde_json::Value;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time in which a mirror on a machine under load must have done its work.
const SOON: Duration = Duration::from_secs(60);

/// A machine.
struct Machine {
    forebay: Forebay,
    url: String,
    mirror: &'static str,
}

/// Machines that share a database.
struct Machines {
    server: Arc<Server>,
    url: String,
}

impl Machines {
    fn new() -> Machines {
        let server = Server::shared();
        let url = format!("postgres://forebay@/{}?host={}", server.new_database(), server.socket().display());
        Machines { server, url }
    }

    fn machine(&self, mirror: &'static str) -> Machine {
        Machine { forebay: Forebay::new(), url: self.url.clone(), mirror }
    }
}

impl Machine {
    fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.forebay.command(args);
        command.env("FOREBAY_STORE_DATABASE", &self.url).env("FOREBAY_STORE_MIRROR", self.mirror);
        command
    }

    fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::from(self.command(args).stdin(Stdio::null()).output().unwrap())
    }

    /// Keeps bytes under an id, and waits until they are shared.
    fn put(&self, id: &str, bytes: impl AsRef<[u8]>) -> Value {
        let file = self.forebay.file(id, bytes);
        self.run(["put", "--json", "--wait", "--call-id", id, file.to_str().unwrap()]).ok().json()
    }

    /// Runs a command until it prints something.
    fn run_until<S: AsRef<OsStr> + Copy>(&self, args: &[S], is_there: impl Fn(&Ran) -> bool) -> Ran {
        let begun = Instant::now();
        loop {
            let ran = self.run(args);
            if is_there(&ran) {
                return ran;
            }
            assert!(begun.elapsed() < SOON, "{}: {}", ran.text(), ran.err);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn log_of_a_build() -> String {
    let lines = (1..=20_000).map(|line| match line {
        12_345 => "error: the disk of the builder is full".to_owned(),
        _ => format!("step {line} of the build is done"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_output_of_one_machine_is_read_on_another_by_every_command() {
    let machines = Machines::new();
    let (here, there) = (machines.machine("off"), machines.machine("off"));
    let log = log_of_a_build();
    let folded = here.put("build", &log);
    assert_eq!(folded["handle"], "s/build");
    assert!(there.run(["cat", "s/build"]).ok().text() == log);
    let table: [(&[&str], &str); 9] = [
        (&["read", "s/build", "--lines", "12344:12346"], "the disk of the builder"),
        (&["tail", "s/build", "-n", "2"], "step 20000 of"),
        (&["grep", "s/build", "disk"], "12345"),
        (&["grep", "bui", "disk"], "there is no output"),
        (&["ask", "s/build", "why did it fail?"], "the disk of the builder"),
        (&["search", "builder"], "s/build"),
        (&["ls"], "s/build"),
        (&["show", "s/build"], "20,000"),
        (&["events"], "output-stored"),
    ];
    for (args, expected) in table {
        let ran = there.run(args);
        let text = format!("{}{}", ran.text(), ran.err);
        assert!(text.contains(expected), "{args:?}: {text}");
    }
    let verified = there.run(["verify", "--all"]);
    assert!(verified.status == 0 && verified.err.contains("1 proved, 0 faulty"), "{}", verified.err);
    let stats = there.run(["stats", "--all"]).ok().text();
    assert!(stats.contains("build") || stats.contains("outputs"), "{stats}");
    // Masks and views work there too, and what was read stays for the next time.
    let cached = there.forebay.root().join(".cache/shared");
    assert!(std::fs::read_dir(cached).unwrap().count() == 1);
    let archive = there.forebay.folder().join("s.tar.zst");
    let _ = there.run(["export", "s", "--out", archive.to_str().unwrap()]);
    let third = Forebay::new();
    assert!(third.run(["import", archive.to_str().unwrap()]).ok().text().contains("1 output"));
}

#[test]
fn an_output_grows_on_another_machine_by_the_mirror_in_the_background() {
    let machines = Machines::new();
    let (here, there) = (machines.machine("auto"), machines.machine("off"));
    let script = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last";
    let mut running = here.command(["run", "--call-id", "slow", "--", "sh", "-c", script]).spawn().unwrap();
    let _ = there.run_until(&["read", "s/slow"], |ran| ran.text().contains("first"));
    let shown: Value = there.run(["show", "--json", "s/slow"]).ok().json();
    assert_eq!(shown["state"], "growing", "{shown}");
    let follows = there.command(["tail", "--follow", "s/slow"]).stdout(Stdio::piped()).spawn().unwrap();
    here.forebay.file("go", "");
    assert!(running.wait().unwrap().success());
    let followed = String::from_utf8(follows.wait_with_output().unwrap().stdout).unwrap();
    assert!(followed.contains("last"), "{followed}");
    let _ = here.run_until(&["mirror", "status"], |ran| ran.text() == "everything is shared\n");
    assert_eq!(there.run(["cat", "s/slow"]).ok().text(), "first\nlast\n");
}

#[test]
fn a_database_that_is_away_stops_no_command_and_everything_is_shared_when_it_is_back() {
    let machines = Machines::new();
    let name = machines.url.split("/test").nth(1).unwrap().split('?').next().unwrap().to_owned();
    let database = format!("test{name}");
    let (here, there) = (machines.machine("off"), machines.machine("off"));
    here.put("before", "kept before");
    machines.server.sql("postgres", &format!("ALTER DATABASE {database} RENAME TO away{name}"));
    let ran = here.run(["run", "--call-id", "during", "--", "echo", "kept during"]).ok();
    assert_eq!(ran.text(), "kept during\n");
    assert_eq!(here.run(["cat", "s/during"]).ok().text(), "kept during\n");
    let ls = here.run(["ls"]);
    assert!(ls.text().contains("s/during") && ls.err.contains("only outputs of this machine"), "{}", ls.err);
    let waited = here.run(["run", "--wait=1s", "--", "echo", "x"]);
    assert!(
        waited.status == 1 && waited.text() == "x\n" && waited.err.contains("not shared within 1 s"),
        "{}",
        waited.err
    );
    let failed = here.run(["run", "--wait=1s", "--", "sh", "-c", "exit 7"]);
    assert_eq!(failed.status, 7, "the command's own status is stronger");
    let status = here.run(["mirror", "status"]);
    assert!(status.status == 1 && status.err.contains("1 session of this machine"), "{}", status.err);
    let elsewhere = there.run(["cat", "s/before"]);
    assert!(elsewhere.status != 0 && elsewhere.err.contains("shared store"), "{}", elsewhere.err);
    machines.server.sql("postgres", &format!("ALTER DATABASE away{name} RENAME TO {database}"));
    let status: Value = here.run(["mirror", "status", "--json"]).json();
    assert_eq!((&status["outputs"], &status["growing"]), (&3.into(), &0.into()), "{status}");
    assert_eq!(here.run(["mirror", "flush"]).ok().text(), "everything is shared\n");
    assert_eq!(there.run(["cat", "s/during"]).ok().text(), "kept during\n");
}

#[test]
fn of_two_outputs_under_one_call_id_both_are_read_everywhere() {
    let machines = Machines::new();
    let (here, there) = (machines.machine("off"), machines.machine("off"));
    here.put("same", "of here");
    let file = there.forebay.file("same", "of there");
    let ran = there.run(["put", "--wait", "--call-id", "same", file.to_str().unwrap()]);
    assert!(ran.status == 0 && ran.err.contains("shared as s/same-2"), "{}", ran.err);
    assert_eq!(here.run(["cat", "s/same"]).ok().text(), "of here");
    assert_eq!(here.run(["cat", "s/same-2"]).ok().text(), "of there");
    let status = there.run(["mirror", "status"]).ok();
    assert!(status.text().contains("s/same is shared as s/same-2"), "{}", status.text());
}

#[test]
fn a_password_is_refused_in_a_file_and_shown_nowhere() {
    let forebay = Forebay::new();
    let folder = forebay.folder().join(".config/forebay");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("settings.toml");
    std::fs::write(&file, "store.database = \"postgres://u:hush@localhost/d\"\n").unwrap();
    let ran = forebay.run(["mirror", "status"]);
    assert!(ran.status == 2 && ran.err.contains("PGPASSWORD"), "{}", ran.err);
    assert!(!ran.err.contains("hush"), "{}", ran.err);
    // A command that keeps outputs goes on without the shared store.
    let ran = forebay.run(["run", "--", "echo", "kept"]);
    assert!(ran.status == 0 && ran.text() == "kept\n" && ran.err.contains("PGPASSWORD"), "{}", ran.err);
    std::fs::remove_file(&file).unwrap();
    let url = "postgres://u:hush@127.0.0.1:1/d";
    for args in [&["settings"][..], &["mirror", "status"], &["ls"], &["mirror", "flush", "--patience", "1s"]]
    {
        let ran = Ran::from(
            forebay.command(args).env("FOREBAY_STORE_DATABASE", url).stdin(Stdio::null()).output().unwrap(),
        );
        assert!(!format!("{}{}", ran.text(), ran.err).contains("hush"), "{args:?}");
        assert!(format!("{}{}", ran.text(), ran.err).contains("127.0.0.1"), "{args:?}: {}", ran.err);
    }
    let ran = forebay.run(["mirror", "status"]);
    assert!(ran.status == 2 && ran.err.contains("store.database"), "{}", ran.err);
}
