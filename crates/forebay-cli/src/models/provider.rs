//! A provider of models: its wire format, its address, and the origin of its key.

use forebay::model::ModelError;
use forebay::wire::Wire;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{env, fmt, net::IpAddr, process::Stdio};

/// How a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelWire {
    /// OpenAI's chat completions, which many servers imitate.
    OpenaiChat,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
}

impl ModelWire {
    pub(crate) fn wire(self) -> Wire {
        match self {
            ModelWire::OpenaiChat => Wire::OpenaiChat,
            ModelWire::Anthropic => Wire::Anthropic,
            ModelWire::Gemini => Wire::Gemini,
        }
    }
}

/// A provider of models.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provider {
    /// How it speaks: openai-chat, anthropic or gemini.
    pub(crate) wire: ModelWire,
    /// Where it is.
    pub(crate) base_url: String,
    /// The variable that says where it is instead, if it is set.
    #[serde(default)]
    pub(crate) base_url_env: String,
    /// The variables that may hold its key; the first that is set does.
    #[serde(default)]
    pub(crate) key_env: Vec<String>,
    /// A shell command that prints its key, if no variable holds it.
    #[serde(default)]
    pub(crate) key_command: String,
    /// Whether it can do without a key.
    #[serde(default)]
    pub(crate) key_optional: bool,
}

/// Origin of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// From this variable.
    Variable(String),
    /// From what this command prints.
    Command(String),
    /// It needs none.
    NotNeeded,
    /// A key is needed, and none of these variables is set.
    Missing(Vec<String>),
}

impl Provider {
    /// Address of the provider: from the variable that its vendor's own tools read, or from the settings.
    pub(crate) fn base_url(&self) -> String {
        let set =
            Some(&self.base_url_env).filter(|name| !name.is_empty()).and_then(|name| env::var(name).ok());
        let url = set.filter(|url| !url.trim().is_empty()).unwrap_or_else(|| self.base_url.clone());
        let url = url.trim().trim_end_matches('/');
        let url = if url.contains("://") {
            url.to_owned()
        } else {
            // A host alone has the port that its server usually has, and every address is also our own.

            let usual = self.base_url.split_once("://").map_or("", |(_, rest)| rest);
            let port = usual.split('/').next().and_then(|host| host.rsplit_once(':')).map(|(_, port)| port);
            let port =
                port.filter(|_| !url.contains([':', '/'])).map_or(String::new(), |port| format!(":{port}"));
            format!("http://{}{port}", url.replace("0.0.0.0", "127.0.0.1"))
        };
        // Servers that imitate OpenAI have it below /v1, and their own tools are told only the host.
        let only_host = url.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        match self.wire {
            ModelWire::OpenaiChat if only_host => url + "/v1",
            _ => url,
        }
    }

    /// Address for display and storage, without a password.
    pub(crate) fn address(&self) -> String {
        let url = self.base_url();
        match url.split_once("://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                format!("{scheme}://{}{path}", host.rsplit_once('@').map_or(host, |(_, host)| host))
            }
            None => url,
        }
    }

    pub(crate) fn key(&self) -> Key {
        let set = |name: &&String| env::var(name).is_ok_and(|key| !key.trim().is_empty());
        match self.key_env.iter().find(set) {
            Some(name) => Key::Variable(name.clone()),
            None if !self.key_command.is_empty() => Key::Command(self.key_command.clone()),
            None if self.key_env.is_empty() || self.key_optional => Key::NotNeeded,
            None => Key::Missing(self.key_env.clone()),
        }
    }
}

impl Key {
    /// The key itself.
    pub(crate) async fn value(&self) -> Result<Option<String>, ModelError> {
        let none = |why: String| Err(ModelError::Lasting(why));
        match self {
            Key::NotNeeded => Ok(None),
            Key::Missing(names) => {
                none(format!("it has no key: set {}, or key_command of its provider", names.join(" or ")))
            }
            Key::Variable(name) => Ok(env::var(name).ok().map(|key| key.trim().to_owned())),
            Key::Command(command) => {
                let mut shell = tokio::process::Command::new("sh");
                let ran = shell.arg("-c").arg(command).stdin(Stdio::null()).kill_on_drop(true).output().await;
                let ran = match ran {
                    Ok(ran) => ran,
                    Err(error) => return none(format!("its key command cannot run: {error}")),
                };
                // Password stores keep notes behind the password.
                let text = String::from_utf8_lossy(&ran.stdout);
                let key = text.lines().next().unwrap_or_default().trim().to_owned();
                if ran.status.success() && !key.is_empty() {
                    Ok(Some(key))
                } else {
                    // What the command says may be the key or near it.
                    none(format!("its key command gave no key ({})", ran.status))
                }
            }
        }
    }
}

/// Who runs a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// A vendor whose models have large windows and who says little of them.
    Vendor,
    /// A service that has models of many vendors and lists their windows.
    Broker,
    /// The user or a colleague: a server with a small window, few slots and no need for speed.
    User,
}

impl Operator {
    /// Who runs the server of a provider, by its name and its address.
    pub(crate) fn of(name: &str, provider: &Provider) -> Operator {
        match name {
            _ if provider.wire != ModelWire::OpenaiChat => Operator::Vendor,
            "openai" => Operator::Vendor,
            "openrouter" => Operator::Broker,
            "ollama" | "vllm" | "llamacpp" => Operator::User,
            _ if is_near(&provider.address()) => Operator::User,
            _ => Operator::Broker,
        }
    }
}

/// Whether an address is of this machine or of a network that is not the internet.
fn is_near(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(host) => host.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match host.parse() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        // A name without a dot is one of the same network: a container, or a machine.
        Err(_) => {
            !host.contains('.') || [".local", ".lan", ".internal"].iter().any(|end| host.ends_with(end))
        }
    }
}

/// Origin of the key, never the key itself.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Variable(name) => write!(f, "from {name}"),
            Key::Command(_) => f.write_str("from its key command"),
            Key::NotNeeded => f.write_str("not needed"),
            Key::Missing(names) => write!(f, "missing: set {}", names.join(" or ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_understood_as_people_write_it() {
        let provider = |wire, base_url: &str| Provider {
            wire,
            base_url: base_url.to_owned(),
            base_url_env: String::new(),
            key_env: Vec::new(),
            key_command: String::new(),
            key_optional: false,
        };
        let table = [
            (ModelWire::OpenaiChat, "http://localhost:8000/v1/", "http://localhost:8000/v1"),
            (ModelWire::OpenaiChat, "http://localhost:8000", "http://localhost:8000/v1"),
            (ModelWire::OpenaiChat, "127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
            (ModelWire::OpenaiChat, "0.0.0.0:9", "http://127.0.0.1:9/v1"),
            (ModelWire::OpenaiChat, "https://host/openai/v3", "https://host/openai/v3"),
            (ModelWire::Anthropic, "https://host/", "https://host"),
        ];
        for (wire, given, expected) in table {
            assert_eq!(provider(wire, given).base_url(), expected);
        }
    }

    #[test]
    fn who_runs_a_server_is_told_by_its_name_and_its_address() {
        let table = [
            ("openai", "http://127.0.0.1:1/v1", Operator::Vendor),
            ("openrouter", "https://openrouter.ai/api/v1", Operator::Broker),
            ("ollama", "https://ollama.example.com/v1", Operator::User),
            ("mine", "http://user:secret@127.0.0.1:8000/v1", Operator::User),
            ("mine", "http://[::1]:8000/v1", Operator::User),
            ("mine", "http://192.168.1.4:8000/v1", Operator::User),
            ("mine", "http://gpu:8000/v1", Operator::User),
            ("mine", "http://gpu.local/v1", Operator::User),
            ("mine", "https://api.example.com/v1", Operator::Broker),
            ("mine", "https://8.8.8.8/v1", Operator::Broker),
        ];
        for (name, base_url, expected) in table {
            let provider = Provider {
                wire: ModelWire::OpenaiChat,
                base_url: base_url.to_owned(),
                base_url_env: String::new(),
                key_env: Vec::new(),
                key_command: String::new(),
                key_optional: true,
            };
            assert_eq!(Operator::of(name, &provider), expected, "{name} {base_url}");
            assert!(!provider.address().contains("secret"));
        }
    }

    #[test]
    fn a_key_comes_from_a_command_and_is_never_shown() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let value = |key: &Key| runtime.block_on(key.value());
        let key = Key::Command("printf 'secret\\nuser: me\\n'".to_owned());
        assert_eq!(value(&key), Ok(Some("secret".to_owned())));
        assert_eq!(key.to_string(), "from its key command");
        let failed = value(&Key::Command("echo secret; exit 3".to_owned())).unwrap_err();
        assert_eq!(failed.to_string(), "its key command gave no key (exit status: 3)");
    }
}
