//! Addresses of servers: URLs from settings, with the credentials that each server's own tools use.

pub(crate) mod bucket;
pub(crate) mod database;
mod passfile;

use std::collections::BTreeMap;

/// Source of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A settings file. Such files are backed up, shown and copied, so they may hold no password.
    File,
    /// An environment variable, or an argument of the program.
    Process,
}

/// Environment variables that complete addresses.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The variables of this process. One that is not UTF-8 is left out.
    pub fn of_process() -> Environment {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Environment { variables: variables.collect() }
    }

    /// The value of a variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The variables with a prefix, by their names in lower case, as clients of buckets name their options.
    pub(crate) fn starting_with(&self, prefix: &str) -> impl Iterator<Item = (String, &str)> {
        let named =
            self.variables.iter().filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty());
        named.map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Environment {
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Environment { variables: owned.into() }
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// Whether a host is this machine.
pub(crate) fn is_local(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        let table = [
            ("localhost", true),
            ("LOCALHOST", true),
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("[::1]", true),
            ("::1", true),
            ("10.0.0.1", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("db", false),
            ("", false),
        ];
        for (host, expected) in table {
            assert_eq!(is_local(host), expected, "{host}");
        }
    }

    #[test]
    fn an_environment_shows_no_values() {
        let environment = Environment::from([("PGPASSWORD", "hush"), ("EMPTY", "")]);
        assert_eq!(format!("{environment:?}"), r#"{"EMPTY", "PGPASSWORD"}"#);
        assert_eq!((environment.get("PGPASSWORD"), environment.get("EMPTY")), (Some("hush"), None));
    }
}
