//! Answers of servers: a result that does not fit is replaced by a view, and lists get our own entries.

use super::{Conversation, Kind, TOOLS_CHANGED, own};
use crate::error::Result;
use crate::fold::{Called, Fold};
use crate::gateway::Scope;
use crate::listing::{self, Listing};
use crate::message::{Frame, Message};
use crate::rpc::{self, INTERNAL_ERROR, METHOD_NOT_FOUND, STATELESS_SINCE};
use crate::{params, resources};
use forebay::{Session, Surface};
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// Maximum bytes of a result that is checked in the reading task. A larger one is checked in another task, so that
/// other messages need not wait.
const WEIGHED_AT_ONCE: u64 = 64 * 1024;

impl Conversation {
    /// The result of a call, folded where it does not fit.
    pub(super) async fn give_result(self: Arc<Self>, message: Message, frame: Frame, called: Called) {
        let Some(at) = frame.result else { return self.tell_client(message).await };
        if message.len() <= WEIGHED_AT_ONCE
            && self.fold(&called).and_then(|fold| fold.fits(&message, at.clone(), &called)).unwrap_or(false)
        {
            return self.tell_client(message).await;
        }
        tokio::spawn(async move {
            let folding = self.clone();
            let folded = tokio::task::spawn_blocking(move || {
                let folded = folding.folded(&message, at, &called);
                (folded, message, called)
            });
            match folded.await {
                Ok((Ok(Some(folded)), ..)) => self.tell_client(folded).await,
                Ok((Ok(None), message, _)) => self.tell_client(message).await,
                Ok((Err(error), message, called)) => {
                    // A result is worth more than its view.
                    self.diagnostics()
                        .line(&format!("the result of {} passes as it is: {error}", called.tool));
                    self.tell_client(message).await;
                }
                Err(_) => {
                    let id = frame.id.unwrap_or_else(|| "null".to_owned());
                    self.error(&id, INTERNAL_ERROR, "the result could not be read").await;
                }
            }
        });
    }

    /// The context for folding the result of a call.
    fn fold(&self, called: &Called) -> Result<Fold<'_>> {
        Ok(Fold {
            store: &*self.gateway.store,
            rooms: &*self.gateway.reads,
            session: self.scope.to_keep_in()?,
            settings: &self.gateway.settings,
            limits: self.gateway.limits(called),
            surface: Surface::Tools { prefix: self.prefix() },
            spool: &self.spool,
            links: called.links,
            now: &*self.gateway.now,
        })
    }

    fn folded(&self, message: &Message, at: Range<u64>, called: &Called) -> Result<Option<Message>> {
        let fold = self.fold(called)?;
        if fold.fits(message, at.clone(), called)? {
            return Ok(None);
        }
        let folded = fold.folded(message, at, called)?;
        if folded.is_some() {
            self.note_kept(fold.session);
        }
        Ok(folded)
    }

    /// Something is kept in a session: from now on a sweep must leave it alone.
    fn note_kept(&self, session: Session) {
        let mut state = self.state();
        if state.kept.contains(&session) {
            return;
        }
        // A secret session has no end that we could see: it lasts as long as the rules say.
        if self.scope != Scope::Secret {
            state.held = self.gateway.store.hold_open(&session).ok();
        }
        let first = state.kept.is_empty();
        // The sessions to remove at the end must be known.
        if first || self.gateway.settings.retention.mode == forebay::settings::Keep::Session {
            state.kept.push(session);
        }
        if first && self.gateway.tools_when_kept && state.hello.is_some() {
            // Nobody waits for it: a client that reads nothing would hold the result up.
            let _ = self.to_client.try_send(TOOLS_CHANGED.to_owned().into());
        }
    }

    /// A message of the only server with our additions; `None` if it stays unchanged.
    pub(super) fn changed(
        &self,
        server: usize,
        message: &Message,
        frame: &Frame,
        kind: &Kind,
    ) -> Option<Message> {
        let compose = |parts: &[_]| message.composed(parts, &self.spool).ok();
        let Some(at) = frame.result.clone() else {
            // A server without resources has none but ours.
            let code = message.find(frame.error.clone()?, &["code"])?;
            let unknown = message.text(code).ok()? == METHOD_NOT_FOUND.to_string();
            let id = frame.id.as_deref()?;
            let result = match kind {
                Kind::Tools => own::complete(json!({ "tools": self.own_tools() })),
                Kind::Resources => {
                    own::complete(json!({ "resources": resources::list(&self.outputs(None)) }))
                }
                Kind::Templates => own::complete(json!({ "resourceTemplates": resources::templates() })),
                _ => return None,
            };
            return unknown.then(|| rpc::result(id, &result.to_string()));
        };
        let (key, ours) = match kind {
            Kind::Hello => {
                self.note_server(server, message, at.clone());
                let changes = self.gateway.tools_when_kept;
                return compose(&listing::with_capabilities(message, at, changes).ok()?);
            }
            Kind::Tools => return self.changed_tools(server, message, at),
            Kind::Resources => ("resources", resources::list(&self.outputs(None))),
            Kind::Templates => ("resourceTemplates", resources::templates()),
            _ => return None,
        };
        let listing = Listing::of(message, at.clone(), key).ok()?;
        if listing.next.is_some() || ours.is_empty() {
            return None;
        }
        let theirs = listing.entries.iter().map(|range| message.text(range.clone()).unwrap_or_default());
        let entries: Vec<String> = theirs.chain(ours.iter().map(Value::to_string)).collect();
        compose(&listing.with(message, at, key, &entries))
    }

    /// A page of a server's tools; the last one has ours at its end.
    fn changed_tools(&self, server: usize, message: &Message, at: Range<u64>) -> Option<Message> {
        let listing = Listing::of(message, at.clone(), "tools").ok()?;
        let name = self.state().servers[server].name.clone();
        let name = name.unwrap_or_else(|| self.server(server).name.clone());
        let whole = |tool: &str| self.gateway.bypasses(&name, tool);
        let mut tools = listing::tools(message, &listing, |_| None, whole).ok()?;
        tools.retain(|tool| self.can_be_called(server, &tool.name, tool));
        self.state().taken.extend(tools.iter().map(|tool| tool.name.clone()));
        let mut entries: Vec<String> = tools.into_iter().map(|tool| tool.text).collect();
        if listing.next.is_none() {
            entries.extend(self.own_tools().iter().map(Value::to_string));
        }
        message.composed(&listing.with(message, at, "tools", &entries), &self.spool).ok()
    }

    /// Stores which arguments of a tool are sent in headers too. If that is impossible, an HTTP client must not use
    /// the tool. For a server with a URL, the gateway is that client.
    pub(super) fn can_be_called(&self, server: usize, called_here: &str, tool: &listing::Entry) -> bool {
        let mut declared = Ok(Vec::new());
        if tool.text.contains(params::MARK) {
            let entry: Value = serde_json::from_str(&tool.text).unwrap_or_default();
            declared = params::declared(&entry["inputSchema"]);
        }
        let mut state = self.state();
        match declared {
            Ok(params) if params.is_empty() => drop(state.params.remove(called_here)),
            Ok(params) => drop(state.params.insert(called_here.to_owned(), params)),
            Err(why) => {
                state.params.remove(called_here);
                let is_modern = state.revision.as_str() >= STATELESS_SINCE;
                drop(state);
                if self.server(server).is_http() && is_modern {
                    let name = &self.server(server).name;
                    self.diagnostics().line(&format!("the tool {} of {name} is left out: {why}", tool.name));
                    return false;
                }
            }
        }
        true
    }

    /// Stores a server's name and capabilities.
    pub(super) fn note_server(&self, server: usize, message: &Message, result: Range<u64>) {
        let text = |path: &[&str]| message.find(result.clone(), path).and_then(|range| message.string(range));
        let capabilities =
            message.find(result.clone(), &["capabilities"]).and_then(|range| message.value(range).ok());
        let revision = text(&["protocolVersion"]);
        let mut state = self.state();
        let known = &mut state.servers[server];
        known.name = text(&["serverInfo", "name"])
            .or_else(|| text(&["_meta", "io.modelcontextprotocol/serverInfo", "name"]));
        known.capabilities = capabilities;
        if let Some(revision) = revision {
            state.revision = revision;
        }
    }
}
