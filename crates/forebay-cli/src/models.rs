//! The models that are configured, as clients of their providers.
//!
//! A request is sent again where its server was busy or broken, after a pause, until the retries or the deadline are
//! used up; a signal ends all waiting. How each provider speaks stands in a file of its own.

mod anthropic;
mod gemini;
mod openai_chat;
mod provider;
mod request;
mod sse;

pub(crate) use provider::{Key, Provider, Speech};

use crate::error::CliError;
use forebay::model::{Model, ModelError, Prompt, Said};
use request::{Problem, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// How models are waited for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    /// So many seconds of silence end a request.
    pub(crate) timeout_seconds: u64,
    /// So many seconds may one extraction take with all its requests.
    pub(crate) deadline_seconds: u64,
    /// How often a request is sent again to a server that was busy or broken.
    pub(crate) retries: u64,
    /// The pause before the first of these; each is twice the one before.
    pub(crate) backoff_milliseconds: u64,
    /// Whether answers are streamed.
    pub(crate) stream: bool,
}

/// No pause is longer, unless the server asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The models of one extraction.
pub(crate) struct Clients {
    clients: Vec<Client>,
    /// Drives the requests of all threads that wait for one. None is made where no model is configured.
    _runtime: Option<Arc<Runtime>>,
}

impl Clients {
    /// The models of the settings, in their order.
    pub(crate) fn new(
        names: &[String],
        waiting: &Waiting,
        providers: &BTreeMap<String, Provider>,
    ) -> Result<Clients, CliError> {
        if names.is_empty() {
            return Ok(Clients { clients: Vec::new(), _runtime: None });
        }
        let cannot = |error: std::io::Error| CliError::not_there(format!("cannot ask models: {error}"));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = Arc::new(runtime.map_err(cannot)?);
        let signalled = Arc::new(AtomicBool::new(false));
        crate::stop::flag(&signalled).map_err(cannot)?;
        let http = request::client()?;
        let deadline = Instant::now() + Duration::from_secs(waiting.deadline_seconds);
        let client = |name: &String| -> Result<Client, CliError> {
            let (provider, model) = name.split_once('/').unwrap_or((name, ""));
            let Some(found) = providers.get(provider) else {
                let known: Vec<&str> = providers.keys().map(String::as_str).collect();
                let problem = format!("there is no provider {provider:?} for the model {name:?}");
                return Err(CliError::usage(problem)
                    .hint(format!("there are {}; `[providers.NAME]` adds one", known.join(", "))));
            };
            Ok(Client {
                name: name.clone(),
                model: model.to_owned(),
                base_url: found.base_url(),
                key: found.key(),
                speech: found.wire,
                waiting: waiting.clone(),
                deadline,
                http: http.clone(),
                runtime: runtime.clone(),
                signalled: signalled.clone(),
            })
        };
        let clients = names.iter().map(client).collect::<Result<_, _>>()?;
        Ok(Clients { clients, _runtime: Some(runtime) })
    }

    /// The models as the library takes them.
    pub(crate) fn list(&self) -> Vec<&dyn Model> {
        self.clients.iter().map(|client| client as &dyn Model).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.clients.iter()
    }
}

/// A model at its provider.
pub(crate) struct Client {
    name: String,
    /// What its provider calls it.
    model: String,
    pub(crate) base_url: String,
    pub(crate) key: Key,
    pub(crate) speech: Speech,
    waiting: Waiting,
    deadline: Instant,
    http: reqwest::Client,
    runtime: Arc<Runtime>,
    signalled: Arc<AtomicBool>,
}

impl Model for Client {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, prompt: &Prompt) -> Result<Said, ModelError> {
        let key = self.key.value().map_err(ModelError::Lasting)?;
        let mut request = Request {
            speech: self.speech,
            base_url: &self.base_url,
            key: key.as_deref(),
            model: &self.model,
            stream: self.waiting.stream,
            silence: Duration::from_secs(self.waiting.timeout_seconds),
            other_limit: false,
        };
        let asked = self.asked(&mut request, prompt);
        // A server may repeat what it was sent, and a key is for nobody's eyes.
        asked.map_err(|error| {
            let hidden = |text: String| match &key {
                Some(key) if !key.is_empty() => text.replace(key.as_str(), "…"),
                _ => text,
            };
            match error {
                ModelError::Passing(why) => ModelError::Passing(hidden(why)),
                ModelError::Lasting(why) => ModelError::Lasting(hidden(why)),
                ModelError::Stopped(why) => ModelError::Stopped(hidden(why)),
            }
        })
    }
}

impl Client {
    fn asked(&self, request: &mut Request, prompt: &Prompt) -> Result<Said, ModelError> {
        let mut tries = 0;
        loop {
            let problem = match self.waited_for(request.send(&self.http, prompt))? {
                Ok(said) => return Ok(said),
                Err(problem) => problem,
            };
            tries += 1;
            let (why, pause) = match problem {
                Problem::Lasting(why) => return Err(ModelError::Lasting(why)),
                Problem::OtherLimit if !request.other_limit => {
                    request.other_limit = true;
                    continue;
                }
                Problem::OtherLimit => {
                    return Err(ModelError::Lasting("it takes no limit of its answer".to_owned()));
                }
                Problem::Passing { why, after } => (why, after),
            };
            let times = if tries == 1 { String::new() } else { format!(" ({tries} times)") };
            if tries > self.waiting.retries {
                return Err(ModelError::Lasting(format!("{why}{times}")));
            }
            let pause = pause.unwrap_or_else(|| self.pause(tries));
            if Instant::now() + pause >= self.deadline {
                let asked = format!("the deadline would pass before the next try in {} s", pause.as_secs());
                return Err(ModelError::Lasting(format!("{why}{times}; {asked}")));
            }
            self.waited_for(async { tokio::time::sleep(pause).await })?;
        }
    }

    /// The result of something, unless the deadline passes or a signal comes before.
    fn waited_for<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelError> {
        let signalled = async {
            while !self.signalled.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let late = || {
            let seconds = self.waiting.deadline_seconds;
            ModelError::Lasting(format!("the deadline of {seconds} s passed (models.deadline_seconds)"))
        };
        if Instant::now() >= self.deadline {
            return Err(late());
        }
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = signalled => Err(ModelError::Stopped("a signal came".to_owned())),
                result = work => Ok(result),
                () = tokio::time::sleep_until(self.deadline.into()) => Err(late()),
            }
        })
    }

    /// How long to wait before try number `tries` + 1: a little less or more, so that many do not come at once.
    fn pause(&self, tries: u64) -> Duration {
        let first = Duration::from_millis(self.waiting.backoff_milliseconds);
        let pause = first.saturating_mul(1 << (tries - 1).min(16)).min(LONGEST_PAUSE);
        let mut random = [0; 1];
        let share = match getrandom::fill(&mut random) {
            Ok(()) => 0.75 + f64::from(random[0]) / 512.0,
            Err(_) => 1.0,
        };
        pause.mul_f64(share)
    }
}

/// Random letters and digits that no text knows.
pub(crate) fn nonce() -> String {
    let mut random = [0; 12];
    match getrandom::fill(&mut random) {
        Ok(()) => random.iter().map(|byte| format!("{byte:02x}")).collect(),
        // Without random numbers no answer can be proved, and the library takes no empty nonce.
        Err(_) => String::new(),
    }
}
