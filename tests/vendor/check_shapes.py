"""Holds what our wires say against the types of the vendors' own clients, in both directions.

Usage: check_shapes.py <the example `wire`, built>. Prints a line per wire; stops at the first difference.
"""

import copy
import importlib.metadata
import json
import re
import subprocess
import sys
import typing

import mcp.types
import mcp.types.methods
import typing_extensions
from anthropic.types import Message, MessageParam, ToolParam
from google.genai import types as genai
from mcp.shared.tool_name_validation import validate_tool_name
from openai.types.chat import ChatCompletionMessage, ChatCompletionToolMessageParam, ChatCompletionToolParam
from openai.types.responses import FunctionToolParam, ResponseFunctionToolCall
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

ARGUMENTS = {"id": "s/1", "pattern": "Error|漢", "show": {"order": "worth", "around": None}}


def strictly(kind):
    """A check of JSON against a type of a client. A field that the type does not know fails: the clients themselves
    would let it pass, and the vendor would refuse or ignore it."""
    adapter = TypeAdapter(kind)

    def check(value):
        read = adapter.validate_python(value)
        if isinstance(read, BaseModel):
            read = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
        same(plain(read), value)

    return check


def forbid_unknown_fields(kind, seen=None):
    """Makes a TypedDict, and all that are in it, refuse fields that it does not have."""
    seen = set() if seen is None else seen
    if typing_extensions.is_typeddict(kind) and kind not in seen:
        seen.add(kind)
        # A JSON schema inside a tool is open, and its type says so.
        if not hasattr(kind, "__pydantic_config__"):
            kind.__pydantic_config__ = ConfigDict(extra="forbid")
        for field in typing_extensions.get_type_hints(kind, include_extras=True).values():
            forbid_unknown_fields(field, seen)
    for argument in typing.get_args(kind):
        forbid_unknown_fields(argument, seen)
    return kind


def plain(value):
    """The value with what pydantic reads lazily read."""
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case str() | int() | float() | None:
            return value
        case _:
            return [plain(item) for item in value]


def same(found, wanted):
    if found != wanted:
        raise AssertionError(f"\n   found {json.dumps(found)}\n  wanted {json.dumps(wanted)}")


class Client:
    """The checks of one wire: of a tool and of a result, and a message of the client that calls both tools."""

    def __init__(self, tool, result, name, message, ids=("call_1", "call_2")):
        self.tool, self.result = (strictly(forbid_unknown_fields(kind)) for kind in (tool, result))
        self.name, self.message, self.ids = re.compile(name), message, ids


def dumped(model):
    return model.model_dump(mode="json", by_alias=True)


def mcp_call():
    request = mcp.types.CallToolRequest(
        params=mcp.types.CallToolRequestParams(name="context.search", arguments=ARGUMENTS)
    )
    return {"jsonrpc": "2.0", "id": 7, **dumped(request)}


def openai_call(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


TEXT = json.dumps(ARGUMENTS)
WIRES = {
    "openai-chat": Client(
        ChatCompletionToolParam,
        ChatCompletionToolMessageParam,
        "[a-zA-Z0-9_-]{1,64}",
        lambda: dumped(
            ChatCompletionMessage(
                role="assistant",
                tool_calls=[
                    openai_call("call_1", "context_search", TEXT),
                    openai_call("call_2", "context_list", "{}"),
                ],
            )
        ),
    ),
    "openai-responses": Client(
        FunctionToolParam,
        FunctionCallOutput,
        "[a-zA-Z0-9_-]{1,64}",
        lambda: [
            dumped(ResponseFunctionToolCall(type="function_call", id=f"fc_{id}", call_id=id, name=name, arguments=text))
            for id, name, text in [("call_1", "context_search", TEXT), ("call_2", "context_list", "{}")]
        ],
    ),
    "anthropic": Client(
        ToolParam,
        MessageParam,
        "[a-zA-Z0-9_-]{1,64}",
        lambda: dumped(
            Message(
                id="msg_1",
                type="message",
                role="assistant",
                model="any",
                stop_reason="tool_use",
                usage={"input_tokens": 1, "output_tokens": 1},
                content=[
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "call_1", "name": "context_search", "input": ARGUMENTS},
                    {"type": "tool_use", "id": "call_2", "name": "context_list", "input": {}},
                ],
            )
        ),
    ),
    "gemini": Client(
        genai.Tool,
        genai.Content,
        "[a-zA-Z_][a-zA-Z0-9_-]{0,63}",
        lambda: dumped(
            genai.Content(
                role="model",
                parts=[
                    genai.Part(function_call=genai.FunctionCall(id="call_1", name="context_search", args=ARGUMENTS)),
                    genai.Part(function_call=genai.FunctionCall(name="context_list")),
                ],
            )
        ),
        ids=("call_1", ""),
    ),
    "mcp": Client(mcp.types.Tool, mcp.types.CallToolResult, "[A-Za-z0-9._-]{1,128}", mcp_call, ids=("7",)),
}


def run(example, messages=None):
    """What the example prints."""
    text = "" if messages is None else json.dumps(messages)
    return json.loads(subprocess.run([example], input=text, capture_output=True, text=True, check=True).stdout)


def names(value):
    """All tools' names, wherever a wire puts them."""
    for tool in value:
        yield from (each["name"] for each in tool.get("functionDeclarations", [tool.get("function", tool)]))


def fields(value, path=()):
    """The places of all fields of a message. What a tool says of itself in its schema, and a text, has none."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(value, dict):
            yield (*path, key)
        if key not in ("parameters", "input_schema", "parametersJsonSchema", "inputSchema", "response"):
            yield from fields(item, (*path, key))


def misspelt(value, path):
    """The value with one field called otherwise."""
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[f"{path[-1]}_"] = inner.pop(path[-1])
    return value


def check_written(client, written):
    """Every tool and result is what the client would send, and no field of it could be misspelt unnoticed."""
    caught = 0
    for check, values in ((client.tool, written["tools"]), (client.result, written["results"])):
        for value in values:
            check(value)
            for path in fields(value):
                try:
                    check(misspelt(value, path))
                except (ValidationError, AssertionError):
                    caught += 1
                else:
                    raise AssertionError(f"nobody notices that {path} is misspelt in {json.dumps(value)}")
    for name in names(written["tools"]):
        assert client.name.fullmatch(name), f"{name} is not a name"
    return caught


def check_mcp(written):
    """MCP has revisions: what we say must hold in all that have tools as they are now."""
    for name in names(written["tools"]):
        assert validate_tool_name(name).is_valid, name
    for version in ("2025-06-18", "2025-11-25", "2026-07-28"):
        for result in written["results"]:
            mcp.types.methods.validate_server_result("tools/call", version, result)
        # A list is more than its tools, and the rest is its sender's.
        listed = {"tools": written["tools"], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        mcp.types.methods.validate_server_result("tools/list", version, listed)


def main():
    example = sys.argv[1]
    written = run(example)
    read = run(example, {name: client.message() for name, client in WIRES.items()})
    for name, client in WIRES.items():
        caught = check_written(client, written[name])
        calls = [
            {"id": id, "tool": tool, "arguments": arguments, "error": None}
            for id, (tool, arguments) in zip(client.ids, [("context.search", ARGUMENTS), ("context.list", {})])
        ]
        same(read[name], calls)
        print(f"{name}: tools, results and calls are right; each of {caught} misspelt fields was noticed")
    check_mcp(written["mcp"])
    packages = ("openai", "anthropic", "google-genai", "mcp")
    print("with", ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages))


if __name__ == "__main__":
    main()
