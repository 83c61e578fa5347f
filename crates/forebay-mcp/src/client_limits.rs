//! Limits of known hosts: below them, a view would only cost tokens.
//!
//! A client sends its name when it connects. If its host is known, results that the host shows whole pass unchanged,
//! unless the user set limits.

use forebay::Limits;

/// A host: the prefix of its clients' names, and the limits up to which it shows a result whole.
struct Host {
    client: &'static str,
    limits: Limits,
}

const NONE: Limits = Limits { bytes: None, characters: None, lines: None, tokens: None };

/// The known hosts.
const HOSTS: [Host; 5] = [
    // Writes larger results to a file. From 10,000 tokens on it warns, and still shows everything.
    Host { client: "claude-code", limits: Limits { tokens: Some(25_000), ..NONE } },
    // 10,000 tokens at four bytes each; cuts the middle of larger results.
    Host { client: "codex", limits: Limits { bytes: Some(40_000), ..NONE } },
    Host { client: "gemini-cli", limits: Limits { characters: Some(40_000), ..NONE } },
    Host { client: "qwen", limits: Limits { characters: Some(40_000), ..NONE } },
    Host { client: "opencode", limits: Limits { bytes: Some(50 * 1024), lines: Some(2_000), ..NONE } },
];

/// The limits of a client's host, if it is known.
pub(crate) fn limits(client: &str) -> Option<Limits> {
    let client = client.to_lowercase();
    HOSTS.iter().find(|host| client.starts_with(host.client)).map(|host| host.limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_recognized_by_its_clients_name() {
        assert_eq!(limits("claude-code").unwrap().tokens, Some(25_000));
        assert_eq!(limits("codex-mcp-client").unwrap().bytes, Some(40_000));
        assert_eq!(limits("gemini-cli-mcp-client").unwrap().characters, Some(40_000));
        assert_eq!(limits("somebody"), None);
    }
}
