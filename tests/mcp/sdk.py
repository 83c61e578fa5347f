"""The official Python client through the gateway: what it is told, and that it can read what was kept."""

import asyncio
import os
import sys
import tempfile

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

FOREBAY, PACKAGES, PYTHON = sys.argv[1:4]


def text_of(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def with_server(command, root, work):
    env = {**os.environ, "FOREBAY_ROOT": root}
    async with stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=env)) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            return await work(session)


async def files(folder, root):
    numbers = "".join(f"line {n}: {n * n}\n" for n in range(1, 60_001))
    with open(f"{folder}/large.txt", "w") as file:
        file.write(numbers)
    server = [FOREBAY, "mcp", "--", "node", f"{PACKAGES}/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", folder]

    async def work(session):
        listed = await session.list_tools()
        names = [tool.name for tool in listed.tools]
        assert names[-1] == "tool_output" and "read_text_file" in names, names
        result = await session.call_tool("read_text_file", {"path": f"{folder}/large.txt"})
        view = text_of(result)
        assert len(view) < 12_000 and result.structured_content is None, len(view)
        links = [block for block in result.content if block.type == "resource_link"]
        handle = links[0].name
        read = text_of(await session.call_tool("output_read", {"handle": handle, "lines": "31234:31234"}))
        assert "line 31234: 975562756\n" in read, read
        found = text_of(await session.call_tool("output_grep", {"handle": handle, "pattern": "^line 59999:"}))
        assert "3599880001" in found, found
        abstract = text_of(await session.call_tool("tool_output", {"handle": handle, "extract": "the square of 777"}))
        assert abstract.startswith("ABSTRACT FROM TOOL OUTPUT") and "603729" in abstract, abstract
        part = await session.read_resource(links[0].uri + "?bytes=0:13")
        assert part.contents[0].text == "line 1: 1\nlin", part
        # Put together range by range, it is the file.
        whole, at = b"", 0
        while at < links[0].size:
            end = min(at + 1024 * 1024, links[0].size)
            whole += (await session.read_resource(f"{links[0].uri}?bytes={at}:{end}")).contents[0].text.encode()
            at = end
        assert whole == numbers.encode()

    await with_server(server, root, work)
    print("python client, filesystem server: a large file is folded, read, searched, and read back whole")


SERVER = '''
from mcp.server import MCPServer
server = MCPServer("twice")

@server.tool()
def table(rows: int) -> dict[str, list[int]]:
    return {"rows": list(range(rows))}

@server.tool()
def words(count: int) -> str:
    return "word " * count

server.run()
'''


async def twice(folder, root):
    """The Python SDK says everything twice, as text and as structured content."""
    with open(f"{folder}/twice.py", "w") as file:
        file.write(SERVER)
    server = [FOREBAY, "mcp", "--", f"{PYTHON}/bin/python", f"{folder}/twice.py"]

    async def work(session):
        await session.list_tools()
        small = await session.call_tool("words", {"count": 3})
        assert small.structured_content == {"result": "word word word "}, small
        for name, arguments in [("table", {"rows": 20_000}), ("words", {"count": 20_000})]:
            result = await session.call_tool(name, arguments)
            assert result.structured_content is None, result
            texts = [block for block in result.content if block.type == "text"]
            assert len(texts) == 1 and len(texts[0].text) < 12_500, [len(block.text) for block in texts]
        handle = [block for block in result.content if block.type == "resource_link"][0].name
        assert "100,000 bytes" in text_of(await session.call_tool("output_list", {})), handle

    await with_server(server, root, work)
    print("python client, python server: structured content is folded with its text, and the client minds no schema")


async def stateless(folder, root):
    """Revision 2026-07-28 has no greeting: every request says who asks."""
    env = {**os.environ, "FOREBAY_ROOT": root}
    command = [FOREBAY, "mcp", "--", f"{PYTHON}/bin/python", f"{folder}/twice.py"]
    async with Client(stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=env))) as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        assert (await client.list_tools()).tools[-1].name == "tool_output"
        result = await client.call_tool("words", {"count": 20_000})
        links = [block for block in result.content if block.type == "resource_link"]
        read = text_of(await client.call_tool("output_read", {"handle": links[0].name, "bytes": "99990:100000"}))
        assert "word word " in read, read
        assert any(resource.uri == links[0].uri for resource in (await client.list_resources()).resources)
    print("python client and server, revision 2026-07-28: folded and read without a greeting")


async def main():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as root:
        await files(os.path.realpath(folder), root)
        await twice(folder, root)
        await stateless(folder, root)


asyncio.run(main())
