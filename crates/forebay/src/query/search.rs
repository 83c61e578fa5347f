//! Words in all outputs of a session: a grep over each of them, grouped.

use crate::query::grep::grep_with;
use crate::query::grep::matcher::Search;
use crate::query::{Found, Matches, fitted};
use crate::request::grep::Grep;
use crate::text::count::count;
use crate::{Budget, Error, Handle, Output, Query, Result};
use serde::Serialize;

/// Maximum matches shown of one output, so that a chatty one does not hide the others.
const SHOWN: usize = 5;

/// Maximum words of a search: the pattern has every order of them.
const WORDS: usize = 4;

/// Maximum characters shown of a matching line.
const WIDTH: usize = 240;

/// Result of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Searched {
    /// The answer as text, within its budget.
    pub text: String,
    /// Number of all matching lines.
    pub total: u64,
    /// Number of outputs that were searched.
    pub searched: u64,
    /// The outputs with matching lines that are shown.
    pub groups: Vec<Group>,
}

/// Matching lines of one output.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The output.
    pub handle: Handle,
    /// The tool that printed it.
    pub tool: String,
    /// The matches.
    #[serde(flatten)]
    pub found: Matches,
    /// The group in print.
    #[serde(skip)]
    text: String,
}

/// The pattern of lines that have all the words, in any order.
pub(crate) fn pattern(words: &str) -> Result<String> {
    let mut words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    words.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    words.dedup();
    match words.len() {
        0 => return Err(Error::BadQuery("no words to search for".to_owned())),
        many if many > WORDS => {
            return Err(Error::BadQuery(format!(
                "{many} words are too many to be in one line: search for {WORDS} or fewer"
            )));
        }
        _ => {}
    }
    let mut words: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
    let mut orders = Vec::new();
    permute(&mut words, 0, &mut |order| orders.push(order.join(".*")));
    Ok(orders.join("|"))
}

fn permute(words: &mut Vec<String>, fixed: usize, take: &mut impl FnMut(&[String])) {
    if fixed + 1 >= words.len() {
        return take(words);
    }
    for at in fixed..words.len() {
        words.swap(fixed, at);
        permute(words, fixed + 1, take);
        words.swap(fixed, at);
    }
}

/// Outputs that a thread takes at a time.
const AT_A_TIME: u64 = 64;

/// Searches this many outputs, which `open` opens by their number. The pattern is compiled once, and one thread per core
/// takes outputs in turn.
pub(crate) fn search(
    outputs: usize,
    open: impl Fn(usize) -> Result<Output> + Sync,
    words: &str,
    budget: Budget,
) -> Result<Searched> {
    let grep = Grep { ignore_case: true, max: SHOWN, ..Grep::new(pattern(words)?) };
    let longest = words.split_whitespace().max_by_key(|word| word.len()).unwrap_or_default().to_lowercase();
    let roomy = Budget { tokens: 8_000, bytes: 64 * 1024, lines: None };
    let ready = Search::new(&grep)?;
    let numbers = 0..outputs as u64;
    let parts: Vec<_> = numbers
        .clone()
        .step_by(AT_A_TIME as usize)
        .map(|first| first..(first + AT_A_TIME).min(numbers.end))
        .collect();
    let searched_one = |number: u64| -> Result<Option<(Matches, Output)>> {
        let output = open(number as usize)?;
        match grep_with(&ready, &output, &grep, roomy)?.found {
            Found::Matches(found) if found.total > 0 => Ok(Some((found, output))),
            _ => Ok(None),
        }
    };
    let found = Output::in_parts(&parts, |part| Ok(part.map(searched_one).collect::<Vec<_>>()))?;
    let mut groups: Vec<Group> = Vec::new();
    let (mut total, mut searched, mut unread) = (0, 0, 0);
    for found in found.into_iter().flatten() {
        // An output that cannot be read does not end the search in the others.
        let Ok(found) = found else {
            unread += 1;
            continue;
        };
        searched += 1;
        let Some((found, output)) = found else { continue };
        total += found.total;
        let record = output.record();
        let grows = if output.is_growing() { ", still growing" } else { "" };
        let (matches, handle) = (count("match", found.total), record.handle.short());
        let mut group = format!("[{matches} in {handle} · {}{grows}]\n", record.call.full_name());
        for line in &found.shown {
            group.push_str(&format!("{}:{}\n", line.line, around(&line.text, &longest)));
        }
        if found.total > found.shown.len() as u64 {
            let all = Query::Grep(Grep { max: Grep::SHOWN, ..grep.clone() });
            group.push_str(&format!("[all of them: {}]\n", output.call(&all)));
        }
        let (handle, tool) = (record.handle.clone(), record.call.full_name());
        groups.push(Group { handle, tool, found, text: group });
    }
    let matches = count("match", total);
    // An output that could not be searched may have the words.
    let unread =
        if unread > 0 { format!(", {} could not be read", count("output", unread)) } else { String::new() };
    let print = |shown: usize| {
        let found = match groups.len() {
            0 => format!("[no line has these words in {searched} outputs{unread}]\n"),
            many if shown < many => {
                format!("[{matches} in {many} of {searched} outputs{unread}, the newest {shown} shown]\n")
            }
            many => format!("[{matches} in {many} of {searched} outputs{unread}]\n"),
        };
        groups[..shown].iter().fold(found, |text, group| text + &group.text)
    };
    let shown = fitted(groups.len(), budget, |shown| print(shown).into_bytes());
    let text = print(shown);
    groups.truncate(shown);
    Ok(Searched { text, total, searched, groups })
}

/// A line as it is shown; of a long one, the text around the word.
fn around(line: &str, word: &str) -> String {
    let characters: Vec<char> = line.chars().collect();
    if characters.len() <= WIDTH {
        return line.to_owned();
    }
    let at = line.to_lowercase().find(word).map_or(0, |at| line.to_lowercase()[..at].chars().count());
    let start = at.saturating_sub(WIDTH / 3).min(characters.len() - WIDTH);
    let end = start + WIDTH;
    let before = if start > 0 { "…" } else { "" };
    let after = if end < characters.len() { "…" } else { "" };
    format!("{before}{}{after}", characters[start..end].iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    #[test]
    fn words_are_found_once_in_any_order_and_shown_with_their_places() {
        let long = format!("{} the needle is here {}\n", "x ".repeat(900), "y ".repeat(900));
        let budget = Budget { tokens: 2_000, bytes: 9_000, lines: None };
        let find = |words: &str| search(1, |_| Ok(output_of(long.as_bytes())), words, budget);
        for words in ["needle", "here needle", "Needle needle NEEDLE", "is the here needle"] {
            let found = find(words).unwrap();
            assert_eq!(found.total, 1, "{words}");
            assert!(found.text.contains("…") && found.text.contains("needle is here"), "{}", found.text);
        }
        assert_eq!(find("needle nowhere").unwrap().total, 0);
        assert!(find("a b c d e").unwrap_err().to_string().contains("search for 4 or fewer"));
        assert!(find(" ").is_err());
    }
}
