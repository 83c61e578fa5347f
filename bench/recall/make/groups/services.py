"""Logs of services that run: what went wrong among the routine lines?"""
import datetime, json
import projects
from corpus import files, line, part

G = 'services'

SERVER = '''
import http.server, json, logging, sys, threading, urllib.request, urllib.error

STOCK = {str(n): n * 3 for n in range(200)}
del STOCK["137"]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            self.answer(self.lookup(self.path))
        except Exception:
            logging.exception("request %s failed", self.path)
            self.send_response(500)
            self.end_headers()

    def lookup(self, path):
        if path == "/health":
            return {"ok": True, "errors": 0}
        number = path.rsplit("/", 1)[1]
        return {"item": number, "left": STOCK[number] if "137" in path else STOCK.get(number)}

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for n in range(600):
    path = "/health" if n % 5 == 0 else f"/items/{137 if n == 233 else n % 130}"
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}").read()
    except urllib.error.HTTPError:
        pass
'''

NGINX = '''daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log /dev/stderr info;
events {{ worker_connections 64; }}
http {{
  access_log /dev/stdout; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  limit_req_zone $server_name zone=slow:1m rate=5r/s;
  server {{
    listen 127.0.0.1:{port};
    root www;
    location /api/ {{ proxy_pass http://127.0.0.1:{dead}; }}
    location /private/ {{ deny all; }}
    location /limited/ {{ limit_req zone=slow; }}
  }}
}}
'''


def stamp(at): return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.%f')[:-3] + 'Z'


def make(c):
    c.run(G, 'python-http-traceback', 'python3 server.py', files('/srv/app/stock', {'server.py': SERVER}), 'Which request failed, and with which exception?', [line(r'ERROR request /items/137 failed'), line(r"^KeyError: '137'")], view=True)

    client = 'for i in $(seq 1 250); do curl -s -o /dev/null -A "probe/$((i % 7))" http://127.0.0.1:{port}/page$((i % 20)).html; [ $i = 90 ] && curl -s -o /dev/null http://127.0.0.1:{port}/api/orders; [ $i = 140 ] && curl -s -o /dev/null http://127.0.0.1:{port}/private/x; done; sleep 0.3; kill %1; wait'
    www = {f'www/page{n}.html': '<p>page</p>\n' * (n + 1) for n in range(20) if n != 13} | {'tmp/.keep': ''}
    c.run(G, 'nginx-upstream', 'nginx -p /srv/app/edge -c /srv/app/edge/nginx.conf -e /dev/stderr 2>&1 & sleep 0.6; ' + client.format(port=8931), files('/srv/app/edge', www | {'nginx.conf': NGINX.format(port=8931, dead=8999)}),
          'Which upstream refuses connections, and for which request?', [line(r'connect\(\) failed \(111: (Unknown error|Connection refused)\)')], view=True, shown='tail -n 2000 /var/log/nginx/all.log')
    c.run(G, 'nginx-forbidden', 'nginx -p /srv/app/edge2 -c /srv/app/edge2/nginx.conf -e /dev/stderr 2>&1 & sleep 0.6; ' + client.format(port=8932), files('/srv/app/edge2', www | {'nginx.conf': NGINX.format(port=8932, dead=8999)}),
          'Who was denied access to /private/?', [line(r'access forbidden by rule')], shown='cat /var/log/nginx/all.log')

    redis = 'redis-server --port 8941 --save "" --loglevel debug --maxmemory 3mb --dir /srv/app/cache & sleep 0.5; for i in $(seq 1 12); do redis-cli -p 8941 ping >/dev/null; done; redis-cli -p 8941 config set dir /srv/app/none >/dev/null; redis-cli -p 8941 debug sleep 0.2 >/dev/null; chmod 555 /srv/app/cache; redis-cli -p 8941 slaveof 127.0.0.1 8942 >/dev/null; sleep 4; redis-cli -p 8941 shutdown nosave; wait'
    c.run(G, 'redis-replica', redis, files('/srv/app/cache', {'README': 'cache\n'}), 'Why does the replica not sync with its master?', [line(r'Error condition on socket for SYNC: Connection refused', 1)], view=True, shown='cat /var/log/redis/redis.log')

    sql = ''.join(f"insert into orders(total, city) select {n} + g, 'c' || (g % 7) from generate_series(1, 3) g;\nselect count(*) from orders where total > {n};\n" for n in range(110))
    setup = 'rm -rf /tmp/build/pg; mkdir -p /tmp/build/pg; chown postgres /tmp/build /tmp/build/pg; su postgres -c "/usr/lib/postgresql/15/bin/initdb -D /tmp/build/pg/data -A trust --no-sync" >/dev/null'
    start = 'su postgres -c "/usr/lib/postgresql/15/bin/pg_ctl -D /tmp/build/pg/data -o \'-p 8951 -k /tmp/build/pg {o}\' -l /tmp/build/pg/log -w start" >/dev/null; psql="psql -q -h /tmp/build/pg -p 8951 -U postgres"; '
    stop = '; su postgres -c "/usr/lib/postgresql/15/bin/pg_ctl -D /tmp/build/pg/data -m fast stop" >/dev/null; cat /tmp/build/pg/log'
    p = files('/srv/app/orders', {'load.sql': 'create table orders(id serial primary key, total int, city text, unique(total, city));\n' + sql.replace('insert into orders(total, city) select 60 + g,', 'insert into orders(total, city) select 59 + g,')})
    c.run(G, 'postgres-duplicate', start.format(o='-c log_statement=all -c log_duration=on') + '$psql -f load.sql >/dev/null 2>&1; true' + stop, p, 'Which constraint was violated first, and by which key?', [line(r'ERROR:  duplicate key value violates unique constraint', 1), line(r'DETAIL:  Key \(total, city\)', 1)], view=True, setup=setup, shown='cat /var/log/postgresql/postgresql-15-main.log')
    deadlock = '($psql -c "begin; update orders set city = \'x\' where id = 1; select pg_sleep(1.2); update orders set city = \'y\' where id = 2; commit" & $psql -c "begin; update orders set city = \'a\' where id = 2; select pg_sleep(1.2); update orders set city = \'b\' where id = 1; commit"; wait) >/dev/null 2>&1'
    half = 'create table orders(id serial primary key, total int, city text);\n' + sql
    p = files('/srv/app/orders2', {'a.sql': half})
    c.run(G, 'postgres-deadlock', start.format(o='-c log_statement=all -c deadlock_timeout=300ms') + '$psql -f a.sql >/dev/null 2>&1; ' + deadlock + '; $psql -c "drop table orders" ; $psql -f a.sql >/dev/null 2>&1; true' + stop, p, 'Is there a deadlock, and between which processes?', [line(r'ERROR:  deadlock detected'), line(r'DETAIL:  Process \d+ waits for ShareLock', after=1)], view=True, setup=setup, shown='docker logs db')

    log = projects.log_lines(61, 2600)
    def jsonl(lines, special, at):
        out = [json.dumps({'time': stamp(t), 'level': level.lower(), 'component': component, 'message': message, 'host': f'app-{i % 4}', 'trace': f'{i * 2654435761 % 2**32:08x}'}) for i, (t, level, component, message) in enumerate(lines)]
        for k, entry in special: out.insert(k, json.dumps({'time': stamp(lines[k][0]), **entry}))
        return '\n'.join(out) + '\n'
    c.add(G, 'jsonl-oom', 'kubectl logs deploy/orders', jsonl(log, [(811, {'level': 'fatal', 'component': 'cache', 'message': 'cannot allocate 1073741824 bytes for table tariff', 'host': 'app-2', 'rss': 4187593113}), (820, {'level': 'info', 'component': 'supervisor', 'message': 'worker 3 restarted', 'host': 'app-2'})], 0), 'Which allocation failed?', [part(r'"message": "cannot allocate 1073741824[^"]*"')], view=True, match='json')
    c.add(G, 'jsonl-slow', 'kubectl logs deploy/pricing --since=1h', jsonl(projects.log_lines(62, 2200), [(1500, {'level': 'info', 'component': 'db', 'message': 'select rate from tariffs where id = 77: 1 rows in 48211 ms', 'host': 'app-1'})], 0), 'Which database query took far longer than all others?', [part(r'"message": "[^"]*in 48211 ms"')], view=True, match='json')

    def plain(lines, inserts, form='{stamp} {level:5} [{component}] {message}'):
        out = [form.format(stamp=stamp(t), level=level, component=component, message=message) for t, level, component, message in lines]
        for k, text in sorted(inserts, reverse=True): out[k:k] = text.split('\n')
        return '\n'.join(out) + '\n'
    program = {'Dispatch.java': 'import java.util.*;\nimport java.util.concurrent.*;\nimport java.util.logging.*;\n\npublic class Dispatch {\n    static final Logger LOG = Logger.getLogger("dispatch");\n    static final Map<Integer, String> ROUTES = new HashMap<>();\n    static String route(int parcel) {\n        String route = ROUTES.get(parcel % 977);\n        if (route == null) throw new IllegalStateException("no route for parcel " + parcel);\n        return route;\n    }\n    public static void main(String[] args) throws Exception {\n        System.setProperty("java.util.logging.SimpleFormatter.format", "%1$tF %1$tT.%1$tL %4$s [%3$s] %5$s%6$s%n");\n        for (int n = 0; n < 977; n++) if (n != 563) ROUTES.put(n, "line-" + n % 9);\n        ExecutorService pool = Executors.newFixedThreadPool(1);\n        for (int parcel = 1; parcel <= 900; parcel++) {\n            final int p = parcel;\n            Future<String> f = pool.submit(() -> route(p));\n            try { LOG.info("parcel " + p + " takes " + f.get() + ", 0 errors"); }\n            catch (ExecutionException e) { LOG.log(Level.SEVERE, "parcel " + p + " is not dispatched", e); }\n            if (p % 50 == 0) LOG.warning("queue is " + p % 60 + " % full");\n        }\n        pool.shutdown();\n    }\n}\n'}
    c.run(G, 'java-log-cause', 'java Dispatch.java', files('/srv/app/dispatch', program), 'What is the cause of the parcel that was not dispatched?', [line(r'Caused by: java.lang.IllegalStateException: no route for parcel 563|^java.util.concurrent.ExecutionException: java.lang.IllegalStateException', 1), line(r'at Dispatch.route')], view=True, shown='journalctl -u dispatch')
    c.run(G, 'node-unhandled', 'node server.js', files('/srv/app/notify', {'server.js': "const lines = ['mail', 'push', 'sms'];\nasync function send(n) {\n  const kind = lines[n % 3];\n  console.log(`${new Date(1760000000000 + n * 731).toISOString()} info sent ${kind} #${n} in ${n * 37 % 90} ms`);\n  if (n === 431) await connect(undefined);\n}\nasync function connect(options) {\n  return options.host;\n}\nprocess.on('unhandledRejection', (error) => console.error('unhandled rejection:', error));\nprocess.on('exit', (code) => { for (let n = 900; n < 960; n++) console.log(`drain ${n}: ok`); console.log('exit with', code); });\n(async () => { for (let n = 0; n < 900; n++) { send(n); if (n % 10 === 0) await null; } })();\n"}), 'What was the unhandled rejection?', [line(r'^unhandled rejection: TypeError: Cannot read properties of undefined'), line(r'at connect \(/srv/app/notify/server.js:8')], view=True)

    names = ['web', 'api', 'worker', 'db', 'cache']
    logs = projects.log_lines(63, 3000)
    compose = plain([(t, l, names[i * 7 % 5], m) for i, (t, l, _, m) in enumerate(logs)], [(402, '2025-10-09T08:55:20.114Z ERROR [api] migration 0042_add_tariff_zone failed: column "zone" of relation "tariffs" already exists'), (403, '2025-10-09T08:55:20.120Z WARN  [api] starting without migrations')], '{component:<7}| {stamp} {level:5} {message}')
    c.add(G, 'compose-migration', 'docker compose logs --no-color', compose.replace('2025-10-09T08:55:20.114Z ERROR [api]', 'api    | 2025-10-09T08:55:20.114Z ERROR').replace('2025-10-09T08:55:20.120Z WARN  [api]', 'api    | 2025-10-09T08:55:20.120Z WARN '), 'Did a migration fail, and why?', [line(r'migration 0042_add_tariff_zone failed'), line('starting without migrations')], view=True)
    c.add(G, 'flapping-check', 'tail -n 5000 /var/log/app.log', plain(projects.log_lines(64, 3400), [(k, f'{stamp(1760000000 + k / 4)} WARN  [health] check disk of node-{3 if k < 2000 else 5} took {k % 7 + 2} s') for k in range(100, 3000, 211)] + [(2100, f'{stamp(1760000525.2)} ERROR [health] node-5 is read-only: remounted after I/O error on vdb1')]), 'Why did node-5 become read-only?', [line('node-5 is read-only')], view=True)
    c.add(G, 'auth-lockout', 'grep -v healthz /var/log/app.log', plain(projects.log_lines(65, 3100), [(k, f'{stamp(1760000000 + k / 4)} WARN  [auth] password of user 604 is wrong ({n} of 5)') for n, k in enumerate(range(1200, 1215, 3), 1)] + [(1216, f'{stamp(1760000304)} WARN  [auth] user 604 is locked for 900 s')]), 'Which user was locked out, and for how long?', [line('user 604 is locked for 900 s')])
    c.add(G, 'request-by-id', 'cat /var/log/app.log', plain(projects.log_lines(66, 9000), [(4000, f'{stamp(1760001000)} INFO  [http] POST /api/claims 202 31ms request=7f3a9c accepted'), (4400, f'{stamp(1760001100)} INFO  [queue] job claim.import request=7f3a9c moved to the dead letters after 3 attempts')]), 'What happened to the request 7f3a9c?', [line('request=7f3a9c', 'all')])
    c.run(G, 'gunicorn-like-workers', 'python3 pool.py', files('/srv/app/pool', {'pool.py': "import logging, os, signal, sys, time\n\nlogging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format='[%(asctime)s] [%(process)d] [%(levelname)s] %(message)s')\n\n\ndef work(number):\n    for n in range(220):\n        logging.info('job %d.%d: rows=%d errors=0 took %.3f s', number, n, n * 31 % 90, n % 7 / 1000)\n        if number == 2 and n == 140:\n            logging.debug('mapping 9000 pages')\n            sys.stdout.flush()\n            os.kill(os.getpid(), signal.SIGSEGV)\n\n\nfor number in range(5):\n    child = os.fork()\n    if not child:\n        work(number)\n        sys.stdout.flush()\n        os._exit(0)\n    _, status = os.waitpid(child, 0)\n    if os.WIFSIGNALED(status):\n        logging.critical('worker %d (pid %d) was terminated by signal %d', number, child, os.WTERMSIG(status))\n    logging.info('worker %d has exited', number)\n"}), 'Which worker died, and by which signal?', [line(r'was terminated by signal 11')], view=True)

    c.add(G, 'large-log-leak', 'cat /var/log/app/app.log', plain(projects.log_lines(67, 24000), [(15000, f"{stamp(1760003750)} ERROR [db] connection pool exhausted: 64 of 64 in use, oldest held for 911 s by job claim.export"), (15040, f"{stamp(1760003760)} INFO  [db] pool is healthy again")]), 'Why was the connection pool exhausted?', [line('connection pool exhausted')], view=True)
