//! Callers of every kind: threads, and the workers of another runtime.

use crate::postgres::Server;
use forebay::{Call, End, Session, Store, Stream, Timestamp, Writer};
use std::sync::Arc;

fn put(store: &dyn Store, id: &str) -> Vec<u8> {
    let call = Call::new(Session::safe("s"), id, "tool", Timestamp::UNIX_EPOCH);
    let mut writer = Writer::begin(store, &call);
    writer.write(Stream::Stdout, b"some bytes\n");
    let handle = writer.finish(End::default()).record().handle.clone();
    store.open(&handle).and_then(|output| output.read(0..output.len())).unwrap()
}

#[test]
fn a_store_works_inside_the_workers_of_another_runtime() {
    let server = Server::shared();
    let store = Arc::new(server.store(&server.new_database(), "t"));
    let current = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(current.block_on(async { put(&*store, "current") }), b"some bytes\n");
    let workers = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    workers.block_on(async {
        let tasks = (0..8).map(|number| {
            let store = store.clone();
            tokio::spawn(async move { put(&*store, &format!("task-{number}")) })
        });
        for task in tasks.collect::<Vec<_>>() {
            assert_eq!(task.await.unwrap(), b"some bytes\n");
        }
        // The last owner may be such a worker, too.
        drop(store);
    });
}
