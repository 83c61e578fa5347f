//! Bytes in a bucket. These tests need servers that `tests/shared/run` installs.

use crate::postgres::Server;
use crate::s3::S3;
use forebay::store::conformance::check;
use forebay::{Call, DiskStore, End, Handle, Session, State, Store, Stream, Timestamp, Writer};
use forebay_store::{Mirror, OpenError, Options, SharedStore};
use std::cell::Cell;
use std::time::Duration;

/// Time in which everything must be shared on a machine under load.
const PATIENCE: Duration = Duration::from_secs(120);

fn options(server: &Server, database: &str, s3: &S3, prefix: &str) -> Options {
    let mut options = server.options(database);
    options.bucket = Some(s3.bucket(prefix));
    options
}

fn handle(id: &str) -> Handle {
    Handle::new(Session::safe("s"), id).unwrap()
}

fn put(store: &dyn Store, id: &str, bytes: &[u8]) {
    let mut writer = Writer::begin(store, &Call::new(Session::safe("s"), id, "tool", Timestamp::UNIX_EPOCH));
    writer.write(Stream::Stdout, bytes);
    assert_eq!(writer.finish(End::default()).record().state, State::Complete);
}

fn read(store: &dyn Store, id: &str) -> Vec<u8> {
    store.open(&handle(id)).and_then(|output| output.read(0..output.len())).unwrap()
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn a_store_on_a_database_and_a_bucket_keeps_the_promises_of_every_store() {
    let (server, s3) = (Server::shared(), S3::honest());
    s3.make_bucket();
    let (database, number) = (server.new_database(), Cell::new(0));
    check(&|| {
        number.set(number.get() + 1);
        let mut options = options(&server, &database, &s3, "some/prefix");
        options.tenant = Session::safe(&format!("tenant-{}", number.get()));
        Box::new(SharedStore::open(options).unwrap())
    });
    assert!(s3.objects().iter().all(|name| name.starts_with("some/prefix/tenant-")), "{:?}", s3.objects());
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn an_object_is_named_by_tenant_session_and_hash_and_any_zstd_opens_it() {
    let (server, s3) = (Server::shared(), S3::honest());
    s3.make_bucket();
    let database = server.new_database();
    let store = SharedStore::open(options(&server, &database, &s3, "p")).unwrap();
    let (text, noise) = (b"many lines\n".repeat(400_000), noise(3_000_000));
    put(&store, "small", b"a few bytes");
    put(&store, "text", &text);
    put(&store, "noise", &noise);
    put(&store, "again", &text);
    let objects = s3.objects();
    assert_eq!(objects.len(), 2, "small outputs have no object, and equal ones share theirs: {objects:?}");
    let name = |bytes: &[u8]| {
        let start = format!("p/default/s/{}.", blake3::hash(bytes).to_hex());
        objects.iter().find(|name| name.starts_with(&start)).unwrap()
    };
    let object = s3.object(name(&text));
    assert!(object.len() < text.len() / 10);
    assert!(zstd::stream::decode_all(&object[..]).unwrap() == text);
    assert!(s3.object(name(&noise)) == noise, "what does not shrink is kept as it is");
    for (id, bytes) in [("text", &text), ("noise", &noise), ("again", &text)] {
        assert!(read(&store, id) == *bytes, "{id}");
        let output = store.open(&handle(id)).unwrap();
        for start in [0, 1, 1_048_575, 1_048_576, 2_000_000, bytes.len() - 5] {
            let range = start as u64..(start + 5) as u64;
            assert_eq!(output.read(range).unwrap(), bytes[start..start + 5], "{id} {start}");
        }
    }
    assert_eq!(server.sql(&database, "SELECT count(*) FROM forebay_chunks"), "1", "only the small output");
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn an_object_goes_with_its_last_output() {
    let (server, s3) = (Server::shared(), S3::honest());
    s3.make_bucket();
    let store = SharedStore::open(options(&server, &server.new_database(), &s3, "")).unwrap();
    let text = b"many lines\n".repeat(10_000);
    for id in ["a", "b"] {
        put(&store, id, &text);
    }
    store.delete(&handle("a")).unwrap();
    let before = s3.objects();
    assert_eq!(before.len(), 1);
    assert!(read(&store, "b") == text);
    store.delete(&handle("b")).unwrap();
    assert_eq!(s3.objects(), Vec::<String>::new());
    put(&store, "c", &text);
    assert!(read(&store, "c") == text, "the same bytes can come again");
    assert_ne!(s3.objects(), before, "in an object of another name, which no late removal can hit");
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn without_its_bucket_a_store_takes_outputs_and_moves_them_later() {
    let (server, s3) = (Server::shared(), S3::own());
    s3.make_bucket();
    let database = server.new_database();
    let text = b"many lines\n".repeat(10_000);
    let store = SharedStore::open(options(&server, &database, &s3, "")).unwrap();
    drop(s3);
    put(&store, "a", &text);
    assert!(read(&store, "a") == text);
    assert!(store.catch_up().is_err(), "the bucket is still away");
    let s3 = S3::own();
    s3.make_bucket();
    let store = SharedStore::open(options(&server, &database, &s3, "")).unwrap();
    assert_eq!(store.catch_up().unwrap(), 1);
    assert_eq!(s3.objects().len(), 1);
    assert!(read(&store, "a") == text);
    assert_eq!(store.catch_up().unwrap(), 0, "nothing is left to move");
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn bytes_that_are_on_a_disk_go_to_the_bucket_without_a_row() {
    let (server, s3) = (Server::shared(), S3::honest());
    s3.make_bucket();
    let database = server.new_database();
    let shared = SharedStore::open(options(&server, &database, &s3, "")).unwrap();
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN RAISE EXCEPTION ''these bytes belong into the bucket''; END'";
    server.sql(&database, refuse);
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON forebay_chunks FOR EACH ROW \
        WHEN (octet_length(NEW.bytes) > 32768) EXECUTE FUNCTION refuse()";
    server.sql(&database, trigger);
    let folder = tempfile::tempdir().unwrap();
    let local = DiskStore::new(folder.path());
    // The second is sent in parts, and the third has the bytes of the first.
    let outputs =
        [("text", b"many lines\n".repeat(400_000)), ("noise", noise(20_000_000)), ("small", b"few".to_vec())];
    for (id, bytes) in &outputs {
        put(&local, id, bytes);
    }
    put(&local, "again", &outputs[0].1);
    let mut mirror = Mirror::new(&local, &shared, "here");
    assert_eq!(mirror.flush(PATIENCE).unwrap().outputs, 0);
    assert_eq!(s3.objects().len(), 2, "equal outputs share an object");
    for (id, bytes) in outputs.iter().chain([&("again", outputs[0].1.clone())]) {
        assert!(read(&shared, id) == *bytes, "{id}");
        assert_eq!(shared.record(&handle(id)).unwrap(), local.record(&handle(id)).unwrap());
        assert_eq!(forebay::verify_output(&shared, &handle(id)).unwrap(), []);
    }
    for id in ["text", "again", "noise"] {
        shared.delete(&handle(id)).unwrap();
    }
    assert_eq!(s3.objects(), Vec::<String>::new());
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn bytes_on_a_disk_go_to_the_database_while_the_bucket_is_away() {
    let (server, s3) = (Server::shared(), S3::own());
    s3.make_bucket();
    let database = server.new_database();
    let shared = SharedStore::open(options(&server, &database, &s3, "")).unwrap();
    drop(s3);
    let folder = tempfile::tempdir().unwrap();
    let local = DiskStore::new(folder.path());
    let text = b"many lines\n".repeat(10_000);
    put(&local, "a", &text);
    assert_eq!(Mirror::new(&local, &shared, "here").flush(PATIENCE).unwrap().outputs, 0);
    assert!(read(&shared, "a") == text);
    let s3 = S3::own();
    s3.make_bucket();
    let shared = SharedStore::open(options(&server, &database, &s3, "")).unwrap();
    assert_eq!((shared.catch_up().unwrap(), s3.objects().len()), (1, 1));
    assert!(read(&shared, "a") == text);
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn a_bucket_that_ignores_conditions_is_refused() {
    let (server, s3) = (Server::shared(), S3::liar());
    let refused = SharedStore::open(options(&server, &server.new_database(), &s3, "")).map(drop).unwrap_err();
    assert!(matches!(refused, OpenError::LyingBucket { header: "If-None-Match", .. }), "{refused:?}");
    assert_eq!(
        refused.to_string(),
        "the server of the bucket s3://outputs/ ignores If-None-Match, so machines would overwrite each other's \
         outputs; use a server that honours conditional writes, such as AWS S3 or Ceph 18 or later, or leave the \
         bucket out"
    );
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn a_bucket_that_is_not_there_is_told_without_its_credentials() {
    let (server, s3) = (Server::shared(), S3::own());
    let error = SharedStore::open(options(&server, &server.new_database(), &s3, "")).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, OpenError::Bucket { .. }) && text.contains("s3://outputs/"), "{text}");
    assert!(!text.contains("S3RVER"), "{text}");
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn an_output_that_was_cut_short_and_moved_to_the_bucket_is_completed_by_its_machine() {
    let (server, s3) = (Server::shared(), S3::honest());
    s3.make_bucket();
    let shared = SharedStore::open(options(&server, &server.new_database(), &s3, "")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let local = DiskStore::new(folder.path());
    let call = Call::new(Session::safe("s"), "build", "tool", Timestamp::UNIX_EPOCH);
    let mut writer = Writer::begin(&local, &call);
    let first = b"many lines\n".repeat(10_000);
    writer.write(Stream::Stdout, &first);
    // The mirror stops while the output grows, and another machine ends it and moves its bytes.
    let mut mirror = Mirror::new(&local, &shared, "here");
    mirror.pass().unwrap();
    drop(mirror);
    assert!(matches!(shared.record(&handle("build")).unwrap().state, State::CutShort(_)));
    assert_eq!(shared.catch_up().unwrap(), 1);
    assert_eq!(s3.objects().len(), 1);
    writer.write(Stream::Stdout, b"the end\n");
    writer.finish(End::default());
    assert_eq!(Mirror::new(&local, &shared, "here").flush(PATIENCE).unwrap().outputs, 0);
    assert!(read(&shared, "build") == [&first[..], b"the end\n"].concat());
    assert_eq!(shared.record(&handle("build")).unwrap().state, State::Complete);
    assert_eq!(s3.objects().len(), 1, "the object of the first bytes is gone");
}
