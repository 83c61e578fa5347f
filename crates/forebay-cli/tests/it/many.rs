//! Many processes at once in one session, and processes that are killed: nothing is lost, torn or named twice.
//!
//! For a few seconds in the suite; `FOREBAY_TEST_SECONDS=60 cargo test many::` goes on for a minute.

use crate::forebay::{Forebay, Ran};
use ::forebay::{DiskStore, Event, Outputs, Session, Timestamp, What};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    io::Write,
    process::{Child, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

const PROCESSES: u64 = 64;

/// For how long processes are started.
fn until() -> Instant {
    let seconds = std::env::var("FOREBAY_TEST_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Instant::now() + Duration::from_secs(seconds.unwrap_or(2))
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }
}

/// Bytes that no other number has, of any length up to that of a view many times over.
fn bytes_of(number: u64, longest: u64) -> Vec<u8> {
    let mut random = Random(number * 2 + 1);
    let length = random.below(longest) as usize;
    let mut bytes = format!("output {number}\n").into_bytes();
    while bytes.len() < length {
        bytes.extend_from_slice(format!("{:x} of {number} is fine\n", random.below(1 << 40)).as_bytes());
    }
    bytes
}

/// The events of the session. Every line must be one.
fn events(forebay: &Forebay) -> Vec<Event> {
    let log = fs::read(forebay.root().join("s/events.jsonl")).unwrap();
    assert_eq!(log.last(), Some(&b'\n'), "the last line is whole");
    log[..log.len() - 1]
        .split(|&byte| byte == b'\n')
        .map(|line| {
            Event::parse(line).unwrap_or_else(|| panic!("no event: {}", String::from_utf8_lossy(line)))
        })
        .collect()
}

/// Runs a function in as many threads as there are processes at once, each with its number and its round.
fn at_once(work: impl Fn(u64, u64) + Sync) {
    let until = until();
    thread::scope(|scope| {
        for worker in 0..PROCESSES {
            let work = &work;
            scope.spawn(move || {
                for round in 0.. {
                    work(worker, round);
                    if Instant::now() > until {
                        break;
                    }
                }
            });
        }
    });
}

#[test]
fn many_processes_in_one_session_lose_nothing_and_name_nothing_twice() {
    let forebay = Forebay::new();
    let put: Mutex<BTreeMap<String, u64>> = Mutex::default();
    at_once(|worker, round| {
        let number = worker * 1_000_000 + round;
        let bytes = bytes_of(number, 60_000);
        // Every other call has an id that others have too.
        let id =
            if number.is_multiple_of(2) { format!("call-{number}") } else { format!("shared{}", round % 3) };
        let answer = forebay.put(&id, &bytes, &[]);
        let handle = answer["handle"].as_str().unwrap().to_owned();
        assert_eq!(put.lock().unwrap().insert(handle.clone(), number), None, "{handle} is given twice");
        assert!(forebay.run(["cat", &handle]).ok().out == bytes, "{handle} is not what was put");
        // What others put is read too.
        let (other, number) = {
            let put = put.lock().unwrap();
            let (handle, number) = put.iter().nth(number as usize % put.len()).unwrap();
            (handle.clone(), *number)
        };
        let read = forebay.run(["read", &other, "--lines", "1:1"]).ok().text();
        assert!(read.contains(&format!("output {number}\n")), "{other}: {read}");
    });
    let put = put.into_inner().unwrap();
    let listed: BTreeSet<String> =
        forebay.ls().iter().map(|record| record["handle"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, put.keys().cloned().collect(), "all are listed, and no others");
    let mut of_each: HashMap<String, Vec<&'static str>> = HashMap::new();
    for event in events(&forebay) {
        let kinds = of_each.entry(event.what.id().unwrap().to_owned()).or_default();
        if !matches!(event.what, What::QueryAnswered(_)) {
            kinds.push(event.what.kind());
        }
    }
    assert_eq!(of_each.len(), put.len());
    for (id, kinds) in of_each {
        assert!(
            matches!(kinds[..], ["call-started", "output-stored", "output-passed" | "view-given"]),
            "{id}: {kinds:?}"
        );
    }
    sound(
        &forebay,
        &put.iter().map(|(handle, number)| (handle.clone(), bytes_of(*number, 60_000))).collect(),
    );
}

/// The store is what it says it is, and these outputs are in it, byte for byte.
fn sound(forebay: &Forebay, whole: &BTreeMap<String, Vec<u8>>) {
    let proved = forebay.run(["verify", "--all", "--json"]);
    let faulty: Vec<Value> = proved
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|proof: &Value| proof["ok"] != true)
        .collect();
    assert_eq!((faulty, proved.status), (Vec::new(), 0));
    let records: HashMap<String, Value> = forebay
        .ls()
        .into_iter()
        .map(|record| (record["handle"].as_str().unwrap().to_owned(), record))
        .collect();
    for (handle, bytes) in whole {
        let record = &records[handle];
        assert_eq!(record["complete"], true, "{handle}");
        assert!(fs::read(record["path"].as_str().unwrap()).unwrap() == *bytes, "{handle}");
    }
}

#[test]
fn many_processes_at_once_do_not_overdraw_the_room() {
    let forebay = Forebay::new();
    let store = DiskStore::new(forebay.root());
    const ROOM: u64 = 12_000;
    let reported = 5_000;
    for _ in 0..2 {
        Outputs::new(&store, Session::safe("s"), &Timestamp::now).set_used_tokens(reported).unwrap();
        thread::scope(|scope| {
            for worker in 0..PROCESSES {
                let forebay = &forebay;
                scope.spawn(move || {
                    let window = (ROOM + reported + 8_192 + 2_048).to_string();
                    let mut command = forebay.command(["put", "--preset", "digest"]);
                    command.env("FOREBAY_ROOM_CONTEXT_WINDOW", window);
                    let mut child = forebay.start(command.stdin(Stdio::piped()));
                    // They all come to their end at the same time, as far as that can be.
                    let mut stdin = child.stdin.take().unwrap();
                    stdin.write_all(&bytes_of(worker + 1, 9_000)).unwrap();
                    drop(stdin);
                    let _ = Ran::from(child.wait_with_output().unwrap()).ok();
                });
            }
        });
    }
    let mut periods: Vec<Vec<(u64, bool)>> = Vec::new();
    for event in events(&forebay) {
        match event.what {
            What::RoomReported { used } => {
                assert_eq!(used, reported);
                periods.push(Vec::new());
            }
            What::OutputPassed(replied) => periods.last_mut().unwrap().push((replied.tokens, false)),
            What::ViewGiven(replied) => {
                let view = forebay.root().join(format!("s/tool/{}.view.json", replied.id));
                let view: Value = serde_json::from_slice(&fs::read(view).unwrap()).unwrap();
                let smallest = view["text"].as_str().unwrap().lines().count() == 1;
                periods.last_mut().unwrap().push((replied.tokens, smallest));
            }
            _ => {}
        }
    }
    assert_eq!(periods.len(), 2);
    for replies in periods {
        assert_eq!(replies.len(), PROCESSES as usize);
        let chosen: u64 = replies.iter().filter(|(_, smallest)| !smallest).map(|(tokens, _)| tokens).sum();
        assert!(chosen <= ROOM, "{chosen} tokens in a room of {ROOM}: {replies:?}");
        assert!(chosen > ROOM / 2, "the room is used: {replies:?}");
        assert!(replies.iter().any(|(_, smallest)| *smallest), "there was not enough for all: {replies:?}");
    }
}

/// A process that is killed: the id and the bytes that it stores.
struct Victim {
    id: String,
    bytes: Vec<u8>,
    child: Child,
}

impl Victim {
    fn start(forebay: &Forebay, number: u64) -> Victim {
        let id = format!("victim-{number}");
        // Two at a time have the same bytes, which are then kept once.
        let bytes = bytes_of(number / 2, [2_000, 100_000, 3_000_000][number as usize / 2 % 3]);
        let file = forebay.file(&format!("{id}.txt"), &bytes);
        let path = file.to_str().unwrap();
        let child = match number % 4 {
            // In pieces, so that it is killed between them too.
            0 => {
                let mut child =
                    forebay.start(forebay.command(["put", "--json", "--call-id", &id]).stdin(Stdio::piped()));
                let mut stdin = child.stdin.take().unwrap();
                let bytes = bytes.clone();
                thread::spawn(move || {
                    for piece in bytes.chunks(bytes.len() / 8 + 1) {
                        if stdin.write_all(piece).is_err() {
                            break;
                        }
                        thread::sleep(Duration::from_millis(1));
                    }
                });
                child
            }
            1 => {
                forebay.start(forebay.command(["put", "--json", "--call-id", &id, path]).stdin(Stdio::null()))
            }
            _ => forebay.start(
                forebay.command(["run", "--json", "--call-id", &id, "--", "cat", path]).stdin(Stdio::null()),
            ),
        };
        Victim { id, bytes, child }
    }
}

#[test]
fn processes_that_are_killed_at_any_point_leave_a_sound_store() {
    let forebay = Forebay::new();
    let until = until();
    let (mut random, mut number, mut killed) = (Random(20_261_116), 0, 0);
    let mut whole = BTreeMap::new();
    let mut begun: HashMap<String, Vec<u8>> = HashMap::new();
    while (killed < 60 && number < 3_000) || Instant::now() < until {
        let victims: Vec<(Victim, u64)> = (0..6)
            .map(|_| {
                number += 1;
                // A moment or a while: whatever the speed of this machine, each step is hit by some. A few are let live.
                let longest = 6 + random.below(11);
                let mut after = random.below(1 << longest);
                after += if random.below(8) == 0 { 1 << 40 } else { 0 };
                (Victim::start(&forebay, number), after)
            })
            .collect();
        thread::scope(|scope| {
            let dying: Vec<_> = victims
                .into_iter()
                .map(|(mut victim, after)| {
                    scope.spawn(move || {
                        if after < 1 << 40 {
                            thread::sleep(Duration::from_micros(after));
                            let _ = victim.child.kill();
                        }
                        (Ran::from(victim.child.wait_with_output().unwrap()), victim.id, victim.bytes)
                    })
                })
                .collect();
            for dead in dying {
                let (ran, id, bytes) = dead.join().unwrap();
                if ran.status == 0 {
                    let handle = ran.json()["handle"].as_str().unwrap().to_owned();
                    assert_eq!(whole.insert(handle, bytes.clone()), None);
                } else {
                    assert_eq!(ran.status, -9, "{}", ran.err);
                    killed += 1;
                }
                begun.insert(id, bytes);
            }
        });
        // A reader meanwhile takes over what the dead left.
        if random.below(3) == 0 {
            let _ = forebay.run(["ls"]);
        }
    }
    let cut_short = forebay.ls().iter().filter(|record| record["complete"] == false).count();
    assert!(
        killed >= 60 && cut_short > 0 && !whole.is_empty(),
        "{killed} of {number} killed, {cut_short} cut short"
    );
    sound(&forebay, &whole);
    for record in forebay.ls() {
        let id = record["handle"].as_str().unwrap().trim_start_matches("s/");
        let kept = fs::read(record["path"].as_str().unwrap()).unwrap();
        assert_ne!(record["state"], "growing", "{id}");
        assert!(begun[id].starts_with(&kept), "{id}: what is kept is what came, as far as it came");
        if record["complete"] == true {
            assert!(kept == begun[id], "{id} is not whole");
        }
    }
    let mut ended: BTreeSet<String> = BTreeSet::new();
    for event in events(&forebay) {
        if let What::OutputStored(stored) | What::OutputCutShort(stored) = &event.what {
            assert!(ended.insert(stored.id.clone()), "{} has ended twice", stored.id);
        }
    }
    for handle in whole.keys() {
        assert!(ended.contains(handle.trim_start_matches("s/")), "{handle}");
    }
    // Who comes after the dead finds everything in order.
    let answer = forebay.put("after", b"all is well\n", &[]);
    assert_eq!(answer["text"], "all is well\n");
}
