//! The promises of every store, kept by the shared store.

use crate::postgres::Server;
use forebay::Store;
use forebay::store::conformance::{check, check_shared};
use std::cell::Cell;

#[test]
fn a_store_on_a_database_alone_keeps_the_promises_of_every_store() {
    let server = Server::shared();
    let database = server.new_database();
    let number = Cell::new(0);
    // Each store is another tenant of one database, so that none sees what another has.
    check(&|| {
        number.set(number.get() + 1);
        Box::new(server.store(&database, &format!("tenant-{}", number.get())))
    });
}

#[test]
fn two_machines_on_one_database_keep_the_promises_of_a_shared_store() {
    let server = Server::shared();
    let database = server.new_database();
    let number = Cell::new(0);
    check_shared(&|| {
        number.set(number.get() + 1);
        let tenant = format!("tenant-{}", number.get());
        [0, 1].map(|_| -> Box<dyn Store> { Box::new(server.store(&database, &tenant)) })
    });
}
