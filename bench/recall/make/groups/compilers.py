"""Compilers and build tools: which error stops the build?"""
import projects
from corpus import block, files, line

G = 'compilers'


def change(texts, name, old, new):
    assert old in texts[name], (name, old)
    return texts | {name: texts[name].replace(old, new, 1)}


def make(c):
    base = projects.c(31)
    modules = sorted(name for name in base if name.endswith('.c') and name != 'src/main.c')
    early = change(base, modules[1], 'size_t length = strlen(name);', 'size_t length = name_length(name, total);')
    c.run(G, 'gcc-early-error', 'make -k', files('/srv/app/cfleet', early), 'Which error stops the build?', [line(r"error: .total. undeclared")], view=True)
    c.run(G, 'gcc-link-undefined', 'make', files('/srv/app/clink', change(base, 'src/main.c', 'return total == 0;', 'return total == close_all_depots(total);') | {'src/app.h': base['src/app.h'].replace('#endif', 'int close_all_depots(int);\n#endif')}),
          'Which symbol is missing at link time, and who uses it?', [line(r"undefined reference to .close_all_depots"), line(r'in function .main.:', 1)], view=True)
    c.run(G, 'gcc-missing-header', 'make -k', files('/srv/app/chead', change(base, modules[6], '#include <stdio.h>', '#include "tariff_tables.h"\n#include <stdio.h>')), 'Which header is missing?', [line(r'fatal error: tariff_tables.h: No such file')], view=True)
    c.run(G, 'gcc-duplicate-symbol', 'make', files('/srv/app/cdup', base | {'src/zz_extra.c': f'#include "app.h"\n\nint {base["src/app.h"].splitlines()[5].split()[1].split("(")[0]}(int value, const char *name)\n{{\n    return value + (name != 0);\n}}\n'}), 'Which function is defined twice and where?', [line(r'multiple definition of')], view=True)
    c.run(G, 'gcc-werror', 'make CFLAGS="-Wall -Wextra -O1 -Isrc -Werror=return-type"', files('/srv/app/cwerr', change(base, modules[9], 'return value * ', 'value = value * ')), 'Which warning was treated as an error and broke the build?', [line(r'error: (no return statement|control reaches)')], view=True)
    c.run(G, 'clang-conflicting-types', 'make -k CC=clang CFLAGS="-Weverything -Wno-declaration-after-statement -Isrc"', files('/srv/app/cclang', change(base, modules[3], '(int value, const char *name)', '(long value, const char *name)')), 'Which function has conflicting types?', [line(r'error: conflicting types for')], view=True)

    templates = {f'src/{noun}.cpp': '#include "table.hpp"\n\nstruct %s { int id; double %s; };\n\ndouble total_%s(const Table<%s> &table) {\n    int unused = 3;\n    unsigned n = table.size();\n    for (int i = 0; i < n; ++i) {}\n    return table.sum([](const %s &x) { return x.%s; });\n}\n' % (noun.capitalize(), field, noun, noun.capitalize(), noun.capitalize(), field) for noun, field in zip(projects.NOUNS[:10], projects.FIELDS)}
    templates['src/table.hpp'] = '#pragma once\n#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n\ntemplate <class T> class Table {\n    std::vector<T> rows;\npublic:\n    unsigned size() const { return rows.size(); }\n    template <class F> double sum(F f) const { double s = 0; for (const T &row : rows) s += f(row); return s; }\n    void sort() { std::sort(rows.begin(), rows.end()); }\n};\n'
    templates['src/report.cpp'] = '#include "table.hpp"\n#include <iostream>\n\nstruct Line { std::string text; int level; };\n\nvoid report(Table<Line> &lines) {\n    lines.sort();\n    std::cout << lines.size() << "\\n";\n}\n\nint main() {\n    Table<Line> lines;\n    report(lines);\n}\n'
    templates['Makefile'] = 'app: $(patsubst %.cpp,%.o,$(wildcard src/*.cpp))\n\t$(CXX) -o $@ $^\nsrc/%.o: src/%.cpp src/table.hpp\n\t$(CXX) -Wall -Wextra -c -o $@ $<\n'
    c.run(G, 'gxx-template', 'make -k', files('/srv/app/cpptable', templates), 'Why does report.cpp not compile: which operator is missing, and which of our lines asks for it?', [line(r"error: no match for .operator<.", 1), line(r"src/report.cpp:7:\d+:   required from here")], view=True)

    ninja = {f'lib{i}/{noun}.c': f'int {noun}_value(void)\n{{\n    return {i};\n}}\n' for i, noun in enumerate(projects.NOUNS)} | {'main.c': 'int parcel_value(void);\n\nint main(void)\n{\n    return parcel_value();\n}\n'}
    ninja['lib4/booking.c'] = 'struct booking { int seats; };\n\nint booking_value(void)\n{\n    struct booking b = { .seats = 4, .rows = 2 };\n    return b.seats;\n}\n'
    ninja['CMakeLists.txt'] = 'cmake_minimum_required(VERSION 3.16)\nproject(fleet C)\nset(CMAKE_EXPORT_COMPILE_COMMANDS ON)\n' + ''.join(f'add_library({noun} STATIC lib{i}/{noun}.c)\n' for i, noun in enumerate(projects.NOUNS)) + 'add_executable(app main.c)\ntarget_link_libraries(app ' + ' '.join(projects.NOUNS) + ')\n'
    p = files('/srv/app/fleet', ninja)
    c.run(G, 'ninja-verbose', 'ninja -C build -v -k 0', p, 'Which member does the struct not have?', [line(r"error: .struct booking. has no member named .rows.")], view=True, setup='cmake -B build -G Ninja . >/dev/null')
    checks = 'include(CheckIncludeFile)\ninclude(CheckFunctionExists)\n' + ''.join(f'check_include_file({h}.h HAVE_{h.upper()})\n' for h in 'stdio stdlib string math time errno fcntl unistd signal pthread locale wchar ctype limits float assert setjmp stdarg'.split()) + ''.join(f'check_function_exists({f} HAVE_{f.upper()})\n' for f in 'strdup strlcpy fork mmap getline fmemopen epoll_create kqueue posix_spawn'.split())
    c.run(G, 'cmake-configure', 'cmake -B build -DCMAKE_VERBOSE_MAKEFILE=ON --debug-find .', files('/srv/app/cmakecfg', {'CMakeLists.txt': 'cmake_minimum_required(VERSION 3.16)\nproject(scanner C)\n' + checks + 'find_package(Threads REQUIRED)\nfind_package(Barcode 2.4 REQUIRED)\nadd_executable(scanner main.c)\n', 'main.c': 'int main(void) { return 0; }\n'}),
          'Which package could CMake not find?', [line(r'find_package\(Barcode|CMake Error at CMakeLists.txt:\d+ \(find_package\)', 1), line(r'By not providing "FindBarcode.cmake"', after=2)], view=True)

    rust = projects.rust(32, modules=20, functions=6, cases=1)
    modules = sorted(name for name in rust if name.startswith('src/') and name != 'src/lib.rs')
    noisy = {name: text.replace('\n#[cfg(test)]', '\nfn helper_unused(first: i64, second: i64) -> i64 {\n    let mut total = first;\n    let extra = second;\n    return total;\n}\n\n#[cfg(test)]', 1) if name in modules else text for name, text in rust.items()}
    noisy['src/lib.rs'] += 'pub mod cursor;\n'
    noisy['src/cursor.rs'] = '//! Cursors over a page of rows.\n\n/// A position in a page.\npub struct Cursor<\'a> {\n    rows: &\'a [String],\n    at: usize,\n}\n\nimpl<\'a> Cursor<\'a> {\n    /// The next row.\n    pub fn next_row(&mut self) -> Option<&\'a String> {\n        self.at += 1;\n        self.rows.get(self.at - 1)\n    }\n}\n\n/// Reads the first row of a page that it builds.\npub fn first_row(names: &[&str]) -> Option<String> {\n    let mut cursor = Cursor { rows: &[], at: 0 };\n    {\n        let rows: Vec<String> = names.iter().map(|name| name.to_uppercase()).collect();\n        cursor = Cursor { rows: &rows, at: 0 };\n    }\n    cursor.next_row().cloned()\n}\n'
    p = files('/srv/app/pager', noisy)
    c.run(G, 'cargo-borrow', 'cargo build', p, 'Which value does not live long enough, and where is it used later?', [block(r'^error\[E0597\]', r'- borrow later used here')], view=True)
    types = dict(rust); types['src/lib.rs'] += 'pub mod totals;\n'
    types['src/totals.rs'] = f'//! Totals.\n\nuse crate::{modules[0][4:-3]}::*;\n\n' + ''.join(f'/// Total {n}.\npub fn total_{n}(values: &[i32]) -> i64 {{\n    values.iter().map(|v| v * {n}i32).sum::<i32>().into()\n}}\n\n' for n in range(20)) + '/// Mean of the values.\npub fn mean(values: &[i32]) -> f64 {\n    let sum: i64 = values.iter().map(|v| *v as i64).sum();\n    sum / values.len() as f64\n}\n\n/// Share of one value.\npub fn share(value: i32, values: &[i32]) -> Option<f64> {\n    let total = mean(values) * values.len();\n    Some(value as f64 / total)\n}\n'
    c.run(G, 'cargo-check-types', 'cargo check --color=always', files('/srv/app/totals', types | {n: t for n, t in noisy.items() if n in modules}), 'Which divisions or multiplications mix types?', [line(r'^error\[E0277\]: cannot divide .i64. by .f64.'), line(r'^error\[E0277\]: cannot multiply .f64. by .usize.')], view=True)

    ts = projects.typescript(33, modules=20)
    names = sorted(name for name in ts if name.endswith('.ts'))
    first = names[0][4:-3]
    field = ts[names[0]].split('\n')[1].split(':')[0].strip()
    broken = change(ts, names[0], f'  {field}: number;', f'  {field}?: number | null;')
    users = ''.join(f'import {{ {first.capitalize()} }} from "./{first}";\nexport function use{n}(x: {first.capitalize()}): number {{ return x.{field} + {n}; }}\n' if n == 0 else f'export function use{n}(x: {first.capitalize()}): number {{ return x.{field} + {n}; }}\n' for n in range(160))
    c.run(G, 'tsc-root-cause', 'tsc --noEmit --pretty false', files('/srv/app/tsroot', broken | {'src/usage.ts': users, 'src/zz.ts': 'export const port: number = process.env.PORT;\n'}), 'Besides the possibly undefined fields, which name is unknown to tsc?', [line(r"error TS\d+: Cannot find name 'process'")], view=False)
    deep = change(ts, names[4], 'return items.reduce(', 'return items.reduce<string>(')
    c.run(G, 'tsc-pretty', 'tsc --noEmit --pretty true --extendedDiagnostics --listFiles', files('/srv/app/tspretty', deep), 'Which type error does tsc report?', [line(r'error TS2(322|769|345)', 1)], view=True)

    java = projects.java(34, classes=14, methods=10, tests=False)
    jn = sorted(java)
    old = {name: text.replace('public static int', '@Deprecated public static int', 1).replace('return value', 'Integer boxed = new Integer(value); java.util.List raw = new java.util.ArrayList(); raw.add(boxed); return value') for name, text in java.items()}
    c.run(G, 'javac-lint', 'javac -Xlint:all -Xmaxwarns 1000 -d out src/app/*.java', files('/srv/app/javalint', old | {'src/app/Depots.java': 'package app;\n\nimport java.util.*;\n\npublic class Depots {\n    private final Map<String, Integer> stock = new TreeMap<>();\n\n    public Optional<Integer> stock(String name) {\n        return stock.get(name);\n    }\n\n    public int total() {\n        int total = 0;\n        for (int n : stock.values()) total += n;\n        return total;\n    }\n}\n'}), 'Which types are incompatible?', [line(r'Depots.java:9: error: incompatible types', after=3)], view=True)

    go = projects.go(35, packages=28, functions=4)
    gn = sorted(name for name in go if name.endswith('.go') and '_test' not in name)
    cycle = dict(go)
    for i, name in enumerate(gn):
        package = name.split('/')[0]
        cycle[name] = go[name] + f'\nfunc leftover{i}(value int) string {{\n\tvar text string = value\n\treturn txt\n}}\n'
    c.run(G, 'go-build', 'go build ./... ; go vet ./...', files('/srv/app/gobuild', cycle), f'What is wrong in leftover7?', [line(gn[7] + r':\d+:\d+: (cannot use value|undefined: txt)', 'all')])

    wp = projects.javascript(36, modules=14, functions=14)
    entry = ''.join(f"const {name[4:-3]} = require('./{name[4:-3]}.js');\n" for name in sorted(wp) if name.startswith('src/')) + "const theme = require('./theme/palette.js');\nconsole.log(theme);\n"
    c.run(G, 'webpack', 'webpack --mode development --stats verbose --entry ./src/index.js', files('/srv/app/bundle', {n: t for n, t in wp.items() if n.startswith('src')} | {'src/index.js': entry, 'src/theme/palette.js': "module.exports = { base: require('./colours.json'), dark: true };\n"}), 'Which module could webpack not resolve, and from where?', [line(r"^Module not found: Error: Can't resolve './colours.json'")], view=True)

    tree = {f'app/{noun}/{field}.py': f'"""{noun} {field}."""\n\n\ndef value():\n    return {i}\n' for noun in projects.NOUNS for i, field in enumerate(projects.FIELDS[:8])}
    tree['app/meter/weight.py'] = '"""Weights."""\n\nLIMITS = {"low": 3, "high": 9\n\n\ndef value():\n    return LIMITS["low"]\n'
    c.run(G, 'python-compileall', 'python3 -m compileall -f app', files('/srv/app/pycompile', tree), 'Which file has a syntax error, and what is it?', [line(r"\*\*\*   File .*weight.py", after=3)], view=True, env={'PYTHONDONTWRITEBYTECODE': ''})

    sub = {'Makefile': 'DIRS = $(sort $(wildcard part*))\nall: $(DIRS)\n$(DIRS):\n\t$(MAKE) -C $@\n.PHONY: all $(DIRS)\n'}
    for i, noun in enumerate(projects.NOUNS[:22]):
        sub[f'part{i:02}-{noun}/Makefile'] = f'all: {noun}.txt {noun}.sum\n{noun}.txt:\n\tprintf "%s\\n" $$(seq 1 20) > {noun}.txt\n\t@echo "{noun}: generated, 0 errors"\n{noun}.sum: {noun}.txt' + (' limits.conf' if i == 9 else '') + f'\n\tcksum {noun}.txt > {noun}.sum\n\t@echo "ok: {noun}"\n\t@for n in $$(seq 1 12); do echo "[$$n/12] checked {noun} block $$n"; done\n'
    c.run(G, 'make-recursive', 'make -k', files('/srv/app/parts', sub), 'Which target has no rule, and in which folder?', [line(r"No rule to make target 'limits.conf'"), line(r"make: \*\*\* \[Makefile:\d+: part09-")], view=True)
    asm = projects.c(37, files=10, functions=10, warnings=False)
    am = sorted(n for n in asm if n.endswith('.c') and n != 'src/main.c')
    bad = change(asm, am[4], '#include <string.h>', '#include <string.h>\n#define RATE(x) ((x) * scale_of(region)')
    bad = change(bad, am[4], 'return value * ', 'return RATE(value) + value * ')
    c.run(G, 'gcc-macro-cascade', 'make -k V=1 CFLAGS="-Wall -Wextra -Wconversion -Wshadow -H -Isrc"', files('/srv/app/cmacro', bad), 'What is the first error of the file that fails?', [line(r": error: ", 1, after=2)], view=True)
