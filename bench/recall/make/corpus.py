"""Runs a tool in a neutral folder, keeps what it printed, and marks the lines that answer a question.

A group module has one function, `make(corpus)`. It writes small projects with `projects.py` or `files()`, and calls `run()` or `add()`
once an output. A mark is a rule (`line`, `block`, `part`); a rule that finds nothing stops the run.
"""
import gzip, json, os, re, shutil, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
RECALL = os.path.dirname(HERE)
SOURCES = os.path.join(HERE, 'sources')

# Outputs have neutral names in place of folders of the machine and of hosts. URLs of tools' documentation stay.
HOME = re.escape(os.path.expanduser('~')).encode()
CHECKOUT = re.escape(os.path.dirname(os.path.dirname(os.path.dirname(RECALL)))).encode()
DOCUMENTATION = rb'docs\.astral\.sh|gcc\.gnu\.org|cwe\.mitre\.org|bandit\.readthedocs\.io|spdx\.org|guides\.|pip\.pypa\.io|www\.shellcheck\.net|docs\.pytest\.org|cwiki\.apache\.org'
FOREIGN = rb'https?://(?!' + DOCUMENTATION + rb'|127\.0\.0\.1|localhost|[\w.-]+\.example\b)[\w-]+(?:\.[\w-]+)+'
SCRUB = [(re.compile(pattern), text) for pattern, text in (
    (HOME + rb'/\.(?:pyenv|rustup|cargo)', b'/home/dev/.toolchain'),
    (HOME + rb'\b', b'/home/dev'),
    (rb'/srv/web/node_modules', b'/srv/app/node_modules'),
    (rb'/srv/venv', b'/srv/app/.venv'),
    (FOREIGN, b'https://registry.example'),
    (rb'"nodedir"', b'"cachedir"'),
)]
FORBIDDEN = re.compile(HOME + rb'\b(?<!/home/dev)|' + CHECKOUT + rb'/|' + FOREIGN)

ENV = {
    'PATH': '/srv/venv/bin:/srv/web/node_modules/.bin:/usr/lib/postgresql/15/bin:' + os.environ['PATH'],
    'HOME': '/home/dev', 'LANG': 'C.UTF-8', 'TERM': 'dumb', 'USER': 'dev', 'PIP_CONFIG_FILE': '/dev/null', 'PIP_DISABLE_PIP_VERSION_CHECK': '1', 'PIP_ROOT_USER_ACTION': 'ignore',
    'RUSTUP_HOME': os.environ.get('RUSTUP_HOME', os.path.expanduser('~/.rustup')), 'CARGO_HOME': '/srv/cargo', 'CARGO_TARGET_DIR': '/tmp/build/target', 'CARGO_BUILD_JOBS': '1', 'CARGO_INCREMENTAL': '0',
    'GOPATH': '/srv/go', 'GOFLAGS': '-mod=mod', 'GOPROXY': 'off', 'GOMAXPROCS': '1', 'GOCACHE': '/tmp/build/go-cache', 'NODE_PATH': '/srv/web/node_modules', 'TMPDIR': '/tmp/build',
    'GIT_AUTHOR_NAME': 'Ada Moreno', 'GIT_AUTHOR_EMAIL': 'ada@example.com', 'GIT_COMMITTER_NAME': 'Ada Moreno', 'GIT_COMMITTER_EMAIL': 'ada@example.com', 'GIT_CONFIG_GLOBAL': '/dev/null',
    'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONHASHSEED': '0', 'CI': '', 'NPM_CONFIG_UPDATE_NOTIFIER': 'false', 'MAKEFLAGS': '', 'OPENSSL_CONF': '/dev/null',
}
GROUPS = ['test-runs', 'compilers', 'linters', 'packages', 'services', 'crashes', 'ci', 'json', 'tables', 'diffs', 'search', 'pages', 'code']


def line(pattern, nth=1, before=0, after=0):
    """The lines that match: number `nth` (from the end if negative), or all of them if `nth` is 'all', with lines around."""
    return ('line', pattern, nth, before, after)


def block(start, end, nth=1):
    """From a line that matches `start` to the next line that matches `end`, both included."""
    return ('block', start, end, nth)


def part(pattern, nth=1):
    """A piece of a long line: group 1 of the match, or all of it. For files with a few very long lines."""
    return ('part', pattern, nth)


def numbered(found, nth):
    if nth == 'all': return found
    return [found[nth - 1 if nth > 0 else nth]]


def spans(data, marks):
    """Byte spans of the marks, in order; raises LookupError if a mark finds nothing."""
    starts = [0] + [m.end() for m in re.finditer(rb'\n', data)]
    if starts[-1] == len(data): starts.pop()
    ends = starts[1:] + [len(data)]
    ansi = re.compile(rb'\x1b\[[0-9;?]*[A-Za-z]')
    lines = [ansi.sub(b'', data[s:e]).rstrip(b'\r\n').decode('utf8', 'replace') for s, e in zip(starts, ends)]
    out = []
    for mark in marks:
        try:
            if mark[0] == 'part':
                match = numbered(list(re.finditer(mark[1].encode(), data, re.S)), mark[2])[0]
                out.append(match.span(1 if match.re.groups else 0))
                continue
            pattern = re.compile(mark[1])
            found = numbered([i for i, text in enumerate(lines) if pattern.search(text)], mark[-1] if mark[0] == 'block' else mark[2])
            if not found: raise IndexError
            for at in found:
                if mark[0] == 'block':
                    last = next(i for i in range(at, len(lines)) if (i > at or mark[1] == mark[2]) and re.search(mark[2], lines[i]))
                    out.append((starts[at], ends[last]))
                else:
                    out.append((starts[max(0, at - mark[3])], ends[min(len(lines) - 1, at + mark[4])]))
        except (IndexError, StopIteration):
            raise LookupError(f'nothing matches {mark}') from None
    merged = []
    for start, end in sorted(set(out)):
        if merged and start < merged[-1]['end']: merged[-1]['end'] = max(end, merged[-1]['end'])
        else: merged.append({'start': start, 'end': end})
    return merged


def scrub(data):
    for pattern, text in SCRUB: data = pattern.sub(text, data)
    return data


def files(folder, texts, fresh=True):
    """Writes files below a folder, which is emptied first."""
    if fresh: shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb' if isinstance(text, bytes) else 'w') as file: file.write(text)
        if text[:2] in ('#!', b'#!'): os.chmod(path, 0o755)
    os.makedirs(folder, exist_ok=True)
    return folder


class Corpus:
    def __init__(self, only=None):
        self.only, self.cases, self.failed = only, {}, []

    def wanted(self, id):
        return not self.only or re.search(self.only, id)

    def sh(self, command, cwd='/srv/app', timeout=300, env=None, input=None):
        """What a shell command prints, both streams together, and its exit status."""
        done = subprocess.run(['nice', '-n', '19', 'bash', '-c', command], cwd=cwd, env=dict(ENV, **(env or {})), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, input=input, stdin=None if input else subprocess.DEVNULL)
        return done.stdout, done.returncode

    def run(self, group, id, command, cwd, question, marks, view=False, match='text', tool='Bash', shown=None, env=None, timeout=300, setup=None, edit=None):
        """Runs a command and adds its output. `shown` is the command as an agent would have called it, if that differs."""
        if not self.wanted(f'{group}/{id}'): return
        if setup:
            said, code = self.sh(setup, cwd, timeout, env)
            if code: return self.fail(group, id, f'setup exits with {code}', said)
        try: data, code = self.sh(command, cwd, timeout, env)
        except subprocess.TimeoutExpired: return self.fail(group, id, 'timeout', b'')
        if edit: data = edit(data)
        self.add(group, id, shown or command, data, question, marks, view, match, tool, code)

    def fail(self, group, id, why, data):
        self.failed.append(f'{group}/{id}')
        print(f'FAILED {group}/{id}: {why}\n' + data[-1500:].decode('utf8', 'replace'), file=sys.stderr)

    def add(self, group, id, command, data, question, marks, view=False, match='text', tool='Bash', exit=None):
        if not self.wanted(f'{group}/{id}'): return
        assert group in GROUPS, group
        if isinstance(data, str): data = data.encode()
        data = scrub(data)
        bad = FORBIDDEN.search(data)
        if bad: return self.fail(group, id, f'has {bad.group()!r}', data[max(0, bad.start() - 200):bad.end() + 200])
        try: answer = spans(data, marks)
        except LookupError as error: return self.fail(group, id, str(error), data)
        command = scrub(command.encode()).decode()
        name = f'outputs/{group}/{id}.gz'
        path = os.path.join(RECALL, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as raw, gzip.GzipFile('', 'wb', 9, raw, mtime=0) as file: file.write(data)
        case = {'id': f'{group}/{id}', 'group': group, 'tool': tool, 'command': command, 'file': name, 'bytes': len(data), 'lines': data.count(b'\n') + (not data.endswith(b'\n')),
                'exit': exit, 'match': match, 'view': view, 'question': question, 'answer': answer}
        if exit is None: del case['exit']
        self.cases[case['id']] = case
        size = sum(a['end'] - a['start'] for a in answer)
        print(f"{case['id']}: {len(data):,} bytes, {case['lines']:,} lines, exit {exit}, answer {size} bytes" + (' SMALL' if len(data) < 5000 else '') + (' LONG ANSWER' if size > 3000 else ''), flush=True)

    def write(self):
        """Adds the cases to cases.jsonl; a case that was made again replaces the old one."""
        path = os.path.join(RECALL, 'cases.jsonl')
        known = {}
        if os.path.exists(path):
            with open(path, encoding='utf8') as file: known = {c['id']: c for c in map(json.loads, file)}
        known.update(self.cases)
        order = sorted(known.values(), key=lambda c: (GROUPS.index(c['group']), c['id']))
        with open(path, 'w', encoding='utf8') as file:
            for case in order: file.write(json.dumps(case, ensure_ascii=False) + '\n')
