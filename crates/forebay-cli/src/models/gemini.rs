//! Google's Gemini.

use super::stream::{Fold, Request, Unreadable};
use forebay::model::{Answer, Message, Prompt, Stop, Usage};
use forebay::wire::Wire;
use serde_json::{Value, json};

pub(super) fn request(request: &Request, prompt: &Prompt) -> (String, Value) {
    let mut contents = Vec::new();
    for message in prompt.messages {
        match message {
            Message::User(text) => contents.push(json!({"role": "user", "parts": [{"text": text}]})),
            Message::Model(said) => contents.push(said.raw.clone()),
            Message::Results(results) => contents.extend(Wire::Gemini.results(results)),
        }
    }
    let mut body = json!({
        "systemInstruction": {"parts": [{"text": prompt.system}]},
        "contents": contents,
        "generationConfig": {"maxOutputTokens": prompt.max_output},
    });
    if !prompt.tools.is_empty() {
        let mode = if prompt.may_call { "AUTO" } else { "NONE" };
        body["tools"] = Wire::Gemini.tools(prompt.tools);
        body["toolConfig"] = json!({"functionCallingConfig": {"mode": mode}});
    }
    let method = if request.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    (format!("/v1beta/models/{}:{method}", request.model), body)
}

pub(super) fn said(answer: &Value) -> Result<Answer, Unreadable> {
    let number =
        |name: &str| answer.pointer(&format!("/usageMetadata/{name}")).and_then(Value::as_u64).unwrap_or(0);
    let usage = Usage {
        tokens_in: number("promptTokenCount"),
        tokens_out: number("candidatesTokenCount").saturating_add(number("thoughtsTokenCount")),
    };
    let blocked = answer.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
    let Some(candidate) = answer.pointer("/candidates/0") else {
        let why = blocked.ok_or(Unreadable::Incomplete("it has no candidates"))?;
        let stop = Stop::Refused(why.to_owned());
        return Ok(Answer { text: String::new(), calls: Vec::new(), stop, usage, raw: Value::Null });
    };
    let content = candidate.get("content").cloned().unwrap_or_else(|| json!({"role": "model", "parts": []}));
    let parts = content.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let spoken = parts.iter().filter(|part| part.get("thought").and_then(Value::as_bool) != Some(true));
    let text: String = spoken.filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    let calls = Wire::Gemini.calls(&content)?;
    let stop = match candidate.get("finishReason").and_then(Value::as_str) {
        Some("STOP") | None if calls.is_empty() => Stop::Ended,
        Some("STOP") | None => Stop::Calls,
        Some("MAX_TOKENS") => Stop::Length,
        Some(why @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE")) => {
            Stop::Refused(why.to_owned())
        }
        Some(other) => Stop::Other(other.to_owned()),
    };
    Ok(Answer { text, calls, stop, usage, raw: content })
}

/// A stream of answers, each with the parts that are new. Any of them may have the reason why it ended, the
/// usage, or the reason why it was blocked.
#[derive(Default)]
pub(super) struct Stream {
    parts: Vec<Value>,
    finish: Option<Value>,
    blocked: Option<Value>,
    usage: Value,
}

impl Fold for Stream {
    fn take(&mut self, event: Value) {
        let parts = event.pointer("/candidates/0/content/parts").and_then(Value::as_array);
        self.parts.extend(parts.into_iter().flatten().cloned());
        let said = |place: &str| event.pointer(place).filter(|value| value.is_string()).cloned();
        self.finish = said("/candidates/0/finishReason").or(self.finish.take());
        self.blocked = said("/promptFeedback/blockReason").or(self.blocked.take());
        if let Some(usage) = event.get("usageMetadata") {
            self.usage = usage.clone();
        }
    }

    fn adds<'a>(&self, event: &'a Value) -> &'a str {
        event.pointer("/candidates/0/content/parts/0/text").and_then(Value::as_str).unwrap_or_default()
    }

    fn end(&mut self) {
        self.finish.get_or_insert_with(|| "STOP".into());
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        if self.finish.is_none() && self.blocked.is_none() {
            return None;
        }
        let mut answer =
            json!({"usageMetadata": self.usage, "promptFeedback": {"blockReason": self.blocked}});
        if let Some(finish) = self.finish {
            let content = json!({"role": "model", "parts": self.parts});
            answer["candidates"] = json!([{"content": content, "finishReason": finish}]);
        }
        Some(answer)
    }
}
