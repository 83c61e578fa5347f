//! Definitions found by their lines, if there is no grammar or parsing would take too much work.

use crate::Result;
use crate::classify::languages::Language;
use crate::classify::lines::Source;
use crate::outline::{Items, LineSpan, Symbol, shortened};
use crate::text::pattern::compiled;
use regex::bytes::Regex;
use std::sync::LazyLock;

static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^[ \t]*(?-u:(?:pub(?:\([^)]*\))?|export|default|async|static|abstract|final|public|private|protected|internal|override|open|sealed|data|suspend|inline|mutating|unsafe|const|local|case|implicit)[ \t]+)*(?-u:(?:class|def|defmodule|fn|func|fun|function|struct|enum|trait|interface|impl|module|namespace|object|protocol|extension|package)[ \t]+[\w$<(\x22'*&\[]|(?:\w+)[ \t]*\(\)[ \t]*\{)",
    )
});

/// Beginning of a function of C or C++ at the margin: two words and a bracket.
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^(?-u:[A-Za-z_][\w:<>]*[ \t*&]+(?:[\w:<>]+[ \t*&]+)*[\w:~]+[ \t]*\((?:[^;]*[({,)])?[ \t\r]*$)")
});

/// Beginnings of statements of C that look like one.
const STATEMENTS: &[&[u8]] = &[b"return ", b"else ", b"typedef ", b"case ", b"goto ", b"using ", b"throw "];

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

/// Returns the definitions in the lines from `start` on. Their indentation tells how they are nested.
pub(crate) fn outline(source: &Source, language: Language, start: u64) -> Result<Items> {
    let mut items = Items::default();
    let mut above: Vec<usize> = Vec::new();
    let has_functions = matches!(language, Language::C | Language::Cpp);
    source.for_each_from(start, |line| {
        let name = || shortened(line.lossy().trim().trim_end_matches(['{', ':', ';', '=', ' ']), 120);
        if has_functions && is_function(line.text) {
            let symbol = Symbol::new("function", &before_bracket(&line.lossy()));
            items.define(LineSpan::open(line.number), 0, "fn", symbol, name);
            above = vec![0];
            return;
        }
        let Some(found) = DEFINITION.find(line.text) else { return };
        // The word before the first letter of the name.
        let mut words = found.as_bytes().rsplit(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        let kind = words.nth(1).and_then(|kind| KINDS.iter().find(|name| name.as_bytes() == kind));
        let indent = line.text.len() - line.text.trim_ascii_start().len();
        while above.pop_if(|above| *above >= indent).is_some() {}
        let symbol = match kind {
            Some(kind) => {
                let rest = String::from_utf8_lossy(&line.text[found.end() - 1..]);
                Symbol::new(kind, &defined(kind, &rest))
            }
            None => Symbol::new("function", &before_bracket(&line.lossy())),
        };
        items.define(LineSpan::open(line.number), above.len() as u32, kind.unwrap_or(&"fn"), symbol, name);
        above.push(indent);
    })?;
    Ok(items)
}

/// Returns the name before the first bracket of a line.
fn before_bracket(line: &str) -> String {
    let before = line.split('(').next().unwrap_or_default().trim_end();
    before.rsplit(|c: char| c.is_whitespace() || "*&".contains(c)).next().unwrap_or_default().to_owned()
}

/// Returns the name in the text after the keyword of a definition.
fn defined(keyword: &str, mut rest: &str) -> String {
    // An implementation is named after its type, not after its trait.
    if keyword == "impl" {
        rest = rest.split_once(" for ").map_or(rest, |(_, implementor)| implementor);
    }
    // The receiver of a function of Go, and type parameters.
    for (open, close) in [('(', ')'), ('<', '>')] {
        if rest.starts_with(open) {
            rest = rest.split_once(close).map_or(rest, |(_, behind)| behind);
        }
    }
    let rest = rest.trim_start_matches(['*', '&', '"', '\'', ' ', '\t']);
    let rest = rest.strip_prefix("self.").unwrap_or(rest);
    let is_part = |c: char| c.is_alphanumeric() || "_$.:#?!\\".contains(c);
    let name: String = rest.chars().take_while(|c| is_part(*c)).collect();
    name.trim_end_matches(['.', ':', '\\']).to_owned()
}

/// Whether a function of C begins on this line.
fn is_function(line: &[u8]) -> bool {
    line.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && memchr::memchr(b'(', line).is_some()
        && !STATEMENTS.iter().any(|statement| line.starts_with(statement))
        && FUNCTION.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_found_by_its_line_is_called_by_its_name() {
        for (keyword, rest, name) in [
            ("class", "Store(private val items: List<Item>) {", "Store"),
            ("fun", "<T> first(items: List<T>): T", "first"),
            ("fun", "String.shout() = uppercase()", "String.shout"),
            ("func", "(s *Store) Get(i int) string {", "Get"),
            ("function", "* items() {", "items"),
            ("def", "self.open(path)", "open"),
            ("def", "empty?", "empty?"),
            ("class", "Store:", "Store"),
            ("impl", "Display for Store {", "Store"),
            ("defmodule", "App.Store do", "App.Store"),
            ("function", "() {", ""),
        ] {
            assert_eq!(defined(keyword, rest), name, "{rest}");
        }
        for (line, name) in [
            ("static struct point *make(int x)", "make"),
            ("std::string Shop::name(const Cart &cart) const {", "Shop::name"),
            ("usage () {", "usage"),
        ] {
            assert_eq!(before_bracket(line), name, "{line}");
        }
    }

    #[test]
    fn a_function_of_c_is_told_by_its_first_line() {
        for (line, expected) in [
            ("static int stmtEof(sqlite3_vtab_cursor *cur){", true),
            ("SQLITE_API int sqlite3_stmt_init(\r", true),
            ("const char *name(void)", true),
            ("std::string Shop::name(const Cart &cart) const {", true),
            ("struct point *make(int x, int y,", true),
            ("int total(int);", false),
            ("return total(x)", false),
            ("typedef int (*callback)(void)", false),
            ("ASSERT(total)", false),
            ("    total = add(x)", false),
            ("int total = add(x);", false),
            ("} else if (x) {", false),
        ] {
            assert_eq!(is_function(line.as_bytes()), expected, "{line}");
        }
    }
}
