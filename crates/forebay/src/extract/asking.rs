//! Asking models in their order, until one gives a usable report; and what all of that cost.

use crate::event::Usage;
use crate::extract::quotes;
use crate::extract::window::{Overflow, Window};
use crate::extract::wrapper::{Leniency, Report, Unusable, Wrapper};
use crate::model::{Message, Model, ModelError, Prompt, Said};
use crate::wire::Tool;
use crate::{Error, tokens};
use std::collections::BTreeMap;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// How often a model is asked the same before the next one is.
const ATTEMPTS: usize = 2;

/// Why a strategy gave nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It could not be carried out: another strategy may.
    Failed(String),
    /// A request was longer than a model's window: smaller ones may not be.
    TooLong(Overflow, String),
    /// Nobody waits any more. The reports that had come until then, with the number of the part each is of.
    Stopped(String, Vec<(usize, String)>),
    /// The output could not be read.
    Broken(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Broken(error)
    }
}

/// Cost of an extraction so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) usage: Usage,
    /// How often a model was asked, answers that were of no use included.
    pub(crate) asked: u64,
    /// Those whose answers were used.
    pub(crate) models: Vec<String>,
    /// How often a report departed from the requested format, by the word for it.
    pub(crate) leniencies: BTreeMap<String, u64>,
}

/// One message to a model: a text to read, and what is named again behind it.
///
/// Small models follow what they read last, so the request comes behind the document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) document: &'a str,
    pub(crate) request: &'a str,
}

/// The models of one extraction.
pub(crate) struct Asking<'a> {
    pub(crate) models: &'a [&'a dyn Model],
    pub(crate) wrapper: &'a Wrapper,
    pub(crate) window: Window,
    /// Guards what is added up by maps that run at once.
    pub(crate) spent: Mutex<Spent>,
    /// Whether one of several that run at once has failed, so that nobody waits for the others.
    pub(crate) abandoned: AtomicBool,
}

/// A report may have so many bytes for each token that it may have.
const TOKEN: usize = 16;

impl Asking<'_> {
    /// The report on a text. A second attempt says what was wrong with the first answer: a model that is asked the very
    /// same gives the very same answer. An answer that stays unusable is kept as far as its lines are in the document.
    pub(crate) fn answer(&self, system: &str, question: Question) -> Result<String, Failure> {
        let kept: Mutex<Option<(String, Report)>> = Mutex::default();
        let wrong: Mutex<Option<String>> = Mutex::default();
        let locked =
            |lock: &Mutex<Option<String>>| lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answer = self.of_each(ATTEMPTS, |model| {
            let Question { document, request } = question;
            let mut text = format!("{document}{request}");
            if let Some(why) = locked(&wrong) {
                text.push_str(&self.correction(&why));
            }
            let said = self.said(model, system, &[Message::User(text)], &[], false)?;
            match self.report(&said, &|nonce| document.contains(nonce)) {
                Ok(report) => Ok(self.read(report)),
                Err(Unusable { why, rest }) => {
                    if let Some(copied) = rest.and_then(|rest| quotes::copied(document, rest)) {
                        // A copy proves itself: every line of it is in the document.
                        if copied.is_whole {
                            return Ok(self.read(copied.report));
                        }
                        let copied = (model.name().to_owned(), copied.report);
                        kept.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(copied);
                    }
                    *wrong.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
                    Err(Refusal::Useless(model.name().to_owned(), why))
                }
            }
        });
        match (answer, kept.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Err(Failure::Failed(_)), Some((model, report))) => {
                self.used(&model);
                Ok(self.read(report))
            }
            (answer, _) => answer,
        }
    }

    /// The lines behind a request that was answered in a way that cannot be used.
    fn correction(&self, why: &str) -> String {
        let yours = match why.strip_prefix("its ") {
            Some(rest) => format!("your {rest}"),
            None => why.replacen("it ", "you ", 1),
        };
        let (opening, closing) = (self.wrapper.opening(), self.wrapper.closing());
        format!(
            "\n\nAn earlier answer of yours could not be used: {yours}. Write {opening} again, then copy at most ten lines of the document above, then write {closing}"
        )
    }

    /// The report in a model's answer.
    pub(crate) fn report(&self, said: &Said, has_read: &dyn Fn(&str) -> bool) -> Result<Report, Unusable> {
        let report = self.wrapper.report(said, has_read)?;
        let tokens = self.window.answer;
        let most = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN);
        match report.text.len() > most {
            true => {
                let why = format!("its answer is longer than the {tokens} tokens that it may have");
                Err(Unusable { why, rest: None })
            }
            false => Ok(report),
        }
    }

    /// The text of a report that is used; the departures from its format are added up.
    pub(crate) fn read(&self, report: Report) -> String {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = report.text;
        // What was cut off must not pass for whole.
        if report.leniencies.contains(&Leniency::CutOff) {
            text.push_str("\n[this report was cut off at the length limit]");
        }
        for leniency in report.leniencies {
            *spent.leniencies.entry(leniency.name().to_owned()).or_default() += 1;
        }
        text
    }

    /// Has models `attempt` something in their order. An attempt is made again where that may help.
    pub(crate) fn of_each<T>(
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
                    Err(Refusal::Model(ModelError::Stopped(why))) => {
                        return Err(Failure::Stopped(why, Vec::new()));
                    }
                    Err(Refusal::TooLong(overflow, why)) => {
                        return Err(Failure::TooLong(overflow, format!("{}: {why}", model.name())));
                    }
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

    /// Asks a model and adds up the cost.
    pub(crate) fn said(
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
            max_output: self.window.answer,
            abandoned: &self.abandoned,
        };
        let said = model.answer(&prompt);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.asked += 1;
        said.inspect(|said| spent.usage += said.usage).map_err(|error| match error {
            ModelError::TooLong { why, tokens, window } => {
                Refusal::TooLong(Overflow { sent: sent(&prompt), tokens, window }, why)
            }
            error => Refusal::Model(error),
        })
    }

    fn used(&self, model: &str) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if !spent.models.iter().any(|known| known == model) {
            spent.models.push(model.to_owned());
        }
    }

    pub(crate) fn spent(&self) -> Spent {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Tokens of a prompt.
fn sent(prompt: &Prompt) -> u64 {
    let messages = prompt.messages.iter().map(|message| match message {
        Message::User(text) => tokens::count(text),
        Message::Model(said) => tokens::count(&said.raw.to_string()),
        Message::Results(results) => results.iter().map(|result| tokens::count(&result.text)).sum(),
    });
    tokens::count(prompt.system) + messages.sum::<u64>()
}

/// Why one attempt gave nothing.
pub(crate) enum Refusal {
    Model(ModelError),
    TooLong(Overflow, String),
    /// The model's name, and what was wrong with what it said.
    Useless(String, String),
    Broken(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Broken(error)
    }
}

/// A failure, with the results of the items that were done before it.
pub(crate) type Interrupted<R> = (Failure, Vec<(usize, R)>);

/// Does `work` for each of `items`, `at_once` at a time, and gives the results in their order. After one fails, no
/// other is begun, and `abandoned` tells those that run.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    at_once: u64,
    abandoned: &AtomicBool,
    work: impl Fn(usize, &T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Interrupted<R>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::default();
    let failed: Mutex<Vec<(usize, Failure)>> = Mutex::default();
    let worker = || {
        while !abandoned.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            match work(index, item) {
                Ok(result) => done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result)),
                Err(failure) => {
                    abandoned.store(true, Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push((index, failure));
                }
            }
        }
    };
    let workers = usize::try_from(at_once).unwrap_or(usize::MAX).clamp(1, items.len().max(1));
    crate::threads::in_up_to(workers, worker);
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    // What was abandoned says nothing of why.
    let stopped = |failure: &Failure| matches!(failure, Failure::Stopped(..));
    match failed.into_iter().min_by_key(|(index, failure)| (stopped(failure), *index)) {
        Some((_, failure)) => Err((failure, done)),
        None => Ok(done.into_iter().map(|(_, result)| result).collect()),
    }
}
