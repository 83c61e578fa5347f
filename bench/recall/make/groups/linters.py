"""Linters and type checkers: which of the many findings is a bug?"""
import projects
from corpus import block, files, line

G = 'linters'

MESSY = '''import os, sys
import json
from datetime import *

def %(name)s_%(field)s( items,flag = True,cache = []) :
    """work"""
    total=0
    l = len(items)
    for i in range(0,l):
        if flag == True:
            total = total+items[i]['%(field)s']
        else :
            total = total+ 1   # a comment that is too long to fit in a line of the usual length, whatever the limit is set to
    try:
        print("%%s %%d" %% ("%(name)s",total))
    except:
        pass
    return total


class %(kind)s:
    def Get(self, ID):
        unused = json.dumps(self.__dict__)
        return ID
'''


def messy(count, seed=41):
    n = projects.Names(seed)
    return {f'app/{noun}_{i}.py': MESSY % {'name': noun, 'field': n.field(), 'kind': noun.capitalize()} for i, noun in enumerate((projects.NOUNS * 3)[:count])}


def make(c):
    texts = messy(16) | {'app/prices.py': 'RATES = {"std": 20, "low": 5}\n\n\ndef gross(net, kind):\n    rate = RATES[kind]\n    return net + net * rates / 100\n'}
    p = files('/srv/app/lint1', texts)
    c.run(G, 'ruff-undefined-name', 'ruff check --output-format=full --select E,F,W,B,N,UP --no-cache .', p, 'Is there an undefined name among the findings?', [line(r'F821.*rates|^F821 ', 1), line(r'app/prices.py:6:24')], view=True)
    c.run(G, 'ruff-concise', 'ruff check --output-format=concise --select ALL --no-cache app', p, 'Where is a name used that is not defined?', [line(r'prices.py:6:24: F821')])
    c.run(G, 'flake8', 'flake8 app', p, 'Which finding is a bug at run time and not a matter of style?', [line(r'F821')], view=True)
    c.run(G, 'pylint', 'pylint -j1 app', p, 'Which errors (E) does pylint report?', [line(r": E0602: Undefined variable 'rates'")], view=True)
    c.run(G, 'black-diff', 'black --check --diff --workers 1 app', files('/srv/app/lint2', messy(9, 42) | {'app/broken.py': 'def close(items):\n    for item in items\n        item.close()\n'}), 'Which file can black not parse?', [line(r'broken.py.*[Cc]annot parse|cannot (format|parse).*broken', 1)], view=True)
    c.run(G, 'bandit', 'bandit -r app', files('/srv/app/lint3', messy(24, 43) | {'app/export.py': 'import subprocess\n\n\ndef export(name):\n    """Write one archive."""\n    return subprocess.call("tar czf /tmp/%s.tgz ." % name, shell=True)\n'}), 'Which finding has high severity, and where?', [line(r'Severity: High', before=1), line(r'Location: .*export.py:6')], view=True)

    typed = {}
    n = projects.Names(44)
    for noun in n.modules(22):
        typed[f'app/{noun}.py'] = f'from __future__ import annotations\n\n\ndef first_{noun}(items: list[int]) -> int:\n    return items[0] if items else None\n\n\ndef name_{noun}(value: int) -> str:\n    return value\n\n\ndef untyped_{noun}(a, b):\n    return a + b\n\n\ndef total_{noun}(values: dict[str, int]) -> int:\n    total: int = ""\n    for key in values:\n        total += key\n    return total\n'
    typed['app/checkout.py'] = 'from dataclasses import dataclass\n\n\n@dataclass\nclass Basket:\n    items: list[str]\n    paid: bool = False\n\n\ndef close(basket: Basket) -> None:\n    if not basket.payed:\n        raise ValueError("not paid")\n    basket.items.clear()\n'
    p = files('/srv/app/lint4', typed)
    c.run(G, 'mypy-attribute', 'mypy --strict --cache-dir=/dev/null app', p, 'Which attribute does Basket not have?', [line(r'"Basket" has no attribute "payed"')])
    c.run(G, 'mypy-pretty', 'mypy --pretty --show-error-context --cache-dir=/dev/null app', p, 'Which attribute does Basket not have, and in which function?', [line(r'In function "close"|app/checkout.py: note: In function', 1), line(r'"Basket" has no attribute')])

    js = {f'src/{noun}.js': f"var {noun} = require('./{noun}')\nfunction total(items) {{\n    var sum = 0\n    var unused = 1\n    for (var i = 0; i < items.length; i++) {{\n        if (items[i].{field} == null) continue\n        sum += items[i].{field}\n    }}\n    debugger\n    return sum\n}}\nvar total2 = 3\n" for noun, field in zip(projects.NOUNS, projects.FIELDS * 2)}
    js['src/order.mjs'] = "export function status(order) {\n  switch (order.state) {\n    case 'open': return 1;\n    case 'paid': return 2;\n    case 'open': return 3;\n  }\n}\n"
    js['eslint.config.mjs'] = "const rules = Object.fromEntries(['no-unused-vars', 'no-var', 'eqeqeq', 'no-debugger', 'no-undef', 'no-dupe-keys', 'no-duplicate-case', 'prefer-const', 'no-redeclare', 'vars-on-top', 'one-var', 'no-plusplus', 'curly', 'strict'].map((name) => [name, ['no-duplicate-case', 'no-dupe-keys'].includes(name) ? 'error' : 'warn']));\nexport default [{ files: ['**/*.js', '**/*.mjs'], rules }];\n"
    p = files('/srv/app/lint5', js)
    c.run(G, 'eslint-stylish', 'eslint src', p, 'Which finding is an error and not a warning?', [line(r'error +Duplicate case label'), line(r'src/order.mjs')], view=True)
    js['eslint.config.mjs'] = js['eslint.config.mjs'].replace("? 'error' : 'warn'", "? 'error' : 'error'")
    js['src/tariff.js'] = js['src/tariff.js'].replace('return sum', 'return sun')
    c.run(G, 'eslint-undef', 'eslint --color src', files('/srv/app/lint6', js), "Where is the name 'sun' used, which is not defined?", [line(r"'sun' is not defined")])

    sh = {f'bin/{noun}.sh': f'#!/bin/sh\nfor f in $(ls *.{field}); do\n  echo $f\n  cat $f | grep {noun} | wc -l\n  if [ $f == "x" ]; then\n    cd $HOME/{noun}\n  fi\ndone\nread line\nprintf $line\n' for noun, field in zip(projects.NOUNS[:20], projects.FIELDS)}
    sh['bin/clean.sh'] = '#!/bin/sh\nTARGET="$1"\nrm -rf "$TARGET/"*\n'
    c.run(G, 'shellcheck', 'shellcheck bin/*.sh', files('/srv/app/lint7', sh), 'Is there a dangerous rm -rf in one of the scripts?', [line(r'^In bin/clean.sh line 3', after=2), line(r'SC2115')], view=False)

    yaml = {f'deploy/{noun}.yaml': f'kind: Service\nmetadata:\n    name: {noun}\n    labels: {{app: {noun}, tier: "backend" }}\nspec:\n  ports:\n  - {{port: {80 + i}}}\n  - port:   {8000 + i}\n    name: metrics  \n  replicas: yes\n' for i, noun in enumerate(projects.NOUNS)}
    yaml['deploy/meter.yaml'] = 'kind: Service\nmetadata:\n  name: meter\n  name: meter-two\nspec:\n  ports:\n    - port: 80\n   targetPort: 90\n'
    c.run(G, 'yamllint-syntax', 'yamllint deploy', files('/srv/app/lint8', yaml), 'Which file has a syntax error?', [line(r'syntax error'), line(r'^deploy/meter.yaml|duplication of key', 1)], view=True)

    rust = projects.rust(45, modules=10, functions=6, cases=1)
    for name in [n for n in rust if n.startswith('src/') and n != 'src/lib.rs']:
        rust[name] = rust[name].replace('\n#[cfg(test)]', '\n/// Sum.\npub fn sum_up(values: &Vec<i64>) -> i64 {\n    let mut total = 0;\n    for i in 0..values.len() {\n        total = total + values[i];\n    }\n    return total;\n}\n\n#[cfg(test)]', 1)
    rust['src/lib.rs'] += '/// Share of a part in a whole.\npub fn share(part: u32, whole: u32) -> bool {\n    part as f64 / whole as f64 == f64::NAN\n}\n'
    c.run(G, 'clippy', 'cargo clippy', files('/srv/app/lint9', rust), 'Which comparison can never be true?', [line(r'doomed comparison with .NAN.|invalid_nan_comparisons|incorrect NaN comparison', 1), line(r'src/lib.rs:\d+:\d+')], view=True)
    go = projects.go(46, packages=30, functions=6)
    for name in [n for n in go if n.endswith('.go') and '_test' not in n]:
        package = name.split('/')[0]
        go[name] = go[name].replace(f'package {package}\n', f'package {package}\n\nimport "fmt"\n', 1) + '\nfunc show(name string, count int) {\n\tfmt.Printf("%d has %s\\n", name, count)\n\tfmt.Println("done\\n")\n\tfor i := 0; i < count; i++ {\n\t\tgo func() { fmt.Println(i, name) }()\n\t}\n\tcount = count\n\tfmt.Printf("%s\\n", count, name)\n}\n'
    go['locker/locker.go'] = 'package locker\n\nimport "sync"\n\n// Box has a lock.\ntype Box struct {\n\tsync.Mutex\n\tn int\n}\n\n// Copy returns the box.\nfunc Copy(b Box) Box {\n\treturn b\n}\n'
    c.run(G, 'go-vet', 'go vet ./...', files('/srv/app/lint10', go), 'Which lock is passed by value?', [line(r'locker.go:\d+:\d+: Copy passes lock by value')])
    prettier = {f'src/{noun}.js': f'const {noun} = {{a:1,\n  b : [1,2,3]}}\n' for noun in projects.NOUNS} | {'src/zone.js': 'const zone = { a: 1, b: [1, 2 };\n'}
    prettier |= {f'pages/{noun}/{field}.css': f'.{noun}{{color:red;\n{field}:1}}\n' for noun in projects.NOUNS for field in projects.FIELDS[:6]}
    c.run(G, 'prettier-check', 'prettier --check src pages', files('/srv/app/lint11', prettier), 'Which file has a syntax error?', [line(r'src/zone.js: SyntaxError')], view=True)
    analyzer = projects.c(47, files=12)
    name = sorted(n for n in analyzer if n.endswith('.c') and n != 'src/main.c')[5]
    analyzer[name] += '\n#include <stdlib.h>\n\nint last_digit(const char *text)\n{\n    char *copy = malloc(strlen(text) + 1);\n    if (!copy)\n        return 0;\n    strcpy(copy, text);\n    int digit = copy[strlen(text) - 1] - 48;\n    free(copy);\n    if (digit < 0)\n        printf("%s", copy);\n    return digit;\n}\n'
    c.run(G, 'gcc-analyzer', 'make -k CFLAGS="-fanalyzer -Wall -Wextra -Isrc"', files('/srv/app/lint12', analyzer), 'Is there a use after free, and in which function?', [line(r'warning: .*use.* after .*free'), line(r"In function .last_digit.:", 1)], view=True)
