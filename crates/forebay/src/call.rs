//! One tool call, as far as it is known when its output begins.

use crate::{Handle, Session};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One tool call: who was called with what, and in which conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The conversation it belongs to.
    pub session: Session,
    /// The id the host gave it, or a [fresh one](crate::fresh_id). The output is named after it.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The server the tool belongs to, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The arguments, verbatim JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// When it was made. The library has no clock: the caller says.
    pub at: Timestamp,
    /// Whether the output is that of a wrapped command, kept with the terminal's logs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
}

impl Call {
    /// A call of `tool` with no arguments and no server.
    pub fn new(session: Session, id: impl Into<String>, tool: impl Into<String>, at: Timestamp) -> Call {
        Call { session, id: id.into(), tool: tool.into(), server: None, args: None, at, terminal: false }
    }

    /// `<server>/<tool>`, or the tool alone, as it can be printed.
    pub fn full_name(&self) -> String {
        let name = match &self.server {
            Some(server) => format!("{server}/{}", self.tool),
            None => self.tool.clone(),
        };
        crate::printable(&name).replace('\n', " ")
    }

    /// One argument as text, under the first of `names` that is there.
    pub fn argument(&self, names: &[&str]) -> Option<String> {
        let args: serde_json::Value = serde_json::from_str(self.args.as_deref()?).ok()?;
        names.iter().find_map(|name| args.get(name)?.as_str().map(str::to_owned))
    }

    /// The handle that an output of this call would like to have.
    pub(crate) fn handle(&self, attempt: u32) -> crate::Result<Handle> {
        let mut id = crate::handle::safe_id(&self.id);
        if attempt > 1 {
            id.truncate(110);
            id = format!("{id}-{attempt}");
        }
        Handle::new(self.session.clone(), &id)
    }
}
