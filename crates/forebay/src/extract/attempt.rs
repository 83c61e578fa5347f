//! One attempt to read an output with models: the strategy that the mode and the output call for.

use crate::extract::asking::{Asking, Done, Failure};
use crate::extract::chunked::Chunked;
use crate::extract::chunks::Whole;
use crate::extract::extraction::{Extraction, Mode, Models};
use crate::extract::prompts::Prompts;
use crate::extract::read_grep::ReadGrep;
use crate::model::{Model, ToolCalls};
use crate::{Output, Result, Surface};

/// One attempt, with the window that is known now.
pub(crate) struct Attempt<'a> {
    pub(crate) output: &'a Output,
    pub(crate) wanted: &'a Extraction<'a>,
    pub(crate) models: &'a Models<'a>,
    pub(crate) prompts: &'a Prompts<'a>,
    pub(crate) asking: &'a Asking<'a>,
}

impl Attempt<'_> {
    /// Reads the output in the given mode, and returns the mode that was actually used.
    pub(crate) fn read(&self) -> Result<(Mode, Done)> {
        let (mode, has_long_lines) = (self.wanted.mode, self.has_long_lines()?);
        let chunked = self.chunked(has_long_lines, mode == Mode::FullChunked);
        match mode {
            Mode::Auto => {
                let cut = match chunked.cut() {
                    Ok(Some(cut)) => return Ok((Mode::FullChunked, chunked.read_whole(&cut))),
                    cut => cut.map(|_| ()),
                };
                let first = if self.asking.window.is_small {
                    cut.and_then(|()| chunked.passages_first())
                } else {
                    cut.map(|()| None)
                };
                match first {
                    Ok(Some(done)) => Ok((Mode::FullChunked, Ok(done))),
                    Ok(None) if has_long_lines => Ok((Mode::FullChunked, chunked.read_parts())),
                    Ok(None) => self.read_grep(has_long_lines),
                    Err(failure) => Ok((Mode::FullChunked, Err(failure))),
                }
            }
            Mode::ReadGrep => self.read_grep(has_long_lines),
            Mode::FullChunked | Mode::Truncate => Ok((Mode::FullChunked, chunked.read())),
        }
    }

    /// Whether the lines are too long on average to be searched line by line.
    pub(crate) fn has_long_lines(&self) -> Result<bool> {
        let most = self.wanted.settings.avg_line_bytes.saturating_mul(self.output.lines()?.max(1));
        Ok(self.output.len() > most)
    }

    pub(crate) fn chunked(&self, has_long_lines: bool, whole: bool) -> Chunked<'_> {
        Chunked {
            output: self.output,
            asking: self.asking,
            prompts: self.prompts,
            settings: self.wanted.settings,
            progress: self.models.progress,
            whole,
            numbered: !has_long_lines,
            unnumbered: Whole::new(self.output),
        }
    }

    /// Has models read and search. If that fails and none of them has native tool calls, they read chunks.
    fn read_grep(&self, has_long_lines: bool) -> Result<(Mode, Done)> {
        let file = self.output.clone().on(&Surface::Files);
        let settings = self.wanted.settings;
        let read = ReadGrep::new(&file, self.asking, self.prompts, settings, self.models.progress).read();
        let native = |model: &&dyn Model| model.tool_calls() == ToolCalls::Native;
        match read {
            Err(Failure::Failed(_)) if !self.models.list.iter().any(native) => {
                Ok((Mode::FullChunked, self.chunked(has_long_lines, false).read()))
            }
            read => Ok((Mode::ReadGrep, read)),
        }
    }
}
