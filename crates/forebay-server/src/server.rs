//! Connections and requests: accepts clients, finds the route of a request and sends what its handler returns.

use crate::auth::{Caller, Right};
use crate::config::Config;
use crate::endpoint::PathParameters;
use crate::listener::{Listen, Listener};
use crate::page;
use crate::problem::Problem;
use crate::request::Request;
use crate::routes::{ROUTES, Route};
use crate::slots::MAX_HELD_THREADS;
use crate::state::Server;
use crate::timeouts::WriteTimeout;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONTENT_LENGTH, ORIGIN, VARY,
};
use axum::http::{self, HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures_util::FutureExt;
use hyper::body::Body as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// Maximum connections served at once; more of them wait.
const MAX_CONNECTIONS: usize = 1_024;

/// Maximum threads for work that may block: twice those that clients may hold, so that short requests always find one.
const MAX_THREADS: usize = 2 * MAX_HELD_THREADS;

/// Maximum headers of a request.
const MAX_HEADERS: usize = 64;

/// Maximum bytes of the request line and the headers together.
const MAX_HEAD_BYTES: usize = 128 * 1024;

/// Time that threads get to keep what they received, after the grace period.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The address that a request comes from.
#[derive(Clone, Copy)]
struct Peer(Option<IpAddr>);

/// Serves until `stop` ends, then lets requests in progress end. Calls `listening` with the address once clients can connect.
pub fn serve(
    config: Config,
    stop: impl Future<Output = ()>,
    listening: impl FnOnce(&Listen),
) -> io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().max_blocking_threads(MAX_THREADS).enable_all().build()?;
    let (stopping_sender, stopping) = watch::channel(false);
    let endpoints = ROUTES.iter().map(|route| &route.endpoint).collect();
    let server = Arc::new(Server::new(config, stopping, endpoints));
    let served = runtime.block_on(async {
        let listener = Listener::bind(&server.config.auth.listen).await?;
        listening(&listener.address()?);
        server.accept(listener, stop, stopping_sender).await;
        Ok(())
    });
    // Uploads that are still written keep what came so far.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    served
}

impl Server {
    /// Accepts connections until `stop` ends, then lets requests in progress end.
    async fn accept(
        self: &Arc<Self>,
        listener: Listener,
        stop: impl Future<Output = ()>,
        stopping: watch::Sender<bool>,
    ) {
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = async {
                    let permit = connections.clone().acquire_owned().await;
                    (listener.accept().await, permit)
                } => accepted,
                () = &mut stop => break,
            };
            let (Ok((stream, address)), Ok(permit)) = accepted else {
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            };
            let server = self.clone();
            let for_service = self.clone();
            let service = service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
                let server = for_service.clone();
                request.extensions_mut().insert(Peer(address));
                async move { Ok::<_, Infallible>(server.respond(request.map(Body::new)).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(self.config.idle)
                .max_headers(MAX_HEADERS)
                .max_buf_size(MAX_HEAD_BYTES);
            let connection =
                http.serve_connection(TokioIo::new(WriteTimeout::new(stream, self.config.idle)), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                let _counted = server.metrics.connection();
                let _ = connection.await;
                drop(permit);
            });
        }
        drop(listener);
        let _ = stopping.send(true);
        tokio::select! {
            () = graceful.shutdown() => {}
            () = tokio::time::sleep(self.config.grace) => {}
        }
    }

    /// Responds to any request, with the headers that every response has.
    async fn respond(self: Arc<Self>, request: http::Request<Body>) -> Response {
        let began = Instant::now();
        let is_head = request.method() == Method::HEAD;
        let origin = request.headers().get(ORIGIN).cloned();
        let result = AssertUnwindSafe(self.clone().dispatch(request)).catch_unwind().await;
        let (route, result) = result.unwrap_or_else(|_| {
            ("failed", Err(Problem::internal("answering this request failed; the server's log says why")))
        });
        let mut response = result.unwrap_or_else(|problem| problem.response());
        let headers = response.headers_mut();
        headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if let Some(origin) =
            origin.filter(|origin| origin.to_str().is_ok_and(|text| self.config.auth.allows_origin(text)))
        {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(VARY, HeaderValue::from_static("origin"));
            headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
        }
        if is_head {
            if let Some(length) = response.body().size_hint().exact() {
                response.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
            }
            *response.body_mut() = Body::empty();
        }
        self.metrics.responded(route, response.status().as_u16(), began.elapsed());
        response
    }

    /// The response of the route that serves a request, with the route's name.
    async fn dispatch(
        self: Arc<Self>,
        request: http::Request<Body>,
    ) -> (&'static str, Result<Response, Problem>) {
        let (parts, body) = request.into_parts();
        if let Err(problem) = self.config.auth.check(&parts.headers) {
            return ("refused", Err(problem));
        }
        let method = if parts.method == Method::HEAD { Method::GET } else { parts.method.clone() };
        let path = parts.uri.path();
        if method == Method::GET
            && path == "/"
            && let Some(token) = parts.uri.query().and_then(token_in)
        {
            return ("page", Ok(self.config.auth.sign_in(&token)));
        }
        if method == Method::GET
            && let Some(file) = page::file(path, &parts.headers)
        {
            return ("page", Ok(file));
        }
        let Some(path) = decoded(path) else {
            return ("unknown", Err(Problem::bad_request("the path is not text")));
        };
        let here: Vec<(&Route, PathParameters)> =
            ROUTES.iter().filter_map(|route| Some((route, route.endpoint.matches(&path)?))).collect();
        if here.is_empty() {
            let detail = "nothing is served at this address; /v1/openapi.json lists what is";
            return ("unknown", Err(Problem::not_found(detail)));
        }
        let methods: Vec<&str> = here.iter().map(|(route, _)| route.endpoint.method.as_str()).collect();
        if method == Method::OPTIONS && parts.headers.contains_key(ORIGIN) {
            return ("preflight", Ok(self.preflight(&parts.headers, &methods)));
        }
        let Some((route, path)) = here.into_iter().find(|(route, _)| route.endpoint.method == method) else {
            let allowed: Vec<&str> = methods
                .iter()
                .flat_map(|&name| [Some(name), (name == "GET").then_some("HEAD")])
                .flatten()
                .collect();
            return ("unknown", Err(Problem::method_not_allowed(&allowed.join(", "))));
        };
        let response = async {
            let mut caller = self.authenticated(route.endpoint.right, &method, &parts.headers)?;
            caller.address = parts.extensions.get::<Peer>().and_then(|peer| peer.0);
            let request = Request::new(&route.endpoint, path, caller, parts, body)?;
            (route.handler)(self.clone(), request).await
        };
        (route.endpoint.name, response.await)
    }

    /// The caller, who has the right that a route needs.
    fn authenticated(
        &self,
        right: Option<Right>,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Caller, Problem> {
        let Some(right) = right else { return Ok(self.config.auth.anonymous()) };
        let caller = self.config.auth.caller(method, headers)?;
        caller.require(right)?;
        Ok(caller)
    }

    /// The response that a browser wants before it sends a request of a page from elsewhere.
    fn preflight(&self, headers: &HeaderMap, methods: &[&str]) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        if origin.is_some_and(|origin| self.config.auth.allows_origin(origin)) {
            let headers = response.headers_mut();
            if let Ok(methods) = methods.join(", ").parse() {
                headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            }
            let allowed = "authorization, content-type, accept, range, last-event-id";
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
        response
    }
}

/// The token in the query of an address.
fn token_in(query: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "token").map(|(_, token)| token.into_owned())
}

/// The parts of a path without their percent encoding; `None` if they are not UTF-8.
fn decoded(path: &str) -> Option<Vec<String>> {
    path.strip_prefix('/')?
        .split('/')
        .map(|part| Some(percent_encoding::percent_decode_str(part).decode_utf8().ok()?.into_owned()))
        .collect()
}
