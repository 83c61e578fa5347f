"""Measures the shared store against what it stands on, in one run: PostgreSQL by psql, a Ceph gateway by boto3.

All servers and clients share one machine. Requests to the gateway are counted by a proxy.
"""
import json, os, shutil, socket, statistics, subprocess, sys, tempfile, threading, time

SIZE = 1 << 29
ROUNDS = 3


def log(path, size):
    """Writes a log, as for the other measurements."""
    from bench import log
    log(path, size)


def as_owner():
    """Arguments by which a process runs as a user that may run PostgreSQL, which refuses root."""
    return {} if os.getuid() else {'user': 'postgres', 'group': 'postgres', 'cwd': '/'}


def programs():
    versions = sorted(os.listdir('/usr/lib/postgresql'), key=float) if os.path.isdir('/usr/lib/postgresql') else []
    return f'/usr/lib/postgresql/{versions[-1]}/bin' if versions else os.path.dirname(shutil.which('initdb'))


def postgres(folder):
    """Starts a server on a socket in `folder`, with the safety of a real one: it waits for its disk."""
    if not os.getuid():
        shutil.chown(folder, 'postgres', 'postgres')
    os.chmod(folder, 0o755)
    data = f'{folder}/data'
    subprocess.run([f'{programs()}/initdb', '--auth=trust', '--username=forebay', '--encoding=UTF8', '--locale=C.UTF-8', data],
                   stdout=subprocess.DEVNULL, check=True, **as_owner())
    server = subprocess.Popen([f'{programs()}/postgres', '-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'max_connections=200',
                               '-c', 'shared_buffers=512MB', '-c', 'max_wal_size=4GB'], stderr=subprocess.DEVNULL, **as_owner())
    for _ in range(200):
        if subprocess.run([f'{programs()}/psql', '-h', folder, '-U', 'forebay', '-d', 'postgres', '-c', 'SELECT 1'], capture_output=True).returncode == 0:
            return server
        time.sleep(0.1)
    sys.exit('PostgreSQL did not start')


def ceph(folder):
    """Starts a Ceph gateway, as the tests do (root is needed); its address and keys, and a Python with boto3."""
    repo = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = f'{folder}/boto'
    subprocess.run([sys.executable, '-m', 'venv', environment], check=True)
    subprocess.run([f'{environment}/bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'boto3'], check=True)
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        port = listener.getsockname()[1]
    place = os.path.join(os.environ.get('CARGO_TARGET_DIR', f'{repo}/target'), 'shared', 'ceph')
    os.makedirs(place, exist_ok=True)
    said = subprocess.run([f'{repo}/tests/shared/rgw', 'up', place, str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.split()
    return said, f'{environment}/bin/python', lambda: subprocess.run([f'{repo}/tests/shared/rgw', 'down', place])


class Counter:
    """A proxy that counts the requests to a server."""

    def __init__(self, target):
        host, port = target.removeprefix('http://').split(':')
        self.requests, self.target = [], (host, int(port))
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.address = f'http://127.0.0.1:{self.listener.getsockname()[1]}'
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.target)
            for source, sink, counts in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.carry, args=(source, sink, counts), daemon=True).start()

    def carry(self, source, sink, counts):
        try:
            while block := source.recv(1 << 18):
                if counts and block[:4] in (b'GET ', b'HEAD', b'PUT ', b'POST'):
                    self.requests.append(block[:120].split(b'\r\n')[0].decode())
                sink.sendall(block)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                try: end.shutdown(socket.SHUT_RDWR)
                except OSError: pass


def percentiles(times):
    times = sorted(times)
    return statistics.median(times) * 1000, times[int(len(times) * 0.99)] * 1000


def row(what, ours, peer, figure, target):
    print(f'| {what} | {ours} | {peer} | {figure} | {target} |', flush=True)


def timed(argv, env, check=True):
    began = time.perf_counter()
    subprocess.run(argv, env=env, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def rows(forebay):
    work = tempfile.mkdtemp(prefix='forebay-shared-', dir=os.environ.get('BENCH_DIR'))
    # The user that runs PostgreSQL must reach its folder.
    os.chmod(work, 0o711)
    processes = []
    try:
        database = f'{work}/pg'
        os.mkdir(database)
        processes.append(postgres(database))
        url = f'postgres://forebay@/postgres?host={database}'
        psql = [f'{programs()}/psql', '-X', '-q', '-A', '-t', '-h', database, '-U', 'forebay', '-d', 'postgres', '-c']
        env = dict(os.environ, HOME=work, FOREBAY_SESSION='bench', FOREBAY_ROOT=f'{work}/root')
        shared = dict(env, FOREBAY_STORE_DATABASE=url, FOREBAY_ROOT=f'{work}/shared', FOREBAY_STORE_MIRROR='off')
        print('| what; against | forebay | peer | | target |\n|---|---|---|---|---|', flush=True)
        small = f'{work}/small'
        log(small, 20_000)
        puts(forebay, small, env, shared, psql)
        rooms(url)
        (endpoint, access, secret), python, stop = ceph(work)
        try:
            counter = Counter(endpoint)
            bucket = dict(shared, FOREBAY_STORE_BLOBS='s3://outputs/p', AWS_ENDPOINT_URL=endpoint, AWS_ACCESS_KEY_ID=access,
                          AWS_SECRET_ACCESS_KEY=secret, AWS_REGION='us-east-1', FOREBAY_ROOT=f'{work}/bucket')
            large(forebay, python, endpoint, counter, work, bucket)
        finally:
            stop()
        fleet(forebay, psql, shared)
    finally:
        for process in processes:
            process.terminate(); process.wait()
        shutil.rmtree(work, ignore_errors=True)


def puts(forebay, small, env, shared, psql):
    """Outputs of 20 kB: acknowledged by the local disk, and by the database."""
    local, mirrored, waited, inserted = [], [], [], []
    subprocess.run(psql + ['CREATE TABLE peer (id bigint GENERATED ALWAYS AS IDENTITY, bytes bytea)'], check=True)
    insert = psql + [f"INSERT INTO peer (bytes) SELECT convert_to(repeat('x', 20000), 'UTF8')"]
    timed([forebay, 'put', small, '--wait'], shared)
    for _ in range(60):
        local.append(timed([forebay, 'put', small], env))
        mirrored.append(timed([forebay, 'put', small], shared))
        inserted.append(timed(insert, env))
        waited.append(timed([forebay, 'put', small, '--wait'], shared))
    (a, _), (b, _) = percentiles(mirrored), percentiles(local)
    row('`put` of 20 kB, acknowledged by the local disk; without a shared store', f'{a:.1f} ms', f'{b:.1f} ms', f'{a / b:.2f} ×', '≤ 1.2 ×')
    (a, late), (b, peer_late) = percentiles(waited), percentiles(inserted)
    row('`put --wait` of 20 kB, acknowledged by the database; one `INSERT` by psql', f'{a:.1f} ms, p99 {late:.1f} ms',
        f'{b:.1f} ms, p99 {peer_late:.1f} ms', f'{a / b:.2f} ×', '')
    before = work_of(psql)
    for turn in range(50):
        timed([forebay, 'put', small, '--wait', '--session', f'alone{turn}'], shared)
    wal, transactions = (b - a for a, b in zip(before, work_of(psql)))
    row('one output of 20 kB with its view and events', f'{wal / 50 / 1000:.0f} kB of WAL, {transactions / 50:.0f} transactions', '', '', '')


def work_of(psql):
    """Bytes of WAL and transactions so far."""
    time.sleep(1.5)  # Counts of transactions arrive with a delay.
    sql = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn, (SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres')"
    found = subprocess.run(psql + [sql], capture_output=True, text=True, check=True).stdout.strip().split('|')
    return [int(float(one)) for one in found]


def rooms(url):
    """Reservations of tokens, many at once."""
    repo = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # With the binary, so that both have the same dependencies and nothing is built twice.
    subprocess.run(['cargo', 'build', '--release', '--locked', '--quiet', '-p', 'forebay-cli', '-p', 'forebay-store', '--example', 'rooms'], cwd=repo, check=True)
    program = os.path.join(os.environ.get('CARGO_TARGET_DIR', f'{repo}/target'), 'release', 'examples', 'rooms')
    for clients, sessions, what in ((64, 64, '64 clients, a session each'), (64, 1, '64 clients, one session'), (1, 1, 'one client')):
        rate, middle, late = subprocess.run([program, url, str(clients), str(sessions), '5'], capture_output=True, text=True, check=True).stdout.split()
        row(f'reserving tokens: {what}', f'{rate}/s, p50 {middle} ms, p99 {late} ms', '', '', '')


def large(forebay, python, endpoint, counter, work, bucket):
    """Large outputs in a bucket."""
    boto = f'import boto3, sys; s3 = boto3.client("s3", endpoint_url="{endpoint}", region_name="us-east-1"); '
    subprocess.run([python, '-c', boto + 's3.create_bucket(Bucket="outputs")'], check=True, env=bucket)
    noise, text = f'{work}/noise', f'{work}/log'
    with open(noise, 'wb') as file:
        for _ in range(SIZE >> 20): file.write(os.urandom(1 << 20))
    log(text, SIZE)
    for name, path in (('that does not shrink', noise), ('of log', text)):
        ours, peer, kept = [], [], []
        for turn in range(ROUNDS):
            kept.append(timed([forebay, 'put', path, '--call-id', f'plain{turn}'], dict(bucket, FOREBAY_STORE_DATABASE='', FOREBAY_STORE_BLOBS='', FOREBAY_ROOT=f'{work}/plain')))
            shutil.rmtree(f'{work}/plain', ignore_errors=True)
            session = dict(bucket, FOREBAY_SESSION=f'{os.path.basename(path)}{turn}')
            ours.append(timed([forebay, 'put', path, '--call-id', 'large', '--wait=600s'], session))
            peer.append(timed([python, '-c', boto + f's3.upload_file("{path}", "outputs", "peer{turn}")'], bucket))
        a, b, c = statistics.median(ours), statistics.median(peer), statistics.median(kept)
        row(f'`put --wait` of 512 MiB {name}, less `put`; `upload_file` of boto3', f'{a - c:.1f} s', f'{b:.1f} s', f'{(a - c) / b:.2f} ×', '≤ 1.2 ×')
    elsewhere = dict(bucket, FOREBAY_ROOT=f'{work}/elsewhere', FOREBAY_STORE_CACHE_BYTES='0', AWS_ENDPOINT_URL=counter.address)
    for name in ('noise', 'log'):
        handle = f'{name}0/large'
        lines = '1000:1040' if name == 'noise' else '3000000:3000040'
        counter.requests.clear()
        took = timed([forebay, 'read', handle, '--lines', lines], elsewhere)
        asked = len(counter.requests)
        row(f'`read` of 40 lines of 512 MiB ({name}) without a cache', f'{took * 1000:.0f} ms, {asked} requests', '', '', '≤ 3 requests')
        elsewhere_direct = dict(elsewhere, AWS_ENDPOINT_URL=endpoint)
        ours, peer = [], []
        objects = subprocess.run([python, '-c', boto + f'print(s3.list_objects_v2(Bucket="outputs", Prefix="p/default/{name}0/")["Contents"][0]["Key"])'],
                                 capture_output=True, text=True, check=True, env=bucket).stdout.strip()
        for _ in range(ROUNDS):
            ours.append(timed([forebay, 'grep', handle, 'items/77777 '], elsewhere_direct, check=False))
            peer.append(timed([python, '-c', boto + f's3.download_file("outputs", "{objects}", "{work}/copy")'], bucket))
        a, b = statistics.median(ours), statistics.median(peer)
        row(f'`grep` of 512 MiB ({name}) without a cache; `download_file` of boto3 of the object', f'{a:.1f} s', f'{b:.1f} s', f'{a / b:.2f} ×', '≤ 1.5 ×')


def fleet(forebay, psql, shared):
    """10,000 sessions with 100 outputs each."""
    fleet = dict(shared, FOREBAY_STORE_TENANT='fleet', FOREBAY_ROOT=shared['FOREBAY_ROOT'] + '-fleet')
    record = subprocess.run(psql + ["SELECT record FROM forebay_outputs WHERE key = '' AND state = 1 LIMIT 1"], capture_output=True, text=True, check=True).stdout.strip()
    name = json.loads(record)['handle']
    fill = f"""INSERT INTO forebay_outputs (tenant, session, id, content, called_at, record, state, epoch, bytes, beside, changed_at)
        SELECT 'fleet', 'session-' || s, 'call-' || o, 'c-' || s || '-' || o, 1700000000000000 + s * 1000 + o,
        replace($r${record}$r$, '{name}', 'session-' || s || '/call-' || o), 1, 1, 20000, 100, now() - o * interval '1 hour'
        FROM generate_series(1, 10000) s, generate_series(1, 100) o"""
    subprocess.run(psql + [fill], check=True)
    subprocess.run(psql + ['VACUUM ANALYZE'], check=True)
    listed = subprocess.run([forebay, 'ls', '--session', 'session-77', '--json'], env=fleet, capture_output=True, text=True, check=True).stdout
    assert listed.count('session-77/call-') >= 100, listed[:500]
    for what, argv in (
        ('`ls` of one session', ['ls', '--session', 'session-77']),
        ('`show` of an output', ['show', '--session', 'session-77', 'session-77/call-5']),
        ('`stats` of one session', ['stats', '--session', 'session-77']),
        ('`clean --shared --dry-run` of all: 400,000 outputs are older than 60 hours', ['clean', '--shared', '--older-than', '60h', '--dry-run']),
    ):
        times = [timed([forebay] + argv, fleet) for _ in range(3)]
        row(f'1,000,000 outputs: {what}', f'{statistics.median(times) * 1000:.0f} ms', '', '', '')
