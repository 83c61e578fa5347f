//! Many machines at once, and connections that break.

use crate::postgres::Server;
use forebay::store::Part;
use forebay::{Call, Handle, Session, Store, Timestamp};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn each_name_is_given_once_among_many_machines() {
    let server = Server::shared();
    let database = server.new_database();
    let stores: Vec<_> = (0..4).map(|_| server.store(&database, "t")).collect();
    for round in 0..10 {
        let handle = Handle::new(Session::safe("s"), &format!("same{round}")).unwrap();
        let call = Call::new(Session::safe("s"), "same", "tool", Timestamp::UNIX_EPOCH);
        let winners = std::thread::scope(|scope| {
            let creators = stores.iter().map(|store| scope.spawn(|| store.create(&handle, &call).unwrap()));
            let creators: Vec<_> = creators.collect();
            creators.into_iter().filter_map(|creator| creator.join().unwrap()).count()
        });
        assert_eq!(winners, 1);
    }
}

#[test]
fn nothing_is_lost_or_doubled_when_connections_are_cut() {
    let server = Server::shared();
    let database = server.new_database();
    let store = server.store(&database, "t");
    let (session, ended) = (Session::safe("s"), AtomicBool::new(false));
    let rounds = 300;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
            while !ended.load(Ordering::Relaxed) {
                server.sql(&database, cut);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let handle = Handle::new(session.clone(), "a").unwrap();
        let call = Call::new(session.clone(), "a", "tool", Timestamp::UNIX_EPOCH);
        let mut sink = store.create(&handle, &call).unwrap().unwrap();
        for round in 0..rounds {
            sink.append(Part::Bytes, format!("{round:04}\n").as_bytes()).unwrap();
            store.log(&session, format!("{{\"round\":{round}}}").as_bytes()).unwrap();
        }
        ended.store(true, Ordering::Relaxed);
        let expected: String = (0..rounds).map(|round| format!("{round:04}\n")).collect();
        let output = store.open(&handle).unwrap();
        assert_eq!(String::from_utf8(output.read(0..output.len()).unwrap()).unwrap(), expected);
    });
    let log = store.open_log(&session).unwrap();
    let mut bytes = vec![0; log.size().unwrap() as usize];
    assert_eq!(log.read_at(0, &mut bytes).unwrap(), bytes.len());
    let expected: String = (0..rounds).map(|round| format!("{{\"round\":{round}}}\n")).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}
