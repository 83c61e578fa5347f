//! How a text is cut into chunks: as few as its tokens need, all about the same size, each sharing its beginning with
//! the end of the one before.
//!
//! A text is measured in steps: some lines together, or a part of a long one. Chunks begin and end where a step does, so
//! never inside a character, and where a line ends if one does nearby.

use crate::{Result, tokens};
use std::ops::Range;

/// Steps have about this many bytes at most.
const STEP: usize = 512;

/// A text that is read in parts.
pub(super) trait Source {
    /// The bytes of `range`, as far as there are any.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>>;

    /// The text that a model is given for `range`.
    fn sent(&self, range: Range<u64>) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.read(range)?).into_owned())
    }

    /// Tokens that a line has more in [`sent`](Source::sent) than in the bytes of it.
    fn tokens_more_per_line(&self) -> u64 {
        0
    }
}

impl Source for crate::Output {
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        crate::Output::read(self, range)
    }
}

/// An output whose lines are given with their numbers. A model that is to copy lines finds them better then.
pub(super) struct Numbered<'a>(pub(super) &'a crate::Output);

impl Source for Numbered<'_> {
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.0.read(range)
    }

    fn sent(&self, range: Range<u64>) -> Result<String> {
        let first = self.0.newlines_before(range.start)? + 1;
        let text = String::from_utf8_lossy(&self.0.read(range)?).into_owned();
        Ok((first..)
            .zip(text.split_inclusive('\n'))
            .map(|(number, line)| format!("{number}: {line}"))
            .collect())
    }

    fn tokens_more_per_line(&self) -> u64 {
        // Vocabularies have one token for up to three digits.
        let digits = self.0.lines().unwrap_or(u64::MAX).max(1).ilog10() + 1;
        u64::from(digits.div_ceil(3)) + 2
    }
}

impl Source for String {
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        Ok(self.as_bytes()[place(range.start)..place(range.end)].to_vec())
    }
}

/// Where a step ends.
#[derive(Clone, Copy, Debug)]
struct Step {
    end: u64,
    /// Tokens of all steps up to here.
    tokens: u64,
    /// Whether a line ends here.
    line: bool,
}

/// How large chunks may be, and how they overlap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Tokens of the largest chunk.
    pub(super) most: u64,
    /// How much of a chunk is in the one before too, in percent.
    pub(super) overlap: u64,
    /// No more chunks than this.
    pub(super) chunks: u64,
}

impl Sizes {
    /// How many chunks so many tokens take at least.
    pub(super) fn count_for(self, tokens: u64) -> u64 {
        // The share of a chunk that is new, in percent, is what each one after the first adds.
        let new = 100 - self.overlap.min(50);
        match tokens <= self.most {
            true => 1,
            false => 1 + (tokens - self.most).saturating_mul(100).div_ceil(self.most.saturating_mul(new)),
        }
    }
}

/// The chunks that `source` needs, or `None` if those are more than there may be.
pub(super) fn chunks(source: &dyn Source, sizes: Sizes) -> Result<Option<Vec<Range<u64>>>> {
    // So many tokens are surely too many: chunks overlap, and each holds no more than `most`.
    let limit = sizes.most.saturating_mul(sizes.chunks);
    let Some(steps) = steps(source, limit, sizes.most)? else { return Ok(None) };
    let total = steps.last().map_or(0, |step| step.tokens);
    let mut count = sizes.count_for(total);
    while count <= sizes.chunks {
        let cut = cut(&steps, count, sizes);
        if fit(source, &cut, sizes.most)? {
            return Ok(Some(cut));
        }
        // Chunks that end where lines do may come out a little larger than their share.
        count += 1;
    }
    Ok(None)
}

/// The steps of a text, or `None` if it has more tokens than `limit`.
fn steps(source: &dyn Source, limit: u64, most: u64) -> Result<Option<Vec<Step>>> {
    let longest = STEP.min(usize::try_from(most / 16).unwrap_or(STEP)).max(16);
    let mut steps: Vec<Step> = Vec::new();
    let (mut at, mut total) = (0, 0);
    let more_per_line = source.tokens_more_per_line();
    let mut rest: Vec<u8> = Vec::new();
    loop {
        let block = source.read(at..at + 256 * 1024)?;
        let ended = block.is_empty();
        at += block.len() as u64;
        rest.extend_from_slice(&block);
        let start = at - rest.len() as u64;
        let mut used = 0;
        // The last step of a block may go on in the next one.
        while used < rest.len() && (ended || rest.len() - used > 2 * longest) {
            let length = step(&rest[used..], longest);
            let bytes = &rest[used..used + length];
            let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
            total += tokens::count_bytes(bytes) + lines * more_per_line;
            if total > limit {
                return Ok(None);
            }
            used += length;
            let line = rest[used - 1] == b'\n';
            steps.push(Step { end: start + used as u64, tokens: total, line });
        }
        rest.drain(..used);
        if ended {
            return Ok(Some(steps));
        }
    }
}

/// How long the step at the start of `bytes` is: as many whole lines as go into it, or a part of a longer one.
fn step(bytes: &[u8], longest: usize) -> usize {
    if bytes.len() <= longest {
        return bytes.len();
    }
    if let Some(newline) = memchr::memrchr(b'\n', &bytes[..longest]) {
        return newline + 1;
    }
    // Never inside a character.
    let back = (0..4).find(|back| bytes[longest - back] & 0xc0 != 0x80).unwrap_or(0);
    longest - back
}

/// Cuts what the steps measure into `count` chunks of about the same size.
fn cut(steps: &[Step], count: u64, sizes: Sizes) -> Vec<Range<u64>> {
    let total = steps.last().map_or(0, |step| step.tokens) as f64;
    let overlap = sizes.overlap.min(50) as f64 / 100.0;
    let size = total / (count as f64 - (count - 1) as f64 * overlap);
    let mut chunks = Vec::new();
    let mut start = 0;
    for chunk in 1..=count {
        let last = chunk == count;
        let ideal = if last { total } else { chunk as f64 * size * (1.0 - overlap) + size * overlap };
        let end = border(steps, ideal, if last { 0.0 } else { size / 10.0 });
        let end_at = end.map_or(0, |step| steps[step].end);
        if end_at > start || count == 1 {
            chunks.push(start..end_at);
        }
        let shared = end.map_or(0.0, |step| steps[step].tokens as f64) - size * overlap;
        start = border(steps, shared, size / 10.0).map_or(0, |step| steps[step].end);
    }
    chunks
}

/// The last step that ends with no more than `tokens`: one that ends a line, if there is one within `near` tokens.
fn border(steps: &[Step], tokens: f64, near: f64) -> Option<usize> {
    let behind = steps.partition_point(|step| step.tokens as f64 <= tokens + 1e-6);
    let within = |step: &&usize| tokens - steps[**step].tokens as f64 <= near;
    let candidates: Vec<usize> = (0..behind).rev().take(256).collect();
    let line = candidates.iter().take_while(within).find(|&&step| steps[step].line);
    line.or(candidates.first()).copied()
}

/// Whether every chunk as it is really sent holds to its size.
fn fit(source: &dyn Source, chunks: &[Range<u64>], most: u64) -> Result<bool> {
    for chunk in chunks {
        if tokens::count_up_to(&source.sent(chunk.clone())?, most).is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str, most: u64, overlap: u64, chunks: u64) -> Option<Vec<Range<u64>>> {
        super::chunks(&text.to_owned(), Sizes { most, overlap, chunks }).unwrap()
    }

    fn counted(text: &str, chunk: &Range<u64>) -> u64 {
        tokens::count(&text[chunk.start as usize..chunk.end as usize])
    }

    #[test]
    fn what_fits_is_one_chunk_and_what_needs_more_than_it_may_is_none() {
        let text = "one two three four\n".repeat(100);
        let total = tokens::count(&text);
        assert_eq!(of(&text, total, 10, 1), Some(vec![0..text.len() as u64]));
        assert_eq!(of(&text, total - 1, 10, 1), None);
        assert_eq!(of(&text, total - 1, 10, 2).unwrap().len(), 2);
        assert_eq!(of("", 100, 10, 1), Some(vec![0..0]));
    }

    #[test]
    fn chunks_are_balanced_overlap_by_a_tenth_and_end_with_a_line() {
        let text: String = (0..4_000).map(|line| format!("line {line} of the log says nothing\n")).collect();
        let total = tokens::count(&text);
        // Cut greedily, the fifth chunk would have a few lines only.
        let most = total / 4 + 10;
        let chunks = of(&text, most, 10, 16).unwrap();
        assert_eq!(chunks.len(), 5);
        let sizes: Vec<u64> = chunks.iter().map(|chunk| counted(&text, chunk)).collect();
        let (least, largest) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(*least * 100 > *largest * 95, "{sizes:?}");
        assert!(chunks.iter().all(|chunk| text[..chunk.end as usize].ends_with('\n')));
        for pair in chunks.windows(2) {
            let shared = counted(&text, &(pair[1].start..pair[0].end)) * 100 / sizes[0];
            assert!((9..=12).contains(&shared), "{shared}");
        }
    }

    #[test]
    fn without_overlap_chunks_follow_each_other() {
        let text: String = (0..4_000).map(|line| format!("line {line}\n")).collect();
        let chunks = of(&text, 2_000, 0, 100).unwrap();
        assert!(chunks.len() > 5);
        assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn chunks_cover_the_text_hold_their_size_and_keep_characters_whole(
            lines in proptest::collection::vec("[a-zé本 ]{0,200}", 1..60),
            ended in any::<bool>(),
            most in 60u64..800,
            overlap in 0u64..=50,
        ) {
            let text = lines.join("\n") + if ended { "\n" } else { "" };
            let chunks = of(&text, most, overlap, 10_000).unwrap();
            prop_assert_eq!(chunks[0].start, 0);
            prop_assert_eq!(chunks.last().unwrap().end, text.len() as u64);
            for chunk in &chunks {
                prop_assert!(text.is_char_boundary(chunk.start as usize) && text.is_char_boundary(chunk.end as usize));
                prop_assert!(counted(&text, chunk) <= most);
            }
            for pair in chunks.windows(2) {
                prop_assert!(pair[1].start <= pair[0].end && pair[0].end < pair[1].end);
            }
        }
    }
}
