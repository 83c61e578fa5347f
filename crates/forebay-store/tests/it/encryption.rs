//! Content that is encrypted before it leaves the machine.

use crate::postgres::Server;
use crate::s3::S3;
use forebay::store::Part;
use forebay::store::conformance::{check, check_shared};
use forebay::{Call, DiskStore, End, Handle, Record, Session, State, Store, Timestamp, Writer};
use forebay_store::{MasterKey, Mirror, Options, SharedStore};
use std::cell::Cell;

/// A text that must not be found anywhere.
const HUSH: &str = "the-heron-stands-in-the-reeds";

fn key(digit: char) -> Option<MasterKey> {
    Some(MasterKey::parse(&digit.to_string().repeat(64)).unwrap())
}

fn handle(id: &str) -> Handle {
    Handle::new(Session::safe("s"), id).unwrap()
}

/// Writes an output with every part, all of them with the text, and an event.
fn put(store: &SharedStore, id: &str, copies: usize) {
    let mut call = Call::new(Session::safe("s"), id, "tool", Timestamp::UNIX_EPOCH);
    call.args = Some(format!("{{\"path\":\"{HUSH}\"}}"));
    let mut sink = store.create(&handle(id), &call).unwrap().expect("the name is free");
    let bytes = format!("{HUSH}\n").repeat(copies);
    sink.append(Part::Bytes, bytes.as_bytes()).unwrap();
    sink.append(Part::Streams, HUSH.as_bytes()).unwrap();
    let mut record: Record = store.record(&handle(id)).unwrap();
    record.state = State::Complete;
    record.size.bytes = bytes.len() as u64;
    record.hash = blake3::hash(bytes.as_bytes()).to_hex().to_string();
    sink.finish(&record).unwrap();
    store.attach(&handle(id), Part::View, HUSH.as_bytes()).unwrap();
    store.log(&Session::safe("s"), format!("{{\"asked\":\"{HUSH}\"}}").as_bytes()).unwrap();
}

fn events(store: &dyn Store) -> String {
    let log = store.open_log(&Session::safe("s")).unwrap();
    let mut bytes = vec![0; log.size().unwrap() as usize];
    log.read_at(0, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// All that the database has, bytes as hexadecimal digits.
fn dump(server: &Server, database: &str) -> String {
    let tables = server.sql(
        database,
        "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind = 'r' AND relname LIKE 'forebay_%'",
    );
    assert!(tables.split(' ').count() > 8, "{tables}");
    let dumps =
        tables.split(' ').map(|table| server.sql(database, &format!("SELECT t::text FROM {table} t")));
    dumps.collect::<Vec<_>>().join("\n")
}

fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_encrypted_store_keeps_the_promises_of_every_store() {
    let server = Server::shared();
    let (database, number) = (server.new_database(), Cell::new(0));
    let options = |number: usize| {
        let mut options: Options = server.options(&database);
        (options.tenant, options.key) = (Session::safe(&format!("tenant-{number}")), key('1'));
        options
    };
    check(&|| {
        number.set(number.get() + 1);
        Box::new(SharedStore::open(options(number.get())).unwrap())
    });
    check_shared(&|| {
        number.set(number.get() + 1);
        [0, 1].map(|_| -> Box<dyn Store> { Box::new(SharedStore::open(options(number.get())).unwrap()) })
    });
    let clear = server.sql(&database, "SELECT count(*) FROM forebay_outputs WHERE key = ''");
    assert_eq!(clear, "0");
}

#[test]
fn what_an_output_holds_is_nowhere_in_the_database_and_a_removed_key_makes_it_unreadable() {
    let server = Server::shared();
    let database = server.new_database();
    let open = |key| {
        let mut options = server.options(&database);
        options.key = key;
        SharedStore::open(options).unwrap()
    };
    let store = open(key('1'));
    put(&store, "small", 3);
    put(&store, "large", 5_000);
    let dumped = dump(&server, &database);
    assert!(dumped.contains("small"), "names are clear");
    for text in [HUSH, &hexadecimal(HUSH), &blake3::hash(format!("{HUSH}\n").repeat(3).as_bytes()).to_hex()] {
        assert!(!dumped.contains(text), "{text}");
    }
    let other = open(key('1'));
    for (id, copies) in [("small", 3), ("large", 5_000)] {
        let output = other.open(&handle(id)).unwrap();
        assert_eq!(output.read(0..output.len()).unwrap(), format!("{HUSH}\n").repeat(copies).as_bytes());
        assert!(output.record().call.args.as_ref().unwrap().contains(HUSH));
        for part in [Part::Streams, Part::View] {
            let part = other.open_part(&handle(id), part).unwrap();
            let mut bytes = vec![0; part.size().unwrap() as usize];
            assert_eq!(part.read_at(0, &mut bytes).unwrap(), HUSH.len());
            assert_eq!(bytes, HUSH.as_bytes());
        }
    }
    assert_eq!(events(&other).matches(HUSH).count(), 2);
    assert!(other.check().is_ok());

    // Whoever has another key, or none, reads nothing, writes nothing and is told why.
    for (key, why) in [(key('2'), "another key"), (None, "store.key")] {
        let has_key = key.is_some();
        let stranger = open(key);
        let error = stranger.open(&handle("small")).map(drop).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains(HUSH), "{error}");
        let listed = stranger.list(&Session::safe("s")).unwrap();
        assert!(
            listed.iter().all(|record| matches!(&record.state, State::CutShort(text) if text.contains(why)))
        );
        let call = Call::new(Session::safe("s"), "new", "tool", Timestamp::UNIX_EPOCH);
        assert!(stranger.create(&handle("new"), &call).is_err());
        assert!(stranger.log(&Session::safe("s"), b"{}").is_err());
        assert_eq!(stranger.check().is_err(), has_key);
    }

    // A mirror of a machine without the key says why it cannot share what is there.
    let folder = tempfile::tempdir().unwrap();
    let local = DiskStore::new(folder.path());
    let call = Call::new(Session::safe("s"), "small", "tool", Timestamp::UNIX_EPOCH);
    Writer::begin(&local, &call).finish(End::default());
    let error = Mirror::new(&local, &open(None), "here").session(&Session::safe("s")).unwrap_err();
    assert!(error.to_string().contains("store.key"), "{error}");

    // Shredding: the key goes with the session, and a new session of the name has a new one.
    let before = server.sql(&database, "SELECT key FROM forebay_keys");
    assert_eq!(store.remove_session(&Session::safe("s"), false).unwrap().len(), 2);
    assert_eq!(server.sql(&database, "SELECT count(*) FROM forebay_keys"), "0");
    put(&other, "small", 3);
    assert_ne!(server.sql(&database, "SELECT key FROM forebay_keys"), before);
    assert_eq!(store.open(&handle("small")).unwrap().len(), 3 * (HUSH.len() as u64 + 1));
}

#[test]
fn a_row_that_somebody_changes_or_exchanges_is_not_decrypted() {
    let server = Server::shared();
    let database = server.new_database();
    let mut options = server.options(&database);
    options.key = key('1');
    let store = SharedStore::open(options).unwrap();
    put(&store, "a", 3);
    put(&store, "b", 3);
    server.sql(
        &database,
        "UPDATE forebay_outputs SET record = (SELECT record FROM forebay_outputs WHERE id = 'b') WHERE id = 'a'; \
         UPDATE forebay_chunks SET bytes = bytes || '\\x00'::bytea \
         WHERE content = (SELECT content FROM forebay_outputs WHERE id = 'b')",
    );
    assert!(store.record(&handle("a")).unwrap_err().to_string().contains("decrypted"));
    let error = store.open(&handle("b")).unwrap().read(0..10).unwrap_err().to_string();
    assert!(error.contains("decrypted"), "{error}");
}

#[test]
#[ignore = "needs the servers that tests/shared/run installs"]
fn objects_are_encrypted_and_named_by_nothing_that_tells_their_bytes() {
    let (server, s3) = (Server::shared(), S3::honest());
    s3.make_bucket();
    let (database, number) = (server.new_database(), Cell::new(0));
    let open = |tenant: &str| {
        let mut options = server.options(&database);
        (options.bucket, options.key) = (Some(s3.bucket("p")), key('1'));
        options.tenant = Session::safe(tenant);
        SharedStore::open(options).unwrap()
    };
    let store = open("t");
    put(&store, "large", 100_000);
    put(&store, "again", 100_000);
    let objects = s3.objects();
    assert_eq!(objects.len(), 1, "equal outputs of a session share theirs: {objects:?}");
    let plain = format!("{HUSH}\n").repeat(100_000);
    for name in &objects {
        assert!(!name.contains(&*blake3::hash(plain.as_bytes()).to_hex()), "{name}");
        let object = s3.object(name);
        assert!(zstd::stream::decode_all(&object[..]).is_err());
        assert!(!object.windows(HUSH.len()).any(|window| window == HUSH.as_bytes()));
    }
    let output = open("t").open(&handle("large")).unwrap();
    let start = plain.len() - 1_000;
    assert!(output.read(start as u64..plain.len() as u64).unwrap() == plain.as_bytes()[start..]);
    let again = store.open(&handle("again")).unwrap();
    assert!(again.read(0..again.len()).unwrap() == plain.as_bytes());
    check(&|| {
        number.set(number.get() + 1);
        Box::new(open(&format!("tenant-{}", number.get())))
    });
}
