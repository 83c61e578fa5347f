//! Chooses the process that sweeps a root next, and checks whether the clock can be trusted.
//!
//! The time of the file `.swept` is that of the last sweep. If more than a day has passed since then, the clock may have
//! jumped. That sweep and all within the next hour remove nothing by age.

use crate::store::disk::DiskStore;
use crate::store::disk::files::{self, is_at, lock_file, make_folder};
use crate::{Error, Result, Timestamp};
use std::{
    fs::{File, Metadata},
    io::{self, Read, Seek, Write},
    time::{Duration, SystemTime},
};

/// Name of the file whose time is that of the last sweep of this root.
pub(crate) const SWEPT: &str = ".swept";

/// Longest time between two sweeps after which the clock is still trusted.
const GAP: Duration = Duration::from_secs(24 * 60 * 60);

/// Time after a gap during which nothing is removed by age: enough to correct a clock.
const DOUBT: Duration = Duration::from_secs(60 * 60);

/// Contents of the file.
#[derive(Default)]
struct Swept {
    /// Number of sweeps.
    count: u64,
    /// Time of the first sweep after a gap, if there was a gap.
    gap: Option<Timestamp>,
}

/// Prefix of the line that records a gap in the clock.
const AFTER_GAP: &str = "first after a gap at ";

impl Swept {
    fn read(file: &mut File) -> io::Result<Swept> {
        let mut text = String::new();
        file.rewind()?;
        file.take(4096).read_to_string(&mut text)?;
        let count = text.split_whitespace().nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
        let gap = text.lines().find_map(|line| line.strip_prefix(AFTER_GAP)?.parse().ok());
        Ok(Swept { count, gap })
    }

    fn write(&self, file: &mut File, now: Timestamp) -> io::Result<()> {
        let mut text = format!("sweep {} at {now}\n", self.count);
        if let Some(gap) = self.gap {
            text.push_str(&format!("{AFTER_GAP}{gap}\n"));
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        file.set_modified(SystemTime::from(now))
    }

    /// Notes a sweep: where the last one is too far away, in whatever direction, the time since then is a gap.
    fn at(mut self, now: Timestamp, last: Timestamp) -> Swept {
        if now.duration_since(last).unsigned_abs() > GAP {
            self.gap = Some(now);
        }
        self
    }

    /// Whether outputs may go for their age.
    fn counts_ages(&self, now: Timestamp) -> bool {
        self.gap.is_none_or(|gap| now.duration_since(gap).unsigned_abs() >= DOUBT)
    }
}

fn modified(data: &Metadata, now: Timestamp) -> Timestamp {
    data.modified().ok().and_then(|at| Timestamp::try_from(at).ok()).unwrap_or(now)
}

impl DiskStore {
    /// Takes the turn to sweep this root: of all that ask within `every`, one gets it. The first to ask of a root that
    /// was never swept does not: there is nothing old in it yet, and the next has its turn when the time is over.
    pub fn take_turn(&self, now: Timestamp, every: Duration) -> Result<bool> {
        let path = self.root().join(SWEPT);
        let cannot = || Error::store(format!("write {}", path.display()));
        // A stamp from far in the future was set by a clock that was wrong.
        let is_due = |data: &Metadata| now.duration_since(modified(data, now)).unsigned_abs() >= every;
        // Nearly always this is all that is done.
        match files::stat(&path) {
            Some(data) if !is_due(&data) => return Ok(false),
            Some(_) => {}
            None => {
                make_folder(self.root()).and_then(|()| lock_file(&path)).map_err(cannot())?;
                return Ok(false);
            }
        }
        let mut file = lock_file(&path).map_err(cannot())?;
        if file.try_lock().is_err() || !is_at(&file, &path) {
            return Ok(false);
        }
        // Read under the lock: another process may have had its turn just before.
        let data = file.metadata().map_err(cannot())?;
        if !is_due(&data) {
            return Ok(false);
        }
        let mut swept = Swept::read(&mut file).unwrap_or_default().at(now, modified(&data, now));
        swept.count += 1;
        swept.write(&mut file, now).map_err(cannot())?;
        Ok(true)
    }

    /// Whether a sweep now may remove things for their age: not if the clock may have jumped since the last one. Unless
    /// this is only a `look`, the sweep is noted.
    pub fn counts_ages(&self, now: Timestamp, look: bool) -> Result<bool> {
        let path = self.root().join(SWEPT);
        let cannot = || Error::store(format!("see when {} was swept last", self.root().display()));
        if look || !self.is_ours(true) {
            let Some(mut file) = files::read_if_any(&path).map_err(cannot())? else { return Ok(false) };
            let last = modified(&file.metadata().map_err(cannot())?, now);
            return Ok(Swept::read(&mut file).map_err(cannot())?.at(now, last).counts_ages(now));
        }
        let is_new = files::stat(&path).is_none();
        let mut file = lock_file(&path).map_err(cannot())?;
        if self.patience.lock(&file).is_err() {
            return Ok(false);
        }
        let last = if is_new { Timestamp::MIN } else { modified(&file.metadata().map_err(cannot())?, now) };
        let swept = Swept::read(&mut file).unwrap_or_default().at(now, last);
        swept.write(&mut file, now).map_err(cannot())?;
        Ok(swept.counts_ages(now))
    }
}
