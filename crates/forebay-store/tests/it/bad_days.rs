//! A bucket that is slow, away, busy or behind a network that loses answers.

use crate::fault::{Fault, Proxy};
use crate::postgres::Server;
use crate::s3::S3;
use forebay::store::Part;
use forebay::{Call, Handle, Session, Store, Stream, Timestamp, Writer};
use forebay_store::SharedStore;
use std::time::Duration;

fn handle(id: &str) -> Handle {
    Handle::new(Session::safe("s"), id).unwrap()
}

fn put(store: &dyn Store, id: &str, bytes: &[u8]) {
    let call = Call::new(Session::safe("s"), id, "tool", Timestamp::UNIX_EPOCH);
    let mut writer = Writer::begin(store, &call);
    writer.write(Stream::Stdout, bytes);
    writer.finish(forebay::End::default());
}

/// A store over a bucket behind a proxy.
fn behind(server: &Server, database: &str, s3: &S3, proxy: &Proxy) -> SharedStore {
    s3.make_bucket();
    let mut options = server.options(database);
    options.bucket = Some(s3.bucket_at(&proxy.endpoint, "p"));
    SharedStore::open(options).unwrap()
}

/// The line of a long text.
fn line(number: usize) -> String {
    format!("line {number} says {}\n", blake3::hash(&number.to_le_bytes()).to_hex())
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn nothing_is_lost_and_everything_is_in_the_bucket_once_it_is_well_again() {
    let (server, s3) = (Server::shared(), S3::honest());
    let database = server.new_database();
    let proxy = Proxy::start(&s3.endpoint);
    let store = behind(&server, &database, &s3, &proxy);
    let faults = [
        Fault::Slow(Duration::from_millis(300)),
        Fault::LostAnswers,
        Fault::CutAnswers(20),
        Fault::Refused("503 Slow Down"),
        Fault::Refused("409 Conflict"),
        Fault::Refused("500 Internal Server Error"),
        Fault::Away,
    ];
    let mut expected = Vec::new();
    for (round, fault) in faults.into_iter().enumerate() {
        proxy.fail(fault);
        for number in 0..4 {
            let id = format!("r{round}n{number}");
            let bytes = line(round * 10 + number).repeat(1_000 + number).into_bytes();
            put(&store, &id, &bytes);
            expected.push((id, bytes));
        }
        // What is removed now goes from the bucket, now or later.
        let (id, bytes) = (format!("r{round}gone"), line(1_000 + round).repeat(2_000).into_bytes());
        put(&store, &id, &bytes);
        store.delete(&handle(&id)).unwrap();
        proxy.fail(Fault::None);
        for (id, bytes) in &expected {
            let output = store.open(&handle(id)).unwrap();
            assert!(output.read(0..output.len()).unwrap() == *bytes, "{fault:?}: {id}");
        }
    }
    store.catch_up().unwrap();
    assert_eq!(server.sql(&database, "SELECT count(*) FROM forebay_chunks"), "0", "all is in the bucket");
    assert_eq!(server.sql(&database, "SELECT count(*) FROM forebay_garbage"), "0");
    assert_eq!(s3.objects().len(), expected.len(), "{:?}", s3.objects());
    for (id, _) in &expected {
        assert_eq!(forebay::verify_output(&store, &handle(id)).unwrap(), []);
        store.delete(&handle(id)).unwrap();
    }
    store.catch_up().unwrap();
    assert_eq!(s3.objects(), Vec::<String>::new());
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn a_store_opens_while_a_bucket_that_was_honest_is_away_and_reads_what_is_in_the_database() {
    let (server, s3) = (Server::shared(), S3::honest());
    let database = server.new_database();
    let proxy = Proxy::start(&s3.endpoint);
    put(&behind(&server, &database, &s3, &proxy), "small", b"few");
    server.sql(&database, "UPDATE forebay_buckets SET probed_at = now() - interval '2 days'");
    proxy.fail(Fault::Away);
    let store = behind(&server, &database, &s3, &proxy);
    assert_eq!(store.open(&handle("small")).unwrap().read(0..9).unwrap(), b"few");
    assert!(store.check().is_err(), "the check says that it is away");
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn lines_far_into_a_large_output_take_three_requests_and_a_search_no_more_than_its_bytes() {
    let (server, s3) = (Server::shared(), S3::honest());
    let database = server.new_database();
    let proxy = Proxy::start(&s3.endpoint);
    let store = behind(&server, &database, &s3, &proxy);
    let text: String = (0..1_000_000).map(line).collect();
    put(&store, "large", text.as_bytes());
    let stored: u64 = server.sql(&database, "SELECT max(stored) FROM forebay_contents").parse().unwrap();
    assert!(stored < text.len() as u64 * 4 / 5, "it is compressed: {stored} of {}", text.len());
    let _ = proxy.take();
    let output = store.open(&handle("large")).unwrap();
    let start = text.len() / 10 * 9;
    assert!(
        output.read(start as u64..start as u64 + 3_000).unwrap() == text.as_bytes()[start..start + 3_000]
    );
    let (requests, _) = proxy.take();
    assert!(requests.len() <= 3, "{requests:#?}");

    let output = store.open(&handle("large")).unwrap();
    let mut block = vec![0; 128 * 1024];
    let mut read = Vec::new();
    while (read.len() as u64) < output.len() {
        let more = output.fill(read.len() as u64, &mut block).unwrap();
        read.extend_from_slice(&block[..more]);
    }
    assert!(read == text.as_bytes());
    let (requests, bytes) = proxy.take();
    assert!(bytes < stored + stored / 10, "{bytes} bytes came for an object of {stored}");
    assert!(requests.len() <= 24, "{} requests", requests.len());
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn an_output_that_is_damaged_does_not_keep_others_from_the_bucket() {
    let (server, s3) = (Server::shared(), S3::honest());
    let database = server.new_database();
    let proxy = Proxy::start(&s3.endpoint);
    let store = behind(&server, &database, &s3, &proxy);
    proxy.fail(Fault::Away);
    for id in ["a", "b", "c"] {
        put(&store, id, id.repeat(100_000).as_bytes());
    }
    proxy.fail(Fault::None);
    // The bytes of the first no longer have the hash of its record.
    server.sql(
        &database,
        "UPDATE forebay_chunks SET bytes = overlay(bytes placing 'x'::bytea from 1) WHERE content = \
         (SELECT content FROM forebay_outputs WHERE id = 'a')",
    );
    let error = store.catch_up().unwrap_err().to_string();
    assert!(error.contains("hash"), "{error}");
    assert_eq!(s3.objects().len(), 2);
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn an_output_that_was_removed_while_it_is_read_is_an_error_and_not_an_end() {
    let (server, s3) = (Server::shared(), S3::honest());
    let database = server.new_database();
    let proxy = Proxy::start(&s3.endpoint);
    let store = behind(&server, &database, &s3, &proxy);
    let text: String = (0..100_000).map(line).collect();
    put(&store, "large", text.as_bytes());
    let output = store.open_part(&handle("large"), Part::Bytes).unwrap();
    let mut start = [0; 100];
    assert_eq!(output.read_at(0, &mut start).unwrap(), 100);
    store.delete(&handle("large")).unwrap();
    assert!(output.read_at(5_000_000, &mut start).is_err());
}
