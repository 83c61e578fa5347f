"""Version control: diffs, histories, conflicts."""
import re
import projects
from corpus import block, files, line

G = 'diffs'

INIT = 'git init -q -b main . && git add -A && git commit -q -m "Start" && '


def edit(text, pattern, new, count=1):
    out, hits = re.subn(pattern, new, text, count)
    assert hits, pattern
    return out


def make(c):
    def repository(name, seed, **how):
        """A repository with one commit, and the texts of its files."""
        texts = projects.python(seed, **how)
        return files(f'/srv/app/{name}', texts), texts

    def rewrite(texts, seed, share=3):
        """Harmless changes in many files: new words in docstrings, new numbers in tests."""
        out = {}
        for i, (name, text) in enumerate(sorted(texts.items())):
            if text and i % share != 0: out[name] = re.sub(r'"""(\w+) ', r'"""\1 exactly ', text).replace('\n\n\n\n', '\n\n\n')
        return out

    def script(new): return ''.join(f"cat > {name} <<'EOF'\n{text.rstrip()}\nEOF\n" for name, text in new.items())

    p, t = repository('git1', 101, modules=14)
    new = rewrite(t, 1)
    victim = sorted(n for n in new if n.startswith('app/') and 'whole, rest' in new[n])[0]
    new[victim] = new[victim].replace('return whole if not rest else whole + 1', 'return whole', 1)
    c.run(G, 'diff-dropped-remainder', 'git diff', p, 'Where does the change drop the rest of a division?', [line(r'^-    return whole if not rest else whole \+ 1'), line(r'^\+    return whole$')], setup=INIT + script(new))
    p, t = repository('git2', 102, modules=14)
    new = rewrite(t, 2) | {'app/limits.py': '"""Limits."""\n\nMAX_RETRIES = 5\nDEBUG = True\n'}
    c.run(G, 'diff-debug-left-on', 'git diff HEAD~1 --stat -p', p, 'Does the change turn a debug setting on?', [line(r'^\+DEBUG = True')], setup=INIT + script(new) + 'git add -A && git commit -q -m "Say it exactly"')
    p, t = repository('git3', 103, modules=28)
    names = sorted(n for n in t if n.startswith('app/') and t[n])
    ours = {n: t[n].replace('def ', 'def ours_', 1) if i % 5 == 2 else t[n] + '\nOURS = 1\n' for i, n in enumerate(names)}
    theirs = {n: t[n].replace('def ', 'def theirs_', 1) if i % 5 == 2 else '# theirs\n' + t[n] for i, n in enumerate(names)}
    c.run(G, 'merge-conflict-diff', 'git merge --stat other; git status; git diff -U12', p, 'Which files have merge conflicts?', [line(r'^CONFLICT \(content\): Merge conflict in', 'all')], view=True,
          setup=INIT + 'git checkout -q -b other && ' + script(theirs) + 'git commit -q -am theirs && git checkout -q main && ' + script(ours) + 'git commit -q -am ours')
    c.run(G, 'conflict-markers', f'cat {names[5]} {names[0]} {names[2]} {names[1]} {names[3]} {names[4]} tests/*.py', p, 'What do the two sides of the conflict say?', [block(r'^<<<<<<< ', r'^>>>>>>> ')], view=True)

    subjects = [f'{v.capitalize()} the {f} of a {x}' for v in projects.VERBS[:12] for f, x in zip(projects.FIELDS, projects.NOUNS)]
    p, t = repository('git4', 104, modules=4)
    history = INIT + '\n' + ''.join(f'echo "{i}" >> notes/{i % 17}.txt; git add -A; git commit -q -m "{s}" -m "Refs #{1000 + i}."\n' for i, s in enumerate(subjects[:150])) + '\n'
    history = history.replace('git commit -q -m "Start" && \n', 'git commit -q -m "Start" && mkdir -p notes\n')
    c.run(G, 'log-find-commit', 'git log --stat', p, f'Which commit has the subject “{subjects[66]}”?', [line(r'^    ' + re.escape(subjects[66]) + '$'), line(r'#1066')], setup=history)
    c.run(G, 'log-patch', 'git log -p', p, 'Which commit refers to #1103?', [line(r'#1103'), line(r'^    ' + re.escape(subjects[103]) + '$')])
    c.run(G, 'log-graph', 'git log --oneline --graph --decorate', p, 'Which commit does the tag v2.0 point at?', [line(r'tag: v2.0')], setup='git tag -f v2.0 HEAD~71 >/dev/null; git branch -f release HEAD~20')
    c.run(G, 'blame', 'git blame notes/all.txt', p, 'Who wrote the line about the tariff zone last?', [line(r'tariff zone')], setup="""for i in $(seq 1 120); do echo "rule $i: keep the $(( i * 7 % 31 )). value" >> notes/all.txt; done; git add -A; git commit -q -m rules; sed -i '57s/.*/rule 57: a tariff zone has two codes/' notes/all.txt; GIT_AUTHOR_NAME='Priya Nair' git commit -qam 'Change one rule'""")
    p, t = repository('git5', 105, modules=30, functions=3)
    new = rewrite(t, 5)
    more = ''.join(f'mkdir -p out/{x}; touch out/{x}/{f}.tmp\n' for x in projects.NOUNS for f in projects.FIELDS[:14])
    c.run(G, 'status-deleted', 'git status -uall', p, 'Which files are deleted?', [line(r'deleted: ', 'all')], view=True, setup=INIT + script(new) + more + 'rm app/__init__.py; git rm -q tests/__init__.py')
    p, t = repository('git6', 106, modules=30, functions=12)
    c.run(G, 'apply-rejects', 'git apply --stat change.patch; git apply --reject --verbose change.patch; git diff --stat; git status', p, 'Which hunk could not be applied?', [line(r'^error: patch failed'), line(r'^Rejected hunk', 1)], view=True,
          setup=INIT + script(rewrite(t, 6)) + f'git diff > /tmp/build/change.patch; git checkout -q .; mv /tmp/build/change.patch .; sed -i \'s/"""\\(.*\\) rules/"""Old \\1 rules/\' {sorted(n for n in rewrite(t, 6) if n.startswith("app/"))[4]}')
    p = files('/srv/app/git7', {'old/' + n: x for n, x in projects.c(107, warnings=False).items()} | {'new/' + n: (x.replace('return value * ', 'return value * 1 * ') if i % 2 else x) for i, (n, x) in enumerate(sorted(projects.c(107, warnings=False).items()))})
    c.run(G, 'diff-recursive', "sed -i 's/-O1/-O0/' new/Makefile; rm -f new/src/main.c; diff -ru old new", p, 'How did the compiler flags change?', [line(r'^-CFLAGS'), line(r'^\+CFLAGS')])
    p = files('/srv/app/git8', {'a.conf': ''.join(f'{x}.{f} = {i * 13 % 97}\n' for x in projects.NOUNS for i, f in enumerate(projects.FIELDS)), })
    c.run(G, 'diff-side-by-side', "sed 's/^tariff.margin = .*/tariff.margin = 999/; /^depot.level/d' a.conf > b.conf; diff -y -W 90 a.conf b.conf", p, 'Which setting changed its value, and which one is missing?', [line(r'tariff.margin.*\|'), line(r'depot.level.*<')], view=True)
    p, t = repository('git9', 109, modules=8)
    c.run(G, 'word-diff', 'git diff --word-diff --color=always -U30', p, 'Which default bound changed?', [line(r'high=')], setup=INIT + script({n: re.sub(r'high=(\d+)', r'high=1\1', x, 1) if i == 4 or i == 3 else x.replace('between two bounds', 'inside of two bounds') for i, (n, x) in enumerate(sorted(t.items())) if n.startswith('app/') and 'high=' in x or i in (3, 4) and 'high=' in x} or {'x': ''}), edit=None)
    c.run(G, 'show-migration', 'git show', files('/srv/app/git10', {'schema.sql': ''.join(f'create table {x} (\n  id integer primary key,\n' + ''.join(f'  {f} integer,\n' for f in projects.FIELDS) + '  note text\n);\n' for x in projects.NOUNS)}), 'Which column does the commit drop?', [line(r'^-  margin integer')], setup=INIT + "sed -i 's/note text/note text not null/' schema.sql; awk '/create table depot/{d=1} d&&/margin/{d=0;next} {print}' schema.sql > s && mv s schema.sql && git commit -qam 'Tighten the schema'")
    c.run(G, 'rebase-conflict', 'git rebase --verbose main; git status; git log --stat -60', files('/srv/app/git11', {f'src/{x}.txt': ''.join(f'{f} of {x}\n' for f in projects.FIELDS) for x in projects.NOUNS}), 'Which commit could not be applied, and in which file is the conflict?', [line(r'could not apply', 1), line(r'CONFLICT \(content\)')], view=True,
          setup=INIT + 'git checkout -q -b topic; for x in ' + ' '.join(projects.NOUNS) + '; do sed -i "3s/.*/topic $x/" src/$x.txt; git commit -qam "Rename the third field of $x"; done; git checkout -q main; sed -i "3s/.*/main/" src/meter.txt; git commit -qam "Rename a field of meter"; git checkout -q topic')
