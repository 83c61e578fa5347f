"""An MCP server that does what it is asked, and whatever else can go wrong."""

import json
import os
import signal
import sys
import time

out = sys.stdout.buffer


def send(message):
    out.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    out.flush()


def raw(text):
    out.write(text.encode())
    out.flush()


def result(request, **fields):
    send({"jsonrpc": "2.0", "id": request["id"], "result": fields})


def text(request, said, **fields):
    result(request, content=[{"type": "text", "text": said}], **fields)


def lines(count):
    return "".join(f"line {number}: all is well\n" for number in range(1, count + 1))


def call(request):
    params = request["params"]
    name, args = params["name"], params.get("arguments", {})
    if name == "echo":
        # Numbers, spaces and unknown fields as nobody else would write them.
        raw('{"jsonrpc":"2.0",  "id":%s,"result":{"content":[{"type":"text","text":"\\u00e9 %s"}],"n":1.50e+2}}\n'
            % (json.dumps(request["id"]), args.get("say", "")))
    elif name == "raw":
        raw('{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (request["id"], args["result"]))
    elif name == "latin":
        out.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"])
        out.write(b"caf\xe9 " * args["count"] + b'"}]}}\n')
        out.flush()
    elif name == "lines":
        text(request, lines(args["count"]), isError=bool(args.get("error")), _meta={"kept": [1, 2.50]})
    elif name == "blocks":
        result(request, content=[{"type": "text", "text": f"block {n}: " + "word " * 40} for n in range(args["count"])])
    elif name == "structured":
        rows = [{"id": n, "name": f"row {n}"} for n in range(args["count"])]
        content = [{"type": "text", "text": json.dumps({"rows": rows}, indent=2)}] if args.get("text") else []
        result(request, content=content, structuredContent={"rows": rows})
    elif name == "media":
        import base64
        data = base64.b64encode(bytes(range(256)) * args["count"]).decode()
        result(request, content=[
            {"type": "image", "data": data, "mimeType": "image/png"},
            {"type": "audio", "data": data, "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///x.bin", "mimeType": "application/x", "blob": data}},
            {"type": "resource", "resource": {"uri": "file:///x.txt", "text": lines(args["count"] * 10)}},
            {"type": "resource_link", "uri": "file:///y", "name": "y"},
        ])
    elif name == "huge":
        out.write(b'{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"')
        block = (b"a line of a huge result, which goes on and on\\n" * 2_000)
        for _ in range(args["megabytes"] * 1_000_000 // len(block)):
            out.write(block)
        out.write(b'"}]},"id":%d}\n' % request["id"])
        out.flush()
    elif name == "endless":
        out.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"])
        while True:
            out.write(b"and so on " * 10_000)
    elif name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "half":
        raw('{"jsonrpc":"2.0","id":%d,"result":{"content":[' % request["id"])
        sys.exit(3)
    elif name == "garbage":
        raw("this is no message\n")
        raw('{"jsonrpc":"2.0","id":%d,"result":{"content":[}\n' % request["id"])
    elif name == "says":
        out.write(bytes(args["bytes"]) + b"\n")
        text(request, "done")
    elif name == "deaf":
        time.sleep(args["seconds"])
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "touch":
        with open(args["file"], "a") as file:
            file.write(".")
        text(request, "done")
    elif name == "twice":
        text(request, "first")
        text(request, "second")
    elif name == "flood":
        sys.stderr.write("x" * 79 + "\n")
        for _ in range(args["megabytes"] * 12_500):
            sys.stderr.write("x" * 79 + "\n")
        sys.stderr.flush()
        text(request, "done")
    elif name == "never":
        pass
    elif name == "ask":
        send({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage",
              "params": {"messages": [], "_meta": {"progressToken": 7}, "from": SERVER}})
        answer = json.loads(sys.stdin.readline())
        while "result" not in answer:
            answer = json.loads(sys.stdin.readline())
        text(request, json.dumps(answer))
    elif name == "refused":
        send({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}})
        answer = json.loads(sys.stdin.readline())
        while "error" not in answer:
            answer = json.loads(sys.stdin.readline())
        text(request, json.dumps(answer))
    elif name == "progress":
        token = params["_meta"]["progressToken"]
        for number in range(args["times"]):
            time.sleep(args["seconds"])
            send({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": token, "progress": number}})
        text(request, "done")
    elif name == "logs":
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "at work"}})
        text(request, "done")
    elif name == "news":
        for id in LISTENING:
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {SUBSCRIPTION: id}, "from": SERVER}})
        text(request, "told")
    elif name == "over":
        for id in LISTENING:
            send({"jsonrpc": "2.0", "id": id, "result": {"_meta": {SUBSCRIPTION: id}, "resultType": "complete"}})
        LISTENING.clear()
        text(request, "over")
    elif name == "learn":
        EXTRA.extend(args["tools"])
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(request, "learned")
    elif name in EXTRA:
        text(request, f"the server's own {name}")
    elif name == "pid":
        text(request, str(os.getpid()))
    else:
        send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no such tool"}})


TOOLS = ["echo", "lines", "blocks", "structured", "media", "huge", "die", "half", "garbage", "twice", "flood", "never",
         "ask", "progress", "pid"]
SERVER = sys.argv[1] if len(sys.argv) > 1 else "odd"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LISTENING = []
EXTRA = sys.argv[2:]


def tool(name):
    declared = {"name": name, "inputSchema": {"type": "object"}, "x-unknown": 1.0}
    if name == "structured":
        declared["outputSchema"] = {"type": "object", "required": ["rows"]}
    return declared


for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if "id" not in request:
        sys.stderr.write(f"{SERVER} heard {line}")
        sys.stderr.flush()
    elif method == "initialize":
        result(request, protocolVersion=request["params"]["protocolVersion"],
               capabilities={"tools": {"listChanged": True}, "prompts": {}}, instructions=f"{SERVER} helps",
               serverInfo={"name": SERVER, "version": "1", "client": request["params"]["clientInfo"]["name"]})
    elif method == "tools/list":
        # Two pages, so that the end is where the last one is.
        names = TOOLS + EXTRA
        if not request.get("params", {}).get("cursor"):
            result(request, tools=[tool(name) for name in names[:5]], nextCursor="more")
        else:
            result(request, tools=[tool(name) for name in names[5:]])
    elif method == "prompts/list":
        result(request, prompts=[{"name": "greet"}])
    elif method == "prompts/get":
        result(request, messages=[], name=request["params"]["name"])
    elif method == "subscriptions/listen":
        # Each server agrees to all that is wanted but for its own.
        LISTENING.append(request["id"])
        agreed = {name: wanted for name, wanted in request["params"]["notifications"].items() if not name.startswith(SERVER)}
        send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
              "params": {"_meta": {SUBSCRIPTION: request["id"]}, "notifications": agreed}})
    elif method == "tools/call":
        call(request)
    elif method == "custom/method":
        result(request, seen=request.get("params"))
    elif method == "ping":
        result(request)
    elif method is not None:
        send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}})
