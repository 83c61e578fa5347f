//! The way out: data to stdout, talk to stderr. A reader that has gone away is not an error.

use crate::error::CliError;
use std::io::{self, Write};

/// Writes data to stdout.
pub(crate) fn out(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    forgive(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes data to stdout, and tells whether anybody still reads it.
pub(crate) fn is_read(bytes: &[u8]) -> Result<bool, CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Writes to stderr; there is nobody to tell if that fails.
pub(crate) fn err(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes data to stderr.
pub(crate) fn err_bytes(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Writes one JSON value and a newline to stdout.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), CliError> {
    let mut text = serde_json::to_vec(value).map_err(io::Error::from)?;
    text.push(b'\n');
    out(&text)
}

/// Lets a closed pipe pass: whoever read us has read enough.
pub(crate) fn forgive(written: io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Rows with their columns under each other; a column of numbers is flush right.
pub(crate) fn table(head: &[&str], right: &[bool], rows: &[Vec<String>]) -> String {
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            rows.iter().map(|row| width(&row[column])).chain([width(head[column])]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: Vec<&str>| -> String {
        let mut text = String::new();
        for (column, cell) in cells.into_iter().enumerate() {
            let padding = " ".repeat(widths[column] - width(cell));
            let gap = if column == 0 { "" } else { "  " };
            match right[column] {
                true => text.push_str(&format!("{gap}{padding}{cell}")),
                false => text.push_str(&format!("{gap}{cell}{padding}")),
            }
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut text = line(head.to_vec());
    rows.iter().for_each(|row| text.push_str(&line(row.iter().map(String::as_str).collect())));
    text
}

/// A number of bytes as a person says it.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    forebay::text::count::grouped(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_said_in_the_unit_that_fits() {
        let table = [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (10 << 30, "10.0 GiB")];
        for (count, text) in table {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn columns_stand_under_each_other() {
        let rows = [vec!["a".into(), "1".into()], vec!["longer".into(), "1000".into()]];
        assert_eq!(
            table(&["name", "n"], &[false, true], &rows),
            "name       n\na          1\nlonger  1000\n"
        );
    }
}
