//! Which settings a project's `forebay.toml` may hold.
//!
//! The file comes with a repository that a stranger may have written. So it sets how much is shown and in which form,
//! and nothing that says where outputs go, how long they stay, who reads them or what that costs.

use super::Key;

/// Keys that a project may set. All others are the user's own; `*` stands for the name of a tool.
const PROJECT: [&str; 44] = [
    "preset",
    "bypass",
    "digest.tokens",
    "digest.compact_from",
    "digest.least_saving",
    "digest.budget.tokens",
    "digest.budget.bytes",
    "digest.budget.lines",
    "digest.tools.*",
    "excerpt.tokens",
    "excerpt.bytes",
    "excerpt.lines",
    "handle.enabled",
    "handle.max_bytes",
    "head_tail.head_ratio",
    "head_tail.other.characters",
    "head_tail.other.lines",
    "head_tail.other.head_ratio",
    "head_tail.tools.*.characters",
    "head_tail.tools.*.lines",
    "head_tail.tools.*.head_ratio",
    "materialize.max_inline_chars",
    "materialize.max_inline_bytes",
    "materialize.snippet_lines",
    "materialize.snippet_bytes",
    "recovery.shown_characters",
    "recovery.other.characters",
    "recovery.tools.*.characters",
    "recovery.names.grep",
    "recovery.names.pattern",
    "recovery.names.path",
    "recovery.names.shell",
    "recovery.names.command",
    "recovery.names.glob",
    "recovery.names.search",
    "recovery.names.query",
    "recovery.names.fetch",
    "recovery.names.url",
    "extract.max_chunks",
    "extract.overlap_percent",
    "extract.avg_line_bytes",
    "room.context_window",
    "room.output_reserve",
    "room.safety_buffer",
];

/// Whether a project may set this.
pub(crate) fn is_for_projects(key: &Key) -> bool {
    PROJECT.contains(&key.name().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys;

    /// Keys that are the user's own, each with the reason.
    const OWN: [(&str, &[&str]); 9] = [
        ("where outputs are kept and which of them are read", &["root", "session"]),
        (
            "where outputs are sent",
            &[
                "store.database",
                "store.blobs",
                "store.key",
                "store.tenant",
                "store.cache_bytes",
                "store.mirror",
                "store.ack",
            ],
        ),
        (
            "how long outputs stay",
            &["retention.mode", "retention.max_age_days", "retention.max_bytes", "retention.min_free_bytes"],
        ),
        ("who reads outputs", &["extract.models"]),
        (
            "where keys are sent, and which command prints them",
            &[
                "providers.*.wire",
                "providers.*.base_url",
                "providers.*.base_url_env",
                "providers.*.key_env",
                "providers.*.key_command",
                "providers.*.key_optional",
            ],
        ),
        (
            "what models can take, and how much is spent on them",
            &[
                "extract.context_tokens",
                "extract.output_tokens",
                "extract.parallel",
                "extract.max_turns",
                "extract.max_calls",
                "extract.max_tool_calls",
                "models.timeout_seconds",
                "models.deadline_seconds",
                "models.retries",
                "models.backoff_milliseconds",
                "models.stream",
            ],
        ),
        ("what a model may see", &["secrets.mode", "secrets.tools.*", "secrets.allow"]),
        ("what savings are counted against", &["host.shown_tokens"]),
        ("what a query may take of the machine", &["query.timeout_seconds", "query.filter_memory_bytes"]),
    ];

    #[test]
    fn every_setting_is_either_for_projects_or_the_users_own() {
        let own: Vec<&str> = OWN.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
        for key in keys() {
            let name = key.name();
            let lists = [PROJECT.contains(&name.as_str()), own.contains(&name.as_str())];
            assert_eq!(
                lists.iter().filter(|&&has| has).count(),
                1,
                "{name} must stand in one of the two lists"
            );
        }
        for name in PROJECT.iter().chain(&own) {
            assert!(keys().iter().any(|key| key.name() == *name), "{name} is not a setting");
        }
    }
}
