//! The parts that all conversations of a gateway share: the store, the settings, the servers, and our own tools.

use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::message::Spool;
use crate::server::Server;
use crate::{client_limits, fold::Called};
use forebay::settings::Keep;
use forebay::wire::{Tool, ToolCall, ToolResult, Wire};
use forebay::{
    Call, DiskStore, Limits, Outputs, Preset, Session, Settings, Store, Timestamp, fresh_id, tools,
};
use std::sync::Arc;
use std::time::Duration;

/// The configuration of a gateway.
pub struct Gateway {
    /// The store of outputs.
    pub store: Arc<DiskStore>,
    /// The store that queries read, which may have more than `store`.
    pub reads: Arc<dyn Store>,
    /// When a result gets a view, and which.
    pub settings: Settings,
    /// Whether the user set limits: then the limits of known hosts do not apply.
    pub limits_are_set: bool,
    /// The session of every client; without one, each client gets its own.
    pub session: Option<Session>,
    /// The servers behind it.
    pub servers: Vec<Server>,
    /// Whether tools get the name of their server as a prefix, even with a single server.
    pub many: bool,
    /// The prefix of the names of our own tools.
    pub prefix: String,
    /// Whether our own tools are listed only once an output is stored. Revision 2026-07-28 forbids lists that change, so it
    /// has no effect there.
    pub tools_when_kept: bool,
    /// Time after which a request that its server has not answered gets an error.
    pub timeout: Option<Duration>,
    /// Maximum bytes of a message: one that never ends would fill the disk.
    pub max_message: u64,
    /// Writes to standard error.
    pub diagnostics: Diagnostics,
    /// The clock.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Answers calls of our own tools: [`Tools::answer`](forebay::tools::Tools::answer), with models that read where there are any.
    pub answer: Answer,
}

/// The sessions that a client writes to and reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One session.
    Session(Session),
    /// A session with a secret name for each result. A handle contains that name, so its holder may read there; nothing is
    /// ever listed.
    Secret,
}

impl Scope {
    /// The session in which the next result is stored.
    pub(crate) fn to_keep_in(&self) -> Result<Session> {
        match self {
            Scope::Session(session) => Ok(session.clone()),
            Scope::Secret => Ok(Session::safe(&format!("{SESSION}{}", fresh_id(crate::random::random()?)))),
        }
    }

    /// The session that a caller with this handle may read.
    pub(crate) fn to_read(&self, handle: Option<&str>) -> Session {
        match self {
            Scope::Session(session) => session.clone(),
            Scope::Secret => {
                let named = handle.and_then(|handle| handle.split('/').next()).unwrap_or_default();
                let secret =
                    |id: &str| id.len() >= SECRET && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
                if named.strip_prefix(SESSION).is_some_and(secret) {
                    Session::safe(named)
                } else {
                    Session::safe(NOBODY)
                }
            }
        }
    }
}

/// Prefix of the names of sessions that the gateway makes.
const SESSION: &str = "mcp-";

/// Fewest characters of a secret name, at five bits each.
const SECRET: usize = 26;

/// A session without outputs.
const NOBODY: &str = "mcp-nobody";

/// Answers a call of one of our own tools; the last argument is the prefix of their names.
pub type Answer = Box<dyn Fn(Outputs, &ToolCall, &Settings, &str) -> ToolResult + Send + Sync>;

/// Extends the prefix of our tools if a server has a tool of the same name.
pub(crate) const OTHER_PREFIX: &str = "forebay_";

impl Gateway {
    /// A session for a client that connects now.
    pub(crate) fn session(&self) -> Result<Session> {
        Ok(match &self.session {
            Some(session) => session.clone(),
            // Every marker that a model reads contains the name, so it is short; only its own client can ask for it.
            None => Session::safe(&format!("{SESSION}{}", &fresh_id(crate::random::random()?)[..8])),
        })
    }

    /// The scope of clients that nothing identifies.
    pub(crate) fn scope_of_strangers(&self) -> Scope {
        match &self.session {
            Some(session) => Scope::Session(session.clone()),
            None => Scope::Secret,
        }
    }

    pub(crate) fn spool(&self) -> Spool {
        Spool::new(self.store.root(), self.max_message)
    }

    /// Our own tools under a prefix.
    pub(crate) fn own(&self, prefix: &str) -> Vec<Tool> {
        tools::advised(self.settings.preset, prefix)
    }

    /// Our own tools as entries of a list, without those whose names are taken.
    pub(crate) fn entries(&self, prefix: &str, taken: &dyn Fn(&str) -> bool) -> Vec<serde_json::Value> {
        let mut own: Vec<Tool> = self.own(prefix).into_iter().filter(|tool| !taken(&tool.name)).collect();
        let list = own.iter_mut().find(|tool| tool.name == format!("{prefix}list"));
        list.into_iter().for_each(|tool| tool.description += &self.lifetime());
        let list = Wire::Mcp.tools(&own);
        list.as_array().cloned().unwrap_or_default()
    }

    /// A sentence on how long outputs are kept.
    fn lifetime(&self) -> String {
        let retention = &self.settings.retention;
        match (retention.mode, retention.max_age_days) {
            (Keep::Keep, 0) => String::new(),
            (Keep::Keep, days) => format!(" They are kept for {days} days."),
            (Keep::Session | Keep::Process, _) => " They are kept until the conversation ends.".to_owned(),
        }
    }

    /// A prefix with which none of our tools has a name that is taken.
    pub(crate) fn prefix(&self, taken: &dyn Fn(&str) -> bool) -> String {
        let free = |prefix: &String| {
            !tools::own(prefix).iter().any(|tool| tool.name.starts_with(prefix.as_str()) && taken(&tool.name))
        };
        let longer = (0..8).scan(self.prefix.clone(), |prefix, _| {
            let this = prefix.clone();
            *prefix = format!("{OTHER_PREFIX}{prefix}");
            Some(this)
        });
        longer.into_iter().find(free).unwrap_or_else(|| self.prefix.clone())
    }

    /// The limits of a result of this call.
    pub(crate) fn limits(&self, called: &Called) -> Limits {
        let server = called.server.as_deref().unwrap_or_default();
        let names = [format!("{server}/{}", called.tool), called.tool.clone(), format!("{server}/*")];
        if let Some(name) = names.iter().find(|name| self.has_limits(name)) {
            return self.settings.limits(name);
        }
        let host = client_limits::limits(&called.client);
        match host.filter(|_| !self.limits_are_set && self.settings.preset == Preset::Digest) {
            Some(limits) => limits,
            None => self.settings.limits(&called.tool),
        }
    }

    fn has_limits(&self, tool: &str) -> bool {
        match self.settings.preset {
            Preset::Digest => self.settings.digest.tools.contains_key(tool),
            Preset::HeadTail => self.settings.head_tail.tools.contains_key(tool),
            Preset::Recovery => self.settings.recovery.tools.contains_key(tool),
            Preset::Handle | Preset::Materialize => false,
        }
    }

    /// Whether results of this tool are never touched.
    pub(crate) fn bypasses(&self, server: &str, tool: &str) -> bool {
        let mut call = Call::new(Session::safe("x"), "x", tool, (self.now)());
        call.server = Some(server.to_owned());
        self.settings.bypasses(&call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unidentified_client_reads_only_with_a_secret_handle() {
        let strangers = Scope::Secret;
        let secret = strangers.to_keep_in().unwrap();
        assert!(secret.as_str().len() >= SESSION.len() + SECRET, "{secret}");
        assert_ne!(secret, strangers.to_keep_in().unwrap(), "each result has its own");
        assert_eq!(strangers.to_read(Some(&format!("{secret}/abcdefgh"))), secret);
        for other in [
            None,
            Some("mcp-abcdefgh/abcdefgh"),
            Some("work/abcdefgh"),
            Some(&secret.as_str()[4..]),
            Some(""),
        ] {
            assert_eq!(strangers.to_read(other).as_str(), NOBODY, "{other:?}");
        }
        let mine = Scope::Session(Session::safe("mine"));
        assert_eq!(mine.to_read(Some(&format!("{secret}/abcdefgh"))).as_str(), "mine");
    }
}
