//! The schema, made by many processes at once, and that of a newer program.

use crate::postgres::Server;
use forebay::{Session, Store};
use forebay_store::{OpenError, SharedStore};

#[test]
fn many_processes_make_the_schema_once() {
    let server = Server::shared();
    let database = server.new_database();
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..8).map(|_| scope.spawn(|| server.store(&database, "t"))).collect();
        for opener in openers {
            assert!(opener.join().unwrap().sessions().unwrap().is_empty());
        }
    });
    assert_eq!(server.sql(&database, "SELECT version FROM forebay_schema"), "4");
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let server = Server::shared();
    let database = server.new_database();
    drop(server.store(&database, "t"));
    server.sql(&database, "UPDATE forebay_schema SET version = 99");
    let error = SharedStore::open(server.options(&database)).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::NewerSchema { version: 99, .. }), "{error:?}");
    assert_eq!(server.sql(&database, "SELECT version FROM forebay_schema"), "99");
}

#[test]
fn a_role_without_the_right_to_make_tables_uses_a_current_schema() {
    let server = Server::shared();
    let database = server.new_database();
    drop(server.store(&database, "t"));
    let role = format!("least_{database}");
    server.sql(
        &database,
        &format!(
            "CREATE ROLE {role} LOGIN; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
        ),
    );
    let store = SharedStore::open(server.options_of(&role, &database)).unwrap();
    store.log(&Session::safe("s"), b"{}").unwrap();
    let call = forebay::Call::new(Session::safe("s"), "a", "tool", forebay::Timestamp::UNIX_EPOCH);
    let handle = forebay::Handle::new(Session::safe("s"), "a").unwrap();
    assert!(store.create(&handle, &call).unwrap().is_some());
}

#[test]
fn a_database_that_is_not_there_is_told_without_waiting() {
    let server = Server::shared();
    let error = SharedStore::open(server.options("nowhere")).map(drop).unwrap_err().to_string();
    assert!(error.contains("\"nowhere\" does not exist"), "{error}");
}
