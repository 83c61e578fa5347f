"""The official Python client by HTTP: every mixture of transports gives what the server gives without the gateway."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile

from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

FOREBAY, PACKAGES = sys.argv[1:3]
EVERYTHING = ["node", f"{PACKAGES}/node_modules/@modelcontextprotocol/server-everything/dist/index.js"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def started(command, ready, **env):
    """Starts a server and waits until it says that it is ready; gives it and the line that said so."""
    child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **env}, text=True)
    for line in child.stderr:
        if ready in line:
            return child, line
    raise AssertionError(f"{command} did not start")


async def asked(session):
    """What a client learns and gets, as text."""
    hello = await session.initialize()
    progress = []

    async def note(done, total, message):
        progress.append([done, total])

    tools = await session.list_tools()
    own = [tool.name for tool in tools.tools if tool.name.startswith("output_") or tool.name == "tool_output"]
    said = [hello.server_info.name, hello.protocol_version, sorted(t.name for t in tools.tools if t.name not in own)]
    calls = [("echo", {"message": "é 🎉"}), ("get-sum", {"a": 1, "b": 2}), ("get-structured-content", {"location": "Chicago"}),
             ("get-tiny-image", {}), ("get-resource-links", {"count": 2})]
    for name, arguments in calls:
        said.append((await session.call_tool(name, arguments)).model_dump(mode="json"))
    long = await session.call_tool("trigger-long-running-operation", {"duration": 0.5, "steps": 3}, progress_callback=note)
    said += [long.model_dump(mode="json"), progress]
    said.append((await session.list_prompts()).model_dump(mode="json"))
    uri = "demo://resource/static/document/architecture.md"
    said.append((await session.read_resource(uri)).model_dump(mode="json"))
    return json.dumps(said), own


async def by_http(url):
    async with streamable_http_client(url) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            return await asked(session)


async def by_sse(url):
    async with sse_client(url) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            return await asked(session)


async def by_stdio(command, root):
    with open(os.devnull, "w") as nowhere:
        parameters = StdioServerParameters(command=command[0], args=command[1:], env={**os.environ, "FOREBAY_ROOT": root})
        async with stdio_client(parameters, errlog=nowhere) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                return await asked(session)


async def main():
    children = []
    with tempfile.TemporaryDirectory() as root:
        def start(command, ready, **env):
            child, line = started(command, ready, FOREBAY_ROOT=root, **env)
            children.append(child)
            return line

        try:
            port = free_port()
            start([*EVERYTHING, "streamableHttp"], "listening on port", PORT=str(port))
            url = f"http://127.0.0.1:{port}/mcp"
            sse_port = free_port()
            start([*EVERYTHING, "sse"], "running on port", PORT=str(sse_port))
            sse = f"http://127.0.0.1:{sse_port}/sse"

            def listening(*server):
                line = start([FOREBAY, "mcp", "--listen", "127.0.0.1:0", *server], "listening on")
                return line.split("listening on ")[1].strip()

            direct, own = await by_http(url)
            assert own == [], own
            old, _ = await by_sse(sse)
            ways = {
                "stdio to HTTP": (direct, by_stdio([FOREBAY, "mcp", "--url", url], root)),
                "HTTP to stdio": (direct, by_http(listening("--", *EVERYTHING, "stdio"))),
                "HTTP to HTTP": (direct, by_http(listening("--url", url))),
                "stdio to SSE": (old, by_stdio([FOREBAY, "mcp", "--url", sse], root)),
            }
            for name, (expected, way) in ways.items():
                got, own = await way
                assert len(own) == 8, own
                assert got == expected, f"{name}\n  without: {expected}\n  with:    {got}"
            print(f"python client, everything server, {', '.join(ways)}: the same with and without the gateway")
        finally:
            for child in children:
                child.terminate()
                child.wait(timeout=20)


asyncio.run(main())
