//! One count of the tokens in use for a session on many machines, also where the shared store is away for a while.

use crate::postgres::Server;
use forebay::store::{Reservation, Rooms};
use forebay::{DiskStore, InUse, Session, Store, What, event};
use forebay_store::{Mirror, OpenError, ReadThrough, SharedStore};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A machine: a root, and a shared store that can be cut off.
struct Machine {
    folder: tempfile::TempDir,
    server: Arc<Server>,
    database: String,
    is_cut_off: Arc<AtomicBool>,
    reads: ReadThrough,
}

impl Machine {
    fn new(server: &Arc<Server>, database: &str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let is_cut_off = Arc::new(AtomicBool::new(false));
        let reads = process(folder.path(), server, database, &is_cut_off);
        Machine { folder, server: server.clone(), database: database.to_owned(), is_cut_off, reads }
    }

    /// Goes on as a process that begins when it is long since the shared store was away.
    fn go_on_later(&mut self) {
        let _ = std::fs::remove_file(self.folder.path().join(".mirror/away"));
        self.reads = process(self.folder.path(), &self.server, &self.database, &self.is_cut_off);
    }

    fn reserve(&self, tokens: u64) -> bool {
        self.reads.reserve(&session(), wanted(tokens)).unwrap().is_made
    }

    fn in_use(&self) -> u64 {
        self.reads.in_use(&session()).unwrap().total()
    }

    fn notes(&self) -> usize {
        let notes = self.folder.path().join(".mirror/rooms/s");
        std::fs::read_to_string(notes).map_or(0, |text| text.lines().count())
    }
}

fn process(root: &Path, server: &Arc<Server>, database: &str, is_cut_off: &Arc<AtomicBool>) -> ReadThrough {
    let (server, database, is_cut_off) = (server.clone(), database.to_owned(), is_cut_off.clone());
    let open = move || {
        if is_cut_off.load(Ordering::Relaxed) {
            return Err(OpenError::Address("cut off".to_owned()));
        }
        Ok(server.store(&database, "t"))
    };
    ReadThrough::new(Box::new(DiskStore::new(root)), root, Box::new(open), 0, None)
        .counting_within(Duration::from_secs(60))
}

fn session() -> Session {
    Session::safe("s")
}

fn wanted(tokens: u64) -> Reservation {
    Reservation { tokens, most: 100, force: false }
}

fn exceeded(store: &dyn Store) -> Vec<(u64, u64)> {
    let mut told = Vec::new();
    let take = |event: forebay::Event| {
        if let What::RoomExceeded { used, most } = event.what {
            told.push((used, most));
        }
    };
    event::for_each(store, &session(), take).unwrap();
    told
}

fn mirror_once(root: &Path, shared: &SharedStore) {
    Mirror::new(&DiskStore::new(root), shared, "here").session(&session()).unwrap();
}

#[test]
fn two_machines_share_the_room_of_a_session() {
    let server = Server::shared();
    let database = server.new_database();
    let [one, two] = [0, 1].map(|_| Machine::new(&server, &database));
    assert!(one.reserve(60));
    assert!(!two.reserve(41) && two.reserve(40));
    assert!(!one.reserve(1));
    two.reads.set_in_use(&session(), InUse { reported: 10, given: 0 }).unwrap();
    assert_eq!((one.in_use(), two.in_use()), (10, 10));
    assert_eq!((one.notes(), two.notes()), (0, 0));
}

#[test]
fn tokens_handed_over_while_the_shared_store_is_away_are_counted_once_when_it_is_back() {
    let server = Server::shared();
    let database = server.new_database();
    let shared = server.store(&database, "t");
    let [one, two] = [0, 1].map(|_| Machine::new(&server, &database));
    assert!(one.reserve(10));
    two.is_cut_off.store(true, Ordering::Relaxed);
    assert!(two.reserve(30) && two.reserve(30) && !two.reserve(50), "the local count has a limit too");
    assert_eq!((two.notes(), two.in_use()), (2, 60));
    assert!(one.reserve(70));
    assert_eq!(shared.in_use(&session()).unwrap().given, 80);
    // A mirror takes them, and another one finds nothing.
    for _ in 0..2 {
        mirror_once(two.folder.path(), &shared);
        assert_eq!((two.notes(), shared.in_use(&session()).unwrap().given), (0, 140));
    }
    assert_eq!(exceeded(&DiskStore::new(two.folder.path())), [(140, 100)]);
    assert_eq!(exceeded(&shared), [(140, 100)], "every machine is told");
    assert!(!one.reserve(1));
}

#[test]
fn the_next_count_takes_what_was_handed_over_if_no_mirror_does() {
    let server = Server::shared();
    let database = server.new_database();
    let shared = server.store(&database, "t");
    let mut machine = Machine::new(&server, &database);
    machine.is_cut_off.store(true, Ordering::Relaxed);
    machine.reads.set_in_use(&session(), InUse { reported: 20, given: 0 }).unwrap();
    assert!(machine.reserve(30));
    machine.is_cut_off.store(false, Ordering::Relaxed);
    assert_eq!(machine.notes(), 2);
    assert_eq!(shared.in_use(&session()).unwrap(), InUse::default());
    machine.go_on_later();
    assert!(machine.reserve(5));
    assert_eq!((machine.in_use(), machine.notes()), (55, 0));
    assert_eq!(shared.in_use(&session()).unwrap(), InUse { reported: 20, given: 35 });
}
