//! Where the text of a line begins, behind the signs that reports put in front of their lines.

/// A line without the sign that some reports put in front of every line: `= `, `| `, `> `, `E   `, `#  `.
pub(crate) fn without_gutter(line: &[u8]) -> &[u8] {
    match line {
        [b'=' | b'|' | b'>', b' ', rest @ ..]
        | [b'E', b' ', b' ', b' ', rest @ ..]
        | [b'#', b' ', b' ', rest @ ..] => rest,
        _ => line,
    }
}

/// Number of blanks and tabs before the text of a line.
pub(crate) fn depth(line: &[u8]) -> usize {
    without_gutter(line).iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
