//! The file that names servers, in the form that clients use: `{"mcpServers": {"name": {"command": …}}}`.

use crate::error::{Error, Result};
use crate::server::{Reached, Server};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A server in the file. Fields of other programs are ignored.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    #[serde(alias = "httpUrl", alias = "serverUrl")]
    url: Option<String>,
    #[serde(default, alias = "http_headers")]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// Parses the servers of such a file. `variable` returns environment variables, which replace `${NAME}` and
/// `${NAME:-else}`.
pub fn servers(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Server>> {
    let wrong = |what: String| Error::Config(what);
    let file: Value = serde_json::from_str(text).map_err(|error| wrong(format!("not JSON: {error}")))?;
    let named = ["mcpServers", "servers", "mcp_servers"].into_iter().find_map(|key| file.get(key));
    let named: &Map<String, Value> = named
        .and_then(Value::as_object)
        .ok_or_else(|| wrong("there is no \"mcpServers\" in it, which names the servers".to_owned()))?;
    let mut servers = Vec::new();
    for (name, entry) in named {
        let entry: Entry = serde_json::from_value(entry.clone())
            .map_err(|error| wrong(format!("the server {name:?}: {error}")))?;
        if !entry.disabled {
            servers.push(server(name, entry, variable)?);
        }
    }
    for (number, server) in servers.iter().enumerate() {
        if servers[..number].iter().any(|other| other.name == server.name) {
            return Err(wrong(format!(
                "two servers are called {:?} when their names are made safe",
                server.name
            )));
        }
    }
    Ok(servers)
}

fn server(name: &str, entry: Entry, variable: &dyn Fn(&str) -> Option<String>) -> Result<Server> {
    let filled = |text: &str| {
        filled(text, variable).map_err(|missing| Error::Config(format!("the server {name:?}: {missing}")))
    };
    let all = |map: &BTreeMap<String, String>| {
        map.iter().map(|(name, value)| Ok((name.clone(), filled(value)?))).collect::<Result<BTreeMap<_, _>>>()
    };
    let reached = match (&entry.command, &entry.url) {
        (Some(command), None) => {
            let words = [command].into_iter().chain(&entry.args);
            Reached::Program {
                command: words.map(|word| Ok(filled(word)?.into())).collect::<Result<_>>()?,
                environment: all(&entry.env)?,
                folder: entry.cwd,
            }
        }
        (None, Some(url)) => Reached::Address {
            url: filled(url)?,
            headers: all(&entry.headers)?,
            legacy: entry.kind.as_deref() == Some("sse"),
        },
        _ => return Err(Error::Config(format!("the server {name:?} must have either a command or a url"))),
    };
    Ok(Server { name: safe(name), reached })
}

/// A name that fits into the name of a tool.
fn safe(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// A variable of the environment that is needed and not set.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {0} is not set")]
pub struct Missing(pub String);

/// A text with variables put in.
pub fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> std::result::Result<String, Missing> {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        let (name, otherwise) = match name.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (name, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        all.push_str(before);
        all.push_str(
            &variable(name).or(otherwise.map(str::to_owned)).ok_or_else(|| Missing(name.to_owned()))?,
        );
        rest = after;
    }
    Ok(all + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let variable = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
        let told = match servers(text, &variable) {
            Ok(servers) => servers.iter().map(|server| format!("{server:?}\n")).collect(),
            Err(error) => format!("error: {error}\n"),
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn the_form_of_every_client_is_understood() {
        check(
            r#"{"mcpServers": {
                "files here": {"command": "npx", "args": ["-y", "x", "${DIR:-/tmp}"], "env": {"T": "${TOKEN}"}, "cwd": "/w", "alwaysAllow": []},
                "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
                "old": {"type": "sse", "url": "http://127.0.0.1/sse"},
                "off": {"command": "no", "disabled": true}}}"#,
            expect![[r#"
                Server { name: "files_here", reached: Program { command: ["npx", "-y", "x", "/tmp"], environment: {"T": "secret"}, folder: Some("/w") } }
                Server { name: "web", reached: Address { url: "https://example.org/mcp", headers: {"Authorization": "Bearer secret"}, legacy: false } }
                Server { name: "old", reached: Address { url: "http://127.0.0.1/sse", headers: {}, legacy: true } }
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_meant_is_told() {
        let table = [
            (
                "{",
                expect![[r#"
                error: not JSON: EOF while parsing an object at line 1 column 1
            "#]],
            ),
            (
                "{}",
                expect![[r#"
                error: there is no "mcpServers" in it, which names the servers
            "#]],
            ),
            (
                r#"{"mcpServers": {"a": {}}}"#,
                expect![[r#"
                error: the server "a" must have either a command or a url
            "#]],
            ),
            (
                r#"{"mcpServers": {"a": {"command": ["x"]}}}"#,
                expect![[r#"
                error: the server "a": invalid type: sequence, expected a string
            "#]],
            ),
            (
                r#"{"mcpServers": {"a": {"command": "${NONE}"}}}"#,
                expect![[r#"
                error: the server "a": the environment variable NONE is not set
            "#]],
            ),
            (
                r#"{"mcpServers": {"a b": {"command": "x"}, "a_b": {"command": "y"}}}"#,
                expect![[r#"
                error: two servers are called "a_b" when their names are made safe
            "#]],
            ),
        ];
        for (text, expected) in table {
            check(text, expected);
        }
    }
}
