//! Summaries of the parts that a view does not show, and lists that fit a number of tokens.

use crate::view::Summary;
use crate::view::print::Gap;
use crate::{Output, Result, tokens};

/// Summarises a part of an output that is not shown.
pub(crate) trait Summarize {
    /// Summary of a gap, with a list of about `room` tokens; `None` if there is nothing to say.
    fn summary(&self, output: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>>;
}

impl<T: Summarize> Summarize for &T {
    fn summary(&self, output: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        (**self).summary(output, gap, room)
    }
}

/// Builds a summary of at most `room` tokens, if there is one. The list gets the tokens that the first line leaves.
pub(crate) fn within(
    summarize: &dyn Summarize,
    output: &Output,
    gap: &Gap,
    room: u64,
) -> Result<Option<Summary>> {
    let first = summarize.summary(output, gap, room)?;
    match first.as_ref().map_or(0, |first| first.tokens(gap)).saturating_sub(room) {
        0 => Ok(first),
        over => summarize.summary(output, gap, room.saturating_sub(over)),
    }
}

/// Tokens of the lines of a list.
pub(crate) fn list_tokens(lines: &[String]) -> u64 {
    tokens::count(&lines.iter().flat_map(|line| ["\n", line]).collect::<String>())
}

/// The first lines of a list that fit `room` tokens.
pub(crate) fn fitting_lines(lines: impl IntoIterator<Item = String>, room: u64) -> Vec<String> {
    let mut listed = Listed::new(room);
    for line in lines {
        if !listed.take(line) {
            break;
        }
    }
    listed.lines
}

/// A list that grows until its tokens are used up.
pub(crate) struct Listed {
    pub(crate) lines: Vec<String>,
    text: String,
    room: u64,
}

impl Listed {
    /// An empty list with room for `room` tokens.
    pub(crate) fn new(room: u64) -> Listed {
        Listed { lines: Vec::new(), text: String::new(), room }
    }

    /// Adds a line if it fits; returns whether it does.
    pub(crate) fn take(&mut self, line: String) -> bool {
        let more = format!("\n{line}");
        let fits = tokens::count(&self.text) + tokens::count(&more) <= self.room;
        if fits {
            self.text += &more;
            self.lines.push(line);
        }
        fits
    }
}

/// The largest count up to `most` that fits, if all smaller ones fit too.
pub(crate) fn fitting(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Facts in the summary of a whole output.
#[cfg(test)]
pub(crate) fn summary_of(summarize: &dyn Summarize, output: &Output, room: u64) -> Option<String> {
    let gap = Gap::at(output, &(0..output.len())).ok()?;
    summarize.summary(output, &gap, room).ok()?.map(|summary| summary.facts())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    struct Xs;

    impl Summarize for Xs {
        fn summary(&self, _: &Output, _: &Gap, room: u64) -> Result<Option<Summary>> {
            let list = vec!["x".to_owned(); room as usize / 2];
            Ok(Some(Summary::stated("a line of six words here").listing(list)))
        }
    }

    #[test]
    fn a_summary_has_its_first_line_in_its_room() {
        let output = output_of(b"some bytes");
        let gap = Gap::at(&output, &(0..10)).unwrap();
        let summary = within(&Xs, &output, &gap, 60).unwrap().unwrap();
        assert!((50..=60).contains(&summary.tokens(&gap)), "{}", summary.tokens(&gap));
    }
}
