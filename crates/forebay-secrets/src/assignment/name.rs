//! The claim that the name of a setting makes about its value.

use crate::rules::{SERVICE_NAMES, SERVICE_WORDS};

/// How strongly a name indicates that its value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    /// The name is that of a service, and nothing more: `asana`.
    Service,
    /// The name can be that of a secret, or of something else: `sort_key`, `x_access`.
    Weak,
    /// The name is that of a secret that a machine makes: `api_key`, `auth_token`.
    Secret,
    /// The name is that of a secret that a person may have made up: `db_password`.
    Password,
}

/// Last words that make a name refer to the setting and not to a secret value.
const NOT_LAST: &[&str] = &["hash", "hashed", "public", "fingerprint", "length", "id", "ids", "name"];

/// Words that may follow the decisive word.
const TRAILERS: &[&str] = &[
    "value",
    "val",
    "string",
    "str",
    "env",
    "prod",
    "production",
    "dev",
    "development",
    "staging",
    "stage",
    "live",
    "raw",
    "base64",
    "b64",
    "plain",
    "plaintext",
    "new",
    "old",
    "main",
    "secondary",
    "primary",
    "hex",
    "readonly",
    "ro",
    "rw",
    "admin",
    "base",
    "data",
    "content",
    "text",
    "v1",
    "v2",
    "v3",
    "one",
    "two",
    "test",
    "sandbox",
    "server",
    "default",
    "current",
    "previous",
    "1",
    "2",
    "3",
];

/// Words before `key` that make it the name of a secret.
const SECRET_KEYS: &[&str] = &[
    "api",
    "secret",
    "access",
    "private",
    "priv",
    "auth",
    "authentication",
    "authorization",
    "encryption",
    "encrypt",
    "decryption",
    "crypt",
    "crypto",
    "cipher",
    "signing",
    "sign",
    "signature",
    "master",
    "app",
    "application",
    "license",
    "licence",
    "service",
    "account",
    "shared",
    "preshared",
    "unseal",
    "recovery",
    "root",
    "consumer",
    "storage",
    "integration",
    "ingest",
    "ingestion",
    "deploy",
    "write",
    "read",
    "admin",
    "token",
    "hmac",
    "jwt",
    "webhook",
    "server",
    "client",
    "session",
    "cookie",
    "rest",
    "management",
    "subscription",
    "aes",
    "des",
    "gcm",
    "pat",
    "user",
    "personal",
    "project",
    "org",
    "organization",
    "workspace",
    "team",
    "developer",
    "dev",
    "live",
    "prod",
    "production",
    "sandbox",
    "test",
    "sdk",
    "wrapping",
    "data",
    "vault",
    "age",
    "ssh",
    "rsa",
    "tls",
    "ssl",
    "psk",
    "bot",
    "agent",
    "ci",
    "cd",
    "upload",
    "publish",
    "push",
    "legacy",
    "platform",
    "internal",
    "partner",
    "merchant",
    "security",
    "cron",
];

/// Words before `key` that make it the name of something else.
const OTHER_KEYS: &[&str] = &[
    "public",
    "pub",
    "publishable",
    "cache",
    "primary",
    "foreign",
    "partition",
    "sort",
    "idempotency",
    "request",
    "object",
    "bucket",
    "gpg",
    "pgp",
    "row",
    "map",
    "dict",
    "hash",
    "group",
    "routing",
    "composite",
    "unique",
    "natural",
    "s3",
    "file",
    "index",
    "range",
    "lookup",
    "restore",
    "config",
    "message",
    "translation",
    "i18n",
    "locale",
    "label",
    "metric",
    "tag",
    "field",
    "property",
    "prop",
    "attr",
    "attribute",
    "column",
    "table",
    "record",
    "item",
    "node",
    "parent",
    "child",
    "tree",
    "registry",
    "hot",
    "shortcut",
    "arrow",
    "enter",
    "escape",
    "tab",
    "ctrl",
    "alt",
    "shift",
    "meta",
    "modifier",
    "press",
    "keyboard",
    "query",
    "param",
    "state",
    "storekey",
    "json",
    "yaml",
    "xml",
    "header",
    "log",
    "event",
    "trace",
    "span",
    "correlation",
    "dedup",
    "deduplication",
    "ordering",
    "shard",
    "hashed",
    "issue",
    "ticket",
    "jira",
    "i",
    "the",
    "a",
    "this",
    "that",
    "same",
    "each",
    "every",
    "any",
    "new",
    "old",
    "no",
    "by",
    "for",
    "with",
    "and",
    "or",
    "of",
    "in",
    "on",
    "to",
    "from",
    "is",
    "as",
    "known",
    "default",
    "image",
    "build",
    "artifact",
    "checksum",
    "digest",
    "sha",
    "sha1",
    "sha256",
    "md5",
    "etag",
    "wait",
    "lock",
    "mutex",
    "sem",
    "entity",
    "resource",
    "asset",
    "module",
    "package",
    "component",
    "react",
    "vue",
    "list",
    "array",
    "set",
    "sorting",
    "order",
    "filter",
    "search",
    "match",
    "regex",
    "pattern",
    "type",
    "kind",
    "category",
    "class",
    "dedupe",
    "version",
    "commit",
    "ref",
    "branch",
    "session_cache",
    "memo",
    "memoize",
    "cursor",
    "page",
    "paging",
    "next",
    "prev",
    "last",
    "first",
    "start",
    "end",
    "min",
    "max",
    "left",
    "right",
    "up",
    "down",
    "invalid",
    "missing",
    "wrong",
    "unknown",
    "bad",
    "expected",
    "actual",
    "value",
    "error",
    "aggregate",
    "aggregation",
    "join",
    "link",
    "relation",
    "feature",
    "flag",
    "toggle",
    "setting",
    "option",
    "i10n",
    "theme",
    "style",
    "css",
    "color",
    "icon",
    "menu",
    "route",
    "path",
    "url",
    "uri",
    "job",
    "task",
    "queue",
    "topic",
    "stream",
    "channel",
    "thread",
    "instance",
    "cluster",
    "namespace",
    "pod",
    "container",
    "volume",
    "disk",
    "snapshot",
    "backup",
    "dataset",
    "datakey",
    "sample",
    "host",
    "hosts",
    "author",
    "cell",
    "coordinate",
    "geo",
    "place",
    "location",
    "plus",
    "sub",
    "answer",
    "choice",
    "mac",
    "bundle",
    "content",
    "source",
    "target",
    "dest",
    "destination",
    "src",
    "dst",
    "input",
    "output",
    "raw",
    "num",
    "number",
    "string",
    "str",
    "int",
    "byte",
    "bytes",
    "char",
    "word",
    "text",
    "doc",
    "document",
    "block",
    "tx",
    "transaction",
    "hashing",
    "verify",
    "verification",
    "verifying",
    "pubkey",
];

/// Words before `token` that make it the name of something else.
const OTHER_TOKENS: &[&str] = &[
    "csrf",
    "xsrf",
    "authenticity",
    "next",
    "page",
    "continuation",
    "prev",
    "previous",
    "public",
    "key",
    "cancellation",
    "cancel",
    "stop",
    "start",
    "eos",
    "bos",
    "pad",
    "padding",
    "unk",
    "mask",
    "sep",
    "cls",
    "special",
    "max",
    "min",
    "total",
    "prompt",
    "completion",
    "sync",
    "resume",
    "marker",
    "pagination",
    "cursor",
    "position",
    "request",
    "correlation",
    "idempotency",
    "forgery",
    "antiforgery",
    "template",
    "lexer",
    "parser",
    "syntax",
    "end",
    "first",
    "last",
    "lookahead",
    "peek",
    "current",
    "operator",
    "keyword",
    "identifier",
    "string",
    "number",
    "unexpected",
    "invalid",
    "missing",
    "expected",
    "unknown",
    "eof",
    "newline",
    "indent",
    "dedent",
    "whitespace",
    "comment",
    "punctuation",
    "delimiter",
    "input",
    "output",
    "cached",
    "reasoning",
    "image",
    "audio",
    "text",
    "design",
    "style",
    "color",
    "theme",
    "no",
    "the",
    "this",
    "each",
    "per",
    "num",
    "count",
    "list",
    "publishable",
    "preview",
    "form",
    "nonce",
    "change",
    "delta",
    "watch",
    "sequence",
    "state",
    "upload_id",
    "jti",
    "verification",
    "requestverification",
    "erc20",
    "contract",
    "nft",
    "crypto_asset",
    "drop",
    "tree",
    "span",
    "word",
    "sub",
    "byte",
];

/// Words that make a name public, wherever they are in it.
const PUBLIC: &[&str] = &[
    "public",
    "pubkey",
    "publishable",
    "fingerprint",
    "csrf",
    "xsrf",
    "checksum",
    "digest",
    "sha256",
    "sha1",
    "sha512",
    "md5",
    "integrity",
    "etag",
    "placeholder",
    "masked",
    "websocket",
    "site",
    "publisher",
    "sitekey",
];

/// Words before `password` after which the value is not a password.
const OTHER_PASSWORDS: &[&str] = &[
    "hashed",
    "encrypted",
    "no",
    "forgot",
    "reset",
    "require",
    "requires",
    "show",
    "hide",
    "max",
    "min",
    "has",
    "is",
    "use",
    "need",
    "ask",
    "allow",
    "disable",
    "enable",
    "generate",
    "validate",
    "check",
    "verify",
    "encode",
    "hash",
    "salted",
    "bcrypt",
    "crypted",
];

/// Words that end in `key` and do not name a key.
const NO_KEYS: &[&str] = &[
    "monkey",
    "turkey",
    "hockey",
    "donkey",
    "jockey",
    "whiskey",
    "smokey",
    "hotkey",
    "lackey",
    "flunkey",
    "pinkey",
    "surveymonkey",
];

/// Endings of compound words without a separator: `clientsecret`.
const HEADS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secrets",
    "secret",
    "tokens",
    "token",
    "pwd",
    "credentials",
    "credential",
    "key",
    "pass",
    "access",
    "private",
    "auth",
];

/// Beginnings of words that end in `pass` and name a password.
const PASSES: &[&str] = &[
    "db", "user", "root", "admin", "my", "smtp", "mail", "ftp", "ssh", "redis", "pg", "mysql", "sql", "sudo",
    "ldap", "http", "proxy", "mqtt", "imap",
];

/// How a name is split between capital and small letters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acronym {
    /// `XMLHttp` is `xml` and `http`.
    OwnWord,
    /// `SECRETkey` is one word, which is split by its ending.
    WithNext,
}

/// Whether the second of three letters begins a word after an acronym.
fn ends_acronym(last: u8, next: u8, after: u8) -> bool {
    last.is_ascii_uppercase() && next.is_ascii_uppercase() && after.is_ascii_lowercase()
}

/// Whether a sorted list contains a word.
fn is_in(sorted: &[&str], word: &str) -> bool {
    sorted.binary_search(&word).is_ok()
}

/// The words of a name, in small letters.
#[derive(Debug, Default)]
pub(crate) struct Words {
    text: String,
    ends: Vec<usize>,
}

impl Words {
    /// The words of `before`, which a blank separates from the name, and of the name.
    pub(crate) fn of(before: &[u8], name: &[u8]) -> Words {
        let mut words = Words::default();
        words.add(before, Acronym::OwnWord);
        words.add(name, Acronym::OwnWord);
        if words.claim().is_none()
            && name.array_windows::<3>().any(|three| ends_acronym(three[0], three[1], three[2]))
        {
            words = Words::default();
            words.add(before, Acronym::WithNext);
            words.add(name, Acronym::WithNext);
        }
        words
    }

    fn add(&mut self, name: &[u8], acronym: Acronym) {
        let mut from = 0;
        for at in 1..=name.len() {
            let ends = match (name[at - 1], name.get(at), name.get(at + 1)) {
                (_, None, _) => true,
                (last, Some(next), after) => {
                    !next.is_ascii_alphanumeric()
                        || !last.is_ascii_alphanumeric()
                        || last.is_ascii_lowercase() && next.is_ascii_uppercase()
                        || acronym == Acronym::OwnWord
                            && after.is_some_and(|after| ends_acronym(last, *next, *after))
                }
            };
            if ends {
                self.push(&name[from..at]);
                from = at;
            }
        }
    }

    fn push(&mut self, word: &[u8]) {
        if word[0].is_ascii_alphanumeric() {
            self.push_lower(&String::from_utf8_lossy(word).to_ascii_lowercase());
        }
    }

    /// Adds a word, which can be a compound of several words.
    fn push_lower(&mut self, lower: &str) {
        let stem = lower.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let word = if stem.len() > 2 { stem } else { lower };
        let mut head = HEADS.iter().find(|head| word.len() > head.len() && word.ends_with(**head)).copied();
        let rest = head.map_or("", |head| &word[..word.len() - head.len()]);
        head = head.filter(|head| match *head {
            "key" => {
                !NO_KEYS.contains(&word)
                    && (SECRET_KEYS.contains(&rest)
                        || is_in(SERVICE_WORDS, rest)
                        || rest == "public"
                        || HEADS.iter().any(|inner| rest.ends_with(inner)))
            }
            "pass" => PASSES.contains(&rest),
            "auth" | "access" | "private" => is_in(SERVICE_WORDS, rest),
            _ => true,
        });
        match head {
            Some(head) => {
                self.push_lower(rest);
                self.push_one(head);
            }
            None => self.push_one(word),
        }
    }

    fn push_one(&mut self, word: &str) {
        self.text.push_str(word);
        self.ends.push(self.text.len());
    }

    fn get(&self, at: usize) -> &str {
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[from..self.ends[at]]
    }

    fn any(&self, of: &[&str]) -> bool {
        (0..self.ends.len()).any(|at| of.contains(&self.get(at)))
    }

    /// What the name claims about its value; `None` if it names no secret.
    pub(crate) fn claim(&self) -> Option<Claim> {
        let mut last = self.ends.len().checked_sub(1)?;
        while last > 0 && TRAILERS.contains(&self.get(last)) {
            last -= 1;
        }
        let head = self.get(last);
        let before = if last == 0 { "" } else { self.get(last - 1) };
        if self.any(PUBLIC) || NOT_LAST.contains(&head) {
            return None;
        }
        match head {
            "password" | "passwd" | "passphrase" | "passcode" | "pwd" | "passwort" => {
                (!OTHER_PASSWORDS.contains(&before)).then_some(Claim::Password)
            }
            "pass" if last > 0 || self.ends.len() == 1 => Some(Claim::Password),
            "secret" | "secrets" => Some(Claim::Secret),
            "token" => (!OTHER_TOKENS.contains(&before)).then_some(Claim::Secret),
            "apikey" | "jwt" | "bearer" => Some(Claim::Secret),
            "credential" | "credentials" | "auth" | "authorization" => Some(Claim::Secret),
            "key" if SECRET_KEYS.contains(&before) => Some(Claim::Secret),
            "key" if OTHER_KEYS.contains(&before) => None,
            "key" => Some(if is_in(SERVICE_WORDS, before) { Claim::Secret } else { Claim::Weak }),
            "pat" if last > 0 => Some(Claim::Secret),
            "api" if last > 0 => Some(Claim::Weak),
            "access" | "private" | "signature" | "sig" if last > 0 => Some(Claim::Weak),
            _ if is_in(SERVICE_NAMES, head) && last + 1 == self.ends.len() => Some(Claim::Service),
            _ => None,
        }
    }

    /// Whether the name is that of a signature. Outside of URLs, signatures are public.
    pub(crate) fn is_signature(&self) -> bool {
        self.ends.len().checked_sub(1).is_some_and(|last| matches!(self.get(last), "signature" | "sig"))
    }

    /// Number of words.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// Words for a mask, such as `api key`.
    pub(crate) fn label(&self) -> &'static str {
        let last = self.ends.len().saturating_sub(1);
        let words = last.saturating_sub(2)..=last;
        let has = |word: &str| words.clone().any(|at| at < self.ends.len() && self.get(at).contains(word));
        const LABELS: &[(&str, &str)] = &[
            ("passw", "password"),
            ("passphrase", "passphrase"),
            ("passcode", "password"),
            ("pwd", "password"),
            ("pass", "password"),
            ("token", "token"),
            ("api", "api key"),
            ("jwt", "token"),
            ("bearer", "token"),
            ("pat", "token"),
            ("secret", "secret"),
            ("private", "private key"),
            ("access", "access key"),
            ("auth", "credentials"),
            ("cred", "credentials"),
            ("sig", "signature"),
        ];
        LABELS.iter().find(|(word, _)| has(word)).map_or("key", |(_, label)| label)
    }

    /// The word of the name that points to a service.
    pub(crate) fn service(&self) -> Option<&str> {
        (0..self.ends.len()).map(|at| self.get(at)).find(|word| is_in(SERVICE_WORDS, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_claim_what_their_last_words_say() {
        let table = [
            ("", "API_KEY", Some(Claim::Secret)),
            ("", "squarespaceApiKey", Some(Claim::Secret)),
            ("", "AwsSecretAccessKey", Some(Claim::Secret)),
            ("", "protocolsSECRETkey", Some(Claim::Secret)),
            ("", "clientsecret", Some(Claim::Secret)),
            ("", "_authToken", Some(Claim::Secret)),
            ("", "SMTP_PASSWORD_1", Some(Claim::Password)),
            ("", "dbpass", Some(Claim::Password)),
            ("", "DB_PASS", Some(Claim::Password)),
            ("", "frobnicator_key", Some(Claim::Weak)),
            ("public", "key", None),
            ("", "PublicKeyToken", None),
            ("", "public_key", None),
            ("", "cache_key", None),
            ("", "primaryKey", None),
            ("", "x-idempotency-key", None),
            ("", "GPG_KEY", None),
            ("", "MAX_TOKENS", None),
            ("", "max_token", None),
            ("", "csrf_token", None),
            ("", "token_count", None),
            ("", "aws_access_key_id", None),
            ("", "monkey", None),
            ("", "bypass", None),
            ("", "password_hash", None),
            ("", "author", None),
        ];
        for (before, name, want) in table {
            assert_eq!(Words::of(before.as_bytes(), name.as_bytes()).claim(), want, "{before} {name}");
        }
    }
}
