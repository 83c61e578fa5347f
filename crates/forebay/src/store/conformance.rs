//! The promises of [`Store`], as tests that any backend can run.
//!
//! A backend's own test calls [`check`] with a function that makes a new, empty store. One that several machines or
//! processes use at once calls [`check_shared`] too. Every failed promise is a panic that names it.

use crate::event;
use crate::store::writer::{End, Stream, Writer};
use crate::store::{Part, Reservation, Reserved, Store, for_each_stretch};
use crate::{Call, Error, Exit, Handle, InUse, Output, Session, State, What};
use jiff::Timestamp;

/// Makes a new, empty store.
pub type Fresh<'a> = &'a dyn Fn() -> Box<dyn Store>;

/// Checks every promise, each on a store of its own.
///
/// # Panics
/// When a promise is not kept.
pub fn check(fresh: Fresh<'_>) {
    bytes_come_back_as_they_were(&*fresh());
    an_output_is_readable_while_it_grows(&*fresh());
    a_vanished_writer_leaves_the_bytes_that_it_appended(&*fresh());
    no_two_outputs_share_a_name(&*fresh());
    outputs_are_listed_in_their_order_and_by_session(&*fresh());
    a_deleted_output_stays_deleted(&*fresh());
    a_unique_prefix_finds_its_output(&*fresh());
    parts_can_be_attached(&*fresh());
    events_are_kept_in_their_order_by_session(&*fresh());
    the_thousandth_output_still_reads(&*fresh());
    each_stretch_has_its_stream(&*fresh());
    the_events_of_an_output_are_logged(&*fresh());
    equal_outputs_are_both_there(&*fresh());
    tokens_are_reserved_by_one_at_a_time(&*fresh());
    outputs_are_weighed_without_reading_them(&*fresh());
    a_link_changes_nothing_else(&*fresh());
    calls_are_found_by_the_ids_of_their_outputs(&*fresh());
}

/// Opens two stores on one new, empty place, as two machines or processes do.
pub type Pair<'a> = &'a dyn Fn() -> [Box<dyn Store>; 2];

/// Checks every promise between two stores on one place, each on a place of its own.
///
/// # Panics
/// When a promise is not kept.
pub fn check_shared(pair: Pair<'_>) {
    let checks: [fn(&dyn Store, &dyn Store); 6] = [
        an_output_is_seen_by_the_other_store_at_every_moment,
        a_name_is_given_once_between_two_stores,
        a_writer_that_vanishes_is_noticed_by_the_other_store,
        events_of_two_stores_have_one_order,
        tokens_are_reserved_by_one_of_two_stores_at_a_time,
        an_output_that_one_store_removes_is_gone_for_the_other,
    ];
    for check in checks {
        let [here, there] = pair();
        check(&*here, &*there);
    }
}

fn an_output_is_seen_by_the_other_store_at_every_moment(here: &dyn Store, there: &dyn Store) {
    let mut writer = Writer::begin(here, &call("s", "growing", 0));
    let handle = writer.handle().cloned().unwrap_or_else(|| panic!("nothing is kept"));
    assert_eq!(read(there, &handle), b"", "it is there before its first byte");
    let mut before = None;
    for round in 1..=3u64 {
        writer.write(Stream::Stdout, b"more\n");
        assert_eq!(read(there, &handle), b"more\n".repeat(round as usize));
        let record = there.record(&handle).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((record.state, record.size.bytes), (State::Growing, round * 5));
        before = there.open(&handle).ok();
    }
    let large = b"many lines\n".repeat(200_000);
    writer.write(Stream::Stdout, &large);
    let record = writer.finish(End::default()).record().clone();
    assert_eq!(there.record(&handle).ok().as_ref(), Some(&record));
    assert!(read(there, &handle) == [&b"more\n".repeat(3), &large[..]].concat());
    let before = before.and_then(|output| output.read(0..15).ok());
    assert_eq!(before, Some(b"more\n".repeat(3)), "a reader from before goes on reading");
}

fn a_name_is_given_once_between_two_stores(here: &dyn Store, there: &dyn Store) {
    for round in 0..20 {
        let call = call("s", &format!("same{round}"), 0);
        let handle = Handle::new(call.session.clone(), &call.id).unwrap_or_else(|error| panic!("{error}"));
        let winners = std::thread::scope(|scope| {
            let both = [here, there].map(|store| scope.spawn(|| store.create(&handle, &call)));
            let created =
                both.map(|creator| creator.join().unwrap_or_else(|_| panic!("a creation panicked")));
            created.into_iter().flatten().flatten().count()
        });
        assert_eq!(winners, 1, "{handle}");
    }
}

fn a_writer_that_vanishes_is_noticed_by_the_other_store(here: &dyn Store, there: &dyn Store) {
    let mut writer = Writer::begin(here, &call("s", "vanished", 0));
    let handle = writer.handle().cloned().unwrap_or_else(|| panic!("nothing is kept"));
    let bytes = b"some lines\n".repeat(20_000);
    writer.write(Stream::Stdout, &bytes);
    drop(writer);
    let record = there.record(&handle).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(record.state, State::CutShort(_)), "{:?}", record.state);
    assert_eq!(record.hash, blake3::hash(&bytes).to_hex().as_str());
    assert_eq!(here.record(&handle).ok(), Some(record), "both say the same");
    assert!(read(here, &handle) == bytes && read(there, &handle) == bytes);
}

fn events_of_two_stores_have_one_order(here: &dyn Store, there: &dyn Store) {
    let name = session("s");
    std::thread::scope(|scope| {
        for (writer, store) in [here, there].into_iter().enumerate() {
            let name = &name;
            scope.spawn(move || {
                for number in 0..50 {
                    assert!(store.log(name, format!("{writer} {number}").as_bytes()).is_ok());
                }
            });
        }
    });
    let [one, other] =
        [here, there].map(|store| event::last_lines(store, &name, u64::MAX).unwrap_or_default());
    assert_eq!(one, other, "both read the same");
    let text = String::from_utf8_lossy(&one).into_owned();
    for writer in 0..2 {
        let of_writer = |line: &str| line.strip_prefix(&format!("{writer} "))?.parse::<u32>().ok();
        assert!(text.lines().filter_map(of_writer).eq(0..50), "each writer's events keep their order");
    }
}

fn tokens_are_reserved_by_one_of_two_stores_at_a_time(here: &dyn Store, there: &dyn Store) {
    reserve_all([here, there], &session("s"));
}

fn reserve_all<'a>(stores: impl IntoIterator<Item = &'a dyn Store>, name: &Session) {
    const MOST: u64 = 1_000;
    let reserve = |store: &dyn Store, tokens, force| {
        let wanted = Reservation { tokens, most: MOST, force };
        store.reserve(name, wanted).unwrap_or_else(|error| panic!("{error}"))
    };
    let stores: Vec<&dyn Store> = stores.into_iter().collect();
    let look = || stores[0].in_use(name).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(look(), InUse::default());
    assert!(!reserve(stores[0], MOST + 1, false).is_made, "not even the first takes more than there is");
    let made: u64 = std::thread::scope(|scope| {
        let takers = stores.iter().map(|store| {
            scope.spawn(|| (0..40).filter(|_| reserve(*store, 30, false).is_made).count() as u64)
        });
        let takers: Vec<_> = takers.collect();
        takers.into_iter().map(|taker| taker.join().unwrap_or_default()).sum()
    });
    assert_eq!((made, look()), (MOST / 30, InUse { reported: 0, given: 990 }));
    let last = reserve(stores[stores.len() - 1], 30, true);
    assert_eq!((last.is_made, last.in_use.given, look().given), (true, 1_020, 1_020));
    let in_use = InUse { reported: 500, given: 0 };
    assert!(stores[stores.len() - 1].set_in_use(name, in_use).is_ok());
    assert_eq!(reserve(stores[0], 501, false), Reserved { is_made: false, in_use });
    assert_eq!(reserve(stores[0], 500, false).in_use.total(), MOST);
    assert!(stores[0].in_use(&session("other")).is_ok_and(|other| other == InUse::default()));
}

fn an_output_that_one_store_removes_is_gone_for_the_other(here: &dyn Store, there: &dyn Store) {
    let bytes = b"the same\n".repeat(10_000);
    let [one, two] = ["one", "two"].map(|id| put(here, &call("s", id, 0), &bytes).record().handle.clone());
    assert!(there.delete(&one).is_ok());
    assert!(matches!(here.record(&one), Err(Error::NotFound { .. })));
    assert!(matches!(here.delete(&one), Err(Error::NotFound { .. })));
    assert!(read(here, &two) == bytes, "what is left does not go with the other");
    let again = put(here, &call("s", "one", 1), b"again").record().handle.clone();
    assert_eq!((again == one, read(there, &again)), (true, b"again".to_vec()), "the name is free");
}

fn session(name: &str) -> Session {
    Session::safe(name)
}

fn call(session_name: &str, id: &str, second: i64) -> Call {
    let at = Timestamp::from_second(second).unwrap_or_default();
    Call::new(session(session_name), id, "tool", at)
}

fn put(store: &dyn Store, call: &Call, bytes: &[u8]) -> Output {
    let mut writer = Writer::begin(store, call);
    writer.write(Stream::Stdout, bytes);
    writer.finish(End::default())
}

#[track_caller]
fn read(store: &dyn Store, handle: &Handle) -> Vec<u8> {
    match store.open(handle).and_then(|output| output.read(0..output.len())) {
        Ok(bytes) => bytes,
        Err(error) => panic!("{handle} does not read: {error}"),
    }
}

fn bytes_come_back_as_they_were(store: &dyn Store) {
    let long_line = vec![b'x'; 3 << 20];
    let many_lines = b"line\r\n".repeat(600_000);
    let every_byte: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let outputs: [&[u8]; 9] = [
        b"",
        b"\n",
        b"no newline",
        b"a\r\nb\rc\0d",
        b"\xff\xfe\x80",
        &long_line,
        &many_lines,
        &every_byte,
        "漢字🎉".as_bytes(),
    ];
    for (number, bytes) in outputs.into_iter().enumerate() {
        let output = put(store, &call("s", &format!("bytes-{number}"), 0), bytes);
        let record = output.record();
        assert_eq!(record.state, State::Complete);
        assert_eq!(record.size.bytes, bytes.len() as u64);
        assert_eq!(record.hash, blake3::hash(bytes).to_hex().as_str());
        assert!(read(store, &record.handle) == bytes, "output {number} came back changed");
        assert_eq!(
            store.record(&record.handle).ok().as_ref(),
            Some(record),
            "the record is kept as it was given"
        );
        let reopened = store.open(&record.handle).unwrap_or_else(|error| panic!("{error}"));
        for line in [0, 1, 299_999, 599_999, 600_000] {
            let plain = match line {
                0 => 0,
                _ => memchr::memchr_iter(b'\n', bytes).nth(line - 1).map_or(bytes.len(), |at| at + 1),
            };
            assert_eq!(
                reopened.line_start(line as u64).ok(),
                Some(plain as u64),
                "output {number}, line {line}"
            );
        }
    }
}

fn an_output_is_readable_while_it_grows(store: &dyn Store) {
    let mut writer = Writer::begin(store, &call("s", "growing", 0));
    let handle = writer.handle().cloned().unwrap_or_else(|| panic!("nothing is kept"));
    assert_eq!(read(store, &handle), b"", "it is there before its first byte");
    for round in 1..=3u64 {
        writer.write(Stream::Stdout, b"more\n");
        assert_eq!(read(store, &handle), b"more\n".repeat(round as usize));
        let record = store.record(&handle).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((record.state, record.size.bytes), (State::Growing, round * 5));
    }
    writer.write(Stream::Stdout, &b"many lines\n".repeat(100_000));
    let output = store.open(&handle).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        output.line_start(50_000).ok(),
        Some(15 + (50_000 - 3) * 11),
        "lines are found while it grows"
    );
    assert_eq!(output.lines().ok(), Some(100_003));
    let end = End { exit: Some(Exit::Code(3)), cut_short: None, at: None };
    assert_eq!(writer.finish(end).record().exit, Some(Exit::Code(3)));
    assert_eq!(store.record(&handle).map(|record| record.state).ok(), Some(State::Complete));
    assert_eq!(
        output.read(0..5).ok().as_deref(),
        Some(&b"more\n"[..]),
        "a reader from before goes on reading"
    );
}

fn a_vanished_writer_leaves_the_bytes_that_it_appended(store: &dyn Store) {
    let mut writer = Writer::begin(store, &call("s", "vanished", 0));
    let handle = writer.handle().cloned().unwrap_or_else(|| panic!("nothing is kept"));
    let bytes = b"some lines\n".repeat(20_000);
    writer.write(Stream::Stdout, &bytes);
    drop(writer);
    let listed = store.list(handle.session()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(listed.len(), 1);
    assert!(matches!(listed[0].state, State::CutShort(_)), "{:?}", listed[0].state);
    assert_eq!((listed[0].size.bytes, listed[0].size.lines), (220_000, 20_000));
    assert_eq!(listed[0].hash, blake3::hash(&bytes).to_hex().as_str());
    assert!(read(store, &handle) == bytes);
    let output = store.open(&handle).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(output.line_start(15_000).ok(), Some(165_000));
}

fn no_two_outputs_share_a_name(store: &dyn Store) {
    let mut handles: Vec<Handle> =
        (0..3).map(|_| put(store, &call("s", "same", 0), b"x").record().handle.clone()).collect();
    let terminal = Call { terminal: true, ..call("s", "same", 0) };
    handles.push(put(store, &terminal, b"x").record().handle.clone());
    handles.push(put(store, &call("s", "a/../b", 0), b"x").record().handle.clone());
    let id = "x".repeat(5_000);
    handles.extend((0..2).map(|_| put(store, &call("s", &id, 0), b"x").record().handle.clone()));
    let count = handles.len();
    handles.iter().for_each(|handle| assert_eq!(read(store, handle), b"x"));
    handles.sort();
    handles.dedup();
    assert_eq!(handles.len(), count, "every output has a name of its own");
}

fn outputs_are_listed_in_their_order_and_by_session(store: &dyn Store) {
    for (name, id, second) in [("one", "c", 3), ("one", "a", 1), ("two", "x", 0), ("one", "b", 2)] {
        put(store, &call(name, id, second), b"x");
    }
    let listed = store.list(&session("one")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(listed.iter().map(|record| record.handle.id()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(store.list(&session("none")).map(|records| records.len()).ok(), Some(0));
    assert_eq!(store.sessions().ok(), Some(vec![session("one"), session("two")]));
}

fn a_deleted_output_stays_deleted(store: &dyn Store) {
    let handle = put(store, &call("s", "deleted", 0), b"x").record().handle.clone();
    assert!(store.delete(&handle).is_ok());
    assert!(matches!(store.record(&handle), Err(Error::NotFound { .. })));
    assert!(matches!(store.open(&handle), Err(Error::NotFound { .. })));
    assert!(matches!(store.delete(&handle), Err(Error::NotFound { .. })));
    assert_eq!(store.list(handle.session()).map(|records| records.len()).ok(), Some(0));
}

fn a_unique_prefix_finds_its_output(store: &dyn Store) {
    for id in ["abcdef-one", "abcdef-two", "abcdef"] {
        put(store, &call("s", id, 0), b"x");
    }
    let find = |text: &str| store.find(text, &session("s")).map(|handle| handle.to_string());
    assert_eq!(find("abcdef").ok().as_deref(), Some("s/abcdef"), "a whole id is never ambiguous");
    assert_eq!(find("abcdef-o").ok().as_deref(), Some("s/abcdef-one"));
    assert_eq!(find("s/abcdef-o").ok().as_deref(), Some("s/abcdef-one"));
    assert!(matches!(find("abcdef-"), Err(Error::Ambiguous { .. })));
    assert!(matches!(find("abcd"), Err(Error::NotFound { .. })), "four characters are not enough");
    assert!(matches!(find("other/abcdef-one"), Err(Error::NotFound { .. })), "of another session");
    for hostile in ["../s/abcdef", "s/../s/abcdef", "s/abcdef\0", "/etc/passwd", "s/abc*", &"x".repeat(4096)]
    {
        assert!(matches!(find(hostile), Err(Error::BadName { .. })), "{hostile}");
    }
}

fn calls_are_found_by_the_ids_of_their_outputs(store: &dyn Store) {
    for (id, second) in [("one", 0), ("two", 1), ("three", 2), ("four", 3)] {
        put(store, &call("s", id, second), b"bytes");
    }
    put(store, &call("other", "five", 5), b"bytes");
    let gone = put(store, &call("s", "gone", 6), b"bytes").record().handle.clone();
    assert!(store.delete(&gone).is_ok());
    let ids = ["four", "missing", "gone", "one", "five", "three"].map(str::to_owned);
    for (most, expected) in [(9, &["four", "one", "three"][..]), (2, &["four", "one"]), (0, &[])] {
        let calls = store.calls(&session("s"), &ids, most).unwrap_or_default();
        let found: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(found, expected, "the first {most} calls that are there");
    }
}

fn parts_can_be_attached(store: &dyn Store) {
    let handle = put(store, &call("s", "parts", 0), b"x").record().handle.clone();
    let size = |part| store.open_part(&handle, part).ok().and_then(|part| part.size().ok());
    assert_eq!(size(Part::View), Some(0), "a part that was never written is empty");
    for text in [&b"first"[..], b"second, longer"] {
        assert!(store.attach(&handle, Part::View, text).is_ok());
        assert_eq!(size(Part::View), Some(text.len() as u64));
    }
}

fn events_are_kept_in_their_order_by_session(store: &dyn Store) {
    let name = session("logged");
    let end = |bytes| {
        event::last_lines(store, &name, bytes).map(|end| String::from_utf8_lossy(&end).into_owned()).ok()
    };
    assert_eq!(end(100).as_deref(), Some(""), "nothing has happened yet");
    for line in ["one", "two", "three"] {
        assert!(store.log(&name, line.as_bytes()).is_ok());
    }
    assert_eq!(end(100).as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(end(9).as_deref(), Some("three\n"), "a line that is cut is not shown");
    assert_eq!(event::last_lines(store, &session("unlogged"), 100).ok(), Some(Vec::new()));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let name = &name;
            scope.spawn(move || {
                (0..50).for_each(|_| {
                    assert!(store.log(name, format!("{writer}").repeat(500).as_bytes()).is_ok())
                })
            });
        }
    });
    let all = end(u64::MAX).unwrap_or_default();
    let whole = |line: &str| line.len() == 500 && line.bytes().all(|byte| byte == line.as_bytes()[0]);
    assert_eq!(all.lines().filter(|line| whole(line)).count(), 200, "lines do not run together");
}

fn the_thousandth_output_still_reads(store: &dyn Store) {
    let handles: Vec<Handle> = (0..1_000)
        .map(|number| {
            put(store, &call("s", &format!("n{number}"), number), number.to_string().as_bytes())
                .record()
                .handle
                .clone()
        })
        .collect();
    for (number, handle) in handles.iter().enumerate() {
        assert_eq!(read(store, handle), number.to_string().as_bytes());
    }
}

fn each_stretch_has_its_stream(store: &dyn Store) {
    let mut writer = Writer::begin(store, &call("s", "streams", 0));
    for (stream, bytes) in [
        (Stream::Stdout, "out1"),
        (Stream::Stderr, "err1"),
        (Stream::Stderr, "err2"),
        (Stream::Stdout, "out2"),
    ] {
        writer.write(stream, bytes.as_bytes());
    }
    let handle = writer.finish(End::default()).record().handle.clone();
    assert_eq!(read(store, &handle), b"out1err1err2out2");
    let output = store.open(&handle).unwrap_or_else(|error| panic!("{error}"));
    let mut stretches = Vec::new();
    let told = for_each_stretch(store, &output, |stream, bytes| stretches.push((stream, bytes.to_vec())));
    assert!(told.is_ok());
    let expected = [(Stream::Stdout, "out1"), (Stream::Stderr, "err1err2"), (Stream::Stdout, "out2")];
    assert_eq!(stretches, expected.map(|(stream, text)| (stream, text.as_bytes().to_vec())));
    assert_eq!(output.record().streams.map(|streams| (streams.stdout, streams.stderr)), Some((8, 8)));
}

fn the_events_of_an_output_are_logged(store: &dyn Store) {
    let end = End { at: Timestamp::from_second(7).ok(), ..End::default() };
    let mut writer = Writer::begin(store, &Call { args: Some("{}".to_owned()), ..call("s", "logged", 5) });
    writer.write(Stream::Stdout, b"some\nlines");
    writer.finish(end.clone());
    let mut writer = Writer::begin(store, &call("s", "short", 6));
    writer.write(Stream::Stdout, b"half");
    writer.finish(End { cut_short: Some("it was stopped".to_owned()), ..end });
    let mut told = Vec::new();
    let read = event::for_each(store, &session("s"), |event| {
        let what = match event.what {
            What::CallStarted(started) => {
                format!("{} started, {} in", started.id, started.argument_characters)
            }
            What::OutputStored(stored) => format!("{} stored, {} lines", stored.id, stored.size.lines),
            What::OutputCutShort(stored) => {
                format!("{} cut short: {}", stored.id, stored.why.unwrap_or_default())
            }
            other => format!("{other:?}"),
        };
        told.push((event.at.as_second(), what));
    });
    assert!(read.is_ok());
    let expected = [
        (5, "logged started, 2 in"),
        (7, "logged stored, 2 lines"),
        (6, "short started, 0 in"),
        (7, "short cut short: it was stopped"),
    ];
    assert_eq!(told, expected.map(|(second, what)| (second, what.to_owned())));
}

fn equal_outputs_are_both_there(store: &dyn Store) {
    let (bytes, other) = (b"the same\n".repeat(1_000), b"another\n".repeat(1_000));
    let outputs: Vec<Output> = [("one", &bytes), ("two", &other), ("three", &bytes), ("four", &bytes)]
        .map(|(id, bytes)| put(store, &call("s", id, 0), bytes))
        .into();
    let same = |output: &Output| output.record().same_as.as_ref().map(|handle| handle.id().to_owned());
    assert_eq!(
        outputs.iter().map(same).collect::<Vec<_>>(),
        [None, None, Some("one".to_owned()), Some("one".to_owned())]
    );
    assert_eq!(
        same(&put(store, &call("elsewhere", "five", 0), &bytes)),
        None,
        "another session's are not known"
    );
    for (output, bytes) in outputs.iter().zip([&bytes, &other, &bytes, &bytes]) {
        assert!(read(store, &output.record().handle) == *bytes);
    }
    assert!(store.delete(&outputs[0].record().handle).is_ok());
    assert!(read(store, &outputs[2].record().handle) == bytes, "what is left does not go with the other");
    assert_eq!(
        same(&put(store, &call("s", "six", 0), &bytes)).as_deref(),
        Some("four"),
        "the nearest still there"
    );
}

fn tokens_are_reserved_by_one_at_a_time(store: &dyn Store) {
    reserve_all([store; 4], &session("s"));
}

fn a_link_changes_nothing_else(store: &dyn Store) {
    let bytes = b"some bytes\n".repeat(10_000);
    // An id may be the name of something that a store keeps in a session.
    let ids = ["plain", "tool", "terminal", "Tool", "events", "state", "open", "run"];
    let handles = ids.map(|id| {
        put(store, &call("s", id, 0), &[&bytes[..], id.as_bytes()].concat()).record().handle.clone()
    });
    let weights = || store.weights(&session("s")).unwrap_or_else(|error| panic!("{error}"));
    let before = weights();
    for handle in handles.iter().chain(&handles) {
        let linked = store.link(handle);
        assert!(linked.is_ok(), "{handle}: {linked:?}");
        assert_eq!(read(store, handle), [&bytes[..], handle.id().as_bytes()].concat());
    }
    assert_eq!(weights(), before, "bytes are counted once");
    assert_eq!(store.ids(&session("s"), "").map(|ids| ids.len()).ok(), Some(ids.len()));
    assert_eq!(store.sessions().ok(), Some(vec![session("s")]));
    // Others still begin, also under a name that a link has.
    let again = put(store, &call("s", "plain", 1), b"again");
    assert_eq!(read(store, &again.record().handle), b"again");
    for handle in &handles {
        assert!(store.delete(handle).is_ok(), "{handle}");
        assert!(matches!(store.link(handle), Err(Error::NotFound { .. }) | Ok(())), "{handle} is gone");
    }
}

fn outputs_are_weighed_without_reading_them(store: &dyn Store) {
    let weights = |name: &str| store.weights(&session(name)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(weights("none"), [], "a session that is not there has none");
    let large = b"some bytes\n".repeat(100_000);
    put(store, &call("s", "large", 0), &large);
    put(store, &call("s", "empty", 0), b"");
    put(store, &call("other", "elsewhere", 0), b"x");
    let mut writer = Writer::begin(store, &call("s", "growing", 0));
    writer.write(Stream::Stdout, &large[..500_000]);
    let found = weights("s");
    let all = store.weights_of_all().unwrap_or_else(|error| panic!("{error}"));
    let sessions = store.sessions().unwrap_or_else(|error| panic!("{error}"));
    let of_each: Vec<_> = sessions.iter().flat_map(|session| weights(session.as_str())).collect();
    assert_eq!(all, of_each, "all at once are those of each session");
    let named: Vec<&str> = found.iter().map(|weight| weight.handle.id()).collect();
    assert_eq!(named, ["empty", "growing", "large"]);
    let (length, room) = (large.len() as u64, 10_000);
    for (weight, least) in found.iter().zip([0, 500_000, length]) {
        assert!((least..least + room).contains(&weight.bytes), "{weight:?}: all parts, and little besides");
    }
    assert_eq!(found.iter().map(|weight| weight.in_use).collect::<Vec<_>>(), [false, true, false]);
    drop(writer);
    assert!(!weights("s")[1].in_use, "a writer that has vanished uses nothing");
    put(store, &call("s", "again", 1), &large);
    let both: u64 =
        weights("s").iter().filter(|weight| weight.bytes > 520_000).map(|weight| weight.bytes).sum();
    assert!((length..length + 2 * room).contains(&both), "{both}: bytes that are kept once count once");
    let handle = found[2].handle.clone();
    assert!(store.delete(&handle).is_ok());
    assert!(weights("s").iter().all(|weight| weight.handle != handle));
}
