//! Times, sizes and numbers of tokens, as people type them.

use forebay::Timestamp;
use forebay::text::moment::{self, BadTime, number_and_unit};
use std::time::Duration;

/// A text that is not a value of the wanted kind, with examples of what is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum BadValue {
    #[error(transparent)]
    Time(#[from] BadTime),
    #[error("{text:?} has no unit: write {number}d for days or {number}h for hours")]
    NoUnit { text: String, number: f64 },
    #[error("{0:?} is not a size: write 1000, 500MB, 2GiB or 20G")]
    Size(String),
    #[error("{0:?} is not a number of tokens: write 500, 1,000 or 4k")]
    Tokens(String),
}

/// Parses a duration; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, BadTime> {
    moment::duration(text)
}

/// Parses a point in time: a date and time, a day in UTC, or a duration before now.
pub(crate) fn moment(text: &str) -> Result<Timestamp, BadTime> {
    moment::moment(text, Timestamp::now())
}

/// Parses an age, which needs a unit: a bare number could be seconds or days, and one of the two would remove what the
/// other keeps.
pub(crate) fn age(text: &str) -> Result<Duration, BadValue> {
    match text.trim().parse::<f64>() {
        Ok(number) if number != 0.0 => Err(BadValue::NoUnit { text: text.to_owned(), number }),
        _ => Ok(duration(text)?),
    }
}

/// Parses a number of bytes: `500MB` counts by thousands, `500MiB` and `500M` by 1024.
pub(crate) fn size(text: &str) -> Result<u64, BadValue> {
    parse_size(text).ok_or_else(|| BadValue::Size(text.to_owned()))
}

fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
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
        _ => return None,
    };
    let bytes = number * factor;
    (bytes.is_finite() && (0.0..=u64::MAX as f64).contains(&bytes)).then_some(bytes as u64)
}

/// Parses a number of tokens: `1,000` and `1_000` are 1000, and so is `1k`.
pub(crate) fn tokens(text: &str) -> Result<u64, BadValue> {
    let plain = text.trim().replace([',', '_'], "").to_ascii_lowercase();
    let (number, factor) = plain.strip_suffix('k').map_or((&*plain, 1), |number| (number, 1_000));
    let number = number.parse().ok().and_then(|number: u64| number.checked_mul(factor));
    number.ok_or_else(|| BadValue::Tokens(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(age("7d"), Ok(Duration::from_secs(604_800)));
        assert_eq!(age("0"), Ok(Duration::ZERO));
        let error = age("7").unwrap_err().to_string();
        assert_eq!(error, "\"7\" has no unit: write 7d for days or 7h for hours");
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
    fn numbers_of_tokens_are_read_as_people_write_them() {
        let table =
            [("0", 0), ("500", 500), ("1,000", 1_000), ("1_000", 1_000), ("4k", 4_000), (" 8K ", 8_000)];
        for (text, count) in table {
            assert_eq!(tokens(text), Ok(count), "{text}");
        }
        for text in ["", "k", "banana", "-1", "1.5", "4m", "99999999999999999999", "18446744073709551615k"] {
            let error = tokens(text).unwrap_err().to_string();
            assert!(error.contains("is not a number of tokens: write 500"), "{text}");
        }
    }
}
