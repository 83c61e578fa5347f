"""A model on this machine that asks an agent program for the tool calls of a script, and keeps what it is sent back.

Each agent speaks the wire of one vendor. A wire says which requests are the model's, reads the results of tools from one,
and writes the response that asks for the next call or ends the turn.
"""

import http.server
import json
import threading

END = "The script is over."


class Wire:
    """What the wires share."""

    ends = ()

    def is_for_model(self, path):
        return path.split("?")[0].endswith(self.ends)

    def stream(self, events, last=""):
        parts = []
        for event in events:
            if "type" in event:
                parts.append(f"event: {event['type']}\n")
            parts.append(f"data: {json.dumps(event)}\n\n")
        return "text/event-stream", ("".join(parts) + last).encode()


def flat(content):
    """The text of a result, which is a text, a list of blocks or an object."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part.get("text", json.dumps(part)) for part in content)
    return json.dumps(content)


class Messages(Wire):
    """Anthropic's wire."""

    ends = ("/v1/messages",)

    def has_tools(self, body):
        return bool(body.get("tools"))

    def results(self, body):
        for message in body["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] == "tool_result":
                    yield block["tool_use_id"], flat(block.get("content") or ""), bool(block.get("is_error"))

    def reply(self, path, body, call):
        if call is None:
            block, delta, why = {"type": "text", "text": ""}, {"type": "text_delta", "text": END}, "end_turn"
        else:
            block = {"type": "tool_use", "id": call["id"], "name": call["tool"], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call["arguments"])}
            why = "tool_use"
        head = {"id": "msg_x", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
                "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not body.get("stream"):
            done = dict(block, text=END) if call is None else dict(block, input=call["arguments"])
            return "application/json", json.dumps(dict(head, content=[done], stop_reason=why)).encode()
        return self.stream([
            {"type": "message_start", "message": head},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ])


class Responses(Wire):
    """OpenAI's newer wire, which Codex speaks."""

    ends = ("/responses",)

    def has_tools(self, body):
        return bool(body.get("tools"))

    def results(self, body):
        for item in body["input"]:
            if item.get("type") == "function_call_output":
                yield item["call_id"], flat(item["output"]), None

    def reply(self, path, body, call):
        if call is None:
            text = {"type": "output_text", "text": END, "annotations": []}
            item = {"type": "message", "id": "msg_x", "role": "assistant", "status": "completed", "content": [text]}
        else:
            item = {"type": "function_call", "id": "fc_" + call["id"], "call_id": call["id"], "status": "completed",
                    "name": call["tool"], "arguments": json.dumps(call["arguments"])}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return self.stream([
            {"type": "response.created", "response": {"id": "resp_x"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "resp_x", "output": [item], "usage": usage}},
        ])


class Completions(Wire):
    """OpenAI's older wire, which most servers speak."""

    ends = ("/chat/completions",)

    def has_tools(self, body):
        return bool(body.get("tools"))

    def results(self, body):
        for message in body["messages"]:
            if message["role"] == "tool":
                yield message["tool_call_id"], flat(message["content"]), None

    def reply(self, path, body, call):
        if call is None:
            delta, why = {"role": "assistant", "content": END}, "stop"
        else:
            function = {"name": call["tool"], "arguments": json.dumps(call["arguments"])}
            delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": call["id"], "type": "function", "function": function}]}
            why = "tool_calls"
        head = {"id": "chat_x", "object": "chat.completion.chunk", "created": 1, "model": body.get("model", "m")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return self.stream([
            dict(head, choices=[{"index": 0, "delta": delta, "finish_reason": None}]),
            dict(head, choices=[{"index": 0, "delta": {}, "finish_reason": why}], usage=usage),
        ], "data: [DONE]\n\n")


class Contents(Wire):
    """Google's wire."""

    ends = (":generateContent", ":streamGenerateContent")
    # The answers to Gemini CLI's own questions, such as which model to take.
    aside = json.dumps({"reasoning": "x", "next_speaker": "user", "model_choice": "flash", "complexity_reasoning": "x",
                        "complexity_score": 1})

    def has_tools(self, body):
        return any("functionDeclarations" in tool for tool in body.get("tools") or ())

    def results(self, body):
        for content in body["contents"]:
            for part in content.get("parts", ()):
                if "functionResponse" in part:
                    response = part["functionResponse"]["response"]
                    key = "error" if "error" in response else "output"
                    yield part["functionResponse"].get("id"), flat(response.get(key, response)), key == "error"

    def reply(self, path, body, call):
        if call is not None:
            part = {"functionCall": {"id": call["id"], "name": call["tool"], "args": call["arguments"]}}
        else:
            part = {"text": END if self.has_tools(body) else self.aside}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                  "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        if ":stream" in path:
            return self.stream([answer])
        return "application/json", json.dumps(answer).encode()


class Model:
    """Serves one turn. A step of its script is a tool and its arguments, or a function that makes both from the results so far."""

    def __init__(self, wire, script):
        self.wire, self.script = wire, script
        self.calls, self.results = [], []
        self.turn = threading.Lock()  # guards calls and results: agents send several requests at once
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = self.headers.get("Content-Length")
                text = self.rfile.read(int(length)) if length else self.chunks()
                try:
                    body = json.loads(text or b"{}")
                except ValueError:
                    body = {}
                self.respond(200, *model.answer(self.path, body))

            def do_GET(self):
                # 426: an agent that would rather have a web socket takes HTTP.
                self.respond(426 if self.headers.get("Upgrade") else 200, "application/json", b'{"data": [], "models": []}')

            def chunks(self):
                text = b""
                while (size := int(self.rfile.readline().split(b";")[0] or b"0", 16)) > 0:
                    text += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return text

            def respond(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # an agent that ends may leave its connections open
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, body):
        if not self.wire.is_for_model(path):
            return "application/json", b'{"input_tokens": 1, "totalTokens": 1}'
        if not self.wire.has_tools(body):
            return self.wire.reply(path, body, None)
        with self.turn:
            for call_id, text, is_error in self.wire.results(body):
                # Later requests repeat earlier results.
                if len(self.results) < len(self.calls) and call_id == self.calls[-1]["id"]:
                    self.results.append((text, is_error))
            if len(self.results) == len(self.calls) and len(self.calls) < len(self.script):
                step = self.script[len(self.calls)]
                try:
                    tool, arguments = step(self.results) if callable(step) else step
                except (LookupError, TypeError):  # what the step needs is not in the results: the turn ends here
                    return self.wire.reply(path, body, None)
                self.calls.append({"id": f"call_{len(self.calls) + 1}", "tool": tool, "arguments": arguments})
            waits = len(self.results) < len(self.calls)
            return self.wire.reply(path, body, self.calls[-1] if waits else None)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
