//! Cuts a text into chunks: as few as its tokens need, all about the same size, each sharing its beginning with the end
//! of the one before.
//!
//! A text is measured in steps: some lines together, or a part of a long one. Chunks begin and end where a step does, so
//! never inside a character, and where a line ends if one does nearby. A JSON document is measured in its records: no
//! chunk ends inside one that fits into a chunk, so that chunks need not share anything, and a line above each says
//! which records it has.

use crate::classify::json::records::records;
use crate::classify::json::records::{Records, text_border};
use crate::extract::records::{LABEL, chunk_label, level};
use crate::{Output, Result, tokens};
use std::ops::Range;
use std::sync::OnceLock;

/// Minimum tokens of a chunk: with smaller ones a reading would never end.
pub(crate) const LEAST: u64 = 64;

/// Approximate maximum bytes of a step.
const STEP: usize = 512;

/// A text that is read in parts.
pub(crate) trait Source {
    /// The bytes of `range`, as far as there are any.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>>;

    /// The text that a model is given for `range`.
    fn sent(&self, range: Range<u64>) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.read(range)?).into_owned())
    }

    /// Tokens that [`sent`](Source::sent) adds to each line.
    fn tokens_more_per_line(&self) -> u64 {
        0
    }

    /// Number of bytes.
    fn len(&self) -> u64;

    /// Positions at which the text is cut into chunks of up to `most` tokens, in order: the beginnings of records. Empty
    /// for a text that has only lines.
    fn borders(&self, most: u64) -> Result<Vec<u64>> {
        let _ = most;
        Ok(Vec::new())
    }
}

/// A whole output.
pub(crate) struct Whole<'a> {
    output: &'a Output,
    /// Records of the output, after the first search for them.
    records: OnceLock<Option<Records>>,
}

impl<'a> Whole<'a> {
    pub(crate) fn new(output: &'a Output) -> Whole<'a> {
        Whole { output, records: OnceLock::new() }
    }

    /// Percent of a chunk that is in the one before too, where lines would have it be `percent`.
    pub(crate) fn overlap(&self, percent: u64) -> u64 {
        if self.records.get().is_some_and(Option::is_some) { 0 } else { percent }
    }
}

impl Source for Whole<'_> {
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.output.read(range)
    }

    fn len(&self) -> u64 {
        self.output.len()
    }

    fn borders(&self, most: u64) -> Result<Vec<u64>> {
        let found = records(self.output, level(most))?.filter(|found| found.records.len() > 1);
        let found = self.records.get_or_init(|| found);
        let starts = found.iter().flat_map(|found| &found.records).map(|record| record.range.start);
        Ok(starts.skip(1).collect())
    }

    fn sent(&self, chunk: Range<u64>) -> Result<String> {
        let mut text = match self.records.get() {
            Some(Some(found)) => chunk_label(self.output, found, &chunk)?,
            _ => String::new(),
        };
        text.push_str(&String::from_utf8_lossy(&self.output.shown(chunk)?));
        Ok(text)
    }
}

/// An output whose lines are given with their numbers. A model that is to copy lines finds them better then.
pub(crate) struct Numbered<'a>(pub(crate) &'a Output);

impl Source for Numbered<'_> {
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.0.read(range)
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn sent(&self, range: Range<u64>) -> Result<String> {
        let first = self.0.newlines_before(range.start)? + 1;
        let text = String::from_utf8_lossy(&self.0.shown(range)?).into_owned();
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

    fn len(&self) -> u64 {
        String::len(self) as u64
    }
}

/// A step by its end.
#[derive(Clone, Copy, Debug)]
struct Step {
    end: u64,
    /// Tokens of all steps up to here.
    tokens: u64,
    /// Whether a line ends here.
    line: bool,
}

/// Size limits of chunks, and their overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Tokens of the largest chunk.
    pub(crate) most: u64,
    /// Percent of a chunk that is in the one before too.
    pub(crate) overlap: u64,
    /// Maximum number of chunks.
    pub(crate) chunks: u64,
}

impl Sizes {
    /// Minimum number of chunks for this many tokens.
    pub(crate) fn count_for(self, tokens: u64) -> u64 {
        // The share of a chunk that is new, in percent, is what each one after the first adds.
        let new = 100 - self.overlap.min(50);
        if tokens <= self.most {
            1
        } else {
            1 + (tokens - self.most).saturating_mul(100).div_ceil(self.most.saturating_mul(new))
        }
    }
}

/// The chunks that `source` needs; `None` if they exceed the maximum.
pub(crate) fn chunks(source: &dyn Source, sizes: Sizes) -> Result<Option<Vec<Range<u64>>>> {
    // More tokens are surely too many: chunks overlap, and each holds no more than `most`.
    let limit = sizes.most.saturating_mul(sizes.chunks);
    let Some(steps) = steps(source, limit, sizes.most)? else { return Ok(None) };
    let total = steps.last().map_or(0, |step| step.tokens);
    let mut count = sizes.count_for(total);
    if count > 1 {
        // The line above a chunk needs some of its room.
        let most = sizes.most.saturating_sub(LABEL.min(sizes.most / 4));
        let borders = source.borders(most)?;
        if !borders.is_empty() {
            return at_borders(source, &borders, Sizes { most, ..sizes }, sizes.most);
        }
    }
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

/// The chunks of a text that is cut only where its records begin.
fn at_borders(
    source: &dyn Source,
    borders: &[u64],
    sizes: Sizes,
    most: u64,
) -> Result<Option<Vec<Range<u64>>>> {
    let steps = record_steps(source, borders, sizes.most)?;
    let mut capacity = sizes.most;
    // Steps are counted by themselves, and together they may have a few tokens more.
    while capacity > sizes.most / 2 {
        let chunks = balanced(&steps, capacity);
        if chunks.len() as u64 > sizes.chunks {
            return Ok(None);
        }
        if fit(source, &chunks, most)? {
            return Ok(Some(chunks));
        }
        capacity = capacity * 49 / 50;
    }
    Ok(None)
}

/// Steps that end where records begin; one that is larger than a chunk is measured as text is.
fn record_steps(source: &dyn Source, borders: &[u64], most: u64) -> Result<Vec<Step>> {
    let longest = longest(most) as u64;
    let (mut steps, mut at, mut total) = (Vec::new(), 0, 0);
    let ends: Vec<u64> = borders.iter().copied().chain([source.len()]).collect();
    for (number, &end) in ends.iter().enumerate() {
        // Small records are measured together.
        if ends.get(number + 1).is_some_and(|next| next - at <= longest) || end <= at {
            continue;
        }
        let bytes = source.read(at..end)?;
        match tokens::count_up_to(&String::from_utf8_lossy(&bytes), most) {
            Some(tokens) => {
                total += tokens;
                steps.push(Step { end, tokens: total, line: true });
            }
            None => {
                let mut used = 0;
                while used < bytes.len() {
                    let length = step(&bytes[used..], longest as usize);
                    total += tokens::count_bytes(&bytes[used..used + length]);
                    used += length;
                    steps.push(Step { end: at + used as u64, tokens: total, line: false });
                }
            }
        }
        at = end;
    }
    Ok(steps)
}

/// The fewest chunks of up to `capacity` tokens each, all about the same size.
fn balanced(steps: &[Step], capacity: u64) -> Vec<Range<u64>> {
    let fewest = filled(steps, capacity).len();
    let (mut low, mut high) = (0, capacity);
    while low < high {
        let middle = (low + high) / 2;
        if filled(steps, middle).len() <= fewest { high = middle } else { low = middle + 1 }
    }
    filled(steps, high)
}

/// Chunks filled one after the other. A step that is larger than a chunk gets a separate one.
fn filled(steps: &[Step], capacity: u64) -> Vec<Range<u64>> {
    let mut chunks: Vec<Range<u64>> = Vec::new();
    let (mut full, mut before) = (0, 0);
    for step in steps {
        match chunks.last_mut() {
            Some(last) if step.tokens - full <= capacity => last.end = step.end,
            last => {
                let start = last.map_or(0, |last| last.end);
                chunks.push(start..step.end);
                full = before;
            }
        }
        before = step.tokens;
    }
    chunks
}

/// Bytes of the largest step in chunks of `most` tokens.
fn longest(most: u64) -> usize {
    STEP.min(usize::try_from(most / 16).unwrap_or(STEP)).max(16)
}

/// The steps of a text, or `None` if it has more tokens than `limit`.
fn steps(source: &dyn Source, limit: u64, most: u64) -> Result<Option<Vec<Step>>> {
    let longest = longest(most);
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

/// Bytes of the step at the start of `bytes`: as many whole lines as fit, or a part of a longer one.
fn step(bytes: &[u8], longest: usize) -> usize {
    if bytes.len() <= longest {
        return bytes.len();
    }
    if let Some(newline) = memchr::memrchr(b'\n', &bytes[..longest]) {
        return newline + 1;
    }
    text_border(bytes, longest)
}

/// Divides the steps into `count` chunks of about the same size.
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

/// Whether every chunk, in the form that is sent, fits its size.
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
    fn a_text_that_fits_is_one_chunk_and_too_many_chunks_are_none() {
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

    #[test]
    fn chunks_of_json_end_between_records_share_nothing_and_name_their_records() {
        let user = |n: u64| serde_json::json!({"id": n, "name": format!("user{n}"), "tags": ["a", "b"]});
        let users: Vec<_> = (0..900).map(user).collect();
        for text in [
            serde_json::json!({"page": 1, "users": users}).to_string(),
            format!("{:#}", serde_json::json!({"page": 1, "users": users})),
            users.iter().map(|user| format!("{user}\n")).collect(),
        ] {
            let output = crate::store::memory::output_of(text.as_bytes());
            let source = Whole::new(&output);
            let sizes = Sizes { most: 3_000, overlap: 10, chunks: 100 };
            let chunks = super::chunks(&source, sizes).unwrap().unwrap();
            assert!(chunks.len() > 5);
            assert_eq!(source.overlap(10), 0);
            assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((chunks[0].start, chunks[chunks.len() - 1].end), (0, text.len() as u64));
            for chunk in &chunks[1..] {
                let sent = source.sent(chunk.clone()).unwrap();
                assert!(tokens::count(&sent) <= 3_000);
                let (label, rest) = sent.split_once('\n').unwrap();
                assert!(label.starts_with("[records ") && label.contains(" of 900"), "{label}");
                // The first record of a chunk is whole, and is the one that the label names.
                let values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
                let first = values.into_iter().next().unwrap().unwrap();
                let number = first["id"].as_u64().unwrap() + 1;
                assert!(label.starts_with(&format!("[records {number}–")), "{label} {first}");
            }
        }
    }

    #[test]
    fn one_long_line_that_is_not_json_is_cut_after_punctuation() {
        let text: String = (0..3_000).map(|n| format!("function f{n}(a,b){{return a+b}};")).collect();
        let chunks = of(&text, 2_000, 0, 100).unwrap();
        assert!(chunks.len() > 5);
        let ends = |chunk: &Range<u64>| text[..chunk.end as usize].ends_with([';', '}']);
        assert!(chunks.iter().all(ends));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_chunk_ends_inside_a_record_that_fits_into_a_chunk(
            sizes in proptest::collection::vec(0usize..200, 2..80),
            most in 300u64..900,
            pretty in any::<bool>(),
        ) {
            let items: Vec<_> = sizes.iter().map(|words| serde_json::json!({"t": "word ".repeat(*words)})).collect();
            let document = serde_json::json!({"list": items});
            let text = if pretty { format!("{document:#}") } else { document.to_string() };
            let output = crate::store::memory::output_of(text.as_bytes());
            let source = Whole::new(&output);
            let chunks = super::chunks(&source, Sizes { most, overlap: 10, chunks: 10_000 }).unwrap().unwrap();
            prop_assert_eq!((chunks[0].start, chunks[chunks.len() - 1].end), (0, text.len() as u64));
            prop_assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
            for chunk in &chunks[1..] {
                prop_assert!(text[chunk.start as usize..].starts_with('{'), "{}", &text[chunk.start as usize..]);
            }
            for chunk in &chunks {
                prop_assert!(tokens::count(&source.sent(chunk.clone()).unwrap()) <= most);
            }
        }

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
