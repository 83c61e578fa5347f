#!/usr/bin/env python3
"""Makes the outputs and cases.jsonl again: runs the tools and marks the answers.

  make/make.py                   all groups (about twenty minutes)
  make/make.py tests compilers   these modules only
  make/make.py --only pytest     only the cases whose id matches

Outputs hold times and the versions of tools, so a new run gives other bytes. README.md names the tools to install.
"""
import argparse, importlib, sys

from corpus import Corpus

MODULES = ['tests', 'compilers', 'linters', 'packages', 'services', 'crashes', 'ci', 'jsons', 'tables', 'diffs', 'search', 'pages', 'code']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('modules', nargs='*', choices=[[], *MODULES])
    parser.add_argument('--only', help='pattern of case ids')
    args = parser.parse_args()
    corpus = Corpus(args.only)
    for name in args.modules or MODULES:
        try: importlib.import_module('groups.' + name).make(corpus)
        finally: corpus.write()
    if corpus.failed: sys.exit('not made: ' + ', '.join(corpus.failed))


if __name__ == '__main__':
    main()
