//! Outputs of two machines, which are two roots here, in one database.

use crate::forebay::{Forebay, Ran, eventually};
use crate::http;
use crate::postgres::Server;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time in which a mirror on a machine under load must have done its work.
const SOON: Duration = Duration::from_secs(60);

/// A machine.
struct Machine {
    forebay: Forebay,
    url: String,
    mirror: &'static str,
    /// Where the key is that encrypts what is shared.
    key: String,
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
        Machine { forebay: Forebay::new(), url: self.url.clone(), mirror, key: String::new() }
    }
}

impl Machine {
    fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.forebay.command(args);
        command.env("FOREBAY_STORE_DATABASE", &self.url).env("FOREBAY_STORE_MIRROR", self.mirror);
        command.env("FOREBAY_STORE_KEY", &self.key);
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

#[test]
fn a_database_that_never_answers_stops_no_command() {
    let machines = Machines::new();
    let mut here = machines.machine("off");
    let folder = here.forebay.folder().join("silent");
    std::fs::create_dir(&folder).unwrap();
    // It takes connections, and says nothing.
    let _silent = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
    here.url = format!("postgres://forebay@/db?host={}", folder.display());
    let ran = here.run(["run", "--call-id", "a", "--", "sh", "-c", "echo kept; exit 3"]);
    assert_eq!((ran.status, ran.text()), (3, "kept\n".to_owned()), "{}", ran.err);
    let listed = here.run(["ls"]);
    assert!(
        listed.text().contains("s/a") && listed.err.contains("only outputs of this machine"),
        "{}",
        listed.err
    );
    assert_eq!(here.run(["cat", "s/a"]).text(), "kept\n");
}

#[test]
#[ignore = "needs libfaketime, which tests/shared/run installs"]
fn clocks_that_are_hours_apart_change_nothing() {
    let library = std::env::var_os("FOREBAY_TEST_FAKETIME").expect("run `tests/shared/run`");
    let machines = Machines::new();
    let (behind, ahead) = (machines.machine("off"), machines.machine("off"));
    let runs = |machine: &Machine, time: &str, args: &[&str]| {
        let mut command = machine.command(args);
        command.env("LD_PRELOAD", &library).env("FAKETIME", time).stdin(Stdio::null());
        command
    };
    let ran =
        |machine: &Machine, time: &str, args: &[&str]| Ran::from(runs(machine, time, args).output().unwrap());
    let small = behind.forebay.file("small", "few bytes");
    let shown =
        ran(&behind, "-5h", &["put", "--json", "--wait", "--call-id", "done", small.to_str().unwrap()]);
    assert_eq!(shown.status, 0, "{}", shown.err);
    // An output that grows on the machine behind is not cut short by the one ahead.
    let script = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last";
    let mut growing =
        runs(&behind, "-5h", &["run", "--call-id", "slow", "--wait=60s", "--", "sh", "-c", script]);
    let mut growing = growing.stdout(Stdio::null()).spawn().unwrap();
    let mut mirror = runs(&behind, "-5h", &["mirror", "run"]).spawn().unwrap();
    let _ = ahead.run_until(&["read", "s/slow"], |ran| ran.text().contains("first"));
    for _ in 0..3 {
        let shown: Value = ran(&ahead, "+5h", &["show", "--json", "s/slow"]).ok().json();
        assert_eq!(shown["state"], "growing", "{shown}");
    }
    // Both are new by the clock of the database, whatever the machine says that removes old ones.
    let cleaned = ran(&ahead, "+5h", &["clean", "--shared", "--older-than", "1h"]);
    assert_eq!(cleaned.status, 0, "{}", cleaned.err);
    behind.forebay.file("go", "");
    assert!(growing.wait().unwrap().success());
    assert_eq!(ran(&ahead, "+5h", &["cat", "s/slow"]).ok().text(), "first\nlast\n");
    assert_eq!(ran(&ahead, "+5h", &["cat", "s/done"]).status, 0);
    mirror.kill().unwrap();
    mirror.wait().unwrap();
}

#[test]
fn a_session_that_ends_with_its_agent_is_shared_before_it_is_removed_from_its_machine() {
    let machines = Machines::new();
    let (here, there) = (machines.machine("off"), machines.machine("off"));
    let forebay = env!("CARGO_BIN_EXE_forebay");
    let script = format!("{forebay} run --call-id last -- echo the end");
    let session =
        ["session", "--retention", "session", "--session", "agent", "--", "sh", "-c", script.as_str()];
    let ended = here.run(session);
    assert_eq!((ended.status, ended.text()), (0, "the end\n".to_owned()), "{}", ended.err);
    assert!(!here.forebay.root().join("agent").exists());
    assert_eq!(there.run(["cat", "agent/last"]).ok().text(), "the end\n");
    // If it cannot be shared, it stays.
    let mut alone = machines.machine("off");
    alone.url = "postgres://forebay@/none?host=/nonexistent".to_owned();
    let ended = alone.run(session);
    assert!(ended.status == 0 && ended.err.contains("stays here"), "{}", ended.err);
    assert_eq!(alone.forebay.run(["cat", "agent/last"]).ok().text(), "the end\n");
}

#[test]
fn content_is_encrypted_before_it_leaves_the_machine() {
    let machines = Machines::new();
    let (mut here, mut there, mut stranger) =
        (machines.machine("auto"), machines.machine("off"), machines.machine("off"));
    let key = here.forebay.file("key", "0123456789abcdef".repeat(4));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    here.key = format!("file:{}", key.display());
    there.key = "env:THE_KEY".to_owned();
    let there_runs = |args: &[&str]| {
        let mut command = there.command(args);
        command.env("THE_KEY", "0123456789abcdef".repeat(4)).stdin(Stdio::null());
        Ran::from(command.output().unwrap())
    };
    here.put("build", log_of_a_build());
    // The mirror in the background has the key too.
    let _ = here.run(["run", "--call-id", "later", "--", "echo", "the disk of the builder is full"]).ok();
    let _ = here.run_until(&["mirror", "status"], |ran| ran.text() == "everything is shared\n");
    for (args, expected) in [
        (&["grep", "s/build", "disk"][..], "12345"),
        (&["cat", "s/later"], "the disk of the builder"),
        (&["events"], "output-stored"),
    ] {
        let ran = there_runs(args).ok();
        assert!(ran.text().contains(expected), "{args:?}: {}", ran.text());
    }
    let database = machines.url.split('/').nth(3).unwrap().split('?').next().unwrap();
    for column in ["encode(bytes, 'escape') FROM forebay_chunks", "record FROM forebay_outputs"] {
        let stored = machines.server.sql(database, &format!("SELECT {column}"));
        assert!(stored.len() > 100 && !stored.contains("builder") && !stored.contains("echo"), "{column}");
    }
    // Without the key nothing is read or shared, and what this machine stores stays on it.
    let refused = stranger.run(["grep", "s/build", "disk"]);
    assert!(refused.status != 0 && refused.err.contains("store.key"), "{}", refused.err);
    let kept = stranger.run(["run", "--wait=1s", "--", "echo", "kept"]);
    assert!(kept.text() == "kept\n" && kept.err.contains("the session is encrypted"), "{}", kept.err);
    stranger.key = "env:NO_SUCH_KEY".to_owned();
    let doctor = stranger.run(["doctor"]);
    assert!(format!("{}{}", doctor.text(), doctor.err).contains("NO_SUCH_KEY"), "{}", doctor.text());
    there.key = String::new();
    let cleaned = here.run(["clean", "--shared", "--session", "s", "--everything"]);
    assert_eq!(cleaned.status, 0, "{}", cleaned.err);
    assert_eq!(machines.server.sql(database, "SELECT count(*) FROM forebay_keys"), "0");
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
    let mut run = here.command(["run", "--call-id", "slow", "--", "sh", "-c", script]);
    let mut running = run.stdout(Stdio::null()).spawn().unwrap();
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

#[test]
fn servers_over_one_store_have_the_same_outputs_and_tenants_do_not_see_each_other() {
    let machines = Machines::new();
    let url = machines.url.clone();
    let (one, other) = (Forebay::new(), Forebay::new());
    let tokens = one.folder().join("tokens.toml");
    let token = |tenant: &str, rights: &str| {
        let file = tokens.to_str().unwrap();
        let args = ["serve", "token", "--json", "--tokens", file, "--tenant", tenant, "--may", rights];
        one.run(args).ok().json()["token"].as_str().unwrap().to_owned()
    };
    let (a, b) = (token("team-a", "read,write,delete"), token("team-b", "read"));
    let watcher = token("team-a", "metrics");
    let start = |forebay: &Forebay, ack: &'static str| {
        let url = url.clone();
        http::Server::start_with(forebay, &["--tokens", tokens.to_str().unwrap()], move |command| {
            command.env("FOREBAY_STORE_DATABASE", url).env("FOREBAY_STORE_ACK", ack);
        })
    };
    let (first, second, lazy) =
        (start(&one, "shared"), start(&other, "shared"), start(&Forebay::new(), "local"));
    let bearer = |token: &str| format!("Bearer {token}");
    let ask = |server: &http::Server, request: &str, token: &str, body: &[u8]| {
        server.ask(request, &[("authorization", &bearer(token))], body)
    };
    const OUTPUT: &str = "/v1/sessions/s/outputs/call-1";
    let log = log_of_a_build();
    let put = ask(&first, &format!("PUT {OUTPUT}?tool=make"), &a, log.as_bytes()).is(201).json();
    // What one server has acknowledged, the other has at once, and does not store again.
    let again = ask(&second, &format!("PUT {OUTPUT}?tool=make"), &a, log.as_bytes()).is(200).json();
    assert_eq!((&again["repeated"], &again["text"]), (&true.into(), &put["text"]));
    assert_eq!(ask(&second, &format!("PUT {OUTPUT}"), &a, b"other bytes").is(409).json()["status"], 409);
    let found = ask(&second, &format!("GET {OUTPUT}/grep?pattern=disk"), &a, b"").is(200).json();
    assert!(found["text"].as_str().unwrap().contains("12345"), "{found}");
    assert!(ask(&lazy, &format!("GET {OUTPUT}/bytes"), &a, b"").is(200).body == log.as_bytes());
    ask(&second, &format!("GET {OUTPUT}"), &b, b"").is(404);
    ask(&second, "GET /v1/sessions", &b, b"").is(200);
    second.get("/ready").is(200);
    // A server that acknowledges what is on its disk shares it soon.
    ask(&lazy, "PUT /v1/sessions/s/outputs/late-1", &a, b"late").is(201);
    let metrics = ask(&lazy, "GET /metrics", &watcher, b"").is(200).text();
    assert!(metrics.contains("forebay_mirror_lag_seconds "), "{metrics}");
    eventually("the output is shared", || {
        ask(&first, "GET /v1/sessions/s/outputs/late-1", &a, b"").status == 200
    });
    let removed = ask(&first, "DELETE /v1/sessions/s", &a, b"").is(200).json();
    assert_eq!(removed["removed"], 2, "{removed}");
    ask(&second, &format!("GET {OUTPUT}"), &a, b"").is(404);
    // Without the database it is not ready, and says why; nothing is acknowledged.
    let name = machines.server.sql("postgres", "SELECT current_database()");
    assert_eq!(name, "postgres");
    let database = url.split("@/").nth(1).unwrap().split('?').next().unwrap().to_owned();
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'");
    machines.server.sql("postgres", &format!("ALTER DATABASE {database} ALLOW_CONNECTIONS false"));
    machines.server.sql("postgres", &end);
    let ready = second.get("/ready").is(503).text();
    assert!(ready.contains("database"), "{ready}");
    let refused = ask(&first, "PUT /v1/sessions/s/outputs/never-1", &a, b"x");
    assert!(refused.status >= 500, "{}", refused.text());
    machines.server.sql("postgres", &format!("ALTER DATABASE {database} ALLOW_CONNECTIONS true"));
    ask(&first, "PUT /v1/sessions/s/outputs/never-1", &a, b"x").is(201);
    // The tenant of tokens that name none is not given to a token that names it.
    let _ = token("default", "read");
    let mut taken = one.command(["serve", "--listen", "127.0.0.1:0", "--tokens", tokens.to_str().unwrap()]);
    taken.env("FOREBAY_STORE_DATABASE", &url).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut taken = taken.spawn().unwrap();
    eventually("the server gives up", || taken.try_wait().unwrap().is_some());
    let taken = Ran::from(taken.wait_with_output().unwrap());
    assert!(taken.status != 0 && taken.err.contains("store.tenant"), "{}", taken.err);
}

#[test]
fn outputs_move_into_the_shared_store_and_out_of_it_and_are_proved_on_the_way() {
    let machines = Machines::new();
    let (here, there) = (machines.machine("off"), machines.machine("off"));
    let log = log_of_a_build();
    let alone = |args: &[&str]| here.forebay.run(args).ok();
    // The last one is more than a mirror takes at a time.
    let large = log_of_a_build().repeat(30);
    for (id, text) in [("a", log.as_str()), ("b", "few bytes"), ("c", ""), ("d", &large)] {
        let file = here.forebay.file(id, text);
        let _ = alone(&["put", "--call-id", id, file.to_str().unwrap()]);
    }
    let _ = alone(&["grep", "s/a", "disk"]);
    let events = alone(&["events", "--json"]).text();
    let moved = here.run(["migrate", "in", "--json"]).ok().json();
    assert_eq!((&moved["proved"], &moved["removed"], &moved["stays"]), (&4.into(), &0.into(), &json!([])));
    let moved = here.run(["migrate", "in", "--remove"]).ok().text();
    assert!(moved.starts_with("4 outputs, ") && moved.contains("4 originals removed"), "{moved}");
    assert_eq!(here.forebay.run(["ls"]).text(), "", "nothing is left here");
    assert!(here.run(["cat", "s/a"]).ok().text() == log, "it is read where it is now");
    // Another machine takes all of it, twice, and then it is gone from the shared store.
    for _ in 0..2 {
        let moved = there.run(["migrate", "out", "--json"]).ok().json();
        assert_eq!((&moved["proved"], &moved["removed"]), (&4.into(), &0.into()));
        let told = there.forebay.run(["events", "--json"]).ok().text();
        assert_eq!(told, events, "each event comes once");
    }
    assert!(there.run(["mirror", "flush"]).ok().text().contains("everything is shared"));
    assert_eq!(there.run(["events", "--json"]).ok().text(), events, "and is not taken back");
    let moved = there.run(["migrate", "out", "s", "--remove", "--json"]).ok().json();
    assert_eq!(moved["removed"], 4, "{moved}");
    assert!(there.forebay.run(["cat", "s/a"]).ok().text() == log);
    assert!(there.forebay.run(["verify", "--all"]).err.contains("4 proved, 0 faulty"));
    assert_eq!(here.run(["ls", "--all"]).text(), "");
    // What was removed comes back only for whoever says so.
    let refused = there.run(["migrate", "in"]);
    assert!(
        refused.status == 1 && refused.text().matches("--bring-back shares it again").count() == 4,
        "{refused:?}"
    );
    let moved = there.run(["migrate", "in", "--bring-back", "--json"]).ok().json();
    assert_eq!((&moved["proved"], &moved["stays"]), (&4.into(), &json!([])));
    assert!(here.run(["cat", "s/a"]).ok().text() == log);
    // An output whose name another machine gave to another one is not removed: its name would mean that one.
    let other = machines.machine("off");
    let file = other.forebay.file("a", "another a");
    let _ = other.forebay.run(["put", "--call-id", "a", file.to_str().unwrap()]).ok();
    let moved = other.run(["migrate", "in", "--remove", "--json"]).ok().json();
    assert_eq!((&moved["renamed"], &moved["removed"]), (&json!([["s/a", "s/a-2"]]), &0.into()));
    assert_eq!(other.forebay.run(["cat", "s/a"]).ok().text(), "another a");
    let unknown = there.run(["migrate", "in", "nobody"]);
    assert!(
        unknown.status == 1 && unknown.err.contains("nothing is kept in session nobody"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_session_has_one_room_in_the_context_on_all_machines() {
    let machines = Machines::new();
    let (here, there) = (machines.machine("off"), machines.machine("off"));
    let log = here.forebay.file("log", log_of_a_build());
    let run = |machine: &Machine, args: &[&str]| {
        let mut command = machine.command(args);
        command.env("FOREBAY_ROOM_CONTEXT_WINDOW", "100000").stdin(Stdio::null());
        Ran::from(command.output().unwrap()).ok()
    };
    // On a machine under load, a count that came too late is made up for by the next command.
    let looks = |machine: &Machine, is_right: &dyn Fn(&Value) -> bool| {
        eventually("the count is right", || is_right(&run(machine, &["room", "--json"]).json()));
    };
    let _ = run(&here, &["room", "--used", "5000"]);
    looks(&here, &|room| room["reported"] == 5000);
    looks(&there, &|room| room["reported"] == 5000 && room["given"] == 0);
    let _ = run(&there, &["put", log.to_str().unwrap()]);
    let given = run(&there, &["room", "--json"]).json()["given"].clone();
    assert!(given.as_u64().is_some_and(|tokens| tokens > 100), "{given}");
    looks(&here, &|room| room["given"] == given);
    // What does not fit any more because of another machine is shown smaller.
    let _ = run(&there, &["room", "--used", "99999"]);
    looks(&here, &|room| room["reported"] == 99_999);
    let reply = run(&here, &["put", "--json", log.to_str().unwrap()]).json();
    assert_eq!(reply["text"].as_str().unwrap().lines().count(), 1, "{reply}");
}

#[test]
fn the_shared_store_is_cleaned_from_any_machine_and_what_was_removed_stays_away() {
    let machines = Machines::new();
    let (here, there) = (machines.machine("off"), machines.machine("off"));
    here.put("a", "first");
    here.put("b", "second");
    let dry = there.run(["clean", "--shared", "--session", "s", "--everything", "--dry-run"]);
    assert!(dry.status == 0 && dry.err.contains("would remove 2 outputs"), "{}", dry.err);
    let ran = there.run(["clean", "--shared", "--session", "s", "--everything"]);
    assert!(ran.status == 0 && ran.err.contains("removed 2 outputs"), "{}", ran.err);
    assert_eq!(here.run(["mirror", "flush"]).ok().text(), "everything is shared\n");
    assert_eq!(there.run(["ls", "--all"]).text(), "");
    assert!(there.run(["cat", "s/a"]).status != 0, "it does not come back");
    assert_eq!(here.run(["cat", "s/a"]).ok().text(), "first", "this machine still has it");
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Kills processes of a machine that are mirrors or that store an output, one of them at random.
fn kill_one(machine: &Machine, numbers: &mut Numbers) -> bool {
    let root = machine.forebay.root();
    let of_machine = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|window| window == part);
        has(&environment, root.as_os_str().as_encoded_bytes()) && has(&command, b"forebay")
            || has(&command, root.as_os_str().as_encoded_bytes())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let found: Vec<u32> = pids.filter(of_machine).collect();
    if found.is_empty() {
        return false;
    }
    let pid = found[numbers.below(found.len() as u64) as usize];
    Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_that_was_acknowledged_is_lost_while_processes_are_killed_and_connections_cut() {
    let machines = Machines::new();
    let roots = [machines.machine("auto"), machines.machine("auto")];
    let database = machines.url.split("@/").nth(1).unwrap().split('?').next().unwrap().to_owned();
    let cut = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'");
    let (is_over, kills, given) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let bytes_of =
        |name: &str, number: u64| format!("{name} is output {number}\n").repeat(1 + 977 * number as usize);
    // However fast the machine is, this goes on until enough was killed and enough was acknowledged.
    let is_enough = || kills.load(Ordering::Relaxed) > 3 && given.load(Ordering::Relaxed) > 6;
    let writers = std::env::var("FOREBAY_TEST_WRITERS").map_or(4, |writers| writers.parse().unwrap());
    let acknowledged: Vec<(String, u64)> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Numbers(7);
            while !is_over.load(Ordering::Relaxed) {
                let machine = &roots[numbers.below(2) as usize];
                kills.fetch_add(u64::from(kill_one(machine, &mut numbers)), Ordering::Relaxed);
                machines.server.sql("postgres", &cut);
                std::thread::sleep(Duration::from_millis(100 + numbers.below(400)));
            }
        });
        let writers: Vec<_> = (0..writers)
            .map(|writer| {
                let machine = if writer % 2 == 0 { &roots[0] } else { &roots[1] };
                let (bytes_of, given) = (&bytes_of, &given);
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    for number in (0..400).take_while(|number| *number < 6 || !is_enough()) {
                        let (name, length) = (format!("w{writer}-{number}"), number % 6 * 7);
                        let file = machine.forebay.file(&name, bytes_of(&name, length));
                        let args = ["put", "--wait", "--call-id", &name, file.to_str().unwrap()];
                        if machine.run(args).status == 0 {
                            given.fetch_add(1, Ordering::Relaxed);
                            acknowledged.push((name, length));
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        let acknowledged = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        acknowledged
    });
    assert!(is_enough(), "{kills:?} kills, {} acknowledged", acknowledged.len());
    let third = machines.machine("off");
    let same = |name: &str, number: u64| {
        third.run(["cat", &format!("s/{name}")]).ok().text() == bytes_of(name, number)
    };
    for (name, number) in &acknowledged {
        assert!(same(name, *number), "{name}");
    }
    // Everything else is shared as far as it was kept, once the mirrors are left alone.
    for machine in &roots {
        let flushed = machine.run_until(&["mirror", "flush"], |ran| ran.status == 0);
        assert_eq!(flushed.text(), "everything is shared\n");
        for line in machine.run(["ls", "--json"]).text().lines() {
            let listed: Value = serde_json::from_str(line).unwrap();
            let handle = listed["handle"].as_str().unwrap();
            assert!(third.run(["cat", handle]).ok().out == machine.run(["cat", handle]).ok().out, "{handle}");
        }
    }
    let verified = third.run(["verify", "--all"]);
    assert!(verified.err.contains(", 0 faulty"), "{}", verified.err);
}
