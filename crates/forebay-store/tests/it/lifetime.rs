//! The life of an output between several machines: leases, vanished writers, tenants.

use crate::postgres::Server;
use forebay::store::retention::Rules;
use forebay::store::{Part, Rooms, Sink};
use forebay::{Call, Error, Handle, InUse, Record, Session, State, Store, Stream, Timestamp, Writer};
use forebay_store::SharedStore;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A lease that a test can wait for.
const SHORT: Duration = Duration::from_millis(600);

fn call(id: &str) -> Call {
    Call::new(Session::safe("s"), id, "tool", Timestamp::UNIX_EPOCH)
}

fn handle(id: &str) -> Handle {
    Handle::new(Session::safe("s"), id).unwrap()
}

/// Two machines that share one database, with short leases.
fn two_machines(server: &Server) -> (String, SharedStore, SharedStore) {
    let database = server.new_database();
    let open = || {
        let mut options = server.options(&database);
        options.lease = SHORT;
        SharedStore::open(options).unwrap()
    };
    (database.clone(), open(), open())
}

fn begin(store: &dyn Store, id: &str, bytes: &[u8]) -> Box<dyn Sink> {
    let mut sink = store.create(&handle(id), &call(id)).unwrap().expect("the name is free");
    sink.append(Part::Bytes, bytes).unwrap();
    sink
}

/// The record once the output has ended, within a time that is long for a lease.
fn ended(store: &dyn Store, id: &str) -> Record {
    let begun = Instant::now();
    loop {
        let record = store.record(&handle(id)).unwrap();
        if record.state != State::Growing {
            return record;
        }
        assert!(begun.elapsed() < SHORT * 20, "{id} still grows");
        sleep(SHORT / 10);
    }
}

#[test]
fn another_machine_reads_an_output_while_it_grows() {
    let server = Server::shared();
    let (_, here, there) = two_machines(&server);
    let mut writer = Writer::begin(&here, &call("a"));
    for round in 1..=3u64 {
        writer.write(Stream::Stdout, b"more\n");
        let output = there.open(&handle("a")).unwrap();
        assert_eq!(output.read(0..100).unwrap(), b"more\n".repeat(round as usize));
        assert_eq!((&output.record().state, output.record().size.bytes), (&State::Growing, round * 5));
    }
    assert!(there.create(&handle("a"), &call("a")).unwrap().is_none(), "the name is taken everywhere");
}

#[test]
fn a_writer_that_lives_keeps_its_output_without_writing() {
    let server = Server::shared();
    let (_, here, there) = two_machines(&server);
    let mut sink = begin(&here, "a", b"some bytes");
    sleep(SHORT * 3);
    assert_eq!(there.record(&handle("a")).unwrap().state, State::Growing);
    assert!(there.weights(&Session::safe("s")).unwrap()[0].in_use);
    sink.append(Part::Bytes, b" and more").unwrap();
    assert_eq!(there.record(&handle("a")).unwrap().size.bytes, 19);
}

#[test]
fn an_output_is_cut_short_when_its_lease_has_run_out_and_a_late_writer_adds_nothing() {
    let server = Server::shared();
    let (database, here, there) = two_machines(&server);
    let mut sink = begin(&here, "a", b"some bytes\n");
    // The machine sleeps: nothing renews the lease, and its clock does not matter.
    server.sql(&database, "UPDATE forebay_outputs SET lease_until = now() - interval '1 second'");
    let record = ended(&there, "a");
    assert!(matches!(record.state, State::CutShort(_)), "{:?}", record.state);
    assert_eq!(record.hash, blake3::hash(b"some bytes\n").to_hex().as_str());
    let late = sink.append(Part::Bytes, b"late").unwrap_err().to_string();
    assert!(late.contains("ended by another process"), "{late}");
    assert!(sink.finish(&record).is_err());
    let output = there.open(&handle("a")).unwrap();
    assert_eq!(output.read(0..100).unwrap(), b"some bytes\n");
    let mut events = Vec::new();
    forebay::event::for_each(&there, &Session::safe("s"), |event| events.push(event.what)).unwrap();
    assert!(matches!(events[..], [forebay::What::OutputCutShort(_)]), "{events:?}");
}

#[test]
fn a_writer_that_gives_up_is_seen_at_once() {
    let server = Server::shared();
    let database = server.new_database();
    // The lease is long, so only the release can end the output.
    let (here, there) = (server.store(&database, "t"), server.store(&database, "t"));
    drop(begin(&here, "a", b"some bytes"));
    assert!(matches!(there.record(&handle("a")).unwrap().state, State::CutShort(_)));
}

#[test]
fn two_readers_end_an_abandoned_output_once() {
    let server = Server::shared();
    let database = server.new_database();
    let (here, there) = (server.store(&database, "t"), server.store(&database, "t"));
    for round in 0..10 {
        let id = format!("a{round}");
        drop(begin(&here, &id, &b"some bytes\n".repeat(1_000)));
        let records: Vec<Record> = std::thread::scope(|scope| {
            let readers = [&here, &there].map(|store| scope.spawn(|| store.record(&handle(&id)).unwrap()));
            readers.map(|reader| reader.join().unwrap()).into()
        });
        assert_eq!(records[0], records[1]);
    }
    let mut ends = 0;
    forebay::event::for_each(&here, &Session::safe("s"), |_| ends += 1).unwrap();
    assert_eq!(ends, 10);
}

#[test]
fn a_tenant_sees_nothing_of_another() {
    let server = Server::shared();
    let database = server.new_database();
    let (one, other) = (server.store(&database, "one"), server.store(&database, "other"));
    drop(begin(&one, "a", b"some bytes"));
    one.log(&Session::safe("s"), b"{}").unwrap();
    one.set_in_use(&Session::safe("s"), InUse { reported: 1, given: 2 }).unwrap();
    assert!(matches!(other.record(&handle("a")), Err(Error::NotFound { .. })));
    assert!(matches!(other.delete(&handle("a")), Err(Error::NotFound { .. })));
    assert_eq!(other.sessions().unwrap(), []);
    assert_eq!(other.ids(&Session::safe("s"), "").unwrap(), Vec::<String>::new());
    assert_eq!(other.open_log(&Session::safe("s")).unwrap().size().unwrap(), 0);
    assert_eq!(other.in_use(&Session::safe("s")).unwrap(), InUse::default());
    drop(begin(&other, "a", b"other bytes"));
    assert_eq!(one.open(&handle("a")).unwrap().read(0..100).unwrap(), b"some bytes");
}

#[test]
fn nothing_of_a_removed_output_stays_in_the_database() {
    let server = Server::shared();
    let database = server.new_database();
    let store = server.store(&database, "t");
    for (id, bytes) in [("a", 10), ("b", 100_000), ("c", 100_000)] {
        let mut writer = Writer::begin(&store, &call(id));
        writer.write(Stream::Stdout, &b"some bytes\n".repeat(bytes));
        writer.finish(forebay::End::default());
        store.attach(&handle(id), Part::View, b"a view").unwrap();
    }
    for id in ["b", "a", "c"] {
        store.delete(&handle(id)).unwrap();
    }
    for table in ["outputs", "parts", "chunks", "contents"] {
        assert_eq!(server.sql(&database, &format!("SELECT count(*) FROM forebay_{table}")), "0", "{table}");
    }
}

#[test]
fn what_is_kept_of_a_session_goes_with_its_last_output() {
    let server = Server::shared();
    let database = server.new_database();
    let store = server.store(&database, "t");
    let session = Session::safe("s");
    let everything = |table: &str| server.sql(&database, &format!("SELECT count(*) FROM {table}"));
    for id in ["a", "b"] {
        let mut writer = Writer::begin(&store, &call(id));
        writer.write(Stream::Stdout, b"bytes");
        writer.finish(forebay::End::default());
    }
    store.delete(&handle("a")).unwrap();
    store.remove_notes(&session).unwrap();
    assert_ne!(everything("forebay_events"), "0", "an output is left");
    let rules = Rules { max_age: Some(Duration::from_secs(3_600)), ..Rules::default() };
    assert_eq!(
        store.remove_by_rules(&rules, None, false).unwrap(),
        [],
        "it is new by the clock of the database"
    );
    server.sql(&database, "UPDATE forebay_outputs SET changed_at = now() - interval '2 hours'");
    assert_eq!(store.remove_by_rules(&rules, None, true).unwrap().len(), 1);
    assert_ne!(everything("forebay_events"), "0", "a dry run removes nothing");
    assert_eq!(store.remove_by_rules(&rules, None, false).unwrap().len(), 1);
    for table in ["forebay_events", "forebay_logs", "forebay_outputs", "forebay_parts", "forebay_chunks"] {
        assert_eq!(everything(table), "0", "{table}");
    }
    store.log(&session, b"{}").unwrap();
    assert_eq!(store.open_log(&session).unwrap().size().unwrap(), 3, "a new session begins at 0");
}

#[test]
fn all_outputs_are_listed_however_many_there_are() {
    let server = Server::shared();
    let database = server.new_database();
    let store = server.store(&database, "t");
    server.sql(
        &database,
        "INSERT INTO forebay_outputs (tenant, session, id, content, called_at, record, state, epoch, bytes, beside, \
         changed_at) SELECT 't', 's' || o % 7, 'call-' || o, 'c' || o, o, '{}', 1, 1, 10, 1, now() \
         FROM generate_series(1, 45000) o",
    );
    let weights = store.weights_of_all().unwrap();
    assert_eq!(weights.len(), 45_000);
    let sorted = weights.windows(2).all(|two| {
        let key = |number: usize| (two[number].handle.session().as_str(), two[number].handle.id());
        key(0) < key(1)
    });
    assert!(sorted, "each comes once, in the order of the key");
    assert!(weights.iter().all(|weight| weight.bytes == 11));
}
