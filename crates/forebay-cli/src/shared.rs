//! The store that machines share, as commands use it: its settings, reading through it, and serving it.
//!
//! Without the feature `shared` the settings exist, but using them is an error.

#[cfg(not(feature = "shared"))]
mod absent;
#[cfg(feature = "shared")]
mod master_key;
#[cfg(feature = "shared")]
mod present;

#[cfg(not(feature = "shared"))]
pub(crate) use absent::Shared;
#[cfg(feature = "shared")]
pub(crate) use present::{Shared, origin};

use forebay::Store;
use forebay_server::{CheckShared, OnTheWay, OpenTenant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Where outputs are shared with other machines.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StoreSettings {
    /// PostgreSQL database in which machines share outputs, as `postgres://user@host/name`; empty: they stay on this machine.
    /// The password comes from `PGPASSWORD` or `~/.pgpass`.
    pub(crate) database: String,
    /// Bucket for the bytes of shared outputs, as `s3://bucket/prefix`, `gs://…` or `az://…`; empty: they are in the
    /// database. Credentials come from the variables of the service, such as `AWS_ACCESS_KEY_ID`.
    pub(crate) blobs: String,
    /// Location of the key that encrypts shared content: `file:PATH`, `env:NAME` or `command:COMMAND`; empty: it is not
    /// encrypted.
    pub(crate) key: String,
    /// Name of the tenant. Outputs of other tenants in the same database are not visible.
    pub(crate) tenant: String,
    /// Maximum bytes of shared outputs cached on the local disk. 0: none.
    pub(crate) cache_bytes: u64,
    /// Who takes outputs to the shared store: `auto`, a process in the background that commands start; `off`, only
    /// `forebay mirror`.
    pub(crate) mirror: MirrorMode,
    /// Where an output is when `forebay serve` responds that it is stored: `shared`, in the shared store; `local`, on the
    /// disk of the server, which takes it to the shared store later.
    pub(crate) ack: Ack,
}

/// Where an output is when a server responds that it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ack {
    /// In the shared store.
    Shared,
    /// On the disk of the server.
    Local,
}

/// Who takes outputs to the shared store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MirrorMode {
    /// A process in the background that commands start.
    Auto,
    /// Only `forebay mirror`.
    Off,
}

/// The root with the shared store behind it.
pub(crate) struct WithShared {
    pub(crate) store: Arc<dyn Store>,
    /// Why the shared store could not be read, if it could not.
    pub(crate) problem: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// The shared store for a server.
pub(crate) struct Served {
    /// Opens the store of a tenant over a folder of this machine.
    pub(crate) open: Box<OpenTenant>,
    pub(crate) check: CheckShared,
    /// Finds outputs in a folder of this machine that are not shared yet.
    pub(crate) on_the_way: fn(&Path) -> OnTheWay,
}

/// A URL for display, with its password hidden.
pub(crate) fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    // A password may have '/' and '?', so the user comes first.
    let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user), rest));
    let user = match user.map(|user| user.split_once(':').map_or((user, ""), |(name, _)| (name, ":…"))) {
        Some((name, password)) => format!("{name}{password}@"),
        None => String::new(),
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, after) = rest.split_at(end);
    let options: Vec<&str> = after
        .split_inclusive(['?', '&'])
        .map(|option| if option.starts_with("password=") { "password=…" } else { option })
        .collect();
    format!("{scheme}://{user}{host}{}", options.concat())
}

/// The setting `store.key` as it is shown. If it is no location, it may be the key itself, and stays hidden.
pub(crate) fn shown_key_place(setting: &str) -> String {
    let is_location = ["file:", "env:", "command:"].iter().any(|kind| setting.starts_with(kind));
    if is_location || setting.is_empty() { setting.to_owned() } else { "…".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_place_of_its_location_is_not_shown() {
        let table =
            [("", ""), ("file:/a", "file:/a"), ("env:A", "env:A"), ("command:a", "command:a"), ("ab12", "…")];
        for (setting, expected) in table {
            assert_eq!(shown_key_place(setting), expected, "{setting}");
        }
    }

    #[test]
    fn a_url_is_shown_without_its_password() {
        let table = [
            ("", ""),
            ("postgres://h/d", "postgres://h/d"),
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("postgres://u:hush@h:5/d?a=b", "postgres://u:…@h:5/d?a=b"),
            ("postgres://u:hu@sh@h", "postgres://u:…@h"),
            ("postgres://u:hu/s?h@h/d?a=b", "postgres://u:…@h/d?a=b"),
            ("postgres://u@h/d?password=hush", "postgres://u@h/d?password=…"),
            ("s3://bucket/prefix", "s3://bucket/prefix"),
        ];
        for (url, expected) in table {
            assert_eq!(shown_url(url), expected, "{url}");
        }
    }
}
