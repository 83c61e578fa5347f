//! The strategy `full-chunked`: a model reads every chunk, and one answer is made of what it found in each.
//!
//! A reading that the caller forces is whole, or fails before the first call where it needs more calls of a model than
//! `extract.max_calls`. Otherwise an output that needs more chunks than `extract.max_chunks` is narrowed first, to the
//! parts that match the instructions.

use crate::extract::answer::{Findings, How};
use crate::extract::asking::{Asking, Done, Failure, PartReport, Question, in_parallel};
use crate::extract::chunks::{LEAST, Numbered, Sizes, Source, Whole, chunks};
use crate::extract::copied;
use crate::extract::extraction::Progress;
use crate::extract::narrowed::narrowed;
use crate::extract::prompts::Prompts;
use crate::extract::wrapper::{NOTHING_FOUND, Report};
use crate::query::Found;
use crate::settings::Extract as Settings;
use crate::text::count::grouped;
use crate::{Budget, Output, Query, Result, excerpt, tokens};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Tokens that a wire adds to a request: roles, brackets, field names.
const FRAMING: u64 = 64;

/// Maximum tokens of the label before a part.
const LABEL: u64 = 32;

/// The largest number of a chunk that a prompt leaves room for.
const LAST_CHUNK: usize = 999_999;

/// Maximum bytes of an output that is cut into chunks only to count them. Larger ones would take seconds.
const COUNTED: u64 = 16 * 1024 * 1024;

/// Tokens of the passages that are read first. `ask` shows 81 % of the answers in 1,000.
const FIRST: u64 = 1_000;

/// Maximum tokens of the lines that are named again behind a chunk.
const LIKELY: u64 = 300;

/// Reading in chunks of one output.
pub(crate) struct Chunked<'a> {
    pub(crate) output: &'a Output,
    pub(crate) asking: &'a Asking<'a>,
    pub(crate) prompts: &'a Prompts<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
    /// Whether the output is read whole or not at all.
    pub(crate) whole: bool,
    /// Whether lines have their numbers, if there is room for them. Long lines have none.
    pub(crate) numbered: bool,
    /// The output without numbers.
    pub(crate) unnumbered: Whole<'a>,
}

/// Cost of a reading, as it is planned.
pub(crate) struct Cost {
    /// Chunks that would be read.
    pub(crate) chunks: u64,
    /// Tokens that would be sent for them.
    pub(crate) tokens: u64,
}

/// The chunks of an output.
pub(crate) struct Cut {
    pub(crate) chunks: Vec<Range<u64>>,
    overlap: u64,
    numbered: bool,
}

impl Chunked<'_> {
    /// Size limits of the chunks of this extraction.
    pub(crate) fn sizes(&self) -> Result<Sizes, Failure> {
        // Several chunks need one more call, which makes one answer of theirs.
        let by_calls = self.settings.max_calls.saturating_sub(1).max(1);
        let chunks = if self.whole { by_calls } else { self.settings.max_chunks.clamp(1, by_calls) };
        let overlap = self.settings.overlap_percent;
        let prompt = tokens::count(&self.prompts.map(LAST_CHUNK, LAST_CHUNK, overlap))
            .max(tokens::count(&self.prompts.map(1, 1, overlap)))
            + tokens::count(&self.prompts.behind_chunk(true, ""));
        let prompt = prompt + if self.names_likely_lines() { LIKELY } else { 0 };
        let (context, reserve) = (self.asking.window.context, self.asking.window.answer);
        let most = context.saturating_sub(reserve).saturating_sub(prompt + FRAMING);
        if most < LEAST {
            Err(Failure::Failed(format!(
                "a context of {context} tokens less {reserve} for the answer and {prompt} for the instructions leaves nothing for the output (extract.context_tokens)"
            )))
        } else {
            Ok(Sizes { most, overlap, chunks })
        }
    }

    /// Chunks of the whole output; `None` if there are more than allowed.
    pub(crate) fn cut(&self) -> Result<Option<Cut>, Failure> {
        let sizes = self.sizes()?;
        // Numbers are worth little where they alone make it too long, and chunks of JSON are cut between records.
        let is_json = crate::query::is_json(self.output)?;
        for numbered in [true, false].into_iter().filter(|numbered| self.numbered || !numbered) {
            let chunks = self.whole_output(numbered, |source| chunks(source, sizes))?;
            let Some(chunks) = chunks.filter(|chunks| chunks.len() == 1 || !(numbered && is_json)) else {
                continue;
            };
            let overlap = if numbered { sizes.overlap } else { self.unnumbered.overlap(sizes.overlap) };
            return Ok(Some(Cut { chunks, overlap, numbered }));
        }
        Ok(None)
    }

    /// Whether lines that match the instructions are repeated after a chunk. A small model overlooks in 3,000 tokens
    /// what it finds in 300; other models do not need this.
    fn names_likely_lines(&self) -> bool {
        self.asking.window.is_small && self.numbered
    }

    /// The lines that match the instructions, in their order, for all chunks.
    fn likely_lines(&self, cut: &Cut) -> Result<Vec<Range<u64>>> {
        if !self.names_likely_lines() || !cut.numbered {
            return Ok(Vec::new());
        }
        let tokens = LIKELY.saturating_mul(cut.chunks.len().min(8) as u64);
        let budget = Budget { tokens, bytes: u64::MAX, lines: None };
        match excerpt(self.output, &Query::Ask(self.prompts.instructions.to_owned()), budget) {
            Ok(found) => Ok(crate::extract::provenance::joined(found.shown)),
            Err(crate::Error::BadQuery(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The likely lines of a chunk, as they are named behind it; empty if the chunk is little more than these lines.
    fn likely_in(
        &self,
        source: &(dyn Source + Sync),
        chunk: &Range<u64>,
        likely: &[Range<u64>],
        document: &str,
    ) -> Result<String> {
        let (mut text, mut used) = (String::new(), 0);
        for range in likely {
            let within = range.start.max(chunk.start)..range.end.min(chunk.end);
            if within.is_empty() {
                continue;
            }
            for line in source.sent(within)?.split_inclusive('\n') {
                used += tokens::count(line);
                if used <= LIKELY {
                    text.push_str(line);
                }
            }
        }
        Ok(if text.len() * 3 > document.len() { String::new() } else { text })
    }

    /// Does something with the output in the form in which it is read.
    fn whole_output<T>(&self, numbered: bool, work: impl FnOnce(&(dyn Source + Sync)) -> T) -> T {
        if numbered { work(&Numbered(self.output)) } else { work(&self.unnumbered) }
    }

    /// Reads the output.
    pub(crate) fn read(&self) -> Done {
        match self.cut()? {
            Some(cut) => self.read_whole(&cut),
            None => self.read_parts(),
        }
    }

    /// Reads all chunks of the output.
    pub(crate) fn read_whole(&self, cut: &Cut) -> Done {
        let text = self.whole_output(cut.numbered, |source| self.map_and_reduce(source, cut))?;
        let how = How::Chunks(cut.chunks.len() as u64);
        Ok(Findings { text, ranges: vec![0..self.output.len()], how })
    }

    /// Reads the parts of an output that needs more chunks than there may be.
    pub(crate) fn read_parts(&self) -> Done {
        let sizes = self.sizes()?;
        if self.whole {
            return Err(self.too_many_calls(sizes)?);
        }
        // The chosen parts are printed with their places, which take some of the room.
        let mut room = sizes.most.saturating_mul(sizes.chunks) / 100 * 95;
        loop {
            let narrowed = narrowed(self.output, self.prompts.instructions, room)?;
            let sizes = Sizes { overlap: 0, ..sizes };
            if let Some(chunks) = chunks(&narrowed, sizes)? {
                let cut = Cut { chunks, overlap: 0, numbered: false };
                let text = self.map_and_reduce(&narrowed, &cut)?;
                let how = How::Narrowed { chunks: cut.chunks.len() as u64, by: narrowed.by };
                return Ok(Findings { text, ranges: narrowed.ranges, how });
            }
            if room < LEAST {
                return Err(Failure::Failed(format!("{} tokens for a chunk are too few", sizes.most)));
            }
            room = room * 9 / 10;
        }
    }

    /// The cost of reading these chunks, or the parts of an output that needs too many.
    pub(crate) fn cost(&self, cut: Option<Cut>) -> Result<Cost, Failure> {
        let sizes = self.sizes()?;
        let prompt = tokens::count(&self.prompts.map(1, 1, sizes.overlap))
            + tokens::count(&self.prompts.behind_chunk(true, ""));
        let Some(Cut { chunks, numbered, .. }) = cut else {
            if self.whole {
                return Err(self.too_many_calls(sizes)?);
            }
            let most = sizes.most.saturating_mul(sizes.chunks);
            let tokens = most + prompt.saturating_mul(sizes.chunks);
            return Ok(Cost { chunks: sizes.chunks, tokens });
        };
        let count = chunks.len() as u64;
        let mut sent = prompt * count;
        for chunk in chunks {
            sent +=
                self.whole_output(numbered, |source| Ok::<_, Failure>(tokens::count(&source.sent(chunk)?)))?;
        }
        // The reports go into one more request, each at most as long as an answer may be.
        let reduced = if count > 1 { prompt } else { 0 };
        Ok(Cost { chunks: count, tokens: sent + reduced })
    }

    /// The failure of a whole reading that needs more calls than are allowed.
    fn too_many_calls(&self, sizes: Sizes) -> Result<Failure> {
        Ok(Failure::Failed(format!(
            "reading all of it takes {} calls of a model, and extract.max_calls is {}",
            self.calls_needed(sizes)?,
            self.settings.max_calls
        )))
    }

    /// Reads the passages that match the instructions, if one line that the model copies from them is really there:
    /// then a small model need not read everything. Instructions that ask for all of something need everything.
    pub(crate) fn passages_first(&self) -> Result<Option<Findings>, Failure> {
        if !self.numbered || wants_everything(self.prompts.instructions) {
            return Ok(None);
        }
        let budget = Budget { tokens: FIRST.min(self.sizes()?.most), bytes: u64::MAX, lines: None };
        let found = excerpt(self.output, &Query::Ask(self.prompts.instructions.to_owned()), budget)?;
        if matches!(&found.found, Found::Passages(passages) if passages.is_empty()) {
            return Ok(None);
        }
        (self.progress)(Progress::Passages);
        let document = String::from_utf8_lossy(&found.text).into_owned();
        let request = self.prompts.behind_chunk(false, "");
        let question = Question { document: &document, request: &request };
        let text = match self.asking.answer(&self.prompts.map(1, 1, 0), question) {
            Ok(text) => text,
            Err(Failure::Failed(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let copied = copied::copied(&document, Report { text: text.clone(), leniencies: Vec::new() });
        let is_answer = !text.starts_with(NOTHING_FOUND) && copied.is_some();
        Ok(is_answer.then_some(Findings { text, ranges: found.shown, how: How::Passages }))
    }

    /// Calls of a model for a whole reading: one for each chunk, and one that makes one answer of the reports.
    fn calls_needed(&self, sizes: Sizes) -> Result<String> {
        if self.output.len() <= COUNTED
            && let Some(chunks) =
                self.whole_output(false, |source| chunks(source, Sizes { chunks: u64::MAX, ..sizes }))?
        {
            return Ok(grouped(chunks.len() as u64 + 1));
        }
        let (tokens, _) = self.output.tokens()?;
        Ok(format!("about {}", grouped(sizes.count_for(tokens) + 1)))
    }

    fn map_and_reduce(&self, source: &(dyn Source + Sync), cut: &Cut) -> Result<String, Failure> {
        let Cut { chunks: parts, overlap, numbered } = cut;
        let (of, done, tokens) = (parts.len(), AtomicUsize::new(0), AtomicU64::new(0));
        let report = || {
            let (done, tokens) = (done.load(Ordering::Relaxed), tokens.load(Ordering::Relaxed));
            (self.progress)(Progress::Chunks { done, of, tokens });
        };
        report();
        let likely = self.likely_lines(cut)?;
        let abandoned = &self.asking.abandoned;
        let texts = in_parallel(parts, self.asking.window.at_once, abandoned, |index, part| {
            let system = self.prompts.map(index + 1, of, *overlap);
            let document = source.sent(part.clone())?;
            let likely = self.likely_in(source, part, &likely, &document)?;
            let request = self.prompts.behind_chunk(*numbered, &likely);
            let question = Question { document: &document, request: &request };
            let answer = self.asking.answer(&system, question).map_err(|failure| match failure {
                Failure::Failed(why) if of > 1 => {
                    Failure::Failed(format!("chunk {} of {of}: {why}", index + 1))
                }
                failure => failure,
            })?;
            done.fetch_add(1, Ordering::Relaxed);
            tokens.fetch_add(tokens::count(&document), Ordering::Relaxed);
            report();
            Ok(answer)
        });
        let texts = texts.map_err(|interrupted| match interrupted.failure {
            Failure::Stopped { why, .. } => Failure::Stopped { why, parts: interrupted.done },
            failure => failure,
        })?;
        match <[String; 1]>::try_from(texts) {
            Ok([text]) => Ok(text),
            Err(texts) => self.reduce(texts),
        }
    }

    /// Makes one answer of many, in levels where they do not fit into one context. Parts in which nothing was found are
    /// left out if something was found elsewhere. A synthesis that fails does not lose what was found.
    fn reduce(&self, texts: Vec<String>) -> Result<String, Failure> {
        let found: Vec<String> =
            texts.iter().filter(|text| !text.starts_with(NOTHING_FOUND)).cloned().collect();
        let texts = if found.is_empty() { texts } else { found };
        if let [only] = texts.as_slice() {
            return Ok(only.clone());
        }
        match self.reduce_in_levels(texts.clone()) {
            Err(Failure::Failed(why)) => {
                Ok(format!("{}[not made into one answer: {why}]", self.joined(&texts)))
            }
            Err(Failure::Stopped { why, .. }) => {
                let parts = texts.into_iter().enumerate();
                let parts = parts.map(|(index, report)| PartReport { index, report }).collect();
                Err(Failure::Stopped { why, parts })
            }
            done => done,
        }
    }

    fn reduce_in_levels(&self, mut texts: Vec<String>) -> Result<String, Failure> {
        let prompt =
            tokens::count(&self.prompts.reduce("", true)) + tokens::count(&self.prompts.behind_parts());
        let window = self.asking.window;
        let room = window.context.saturating_sub(window.answer).saturating_sub(prompt + FRAMING);
        loop {
            let groups = grouped_within(&texts, room);
            (self.progress)(Progress::Reducing { parts: texts.len() });
            if let [_] = groups.as_slice() {
                return self.reduced(&texts, true);
            }
            if groups.len() == texts.len() {
                return Err(Failure::Failed(format!(
                    "what {} chunks gave cannot be read together in a context of {} tokens (extract.context_tokens)",
                    texts.len(),
                    window.context
                )));
            }
            let abandoned = &self.asking.abandoned;
            texts = in_parallel(&groups, window.at_once, abandoned, |_, group| match &texts[group.clone()] {
                [alone] => Ok(alone.clone()),
                group => self.reduced(group, false),
            })
            .map_err(|interrupted| interrupted.failure)?;
        }
    }

    /// The answers of several chunks as one text.
    fn joined(&self, texts: &[String]) -> String {
        let label = |index: usize| self.asking.wrapper.label(index + 1, texts.len());
        texts.iter().enumerate().map(|(index, text)| format!("{}\n{text}\n", label(index))).collect()
    }

    fn reduced(&self, texts: &[String], last: bool) -> Result<String, Failure> {
        let parts = self.joined(texts);
        let system = self.prompts.reduce(&parts, last);
        let request = self.prompts.behind_parts();
        let question = Question { document: "", request: &request };
        self.asking.answer(&system, question).map_err(|failure| match failure {
            Failure::Failed(why) => Failure::Failed(format!("reducing {} parts: {why}", texts.len())),
            failure => failure,
        })
    }
}

/// Whether instructions ask for all of something, so that a part of the output cannot answer them.
fn wants_everything(instructions: &str) -> bool {
    const WORDS: [&str; 18] = [
        "all",
        "any",
        "average",
        "compare",
        "complete",
        "count",
        "each",
        "entire",
        "every",
        "full",
        "list",
        "many",
        "most",
        "number",
        "overview",
        "summarize",
        "summary",
        "total",
    ];
    let is_one = |word: &str| WORDS.contains(&word.to_lowercase().as_str());
    instructions.split(|c: char| !c.is_alphanumeric()).any(is_one)
}

/// Groups adjacent texts that fit `room` tokens together.
fn grouped_within(texts: &[String], room: u64) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    for (index, text) in texts.iter().enumerate() {
        let cost = tokens::count(text) + LABEL;
        match groups.last_mut() {
            Some(group) if used + cost <= room => {
                group.end = index + 1;
                used += cost;
            }
            _ => {
                groups.push(index..index + 1);
                used = cost;
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_read_together_as_far_as_they_fit() {
        let texts: Vec<String> = [10, 10, 50, 200, 10].map(|words| "word ".repeat(words)).to_vec();
        assert_eq!(grouped_within(&texts, 1_000), [0..5]);
        assert_eq!(grouped_within(&texts, 180), [0..3, 3..4, 4..5]);
        assert_eq!(grouped_within(&texts, 1), [0..1, 1..2, 2..3, 3..4, 4..5]);
    }
}
