//! One request to a provider, and what became of it.

use super::overflow::{self, Overflow};
use super::provider::ModelWire;
use super::redact::Secret;
use super::repetition::{self, Watch};
use super::sse::Events;
use super::stream::{Fold, Request};
use super::{anthropic, gemini, openai_chat};
use forebay::model::{Answer, Message, ModelError, Prompt, Stop};
use forebay::wire::ToolCall;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

/// Maximum bytes of an answer, so that an endless answer does not fill the memory.
const LARGEST: usize = 64 * 1024 * 1024;

/// Maximum bytes read of an error. The rest is never needed.
const LONGEST_ERROR: usize = 64 * 1024;

/// Tokens of a prompt below which the time to the first word says little of how fast it is read.
const LEAST_READ: u64 = 200;

/// Tokens of an answer below which its time says little of how fast it is written.
const LEAST_WRITTEN: u64 = 16;

/// A client that works without certificates if none are needed.
pub(super) fn client() -> Result<reqwest::Client, ModelError> {
    // The system's certificates are used where there are any; these are the ones that browsers have.
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .filter_map(|root| reqwest::Certificate::from_der(root).ok());
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("forebay/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        // A server that is gone is noticed where a request may wait for minutes.
        .tcp_keepalive(Duration::from_secs(30))
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_merge(roots)
        .build()
        .map_err(|error| ModelError::Lasting(format!("no connection can be made: {error}")))
}

/// An answer, and how it came.
pub(super) struct Answered {
    pub(super) said: Answer,
    /// Whether it came in parts.
    pub(super) streamed: bool,
    /// Tokens of the prompt read per second, if the server reports it or it can be computed.
    pub(super) prompt_speed: Option<f64>,
    /// Tokens of the answer written in a second.
    pub(super) answer_speed: Option<f64>,
}

/// Why a request gave no answer.
pub(super) enum Problem {
    /// The server was busy or broken: the request can be retried, after the given time if the server named one.
    Passing { why: String, after: Option<Duration> },
    /// Sending it again would not help.
    Lasting(String),
    /// The server wants the limit of the answer under its other name.
    OtherLimit,
    /// The prompt, or it and the limit of the answer, are longer than the window.
    TooLong { why: String, overflow: Overflow },
}

impl Request<'_> {
    /// Sends it and reads the answer.
    pub(super) async fn send(
        &self,
        http: &reqwest::Client,
        prompt: &Prompt<'_>,
    ) -> Result<Answered, Problem> {
        let (path, body) = match self.wire {
            ModelWire::OpenaiChat => openai_chat::request(self, prompt),
            ModelWire::Anthropic => anthropic::request(self, prompt),
            ModelWire::Gemini => gemini::request(self, prompt),
        };
        let body = serde_json::to_vec(&body).map_err(|error| Problem::Lasting(error.to_string()))?;
        let sent = http
            .post(format!("{}{path}", self.base_url))
            .header("content-type", "application/json")
            .headers(headers(self.wire, self.key)?)
            .body(body)
            .send();
        let started = Instant::now();
        let mut response = match within(self.response_timeout, sent).await {
            None => return Err(silent(self.response_timeout)),
            Some(Err(error)) => return Err(self.broken(error)),
            Some(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let streamed = kind.is_some_and(|kind| kind.to_lowercase().starts_with("text/event-stream"));
        let is_copied = |text: &str| prompt.messages.iter().any(|message| has(message, text));
        // What comes first may take as long as the server has to do; from then on it must go on.
        let mut next = self.part(&mut response, self.response_timeout).await?;
        let first = Instant::now();
        let mut repeats = false;
        let answer = if streamed {
            let mut stream = self.stream();
            while let Some(part) = next {
                match stream.take(self, &part, is_copied)? {
                    Taken::More => {}
                    Taken::All => break,
                    Taken::Repeats => {
                        repeats = true;
                        break;
                    }
                }
                next = self.part(&mut response, Some(self.idle_timeout)).await?;
            }
            // The server works on until nobody listens.
            drop(response);
            stream.whole(self)?
        } else {
            let body = self.body(&mut response, next).await?;
            // Some servers stream and do not say so.
            if body.starts_with(b"data:") || body.starts_with(b"event:") || body.starts_with(b":") {
                let mut stream = self.stream();
                repeats = stream.take(self, &body, is_copied)? == Taken::Repeats;
                stream.whole(self)?
            } else {
                serde_json::from_slice(&body).map_err(|error| Problem::Passing {
                    why: format!("its answer is not JSON ({error}): {}", self.beginning(&body)),
                    after: None,
                })?
            }
        };
        if let Some(problem) = self.error_in(&answer) {
            return Err(problem);
        }
        let said = match self.wire {
            ModelWire::OpenaiChat => openai_chat::said(&answer),
            ModelWire::Anthropic => anthropic::said(&answer),
            ModelWire::Gemini => gemini::said(&answer),
        };
        let mut said = said.map(|said| self.without_key(said)).map_err(|why| Problem::Passing {
            why: format!("its answer cannot be read: {}", self.beginning(why.to_string().as_bytes())),
            after: None,
        })?;
        let cut = repetition::cut(&said.text, is_copied);
        said.text.truncate(cut.unwrap_or(said.text.len()));
        if repeats || cut.is_some() {
            said.stop = Stop::Repeated;
        }
        let speed = |name: &str, tokens: u64, least: u64, time: Duration| {
            let told = answer.pointer(&format!("/timings/{name}_per_second")).and_then(Value::as_f64);
            let seen = tokens as f64 / time.as_secs_f64().max(0.001);
            told.or((streamed && tokens >= least).then_some(seen))
        };
        let (before, after) = (first - started, first.elapsed());
        Ok(Answered {
            streamed,
            prompt_speed: speed("prompt", said.usage.tokens_in, LEAST_READ, before),
            answer_speed: speed("predicted", said.usage.tokens_out, LEAST_WRITTEN, after),
            said,
        })
    }

    /// Removes the key from all texts of an answer that are shown or stored. Its raw form is only sent back to the
    /// same server.
    fn without_key(&self, said: Answer) -> Answer {
        let secret = Secret::new(self.key);
        let without = |text: String| secret.out_of_answer(&text).into_owned();
        let stop = match said.stop {
            Stop::Refused(why) => Stop::Refused(secret.out_of_error(&why).into_owned()),
            Stop::Other(word) => Stop::Other(secret.out_of_error(&word).into_owned()),
            stop @ (Stop::Ended | Stop::Calls | Stop::Length | Stop::Repeated) => stop,
        };
        let calls = said.calls.into_iter().map(|call| ToolCall {
            // What an agent searched for is told with its answer.
            arguments: call.arguments.map(|mut arguments| {
                arguments.values_mut().for_each(|value| take_out(&secret, value));
                arguments
            }),
            ..call
        });
        Answer { text: without(said.text), stop, calls: calls.collect(), ..said }
    }

    fn stream(&self) -> Streamed {
        let fold: Box<dyn Fold> = match self.wire {
            ModelWire::OpenaiChat => Box::<openai_chat::Stream>::default(),
            ModelWire::Anthropic => Box::<anthropic::Stream>::default(),
            ModelWire::Gemini => Box::<gemini::Stream>::default(),
        };
        Streamed { fold, events: Events::default(), watch: Watch::default(), bytes: 0 }
    }

    /// The rest of a body whose first part is here.
    async fn body(&self, response: &mut Response, first: Option<Vec<u8>>) -> Result<Vec<u8>, Problem> {
        let mut body = Vec::new();
        let mut next = first;
        while let Some(part) = next {
            body.extend_from_slice(&part);
            if body.len() > LARGEST {
                return Err(Problem::Lasting("its answer does not end".to_owned()));
            }
            next = self.part(response, Some(self.idle_timeout)).await?;
        }
        Ok(body)
    }

    /// The next part of an answer, within some time.
    async fn part(
        &self,
        response: &mut Response,
        timeout: Option<Duration>,
    ) -> Result<Option<Vec<u8>>, Problem> {
        match within(timeout, response.chunk()).await {
            None => Err(silent(timeout)),
            Some(Err(error)) => Err(self.broken(error)),
            Some(Ok(part)) => Ok(part.map(|part| part.to_vec())),
        }
    }

    /// Meaning of an error that came in place of an answer.
    fn error_in(&self, answer: &Value) -> Option<Problem> {
        let error = answer.get("error").filter(|error| !error.is_null())?;
        let words = words_of(error).map_or_else(|| error.to_string(), str::to_owned);
        let why = self.beginning(words.as_bytes());
        Some(match overflow::of(None, error, &words) {
            Some(overflow) => Problem::TooLong { why, overflow },
            None => Problem::Passing { why, after: None },
        })
    }

    /// Beginning of a server's response, without the key. The response may quote the request.
    fn beginning(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(&body[..body.len().min(LONGEST_ERROR)]);
        let text = Secret::new(self.key).out_of_error(&text).into_owned();
        forebay::printable(&forebay::shortened(text.trim(), 300)).replace('\n', " ")
    }

    /// Meaning of a status that is not success.
    async fn refused(&self, mut response: Response) -> Problem {
        let status = response.status();
        let after = retry_after(response.headers());
        let to = response.headers().get("location").and_then(|to| to.to_str().ok());
        let to = to.map_or(String::new(), |to| format!(" to {}", self.beginning(to.as_bytes())));
        let first = self.part(&mut response, Some(self.idle_timeout)).await.unwrap_or_default();
        let body = self.body(&mut response, first).await.unwrap_or_default();
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        // Gemini gives a list with one error in it; some servers give the error without a name.
        let answer = answer.get(0).unwrap_or(&answer);
        let error = answer.get("error").unwrap_or(answer);
        let start = String::from_utf8_lossy(&body[..body.len().min(LONGEST_ERROR)]);
        let words = words_of(error).unwrap_or(&start);
        let overflow = overflow::of(Some(status.as_u16()), error, words);
        let said = self.beginning(words.as_bytes());
        let name = match status {
            StatusCode::TOO_MANY_REQUESTS => "rate limit",
            _ => status.canonical_reason().unwrap_or("error"),
        };
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let why = format!("{} {name}{to}{said}", status.as_u16());
        if let Some(overflow) = overflow {
            return Problem::TooLong { why, overflow };
        }
        let names = |field: &str| said.contains(field);
        match status.as_u16() {
            400 | 422 if names("max_tokens") && names("max_completion_tokens") => Problem::OtherLimit,
            408 | 409 | 425 | 429 | 500..=599 => Problem::Passing { why, after },
            _ => Problem::Lasting(why),
        }
    }

    /// A connection that did not come about or broke: its cause is the innermost one.
    fn broken(&self, error: reqwest::Error) -> Problem {
        if let Some(what) = nobody_there(&error) {
            let start = self.start.as_ref().map(|start| format!("; start it with `{start}`"));
            return Problem::Lasting(format!("{what} at {}{}", self.address, start.unwrap_or_default()));
        }
        let is_address = error.is_builder();
        let what = if is_address {
            "its address cannot be used"
        } else if error.is_connect() {
            "cannot be reached"
        } else {
            "the connection broke"
        };
        let why = format!("{what}: {}", self.beginning(innermost(&error.without_url()).as_bytes()));
        if is_address { Problem::Lasting(why) } else { Problem::Passing { why, after: None } }
    }
}

/// Returns an error text if no server was found at the address. An immediate retry does not help then.
fn nobody_there(error: &reqwest::Error) -> Option<&'static str> {
    let mut cause: Option<&dyn std::error::Error> = error.is_connect().then_some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            return Some("connection refused: no server listens");
        }
        if error.to_string().starts_with("dns error") {
            return Some("its host has no address: no server can be found");
        }
        cause = error.source();
    }
    None
}

/// Headers that say who asks, and in which version of the wire.
pub(super) fn headers(wire: ModelWire, key: Option<&str>) -> Result<HeaderMap, Problem> {
    let mut headers = HeaderMap::new();
    if wire == ModelWire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let Some(key) = key else { return Ok(headers) };
    let (name, value) = match wire {
        ModelWire::OpenaiChat => ("authorization", format!("Bearer {key}")),
        ModelWire::Anthropic => ("x-api-key", key.to_owned()),
        ModelWire::Gemini => ("x-goog-api-key", key.to_owned()),
    };
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| Problem::Lasting("its key has characters that no header can have".to_owned()))?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

/// The result of something, unless it takes longer than it may.
async fn within<T>(timeout: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match timeout {
        Some(timeout) => tokio::time::timeout(timeout, work).await.ok(),
        None => Some(work.await),
    }
}

fn silent(timeout: Option<Duration>) -> Problem {
    let seconds = timeout.unwrap_or_default().as_secs();
    Problem::Passing {
        why: format!("timeout: nothing came for {seconds} s (models.timeout_seconds)"),
        after: None,
    }
}

/// Whether a message has a text in it.
fn has(message: &Message, text: &str) -> bool {
    match message {
        Message::User(message) => message.contains(text),
        Message::Model(_) => false,
        Message::Results(results) => results.iter().any(|result| result.text.contains(text)),
    }
}

/// The words of an error, as servers give it: an object with a message, or the message alone.
fn words_of(error: &Value) -> Option<&str> {
    error.get("message").and_then(Value::as_str).or(error.as_str())
}

/// Takes the key out of a value.
fn take_out(secret: &Secret, value: &mut Value) {
    match value {
        Value::String(text) => *text = secret.out_of_answer(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| take_out(secret, item)),
        Value::Object(members) => members.values_mut().for_each(|member| take_out(secret, member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// An answer that comes as a stream, put together.
struct Streamed {
    fold: Box<dyn Fold>,
    events: Events,
    watch: Watch,
    bytes: usize,
}

/// State of a stream after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// More is to come.
    More,
    /// That was all.
    All,
    /// It repeats itself, and was ended.
    Repeats,
}

impl Streamed {
    /// Adds the next bytes.
    fn take(
        &mut self,
        request: &Request,
        part: &[u8],
        is_copied: impl Fn(&str) -> bool + Copy,
    ) -> Result<Taken, Problem> {
        self.bytes += part.len();
        if self.bytes > LARGEST {
            return Err(Problem::Lasting("its answer does not end".to_owned()));
        }
        for data in self.events.take(part) {
            match self.event(request, &data, is_copied)? {
                Taken::More => {}
                end => return Ok(end),
            }
        }
        Ok(Taken::More)
    }

    fn event(
        &mut self,
        request: &Request,
        data: &str,
        is_copied: impl Fn(&str) -> bool,
    ) -> Result<Taken, Problem> {
        if data.trim() == "[DONE]" {
            return Ok(Taken::All);
        }
        let event: Value = serde_json::from_str(data).map_err(|error| {
            let data = request.beginning(data.as_bytes());
            Problem::Passing {
                why: format!("an event of its answer is not JSON ({error}): {data}"),
                after: None,
            }
        })?;
        if let Some(problem) = request.error_in(&event) {
            return Err(problem);
        }
        let repeats = self.watch.repeats(self.fold.adds(&event), is_copied);
        self.fold.take(event);
        if repeats {
            self.fold.end();
            return Ok(Taken::Repeats);
        }
        Ok(Taken::More)
    }

    fn whole(mut self, request: &Request) -> Result<Value, Problem> {
        if let Some(data) = self.events.end() {
            self.event(request, &data, |_| true)?;
        }
        let why = "its answer broke off before the end".to_owned();
        self.fold.whole().ok_or(Problem::Passing { why, after: None })
    }
}

/// How long a server wants us to wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(milliseconds) = value("retry-after-ms").and_then(|text| text.trim().parse().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = value("retry-after")?.trim();
    if let Some(seconds) = text.parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds)) {
        return Some(Duration::from_secs_f64(seconds));
    }
    // A moment instead of a duration: never before now.
    let moment = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(moment.duration_since(jiff::Timestamp::now())).unwrap_or_default())
}

fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_how_long_to_wait_in_many_ways() {
        let table = [
            ("retry-after", "7", Some(7_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("other", "7", None),
        ];
        for (name, value, expected) in table {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(retry_after(&headers), expected.map(Duration::from_millis), "{name}: {value}");
        }
    }
}
