//! Who may come by HTTP, and what they are known by.

use crate::error::{Error, Result};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use std::net::{IpAddr, SocketAddr};

/// Who may come, and how.
#[derive(Clone, Debug)]
pub struct Door {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What every request must carry as `Authorization: Bearer`; needed where not only this machine can come.
    pub token: Option<String>,
    /// Pages that may come besides those of this machine, as `https://example.org`.
    pub origins: Vec<String>,
    /// Names under which we are reached besides those of this machine.
    pub hosts: Vec<String>,
    /// The header by whose value a client is known again: who sends the same has the same session.
    pub session_key: Option<String>,
    /// Whether what clients send as `Authorization` goes to the server, and what the server asks for to them.
    pub pass_authorization: bool,
}

impl Door {
    /// Whether it is safe to open.
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

    /// Whether a request may come in; otherwise what to answer.
    pub(super) fn refusal(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        // A page in a browser must not reach us under a name that leads to this machine, nor from a page of others.
        let host = text(HOST).unwrap_or_default();
        if self.listen.ip().is_loopback()
            && !is_here(host)
            && !self.hosts.iter().any(|name| name == name_of(host))
        {
            return Some((StatusCode::FORBIDDEN, "this host is not served here"));
        }
        if let Some(origin) = text(ORIGIN) {
            let here = origin.split_once("://").is_some_and(|(_, host)| is_here(host));
            if !here && !self.origins.iter().any(|allowed| allowed == origin) {
                return Some((StatusCode::FORBIDDEN, "this origin may not come here"));
            }
        }
        let given = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        match &self.token {
            Some(token) if !same(given.trim(), token) => {
                Some((StatusCode::UNAUTHORIZED, "a bearer token is needed"))
            }
            _ => None,
        }
    }
}

impl Door {
    /// What a client is known by, if it says so.
    pub(super) fn key(&self, headers: &HeaderMap) -> Option<String> {
        let header = match (&self.session_key, self.pass_authorization) {
            (Some(name), _) => name.as_str(),
            // Where a server answers by who asks, who asks is told apart.
            (None, true) => AUTHORIZATION.as_str(),
            (None, false) => return None,
        };
        let value = headers.get(header)?.to_str().ok()?.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

/// The name of a host without its port; empty if what stands there is no port.
pub fn name_of(host: &str) -> &str {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':').unwrap_or(rest)),
        None => host.split_once(':').unwrap_or((host, "")),
    };
    if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { "" }
}

/// Whether a host is this machine under a name that nobody else can give it.
pub fn is_here(host: &str) -> bool {
    let name = name_of(host);
    // An address is not looked up, so nobody can have it lead elsewhere.
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
fn same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(listen: &str, token: Option<&str>) -> Door {
        Door {
            listen: listen.parse().unwrap(),
            token: token.map(str::to_owned),
            origins: vec!["https://good.example".to_owned()],
            hosts: Vec::new(),
            session_key: None,
            pass_authorization: false,
        }
    }

    #[test]
    fn only_those_who_may_come_in() {
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
            let answer = door("127.0.0.1:0", None).refusal(&headers).map(|(status, _)| status.as_u16());
            assert_eq!(answer, refused, "{headers:?}");
        }
    }

    #[test]
    fn a_token_is_needed_where_others_can_come() {
        assert!(door("0.0.0.0:0", None).check().is_err());
        assert!(door("0.0.0.0:0", Some("t")).check().is_ok());
        assert!(door("[::1]:0", None).check().is_ok());
        let by_token = |token| Door { session_key: Some("Authorization".into()), ..door("[::1]:0", token) };
        assert!(by_token(Some("t")).check().is_err(), "all have the same");
        assert!(by_token(None).check().is_ok());
        for (given, refused) in [("Bearer right", false), ("Bearer wrong", true), ("right", true), ("", true)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "any.example".parse().unwrap());
            headers.insert(AUTHORIZATION, given.parse().unwrap());
            assert_eq!(door("0.0.0.0:0", Some("right")).refusal(&headers).is_some(), refused, "{given:?}");
        }
    }
    #[test]
    fn a_client_is_known_by_what_it_was_told_to_send() {
        let headers = |name: &str, value: &str| {
            let name: axum::http::HeaderName = name.parse().unwrap();
            HeaderMap::from_iter([(name, value.parse().unwrap())])
        };
        let named = Door { session_key: Some("X-Client".into()), ..door("127.0.0.1:0", None) };
        assert_eq!(named.key(&headers("x-client", " one ")).as_deref(), Some("one"));
        assert_eq!(named.key(&headers("x-client", "")), None);
        assert_eq!(named.key(&headers("authorization", "Bearer one")), None);
        let passing = Door { pass_authorization: true, ..door("127.0.0.1:0", None) };
        assert_eq!(passing.key(&headers("authorization", "Bearer one")).as_deref(), Some("Bearer one"));
        assert_eq!(door("127.0.0.1:0", None).key(&headers("authorization", "Bearer one")), None);
    }
}
