"""Small source projects from a seed: modules of plain functions and tests that pass. The faults are written by hand in `groups/`.

Every function gets its names from word lists, so that two projects look alike in style and differ in words, as real ones do.
"""
import random

NOUNS = 'invoice parcel ledger tariff booking shelf route sensor voucher tenant shipment basket account batch meter ticket payment refund carrier depot pallet quote reading region vendor contract policy claim roster shift'.split()
FIELDS = 'amount weight quantity rate discount stock distance price duration volume balance margin score limit count offset level share width depth'.split()
VERBS = 'load parse merge split update check apply store fetch count rank group index build trim sort move close open seal'.split()
PEOPLE = ['Ada Moreno', 'Jonas Weiss', 'Priya Nair', 'Tomas Lindqvist', 'Mei Tanaka', 'Samuel Osei', 'Lucia Ferri', 'Noor Haddad']
CITIES = 'Lisbon Oslo Turin Ghent Porto Graz Malmo Tartu Brno Leeds Lyon Split Cadiz Riga Vaasa Trier'.split()


class Names:
    """Draws names; the same seed gives the same names."""
    def __init__(self, seed): self.random = random.Random(seed)
    def noun(self): return self.random.choice(NOUNS)
    def field(self): return self.random.choice(FIELDS)
    def verb(self): return self.random.choice(VERBS)
    def number(self, low=1, high=99): return self.random.randint(low, high)
    def pick(self, *options): return self.random.choice(options)
    def modules(self, count): return self.random.sample(NOUNS, count)


def python(seed, modules=6, functions=8, cases=4, runner='pytest'):
    """A Python package `app` and its tests. `runner` is pytest or unittest."""
    n, texts = Names(seed), {'app/__init__.py': ''}
    for module in n.modules(modules):
        body, tests = [f'"""{module.capitalize()} rules."""\n'], []
        seen = set()
        while len(seen) < functions:
            verb, field = n.verb(), n.field()
            name = f'{verb}_{field}'
            if name in seen: continue
            seen.add(name)
            a, b, kind = n.number(2, 9), n.number(1, 50), n.pick('scale', 'clamp', 'group', 'split')
            if kind == 'scale':
                body.append(f'def {name}(value):\n    """Scale a {field} of one {module}."""\n    return value * {a} + {b}\n')
                values = [(v, v * a + b) for v in range(cases)]
            elif kind == 'clamp':
                body.append(f'def {name}(value, low=0, high={b + a}):\n    """Keep a {field} between two bounds."""\n    if value < low:\n        return low\n    return min(value, high)\n')
                values = [(v, min(max(v, 0), b + a)) for v in range(-3, 20 * cases, 20)][:cases]
            elif kind == 'group':
                body.append(f'def {name}(value):\n    """Number of full {module}s of size {a} that a {field} fills."""\n    whole, rest = divmod(value, {a})\n    return whole if not rest else whole + 1\n')
                values = [(v, -(-v // a)) for v in range(0, 7 * cases, 7)]
            else:
                body.append(f'def {name}(value):\n    """Digits of a {field}, most significant first."""\n    return [int(digit) for digit in str(value)]\n')
                values = [(v, [int(d) for d in str(v)]) for v in range(b, b + cases)]
            if runner == 'pytest':
                tests.append(f'@pytest.mark.parametrize("value, expected", {values})\ndef test_{name}(value, expected):\n    assert {module}.{name}(value) == expected\n')
            else:
                tests.append(''.join(f'    def test_{name}_{i}(self):\n        self.assertEqual({module}.{name}({v}), {w})\n\n' for i, (v, w) in enumerate(values)))
        texts[f'app/{module}.py'] = '\n\n'.join(body)
        head = f'import pytest\n\nfrom app import {module}\n\n\n' if runner == 'pytest' else f'import unittest\n\nfrom app import {module}\n\n\nclass {module.capitalize()}Test(unittest.TestCase):\n'
        texts[f'tests/test_{module}.py'] = head + ('\n\n' if runner == 'pytest' else '').join(tests)
    texts['tests/__init__.py'] = ''
    return texts


def javascript(seed, modules=5, functions=10, cases=3, style='jest'):
    """Modules in `src` and tests in `test`, for jest, mocha, vitest or node --test."""
    n, texts = Names(seed), {}
    head = {'jest': '', 'mocha': "const assert = require('assert');\n", 'node': "const { describe, it } = require('node:test');\nconst assert = require('node:assert');\n", 'vitest': "import { describe, it, expect } from 'vitest';\n"}[style]
    for module in n.modules(modules):
        body, tests, seen = [], [], set()
        while len(seen) < functions:
            verb, field = n.verb(), n.field().capitalize()
            name = verb + field
            if name in seen: continue
            seen.add(name)
            a, b = n.number(2, 9), n.number(1, 50)
            export = f'export function {name}' if style == 'vitest' else f'function {name}'
            body.append(f'{export}(value) {{\n  // {field} of one {module}\n  return value * {a} + {b};\n}}\n')
            checks = ''
            for v in range(cases):
                check = f'expect({module}.{name}({v})).toBe({v * a + b});' if style in ('jest', 'vitest') else f'assert.strictEqual({module}.{name}({v}), {v * a + b});'
                checks += f"    it('gives {v * a + b} for {v}', () => {{\n      {check}\n    }});\n"
            tests.append(f"  describe('{name}', () => {{\n{checks}  }});\n")
        if style == 'vitest':
            texts[f'src/{module}.mjs'] = '\n'.join(body)
            texts[f'test/{module}.test.mjs'] = head + f"import * as {module} from '../src/{module}.mjs';\n\ndescribe('{module}', () => {{\n{''.join(tests)}}});\n"
        else:
            texts[f'src/{module}.js'] = '\n'.join(body) + f"\nmodule.exports = {{ {', '.join(sorted(seen))} }};\n"
            texts[f'test/{module}.test.js'] = head + f"const {module} = require('../src/{module}.js');\n\ndescribe('{module}', () => {{\n{''.join(tests)}}});\n"
    return texts


def typescript(seed, modules=12, functions=12):
    """Modules with an interface each, and functions over it. They compile."""
    n, texts = Names(seed), {'tsconfig.json': '{"compilerOptions": {"strict": true, "target": "es2020", "module": "commonjs", "outDir": "dist", "types": []}, "include": ["src"]}\n'}
    for module in n.modules(modules):
        kind, fields = module.capitalize(), sorted({n.field() for _ in range(5)})
        body = [f'export interface {kind} {{\n' + ''.join(f'  {f}: number;\n' for f in fields) + '  id: string;\n}\n']
        seen = set()
        while len(seen) < functions:
            name, f = n.verb() + n.field().capitalize(), n.random.choice(fields)
            if name in seen: continue
            seen.add(name)
            body.append(f'export function {name}(items: {kind}[], factor: number): number {{\n  return items.reduce((sum, item) => sum + item.{f} * factor, {n.number()});\n}}\n')
        texts[f'src/{module}.ts'] = '\n'.join(body)
    return texts


def rust(seed, name='app', modules=5, functions=10, cases=3):
    """A crate without dependencies."""
    n, texts, names = Names(seed), {}, []
    for module in n.modules(modules):
        names.append(module)
        body, tests, seen = [], [], set()
        while len(seen) < functions:
            f = f'{n.verb()}_{n.field()}'
            if f in seen: continue
            seen.add(f)
            a, b = n.number(2, 9), n.number(1, 50)
            body.append(f'/// Scales a value of one {module}.\npub fn {f}(value: i64) -> i64 {{\n    value * {a} + {b}\n}}\n')
            tests += [f'    #[test]\n    fn {f}_of_{v}() {{\n        assert_eq!({f}({v}), {v * a + b});\n    }}\n' for v in range(cases)]
        texts[f'src/{module}.rs'] = '\n'.join(body) + '\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n' + '\n'.join(tests) + '}\n'
    texts['src/lib.rs'] = ''.join(f'pub mod {m};\n' for m in names)
    texts['Cargo.toml'] = f'[package]\nname = "{name}"\nversion = "0.3.1"\nedition = "2021"\n'
    return texts


def go(seed, packages=5, functions=10, module='example.com/app'):
    """A Go module with a package a folder."""
    n, texts = Names(seed), {'go.mod': f'module {module}\n\ngo 1.19\n'}
    for package in n.modules(packages):
        body, tests, seen = [f'// Package {package} has the rules of one {package}.\npackage {package}\n'], [f'package {package}\n\nimport "testing"\n'], set()
        while len(seen) < functions:
            f = n.verb().capitalize() + n.field().capitalize()
            if f in seen: continue
            seen.add(f)
            a, b = n.number(2, 9), n.number(1, 50)
            body.append(f'// {f} scales a value.\nfunc {f}(value int) int {{\n\treturn value*{a} + {b}\n}}\n')
            tests.append(f'func Test{f}(t *testing.T) {{\n\tfor _, c := range [][2]int{{{{0, {b}}}, {{1, {a + b}}}, {{7, {7 * a + b}}}}} {{\n\t\tif got := {f}(c[0]); got != c[1] {{\n\t\t\tt.Errorf("{f}(%d) = %d, want %d", c[0], got, c[1])\n\t\t}}\n\t}}\n}}\n')
        texts[f'{package}/{package}.go'] = '\n'.join(body)
        texts[f'{package}/{package}_test.go'] = '\n'.join(tests)
    return texts


def c(seed, files=14, functions=8, warnings=True):
    """C sources that compile; with `warnings`, each file has harmless ones."""
    n, texts, header = Names(seed), {}, ['#ifndef APP_H', '#define APP_H', '#include <stddef.h>']
    for module in n.modules(files):
        body, seen = ['#include "app.h"\n#include <stdio.h>\n#include <string.h>\n'], set()
        while len(seen) < functions:
            f = f'{module}_{n.verb()}_{n.field()}'
            if f in seen: continue
            seen.add(f)
            header.append(f'int {f}(int value, const char *name);')
            noise = ''
            if warnings:
                noise = n.pick('', '    int unused_total;\n', '    unsigned limit = 10;\n    if (value < limit) value++;\n', '    char *label = name;\n    printf("%s", label);\n', '    printf("%ld items\\n", value);\n')
            body.append(f'int {f}(int value, const char *name)\n{{\n{noise}    size_t length = strlen(name);\n    return value * {n.number(2, 9)} + (int)length;\n}}\n')
        texts[f'src/{module}.c'] = '\n'.join(body)
    texts['src/app.h'] = '\n'.join(header + ['#endif', ''])
    calls = '\n'.join(f'    total += {line.split()[1].split("(")[0]}(1, "x");' for line in header[3:])
    texts['src/main.c'] = f'#include "app.h"\n\nint main(void)\n{{\n    int total = 0;\n{calls}\n    return total == 0;\n}}\n'
    texts['Makefile'] = 'CFLAGS = -Wall -Wextra -Wpedantic -O1 -Isrc\nOBJECTS = $(patsubst src/%.c,build/%.o,$(wildcard src/*.c))\n\napp: $(OBJECTS)\n\t$(CC) $(LDFLAGS) -o $@ $^\n\nbuild/%.o: src/%.c src/app.h\n\t@mkdir -p build\n\t$(CC) $(CFLAGS) -c -o $@ $<\n'
    return texts


def java(seed, classes=8, methods=8, tests=True):
    """Java classes, and JUnit 4 tests for them."""
    n, texts = Names(seed), {}
    for module in n.modules(classes):
        kind, body, checks, seen = module.capitalize(), [], [], set()
        while len(seen) < methods:
            f = n.verb() + n.field().capitalize()
            if f in seen: continue
            seen.add(f)
            a, b = n.number(2, 9), n.number(1, 50)
            body.append(f'    public static int {f}(int value) {{\n        return value * {a} + {b};\n    }}\n')
            checks.append(f'    @Test\n    public void {f}Scales() {{\n        assertEquals({3 * a + b}, {kind}.{f}(3));\n    }}\n')
        texts[f'src/app/{kind}.java'] = f'package app;\n\n/** Rules of one {module}. */\npublic class {kind} {{\n' + '\n'.join(body) + '}\n'
        if tests: texts[f'src/app/{kind}Test.java'] = f'package app;\n\nimport static org.junit.Assert.*;\nimport org.junit.Test;\n\npublic class {kind}Test {{\n' + '\n'.join(checks) + '}\n'
    return texts


def log_lines(seed, count, start=1760000000.0, components=('http', 'cache', 'db', 'queue', 'auth')):
    """Lines of a healthy service: (seconds, level, component, message)."""
    n, at, out = Names(seed), start, []
    for _ in range(count):
        at += n.random.expovariate(4)
        component = n.random.choice(components)
        noun, field = n.noun(), n.field()
        message = {
            'http': lambda: f'{n.pick("GET", "GET", "GET", "POST", "PUT")} /api/{noun}s/{n.number(1, 9999)} {n.pick(200, 200, 200, 200, 201, 204, 304, 404)} {n.number(1, 240)}ms',
            'cache': lambda: f'{n.pick("hit", "hit", "miss", "stored", "expired")} key={noun}:{n.number(1, 9999)} ttl={n.number(10, 900)}',
            'db': lambda: f'select {field} from {noun}s where id = {n.number(1, 9999)}: {n.number(1, 40)} rows in {n.number(1, 30)} ms',
            'queue': lambda: f'{n.verb()} job {noun}.{field} attempt 1 took {n.number(5, 900)} ms, errors=0',
            'auth': lambda: f'session {n.random.getrandbits(32):08x} of user {n.number(100, 999)} {n.pick("renewed", "opened", "closed")}',
        }.get(component, lambda: f'{n.verb()} {noun} {field}={n.number()}')()
        out.append((at, n.pick('INFO', 'INFO', 'INFO', 'DEBUG', 'DEBUG', 'WARN') if n.number() < 30 else 'INFO', component, message))
    return out
