"""Searches and listings: which hit, which file?"""
import projects
from corpus import files, line, part

G = 'search'


def make(c):
    tree = {'svc/' + n: t for n, t in projects.python(111, modules=16, functions=12).items()}
    tree |= {'web/' + n: t for n, t in projects.javascript(112, modules=12, functions=14).items()}
    tree |= {'core/' + n: t for n, t in projects.c(113, files=16).items()}
    tree |= {f'docs/{x}.md': f'# {x.capitalize()}\n\n' + ''.join(f'The {f} of a {x} is a number. Do not store a value below zero.\n' for f in projects.FIELDS) for x in projects.NOUNS}
    tree['svc/app/retry.py'] = 'import time\n\nMAX_ATTEMPTS = 4\n\n\ndef with_retry(call, value):\n    """Call again after a timeout."""\n    for attempt in range(MAX_ATTEMPTS):\n        try:\n            return call(value)\n        except TimeoutError:\n            time.sleep(2 ** attempt)  # TODO(priya): add jitter, the store falls over when all return at once\n    raise TimeoutError(value)\n'
    tree['svc/app/session.py'] = 'from app.retry import with_retry\n\n\ndef open_session(value):\n    return with_retry(print, value)\n'
    tree['docs/errors.md'] = '# Errors\n\n' + ''.join(f'- E{n:03}: a value of the {projects.FIELDS[n % 20]} is not valid\n' for n in range(1, 180)) + '- E180: the value of the zone and the code do not belong together\n'
    p = files('/srv/app/search', tree)
    c.run(G, 'grep-definition', 'grep -rn value .', p, 'Where is with_retry defined?', [line(r'svc/app/retry.py:6:def with_retry')])
    c.run(G, 'rg-value', 'rg -n --no-heading --sort path value', p, 'Which code has the error about zone and code?', [line(r'E180')])
    c.run(G, 'rg-heading', 'rg -n --heading --sort path "return|raise"', p, 'Which line raises a TimeoutError?', [line(r'raise TimeoutError\(value\)')])
    c.run(G, 'rg-todo-context', 'rg -n -C3 --sort path "for |TODO"', p, 'What is still to do in the retry loop?', [line(r'TODO\(priya\)')])
    c.run(G, 'rg-json', 'rg --json --sort path "import"', p, 'Which file imports with_retry?', [part(r'"text":"svc/app/session.py"'), part(r'"text":"from app.retry import with_retry..."'.replace('...', r'\\n'))], match='json')
    listing = 'mkdir -p data; for x in %s; do mkdir -p data/$x; for i in $(seq 1 25); do head -c $((i * 37 %% 900 + 20)) /dev/zero > data/$x/part-$i.bin; touch -d "2026-0$((i %% 9 + 1))-1$((i %% 10)) 0$((i %% 10)):15" data/$x/part-$i.bin; done; done; head -c 4200000 /dev/zero > data/meter/core.4711; touch -d "2026-05-03 04:12" data/meter/core.4711; chmod 666 data/ticket/part-7.bin; ln -sfn /srv/app/search/data/gone data/depot/current; chown nobody data/quote/part-3.bin; touch -d "2026-03-01 10:00" data/*/' % ' '.join(projects.NOUNS)
    c.run(G, 'ls-core-dump', 'ls -lR data', p, 'Is there a core dump, and how large is it?', [line(r'core.4711')], view=True, setup=listing)
    c.run(G, 'ls-world-writable', 'ls -laR --time-style=long-iso data', p, 'Which file may everybody write?', [line(r'^-rw-rw-rw-')], view=True)
    c.run(G, 'find-ls', 'find data -ls', p, 'Which file belongs to another user than root?', [line(r'nobody')], view=True)
    c.run(G, 'find-broken-link', "find . -printf '%M %s %p %l\\n'", p, 'Where does data/depot/current point?', [line(r'data/depot/current')])
    c.run(G, 'tree', 'tree -s', p, 'How large is the core dump?', [line(r'core.4711')])
    c.run(G, 'du', 'du -a data', p, 'Which file takes the most space?', [line(r'core.4711')], view=True)
    c.run(G, 'grep-count', 'grep -rc value . | sort', p, 'How many lines of docs/errors.md match?', [line(r'docs/errors.md:')], setup=listing)
    c.run(G, 'find-name', 'find . -type f | sort', p, 'Where is the file about sessions?', [line(r'svc/app/session.py')])
    c.run(G, 'git-grep-function', 'git init -q . 2>/dev/null; git add -A . 2>/dev/null; git grep -n -p value -- svc core', p, 'In which function of the retry module does the word value occur?', [line(r'svc/app/retry.py[=:-]6[=:-]def with_retry')])
    c.run(G, 'sha256sums', 'find svc web core docs -type f | sort | xargs sha256sum; sha256sum -c sums.txt', p, 'Which file does not match its checksum?', [line(r'docs/claim.md: FAILED')], view=True, setup="find svc web core docs -type f | sort | xargs sha256sum | sed '/docs\\/claim.md/s/^..../0000/' > /tmp/build/sums.txt; cp /tmp/build/sums.txt .")
    c.run(G, 'env-and-config', 'for f in $(find docs -name "*.md" | sort); do echo "==> $f <=="; head -n 12 $f; done', p, 'What is the first error code in the documents?', [line(r'E001')])
