//! Printing: data to stdout, diagnostics to stderr. A reader that has closed the pipe is not an error.

use crate::error::CliError;
use std::io::{self, Write};
use std::process::ExitCode;

/// Maximum characters of an error message, which may repeat anything that was typed.
const MAX_MESSAGE: usize = 1_000;

/// Writes data to stdout.
pub(crate) fn out(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    forgive(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes data to stdout, and returns whether it still has a reader.
pub(crate) fn is_read(bytes: &[u8]) -> Result<bool, CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Writes to stderr. A failure is ignored: it could not be reported.
pub(crate) fn err(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes data to stderr.
pub(crate) fn err_bytes(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Prints an error with its hints, and returns its exit code.
pub(crate) fn error(error: &CliError) -> ExitCode {
    diagnose(error, "");
    ExitCode::from(error.code())
}

/// Prints an error that the command ignores.
pub(crate) fn warning(error: &CliError) {
    diagnose(error, " (ignored)");
}

fn diagnose(error: &CliError, note: &str) {
    let hints: String = error.hints().iter().map(|hint| format!("hint: {hint}\n")).collect();
    let message = forebay::shortened(&error.to_string(), MAX_MESSAGE);
    err(&forebay::printable(&format!("forebay: {message}{note}\n{hints}")));
}

/// Writes one JSON value and a newline to stdout.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), CliError> {
    let mut text = serde_json::to_vec(value).map_err(io::Error::from)?;
    text.push(b'\n');
    out(&text)
}

/// Ignores a closed pipe: its reader has read enough.
pub(crate) fn forgive(written: io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Aligns rows in columns; `right` marks the columns of numbers.
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
            if right[column] {
                text.push_str(&format!("{gap}{padding}{cell}"))
            } else {
                text.push_str(&format!("{gap}{cell}{padding}"))
            }
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut text = line(head.to_vec());
    rows.iter().for_each(|row| text.push_str(&line(row.iter().map(String::as_str).collect())));
    text
}

/// A number of bytes in the unit that fits, such as `1.5 KiB`.
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

/// A number with separators of thousands.
pub(crate) fn grouped(number: u64) -> String {
    forebay::text::count::grouped(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_printed_in_the_unit_that_fits() {
        let table = [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (10 << 30, "10.0 GiB")];
        for (count, text) in table {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["a".into(), "1".into()], vec!["longer".into(), "1000".into()]];
        assert_eq!(
            table(&["name", "n"], &[false, true], &rows),
            "name       n\na          1\nlonger  1000\n"
        );
    }
}
