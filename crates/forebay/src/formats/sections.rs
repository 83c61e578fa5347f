//! Sections of logs.

use crate::formats::Role;
use crate::formats::matcher::Matcher;
use std::sync::LazyLock;

static SECTIONS: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Group, Role::Section]));

/// Title of the section that begins with a line, and whether a line of its own ends the section.
pub(crate) fn section(line: &[u8]) -> Option<(&[u8], bool)> {
    let (role, groups) = SECTIONS.captures(line).next()?;
    let title = groups.get(1)?;
    Some((&line[title.range()], role == Role::Group))
}

/// Whether a section begins with a line.
pub(crate) fn is_section(line: &[u8]) -> bool {
    SECTIONS.is_match(line)
}

/// Whether a section ends with a line.
pub(crate) fn ends_section(line: &[u8]) -> bool {
    static ENDS: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::GroupEnd]));
    ENDS.is_match(line)
}

/// Whether only a log has a line like this one, read without its time stamp.
pub(crate) fn is_of_log(line: &[u8]) -> bool {
    static LOG: LazyLock<Matcher> = LazyLock::new(|| Matcher::of(&[Role::Log]));
    LOG.is_match(line)
}
