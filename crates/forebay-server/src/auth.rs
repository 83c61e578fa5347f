//! Authentication: who may connect, and what each caller may do.
//!
//! A server that only this machine can reach has one token of its own, which keeps other users of the machine out; a
//! browser that sends it once gets a cookie. A server for other machines has a file of tokens, each for a tenant and for
//! rights. Each tenant has a store of its own, so no request can reach the outputs of another tenant.

use crate::error::Error;
use crate::listener::Listen;
use crate::local_token::LocalToken;
use crate::problem::Problem;
use crate::tenant::{OpenTenant, Tenant};
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use forebay::text::host::{is_loopback, name_of};
use forebay::{DiskStore, Session};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// A right that a token can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Right {
    /// Read outputs, query them, export them.
    Read,
    /// Upload outputs, import them, report the room.
    Write,
    /// Have models read outputs.
    Extract,
    /// Remove outputs and sessions.
    Delete,
    /// Read the metrics of the server.
    Metrics,
}

impl Right {
    /// All rights.
    pub const ALL: [Right; 5] = [Right::Read, Right::Write, Right::Extract, Right::Delete, Right::Metrics];

    /// The name in the file of tokens and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Write => "write",
            Right::Extract => "extract",
            Right::Delete => "delete",
            Right::Metrics => "metrics",
        }
    }

    /// Description of the permitted requests, for help texts.
    pub fn description(self) -> &'static str {
        match self {
            Right::Read => "Read outputs, query them, export them",
            Right::Write => "Upload outputs, import them, report the room",
            Right::Extract => "Have models read outputs",
            Right::Delete => "Remove outputs and sessions",
            Right::Metrics => "Read the metrics of the server",
        }
    }
}

/// A token in the file of tokens, which holds only its hash.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The BLAKE3 hash of the token, in hexadecimal.
    pub hash: String,
    /// Tenant to whose outputs it gives access; without one, the outputs of the root itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Session>,
    /// Its rights.
    pub may: Vec<Right>,
}

/// The file of tokens.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// The tokens in their order.
    #[serde(default, rename = "token")]
    pub all: Vec<Token>,
}

impl Tokens {
    /// Reads a file of tokens.
    pub fn read(file: &Path) -> crate::error::Result<Tokens> {
        let bad = |why: String| Error::BadTokens { file: file.to_owned(), why };
        let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
        let tokens: Tokens = toml::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let is_hash = |hash: &str| {
            hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        match tokens.all.iter().find(|token| !is_hash(&token.hash)) {
            Some(token) => {
                Err(bad(format!("{:?} is not a hash of 64 digits", forebay::shortened(&token.hash, 70))))
            }
            None => Ok(tokens),
        }
    }
}

/// The hash of a token, as a file of tokens holds it.
pub fn hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

/// The sender of a request: the store that they can reach, and their rights.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: Arc<Tenant>,
    rights: Arc<[Right]>,
    /// Whether the caller is certainly on this machine, where the path of a file is useful.
    pub(crate) is_local: bool,
    /// The address that the request comes from; a socket file has none.
    pub(crate) address: Option<IpAddr>,
    /// Whether a browser's cookie authenticated the caller.
    by_cookie: bool,
}

impl Caller {
    fn new(tenant: Arc<Tenant>, rights: &[Right], is_local: bool) -> Caller {
        Caller { tenant, rights: rights.into(), is_local, address: None, by_cookie: false }
    }

    pub(crate) fn has(&self, right: Right) -> bool {
        self.rights.contains(&right)
    }

    /// Refuses a caller that may be a program with a token for some purpose: only a browser that a person logged in, or
    /// a caller with all rights, passes.
    pub(crate) fn require_person(&self) -> Result<(), Problem> {
        if self.by_cookie || Right::ALL.iter().all(|right| self.has(*right)) {
            return Ok(());
        }
        Err(Problem::forbidden(
            "a token with some rights only does not reveal secrets; use one with all of them",
        ))
    }

    /// Refuses a caller without a right.
    pub(crate) fn require(&self, right: Right) -> Result<(), Problem> {
        if self.has(right) {
            return Ok(());
        }
        Err(if self.by_cookie {
            Problem::forbidden(
                "a browser's cookie only reads; send `Authorization: Bearer TOKEN` for everything else",
            )
        } else {
            Problem::forbidden(format!("this token may not {}", right.name()))
        })
    }
}

/// Folder under the root with the stores of tenants. No session can have this name.
const TENANTS: &str = ".tenants";

/// The rights of a browser with a cookie. A browser sends cookies to all ports of a host, so another user's server on this
/// machine may receive one; and the page only reads.
const COOKIE_RIGHTS: [Right; 2] = [Right::Read, Right::Metrics];

/// The credentials that a server asks for.
pub enum Access {
    /// None.
    Open,
    /// The token of the root.
    LocalToken,
    /// One of these tokens.
    Tokens(Tokens),
}

/// The credentials, with the callers that they stand for.
enum Guard {
    Open(Caller),
    Local {
        token: LocalToken,
        caller: Caller,
        cookie: String,
    },
    /// Hashes of tokens and their callers. Comparing hashes takes the same time for all tokens.
    Tokens(Vec<(blake3::Hash, Caller)>),
}

/// Names and pages that are accepted as well as those of this machine.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Origins of web pages, as `https://example.org`.
    pub origins: Vec<String>,
    /// Host names that lead to the server.
    pub hosts: Vec<String>,
}

/// Decides who may connect, and what they may do.
pub struct Auth {
    pub(crate) listen: Listen,
    allowed: Allowed,
    guard: Guard,
    /// An empty store, for callers who are not authenticated.
    empty: Arc<Tenant>,
}

impl Auth {
    /// Prepares the check of credentials over a store. With [`Access::LocalToken`], creates the token if there is
    /// none. `shared` opens the stores of tenants if outputs are not in folders of this machine.
    pub fn new(
        listen: Listen,
        access: Access,
        store: &DiskStore,
        shared: Option<&OpenTenant>,
        allowed: Allowed,
    ) -> crate::error::Result<Auth> {
        let root = store.root();
        let empty = Arc::new(Tenant::new(store.at(root.join(TENANTS).join(".nobody")), None));
        if !listen.is_local() && !matches!(access, Access::Tokens(_)) {
            return Err(Error::TokensNeeded(listen));
        }
        let tenant = |name: Option<&Session>, disk: DiskStore| -> crate::error::Result<Arc<Tenant>> {
            let shared = shared.map(|open| open(name, &disk)).transpose()?;
            Ok(Arc::new(Tenant::new(disk, shared)))
        };
        let owner = || Ok(Caller::new(tenant(None, store.at(root))?, &Right::ALL, true));
        let guard = match access {
            Access::Open => Guard::Open(owner()?),
            Access::LocalToken => {
                // Cookies are shared by all ports of a host, so each root has a cookie of its own.
                let root_hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
                let cookie = format!("forebay-{}", &root_hash[..12]);
                let token = LocalToken::of(root);
                token.get()?;
                Guard::Local { token, caller: owner()?, cookie }
            }
            Access::Tokens(tokens) => Guard::Tokens(callers(tokens, store, &tenant)?),
        };
        Ok(Auth { listen, allowed, guard, empty })
    }

    /// Whether no credentials are required.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.guard, Guard::Open(_))
    }

    /// Kind of required credentials, as a word for programs.
    pub(crate) fn kind(&self) -> &'static str {
        match self.guard {
            Guard::Open(_) => "none",
            Guard::Local { .. } => "local-token",
            Guard::Tokens(_) => "tokens",
        }
    }

    /// The caller of a route that everybody may use: it has no rights and sees no outputs.
    pub(crate) fn anonymous(&self) -> Caller {
        Caller::new(self.empty.clone(), &[], false)
    }

    /// Whether there are outputs of several tenants.
    pub(crate) fn has_several_tenants(&self) -> bool {
        self.tenants().len() > 1
    }

    /// All tenants that a caller can be of.
    pub(crate) fn tenants(&self) -> Vec<Arc<Tenant>> {
        let mut tenants: Vec<Arc<Tenant>> = Vec::new();
        let callers: Vec<&Caller> = match &self.guard {
            Guard::Open(caller) | Guard::Local { caller, .. } => vec![caller],
            Guard::Tokens(known) => known.iter().map(|(_, caller)| caller).collect(),
        };
        for caller in callers {
            if !tenants.iter().any(|tenant| Arc::ptr_eq(tenant, &caller.tenant)) {
                tenants.push(caller.tenant.clone());
            }
        }
        tenants
    }

    /// Refuses requests of web pages that do not belong here: pages from elsewhere, and pages that reach this machine under
    /// a name that only leads to it.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let host = text(headers, &HOST).unwrap_or_default();
        let is_known = is_loopback(host) || self.allowed.hosts.iter().any(|name| name == name_of(host));
        // No page in a browser can connect to a socket file.
        let is_loopback_port = matches!(&self.listen, Listen::Address(address) if address.ip().is_loopback());
        if is_loopback_port && !is_known {
            return Err(Problem::forbidden(
                "requests for this host are refused; `--allow-host NAME` allows them",
            ));
        }
        match text(headers, &ORIGIN) {
            Some(origin) if !self.allows_origin(origin) && !is_own_origin(origin, host) => {
                Err(Problem::forbidden(
                    "requests from this origin are refused; `--allow-origin ORIGIN` allows them",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Whether a page from elsewhere may send requests.
    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        self.allowed.origins.iter().any(|allowed| allowed == origin)
    }

    /// The caller whom these headers authenticate.
    pub(crate) fn caller(&self, method: &Method, headers: &HeaderMap) -> Result<Caller, Problem> {
        match &self.guard {
            Guard::Open(caller) => {
                // A page from elsewhere that loads an address as a picture or a script sends no origin, but its site.
                if text(headers, &ORIGIN).is_none() {
                    refuse_other_pages(headers)?;
                }
                Ok(caller.clone())
            }
            Guard::Local { token, caller, cookie } => {
                let token = token.read().map_err(|error| {
                    Problem::unavailable(format!(
                        "the server's token cannot be read, so all requests are refused: {error}; `forebay serve token --rotate` makes a new one"
                    ))
                })?;
                let by_token = bearer(headers).map(|given| is_same(given, &token));
                if by_token == Some(true) {
                    return Ok(caller.clone());
                }
                if by_token.is_some() || !has_cookie(headers, cookie, &token) {
                    return Err(Problem::unauthorized(LOCAL_TOKEN_NEEDED));
                }
                refuse_other_origins(method, headers)?;
                Ok(Caller { rights: COOKIE_RIGHTS.into(), by_cookie: true, ..caller.clone() })
            }
            Guard::Tokens(known) => {
                let given = bearer(headers).ok_or_else(|| Problem::unauthorized(TOKEN_NEEDED))?;
                let given = blake3::hash(given.as_bytes());
                let found = known.iter().find(|(hash, _)| *hash == given);
                found.map(|(_, caller)| caller.clone()).ok_or_else(|| Problem::unauthorized(TOKEN_NEEDED))
            }
        }
    }

    /// Responds to a browser that sends the token in the address: sets a cookie, and redirects to the address without the
    /// token. With a wrong token it sets none, and the page asks for one.
    pub(crate) fn sign_in(&self, given: &str) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        headers.insert(LOCATION, HeaderValue::from_static("/"));
        if let Guard::Local { token, cookie, .. } = &self.guard
            && let Ok(token) = token.read()
            && is_same(given, &token)
            && let Ok(cookie) =
                format!("{cookie}={}; HttpOnly; SameSite=Strict; Path=/", cookie_value(&token)).parse()
        {
            headers.insert(SET_COOKIE, cookie);
        }
        response
    }
}

/// Hint for a request without the token of the root.
const LOCAL_TOKEN_NEEDED: &str = "open the address that `forebay serve` printed, or send `Authorization: Bearer TOKEN`; \
    `forebay serve token` prints the token";

/// Hint for a request without one of the tokens in the file.
const TOKEN_NEEDED: &str = "send `Authorization: Bearer TOKEN`; `forebay serve token` makes one";

/// Makes a tenant over its folder: a named one, or the owner.
type NewTenant<'a> = dyn Fn(Option<&Session>, DiskStore) -> crate::error::Result<Arc<Tenant>> + 'a;

/// The callers that the tokens of a file stand for.
fn callers(
    tokens: Tokens,
    store: &DiskStore,
    open: &NewTenant<'_>,
) -> crate::error::Result<Vec<(blake3::Hash, Caller)>> {
    if tokens.all.is_empty() {
        return Err(Error::NoTokens);
    }
    let mut tenants: Vec<(Option<Session>, Arc<Tenant>)> = Vec::new();
    let mut callers = Vec::new();
    for token in tokens.all {
        let existing =
            tenants.iter().find(|(name, _)| *name == token.tenant).map(|(_, tenant)| tenant.clone());
        let tenant = match existing {
            Some(tenant) => tenant,
            None => {
                let folder = match &token.tenant {
                    Some(tenant) => store.root().join(TENANTS).join(tenant.as_str()),
                    None => store.root().to_owned(),
                };
                // The caller may be on another machine, where paths of this one lead nowhere.
                let tenant = open(token.tenant.as_ref(), store.at(folder).without_paths())?;
                tenants.push((token.tenant.clone(), tenant.clone()));
                tenant
            }
        };
        let hash = blake3::Hash::from_hex(&token.hash).map_err(|_| Error::BadHash(token.hash.clone()))?;
        callers.push((hash, Caller::new(tenant, &token.may, false)));
    }
    Ok(callers)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// The token that a client of the API sends.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = text(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Whether two tokens are the same. Comparing their hashes takes the same time for all tokens.
fn is_same(given: &str, token: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes())
}

/// The value of a browser's cookie, which is derived from the token and does not reveal it.
fn cookie_value(token: &str) -> blake3::Hash {
    blake3::derive_key("forebay serve, a browser's cookie, version 1", token.as_bytes()).into()
}

/// Whether a request has the cookie of a token.
fn has_cookie(headers: &HeaderMap, name: &str, token: &str) -> bool {
    let value = cookie_value(token);
    cookies(headers, name).any(|given| blake3::Hash::from_hex(given).is_ok_and(|given| given == value))
}

/// The values of a cookie; a browser may send several of one name.
fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let all = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(own, _)| *own == name).map(|(_, value)| value)
}

/// Whether an origin is that of our own page.
fn is_own_origin(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, from)| from == host)
}

/// Refuses a request with a cookie unless it comes from our own page. A browser sends the cookie with all requests of all
/// pages.
fn refuse_other_origins(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    refuse_other_pages(headers)?;
    let host = text(headers, &HOST).unwrap_or_default();
    let is_own = match text(headers, &ORIGIN) {
        Some(origin) => is_own_origin(origin, host),
        None => *method == Method::GET,
    };
    if is_own {
        return Ok(());
    }
    Err(Problem::forbidden(
        "a cookie is accepted only from the server's own page: send the header Origin, or `Authorization: Bearer TOKEN`",
    ))
}

/// Refuses a request that a browser marks as sent by a page from elsewhere.
fn refuse_other_pages(headers: &HeaderMap) -> Result<(), Problem> {
    let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
    if matches!(site, Some("cross-site" | "same-site")) {
        return Err(Problem::forbidden("pages from elsewhere may not load this"));
    }
    Ok(())
}
