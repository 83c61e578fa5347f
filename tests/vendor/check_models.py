"""Holds our model clients against the vendors' own types: a server that refuses every request which the vendor's client
could not have made, and answers with what the vendor's types print, streaming and not.

Usage: check_models.py <forebay, built>. Prints a line per wire; stops at the first difference.
"""

import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from check_shapes import forbid_unknown_fields, strictly
from google.genai import types as genai
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

TEXT = "error: disk is full\nline 2\n" + "a line of no interest\n" * 2_000
CALL = {"filename": "s/vendor1", "pattern": "error"}


class GeminiRequest(BaseModel):
    """The body of generateContent, of the client's own types."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)
    contents: list[genai.Content]
    system_instruction: genai.Content | None = None
    tools: list[genai.Tool] | None = None
    tool_config: genai.ToolConfig | None = None
    generation_config: genai.GenerationConfig | None = None


def dumped(model):
    """What a server sends: fields that have no value are not there."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def turns(body):
    """How often the model has spoken."""
    return sum(message["role"] in ("assistant", "model") for message in body.get("messages", body.get("contents")))


def report(body):
    """The report in the wrapper that the prompt asks for."""
    tag = re.search(r"<ai-agent-(\w+)-FINAL", json.dumps(body)).group(1)
    return f'<ai-agent-{tag}-FINAL format="text">It says `error: disk is full`.</ai-agent-{tag}-FINAL>'


def openai_answer(body, calls):
    function = {"name": "Grep", "arguments": json.dumps(CALL)}
    message = {"role": "assistant", "content": None if calls else report(body)}
    if calls:
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    finish = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 70, "completion_tokens": 3, "total_tokens": 73}
    head = {"id": "chatcmpl-1", "created": 1, "model": "test"}
    if not body.get("stream"):
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        return dumped(ChatCompletion(**head, object="chat.completion", choices=choices, usage=usage))
    halves = lambda text: [text[: len(text) // 2], text[len(text) // 2 :]]
    if calls:
        parts = [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "Grep", "arguments": ""}}]
        parts += [{"index": 0, "function": {"arguments": half}} for half in halves(function["arguments"])]
        deltas = [{"role": "assistant", "tool_calls": [part]} for part in parts]
    else:
        deltas = [{"role": "assistant", "content": half} for half in halves(report(body))]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": finish}])
    chunks = [ChatCompletionChunk(**head, object="chat.completion.chunk", choices=choice) for choice in choices]
    chunks.append(ChatCompletionChunk(**head, object="chat.completion.chunk", choices=[], usage=usage))
    return [dumped(chunk) for chunk in chunks] + ["[DONE]"]


def anthropic_answer(body, calls):
    text = {"type": "text", "text": "I look." if calls else report(body)}
    content = [{"type": "thinking", "thinking": "well", "signature": "c2ln"}, text]
    if calls:
        content.append({"type": "tool_use", "id": "toolu_1", "name": "Grep", "input": CALL})
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test"}
    stop, usage = "tool_use" if calls else "end_turn", {"input_tokens": 70, "output_tokens": 3}
    if not body.get("stream"):
        return dumped(Message(**head, content=content, stop_reason=stop, usage=usage))
    events = [{"type": "message_start", "message": {**head, "content": [], "usage": usage, "stop_reason": None}}]
    for index, block in enumerate(content):
        kind = block["type"]
        empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}[kind]
        deltas = {
            "thinking": lambda: [
                {"type": "thinking_delta", "thinking": "well"},
                {"type": "signature_delta", "signature": "c2ln"},
            ],
            "text": lambda: [{"type": "text_delta", "text": half} for half in (block["text"][:9], block["text"][9:])],
            "tool_use": lambda: [{"type": "input_json_delta", "partial_json": json.dumps(CALL)}],
        }[kind]()
        events.append({"type": "content_block_start", "index": index, "content_block": {**block, **empty}})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}})
    events.append({"type": "message_stop"})
    adapter = TypeAdapter(RawMessageStreamEvent)
    return [dumped(adapter.validate_python(event)) for event in events]


def gemini_answer(body, calls, stream):
    part = genai.Part(function_call=genai.FunctionCall(name="Grep", args=CALL)) if calls else genai.Part(text=report(body))
    usage = genai.GenerateContentResponseUsageMetadata(prompt_token_count=70, candidates_token_count=3)
    thought = genai.Part(text="well", thought=True, thought_signature=b"sig")

    def answer(parts, finish):
        candidate = genai.Candidate(content=genai.Content(role="model", parts=parts), finish_reason=finish)
        return dumped(genai.GenerateContentResponse(candidates=[candidate], usage_metadata=usage))

    return [answer([thought], None), answer([part], "STOP")] if stream else answer([thought, part], "STOP")


CHECKS = {
    ("openai", False): strictly(forbid_unknown_fields(CompletionCreateParamsNonStreaming)),
    ("openai", True): strictly(forbid_unknown_fields(CompletionCreateParamsStreaming)),
    ("anthropic", False): strictly(forbid_unknown_fields(MessageCreateParamsNonStreaming)),
    ("anthropic", True): strictly(forbid_unknown_fields(MessageCreateParamsStreaming)),
}
PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/test:generateContent",
    "gemini stream": "/v1beta/models/test:streamGenerateContent?alt=sse",
}
KEYS = {"openai": ("authorization", "Bearer key"), "anthropic": ("x-api-key", "key"), "gemini": ("x-goog-api-key", "key")}


class Vendor(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    vendor, problems = "", []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        stream = bool(body.get("stream")) or "stream" in self.path
        try:
            place = PATHS["gemini stream" if self.vendor == "gemini" and stream else self.vendor]
            assert self.path == place, self.path
            header, key = KEYS[self.vendor]
            assert self.headers[header] == key, dict(self.headers)
            if self.vendor == "gemini":
                GeminiRequest.model_validate(body)
            else:
                CHECKS[self.vendor, stream](body)
        except Exception as problem:
            Vendor.problems.append(f"{self.vendor}: {problem}\n{json.dumps(body)[:2_000]}")
        calls = "Grep" in json.dumps(body) and turns(body) == 0
        answers = {"openai": openai_answer, "anthropic": anthropic_answer}
        answer = gemini_answer(body, calls, stream) if self.vendor == "gemini" else answers[self.vendor](body, calls)
        if stream:
            data = lambda event: event if isinstance(event, str) else json.dumps(event)
            text = "".join(f"data: {data(event)}\n\n" for event in answer)
        else:
            text = json.dumps(answer)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def main():
    forebay = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as root:
        names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
        env = {"PATH": os.environ["PATH"], "FOREBAY_ROOT": root, "FOREBAY_SESSION": "s"}
        env |= {name: address for name in names} | {name: "key" for name in keys}

        def run(*args, input=None, **more):
            ran = subprocess.run([forebay, *args], input=input, capture_output=True, text=True, env=env | more)
            assert ran.returncode == 0, ran.stderr
            return ran.stdout

        run("put", "--call-id", "vendor1", input=TEXT)
        for Vendor.vendor in ("openai", "anthropic", "gemini"):
            for stream in ("true", "false"):
                for mode in ("full-chunked", "read-grep"):
                    more = ("--mode", mode, "--models", f"{Vendor.vendor}/test", "--anew")
                    answer = run("extract", "vendor1", "which error?", *more, FOREBAY_MODELS_STREAM=stream)
                    assert not Vendor.problems, Vendor.problems[0]
                    assert f"STRATEGY:{mode}:\n\nIt says `error: disk is full`.\n" in answer, answer
                    turns = "in 1 chunk: all 2,002 lines · 70 tokens in, 3 out" if mode == "full-chunked" else "140 tokens in, 6 out"
                    assert turns in answer, answer
            print(f"{Vendor.vendor}: requests and answers are the vendor's, streaming and not")


if __name__ == "__main__":
    main()
