//! The `Host` of a request: its name, and whether it is this machine.

use std::net::IpAddr;

/// The name in a host without its port; empty if what follows the colon is not a port.
pub fn name_of(host: &str) -> &str {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':').unwrap_or(rest)),
        None => host.split_once(':').unwrap_or((host, "")),
    };
    if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { "" }
}

/// Whether a host is this machine, by a name that no web site can use for it: `localhost` or a loopback address. Any other
/// name may resolve to this machine too, which DNS rebinding uses.
pub fn is_loopback(host: &str) -> bool {
    let name = name_of(host);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_localhost_and_loopback_addresses_are_this_machine() {
        let table = [
            ("127.0.0.1:9", "127.0.0.1", true),
            ("127.0.0.2", "127.0.0.2", true),
            ("LOCALHOST:80", "LOCALHOST", true),
            ("[::1]:9", "::1", true),
            ("[::1]", "::1", true),
            ("localhost:9@evil.example", "", false),
            ("192.0.2.1:9", "192.0.2.1", false),
            ("127.0.0.2.evil.example", "127.0.0.2.evil.example", false),
            ("localhost.evil.example:9", "localhost.evil.example", false),
            ("", "", false),
        ];
        for (host, name, is_here) in table {
            assert_eq!((name_of(host), is_loopback(host)), (name, is_here), "{host}");
        }
    }
}
