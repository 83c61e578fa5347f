"""An MCP server on stdio with one tool, `lines`, which returns as many lines as it is asked for."""

import json
import sys

TOOL = {"name": "lines", "description": "Returns lines.",
        "inputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "lines", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        count = params["arguments"]["count"]
        text = "".join(f"line {number} of what a server returns\n" for number in range(1, count + 1))
        result = {"content": [{"type": "text", "text": text}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
