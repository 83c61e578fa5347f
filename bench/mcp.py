"""The rows of the MCP gateway: what a call costs through it, against the server alone and against another gateway.

The server answers as fast as Python can, so that what is measured is what stands between. All three are asked in turns.
"""
import json, os, statistics, subprocess, sys, tempfile, time

SERVER = r'''
import json, sys
text = {"small": "x" * 200, "page": "word " * 1600, "large": "a line of a large result\n" * 40000}
tools = [{"name": name, "inputSchema": {"type": "object"}} for name in text]
for line in sys.stdin.buffer:
    request = json.loads(line)
    method = request.get("method")
    if "id" not in request:
        continue
    if method == "initialize":
        result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": text[request["params"]["name"]]}]}
    else:
        result = {}
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")
    sys.stdout.buffer.flush()
'''


class End:
    """A client at the other end of two pipes."""

    def __init__(self, argv, env):
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.id = 0
        hello = {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'bench', 'version': '1'}}
        self.ask('initialize', hello)
        self.child.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.ask('tools/list', {})

    def send(self, method, params):
        self.id += 1
        line = json.dumps({'jsonrpc': '2.0', 'id': self.id, 'method': method, 'params': params})
        self.child.stdin.write(line.encode() + b'\n')
        self.child.stdin.flush()

    def ask(self, method, params):
        self.send(method, params)
        line = self.child.stdout.readline()
        assert line, f'{self.child.args} ended'
        return line

    def call(self, tool):
        """Seconds of one call."""
        started = time.perf_counter()
        line = self.ask('tools/call', {'name': tool, 'arguments': {}})
        took = time.perf_counter() - started
        assert b'"result"' in line, line[:300]
        return took

    def rate(self, tool, count, at_once=32):
        """Calls a second with many on their way."""
        started = time.perf_counter()
        for number in range(count + at_once):
            if number < count:
                self.send('tools/call', {'name': tool, 'arguments': {}})
            if number >= at_once:
                assert self.child.stdout.readline()
        return count / (time.perf_counter() - started)

    def end(self):
        self.child.stdin.close()
        self.child.wait(timeout=20)


def peer(folder):
    """Another gateway that replaces large results, from PyPI, installed by its name once."""
    venv = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'target', 'bench-python')
    if not os.path.exists(f'{venv}/bin/jmunch-mcp'):
        subprocess.run([sys.executable, '-m', 'venv', venv], check=True)
        subprocess.run([f'{venv}/bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'jmunch-mcp'], check=True)
    config = os.path.join(folder, 'peer.json')
    with open(config, 'w') as file:
        json.dump({'upstream': {'command': sys.executable, 'args': [os.path.join(folder, 'server.py')]}}, file)
    return [f'{venv}/bin/jmunch-mcp', '--config', config]


def rows(forebay, rounds=20, calls=200):
    with tempfile.TemporaryDirectory(prefix='forebay-bench-', dir=os.environ.get('BENCH_DIR')) as folder:
        server = [sys.executable, os.path.join(folder, 'server.py')]
        with open(server[1], 'w') as file:
            file.write(SERVER)
        env = dict(os.environ, FOREBAY_ROOT=os.path.join(folder, 'root'), HOME=folder)
        ends = {'direct': End(server, env), 'forebay': End([forebay, 'mcp', '--', *server], env), 'jmunch-mcp': End(peer(folder), env)}
        print('| result | | p50 | p99 | added p50 | calls a second, 32 at once | of direct |\n|---|---|---|---|---|---|---|')
        for tool, what, share in [('small', '200 bytes', 1), ('page', '8 kB', 1), ('large', '1 MB, folded', 20)]:
            took = {name: [] for name in ends}
            rates = {name: [] for name in ends}
            for _ in range(max(rounds // share, 5)):
                for name, end in ends.items():
                    took[name] += [end.call(tool) for _ in range(max(calls // share, 5))]
                    rates[name].append(end.rate(tool, max(5 * calls // share, 20)))
            direct = statistics.median(took['direct'])
            for name in ends:
                p50, p99 = statistics.median(took[name]), statistics.quantiles(took[name], n=100)[98]
                rate, of = statistics.median(rates[name]), statistics.median(rates['direct'])
                print(f'| {what} | {name} | {p50 * 1000:.3f} ms | {p99 * 1000:.2f} ms | {(p50 - direct) * 1000:.3f} ms | {rate:.0f} | {rate / of:.2f} × |', flush=True)
        for end in ends.values():
            end.end()
