"""The official Python client and server in revision 2026-07-28, which has no sessions: every mixture of transports."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

FOREBAY, PYTHON = sys.argv[1:3]

SERVER = """
import sys
import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
server = MCPServer("plain")

@server.tool()
def words(count: int) -> str:
    return "word " * count

@server.tool()
async def steps(count: int, context: Context) -> str:
    for number in range(count):
        await context.report_progress(number, count)
        await anyio.sleep(0.05)
    return f"{count} steps"

@server.tool()
async def slow() -> str:
    try:
        await anyio.sleep(60)
    except BaseException:
        open(sys.argv[1], "w").close()
        raise

@server.tool()
async def news(context: Context) -> str:
    await context.notify_tools_changed()
    return "told"

if len(sys.argv) > 2:
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run()
"""


def text_of(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def eventually(what, so):
    for _ in range(200):
        if so():
            return
        await asyncio.sleep(0.1)
    raise AssertionError(what)


async def asked(transport, own, stopped):
    async with Client(transport) as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert (names[-1] == "tool_output") == own and names[:2] == ["words", "steps"], names
        assert text_of(await client.call_tool("words", {"count": 3})) == "word word word "

        async def steps(count):
            progress = []

            async def note(done, total, message):
                progress.append((done, total))

            result = await client.call_tool("steps", {"count": count}, progress_callback=note)
            assert text_of(result) == f"{count} steps" and progress == [(n, count) for n in range(count)], (result, progress)

        await asyncio.gather(steps(2), steps(5), steps(3))
        # Who no longer wants an answer says so, and the server stops.
        with anyio.move_on_after(1):
            await client.call_tool("slow", {})
        await eventually("the server stops", lambda: os.path.exists(stopped))
        os.remove(stopped)
        async with client.listen(tools_list_changed=True) as changes:
            await client.call_tool("news", {})
            with anyio.fail_after(20):
                assert type(await anext(aiter(changes))).__name__ == "ToolsListChanged"
        if not own:
            return
        result = await client.call_tool("words", {"count": 20_000})
        link = [block for block in result.content if block.type == "resource_link"][0]
        read = text_of(await client.call_tool("output_read", {"handle": link.name, "bytes": "99990:100000"}))
        assert "word word " in read, read
        part = await client.read_resource(link.uri + "?bytes=0:9")
        assert part.contents[0].text == "word word", part


async def main():
    children = []
    with tempfile.TemporaryDirectory() as folder:
        file, stopped = f"{folder}/plain.py", f"{folder}/stopped"
        env = {**os.environ, "FOREBAY_ROOT": f"{folder}/root"}
        with open(file, "w") as out:
            out.write(SERVER)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        server = [f"{PYTHON}/bin/python", file, stopped]

        def start(command, ready):
            child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env, text=True)
            children.append(child)
            return next(line for line in child.stderr if ready in line)

        def listening(*behind):
            return start([FOREBAY, "mcp", "--listen", "127.0.0.1:0", *behind], "listening on").split("listening on ")[1].strip()

        def by_stdio(*command):
            return stdio_client(StdioServerParameters(command=command[0], args=list(command[1:]), env=env))

        try:
            start([*server, str(port)], "running on")
            url = f"http://127.0.0.1:{port}/mcp"
            await asked(url, False, stopped)
            ways = {
                "stdio to stdio": by_stdio(FOREBAY, "mcp", "--", *server),
                "stdio to HTTP": by_stdio(FOREBAY, "mcp", "--url", url),
                "HTTP to stdio": listening("--", *server),
                "HTTP to HTTP": listening("--url", url),
            }
            for name, way in ways.items():
                try:
                    await asked(way, True, stopped)
                except BaseException:
                    print("fails:", name)
                    raise
            print(f"python client and server, revision 2026-07-28, {', '.join(ways)}: progress, calling off, subscriptions, folding, reading")
        finally:
            for child in children:
                child.terminate()
                child.wait(timeout=20)


asyncio.run(main())
