//! Times as people write them: a date and time, a day, a duration, or a duration ago.

use crate::Timestamp;
use std::time::Duration;

/// A text that is not a time, with examples of what is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a time: write {examples}")]
pub struct BadTime {
    text: String,
    examples: &'static str,
}

/// Parses a duration, such as `90s`, `5m`, `1h`, `7d` or `2 weeks`. A number without a unit is seconds.
pub fn duration(text: &str) -> Result<Duration, BadTime> {
    parse_duration(text).ok_or_else(|| BadTime { text: text.to_owned(), examples: "90, 90s, 5m, 1h or 7d" })
}

/// Parses a point in time: `2026-11-16T10:00:00Z`, a day in UTC, or a duration before `now`.
pub fn moment(text: &str, now: Timestamp) -> Result<Timestamp, BadTime> {
    let at = text.parse().ok();
    let at = at.or_else(|| format!("{text}T00:00:00Z").parse().ok());
    let at = at.or_else(|| now.checked_sub(parse_duration(text)?).ok());
    at.ok_or_else(|| BadTime {
        text: text.to_owned(),
        examples: "2026-11-16T10:00:00Z, 2026-11-16, 90s, 10m, 2h or 3d",
    })
}

fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let factor = match unit.as_str() {
        "" | "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * factor).ok()
}

/// Splits a number from its unit, which is returned in lower case. A space may separate them.
pub fn number_and_unit(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
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
        assert_eq!(
            duration("x").unwrap_err().to_string(),
            "\"x\" is not a time: write 90, 90s, 5m, 1h or 7d"
        );
    }

    #[test]
    fn a_moment_is_a_time_a_day_or_a_duration_ago() {
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
            assert_eq!(moment(text, now).map(|at| at.to_string()).as_deref(), Ok(at), "{text}");
        }
        for text in ["", "yesterday", "-1h", "2026-13-01", "9999999d"] {
            assert!(moment(text, now).is_err(), "{text}");
        }
    }
}
