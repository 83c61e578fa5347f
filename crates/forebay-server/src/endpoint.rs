//! The description of a route: its path, parameters and bodies. The router and the OpenAPI document both use it.

use crate::auth::Right;
use axum::http::Method;
use forebay::request::declared::{Argument, Declared};
use forebay::request::tool_call;

/// The description of one path with one method.
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    /// The path; a part in braces matches any one part.
    pub(crate) path: &'static str,
    /// The right that the caller must have; `None` admits everybody.
    pub(crate) right: Option<Right>,
    /// The operation id in the OpenAPI document.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// The route's own query parameters.
    pub(crate) parameters: &'static [Argument],
    /// The query tool that it calls; the tool's arguments are query parameters too.
    pub(crate) tool: Option<&'static str>,
    pub(crate) body: RequestBody,
    pub(crate) response: ResponseBody,
}

impl Endpoint {
    /// All query parameters: those of the tool, then the route's own.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'static Argument> {
        let tool = self.tool.and_then(tool_call::declared).map_or(&[][..], |tool| tool.arguments);
        // The path has the handle.
        tool.iter().filter(|argument| argument.name != "handle").chain(self.parameters)
    }

    /// The route's own parameters, in the form that checks a query.
    pub(crate) fn declared(&self) -> Declared {
        Declared { name: self.name, description: self.summary, arguments: self.parameters }
    }

    /// The values of the parts in braces, if the path is this route's.
    pub(crate) fn matches(&self, path: &[String]) -> Option<PathParameters> {
        let mut own = self.path[1..].split('/');
        let mut parameters = PathParameters::default();
        for part in path {
            let wanted = own.next()?;
            match wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(name) => parameters.push(name, part.clone()),
                None if wanted == part => {}
                None => return None,
            }
        }
        own.next().is_none().then_some(parameters)
    }
}

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestBody {
    Nothing,
    /// The bytes of an output.
    Bytes,
    /// JSON of this schema.
    Json(&'static str),
    /// An archive.
    Archive,
}

/// The body of a successful response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseBody {
    /// JSON of this schema.
    Json(&'static str),
    /// JSON of this schema, or its text for clients that accept text.
    JsonOrText(&'static str),
    /// JSON of this schema, or a stream of events for clients that accept one.
    JsonOrEvents(&'static str),
    /// The reply to an upload, as JSON or text; the status tells whether it is new.
    Reply,
    /// The bytes of an output.
    Bytes,
    /// An archive.
    Archive,
    /// Plain text.
    Text,
    Nothing,
}

/// The values of the parts in braces of a route's path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathParameters(Vec<(&'static str, String)>);

impl PathParameters {
    pub(crate) fn push(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }

    /// The value of a part; empty if the route has no such part.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value)
    }
}
