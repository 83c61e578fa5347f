//! The reader of archives.

use forebay::archive::{Options, export, import};
use forebay::{
    Call, End, Error, Exit, Fault, MemoryStore, Outputs, Session, Settings, Store, Stream, Timestamp, Writer,
    verify_output,
};
use std::io::{Cursor, Read};

/// Names of entries, and parts of records and views.
pub const WORDS: &[&str] = &[
    "\u{1c}",
    "\u{1c}manifest.json\n",
    "\u{1c}outputs/a/record.json\n",
    "\u{1c}outputs/a/bytes\n",
    "\u{1c}outputs/a/lines\n",
    "\u{1c}outputs/a/view.json\n",
    "\u{1c}events.jsonl\n",
    "/",
    "../",
    "\n",
    "null",
    "true",
    "\"lost\":{\"bytes\":1,\"why\":\"\"},",
    "\"growing\":true,",
    "\"state\":\"growing\",",
    "\"version\":2",
    "{",
    "}",
    "[",
    "]",
];

/// Byte before each entry of an input: its name, a newline and its content follow.
const ENTRY: u8 = 0x1c;

/// First bytes of a zstd frame.
const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Maximum bytes that an archive may unpack to.
const MOST: u64 = 256 * 1024;

/// Archives of sessions: as entries, whose sizes and checksums stay true when they are changed, and as they are stored.
pub fn samples() -> Vec<Vec<u8>> {
    let packed = packed(&session());
    let mut tar = tar::Archive::new(zstd::Decoder::new(&*packed).unwrap());
    let mut entries = Vec::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        entries.push(ENTRY);
        entries.extend_from_slice(&entry.path_bytes());
        entries.push(b'\n');
        entry.read_to_end(&mut entries).unwrap();
    }
    assert!(imported(&from_entries(&entries)).is_ok(), "the entries are those of the archive");
    vec![with_lost_bytes(&entries), entries, packed]
}

/// The same entries, with a record that claims lost bytes and wrong counts, and a view that prints these counts.
fn with_lost_bytes(entries: &[u8]) -> Vec<u8> {
    let mut text = String::from_utf8(entries.to_vec()).unwrap();
    for (from, to) in [
        (
            "\"size\":{\"bytes\":1880,\"characters\":1880,\"lines\":90,",
            "\"size\":{\"bytes\":1888,\"characters\":0,\"lines\":0,",
        ),
        ("\"kind\":", "\"lost\":{\"bytes\":8,\"why\":\"the disk is full\"},\"kind\":"),
        ("\"wording\":\"ranges\"", "\"wording\":\"lines\""),
    ] {
        assert!(text.contains(from), "{from} is not in {text}");
        text = text.replacen(from, to, 1);
    }
    assert!(imported(&from_entries(text.as_bytes())).is_ok(), "an archive may have lost bytes");
    text.into_bytes()
}

/// An archive is refused and leaves nothing behind, or its outputs are true and can be exported and imported again.
pub fn check(input: &[u8]) {
    let is_packed = input.starts_with(MAGIC);
    let archive = if is_packed { input.to_vec() } else { from_entries(input) };
    let Ok(store) = imported(&archive) else { return };
    for session in store.sessions().unwrap() {
        for record in store.list(&session).unwrap() {
            // An import proves outputs. Whether a view says what its output says is for `forebay verify`.
            let mut faults = verify_output(&store, &record.handle).unwrap();
            faults.retain(|fault| !matches!(fault, Fault::Text { .. }));
            assert_eq!(faults, [], "{}", record.handle);
        }
        let again = imported(&packed(&store)).unwrap();
        assert_eq!(again.list(&session).unwrap(), store.list(&session).unwrap());
    }
}

/// A store with the outputs of an archive.
fn imported(archive: &[u8]) -> Result<MemoryStore, Error> {
    let store = MemoryStore::default();
    let options = Options { session: None, dry_run: false, max_bytes: MOST };
    match import(&store, &mut Cursor::new(archive), &options, &mut |_| {}) {
        Ok(_) => Ok(store),
        Err(error) => {
            assert_eq!(store.sessions().unwrap(), [], "a refused archive left something behind");
            Err(error)
        }
    }
}

/// An archive with the entries of an input.
fn from_entries(input: &[u8]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for entry in input.split(|&byte| byte == ENTRY).skip(1) {
        let end = entry.iter().position(|&byte| byte == b'\n').unwrap_or(entry.len());
        let (name, content) = (&entry[..end], entry.get(end + 1..).unwrap_or_default());
        let mut header = tar::Header::new_gnu();
        let field = &mut header.as_old_mut().name;
        let length = name.len().min(field.len());
        field[..length].copy_from_slice(&name[..length]);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content).unwrap();
    }
    zstd::encode_all(&*tar.into_inner().unwrap(), 1).unwrap()
}

fn packed(store: &MemoryStore) -> Vec<u8> {
    let mut archive = Vec::new();
    export(store, &Session::safe("s"), &mut archive, &mut |_| {}).unwrap();
    archive
}

/// A session with a view, two streams, equal bytes, an empty output and events.
fn session() -> MemoryStore {
    let store = MemoryStore::default();
    let long: String = (0..90).map(|line| format!("line {line} of an output\n")).collect();
    put(&store, "a", &[(Stream::Stdout, &long)]);
    put(&store, "b", &[(Stream::Stderr, "warning\n"), (Stream::Stdout, "out\n")]);
    put(&store, "c", &[(Stream::Stdout, &long)]);
    put(&store, "empty", &[]);
    store
}

/// Stores an output, and shows a model a view of it.
fn put(store: &MemoryStore, id: &str, parts: &[(Stream, &str)]) {
    let call = Call::new(Session::safe("s"), id, "tool", Timestamp::UNIX_EPOCH);
    let mut writer = Writer::begin(store, &call);
    parts.iter().for_each(|(stream, text)| writer.write(*stream, text.as_bytes()));
    let output =
        writer.finish(End { exit: Some(Exit::Code(1)), cut_short: None, at: Some(Timestamp::UNIX_EPOCH) });
    let mut settings = Settings::default();
    settings.digest.tokens = 200;
    settings.digest.budget.tokens = 200;
    Outputs::new(store, call.session, &|| Timestamp::UNIX_EPOCH).reply(&output, &settings).unwrap();
}
