use super::*;
use crate::event;
use crate::reply::shown::ShownView;
use crate::reply::verify::verify_output;
use crate::store::rooms::InUse;
use crate::store::{Reservation, Reserved, Rooms, Sink, for_each_stretch};
use crate::{
    Call, DiskStore, End, Error, Exit, Handle, Lost, MemoryStore, Outputs, Record, Result, Settings, State,
    Store, Stream, Timestamp, Writer,
};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI64, Ordering},
};
use tar::EntryType;

const ALL: Options = Options { session: None, dry_run: false, max_bytes: u64::MAX };

fn session() -> Session {
    Session::safe("s")
}

fn call(id: &str) -> Call {
    Call::new(session(), id, "tool", Timestamp::UNIX_EPOCH)
}

/// Keeps an output, and gives the model a view of it where it does not fit.
fn put(store: &dyn Store, call: &Call, parts: &[(Stream, &[u8])], end: End) -> Record {
    let mut writer = Writer::begin(store, call);
    parts.iter().for_each(|(stream, bytes)| writer.write(*stream, bytes));
    let output = writer.finish(end);
    Outputs::new(store, call.session.clone(), &|| Timestamp::UNIX_EPOCH).reply(&output, &small()).unwrap();
    output.record().clone()
}

fn text(store: &dyn Store, id: &str, bytes: &[u8]) -> Record {
    put(store, &call(id), &[(Stream::Stdout, bytes)], End::default())
}

/// Settings under which nearly nothing fits.
fn small() -> Settings {
    let mut settings = Settings::default();
    settings.digest.tokens = 300;
    settings
}

fn packed(store: &dyn Store) -> Vec<u8> {
    let mut archive = Vec::new();
    export(store, &session(), &mut archive, &mut |_| {}).unwrap();
    archive
}

fn unpacked(store: &dyn Store, archive: &[u8], options: &Options) -> Result<Imported> {
    import(store, &mut Cursor::new(archive), options, &mut |_| {})
}

/// All that a store says of a session.
fn told(store: &dyn Store, session: &Session) -> Vec<String> {
    let mut told = Vec::new();
    for record in store.list(session).unwrap() {
        let handle = &record.handle;
        assert_eq!(verify_output(store, handle).unwrap(), [], "{handle}");
        let output = store.open(handle).unwrap();
        let part = |part| {
            let part = store.open_part(handle, part).unwrap();
            let mut bytes = vec![0; part.size().unwrap() as usize];
            crate::output::read_full(&*part, 0, &mut bytes).unwrap();
            bytes
        };
        let bytes = output.read(0..output.len()).unwrap();
        let given = ShownView::of(store, handle).unwrap().map(|given| serde_json::to_string(&given).unwrap());
        told.push(format!(
            "{record:?} {bytes:?} {:?} {:?} {given:?}",
            part(Part::Lines),
            part(Part::Streams)
        ));
    }
    told.push(String::from_utf8(event::last_lines(store, session, u64::MAX).unwrap()).unwrap());
    told
}

/// Every file below a folder, with what is in it.
fn listing(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(listing(&path));
            files.insert(path, Vec::new());
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// A session with one of each: views, streams, a line index, equal bytes, every end, an empty output.
fn rich() -> MemoryStore {
    let store = MemoryStore::default();
    let long: String = (0..30_000).map(|line| format!("line {line} of a long output\n")).collect();
    text(&store, "long", long.as_bytes());
    text(&store, "again", long.as_bytes());
    text(&store, "empty", b"");
    text(&store, "binary", &[0, 255, 254, 10, 0]);
    text(&store, &"x".repeat(128), b"a name as long as can be");
    let parts: [(Stream, &[u8]); 3] =
        [(Stream::Stderr, b"warning\n"), (Stream::Stdout, b"out\n"), (Stream::Stderr, b"error: no\n")];
    let end = End { exit: Some(Exit::Code(7)), cut_short: None, at: Some(Timestamp::UNIX_EPOCH) };
    let args = Some("{\"command\": \"make\"}".to_owned());
    put(&store, &Call { terminal: true, args, ..call("streams") }, &parts, end);
    let end = End { exit: Some(Exit::Signal(9)), cut_short: Some("killed".into()), at: None };
    put(&store, &call("cut"), &[(Stream::Stdout, b"half")], end);
    store
}

#[test]
fn an_import_restores_an_export_across_all_stores() {
    let store = rich();
    let (told_first, archive) = (told(&store, &session()), packed(&store));
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::new(folder.path());
    let imported = unpacked(&disk, &archive, &ALL).unwrap();
    assert_eq!((imported.added, imported.already_there), (7, 0));
    // A disk lists outputs of the same moment by their names, so it is compared without the order.
    let sorted = |mut told: Vec<String>| {
        told.sort();
        told
    };
    assert_eq!(sorted(told(&disk, &session())), sorted(told_first.clone()));
    let memory = MemoryStore::default();
    unpacked(&memory, &packed(&disk), &ALL).unwrap();
    assert_eq!(sorted(told(&memory, &session())), sorted(told_first));
    assert_eq!(packed(&rich()), archive, "the same session gives the same archive");
}

#[test]
fn importing_again_changes_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::new(folder.path());
    let archive = packed(&rich());
    let first = unpacked(&disk, &archive, &ALL).unwrap();
    let before = listing(folder.path());
    let second = unpacked(&disk, &archive, &ALL).unwrap();
    assert_eq!((second.added, second.already_there, second.bytes), (0, first.added, 0));
    assert_eq!((second.events_added, second.events_already_there), (0, first.events_added));
    assert_eq!(listing(folder.path()), before);
}

#[test]
fn events_come_as_often_as_they_happened_and_only_those_that_are_missing() {
    let line = br#"{"event":"room-reported","used":7,"at":"1970-01-01T00:00:00Z"}"#;
    let store = MemoryStore::default();
    store.log(&session(), line).unwrap();
    store.log(&session(), line).unwrap();
    store.log(&session(), b"no event").unwrap();
    let archive = packed(&store);
    let other = MemoryStore::default();
    other.log(&session(), line).unwrap();
    let imported = unpacked(&other, &archive, &ALL).unwrap();
    assert_eq!((imported.events_added, imported.events_already_there), (1, 1));
    assert_eq!(told(&other, &session()), [format!("{0}\n{0}\n", std::str::from_utf8(line).unwrap())]);
}

#[test]
fn a_dry_run_reports_additions_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let disk = DiskStore::new(&root);
    let archive = packed(&rich());
    let would = unpacked(&disk, &archive, &Options { dry_run: true, ..ALL }).unwrap();
    assert!(!root.exists());
    assert_eq!(unpacked(&disk, &archive, &ALL).unwrap(), would);
}

#[test]
fn equal_outputs_are_in_the_archive_once_and_share_their_bytes_again() {
    let store = MemoryStore::default();
    // Bytes that do not pack.
    let mut noise = vec![0; 300_000];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    for id in ["a", "b", "c"] {
        text(&store, id, &noise);
    }
    let archive = packed(&store);
    assert!(archive.len() < 320_000, "{}", archive.len());
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::new(folder.path());
    unpacked(&disk, &archive, &ALL).unwrap();
    let file = |id| fs::metadata(folder.path().join(format!("s/tool/{id}.bin"))).unwrap();
    assert_eq!((file("a").nlink(), file("a").ino(), file("b").ino()), (3, file("b").ino(), file("c").ino()));
    let handle: Handle = "s/b".parse().unwrap();
    assert_eq!(Store::record(&disk, &handle).unwrap().same_as, Some("s/a".parse().unwrap()));
    // One of the three already exists: the others take its bytes.
    let other = MemoryStore::default();
    text(&other, "a", &noise);
    assert_eq!(unpacked(&other, &archive, &ALL).unwrap().added, 2);
    assert_eq!(verify_output(&other, &handle).unwrap(), []);
}

#[test]
fn a_name_that_is_taken_refuses_the_whole_archive_and_another_session_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::new(folder.path());
    text(&disk, "cut", b"something else");
    let before = listing(folder.path());
    let archive = packed(&rich());
    let error = unpacked(&disk, &archive, &ALL).unwrap_err();
    assert!(matches!(&error, Error::Taken { count: 1, handles } if handles == &["s/cut"]), "{error}");
    assert_eq!(listing(folder.path()), before);

    let other = Session::safe("other");
    let options = Options { session: Some(other.clone()), ..ALL };
    assert_eq!(unpacked(&disk, &archive, &options).unwrap().session, other);
    told(&disk, &other);
    assert_eq!(unpacked(&disk, &archive, &options).unwrap().already_there, 7);
    let again: Handle = "other/again".parse().unwrap();
    let record = Store::record(&disk, &again).unwrap();
    assert_eq!((record.call.session, record.same_as), (other.clone(), Some("other/long".parse().unwrap())));
    let given = ShownView::of(&disk, &again).unwrap().unwrap();
    assert_eq!(given.handle, Some("s/again".parse().unwrap()), "the model was shown the old name");
    assert!(given.text.contains("s/again"), "{}", given.text);

    // Back under the first name, nothing tells of the journey.
    let mut archive = Vec::new();
    export(&disk, &other, &mut archive, &mut |_| {}).unwrap();
    let back = MemoryStore::default();
    unpacked(&back, &archive, &Options { session: Some(session()), ..ALL }).unwrap();
    let sorted = |store: &dyn Store| {
        let mut told = told(store, &session());
        told.sort();
        told
    };
    assert_eq!(sorted(&back), sorted(&rich()));
}

#[test]
fn an_output_that_grows_is_exported_as_it_is_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::new(folder.path());
    for store in [&MemoryStore::default() as &dyn Store, &disk] {
        let mut writer = Writer::begin(store, &call("a"));
        writer.write(Stream::Stdout, &b"line\n".repeat(40_000));
        writer.write(Stream::Stderr, b"oh\n");
        let mut archive = Vec::new();
        let exported = export(store, &session(), &mut archive, &mut |_| {}).unwrap();
        assert_eq!((exported.outputs, exported.growing, exported.bytes), (1, 1, 200_003));
        writer.write(Stream::Stdout, b"more\n");
        let other = MemoryStore::default();
        unpacked(&other, &archive, &ALL).unwrap();
        let told = told(&other, &session());
        let record = &other.list(&session()).unwrap()[0];
        assert_eq!(record.state, State::CutShort("it was still growing when it was exported".into()));
        assert_eq!((record.size.bytes, record.size.lines), (200_003, 40_001));
        assert!(told[1].contains("output-cut-short"), "its end is an event: {}", told[1]);
        let mut stderr = Vec::new();
        let output = other.open(&record.handle).unwrap();
        for_each_stretch(&other, &output, |stream, bytes| {
            if stream == Stream::Stderr {
                stderr.extend_from_slice(bytes);
            }
        })
        .unwrap();
        assert_eq!(stderr, b"oh\n");
        // The writer goes on as if nothing had been.
        assert_eq!(writer.finish(End::default()).len(), 200_008);
    }
}

#[test]
fn an_output_of_which_bytes_were_lost_comes_over_as_it_is() {
    let store = MemoryStore::default();
    let record = text(&store, "a", &b"line\n".repeat(30_000));
    let handle: Handle = "s/b".parse().unwrap();
    let mut sink = store.create(&handle, &call("b")).unwrap().unwrap();
    sink.append(Part::Bytes, &b"line\n".repeat(30_000)).unwrap();
    // The index failed before the bytes did, in the middle of an entry.
    sink.append(Part::Lines, &[&13_107u64.to_le_bytes()[..], &[1, 2, 3]].concat()).unwrap();
    let mut lost = Record { handle, call: call("b"), ..record };
    lost.size.bytes += 1_000;
    lost.size.lines += 7;
    lost.lost = Some(Lost { bytes: 1_000, why: "the store failed".into() });
    lost.state = State::CutShort("the store failed".into());
    sink.finish(&lost).unwrap();
    let other = MemoryStore::default();
    unpacked(&other, &packed(&store), &ALL).unwrap();
    told(&other, &session());
    assert_eq!(other.record(&lost.handle).unwrap(), lost);
}

#[test]
fn a_damaged_output_is_not_exported() {
    // What is done to the files, and what is said of it.
    type Damage = (&'static str, fn(&Path), &'static str);
    let table: [Damage; 5] = [
        (
            "bytes",
            |tool| fs::write(tool.join("a.txt"), b"Line\n".repeat(30_000)).unwrap(),
            "the hash differs",
        ),
        (
            "shorter",
            |tool| fs::write(tool.join("a.txt"), b"line\n").unwrap(),
            "it has 5 bytes and should have 150000",
        ),
        ("index", |tool| fs::write(tool.join("a.lines"), [0; 16]).unwrap(), "its line index is not"),
        ("view", |tool| fs::write(tool.join("a.view.json"), b"{}").unwrap(), "its view is invalid"),
        ("record", |tool| fs::write(tool.join("a.meta.json"), b"{").unwrap(), "cannot read the record"),
    ];
    for (name, damage, said) in table {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskStore::new(folder.path());
        text(&disk, "a", &b"line\n".repeat(30_000));
        damage(&folder.path().join("s/tool"));
        let error = export(&disk, &session(), &mut Vec::new(), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
    }
}

/// One entry of an archive made by hand.
#[derive(Clone)]
struct Raw {
    name: Vec<u8>,
    kind: EntryType,
    bytes: Vec<u8>,
    /// The size that its header says, where that is another.
    size: Option<u64>,
}

impl Raw {
    fn new(name: &str, bytes: impl AsRef<[u8]>) -> Raw {
        Raw { name: name.into(), kind: EntryType::Regular, bytes: bytes.as_ref().to_vec(), size: None }
    }
}

fn raw_entries(archive: &[u8]) -> Vec<Raw> {
    let mut tar = tar::Archive::new(zstd::Decoder::new(archive).unwrap());
    let entry = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        Raw { name: entry.path_bytes().into_owned(), kind: EntryType::Regular, bytes, size: None }
    };
    tar.entries().unwrap().map(entry).collect()
}

fn tar_of(entries: &[Raw]) -> Vec<u8> {
    let mut tar = Vec::new();
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        // Written past the checks of the crate, as a hostile hand would.
        if entry.name.len() > 100 {
            header.set_path(std::str::from_utf8(&entry.name).unwrap()).unwrap()
        } else {
            header.as_old_mut().name[..entry.name.len()].copy_from_slice(&entry.name)
        }
        header.set_entry_type(entry.kind);
        header.set_size(entry.size.unwrap_or(entry.bytes.len() as u64));
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.extend_from_slice(&entry.bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn zstd_of(tar: &[u8]) -> Vec<u8> {
    zstd::encode_all(tar, 1).unwrap()
}

/// Changes JSON in the first entry whose name ends so.
fn with(entries: &mut [Raw], name: &str, change: impl FnOnce(&mut serde_json::Value)) {
    let entry = entries.iter_mut().find(|entry| entry.name.ends_with(name.as_bytes())).unwrap();
    let mut value = serde_json::from_slice(&entry.bytes).unwrap();
    change(&mut value);
    entry.bytes = serde_json::to_vec(&value).unwrap();
}

fn at(entries: &[Raw], name: &str) -> usize {
    entries.iter().position(|entry| entry.name.ends_with(name.as_bytes())).unwrap()
}

#[test]
fn a_hostile_archive_is_refused_whole_and_nothing_is_written() {
    type Change = fn(&mut Vec<Raw>);
    // What is changed, and what is said of it.
    let table: &[(Change, &str)] = &[
        (|all| drop(all.remove(0)), "where the manifest should be"),
        (|all| all.clear(), "it ends where the manifest should be"),
        (|all| all[0].bytes = b"{".to_vec(), "its manifest is invalid"),
        (|all| all[0].bytes = b"{\"format\":\"other\"}".to_vec(), "it is not an archive of forebay"),
        (|all| all[0].bytes = vec![b' '; 2 << 20], "'manifest.json' has 2097152 bytes"),
        (|all| with(all, "manifest.json", |m| m["version"] = 2.into()), "its version is 2"),
        (|all| with(all, "manifest.json", |m| m["session"] = "../up".into()), "its manifest is invalid"),
        (|all| with(all, "manifest.json", |m| m["session"] = "other".into()), "its record is that of s/long"),
        (
            |all| with(all, "manifest.json", |m| m["outputs"] = 6.into()),
            "4 bytes of outputs less than it says",
        ),
        (
            |all| with(all, "manifest.json", |m| m["outputs"] = 8.into()),
            "where the record of an output should be",
        ),
        (|all| with(all, "manifest.json", |m| m["outputs"] = u64::MAX.into()), "1000000 are allowed"),
        (|all| with(all, "manifest.json", |m| m["bytes"] = u64::MAX.into()), "more than the 10000000 bytes"),
        (
            |all| with(all, "manifest.json", |m| m["bytes"] = 20_000_000.into()),
            "more than the 10000000 bytes",
        ),
        (|all| with(all, "manifest.json", |m| m["bytes"] = 10.into()), "not what was declared"),
        (
            |all| with(all, "manifest.json", |m| m["bytes"] = 5_000_000.into()),
            "bytes of outputs less than it says",
        ),
        (
            |all| with(all, "manifest.json", |m| m["events"] = 0.into()),
            "'events.jsonl' where its end should be",
        ),
        (|all| with(all, "manifest.json", |m| m["events"] = 5.into()), "bytes of events, not 5"),
        (|all| all[1].name = b"../../etc/passwd".to_vec(), "where the record of an output should be"),
        (|all| all[1].name = b"/etc/passwd".to_vec(), "where the record of an output should be"),
        (|all| all[1].name = b"outputs/../record.json".to_vec(), "where the record of an output should be"),
        (
            |all| all[1].name = b"outputs/a/../long/record.json".to_vec(),
            "where the record of an output should be",
        ),
        (|all| all[1].name = b"outputs/other/record.json".to_vec(), "its record is that of s/long"),
        (|all| all[1].name = b"outputs/\xff/record.json".to_vec(), "where the record of an output should be"),
        (|all| all[2].name = b"outputs/long/../../bytes".to_vec(), "where its bytes should be"),
        (|all| all[2].name = b"outputs/long/Bytes".to_vec(), "where its bytes should be"),
        (|all| drop(all.remove(2)), "where its bytes should be"),
        (|all| all[2].kind = EntryType::Symlink, "is not a plain file"),
        (|all| all[2].kind = EntryType::Link, "is not a plain file"),
        (|all| all[2].kind = EntryType::Directory, "is not a plain file"),
        (|all| all[2].kind = EntryType::Fifo, "is not a plain file"),
        (|all| all[2].kind = EntryType::Char, "is not a plain file"),
        (|all| all[2].kind = EntryType::GNUSparse, "is not a plain file"),
        (|all| all[2].kind = EntryType::GNULongName, "is not a plain file"),
        (|all| all[2].kind = EntryType::XHeader, "is not a plain file"),
        (|all| all[2].kind = EntryType::XGlobalHeader, "is not a plain file"),
        (|all| all[2].size = Some(u64::MAX), "damaged: size overflow"),
        (|all| all[2].size = Some(1 << 40), "not what was declared"),
        (|all| all[2].bytes[7] ^= 1, "the hash differs"),
        (|all| all[2].bytes.truncate(9), "not what was declared"),
        (|all| all[2].bytes.push(b'x'), "not what was declared"),
        (|all| all[3].bytes[0] ^= 1, "its line index is not"),
        (|all| all[3].bytes.truncate(9), "its line index is not"),
        (|all| all[3].bytes.extend([0; 8]), "are allowed"),
        (|all| all.swap(2, 3), "where its bytes should be"),
        (|all| all.insert(2, all[2].clone()), "where the record of an output should be"),
        (|all| all.insert(1, all[1].clone()), "where its bytes should be"),
        (
            |all| {
                let again = all[1..5].to_vec();
                all.splice(5..5, again);
                with(all, "manifest.json", |m| m["outputs"] = 8.into());
            },
            "it has s/long twice",
        ),
        (|all| all.insert(1, Raw::new("extra", "x")), "'extra' where the record"),
        (|all| all.push(Raw::new("extra", "x")), "'extra' where its end should be"),
        (|all| all.push(all[0].clone()), "'manifest.json' where its end should be"),
        (|all| all[1].bytes = b"{}".to_vec(), "its record is invalid"),
        (|all| all[1].bytes.resize(17 << 20, b' '), "16777216 are allowed"),
        // No single record is too large, but all of them together are.
        (
            |all| {
                all.iter_mut()
                    .filter(|entry| entry.name.ends_with(b"/record.json"))
                    .for_each(|entry| entry.bytes.resize(2 << 20, b' '))
            },
            "it unpacks to more than the 10000000 bytes",
        ),
        (|all| with(all, "/record.json", |r| r["version"] = 2.into()), "has version 2"),
        (|all| with(all, "/record.json", |r| r["version"] = 0.into()), "has version 0"),
        (
            |all| with(all, "/record.json", |r| r["handle"] = "s/again".into()),
            "its record is that of s/again",
        ),
        (|all| with(all, "/record.json", |r| r["handle"] = "s/../up".into()), "its record is invalid"),
        (|all| with(all, "/record.json", |r| r["call"]["session"] = "t".into()), "its call is of session t"),
        (|all| with(all, "/record.json", |r| r["same_as"] = "t/a".into()), "an output of another session"),
        (|all| with(all, "/record.json", |r| r["state"] = "growing".into()), "still growing"),
        (|all| with(all, "/record.json", |r| r["hash"] = "".into()), "no hash"),
        (|all| with(all, "/record.json", |r| r["hash"] = "0".repeat(64).into()), "the hash differs"),
        (|all| with(all, "/record.json", |r| r["size"]["bytes"] = 7.into()), "not what was declared"),
        (|all| with(all, "/record.json", |r| r["size"]["lines"] = 7.into()), "counted wrong"),
        (|all| with(all, "/record.json", |r| r["size"]["tokens"] = 7.into()), "fewer tokens"),
        (|all| with(all, "/record.json", |r| r["size"]["tokens_exact"] = true.into()), "fewer tokens"),
        (|all| with(all, "/record.json", |r| r["kind"] = "binary".into()), "they are text, not binary"),
        (
            |all| {
                with(all, "/record.json", |r| r["lost"] = serde_json::json!({"bytes": u64::MAX, "why": ""}))
            },
            "more bytes were lost than there were",
        ),
        (
            |all| with(all, "again/record.json", |r| r["size"]["bytes"] = 7.into()),
            "s/again: its bytes are not",
        ),
        (|all| with(all, "/view.json", |v| v["view"]["total"] = 7.into()), "its view is invalid"),
        (
            |all| {
                with(all, "/view.json", |v| {
                    v["view"]["total"] = 1.into();
                    v["view"]["pieces"] = serde_json::json!([{"verbatim": {"start": 0, "end": 1}}]);
                });
            },
            "its view is of 1 bytes",
        ),
        (
            |all| {
                let view = at(all, "/view.json");
                all[view].bytes = b"[".repeat(1 << 20);
            },
            "its view is invalid",
        ),
        (
            |all| {
                let view = at(all, "/view.json");
                all[view].size = Some(17 << 20);
            },
            "are allowed",
        ),
        (
            |all| {
                let streams = at(all, "/streams");
                all[streams].bytes[8] ^= 4;
            },
            "streams",
        ),
        (
            |all| {
                let streams = at(all, "/streams");
                all[streams].bytes.fill(0xff);
            },
            "the streams do not follow",
        ),
        (
            |all| {
                let streams = at(all, "/streams");
                all[streams].bytes.pop();
            },
            "its streams are invalid",
        ),
        (
            |all| {
                let streams = at(all, "/streams");
                all.remove(streams);
            },
            "its streams are not those of its record",
        ),
        (
            |all| {
                let last = all.len() - 1;
                all[last].bytes[0] = b'x';
            },
            "one of its events is invalid",
        ),
        (
            |all| {
                let last = all.len() - 1;
                *all[last].bytes.last_mut().unwrap() = b' ';
            },
            "one of its events is invalid",
        ),
        (
            |all| {
                let last = all.len() - 1;
                all[last].bytes = [&b" ".repeat(2 << 20)[..], b"{}\n"].concat();
                let size = all[last].bytes.len();
                with(all, "manifest.json", |m| m["events"] = size.into());
            },
            "one of its events is invalid",
        ),
    ];
    let good = packed(&rich());
    let options = Options { max_bytes: 10_000_000, ..ALL };
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::new(folder.path());
    text(&disk, "here", b"something that is there");
    let before = listing(folder.path());
    let entries = raw_entries(&good);
    assert_eq!(unpacked(&MemoryStore::default(), &zstd_of(&tar_of(&entries)), &options).unwrap().added, 7);
    let mut wrong = Vec::new();
    for (number, (change, said)) in table.iter().enumerate() {
        let mut entries = entries.clone();
        change(&mut entries);
        match unpacked(&disk, &zstd_of(&tar_of(&entries)), &options) {
            Err(Error::BadArchive(why)) if why.contains(said) => {}
            other => wrong.push(format!("{number}: {other:?}, not {said}")),
        }
        assert_eq!(listing(folder.path()), before, "{number}: {said}");
    }

    let tar = tar_of(&entries);
    let mut two_frames = zstd_of(&tar[..2048]);
    two_frames.extend(zstd_of(&tar[2048..]));
    let mut wide = zstd::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(&tar).unwrap();
    let bomb = [&tar[..512], &vec![0; 30_000_000]].concat();
    let mut many = tar.clone();
    many.truncate(tar.len() - 1024);
    many.extend(vec![b'x'; 40_000_000]);
    let files: [(&str, Vec<u8>, &str); 12] = [
        ("nothing", Vec::new(), "it is empty"),
        ("a text", b"hello, this is no archive".to_vec(), "it is not a zstd file"),
        ("two bytes", good[..2].to_vec(), "it ends too early"),
        ("a tar file", tar.clone(), "it is not a zstd file"),
        ("a packed text", zstd_of(b"hello"), "damaged: failed to read entire block"),
        ("garbage behind it", [&good[..], b"garbage"].concat(), "there is data after its end"),
        ("an archive behind it", [&good[..], &good[..]].concat(), "there is data after its end"),
        ("garbage behind the tar file", zstd_of(&[&tar[..], b"x"].concat()), "there is data after its end"),
        ("no end", zstd_of(&tar[..tar.len() - 1024]), "it ends without its end mark"),
        ("two frames", two_frames, "it ends"),
        ("a window of 128 MiB", wide.finish().unwrap(), "damaged"),
        ("zeros without end", zstd_of(&bomb), "its manifest is invalid"),
    ];
    for (name, file, said) in files {
        match unpacked(&disk, &file, &options) {
            Err(Error::BadArchive(why)) if why.contains(said) => {}
            other => wrong.push(format!("{name}: {other:?}, not {said}")),
        }
        assert_eq!(listing(folder.path()), before, "{name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let error = unpacked(&disk, &zstd_of(&many), &options).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    let error = unpacked(&disk, &good, &Options { max_bytes: 500_000, ..ALL }).unwrap_err();
    assert!(error.to_string().contains("more than the 500000 bytes"), "{error}");
    assert_eq!(listing(folder.path()), before);
}

#[test]
fn half_an_archive_is_refused_wherever_it_is_cut() {
    let store = MemoryStore::default();
    text(&store, "a", &b"some lines\n".repeat(500));
    text(&store, "b", b"more");
    let archive = packed(&store);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let disk = DiskStore::new(&root);
    for length in 0..archive.len() {
        let error = unpacked(&disk, &archive[..length], &ALL).unwrap_err();
        assert!(matches!(error, Error::BadArchive(_)), "{length}: {error}");
    }
    assert!(!root.exists());
    assert_eq!(unpacked(&disk, &archive, &ALL).unwrap().added, 2);
}

#[test]
fn a_flipped_bit_is_refused_or_changes_nothing() {
    let store = MemoryStore::default();
    text(&store, "a", &b"some lines\n".repeat(500));
    text(&store, "b", b"more");
    let (archive, told_first) = (packed(&store), told(&store, &session()));
    let mut refused = 0;
    for at in 0..archive.len() {
        for bit in [0, 3, 7] {
            let mut flipped = archive.clone();
            flipped[at] ^= 1 << bit;
            let other = MemoryStore::default();
            match unpacked(&other, &flipped, &ALL) {
                Ok(_) => assert_eq!(told(&other, &session()), told_first, "byte {at}, bit {bit}"),
                Err(error) => {
                    assert!(matches!(error, Error::BadArchive(_)), "byte {at}, bit {bit}: {error}");
                    assert_eq!(other.sessions().unwrap(), []);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > archive.len() * 2, "{refused} of {}", archive.len() * 3);
    // In what is packed, too, where no checksum of the frame helps.
    let tar = tar_of(&raw_entries(&archive));
    for at in 0..tar.len() {
        let mut flipped = tar.clone();
        flipped[at] ^= 1;
        let other = MemoryStore::default();
        match unpacked(&other, &zstd_of(&flipped), &ALL) {
            // A record, a view and an event may say many things; the bytes may not.
            Ok(_) => {
                let read = |store: &dyn Store, id: &str| {
                    let output = store.open(&Handle::new(session(), id).unwrap()).unwrap();
                    output.read(0..output.len()).unwrap()
                };
                assert!(["a", "b"].iter().all(|id| read(&other, id) == read(&store, id)), "byte {at}");
            }
            Err(error) => {
                assert!(matches!(error, Error::BadArchive(_)), "byte {at}: {error}");
                assert_eq!(other.sessions().unwrap(), []);
            }
        }
    }
}

/// A file that is another one when it is read again.
struct Changing {
    file: Cursor<Vec<u8>>,
    then: Vec<u8>,
}

impl Read for Changing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Seek for Changing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if to == SeekFrom::Start(0) {
            self.file = Cursor::new(self.then.clone());
        }
        self.file.seek(to)
    }
}

#[test]
fn an_archive_that_changes_while_it_is_imported_leaves_nothing() {
    let archive = packed(&rich());
    let mut wrong = raw_entries(&archive);
    let last = at(&wrong, "cut/bytes");
    wrong[last].bytes[0] ^= 1;
    for then in [zstd_of(&tar_of(&wrong)), archive[..archive.len() - 9].to_vec(), Vec::new()] {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskStore::new(folder.path());
        text(&disk, "here", b"something that is there");
        let told_first = told(&disk, &session());
        let mut source = Changing { file: Cursor::new(archive.clone()), then };
        let error = import(&disk, &mut source, &ALL, &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::BadArchive(_)), "{error}");
        assert_eq!(told(&disk, &session())[0], told_first[0]);
        assert_eq!(disk.ids(&session(), "").unwrap(), ["here"]);
        let files = listing(&folder.path().join("s/tool"));
        assert_eq!(files.len(), 2, "the bytes and the record of what was there: {:?}", files.keys());
    }
}

/// A store that takes only so many appends.
struct Failing(MemoryStore, std::sync::Arc<AtomicI64>);
struct FailingSink(Box<dyn Sink>, std::sync::Arc<AtomicI64>);

impl Sink for FailingSink {
    fn handle(&self) -> &Handle {
        self.0.handle()
    }
    fn append(&mut self, part: Part, bytes: &[u8]) -> io::Result<()> {
        match self.1.fetch_sub(1, Ordering::Relaxed) {
            ..1 => Err(io::ErrorKind::StorageFull.into()),
            _ => self.0.append(part, bytes),
        }
    }
    fn appended(&self) -> u64 {
        self.0.appended()
    }
    fn finish(self: Box<Self>, record: &Record) -> Result<Box<dyn ReadAt>> {
        self.0.finish(record)
    }
}

impl Store for Failing {
    fn create(&self, handle: &Handle, call: &Call) -> Result<Option<Box<dyn Sink>>> {
        let sink = self.0.create(handle, call)?;
        Ok(sink.map(|sink| Box::new(FailingSink(sink, self.1.clone())) as Box<dyn Sink>))
    }
    fn record(&self, handle: &Handle) -> Result<Record> {
        self.0.record(handle)
    }
    fn open_part(&self, handle: &Handle, part: Part) -> Result<Box<dyn ReadAt>> {
        self.0.open_part(handle, part)
    }
    fn attach(&self, handle: &Handle, part: Part, bytes: &[u8]) -> Result<()> {
        self.0.attach(handle, part, bytes)
    }
    fn list(&self, session: &Session) -> Result<Vec<Record>> {
        self.0.list(session)
    }
    fn ids(&self, session: &Session, prefix: &str) -> Result<Vec<String>> {
        self.0.ids(session, prefix)
    }
    fn sessions(&self) -> Result<Vec<Session>> {
        self.0.sessions()
    }
    fn weights(&self, session: &Session) -> Result<Vec<crate::store::retention::Weight>> {
        self.0.weights(session)
    }
    fn delete(&self, handle: &Handle) -> Result<()> {
        self.0.delete(handle)
    }
    fn share(&self, newer: &Handle, older: &Handle) -> Result<()> {
        self.0.share(newer, older)
    }
    fn path(&self, handle: &Handle) -> Option<PathBuf> {
        self.0.path(handle)
    }
    fn log(&self, session: &Session, line: &[u8]) -> Result<()> {
        self.0.log(session, line)
    }
    fn open_log(&self, session: &Session) -> Result<Box<dyn ReadAt>> {
        self.0.open_log(session)
    }
}

impl Rooms for Failing {
    fn in_use(&self, session: &Session) -> Result<InUse> {
        self.0.in_use(session)
    }
    fn set_in_use(&self, session: &Session, in_use: InUse) -> Result<()> {
        self.0.set_in_use(session, in_use)
    }
    fn reserve(&self, session: &Session, wanted: Reservation) -> Result<Reserved> {
        self.0.reserve(session, wanted)
    }
}

#[test]
fn a_store_that_fails_on_the_way_has_none_of_it_afterwards() {
    let archive = packed(&rich());
    let mut failed = 0;
    for appends in 0.. {
        let store = Failing(MemoryStore::default(), std::sync::Arc::new(AtomicI64::new(appends)));
        match unpacked(&store, &archive, &ALL) {
            Ok(imported) => {
                assert_eq!(imported.added, 7);
                break;
            }
            Err(error) => assert!(matches!(error, Error::Store { .. }), "{error}"),
        }
        assert_eq!(told(&store, &session()), [""], "after {appends} appends");
        failed += 1;
    }
    assert!(failed > 10, "{failed}");
}

#[derive(Clone, Debug)]
struct Made {
    parts: Vec<(bool, Vec<u8>)>,
    exit: Option<i32>,
    cut_short: Option<String>,
    terminal: bool,
    args: Option<String>,
    second: i64,
}

fn made() -> impl Strategy<Value = Made> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..600),
        Just(b"the same\n".repeat(60)),
        (0usize..3, any::<u8>()).prop_map(|(strides, byte)| vec![byte; strides * 65_536 + 9]),
    ];
    let parts = proptest::collection::vec((any::<bool>(), bytes), 0..4);
    let rest =
        (any::<Option<i32>>(), any::<Option<String>>(), any::<bool>(), any::<Option<String>>(), 0i64..9);
    (parts, rest).prop_map(|(parts, (exit, cut_short, terminal, args, second))| Made {
        parts,
        exit,
        cut_short,
        terminal,
        args,
        second,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_session_comes_back_as_it_was(outputs in proptest::collection::vec(made(), 0..5)) {
        let store = MemoryStore::default();
        for (number, made) in outputs.iter().enumerate() {
            let at = Timestamp::from_second(made.second).unwrap();
            let call = Call { terminal: made.terminal, args: made.args.clone(), at, ..call(&format!("call-{number}")) };
            let stream = |stderr| if stderr { Stream::Stderr } else { Stream::Stdout };
            let parts: Vec<_> = made.parts.iter().map(|(stderr, bytes)| (stream(*stderr), bytes.as_slice())).collect();
            let end = End { exit: made.exit.map(Exit::Code), cut_short: made.cut_short.clone(), at: Some(at) };
            put(&store, &call, &parts, end);
        }
        let (told_first, archive) = (told(&store, &session()), packed(&store));
        let memory = MemoryStore::default();
        prop_assert_eq!(unpacked(&memory, &archive, &ALL).unwrap().added, outputs.len() as u64);
        prop_assert_eq!(&told(&memory, &session()), &told_first);
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskStore::new(folder.path());
        unpacked(&disk, &archive, &ALL).unwrap();
        prop_assert_eq!(&told(&disk, &session()), &told_first);
        let back = MemoryStore::default();
        unpacked(&back, &packed(&disk), &ALL).unwrap();
        prop_assert_eq!(&told(&back, &session()), &told_first);
    }
}
