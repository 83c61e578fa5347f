"""Measures `forebay serve` against nginx, a plain static file server, in one run: reads and puts, small and large.

nginx keeps what is put (`dav_methods PUT`) and no more: no hash, no line index, no view, no sync.
"""
import json, os, re, shutil, socket, statistics, subprocess, tempfile, time

ROUNDS = 3
SECONDS = 4
LARGE = 1 << 30


def tool(name, package):
    """The path of a peer; installed by its Debian package's name if it is missing."""
    from bench import tool
    return tool(name, package)


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def nginx(folder):
    """Starts nginx over a folder; its process and its address."""
    port = free_port()
    files = os.path.join(folder, 'files')
    os.makedirs(files)
    config = os.path.join(folder, 'nginx.conf')
    with open(config, 'w') as file:
        file.write(f'''
            daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/errors;
            {'user root;' if os.getuid() == 0 else ''}
            events {{ worker_connections 1024; }}
            http {{
                access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
                client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
                uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
                server {{ listen 127.0.0.1:{port}; root {files}; client_max_body_size 0; dav_methods PUT; create_full_put_path on; }}
            }}''')
    process = subprocess.Popen([tool('nginx', 'nginx'), '-c', config, '-p', folder, '-e', f'{folder}/errors'])
    for _ in range(200):
        with socket.socket() as client:
            if client.connect_ex(('127.0.0.1', port)) == 0:
                return process, f'http://127.0.0.1:{port}'
        time.sleep(0.05)
    raise SystemExit('nginx did not start')


def load(url, connections, script=None):
    """Requests per second and the 99th percentile in milliseconds, as wrk measures them; errors count."""
    argv = [tool('wrk', 'wrk'), '-t1', f'-c{connections}', f'-d{SECONDS}s', '--latency', '--timeout', '10s']
    said = subprocess.run(argv + (['-s', script] if script else []) + [url], capture_output=True, text=True).stdout
    if 'Non-2xx' in said:
        raise SystemExit(said)
    number, unit = re.search(r'99%\s+([\d.]+)(us|ms|s)', said).groups()
    scale = {'us': 0.001, 'ms': 1, 's': 1000}[unit]
    return float(re.search(r'Requests/sec:\s+([\d.]+)', said).group(1)), float(number) * scale


def megabytes_per_second(argv, size):
    began = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return size / 1e6 / (time.perf_counter() - began)


def peak(process):
    """The most memory that a process had, in MiB."""
    with open(f'/proc/{process.pid}/status') as status:
        return int(re.search(r'VmHWM:\s+(\d+)', status.read()).group(1)) / 1024


def rows(forebay):
    folder = tempfile.mkdtemp()
    environment = dict(os.environ, FOREBAY_ROOT=os.path.join(folder, 'root'), HOME=folder)
    server = subprocess.Popen([forebay, 'serve', '--listen', '127.0.0.1:0', '--json', '--no-token'], stdout=subprocess.PIPE, env=environment, cwd=folder)
    ours = json.loads(server.stdout.readline())['listening']
    peer_process, peer = nginx(folder)
    try:
        measure(folder, server, ours, peer)
    finally:
        server.terminate()
        peer_process.terminate()
        server.wait()
        peer_process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def measure(folder, server, ours, peer):
    small, large = os.path.join(folder, 'small'), os.path.join(folder, 'large')
    line = b'2026-11-16T10:00:00Z INFO worker: request 4711 done in 12 ms\n'
    with open(small, 'wb') as file:
        file.write(line * (10_000 // len(line)))
    with open(large, 'wb') as file:
        block = b''.join(b'%09d ' % number + line for number in range(15_000))
        while file.tell() < LARGE:
            file.write(block)
    size = os.path.getsize(large)
    mine = lambda session, output, query='': f'{ours}/v1/sessions/{session}/outputs/{output}{query}'
    for url in [mine('s', 'small1'), f'{peer}/small1']:
        subprocess.run(['curl', '-sf', '-T', small, url], stdout=subprocess.DEVNULL, check=True)

    def put_script(name, path):
        script = os.path.join(folder, name)
        with open(script, 'w') as file, open(small) as body:
            file.write(f'''
                local number = 0
                request = function()
                  number = number + 1
                  return wrk.format("PUT", string.format("{path}", number), nil, number .. " " .. [==[{body.read()}]==])
                end''')
        return script

    print('| what | forebay | nginx | ratio |\n|---|---|---|---|')
    for what, our_url, our_script, peer_url, peer_script in [
        ('read 10 kB, 16 clients', mine('s', 'small1', '/bytes'), None, f'{peer}/small1', None),
        ('put 10 kB, 16 clients', ours, '/v1/sessions/p{}/outputs/call-%d', peer, '/put{}/%d'),
    ]:
        got = {'ours': [], 'peer': []}
        for turn in range(ROUNDS):
            for who, url, script in [('peer', peer_url, peer_script), ('ours', our_url, our_script)]:
                script = put_script(f'{who}.lua', script.format(turn)) if script else None
                got[who].append(load(url, 16, script))
        rate = {who: statistics.median(one[0] for one in all) for who, all in got.items()}
        late = {who: statistics.median(one[1] for one in all) for who, all in got.items()}
        print(f'| {what} | {rate["ours"]:,.0f}/s, p99 {late["ours"]:.1f} ms | {rate["peer"]:,.0f}/s, p99 {late["peer"]:.1f} ms '
              f'| {rate["ours"] / rate["peer"]:.2f} × |')
    print(f'| memory after these | {peak(server):.0f} MiB | | |')
    for what, argv in [
        ('put 1 GiB', lambda base, turn: ['curl', '-sf', '-T', large, f'{base}large{turn}']),
        ('read 1 GiB', lambda base, turn: ['curl', '-sf', '-o', '/dev/null', f'{base}large{turn}{"/bytes" if base.startswith(ours) else ""}']),
    ]:
        got = {'ours': [], 'peer': []}
        for turn in range(ROUNDS):
            got['peer'].append(megabytes_per_second(argv(f'{peer}/', turn), size))
            got['ours'].append(megabytes_per_second(argv(mine(f'l{turn}', ''), turn), size))
        rate = {who: statistics.median(all) for who, all in got.items()}
        print(f'| {what} | {rate["ours"]:,.0f} MB/s | {rate["peer"]:,.0f} MB/s | {rate["ours"] / rate["peer"]:.2f} × |')
    window = statistics.median(first_lines(mine('l0', 'large0', f'/lines?first={number * 1_000_000}&count=200')) for number in range(1, 10))
    print(f'| 200 lines anywhere in 1 GiB | {window:.1f} ms | | |')
    slow = [socket.create_connection(tuple(ours.removeprefix('http://').split(':'))) for _ in range(200)]
    for client in slow:
        client.sendall(f'GET /v1/sessions/l0/outputs/large0/bytes HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
    time.sleep(3)
    print(f'| memory with 1 GiB outputs and 200 clients that take nothing | {peak(server):.0f} MiB | | |')
    for client in slow:
        client.close()


def first_lines(url):
    began = time.perf_counter()
    subprocess.run(['curl', '-sf', '-o', '/dev/null', url], check=True)
    return (time.perf_counter() - began) * 1000
