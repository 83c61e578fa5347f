//! Authentication of HTTP clients, and what identifies them.

use crate::error::{Error, Result};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use forebay::text::host::{is_loopback, name_of};
use std::net::SocketAddr;

/// Which HTTP clients are accepted, and where.
#[derive(Clone, Debug)]
pub struct Auth {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The token of every request, as `Authorization: Bearer`; required if other machines can connect.
    pub token: Option<String>,
    /// Accepted origins of web pages as well as those of this machine, as `https://example.org`.
    pub origins: Vec<String>,
    /// Accepted host names as well as those of this machine.
    pub hosts: Vec<String>,
    /// The header that identifies a client: clients that send the same value share a session.
    pub session_key: Option<String>,
    /// Whether the clients' `Authorization` goes to the server, and the server's challenge to the clients.
    pub pass_authorization: bool,
}

impl Auth {
    /// Refuses settings that are not safe.
    pub fn check(&self) -> Result<()> {
        if !self.listen.ip().is_loopback() && self.token.is_none() {
            return Err(Error::Config(format!(
                "{} can be reached from other machines, so a token is needed",
                self.listen.ip()
            )));
        }
        let by_token =
            self.session_key.as_deref().is_some_and(|key| key.eq_ignore_ascii_case("authorization"));
        if by_token && self.token.is_some() {
            return Err(Error::Config(
                "all clients send the same token as Authorization, so it does not tell them apart".to_owned(),
            ));
        }
        Ok(())
    }

    /// The status and the reason if a request is refused.
    pub(super) fn refusal(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        // Web pages must reach the gateway neither by a name that merely resolves to this machine, nor from another origin.
        let host = text(HOST).unwrap_or_default();
        if self.listen.ip().is_loopback()
            && !is_loopback(host)
            && !self.hosts.iter().any(|name| name == name_of(host))
        {
            return Some((StatusCode::FORBIDDEN, "requests for this host are refused"));
        }
        if let Some(origin) = text(ORIGIN) {
            let here = origin.split_once("://").is_some_and(|(_, host)| is_loopback(host));
            if !here && !self.origins.iter().any(|allowed| allowed == origin) {
                return Some((StatusCode::FORBIDDEN, "requests from this origin are refused"));
            }
        }
        let given = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        match &self.token {
            Some(token) if !is_same(given.trim(), token) => {
                Some((StatusCode::UNAUTHORIZED, "a bearer token is needed"))
            }
            _ => None,
        }
    }
}

impl Auth {
    /// The value that identifies a client, if it sends one.
    pub(super) fn key(&self, headers: &HeaderMap) -> Option<String> {
        let header = match (&self.session_key, self.pass_authorization) {
            (Some(name), _) => name.as_str(),
            // A server that gets the credentials may answer each client differently.
            (None, true) => AUTHORIZATION.as_str(),
            (None, false) => return None,
        };
        let value = headers.get(header)?.to_str().ok()?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

/// Compares two texts in a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(listen: &str, token: Option<&str>) -> Auth {
        Auth {
            listen: listen.parse().unwrap(),
            token: token.map(str::to_owned),
            origins: vec!["https://good.example".to_owned()],
            hosts: Vec::new(),
            session_key: None,
            pass_authorization: false,
        }
    }

    #[test]
    fn other_hosts_and_origins_are_refused() {
        let table = [
            ("127.0.0.1:9", "", None),
            ("LOCALHOST:80", "", None),
            ("localhost:9@evil.example", "", Some(403)),
            ("localhost", "", None),
            ("[::1]:9", "", None),
            ("127.0.0.2:9", "", None),
            ("192.0.2.1:9", "", Some(403)),
            ("127.0.0.2.evil.example", "", Some(403)),
            ("evil.example", "", Some(403)),
            ("localhost.evil.example:9", "", Some(403)),
            ("localhost", "https://evil.example", Some(403)),
            ("localhost", "null", Some(403)),
            ("localhost", "http://localhost:3000", None),
            ("localhost", "https://good.example", None),
        ];
        for (host, origin, refused) in table {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            let origins = [origin].into_iter().filter(|origin| !origin.is_empty());
            headers.extend(origins.map(|origin| (ORIGIN, origin.parse().unwrap())));
            let answer = auth("127.0.0.1:0", None).refusal(&headers).map(|(status, _)| status.as_u16());
            assert_eq!(answer, refused, "{headers:?}");
        }
    }

    #[test]
    fn a_token_is_required_if_other_machines_can_connect() {
        assert!(auth("0.0.0.0:0", None).check().is_err());
        assert!(auth("0.0.0.0:0", Some("t")).check().is_ok());
        assert!(auth("[::1]:0", None).check().is_ok());
        let by_token = |token| Auth { session_key: Some("Authorization".into()), ..auth("[::1]:0", token) };
        assert!(by_token(Some("t")).check().is_err(), "all have the same");
        assert!(by_token(None).check().is_ok());
        for (given, refused) in [("Bearer right", false), ("Bearer wrong", true), ("right", true), ("", true)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "any.example".parse().unwrap());
            headers.insert(AUTHORIZATION, given.parse().unwrap());
            assert_eq!(auth("0.0.0.0:0", Some("right")).refusal(&headers).is_some(), refused, "{given:?}");
        }
    }
    #[test]
    fn a_client_is_identified_by_the_header_it_was_told_to_send() {
        let headers = |name: &str, value: &str| {
            let name: axum::http::HeaderName = name.parse().unwrap();
            HeaderMap::from_iter([(name, value.parse().unwrap())])
        };
        let named = Auth { session_key: Some("X-Client".into()), ..auth("127.0.0.1:0", None) };
        assert_eq!(named.key(&headers("x-client", " one ")).as_deref(), Some("one"));
        assert_eq!(named.key(&headers("x-client", "")), None);
        assert_eq!(named.key(&headers("authorization", "Bearer one")), None);
        let passing = Auth { pass_authorization: true, ..auth("127.0.0.1:0", None) };
        assert_eq!(passing.key(&headers("authorization", "Bearer one")).as_deref(), Some("Bearer one"));
        assert_eq!(auth("127.0.0.1:0", None).key(&headers("authorization", "Bearer one")), None);
    }
}
