//! Who may come, and what they may do.
//!
//! A server that only this machine can reach has one token of its own, which keeps other users of the machine out; a
//! browser that comes with it once gets a cookie. A server for other machines has a file of tokens, each for a tenant and
//! for rights. Each tenant has a store of its own, so there is no way from one to the outputs of another.

use super::listener::Listen;
use super::local_token::LocalToken;
use super::problem::Problem;
use crate::error::CliError;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use forebay::{DiskStore, Session};
use forebay_mcp::{is_here, name_of};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Right {
    /// See outputs, ask about them, export them
    Read,
    /// Put outputs, import them, report the room
    Write,
    /// Have models read outputs
    Extract,
    /// Remove outputs and sessions
    Delete,
    /// See the metrics of the server
    Metrics,
}

impl Right {
    pub(crate) const ALL: [Right; 5] =
        [Right::Read, Right::Write, Right::Extract, Right::Delete, Right::Metrics];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Write => "write",
            Right::Extract => "extract",
            Right::Delete => "delete",
            Right::Metrics => "metrics",
        }
    }
}

/// A token as its file has it: only its hash is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    /// The BLAKE3 hash of the token, in hexadecimal.
    pub(crate) hash: String,
    /// Whose outputs it reaches; those of the root itself if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<Session>,
    pub(crate) may: Vec<Right>,
}

/// The file that has the tokens.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    #[serde(default, rename = "token")]
    pub(crate) all: Vec<Token>,
}

impl Tokens {
    pub(crate) fn read(file: &Path) -> Result<Tokens, CliError> {
        let cannot = |error: &dyn std::fmt::Display| {
            CliError::usage(format!("cannot read the tokens {}: {error}", file.display()))
        };
        let text = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
        let tokens: Tokens = toml::from_str(&text).map_err(|error| cannot(&error))?;
        let is_hash = |hash: &str| {
            hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        match tokens.all.iter().find(|token| !is_hash(&token.hash)) {
            Some(token) => {
                Err(cannot(&format!("{:?} is not a hash of 64 digits", forebay::shortened(&token.hash, 70))))
            }
            None => Ok(tokens),
        }
    }
}

/// The hash under which a token is kept.
pub(crate) fn hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

/// Whoever comes: where the outputs are that exist for them, and what they may do.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) store: Arc<DiskStore>,
    rights: Arc<[Right]>,
    /// Whether they are on this machine for certain, so that the path of a file is of use to them.
    pub(crate) is_here: bool,
    /// The address that they come from; those who come by a socket file have none.
    pub(crate) address: Option<IpAddr>,
    /// Whether they are known by a browser's cookie.
    by_cookie: bool,
}

impl Visitor {
    fn new(store: Arc<DiskStore>, rights: &[Right], is_here: bool) -> Visitor {
        Visitor { store, rights: rights.into(), is_here, address: None, by_cookie: false }
    }

    pub(crate) fn may(&self, right: Right) -> Result<(), Problem> {
        match (self.rights.contains(&right), self.by_cookie) {
            (true, _) => Ok(()),
            (false, false) => Err(Problem::forbidden(format!("this token may not {}", right.name()))),
            (false, true) => Err(Problem::forbidden(
                "a browser's cookie only reads; send `Authorization: Bearer TOKEN` for everything else",
            )),
        }
    }
}

/// The folder under the root that has the stores of tenants. No session has such a name.
const TENANTS: &str = ".tenants";

/// What a browser may do that is known by its cookie. A browser sends cookies to all ports of a host, so another user's
/// server on this machine may come to see one; and the page only reads.
const BY_COOKIE: [Right; 2] = [Right::Read, Right::Metrics];

/// What whoever comes must show.
pub(crate) enum Access {
    /// Nothing.
    Open,
    /// The token of the root.
    LocalToken,
    /// One of these tokens.
    Tokens(Tokens),
}

/// The same, with who comes in.
enum Guard {
    Open(Visitor),
    Local {
        token: LocalToken,
        visitor: Visitor,
        cookie: String,
    },
    /// Hashes of tokens, and who comes with them. Hashes are compared in a time that tells nothing of them.
    Tokens(Vec<(blake3::Hash, Visitor)>),
}

/// The door.
pub(crate) struct Door {
    pub(crate) listen: Listen,
    /// Pages that may come besides our own, as `https://example.org`.
    pub(crate) origins: Vec<String>,
    /// Names under which we are reached besides those of this machine.
    pub(crate) hosts: Vec<String>,
    guard: Guard,
    /// A store in which nothing is.
    nowhere: Arc<DiskStore>,
}

impl Door {
    pub(crate) fn new(
        listen: Listen,
        access: Access,
        own: &DiskStore,
        (origins, hosts): (Vec<String>, Vec<String>),
    ) -> Result<Door, CliError> {
        let root = own.root();
        let nowhere = Arc::new(own.at(root.join(TENANTS).join(".nobody")));
        if !listen.is_local() && !matches!(access, Access::Tokens(_)) {
            let why = format!("{listen} can be reached from other machines, so tokens are needed");
            return Err(CliError::usage(why).hint(
                "make one with `forebay serve token --tokens FILE`, and give the file with --tokens; or listen on 127.0.0.1",
            ));
        }
        let owner = || Visitor::new(Arc::new(own.at(root)), &Right::ALL, true);
        let guard = match access {
            Access::Open => Guard::Open(owner()),
            Access::LocalToken => {
                // Cookies are shared by all ports of a host, so each root has a cookie of its own.
                let root_hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
                let cookie = format!("forebay-{}", &root_hash[..12]);
                let token = LocalToken::of(root);
                token.get()?;
                Guard::Local { token, visitor: owner(), cookie }
            }
            Access::Tokens(tokens) => Guard::Tokens(known(tokens, own)?),
        };
        Ok(Door { listen, origins, hosts, guard, nowhere })
    }

    /// Whether everybody who can come may do everything.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.guard, Guard::Open(_))
    }

    /// What is needed to come in, as a word for programs.
    pub(crate) fn auth(&self) -> &'static str {
        match self.guard {
            Guard::Open(_) => "none",
            Guard::Local { .. } => "local-token",
            Guard::Tokens(_) => "tokens",
        }
    }

    /// Who comes for what everybody may see: there are no outputs for them.
    pub(crate) fn nobody(&self) -> Visitor {
        Visitor::new(self.nowhere.clone(), &[], false)
    }

    /// Whether there are outputs of several tenants.
    pub(crate) fn has_several_tenants(&self) -> bool {
        self.stores().len() > 1
    }

    /// All stores that somebody can reach.
    pub(crate) fn stores(&self) -> Vec<Arc<DiskStore>> {
        let mut stores: Vec<Arc<DiskStore>> = Vec::new();
        let visitors: Vec<&Visitor> = match &self.guard {
            Guard::Open(visitor) | Guard::Local { visitor, .. } => vec![visitor],
            Guard::Tokens(known) => known.iter().map(|(_, visitor)| visitor).collect(),
        };
        for visitor in visitors {
            if !stores.iter().any(|store| Arc::ptr_eq(store, &visitor.store)) {
                stores.push(visitor.store.clone());
            }
        }
        stores
    }

    /// Whether a request may come at all: a page in a browser must not reach us under a name that only leads here, nor
    /// may a page of others.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let host = text(headers, &HOST).unwrap_or_default();
        let known = is_here(host) || self.hosts.iter().any(|name| name == name_of(host));
        // No page in a browser reaches a socket file.
        if matches!(&self.listen, Listen::Address(address) if address.ip().is_loopback()) && !known {
            let detail = "this host is not served here; `--allow-host NAME` has it served";
            return Err(Problem::forbidden(detail));
        }
        match text(headers, &ORIGIN) {
            None => Ok(()),
            Some(origin) if self.lets_in(origin) => Ok(()),
            Some(origin) if is_own(origin, host) => Ok(()),
            Some(_) => Err(Problem::forbidden(
                "this origin may not come here; `--allow-origin ORIGIN` lets a page of others in",
            )),
        }
    }

    /// Whether a page of others may come.
    pub(crate) fn lets_in(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| allowed == origin)
    }

    /// Who comes with these headers.
    pub(crate) fn visitor(&self, method: &Method, headers: &HeaderMap) -> Result<Visitor, Problem> {
        match &self.guard {
            Guard::Open(visitor) => {
                // A page of others that loads something of ours as a picture or a script says no origin, but that it does.
                if text(headers, &ORIGIN).is_none() {
                    from_no_other_page(headers)?;
                }
                Ok(visitor.clone())
            }
            Guard::Local { token, visitor, cookie } => {
                let wrong = || Problem::no_token(LOCAL);
                let now = token.read().map_err(|error| {
                    Problem::unavailable(format!(
                        "nobody can come, because the server's token cannot be read: {error}; `forebay serve token --rotate` makes a new one"
                    ))
                })?;
                if let Some(given) = bearer(headers) {
                    let is_it = blake3::hash(given.as_bytes()) == blake3::hash(now.as_bytes());
                    return if is_it { Ok(visitor.clone()) } else { Err(wrong()) };
                }
                let value = cookie_value(&now);
                if !cookies(headers, cookie)
                    .any(|given| blake3::Hash::from_hex(given).is_ok_and(|given| given == value))
                {
                    return Err(wrong());
                }
                // A browser sends the cookie along with whatever a page asks for, whoever's page it is.
                from_no_other_page(headers)?;
                let host = text(headers, &HOST).unwrap_or_default();
                let origin = text(headers, &ORIGIN);
                let own = origin.map_or(*method == Method::GET, |origin| is_own(origin, host));
                if !own {
                    return Err(Problem::forbidden(
                        "a cookie counts only for our own page: send the header Origin, or `Authorization: Bearer TOKEN`",
                    ));
                }
                Ok(Visitor { rights: BY_COOKIE.into(), by_cookie: true, ..visitor.clone() })
            }
            Guard::Tokens(known) => {
                let given = bearer(headers).ok_or_else(|| Problem::no_token(OF_FILE))?;
                let given = blake3::hash(given.as_bytes());
                let visitor =
                    known.iter().find(|(hash, _)| *hash == given).map(|(_, visitor)| visitor.clone());
                visitor.ok_or_else(|| Problem::no_token(OF_FILE))
            }
        }
    }

    /// Answers a browser that comes with the token in the address: it gets a cookie, and goes on to the address without
    /// the token. With another token it gets none, and the page asks for one.
    pub(crate) fn signed_in(&self, given: &str) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        headers.insert(LOCATION, HeaderValue::from_static("/"));
        if let Guard::Local { token, cookie, .. } = &self.guard
            && let Ok(now) = token.read()
            && blake3::hash(given.as_bytes()) == blake3::hash(now.as_bytes())
            && let Ok(cookie) =
                format!("{cookie}={}; HttpOnly; SameSite=Strict; Path=/", cookie_value(&now)).parse()
        {
            headers.insert(SET_COOKIE, cookie);
        }
        response
    }
}

/// What to do without a token.
const LOCAL: &str = "open the address that `forebay serve` printed, or send `Authorization: Bearer TOKEN`; \
    `forebay serve token` prints the token";
const OF_FILE: &str = "send `Authorization: Bearer TOKEN`; `forebay serve token` makes one";

/// Who comes with the tokens of a file.
fn known(tokens: Tokens, own: &DiskStore) -> Result<Vec<(blake3::Hash, Visitor)>, CliError> {
    if tokens.all.is_empty() {
        return Err(CliError::usage("the file of tokens has none, so nobody could come")
            .hint("make one with `forebay serve token --tokens FILE`"));
    }
    let mut stores: Vec<(Option<Session>, Arc<DiskStore>)> = Vec::new();
    let mut known = Vec::new();
    for token in tokens.all {
        let there = stores.iter().find(|(tenant, _)| *tenant == token.tenant).map(|(_, store)| store.clone());
        let store = there.unwrap_or_else(|| {
            let folder = match &token.tenant {
                Some(tenant) => own.root().join(TENANTS).join(tenant.as_str()),
                None => own.root().to_owned(),
            };
            // Whoever comes with a token may be on another machine, where our paths lead nowhere.
            let store = Arc::new(own.at(folder).without_paths());
            stores.push((token.tenant.clone(), store.clone()));
            store
        });
        let hash = blake3::Hash::from_hex(&token.hash)
            .map_err(|error| CliError::usage(format!("a token's hash is not one: {error}")))?;
        known.push((hash, Visitor::new(store, &token.may, false)));
    }
    Ok(known)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// The token that a client of the API sends.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = text(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// What a browser has as its cookie. It is made from the token and does not tell it.
fn cookie_value(token: &str) -> blake3::Hash {
    blake3::derive_key("forebay serve, a browser's cookie, version 1", token.as_bytes()).into()
}

/// The values of a cookie; a browser may send several of one name.
fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let all = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(own, _)| *own == name).map(|(_, value)| value)
}

/// Whether an origin is that of our own page.
fn is_own(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, from)| from == host)
}

/// Whether a request comes from our own page, or from no page at all.
fn from_no_other_page(headers: &HeaderMap) -> Result<(), Problem> {
    let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
    match site {
        Some("cross-site" | "same-site") => Err(Problem::forbidden("a page of others may not load this")),
        _ => Ok(()),
    }
}
