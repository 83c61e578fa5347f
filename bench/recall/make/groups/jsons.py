"""JSON that tools print: which record is meant, and which one is unlike the others?"""
import json
import projects
from corpus import block, files, line, part

G = 'json'


def make(c):
    n = projects.Names(81)
    def pods(seed, count):
        n = projects.Names(seed)
        items = []
        for i in range(count):
            app = n.noun()
            items.append({'metadata': {'name': f'{app}-{n.random.getrandbits(40):010x}', 'namespace': n.pick('shop', 'billing', 'ops'), 'labels': {'app': app, 'tier': n.pick('front', 'back'), 'release': f'r{n.number(100, 400)}'}},
                          'spec': {'nodeName': f'node-{n.number(1, 12)}', 'containers': [{'name': app, 'image': f'registry.example/{app}:{n.number(1, 9)}.{n.number(0, 30)}', 'resources': {'limits': {'cpu': f'{n.number(1, 9)}00m', 'memory': f'{n.number(1, 8) * 128}Mi'}}}]},
                          'status': {'phase': 'Running', 'podIP': f'10.42.{n.number(0, 11)}.{n.number(2, 250)}', 'containerStatuses': [{'ready': True, 'restartCount': n.number(0, 2), 'state': {'running': {'startedAt': f'2026-01-{n.number(1, 28):02}T{n.number(0, 23):02}:{n.number(0, 59):02}:00Z'}}}]}})
        return items
    items = pods(82, 140)
    items[57]['status'] = {'phase': 'Pending', 'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', 'message': '0/12 nodes are available: 12 Insufficient memory.'}]}
    items[57]['spec']['containers'][0]['resources']['limits']['memory'] = '64Gi'
    c.add(G, 'pods-pending', 'kubectl get pods -A -o json', json.dumps({'apiVersion': 'v1', 'kind': 'List', 'items': items}, indent=4), 'Which pod is not running, and why?', [line(r'"phase": "Pending"'), line(r'Insufficient memory')], view=True, match='json')
    items = pods(83, 120)
    items[88]['status']['containerStatuses'][0] = {'ready': False, 'restartCount': 417, 'state': {'waiting': {'reason': 'CrashLoopBackOff', 'message': 'back-off 5m0s restarting failed container'}}}
    c.add(G, 'pods-crashloop-compact', 'kubectl get pods -o json | jq -c .', json.dumps({'kind': 'List', 'items': items}, separators=(',', ':')), 'Which container restarts over and over?', [part(r'"restartCount":417'), part(r'"reason":"CrashLoopBackOff"')], view=True, match='json')
    rows = [{'id': i, 'customer': n.noun() + f' {n.number(1, 400)}', 'city': n.pick(*projects.CITIES), 'cents': n.number(500, 90000), 'state': n.pick('paid', 'paid', 'open', 'sent'), 'lines': [{'sku': f'{n.field()[:3].upper()}-{n.number(100, 999)}', 'count': n.number(1, 9)} for _ in range(n.number(1, 4))]} for i in range(1, 700)]
    rows[411]['cents'] = -129900
    c.add(G, 'orders-negative', 'curl -s http://127.0.0.1:8080/api/orders', json.dumps(rows), 'Is there an order with a negative amount?', [part(r'"id": 412'), part(r'"cents": -129900')], view=True, match='json')
    c.add(G, 'orders-by-id', 'curl -s http://127.0.0.1:8080/api/orders | jq .', json.dumps(rows, indent=2), 'Which customer placed order 233, and how is its state?', [line(r'"id": 233,', after=4)], match='json')
    settings = {noun: {field: {'value': n.number(), 'unit': n.pick('ms', 'kB', '%'), 'limits': {'low': 0, 'high': n.number(100, 900)}, 'source': n.pick('default', 'file', 'default')} for field in projects.FIELDS} for noun in projects.NOUNS}
    settings['tariff']['margin']['source'] = 'environment'
    settings['voucher']['discount']['limits']['high'] = 4711
    c.add(G, 'settings-nested', 'app config show --json', json.dumps(settings, indent=2), 'Which value comes from the environment?', [line(r'"source": "environment"')], match='json')
    c.add(G, 'settings-lookup', 'app config show --format json', json.dumps(settings, indent=1), 'What is the upper limit of the discount of a voucher?', [line(r'"high": 4711')], match='json')
    events = [{'at': 1760000000 + i * 3, 'kind': n.pick('login', 'view', 'view', 'buy', 'logout'), 'user': n.number(1, 500), 'ip': f'10.1.{n.number(0, 9)}.{n.number(1, 250)}', 'ok': True} for i in range(2500)]
    events[1777].update(kind='role_change', user=7, ok=True, detail='viewer -> owner')
    c.add(G, 'events-jsonl-rare-kind', 'cat events.jsonl', '\n'.join(json.dumps(e) for e in events) + '\n', 'Was a role changed, and to what?', [part(r'"kind": "role_change"'), part(r'"detail": "viewer -> owner"')], view=True, match='json')
    events[600].update(ok=False, error='token expired at 1759999990')
    c.add(G, 'events-jsonl-failed', 'jq -c . events.jsonl', '\n'.join(json.dumps(e, separators=(',', ':')) for e in events if e['kind'] != 'role_change') + '\n', 'Which event was not ok?', [part(r'"ok":false'), part(r'"error":"token expired at \d+"')], view=True, match='json')

    python = projects.python(84, modules=6)
    p = files('/srv/app/json1', python | {'app/late.py': 'def late(days):\n    if days > dayz:\n        return True\n    return False\n'})
    c.run(G, 'ruff-json', 'ruff check --no-cache --select ALL --output-format json app', p, 'Which undefined name is reported?', [line(r'"message": "Undefined name `dayz`"')], match='json')
    c.run(G, 'cargo-metadata', 'cargo metadata --offline --format-version 1', files('/srv/app/json2', {'Cargo.toml': '[workspace]\nresolver = "2"\nmembers = ["crates/*"]\n'} | {f'crates/{noun}/Cargo.toml': f'[package]\nname = "acme-{noun}"\nversion = "0.{i}.3"\nedition = "{2018 if noun == "ticket" else 2021}"\n\n[features]\ndefault = ["{projects.FIELDS[i % 20]}"]\n{projects.FIELDS[i % 20]} = []\n' for i, noun in enumerate(projects.NOUNS)} | {f'crates/{noun}/src/lib.rs': '' for noun in projects.NOUNS}), 'Which edition does the package acme-ticket use?', [part(r'"name":"acme-ticket".*?("edition":"2018")')], match='json')
    c.run(G, 'gcc-diagnostics-json', 'for f in src/*.c; do gcc -Wall -Wextra -fdiagnostics-format=json -Isrc -c -o /dev/null $f; done', files('/srv/app/json3', projects.c(85, files=8) | {'src/zz_limit.c': 'int limit(int x)\n{\n    return x + step;\n}\n'}), 'Is there an error among the diagnostics, and where?', [part(r'"message": "‘step’ undeclared[^"]*"')], view=True, match='json')
    c.run(G, 'go-test-json', 'go test -json ./...', files('/srv/app/json4', projects.go(86, packages=5, functions=12) | {'zone/zone.go': 'package zone\n\n// Of returns the zone of a code.\nfunc Of(code int) string {\n\tif code < 50 {\n\t\treturn "north"\n\t}\n\treturn "south"\n}\n', 'zone/zone_test.go': 'package zone\n\nimport "testing"\n\nfunc TestBorder(t *testing.T) {\n\tif got := Of(50); got != "north" {\n\t\tt.Fatalf("zone of 50 is %q, want %q", got, "north")\n\t}\n}\n'}), 'Which test failed and what does it say?', [part(r'"Output":"    zone_test.go:7: zone of 50 is [^}]*north..')], view=True, match='json')
    c.run(G, 'eslint-json', 'eslint -f json src | python3 -m json.tool', files('/srv/app/json5', {f'src/{noun}.js': f'var {noun} = 1\nfunction f(a) {{ var b = 2; return a == {noun} }}\n' for noun in projects.NOUNS} | {'src/broken.js': 'function g( { return 1 }\n', 'eslint.config.mjs': "export default [{ files: ['**/*.js'], rules: { 'no-var': 'warn', eqeqeq: 'warn', 'no-unused-vars': 'warn' } }];\n"}), 'Which file has a parsing error?', [line(r'"message": "Parsing error'), line(r'"filePath": ".*/broken.js"')], view=True, match='json')
    sql = 'create table meters(id integer, city text, reading real, state text);\n' + ''.join(f"insert into meters values({i}, '{projects.CITIES[i % 16]}', {i * 37 % 900 / 10}, '{'ok' if i != 333 else 'tampered'}');\n" for i in range(600))
    c.run(G, 'sqlite-json', "sqlite3 -json :memory: '.read load.sql' 'select * from meters'", files('/srv/app/json6', {'load.sql': sql}), 'Which meter has another state than ok?', [part(r'"id":333'), part(r'"state":"tampered"')], view=True, match='json')
    c.run(G, 'npm-ls-json', 'npm ls --all --json', files('/srv/app/json7', {'package.json': json.dumps({'name': 'tree', 'version': '1.0.0', 'dependencies': {f'@acme/{x}': '^1.0.0' for x in projects.NOUNS}})} | {f'node_modules/@acme/{x}/package.json': json.dumps({'name': f'@acme/{x}', 'version': f'1.{i}.0', 'dependencies': {f'@acme/{projects.NOUNS[(i * 7 + k) % 30]}': '^1.0.0' if not (x == 'depot' and k == 1) else '^8.0.0' for k in (1, 2, 3)}}) for i, x in enumerate(projects.NOUNS)}), 'Which version of @acme/refund is installed?', [part(r'"@acme/refund": \{\s*("version": "[^"]+")')], match='json')
    p = files('/srv/app/json8', python)
    c.run(G, 'coverage-json', 'coverage run -m pytest -q tests >/dev/null; coverage json -q -o - --pretty-print', p, 'How many per cent of all lines are covered?', [line(r'"percent_covered": ', -1)], match='json', setup="printf 'def never(x):\\n    y = x\\n    return y\\n' > app/dead.py; printf '[run]\\nsource = app\\n' > .coveragerc")
    tree = {'name': 'root', 'children': [{'name': noun, 'size': 0, 'children': [{'name': f'{field}.dat', 'size': n.number(100, 9000), 'mode': '0644'} for field in projects.FIELDS]} for noun in projects.NOUNS]}
    tree['children'][19]['children'][4].update(size=73400320512)
    c.add(G, 'tree-huge-file', 'tree -J --du', json.dumps(tree, indent=2), 'Which file is by far the largest?', [line(r'"size": 73400320512', before=1)], view=True, match='json')
