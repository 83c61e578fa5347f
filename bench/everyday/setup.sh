# Files that the commands work on, made in the current folder. REPO is the folder of Forebay.
set -e
mkdir -p app/src app/node_modules/left/pad logs web java c data
git clone -q "$REPO" repo 2>/dev/null || true
python3 - <<'P'
import json, random, sqlite3
random.seed(7)
with open('data/orders.csv', 'w') as f:
    f.write('id,customer,city,amount,status\n')
    for n in range(1, 6001):
        status = 'CORRUPT' if n == 4242 else random.choice(['paid', 'paid', 'open', 'shipped'])
        f.write(f'{n},customer-{n % 313},{random.choice(["Oslo", "Rome", "Lima", "Kyiv"])},{random.randint(5, 900)}.{n % 100:02},{status}\n')
db = sqlite3.connect('data/shop.db')
db.execute('create table customers (id integer primary key, email text not null, vip integer default 0)')
db.execute('create table orders (id integer primary key, customer integer references customers(id), cents integer, note text)')
for n in range(400): db.execute('insert into customers values (?,?,?)', (n, f'user{n}@example.org', n == 77))
for n in range(2500): db.execute('insert into orders values (?,?,?,?)', (n, n % 400, n * 37 % 9999, 'refund requested' if n == 1999 else 'ok'))
db.commit()
with open('data/events.jsonl', 'w') as f:
    for n in range(3000):
        f.write(json.dumps({'ts': 1700000000 + n, 'level': 'error' if n == 2718 else 'info', 'service': random.choice(['api', 'web', 'mail']), 'msg': 'upstream timeout after 30s' if n == 2718 else f'request {n} served', 'user': {'id': n % 97, 'plan': 'pro' if n % 9 == 0 else 'free'}}) + '\n')
json.dump({'items': [{'id': f'itm_{n:05}', 'name': f'Thing {n}', 'state': 'archived' if n == 199 else 'active', 'url': f'https://example.org/items/{n}', 'tags': [], 'description': 'A long text that nobody needs at first. ' * 6, 'owner': {'login': 'ana' if n % 2 else 'bo', 'avatar_url': f'https://example.org/a/{n}.png', 'site_admin': False}} for n in range(260)], 'next': None}, open('data/items.json', 'w'), indent=1)
with open('logs/service.log', 'w') as f:
    for n in range(9000):
        level = 'INFO'; text = f'GET /items/{random.randint(1, 5000)} 200 {random.randint(1, 90)}ms'
        if n == 6120: level, text = 'ERROR', 'database connection refused: 10.0.0.7:5432'
        if n % 700 == 3: level, text = 'WARN', f'slow query {random.randint(900, 4000)}ms'
        f.write(f'2026-03-01T10:{n // 150:02}:{n // 3 % 60:02}.{n % 1000:03}Z {level} [worker-{n % 8}] {text}\n')
for k in range(40):
    with open(f'app/src/module_{k}.py', 'w') as f:
        f.write(f'"""Module {k}."""\nimport os\n\n\nclass Service{k}:\n    def __init__(self, config):\n        self.config = config\n\n    def handle_request(self, request):\n        value = request.get("value")\n        if value is None:\n            raise ValueError("missing value in module {k}")\n        return self.compute_total(value)\n\n    def compute_total(self, value):\n        return value * {k}\n\n' + ''.join(f'def helper_{k}_{j}(x):\n    """Helps with {j}."""\n    # TODO: remove {j}\n    return os.path.join("a", str(x), "{j}")\n\n' for j in range(12)))
with open('app/test_app.py', 'w') as f:
    f.write('import unittest\n' + ''.join(f'class T{k}(unittest.TestCase):\n' + ''.join(f'    def test_case_{k}_{j}(self):\n        self.assertEqual({j if (k, j) != (17, 3) else 4}, {j})\n' for j in range(20)) for k in range(30)) + "if __name__ == '__main__': unittest.main()\n")
with open('java/Main.java', 'w') as f:
    f.write('public class Main {\n' + ''.join(f'  static int f{n}() {{ return {n}; }}\n' for n in range(50)) + ''.join(f'  static void g{n}() {{ String s = f{n % 50}(); }}\n' for n in range(45)) + '  public static void main(String[] a) { missing(); }\n}\n')
with open('c/main.c', 'w') as f:
    f.write('#include <stdio.h>\n' + ''.join(f'int f{n}(int x) {{ int unused{n}; return x + undeclared_{n % 4}; }}\n' for n in range(40)) + 'int main(void) { return f0(1) }\n')
with open('c/ok.c', 'w') as f:
    f.write('#include <stdio.h>\n' + ''.join(f'int g{n}(int x) {{ int unused{n}; return x; }}\n' for n in range(120)) + 'int main(void) { return 0; }\n')
with open('web/index.html', 'w') as f:
    f.write('<!doctype html><html><head><title>Shop</title><script>' + 'var a=1;' * 2000 + '</script></head><body><nav>' + ''.join(f'<a href="/c/{n}">Category {n}</a>' for n in range(80)) + '</nav><main><h1>Returns</h1><p>Items can be returned within 45 days.</p>' + ''.join(f'<p>Paragraph {n} about shipping and handling in general.</p>' for n in range(300)) + '</main></body></html>')
P
mkdir -p rs/src && cat > rs/Cargo.toml <<'T'
[package]
name = "rs"
version = "0.1.0"
edition = "2021"
T
python3 - > rs/src/main.rs <<'P'
for n in range(81): print(f'fn f{n}() -> u32 {{ let s: u32 = "x{n}"; s }}')
print('fn main() { println!("{}", f0()); }')
P
