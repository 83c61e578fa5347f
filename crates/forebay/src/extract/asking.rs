//! Asking models in their order, until one gives a whole answer; and what all of that cost.

use super::wrapper::Wrapper;
use crate::model::{Message, Model, ModelError, Prompt, Said, Usage};
use crate::{Error, wire::Tool};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// How often a model is asked the same before the next one is.
const ATTEMPTS: usize = 2;

/// Why a strategy gave nothing.
#[derive(Debug)]
pub(super) enum Failure {
    /// It could not be carried out: another strategy may.
    Failed(String),
    /// Nobody waits any more.
    Stopped(String),
    /// The output could not be read.
    Broken(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Broken(error)
    }
}

/// What was asked of models so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) usage: Usage,
    /// How often a model was asked, answers that were of no use included.
    pub(super) asked: u64,
    /// Those whose answers were used.
    pub(super) models: Vec<String>,
}

/// The models of one extraction.
pub(super) struct Asking<'a> {
    pub(super) models: &'a [&'a dyn Model],
    pub(super) wrapper: &'a Wrapper,
    pub(super) max_output: u64,
    /// Guards what is added up by maps that run at once.
    pub(super) spent: Mutex<Spent>,
    /// Whether one of several that run at once has failed, so that nobody waits for the others.
    pub(super) abandoned: AtomicBool,
}

/// A report may have so many bytes for each token that it may have.
const TOKEN: usize = 16;

impl Asking<'_> {
    /// The answer to one message.
    pub(super) fn answer(&self, system: &str, text: &str) -> Result<String, Failure> {
        let messages = [Message::User(text.to_owned())];
        self.of_each(ATTEMPTS, |model| {
            let said = self.said(model, system, &messages, &[], false)?;
            self.report(model, &said)
        })
    }

    /// The report in what a model said.
    pub(super) fn report(&self, model: &dyn Model, said: &Said) -> Result<String, Refusal> {
        let useless = |why: String| Refusal::Useless(model.name().to_owned(), why);
        let report = self.wrapper.answer(said).map_err(useless)?;
        let most = usize::try_from(self.max_output).unwrap_or(usize::MAX).saturating_mul(TOKEN);
        match report.len() > most {
            true => Err(useless(format!(
                "its answer is longer than the {} tokens that it may have",
                self.max_output
            ))),
            false => Ok(report),
        }
    }

    /// Has models `attempt` something in their order. An attempt is made again where that may help.
    pub(super) fn of_each<T>(
        &self,
        attempts: usize,
        attempt: impl Fn(&dyn Model) -> Result<T, Refusal>,
    ) -> Result<T, Failure> {
        let mut causes: Vec<String> = Vec::new();
        for model in self.models {
            for _ in 0..attempts {
                match attempt(*model) {
                    Ok(answer) => {
                        self.used(model.name());
                        return Ok(answer);
                    }
                    Err(Refusal::Model(ModelError::Stopped(why))) => return Err(Failure::Stopped(why)),
                    Err(Refusal::Broken(error)) => return Err(Failure::Broken(error)),
                    Err(Refusal::Model(ModelError::Lasting(why) | ModelError::TooLong { why, .. })) => {
                        causes.push(format!("{}: {why}", model.name()));
                        break;
                    }
                    Err(Refusal::Model(ModelError::Passing(why))) => {
                        causes.push(format!("{}: {why}", model.name()));
                    }
                    Err(Refusal::Useless(model, why)) => causes.push(format!("{model}: {why}")),
                }
            }
        }
        causes.dedup();
        Err(Failure::Failed(causes.join("; ")))
    }

    /// What a model says; its cost is added up.
    pub(super) fn said(
        &self,
        model: &dyn Model,
        system: &str,
        messages: &[Message],
        tools: &[Tool],
        may_call: bool,
    ) -> Result<Said, Refusal> {
        let prompt = Prompt {
            system,
            messages,
            tools,
            may_call,
            max_output: self.max_output,
            abandoned: &self.abandoned,
        };
        let said = model.answer(&prompt);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.asked += 1;
        said.inspect(|said| spent.usage += said.usage).map_err(Refusal::Model)
    }

    fn used(&self, model: &str) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if !spent.models.iter().any(|known| known == model) {
            spent.models.push(model.to_owned());
        }
    }

    pub(super) fn spent(&self) -> Spent {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why one attempt gave nothing.
pub(super) enum Refusal {
    Model(ModelError),
    /// The model's name, and what was wrong with what it said.
    Useless(String, String),
    Broken(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Broken(error)
    }
}

/// Does `work` for each of `items`, `at_once` at a time, and gives the results in their order. After one fails, no
/// other is begun, and `abandoned` tells those that run.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    at_once: u64,
    abandoned: &AtomicBool,
    work: impl Fn(usize, &T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<R, Failure>)>> = Mutex::default();
    let worker = || {
        while !abandoned.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = work(index, item);
            abandoned.fetch_or(result.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    let workers = usize::try_from(at_once).unwrap_or(usize::MAX).clamp(1, items.len().max(1));
    crate::threads::in_up_to(workers, worker);
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    // What was abandoned says nothing of why.
    let stopped = |result: &Result<R, Failure>| matches!(result, Err(Failure::Stopped(_)));
    done.sort_by_key(|(index, result)| (stopped(result), *index));
    done.into_iter().map(|(_, result)| result).collect()
}
