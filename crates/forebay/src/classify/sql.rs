//! Statements of SQL.

use crate::text::pattern::compiled;
use regex::bytes::Regex;
use std::sync::LazyLock;

pub(crate) static MAKES: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"^(?i-u:\s*(create (?:or replace )?(?:(?:temp|temporary|unique|virtual|materialized|unlogged) )*(?:table|index|view|trigger|function|procedure|type|sequence)) (?:if not exists )?([\w."`\[\]]+))"#,
    )
});

pub(crate) static FILLS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r#"^(?i-u:\s*(?:insert (?:or \w+ )?into|copy) ([\w."`\[\]]+) ?(?:\(|values|from|select))"#)
});

/// Whether lines are statements of SQL: at least two, and not in prose.
pub(crate) fn is_sql<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let (mut all, mut statements, mut ended) = (0, 0, 0);
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        all += 1;
        statements += usize::from(MAKES.is_match(line) || FILLS.is_match(line));
        ended += usize::from(matches!(line.trim_ascii_end().last(), Some(b';' | b',' | b'(')));
    }
    statements >= 2 && ended * 2 >= all
}
