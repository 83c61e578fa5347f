"""Web pages, manuals and other documents, all written for this corpus or printed from its sources."""
import html, random
import projects
from articles import ARTICLES
from corpus import block, files, line, part

G = 'pages'

STYLE = '<style>\n' + ''.join(f'.{x}-{f}{{margin:{i}px;color:#{i * 4951 % 4096:03x};display:flex}}\n' for x in projects.NOUNS[:20] for i, f in enumerate(projects.FIELDS[:8])) + '</style>\n'
SCRIPT = '<script>\nwindow.dataLayer=window.dataLayer||[];' + ''.join(f'function t{i}(e){{dataLayer.push({{event:"{x}",value:{i},error:null}})}}' for i, x in enumerate(projects.NOUNS * 3)) + '\n</script>\n'


def page(name, seed, dense=False, teasers=True, comments=12):
    """An article between navigation, teasers, comments and scripts."""
    r, (title, paragraphs) = random.Random(seed), ARTICLES[name]
    others = [a for key, a in ARTICLES.items() if key != name]
    nav = '<nav><ul>\n' + ''.join(f'<li><a class="nav-link" href="/{x}/{f}">{x.capitalize()} {f}</a></li>\n' for x in projects.NOUNS[:16] for f in r.sample(projects.FIELDS, 4)) + '</ul></nav>\n'
    body = f'<article class="story"><h1>{title}</h1>\n<p class="meta">By {r.choice(projects.PEOPLE)} · {r.randint(3, 9)} min read</p>\n' + '\n'.join(f'<p>{html.escape(p, quote=False)}</p>' + (f'\n<aside class="ad"><a href="/offer/{i}">Advertisement: {r.choice(projects.NOUNS)} offers of the week</a></aside>' if i == 2 else '') for i, p in enumerate(paragraphs)) + '\n</article>\n'
    side = '<aside class="more"><h2>Read next</h2>\n' + ''.join(f'<div class="teaser"><h3><a href="#">{t}</a></h3><p>{ps[0].split(". ")[0]}…</p></div>\n' for t, ps in others) + '</aside>\n' if teasers else ''
    said = '<section class="comments"><h2>Comments</h2>\n' + ''.join(f'<div class="comment"><b>{r.choice(projects.PEOPLE)}</b> <time>{r.randint(1, 23)} h ago</time><p>{r.choice(["Thank you for this.", "I did not know that.", "Is there a source for the numbers?", "We had the same experience here.", "The picture is upside down.", "Error in line three, I think."])}</p></div>\n' for _ in range(comments)) + '</section>\n'
    foot = '<footer>' + ''.join(f'<a href="/legal/{x}">{x}</a> ' for x in projects.NOUNS) + '<p>We use cookies to improve the page. Accept all?</p></footer>\n'
    out = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title} | The Daily Basin</title>\n{STYLE}{SCRIPT}</head><body>\n<div class="cookie-banner">This page uses cookies.</div>\n{nav}{body}{side}{said}{foot}{SCRIPT}</body></html>\n'
    return out.replace('\n', '') if dense else out


def text_of(name): return [part(html.escape(p, quote=False).replace('.', r'\.').replace('(', r'\(').replace(')', r'\)').replace('?', r'\?')) for p in ARTICLES[name][1]]


def make(c):
    for i, (name, dense) in enumerate([('forebay', False), ('sleeper', True), ('bees', False), ('outage', False), ('bridge', True)]):
        c.add(G, f'article-{name}', f'https://daily.example/{name}', page(name, 120 + i, dense), {'forebay': 'What does the article say about forebays?', 'sleeper': 'Summarize the article about the night train.', 'bees': 'What is the article about?', 'outage': 'What happened on 12 March?', 'bridge': 'What does the article report about the bridge?'}[name], text_of(name), view=True, match='html', tool='WebFetch')
    for name, number, question in [('migration', 2, 'In batches of how many rows were the old rows copied, and why?'), ('bread', 2, 'How long and at which temperature had the best loaves rested?'), ('tides', 3, 'How does wind change low water?')]:
        c.add(G, f'fact-{name}', f'https://daily.example/{name}', page(name, 130 + number, name == 'bread', comments=60), question, [text_of(name)[number]], match='html', tool='WebFetch')

    n = projects.Names(141)
    calls = []
    for x in projects.NOUNS:
        for verb in n.random.sample(projects.VERBS, 3):
            fields = n.random.sample(projects.FIELDS, 4)
            calls.append((x, verb, [(f, n.pick('integer', 'string', 'number'), n.number(1, 500)) for f in fields]))
    rest = '<!doctype html><html><head><title>API reference</title>' + STYLE + '</head><body><div id="sidebar">' + ''.join(f'<a href="#{x}-{v}">{v} {x}</a>\n' for x, v, _ in calls) + '</div><main>\n' + ''.join(f'<section id="{x}-{v}"><h2>{v.capitalize()} a {x}</h2>\n<p>Sends <code>POST /v2/{x}s/{v}</code>. Answers 200, or 422 if a field is not valid.</p>\n<table><tr><th>Field</th><th>Type</th><th>Default</th></tr>\n' + ''.join(f'<tr><td>{f}</td><td>{t}</td><td>{d}</td></tr>\n' for f, t, d in fs) + '</table></section>\n' for x, v, fs in calls) + SCRIPT + '</main></body></html>\n'
    x, v, fs = calls[52]
    c.add(G, 'api-reference', 'https://docs.example/v2/reference', rest, f'What is the default of {fs[1][0]} when one wants to {v} a {x}?', [part(rf'<section id="{x}-{v}">.*?(<tr><td>{fs[1][0]}</td><td>[^<]*</td><td>[^<]*</td></tr>)')], match='html', tool='WebFetch')
    stops = projects.CITIES
    table = '<!doctype html><html><head><title>Timetable</title>' + STYLE + SCRIPT + '</head><body><h1>Line 7</h1><table>\n' + ''.join(f'<tr><td>{stops[i % 16]}</td>' + ''.join(f'<td>{(5 + h) % 24:02}:{(i * 7 + h * 3) % 60:02}</td>' for h in range(16)) + f'<td>{"only on Sundays" if i == 97 else "daily"}</td></tr>\n' for i in range(160)) + '</table></body></html>\n'
    c.add(G, 'timetable', 'https://transit.example/line7', table, 'Which row runs only on Sundays?', [line(r'only on Sundays')], match='html', tool='WebFetch', view=False)
    thread = '<!doctype html><html><head><title>Forum</title>' + STYLE + '</head><body><h1>Pump stops after ten minutes</h1>\n' + ''.join(f'<div class="post" id="p{i}"><span class="user">{projects.PEOPLE[i % 8]}</span><div class="body">' + ('Solved: the float switch was wired to the terminal of the alarm. After moving the brown wire from terminal 4 to terminal 6 the pump runs through the night.' if i == 23 else n.pick('Did you check the fuse?', 'Same problem here with the older model.', 'Please post a picture of the wiring.', 'I would ask the vendor.', 'Mine stops after ten minutes as well, and no error is shown.') + f' My setup has {n.number(2, 9)} {n.noun()}s and a {n.field()} of {n.number()}.') + '</div><div class="votes">' + str(n.number(0, 9)) + '</div></div>\n' for i in range(70)) + '</body></html>\n'
    c.add(G, 'forum-solution', 'https://forum.example/t/4411', thread, 'How was the problem of the pump solved?', [part(r'Solved: the float switch.*?through the night\.')], match='html', tool='WebFetch')

    manual = lambda: '# Station manual\n\n' + ''.join(f'## {x.capitalize()} settings\n\nThe settings of a {x} are read once at start.\n\n' + ''.join(f'### `{x}.{f}`\n\n{n.pick("Sets", "Limits", "Scales")} the {f} of one {x}. The default is {n.number(1, 900)}. Values below {n.number(0, 9)} are refused.\n\n```toml\n[{x}]\n{f} = {n.number(1, 900)}\n```\n\n' for f in projects.FIELDS[:8]) for x in projects.NOUNS) + '## When the station does not start\n\nThe station refuses to start if the clock is more than five minutes wrong. Set the clock with `station clock sync`, then start it again.\n'
    c.add(G, 'manual-clock', 'cat docs/manual.md', manual(), 'What can I do if the station does not start?', [block(r'^## When the station does not start', r'^The station refuses')], tool='Read')
    c.add(G, 'manual-default', 'cat docs/settings.md', manual(), 'What is the default of `meter.discount`?', [block(r'^### `meter.discount`', r'^\w+ the discount of one meter')], tool='Read')
    changes = '# Changelog\n\n' + ''.join(f'## 3.{60 - i}.0\n\n' + ''.join(f'- {n.verb().capitalize()} the {n.field()} of a {n.noun()} (#{n.number(1000, 9999)}).\n' for _ in range(9)) + ('- **Breaking:** `station export` writes semicolons instead of commas. Use `--comma` for the old form.\n' if i == 37 else '') + '\n' for i in range(60))
    c.add(G, 'changelog-breaking', 'cat CHANGELOG.md', changes, 'Which breaking change was made to the export?', [line(r'\*\*Breaking:\*\*')], view=True, tool='Read')
    terms = ''.join(f'{i}. {projects.NOUNS[i % 30].capitalize()}s\n\n' + ''.join(f'{i}.{k} The Customer shall {n.verb()} each {n.noun()} within {n.number(3, 60)} days, and the Provider shall {n.verb()} the {n.field()} thereof, unless the parties agree otherwise in writing.\n' for k in range(1, 7)) + ('14.7 Either party may end this agreement with a notice of ninety (90) days to the end of a calendar quarter.\n' if i == 14 else '') + '\n' for i in range(1, 31))
    c.add(G, 'contract-notice', 'pdftotext -layout agreement.pdf -', 'SERVICE AGREEMENT\n\n' + terms, 'With which period of notice can the agreement be ended?', [line(r'^14\.7 ')])
    cli = 'import argparse\n\np = argparse.ArgumentParser(prog="station", description="Runs a measuring station.")\ns = p.add_subparsers()\n' + ''.join(f'q = s.add_parser("{x}", help="work with {x}s")\n' + ''.join(f'q.add_argument("--{f}", type=int, default={n.number()}, metavar="N", help="{n.pick("sets", "limits", "scales")} the {f} of a {x} before it is {n.verb()}ed (default: %(default)s)")\n' for f in projects.FIELDS[:10]) for x in projects.NOUNS) + 'q.add_argument("--dry-run", action="store_true", help="shows what would be done without doing it")\nfor name, q in s.choices.items():\n    print(q.format_help())\n'
    c.run(G, 'cli-help', 'python3 station.py', files('/srv/app/cli', {'station.py': cli}), 'Which option shows what would be done without doing it?', [line(r'^ +--dry-run|--dry-run +shows', -1)], shown='for c in $(station list); do station $c --help; done')
    c.run(G, 'pydoc', 'for m in app/*.py; do PAGER=cat python3 -m pydoc app.$(basename $m .py); done', files('/srv/app/pydoc', projects.python(151, modules=12, functions=12) | {'app/store.py': '"""Stores of readings."""\n\n\nclass Store:\n    """Keeps readings on disk.\n\n    A store is safe to use from several threads, but not from several processes.\n    """\n\n    def compact(self, keep=30):\n        """Drop readings older than `keep` days. Takes a lock for its whole run."""\n'}), 'Is a Store safe to use from several processes?', [line(r'safe to use from several threads')])
    rst = {f'{x}.rst': f'{x.capitalize()}\n{"=" * len(x)}\n\nA {x} has these fields.\n\n' + ''.join(f'{f}\n{"-" * len(f)}\n\nThe {f} of one {x}, see :ref:`{x}-{f}-more`.\n\n' for f in projects.FIELDS[:6]) for x in projects.NOUNS[:20]} | {'index.rst': 'Station\n=======\n\n.. toctree::\n\n' + ''.join(f'   {x}\n' for x in projects.NOUNS[:20]) + '   missing-chapter\n\nOverview\n--\n', 'conf.py': 'project = "Station"\nhtml_theme = "basic"\n'}
    c.run(G, 'sphinx-warnings', 'sphinx-build -b html -v . out', files('/srv/app/sphinx', rst), 'Which chapter of the table of contents does not exist?', [line(r"toctree contains reference to nonexisting document 'missing-chapter'", 1)], view=True)
