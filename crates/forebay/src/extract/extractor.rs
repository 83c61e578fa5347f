//! Extraction from a session's outputs. Answers are recorded, and returned again for the same extraction.

use crate::event::{
    self, Event, Extracted, ExtractionCall, ExtractionFailure, FellBack, Memory, Reading, What,
};
use crate::extract::answer::{Extract, Fallback};
use crate::extract::envelope::{failed, part_of, repeated};
use crate::extract::extract;
use crate::extract::extraction::{Extraction, Mode, Models};
use crate::extract::plan::{Plan, plan};
use crate::extract::strategy::Strategy;
use crate::{Budget, Error, Output, Outputs, Result, Surface, tokens};
use serde_json::{Map, Value};
use std::ops::ControlFlow;

/// An earlier answer of models.
struct Remembered {
    strategy: Strategy,
    reading: Reading,
}

/// A failed extraction, with an explanation for the calling model.
pub(crate) struct Failed {
    error: Error,
    pub(crate) explanation: String,
}

/// A session's outputs, with the models that read them.
pub struct Extractor<'a> {
    outputs: &'a Outputs<'a>,
    models: Models<'a>,
}

impl<'a> Extractor<'a> {
    /// The outputs, read by these models.
    pub fn new(outputs: &'a Outputs<'a>, models: Models<'a>) -> Extractor<'a> {
        Extractor { outputs, models }
    }

    /// Plans the reading of an output, without asking a model to read.
    pub fn plan(&self, text: &str, wanted: &Extraction) -> Result<Plan> {
        plan(&self.outputs.open(text)?, wanted, &self.models)
    }

    /// Reads an output as an extraction wants it. An earlier answer of models to the same extraction is repeated.
    pub fn extract(
        &self,
        text: &str,
        wanted: &Extraction,
        budget: Budget,
        surface: &Surface,
    ) -> Result<Extract> {
        self.extract_recorded(text, wanted, budget, surface).map_err(|failed| failed.error)
    }

    /// The same with an explanation of a failure for the model that asked.
    pub(crate) fn extract_recorded(
        &self,
        text: &str,
        wanted: &Extraction,
        budget: Budget,
        surface: &Surface,
    ) -> std::result::Result<Extract, Failed> {
        let mut arguments = Map::new();
        arguments.insert("handle".to_owned(), text.into());
        arguments.insert("extract".to_owned(), wanted.instructions.into());
        if wanted.mode != Mode::Auto {
            arguments.insert("mode".to_owned(), wanted.mode.to_string().into());
        }
        self.extract_for(&arguments, text, wanted, budget, surface).map_err(|error| {
            let explanation = self.extraction_failed(text, wanted.mode, &arguments, &error);
            Failed { error, explanation }
        })
    }

    /// Records a call of `tool_output` that could not be answered, and returns the text for the model.
    pub(crate) fn extraction_failed(
        &self,
        handle: &str,
        mode: Mode,
        arguments: &Map<String, Value>,
        error: &Error,
    ) -> String {
        let output = self.outputs.open(handle).ok();
        let tool =
            output.as_ref().map_or("unknown tool".to_owned(), |output| output.record().call.full_name());
        let (shown, why) = (crate::handle::shown(handle), error.to_string());
        let text = failed(&tool, &shown, mode, &why);
        let failure = ExtractionFailure {
            id: output.map_or(String::new(), |output| output.record().handle.id().to_owned()),
            handle: shown,
            strategy: mode.to_string(),
            why,
            request: ExtractionCall::new((self.outputs.now)(), arguments, &text),
        };
        failure.emit();
        self.outputs.log(What::ExtractionFailed(failure));
        text
    }

    fn extract_for(
        &self,
        arguments: &Map<String, Value>,
        text: &str,
        wanted: &Extraction,
        budget: Budget,
        surface: &Surface,
    ) -> Result<Extract> {
        let began = (self.outputs.now)();
        let output = self.outputs.open(text)?.on(surface).with_bounds(self.outputs.bounds.as_ref());
        let id = output.record().handle.id().to_owned();
        let budget = self.outputs.within_room(budget);
        let (instructions, from) = part_of(wanted.instructions);
        let known = if wanted.rerun { None } else { self.remembered(&output, wanted)? };
        let answer = match known {
            Some(known) => repeated(&output, known.strategy, &known.reading, from, budget)?,
            None => extract(&output, wanted, &self.models, budget)?,
        };
        let tokens = tokens::count(&answer.text);
        self.outputs.count(tokens);
        if let Some(Fallback { from, why }) = &answer.fell_back {
            let (from, to) = (from.to_string(), answer.strategy.to_string());
            self.outputs.fell_back(FellBack { id: id.clone(), from, to, why: why.clone() });
        }
        let reading = answer.reading.clone().unwrap_or_default();
        self.outputs.log(What::ExtractionDone(Extracted {
            id,
            strategy: answer.strategy.to_string(),
            model: (!reading.models.is_empty()).then(|| reading.models.join(", ")),
            tokens_in: reading.usage.tokens_in,
            tokens_out: reading.usage.tokens_out,
            tokens,
            leniencies: reading.leniencies.clone(),
            request: Some(ExtractionCall::new(began, arguments, &answer.text)),
            // Only an answer of models is worth remembering: the others are made again at once.
            memory: (!reading.answer.is_empty()).then(|| Memory {
                instructions: instructions.to_owned(),
                mode: wanted.mode.to_string(),
                length: output.len(),
                hash: output.record().hash.clone(),
                most: (wanted.settings.max_chunks, wanted.settings.context_tokens),
                reading,
            }),
        }));
        Ok(answer)
    }

    /// Whether an earlier answer is to the same instructions over the same bytes, and the same models would read as much.
    fn is_the_same(&self, memory: &Memory, output: &Output, wanted: &Extraction) -> bool {
        let read: u64 = memory.reading.ranges.iter().map(|(start, end)| end - start).sum();
        let most = (wanted.settings.max_chunks, wanted.settings.context_tokens);
        let known = |name: &String| self.models.list.iter().any(|model| model.name() == name);
        memory.instructions == part_of(wanted.instructions).0
            && memory.mode == wanted.mode.to_string()
            && (memory.length, &memory.hash) == (output.len(), &output.record().hash)
            && (read >= output.len() || memory.most == most)
            && (self.models.list.is_empty() || memory.reading.models.iter().all(known))
    }

    /// The newest answer of models to the same extraction from the same bytes.
    fn remembered(&self, output: &Output, wanted: &Extraction) -> Result<Option<Remembered>> {
        let id = output.record().handle.id();
        let mut found = None;
        event::for_each_line(self.outputs.store, &self.outputs.session, 0, |line| {
            // Most lines are of other events and other outputs.
            let may_be = [b"extraction-done", id.as_bytes()];
            if may_be.iter().all(|part| memchr::memmem::find(line, part).is_some())
                && let Some(What::ExtractionDone(done)) = Event::parse(line).map(|event| event.what)
                && let Some(memory) = done.memory.filter(|_| done.id == id)
                && self.is_the_same(&memory, output, wanted)
            {
                let strategy = done.strategy.parse().ok();
                found = strategy.map(|strategy| Remembered { strategy, reading: memory.reading });
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}
