//! Recognises errors about prompts longer than a model's window, in the wording of each server.

use serde_json::Value;

/// Figures in a server's error about a prompt that is too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Overflow {
    /// Tokens of the prompt by the server's count, if it gave them.
    pub(super) prompt: Option<u64>,
    /// Tokens of the window, if it gave them.
    pub(super) window: Option<u64>,
}

/// Sentences of servers, in small letters. `{prompt}` and `{window}` stand for the numbers that are read, `{}` for a
/// number that is not. The first sentence that is found counts, so the ones with more numbers come first.
const SENTENCES: &[&str] = &[
    // llama.cpp.
    "request ({prompt} tokens) exceeds the available context size ({window} tokens)",
    // OpenAI, and vLLM in its older versions.
    "maximum context length is {window} tokens. however, you requested {} tokens ({prompt} in the messages",
    "maximum context length is {window} tokens, however you requested {} tokens ({prompt} in your prompt",
    "maximum context length is {window} tokens. however, your messages resulted in {prompt} tokens",
    "maximum context length is {window} tokens. however, your prompt resulted in {prompt} tokens",
    // vLLM. Where it says `at least`, it has stopped counting, so that number is not the prompt's.
    "maximum context length is {window} tokens and your request has {prompt} input tokens",
    "maximum context length is {window} tokens. however, your request has {prompt} input tokens",
    "you passed {prompt} input tokens and requested {} output tokens. however, the model's context length is only {window} tokens",
    "prompt (length {prompt}) is longer than the maximum model length of {window}",
    "prompt (total length {prompt}) is too long to fit into the model (context length {window})",
    // OpenRouter.
    "maximum context length is {window} tokens. however, you requested about {} tokens ({prompt} of text input",
    // Anthropic.
    "prompt is too long: {prompt} tokens > {window} maximum",
    "exceed context limit: {prompt} + {} > {window}",
    // Gemini.
    "input token count ({prompt}) exceeds the maximum number of tokens allowed ({window})",
    "input token count exceeds the maximum number of tokens allowed {window}",
    // Mistral.
    "prompt contains {prompt} tokens and {} draft tokens, too large for model with {window} maximum context length",
    // SGLang.
    "the input ({prompt} tokens) is longer than the model's context length ({window} tokens)",
    "maximum context length of {window} tokens. you requested a total of {} tokens: {prompt} tokens from the input",
    // LM Studio.
    "trying to keep the first {prompt} tokens when context the overflows. however, the model is loaded with context length of only {window} tokens",
    // Text Generation Inference.
    "`inputs` tokens + `max_new_tokens` must be <= {window}. given: {prompt} `inputs` tokens",
    // Servers that imitate one of these.
    "maximum context length is {window}",
    "maximum context length of {window}",
    "context length is only {window}",
    "exceeds the available context size",
    "context_length_exceeded",
    "exceed_context_size_error",
    "context size has been exceeded",
    "context window exceeded",
    "exceeds the context window",
    "exceeded max context length",
    "prompt is too long",
    "prompt too long",
    "reduce the length of the messages",
];

/// Bytes of an error message that are parsed. The longest known sentence has 160; some servers append the request.
const LOOKED_AT: usize = 2_000;

/// Figures of an overflow in an error; `None` if the error is about something else.
pub(super) fn of(status: Option<u16>, error: &Value, words: &str) -> Option<Overflow> {
    if matches!(status, Some(401 | 403 | 404 | 429)) {
        return None;
    }
    let number = |name: &str| error.get(name).and_then(Value::as_u64);
    let said = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let words: String = [said("code"), said("type"), words].join("\n").chars().take(LOOKED_AT).collect();
    let words = words.to_lowercase();
    let found = SENTENCES.iter().find_map(|sentence| read(sentence, &words));
    // A body that a server does not take at all is too long, whatever it says.
    let found = found.or_else(|| (status == Some(413)).then(Overflow::default))?;
    Some(Overflow {
        prompt: number("n_prompt_tokens").or(found.prompt),
        window: number("n_ctx").or(found.window).filter(|&window| window > 0),
    })
}

/// The numbers of a sentence, where `words` have it.
fn read(sentence: &str, words: &str) -> Option<Overflow> {
    let first = sentence.split('{').next().unwrap_or_default();
    // A sentence that begins with a number begins where its next words do.
    let starts = words.match_indices(first).map(|(at, _)| at);
    starts.into_iter().find_map(|at| read_at(sentence, &words[at..]))
}

fn read_at(sentence: &str, mut words: &str) -> Option<Overflow> {
    let mut found = Overflow::default();
    let mut parts = sentence.split('{');
    words = words.strip_prefix(parts.next().unwrap_or_default())?;
    for part in parts {
        let (name, literal) = part.split_once('}')?;
        let digits = words.len() - words.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',').len();
        // A comma behind the number belongs to the sentence.
        let number = words[..digits].trim_end_matches(',');
        let value = number.replace(',', "").parse().ok()?;
        match name {
            "prompt" => found.prompt = Some(value),
            "window" => found.window = Some(value),
            _ => {}
        }
        words = words[number.len()..].strip_prefix(literal)?;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_words_of_real_servers_are_understood() {
        type Row = (&'static str, u16, &'static str, Option<u64>, Option<u64>);
        let table: &[Row] = &[
            (
                "llama.cpp",
                400,
                "request (6031 tokens) exceeds the available context size (2048 tokens), try increasing it",
                Some(6_031),
                Some(2_048),
            ),
            (
                "llama.cpp, older",
                400,
                "the request exceeds the available context size. try increasing the context size or enable context shift",
                None,
                None,
            ),
            (
                "OpenAI",
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 12255 tokens. Please reduce the length of the messages.",
                Some(12_255),
                Some(8_192),
            ),
            (
                "OpenAI, completion",
                400,
                "This model's maximum context length is 4097 tokens. However, you requested 4927 tokens (3927 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
                Some(3_927),
                Some(4_097),
            ),
            (
                "OpenAI, functions",
                400,
                "This model's maximum context length is 16385 tokens. However, your messages resulted in 17201 tokens (17164 in the messages, 37 in the functions).",
                Some(17_201),
                Some(16_385),
            ),
            (
                "vLLM",
                400,
                "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
                Some(112_946),
                Some(16_384),
            ),
            (
                "vLLM, the limit of the answer",
                400,
                "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 1200 input tokens (8192 > 4096 - 1200).",
                Some(1_200),
                Some(4_096),
            ),
            (
                "vLLM, later",
                400,
                "This model's maximum context length is 40960 tokens. However, your request has 45000 input tokens. Please reduce the length of the input messages.",
                Some(45_000),
                Some(40_960),
            ),
            (
                "vLLM, latest: it stops counting",
                400,
                "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens.",
                None,
                Some(128_000),
            ),
            (
                "vLLM, renderer",
                400,
                "You passed 4097 input tokens and requested 16 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 4080 tokens.",
                Some(4_097),
                Some(4_096),
            ),
            (
                "vLLM, engine",
                400,
                "The decoder prompt (length 25938) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
                Some(25_938),
                Some(4_096),
            ),
            (
                "OpenRouter",
                400,
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 200123 tokens (192123 of text input, 8000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.",
                Some(192_123),
                Some(131_072),
            ),
            (
                "Anthropic",
                400,
                "prompt is too long: 212345 tokens > 200000 maximum",
                Some(212_345),
                Some(200_000),
            ),
            (
                "Anthropic, the limit of the answer",
                400,
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
                Some(188_240),
                Some(200_000),
            ),
            (
                "Gemini",
                400,
                "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_200_293),
                Some(1_048_576),
            ),
            (
                "Gemini, older",
                400,
                "The input token count exceeds the maximum number of tokens allowed 1048576.",
                None,
                Some(1_048_576),
            ),
            (
                "Mistral",
                400,
                "Prompt contains 40321 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                Some(40_321),
                Some(32_768),
            ),
            (
                "SGLang",
                400,
                "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
                Some(5_000),
                Some(4_096),
            ),
            (
                "SGLang, the limit of the answer",
                400,
                "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 9000 tokens: 1000 tokens from the input messages and 8000 tokens for the completion.",
                Some(1_000),
                Some(4_096),
            ),
            (
                "LM Studio",
                400,
                "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.",
                Some(10_136),
                Some(7_866),
            ),
            (
                "Text Generation Inference",
                422,
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`",
                Some(3_000),
                Some(4_096),
            ),
            ("Groq", 400, "Please reduce the length of the messages or completion.", None, None),
            ("thousands", 400, "maximum context length is 131,072, sorry", None, Some(131_072)),
            ("any server, by its status", 413, "", None, None),
        ];
        for &(server, status, words, prompt, window) in table {
            let error = json!({"message": words});
            assert_eq!(of(Some(status), &error, words), Some(Overflow { prompt, window }), "{server}");
        }
    }

    #[test]
    fn the_fields_of_an_error_count_more_than_its_words() {
        let error = json!({"code": 400, "message": "too long", "type": "exceed_context_size_error", "n_prompt_tokens": 6031, "n_ctx": 2048});
        let expected = Some(Overflow { prompt: Some(6_031), window: Some(2_048) });
        assert_eq!(of(Some(400), &error, "too long"), expected);
        let error = json!({"code": "context_length_exceeded", "message": "no"});
        assert_eq!(of(Some(400), &error, "no"), Some(Overflow::default()));
    }

    #[test]
    fn other_errors_are_not_taken_for_an_overflow() {
        let table = [
            (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            (400, "max_tokens must be at least 1"),
            (429, "Request too large: maximum context length is 8192 tokens"),
            (404, "The model `x` does not exist"),
            (500, "out of memory"),
            (400, "maximum context length is unknown"),
        ];
        for (status, words) in table {
            assert_eq!(of(Some(status), &Value::Null, words), None, "{words}");
        }
    }
}
