//! OpenAI's chat completions.

use super::stream::{Fold, Request, Unreadable};
use forebay::model::{Answer, Message, Prompt, Stop, Usage};
use forebay::wire::Wire;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

pub(super) fn request(request: &Request, prompt: &Prompt) -> (String, Value) {
    let mut messages = vec![json!({"role": "system", "content": prompt.system})];
    for message in prompt.messages {
        match message {
            Message::User(text) => messages.push(json!({"role": "user", "content": text})),
            Message::Model(said) => messages.push(said.raw.clone()),
            Message::Results(results) => messages.extend(Wire::OpenaiChat.results(results)),
        }
    }
    // Newer models of OpenAI take only the second name, other servers often only the first.
    let limit =
        if request.other_limit.load(Ordering::Relaxed) { "max_completion_tokens" } else { "max_tokens" };
    let mut body = json!({"model": request.model, "messages": messages, limit: prompt.max_output});
    if !prompt.tools.is_empty() {
        body["tools"] = Wire::OpenaiChat.tools(prompt.tools);
        body["tool_choice"] = if prompt.may_call { "auto".into() } else { "none".into() };
    }
    if request.stream {
        body["stream"] = true.into();
        body["stream_options"] = json!({"include_usage": true});
    }
    ("/chat/completions".to_owned(), body)
}

pub(super) fn said(answer: &Value) -> Result<Answer, Unreadable> {
    let choice = answer.pointer("/choices/0").ok_or(Unreadable::Incomplete("it has no choices"))?;
    let message = choice.get("message").ok_or(Unreadable::Incomplete("its choice has no message"))?;
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
    let calls = Wire::OpenaiChat.calls(message)?;
    let stop = match (choice.get("finish_reason").and_then(Value::as_str), refusal) {
        (_, Some(refusal)) => Stop::Refused(refusal.to_owned()),
        // Not every server that imitates OpenAI has its words.
        (Some("stop" | "eos" | "end_turn" | "stop_sequence") | None, _) if calls.is_empty() => Stop::Ended,
        (Some("stop" | "tool_calls" | "function_call") | None, _) => Stop::Calls,
        (Some("length"), _) => Stop::Length,
        (Some("content_filter"), _) => Stop::Refused("content filter".to_owned()),
        (Some(other), _) => Stop::Other(other.to_owned()),
    };
    let number = |path: &str| answer.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    Ok(Answer {
        text: match message.get("content") {
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
            }
            content => content.and_then(Value::as_str).unwrap_or_default().to_owned(),
        },
        calls,
        stop,
        usage: Usage {
            tokens_in: number("/usage/prompt_tokens"),
            tokens_out: number("/usage/completion_tokens"),
        },
        // Only what a message may have that is sent, not all that one has which came.
        raw: ["role", "content", "tool_calls"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), message.get(name)?.clone())))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    })
}

/// A stream of chunks.
#[derive(Default)]
pub(super) struct Stream {
    content: String,
    refusal: String,
    calls: Vec<Call>,
    finish: Option<Value>,
    usage: Value,
    /// Speeds, as llama.cpp gives them.
    timings: Value,
}

/// A call as it comes in parts.
#[derive(Default)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Stream {
    /// Adds a part of a call. Servers number calls, but some give all calls the same number; then a new id begins a
    /// call.
    fn take_call(&mut self, part: &Value) {
        let text = |place: &str| part.pointer(place).and_then(Value::as_str).unwrap_or_default();
        let index = part.get("index").and_then(Value::as_u64).unwrap_or(0);
        let id = text("/id");
        let open = self.calls.iter().rposition(|call| call.index == index);
        let open =
            open.filter(|&open| id.is_empty() || self.calls[open].id.is_empty() || self.calls[open].id == id);
        let at = open.unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        for (known, said) in [(&mut call.id, id), (&mut call.name, text("/function/name"))] {
            if known.is_empty() {
                said.clone_into(known);
            }
        }
        call.arguments.push_str(text("/function/arguments"));
    }
}

impl Fold for Stream {
    fn take(&mut self, event: Value) {
        if let Some(usage) = event.get("usage").filter(|usage| !usage.is_null()) {
            self.usage = usage.clone();
        }
        if let Some(timings) = event.get("timings").filter(|timings| timings.is_object()) {
            self.timings = timings.clone();
        }
        let Some(choice) = event.pointer("/choices/0") else { return };
        let text = |name: &str| choice.pointer(name).and_then(Value::as_str).unwrap_or_default();
        self.content.push_str(text("/delta/content"));
        self.refusal.push_str(text("/delta/refusal"));
        for part in choice.pointer("/delta/tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.take_call(part);
        }
        if let Some(finish) = choice.get("finish_reason").filter(|finish| !finish.is_null()) {
            self.finish = Some(finish.clone());
        }
    }

    fn adds<'a>(&self, event: &'a Value) -> &'a str {
        // Servers have one of two names for thoughts.
        let places = ["content", "reasoning_content", "reasoning"];
        let text = |name: &&str| event.pointer(&format!("/choices/0/delta/{name}")).and_then(Value::as_str);
        places.iter().filter_map(text).find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn end(&mut self) {
        self.finish.get_or_insert_with(|| "stop".into());
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        let finish = self.finish?;
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.refusal.is_empty() {
            message["refusal"] = self.refusal.into();
        }
        if !self.calls.is_empty() {
            let calls = self.calls.into_iter().map(|call| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": call.id, "type": "function", "function": function})
            });
            message["tool_calls"] = calls.collect();
        }
        let choices = json!([{"message": message, "finish_reason": finish}]);
        Some(json!({"choices": choices, "usage": self.usage, "timings": self.timings}))
    }
}
