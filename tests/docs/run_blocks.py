#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of a document: each block fenced as ```bash, in the order of the text, in one
fresh simulated world (tests/cli/lib.bash). A block fails where a shell with -e fails. A block
```output right after one says what it writes to stdout and stderr; `…` in it stands for any text,
a line of its own for any lines. Other blocks (```sh, ```console) are not run.

Usage: run_blocks.py DOCUMENT.md, with build_dir in the environment as lib.bash has it.
"""
import os
import re
import subprocess
import sys

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli/lib.bash')
SECONDS_MAX = 120


def blocks(text):
    """The (line, script, expected output or None) of each ```bash block."""
    found = []
    fence = re.compile(r'^```(\w*)[^\n]*\n(.*?)^```[ ]*$', re.M | re.S)
    end_of_last = None
    for match in fence.finditer(text):
        if match[1] == 'bash':
            found.append([text.count('\n', 0, match.start()) + 1, match[2], None])
        elif match[1] == 'output':
            if end_of_last is None or text[end_of_last:match.start()].strip():
                raise ValueError('an ```output block follows no ```bash block')
            found[-1][2] = match[2]
        end_of_last = match.end() if match[1] == 'bash' else None
    return found


def pattern_of(expected):
    lines = []
    for line in expected.rstrip('\n').split('\n'):
        if line.strip() == '…':
            lines.append(r'(?:[^\n]*\n)*')
        else:
            parts = [re.escape(part) for part in line.rstrip().split('…')]
            lines.append(r'[^\n]*'.join(parts) + r'[ ]*\n')
    return ''.join(lines)


def run(path):
    with open(path, encoding='utf-8') as stream:
        todo = blocks(stream.read())
    if not todo:
        return 0
    # The world stays for all blocks: one shell makes and ends it, and runs what it is handed.
    script = (f'source {LIBRARY}; world_up || exit; trap "world_down || kill -TERM $$" EXIT\n'
              'while IFS= read -rd "" block; do\n'
              '  bash -euo pipefail -c "$block" </dev/null 2>&1 | cat; printf "\\0%s\\0" '
              '"${PIPESTATUS[0]}"\ndone')
    world = subprocess.run(['bash', '-c', script], input='\0'.join(b[1] for b in todo) + '\0',
                           capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    results = world.stdout.split('\0')
    red = 0
    for (line, block, expected), output, status in zip(todo, results[::2], results[1::2]):
        wrong = ''
        if status != '0':
            wrong = f'ended with {status}'
        elif expected is not None and not re.fullmatch(
                pattern_of(expected), output.rstrip('\n') + '\n'):
            wrong = 'wrote something else'
        if wrong:
            red += 1
            print(f'{path}:{line}: {wrong}\n{block}--- it wrote:\n{output}---')
    ran = len(results) // 2
    print(f'{path}: {ran} blocks run, {red} failed')
    print(world.stderr, end='', file=sys.stderr)
    return red > 0 or ran != len(todo) or world.returncode != 0


if __name__ == '__main__':
    sys.exit(run(sys.argv[1]))
