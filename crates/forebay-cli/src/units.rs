//! Times, sizes and numbers of tokens, as people write them.

use forebay::Timestamp;
use std::time::Duration;

/// A time; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time: write 90, 90s, 5m, 1h or 7d");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let factor = match unit.as_str() {
        "" | "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(number * factor).map_err(|_| wrong())
}

/// A time: `2026-11-16T10:00:00Z`, a day in UTC, or how long ago it was (`90s`, `10m`, `2h`, `3d`).
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
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
    let ago = duration(text).map_err(|_| wrong())?;
    now.checked_sub(ago).map_err(|_| wrong())
}

/// An age. A bare number could be seconds or days, and one of the two would remove what the other keeps.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number != 0.0 => {
            Err(format!("{text:?} has no unit: write {number}d for days or {number}h for hours"))
        }
        _ => duration(text),
    }
}

/// A number of bytes: `500MB` counts by thousands, `500MiB` and `500M` by 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size: write 1000, 500MB, 2GiB or 20G");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let factor: f64 = match unit.as_str() {
        "" | "b" | "byte" | "bytes" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1_048_576.0,
        "g" | "gib" => 1_073_741_824.0,
        "t" | "tib" => 1_099_511_627_776.0,
        _ => return Err(wrong()),
    };
    let bytes = number * factor;
    match bytes.is_finite() && (0.0..=u64::MAX as f64).contains(&bytes) {
        true => Ok(bytes as u64),
        false => Err(wrong()),
    }
}

/// A number of tokens: `1,000` and `1_000` are 1000, and so is `1k`.
pub(crate) fn tokens(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a number of tokens: write 500, 1,000 or 4k");
    let plain = text.trim().replace([',', '_'], "").to_ascii_lowercase();
    let (number, factor) = plain.strip_suffix('k').map_or((&*plain, 1), |number| (number, 1_000));
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

/// A number and its unit in small letters; a space may stand between them.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let table = [
            ("90", 90.0),
            ("1.5s", 1.5),
            ("5m", 300.0),
            ("1h", 3_600.0),
            ("7d", 604_800.0),
            ("2 weeks", 1_209_600.0),
            ("12H", 43_200.0),
        ];
        for (text, seconds) in table {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "x", "-1", "5 parsecs", "1e400", "h", "1.2.3d", "99999999999999999999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("7d"), Ok(Duration::from_secs(604_800)));
        assert_eq!(age("0"), Ok(Duration::ZERO));
        assert_eq!(age("7").unwrap_err(), "\"7\" has no unit: write 7d for days or 7h for hours");
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let table = [
            ("0", 0),
            ("1000", 1_000),
            ("500MB", 500_000_000),
            ("500 mb", 500_000_000),
            ("2GiB", 2 << 30),
            ("20G", 20 << 30),
            ("1.5k", 1_536),
            ("3 bytes", 3),
        ];
        for (text, bytes) in table {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "-1", "5 parsecs", "1MBit", "99999999999TB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tokens_are_counted_as_people_write_them() {
        let table =
            [("0", 0), ("500", 500), ("1,000", 1_000), ("1_000", 1_000), ("4k", 4_000), (" 8K ", 8_000)];
        for (text, count) in table {
            assert_eq!(tokens(text), Ok(count), "{text}");
        }
        for text in ["", "k", "banana", "-1", "1.5", "4m", "99999999999999999999", "18446744073709551615k"] {
            assert!(tokens(text).unwrap_err().contains("is not a number of tokens: write 500"), "{text}");
        }
    }

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
