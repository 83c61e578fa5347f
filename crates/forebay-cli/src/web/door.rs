//! Who may come, and what they may do.
//!
//! Without tokens only this machine can come, and may do everything. A token stands for a tenant and for rights. Each
//! tenant has a store of its own, so there is no way from one to the outputs of another.

use super::problem::Problem;
use crate::error::CliError;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};
use forebay::{DiskStore, Session};
use forebay_mcp::{is_here, name_of};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
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
}

impl Visitor {
    pub(crate) fn may(&self, right: Right) -> bool {
        self.rights.contains(&right)
    }
}

/// The folder under the root that has the stores of tenants. No session has such a name.
const TENANTS: &str = ".tenants";

/// The door.
pub(crate) struct Door {
    pub(crate) listen: SocketAddr,
    /// Pages that may come besides our own, as `https://example.org`.
    pub(crate) origins: Vec<String>,
    /// Names under which we are reached besides those of this machine.
    pub(crate) hosts: Vec<String>,
    /// Who comes without a token, where none is needed.
    anybody: Option<Visitor>,
    /// Hashes of tokens, and who comes with them.
    known: Vec<(String, Visitor)>,
    /// A store in which nothing is.
    nowhere: Arc<DiskStore>,
}

impl Door {
    pub(crate) fn new(
        listen: SocketAddr,
        tokens: Option<Tokens>,
        root: &Path,
        (origins, hosts): (Vec<String>, Vec<String>),
    ) -> Result<Door, CliError> {
        let nowhere = Arc::new(DiskStore::new(root.join(TENANTS).join(".nobody")));
        let Some(tokens) = tokens else {
            if !listen.ip().is_loopback() {
                let why = format!("{} can be reached from other machines, so tokens are needed", listen.ip());
                return Err(CliError::usage(why).hint(
                    "make one with `forebay serve token --tokens FILE`, and give the file with --tokens; or listen on 127.0.0.1",
                ));
            }
            let anybody =
                Visitor { store: Arc::new(DiskStore::new(root)), rights: Right::ALL.into(), is_here: true };
            return Ok(Door { listen, origins, hosts, anybody: Some(anybody), known: Vec::new(), nowhere });
        };
        if tokens.all.is_empty() {
            return Err(CliError::usage("the file of tokens has none, so nobody could come")
                .hint("make one with `forebay serve token --tokens FILE`"));
        }
        let mut stores: Vec<(Option<Session>, Arc<DiskStore>)> = Vec::new();
        let mut known = Vec::new();
        for token in tokens.all {
            let there =
                stores.iter().find(|(tenant, _)| *tenant == token.tenant).map(|(_, store)| store.clone());
            let store = there.unwrap_or_else(|| {
                let folder = match &token.tenant {
                    Some(tenant) => root.join(TENANTS).join(tenant.as_str()),
                    None => root.to_owned(),
                };
                // Whoever comes with a token may be on another machine, where our paths lead nowhere.
                let store = Arc::new(DiskStore::new(folder).without_paths());
                stores.push((token.tenant.clone(), store.clone()));
                store
            });
            known.push((token.hash, Visitor { store, rights: token.may.into(), is_here: false }));
        }
        Ok(Door { listen, origins, hosts, anybody: None, known, nowhere })
    }

    /// Whether everybody who can come may do everything.
    pub(crate) fn is_open(&self) -> bool {
        self.anybody.is_some()
    }

    /// Who comes for what everybody may see: there are no outputs for them.
    pub(crate) fn nobody(&self) -> Visitor {
        Visitor { store: self.nowhere.clone(), rights: Arc::new([]), is_here: false }
    }

    /// All stores that somebody can reach.
    pub(crate) fn stores(&self) -> Vec<Arc<DiskStore>> {
        let mut stores: Vec<Arc<DiskStore>> = Vec::new();
        for visitor in self.anybody.iter().chain(self.known.iter().map(|(_, visitor)| visitor)) {
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
        if self.listen.ip().is_loopback() && !known {
            let detail = "this host is not served here; `--allow-host NAME` has it served";
            return Err(Problem::forbidden(detail));
        }
        match text(headers, &ORIGIN) {
            None => Ok(()),
            Some(origin) if self.lets_in(origin) => Ok(()),
            Some(origin) if origin.split_once("://").is_some_and(|(_, from)| from == host) => Ok(()),
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
    pub(crate) fn visitor(&self, headers: &HeaderMap) -> Result<Visitor, Problem> {
        if let Some(anybody) = &self.anybody {
            // A page of others that loads something of ours as a picture or a script says no origin, but that it does.
            let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
            if matches!(site, Some("cross-site" | "same-site")) && text(headers, &ORIGIN).is_none() {
                return Err(Problem::forbidden("a page of others may not load this"));
            }
            return Ok(anybody.clone());
        }
        let given = text(headers, &AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        let given = hash(given.ok_or_else(Problem::no_token)?);
        // What is compared are hashes, so how long that takes tells nothing of a token.
        let visitor = self.known.iter().find(|(hash, _)| *hash == given).map(|(_, visitor)| visitor.clone());
        visitor.ok_or_else(Problem::no_token)
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}
