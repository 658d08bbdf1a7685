#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy, as .clang-tidy says, on the sources that changed, or with --all on every one.

usage: clang_tidy.py [--all] [--seconds N]

Changed is what differs from the branch that this one left (main or origin/main); on that branch
itself, what its last three commits touched; and every source where git knows no earlier commit, as
in a shallow clone. A changed header counts through the sources of its name and those that include
it directly. With --seconds no source is begun after that time, and how many are left is said: the
changed ones come first, and of all sources other ones with each commit.

What was clean is remembered in build/clang-tidy and not run again while neither it, nor a file of
ours that it includes, nor the checks change. Nothing remembered names the place of the tree: other
trees of the same sources can take it as it is.

Nearly all of the time goes into what a source includes. So with --all the sources of src/ are read
several at a time, as Note [Joined sources] has them compiled: a fourth of the time.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATABASE = os.path.join(ROOT, 'build/tidy')
JOINED = os.path.join(ROOT, 'build/tidy_joined')
REMEMBERED = os.path.join(ROOT, 'build/clang-tidy')
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)


def git(*arguments):
    run = subprocess.run(['git', *arguments], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.split('\n') if run.returncode == 0 else []


def changed_files():
    """Paths below ROOT, or None where git knows no earlier state: then all files count."""
    head = git('rev-parse', 'HEAD')
    for branch in ('origin/main', 'main'):
        base = git('merge-base', 'HEAD', branch)
        if base and base[0] != head[0]:
            return git('diff', '--name-only', base[0]) + git('ls-files', '-o', '--exclude-standard')
    for base in ('HEAD~3', 'HEAD~2', 'HEAD~1'):
        if git('rev-parse', '-q', '--verify', base):
            return git('diff', '--name-only', base) + git('ls-files', '-o', '--exclude-standard')
    return None


class Tree:
    """Our files by path, with what of ours they include."""

    def __init__(self):
        self.hashes, self.direct = {}, {}
        # From where files include each other: the groups of folders of src/, too.
        self.roots = [ROOT, os.path.join(ROOT, 'src'), *glob.glob(os.path.join(ROOT, 'src/*/'))]

    def read(self, path):
        if path not in self.hashes:
            with open(path, 'rb') as stream:
                text = stream.read()
            self.hashes[path] = hashlib.sha256(text).hexdigest()
            candidates = [os.path.join(where, name.decode()) for name in INCLUDE.findall(text)
                          for where in (*self.roots, os.path.dirname(path))]
            self.direct[path] = sorted({os.path.normpath(c) for c in candidates
                                        if os.path.isfile(c)})
        return self.direct[path]

    def with_includes(self, path):
        seen, left = {path}, [path]
        while left:
            for included in self.read(left.pop()):
                if included not in seen:
                    seen.add(included)
                    left.append(included)
        return sorted(seen)

    def key(self, path, command):
        parts = [command, *options(path), *checks(path)]
        parts += [p + self.hashes[p] for p in self.with_includes(path)]
        return hashlib.sha256('\n'.join(parts).replace(ROOT, '').encode()).hexdigest()


def checks(path):
    """What .clang-tidy says, that of the root first and that of the file's own folder last."""
    folders, texts = os.path.dirname(os.path.relpath(path, ROOT)).split('/'), []
    for depth in range(len(folders) + 1):
        name = os.path.join(ROOT, *folders[:depth], '.clang-tidy')
        if os.path.isfile(name):
            with open(name, encoding='utf-8') as stream:
                texts.append(stream.read())
    return texts


def options(path):
    # gcc's warnings that clang does not know are no finding. What is deprecated and used by us is
    # an error of gcc; here it is also found where the library uses its own (std::stable_sort).
    options = ['--quiet', '--extra-arg=-Wthread-safety', '--extra-arg=-Wno-unknown-warning-option',
               '--extra-arg=-Wno-deprecated-declarations']
    left_out = []
    if re.search(r'_test(_\d+)?\.cc$', path) or path.startswith(os.path.join(ROOT, 'tests/')):
        # The analyses of paths do not understand ASSERT_TRUE(x); and a test is run anyway. What it
        # does between two steps may be slow.
        left_out += ['clang-analyzer-*', 'bugprone-unchecked-optional-access',
                     'performance-inefficient-*']
    if path.startswith(JOINED):
        left_out.append('bugprone-suspicious-include')  # Of a source by another.
    if left_out:
        options.append('--checks=' + ','.join('-' + check for check in left_out))
    return options


def run_one(path):
    database = JOINED if path.startswith(JOINED) else DATABASE
    command = ['clang-tidy-19', *options(path), '-p', database, path]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return run.returncode, run.stdout.strip(), run.stderr.strip()


def commands_of(database):
    with open(os.path.join(database, 'compile_commands.json'), encoding='utf-8') as stream:
        return {entry['file']: entry['command'] for entry in json.load(stream)
                if entry['file'].startswith(ROOT)}


def join(alone, joined, tree):
    """What to run: each file that joins sources of src/ in place of these, and the rest alone."""
    commands = dict(alone)
    for path, command in joined.items():
        with open(path, 'rb') as stream:
            count = len(INCLUDE.findall(stream.read()))
        # Other folders have checks of their own.
        sources = [source for source in tree.read(path) if source in commands
                   and source.startswith(os.path.join(ROOT, 'src/'))]
        if path.startswith(os.path.join(JOINED, 'joined/')) and len(sources) == count:
            for source in sources:
                del commands[source]
            commands[path] = command
    return commands


def touched(commands, changed, tree):
    """The sources that these paths concern, those that changed themselves first."""
    changed = {os.path.join(ROOT, path) for path in changed}
    stems = {re.sub(r'\.h$', '', path) for path in changed if path.endswith('.h')}
    concerned = ([], [], [])
    for path in sorted(commands):
        if path in changed:
            concerned[0].append(path)
        elif re.sub(r'(_test)?\.cc$', '', path) in stems:
            concerned[1].append(path)
        elif changed & set(tree.read(path)):
            concerned[2].append(path)
    return concerned[0] + concerned[1] + concerned[2]


def rotated(paths, commit):
    """In order, but with each commit from another one on."""
    first = int(commit[:7], 16) % len(paths) if commit and paths else 0
    return paths[first:] + paths[:first]


def run_all(paths, seconds):
    """Each path that was begun within so many seconds, with what clang-tidy said of it."""
    end = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(lambda path: run_one(path) if time.monotonic() < end else None, paths)
        for path, result in zip(paths, results):
            if result is not None:
                yield path, result


def arguments():
    parser = argparse.ArgumentParser(description='clang-tidy on the sources that changed')
    parser.add_argument('--all', action='store_true', help='on every source')
    parser.add_argument('--seconds', type=float, default=float('inf'),
                        help='begin with no other source after so long')
    return parser.parse_args()


def main():
    asked = arguments()
    commands = {path: command for path, command in commands_of(DATABASE).items()
                if '/build/' not in path}
    tree = Tree()
    changed = None if asked.all else changed_files()
    if changed is None:
        if os.path.isdir(JOINED):
            commands = join(commands, commands_of(JOINED), tree)
        wanted = sorted(commands)
        if asked.seconds != float('inf'):
            wanted = rotated(wanted, ''.join(git('rev-parse', 'HEAD')[:1]))
    else:
        wanted = touched(commands, changed, tree)
    os.makedirs(REMEMBERED, exist_ok=True)
    keys = {path: os.path.join(REMEMBERED, tree.key(path, commands[path])) for path in wanted}
    to_run = [path for path in wanted if not os.path.exists(keys[path])]
    red = run = 0
    for path, (code, findings, trouble) in run_all(to_run, asked.seconds):
        run += 1
        if code == 0:
            open(keys[path], 'w', encoding='utf-8').close()
            continue
        red += 1
        print(findings or trouble)
    late = len(to_run) - run
    print(f'clang-tidy: {len(wanted)} of {len(commands)} sources, {run} of them run anew, '
          f'{red} with findings'
          + (f'; {late} not read, for {asked.seconds:g} s were over' if late else ''))
    return red > 0


if __name__ == '__main__':
    sys.exit(main())
