"""Test runners: what failed, and why?"""
import projects
from corpus import block, files, line, part

G = 'test-runs'


def make(c):
    def python(name, extra, **how): return files(f'/srv/app/{name}', projects.python(**how) | extra)

    p = python('billing', {'tests/test_rounding.py': '''
from decimal import Decimal

from app import rounding


def test_half_up():
    assert rounding.to_cents(Decimal("2.345")) == 235


def test_error_is_not_raised_for_zero():
    assert rounding.to_cents(Decimal("0")) == 0
''', 'app/rounding.py': 'def to_cents(value):\n    """Cents of an amount; halves go up."""\n    return int(round(value * 100))\n'}, seed=11, modules=8)
    c.run(G, 'pytest-one-of-many', 'pytest -v tests', p, 'Which assertion failed and with which values?',
          [block(r'^    def test_half_up', r'^E +AssertionError: assert 234 == 235'), line(r'^tests/test_rounding.py:8: AssertionError')], view=True)

    p = python('depot', {'conftest.py': '''
import pytest


@pytest.fixture
def store(tmp_path):
    settings = {"path": tmp_path, "mode": "rw"}
    return open(settings["path"] / settings["journal"], "w")
''', 'tests/test_store.py': ''.join(f'def test_store_keeps_{noun}(store):\n    store.write("{noun}")\n\n\n' for noun in projects.NOUNS[:24])}, seed=12, modules=4)
    c.run(G, 'pytest-fixture-error', 'pytest -q tests', p, 'Why do all tests of test_store.py error?', [line(r"^E +KeyError: 'journal'"), line(r'^conftest.py:8: KeyError|^>.*settings\["journal"\]')], view=True)

    p = python('shipping', {'tests/test_labels.py': 'from app.labels import render_label\n\n\ndef test_label():\n    assert render_label("x")\n',
               'app/labels.py': 'from app.barcode import encode\n\n\ndef render_label(text):\n    return encode(text)\n', 'app/barcode.py': 'from app.settings import BARCODE_WIDTH\n\n\ndef encode(text):\n    return text.ljust(BARCODE_WIDTH)\n',
               'app/settings.py': 'BARCODE_HEIGHT = 40\n'}, seed=13, modules=7)
    c.run(G, 'pytest-import-error', 'pytest -v --continue-on-collection-errors tests', p, 'Why can test_labels.py not be collected?', [line(r"^E +ImportError: cannot import name 'BARCODE_WIDTH'")], view=True)

    p = python('metering', {'tests/test_alarm.py': '''
import logging
import warnings

import pytest

from app import alarm

log = logging.getLogger("alarm")


@pytest.mark.parametrize("level", range(40))
def test_alarm_levels(level):
    for step in range(30):
        log.warning("level %d step %d: error budget not used", level, step)
    warnings.warn(f"level {level} is deprecated", DeprecationWarning)
    assert alarm.severity(level) == min(level // 8, 3)
''', 'app/alarm.py': 'def severity(level):\n    """Severity from 0 to 3."""\n    if level == 32:\n        return None\n    return min(level // 8, 3)\n'}, seed=14, modules=5)
    c.run(G, 'pytest-warnings-behind', 'pytest -W always --log-level=DEBUG -rA tests/test_alarm.py tests', p, 'Which parameter fails in test_alarm_levels and what does the function return there?',
          [line(r'^level = 32$'), line(r'^E +assert None == 3')], view=True)

    p = python('ledger', {'tests/test_import.py': '''
import pytest

from app import importer


@pytest.mark.parametrize("number", range(60))
def test_import_row(number):
    row = f"{number};2026-01-{number % 31 + 1:02};{number * 10}"
    assert importer.read_row(row)["cents"] == number * 10
''', 'app/importer.py': 'import datetime\n\n\ndef read_row(text):\n    """One row of the bank\'s export."""\n    number, day, cents = text.split(";")\n    return {"number": int(number), "day": datetime.datetime.strptime(day, "%Y-%d-%m"), "cents": int(cents)}\n'}, seed=15, modules=5)
    c.run(G, 'pytest-same-cause', 'pytest --tb=short tests', p, 'What is the common cause of the failures in test_import.py?',
          [line(r'strptime\(day, "%Y-%d-%m"\)', 1)], view=True)

    p = python('roster', {'tests/test_merge.py': '''
from hypothesis import given, settings, strategies as st

from app import shifts


@settings(derandomize=True, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=6))
def test_merge_keeps_every_minute(spans):
    spans = [(start, start + length) for start, length in spans]
    minutes = {m for start, end in spans for m in range(start, end)}
    merged = {m for start, end in shifts.merge(spans) for m in range(start, end)}
    assert merged == minutes
''', 'app/shifts.py': '''
def merge(spans):
    """Union of spans that overlap."""
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out
'''}, seed=16, modules=9)
    c.run(G, 'pytest-hypothesis', 'pytest -v tests', p, 'Which input makes test_merge_keeps_every_minute fail?', [block(r'^E +(Falsifying example|Failing test case)', r'^E +\)')], view=True)

    p = python('quotes', {'tests/test_cache.py': '''
import threading

from app.cache import Cache


def test_eviction_order():
    cache = Cache(size=3)
    for key in "abcd":
        cache.put(key, key.upper())
    assert list(cache.items()) == [("b", "B"), ("c", "C"), ("d", "D")]


def test_timeout_error_name():
    assert Cache.__name__ != "TimeoutError"
''', 'app/cache.py': '''
class Cache:
    """Keeps the newest entries."""

    def __init__(self, size):
        self.size, self.entries = size, {}

    def put(self, key, value):
        if len(self.entries) >= self.size:
            self.entries.popitem()
        self.entries[key] = value

    def items(self):
        return self.entries.items()
'''}, seed=17, modules=10)
    c.run(G, 'pytest-xdist-colour', 'pytest -v -n 1 --color=yes tests', p, 'What did test_eviction_order get instead of the expected list?', [line(r'^E +(AssertionError: )?assert \[\('), line(r'^E +At index 0 diff')], view=True)

    p = python('registry', {'tests/test_names.py': '''
import unittest

from app import names


class NamesTest(unittest.TestCase):
    def test_slug(self):
        for text, slug in [("Big Box", "big-box"), ("a_b", "a-b"), ("Zürich", "zuerich"), ("x  y", "x-y"), ("A&B", "a-b")]:
            with self.subTest(text=text):
                self.assertEqual(names.slug(text), slug)

    def test_failure_message(self):
        self.assertIn("fail", "failure")
''', 'app/names.py': 'import re\n\n\ndef slug(text):\n    """A name for an address."""\n    return re.sub(r"[^a-z]+", "-", text.lower().replace("ä", "ae").replace("ö", "oe"))\n'}, seed=18, modules=9, runner='unittest')
    c.run(G, 'unittest-subtest', 'python3 -m unittest discover -v', p, 'Which text gives a wrong slug, and which slug?', [line(r"^FAIL: test_slug .*Zürich"), line(r"^AssertionError: 'z-rich'")], view=True)

    noisy = '''
import logging
import sys
import unittest

logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("sync")


class SyncTest(unittest.TestCase):
    pass


def add(number):
    def test(self):
        for page in range(12):
            log.debug("page %d of %d fetched, 0 errors", page, number)
        log.error("connection refused by 10.0.0.%d, retrying (expected in this test)", number)
        log.info("retry of %d worked", number)
        if number == 23:
            self.assertLess(self.pages(number), 12)
    setattr(SyncTest, f"test_retry_{number:02}", test)


for number in range(60):
    add(number)
SyncTest.pages = lambda self, number: {n: n // 2 for n in range(number)}[number]
'''
    p = python('sync', {'tests/test_sync.py': noisy}, seed=19, modules=3, runner='unittest')
    c.run(G, 'unittest-noisy-log', 'python3 -m unittest discover', p, 'Which test broke, and with which exception?', [line(r'^ERROR: test_retry_23'), line(r'^KeyError: 23')], view=True)

    p = python('docs', {'app/units.py': '"""Units of length.\n\n' + ''.join(f'>>> convert({n}, "m", "cm")\n{n * 100}\n' for n in range(1, 150)) + '>>> convert(2, "in", "cm")\n5.08\n>>> convert(1, "km", "m")\n1000\n"""\n\nFACTORS = {"m": 100, "cm": 1, "in": 2.5, "km": 100000}\n\n\ndef convert(value, source, target):\n    return value * FACTORS[source] // FACTORS[target]\n'}, seed=20, modules=3)
    c.run(G, 'doctest-verbose', 'python3 -m doctest -v app/units.py', p, 'Which example fails, with what result?', [block(r'^Failed example:', r'^    5\.0')], view=True)

    django = {
        'manage.py': 'import os\nimport sys\n\nfrom django.core.management import execute_from_command_line\n\nos.environ["DJANGO_SETTINGS_MODULE"] = "site_settings"\nexecute_from_command_line(sys.argv)\n',
        'site_settings.py': 'SECRET_KEY = "not-a-secret"\nINSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "shop"]\nDATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}\nDEFAULT_AUTO_FIELD = "django.db.models.AutoField"\nROOT_URLCONF = "shop.urls"\nALLOWED_HOSTS = ["*"]\nUSE_TZ = True\n',
        'shop/__init__.py': '', 'shop/urls.py': 'from django.urls import path\n\nfrom shop import views\n\nurlpatterns = [path("orders/<int:number>/", views.order, name="order")]\n',
        'shop/models.py': 'from django.db import models\n\n\nclass Customer(models.Model):\n    name = models.CharField(max_length=80)\n\n\nclass Order(models.Model):\n    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)\n    total = models.IntegerField()\n',
        'shop/views.py': 'from django.http import JsonResponse\n\nfrom shop.models import Order\n\n\ndef order(request, number):\n    found = Order.objects.select_related("buyer").get(pk=number)\n    return JsonResponse({"total": found.total, "customer": found.customer.name})\n',
        'shop/tests.py': 'from django.test import TestCase\n\nfrom shop.models import Customer, Order\n\n\nclass OrderTest(TestCase):\n    def setUp(self):\n        self.customer = Customer.objects.create(name="Ines")\n\n    def test_order_page(self):\n        order = Order.objects.create(customer=self.customer, total=12)\n        self.assertEqual(self.client.get(f"/orders/{order.pk}/").json()["total"], 12)\n' + ''.join(f'\n    def test_total_{n}(self):\n        Order.objects.create(customer=self.customer, total={n})\n        self.assertEqual(Order.objects.get().total, {n})\n' for n in range(70)),
    }
    c.run(G, 'django', 'python3 manage.py test -v 2', files('/srv/app/shop', django), 'Why does the order page fail?', [line(r'^django.core.exceptions.FieldError'), line(r'shop/views.py", line 7, in order', after=1)], view=True,
          setup='python3 manage.py makemigrations shop >/dev/null')

    rust = projects.rust(21, modules=7, functions=12)
    rust['src/lib.rs'] += 'pub mod window;\n'
    rust['src/window.rs'] = '''//! Sums over a sliding window.

/// Sums of every `size` neighbours.
pub fn sums(values: &[u32], size: usize) -> Vec<u32> {
    (0..values.len() - size + 1).map(|at| values[at..at + size].iter().sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_two() {
        assert_eq!(sums(&[1, 2, 3], 2), [3, 5]);
    }

    #[test]
    fn window_longer_than_the_values() {
        assert!(sums(&[1, 2], 3).is_empty());
    }

    #[test]
    fn error_free_when_empty_window() {
        assert_eq!(sums(&[4], 1), [4]);
    }
}
'''
    p = files('/srv/app/telemetry', rust)
    c.run(G, 'cargo-test', 'cargo test', p, 'Why does window_longer_than_the_values fail?', [line(r"^thread 'window::tests::window_longer"), line('attempt to subtract with overflow')], view=True)
    c.run(G, 'cargo-test-backtrace', 'RUST_BACKTRACE=full cargo test --no-fail-fast -- --nocapture --test-threads=1', p, 'At which line of our code does the failing test panic?', [line(r'^thread .*panicked at src/window.rs:5'), line('attempt to subtract with overflow')], view=True)

    go = projects.go(22, packages=14, functions=16)
    go['window/window.go'] = 'package window\n\n// Last returns the newest values, oldest first.\nfunc Last(values []int, n int) []int {\n\treturn values[len(values)-n:]\n}\n'
    go['window/window_test.go'] = '''package window

import (
	"fmt"
	"testing"
)

func TestLast(t *testing.T) {
	for n := 0; n < 9; n++ {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			if got := Last([]int{1, 2, 3, 4, 5, 6, 7}, n); len(got) != n {
				t.Errorf("got %v", got)
			}
		})
	}
}
'''
    p = files('/srv/app/gauge', go)
    c.run(G, 'go-test-panic', 'go test -v ./...', p, 'Which test panics, and where?', [line(r'--- FAIL: TestLast/n=8'), line(r'^panic: runtime error: slice bounds out of range', 1), line(r'window/window.go:5')], view=True)
    go['window/window.go'] = go['window/window.go'].replace('return values[len(values)-n:]', 'if n > len(values) {\n\t\tn = len(values)\n\t}\n\treturn values[len(values)-n:]')
    p = files('/srv/app/gauge2', go)
    c.run(G, 'go-test-errorf', 'go test -v ./...', p, 'Which subtest fails and what did it get?', [line(r'window_test.go:12: got'), line(r'--- FAIL: TestLast/n=8')], view=True)

    pkg = {'package.json': '{"name": "app", "version": "1.0.0"}\n'}
    js = projects.javascript(23, style='jest', modules=9, functions=14) | pkg | {'src/tax.js': "function gross(net, rate) {\n  return net * (1 + rate);\n}\nfunction lines(order) {\n  return order.items.map((item) => ({ name: item.name, gross: gross(item.net, item.rate) }));\n}\nmodule.exports = { gross, lines };\n",
          'test/tax.test.js': "const tax = require('../src/tax.js');\n\ndescribe('tax', () => {\n  it('adds 20 %', () => {\n    expect(tax.gross(10, 0.2)).toBe(12);\n  });\n  it('lists gross prices', () => {\n    expect(tax.lines({ items: [{ name: 'pen', net: 1.1, rate: 0.1 }, { name: 'ink', net: 5, rate: 0.1 }] })).toEqual([{ name: 'pen', gross: 1.21 }, { name: 'ink', gross: 5.5 }]);\n  });\n  it('does not throw an error', () => {\n    expect(() => tax.lines({ items: [] })).not.toThrow();\n  });\n});\n"}
    c.run(G, 'jest-verbose', 'jest --verbose', files('/srv/app/webshop', js), 'Which expectation of the tax tests fails, and how do the values differ?', [line(r'● tax › lists gross prices', 1), line(r'^ +- +"gross": 1.21,'), line(r'^ +\+ +"gross": 1.2100')], view=True)

    js = projects.javascript(24, style='mocha', modules=9, functions=16) | pkg | {'test/session.test.js': "const assert = require('assert');\n\nfunction Session() {\n  this.open = false;\n}\nSession.prototype.start = function (done) {\n  this.open = true;\n  if (this.retries > 0) done();\n};\n\ndescribe('session', () => {\n  before((done) => {\n    new Session().start(done);\n  });\n  it('is open', () => assert.ok(true));\n  it('handles errors', () => assert.ok(true));\n});\n"}
    c.run(G, 'mocha-hook-timeout', 'mocha --timeout 800 test', files('/srv/app/portal', js), 'Why do the session tests not run?', [line(r'"before all" hook'), line(r'Error: Timeout of 800ms exceeded')], view=True)

    js = projects.javascript(25, style='node', modules=6) | pkg | {'test/rates.test.js': "const { test } = require('node:test');\nconst assert = require('node:assert');\n\nconst table = new Map([['EUR', 1], ['CHF', 0.95], ['SEK', 11.2]]);\nfunction convert(amount, from, to) {\n  return amount / table.get(from) * table.get(to);\n}\n\ntest('converts to francs', () => {\n  assert.strictEqual(convert(10, 'EUR', 'CHF'), 9.5);\n});\ntest('knows every currency of the price list', () => {\n  for (const code of ['EUR', 'CHF', 'SEK', 'PLN']) assert.ok(convert(1, 'EUR', code) > 0, `no rate for ${code}`);\n});\n"}
    p = files('/srv/app/exchange', js)
    c.run(G, 'node-test-tap', 'node --test --test-reporter=tap test', p, 'Which currency has no rate?', [line(r"error: .*no rate for PLN"), line(r'not ok .*knows every currency')], view=True)
    c.run(G, 'node-test-spec', 'node --test --test-reporter=spec test', p, 'Which test failed and why?', [line(r'no rate for PLN', -1), line(r'knows every currency', -1)], view=True)

    js = projects.javascript(26, style='vitest', modules=8, functions=12) | {'package.json': '{"name": "app", "version": "1.0.0", "type": "module"}\n', 'test/queue.test.mjs': "import { describe, it, expect } from 'vitest';\n\nfunction drain(queue) {\n  const seen = [];\n  for (const job of queue) {\n    seen.push(job.id);\n    if (job.retry) queue.push({ id: job.id + '-again' });\n  }\n  return seen;\n}\n\ndescribe('queue', () => {\n  it('runs a job again once', () => {\n    expect(drain([{ id: 'a' }, { id: 'b', retry: true }, { id: 'c' }])).toEqual(['a', 'b', 'b-again', 'c']);\n  });\n});\n"}
    c.run(G, 'vitest', 'vitest run --reporter=verbose --no-file-parallelism', files('/srv/app/worker', js, ), 'How does the received order differ in the queue test?', [line(r'^AssertionError: expected', 1), block(r'^- Expected', r'^  \]')], view=True,
          setup='ln -sfn /srv/web/node_modules node_modules')

    perl = {f't/{i:02}-{noun}.t': 'use strict;\nuse warnings;\nuse Test::More;\n\n' + ''.join(f'is({v} * {i + 2}, {v * (i + 2)}, "{noun} {field} of {v}");\n' for v, field in enumerate(projects.FIELDS)) + ('my %seen = (a => 1, b => 2);\nis_deeply([sort keys %seen], ["a", "b", "c"], "all keys are seen");\n' if i == 7 else '') + 'done_testing();\n' for i, noun in enumerate(projects.NOUNS[:14])}
    c.run(G, 'perl-prove', 'prove -v t', files('/srv/app/perlapp', perl), 'Which test of which file failed, and what was expected?', [line(r"Failed test 'all keys are seen'"), line(r'^#     \$expected->\[2\]')], view=True)

    ruby = "require 'minitest/autorun'\n\n" + ''.join(f"class {noun.capitalize()}Test < Minitest::Test\n" + ''.join(f"  def test_{field}\n    assert_equal {v * 3}, {v} * 3\n  end\n\n" for v, field in enumerate(projects.FIELDS)) + 'end\n\n' for noun in projects.NOUNS[:14]) + "class ParserTest < Minitest::Test\n  def parse(text)\n    text.lines.map { |l| l.split('=', 2) }.to_h { |k, v| [k.strip, v.strip] }\n  end\n\n  def test_settings\n    assert_equal({ 'a' => '1' }, parse(\"a = 1\\n# a comment\\n\"))\n  end\nend\n"
    c.run(G, 'ruby-minitest', 'ruby test.rb -v --seed 7', files('/srv/app/rubyapp', {'test.rb': ruby}), 'Which exception does ParserTest raise, and where?', [line(r'^NoMethodError: undefined method .strip'), line(r"test.rb:\d+:in `block \(?2? ?l?e?v?e?l?s?\)? ?i?n? ?parse'|test.rb:\d+:in `block in parse'", 1)], view=True)
    spec = ''.join(f"RSpec.describe '{noun}' do\n" + ''.join(f"  it 'has a {field}' do\n    expect({v} + 1).to eq({v + 1})\n  end\n" for v, field in enumerate(projects.FIELDS)) + 'end\n\n' for noun in projects.NOUNS) + "Point = Struct.new(:x, :y)\nRSpec.describe 'nearest' do\n  it 'takes the closer point' do\n    points = [Point.new(3, 4), Point.new(-1, 0), Point.new(0, 2)]\n    nearest = points.min_by { |p| p.x + p.y }\n    expect(points.max_by { |p| p.x**2 + p.y**2 }).to eq(Point.new(3, 4))\n    expect(points.rotate.min_by { |p| p.x.abs + p.y }).to eq(nearest)\n    expect(Point.new(0, 2)).to eq(nearest)\n  end\nend\n"
    c.run(G, 'ruby-rspec', 'rspec -fd spec', files('/srv/app/rubyspec', {'spec/app_spec.rb': spec}), 'What did the example “takes the closer point” expect and get?', [line(r'^ +expected: #<struct Point'), line(r'^ +got: #<struct Point')], view=True)

    php = {f'tests/{noun.capitalize()}Test.php': f"<?php\nuse PHPUnit\\Framework\\TestCase;\n\nclass {noun.capitalize()}Test extends TestCase\n{{\n" + ''.join(f"    public function test{field.capitalize()}(): void\n    {{\n        $this->assertSame({v * 2}, {v} * 2);\n    }}\n\n" for v, field in enumerate(projects.FIELDS)) + ("    public function testErrorReport(): void\n    {\n        $rows = ['open' => 3, 'paid' => 9];\n        $this->assertSame(['open' => 3, 'paid' => 9, 'late' => 0], $rows + ['late' => null]);\n    }\n" if noun == 'tariff' else '') + '}\n' for noun in projects.NOUNS[:24]}
    c.run(G, 'phpunit-testdox', 'phpunit --testdox --verbose tests', files('/srv/app/phpapp', php), 'How does the report differ from what testErrorReport expects?', [line(r"^ +[│┊ ]*[-] *'late' => 0|^.*-    'late' => 0"), line(r"^.*\+    'late' => null")], view=True)

    java = projects.java(27, classes=18, methods=16)
    java['src/app/Schedule.java'] = 'package app;\n\nimport java.util.*;\n\npublic class Schedule {\n    private final Map<String, List<Integer>> hours = new HashMap<>();\n\n    public void add(String day, int hour) {\n        hours.computeIfAbsent(day, d -> new ArrayList<>()).add(hour);\n    }\n\n    public int first(String day) {\n        return Collections.min(hours.get(day));\n    }\n}\n'
    java['src/app/ScheduleTest.java'] = 'package app;\n\nimport static org.junit.Assert.*;\nimport org.junit.Test;\n\npublic class ScheduleTest {\n    @Test\n    public void firstHourOfABusyDay() {\n        Schedule s = new Schedule();\n        s.add("mon", 9);\n        assertEquals(9, s.first("mon"));\n    }\n\n    @Test\n    public void firstHourOfAFreeDay() {\n        assertEquals(-1, new Schedule().first("sun"));\n    }\n\n    @Test\n    public void exceptionNames() {\n        assertNotEquals("NullPointerException", "");\n    }\n}\n'
    classes = ' '.join(sorted('app.' + name[8:-5] for name in java if name.endswith('Test.java')))
    java['src/app/Verbose.java'] = 'package app;\n\nimport org.junit.runner.*;\nimport org.junit.runner.notification.*;\n\npublic class Verbose {\n    public static void main(String[] names) throws Exception {\n        JUnitCore core = new JUnitCore();\n        core.addListener(new org.junit.internal.TextListener(System.out));\n        core.addListener(new RunListener() {\n            @Override public void testStarted(Description d) { System.out.println("\\n[INFO] running " + d.getDisplayName()); }\n        });\n        Class<?>[] classes = new Class<?>[names.length];\n        for (int i = 0; i < names.length; i++) classes[i] = Class.forName(names[i]);\n        System.exit(core.run(classes).wasSuccessful() ? 0 : 1);\n    }\n}\n'
    cp = '/usr/share/java/junit4.jar:/usr/share/java/hamcrest-all.jar:/usr/share/java/hamcrest-core.jar:/usr/share/java/hamcrest.jar'
    c.run(G, 'junit', f'java -cp out:{cp} app.Verbose {classes}', files('/srv/app/timetable', java), 'Which exception fails a test of Schedule, and on which line of Schedule?', [line(r'^java.lang.NullPointerException'), line(r'at app.Schedule.first\(Schedule.java:13\)')], view=True,
          setup=f'mkdir out && javac -nowarn -d out -cp {cp} src/app/*.java', shown='./run-tests.sh')

    tests = {f'test_{noun}.cpp': '#include <gtest/gtest.h>\n\n' + ''.join(f'TEST({noun.capitalize()}, {field.capitalize()}) {{ EXPECT_EQ({v} * 4, {v * 4}); }}\n' for v, field in enumerate(projects.FIELDS)) for noun in projects.NOUNS[:3]}
    tests['test_ring.cpp'] = '#include <gtest/gtest.h>\n#include <vector>\n\nstruct Ring {\n  std::vector<int> slots;\n  size_t next = 0;\n  explicit Ring(size_t n) : slots(n) {}\n  void push(int v) { slots[next++ % slots.size()] = v; }\n  int oldest() const { return slots[next % slots.size()]; }\n};\n\nTEST(Ring, KeepsTheOldest) {\n  Ring ring(3);\n  for (int v = 1; v <= 5; ++v) ring.push(v);\n  EXPECT_EQ(ring.oldest(), 3);\n}\n\nTEST(Ring, OldestOfAHalfFullRing) {\n  Ring ring(4);\n  ring.push(7);\n  ring.push(8);\n  EXPECT_EQ(ring.oldest(), 7) << "two of four slots are used";\n}\n'
    tests['CMakeLists.txt'] = 'cmake_minimum_required(VERSION 3.16)\nproject(ring CXX)\nfind_package(GTest REQUIRED)\nenable_testing()\nadd_executable(tests ' + ' '.join(sorted(tests)) + ')\ntarget_link_libraries(tests GTest::gtest_main)\ninclude(GoogleTest)\ngtest_discover_tests(tests)\n'
    p = files('/srv/app/ring', tests)
    c.run(G, 'ctest-gtest', 'ctest --test-dir build --output-on-failure -V', p, 'Which expectation of the Ring tests fails, with which values?', [block(r'test_ring.cpp:\d+: Failure', r'two of four slots')], view=True,
          setup='cmake -B build -G Ninja . >/dev/null && cmake --build build -j1 >/dev/null', timeout=600)

    p = python('reports', {'tests/test_codes.py': 'def check(code):\n    return code[::-1] == code.lower()[::-1]\n\n\ndef test_code_is_lower_case():\n    assert check("abC")\n'}, seed=28, modules=10)
    c.run(G, 'junit-xml', 'pytest -q --junitxml=report.xml tests >/dev/null; python3 -c "import xml.dom.minidom as m; print(m.parse(\'report.xml\').toprettyxml())"', p, 'Which test case of the report has a failure, and what is its message?', [line(r'<failure message='), line(r'name="test_code_is_lower_case"')], view=True, shown='cat report.xml')
    c.run(G, 'junit-xml-one-line', 'cat report.xml', p, 'Which test failed?', [part(r'<testcase [^>]*name="test_code_is_lower_case"[^>]*><failure message="[^"]*"')], view=True)

    p = python('many', {'tests/test_quota.py': 'import pytest\n\n\n@pytest.mark.parametrize("n", range(3000))\ndef test_quota(n):\n    print("checking quota", n, "errors: 0")\n    assert n * n % 2017 != 1444 or n < 2000, f"quota {n} is used up"\n'}, seed=29, modules=24, functions=20, cases=8)
    c.run(G, 'pytest-large', 'pytest -v -rA tests', p, 'Which quota is used up?', [line(r'^E +AssertionError: quota \d+ is used up', 1)], view=True)
