"""Holds real MCP servers with the gateway against the same servers without it, message by message.

Every request is sent to both as the same line. What comes back must be the same bytes, but for what the gateway says it
changes: it can do resources and tools, its own tools stand at the end of the list, and a tool's outputSchema is gone.
What time it is may differ: the servers are asked one after the other.
"""

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading

FOREBAY, PACKAGES, PYTHON = sys.argv[1:4]
OWN = {"output_read", "output_grep", "output_json", "output_outline", "output_ask", "output_search", "output_list", "tool_output"}


def package(name):
    return ["node", f"{PACKAGES}/node_modules/@modelcontextprotocol/{name}/dist/index.js"]


class End:
    """A client that writes lines and reads lines."""

    def __init__(self, command, root, name):
        env = {**os.environ, "FOREBAY_ROOT": root, "MEMORY_FILE_PATH": f"{root}/{name}.jsonl"}
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.lines = queue.Queue()
        self.by_itself = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line.decode().rstrip("\n"))
        self.lines.put(None)

    def send(self, line):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def answer(self, wanted, answers):
        """The answer to a request. What the server says or asks on the way is put aside, and answered if it asks."""
        while True:
            line = self.lines.get(timeout=60)
            assert line is not None, f"it ended before it answered {wanted}"
            message = json.loads(line)
            if message.get("id") == wanted and "method" not in message:
                return line
            self.aside(line, message, answers)

    def aside(self, line, message, answers):
        self.by_itself.append(timeless(line))
        if "method" in message and "id" in message:
            self.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}))

    def rest(self, answers):
        """What it says by itself until it is silent."""
        while True:
            try:
                line = self.lines.get(timeout=2)
            except queue.Empty:
                return sorted(self.by_itself)
            self.aside(line, json.loads(line), answers)

    def end(self):
        self.child.stdin.close()
        self.child.wait(timeout=20)


def hello(name="somebody", revision="2025-11-25"):
    capabilities = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}}}
    return ("initialize", {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": name, "version": "1"}})


def call(tool, **arguments):
    return ("tools/call", {"name": tool, "arguments": arguments})


def timeless(line):
    return re.sub(r'"(timestamp|lastModified)":"[^"]*"|\b\d{1,2}:\d\d:\d\d\b', "", line)


def told(line, method):
    """What is left of a message when all is taken away that the gateway may change."""
    message = json.loads(line)
    result = message.get("result")
    if method == "initialize" and result:
        for name in ("tools", "resources"):
            if not result["capabilities"].get(name):
                result["capabilities"].pop(name, None)
    if method == "tools/list" and result:
        result["tools"] = [tool for tool in result["tools"] if tool["name"] not in OWN]
        for tool in result["tools"]:
            tool.pop("outputSchema", None)
    if method == "resources/templates/list" and result:
        result["resourceTemplates"] = [t for t in result["resourceTemplates"] if not t["uriTemplate"].startswith("forebay://")]
    return json.dumps(message)


CHANGED = {"initialize", "tools/list", "resources/templates/list", "resources/list"}


def check(name, command, requests, answers=None, own_lists=()):
    answers = answers or {}
    with tempfile.TemporaryDirectory() as root:
        ends = [End(command, root, "direct"), End([FOREBAY, "mcp", "--", *command], root, "through")]
        for number, (method, params) in enumerate(requests):
            line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for end in ends:
                end.send(line)
            direct, through = [end.answer(number, answers) for end in ends]
            if method == "initialize":
                for end in ends:
                    end.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
            if method in own_lists:
                # The server does not know the method, and the gateway answers with its own.
                assert "error" in json.loads(direct) and "result" in json.loads(through), (method, direct, through)
                continue
            if method in CHANGED:
                direct, through = told(direct, method), told(through, method)
            assert timeless(direct) == timeless(through), f"{name}: {method} {params}\n  without: {direct}\n  with:    {through}"
        # What comes by itself may come a moment earlier or later than an answer.
        direct, through = [end.rest(answers) for end in ends]
        assert direct == through, f"{name}: by itself\n  without: {direct}\n  with:    {through}"
        for end in ends:
            end.end()
        print(f"{name}: {len(requests)} answers and {len(direct)} other messages, all the same with and without the gateway")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        with open(f"{folder}/small.txt", "w") as file:
            file.write("é one\ntwo\n")
        with open(f"{folder}/tiny.png", "wb") as file:
            file.write(bytes.fromhex("89504e470d0a1a0a") + bytes(64))
        git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)

        sampled = {"role": "assistant", "content": {"type": "text", "text": "sampled"}, "model": "m"}
        check("everything", package("server-everything") + ["stdio"], [
            hello(), ("ping", {}), ("tools/list", {}), ("prompts/list", {}), ("resources/templates/list", {}),
            call("echo", message="hi \u00e9 \U0001f389"), call("get-sum", a=1, b=2.5), call("get-tiny-image"),
            call("get-annotated-message", messageType="error", includeImage=True),
            call("get-structured-content", location="New York"), call("get-resource-links", count=3),
            call("get-resource-reference", resourceType="Text", resourceId=1), call("no-such-tool"),
            ("tools/call", {"name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 4}, "_meta": {"progressToken": "p"}}),
            call("trigger-sampling-request", prompt="say", maxTokens=5), call("get-roots-list"),
            call("trigger-elicitation-request"),
            ("prompts/get", {"name": "simple-prompt"}), ("prompts/get", {"name": "args-prompt", "arguments": {"city": "X"}}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "completable-prompt"}, "argument": {"name": "department", "value": "E"}}),
            ("logging/setLevel", {"level": "debug"}),
            ("resources/read", {"uri": "demo://resource/static/document/architecture.md"}),
            ("resources/subscribe", {"uri": "demo://resource/dynamic/text/1"}),
            ("no/such/method", {"x": 1}),
        ], {"sampling/createMessage": sampled, "roots/list": {"roots": [{"uri": f"file://{folder}", "name": "r"}]},
            "elicitation/create": {"action": "decline"}})
        check("filesystem", package("server-filesystem") + [folder], [
            hello(), ("tools/list", {}), call("read_text_file", path=f"{folder}/small.txt"), call("list_directory", path=folder),
            call("read_media_file", path=f"{folder}/tiny.png"), call("read_text_file", path="/etc/passwd"),
            call("directory_tree", path=f"{folder}/none"), call("list_allowed_directories"), ("resources/list", {}),
        ], {"roots/list": {"roots": []}}, own_lists=("resources/list",))
        check("memory", package("server-memory"), [
            hello(), ("tools/list", {}), call("create_entities", entities=[{"name": "a", "entityType": "t", "observations": ["o"]}]),
            call("read_graph"), call("search_nodes", query="a"), call("delete_entities", entityNames=["a"]), call("read_graph"),
        ])
        check("git", [f"{PYTHON}/bin/python", "-m", "mcp_server_git", "--repository", folder], [
            hello(), ("tools/list", {}), call("git_status", repo_path=folder), call("git_log", repo_path=folder),
            call("git_show", repo_path=folder, revision="HEAD"), call("git_diff", repo_path=folder, target="none"),
        ], {"roots/list": {"roots": []}})
        check("fetch", [f"{PYTHON}/bin/python", "-m", "mcp_server_fetch"], [
            hello(), ("tools/list", {}), ("prompts/list", {}), call("fetch", url="http://127.0.0.1:9/"), call("fetch", url="no address"),
        ])


main()
