#!/usr/bin/env python3
"""Makes the outputs and cases.jsonl again: runs the tools and marks the answers.

  make/make.py                   all groups (about twenty minutes)
  make/make.py tests compilers   these modules only
  make/make.py --only pytest     only the cases whose id matches
  make/make.py --check           makes nothing; checks the files against cases.jsonl

Outputs hold times and the versions of tools, so a new run gives other bytes. README.md names the tools to install.
"""
import argparse, glob, gzip, importlib, json, os, sys

from corpus import FORBIDDEN, GROUPS, RECALL, Corpus

MODULES = ['tests', 'compilers', 'linters', 'packages', 'services', 'crashes', 'ci', 'jsons', 'tables', 'diffs', 'search', 'pages', 'code']


def check():
    """Complaints about the stored files: sizes, spans, groups, names of hosts and folders."""
    with open(os.path.join(RECALL, 'cases.jsonl'), encoding='utf8') as file: cases = [json.loads(line) for line in file]
    stored = {os.path.relpath(path, RECALL) for path in glob.glob(os.path.join(RECALL, 'outputs', '*', '*.gz'))}
    for name in stored ^ {case['file'] for case in cases}: yield f'{name} is not in both cases.jsonl and outputs/'
    for group in GROUPS:
        if (count := sum(case['group'] == group for case in cases)) < 10: yield f'{group} has only {count} cases'
    for case in cases:
        with gzip.open(os.path.join(RECALL, case['file'])) as file: data = file.read()
        if len(data) != case['bytes']: yield f"{case['id']}: {len(data)} bytes instead of {case['bytes']}"
        if bad := FORBIDDEN.search(data): yield f"{case['id']}: contains {bad.group().decode()}"
        for span in case['answer']:
            if not 0 <= span['start'] < span['end'] <= len(data): yield f"{case['id']}: the span {span} is outside of the output"
    if (size := sum(os.path.getsize(os.path.join(RECALL, name)) for name in stored)) > 8_000_000: yield f'{size} bytes in all'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('modules', nargs='*', choices=[[], *MODULES])
    parser.add_argument('--only', help='pattern of case ids')
    parser.add_argument('--check', action='store_true', help='check the stored files')
    args = parser.parse_args()
    if args.check: sys.exit('\n'.join(check()) or None)
    corpus = Corpus(args.only)
    for name in args.modules or MODULES:
        try: importlib.import_module('groups.' + name).make(corpus)
        finally: corpus.write()
    if corpus.failed: sys.exit('not made: ' + ', '.join(corpus.failed))


if __name__ == '__main__':
    main()
