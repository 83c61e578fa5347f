//! Time stamps that runners put in front of lines.

use memchr::memchr;

/// Returns a line without the time stamp of a runner: `2024-05-01T10:00:00.1234567Z `, also in the brackets of
/// `[task …]`, and before it the names of job and step with tabs.
pub(crate) fn unstamped(line: &[u8]) -> &[u8] {
    let columns = || {
        let job = memchr(b'\t', &line[..line.len().min(80)])?;
        let step = memchr(b'\t', &line[job + 1..line.len().min(job + 121)])?;
        Some(job + step + 2)
    };
    match stamp(line).or_else(|| columns().and_then(|at| Some(at + stamp(&line[at..])?))) {
        Some(end) => &line[end..],
        None => line,
    }
}

/// Whether a build runner wrote the time stamp of a line. Time stamps of services are part of their output.
pub(crate) fn is_of_runner(line: &[u8]) -> bool {
    /// Digits of a fraction of a second that runners write.
    const FRACTION: usize = 7;
    let Some(end) = stamp(line) else { return unstamped(line).len() < line.len() };
    let time = &line[..end];
    let fraction = time.iter().rev().skip_while(|byte| !byte.is_ascii_digit());
    time.contains(&b'[') || fraction.take_while(|byte| byte.is_ascii_digit()).count() >= FRACTION
}

/// Returns the length of the time stamp at the beginning of a line.
pub(crate) fn stamp(line: &[u8]) -> Option<usize> {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let start = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let in_task = start.strip_prefix(b"[task ");
    let time = in_task.unwrap_or(start);
    let fits = |(form, byte): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { form == byte };
    if time.len() < FORM.len() || !FORM.iter().zip(time).all(fits) {
        return None;
    }
    let rest = &time[FORM.len()..];
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fraction = rest.strip_prefix(b".").map_or(0, |rest| 1 + digits(rest));
    let rest = rest[fraction..].strip_prefix(b"Z")?;
    let rest = if in_task.is_some() { rest.strip_prefix(b"]")? } else { rest };
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    Some(line.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_of_runners_are_told_from_those_of_services() {
        let table = [
            ("2024-05-01T10:00:00.1234567Z Run make", true),
            ("[task 2024-05-01T10:00:00.123Z] cc a.c", true),
            ("build\tRun make\t2024-05-01T10:00:00.1234567Z cc a.c", true),
            ("2024-05-01T10:00:00.123Z ERROR no database", false),
            ("2024-05-01T10:00:00Z ERROR no database", false),
            ("no time", false),
        ];
        for (line, expected) in table {
            assert_eq!(is_of_runner(line.as_bytes()), expected, "{line}");
        }
    }
}
