//! Bytes in a container of Azure, against Azurite.

use crate::postgres::Server;
use crate::s3::installed;
use forebay::store::conformance::check;
use forebay::{Call, End, Handle, Session, Store, Stream, Timestamp, Writer};
use forebay_store::{BucketAddress, Environment, Origin, SharedStore};
use std::cell::Cell;
use std::process::Command;

/// The account that every Azurite has.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Makes a container by Azure's own client.
const MAKE: &str = "const { BlobServiceClient, StorageSharedKeyCredential } = require('@azure/storage-blob');
const [endpoint, account, key, name] = process.argv.slice(1);
const client = new BlobServiceClient(`${endpoint}/${account}`, new StorageSharedKeyCredential(account, key));
client.getContainerClient(name).create();";

#[test]
#[ignore = "needs Azurite, which tests/shared/run --full starts"]
fn a_store_on_azure_keeps_the_promises_of_every_store() {
    let endpoint = std::env::var("FOREBAY_TEST_AZURITE").expect("run `tests/shared/run --full`");
    let server = Server::shared();
    let database = server.new_database();
    let container = format!("outputs{}", std::process::id());
    let made = Command::new("node")
        .args(["-e", MAKE, &endpoint, ACCOUNT, KEY, &container])
        .env("NODE_PATH", installed("node_modules"))
        .status();
    assert!(made.unwrap().success());
    let endpoint = format!("{endpoint}/{ACCOUNT}");
    let variables = Environment::from([
        ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
        ("AZURE_STORAGE_ACCOUNT_KEY", KEY),
        ("AZURE_STORAGE_ENDPOINT", &endpoint),
    ]);
    let open = |tenant: &str| {
        let mut options = server.options(&database);
        let bucket = BucketAddress::parse(&format!("az://{container}/p"), Origin::File, &variables);
        (options.bucket, options.tenant) = (Some(bucket.unwrap()), Session::safe(tenant));
        SharedStore::open(options).unwrap()
    };
    let store = open("t");
    let text = b"many lines\n".repeat(2_000_000);
    let call = Call::new(Session::safe("s"), "a", "tool", Timestamp::UNIX_EPOCH);
    let mut writer = Writer::begin(&store, &call);
    writer.write(Stream::Stdout, &text);
    writer.finish(End::default());
    let places = server.sql(&database, "SELECT string_agg(place::text, ' ') FROM forebay_contents");
    assert_eq!(places, "2", "the bytes are in the container");
    let output = open("t").open(&Handle::new(Session::safe("s"), "a").unwrap()).unwrap();
    assert!(output.read(0..output.len()).unwrap() == text);
    let number = Cell::new(0);
    check(&|| {
        number.set(number.get() + 1);
        Box::new(open(&format!("tenant-{}", number.get())))
    });
}
