//! A server's report on itself: its window, its slots, and whether its template takes tools.
//!
//! Every server that imitates OpenAI lists its models; who owns them tells which server it is, and what else it can be
//! asked. A server that does not answer, or not in time, has said nothing.

use super::learnt::Report;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a server may take for one of these answers. They are at hand, but one that computes may be slow to turn to
/// them.
const PATIENCE: Duration = Duration::from_secs(3);

/// Maximum bytes of such an answer: OpenRouter lists hundreds of models.
const LARGEST: usize = 8 * 1024 * 1024;

/// Window assumed for Ollama if it reports none: its smallest default. Ollama cuts longer prompts without an error.
const LEAST_OF_OLLAMA: u64 = 4_096;

/// A server that can be asked about itself.
pub(super) struct Server<'a> {
    pub(super) http: &'a reqwest::Client,
    /// Address below which its models are listed.
    pub(super) base_url: &'a str,
    pub(super) headers: HeaderMap,
    /// Name of the model in requests.
    pub(super) model: &'a str,
    /// Whether it is known to be Ollama.
    pub(super) is_ollama: bool,
}

impl Server<'_> {
    /// Its report.
    pub(super) async fn report(&self) -> Report {
        if self.is_ollama {
            return self.ollama().await;
        }
        let Some(list) = self.get("/models").await else { return Report::default() };
        let listed = Listed::of(&list, self.model);
        match listed.owner.as_str() {
            "llamacpp" => match self.root().get("/props").await {
                Some(props) => with_props(listed.report, &props),
                // Its name in the list may be one that every model of it has.
                None => Report { served: None, ..listed.report },
            },
            // What Ollama has from its own library; other servers have no such owner.
            "library" => self.ollama().await,
            _ => listed.report,
        }
    }

    /// Ollama's report on a model, by its own interface.
    async fn ollama(&self) -> Report {
        let root = self.root();
        let Some(running) = root.get("/api/ps").await else { return Report::default() };
        let shown = root.post("/api/show", &json!({"model": self.model})).await.unwrap_or_default();
        of_ollama(&running, &shown, self.model)
    }

    /// The same server without the part of its address that belongs to OpenAI's interface.
    fn root(&self) -> Server<'_> {
        let base_url = self.base_url.strip_suffix("/v1").unwrap_or(self.base_url);
        Server { base_url, headers: self.headers.clone(), ..*self }
    }

    async fn get(&self, path: &str) -> Option<Value> {
        self.answer(self.http.get(format!("{}{path}", self.base_url))).await
    }

    async fn post(&self, path: &str, body: &Value) -> Option<Value> {
        let body = serde_json::to_vec(body).ok()?;
        let request = self.http.post(format!("{}{path}", self.base_url));
        self.answer(request.header("content-type", "application/json").body(body)).await
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Option<Value> {
        let read = async {
            let mut response = request.headers(self.headers.clone()).send().await.ok()?;
            if !response.status().is_success() {
                return None;
            }
            let mut body = Vec::new();
            while let Some(part) = response.chunk().await.ok()? {
                body.extend_from_slice(&part);
                if body.len() > LARGEST {
                    return None;
                }
            }
            serde_json::from_slice(&body).ok()
        };
        tokio::time::timeout(PATIENCE, read).await.ok().flatten()
    }
}

/// A model as a list of models has it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    /// Who owns it, which tells which server it is.
    owner: String,
    report: Report,
}

impl Listed {
    fn of(list: &Value, model: &str) -> Listed {
        let entries = list.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let text = |entry: &Value, name: &str| {
            entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let aliases = |entry: &Value| {
            let aliases = entry.get("aliases").and_then(Value::as_array).cloned().unwrap_or_default();
            aliases.iter().any(|alias| alias.as_str() == Some(model))
        };
        let named = entries.iter().find(|entry| text(entry, "id") == model || aliases(entry));
        // A server with one model answers with it, whatever it is called.
        let Some(entry) = named.or(entries.first().filter(|_| entries.len() == 1)) else {
            return Listed::default();
        };
        let number = |place: &str| entry.pointer(place).and_then(Value::as_u64).filter(|&number| number > 0);
        // llama.cpp; vLLM and SGLang; OpenRouter, first the server that it would send us to; Groq; Mistral.
        let places = [
            "/meta/n_ctx",
            "/max_model_len",
            "/top_provider/context_length",
            "/context_length",
            "/context_window",
            "/max_context_length",
        ];
        let window = places.iter().find_map(|place| number(place));
        let parameters = entry.get("supported_parameters").and_then(Value::as_array);
        let takes_tools = parameters.map(|all| all.iter().any(|name| name.as_str() == Some("tools")));
        let served = Some(text(entry, "id")).filter(|id| !id.is_empty() && id.len() <= 256);
        Listed {
            owner: text(entry, "owned_by"),
            report: Report { served, window, place: "/v1/models", takes_tools, ..Report::default() },
        }
    }
}

/// llama.cpp's report on its slots, in addition to its list of models.
fn with_props(report: Report, props: &Value) -> Report {
    let number = |place: &str| props.pointer(place).and_then(Value::as_u64).filter(|&number| number > 0);
    let window = number("/default_generation_settings/n_ctx");
    let path = props.get("model_path").and_then(Value::as_str).filter(|path| path.len() <= 256);
    Report {
        // Whoever starts the server may give every model the same name.
        served: path.map(str::to_owned).or(report.served),
        window: window.or(report.window),
        place: if window.is_some() { "/props" } else { report.place },
        slots: number("/total_slots"),
        takes_tools: props.pointer("/chat_template_caps/supports_tools").and_then(Value::as_bool),
        is_guess: false,
    }
}

/// Ollama's reports on the running models and on this one.
fn of_ollama(running: &Value, shown: &Value, model: &str) -> Report {
    let entries = running.get("models").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_it = |entry: &&Value| {
        let name = entry.get("name").or(entry.get("model")).and_then(Value::as_str).unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    };
    let runs_with = entries.iter().find(is_it).and_then(|entry| entry.get("context_length")?.as_u64());
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let info = shown.get("model_info").and_then(Value::as_object);
    let trained = info.into_iter().flatten().find(|(name, _)| name.ends_with(".context_length"));
    let trained = trained.and_then(|(_, value)| value.as_u64());
    let capabilities = shown.get("capabilities").and_then(Value::as_array);
    let least = LEAST_OF_OLLAMA.min(trained.unwrap_or(u64::MAX));
    let (window, place) = match (runs_with.filter(|&window| window > 0), set) {
        (Some(window), _) => (window, "/api/ps"),
        (None, Some(window)) => (window, "num_ctx of the model"),
        (None, None) => (least, "Ollama's default"),
    };
    Report {
        served: None,
        window: Some(window),
        place,
        slots: Some(1),
        takes_tools: capabilities.map(|all| all.iter().any(|name| name.as_str() == Some("tools"))),
        is_guess: place == "Ollama's default",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_models_have_the_window_in_the_place_of_each_server() {
        let llamacpp = json!({"object": "list", "data": [{"id": "/models/smollm2.gguf", "aliases": ["smol"], "owned_by": "llamacpp",
            "meta": {"vocab_type": 2, "n_vocab": 49152, "n_ctx": 2048, "n_ctx_train": 8192}}]});
        let vllm = json!({"object": "list", "data": [
            {"id": "other", "owned_by": "vllm", "max_model_len": 1024},
            {"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "root": "Qwen/Qwen3-8B", "max_model_len": 40960}]});
        let openrouter = json!({"data": [{"id": "qwen/qwen3-8b", "context_length": 128000,
            "top_provider": {"context_length": 32000, "max_completion_tokens": null}, "supported_parameters": ["max_tokens", "stop"]}]});
        let groq =
            json!({"data": [{"id": "llama", "owned_by": "Meta", "context_window": 131072}, {"id": "x"}]});
        let table = [
            ("llama.cpp", &llamacpp, "anything", "llamacpp", Some(2_048), None),
            ("llama.cpp, its alias", &llamacpp, "smol", "llamacpp", Some(2_048), None),
            ("vLLM", &vllm, "Qwen/Qwen3-8B", "vllm", Some(40_960), None),
            ("vLLM, no such model", &vllm, "nobody", "", None, None),
            ("OpenRouter", &openrouter, "qwen/qwen3-8b", "", Some(32_000), Some(false)),
            ("Groq", &groq, "llama", "Meta", Some(131_072), None),
            ("nothing", &json!({"data": [7]}), "x", "", None, None),
            ("no list", &json!([]), "x", "", None, None),
        ];
        for (server, list, model, owner, window, takes_tools) in table {
            let listed = Listed::of(list, model);
            let found = (listed.owner.as_str(), listed.report.window, listed.report.takes_tools);
            assert_eq!(found, (owner, window, takes_tools), "{server}");
        }
    }

    #[test]
    fn llamacpp_says_what_one_slot_has_and_whether_tools_are_seen() {
        let listed = Report { window: Some(4_096), place: "/v1/models", ..Report::default() };
        let props = json!({"default_generation_settings": {"n_ctx": 2048}, "total_slots": 2,
            "chat_template_caps": {"supports_tools": false, "supports_tool_calls": false}});
        let expected = Report {
            window: Some(2_048),
            place: "/props",
            slots: Some(2),
            takes_tools: Some(false),
            ..Report::default()
        };
        assert_eq!(with_props(listed.clone(), &props), expected);
        assert_eq!(with_props(listed.clone(), &json!({"error": {}})), listed);
    }

    #[test]
    fn ollama_says_the_window_of_a_model_that_runs_or_the_least_counts() {
        let running =
            json!({"models": [{"name": "qwen3:latest", "model": "qwen3:latest", "context_length": 32768}]});
        let shown = json!({"parameters": "num_keep 24\nnum_ctx                        8192\nstop \"x\"",
            "model_info": {"qwen3.context_length": 40960}, "capabilities": ["completion", "tools"]});
        let bare = json!({"model_info": {"smol.context_length": 2048}, "capabilities": ["completion"]});
        let none = json!({});
        let table = [
            (&running, &shown, "qwen3", (32_768, "/api/ps", Some(true), false)),
            (&running, &shown, "other", (8_192, "num_ctx of the model", Some(true), false)),
            (&none, &bare, "smol", (2_048, "Ollama's default", Some(false), true)),
            (&none, &none, "gone", (4_096, "Ollama's default", None, true)),
        ];
        for (running, shown, model, expected) in table {
            let report = of_ollama(running, shown, model);
            let found = (report.window.unwrap(), report.place, report.takes_tools, report.is_guess);
            assert_eq!(found, expected, "{model}");
            assert_eq!(report.slots, Some(1));
        }
    }
}
