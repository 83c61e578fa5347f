//! A server between a store and its database that loses answers: the request is carried out, and nobody is told.

use crate::postgres::Server;
use forebay::store::{Part, Reservation, Rooms};
use forebay::{Call, Handle, Record, Session, State, Store, Timestamp};
use forebay_store::{DatabaseAddress, Environment, Options, Origin, SharedStore};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether an answer is lost, by its number: one of sixteen, at no regular distance, so that each statement is hit at some
/// time and whole transactions pass at another.
fn is_lost(number: usize) -> bool {
    blake3::hash(&number.to_le_bytes()).as_bytes()[0].is_multiple_of(16)
}

/// Starts a proxy in a folder, which ends with the test process; returns the number of answers that it lost.
fn start(folder: &Path, server: &Server) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
    let target = server.socket().join(".s.PGSQL.5432");
    let (answers, lost) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = lost.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (target, answers, lost) = (target.clone(), answers.clone(), counted.clone());
            std::thread::spawn(move || carry(client, target, &answers, &lost));
        }
    });
    lost
}

/// Carries one connection until an answer is lost.
fn carry(client: UnixStream, target: PathBuf, answers: &AtomicUsize, lost: &AtomicUsize) -> Option<()> {
    let server = UnixStream::connect(target).ok()?;
    let (mut requests, mut onward) = (client.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut requests, &mut onward);
        let _ = onward.shutdown(std::net::Shutdown::Write);
    });
    let (mut replies, mut back) = (server, client);
    let mut block = vec![0; 1 << 20];
    let mut is_first = true;
    loop {
        let read = replies.read(&mut block).ok().filter(|&read| read > 0);
        let Some(read) = read else { break };
        // The first answer lets the client in.
        if !is_first && is_lost(answers.fetch_add(1, Ordering::Relaxed)) {
            lost.fetch_add(1, Ordering::Relaxed);
            break;
        }
        is_first = false;
        back.write_all(&block[..read]).ok()?;
    }
    back.shutdown(std::net::Shutdown::Both).ok()
}

/// The events of a round.
fn lines(round: usize) -> Vec<String> {
    (0..5).map(|line| format!("{{\"round\":{round},\"line\":{line}}}")).collect()
}

#[test]
fn a_request_whose_answer_is_lost_takes_effect_once() {
    let server = Server::shared();
    let database = server.new_database();
    drop(server.store(&database, "default"));
    let folder = tempfile::tempdir().unwrap();
    let lost = start(folder.path(), &server);
    let url = format!("postgres://forebay@/{database}?host={}", folder.path().display());
    let address = DatabaseAddress::parse(&url, Origin::File, &Environment::default()).unwrap();
    let store = SharedStore::open(Options::new(address)).unwrap();
    let session = Session::safe("s");
    for round in 0..60 {
        let handle = Handle::new(session.clone(), &format!("a{round}")).unwrap();
        let call = Call::new(session.clone(), handle.id(), "tool", Timestamp::UNIX_EPOCH);
        let mut sink = store.create(&handle, &call).unwrap().expect("the name is free");
        for part in 0..3 {
            sink.append(Part::Bytes, format!("part {part}\n").as_bytes()).unwrap();
            sink.append(Part::Lines, &[part; 8]).unwrap();
        }
        let mut record: Record = store.record(&handle).unwrap();
        record.state = State::Complete;
        let bytes = sink.finish(&record).unwrap();
        assert_eq!(bytes.size().unwrap(), 21, "{round}");
        store.attach(&handle, Part::View, b"a view").unwrap();
        for line in lines(round) {
            store.log(&session, line.as_bytes()).unwrap();
        }
        for _ in 0..5 {
            let wanted = Reservation { tokens: 1, most: 300, force: false };
            assert!(store.reserve(&session, wanted).unwrap().is_made);
        }
        if round % 2 == 1 {
            store.delete(&handle).unwrap();
        }
    }
    assert!(lost.load(Ordering::Relaxed) > 20, "only {lost:?} answers were lost");
    let direct = server.store(&database, "default");
    let log = direct.open_log(&session).unwrap();
    let mut events = vec![0; log.size().unwrap() as usize];
    log.read_at(0, &mut events).unwrap();
    let expected: String = (0..60).flat_map(lines).map(|line| line + "\n").collect();
    assert_eq!(String::from_utf8(events).unwrap(), expected);
    assert_eq!(direct.in_use(&session).unwrap().given, 300);
    assert_eq!(direct.list(&session).unwrap().len(), 30);
    for weight in direct.weights(&session).unwrap() {
        assert_eq!(weight.bytes, 21 + 24 + 6, "parts are counted once");
        assert_eq!(direct.open(&weight.handle).unwrap().read(0..100).unwrap(), b"part 0\npart 1\npart 2\n");
    }
    let left = server.sql(&database, "SELECT count(*) FROM forebay_chunks");
    assert_eq!(left, "90", "nothing of a removed output stays");
}
