//! Words in all outputs of a session: a grep over each of them, grouped.

use super::{Found, Grep, Matches, excerpt};
use crate::view::grouped;
use crate::{Budget, Error, Handle, Output, Query, Result};
use serde::Serialize;

/// How many matches of one output are shown, so that one that talks much does not hide the others.
const SHOWN: usize = 5;

/// More words than this are not looked for in every order: the longest ones are.
const WORDS: usize = 4;

/// A line of a match is shown up to this many characters.
const WIDTH: usize = 240;

/// What a search found.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The answer as text, within its budget.
    pub text: String,
    /// How many lines were found in all.
    pub total: u64,
    /// How many outputs were searched.
    pub searched: u64,
    /// The outputs that have such lines, as many as are shown.
    pub groups: Vec<Group>,
}

/// What was found in one output.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The output.
    pub handle: Handle,
    /// The tool that gave it.
    pub tool: String,
    /// What was found.
    #[serde(flatten)]
    pub found: Matches,
    /// How it is printed.
    #[serde(skip)]
    text: String,
}

/// The pattern of lines that have all the words, in any order.
pub(crate) fn pattern(words: &str) -> Result<String> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    if words.is_empty() {
        return Err(Error::BadQuery("no words to search for".to_owned()));
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.truncate(WORDS);
    let mut words: Vec<String> = words.into_iter().map(regex::escape).collect();
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

/// Searches outputs in the order in which they come.
pub(crate) fn search(
    outputs: impl Iterator<Item = Result<Output>>,
    words: &str,
    budget: Budget,
) -> Result<Searched> {
    let grep = Grep { ignore_case: true, max: SHOWN, ..Grep::new(pattern(words)?) };
    let roomy = Budget { tokens: 8_000, bytes: 64 * 1024, lines: None };
    let (mut groups, mut total, mut searched): (Vec<Group>, u64, u64) = (Vec::new(), 0, 0);
    for output in outputs {
        // An output that has vanished meanwhile has nothing to show.
        let Ok(output) = output else { continue };
        searched += 1;
        let answer = excerpt(&output, &Query::Grep(grep.clone()), roomy)?;
        let Found::Matches(found) = answer.found else { continue };
        if found.total == 0 {
            continue;
        }
        total += found.total;
        let record = output.record();
        let grows = if output.is_growing() { ", still growing" } else { "" };
        let count =
            if found.total == 1 { "1 match".to_owned() } else { format!("{} matches", grouped(found.total)) };
        let mut group =
            format!("[{count} in {} · {}{grows}]\n", record.handle.short(), record.call.full_name());
        for line in &found.shown {
            let text: String = line.text.chars().take(WIDTH).collect();
            let more = if text.len() < line.text.len() { "…" } else { "" };
            group.push_str(&format!("{}:{text}{more}\n", line.line));
        }
        if found.total > found.shown.len() as u64 {
            let all = Query::Grep(Grep { max: super::SHOWN, ..grep.clone() });
            group.push_str(&format!("[all of them: {}]\n", output.call(&all)));
        }
        let (handle, tool) = (record.handle.clone(), record.call.full_name());
        groups.push(Group { handle, tool, found, text: group });
    }
    let print = |count: usize| {
        let found = match groups.len() {
            0 => format!("[no line has these words in {searched} outputs]\n"),
            _ if count < groups.len() => format!(
                "[{} matches in {} of {searched} outputs, the newest {count} shown]\n",
                grouped(total),
                groups.len()
            ),
            _ => format!("[{} matches in {} of {searched} outputs]\n", grouped(total), groups.len()),
        };
        groups[..count].iter().fold(found, |text, group| text + &group.text)
    };
    let mut count = groups.len();
    while count > 0 && !budget.holds(print(count).as_bytes()) {
        count -= 1;
    }
    let text = print(count);
    groups.truncate(count);
    Ok(Searched { text, total, searched, groups })
}
