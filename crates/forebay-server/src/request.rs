//! One request with its checked arguments, and the ways to answer it.

use crate::auth::{Caller, Right};
use crate::encoding::Encoding;
use crate::endpoint::{Endpoint, PathParameters, RequestBody};
use crate::problem::Problem;
use crate::slots::Holders;
use crate::state::Server;
use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::request::Parts;
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

/// A response that is being made.
pub(crate) type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;

/// Maximum bytes of a JSON body: the message of a model, which its context bounds.
const MAX_JSON_BYTES: usize = 2 * 1024 * 1024;

/// Longest parameter name that an error message repeats, in characters.
const MAX_NAME_IN_ERROR: usize = 60;

/// The query of an address, sorted by who takes its parameters.
#[derive(Debug, Default)]
struct QueryParameters {
    /// For the route itself.
    own: Map<String, Value>,
    /// For the query tool that the route calls.
    tool: Map<String, Value>,
}

impl QueryParameters {
    fn parse(query: &str, endpoint: &Endpoint) -> Result<QueryParameters, Problem> {
        let mut parameters = QueryParameters::default();
        let of_tool = endpoint.tool.and_then(tool_call::declared).map_or(&[][..], |tool| tool.arguments);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(argument) = endpoint.arguments().find(|argument| argument.name == name) else {
                let names: Vec<&str> = endpoint.arguments().map(|argument| argument.name).collect();
                let takes = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let name = forebay::shortened(&name, MAX_NAME_IN_ERROR);
                return Err(Problem::bad_request(format!(
                    "unknown parameter {name:?}; parameters of this address: {takes}"
                )));
            };
            if value.is_empty() && !argument.required {
                return Err(Problem::bad_request(format!(
                    "parameter {} is empty: leave it out, or give a value",
                    argument.name
                )));
            }
            let is_of_tool = of_tool.iter().any(|of_tool| of_tool.name == argument.name);
            let map = if is_of_tool { &mut parameters.tool } else { &mut parameters.own };
            if map.insert(name.into_owned(), Value::String(value.into_owned())).is_some() {
                return Err(Problem::bad_request(format!("parameter {} is given twice", argument.name)));
            }
        }
        Ok(parameters)
    }
}

/// A request whose endpoint is known and whose arguments are checked.
pub(crate) struct Request {
    pub(crate) endpoint: &'static Endpoint,
    path: PathParameters,
    /// Checked arguments of the route itself.
    pub(crate) arguments: Arguments,
    /// Arguments for the query tool that the route calls.
    pub(crate) tool_arguments: Map<String, Value>,
    pub(crate) headers: HeaderMap,
    pub(crate) caller: Caller,
    pub(crate) body: Body,
    /// Ends the queries of this request; raised when its client is gone.
    stop: Stop,
}

impl Request {
    pub(crate) fn new(
        endpoint: &'static Endpoint,
        path: PathParameters,
        caller: Caller,
        parts: Parts,
        body: Body,
    ) -> Result<Request, Problem> {
        let parameters = QueryParameters::parse(parts.uri.query().unwrap_or_default(), endpoint)?;
        let arguments = Arguments::new(&endpoint.declared(), &parameters.own)?;
        if matches!(endpoint.body, RequestBody::Json(_) | RequestBody::Archive) {
            Encoding::require_none(&parts.headers)?;
        }
        Ok(Request {
            endpoint,
            path,
            arguments,
            tool_arguments: parameters.tool,
            headers: parts.headers,
            caller,
            body,
            stop: Stop::default(),
        })
    }

    /// Whose slots this request takes.
    pub(crate) fn holders(&self) -> Holders<'_> {
        Holders {
            tenant: self.caller.tenant.root(),
            session: self.path_parameter("session"),
            address: self.caller.address,
        }
    }

    /// The value of a part in braces of the route's path.
    pub(crate) fn path_parameter(&self, name: &str) -> &str {
        self.path.get(name)
    }

    pub(crate) fn session(&self) -> Result<Session, Problem> {
        Ok(self.path_parameter("session").parse()?)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.caller.tenant.store()
    }

    /// The outputs of the session in the path.
    pub(crate) fn outputs(&self, server: &Server) -> Result<Outputs<'_>, Problem> {
        let limits = server.config.settings.query;
        let bounds = (server.config.bounds)(limits, self.stop.clone(), self.caller.tenant.root());
        let outputs = Outputs::new(self.store(), self.session()?, &Timestamp::now);
        Ok(outputs
            .within(self.window(server))
            .bounded_by(bounds)
            .knowing(&server.config.settings.formats)
            .masked_by(&server.config.settings.masking))
    }

    /// The model's context window, as far as it is known.
    pub(crate) fn window(&self, server: &Server) -> Window {
        let set = server.config.settings.room;
        Window {
            context_window: self.arguments.number("context_window").unwrap_or(set.context_window),
            ..set
        }
    }

    /// The most that an excerpt may cost.
    pub(crate) fn budget(&self, server: &Server) -> Budget {
        self.settings(server).excerpt_budget()
    }

    /// The server's settings, with the budget of this request.
    pub(crate) fn settings(&self, server: &Server) -> Settings {
        let mut settings = server.config.settings.clone();
        if let Some(tokens) = self.arguments.number("budget") {
            settings.set_budget(tokens);
        }
        settings
    }

    /// How calls in views are written; clients of the API have the query tools.
    pub(crate) fn surface(&self) -> Surface {
        match self.arguments.text("calls") {
            "shell" => Surface::shell(String::new()),
            _ => Surface::Tools { prefix: forebay::tools::PREFIX.to_owned() },
        }
    }

    /// Whether the client prefers text to JSON.
    pub(crate) fn wants_text(&self) -> bool {
        let accept = self.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        let position = |kind: &str| accept.find(kind).unwrap_or(usize::MAX);
        position("text/plain") < position("application/json")
    }

    /// Whether the client wants events streamed.
    pub(crate) fn wants_stream(&self) -> bool {
        let accept = self.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
        accept.is_some_and(|accept| accept.contains("text/event-stream"))
    }

    /// Answers immediately, without waiting for a turn.
    pub(crate) fn immediate(
        self,
        server: Arc<Server>,
        handler: fn(&Server, &Request) -> Result<Response, Problem>,
    ) -> ResponseFuture {
        Box::pin(async move { handler(&server, &self) })
    }

    /// Answers on a thread where work may block.
    pub(crate) fn blocking(
        self,
        server: Arc<Server>,
        handler: fn(&Server, &Request) -> Result<Response, Problem>,
    ) -> ResponseFuture {
        Box::pin(async move {
            let turn = server.turn().await?;
            let _waiting = ClientWaits(self.stop.clone());
            // The turn ends with the work, also if the client is gone before.
            blocking(move || {
                let response = handler(&server, &self);
                drop(turn);
                response
            })
            .await
        })
    }

    /// Reads a JSON body, then answers on a thread where work may block.
    pub(crate) fn with_json<T: DeserializeOwned + Send + 'static>(
        mut self,
        server: Arc<Server>,
        handler: fn(&Server, &Request, T) -> Result<Response, Problem>,
    ) -> ResponseFuture {
        Box::pin(async move {
            let body = std::mem::take(&mut self.body);
            let bytes = read_body(body, MAX_JSON_BYTES, server.config.idle).await?;
            // Extraction takes long, so it needs a slot and no turn.
            let needs_turn = self.endpoint.right != Some(Right::Extract);
            let turn = if needs_turn { Some(server.turn().await?) } else { None };
            let _waiting = ClientWaits(self.stop.clone());
            blocking(move || {
                let _turn = turn;
                let value = serde_json::from_slice(&bytes)
                    .map_err(|error| Problem::bad_request(format!("the body does not fit: {error}")))?;
                handler(&server, &self, value)
            })
            .await
        })
    }
}

/// A client that waits for a response. Dropping it ends the queries of the request.
struct ClientWaits(Stop);

impl Drop for ClientWaits {
    fn drop(&mut self) {
        self.0.raise("the client no longer waits for the answer");
    }
}

/// Does work that may block, on a thread for that.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(Problem::internal("answering this request failed; the server's log says why"))
    })
}

/// Reads a whole body of at most `max` bytes.
async fn read_body(mut body: Body, max: usize, idle: Duration) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    loop {
        let frame = tokio::time::timeout(idle, body.frame()).await;
        let frame = frame.map_err(|_| Problem::timed_out("the client stopped sending the body"))?;
        let Some(frame) = frame else { return Ok(bytes) };
        let frame =
            frame.map_err(|error| Problem::bad_request(format!("the body cannot be read: {error}")))?;
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > max {
                return Err(Problem::too_large(format!("the body has more than {max} bytes")));
            }
            bytes.extend_from_slice(&data);
        }
    }
}

/// A response of JSON.
pub(crate) fn json(value: &Value) -> Response {
    typed("application/json", value.to_string())
}

/// A response of plain text.
pub(crate) fn text(text: impl Into<Bytes>) -> Response {
    typed("text/plain; charset=utf-8", text)
}

/// A response of a media type.
pub(crate) fn typed(media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// A response without a body.
pub(crate) fn no_content() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
