"""Source files and generated code, as an agent reads them."""
import json, re
import projects
from corpus import block, files, line, part

G = 'code'


def make(c):
    n = projects.Names(161)
    def read(id, name, text, question, marks, **more): c.add(G, id, f'cat {name}', text, question, marks, tool='Read', **more)
    big = projects.python(162, modules=10, functions=14)
    text = '\n\n'.join(t for name, t in sorted(big.items()) if name.startswith('app/') and t)
    ledger = 'def close_period(entries, rate):\n    """Book the difference between debit and credit to the suspense account."""\n    debit = sum(e.cents for e in entries if e.side == "D")\n    credit = sum(e.cents for e in entries if e.side == "C")\n    if debit != credit:\n        entries.append(Entry("9999", debit - credit, "C"))\n    return round(debit * rate)\n'
    at = text.index('\n\n\n', len(text) * 2 // 3)
    read('python-suspense', 'app/all.py', text[:at] + '\n\n\n' + ledger + text[at:], 'What happens at the end of a period if the books do not balance?', [block(r'^def close_period', r'entries.append\(Entry')])
    rust = '\n'.join(t for name, t in sorted(projects.rust(163, modules=10, functions=12).items()) if name.endswith('.rs'))
    at = rust.index('\n#[cfg(test)]', len(rust) // 3)
    read('rust-backoff', 'src/rules.rs', rust[:at] + '\n/// Waiting time before the next attempt: doubles up to one minute.\npub fn backoff(attempt: u32) -> std::time::Duration {\n    std::time::Duration::from_millis((250u64 << attempt.min(10)).min(60_000))\n}\n' + rust[at:], 'What is the longest pause between two tries?', [block(r'^/// Waiting time before', r'from_millis')])
    c_text = '\n'.join(t for name, t in sorted(projects.c(164, files=14, functions=12, warnings=False).items()) if name.endswith('.c'))
    at = c_text.index('\nint ', len(c_text) // 2)
    read('c-parser', 'src/all.c', c_text[:at] + '\n/* Reads a record: two bytes of length, then the payload. Returns -1 if the payload is cut off. */\nint read_record(const unsigned char *at, const unsigned char *end)\n{\n    size_t length = (size_t)at[0] << 8 | at[1];\n    if (length > (size_t)(end - at - 2))\n        return -1;\n    return (int)length;\n}\n' + c_text[at:], 'What if a record is truncated?', [block(r'^/\* Reads a record', r'return -1')])
    java = '\n'.join(t for name, t in sorted(projects.java(165, classes=16, methods=12, tests=False).items()))
    at = java.index('    public static', len(java) * 3 // 4)
    read('java-lock', 'Rules.java', java[:at] + '    /** Takes both locks in the order of their names, so that two transfers never wait for each other. */\n    public static void lockBoth(java.util.concurrent.locks.Lock a, java.util.concurrent.locks.Lock b, boolean swapped) {\n        (swapped ? b : a).lock();\n        (swapped ? a : b).lock();\n    }\n\n' + java[at:], 'How are deadlocks prevented?', [line(r'Takes both locks in the order', after=3)])
    ts = '\n'.join(t for name, t in sorted(projects.typescript(166, modules=14, functions=12).items()) if name.endswith('.ts'))
    at = ts.index('\nexport function', len(ts) // 4)
    read('typescript-currency', 'src/all.ts', ts[:at] + '\nexport function formatMoney(cents: number, currency: "EUR" | "CHF"): string {\n  // Francs are rounded to five centimes, as cash registers do.\n  const value = currency === "CHF" ? Math.round(cents / 5) * 5 : cents;\n  return `${currency} ${(value / 100).toFixed(2)}`;\n}\n' + ts[at:], 'How is CHF rounded when money is formatted?', [line(r'Francs are rounded', after=1)])

    js = projects.javascript(167, modules=14, functions=14)
    entry = {n_: t for n_, t in js.items() if n_.startswith('src/')} | {'src/index.js': ''.join(f"window.{n_[4:-3]} = require('./{n_[4:-3]}.js');\n" for n_ in sorted(js) if n_.startswith('src/')) + "window.ping = function (host) { return fetch('https://telemetry.example/v1/ping?host=' + host, { keepalive: true }); };\n"}
    c.run(G, 'minified-telemetry', 'cat dist/main.js', files('/srv/app/mini', entry), 'Which address does the bundle send telemetry to?', [part(r'fetch\("https://telemetry.example/v1/ping\?host="')], setup='webpack --mode production --entry ./src/index.js >/dev/null', tool='Read')
    c.run(G, 'bundle-source-map-dev', 'cat dist/main.js', files('/srv/app/mini2', entry), 'What does the function ping do in the development bundle?', [part(r'telemetry.example/v1/ping\?host=')], setup='webpack --mode development --devtool=false --entry ./src/index.js >/dev/null', tool='Read')
    css = ''.join(f'.{x}__{f}{{margin:{i}px;padding:{i * 3 % 17}px;color:#{i * 4951 % 4096:03x}}}' for x in projects.NOUNS for i, f in enumerate(projects.FIELDS)) + '@media print{.page__footer{display:none!important}}' + ''.join(f'.{x}--open{{display:block}}' for x in projects.NOUNS)
    read('minified-css', 'dist/style.css', css, 'Which rule hides the footer when printing?', [part(r'@media print\{\.page__footer\{display:none!important\}')])
    sql = 'PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n' + ''.join(f'CREATE TABLE {x} (id INTEGER PRIMARY KEY, ' + ', '.join(f'{f} INTEGER' for f in projects.FIELDS[i % 8:i % 8 + 6]) + ');\n' + ''.join(f'INSERT INTO {x} VALUES({k}, ' + ', '.join(str(k * 31 % 97 + j) for j in range(6)) + ');\n' for k in range(40)) for i, x in enumerate(projects.NOUNS)) + 'CREATE TRIGGER refund_audit AFTER DELETE ON refund BEGIN INSERT INTO audit VALUES(old.id, \'deleted\'); END;\nCOMMIT;\n'
    read('sql-dump-trigger', 'dump.sql', sql, 'Is there an audit log for refunds that are removed?', [line(r'CREATE TRIGGER refund_audit')])
    yaml = ''.join(f'---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {x}\n  labels:\n    app: {x}\nspec:\n  replicas: {n.number(1, 6)}\n  template:\n    spec:\n      containers:\n        - name: {x}\n          image: registry.example/{x}:{n.number(1, 9)}.{n.number(0, 20)}\n          ports:\n            - containerPort: {8000 + i}\n          resources:\n            limits:\n              memory: {n.number(1, 8) * 128}Mi\n          env:\n' + ''.join(f'            - name: {f.upper()}\n              value: "{n.number()}"\n' for f in projects.FIELDS[:7]) + ('          securityContext:\n            privileged: true\n' if x == 'roster' else '') for i, x in enumerate(projects.NOUNS))
    read('manifest-privileged', 'deploy/all.yaml', yaml, 'Does any container have more rights than it should?', [line(r'privileged: true', before=1)])
    ini = ''.join(f'[{x}]\n' + ''.join(f'{f} = {n.number()}\n' for f in projects.FIELDS) + '\n' for x in projects.NOUNS).replace('[sensor]\n', '[sensor]\n; the vendor allows at most 12 polls a minute\npolls_per_minute = 30\n')
    read('ini-polls', 'station.ini', ini, 'How often are sensors polled, and how often does the vendor allow it?', [line(r'the vendor allows', after=1)])

    p = files('/srv/app/asm', projects.c(168, files=6, functions=8, warnings=False) | {'src/mask.c': 'unsigned mask_bits(unsigned v)\n{\n    return (v ^ 0xdeadbeef) & 0x00ffff00;\n}\n'})
    c.run(G, 'objdump', 'objdump -d --no-show-raw-insn app', p, 'Where is the constant 0xdeadbeef used?', [line(r'0xdeadbeef')], setup='make >/dev/null && gcc -c -o build/mask.o src/mask.c && gcc -o app build/*.o')
    c.run(G, 'gcc-assembly', 'for f in src/*.c; do gcc -S -O1 -fverbose-asm -Isrc -o - $f; done', p, 'What does mask_bits do with its argument?', [line(r'xorl\s+\$-559038737|xorl.*559038737')])
    c.run(G, 'python-dis', 'python3 -m dis app/all.py', files('/srv/app/dis', {'app/all.py': text[:14000].rsplit('\n\n\n', 1)[0] + '\n\n\ndef audit(value):\n    assert value != 424242, "sentinel"\n    return value\n'}), 'In which instruction is the constant 424242 loaded?', [line(r'424242')])
    lock = {'name': 'tree', 'version': '1.0.0', 'dependencies': {f'@acme/{x}': f'file:packages/{x}' for x in projects.NOUNS}}
    c.run(G, 'package-lock', 'cat package-lock.json', files('/srv/app/lock', {'package.json': json.dumps(lock)} | {f'packages/{x}/package.json': json.dumps({'name': f'@acme/{x}', 'version': f'2.{i}.7', 'license': 'MIT' if x != 'gauge' else 'X', 'bin': {x: 'cli.js'}, 'engines': {'node': '>=18' if x != 'roster' else '>=22.4'}, 'dependencies': {f'@acme/{projects.NOUNS[(i + 3) % 30]}': '^2.0.0'}}) for i, x in enumerate(projects.NOUNS)}), 'Which version of node does @acme/roster need?', [part(r'"packages/roster": \{.*?("node": ">=22.4")')], match='json', setup='npm install --offline --package-lock-only --no-audit --no-fund >/dev/null 2>&1', tool='Read')
    make_text = '.DEFAULT_GOAL = all\n' + ''.join(f'\n{x}: $(wildcard {x}/*.c)\n\t@echo building {x}\n\t$(CC) $(CFLAGS) -o out/{x} $^ -l{projects.FIELDS[i % 20]}\n\n{x}-clean:\n\trm -f out/{x}\n\n{x}-check: {x}\n\t./out/{x} --selftest --limit {n.number()}\n' for i, x in enumerate(projects.NOUNS)) + '\nrelease: all\n\tgit diff --quiet || (echo "the tree is not clean"; exit 1)\n\ttar czf station-$(VERSION).tgz out\n\tgpg --detach-sign station-$(VERSION).tgz\n'
    read('makefile-release', 'Makefile', make_text * 1, 'Which steps does the release target take?', [line(r'^release: all', after=3)])

    # The answer has a number that occurs once, so that a value of another section does not count.
    kinds = sorted(projects.java(169, classes=20, methods=12, tests=False).items())
    kind, body = kinds[9][0][8:-5], kinds[9][1].split('public static int ')
    method = body[6].split('(')[0]
    body[6] = re.sub(r'return .*;', 'return value * 31 + 4711;', body[6])
    kinds[9] = (kinds[9][0], 'public static int '.join(body))
    read('java-same-name', 'all.java', '\n'.join(text for _, text in kinds), f'What does {kind}.{method} return?', [line(r'return value \* 31 \+ 4711')])
    packages = [(name, text) for name, text in sorted(projects.go(170, packages=24, functions=10).items()) if name.endswith('.go') and '_test' not in name]
    name, body = packages[15][0], packages[15][1].split('\nfunc ')
    func = body[5].split('(')[0]
    body[5] = re.sub(r'return .*', 'return value<<3 + 4711', body[5])
    packages[15] = (name, '\nfunc '.join(body))
    c.run(G, 'go-same-name', 'head -n 200 */*.go', files('/srv/app/gosame', dict(packages)), f'What does {func} of the package {name.split("/")[0]} return?', [line(r'return value<<3 \+ 4711')])
    ini = ''.join(f'[{x}]\n' + ''.join(f'{f} = {4711 if (x, f) == ("vendor", "rate") else n.number()}\n' for f in projects.FIELDS) + '\n' for x in projects.NOUNS)
    read('ini-section', 'limits.ini', ini, 'What is the rate of a vendor?', [line(r'^rate = 4711')])
    read('manifest-memory', 'deploy/services.yaml', re.sub(r'(name: quote\n          image.*?memory: )\w+', r'\g<1>1536Mi', yaml, 1, re.S), 'How much memory may the quote service use?', [line(r'memory: 1536Mi')])
    table = 'package rates\n\n// Rates by zone and class.\nvar Rates = map[string]map[string]int{\n' + ''.join(f'\t"{x}": {{\n' + ''.join(f'\t\t"{f}": {4711 if (x, f) == ("carrier", "offset") else n.number(100, 999)},\n' for f in projects.FIELDS) + '\t},\n' for x in projects.NOUNS) + '}\n'
    read('go-map-literal', 'rates.go', table, 'Which rate applies to the zone carrier and the class offset?', [line(r'"offset": 4711')])
    c.run(G, 'python-large-module', 'cat app/*.py tests/*.py', files('/srv/app/large', projects.python(171, modules=28, functions=30, cases=8) | {'app/zz_tax.py': 'def vat(cents, country):\n    """Value added tax; Denmark has no reduced rate."""\n    rate = {"DK": 25, "DE": 7, "AT": 10}[country]\n    return (cents * rate + 50) // 100\n'}), 'Which tax rate is used for Austria?', [line(r'rate = \{"DK"')])
