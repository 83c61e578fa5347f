//! Outputs of local stores that are taken to the shared one.

use crate::postgres::Server;
use forebay::store::Part;
use forebay::{Call, DiskStore, End, Handle, Session, State, Store, Stream, Timestamp, Writer};
use forebay_store::{Mirror, MirrorFolder, SharedStore};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time in which everything must be shared on a machine under load.
const PATIENCE: Duration = Duration::from_secs(120);

fn session() -> Session {
    Session::safe("s")
}

fn handle(id: &str) -> Handle {
    Handle::new(session(), id).unwrap()
}

fn begin<'a>(store: &'a DiskStore, id: &str, second: i64) -> Writer<'a> {
    let at = Timestamp::from_second(second).unwrap();
    Writer::begin(store, &Call::new(session(), id, "tool", at))
}

fn put(store: &DiskStore, id: &str, second: i64, bytes: &[u8]) {
    let mut writer = begin(store, id, second);
    writer.write(Stream::Stderr, bytes);
    writer.finish(End::default());
}

fn read(store: &dyn Store, id: &str) -> Vec<u8> {
    store.open(&handle(id)).and_then(|output| output.read(0..output.len())).unwrap()
}

fn events(store: &dyn Store) -> Vec<forebay::Event> {
    let mut events = Vec::new();
    forebay::event::for_each(store, &session(), |event| events.push(event)).unwrap();
    events
}

/// A local store in a folder, and a shared one.
fn stores(server: &Server) -> (tempfile::TempDir, DiskStore, SharedStore) {
    let folder = tempfile::tempdir().unwrap();
    let local = DiskStore::new(folder.path());
    (folder, local, server.store(&server.new_database(), "t"))
}

#[test]
fn everything_of_a_local_output_is_shared_once() {
    let server = Server::shared();
    let (_folder, local, shared) = stores(&server);
    let large = b"many lines\n".repeat(100_000);
    for (id, bytes) in [("empty", &b""[..]), ("small", b"a few bytes"), ("large", &large)] {
        put(&local, id, 1, bytes);
        local.attach(&handle(id), Part::View, b"a view").unwrap();
    }
    let mut mirror = Mirror::new(&local, &shared, "here");
    let queue = mirror.status().unwrap();
    assert_eq!((queue.outputs, queue.bytes), (3, 11 + large.len() as u64));
    for _ in 0..2 {
        assert_eq!(mirror.flush(PATIENCE).unwrap().outputs, 0);
        for id in ["empty", "small", "large"] {
            assert_eq!(shared.record(&handle(id)).unwrap(), local.record(&handle(id)).unwrap());
            assert!(read(&shared, id) == read(&local, id), "{id}");
            for part in [Part::Lines, Part::Streams, Part::View] {
                let size = |store: &dyn Store| store.open_part(&handle(id), part).unwrap().size().unwrap();
                assert_eq!(size(&shared), size(&local), "{id} {part:?}");
            }
        }
        assert_eq!(events(&shared), events(&local), "each event comes once");
    }
    assert_eq!(
        Mirror::new(&local, &shared, "here").flush(PATIENCE).unwrap().outputs,
        0,
        "another process finds no work"
    );
    local.attach(&handle("small"), Part::View, b"a later view").unwrap();
    mirror.pass().unwrap();
    assert_eq!(shared.open_part(&handle("small"), Part::View).unwrap().size().unwrap(), 12);
}

#[test]
fn an_output_is_shared_while_it_grows_and_by_another_mirror_after_the_first_has_stopped() {
    let server = Server::shared();
    let (_folder, local, shared) = stores(&server);
    let mut writer = begin(&local, "a", 1);
    let mut mirror = Mirror::new(&local, &shared, "here");
    for round in 1..=3usize {
        writer.write(Stream::Stdout, b"more\n");
        mirror.pass().unwrap();
        assert_eq!(read(&shared, "a"), b"more\n".repeat(round));
        assert_eq!(shared.record(&handle("a")).unwrap().state, State::Growing);
    }
    drop(mirror);
    let cut_short = shared.record(&handle("a")).unwrap().state;
    assert!(matches!(cut_short, State::CutShort(_)), "{cut_short:?}");
    writer.write(Stream::Stdout, b"more\n");
    let mut mirror = Mirror::new(&local, &shared, "here");
    mirror.pass().unwrap();
    assert_eq!(shared.record(&handle("a")).unwrap().state, State::Growing);
    writer.finish(End::default());
    assert_eq!(mirror.flush(PATIENCE).unwrap().outputs, 0);
    assert_eq!(shared.record(&handle("a")).unwrap(), local.record(&handle("a")).unwrap());
    assert_eq!(read(&shared, "a"), b"more\n".repeat(4));
}

#[test]
fn of_two_outputs_under_one_name_the_first_keeps_it_and_the_other_gets_a_number() {
    let server = Server::shared();
    let (_folder, here, shared) = stores(&server);
    let folder = tempfile::tempdir().unwrap();
    let there = DiskStore::new(folder.path());
    put(&here, "a", 1, b"of here");
    put(&there, "a", 2, b"of there");
    assert_eq!(Mirror::new(&here, &shared, "here").flush(PATIENCE).unwrap().renamed, []);
    for _ in 0..2 {
        let queue = Mirror::new(&there, &shared, "there").flush(PATIENCE).unwrap();
        assert_eq!((queue.outputs, queue.renamed), (0, vec![(handle("a"), handle("a-2"))]));
    }
    assert_eq!(read(&shared, "a"), b"of here");
    assert_eq!(read(&shared, "a-2"), b"of there");
    assert_eq!(shared.record(&handle("a-2")).unwrap().handle, handle("a-2"));
    assert_eq!(shared.of_call(&session(), "a").unwrap().len(), 2, "both are found by the call");
    // The same while the first one has stopped before its end.
    let mut writer = begin(&here, "b", 1);
    writer.write(Stream::Stdout, b"of");
    Mirror::new(&here, &shared, "here").pass().unwrap();
    assert!(matches!(shared.record(&handle("b")).unwrap().state, State::CutShort(_)));
    put(&there, "b", 2, b"of there");
    let mut second = begin(&there, "c", 3);
    second.write(Stream::Stdout, b"grows");
    let mut mirror = Mirror::new(&there, &shared, "there");
    mirror.pass().unwrap();
    second.finish(End::default());
    let queue = mirror.flush(PATIENCE).unwrap();
    assert_eq!((queue.outputs, queue.renamed.len()), (0, 2));
    assert_eq!((read(&shared, "b"), read(&shared, "b-2")), (b"of".to_vec(), b"of there".to_vec()));
}

#[test]
fn what_was_removed_from_the_shared_store_does_not_come_back() {
    let server = Server::shared();
    let (_folder, local, shared) = stores(&server);
    let mut mirror = Mirror::new(&local, &shared, "here");
    put(&local, "a", 1, b"first");
    put(&local, "b", 1, b"second");
    mirror.flush(PATIENCE).unwrap();
    shared.delete(&handle("a")).unwrap();
    assert_eq!(mirror.flush(PATIENCE).unwrap().outputs, 0);
    assert_eq!(shared.ids(&session(), "").unwrap(), ["b"]);
    // Another call of the same name is another output.
    local.delete(&handle("a")).unwrap();
    put(&local, "a", 2, b"third");
    mirror.flush(PATIENCE).unwrap();
    assert_eq!(read(&shared, "a"), b"third");
    assert_eq!(shared.remove_session(&session(), true).unwrap().len(), 2);
    assert_eq!(shared.remove_session(&session(), false).unwrap().len(), 2);
    assert_eq!((shared.sessions().unwrap(), events(&shared)), (vec![], vec![]));
    mirror.flush(PATIENCE).unwrap();
    assert_eq!((shared.sessions().unwrap(), events(&shared)), (vec![], vec![]));
    let rules = forebay::store::retention::Rules { max_bytes: Some(16), ..Default::default() };
    put(&local, "c", 3, b"a large one");
    put(&local, "d", 4, b"small");
    mirror.flush(PATIENCE).unwrap();
    let gone = forebay::store::remove_by_rules(&shared, &rules, None, Timestamp::now(), false).unwrap();
    assert_eq!(gone.iter().map(|gone| gone.handle.id()).collect::<Vec<_>>(), ["c"]);
    assert_eq!(shared.ids(&session(), "").unwrap(), ["d"]);
}

#[test]
fn a_mirror_keeps_up_with_what_writers_note_until_nothing_comes() {
    let server = Server::shared();
    let (folder, local, shared) = stores(&server);
    let notes = MirrorFolder::of(folder.path());
    let serving = notes.serve().unwrap().unwrap();
    let other = Session::safe("other");
    put(&local, "a", 1, b"first");
    notes.note(&session()).unwrap();
    std::thread::scope(|scope| {
        let mirror = scope.spawn(|| {
            let mut mirror = Mirror::new(&local, &shared, "here");
            mirror.keep_up(&serving, Some(Duration::from_secs(2)), None, &AtomicBool::new(false)).unwrap();
        });
        let call = Call::new(other.clone(), "b", "tool", Timestamp::from_second(2).unwrap());
        let mut writer = Writer::begin(&local, &call);
        notes.note(&other).unwrap();
        writer.write(Stream::Stdout, b"more");
        let of_other = Handle::new(other.clone(), "b").unwrap();
        while shared.open(&of_other).map_or(0, |output| output.len()) < 4 {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(shared.record(&of_other).unwrap().state, State::Growing);
        writer.finish(End::default());
        mirror.join().unwrap();
        assert_eq!(shared.record(&of_other).unwrap(), local.record(&of_other).unwrap());
    });
    assert_eq!(read(&shared, "a"), b"first");
    assert_eq!(notes.sessions().unwrap(), []);
    assert!(notes.fared().reached.is_some() && notes.fared().failures == 0);
}

#[test]
fn two_mirrors_of_one_store_share_each_output_once() {
    let server = Server::shared();
    let (_folder, local, shared) = stores(&server);
    let together = std::sync::Barrier::new(2);
    for number in 0..20 {
        put(&local, &format!("a{number}"), number, format!("output {number}\n").repeat(5_000).as_bytes());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut mirror = Mirror::new(&local, &shared, "here");
                    together.wait();
                    mirror.pass().unwrap();
                });
            }
        });
    }
    assert_eq!(Mirror::new(&local, &shared, "here").flush(PATIENCE).unwrap().outputs, 0);
    assert_eq!(shared.list(&session()).unwrap(), local.list(&session()).unwrap());
    assert_eq!(events(&shared), events(&local));
}

#[test]
fn events_that_begin_anew_are_taken_after_those_of_before() {
    let server = Server::shared();
    let (folder, local, shared) = stores(&server);
    let mut mirror = Mirror::new(&local, &shared, "here");
    put(&local, "a", 1, b"first");
    mirror.pass().unwrap();
    std::fs::remove_file(folder.path().join("s/events.jsonl")).unwrap();
    local.log(&session(), b"{}").unwrap();
    for _ in 0..2 {
        mirror.pass().unwrap();
        let log = shared.open_log(&session()).unwrap();
        let mut bytes = vec![0; log.size().unwrap() as usize];
        log.read_at(0, &mut bytes).unwrap();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        assert_eq!((lines.len(), lines[2]), (3, &b"{}\n"[..]));
    }
}
