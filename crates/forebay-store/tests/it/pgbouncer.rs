//! A store behind PgBouncer in transaction mode, which gives each transaction another connection.

use crate::postgres::{Server, as_owner, folder_of, owner};
use forebay::Session;
use forebay::store::conformance::check;
use forebay_store::{DatabaseAddress, Environment, Options, Origin, SharedStore};
use std::cell::Cell;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A pooler on a socket in a temporary folder.
struct Pooler {
    process: Child,
    folder: tempfile::TempDir,
}

impl Pooler {
    /// Starts a pooler with fewer connections than callers, so that they change hands.
    fn start(server: &Server) -> Pooler {
        let folder = folder_of(owner());
        let path = folder.path().display();
        let settings = format!(
            "[databases]\n* = host={} user=forebay\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = {path}\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\nlogfile = {path}/log\n\
             server_lifetime = 1\n",
            server.socket().display()
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let program = std::env::var_os("FOREBAY_TEST_PGBOUNCER").unwrap_or_else(|| "pgbouncer".into());
        let mut command = as_owner(Command::new(program), owner());
        let process = command.arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while !folder.path().join(".s.PGSQL.6432").exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the pooler does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Pooler { process, folder }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "needs PgBouncer, which tests/shared/run installs"]
fn a_store_behind_a_pooler_keeps_the_promises_of_every_store() {
    let server = Server::shared();
    let pooler = Pooler::start(&server);
    let (database, number) = (server.new_database(), Cell::new(0));
    check(&|| {
        number.set(number.get() + 1);
        let url = format!("postgres://forebay@/{database}?host={}&port=6432", pooler.folder.path().display());
        let address = DatabaseAddress::parse(&url, Origin::File, &Environment::default()).unwrap();
        let mut options = Options::new(address);
        options.tenant = Session::safe(&format!("tenant-{}", number.get()));
        Box::new(SharedStore::open(options).unwrap())
    });
}
