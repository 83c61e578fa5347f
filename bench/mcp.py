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


GIANT = r'''
import json, sys
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    request = json.loads(line)
    if "id" not in request:
        continue
    if request["method"] != "tools/call":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "giant", "version": "1"}, "tools": []}
        out.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")
    else:
        out.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"])
        block = b"a line of a giant result, which goes on and on\\n" * 20000
        for _ in range(request["params"]["arguments"]["bytes"] // len(block)):
            out.write(block)
        out.write(b'"}]}}\n')
    out.flush()
'''


def cpu(pid):
    """Seconds of CPU of a process so far, and of its children that have ended."""
    with open(f'/proc/{pid}/stat') as file:
        return sum(map(int, file.read().rsplit(')', 1)[1].split()[11:15])) / os.sysconf('SC_CLK_TCK')


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
        """The answer, whatever else the server says before it."""
        self.send(method, params)
        while True:
            line = self.child.stdout.readline()
            assert line, f'{self.child.args} ended'
            if b'"result"' in line or b'"error"' in line:
                return line

    def call(self, tool, arguments):
        """Seconds of one call."""
        started = time.perf_counter()
        line = self.ask('tools/call', {'name': tool, 'arguments': arguments})
        took = time.perf_counter() - started
        assert b'"result"' in line, line[:300]
        return took

    def rate(self, tool, arguments, count, at_once=32):
        """Calls a second with many on their way."""
        started = time.perf_counter()
        for number in range(count + at_once):
            if number < count:
                self.send('tools/call', {'name': tool, 'arguments': arguments})
            if number >= at_once:
                assert self.child.stdout.readline()
        return count / (time.perf_counter() - started)

    def most_memory(self):
        """Bytes that the process ever had in memory at once, by what the kernel counts."""
        with open(f'/proc/{self.child.pid}/status') as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith('VmHWM'))

    def spent(self):
        """Seconds of CPU and context switches of the process so far: unlike rates, they do not hang on other work."""
        switches = 0
        for thread in os.listdir(f'/proc/{self.child.pid}/task'):
            with open(f'/proc/{self.child.pid}/task/{thread}/status') as file:
                switches += sum(int(line.split()[1]) for line in file if 'ctxt_switches' in line)
        return cpu(self.child.pid), switches

    def behind(self):
        """Seconds of CPU of all that the process has started."""
        with open(f'/proc/{self.child.pid}/task/{self.child.pid}/children') as file:
            started = file.read().split()
        for thread in os.listdir(f'/proc/{self.child.pid}/task'):
            with open(f'/proc/{self.child.pid}/task/{thread}/children') as file:
                started += file.read().split()
        return sum(cpu(pid) for pid in set(started))

    def end(self):
        self.child.stdin.close()
        self.child.wait(timeout=20)


def installed():
    """Another gateway that replaces large results, from PyPI, and the commands of real servers, from npm and PyPI; fetched by
    their names once."""
    target = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'target')
    venv, packages = f'{target}/bench-python', f'{target}/bench-node'
    if not os.path.exists(f'{venv}/bin/mcp-server-git'):
        subprocess.run([sys.executable, '-m', 'venv', venv], check=True)
        pip = [f'{venv}/bin/pip', 'install', '--quiet', '--disable-pip-version-check']
        subprocess.run([*pip, 'jmunch-mcp', 'mcp-server-git'], check=True)
    names = ['everything', 'filesystem', 'memory']
    servers = {name: f'{packages}/node_modules/@modelcontextprotocol/server-{name}/dist/index.js' for name in names}
    if not all(map(os.path.exists, servers.values())):
        npm = ['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', packages]
        subprocess.run([*npm, *(f'@modelcontextprotocol/server-{name}' for name in names)], check=True)
    commands = {name: ['node', server] for name, server in servers.items()}
    return f'{venv}/bin/jmunch-mcp', {**commands, 'git': [f'{venv}/bin/mcp-server-git']}


def real(commands, folder):
    """Tools of real servers, as they are used: the server's command, the tool, its arguments, what it is, and a call that
    makes what it reads."""
    repository, file = os.path.join(folder, 'repository'), os.path.join(folder, 'repository', 'file.py')
    git = ['git', '-C', repository, '-c', 'user.name=bench', '-c', 'user.email=bench@example.org']
    os.makedirs(repository)
    subprocess.run([*git, 'init', '--quiet'], check=True)
    for number in range(10):
        with open(file, 'a') as out:
            out.write(f'def step_{number}(value):\n    """Does what step {number} of the plan says, and returns what came of it."""\n    return value + {number}\n\n')
        subprocess.run([*git, 'add', '.'], check=True)
        subprocess.run([*git, 'commit', '--quiet', '-m', f'plan: step {number}'], check=True)
    with open(file, 'a') as out:
        out.write('# not yet committed\n')
    entities = [{'name': f'part {n}', 'entityType': 'part', 'observations': [f'it has {n} screws', 'it is kept on the upper shelf']} for n in range(20)]
    return [
        (commands['everything'] + ['stdio'], 'echo', {'message': 'x' * 200}, 'everything: echo', None),
        (commands['filesystem'] + [repository], 'read_text_file', {'path': file}, 'filesystem: read_text_file', None),
        (commands['filesystem'] + [repository], 'directory_tree', {'path': repository}, 'filesystem: directory_tree', None),
        (commands['memory'], 'read_graph', {}, 'memory: read_graph', ('create_entities', {'entities': entities})),
        (commands['git'] + ['--repository', repository], 'git_log', {'repo_path': repository, 'max_count': 5}, 'git: git_log', None),
        (commands['git'] + ['--repository', repository], 'git_status', {'repo_path': repository}, 'git: git_status', None),
    ]


def pairs(server, tool, arguments, before, forebay, env, seconds, at_once=32):
    """Short runs in turns, with and without us: the ratios of their rates, and what a call through us takes of the CPU, by us
    and by all three of client, gateway and server."""
    ends = [End(server, env), End([forebay, 'mcp', '--', *server], env)]
    for end in ends:
        if before:
            end.call(*before)
    line = ends[0].ask('tools/call', {'name': tool, 'arguments': arguments})
    assert b'"isError":true' not in line.replace(b' ', b''), line[:300]
    # So many that a run takes about a tenth of a second: other work comes and goes more slowly than that.
    count = max(at_once, int(min(end.rate(tool, arguments, 4 * at_once, at_once) for end in ends) / 10))
    for end in ends:
        end.rate(tool, arguments, count, at_once)
    ratios, rates, ours, whole = [], [], 0, 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(ratios) < 10:
        pair = {}
        for number in ((0, 1) if len(ratios) % 2 else (1, 0)):
            end = ends[number]
            spent = lambda: (end.spent()[0], end.spent()[0] + end.behind() + time.process_time())
            was = spent()
            pair[number] = end.rate(tool, arguments, count, at_once)
            now = spent()
            if number:
                ours, whole = ours + now[0] - was[0], whole + now[1] - was[1]
        ratios.append(pair[1] / pair[0])
        rates.append(pair[0])
    for end in ends:
        end.end()
    calls = count * len(ratios)
    return len(line), ratios, statistics.median(rates), ours / calls, ours / whole


def throughput(forebay, seconds=20):
    """Rows: whether less than 10 % of the calls a second are lost, with real servers and with one that does nothing."""
    _, commands = installed()
    with tempfile.TemporaryDirectory(prefix='forebay-bench-', dir=os.environ.get('BENCH_DIR')) as folder:
        nothing = [sys.executable, os.path.join(folder, 'server.py')]
        with open(nothing[1], 'w') as file:
            file.write(SERVER)
        env = dict(os.environ, FOREBAY_ROOT=os.path.join(folder, 'root'), HOME=folder, MEMORY_FILE_PATH=os.path.join(folder, 'memory.jsonl'))
        print('| server: tool | result | calls a second, direct | of direct: median (quartiles) | pairs | our CPU a call | share of all |\n|---|---|---|---|---|---|---|')
        rows = real(commands, folder) + [(nothing, 'small', {}, 'one that does nothing', None), (nothing, 'page', {}, 'one that does nothing', None)]
        for server, tool, arguments, what, before in rows:
            size, ratios, rate, ours, share = pairs(server, tool, arguments, before, forebay, env, seconds)
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f'| {what} | {size:,} B | {rate:,.0f} | {middle:.2f} × ({low:.2f} to {high:.2f}) | {len(ratios)} | {ours * 1e6:.0f} µs | {share:.1%} |', flush=True)


def three(server, forebay, gateway, folder, env):
    """The server alone, behind us, and behind the other gateway."""
    config = os.path.join(folder, 'peer.json')
    with open(config, 'w') as file:
        json.dump({'upstream': {'command': server[0], 'args': server[1:]}}, file)
    return {'direct': End(server, env), 'forebay': End([forebay, 'mcp', '--', *server], env), 'jmunch-mcp': End([gateway, '--config', config], env)}


def spent(ends, tool, count):
    """What the gateways themselves take for a call, as rows of a table."""
    for name in ['forebay', 'jmunch-mcp']:
        for how, work in [
            ('32 at once', lambda end: end.rate(tool, {}, count)),
            ('one by one', lambda end: [end.call(tool, {}) for _ in range(count)]),
        ]:
            before = ends[name].spent()
            work(ends[name])
            after = ends[name].spent()
            cpu, switches = [(b - a) / count for a, b in zip(before, after)]
            print(f'| {tool} | {name} | {how} | {cpu * 1e6:.0f} µs | {switches:.1f} |', flush=True)


def rows(forebay, rounds=20, calls=200):
    gateway, commands = installed()
    everything = commands['everything'] + ['stdio']
    with tempfile.TemporaryDirectory(prefix='forebay-bench-', dir=os.environ.get('BENCH_DIR')) as folder:
        server = [sys.executable, os.path.join(folder, 'server.py')]
        with open(server[1], 'w') as file:
            file.write(SERVER)
        env = dict(os.environ, FOREBAY_ROOT=os.path.join(folder, 'root'), HOME=folder)
        print('| server, result | | p50 | p99 | added p50 | calls a second, 32 at once | of direct |\n|---|---|---|---|---|---|---|')
        for server, tool, arguments, what, share in [
            (everything, 'echo', {'message': 'x' * 200}, 'everything, 200 bytes', 2),
            (server, 'small', {}, 'at once, 200 bytes', 1),
            (server, 'page', {}, 'at once, 8 kB', 1),
            (server, 'large', {}, 'at once, 1 MB, folded', 20),
        ]:
            ends = three(server, forebay, gateway, folder, env)
            took = {name: [] for name in ends}
            rates = {name: [] for name in ends}
            for _ in range(max(rounds // share, 5)):
                for name, end in ends.items():
                    took[name] += [end.call(tool, arguments) for _ in range(max(calls // share, 5))]
                    rates[name].append(end.rate(tool, arguments, max(5 * calls // share, 20)))
            direct = statistics.median(took['direct'])
            for name, end in ends.items():
                p50, p99 = statistics.median(took[name]), statistics.quantiles(took[name], n=100)[98]
                rate, of = statistics.median(rates[name]), statistics.median(rates['direct'])
                print(f'| {what} | {name} | {p50 * 1000:.3f} ms | {p99 * 1000:.2f} ms | {(p50 - direct) * 1000:.3f} ms | {rate:.0f} | {rate / of:.2f} × |', flush=True)
                end.end()

        print('\n| result | | calls | CPU a call | switches a call |\n|---|---|---|---|---|')
        server = [sys.executable, os.path.join(folder, 'server.py')]
        ends = three(server, forebay, gateway, folder, env)
        for tool, count in [('small', 5000), ('page', 1000)]:
            spent(ends, tool, count)
        for end in ends.values():
            end.end()
        giant = os.path.join(folder, 'giant.py')
        with open(giant, 'w') as file:
            file.write(GIANT)
        print('\n| one result of | time | memory at its peak | the client gets |\n|---|---|---|---|')
        for size in [100_000_000, 2_000_000_000]:
            end = End([forebay, 'mcp', '--', sys.executable, giant], env)
            started = time.perf_counter()
            answer = end.ask('tools/call', {'name': 'x', 'arguments': {'bytes': size}})
            took = time.perf_counter() - started
            print(f'| {size / 1e6:,.0f} MB | {took:.1f} s | {end.most_memory() / 2**20:.0f} MiB | {len(answer):,} bytes |', flush=True)
            end.end()
