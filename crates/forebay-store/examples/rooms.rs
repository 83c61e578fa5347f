//! Measures reservations of tokens by many threads at once: `rooms DATABASE CLIENTS SESSIONS SECONDS` prints the number a
//! second, and the 50th and 99th percentile in milliseconds.

use forebay::Session;
use forebay::store::{Reservation, Rooms};
use forebay_store::{DatabaseAddress, Environment, Options, Origin, SharedStore};
use std::time::{Duration, Instant};

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [database, clients, sessions, seconds] = &args[..] else {
        return Err("usage: rooms DATABASE CLIENTS SESSIONS SECONDS".into());
    };
    let (clients, sessions): (usize, usize) = (clients.parse()?, sessions.parse()?);
    let time = Duration::from_secs(seconds.parse()?);
    let address = DatabaseAddress::parse(database, Origin::Process, &Environment::of_process())?;
    // A store for every eight clients, as so many processes would have.
    let stores = (0..clients.div_ceil(8))
        .map(|_| SharedStore::open(Options::new(address.clone())))
        .collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let workers = (0..clients).map(|client| {
            let store = &stores[client / 8];
            let session = Session::safe(&format!("room-{}", client % sessions));
            scope.spawn(move || {
                let mut took = Vec::new();
                while begun.elapsed() < time {
                    let before = Instant::now();
                    let wanted = Reservation { tokens: 1, most: u64::MAX >> 8, force: false };
                    if store.reserve(&session, wanted).is_ok_and(|reserved| reserved.is_made) {
                        took.push(before.elapsed());
                    }
                }
                took
            })
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    took.sort();
    let at =
        |share: usize| took.get(took.len() * share / 100).map_or(0.0, |took| took.as_secs_f64() * 1000.0);
    println!("{:.0} {:.2} {:.2}", took.len() as f64 / begun.elapsed().as_secs_f64(), at(50), at(99));
    Ok(())
}
