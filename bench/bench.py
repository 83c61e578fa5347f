#!/usr/bin/env python3
"""Measures forebay against its peers in one run and prints the table of bench/README.md.

  bench/bench.py            everything but 10 GiB (about ten minutes)
  bench/bench.py --large    with 10 GiB (needs 25 GB of disk)
  bench/bench.py --only load    many processes at once (two minutes)
  bench/bench.py --only extract models that read, played by a server that waits half a second (one minute)
  bench/bench.py --only mcp     the MCP gateway against the server alone and another gateway (ten minutes)
  bench/bench.py --only serve   the HTTP server against nginx (two minutes)
  bench/bench.py --only view    what making a view takes beside keeping the output (one minute)
  bench/bench.py --only secrets what the search for secrets takes (two minutes)
  bench/bench.py --only shared  the store that machines share (ten minutes, 6 GB of disk)
  bench/bench.py --only recall  the share of marked lines that views and answers show (four minutes)

Each pair is run in turns, and the ratio is that of the medians: a machine that slows down slows both.
"""
import argparse, http.server, json, multiprocessing, os, random, re, resource, shutil, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(HERE)


def tool(name, package):
    """The path of a peer; installed by its Debian package's name if it is missing."""
    if not shutil.which(name) and shutil.which('apt-get'):
        subprocess.run(['apt-get', 'install', '-y', '-qq', package], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = shutil.which(name)
    if not path:
        sys.exit(f'{name} is needed: install the package {package}')
    return path


def run(argv, out=subprocess.DEVNULL, env=None):
    """Seconds of one command."""
    started = time.perf_counter()
    subprocess.run(argv, stdout=out, stderr=subprocess.DEVNULL, env=env)
    return time.perf_counter() - started


def memory(argv, env):
    """The peak memory of one command in MiB, as a small process that starts it sees it."""
    report = tempfile.NamedTemporaryFile('r')
    subprocess.run([tool('time', 'time'), '-f', '%M', '-o', report.name] + argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    return int(report.read().split()[-1]) / 1024


def pair(ours, peer, rounds, before=lambda: None):
    """Runs both in turns; the medians in seconds."""
    a, b = [], []
    for _ in range(rounds):
        before(); b.append(peer())
        before(); a.append(ours())
    return statistics.median(a), statistics.median(b)


def loop(argv, fresh, number, seconds, start, env, took):
    """Runs a command again and again from when all are ready; sends the seconds of each run. `fresh` makes what it works on, off the clock."""
    times = []
    start.wait()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        fresh(number, len(times))
        started = time.perf_counter()
        subprocess.run(argv(number, len(times)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, check=True)
        times.append(time.perf_counter() - started)
    took.put(times)


def at_once(processes, argv, fresh, seconds, env):
    """Runs a command in a loop of so many processes; all times of single runs, sorted, and runs per second."""
    context = multiprocessing.get_context('fork')
    start, took = context.Event(), context.Queue()
    workers = [context.Process(target=loop, args=(argv, fresh, number, seconds, start, env, took)) for number in range(processes)]
    for worker in workers: worker.start()
    time.sleep(0.5)
    began = time.perf_counter(); start.set()
    times = sorted(sum((took.get() for _ in workers), []))
    over = time.perf_counter() - began
    for worker in workers: worker.join()
    return times, len(times) / over


def log(path, size):
    """Writes a log of so many bytes."""
    random.seed(1)
    lines = [f'2026-11-15T18:{i % 60:02d}:{i * 7 % 60:02d}.{i % 1000:03d}Z INFO worker-{i % 16} request id={random.getrandbits(64):016x} '
             f'path=/api/v1/items/{i} status=200 took={random.randint(1, 900)}ms bytes={random.randint(100, 99999)}\n' for i in range(200_000)]
    block = ''.join(lines).encode()
    with open(path, 'wb') as f:
        left = size
        while left > 0:
            f.write(block[:left]); left -= len(block)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--large', action='store_true')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--only', choices=['queries', 'load', 'extract', 'mcp', 'serve', 'view', 'recall', 'secrets', 'shared'], help='only the rows of json, ask and outline, those of many processes at once, of models that read, of the MCP gateway, of the HTTP server, of making views, of recall, of the search for secrets, or of the shared store')
    args = parser.parse_args()
    rg = tool('rg', 'ripgrep')
    subprocess.run(['cargo', 'build', '--release', '--locked', '--quiet', '-p', 'forebay-cli'], cwd=REPO, check=True)
    forebay = os.path.join(REPO, 'target', 'release', 'forebay')
    if args.only == 'mcp':
        import mcp
        mcp.rows(forebay)
        return mcp.throughput(forebay)
    if args.only == 'serve':
        import serve
        return serve.rows(forebay)
    if args.only == 'shared':
        import shared
        return shared.rows(forebay)
    if args.only == 'recall':
        from recall import score
        return score.rows(forebay)
    work = tempfile.mkdtemp(prefix='forebay-bench-', dir=os.environ.get('BENCH_DIR'))
    root = os.path.join(work, 'root')
    env = dict(os.environ, FOREBAY_ROOT=root, FOREBAY_SESSION='bench', HOME=work)
    rows = []

    def row(what, argv, peer, rounds, target, before=lambda: None, added=False, peer_argv=None, megabytes=None):
        argv = [forebay] + argv
        ours, peer = pair(lambda: run(argv, env=env), peer or (lambda: run(peer_argv)), rounds, before)
        figure = f'{(ours - peer) * 1000:.1f} ms more' if added else f'{ours / peer:.2f} ×'
        if megabytes: figure += f', {megabytes / ours:.0f} MB/s'
        before(); peak = f'{memory(argv, env):.0f} MiB'
        if peer_argv: peak += f'; {memory(peer_argv, env):.0f} MiB'
        rows.append(f'| {what} | {ours * 1000:.1f} ms | {peer * 1000:.1f} ms | {figure} | {peak} | {target} |')
        print(rows[-1], flush=True)

    def clean():
        for path in (root, os.path.join(work, 'copy')):
            shutil.rmtree(path, ignore_errors=True)
            if os.path.exists(path): os.unlink(path)
        os.sync()

    def to_file(*argv):
        with open(os.path.join(work, 'copy'), 'wb') as f: return run(list(argv), out=f)

    def put(path, *more):
        answer = subprocess.run([forebay, 'put', '--json', *more, path], env=env, capture_output=True, check=True).stdout
        return json.loads(answer)['handle']

    def queries():
        """What is asked of an output once it is kept."""
        jq = tool('jq', 'jq')
        array = os.path.join(work, 'array.json'); random.seed(2)
        with open(array, 'w') as f:
            f.write('[' + ','.join(json.dumps({'id': i, 'status': random.choice(['ok', 'failed', 'ok', 'ok']), 'n': random.random() * 1000, 'kind': random.choice('abcdef'),
                                               'name': f'user number {i}', 'tags': ['x', 'y', str(i % 100)], 'nested': {'a': i, 'b': [1, 2, 3]}}) for i in range(1_200_000)) + ']')
        handle = put(array)
        for code in ('.[] | select(.status == "failed") | .id', 'map(.n) | add', 'length', '.[100000]', 'group_by(.kind) | map({kind: .[0].kind, n: length})'):
            row(f'`json` of 200 MB, `{code.replace("|", chr(92) + "|")}`; `jq`', ['json', handle, code], None, 3, '< 1 ×, less memory', peer_argv=[jq, '-c', code, array])
        os.unlink(array)
        hundred = os.path.join(work, 'hundred.log'); log(hundred, 100_000_000); handle = put(hundred)
        for question in ('why did it fail?', 'which request of worker-7 had status 500?'):
            words = 'error|fail' if 'fail' in question else 'request|worker|status|500'
            row(f'`ask` of 100 MB, “{question}”; `rg -ci`', ['ask', handle, question], lambda: run([rg, '-ci', words, hundred]), args.rounds, '≥ 200 MB/s', megabytes=100)
        sources = [os.path.join(folder, name) for folder, _, names in sorted(os.walk(os.path.join(REPO, 'crates'))) for name in sorted(names) if name.endswith('.rs')]
        code = ''.join(open(path, encoding='utf8').read() for path in sources)
        source = os.path.join(work, 'source.rs')
        with open(source, 'w') as f: f.write((code * (1_000_000 // len(code) + 1))[:1_000_000])
        handle = put(source, '--args', '{"file_path": "source.rs"}')
        row('`outline` of 1 MB of Rust; `cat`', ['outline', handle], lambda: run(['cat', source]), args.rounds, '< 500 ms')
        half = os.path.join(work, 'half.log'); log(half, 50_000_000)
        handle = put(half, '--args', '{"file_path": "half.py"}')
        row('`outline` of a log of 50 MB that is called `.py`; `cat`', ['outline', handle], lambda: run(['cat', half]), args.rounds, 'bounded')

    def load():
        """Many processes at once in one session: outputs of 20 kB, all different, put and read."""
        one = os.path.join(work, 'load.log'); log(one, 20_000)
        text = open(one, 'rb').read()
        files, copies = os.path.join(work, 'files'), os.path.join(work, 'copies')
        os.makedirs(files); os.makedirs(copies)
        source = lambda number: os.path.join(files, f'{number}.log')

        def fresh(number, count):
            with open(source(number), 'wb') as f: f.write(f'{number} {count} {time.perf_counter_ns()}\n'.encode() + text)

        handles = []
        for number in range(64):
            fresh(number, 0); handles.append(put(source(number), '--session', 'read'))
        print('| what, processes | forebay: a second | p50 | p99 | peer: a second | p50 | p99 | p50 to p50 |\n|---|---|---|---|---|---|---|---|', flush=True)
        tasks = (
            ('`put` of 20 kB; `cp && sync -d`', fresh, lambda processes: lambda number, count: [forebay, 'put', '--session', f'put-{processes}', source(number)],
             lambda number, count: ['sh', '-c', 'cp "$0" "$1" && sync -d "$1"', source(number), os.path.join(copies, f'{number}-{count}')]),
            ('`read` of 41 lines of 20 kB; `cat`', lambda number, count: None, lambda processes: lambda number, count: [forebay, 'read', '--session', 'read', handles[number], '--lines', f'{count % 90 + 1}:{count % 90 + 41}'],
             lambda number, count: ['cat', source(number)]),
        )
        for what, make, ours, peer in tasks:
            for processes in (1, 8, 64):
                a, b, rates = [], [], [[], []]
                # In turns, so that a machine that slows down slows both.
                for _ in range(3):
                    times, rate = at_once(processes, peer, make, 2, env); b += times; rates[1].append(rate)
                    times, rate = at_once(processes, ours(processes), make, 2, env); a += times; rates[0].append(rate)
                    shutil.rmtree(copies); os.makedirs(copies); os.sync()
                a.sort(); b.sort()
                at = lambda times, share: times[min(len(times) - 1, int(len(times) * share))] * 1000
                cells = [f'{statistics.median(rates[0]):.0f}', f'{at(a, .5):.1f} ms', f'{at(a, .99):.1f} ms', f'{statistics.median(rates[1]):.0f}', f'{at(b, .5):.1f} ms', f'{at(b, .99):.1f} ms',
                         f'{at(a, .5) / at(b, .5):.2f} ×']
                print(f'| {what}; {processes} | ' + ' | '.join(cells) + ' |', flush=True)

    def files(path):
        """Writes 100 MB of one kind of output after the other into a file; their names."""
        words = 'river stone cloud engine window garden market signal thread buffer handle reader writer socket parser'.split()
        word = lambda: random.choice(words)
        kinds = [
            ('search results', '', lambda n: f'src/{words[n // 300 % 15]}/{n // 30}.c:{n % 30 * 17}:    {word()} {word()}({word()}, {n % 97});\n'),
            ('a diff', '', lambda n: f'diff --git a/src/{n}.c b/src/{n}.c\n--- a/src/{n}.c\n+++ b/src/{n}.c\n@@ -{n % 90 + 1},4 +{n % 90 + 1},4 @@ int {word()}(void)\n {word()} {word()};\n-  {word()};\n+  {word()} + {n};\n }}\n {word()};\n'),
            ('paths', '', lambda n: f'./src/{words[n // 400 % 15]}/{words[n // 20 % 15]}/{word()}-{n}.{("c", "h", "o", "txt")[n % 4]}\n'),
            ('`ls -lR`', '', lambda n: (f'\n./{words[n // 50 % 15]}/{n // 50}:\ntotal 84\n' if n % 50 == 0 else '') + f'-rw-r--r-- 1 root root {random.randrange(10**6):>8} Nov 17 09:{n % 60:02} {word()}-{n}.txt\n'),
            ('a table', '    PID USER      PR     VIRT     RES S  %CPU     TIME COMMAND\n', lambda n: f'{n % 10**6:>7} root      20 {random.randrange(10**6):>8} {random.randrange(10**5):>7} S {random.random() * 3:>5.1f}  0:{n % 60:02}.{n % 100:02} {word()}\n'),
            ('CSV', 'id,name,city,cents,state\n', lambda n: f'{n},{word()} {word()},{word()},{random.randrange(10**5)},{("paid", "open", "sent")[n % 3]}\n'),
            ('JSON lines', '', lambda n: f'{{"at": {n}, "level": "info", "msg": "{word()} {word()}", "n": {random.randrange(10**6)}, "user": {{"id": {n % 977}, "name": "{word()}"}}}}\n'),
            ('C', '', lambda n: f'/* {word()} {word()} */\nstatic int {word()}_{n}(struct {word()} *p, int n)\n{{\n    if (n > {n % 97}) {{\n        return {word()}(p, n - 1);\n    }}\n    return {n};\n}}\n\n'),
        ]
        for what, first, line in kinds:
            with open(path, 'w') as f:
                written, n = f.write(first), 0
                while written < 10**8: written, n = written + f.write(line(n)), n + 1
            yield what

    def views():
        """What a digest takes beside keeping: the CPU and the time of `put` less those of `put --preset handle`, whose view is one line."""
        def taken(path, *more):
            clean()
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run([forebay, 'put', *more, path], env=env, stdout=subprocess.DEVNULL, check=True)
            after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, end - start
        print('| output | keeping it, CPU | with its view | the view alone, by CPU | by the clock | peak memory |\n|---|---|---|---|---|---|', flush=True)
        def measured(what, path):
            megabytes = os.path.getsize(path) / 1e6
            kept, viewed = ([statistics.median(times) for times in zip(*(taken(path, *more) for _ in range(5)))] for more in (['--preset', 'handle'], []))
            clean(); peak = memory([forebay, 'put', path], env)
            alone = [f'{megabytes / (with_view - without):,.0f} MB/s' if with_view > without else 'nothing to measure' for without, with_view in zip(kept, viewed)]
            print(f'| {what} | {kept[0]:.2f} s | {viewed[0]:.2f} s | {alone[0]} | {alone[1]} | {peak:.0f} MiB |', flush=True)
        path = os.path.join(work, 'view')
        for what, size in [('100 MB of log', 10**8), ('1 GB of log', 10**9)]:
            log(path, size); measured(what, path)
        with open(path, 'wb') as f: [f.write(b'x' * 10**6) for _ in range(1000)]
        measured('a line of 1 GB', path)
        with open(path, 'w') as f: f.writelines(''.join(random.choices('abcdefghijklmnopqrstuvwxyz ', k=24)) + '\n' for _ in range(10**6))
        measured('a million lines that are like no other', path)
        with open(path, 'wb') as f: f.write(b'[' * 10**6)
        measured('a million open brackets', path)
        for what in files(path):
            measured('100 MB of ' + what, path)

    def secrets():
        """The search for secrets alone, on one core, and what it adds to a small command."""
        speed = ['cargo', 'run', '--release', '--locked', '--quiet', '-p', 'forebay-secrets', '--example', 'speed', '--']
        path, part = os.path.join(work, 'whole'), os.path.join(work, 'part')
        print('| output | secrets | search of all of it | of 100 kB of it |\n|---|---|---|---|', flush=True)
        def measured(what):
            with open(path, 'rb') as whole, open(part, 'wb') as f: f.write(whole.read(100_000))
            lines = subprocess.run([*speed, path, part], cwd=REPO, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
            (found, rate, _), (_, _, took) = [re.search(r'bytes, (\d+) secrets, (\d+) MB/s, ([\d.]+) ms', line).groups() for line in lines]
            print(f'| {what} | {int(found):,} | {int(rate):,} MB/s | {took} ms |', flush=True)
        log(path, 10**8); measured('100 MB of log')
        for what in files(path): measured('100 MB of ' + what)
        with open(path, 'w') as f:
            for n in range(10**6): f.write(f'SERVICE_{n}_TOKEN={random.getrandbits(128):032x}\n' if n % 50 == 0 else f'SETTING_{n}=value number {n} of an environment with names of many kinds\n')
        measured('an environment whose every 50th line is a secret')
        off = dict(env, FOREBAY_SECRETS_MODE="off")
        once = [forebay, 'run', '--', 'env']
        ours, peer = pair(lambda: run(once, env=env), lambda: run(once, env=off), 200)
        print(f'\n`run -- env` takes {ours * 1000:.2f} ms, and {peer * 1000:.2f} ms with `secrets.mode` off.', flush=True)

    def extract():
        """Models that read in chunks, played by a server that takes half a second for every answer."""
        answered = []
        class Model(http.server.BaseHTTPRequestHandler):
            protocol_version, wait = 'HTTP/1.1', 0.5
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers['content-length'])))
                tag = re.search(r'<ai-agent-\w+-FINAL format="text">', body['messages'][0]['content']).group()
                time.sleep(Model.wait)
                message = {'role': 'assistant', 'content': tag + 'NO RELEVANT DATA FOUND'}
                answer = json.dumps({'choices': [{'message': message, 'finish_reason': 'stop'}], 'usage': {'prompt_tokens': 1, 'completion_tokens': 1}}).encode()
                answered.append(time.perf_counter())
                self.send_response(200); self.send_header('content-type', 'application/json'); self.send_header('content-length', str(len(answer))); self.end_headers()
                self.wfile.write(answer)
            def log_message(self, *_): pass
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Model)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env.update(OPENAI_BASE_URL=f'http://127.0.0.1:{server.server_port}', OPENAI_API_KEY='none', FOREBAY_EXTRACT_MODELS='openai/bench', FOREBAY_MODELS_STREAM='false')
        print('| what | wall time | model calls | their waiting, summed | at once | peak memory |\n|---|---|---|---|---|---|', flush=True)

        def measured(what, handle, chunks, parallel, *more):
            answered.clear()
            env.update(FOREBAY_EXTRACT_PARALLEL=str(parallel))
            argv = [forebay, 'extract', handle, 'which worker is the slowest?', '--mode', 'full-chunked', '--anew', '--max-chunks', str(chunks), *more]
            start = time.perf_counter(); peak = memory(argv, env); took = time.perf_counter() - start
            print(f'| {what} | {took:.2f} s | {len(answered)} | {len(answered) * Model.wait:.1f} s | {parallel} | {peak:.0f} MiB |', flush=True)

        # A chunk of 100,000 tokens less the reserve and the prompt holds about 220 kB of this, and shares a tenth with its neighbour.
        for chunks, size in ((1, 145_000), (4, 726_000), (16, 3_100_000)):
            text = os.path.join(work, f'chunks-{chunks}.log'); log(text, size)
            handle = put(text)
            for parallel in (1, 4, 16) if chunks == 16 else (4,):
                measured(f'{chunks} chunk{"s" if chunks > 1 else ""}', handle, chunks, parallel)
        Model.wait = 0.0
        big = os.path.join(work, 'extract.log'); log(big, 200_000_000)
        handle = put(big)
        measured('200 MB, what one chunk holds', handle, 1, 4)
        measured('200 MB, all of it', handle, 100_000, 4)
        server.shutdown()

    try:
        if args.only == 'load': return load()
        if args.only == 'extract': return extract()
        if args.only == 'view': return views()
        if args.only == 'secrets': return secrets()
        print('| what; against | forebay | peer | | peak memory | target |\n|---|---|---|---|---|---|', flush=True)
        if args.only == 'queries': return queries()
        big = os.path.join(work, 'big.log'); log(big, 1 << 30)
        row('`put` of 1 GiB; `cat > file`', ['put', big], lambda: to_file('cat', big), args.rounds, '≤ 2.0 ×, < 64 MiB', clean)
        if args.large:
            huge = os.path.join(work, 'huge.log'); log(huge, 10 << 30)
            row('`put` of 10 GiB; `cat > file`', ['put', huge], lambda: to_file('cat', huge), 3, '≤ 2.0 ×, < 64 MiB', clean)
            os.unlink(huge)
        clean()
        answer = json.loads(subprocess.run([forebay, 'put', '--json', big], env=env, capture_output=True, check=True).stdout)
        handle = answer['handle']
        path = json.loads(subprocess.run([forebay, 'show', '--json', handle], env=env, capture_output=True, check=True).stdout)['path']
        for name, pattern in (('literal', 'items/77777 '), ('alternation', 'ERROR|panic|Traceback'), ('regex', r'worker-(3|7) .*took=[0-9]ms'),
                              ('words that every line begins like', 'items/7777[0-9] |worker-99|status=500')):
            row(f'`grep` of 1 GiB, {name}; `rg -c`', ['grep', handle, pattern], lambda: run([rg, '-c', pattern, path]), args.rounds, '≤ 1.2 ×')
        lines = answer['size']['lines']
        start = [forebay, 'read', handle, '--lines', '1:21']
        row('`read --lines` far into 1 GiB; at its start', ['read', handle, '--lines', f'{lines - 1000}:{lines - 980}'], lambda: run(start, env=env), 30, '≤ 2 ×, < 10 ms')
        row('`run -- true`; `true`', ['run', '--', 'true'], lambda: run(['true']), 100, '≤ 4 ms more', added=True)
        one = os.path.join(work, 'one.log'); log(one, 1_000_000)
        row('`run` of 1 MB, folded to 1,000 tokens; the command', ['run', '--budget', '1000', '--', 'cat', one], lambda: run(['cat', one]), 40, '≤ 20 ms more', added=True)
        row('`run` of 100 MB that a program prints (`seq`); the same to a file', ['run', '--', 'seq', '12500000'], lambda: to_file('seq', '12500000'), args.rounds, '≤ 2 ×', clean)
        hundred = os.path.join(work, 'hundred.log'); log(hundred, 100_000_000)
        row('`run` of 100 MB that the kernel copies (`cat`); the same to a file', ['run', '--', 'cat', hundred], lambda: to_file('cat', hundred), args.rounds, '≤ 2 ×', clean)
        clean(); queries()
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == '__main__':
    main()
