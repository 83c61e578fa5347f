//! What all conversations of a gateway share: the store, the settings, the servers, and our own tools.

use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::message::Spool;
use crate::server::Server;
use crate::{client_limits, fold::Called};
use forebay::settings::Keep;
use forebay::wire::{Tool, ToolCall, ToolResult, Wire};
use forebay::{Call, Clock, DiskStore, Limits, Outputs, Preset, Session, Settings, fresh_id, tools};
use std::sync::Arc;
use std::time::Duration;

/// What a gateway is made of.
pub struct Gateway {
    /// Where outputs are kept.
    pub store: Arc<DiskStore>,
    /// When results are folded, and to what.
    pub settings: Settings,
    /// Whether the limits were set by hand: then what a host would show by itself is not asked.
    pub limits_are_set: bool,
    /// The session of every client; each has one of its own if it is not said.
    pub session: Option<Session>,
    /// The servers behind it.
    pub servers: Vec<Server>,
    /// Whether they are a set, whose names stand before those of their tools, even where there is only one.
    pub many: bool,
    /// What the names of our own tools begin with.
    pub prefix: String,
    /// Whether our own tools are in lists only once something is kept. Revision 2026-07-28 forbids lists that change
    /// by what is called, so there it has no effect.
    pub tools_when_kept: bool,
    /// A request that no server answers in this time is answered with an error.
    pub timeout: Option<Duration>,
    /// No message of a client or a server has more bytes: one that never ends would fill the disk.
    pub max_message: u64,
    /// The way to standard error.
    pub diagnostics: Diagnostics,
    /// The clock.
    pub now: Clock,
    /// Answers calls of our own tools: [`tools::answer`], with models that read where there are any.
    pub answer: Answer,
}

/// What a client's outputs are kept in, and what it may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One session.
    Session(Session),
    /// A session for each result, which nobody can guess. Whoever has a handle has its session's name, and may read
    /// there; nothing is ever listed.
    Secret,
}

impl Scope {
    /// The session for a result that is kept now.
    pub(crate) fn to_keep_in(&self) -> Result<Session> {
        match self {
            Scope::Session(session) => Ok(session.clone()),
            Scope::Secret => Ok(Session::safe(&format!("{SESSION}{}", fresh_id(crate::random::random()?)))),
        }
    }

    /// The session that may be read by whoever names this handle.
    pub(crate) fn to_read(&self, handle: Option<&str>) -> Session {
        match self {
            Scope::Session(session) => session.clone(),
            Scope::Secret => {
                let named = handle.and_then(|handle| handle.split('/').next()).unwrap_or_default();
                let secret =
                    |id: &str| id.len() >= SECRET && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
                match named.strip_prefix(SESSION).is_some_and(secret) {
                    true => Session::safe(named),
                    false => Session::safe(NOBODY),
                }
            }
        }
    }
}

/// What the names of sessions begin with that are ours to give.
const SESSION: &str = "mcp-";

/// So many characters are too many to be guessed: five bits each.
const SECRET: usize = 26;

/// A session in which there is nothing.
const NOBODY: &str = "mcp-nobody";

/// Answers a call of one of our own tools; the prefix of their names stands last.
pub type Answer = Box<dyn Fn(Outputs, &ToolCall, &Settings, &str) -> ToolResult + Send + Sync>;

/// Put before the prefix of our tools where a server has a tool of the same name.
pub(crate) const OTHER_PREFIX: &str = "forebay_";

impl Gateway {
    /// A session for a client that connects now.
    pub(crate) fn session(&self) -> Result<Session> {
        Ok(match &self.session {
            Some(session) => session.clone(),
            // It is in every marker that a model reads, so it is short; only its own client can ask for it.
            None => Session::safe(&format!("{SESSION}{}", &fresh_id(crate::random::random()?)[..8])),
        })
    }

    /// What clients may keep and read of whom nothing tells that they are the same again.
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

    /// How long an output can be read, for those who must know.
    fn lifetime(&self) -> String {
        let retention = &self.settings.retention;
        match (retention.mode, retention.max_age_days) {
            (Keep::Keep, 0) => String::new(),
            (Keep::Keep, days) => format!(" They are kept for {days} days."),
            (Keep::Session | Keep::Process, _) => " They are kept until the conversation ends.".to_owned(),
        }
    }

    /// The prefix under which none of our tools has a name that is taken.
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

    /// When a result of this call no longer fits.
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
        let call = Call::new(Session::safe("x"), "x", tool, (self.now)());
        self.settings.bypasses(&Call { server: Some(server.to_owned()), ..call })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_reads_only_where_a_handle_leads_that_nobody_can_guess() {
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
