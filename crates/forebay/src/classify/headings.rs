//! Headings of markup.

/// Returns the level of a heading that begins with `#`.
pub(crate) fn level(line: &[u8]) -> Option<u32> {
    let level = line.iter().take_while(|&&byte| byte == b'#').count();
    let spaced = line.get(level).is_some_and(|&byte| byte == b' ' || byte == b'\t');
    ((1..=6).contains(&level) && spaced && !line[level..].trim_ascii().is_empty()).then_some(level as u32)
}

/// Returns the mark and the length of a line that can underline a heading.
pub(crate) fn underline(line: &[u8]) -> Option<(u8, usize)> {
    let mark = *line.first().filter(|mark| b"=-~^\"'*+#`:._".contains(mark))?;
    (line.len() >= 3 && line.iter().all(|&byte| byte == mark)).then_some((mark, line.len()))
}
