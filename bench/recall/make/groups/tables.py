"""Tables: which row is meant, and which one is unlike the others?"""
import io
import projects
from corpus import block, files, line

G = 'tables'


def make(c):
    n = projects.Names(91)
    city = lambda i: projects.CITIES[i % 16]
    def sql(count, special=''): return 'create table trips(id integer primary key, city text, carrier text, km real, cents integer, day text);\n' + ''.join(f"insert into trips values({i}, '{city(i * 7)}', '{projects.NOUNS[i * 11 % 30]}', {n.number(20, 900) / 10}, {n.number(100, 9000)}, '2026-{i % 12 + 1:02}-{i % 28 + 1:02}');\n" for i in range(1, count)) + special
    p = files('/srv/app/tab1', {'a.sql': sql(420, "update trips set km = 98231.5 where id = 260;\n"), 'b.sql': sql(300, 'update trips set cents = null where id = 77;\n')})
    c.run(G, 'sqlite-box-outlier', "sqlite3 -box :memory: '.read a.sql' 'select * from trips'", p, 'Which trip has an impossible distance?', [line('98231.5')], view=True)
    c.run(G, 'sqlite-column-lookup', "sqlite3 -header -column :memory: '.read a.sql' 'select * from trips order by id'", p, 'Which carrier did trip 318?', [line(r'^318 ')])
    c.run(G, 'sqlite-null', "sqlite3 -nullvalue NULL -markdown :memory: '.read b.sql' 'select * from trips'", p, 'Which row has no price?', [line(r'NULL')], view=True)
    c.run(G, 'sqlite-errors', 'sqlite3 :memory: < c.sql', files('/srv/app/tab1b', {'c.sql': sql(200) + ''.join(f"select id, city, km from trips where id = {i};\n" for i in range(1, 190)) + "insert into trips values(5, 'x', 'y', 1, 1, 'z');\nselect kilometres from trips;\n" + ''.join(f"select count(*), city from trips where km > {i} group by city;\n" for i in range(20))}), 'Which statements failed?', [line('UNIQUE constraint failed: trips.id'), line('no such column: kilometres')], view=True)
    setup = 'rm -rf /tmp/build/pg; mkdir -p /tmp/build/pg; chown postgres /tmp/build/pg; su postgres -c "/usr/lib/postgresql/15/bin/initdb -D /tmp/build/pg/data -A trust --no-sync" >/dev/null'
    start = 'su postgres -c "/usr/lib/postgresql/15/bin/pg_ctl -D /tmp/build/pg/data -o \'-p 8951 -k /tmp/build/pg\' -l /tmp/build/pg/log -w start" >/dev/null; psql="psql -q -h /tmp/build/pg -p 8951 -U postgres"; $psql -f a.sql; '
    stop = '; su postgres -c "/usr/lib/postgresql/15/bin/pg_ctl -D /tmp/build/pg/data -m fast stop" >/dev/null'
    c.run(G, 'psql-explain', start + "for i in 1 2 3 4 5 6; do $psql -c \"explain (analyze, buffers, verbose) select t.city, count(*), sum(u.km) from trips t join trips u on t.carrier = u.carrier and t.km > u.km + $i left join lateral (select max(km) from trips x where x.city = t.city and x.id < t.id) m on true where t.cents > $i group by t.city order by 2 desc\"; done; $psql -c \"explain analyze select * from trips a, trips b where a.km * 2 > b.km\"" + stop, p, 'Which nested loop returns the most rows?', [line(r'Nested Loop .*rows=\d{5,}', -1)], setup=setup, shown="psql -f explain.sql")
    c.run(G, 'psql-session-error', start + "for i in $(seq 1 25); do $psql -c \"select city, count(*) as trips, avg(km) as mean from trips where id % 25 = $i group by city order by city\"; done; $psql -c \"select city, avg(km) from trips\"; for i in $(seq 1 10); do $psql -c \"select * from trips where id = $i\"; done; true" + stop, p, 'Which query failed, and why?', [line(r'ERROR:  column "trips.city" must appear in the GROUP BY clause')], view=True, setup=setup, shown='psql -f report.sql')
    csv = 'station,day,reading,unit,quality\n' + ''.join(f'{city(i)},2026-03-{i % 28 + 1:02},{n.number(180, 240) / 10},C,{n.pick("good", "good", "good", "fair")}\n' for i in range(1500))
    rows = csv.splitlines(True); rows[911] = 'Graz,2026-03-16,-273.1,C,good\n'
    c.add(G, 'csv-outlier', 'cat readings.csv', ''.join(rows), 'Which reading is physically odd?', [line('-273.1')], view=True)
    rows[1200] = 'Oslo,2026-03-21,21.4,C\n'
    c.add(G, 'csv-broken-row', 'cat readings-2.csv', ''.join(r for r in rows if '-273' not in r), 'Which row lacks a column?', [line(r'^Oslo,2026-03-21,21.4,C$')], view=True)
    tsv = 'id\tname\tteam\tstart\thours\n' + ''.join(f'{i}\t{projects.PEOPLE[i % 8]} {i}\t{projects.NOUNS[i * 7 % 30]}\t2026-02-{i % 28 + 1:02}\t{n.number(4, 9)}\n' for i in range(1, 900))
    c.add(G, 'tsv-lookup', 'cat shifts.tsv', tsv, 'In which team is Mei Tanaka 612?', [line(r'^612\tMei Tanaka 612')] if 612 % 8 == 4 else [line(r'^612\t')])
    spaces = 'mkdir -p m; mount -t tmpfs none m; cd m; ' + ''.join(f'mkdir {x}; mount -t tmpfs -o size={(i % 7 + 1) * 3}m {x}-vol {x}; ' for i, x in enumerate(projects.NOUNS)) + ''.join(f'head -c {i * 91 % 900 + 10}000 /dev/zero > {x}/data; ' for i, x in enumerate(projects.NOUNS)) + 'head -c 29m /dev/zero > claim/log 2>/dev/null; '
    c.run(G, 'df-full', f"unshare --mount bash -c '{spaces} df -h -t tmpfs | grep -v -E \"/dev|/run|/sys\"; df -i -t tmpfs | grep m/; stat -f {' '.join(projects.NOUNS)}'", files('/srv/app/tab2', {'x': ''}), 'Which volume is full?', [line(r'^claim-vol .*100%')], view=True, shown='df -h; df -i; stat -f *')
    # The first process of the name space ends last, and all others end with it.
    procs = ''.join(f'(exec -a {x}-worker sleep 100) & ' for x in projects.NOUNS * 4) + '(exec -a rogue-miner perl -e "1 while 1") & sleep 1; '
    init = files('/srv/app/procs', {'init': '#!/bin/bash\n' + procs + '\n"$@"\n'})
    c.run(G, 'ps-busy', 'unshare --pid --fork --mount-proc ./init ps aux', init, 'Which process uses the most CPU?', [line(r'rogue-miner')], view=True, shown='ps aux', env={'TERM': 'xterm'})
    c.run(G, 'top-batch', 'unshare --pid --fork --mount-proc ./init top -b -n 2 -d 1 -w 120', init, 'What is the load average?', [line(r'^top - .*load average', 1)], shown='top -b -n 2')
    py = projects.python(92, modules=14, functions=12)
    c.run(G, 'coverage-report', 'coverage run -m pytest -q tests >/dev/null; coverage report -m', files('/srv/app/tab3', py | {'.coveragerc': '[run]\nsource = app,tests\n', 'app/legacy.py': ''.join(f'def old_{i}(x):\n    if x > {i}:\n        return x - {i}\n    return x\n\n\n' for i in range(60))} | {f'app/part_{x}_{y}.py': 'X = 1\n' for x in projects.NOUNS for y in projects.FIELDS[:6]}), 'Which module has the lowest coverage?', [line(r'app/legacy.py')], view=True)
    c.run(G, 'pytest-durations', 'pytest -q --durations=0 -vv tests', files('/srv/app/tab4', projects.python(93, modules=6) | {'tests/test_slow.py': 'import time\n\n\ndef test_backoff():\n    time.sleep(1.3)\n'}), 'Which test is the slowest?', [line(r'call +tests/test_slow.py::test_backoff')])
    c.run(G, 'cprofile', 'python3 -m cProfile -s cumtime work.py', files('/srv/app/tab5', {'work.py': 'import json, re, argparse, unittest, decimal, email.message, http.client, sqlite3, logging.config\n\n\ndef parse_rates(n):\n    return [re.sub(r"\\d", "x", json.dumps({"n": i})) for i in range(n)]\n\n\ndef load():\n    return parse_rates(20000)\n\n\nload()\n'}), 'How much time does parse_rates take in all?', [line(r'work.py:4\(parse_rates\)')])
    c.run(G, 'git-shortlog-table', "git log --date=short --format='%h %ad %<(16)%an %<(40,trunc)%s'", files('/srv/app/tab6', {'README': 'x\n'}), 'Who wrote the commit that raised the tariff limit, and when?', [line('Raise the tariff limit')],
          setup='git init -q . && ' + 'for i in $(seq 1 260); do GIT_AUTHOR_NAME="$(echo "Ada Moreno,Jonas Weiss,Priya Nair,Samuel Osei" | cut -d, -f$((i % 4 + 1)))" GIT_AUTHOR_DATE="$((1750000000 + i * 86400)) +0000" GIT_COMMITTER_DATE="$((1750000000 + i * 86400)) +0000" git commit -q --allow-empty -m "$([ $i = 117 ] && echo "Raise the tariff limit" || echo "Update part $((i * 37 % 101)) of the $((i % 9)). table")"; done')
    c.run(G, 'nm-symbols', 'nm -S --size-sort build/*.o app', files('/srv/app/tab7', projects.c(94, files=12, warnings=False) | {'src/bigtable.c': '#include "app.h"\nint lookup_table[65536] = { 1 };\n'}), 'Which symbol is the largest?', [line(r'lookup_table', -1)], view=True, setup='make >/dev/null')
