//! Anthropic's messages.

use super::stream::{Fold, Request, Unreadable};
use forebay::model::{Answer, Message, Prompt, Stop, Usage};
use forebay::wire::Wire;
use serde_json::{Map, Value, json};

pub(super) fn request(request: &Request, prompt: &Prompt) -> (String, Value) {
    let mut messages = Vec::new();
    for message in prompt.messages {
        match message {
            Message::User(text) => messages.push(json!({"role": "user", "content": text})),
            Message::Model(said) => messages.push(said.raw.clone()),
            Message::Results(results) => messages.extend(Wire::Anthropic.results(results)),
        }
    }
    let mut body = json!({
        "model": request.model,
        "max_tokens": prompt.max_output,
        "system": prompt.system,
        "messages": messages,
    });
    if !prompt.tools.is_empty() {
        body["tools"] = Wire::Anthropic.tools(prompt.tools);
        body["tool_choice"] = json!({"type": if prompt.may_call { "auto" } else { "none" }});
    }
    if request.stream {
        body["stream"] = true.into();
    }
    ("/v1/messages".to_owned(), body)
}

pub(super) fn said(answer: &Value) -> Result<Answer, Unreadable> {
    let content =
        answer.get("content").and_then(Value::as_array).ok_or(Unreadable::Incomplete("it has no content"))?;
    let text: String = content.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    let calls = Wire::Anthropic.calls(answer)?;
    let stop = match answer.get("stop_reason").and_then(Value::as_str) {
        Some("end_turn" | "stop_sequence") | None => Stop::Ended,
        Some("tool_use") => Stop::Calls,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("refusal") => Stop::Refused(String::new()),
        Some(other) => Stop::Other(other.to_owned()),
    };
    let number = |name: &str| answer.pointer(&format!("/usage/{name}")).and_then(Value::as_u64).unwrap_or(0);
    let cached = number("cache_creation_input_tokens").saturating_add(number("cache_read_input_tokens"));
    Ok(Answer {
        text,
        calls,
        stop,
        usage: Usage {
            tokens_in: number("input_tokens").saturating_add(cached),
            tokens_out: number("output_tokens"),
        },
        raw: json!({"role": "assistant", "content": content}),
    })
}

/// A stream of events that build up one message.
#[derive(Default)]
pub(super) struct Stream {
    blocks: Vec<Map<String, Value>>,
    /// The arguments of a call come as parts of a JSON text.
    arguments: Vec<String>,
    stop: Value,
    usage: Map<String, Value>,
    ended: bool,
}

impl Stream {
    fn count(&mut self, usage: Option<&Value>) {
        let usage = usage.and_then(Value::as_object).into_iter().flatten();
        // What is null at the end was said at the start.
        for (name, number) in usage.filter(|(_, number)| !number.is_null()) {
            self.usage.insert(name.clone(), number.clone());
        }
    }
}

impl Fold for Stream {
    fn take(&mut self, event: Value) {
        let index = event.get("index").and_then(Value::as_u64).map_or(usize::MAX, |index| index as usize);
        let object = |name: &str| event.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.count(event.pointer("/message/usage")),
            "content_block_start" => {
                self.blocks.push(object("content_block"));
                self.arguments.push(String::new());
            }
            "content_block_delta" => {
                let (Some(block), Some(arguments)) =
                    (self.blocks.get_mut(index), self.arguments.get_mut(index))
                else {
                    return;
                };
                let delta = object("delta");
                let said = |name: &str| delta.get(name).and_then(Value::as_str);
                arguments.push_str(said("partial_json").unwrap_or_default());
                for name in ["text", "thinking", "signature"] {
                    let Some(more) = said(name) else { continue };
                    let before = block.get(name).and_then(Value::as_str).unwrap_or_default();
                    block.insert(name.to_owned(), format!("{before}{more}").into());
                }
            }
            "content_block_stop" => {
                let (Some(block), Some(arguments)) = (self.blocks.get_mut(index), self.arguments.get(index))
                else {
                    return;
                };
                if !arguments.is_empty() {
                    // What is not JSON stays a text, and the call says so.
                    let text = || Value::String(arguments.clone());
                    block.insert(
                        "input".to_owned(),
                        serde_json::from_str(arguments).unwrap_or_else(|_| text()),
                    );
                }
            }
            "message_delta" => {
                if let Some(reason) = event.pointer("/delta/stop_reason") {
                    self.stop = reason.clone();
                }
                self.count(event.get("usage"));
            }
            "message_stop" => self.ended = true,
            _ => {}
        }
    }

    fn adds<'a>(&self, event: &'a Value) -> &'a str {
        let text = |name: &str| event.pointer(&format!("/delta/{name}")).and_then(Value::as_str);
        text("text").or(text("thinking")).unwrap_or_default()
    }

    fn end(&mut self) {
        self.ended = true;
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let message = json!({
            "role": "assistant", "content": self.blocks, "stop_reason": self.stop, "usage": self.usage,
        });
        self.ended.then_some(message)
    }
}
