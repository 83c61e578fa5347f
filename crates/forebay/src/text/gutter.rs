//! The start of a line's text, after the signs that reports put in front of their lines.

/// A line without the sign that some reports put in front of every line: `= `, `| `, `> `, `E   `, `#  `.
pub(crate) fn without_gutter(line: &[u8]) -> &[u8] {
    match line {
        [b'=' | b'|' | b'>', b' ', rest @ ..]
        | [b'E', b' ', b' ', b' ', rest @ ..]
        | [b'#', b' ', b' ', rest @ ..] => rest,
        _ => line,
    }
}

/// Number before a line of a numbered read, and the line behind it: `    12→text`.
pub(crate) fn numbered(line: &[u8]) -> Option<(u64, &[u8])> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&line[..digits]).ok()?.parse().ok()?;
    Some((number, line[digits..].strip_prefix("→".as_bytes())?))
}

/// Number of blanks and tabs before the text of a line.
pub(crate) fn depth(line: &[u8]) -> usize {
    without_gutter(line).iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
