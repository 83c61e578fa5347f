"""A server at an address: plain, one that wants to know who asks, one whose streams break, or one that reads headers."""

import base64
import http.server
import json
import ssl
import sys
import threading

KIND = sys.argv[1]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "remote", "version": "1"}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def respond(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def event(self, id, message):
        return f"id: {id}\nretry: 10\ndata: {json.dumps(message)}\n\n".encode()

    def progress(self, number):
        return {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": number}}

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if KIND == "bearer" and self.headers["Authorization"] != "Bearer sesame":
            return self.respond(401, b'{"error":"invalid_token"}', WWW_Authenticate='Bearer resource_metadata="http://there"')
        if "id" not in request:
            return self.respond(202)
        if KIND == "marks":
            return self.marked(request)
        said = {"content": [{"type": "text", "text": self.headers["Authorization"] or ""}]}
        result = HELLO if request["method"] == "initialize" else said
        if KIND == "breaks" and request["method"] == "tools/call":
            # It ends before the answer.
            return self.respond(200, self.event("place-1", self.progress(1)), "text/event-stream")
        self.respond(200, json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())

    def marked(self, request):
        """Its tools have an argument that must stand in a header too, and it says what headers came."""
        marked = {"type": "string", "x-mcp-header": "Region"}
        tools = [{"name": "query", "inputSchema": {"type": "object", "properties": {"region": marked}}},
                 {"name": "wrong", "inputSchema": {"type": "object", "properties": {"regions": {"type": "array", "items": marked}}}}]
        plain = lambda value: base64.b64decode(value[9:-2]).decode() if value and value.startswith("=?base64?") else value
        came = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("mcp-param-")}
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "tools/list":
            answer["result"] = {"tools": tools, "resultType": "complete"}
        elif request["params"]["arguments"].get("region") != plain(came.get("mcp-param-region")):
            answer["error"] = {"code": -32020, "message": "Header mismatch"}
            return self.respond(400, json.dumps(answer).encode())
        else:
            answer["result"] = {"content": [{"type": "text", "text": json.dumps(came, sort_keys=True)}], "resultType": "complete"}
        self.respond(200, json.dumps(answer).encode())

    def do_GET(self):
        place = self.headers["Last-Event-ID"]
        if KIND != "breaks" or place is None:
            return self.respond(405)
        if place == "place-1":
            return self.respond(200, self.event("place-2", self.progress(2)), "text/event-stream")
        answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": f"after {place}"}]}}
        self.respond(200, self.event("place-3", answer), "text/event-stream")

    def do_DELETE(self):
        self.respond(204)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
scheme = "http"
if len(sys.argv) > 2:
    scheme = "https"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(f"{scheme}://localhost:{server.server_port}/mcp", flush=True)
threading.Thread(target=server.serve_forever).start()
