//! Definitions found by their lines, where there is no grammar or parsing would take too much work.

use super::lines::Source;
use super::{Items, compiled, shortened};
use crate::Result;
use regex::bytes::Regex;
use std::sync::LazyLock;

static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^[ \t]*(?-u:(?:pub(?:\([^)]*\))?|export|default|async|static|abstract|final|public|private|protected|internal|override|open|sealed|data|suspend|inline|mutating|unsafe|const|local|case|implicit)[ \t]+)*(?-u:(?:class|def|defmodule|fn|func|fun|function|struct|enum|trait|interface|impl|module|namespace|object|protocol|extension|package)[ \t]+[\w$<(\x22'*&\[]|(?:\w+)[ \t]*\(\)[ \t]*\{)",
    )
});

const KINDS: [&str; 18] = [
    "class",
    "def",
    "defmodule",
    "fn",
    "func",
    "fun",
    "function",
    "struct",
    "enum",
    "trait",
    "interface",
    "impl",
    "module",
    "namespace",
    "object",
    "protocol",
    "extension",
    "package",
];

/// Adds the definitions of the lines from `start` on. How far each is indented tells how they lie in each other.
pub(super) fn outline(source: &Source, start: u64, items: &mut Items) -> Result<()> {
    let mut above: Vec<usize> = Vec::new();
    source.for_each_from(start, |line| {
        let Some(found) = DEFINITION.find(line.text) else { return };
        // The word before the first letter of the name.
        let mut words = found.as_bytes().rsplit(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        let kind = words.nth(1).and_then(|kind| KINDS.iter().find(|name| name.as_bytes() == kind));
        let indent = line.text.len() - line.text.trim_ascii_start().len();
        while above.pop_if(|above| *above >= indent).is_some() {}
        let name = || shortened(line.lossy().trim().trim_end_matches(['{', ':', ';', '=']), 120);
        items.open(line.number, above.len() as u32, kind.unwrap_or(&"fn"), name);
        above.push(indent);
    })
}
