//! One request, with what its route makes of it, and the ways in which answers are given.

use super::Web;
use super::door::{Right, Visitor};
use super::encoding::Encoding;
use super::problem::Problem;
use super::routes::{self, Route};
use crate::bounds::QueryBounds;
use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use forebay::request::declared::Arguments;
use forebay::request::tool_call;
use forebay::{Budget, Outputs, Session, Settings, Stop, Store, Surface, Timestamp, Window};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// An answer that is being made.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// No message of a client is larger: what a model says is bounded by its context.
const LARGEST_JSON: usize = 2 * 1024 * 1024;

/// A request.
pub(crate) struct Asked {
    pub(crate) route: &'static Route,
    /// What the parts of the path stand for.
    named: Vec<(&'static str, String)>,
    /// What stands behind the question mark, checked.
    pub(crate) given: Arguments,
    /// What of it is for the query tool.
    pub(crate) for_tool: Map<String, Value>,
    pub(crate) headers: HeaderMap,
    pub(crate) visitor: Visitor,
    pub(crate) body: Body,
    /// Ends its queries: raised when its client is gone.
    stop: Stop,
}

impl Asked {
    pub(crate) fn new(
        route: &'static Route,
        named: Vec<(&'static str, String)>,
        query: Option<&str>,
        visitor: Visitor,
        (headers, body): (HeaderMap, Body),
    ) -> Result<Asked, Problem> {
        let (mut given, mut for_tool) = (Map::new(), Map::new());
        let of_tool = route.tool.and_then(tool_call::declared).map_or(&[][..], |tool| tool.arguments);
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let Some(argument) = route.arguments().find(|argument| argument.name == name) else {
                let names: Vec<&str> = route.arguments().map(|argument| argument.name).collect();
                let takes = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                let name = forebay::shortened(&name, 60);
                return Err(Problem::bad_request(format!(
                    "there is no parameter {name:?} here; it takes {takes}"
                )));
            };
            let tools = of_tool.iter().any(|of_tool| of_tool.name == argument.name);
            let map = if tools { &mut for_tool } else { &mut given };
            if value.is_empty() && !argument.required {
                return Err(Problem::bad_request(format!(
                    "{} is empty: leave it out, or say something",
                    argument.name
                )));
            }
            if map.insert(name.into_owned(), Value::String(value.into_owned())).is_some() {
                return Err(Problem::bad_request(format!("{} stands there twice", argument.name)));
            }
        }
        let given = Arguments::new(&route.declared(), &given)?;
        if matches!(route.body, routes::Body::Json(_) | routes::Body::Archive) {
            Encoding::none(&headers)?;
        }
        Ok(Asked { route, named, given, for_tool, headers, visitor, body, stop: Stop::default() })
    }

    /// What a part of the path stands for.
    pub(crate) fn named(&self, part: &str) -> &str {
        self.named.iter().find(|(name, _)| *name == part).map_or("", |(_, value)| value)
    }

    pub(crate) fn session(&self) -> Result<Session, Problem> {
        Ok(self.named("session").parse()?)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.visitor.store
    }

    /// The outputs of the session that the path names.
    pub(crate) fn outputs(&self, web: &Web) -> Result<Outputs<'_>, Problem> {
        let limits = web.config.settings.query;
        let bounds = QueryBounds::shared(limits, self.stop.clone(), self.visitor.store.root());
        let outputs = Outputs::new(self.store(), self.session()?, Timestamp::now);
        Ok(outputs.within(self.window(web)).bounded_by(bounds))
    }

    /// The model's context, as far as it is known.
    pub(crate) fn window(&self, web: &Web) -> Window {
        let set = web.config.settings.room;
        Window { context_window: self.given.number("context_window").unwrap_or(set.context_window), ..set }
    }

    /// What an excerpt may cost.
    pub(crate) fn budget(&self, web: &Web) -> Budget {
        self.settings(web).excerpt_budget()
    }

    /// The settings, with what this request wants otherwise.
    pub(crate) fn settings(&self, web: &Web) -> Settings {
        let mut settings = web.config.settings.clone();
        if let Some(tokens) = self.given.number("budget") {
            settings.set_budget(tokens);
        }
        settings
    }

    /// How calls are written for whoever comes by HTTP: they have the tools.
    pub(crate) fn surface(&self) -> Surface {
        match self.given.text("calls") {
            "shell" => Surface::Shell { flags: String::new() },
            _ => Surface::Tools { prefix: forebay::tools::PREFIX.to_owned() },
        }
    }

    /// Whether text is wanted rather than JSON.
    pub(crate) fn wants_text(&self) -> bool {
        let accept = self.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        let place = |kind: &str| accept.find(kind).unwrap_or(usize::MAX);
        place("text/plain") < place("application/json")
    }

    /// Whether events are wanted as they come.
    pub(crate) fn wants_stream(&self) -> bool {
        let accept = self.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
        accept.is_some_and(|accept| accept.contains("text/event-stream"))
    }

    /// Answers at once, whatever else is going on.
    pub(crate) fn at_once(
        self,
        web: Arc<Web>,
        answer: fn(&Web, &Asked) -> Result<Response, Problem>,
    ) -> Answering {
        Box::pin(async move { answer(&web, &self) })
    }

    /// Answers where work may block.
    pub(crate) fn blocking(
        self,
        web: Arc<Web>,
        answer: fn(&Web, &Asked) -> Result<Response, Problem>,
    ) -> Answering {
        Box::pin(async move {
            let turn = web.turn().await?;
            let _waiting = Waiting(self.stop.clone());
            // The place is taken until the work ends, whether or not somebody still waits for it.
            blocking(move || {
                let answered = answer(&web, &self);
                drop(turn);
                answered
            })
            .await
        })
    }

    /// The same with a body that is JSON.
    pub(crate) fn with_json<T: DeserializeOwned + Send + 'static>(
        mut self,
        web: Arc<Web>,
        answer: fn(&Web, &Asked, T) -> Result<Response, Problem>,
    ) -> Answering {
        Box::pin(async move {
            let body = std::mem::take(&mut self.body);
            let bytes = whole(body, LARGEST_JSON, web.config.idle).await?;
            // Models take their time: they have places of their own.
            let turn = if self.route.right == Some(Right::Extract) { None } else { Some(web.turn().await?) };
            let _waiting = Waiting(self.stop.clone());
            blocking(move || {
                let _turn = turn;
                let value = serde_json::from_slice(&bytes).map_err(|error| {
                    Problem::bad_request(format!("the body is not what is wanted here: {error}"))
                })?;
                answer(&web, &self, value)
            })
            .await
        })
    }
}

/// Somebody who waits for an answer. When nobody does any more, the queries of the request end.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.raise("nobody waits for the answer any more");
    }
}

/// Does work that may block, beside all else.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(Problem::ours("answering this request failed; the server's log says why")))
}

/// All of a small body.
async fn whole(mut body: Body, most: usize, idle: Duration) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::time::timeout(idle, body.frame()).await;
        let frame = frame.map_err(|_| Problem::timed_out("the body stopped coming"))?;
        let Some(frame) = frame else { return Ok(bytes) };
        let frame =
            frame.map_err(|error| Problem::bad_request(format!("the body cannot be read: {error}")))?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > most {
                return Err(Problem::too_large(format!("the body has more than {most} bytes")));
            }
            bytes.extend_from_slice(&data);
        }
    }
}

/// An answer as JSON.
pub(crate) fn json(value: &Value) -> Response {
    typed("application/json", value.to_string())
}

/// An answer as text.
pub(crate) fn text(text: impl Into<Bytes>) -> Response {
    typed("text/plain; charset=utf-8", text)
}

pub(crate) fn typed(media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

pub(crate) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
