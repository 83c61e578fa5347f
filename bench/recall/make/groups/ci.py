"""Jobs of a CI system: a runner of ours starts the steps, writes the time in front of every line, and stops at the first step that fails."""
import projects
from corpus import block, files, line

G = 'ci'

RUNNER = r'''
import subprocess, sys, time

style, *steps = sys.argv[1:]
clock = 1763370000.0
current = "Set up job"


def say(text):
    global clock
    clock += 0.0137
    day = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(clock)) + f".{int(clock % 1 * 1e7):07}Z"
    print({"github": f"{day} {text}", "plain": text, "task": f"[task {day[:23]}Z] {text}", "gh": f"deploy-preview\t{current}\t{day} {text}"}[style])


say("Runner 2.317.0, image linux-22.04, job deploy-preview")
say("Cache not found for input keys: deps-linux-9f31, deps-linux- (not an error)")
status = 0
for number, step in enumerate(steps):
    name, command = step.split("::", 1)
    always = name.startswith("post ")
    current = name
    if status and not always:
        say(f"Skipped step: {name}")
        continue
    say(f"##[group]Run {name}" if style == "github" else f"=== step {number}: {name}")
    say(f"$ {command.splitlines()[0]}")
    if style == "github":
        say("##[endgroup]")
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for text in done.stdout.decode("utf8", "replace").splitlines():
        say(text)
    if done.returncode:
        say(f"##[error]Process completed with exit code {done.returncode}." if style == "github" else f"step {name} failed with status {done.returncode}")
        status = status or done.returncode
say(f"Cleaning up orphan processes")
sys.exit(status)
'''

NOISE = {
    'checkout': "checkout::for i in $(seq 1 60); do echo \"remote: Compressing objects: $((i * 100 / 60))% ($i/60)\"; done; echo 'HEAD is now at 4c1d2aa Raise the limit'",
    'install': "install dependencies::for n in %s; do echo \"Collecting acme-$n>=1.0\"; echo \"  Downloading acme_$n-1.4-py3-none-any.whl (12 kB)\"; done; echo 'WARNING: acme-shelf 1.4 is yanked: broken metadata'; echo 'Successfully installed 30 packages'" % ' '.join(projects.NOUNS),
    'assets': "build assets::for i in $(seq 1 300); do echo \"[$i/300] hash $(printf '%08x' $((i * 2654435761 % 4294967296))) static/img/$i.png\"; done; echo 'done: 300 files, 0 errors'",
    'post cache': "post cache::for i in $(seq 1 40); do echo \"save chunk $i of 40\"; done; echo 'Cache saved with key deps-linux-9f31'; echo 'warning: Unable to upload 0 files; error count 0'",
    'post report': "post report::for i in $(seq 1 90); do echo \"upload artifact part $i: 200 OK\"; done; echo 'Artifact has been finalized.'",
}


def make(c):
    texts = {'runner.py': RUNNER}

    def job(id, steps, extra, question, marks, style='github', view=True, **more):
        import shlex
        p = files(f'/srv/app/ci-{id}', texts | extra)
        command = f'python3 runner.py {style} ' + ' '.join(shlex.quote(NOISE.get(s, s)) for s in steps)
        c.run(G, id, command, p, question, marks, view=view, shown='gh run view 4711 --log', tool=more.pop('tool', 'Bash'), **more)

    python = projects.python(71, modules=6)
    job('pytest', ['checkout', 'install', 'assets', 'tests::pytest -v tests', 'deploy::echo deployed', 'post cache', 'post report'], python | {'tests/test_zone.py': 'ZONES = {"north": range(1, 40), "south": range(40, 80)}\n\n\ndef zone(code):\n    return next(name for name, codes in ZONES.items() if code in codes)\n\n\ndef test_every_code_has_a_zone():\n    assert [zone(code) for code in (1, 40, 79)] == ["north", "south", "south"]\n    assert zone(80) == "south"\n'},
        'Why did the job fail?', [line(r'E +StopIteration'), line(r'tests/test_zone.py:\d+: StopIteration|FAILED tests/test_zone.py', 1)])
    job('lint', ['checkout', 'install', 'lint::ruff check --no-cache --output-format=concise .', 'tests::pytest -q tests', 'post cache', 'post report'], python | {'app/extra.py': 'import os\n\n\ndef path(name):\n    return base + "/" + name\n'}, 'Which findings made the lint step fail?', [line(r'app/extra.py:1:8: F401'), line(r'app/extra.py:5:12: F821')])
    job('tsc', ['checkout', 'install', 'assets', 'compile::tsc --noEmit -p web', 'post cache', 'post report'], {'web/' + n: t for n, t in projects.typescript(72).items()} | {'web/src/total.ts': 'export function total(prices: number[]): string {\n  return prices.reduce((a, b) => a + b, 0);\n}\n'}, 'Which compile error stopped the job?', [line(r'web/src/total.ts\(2,3\): error TS2322')])
    job('oom-killed', ['checkout', 'install', 'train::for i in $(seq 1 200); do echo "epoch $i loss 0.$((9999 - i * 31)) grad 1.$i"; done; echo "allocating table of 9 GB"; bash -c "kill -9 \\$\\$"; exit 137', 'post cache', 'post report'], {}, 'Why did the training stop?', [line(r'Z .*Killed|exit code 137'), line(r'Z allocating table of 9 GB')], style='github')
    job('missing-secret', ['checkout', 'assets', 'deploy::set -e\nfor i in $(seq 1 30); do echo "prepare region $i"; done\n: "${DEPLOY_TOKEN:?is not set for this environment}"\necho upload', 'notify::echo sent', 'post cache', 'post report'], {}, 'Why did the deployment fail?', [line('DEPLOY_TOKEN: is not set for this environment')])
    job('permission', ['checkout', 'install', 'migrate::./migrate.sh', 'tests::pytest -q tests', 'post cache'], python | {'migrate.sh': 'echo migrate\n'}, 'Why could the migration not be started?', [line(r'./migrate.sh: Permission denied')], style='plain')
    job('timeout', ['checkout', 'install', 'integration::for i in $(seq 1 120); do echo "waiting for http://127.0.0.1:8080/health ($i of 120)"; done; timeout 0.2 sleep 5; s=$?; echo "gave up after 120 tries: the service never listened on port 8080"; exit $s', 'post cache', 'post report'], {}, 'Why did the integration step fail?', [line(r'\] gave up after 120 tries'), line(r'status 124')], style='task')
    job('disk-full', ['checkout', 'assets', 'package::ulimit -f 200; mkdir -p out; for i in $(seq 1 60); do echo "pack layer $i"; done; dd if=/dev/zero of=out/image.tar bs=1M count=5 2>&1; echo "tar: out/image.tar: Cannot write: File too large"; exit 2', 'post cache', 'post report'], {}, 'Which write failed in the packaging step?', [line(r'Z tar: .*Cannot write: File too large')])
    rust = projects.rust(73, modules=6, functions=8)
    rust['src/lib.rs'] += 'pub mod codec;\n'
    rust['src/codec.rs'] = '//! Codec.\n\n/// Decodes a length.\npub fn length(bytes: &[u8]) -> usize {\n    usize::from(bytes[0]) << 8 | usize::from(bytes[1])\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn length_of_two_bytes() {\n        assert_eq!(super::length(&[1, 2]), 258);\n    }\n\n    #[test]\n    fn length_of_one_byte() {\n        assert_eq!(super::length(&[9]), 9);\n    }\n}\n'
    job('cargo', ['checkout', 'install', 'tests::cargo test --offline 2>&1', 'assets', 'post cache', 'post report'], rust, 'Which test fails and why?', [line(r"panicked at src/codec.rs:5:"), line('index out of bounds: the len is 1 but the index is 1')], style='github')
    job('two-failures', ['checkout', 'install', 'unit::pytest -q tests/unit.py || true', 'schema::python3 schema.py', 'assets', 'post cache', 'post report'], {'tests/unit.py': 'def test_flaky():\n    assert 1 == 2, "known flaky test, ignored by this job"\n', 'schema.py': 'import json, sys\n\nwant = {f"table_{n}": ["id", "name", "rate"] for n in range(60)}\nhave = json.loads(json.dumps(want))\nhave["table_41"].remove("rate")\nfor table in want:\n    print(f"compare {table}: {len(have[table])} columns")\nmissing = [(t, c) for t in want for c in want[t] if c not in have[t]]\nif missing:\n    sys.exit(f"schema drift: {missing[0][0]} lacks column {missing[0][1]!r}")\n'}, 'The unit step ignores its failure; what really failed the job?', [line(r"schema drift: table_41 lacks column 'rate'")])
    job('retry-then-fail', ['checkout', 'install', 'fetch data::for t in 1 2 3; do for i in $(seq 1 50); do echo "GET part-$i 200"; done; echo "error: part-51 checksum differs, attempt $t of 3"; done; echo "fatal: data set is incomplete (want sha256 5f1c, got 77ab)"; exit 3', 'post cache', 'post report'], {}, 'Why is the data set incomplete?', [line(r'^error: part-51 checksum differs, attempt 3 of 3'), line(r'^fatal: data set is incomplete')], style='plain')
    job('gh-log-node', ['checkout', 'install', 'tests::node --test --test-reporter=spec test', 'assets', 'post cache', 'post report'], projects.javascript(74, style='node', modules=5) | {'test/limits.test.js': "const { test } = require('node:test');\nconst assert = require('node:assert');\n\ntest('limits of a region', () => {\n  const limits = { north: 40, south: 60, error: 0 };\n  assert.deepStrictEqual(Object.keys(limits), ['north', 'south']);\n});\n"}, 'Which test failed, and what is the difference?', [line(r'Expected values to be strictly deep-equal', -1), line(r"\+   'error'|\+ +'error'", -1), line(r'limits of a region', -1)], style='gh')
    job('gh-log-go-vet', ['checkout', 'install', 'vet::go vet ./...', 'tests::go test ./...', 'post cache', 'post report'], projects.go(75, packages=8, functions=6) | {'zone/zone.go': 'package zone\n\nimport "fmt"\n\n// Show prints a zone.\nfunc Show(code int) {\n\tfmt.Printf("zone %s\\n", code)\n}\n'}, 'Why did the vet step fail?', [line(r'zone/zone.go:7:\d+: .*Printf format %s')], style='gh')
    job('green', ['checkout', 'install', 'assets', 'tests::pytest -q tests', 'coverage::echo "TOTAL 812 40 95%"; echo "coverage 95 % is above the limit of 90 %"', 'post cache', 'post report'], python, 'How high is the test coverage?', [line(r'Z coverage 95 % is above')], view=False)

    docker = {'build.sh': '#!/bin/bash\nstep=0\nrun() { step=$((step + 1)); echo "#$step [build $step/9] $*"; s=$(date +%s%N); bash -c "$*" 2>&1 | while IFS= read -r l; do echo "#$step 0.$((RANDOM % 900 + 100)) $l"; done; r=${PIPESTATUS[0]}; if [ $r != 0 ]; then echo "#$step ERROR: process \\"/bin/sh -c $*\\" did not complete successfully: exit code: $r"; echo "------"; echo " > [build $step/9] $*:"; echo "------"; echo "ERROR: failed to solve"; exit $r; fi; echo "#$step DONE 0.4s"; }\n'}
    common = "run 'for i in $(seq 1 200); do echo sha256:$(printf %064x $((i * 48271))) $((i * 13 % 97)).$((i % 10))MB done; done'\nrun 'for n in " + ' '.join(projects.NOUNS) + "; do echo \"Setting up lib$n-dev:amd64 (1.2-3) ...\"; echo Processing triggers for lib$n ...; done'\n"
    c.run(G, 'docker-build', 'bash build.sh', files('/srv/app/ci-docker', {'build.sh': docker['build.sh'] + common + 'run "gcc -Wall -c app.c"\nrun "echo never"\n', 'app.c': '#include <zone.h>\nint main(void) { return 0; }\n'}), 'Which step of the image build failed, and why?', [line(r'fatal error: zone.h: No such file'), line(r'did not complete successfully: exit code')], view=True, shown='docker build --progress=plain .')
    c.run(G, 'docker-npm', 'bash build.sh', files('/srv/app/ci-docker2', {'build.sh': docker['build.sh'] + common + 'run "node check.js"\nrun "echo never"\n', 'check.js': "for (let i = 0; i < 150; i++) console.log(`module ${i} transformed`);\nrequire('./config/production.js');\n", 'config/production.js': "module.exports = { port: 80, host: process.env.HOST.trim() };\n"}), 'Why did the image build fail?', [line(r"TypeError: Cannot read properties of undefined \(reading 'trim'\)"), line(r'at Object.<anonymous> .*production.js:1')], view=True, shown='docker build --progress=plain .')

    tasks = ''.join(f'    - name: Write the settings of {noun}\n      copy:\n        content: "{noun} = {i}"\n        dest: /tmp/build/ansible/{noun}.conf\n' for i, noun in enumerate(projects.NOUNS))
    play = '- hosts: all\n  gather_facts: false\n  connection: local\n  tasks:\n    - name: Make the folder\n      file: path=/tmp/build/ansible state=directory\n' + tasks + '    - name: Read the licence\n      command: cat /srv/app/ci-ansible/licence.txt\n      ignore_errors: true\n    - name: Check the port\n      assert:\n        that: port | int > 1024\n        fail_msg: "port {{ port }} of {{ inventory_hostname }} needs root"\n    - name: Restart\n      debug: msg=restarted\n'
    p = files('/srv/app/ci-ansible', {'site.yml': play, 'hosts.ini': '[web]\nweb-1 port=8080\nweb-2 port=443\nweb-3 port=8081\n'})
    c.run(G, 'ansible', 'ansible-playbook -i hosts.ini site.yml', p, 'Which host failed, and why?', [line(r'port 443 of web-2 needs root', 1), line(r'fatal: \[web-2\]: FAILED!', -1)], view=True, env={'ANSIBLE_FORKS': '1', 'ANSIBLE_PYTHON_INTERPRETER': '/usr/bin/python3', 'ANSIBLE_DEPRECATION_WARNINGS': '0'}, timeout=280)
