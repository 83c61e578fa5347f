//! The pattern of the suggested search: one that finds something in the kept file, and not too much of it.

use crate::Result;
use crate::presets::recovery::{Item, Source, ToolKind};
use regex::Regex;
use std::{collections::HashMap, sync::LazyLock};

/// Names and words that are tried before the next best thing is.
const TRIED: usize = 8;

/// Bytes after the shown part that words are taken from.
const WORDS_FROM: usize = 256 * 1024;

/// Characters that a search prints beside a line: its number and a separator.
const NUMBER: u64 = 8;

/// Pattern for lines with errors.
const ERRORS: &str = "[Ee]rror|[Ff]ail|[Ee]xception";

static WORD: LazyLock<Regex> = LazyLock::new(|| compiled(r"\w+"));

#[expect(clippy::expect_used, reason = "the patterns are part of the program, and tests compile them")]
pub(crate) fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this module")
}

impl Source<'_> {
    /// A pattern whose matches pass: the name of a definition, words of failure, or a word that is not shown yet.
    pub(crate) fn pattern(&self, structure: &[Item]) -> Result<Option<String>> {
        let most = self.threshold(&self.settings.names.grep);
        let fits = |pattern: &str| {
            let found =
                Regex::new(pattern).ok().and_then(|regex| self.found(|line| regex.is_match(line), most));
            found.is_some_and(|lines| lines > 0)
        };
        let names = structure.iter().map(|item| plain(&item.name)).filter(|name| !name.is_empty());
        if let Some(name) = names.take(TRIED).find(|name| fits(name)) {
            return Ok(Some(name.to_owned()));
        }
        let tells_errors = matches!(self.kind, ToolKind::File | ToolKind::Shell | ToolKind::Other);
        if tells_errors && !self.output.error_lines()?.is_empty() && fits(ERRORS) {
            return Ok(Some(ERRORS.to_owned()));
        }
        let hidden = self.text.get(self.hidden_from()..).unwrap_or_default();
        let hidden = &hidden[..hidden.floor_char_boundary(WORDS_FROM)];
        Ok(frequent(hidden.lines(), most).into_iter().take(TRIED).find(|word| fits(word)).map(str::to_owned))
    }

    /// Offset in the text of the first line that is not shown at all.
    fn hidden_from(&self) -> usize {
        let shown = self.text.floor_char_boundary(usize::try_from(self.shown).unwrap_or(usize::MAX));
        self.text[shown..].find('\n').map_or(self.text.len(), |newline| shown + newline + 1)
    }

    /// Number of lines found, if a search may print them all. Of a long output only the beginning is searched, and the rest
    /// is taken to be like it.
    pub(crate) fn found(&self, is_found: impl Fn(&str) -> bool, most: u64) -> Option<u64> {
        let times = self.output.len().div_ceil((self.text.len() as u64).max(1)).max(1);
        let (mut lines, mut characters) = (0, 0);
        for line in self.text.lines().filter(|line| is_found(line)) {
            lines += 1;
            characters += line.chars().count() as u64 + NUMBER;
            if characters * times > most {
                return None;
            }
        }
        Some(lines)
    }
}

/// The part of a name that means itself in every dialect of patterns.
fn plain(name: &str) -> &str {
    let is_plain = |c: char| c.is_alphanumeric() || "_.:-".contains(c);
    if name.chars().all(is_plain) {
        return name;
    }
    WORD.find_iter(name).map(|word| word.as_str()).max_by_key(|word| word.len()).unwrap_or_default()
}

/// Words by how many of the lines have them: those first that look like words, then the most frequent ones whose lines have no
/// more than `most` characters.
pub(crate) fn frequent<'a>(lines: impl Iterator<Item = &'a str>, most: u64) -> Vec<&'a str> {
    struct Seen {
        place: usize,
        last_line: usize,
        lines: u64,
        characters: u64,
    }
    let mut seen: HashMap<&str, Seen> = HashMap::new();
    for (number, line) in lines.enumerate() {
        let characters = line.chars().count() as u64 + NUMBER;
        if characters > most {
            continue;
        }
        for word in WORD.find_iter(line).map(|word| word.as_str()).filter(|word| word.len() <= 60) {
            let place = seen.len();
            let seen =
                seen.entry(word).or_insert(Seen { place, last_line: usize::MAX, lines: 0, characters: 0 });
            if seen.last_line != number {
                seen.last_line = number;
                seen.lines += 1;
                seen.characters += characters;
            }
        }
    }
    let mut words: Vec<(&str, Seen)> = seen.into_iter().filter(|(_, seen)| seen.characters <= most).collect();
    let is_word = |word: &str| word.chars().count() >= 4 && word.chars().all(char::is_alphabetic);
    words.sort_by_key(|(word, seen)| (!is_word(word), std::cmp::Reverse(seen.lines), seen.place));
    words.into_iter().map(|(word, _)| word).collect()
}
