//! What the hosts would let through by themselves: below that, folding a result would only cost.
//!
//! A client says its name when it connects. Where we know what its host does with a large result, results that the host
//! shows whole pass untouched, unless the limits were set by hand.

use forebay::Limits;

/// What is known of a host: how the names of its clients begin, and what it shows whole.
struct Host {
    client: &'static str,
    limits: Limits,
}

const NONE: Limits = Limits { bytes: None, characters: None, lines: None, tokens: None };

/// The hosts that we know.
const HOSTS: [Host; 5] = [
    // Larger results are put into a file of its own; from 10,000 tokens on it warns, and still shows all.
    Host { client: "claude-code", limits: Limits { tokens: Some(25_000), ..NONE } },
    // 10,000 tokens at four bytes each, then the middle is cut.
    Host { client: "codex", limits: Limits { bytes: Some(40_000), ..NONE } },
    Host { client: "gemini-cli", limits: Limits { characters: Some(40_000), ..NONE } },
    Host { client: "qwen", limits: Limits { characters: Some(40_000), ..NONE } },
    Host { client: "opencode", limits: Limits { bytes: Some(50 * 1024), lines: Some(2_000), ..NONE } },
];

/// What the host of a client shows whole, if it is known.
pub(crate) fn limits(client: &str) -> Option<Limits> {
    let client = client.to_lowercase();
    HOSTS.iter().find(|host| client.starts_with(host.client)).map(|host| host.limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_clients_name() {
        assert_eq!(limits("claude-code").unwrap().tokens, Some(25_000));
        assert_eq!(limits("codex-mcp-client").unwrap().bytes, Some(40_000));
        assert_eq!(limits("gemini-cli-mcp-client").unwrap().characters, Some(40_000));
        assert_eq!(limits("somebody"), None);
    }
}
