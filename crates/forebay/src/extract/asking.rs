//! Asks models in their order until one gives a usable report, and adds up the cost.

use crate::event::Usage;
use crate::extract::answer::Findings;
use crate::extract::copied;
use crate::extract::window::{Overflow, Window};
use crate::extract::wrapper::{Cause, Leniency, Report, Unusable, Wrapper};
use crate::model::{Answer, Message, Model, ModelError, Prompt};
use crate::wire::Tool;
use crate::{Error, Output, tokens};
use std::collections::BTreeMap;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Attempts at the same question before the next model is used.
const ATTEMPTS: usize = 2;

/// Why a strategy has no findings.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It could not run. Another strategy may.
    Failed(String),
    /// A request was longer than a model's window. A smaller one may fit.
    TooLong { overflow: Overflow, why: String },
    /// The caller does not wait any more; with the reports that were finished by then.
    Stopped { why: String, parts: Vec<PartReport<String>> },
    /// The output cannot be read.
    Broken(Error),
}

/// The report on one of several parts.
#[derive(Debug)]
pub(crate) struct PartReport<R> {
    /// Position of the part, counted from 0.
    pub(crate) index: usize,
    pub(crate) report: R,
}

/// The findings of a strategy, or why there are none.
pub(crate) type Done = Result<Findings, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Broken(error)
    }
}

/// Cost of an extraction so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) usage: Usage,
    /// Requests to models, those with unusable answers included.
    pub(crate) asked: u64,
    /// Names of the models whose answers were used.
    pub(crate) models: Vec<String>,
    /// Number of departures from the requested format, by the name of the [`Leniency`].
    pub(crate) leniencies: BTreeMap<String, u64>,
}

/// One message to a model: a text to read, and the request behind it.
///
/// Small models follow what they read last, so the request comes behind the document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) document: &'a str,
    pub(crate) request: &'a str,
}

/// The models of one extraction.
pub(crate) struct Asking<'a> {
    /// The output, whose secrets no request has.
    pub(crate) output: &'a Output,
    pub(crate) models: &'a [&'a dyn Model],
    pub(crate) wrapper: &'a Wrapper,
    pub(crate) window: Window,
    /// Guards the sums of concurrent requests.
    pub(crate) spent: Mutex<Spent>,
    /// Whether one of several requests has failed, so that the others need not be awaited.
    pub(crate) abandoned: AtomicBool,
}

/// Maximum bytes of a report for each token that it may have.
const BYTES_PER_TOKEN: usize = 16;

impl Asking<'_> {
    /// Report on a text. A second attempt names the fault of the first answer, because a model repeats its answer to
    /// the same request. If the answer stays unusable, those of its lines that are in the document are kept.
    pub(crate) fn answer(&self, system: &str, question: Question) -> Result<String, Failure> {
        let kept: Mutex<Option<(String, Report)>> = Mutex::default();
        let wrong: Mutex<Option<Cause>> = Mutex::default();
        let taken = |lock: &Mutex<Option<Cause>>| lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answer = self.of_each(ATTEMPTS, |model| {
            let Question { document, request } = question;
            let (document, request) = (self.output.shown_text(document), self.output.shown_text(request));
            let document = &*document;
            let mut text = format!("{document}{request}");
            if let Some(cause) = taken(&wrong) {
                text.push_str(&self.correction(&cause));
            }
            let response = self.ask(model, system, &[Message::User(text)], &[], false)?;
            match self.report(&response, &|nonce| document.contains(nonce)) {
                Ok(report) => Ok(self.used_report(report)),
                Err(Unusable { cause, rest }) => {
                    if let Some(copied) = rest.and_then(|rest| copied::copied(document, rest)) {
                        // A copy proves itself: every line of it is in the document.
                        if copied.is_whole {
                            return Ok(self.used_report(copied.report));
                        }
                        let copied = (model.name().to_owned(), copied.report);
                        kept.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(copied);
                    }
                    *wrong.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause.clone());
                    Err(Refusal::unusable(model, cause))
                }
            }
        });
        match (answer, kept.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Err(Failure::Failed(_)), Some((model, report))) => {
                self.used(&model);
                Ok(self.used_report(report))
            }
            (answer, _) => answer,
        }
    }

    /// The lines behind a request whose last answer was unusable.
    fn correction(&self, cause: &Cause) -> String {
        let why = cause.to_string();
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
    pub(crate) fn report(
        &self,
        response: &Answer,
        has_read: &dyn Fn(&str) -> bool,
    ) -> Result<Report, Unusable> {
        let report = self.wrapper.report(response, has_read)?;
        let tokens = self.window.answer;
        let most = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
        if report.text.len() > most {
            Err(Unusable { cause: Cause::TooLong { tokens }, rest: None })
        } else {
            Ok(report)
        }
    }

    /// The text of a report that is used; the departures from its format are added up.
    pub(crate) fn used_report(&self, report: Report) -> String {
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

    /// Runs `attempt` with each model in their order until one succeeds. It runs again where that may help.
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
                        return Err(Failure::Stopped { why, parts: Vec::new() });
                    }
                    Err(Refusal::TooLong { overflow, why }) => {
                        return Err(Failure::TooLong { overflow, why: format!("{}: {why}", model.name()) });
                    }
                    Err(Refusal::Broken(error)) => return Err(Failure::Broken(error)),
                    Err(Refusal::Model(ModelError::Lasting(why) | ModelError::TooLong { why, .. })) => {
                        causes.push(format!("{}: {why}", model.name()));
                        break;
                    }
                    Err(Refusal::Model(ModelError::Passing(why))) => {
                        causes.push(format!("{}: {why}", model.name()));
                    }
                    Err(Refusal::Unusable { model, cause }) => causes.push(format!("{model}: {cause}")),
                }
            }
        }
        causes.dedup();
        Err(Failure::Failed(causes.join("; ")))
    }

    /// Asks a model and adds up the cost.
    pub(crate) fn ask(
        &self,
        model: &dyn Model,
        system: &str,
        messages: &[Message],
        tools: &[Tool],
        may_call: bool,
    ) -> Result<Answer, Refusal> {
        let prompt = Prompt {
            system,
            messages,
            tools,
            may_call,
            max_output: self.window.answer,
            abandoned: &self.abandoned,
        };
        let response = model.answer(&prompt);
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.asked += 1;
        response.inspect(|response| spent.usage += response.usage).map_err(|error| match error {
            ModelError::TooLong { why, tokens, window } => {
                Refusal::TooLong { overflow: Overflow { sent: sent(&prompt), tokens, window }, why }
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
        Message::Model(response) => tokens::count(&response.raw.to_string()),
        Message::Results(results) => results.iter().map(|result| tokens::count(&result.text)).sum(),
    });
    tokens::count(prompt.system) + messages.sum::<u64>()
}

/// Why one attempt has no answer.
pub(crate) enum Refusal {
    Model(ModelError),
    TooLong { overflow: Overflow, why: String },
    Unusable { model: String, cause: Cause },
    Broken(Error),
}

impl Refusal {
    pub(crate) fn unusable(model: &dyn Model, cause: Cause) -> Refusal {
        Refusal::Unusable { model: model.name().to_owned(), cause }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Broken(error)
    }
}

/// A failure, with the reports that were finished before it.
pub(crate) struct Interrupted<R> {
    pub(crate) failure: Failure,
    pub(crate) done: Vec<PartReport<R>>,
}

/// Does `work` for each of `items`, `at_once` at a time, and returns the results in their order. After one fails, no
/// other begins, and `abandoned` is raised for those that run.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    at_once: u64,
    abandoned: &AtomicBool,
    work: impl Fn(usize, &T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Interrupted<R>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<PartReport<R>>> = Mutex::default();
    let failed: Mutex<Vec<(usize, Failure)>> = Mutex::default();
    let worker = || {
        while !abandoned.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            match work(index, item) {
                Ok(report) => {
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(PartReport { index, report });
                }
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
    done.sort_by_key(|part| part.index);
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A request that was abandoned does not know the cause.
    let stopped = |failure: &Failure| matches!(failure, Failure::Stopped { .. });
    match failed.into_iter().min_by_key(|(index, failure)| (stopped(failure), *index)) {
        Some((_, failure)) => Err(Interrupted { failure, done }),
        None => Ok(done.into_iter().map(|part| part.report).collect()),
    }
}
