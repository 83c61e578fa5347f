#!/usr/bin/env python3
"""Scores a forebay binary on the outputs of this folder: does the view, or the answer of `ask`, show the marked lines?

  bench/recall/score.py --bin target/release/forebay                 views and answers at 250, 500, 1,000 and 2,000 tokens
  bench/recall/score.py --bin … --budget 1000 --group ci,json        one budget, two groups
  bench/recall/score.py --bin … --budget 1000 --floors floors.json   exit status 1 if a group is below its floor
  bench/recall/score.py --bin … --cases                              also the score of each case, the lowest first
  bench/recall/score.py --bin … --write-floors floors.json           floors three points below the scores of this binary
  bench/recall/score.py --bin … --tokens                             only the tokens of views of commands that succeeded

A case scores the share of its marked lines that the text shows. A view is made without the question, so only cases with `"view": true`
score the view; every case scores `ask`. The score of a group is the mean of its cases, and the last row is the mean of the groups.
With `--floors`, the views of commands that succeeded must also have at most `most_tokens` tokens on average.
"""
import argparse, collections, concurrent.futures, gzip, html, json, os, re, shutil, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
BUDGETS = [250, 500, 1000, 2000]
# 4,000 is the default budget, in which compact forms are chosen from.
FLOOR_BUDGETS = [500, 1000, 4000]
# Points between a measured score and its floor. A case in a group of ten is worth ten points, so this catches a lost case, not a lost line.
SLACK = 3
MODES = ['view', 'ask']
# Share of the measured tokens that views of commands that succeeded may have.
MORE_TOKENS = 1.05
# Outputs with at most so many tokens pass, or nearly.
LARGE = 3000

ANSI = re.compile(r'\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Z])')
CI_TIME = re.compile(r'^(?:[^\t]{1,80}\t[^\t]{1,120}\t)?\ufeff?(\[task )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z(?(1)\]) ?')
HIDDEN = re.compile(r'<!--.*?-->|<(script|style|noscript|svg|template)\b.*?</\1\s*>|<[^>]*>', re.S | re.I)
NEWLINE = re.compile(r'\r\n|\n|\r')


def plain(line):
    """A line without colours, the time that a CI system puts in front, and runs of white space."""
    return ' '.join(CI_TIME.sub('', ANSI.sub('', line)).split())


def words(text):
    """The visible words of a page, in lower case, with a space on either side."""
    return ' ' + ' '.join(re.findall(r'\w+', html.unescape(HIDDEN.sub(' ', text)).lower())) + ' '


def dense(text):
    """JSON without white space and quotation marks."""
    return re.sub(r'[\s"]', '', text)


def normal(text, match):
    """A view in the form in which answer lines are looked up."""
    if match == 'html': return words(text)
    if match == 'json': return dense(text)
    return '\n'.join(map(plain, NEWLINE.split(text)))


def answer_lines(case, data):
    """The marked lines, in the same form. Lines with fewer than three letters or digits count only if there are no others."""
    texts = [line for span in case['answer'] for line in NEWLINE.split(data[span['start']:span['end']].decode('utf8', 'replace'))]
    form = {'html': words, 'json': lambda line: dense(line).rstrip(','), 'text': plain}[case['match']]
    lines = [line for line in map(form, texts) if line.strip()]
    return [line for line in lines if sum(map(str.isalnum, line)) >= 3] or lines


def score(lines, text, match):
    """Percentage of the lines that a text shows."""
    shown = normal(text, match)
    return 100 * sum(line in shown for line in lines) / len(lines)


class Runner:
    """Runs one binary with a root of its own. Every output has a session of its own, so no output is a rerun of another."""

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.work = tempfile.mkdtemp(prefix='recall-')
        self.env = {name: value for name, value in os.environ.items() if not name.startswith('FOREBAY_')}
        self.env.update(HOME=self.work, FOREBAY_ROOT=os.path.join(self.work, 'root'))

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def forebay(self, *args, data=None):
        done = subprocess.run([self.binary, *args], input=data, env=self.env, cwd=self.work, capture_output=True, timeout=300)
        if done.returncode:
            raise RuntimeError(f"forebay {' '.join(args[:2])}: exit {done.returncode}: {done.stderr.decode('utf8', 'replace')[:300]}")
        return done.stdout.decode('utf8', 'replace')

    def case(self, number, case, budgets):
        """Scores of one case: (mode, budget, per cent)."""
        with gzip.open(os.path.join(HERE, case['file'])) as file: data = file.read()
        lines = answer_lines(case, data)
        if not lines: raise RuntimeError(f"{case['id']}: the answer is empty")
        out = []
        for budget in budgets:
            session = f's{number}-{budget}'
            put = json.loads(self.forebay('put', '--json', '--budget', str(budget), '--tool', case['tool'], '--args', json.dumps({'command': case['command']}), '--session', session, data=data))
            if case['view']: out.append(('view', budget, score(lines, put['text'], case['match'])))
            answer = put['text']
            # An output that fits the budget has no handle: the model has seen all of it.
            if put.get('handle'): answer = self.forebay('ask', put['handle'], case['question'], '--budget', str(budget), '--session', session)
            out.append(('ask', budget, score(lines, answer, case['match'])))
        return out


    def tokens(self, number, case):
        """Tokens of a case with its exit status, and of its view with the default settings."""
        with gzip.open(os.path.join(HERE, case['file'])) as file: data = file.read()
        session = f't{number}'
        put = json.loads(self.forebay('put', '--json', '--exit', str(case['exit']), '--tool', case['tool'], '--args', json.dumps({'command': case['command']}), '--session', session, data=data))
        return put['size']['tokens'], json.loads(self.forebay('stats', '--json', '--session', session))['given']


def succeeded(binary, cases, jobs=1):
    """Mean tokens of views of commands with exit status 0 whose output has over LARGE tokens, by group: {group: [tokens]}."""
    runner, groups = Runner(binary), collections.defaultdict(list)
    cases = [case for case in cases if case.get('exit') == 0]
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for case, (whole, view) in zip(cases, pool.map(lambda item: runner.tokens(*item), enumerate(cases))):
                if whole > LARGE: groups[case['group']].append(view)
    finally:
        runner.close()
    return groups


def print_tokens(groups):
    """Prints the mean tokens by group, and returns the mean of all views."""
    print('| exit status 0 | outputs | mean tokens of a view |\n|---|---|---|')
    for group, tokens in groups.items(): print(f'| {group} | {len(tokens)} | {sum(tokens) / len(tokens):,.0f} |')
    views = [view for tokens in groups.values() for view in tokens]
    mean = sum(views) / len(views) if views else 0
    print(f'| **all** | {len(views)} | **{mean:,.0f}** |\n', flush=True)
    return mean


def load(groups=None, limit=0):
    """The cases, or those of some groups, or the first of each group."""
    with open(os.path.join(HERE, 'cases.jsonl'), encoding='utf8') as file: cases = [json.loads(line) for line in file]
    unknown = set(groups or []) - {case['group'] for case in cases}
    if unknown: sys.exit(f"unknown group {', '.join(sorted(unknown))}; cases.jsonl has {', '.join(dict.fromkeys(c['group'] for c in cases))}")
    seen, out = collections.Counter(), []
    for case in cases:
        if groups and case['group'] not in groups: continue
        seen[case['group']] += 1
        if not limit or seen[case['group']] <= limit: out.append(case)
    return out


def measure(binary, cases, budgets, jobs=1):
    """Scores of all cases: {(mode, budget): {case id: per cent}}."""
    runner, scores = Runner(binary), {(mode, budget): {} for mode in MODES for budget in budgets}
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for case, found in zip(cases, pool.map(lambda item: runner.case(*item, budgets), enumerate(cases))):
                for mode, budget, percent in found: scores[mode, budget][case['id']] = percent
    finally:
        runner.close()
    return scores


def by_group(scores, cases):
    """Means of the groups: {(mode, budget): {group: per cent}}; groups without such cases are left out."""
    out = {}
    for key, found in scores.items():
        groups = collections.defaultdict(list)
        for case in cases:
            if case['id'] in found: groups[case['group']].append(found[case['id']])
        out[key] = {group: sum(values) / len(values) for group, values in groups.items()}
    return out


def table(mode, means, cases, budgets):
    """Prints the table of one mode."""
    count = collections.Counter(case['group'] for case in cases if mode == 'ask' or case['view'])
    print(f"| {mode} | cases | " + ' | '.join(f'{budget:,}' for budget in budgets) + ' |\n|---|---|' + '---|' * len(budgets))
    for group, number in count.items():
        print(f'| {group} | {number} | ' + ' | '.join(f'{means[mode, budget][group]:.1f}' for budget in budgets) + ' |')
    overall = [sum(means[mode, budget].values()) / len(means[mode, budget]) if means[mode, budget] else 0 for budget in budgets]
    print(f'| **mean of groups** | {sum(count.values())} | ' + ' | '.join(f'**{value:.1f}**' for value in overall) + ' |\n', flush=True)


def below(means, floors):
    """Sentences that name the groups below their floors."""
    return [f'{group}: {mode} at {budget:,} tokens is {means[mode, budget][group]:.1f} %, below its floor of {floor} %'
            for (mode, budget) in means for group, floor in floors.get(str(budget), {}).get(mode, {}).items()
            if group in means[mode, budget] and means[mode, budget][group] < floor]


def rows(forebay, jobs=1):
    """Prints both tables for all budgets; called by bench/bench.py."""
    cases = load()
    means = by_group(measure(forebay, cases, BUDGETS, jobs), cases)
    for mode in MODES: table(mode, means, cases, BUDGETS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', required=True, help='the forebay binary')
    parser.add_argument('--budget', help='budgets in tokens, separated by commas')
    parser.add_argument('--group', help='groups, separated by commas')
    parser.add_argument('--limit', type=int, default=0, help='only the first cases of each group')
    parser.add_argument('--floors', help='file of floors; exit with status 1 if a group is below one')
    parser.add_argument('--write-floors', help='write floors from these scores')
    parser.add_argument('--cases', action='store_true', help='print the score of each case')
    parser.add_argument('--json', action='store_true', help='print JSON instead of tables')
    parser.add_argument('--tokens', action='store_true', help='print the tokens of views of commands that succeeded, and nothing else')
    parser.add_argument('-j', type=int, default=1, help='cases at once')
    args = parser.parse_args()
    if args.limit and (args.floors or args.write_floors): sys.exit('floors hold for whole groups: leave --limit out')
    budgets = [int(budget.replace('_', '')) for budget in args.budget.split(',')] if args.budget else BUDGETS
    cases = load(args.group.split(',') if args.group else None, args.limit)
    if args.tokens:
        print_tokens(succeeded(args.bin, cases, args.j))
        return 0
    started = time.perf_counter()
    scores = measure(args.bin, cases, budgets, args.j)
    seconds = time.perf_counter() - started
    means = by_group(scores, cases)
    failures = []
    if args.floors:
        with open(args.floors, encoding='utf8') as file: floors = json.load(file)
        failures = below(means, floors)
        if 'most_tokens' in floors and not args.group:
            mean = print_tokens(succeeded(args.bin, cases, args.j))
            if mean > floors['most_tokens']: failures.append(f"views of commands that succeeded have {mean:,.0f} tokens on average, more than {floors['most_tokens']:,}")
    if args.json:
        print(json.dumps({'seconds': round(seconds, 1), 'cases': len(cases), 'below': failures,
                          'groups': {mode: {str(budget): {group: round(value, 2) for group, value in means[mode, budget].items()} for budget in budgets} for mode in MODES},
                          'scores': {case['id']: {mode: {str(budget): round(scores[mode, budget][case['id']], 1) for budget in budgets if case['id'] in scores[mode, budget]} for mode in MODES} for case in cases}}, indent=1))
    else:
        for mode in MODES: table(mode, means, cases, budgets)
        if args.cases:
            print('| case | ' + ' | '.join(f'{mode} {budget}' for mode in MODES for budget in budgets) + ' |\n|---|' + '---|' * len(MODES) * len(budgets))
            cell = lambda case, key: f"{scores[key][case['id']]:.0f}" if case['id'] in scores[key] else ''
            for case in sorted(cases, key=lambda case: sum(found.get(case['id'], 100) for found in scores.values())):
                print(f"| {case['id']} | " + ' | '.join(cell(case, (mode, budget)) for mode in MODES for budget in budgets) + ' |')
            print()
        print(f'{len(cases)} cases in {seconds:.0f} s')
    if args.write_floors:
        floors = {str(budget): {mode: {group: max(0, round(value - SLACK, 1)) for group, value in means[mode, budget].items()} for mode in MODES} for budget in FLOOR_BUDGETS if budget in budgets}
        floors['most_tokens'] = round(MORE_TOKENS * print_tokens(succeeded(args.bin, cases, args.j)))
        with open(args.write_floors, 'w', encoding='utf8') as file: file.write(json.dumps(floors, indent=1) + '\n')
    for failure in failures: print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
