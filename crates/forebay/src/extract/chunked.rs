//! The strategy `full-chunked`: a model reads every chunk, and one answer is made of what it found in each.
//!
//! A reading that the caller forces is whole, or fails before the first call where it needs more calls of a model than
//! `extract.max_calls`. Otherwise an output that needs more chunks than `extract.max_chunks` is narrowed first, to the
//! parts that match the instructions.

use super::asking::{Asking, Failure, in_parallel};
use super::chunks::{Sizes, Source, chunks};
use super::narrowed::narrowed;
use super::prompts::Prompts;
use super::{Progress, Read};
use crate::settings::Extract as Settings;
use crate::view::grouped;
use crate::{Output, Result, tokens};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a wire adds to the texts that are sent: roles, brackets, field names.
const FRAMING: u64 = 64;

/// What stands before a part has so many tokens at most.
const LABEL: u64 = 32;

/// The largest number of a chunk that a prompt leaves room for.
const LAST_CHUNK: usize = 999_999;

/// Outputs of more bytes than this are not cut into chunks only to count them: that would take seconds.
const COUNTED: u64 = 16 * 1024 * 1024;

/// With fewer tokens than this for a chunk, reading would never end.
pub(super) const LEAST: u64 = 64;

/// What the models of one extraction are given.
pub(super) struct Chunked<'a> {
    pub(super) output: &'a Output,
    pub(super) asking: &'a Asking<'a>,
    pub(super) prompts: &'a Prompts<'a>,
    pub(super) settings: &'a Settings,
    pub(super) progress: &'a (dyn Fn(Progress) + Sync),
    /// Whether the output is read whole or not at all.
    pub(super) whole: bool,
}

impl Chunked<'_> {
    /// How large the chunks of this extraction may be.
    pub(super) fn sizes(&self) -> std::result::Result<Sizes, Failure> {
        // Several chunks need one more call, which makes one answer of theirs.
        let by_calls = self.settings.max_calls.saturating_sub(1).max(1);
        let chunks = match self.whole {
            true => by_calls,
            false => self.settings.max_chunks.clamp(1, by_calls),
        };
        let overlap = self.settings.overlap_percent;
        let prompt = tokens::count(&self.prompts.map(LAST_CHUNK, LAST_CHUNK, overlap))
            .max(tokens::count(&self.prompts.map(1, 1, overlap)));
        let (context, reserve) = (self.settings.context_tokens, self.settings.output_tokens);
        let most = context.saturating_sub(reserve).saturating_sub(prompt + FRAMING);
        match most < LEAST {
            true => Err(Failure::Failed(format!(
                "a context of {context} tokens less {reserve} for the answer and {prompt} for the instructions leaves nothing for the output (extract.context_tokens)"
            ))),
            false => Ok(Sizes { most, overlap, chunks }),
        }
    }

    /// Whether the whole output fits into as many chunks as there may be.
    pub(super) fn fits(&self) -> std::result::Result<bool, Failure> {
        Ok(chunks(self.output, self.sizes()?)?.is_some())
    }

    /// Reads the output.
    pub(super) fn read(&self) -> std::result::Result<(String, Read), Failure> {
        let sizes = self.sizes()?;
        if let Some(whole) = chunks(self.output, sizes)? {
            let text = self.map_and_reduce(self.output, &whole, sizes.overlap)?;
            let all = vec![0..self.output.len()];
            return Ok((text, Read { ranges: all, how: super::How::Chunks(whole.len() as u64) }));
        }
        if self.whole {
            return Err(Failure::Failed(format!(
                "reading all of it takes {} calls of a model, and extract.max_calls is {}",
                self.calls_needed(sizes)?,
                self.settings.max_calls
            )));
        }
        // What is chosen is printed with where it stands, which takes some of the room.
        let mut room = sizes.most.saturating_mul(sizes.chunks) / 100 * 95;
        loop {
            let narrowed = narrowed(self.output, self.prompts.instructions, room)?;
            let sizes = Sizes { overlap: 0, ..sizes };
            if let Some(parts) = chunks(&narrowed.text, sizes)? {
                let text = self.map_and_reduce(&narrowed.text, &parts, 0)?;
                let how = super::How::Narrowed { chunks: parts.len() as u64, by_words: narrowed.by_words };
                return Ok((text, Read { ranges: narrowed.ranges, how }));
            }
            if room < LEAST {
                return Err(Failure::Failed(format!("{} tokens for a chunk are too few", sizes.most)));
            }
            room = room * 9 / 10;
        }
    }

    /// How many calls of a model a whole reading takes: one for each chunk, and one that makes one answer of theirs.
    fn calls_needed(&self, sizes: Sizes) -> Result<String> {
        if self.output.len() <= COUNTED
            && let Some(chunks) = chunks(self.output, Sizes { chunks: u64::MAX, ..sizes })?
        {
            return Ok(grouped(chunks.len() as u64 + 1));
        }
        let (tokens, _) = self.output.tokens()?;
        Ok(format!("about {}", grouped(sizes.count_for(tokens) + 1)))
    }

    fn map_and_reduce(
        &self,
        source: &(dyn Source + Sync),
        parts: &[Range<u64>],
        overlap: u64,
    ) -> std::result::Result<String, Failure> {
        let (count, done) = (parts.len(), AtomicUsize::new(0));
        let told = || (self.progress)(Progress::Chunks { done: done.load(Ordering::Relaxed), of: count });
        told();
        let texts = in_parallel(parts, self.settings.parallel, &self.asking.abandoned, |index, part| {
            let system = self.prompts.map(index + 1, count, overlap);
            let text = source.read(part.clone())?;
            let answer =
                self.asking.answer(&system, &String::from_utf8_lossy(&text)).map_err(
                    |failure| match failure {
                        Failure::Failed(why) if count > 1 => {
                            Failure::Failed(format!("chunk {} of {count}: {why}", index + 1))
                        }
                        failure => failure,
                    },
                )?;
            done.fetch_add(1, Ordering::Relaxed);
            told();
            Ok(answer)
        })?;
        match <[String; 1]>::try_from(texts) {
            Ok([text]) => Ok(text),
            Err(texts) => self.reduce(texts),
        }
    }

    /// Makes one answer of many, in levels where they do not fit into one context.
    fn reduce(&self, mut texts: Vec<String>) -> std::result::Result<String, Failure> {
        let prompt = tokens::count(&self.prompts.reduce("", true)) + FRAMING;
        let reserve = self.settings.output_tokens;
        let room = self.settings.context_tokens.saturating_sub(reserve).saturating_sub(prompt);
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
                    self.settings.context_tokens
                )));
            }
            let abandoned = &self.asking.abandoned;
            texts = in_parallel(&groups, self.settings.parallel, abandoned, |_, group| {
                match &texts[group.clone()] {
                    [alone] => Ok(alone.clone()),
                    group => self.reduced(group, false),
                }
            })?;
        }
    }

    /// The answers of several chunks as one text.
    fn joined(&self, texts: &[String]) -> String {
        let label = |index: usize| self.asking.wrapper.label(index + 1, texts.len());
        texts.iter().enumerate().map(|(index, text)| format!("{}\n{text}\n", label(index))).collect()
    }

    fn reduced(&self, texts: &[String], last: bool) -> std::result::Result<String, Failure> {
        let system = self.prompts.reduce(&self.joined(texts), last);
        let answer = self.asking.answer(&system, "Synthesize the chunk outputs into one final answer.");
        answer.map_err(|failure| match failure {
            Failure::Failed(why) => Failure::Failed(format!("reducing {} parts: {why}", texts.len())),
            failure => failure,
        })
    }
}

/// Neighbours that can be read together, so many as fit.
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
