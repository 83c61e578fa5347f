//! `forebay serve`: outputs by HTTP, and the page to look at them.
//!
//! A request comes through the [`door`], finds its [`routes`] entry, and becomes [`asked::Asked`]; what may block is done on
//! threads of its own. All answers are bounded or streamed, so memory does not grow with outputs or with slow clients.

mod archives;
mod asked;
mod calls;
pub(crate) mod door;
mod encoding;
mod health;
pub(crate) mod listener;
pub(crate) mod local_token;
mod look;
mod metrics;
mod openapi;
mod outputs;
mod page;
mod patience;
mod places;
mod problem;
mod put;
mod queries;
mod routes;
mod sessions;

use crate::commands::clean;
use crate::models::Reach;
use asked::Asked;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL, CONTENT_LENGTH, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
use door::Door;
use forebay::settings::Keep;
use forebay::store::disk::Sweep;
use forebay::store::retention::Rules;
use forebay::{DiskStore, Settings, Store, Timestamp};
use futures_util::FutureExt;
use hyper::body::Body as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use listener::{Listen, Listener};
use metrics::Metrics;
use patience::Patient;
use places::{Place, Places};
use problem::Problem;
use routes::{ROUTES, Route};
use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// So many connections are served at once; others wait.
const CONNECTIONS: usize = 1_024;

/// So many threads do what may block, and no more than half of them may be held for as long as a client likes.
const THREADS: usize = 512;
const HELD: usize = THREADS / 2;

/// So many answers are worked out at once; a filter or a search may take a core and some memory.
const WORKING: usize = 32;

/// A request has no more headers, and its beginning no more bytes.
const HEADERS: usize = 64;
const HEAD: usize = 128 * 1024;

/// What is served, and how.
pub(crate) struct Config {
    pub(crate) settings: Settings,
    pub(crate) reach: Reach,
    pub(crate) door: Door,
    /// A client that neither sends nor takes anything for so long is let go.
    pub(crate) idle: Duration,
    /// No output is larger.
    pub(crate) max_upload: u64,
    /// What is under way has so long to end when the server stops.
    pub(crate) grace: Duration,
}

/// What all requests share.
pub(crate) struct Web {
    pub(crate) config: Config,
    pub(crate) stopping: watch::Receiver<bool>,
    metrics: Metrics,
    /// Calls whose outputs are just being put.
    under_way: Mutex<HashSet<String>>,
    places: Places,
    /// Places for answers that are being worked out.
    working: Arc<Semaphore>,
}

/// The address that a request comes from.
#[derive(Clone, Copy)]
struct Peer(Option<IpAddr>);

/// A call whose output is being put, for as long as it is.
pub(crate) struct Under {
    web: Arc<Web>,
    key: String,
}

impl Under {
    /// `None` if somebody else is at it.
    pub(crate) fn begin(web: &Arc<Web>, key: String) -> Option<Under> {
        web.under_way().insert(key.clone()).then(|| Under { web: web.clone(), key })
    }
}

impl Drop for Under {
    fn drop(&mut self) {
        self.web.under_way().remove(&self.key);
    }
}

/// Serves until a signal comes; `listening` is told where.
pub(crate) fn serve(config: Config, listening: impl FnOnce(&Listen)) -> io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().max_blocking_threads(THREADS).enable_all().build()?;
    let (stop, stopping) = watch::channel(false);
    let (metrics, under_way, places) = Default::default();
    let working = Arc::new(Semaphore::new(WORKING));
    let web = Arc::new(Web { config, stopping, metrics, under_way, places, working });
    let served = runtime.block_on(async {
        let listener = Listener::bind(&web.config.door.listen).await?;
        listening(&listener.place()?);
        web.accept(listener, stop).await;
        Ok(())
    });
    // What is still at work now is kept as far as it came.
    runtime.shutdown_timeout(Duration::from_secs(5));
    served
}

impl Web {
    fn under_way(&self) -> MutexGuard<'_, HashSet<String>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place to work out an answer; whoever comes when all are taken waits.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.working
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| Problem::unavailable("the server is about to stop"))
    }

    /// A place for a request that may hold a thread for long.
    pub(crate) fn place(&self, asked: &Asked) -> Result<Place, Problem> {
        self.places.take(asked, self.config.door.has_several_tenants())
    }

    /// Takes connections until a signal comes, and lets those end that are at something.
    async fn accept(self: &Arc<Self>, listener: Listener, stop: watch::Sender<bool>) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let graceful = GracefulShutdown::new();
        let mut signalled = std::pin::pin!(forebay_mcp::signalled());
        loop {
            let taken = tokio::select! {
                taken = async {
                    let place = places.clone().acquire_owned().await;
                    (listener.accept().await, place)
                } => taken,
                () = &mut signalled => break,
            };
            let (Ok((stream, address)), Ok(place)) = taken else {
                // Too many files are open, or the like: that passes.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let web = self.clone();
            let for_service = self.clone();
            let service = service_fn(move |mut request: Request<hyper::body::Incoming>| {
                let web = for_service.clone();
                request.extensions_mut().insert(Peer(address));
                async move { Ok::<_, Infallible>(web.answer(request.map(Body::new)).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(self.config.idle)
                .max_headers(HEADERS)
                .max_buf_size(HEAD);
            let connection =
                http.serve_connection(TokioIo::new(Patient::new(stream, self.config.idle)), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                let _counted = web.metrics.connection();
                let _ = connection.await;
                drop(place);
            });
        }
        drop(listener);
        let _ = stop.send(true);
        tokio::select! {
            () = graceful.shutdown() => {}
            () = tokio::time::sleep(self.config.grace) => {}
        }
    }

    /// Answers a request, whatever it is.
    async fn answer(self: Arc<Self>, request: Request<Body>) -> Response {
        let began = Instant::now();
        let head = request.method() == Method::HEAD;
        let origin = request.headers().get(ORIGIN).cloned();
        let answered = AssertUnwindSafe(self.clone().answered(request)).catch_unwind().await;
        let (route, answer) = answered.unwrap_or_else(|_| {
            ("failed", Err(Problem::ours("answering this request failed; the server's log says why")))
        });
        let mut response = answer.unwrap_or_else(|problem| problem.response());
        let headers = response.headers_mut();
        headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
        headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if let Some(origin) =
            origin.filter(|origin| origin.to_str().is_ok_and(|text| self.config.door.lets_in(text)))
        {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(VARY, HeaderValue::from_static("origin"));
            headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
        }
        if head {
            if let Some(length) = response.body().size_hint().exact() {
                response.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
            }
            *response.body_mut() = Body::empty();
        }
        self.metrics.answered(route, response.status().as_u16(), began.elapsed());
        response
    }

    /// The answer, with the name of the route that gave it.
    async fn answered(self: Arc<Self>, request: Request<Body>) -> (&'static str, Result<Response, Problem>) {
        let (parts, body) = request.into_parts();
        if let Err(problem) = self.config.door.check(&parts.headers) {
            return ("refused", Err(problem));
        }
        let method = if parts.method == Method::HEAD { Method::GET } else { parts.method };
        let path = parts.uri.path();
        if method == Method::GET
            && path == "/"
            && let Some(token) = parts.uri.query().and_then(token_in)
        {
            return ("page", Ok(self.config.door.signed_in(&token)));
        }
        if method == Method::GET
            && let Some(file) = page::file(path, &parts.headers)
        {
            return ("page", Ok(file));
        }
        let Some(path) = decoded(path) else {
            return ("unknown", Err(Problem::bad_request("the path is not text")));
        };
        let here: Vec<(&Route, Vec<_>)> =
            ROUTES.iter().filter_map(|route| Some((route, route.matches(&path)?))).collect();
        if here.is_empty() {
            let detail = "nothing is served at this address; /v1/openapi.json says what is";
            return ("unknown", Err(Problem::not_found(detail)));
        }
        if method == Method::OPTIONS && parts.headers.contains_key(ORIGIN) {
            return ("preflight", Ok(self.preflight(&parts.headers, &here)));
        }
        let methods = here.iter().map(|(route, _)| route.method.as_str());
        let allowed: Vec<&str> =
            methods.flat_map(|name| [Some(name), (name == "GET").then_some("HEAD")]).flatten().collect();
        let Some((route, named)) = here.into_iter().find(|(route, _)| route.method == method) else {
            return ("unknown", Err(Problem::no_such_method(&allowed.join(", "))));
        };
        let answer = async {
            let mut visitor = match route.right {
                None => self.config.door.nobody(),
                Some(right) => {
                    let visitor = self.config.door.visitor(&method, &parts.headers)?;
                    visitor.may(right)?;
                    visitor
                }
            };
            visitor.address = parts.extensions.get::<Peer>().and_then(|peer| peer.0);
            let asked = Asked::new(route, named, parts.uri.query(), visitor, (parts.headers, body))?;
            (route.answer)(self.clone(), asked).await
        };
        (route.name, answer.await)
    }

    /// What a browser is told before it sends a request of a page of others.
    fn preflight(&self, headers: &HeaderMap, here: &[(&Route, Vec<(&'static str, String)>)]) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        if origin.is_some_and(|origin| self.config.door.lets_in(origin)) {
            let methods: Vec<&str> = here.iter().map(|(route, _)| route.method.as_str()).collect();
            let answer = response.headers_mut();
            if let Ok(methods) = methods.join(", ").parse() {
                answer.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            }
            let allowed = "authorization, content-type, accept, range, last-event-id";
            answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
            answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
        response
    }

    /// Has a store swept as the settings say, if it is time to; nobody waits for it.
    pub(crate) fn sweep_now_and_then(&self, store: &Arc<DiskStore>) {
        if self.config.settings.retention.mode != Keep::Keep {
            return;
        }
        let (store, rules) = (store.clone(), Rules::from(&self.config.settings.retention));
        let stores = self.config.door.stores();
        tokio::task::spawn_blocking(move || {
            let now = Timestamp::now();
            if !matches!(store.take_turn(now, clean::EVERY), Ok(true)) {
                return;
            }
            let by_age = store.counts_ages(now, false).unwrap_or(false);
            let sweep = Sweep { rules, only: None, now, by_age, free: None, dry_run: false };
            let _ = store.sweep(&Sweep { rules: Rules { min_free: None, ..rules }, ..sweep.clone() });
            if let Some((fullest, free)) = fullest(&stores, rules.min_free) {
                let rules = Rules { min_free: rules.min_free, ..Rules::default() };
                let _ = fullest.sweep(&Sweep { rules, by_age: false, free: Some(free), ..sweep });
            }
        });
    }
}

/// The token that stands behind the question mark.
fn token_in(query: &str) -> Option<String> {
    let mut given = form_urlencoded::parse(query.as_bytes());
    given.find(|(name, _)| name == "token").map(|(_, token)| token.into_owned())
}

/// The store that has to give way if the disk has too little left, and how much that is. The disk is shared by all
/// tenants, so the one that keeps the most gives way, whoever has just put something.
fn fullest(stores: &[Arc<DiskStore>], least: Option<u64>) -> Option<(&Arc<DiskStore>, u64)> {
    let least = least?;
    let short =
        stores.iter().filter_map(|store| Some((store, store.free().ok().filter(|free| *free < least)?)));
    short.max_by_key(|(store, _)| kept(store))
}

/// How many bytes a store keeps.
fn kept(store: &DiskStore) -> u64 {
    let sessions = store.sessions().unwrap_or_default();
    let weights = sessions.iter().flat_map(|session| store.weights(session).unwrap_or_default());
    weights.fold(0, |sum, weight| sum.saturating_add(weight.bytes))
}

/// The parts of a path, as they are meant; `None` if they are not text.
fn decoded(path: &str) -> Option<Vec<String>> {
    path.strip_prefix('/')?
        .split('/')
        .map(|part| Some(percent_encoding::percent_decode_str(part).decode_utf8().ok()?.into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay::{Call, End, Session, Stream};

    #[test]
    fn the_tenant_that_keeps_the_most_gives_way_when_the_disk_runs_full() {
        let root = tempfile::tempdir().unwrap();
        let stores: Vec<Arc<DiskStore>> = [("a", 100_000), ("b", 300_000), ("c", 10)]
            .map(|(tenant, bytes)| {
                let store = DiskStore::new(root.path().join(tenant));
                let call = Call::new(Session::safe("s"), "one", "tool", Timestamp::UNIX_EPOCH);
                let mut writer = (&store as &dyn Store).begin(&call);
                writer.write(Stream::Stdout, &vec![b'x'; bytes]);
                writer.finish(End::default());
                Arc::new(store)
            })
            .into();
        let (found, _) = fullest(&stores, Some(u64::MAX)).unwrap();
        assert_eq!(found.root(), root.path().join("b"));
        for enough in [None, Some(0)] {
            assert!(fullest(&stores, enough).is_none(), "{enough:?}");
        }
    }
}
