//! A time in the past, as people write it.

use crate::units;
use forebay::Timestamp;

/// A time: `2026-11-16T10:00:00Z`, a day in UTC, or how long ago it was (`90s`, `10m`, `2h`, `3d`).
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    before(text, Timestamp::now())
}

fn before(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let wrong =
        || format!("{text:?} is not a time: write 2026-11-16T10:00:00Z, 2026-11-16, 90s, 10m, 2h or 3d");
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    if let Ok(at) = format!("{text}T00:00:00Z").parse() {
        return Ok(at);
    }
    let ago = units::duration(text).map_err(|_| wrong())?;
    now.checked_sub(ago).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_a_day_or_how_long_ago_it_was() {
        let now: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
        let table = [
            ("2026-11-15T09:30:00Z", "2026-11-15T09:30:00Z"),
            ("2026-11-15 09:30:00Z", "2026-11-15T09:30:00Z"),
            ("2026-11-15T09:30:00+02:00", "2026-11-15T07:30:00Z"),
            ("2026-11-15", "2026-11-15T00:00:00Z"),
            ("90", "2026-11-16T09:58:30Z"),
            ("90s", "2026-11-16T09:58:30Z"),
            ("10m", "2026-11-16T09:50:00Z"),
            ("2h", "2026-11-16T08:00:00Z"),
            ("3d", "2026-11-13T10:00:00Z"),
        ];
        for (text, at) in table {
            assert_eq!(before(text, now).map(|at| at.to_string()).as_deref(), Ok(at), "{text}");
        }
        for text in ["", "yesterday", "-1h", "2026-13-01", "9999999d"] {
            assert!(before(text, now).is_err(), "{text}");
        }
    }
}
